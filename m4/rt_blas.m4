# Libraries that can do nekbone's small matrix products. Only nekbone gets their headers and libraries.

# RT_BLAS: --with-blas[=DIR]: cblas_dgemm. Sets rt_have_blas, rt_have_openblas (the BLAS is OpenBLAS,
# which must be told not to start threads), rt_blas_libs, BLAS_CPPFLAGS, BLAS_LIBS.
AC_DEFUN([RT_BLAS], [
  AC_ARG_WITH([blas], [AS_HELP_STRING([--with-blas@<:@=DIR@:>@],
    [use BLAS with cblas.h, OpenBLAS first (installed in DIR)])], [], [with_blas=check])
  BLAS_CPPFLAGS= BLAS_LIBS= rt_have_blas=0 rt_have_openblas=0 rt_why_blas="--without-blas was given"
  AS_IF([test "x$with_blas" != xno], [
    AC_MSG_CHECKING([for BLAS])
    # With a DIR the test names the header in full, so that one found elsewhere does not count.
    rt_header="<cblas.h>" rt_dirs=
    AS_CASE([$with_blas], [/*], [rt_header="\"$with_blas/include/cblas.h\""
      BLAS_CPPFLAGS="-I$with_blas/include" rt_dirs="-L$with_blas/lib -Wl,-rpath,$with_blas/lib "])
    rt_save_CPPFLAGS=$CPPFLAGS rt_save_LIBS=$LIBS rt_tried=
    CPPFLAGS="$CPPFLAGS $BLAS_CPPFLAGS"
    for rt_l in "-lopenblas" "-lblis" "-lcblas -lblas" "-lblas"; do
      rt_tried="${rt_tried:+$rt_tried, }$rt_dirs$rt_l"
      LIBS="$rt_dirs$rt_l $rt_save_LIBS"
      AC_LINK_IFELSE([AC_LANG_PROGRAM([@%:@include $rt_header], [return !(&cblas_dgemm);])],
        [rt_have_blas=1 BLAS_LIBS="$rt_dirs$rt_l"
         AC_LINK_IFELSE([AC_LANG_PROGRAM([@%:@include $rt_header], [openblas_set_num_threads(1);])],
           [rt_have_openblas=1])
         break])
    done
    CPPFLAGS=$rt_save_CPPFLAGS LIBS=$rt_save_LIBS
    AS_IF([test $rt_have_blas = 1], [AC_MSG_RESULT([$BLAS_LIBS])], [
      AC_MSG_RESULT([no])
      BLAS_CPPFLAGS=
      RT_NOT_FOUND([blas], [a program with $rt_header does not compile and link with any of: $rt_tried (apt install libopenblas-dev)])
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
