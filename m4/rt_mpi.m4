# RT_MPI: --with-mpi[=DIR]; sets rt_have_mpi, MPI_CFLAGS (only for files that call MPI), MPI_LIBS, MPIRUN.
#
# mpicc is asked for its flags and the plain compiler is used with them, because mpicc may wrap
# another compiler than the one that is measured. Only if these flags do not work, mpicc itself compiles
# the files that call MPI and links the programs (RT_MPI_CC, and -lstdc++ for Kokkos, CUDA).
AC_DEFUN([RT_MPI], [
  AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi@<:@=DIR@:>@], [use MPI (DIR/bin/mpicc)])],
    [], [with_mpi=check])
  AC_ARG_VAR([MPICC], [MPI compiler wrapper, asked for its flags])
  AC_ARG_VAR([MPIRUN], [program that starts MPI programs, for the tests])
  MPI_CFLAGS= MPI_LIBS= RT_MPI_CC=$CC rt_mpi_how= rt_have_mpi=0 rt_why_mpi="--without-mpi was given"
  AS_IF([test "x$with_mpi" != xno], [
    AS_CASE([$with_mpi],
      [/*], [rt_mpi_path=$with_mpi/bin rt_tried=$with_mpi/bin],
      [rt_mpi_path=$PATH rt_tried=PATH])
    AC_PATH_PROGS([MPICC], [mpicc mpicc.openmpi mpicc.mpich], [], [$rt_mpi_path])
    AS_IF([test "x$MPICC" = x],
      [RT_NOT_FOUND([mpi], [there is no mpicc in $rt_tried (apt install libopenmpi-dev openmpi-bin)])],
      [RT_MPI_TRY])
  ])
  AS_IF([test $rt_have_mpi = 1], [
    AC_PATH_PROGS([MPIRUN], [mpirun mpiexec srun], [], [`AS_DIRNAME(["$MPICC"])`$PATH_SEPARATOR$PATH])
  ], [MPIRUN=])
  AC_SUBST([MPI_CFLAGS])
  AC_SUBST([MPI_LIBS])
  AC_SUBST([RT_MPI_CC])
])

# RT_MPI_TRY: finds flags of $MPICC that compile and link a program.
AC_DEFUN([RT_MPI_TRY], [
  AC_MSG_CHECKING([for the flags of $MPICC])
  rt_mpi_how=
  for rt_try in showme info show pkg-config wrapper; do
    RT_MPI_CC=$CC
    AS_CASE([$rt_try],
      [showme], [rt_c=`$MPICC --showme:compile 2>/dev/null` && rt_l=`$MPICC --showme:link 2>/dev/null`],
      [info], [rt_c=`$MPICC -compile-info 2>/dev/null` && rt_l=`$MPICC -link-info 2>/dev/null`],
      [show], [rt_c=`$MPICC -show 2>/dev/null` && rt_l=$rt_c],
      # If one MPI was asked for by its DIR, do not use another.
      [pkg-config], [test "x$rt_mpi_path" = "x$PATH" &&
                     rt_c=`pkg-config --cflags ompi-c 2>/dev/null || pkg-config --cflags mpich 2>/dev/null` &&
                     rt_l=`pkg-config --libs ompi-c 2>/dev/null || pkg-config --libs mpich 2>/dev/null`],
      [rt_c= rt_l= RT_MPI_CC=$MPICC]) || continue
    # MPICH's answers begin with the compiler and include flags such as -O2 of its own build: drop these.
    MPI_CFLAGS= MPI_LIBS=
    for rt_f in $rt_c; do
      AS_CASE([$rt_f], [-I*|-D*|-pthread], [MPI_CFLAGS="$MPI_CFLAGS $rt_f"])
    done
    for rt_f in $rt_l; do
      AS_CASE([$rt_f], [-L*|-l*|-Wl,*|-pthread|/*.so|/*.a], [MPI_LIBS="$MPI_LIBS $rt_f"])
    done
    rt_save_CC=$CC rt_save_CFLAGS=$CFLAGS rt_save_LIBS=$LIBS
    AS_IF([test $rt_try = wrapper], [CC=$MPICC])
    CFLAGS="$CFLAGS $MPI_CFLAGS" LIBS="$MPI_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([@%:@include <mpi.h>], [return MPI_Init(0, 0);])], [rt_mpi_how=$rt_try])
    CC=$rt_save_CC CFLAGS=$rt_save_CFLAGS LIBS=$rt_save_LIBS
    AS_IF([test "x$rt_mpi_how" != x], [break])
  done
  AS_IF([test "x$rt_mpi_how" = x], [
    AC_MSG_RESULT([none that work])
    MPI_CFLAGS= MPI_LIBS= RT_MPI_CC=$CC
    RT_NOT_FOUND([mpi], [no MPI program links: tried the flags of $MPICC (--showme, -compile-info, -show), pkg-config, and $MPICC itself; see config.log])
  ], [
    AC_MSG_RESULT([$rt_mpi_how:$MPI_CFLAGS$MPI_LIBS])
    rt_have_mpi=1
  ])
])
