# The runtime of all apps: one static library, installed with its headers and rooftop.pc, so that an app
# can be built outside this tree.

lib_LIBRARIES += common/librooftop.a
common_librooftop_a_SOURCES = \
	common/rt.h \
	common/base/arithmetic.h \
	common/base/draw.h \
	common/base/by_name.h common/base/extern_c.h \
	common/base/error.h common/base/error.c \
	common/base/file.h common/base/file.c \
	common/base/free_memory.h common/base/free_memory.c \
	common/base/hilbert.h common/base/hilbert.c \
	common/base/mem.h common/base/mem_backend.h common/base/mem.c \
	common/base/numbers.h common/base/numbers.c \
	common/base/opt.h common/base/opt_slot.h common/base/opt.c common/base/opt_value.c \
	common/base/progress.h common/base/progress.c \
	common/base/sha256.h common/base/sha256.c \
	common/base/sort.h common/base/sort.c \
	common/base/table.h common/base/table.c \
	common/base/text.h common/base/text.c \
	common/base/threads.h \
	common/io/draft.h common/io/draft.c \
	common/io/dump.h common/io/dump.c \
	common/io/files.h common/io/files.c \
	common/io/vtk.h common/io/vtk.c \
	common/io/inputs.h common/io/inputs.c \
	common/io/json.h common/io/json.c \
	common/io/scan.h common/io/scan.c \
	common/machine/collectives.c \
	common/machine/comm.h common/machine/comm_mpi.h common/machine/comm.c \
	common/machine/cores.h common/machine/cores.c \
	common/machine/cuda.h \
	common/machine/device.h common/machine/kind.c common/machine/reduce.c common/machine/device.c \
	common/machine/energy.h common/machine/energy.c common/machine/power.c \
	common/machine/shared.h common/machine/shared.c \
	common/machine/kokkos.h \
	common/machine/replay.h common/machine/replay.c \
	common/machine/streams.h common/machine/streams.c \
	common/machine/synchronize.c \
	common/machine/timer.h common/machine/timer.c \
	common/mesh/builder.h common/mesh/builder.c \
	common/mesh/gmsh.c \
	common/mesh/mesh.h common/mesh/read.c common/mesh/read_all.c \
	common/mesh/ugrid.c \
	common/halo/groups.c \
	common/halo/halo.h common/halo/state.h common/halo/halo.c \
	common/halo/kernels.h common/halo/kernels.hpp \
	common/halo/nccl.h common/halo/nccl.c \
	common/halo/plan.c \
	common/halo/predict.c \
	common/halo/staged.c \
	common/halo/transport.h common/halo/transports.c \
	common/halo/wire.c \
	common/measure/ceiling.h common/measure/ceiling.c common/measure/ceiling_host.c \
	common/measure/meter.c \
	common/measure/ceiling_gpu.hpp common/measure/ceiling_loops.h \
	common/measure/plausible.h common/measure/plausible.c common/measure/steady.h common/measure/steady.c \
	common/measure/units.h common/measure/units.c common/measure/units_host.c \
	common/judge/compare.h common/judge/compare.c common/judge/digest.h common/judge/digest.c common/judge/exchange.h common/judge/exchange.c \
	common/judge/perturb.h common/judge/perturb.c common/judge/verify.h common/judge/verify.c \
	common/judge/work.h common/judge/work.c \
	common/app/app.h common/app/context.h common/app/context.c common/app/ladder.h common/app/ladder.c \
	common/app/grade.c common/app/parameter.h common/app/team.h common/app/team.c common/app/version.c \
	common/tune/force.h common/tune/force.c common/tune/search.c \
	common/tune/store.c common/tune/tune.h common/tune/tune.c common/tune/tune_file.c common/tune/tuning.h \
	common/driver/driver.h common/driver/dump.c common/driver/choose.c common/driver/job.h common/driver/job.c \
	common/driver/main.c common/driver/options.c common/driver/profile.c common/driver/report.c common/driver/rung.c \
	common/driver/sizes.c common/driver/study.c common/driver/tables.c common/driver/windows.c
common_librooftop_a_LIBADD = common/halo/kernels_host.o
EXTRA_DIST += common/halo/kernels_host.cpp

if HAVE_CUDA
common_librooftop_a_SOURCES += \
	common/halo/direct.cuh \
	common/halo/kernels_cuda.cu \
	common/halo/allreduce.cu \
	common/halo/allreduce.cuh \
	common/halo/allreduce.h \
	common/halo/signal.cuh \
	common/halo/peer.cu \
	common/halo/peer_memory.cu \
	common/halo/peer_memory.h \
	common/machine/async.cuh \
	common/machine/cublas.c \
	common/machine/cublas.h \
	common/machine/cuda.cuh \
	common/machine/memory.cu \
	common/measure/ceiling_cuda.cu \
	common/measure/units_cuda.cu
