# Libraries of the CUDA toolkit that RT_CUDA found, loaded at run time and not linked, so a program also
# starts where they are missing.

# RT_TOOLKIT_LIB(NAME, TITLE, WHAT-FOR, INCLUDES, BODY, NEEDS): --with-NAME; sets rt_have_NAME.
AC_DEFUN([RT_TOOLKIT_LIB], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1], [$3; needs CUDA @<:@check@:>@])], [], [with_$1=check])
  rt_have_$1=0 rt_why_$1="--without-$1 was given"
  AS_IF([test "x$with_$1" != xno && test $rt_have_cuda = 0],
    [RT_NOT_FOUND([$1], [it needs CUDA: $rt_why_cuda])],
    [test "x$with_$1" != xno], [
      AC_MSG_CHECKING([for $2])
      rt_save_CPPFLAGS=$CPPFLAGS rt_save_LIBS=$LIBS
      CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS" LIBS="$CUDA_LIBS $LIBS"
      AC_LANG_PUSH([C++])
      AC_LINK_IFELSE([AC_LANG_PROGRAM([
@%:@include <cuda_runtime_api.h>
@%:@include <dlfcn.h>
$4
        ], [if (!dlopen("", RTLD_NOW)) return 1;
          $5])], [rt_have_$1=1])
      AC_LANG_POP([C++])
      CPPFLAGS=$rt_save_CPPFLAGS LIBS=$rt_save_LIBS
      AS_IF([test $rt_have_$1 = 1], [AC_MSG_RESULT([yes])], [
        AC_MSG_RESULT([no])
        RT_NOT_FOUND([$1], [a program with $6 of $rt_top does not compile and link; see config.log])
      ])
    ])
])

AC_DEFUN([RT_CUBLAS], [
  RT_TOOLKIT_LIB([cublas], [cuBLAS], [dgemm on GPUs (rung batched of nekbone)],
    [@%:@include <cublas_v2.h>],
    [cublasHandle_t h = 0; return h || sizeof &cublasDgemmStridedBatched == 0;],
    [cublas_v2.h])
])
