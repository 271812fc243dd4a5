# RT_KOKKOS: --with-kokkos[=DIR] or --with-kokkos-source=DIR; KOKKOS_CMAKE, KOKKOS_CXX, KOKKOS_CXXFLAGS, KOKKOS_LIBS may be given.
#
# Sets rt_have_kokkos, rt_kokkos_version, rt_kokkos_backends. KokkosCore_config.h says everything that
# an installed Kokkos requires (back-ends, C++ standard, GPU architecture).
# For a Kokkos with HIP or SYCL give CXX=hipcc (or icpx) and KOKKOS_CXXFLAGS; this is not tested.
AC_DEFUN([RT_KOKKOS], [
  AC_ARG_WITH([kokkos], [AS_HELP_STRING([--with-kokkos@<:@=DIR@:>@], [use Kokkos (installed in DIR)])],
    [], [with_kokkos=check])
  AC_ARG_WITH([kokkos-source], [AS_HELP_STRING([--with-kokkos-source=DIR], [build the Kokkos in DIR with CMake, and use it])],
    [], [with_kokkos_source=no])
  AC_ARG_VAR([KOKKOS_CMAKE], [options of CMake for --with-kokkos-source, such as -DKokkos_ENABLE_CUDA=ON])
  AC_ARG_VAR([KOKKOS_CXX], [compiler for the Kokkos files @<:@CXX, or nvcc if Kokkos has CUDA@:>@])
  AC_ARG_VAR([KOKKOS_CXXFLAGS], [flags for KOKKOS_CXX, all of them])
  AC_ARG_VAR([KOKKOS_LIBS], [libraries of Kokkos])
  KOKKOS_CPPFLAGS= rt_have_kokkos=0 rt_kokkos_version= rt_kokkos_backends=
  rt_why_kokkos="--without-kokkos was given"
  AS_CASE([$with_kokkos_source],
    [no], [KOKKOS_SOURCE=],
    [RT_KOKKOS_BUILD])
  AC_SUBST([KOKKOS_SOURCE])
  AS_IF([test "x$with_kokkos" != xno], [
    RT_KOKKOS_FIND
    AS_IF([test "x$rt_kokkos_inc" = x],
      [RT_NOT_FOUND([kokkos], [there is no KokkosCore_config.h in$rt_kokkos_tried (apt install libkokkos-dev or libtrilinos-kokkos-dev)])],
      [RT_KOKKOS_READ
       RT_KOKKOS_TRY])
  ])
  AS_IF([test $rt_have_kokkos = 0], [KOKKOS_CPPFLAGS= KOKKOS_LIBS=])
  AC_SUBST([KOKKOS_CPPFLAGS])
  AM_CONDITIONAL([HAVE_KOKKOS], [test $rt_have_kokkos = 1])
])

