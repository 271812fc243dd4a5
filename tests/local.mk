# Tests. A program needs no _SOURCES line: tests/common/test_opt is made from tests/common/test_opt.c.
# Exit status: 0 passed, 77 skipped, anything else failed.

# What tests of the common library and of the apps are made of.
rt_common_tests = \
	tests/common/test_app \
	tests/common/test_ceiling \
	tests/common/test_comm \
	tests/common/test_device \
	tests/common/test_error \
	tests/common/test_evidence \
	tests/common/test_halo \
	tests/common/test_vtk \
	tests/common/test_mem \
	tests/common/test_mesh \
	tests/common/test_opt \
	tests/common/test_report \
	tests/common/test_timer \
	tests/common/test_tune \
	tests/common/test_verify
rt_nekbone_tests = \
	tests/nekbone/test_operator \
	tests/nekbone/test_precond \
	tests/nekbone/test_problem \
	tests/nekbone/test_solve \
	tests/nekbone/test_work
rt_alya_tests = \
	tests/alya-rhs/test_mesh \
	tests/alya-rhs/test_order \
	tests/alya-rhs/test_patches \
	tests/alya-rhs/test_physics \
	tests/alya-rhs/test_step \
	tests/alya-rhs/test_work
rt_mcpi_tests = \
	tests/fun3d-mcpi/test_colour \
	tests/fun3d-mcpi/test_dual \
	tests/fun3d-mcpi/test_flow \
	tests/fun3d-mcpi/test_graph \
	tests/fun3d-mcpi/test_march \
	tests/fun3d-mcpi/test_steady \
	tests/fun3d-mcpi/test_near \
	tests/fun3d-mcpi/test_piece \
	tests/fun3d-mcpi/test_sweeps \
	tests/fun3d-mcpi/test_system \
	tests/fun3d-mcpi/test_wing
rt_gfnn_tests = \
	tests/gfnn-wave/test_blocks \
	tests/gfnn-wave/test_box \
	tests/gfnn-wave/test_element \
	tests/gfnn-wave/test_iterations \
	tests/gfnn-wave/test_kernels \
	tests/gfnn-wave/test_model \
	tests/gfnn-wave/test_physics \
	tests/gfnn-wave/test_solve \
	tests/gfnn-wave/test_weights
# The longest, where there is a GPU, come first: they run beside all the others.
rt_gpu_scripts = \
	tests/nekbone/gpu_degrees.sh \
	tests/nekbone/gpu.sh \
	tests/nekbone/gpu_ranks.sh \
	tests/gfnn-wave/gpu.sh \
	tests/gfnn-wave/gpu_forms.sh \
	tests/gfnn-wave/gpu_ranks.sh \
	tests/mutants/gpu.sh \
	tests/fun3d-mcpi/gpu.sh \
	tests/fun3d-mcpi/gpu_ranks.sh \
	tests/alya-rhs/gpu.sh \
	tests/suite/gpu.sh \
	tests/common/gpu_lost.sh
# The longest come first, and those with ranks take turns with the others: ranks that wait for each other slow each other.
rt_scripts = \
	tests/mutants/mutants.sh \
	tests/suite/programs.sh \
	tests/suite/configure.sh \
	tests/suite/climb.sh \
	tests/gfnn-wave/mpi.sh \
	tests/fun3d-mcpi/cli.sh \
	tests/gfnn-wave/cli.sh \
	tests/nekbone/mpi.sh \
	tests/suite/report.sh \
	tests/suite/unit.sh \
	tests/common/halo_mpi.sh \
	tests/alya-rhs/cli.sh \
	tests/fun3d-mcpi/mpi.sh \
	tests/suite/run.sh \
	tests/alya-rhs/mpi.sh \
	tests/suite/verify.sh \
	tests/common/many_ranks.sh \
	tests/common/options.sh \
	tests/nekbone/cli.sh \
	tests/nekbone/tune.sh \
	tests/suite/scale.sh \
	tests/common/load.sh \
	tests/fun3d-mcpi/peers.sh \
	tests/gfnn-wave/train.sh \
	tests/dump.sh \
	tests/structure.sh \
	tests/suite/aarch64.sh \
	tests/suite/browser.sh \
	tests/suite/completion.sh \
	tests/suite/links.sh \
	tests/suite/contribute.sh \
	tests/suite/outside.sh \
	tests/suite/races.sh \
	tests/suite/recipes.sh \
	tests/fuzz/mesh.sh \
	tests/suite/reproducible.sh \
	tests/suite/quickstart.sh

check_PROGRAMS += $(rt_common_tests) $(rt_nekbone_tests) $(rt_alya_tests) $(rt_mcpi_tests) \
	$(rt_gfnn_tests)
TESTS += $(rt_gpu_scripts) $(rt_scripts) $(rt_common_tests) $(rt_nekbone_tests) \
	$(rt_alya_tests) $(rt_mcpi_tests) $(rt_gfnn_tests)

