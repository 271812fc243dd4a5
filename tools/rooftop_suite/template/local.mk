# jacobi. Everything but main() is a library, so that tests can link it.

bin_PROGRAMS += apps/jacobi/jacobi
apps_jacobi_jacobi_SOURCES = common/driver/program.c
apps_jacobi_jacobi_CPPFLAGS = $(AM_CPPFLAGS) -DRT_APP=jacobi_app
apps_jacobi_jacobi_LDADD = apps/jacobi/libjacobi.a $(RT_LIBS)

noinst_LIBRARIES += apps/jacobi/libjacobi.a
apps_jacobi_libjacobi_a_SOURCES = \
	apps/jacobi/jacobi.h apps/jacobi/ladder.def \
	apps/jacobi/app.c apps/jacobi/solve.c apps/jacobi/work.c apps/jacobi/judge/verify.c \
	apps/jacobi/cpu/reference.c
if HAVE_CUDA
apps_jacobi_libjacobi_a_SOURCES += apps/jacobi/cuda/global.cu
endif
rt_judges += apps/jacobi/judge/%.o

TESTS += tests/jacobi/cli.sh
EXTRA_DIST += tests/jacobi/cli.sh
