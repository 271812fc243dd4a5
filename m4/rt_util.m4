# Small helpers that the other rt_*.m4 files share.

# RT_NOT_FOUND(NAME, WHY): NAME cannot be used. Remember why for the summary; if the user asked
# for it with --with-NAME, stop.
AC_DEFUN([RT_NOT_FOUND], [
  rt_why_$1="$2"
  AS_IF([test "x$with_$1" != xcheck], [AC_MSG_ERROR([--with-$1 was asked for, but $rt_why_$1])])
])

# RT_RUN(COMMAND, IF-OK, IF-NOT): run a command, with it and its output in config.log.
AC_DEFUN([RT_RUN], [
  AS_ECHO(["rt: $1"]) >&AS_MESSAGE_LOG_FD
  AS_IF([eval "$1" >&AS_MESSAGE_LOG_FD 2>&1], [$2], [$3])
])

# RT_ADD_CFLAG(VARIABLE, FLAG): append FLAG if the C compiler takes it without a warning.
AC_DEFUN([RT_ADD_CFLAG], [
  AC_MSG_CHECKING([whether $CC takes $2])
  rt_save_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS -Werror $2"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM], [rt_takes=yes], [rt_takes=no])
  CFLAGS=$rt_save_CFLAGS
  AS_IF([test $rt_takes = yes], [$1="${$1:+$$1 }$2"])
  AC_MSG_RESULT([$rt_takes])
])

# RT_DEFINE_HAVE(NAME, COMMENT): RT_HAVE_NAME is 0 or 1 in config.h, from $rt_have_name.
AC_DEFUN([RT_DEFINE_HAVE],
  [AC_DEFINE_UNQUOTED([RT_HAVE_$1], [$rt_have_]m4_tolower([$1]), [$2 (0 or 1)])])

# RT_DEFINE_STRING(NAME, VALUE, COMMENT): a C string in config.h, with " and \ escaped.
AC_DEFUN([RT_DEFINE_STRING], [
  rt_string="$2"
  rt_string=`AS_ECHO(["$rt_string"]) | sed 's/[[\\"]]/\\\\&/g'`
  AC_DEFINE_UNQUOTED([$1], ["$rt_string"], [$3])
])
