# Libraries that can do nekbone's small matrix products. Only nekbone gets their headers and libraries.

# RT_BLAS: --with-blas[=DIR]: cblas_dgemm. Sets rt_have_blas, rt_blas (name and link flags), BLAS_CPPFLAGS, BLAS_LIBS. Defines
# RT_BLAS_HEADER, and for a BLAS that may start threads RT_BLAS_THREADS, the function that sets how many, and RT_BLAS_INT,
# the type of its argument.
AC_DEFUN([RT_BLAS], [
  AC_ARG_WITH([blas], [AS_HELP_STRING([--with-blas@<:@=DIR@:>@],
    [use OpenBLAS, BLIS, MKL or another BLAS with cblas.h (installed in DIR)])], [], [with_blas=check])
  AS_IF([test "x$with_blas" = x/usr], [with_blas=yes]) # the folders that the compiler knows
  BLAS_CPPFLAGS= BLAS_LIBS= rt_blas=
  rt_have_blas=0 rt_why_blas="--without-blas was given"
  AS_IF([test "x$with_blas" != xno], [
    AC_MSG_CHECKING([for BLAS])
    # With a DIR the test names the header in full and looks for the library, so that those found elsewhere do not count.
    rt_dirs= rt_save_CPPFLAGS=$CPPFLAGS rt_save_LIBS=$LIBS rt_tried=
    AS_CASE([$with_blas], [/*], [
      BLAS_CPPFLAGS="-I$with_blas/include" rt_dirs="-L$with_blas/lib -Wl,-rpath,$with_blas/lib "])
    CPPFLAGS="$CPPFLAGS $BLAS_CPPFLAGS"
    # The reference BLAS is slow: it comes last.
    for rt_l in "-lopenblas" "-lblis" "-lmkl_intel_lp64 -lmkl_sequential -lmkl_core -lpthread -ldl" \
        "-lcblas -lblas" "-lblas"; do
      AS_CASE([$rt_l], [*mkl*], [rt_h=mkl_cblas.h], [rt_h=cblas.h])
      AS_CASE([$with_blas], [/*], [
          rt_blas_header="\"$with_blas/include/$rt_h\""
          rt_f=`expr "x$rt_l" : 'x-l\(@<:@a-z0-9_@:>@*\)'`
          ls "$with_blas/lib/lib$rt_f".* >/dev/null 2>&1 || continue],
        [rt_blas_header="<$rt_h>"])
      rt_tried="${rt_tried:+$rt_tried, }$rt_blas_header with $rt_dirs$rt_l"
      LIBS="$rt_dirs$rt_l $rt_save_LIBS -lm"
      AC_LINK_IFELSE([AC_LANG_PROGRAM([@%:@include $rt_blas_header], [return !(&cblas_dgemm);])],
        [rt_have_blas=1 BLAS_LIBS="$rt_dirs$rt_l"; break])
    done
    # -lblas can be any of them: a function that only one has gives it away.
    AS_IF([test $rt_have_blas = 1], [
      rt_blas="the reference BLAS, which is slow (better: apt install libopenblas-dev)"
      for rt_f in openblas_set_num_threads bli_thread_set_num_threads MKL_Set_Num_Threads; do
        AC_LINK_IFELSE([AC_LANG_PROGRAM([void $rt_f();], [$rt_f();])], [
          AS_CASE([$rt_f], [open*], [rt_blas=OpenBLAS], [bli*], [rt_blas=BLIS], [rt_blas=MKL])
          AS_CASE([$rt_f], [bli*], [rt_i=long], [rt_i=int])
          AC_DEFINE_UNQUOTED([RT_BLAS_THREADS], [$rt_f], [Function of the BLAS that sets the number of its threads])
          AC_DEFINE_UNQUOTED([RT_BLAS_INT], [$rt_i], [Type of its argument])
          break])
      done
      rt_blas="$rt_blas, $BLAS_LIBS"
      AC_DEFINE_UNQUOTED([RT_BLAS_HEADER], [$rt_blas_header], [Header that declares cblas_dgemm])
      AC_MSG_RESULT([$rt_blas])
    ])
    CPPFLAGS=$rt_save_CPPFLAGS LIBS=$rt_save_LIBS
    AS_IF([test $rt_have_blas = 0], [
      AC_MSG_RESULT([no])
      BLAS_CPPFLAGS=
      RT_NOT_FOUND([blas], [no program compiles and links with any of: ${rt_tried:-"the libraries in $with_blas/lib"} (apt install libopenblas-dev)])
    ])
  ])
  AC_SUBST([BLAS_CPPFLAGS])
  AC_SUBST([BLAS_LIBS])
])

# RT_LIBXSMM: --with-libxsmm[=DIR]: version 1, which generates code for small products at run
# time. Sets rt_have_libxsmm, LIBXSMM_CPPFLAGS, LIBXSMM_LIBS. After RT_BLAS.
AC_DEFUN([RT_LIBXSMM], [
  AC_ARG_WITH([libxsmm], [AS_HELP_STRING([--with-libxsmm@<:@=DIR@:>@],
    [use libxsmm 1.x (installed in DIR)])], [], [with_libxsmm=check])
  LIBXSMM_CPPFLAGS= LIBXSMM_LIBS= rt_have_libxsmm=0 rt_why_libxsmm="--without-libxsmm was given"
  AS_IF([test "x$with_libxsmm" != xno], [
    AC_MSG_CHECKING([for libxsmm])
    rt_header="<libxsmm.h>" rt_dirs=
    AS_CASE([$with_libxsmm], [/*], [rt_header="\"$with_libxsmm/include/libxsmm.h\""
      LIBXSMM_CPPFLAGS="-I$with_libxsmm/include"
      rt_dirs="-L$with_libxsmm/lib -Wl,-rpath,$with_libxsmm/lib "])
    rt_save_CPPFLAGS=$CPPFLAGS rt_save_LIBS=$LIBS rt_tried=
    CPPFLAGS="$CPPFLAGS $LIBXSMM_CPPFLAGS"
    # libxsmm falls back to a BLAS: the one found above, else its own substitute.
    for rt_l in "-lxsmm $BLAS_LIBS -lpthread -ldl -lm" "-lxsmm -lxsmmnoblas -lpthread -ldl -lm"; do
      rt_tried="${rt_tried:+$rt_tried, }$rt_dirs$rt_l"
      LIBS="$rt_dirs$rt_l $rt_save_LIBS"
      AC_LINK_IFELSE([AC_LANG_PROGRAM([@%:@include $rt_header], [
        const libxsmm_blasint n = 4;
        const double one = 1;
        const int none = 0;
        return !libxsmm_dmmdispatch(n, n, n, &n, &n, &n, &one, &one, &none, &none);])],
        [rt_have_libxsmm=1 LIBXSMM_LIBS="$rt_dirs$rt_l"; break])
    done
    CPPFLAGS=$rt_save_CPPFLAGS LIBS=$rt_save_LIBS
    AS_IF([test $rt_have_libxsmm = 1], [AC_MSG_RESULT([$LIBXSMM_LIBS])], [
      AC_MSG_RESULT([no])
      LIBXSMM_CPPFLAGS=
      RT_NOT_FOUND([libxsmm], [a program with $rt_header of version 1 does not compile and link with any of: $rt_tried (apt install libxsmm-dev)])
    ])
  ])
  AC_SUBST([LIBXSMM_CPPFLAGS])
  AC_SUBST([LIBXSMM_LIBS])
])