# What tests of an app are linked with, besides the runtime.
rt_nekbone_users = $(rt_nekbone_tests) tests/nekbone/lost tests/nekbone/nodes
rt_alya_users = $(rt_alya_tests) tests/alya-rhs/nodes
rt_mcpi_users = $(rt_mcpi_tests) tests/fun3d-mcpi/lost
rt_gfnn_users = $(rt_gfnn_tests) tests/gfnn-wave/nodes tests/gfnn-wave/lost
$(rt_nekbone_users): apps/nekbone/libnekbone.a
$(rt_alya_users): apps/alya-rhs/libalya.a
$(rt_mcpi_users): apps/fun3d-mcpi/libmcpi.a
$(rt_gfnn_users): apps/gfnn-wave/libgfnn.a
$(rt_nekbone_users): rt_app_libs = $(nekbone_libs)
$(rt_alya_users): rt_app_libs = $(alya_libs)
$(rt_mcpi_users): rt_app_libs = $(mcpi_libs)
$(rt_gfnn_users): rt_app_libs = apps/gfnn-wave/libgfnn.a

# Apps whose GPU is lost while they work, for gpu_lost.sh, which other tests would notice.
if HAVE_CUDA
check_PROGRAMS += tests/nekbone/lost tests/fun3d-mcpi/lost tests/gfnn-wave/lost
tests_nekbone_lost_SOURCES = common/driver/program.c tests/common/lost.cu
tests_fun3d_mcpi_lost_SOURCES = common/driver/program.c tests/common/lost.cu
tests_gfnn_wave_lost_SOURCES = common/driver/program.c tests/common/lost.cu
tests_nekbone_lost_CPPFLAGS = $(AM_CPPFLAGS) -DRT_APP=nek_app
tests_fun3d_mcpi_lost_CPPFLAGS = $(AM_CPPFLAGS) -DRT_APP=mcpi_app
tests_gfnn_wave_lost_CPPFLAGS = $(AM_CPPFLAGS) -DRT_APP=gfnn_app
tests/common/gpu_lost.log: $(filter-out tests/common/gpu_lost.log, $(TEST_LOGS))
# make gpu-record: it starts four ranks on a GPU, so it comes after what runs at once.
tests/common/halo_mpi.log: $(if $(RT_GPU_RECORD), $(filter-out tests/common/halo_mpi.log \
    tests/common/gpu_lost.log, $(TEST_LOGS)))
endif

# The programs as on several nodes, for many_ranks.sh.
rt_nodes = tests/nekbone/nodes tests/alya-rhs/nodes tests/gfnn-wave/nodes
check_PROGRAMS += $(rt_nodes)
tests_nekbone_nodes_SOURCES = tests/common/nodes.c
tests_alya_rhs_nodes_SOURCES = tests/common/nodes.c
tests_gfnn_wave_nodes_SOURCES = tests/common/nodes.c
tests_nekbone_nodes_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS) -DRT_APP=nek_app
tests_alya_rhs_nodes_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS) -DRT_APP=alya_app
tests_gfnn_wave_nodes_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS) -DRT_APP=gfnn_app
tests/common/tests_nekbone_nodes-nodes.o tests/common/tests_alya_rhs_nodes-nodes.o \
tests/common/tests_gfnn_wave_nodes-nodes.o: CC = $(RT_MPI_CC)


