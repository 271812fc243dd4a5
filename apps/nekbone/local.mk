# Nekbone. Everything but main() is a library, so that tests can link it.
# A new rung: its file here, and a line in ladder.def.

bin_PROGRAMS += apps/nekbone/nekbone
apps_nekbone_nekbone_SOURCES = common/driver/program.c
apps_nekbone_nekbone_CPPFLAGS = $(AM_CPPFLAGS) -DRT_APP=nek_app
nekbone_libs = apps/nekbone/libnekbone.a $(RT_LIBS) $(LIBXSMM_LIBS) $(BLAS_LIBS)
apps_nekbone_nekbone_LDADD = $(nekbone_libs)

rt_judges += apps/nekbone/judge/%.o
noinst_LIBRARIES += apps/nekbone/libnekbone.a
apps_nekbone_libnekbone_a_SOURCES = \
	apps/nekbone/kernel.h apps/nekbone/nekbone.h apps/nekbone/ladder.def \
	apps/nekbone/app.c apps/nekbone/input/geometry.c apps/nekbone/problem.c apps/nekbone/solve.c \
	apps/nekbone/precond/precond.h apps/nekbone/precond/grid.h apps/nekbone/precond/boxes.h apps/nekbone/precond/levels.c apps/nekbone/precond/fdm.c apps/nekbone/precond/precond.c apps/nekbone/precond/work.c \
	apps/nekbone/judge/judge.h apps/nekbone/judge/left.c apps/nekbone/judge/kernels.c \
	apps/nekbone/judge/oracle.c apps/nekbone/judge/verify.c apps/nekbone/judge/tolerance.c \
	apps/nekbone/work.c apps/nekbone/output/dump.c \
	apps/nekbone/cpu/reference.c \
	apps/nekbone/cpu/tiles.h apps/nekbone/cpu/points.h apps/nekbone/cpu/fused.h apps/nekbone/cpu/small.h \
	apps/nekbone/cpu/small.c \
	apps/nekbone/cpu/small_fixed.c \
	apps/nekbone/cpu/small_library.c \
	apps/nekbone/cpu/scalar.c \
	apps/nekbone/cpu/vector.c \
	apps/nekbone/cpu/jammed.c \
	apps/nekbone/cpu/cpu_fused.c \
	apps/nekbone/cpu/solve_reference.c \
	apps/nekbone/cpu/solve_cpu.c \
	apps/nekbone/cpu/vectors.c
apps_nekbone_libnekbone_a_LIBADD =
apps/nekbone/cpu/small_library.o: AM_CPPFLAGS += $(LIBXSMM_CPPFLAGS) $(BLAS_CPPFLAGS)

if HAVE_CUDA
apps_nekbone_libnekbone_a_SOURCES += \
	apps/nekbone/cuda/nek_cuda.cuh \
	apps/nekbone/cuda/batched.cu \
	apps/nekbone/cuda/global.cu \
	apps/nekbone/cuda/shared.cu \
	apps/nekbone/cuda/layered.cu \
	apps/nekbone/cuda/nek_line.cuh apps/nekbone/cuda/nek_launch.cuh \
	apps/nekbone/cuda/nek_gather.cuh apps/nekbone/cuda/nek_exchange.cuh \
	apps/nekbone/cuda/nek_scalars.cuh apps/nekbone/cuda/nek_line_cg.cuh \
	apps/nekbone/cuda/packed.cu \
	apps/nekbone/cuda/fused.cu \
	apps/nekbone/cuda/onepass.cuh apps/nekbone/cuda/onepass.cu apps/nekbone/cuda/mixed.cu \
	apps/nekbone/cuda/trilinear.cu \
	apps/nekbone/cuda/resident_exchange.cuh apps/nekbone/cuda/resident_apart.cuh apps/nekbone/cuda/resident.cu \
	apps/nekbone/cuda/solve_cg.cuh apps/nekbone/cuda/solve_passes.cuh apps/nekbone/cuda/solve_cg.cu \
	apps/nekbone/cuda/solve_cuda.cu apps/nekbone/cuda/solve_mixed.cu \
	apps/nekbone/cuda/vectors.cu
endif

nekbone_kokkos_sources = \
	apps/nekbone/kokkos/kokkos.cpp \
	apps/nekbone/kokkos/kokkos_fused.cpp \
	apps/nekbone/kokkos/solve_kokkos.cpp \
	apps/nekbone/kokkos/vectors.cpp
nekbone_openacc_sources = \
	apps/nekbone/openacc/openacc.c \
	apps/nekbone/openacc/vectors.c
EXTRA_DIST += apps/nekbone/cuda/line.hpp apps/nekbone/cuda/trilinear.h apps/nekbone/kokkos/element.hpp $(nekbone_kokkos_sources) $(nekbone_openacc_sources)
if HAVE_KOKKOS
apps_nekbone_libnekbone_a_LIBADD += $(nekbone_kokkos_sources:.cpp=.o)
endif
if HAVE_OPENACC
rt_openacc_objects += $(nekbone_openacc_sources:.c=.o)
apps_nekbone_libnekbone_a_LIBADD += $(nekbone_openacc_sources:.c=.o)
endif

nekbone_inputsdir = $(pkgdatadir)/inputs/nekbone
dist_nekbone_inputs_DATA = $(wildcard $(srcdir)/inputs/nekbone/*)

# make bench: the ladder at 64 to 4096 elements of degree 9.
bench: bench-nekbone
bench-nekbone: apps/nekbone/nekbone
	@for e in 4x4x4 8x4x4 8x8x4 8x8x8 16x8x8 16x16x8 16x16x16; do \
	    echo "== nekbone --elements $$e"; \
	    apps/nekbone/nekbone --elements $$e --degree 9 --ladder || exit 1; \
	done
.PHONY: bench-nekbone
