# RT_MAN: decides where the man pages come from. A release has them (man/NAME.1). In a git clone help2man
# makes them from --help. Without help2man there are none, and the summary says so.
AC_DEFUN([RT_MAN], [
  AC_ARG_VAR([HELP2MAN], [program that makes man pages, in a git clone])
  AC_PATH_PROG([HELP2MAN], [help2man])
  rt_have_man=1 rt_man_shipped=no rt_why_man=
  # A build in the source folder leaves pages in the same place, so only a release uses pages found there.
  AS_IF([test -f "$srcdir/.tarball-version" && test -f "$srcdir/man/rooftop.1"],
      [rt_man_shipped=yes rt_man_from="taken from the release"],
    [test "x$HELP2MAN" != x], [rt_man_from="made by $HELP2MAN"],
    [rt_have_man=0 rt_why_man="no help2man (apt install help2man); PROGRAM --help says the same"])
  AM_CONDITIONAL([HAVE_MAN], [test $rt_have_man = 1])
  AM_CONDITIONAL([MAKE_MAN], [test $rt_have_man = 1 && test $rt_man_shipped = no])
])

# RT_PKG_CONFIG: the libraries for rooftop.pc. librooftop.a is static, so everything it needs is listed.
AC_DEFUN([RT_PKG_CONFIG], [
  rt_pc_libs="$ACC_LIBS $KOKKOS_LIBS $NCCL_LIBS $CUDA_LIBS $MPI_LIBS $HWLOC_LIBS $JANSSON_LIBS $CALIPER_LIBS -lm $LIBS"
  AS_IF([test $rt_have_openmp = 1], [rt_pc_libs="$OPENMP_CFLAGS $rt_pc_libs"])
  # Our programs are then linked by $CXX, but a C app that uses pkg-config is not.
  AS_IF([test $rt_have_cuda$rt_have_kokkos != 00], [rt_pc_libs="$rt_pc_libs -lstdc++"])
  AS_IF([test "x$rt_mpi_how" = xwrapper], [rt_pc_linker=$MPICC], [rt_pc_linker=$CC])
  rt_pc_libs=`echo $rt_pc_libs`
  AC_SUBST([rt_pc_libs])
  AC_SUBST([rt_pc_linker])
  for rt_i in mpi cuda kokkos nccl openmp; do
    eval rt_pc_$rt_i=\$rt_have_$rt_i
  done
  AC_SUBST([rt_pc_mpi])
  AC_SUBST([rt_pc_cuda])
  AC_SUBST([rt_pc_kokkos])
  AC_SUBST([rt_pc_nccl])
  AC_SUBST([rt_pc_openmp])
])
