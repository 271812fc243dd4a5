# The runtime that all apps stand on: one static library, installed with its headers and rooftop.pc, so that an app
# can be built outside this tree.

lib_LIBRARIES += common/librooftop.a
common_librooftop_a_SOURCES = \
	common/rt.h \
	common/rt_app.h common/rt_driver.h common/rt_app.c common/rt_run.c common/rt_study.c \
	common/rt_ceiling.h common/rt_ceiling_loops.h common/rt_ceiling.c common/rt_ceiling_host.c \
	common/rt_comm.h common/rt_comm.c \
	common/rt_cuda.h \
	common/rt_device.h common/rt_device.c \
	common/rt_digest.h common/rt_digest.c \
	common/rt_draft.h common/rt_draft.c \
	common/rt_energy.h common/rt_energy.c \
	common/rt_error.h common/rt_error.c \
	common/rt_halo.h common/rt_halo_kernels.h common/rt_halo.c common/rt_halo_host.c \
	common/rt_hilbert.h common/rt_hilbert.c \
	common/rt_image.h common/rt_image.c \
	common/rt_inputs.h common/rt_inputs.c \
	common/rt_kokkos.h \
	common/rt_ladder.h common/rt_ladder.c \
	common/rt_mem.h common/rt_mem.c \
	common/rt_mesh.h common/rt_mesh_file.h common/rt_mesh.c \
	common/rt_mesh_gmsh.c common/rt_mesh_su2.c common/rt_mesh_ugrid.c \
	common/rt_nccl.h common/rt_nccl.c \
	common/rt_opt.h common/rt_opt.c \
	common/rt_plausible.c \
	common/rt_replay.h common/rt_replay.c \
	common/rt_report.h common/rt_report.c \
	common/rt_scan.h common/rt_scan.c \
	common/rt_sha256.h common/rt_sha256.c \
	common/rt_sort.h common/rt_sort.c \
	common/rt_threads.h \
	common/rt_timer.h common/rt_timer.c \
	common/rt_tune.h common/rt_tune.c common/rt_tune_search.c \
	common/rt_tune_file.h common/rt_tune_file.c \
	common/rt_verify.h common/rt_verify.c \
	common/rt_version.c \
	common/rt_work.h common/rt_work.c
common_librooftop_a_LIBADD =

if HAVE_CUDA
common_librooftop_a_SOURCES += \
	common/rt_async.cuh common/rt_cuda.cuh common/rt_halo_cuda.cu common/rt_ceiling_cuda.cu \
	common/rt_kernels.h common/rt_kernels.c \
	common/rt_mail.h common/rt_mail.cuh common/rt_mail.cu \
	common/rt_peer.h common/rt_peer.cu common/rt_halo_direct.cuh common/rt_halo_peer.cu
endif

if HAVE_NVRTC
common_librooftop_a_SOURCES += common/rt_nvrtc.h common/rt_nvrtc.c
endif

rt_kokkos_sources = common/rt_kokkos.cpp common/rt_halo_kokkos.cpp
EXTRA_DIST += common/rt_kokkos.hpp $(rt_kokkos_sources)
if HAVE_KOKKOS
common_librooftop_a_LIBADD += $(rt_kokkos_sources:.cpp=.o)
else
common_librooftop_a_SOURCES += common/rt_kokkos_absent.c
endif

# What an app may include; what only the runtime itself includes stays here.
rt_private_headers = rt_ceiling_loops.h rt_driver.h rt_halo_kernels.h rt_kernels.h rt_mesh_file.h rt_tune_file.h
rooftopincludedir = $(includedir)/rooftop
rooftopinclude_HEADERS = $(filter-out $(rt_private_headers:%=$(srcdir)/common/%), \
	$(wildcard $(srcdir)/common/*.h $(srcdir)/common/*.cuh $(srcdir)/common/*.hpp))
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = common/rooftop.pc

# Asked each time, written only if it has changed.
version.h: rt_always
	@echo "#define RT_VERSION \"`$(SHELL) $(srcdir)/tools/version-gen $(srcdir)`\"" >$@.tmp
	@if cmp -s $@.tmp $@; then rm -f $@.tmp; else mv -f $@.tmp $@; fi
rt_always:
.PHONY: rt_always
CLEANFILES += version.h
common/rt_version.o: version.h

# Where the files are that ship with an app: beside the sources, or where make install puts them.
common/rt_inputs.o: AM_CPPFLAGS += -DRT_SRCDIR='"$(abs_top_srcdir)"' -DRT_DATADIR='"$(pkgdatadir)"'

common/rt_nccl.o: AM_CPPFLAGS += $(NCCL_CPPFLAGS)

# The only file that includes mpi.h, so the only one that gets MPI's flags (and, if need be, mpicc).
common/rt_comm.o: CC = $(RT_MPI_CC)
common/rt_comm.o: AM_CPPFLAGS += $(MPI_CFLAGS)
