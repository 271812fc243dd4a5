# gfnn-wave. Everything but main() is a library, so that tests can link it.
# A new rung: its file here, and a line in ladder.def.

bin_PROGRAMS += apps/gfnn-wave/gfnn-wave
apps_gfnn_wave_gfnn_wave_SOURCES = common/driver/program.c
apps_gfnn_wave_gfnn_wave_CPPFLAGS = $(AM_CPPFLAGS) -DRT_APP=gfnn_app
apps_gfnn_wave_gfnn_wave_LDADD = apps/gfnn-wave/libgfnn.a $(RT_LIBS)

rt_judges += apps/gfnn-wave/judge/%.o
noinst_LIBRARIES += apps/gfnn-wave/libgfnn.a
apps_gfnn_wave_libgfnn_a_SOURCES = \
	apps/gfnn-wave/gfnn.h apps/gfnn-wave/kernel.h apps/gfnn-wave/ladder.def \
	apps/gfnn-wave/app.c apps/gfnn-wave/problem.c apps/gfnn-wave/solve.c apps/gfnn-wave/work.c \
	apps/gfnn-wave/box/box.h apps/gfnn-wave/box/box.c apps/gfnn-wave/box/ghosts.h apps/gfnn-wave/box/ghosts.c \
	apps/gfnn-wave/operator/parity.h apps/gfnn-wave/operator/strain.h \
	apps/gfnn-wave/operator/apply.c apps/gfnn-wave/operator/element.c \
	apps/gfnn-wave/loops/node.h apps/gfnn-wave/loops/loops.hpp apps/gfnn-wave/loops/table.hpp \
	apps/gfnn-wave/loops/rows.hpp apps/gfnn-wave/loops/blocks.hpp apps/gfnn-wave/loops/network.hpp apps/gfnn-wave/precond/precond.c \
	apps/gfnn-wave/solve/cg.h apps/gfnn-wave/solve/cg.c apps/gfnn-wave/solve/step.c \
	apps/gfnn-wave/solve/arrays.c apps/gfnn-wave/solve/memory.c \
	apps/gfnn-wave/output/dump.c apps/gfnn-wave/output/green.c \
	apps/gfnn-wave/output/picture.c apps/gfnn-wave/output/result.c \
	apps/gfnn-wave/judge/judge.h apps/gfnn-wave/judge/judge.c apps/gfnn-wave/judge/oracle.c \
	apps/gfnn-wave/judge/operator.c apps/gfnn-wave/judge/predictor.c \
	apps/gfnn-wave/judge/verify.c apps/gfnn-wave/judge/replay.c \
	apps/gfnn-wave/input/input.h apps/gfnn-wave/input/input.c apps/gfnn-wave/input/infer.h \
	apps/gfnn-wave/input/head.c apps/gfnn-wave/input/infer.c apps/gfnn-wave/input/model.c \
	apps/gfnn-wave/input/voxel.c apps/gfnn-wave/input/weights.c \
	apps/gfnn-wave/cpu/cpu.h \
	apps/gfnn-wave/cpu/strain_rows.h \
	apps/gfnn-wave/cpu/cpu_coloured.c \
	apps/gfnn-wave/cpu/cpu_atomic.c \
	apps/gfnn-wave/cpu/cpu_recompute.c \
	apps/gfnn-wave/cpu/predict_reference.c \
	apps/gfnn-wave/cpu/predict_simd.c \
	apps/gfnn-wave/cpu/reference.c \
	apps/gfnn-wave/cpu/cpu_simd.c \
	apps/gfnn-wave/cpu/cpu_simd32.c \
	apps/gfnn-wave/cpu/cpu_simd_rows.inc \
	apps/gfnn-wave/cpu/solve_reference.c \
	apps/gfnn-wave/cpu/solve_simd.c
apps_gfnn_wave_libgfnn_a_LIBADD = apps/gfnn-wave/cpu/vectors.o