# RT_KOKKOS_BUILD: builds the source in the build folder, in kokkos-build, and installs it in kokkos. It is compiled by the
# compiler of $CXX, without a ccache before it.
AC_DEFUN([RT_KOKKOS_BUILD], [
  AS_IF([test "x$with_kokkos" != xcheck], [AC_MSG_ERROR([--with-kokkos and --with-kokkos-source exclude each other: give one of them])])
  AS_IF([test ! -f "$with_kokkos_source/core/src/Kokkos_Core.hpp"],
    [AC_MSG_ERROR([--with-kokkos-source=$with_kokkos_source: there is no core/src/Kokkos_Core.hpp in it: name the folder of a Kokkos source])])
  AS_IF([(cmake --version) >/dev/null 2>&1], [],
    [AC_MSG_ERROR([--with-kokkos-source builds with cmake, and there is none on PATH: apt install cmake])])
  KOKKOS_SOURCE=`cd "$with_kokkos_source" && pwd`
  with_kokkos=`pwd`/kokkos
  AC_MSG_CHECKING([whether the Kokkos in $KOKKOS_SOURCE can be built, which takes minutes])
  RT_RUN([CXX="${CXX#ccache }" CXXFLAGS= cmake -S "$KOKKOS_SOURCE" -B kokkos-build -DCMAKE_INSTALL_PREFIX="$with_kokkos" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_TYPE=Release -DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_OPENMP=`test $rt_have_openmp = 1 && echo ON || echo OFF` -DKokkos_ARCH_NATIVE=`test "x$enable_native" = xno && echo OFF || echo ON` $KOKKOS_CMAKE && cmake --build kokkos-build -j \`getconf _NPROCESSORS_ONLN\` && cmake --install kokkos-build],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([the Kokkos in $KOKKOS_SOURCE is not built with KOKKOS_CMAKE='$KOKKOS_CMAKE': the reason is at the end of config.log])])
])

# RT_KOKKOS_FIND: finds the folder of the headers, and the library.
AC_DEFUN([RT_KOKKOS_FIND], [
  AC_MSG_CHECKING([for Kokkos])
  AS_CASE([$with_kokkos],
    [/*], [rt_prefixes=$with_kokkos],
    [rt_prefixes="$KOKKOS_ROOT $Kokkos_ROOT /usr/local /usr"])
  rt_kokkos_inc= rt_kokkos_libs= rt_kokkos_tried=
  for rt_p in $rt_prefixes; do
    for rt_d in $rt_p/include $rt_p/include/kokkos $rt_p/include/trilinos; do
      rt_kokkos_tried="$rt_kokkos_tried $rt_d"
      AS_IF([test -f $rt_d/KokkosCore_config.h], [rt_kokkos_inc=$rt_d; break 2])
    done
  done
  AS_IF([test "x$rt_kokkos_inc" != x], [
    AS_CASE([$rt_kokkos_inc], [*/trilinos], [rt_l=trilinos_kokkoscore], [rt_l=kokkoscore])
    for rt_d in $rt_p/lib $rt_p/lib64 $rt_p/lib/*-linux-gnu; do
      # The linker searches the folders of the system by itself, but not those of a Kokkos elsewhere.
      AS_IF([test $rt_p = /usr], [rt_kokkos_libs=-l$rt_l],
            [test -f $rt_d/lib$rt_l.so], [rt_kokkos_libs="-L$rt_d -Wl,-rpath,$rt_d -l$rt_l"],
            [test -f $rt_d/lib$rt_l.a], [rt_kokkos_libs="-L$rt_d -l$rt_l"])
    done
  ])
  AC_MSG_RESULT([${rt_kokkos_inc:-no}])
])

# RT_KOKKOS_READ: reads KokkosCore_config.h.
AC_DEFUN([RT_KOKKOS_READ], [
  # The defined names, one per line, without the prefix KOKKOS_.
  rt_defs=`sed -n 's/^.define  *KOKKOS_//p' $rt_kokkos_inc/KokkosCore_config.h`
  rt_v=`AS_ECHO(["$rt_defs"]) | sed -n 's/^VERSION  *//p'`
  rt_kokkos_version=`expr $rt_v / 10000`.`expr $rt_v / 100 % 100`.`expr $rt_v % 100`
  rt_kokkos_backends= rt_std= rt_kokkos_arch= rt_kokkos_cuda=no rt_kokkos_openmp=no
  for rt_d in $rt_defs; do
    rt_b=
    AS_CASE([$rt_d],
      [ENABLE_SERIAL], [rt_b=Serial],
      [ENABLE_OPENMP], [rt_b=OpenMP rt_kokkos_openmp=yes],
      [ENABLE_THREADS], [rt_b=Threads],
      [ENABLE_CUDA], [rt_b=Cuda rt_kokkos_cuda=yes],
      [ENABLE_HIP|ENABLE_SYCL|ENABLE_HPX], [rt_b=`AS_ECHO(["$rt_d"]) | sed 's/ENABLE_//'`],
      [ENABLE_CXX@<:@0-9@:>@@<:@0-9@:>@], [rt_std=c++`AS_ECHO(["$rt_d"]) | sed 's/ENABLE_CXX//'`],
      # ARCH_HOPPER90 -> 90; a Kokkos is compiled for one NVIDIA architecture only.
      [ARCH_VOLTA7*|ARCH_TURING7*|ARCH_AMPERE8*|ARCH_ADA8*|ARCH_HOPPER9*|ARCH_BLACKWELL1*],
        [rt_kokkos_arch=`AS_ECHO(["$rt_d"]) | tr -dc 0-9`])
    AS_IF([test "x$rt_b" != x], [rt_kokkos_backends="${rt_kokkos_backends:+$rt_kokkos_backends,}$rt_b"])
  done
  AS_IF([test "x$rt_std" = x],
    [AS_CASE([$rt_kokkos_version], [3.*|4.*], [rt_std=c++17], [rt_std=c++20])])
  # The rungs need `if constexpr`, and a Kokkos that was built as C++14 has headers for C++17 too.
  AS_IF([test $rt_std = c++14], [rt_std=c++17])
])

# RT_KOKKOS_TRY: chooses compiler and flags; compiles and links as make will.
AC_DEFUN([RT_KOKKOS_TRY], [
  # With CUDA in it Kokkos needs the toolkit, whether our CUDA files are compiled or not. Its programs do not start without
  # a driver, so without our CUDA it must be asked for.
  rt_lacks=
  AS_IF([test $rt_kokkos_cuda = yes && test $rt_have_cuda = 0], [
    AS_IF([test "x$with_kokkos" = xcheck],
      [rt_lacks="our CUDA is not in this build: $rt_why_cuda; --with-kokkos uses it all the same"],
      [RT_CUDA_TOOLKIT
       AS_IF([test "x$NVCC" = x], [rt_lacks="there is no nvcc in $rt_tried (install NVIDIA's CUDA toolkit)"])])
  ])
  AS_IF([test "x$rt_lacks" != x],
    [RT_NOT_FOUND([kokkos], [the Kokkos in $rt_kokkos_inc was built with CUDA, and $rt_lacks])],
  [
    rt_f="-std=$rt_std"
    AS_IF([test $rt_kokkos_cuda = yes], [
      : ${KOKKOS_CXX=$NVCC}
      # Use the architecture that Kokkos was compiled for: it does not start with another.
      rt_a=${rt_kokkos_arch:-$rt_highest}
      rt_f="$rt_f${rt_a:+ -arch=sm_$rt_a} --extended-lambda --expt-relaxed-constexpr"
      rt_f="$rt_f -ccbin $rt_ccbin $NVCCFLAGS -Xcompiler -Wall"
      # nvcc_wrapper adds -x cu by itself, and nvcc does not accept it twice.
      AS_CASE([$KOKKOS_CXX], [*nvcc], [rt_f="-x cu $rt_f"])
      AS_IF([test $rt_kokkos_openmp = yes], [rt_f="$rt_f -Xcompiler -fopenmp"])
      # Kokkos calls the driver. Where there is none, the toolkit's stub replaces libcuda at link time.
      rt_kokkos_libs="$rt_kokkos_libs -L$rt_libdir/stubs -lcuda $rt_cuda_libs"
    ], [
      : ${KOKKOS_CXX=$CXX}
      rt_f="$rt_f -Wall -Wextra -Wno-missing-field-initializers $CXXFLAGS"
      # Without OpenMP the loops of one lane each become vector code all the same.
      AS_IF([test $rt_kokkos_openmp = yes], [rt_f="$rt_f -fopenmp"], [rt_f="$rt_f -fopenmp-simd"])
    ])
    AS_IF([test $rt_kokkos_openmp = yes], [rt_kokkos_libs="$rt_kokkos_libs -fopenmp"])
    : ${KOKKOS_CXXFLAGS=$rt_f}
    : ${KOKKOS_LIBS="$rt_kokkos_libs -ldl"}
    KOKKOS_CPPFLAGS="-isystem $rt_kokkos_inc"

    AC_MSG_CHECKING([whether Kokkos $rt_kokkos_version ($rt_kokkos_backends) works])
    AC_LANG_PUSH([C++])
    AC_LANG_CONFTEST([AC_LANG_SOURCE([
@%:@include <Kokkos_Core.hpp>
int main(int argc, char **argv)
{
    Kokkos::initialize(argc, argv);
    Kokkos::View<double *> x("x", 10);
    Kokkos::parallel_for(10, KOKKOS_LAMBDA(const int i) { x(i) = i; });
    Kokkos::finalize();
}])])
    rt_kokkos_ok=no
    RT_RUN([$KOKKOS_CXX $KOKKOS_CPPFLAGS $KOKKOS_CXXFLAGS -c conftest.$ac_ext -o conftest.o],
      [RT_RUN([$CXX $CXXFLAGS $LDFLAGS conftest.o -o conftest $KOKKOS_LIBS], [rt_kokkos_ok=yes])])
    rm -f conftest.$ac_ext conftest.o conftest
    AC_LANG_POP
    AC_MSG_RESULT([$rt_kokkos_ok])
    AS_IF([test $rt_kokkos_ok = yes], [rt_have_kokkos=1],
      [RT_NOT_FOUND([kokkos], [a Kokkos program does not compile and link with: $KOKKOS_CXX $KOKKOS_CPPFLAGS $KOKKOS_CXXFLAGS, then $CXX with $KOKKOS_LIBS; see config.log])
       rt_kokkos_version= rt_kokkos_backends=])
  ])
])