# Scripts, and whatever else tests read: helpers, suppressions, the GPU record.
EXTRA_DIST += $(rt_gpu_scripts) $(rt_scripts) \
	$(wildcard $(foreach e,py sh tsv supp,$(srcdir)/tests/*.$e) $(srcdir)/tests/*/*.h $(srcdir)/tests/*/*.sh $(srcdir)/tests/*/*.py $(srcdir)/tests/*/*.supp $(srcdir)/tests/mutants/*.txt \
	$(srcdir)/tests/fuzz/*.c $(srcdir)/tests/suite/*.c $(srcdir)/tests/suite/samples/*.json $(srcdir)/tests/suite/unit/*.py $(srcdir)/tests/suite/unit/*.txt)

TEST_EXTENSIONS = .sh
SH_LOG_COMPILER = bash

# What a user has exported to place threads and ranks, or to find inputs, must not change a test: with OMP_PROC_BIND=close
# all tests would sit on the same cores. Which GPUs, networks and libraries there are is for the user to say.
rt_user_settings = env | sed -En 's/^((OMP|KMP|GOMP|KOKKOS|ROOFTOP|SLURM|PMI|OMPI_COMM_WORLD)_[A-Za-z0-9_]*|(OMPI|PRTE)_MCA_(rmaps|hwloc)_[a-z_]*|PMIX_(RANK|NAMESPACE|SERVER_[A-Z0-9_]*))=.*/\1/p'

# MPI as root, more ranks than cores, no ptrace in containers; no binding, or the tests that run side
# by side would all sit on core 0; threads sleep when they wait, or those of one test would burn the
# cores of another. Left out is half of what a start takes: the search for fabrics (cm), collectives
# for many nodes, and hwloc's search for devices, which only GPUs need. Open MPI 4 reads OMPI_MCA_*,
# Open MPI 5 the PRTE_MCA_* ones.
# What was tuned here must not be in force: a cache that is not there. So ccache must not make one, and Matplotlib keeps its list
# of fonts, which takes it a second, beside what Python compiled.
AM_TESTS_ENVIRONMENT = \
	for setting in `$(rt_user_settings)`; do unset $$setting; done; \
	XDG_CACHE_HOME='$(abs_top_builddir)/tests/none'; export XDG_CACHE_HOME; \
	CCACHE_DISABLE=1; export CCACHE_DISABLE; \
	MPLCONFIGDIR='$(abs_top_builddir)/tests/__pycache__/matplotlib'; export MPLCONFIGDIR; \
	MPIRUN='$(MPIRUN)'; export MPIRUN; \
	abs_top_srcdir='$(abs_top_srcdir)'; export abs_top_srcdir; \
	abs_top_builddir='$(abs_top_builddir)'; export abs_top_builddir; \
	OMPI_ALLOW_RUN_AS_ROOT=1; export OMPI_ALLOW_RUN_AS_ROOT; \
	OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM; \
	OMPI_MCA_rmaps_base_oversubscribe=1; export OMPI_MCA_rmaps_base_oversubscribe; \
	OMPI_MCA_hwloc_base_binding_policy=none; export OMPI_MCA_hwloc_base_binding_policy; \
	OMPI_MCA_btl_vader_single_copy_mechanism=none; export OMPI_MCA_btl_vader_single_copy_mechanism; \
	OMPI_MCA_pml=$${OMPI_MCA_pml-ob1}; export OMPI_MCA_pml; \
	OMPI_MCA_btl=$${OMPI_MCA_btl-self,vader}; export OMPI_MCA_btl; \
	OMPI_MCA_osc=$${OMPI_MCA_osc-^ucx,rdma}; export OMPI_MCA_osc; \
	OMPI_MCA_coll=$${OMPI_MCA_coll-^adapt,han,monitoring,sync}; export OMPI_MCA_coll; \
	PMIX_MCA_gds=hash; export PMIX_MCA_gds; \
	OMPI_MCA_odls_base_sigkill_timeout=0; export OMPI_MCA_odls_base_sigkill_timeout; \
	PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe; export PRTE_MCA_rmaps_default_mapping_policy; \
	PRTE_MCA_hwloc_default_binding_policy=none; export PRTE_MCA_hwloc_default_binding_policy; \
	OMP_NUM_THREADS=2; export OMP_NUM_THREADS; \
	OMP_WAIT_POLICY=passive; export OMP_WAIT_POLICY; \
	OMPI_MCA_mpi_yield_when_idle=1; export OMPI_MCA_mpi_yield_when_idle; \
	$(rt_no_devices)
if !HAVE_CUDA
rt_no_devices = HWLOC_COMPONENTS=-pci,-linuxio; export HWLOC_COMPONENTS; HWLOC_PLUGINS_PATH=/none; export HWLOC_PLUGINS_PATH;
endif

# The scripts run the app itself.
check_DATA = apps/alya-rhs/alya-rhs apps/fun3d-mcpi/fun3d-mcpi apps/gfnn-wave/gfnn-wave \
	apps/nekbone/nekbone

# Tests that have a long form look for RT_CHECK_LONG. Then the tarball.
check-long:
	RT_CHECK_LONG=1 $(MAKE) $(AM_MAKEFLAGS) check
	$(MAKE) $(AM_MAKEFLAGS) distcheck

# Every option of every program with every hostile value: some minutes.
fuzz: $(check_DATA)
	@$(AM_TESTS_ENVIRONMENT) $${PYTHON:-python3} $(srcdir)/tests/fuzz/options.py --long $(check_DATA)
.PHONY: fuzz

# What make install has put there.
installcheck-local:
	@$(AM_TESTS_ENVIRONMENT) DESTDIR='$(DESTDIR)' RT_BINDIR='$(bindir)' RT_PKGCONFIGDIR='$(pkgconfigdir)' \
	    RT_MANDIR='$(if $(man1_MANS),$(mandir))' RT_PROGRAMS='$(notdir $(bin_PROGRAMS))' bash $(srcdir)/tests/suite/outside.sh || test $$? = 77

# Device code for an AMD GPU is compiled, never run.
check-hip:
	@$(AM_TESTS_ENVIRONMENT) srcdir=$(srcdir) KOKKOS_SOURCE='$(KOKKOS_SOURCE)' $(srcdir)/tests/suite/hip.sh
.PHONY: check-hip
EXTRA_DIST += tests/suite/hip.sh

# All wrong programs.
check-mutants: $(check_DATA)
	@$(AM_TESTS_ENVIRONMENT) $${PYTHON:-python3} $(srcdir)/tests/mutants/mutants.py

# What was changed since it last passed on a GPU: said on every machine, for most have none. And what tests do without.
check-local:
	@cleared=`$(rt_user_settings) | sed 's/^SLURM_.*/SLURM_.../' | sort -u`; \
	test -z "$$cleared" || echo "the tests have run without your" $$cleared
	@$(srcdir)/tools/gpu-record --check
