# RT_NCCL: --with-nccl[=DIR]; sets rt_have_nccl, NCCL_CPPFLAGS (only for halo/nccl.c), NCCL_LIBS.
#
# DIR is laid out like a package or a Python wheel (nvidia-nccl-cu13): include/nccl.h, and libnccl.so or
# libnccl.so.2 in lib or lib64. The library needs neither driver nor GPU until it is called, so a
# program that is linked with it runs its CPU rungs on machines without a GPU.
AC_DEFUN([RT_NCCL], [
  AC_ARG_WITH([nccl], [AS_HELP_STRING([--with-nccl@<:@=DIR@:>@],
    [send messages between GPUs on their streams, with NCCL (in DIR); needs CUDA and MPI @<:@check@:>@])],
    [], [with_nccl=check])
  NCCL_CPPFLAGS= NCCL_LIBS= rt_have_nccl=0 rt_why_nccl="--without-nccl was given"
  AS_IF([test "x$with_nccl" != xno && test $rt_have_cuda = 0],
    [RT_NOT_FOUND([nccl], [it needs CUDA: $rt_why_cuda])],
    [test "x$with_nccl" != xno && test $rt_have_mpi = 0],
    [RT_NOT_FOUND([nccl], [it needs MPI: $rt_why_mpi])],
    [test "x$with_nccl" != xno], [RT_NCCL_TRY])
  AC_SUBST([NCCL_CPPFLAGS])
  AC_SUBST([NCCL_LIBS])
  AM_CONDITIONAL([HAVE_NCCL], [test $rt_have_nccl = 1])
])

# RT_NCCL_TRY: finds the first place that has header and library. With a DIR the test names the header
# in full, so that one found elsewhere does not count.
AC_DEFUN([RT_NCCL_TRY], [
  AC_MSG_CHECKING([for NCCL])
  rt_save_CPPFLAGS=$CPPFLAGS rt_save_LIBS=$LIBS
  AS_CASE([$with_nccl],
    [/*], [rt_header="\"$with_nccl/include/nccl.h\"" NCCL_CPPFLAGS="-isystem $with_nccl/include"
           rt_try_libs="$with_nccl/lib/libnccl.so $with_nccl/lib64/libnccl.so $with_nccl/lib/libnccl.so.2 $with_nccl/lib64/libnccl.so.2"],
    [rt_header="<nccl.h>" rt_try_libs="$rt_libdir/libnccl.so -lnccl"])
  for rt_l in $rt_try_libs; do
    AS_CASE([$rt_l],
      [/*], [test -f "$rt_l" || continue
             NCCL_LIBS="$rt_l -Wl,-rpath,`AS_DIRNAME(["$rt_l"])`"],
      [NCCL_LIBS=$rt_l])
    CPPFLAGS="$rt_save_CPPFLAGS $CUDA_CPPFLAGS $NCCL_CPPFLAGS" LIBS="$NCCL_LIBS $CUDA_LIBS $rt_save_LIBS"
    # maxCTAs, the limit of NCCL's blocks, came with NCCL 2.17.
    AC_LINK_IFELSE([AC_LANG_PROGRAM([@%:@include $rt_header],
      [ncclConfig_t c = NCCL_CONFIG_INITIALIZER; ncclUniqueId id; ncclComm_t comm;
       c.maxCTAs = 1;
       return ncclGetUniqueId(&id) || ncclCommInitRankConfig(&comm, 1, id, 0, &c);])], [rt_have_nccl=1])
    AS_IF([test $rt_have_nccl = 1], [break])
  done
  CPPFLAGS=$rt_save_CPPFLAGS LIBS=$rt_save_LIBS
  AS_IF([test $rt_have_nccl = 1], [
    AC_MSG_RESULT([$NCCL_LIBS])
  ], [
    AC_MSG_RESULT([no])
    NCCL_CPPFLAGS= NCCL_LIBS=
    RT_NOT_FOUND([nccl], [no program with $rt_header and one of $rt_try_libs compiles and links (NCCL 2.17 or later; apt install libnccl-dev, or --with-nccl=DIR with DIR/include/nccl.h and DIR/lib/libnccl.so.2); see config.log])
  ])
])
