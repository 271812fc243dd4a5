# Small helpers that the other rt_*.m4 files share.

# RT_NOT_FOUND(NAME, WHY): notes for the summary why NAME cannot be used. Stops if the user asked for
# it with --with-NAME.
AC_DEFUN([RT_NOT_FOUND], [
  rt_why_$1="$2"
  AS_IF([test "x$with_$1" != xcheck], [AC_MSG_ERROR([--with-$1 was asked for, but $rt_why_$1])])
])

# RT_RUN(COMMAND, IF-OK, IF-NOT): runs a command and writes it and its output to config.log.
AC_DEFUN([RT_RUN], [
  AS_ECHO(["rt: $1"]) >&AS_MESSAGE_LOG_FD
  AS_IF([eval "$1" >&AS_MESSAGE_LOG_FD 2>&1], [$2], [$3])
])

# RT_ADD_CFLAG(VARIABLE, FLAG): appends FLAG if the C compiler accepts it without a warning.
AC_DEFUN([RT_ADD_CFLAG], [
  AC_MSG_CHECKING([whether $CC accepts $2])
  rt_save_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS -Werror $2"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM], [rt_takes=yes], [rt_takes=no])
  CFLAGS=$rt_save_CFLAGS
  AS_IF([test $rt_takes = yes], [$1="${$1:+$$1 }$2"])
  AC_MSG_RESULT([$rt_takes])
])

# RT_DEFINE_HAVE(NAME, COMMENT): defines RT_HAVE_NAME as 0 or 1 in config.h, from $rt_have_name.
AC_DEFUN([RT_DEFINE_HAVE],
  [AC_DEFINE_UNQUOTED([RT_HAVE_$1], [$rt_have_]m4_tolower([$1]), [$2 (0 or 1)])])

# RT_DEFINE_STRING(NAME, VALUE, COMMENT): defines a C string in config.h, with " and \ escaped.
AC_DEFUN([RT_DEFINE_STRING], [
  rt_string="$2"
  rt_string=`AS_ECHO(["$rt_string"]) | sed 's/[[\\"]]/\\\\&/g'`
  AC_DEFINE_UNQUOTED([$1], ["$rt_string"], [$3])
])

# RT_FOLDERS: refuses a source or build folder whose path make or the shell would misread: with ';' in it make would run
# the rest as a command. quickstart has the same list.
AC_DEFUN([RT_FOLDERS], [
  rt_tab='	'
  for rt_d in "`pwd`" "`cd "$srcdir" && pwd`"; do
    AS_CASE([$rt_d],
      [[*[\ $rt_tab$as_nl\"\'\`\\\$\&\;\|\<\>\(\)\{\}\*\?\#:=%]* | *\[* | *\]*]],
      [rt_d=`AS_ECHO_N(["$rt_d"]) | tr '\n' '?'`
       AC_MSG_ERROR([make or the shell would misread the path '$rt_d': use one of letters, digits and . _ - + , @ ~])])
  done
])