if HAVE_CUDA
apps_gfnn_wave_libgfnn_a_SOURCES += \
	apps/gfnn-wave/cuda/gfnn_cuda.cuh \
	apps/gfnn-wave/cuda/gfnn_net.cuh \
	apps/gfnn-wave/cuda/rows.cuh \
	apps/gfnn-wave/cuda/sums.cuh \
	apps/gfnn-wave/cuda/tensor_columns.cuh \
	apps/gfnn-wave/cuda/coloured.cu \
	apps/gfnn-wave/cuda/atomic.cu \
	apps/gfnn-wave/cuda/recompute.cu \
	apps/gfnn-wave/cuda/node.cu \
	apps/gfnn-wave/cuda/parity.cu \
	apps/gfnn-wave/cuda/direct.cu \
	apps/gfnn-wave/cuda/unrolled.cu \
	apps/gfnn-wave/cuda/tiled.cu \
	apps/gfnn-wave/cuda/tensor.cu \
	apps/gfnn-wave/cuda/vectors.cu \
	apps/gfnn-wave/cuda/blocks.cu \
	apps/gfnn-wave/cuda/ghosts.cu \
	apps/gfnn-wave/cuda/infer.cu \
	apps/gfnn-wave/cuda/scalars.cu \
	apps/gfnn-wave/cuda/solve_cuda.cu

# On request alone, for Hopper: make apps/gfnn-wave/peers/cutlass CUTLASS=DIR, where DIR/include is.
CLEANFILES += apps/gfnn-wave/peers/cutlass
apps/gfnn-wave/peers/cutlass: apps/gfnn-wave/peers/cutlass.cu
	@test -f '$(CUTLASS)/include/cutlass/cutlass.h' || { echo 'give CUTLASS=DIR, a copy of CUTLASS'; exit 1; }
	@$(MKDIR_P) $(@D)
	$(rt_say_nvcc)$(NVCC) -std=c++17 -arch=sm_90a --expt-relaxed-constexpr --extended-lambda -DNDEBUG \
		-diag-suppress 20012 -isystem $(CUTLASS)/include -isystem $(CUTLASS)/tools/util/include -o $@ $<
endif

gfnn_kokkos_sources = \
	apps/gfnn-wave/kokkos/kokkos.cpp \
	apps/gfnn-wave/kokkos/predict_kokkos.cpp \
	apps/gfnn-wave/kokkos/solve_kokkos.cpp \
	apps/gfnn-wave/kokkos/vectors.cpp
gfnn_openacc_sources = \
	apps/gfnn-wave/openacc/openacc.c \
	apps/gfnn-wave/openacc/predict_openacc.c
EXTRA_DIST += $(gfnn_kokkos_sources) $(gfnn_openacc_sources) apps/gfnn-wave/kokkos/columns.hpp apps/gfnn-wave/kokkos/gfnn_kokkos.hpp \
	apps/gfnn-wave/cpu/vectors.cpp apps/gfnn-wave/peers/cutlass.cu apps/gfnn-wave/wave.png
if HAVE_KOKKOS
apps_gfnn_wave_libgfnn_a_LIBADD += $(gfnn_kokkos_sources:.cpp=.o)
endif
if HAVE_OPENACC
rt_openacc_objects += $(gfnn_openacc_sources:.c=.o)
apps_gfnn_wave_libgfnn_a_LIBADD += $(gfnn_openacc_sources:.c=.o)
endif

gfnn_inputsdir = $(pkgdatadir)/inputs/gfnn-wave
dist_gfnn_inputs_DATA = $(wildcard $(srcdir)/inputs/gfnn-wave/*)

# make bench: the ladders of operator and predictor in both forms, then a step with every
# preconditioner, on 256^3 elements.
gfnn_bench = apps/gfnn-wave/gfnn-wave --elements 256x256x256
gfnn_bench_solves = bj cheb3 cheb5 cheb7 gf8 gfm2 gfm4 gfm8
bench: bench-gfnn
bench-gfnn: apps/gfnn-wave/gfnn-wave
	@for only in operator predictor "predictor --precond gf8"; do \
	    echo "== gfnn-wave --elements 256x256x256 --ladder --only $$only"; \
	    $(gfnn_bench) --ladder --only $$only || exit 1; \
	done
	@for precond in $(gfnn_bench_solves); do \
	    echo "== gfnn-wave --elements 256x256x256 --precond $$precond"; \
	    $(gfnn_bench) --precond $$precond || exit 1; \
	done
.PHONY: bench-gfnn
