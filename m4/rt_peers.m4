# Libraries that can be timed next to an app. They are not part of it, so they are off by default;
# one that was asked for and cannot be used is an error.

# RT_HYPRE: --with-hypre[=DIR]; sets rt_have_hypre, HYPRE_CPPFLAGS (only for one file, because HYPRE.h
# includes mpi.h), HYPRE_LIBS. Call after RT_MPI.
AC_DEFUN([RT_HYPRE], [
  AC_ARG_WITH([hypre], [AS_HELP_STRING([--with-hypre@<:@=DIR@:>@],
    [hypre's BoomerAMG for the pressure of alya-rhs (installed in DIR, or Debian's) @<:@no@:>@])],
    [], [with_hypre=no])
  HYPRE_CPPFLAGS= HYPRE_LIBS= rt_have_hypre=0 rt_why_hypre="off unless --with-hypre is given"
  AS_IF([test "x$with_hypre" != xno], [
    AC_MSG_CHECKING([for hypre])
    HYPRE_CPPFLAGS="-isystem /usr/include/hypre" HYPRE_LIBS=-lHYPRE
    AS_CASE([$with_hypre], [/*], [HYPRE_CPPFLAGS="-isystem $with_hypre/include"
      HYPRE_LIBS="-L$with_hypre/lib -Wl,-rpath,$with_hypre/lib -lHYPRE"])
    rt_save_CC=$CC rt_save_CPPFLAGS=$CPPFLAGS rt_save_LIBS=$LIBS
    CC=$RT_MPI_CC CPPFLAGS="$CPPFLAGS $HYPRE_CPPFLAGS $MPI_CFLAGS" LIBS="$HYPRE_LIBS $MPI_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([
@%:@include <HYPRE.h>
@%:@include <HYPRE_parcsr_ls.h>
      ], [return HYPRE_Init() || !&HYPRE_BoomerAMGSolve;])], [rt_have_hypre=1])
    CC=$rt_save_CC CPPFLAGS=$rt_save_CPPFLAGS LIBS=$rt_save_LIBS
    AS_IF([test $rt_have_hypre = 1], [
      AC_MSG_RESULT([yes])
      HYPRE_CPPFLAGS="$HYPRE_CPPFLAGS $MPI_CFLAGS"
    ], [
      AC_MSG_RESULT([no])
      RT_NOT_FOUND([hypre], [a program with HYPRE_parcsr_ls.h, $HYPRE_CPPFLAGS and $HYPRE_LIBS does not compile and link (apt install libhypre-dev, or --with-hypre=DIR); see config.log])
      HYPRE_CPPFLAGS= HYPRE_LIBS=
    ])
  ])
  AC_SUBST([HYPRE_CPPFLAGS])
  AC_SUBST([HYPRE_LIBS])
  AM_CONDITIONAL([HAVE_HYPRE], [test $rt_have_hypre = 1])
])

# RT_CUSPARSE: --with-cusparse; sets rt_have_cusparse, CUSPARSE_LIBS. cuSPARSE comes with the CUDA toolkit
# that RT_CUDA found. It is linked as a shared library, so the program needs the toolkit where it runs.
AC_DEFUN([RT_CUSPARSE], [
  AC_ARG_WITH([cusparse], [AS_HELP_STRING([--with-cusparse],
    [time cuSPARSE's bsrmv next to fun3d-mcpi; needs CUDA @<:@no@:>@])],
    [], [with_cusparse=no])
  CUSPARSE_LIBS= rt_have_cusparse=0 rt_why_cusparse="off unless --with-cusparse is given"
  AS_IF([test "x$with_cusparse" != xno && test $rt_have_cuda = 0],
    [RT_NOT_FOUND([cusparse], [it needs CUDA: $rt_why_cuda])])
  AS_IF([test "x$with_cusparse" != xno], [
    AC_MSG_CHECKING([for cuSPARSE])
    # The libraries that cuSPARSE needs are in the same folder.
    CUSPARSE_LIBS="-L$rt_libdir -Wl,-rpath,$rt_libdir -Wl,-rpath-link,$rt_libdir -lcusparse"
    rt_save_CPPFLAGS=$CPPFLAGS rt_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS" LIBS="$CUSPARSE_LIBS $CUDA_LIBS $LIBS"
    AC_LANG_PUSH([C++])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([@%:@include <cusparse.h>],
      [cusparseHandle_t h; return cusparseCreate(&h) || !&cusparseSbsrmv;])], [rt_have_cusparse=1])
    AC_LANG_POP([C++])
    CPPFLAGS=$rt_save_CPPFLAGS LIBS=$rt_save_LIBS
    AS_IF([test $rt_have_cusparse = 1], [AC_MSG_RESULT([yes])], [
      AC_MSG_RESULT([no])
      RT_NOT_FOUND([cusparse], [a program with cusparseSbsrmv, cusparse.h of $rt_top and $CUSPARSE_LIBS does not compile and link; see config.log])
      CUSPARSE_LIBS=
    ])
  ])
  AC_SUBST([CUSPARSE_LIBS])
  AM_CONDITIONAL([HAVE_CUSPARSE], [test $rt_have_cusparse = 1])
])
