# RT_LIB(NAME, HEADER, FUNCTION, HOW-TO-INSTALL, DEFAULT): --with-NAME[=DIR] for a plain C library; DEFAULT is check or no.
# Sets rt_have_NAME, NAME_CPPFLAGS and NAME_LIBS (NAME in capitals).
AC_DEFUN([RT_LIB], [
  m4_pushdef([NAME], m4_toupper([$1]))
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1@<:@=DIR@:>@], [use $1 (installed in DIR)])],
    [], [with_$1=m4_default([$5], [check])])
  NAME[]_CPPFLAGS= NAME[]_LIBS= rt_have_$1=0 rt_why_$1="--without-$1 was given"
  AS_IF([test "x$with_$1" != xno], [
    # With a DIR the test names the header in full, so that one found elsewhere does not count.
    AS_CASE([$with_$1],
      [/*], [rt_header="\"$with_$1/include/$2\""
             NAME[]_CPPFLAGS="-I$with_$1/include"
             NAME[]_LIBS="-L$with_$1/lib -Wl,-rpath,$with_$1/lib -l$1"],
      [rt_header="<$2>" NAME[]_LIBS=-l$1])
    rt_save_CPPFLAGS=$CPPFLAGS rt_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $NAME[]_CPPFLAGS" LIBS="$NAME[]_LIBS $LIBS"
    AC_MSG_CHECKING([for $1])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([@%:@include $rt_header], [return !(&$3);])], [rt_have_$1=1])
    CPPFLAGS=$rt_save_CPPFLAGS LIBS=$rt_save_LIBS
    AS_IF([test $rt_have_$1 = 1], [AC_MSG_RESULT([yes])], [
      AC_MSG_RESULT([no])
      RT_NOT_FOUND([$1], [a program with $rt_header and $NAME[]_LIBS does not compile and link ($4)])
      NAME[]_CPPFLAGS= NAME[]_LIBS=
    ])
  ])
  AC_SUBST(NAME[]_CPPFLAGS)
  AC_SUBST(NAME[]_LIBS)
  m4_popdef([NAME])
])
