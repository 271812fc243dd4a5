# RT_OPENMP: --disable-openmp; sets OPENMP_CFLAGS and rt_have_openmp.
AC_DEFUN([RT_OPENMP], [
  AC_OPENMP
  AS_CASE(["$enable_openmp,$ac_cv_prog_c_openmp"],
    [no,*], [rt_have_openmp=0 rt_why_openmp="--disable-openmp was given"],
    [*,unsupported], [rt_have_openmp=0 rt_why_openmp="$CC cannot compile and link an OpenMP program"],
    [rt_have_openmp=1])
  AS_IF([test "x$enable_openmp" = xyes && test $rt_have_openmp = 0],
    [AC_MSG_ERROR([--enable-openmp was asked for, but $rt_why_openmp (with clang: apt install libomp-dev)])])
  # `omp simd` works without the OpenMP runtime. The compiler must not warn of the other pragmas.
  AS_IF([test $rt_have_openmp = 0],
    [OPENMP_CFLAGS=
     RT_ADD_CFLAG([OPENMP_CFLAGS], [-fopenmp-simd])
     RT_ADD_CFLAG([OPENMP_CFLAGS], [-Wno-unknown-pragmas])])
])
