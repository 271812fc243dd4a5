# RT_COMPILER_FLAGS: --enable-debug, --disable-native; default CFLAGS that suit a benchmark.
#
# RT_STD_CFLAGS     language and contraction, for every C file
# RT_WARN_CFLAGS    warnings
# RT_PREFIX_MAP     no path of the source or build folder in programs: the same bytes in any folder
# RT_STRICT_CFLAGS  undo -ffast-math and its parts, in the files that judge results
AC_DEFUN([RT_COMPILER_FLAGS], [
  AC_ARG_ENABLE([debug], [AS_HELP_STRING([--enable-debug], [compile with -O0 -g])],
    [], [enable_debug=no])
  AC_ARG_ENABLE([native],
    [AS_HELP_STRING([--disable-native], [do not tune for the processor of this machine])],
    [], [enable_native=yes])

  rt_native=
  AS_IF([test "x$enable_debug" = xyes], [rt_opt="-O0 -g"], [
    rt_opt="-O3 -g"
    # Compilers for PowerPC and older ones for Arm accept only the second spelling.
    AS_IF([test "x$enable_native" = xyes], [
      RT_ADD_CFLAG([rt_native], [-march=native])
      AS_IF([test "x$rt_native" = x], [RT_ADD_CFLAG([rt_native], [-mcpu=native])])
    ])
  ])
  rt_opt="$rt_opt${rt_native:+ $rt_native}"
  AS_IF([test "x$rt_user_cflags" = x], [CFLAGS=$rt_opt])
  AS_IF([test "x$rt_user_cxxflags" = x], [CXXFLAGS=$rt_opt])

  # gcc -std=c11 turns fused multiply-add off, which would halve the ceiling of the CPU rungs.
  RT_STD_CFLAGS=
  RT_ADD_CFLAG([RT_STD_CFLAGS], [-std=c11])
  RT_ADD_CFLAG([RT_STD_CFLAGS], [-ffp-contract=fast])
  # A sqrt that may set errno is a branch, and a loop with a branch does not vectorise. Values do not change.
  RT_ADD_CFLAG([RT_STD_CFLAGS], [-fno-math-errno])
  AC_SUBST([RT_STD_CFLAGS])

  RT_WARN_CFLAGS=
  RT_ADD_CFLAG([RT_WARN_CFLAGS], [-Wall])
  RT_ADD_CFLAG([RT_WARN_CFLAGS], [-Wextra])
  RT_ADD_CFLAG([RT_WARN_CFLAGS], [-Wundef])
  RT_ADD_CFLAG([RT_WARN_CFLAGS], [-Werror=designated-init])
  AC_SUBST([RT_WARN_CFLAGS])

  # Left for make to expand. If a path fits several, the last one is taken.
  RT_PREFIX_MAP= rt_takes_map=
  RT_ADD_CFLAG([rt_takes_map], [-ffile-prefix-map=/a=/b])
  AS_IF([test "x$rt_takes_map" != x], [
    for rt_d in '$(abs_top_builddir)=.' ./= '$(top_srcdir)/=' '$(abs_top_srcdir)/=' '$(abs_top_builddir)/='; do
      RT_PREFIX_MAP="$RT_PREFIX_MAP -ffile-prefix-map=$rt_d"
    done])
  AC_SUBST([RT_PREFIX_MAP])

  # -fno-fast-math does not undo a part that was given by its own name, so the parts are named too.
  # The tests run with empty CFLAGS: these flags matter most when CFLAGS has what they undo.
  rt_given_cflags=$CFLAGS
  CFLAGS= RT_STRICT_CFLAGS=
  RT_ADD_CFLAG([RT_STRICT_CFLAGS], [-fno-fast-math])
  RT_ADD_CFLAG([RT_STRICT_CFLAGS], [-fno-unsafe-math-optimizations])
  RT_ADD_CFLAG([RT_STRICT_CFLAGS], [-fno-finite-math-only])
  RT_ADD_CFLAG([RT_STRICT_CFLAGS], [-fno-associative-math])
  RT_ADD_CFLAG([RT_STRICT_CFLAGS], [-fno-reciprocal-math])
  RT_ADD_CFLAG([RT_STRICT_CFLAGS], [-fsigned-zeros])
  RT_ADD_CFLAG([RT_STRICT_CFLAGS], [-ffp-contract=off])
  # clang warns that these flags override others, which is their purpose.
  AS_CASE([$CC], [*clang*], [
    RT_ADD_CFLAG([RT_STRICT_CFLAGS], [-Wno-overriding-t-option])
    RT_ADD_CFLAG([RT_STRICT_CFLAGS], [-Wno-overriding-option])
  ])
  AC_SUBST([RT_STRICT_CFLAGS])

  AC_MSG_CHECKING([whether -ffast-math can be undone in the files that judge results])
  CFLAGS="$rt_given_cflags -O2 -ffast-math $RT_STRICT_CFLAGS"
  AC_COMPILE_IFELSE([AC_LANG_SOURCE([
@%:@if defined __FAST_MATH__ || (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__)
@%:@error
@%:@endif
int ok;])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([$CC compiles with -ffast-math in spite of $RT_STRICT_CFLAGS; do not give it in CFLAGS])])
  CFLAGS=$rt_given_cflags
])

# RT_CXX: one text of loops serves the CPU, CUDA and Kokkos, so a C++ compiler is needed always.
AC_DEFUN([RT_CXX], [
  AC_LANG_PUSH([C++])
  rt_given_cxxflags=$CXXFLAGS
  CXXFLAGS="$CXXFLAGS -std=c++17"
  AC_MSG_CHECKING([whether $CXX compiles C++17])
  AC_COMPILE_IFELSE([AC_LANG_SOURCE([template <class T> constexpr bool wide = sizeof(T) > 4; static_assert(wide<double>);])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([a C++ compiler that knows C++17 is needed, and $CXX is none (apt install g++)])])
  CXXFLAGS=$rt_given_cxxflags
  AC_LANG_POP([C++])
])
