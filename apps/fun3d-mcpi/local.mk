# fun3d-mcpi. Everything but main() is a library, so that tests can link it.
# A new rung: its file here, and a line in ladder.def.

bin_PROGRAMS += apps/fun3d-mcpi/fun3d-mcpi
apps_fun3d_mcpi_fun3d_mcpi_SOURCES = common/driver/program.c
apps_fun3d_mcpi_fun3d_mcpi_CPPFLAGS = $(AM_CPPFLAGS) -DRT_APP=mcpi_app
mcpi_libs = apps/fun3d-mcpi/libmcpi.a $(CUSPARSE_LIBS) $(RT_LIBS)
apps_fun3d_mcpi_fun3d_mcpi_LDADD = $(mcpi_libs)

rt_judges += apps/fun3d-mcpi/judge/%.o
noinst_LIBRARIES += apps/fun3d-mcpi/libmcpi.a
apps_fun3d_mcpi_libmcpi_a_SOURCES = \
	apps/fun3d-mcpi/mcpi.h apps/fun3d-mcpi/kernel.h apps/fun3d-mcpi/ladder.def \
	apps/fun3d-mcpi/app.c apps/fun3d-mcpi/problem.c apps/fun3d-mcpi/solve.c \
	apps/fun3d-mcpi/work.c apps/fun3d-mcpi/output/dump.c \
	apps/fun3d-mcpi/cuda/near.h apps/fun3d-mcpi/cuda/near.c apps/fun3d-mcpi/cuda/types.hpp \
	apps/fun3d-mcpi/judge/judge.h \
	apps/fun3d-mcpi/judge/oracle.c \
	apps/fun3d-mcpi/judge/verify.c \
	apps/fun3d-mcpi/input/input.h \
	apps/fun3d-mcpi/input/cells.c \
	apps/fun3d-mcpi/input/colour.c \
	apps/fun3d-mcpi/input/distance.c \
	apps/fun3d-mcpi/input/dual.c \
	apps/fun3d-mcpi/input/blocks.h \
	apps/fun3d-mcpi/input/blocks.c \
	apps/fun3d-mcpi/input/graph.c \
	apps/fun3d-mcpi/input/input.c \
	apps/fun3d-mcpi/input/order.c \
	apps/fun3d-mcpi/input/part.c \
	apps/fun3d-mcpi/input/piece.c \
	apps/fun3d-mcpi/input/portable.h \
	apps/fun3d-mcpi/input/surface.c \
	apps/fun3d-mcpi/input/system.c \
	apps/fun3d-mcpi/input/walls.c \
	apps/fun3d-mcpi/input/wing.h \
	apps/fun3d-mcpi/input/wing.c \
	apps/fun3d-mcpi/flow/arrays.c \
	apps/fun3d-mcpi/flow/definition.c \
	apps/fun3d-mcpi/flow/flow.h \
	apps/fun3d-mcpi/flow/geometry.c \
	apps/fun3d-mcpi/flow/march.h \
	apps/fun3d-mcpi/flow/march.c \
	apps/fun3d-mcpi/flow/node.h \
	apps/fun3d-mcpi/flow/physics.h \
	apps/fun3d-mcpi/flow/picture.c \
	apps/fun3d-mcpi/flow/report.c \
	apps/fun3d-mcpi/flow/tile.h \
	apps/fun3d-mcpi/flow/tiles.c \
	apps/fun3d-mcpi/flow/work.c \
	apps/fun3d-mcpi/judge/flow_left.c \
	apps/fun3d-mcpi/judge/flow_oracle.c \
	apps/fun3d-mcpi/judge/flow_verify.c \
	apps/fun3d-mcpi/cpu/flow_reference.c \
	apps/fun3d-mcpi/cpu/flow_simd.c \
	apps/fun3d-mcpi/cpu/reference.c \
	apps/fun3d-mcpi/cpu/cpu_simd.c \
	apps/fun3d-mcpi/peers/peers.h \
	apps/fun3d-mcpi/peers/peers.c
apps_fun3d_mcpi_libmcpi_a_LIBADD =

# No floating-point exception is looked at, so a branch of a flux may become a blend of vectors.
apps/fun3d-mcpi/cpu/flow_simd.o: AM_CFLAGS += -fno-trapping-math

if HAVE_CUDA
apps_fun3d_mcpi_libmcpi_a_SOURCES += \
	apps/fun3d-mcpi/cuda/mcpi_cuda.cuh \
	apps/fun3d-mcpi/cuda/flow_cuda.cu \
	apps/fun3d-mcpi/cuda/flow_faces.cuh \
	apps/fun3d-mcpi/cuda/naive.cu \
	apps/fun3d-mcpi/cuda/warp_shared.cu \
	apps/fun3d-mcpi/cuda/warp_shuffle.cu \
	apps/fun3d-mcpi/cuda/six_rows.cu \
	apps/fun3d-mcpi/cuda/staged.cuh \
	apps/fun3d-mcpi/cuda/staged_record.cuh \
	apps/fun3d-mcpi/cuda/staged_steps.cuh \
	apps/fun3d-mcpi/cuda/staged_lists.cu \
	apps/fun3d-mcpi/cuda/staged.cu
endif

if HAVE_CUSPARSE
apps_fun3d_mcpi_libmcpi_a_SOURCES += apps/fun3d-mcpi/peers/cusparse.cu
endif

mcpi_kokkos_sources = \
	apps/fun3d-mcpi/kokkos/flow_kokkos.cpp \
	apps/fun3d-mcpi/kokkos/kokkos.cpp
EXTRA_DIST += $(mcpi_kokkos_sources) apps/fun3d-mcpi/flow.png
if HAVE_KOKKOS
apps_fun3d_mcpi_libmcpi_a_LIBADD += $(mcpi_kokkos_sources:.cpp=.o)
endif

mcpi_inputsdir = $(pkgdatadir)/inputs/fun3d-mcpi
dist_mcpi_inputs_DATA = $(wildcard $(srcdir)/inputs/fun3d-mcpi/*)

# make bench: the ladder at the paper's size, O in FP32 and in FP16.
bench: bench-mcpi
bench-mcpi: apps/fun3d-mcpi/fun3d-mcpi
	@for type in fp32 fp16; do \
	    echo "== fun3d-mcpi --surface 104 --layers 51 --offdiagonal $$type --only sweeps"; \
	    apps/fun3d-mcpi/fun3d-mcpi --surface 104 --layers 51 --offdiagonal $$type --ladder --only sweeps || exit 1; \
	done
.PHONY: bench-mcpi