endif

# Where OpenACC is, its compiler makes the object, since openacc.h may be in its own folder.
EXTRA_DIST += common/machine/openacc.h common/machine/openacc.c
if HAVE_OPENACC
rt_openacc_objects += common/machine/openacc.o
common_librooftop_a_LIBADD += common/machine/openacc.o
else
common_librooftop_a_SOURCES += common/machine/openacc.c
endif

rt_kokkos_sources = common/machine/kokkos.cpp common/halo/kernels_kokkos.cpp common/measure/ceiling_kokkos.cpp
EXTRA_DIST += common/machine/kokkos.hpp $(rt_kokkos_sources)
if HAVE_KOKKOS
common_librooftop_a_LIBADD += $(rt_kokkos_sources:.cpp=.o)
else
common_librooftop_a_SOURCES += common/machine/kokkos_absent.c
endif

rt_judges += common/base/numbers.o common/judge/%.o

# Installed is what an app may include, in the folders that the includes name. These are for the runtime itself.
rt_private_headers = base/free_memory.h base/mem_backend.h base/opt_slot.h driver/job.h halo/kernels.h halo/kernels.hpp halo/state.h \
	measure/ceiling_gpu.hpp measure/ceiling_loops.h mesh/builder.h tune/force.h \
	tune/tuning.h
# main() of every program, which each app's local.mk compiles with RT_APP, its table.
EXTRA_DIST += common/driver/program.c
rooftopincludedir = $(includedir)/rooftop
rt_headers = $(patsubst $(srcdir)/common/%,%,$(wildcard $(foreach e,h cuh hpp,$(srcdir)/common/*.$e $(srcdir)/common/*/*.$e)))
install-data-local:
	for h in $(filter-out $(rt_private_headers),$(rt_headers)); do \
	    $(MKDIR_P) "$(DESTDIR)$(rooftopincludedir)/`dirname $$h`" && \
	    $(INSTALL_DATA) "$(srcdir)/common/$$h" "$(DESTDIR)$(rooftopincludedir)/$$h" || exit 1; \
	done
	$(INSTALL_DATA) "$(srcdir)/common/driver/program.c" "$(DESTDIR)$(rooftopincludedir)/driver"
	$(INSTALL_DATA) version.h "$(DESTDIR)$(rooftopincludedir)"
uninstall-local:
	rm -rf '$(DESTDIR)$(rooftopincludedir)'
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = common/rooftop.pc

# Made each time, written only if it has changed; by way of a file of its own, since tests run make beside this one. The
# flags are those of make, which may differ from configure's.
rt_c_string = '$(subst ','\'',$(subst ",\",$(subst \,\\,$(strip $1))))'
build.h: rt_always
	@new=$@.$$$$ && { \
	    version=`$(SHELL) $(srcdir)/tools/version-gen $(srcdir)` && \
	    printf '#define RT_BUILD_%s "%s"\n' VERSION "$$version" CC $(call rt_c_string,$(CC)) CPPFLAGS $(call rt_c_string,$(CPPFLAGS)) \
	        CFLAGS $(call rt_c_string,$(CFLAGS)) CXX $(call rt_c_string,$(CXX)) CXXFLAGS $(call rt_c_string,$(CXXFLAGS)) \
	        NVCCFLAGS $(call rt_c_string,$(NVCCFLAGS)) LDFLAGS $(call rt_c_string,$(LDFLAGS)) \
	        LIBS $(call rt_c_string,$(LIBS)); } >$$new && \
	    if cmp -s $$new $@; then rm -f $$new; else mv -f $$new $@; fi
rt_always:
.PHONY: rt_always
CLEANFILES += build.h
common/app/version.o: build.h

inputsdir = $(pkgdatadir)/inputs
dist_inputs_DATA = inputs/to_ugrid.py
# Where make install puts the files that ship with an app. A build has a link `inputs` to those of the sources.
common/io/inputs.o: AM_CPPFLAGS += -DRT_DATADIR='"$(pkgdatadir)"'

common/machine/timer.o: AM_CPPFLAGS += $(CALIPER_CPPFLAGS)
common/halo/nccl.o: AM_CPPFLAGS += $(NCCL_CPPFLAGS)

# The only files that use mpi.h, so the only ones that get MPI's flags (and, if need be, mpicc).
rt_mpi_objects = common/machine/comm.o common/machine/collectives.o
$(rt_mpi_objects): CC = $(RT_MPI_CC)
$(rt_mpi_objects): AM_CPPFLAGS += $(MPI_CFLAGS)
