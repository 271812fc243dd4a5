# alya-rhs. Everything but main() is a library, so that tests can link it.
# A new rung: its file here, and a line in ladder.def.

alya_libs = apps/alya-rhs/libalya.a $(HYPRE_LIBS) $(RT_LIBS)
bin_PROGRAMS += apps/alya-rhs/alya-rhs
apps_alya_rhs_alya_rhs_SOURCES = common/driver/program.c
apps_alya_rhs_alya_rhs_CPPFLAGS = $(AM_CPPFLAGS) -DRT_APP=alya_app
apps_alya_rhs_alya_rhs_LDADD = $(alya_libs)

rt_judges += apps/alya-rhs/judge/%.o
noinst_LIBRARIES += apps/alya-rhs/libalya.a
apps_alya_rhs_libalya_a_SOURCES = \
	apps/alya-rhs/alya.h apps/alya-rhs/kernel.h apps/alya-rhs/ladder.def \
	apps/alya-rhs/app.c apps/alya-rhs/problem.c apps/alya-rhs/solve.c \
	apps/alya-rhs/work.c apps/alya-rhs/output/dump.c apps/alya-rhs/output/picture.c \
	apps/alya-rhs/input/box.c \
	apps/alya-rhs/input/check.c \
	apps/alya-rhs/input/input.h apps/alya-rhs/input/input.c \
	apps/alya-rhs/input/order.c \
	apps/alya-rhs/input/read.c \
	apps/alya-rhs/input/velocity.c \
	apps/alya-rhs/judge/step.c apps/alya-rhs/judge/verify.c \
	apps/alya-rhs/patches/patches.h apps/alya-rhs/patches/patches.c \
	apps/alya-rhs/patches/patch_record.h apps/alya-rhs/patches/patch_record.c \
	apps/alya-rhs/element/baseline.h apps/alya-rhs/element/restructured.h \
	apps/alya-rhs/element/quadrature.h apps/alya-rhs/element/form.hpp \
	apps/alya-rhs/cpu/reference.c \
	apps/alya-rhs/cpu/schedule.c \
	apps/alya-rhs/cpu/lanes.h apps/alya-rhs/cpu/arithmetic.h \
	apps/alya-rhs/cpu/cpu_b.c \
	apps/alya-rhs/cpu/cpu_rs.c \
	apps/alya-rhs/cpu/cpu_rsp.c \
	apps/alya-rhs/cpu/cpu_closed.c \
	apps/alya-rhs/cpu/vectors.c \
	apps/alya-rhs/step/step.h apps/alya-rhs/step/loops.hpp \
	apps/alya-rhs/step/rows.c apps/alya-rhs/step/flow.c \
	apps/alya-rhs/step/pressure.c apps/alya-rhs/step/hypre.c
apps_alya_rhs_libalya_a_LIBADD = apps/alya-rhs/cpu/loops.o

if HAVE_HYPRE
# HYPRE.h includes mpi.h: for this file alone
apps/alya-rhs/step/hypre.o: CC = $(RT_MPI_CC)
apps/alya-rhs/step/hypre.o: AM_CPPFLAGS += $(HYPRE_CPPFLAGS)
endif

if HAVE_CUDA
apps_alya_rhs_libalya_a_SOURCES += \
	apps/alya-rhs/cuda/alya_cuda.cuh \
	apps/alya-rhs/cuda/baseline.cuh \
	apps/alya-rhs/cuda/element.cuh \
	apps/alya-rhs/cuda/b.cu \
	apps/alya-rhs/cuda/p.cu \
	apps/alya-rhs/cuda/rs.cu \
	apps/alya-rhs/cuda/rsp.cu \
	apps/alya-rhs/cuda/rspr.cu \
	apps/alya-rhs/cuda/closed.cu \
	apps/alya-rhs/cuda/coalesced.cu \
	apps/alya-rhs/cuda/patch.cuh apps/alya-rhs/cuda/patch_host.cuh \
	apps/alya-rhs/cuda/patch.cu \
	apps/alya-rhs/cuda/mixed.cu \
	apps/alya-rhs/cuda/loops.cu \
	apps/alya-rhs/cuda/vectors.cu
# Code for 90a runs on the same GPUs as code for 90; only there can warps give registers to others.
apps/alya-rhs/cuda/patch.o: RT_NVCCFLAGS := \
	$(patsubst arch=compute_90%sm_90,arch=compute_90a%sm_90a,$(RT_NVCCFLAGS))
endif

alya_kokkos_sources = \
	apps/alya-rhs/kokkos/kokkos.cpp \
	apps/alya-rhs/kokkos/loops.cpp \
	apps/alya-rhs/kokkos/vectors.cpp
alya_openacc_sources = \
	apps/alya-rhs/openacc/openacc_b.c \
	apps/alya-rhs/openacc/openacc_rspr.c \
	apps/alya-rhs/openacc/vectors.c
EXTRA_DIST += apps/alya-rhs/cpu/loops.cpp apps/alya-rhs/hill.png $(alya_kokkos_sources) apps/alya-rhs/openacc/openacc.h $(alya_openacc_sources)
if HAVE_KOKKOS
apps_alya_rhs_libalya_a_LIBADD += $(alya_kokkos_sources:.cpp=.o)
endif
if HAVE_OPENACC
rt_openacc_objects += $(alya_openacc_sources:.c=.o)
apps_alya_rhs_libalya_a_LIBADD += $(alya_openacc_sources:.c=.o)
endif

alya_inputsdir = $(pkgdatadir)/inputs/alya-rhs
dist_alya_inputs_DATA = $(wildcard $(srcdir)/inputs/alya-rhs/*)

# make bench: the ladder at the paper's size, in natural and in Hilbert order.
bench: bench-alya
bench-alya: apps/alya-rhs/alya-rhs
	@for order in natural hilbert; do \
	    echo "== alya-rhs --cells 480x400x28 --order $$order"; \
	    apps/alya-rhs/alya-rhs --cells 480x400x28 --order $$order --ladder || exit 1; \
	done
.PHONY: bench-alya
