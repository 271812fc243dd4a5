# RT_NVRTC: --with-nvrtc; sets rt_have_nvrtc and rt_nvrtc_folder. NVRTC comes with the CUDA toolkit that
# RT_CUDA found. It is loaded at run time and not linked, so the program also starts where it is missing.
# The CUDA runtime loads the compiled kernels (cudaLibrary.., CUDA 12.8), so libcuda is not linked either.
AC_DEFUN([RT_NVRTC], [
  AC_ARG_WITH([nvrtc], [AS_HELP_STRING([--with-nvrtc],
    [compile kernels while the program runs (rung compiled of nekbone); needs CUDA @<:@check@:>@])],
    [], [with_nvrtc=check])
  rt_have_nvrtc=0 rt_nvrtc_folder= rt_why_nvrtc="--without-nvrtc was given"
  AS_IF([test "x$with_nvrtc" != xno && test $rt_have_cuda = 0],
    [RT_NOT_FOUND([nvrtc], [it needs CUDA: $rt_why_cuda])],
    [test "x$with_nvrtc" != xno], [
      AC_MSG_CHECKING([for NVRTC])
      rt_save_CPPFLAGS=$CPPFLAGS rt_save_LIBS=$LIBS
      CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS" LIBS="$CUDA_LIBS $LIBS"
      AC_LANG_PUSH([C++])
      AC_LINK_IFELSE([AC_LANG_PROGRAM([
@%:@include <cuda_runtime_api.h>
@%:@include <dlfcn.h>
@%:@include <nvrtc.h>
        ], [nvrtcProgram p = 0; cudaLibrary_t l; return p || !dlopen("", RTLD_NOW) ||
          cudaLibraryLoadData(&l, "", 0, 0, 0, 0, 0, 0);])], [rt_have_nvrtc=1])
      AC_LANG_POP([C++])
      CPPFLAGS=$rt_save_CPPFLAGS LIBS=$rt_save_LIBS
      AS_IF([test $rt_have_nvrtc = 1], [
        AC_MSG_RESULT([yes])
        rt_nvrtc_folder=$rt_libdir
      ], [
        AC_MSG_RESULT([no])
        RT_NOT_FOUND([nvrtc], [a program with nvrtc.h and cudaLibraryLoadData (CUDA 12.8) of $rt_top does not compile and link; see config.log])
      ])
    ])
  AM_CONDITIONAL([HAVE_NVRTC], [test $rt_have_nvrtc = 1])
])
