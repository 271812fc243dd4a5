# RT_OPENACC: --with-openacc; ACC_CC, ACC_CFLAGS, ACC_LIBS may be given. Sets rt_have_openacc, rt_openacc_id.
#
# Off by default. They are built for a GPU if a compiler can do that: nvc, or a gcc with its offload compiler for nvptx;
# else, by any compiler that knows OpenACC, for the CPU.
AC_DEFUN([RT_OPENACC], [
  AC_ARG_WITH([openacc], [AS_HELP_STRING([--with-openacc], [compile the OpenACC rungs, for the CPU if there is no offload compiler])],
    [], [with_openacc=no])
  AC_ARG_VAR([ACC_CC], [C compiler for the OpenACC files @<:@nvc if it is there, else CC@:>@])
  AC_ARG_VAR([ACC_CFLAGS], [flags for ACC_CC, all of them])
  AC_ARG_VAR([ACC_LIBS], [what links OpenACC objects])
  rt_have_openacc=0 rt_openacc_id= rt_why_openacc="--without-openacc was given"
  AS_IF([test "x$with_openacc" != xno], [RT_OPENACC_TRY])
  AS_IF([test $rt_have_openacc = 0], [ACC_LIBS=])
  AM_CONDITIONAL([HAVE_OPENACC], [test $rt_have_openacc = 1])
])

# RT_OPENACC_TRY: compiles and links as make will. A relocation in read-only data is what gcc's table of offloaded
# functions has in a position-independent program, hence -z notext.
AC_DEFUN([RT_OPENACC_TRY], [
  AS_IF([test "x$ACC_CC" = x], [AC_CHECK_PROGS([rt_nvc], [nvc], []) ACC_CC=${rt_nvc:-$CC}])
  rt_link="$CC"
  AS_IF([test $rt_have_cuda$rt_have_kokkos != 00], [rt_link="$CXX"])
  AC_LANG_CONFTEST([AC_LANG_SOURCE([
@%:@include <openacc.h>
double x@<:@10@:>@;
int main(void)
{
    double sum = acc_get_num_devices(acc_device_default);
    @%:@pragma acc parallel loop copyin(x) reduction(+ : sum)
    for (int i = 0; i < 10; i++)
        sum += x@<:@i@:>@;
    return sum > 1e6;
}])])
  AC_MSG_CHECKING([how to compile OpenACC])
  rt_gcc="-fopenacc -foffload=nvptx-none -foffload-options=nvptx-none=-misa=sm_80"
  for rt_try in "-acc=gpu,host -gpu=managed:no|-acc=gpu,host" "$rt_gcc|$rt_gcc -foffload-options=-lm -Wl,-z,notext" \
      "-fopenacc -foffload=disable|-fopenacc"; do
    rt_f=`AS_ECHO(["$rt_try"]) | sed 's/|.*//'` rt_l=`AS_ECHO(["$rt_try"]) | sed 's/.*|//'`
    rt_f=${ACC_CFLAGS-"-O3 -std=gnu11 $RT_WARN_CFLAGS $rt_f"} rt_l=${ACC_LIBS-$rt_l}
    RT_RUN([$ACC_CC $rt_f -c conftest.$ac_ext -o conftest.o],
      [RT_RUN([$rt_link $LDFLAGS conftest.o -o conftest $rt_l $LIBS],
        [rt_have_openacc=1 ACC_CFLAGS=$rt_f ACC_LIBS=$rt_l])])
    AS_IF([test $rt_have_openacc = 1], [break])
  done
  rm -f conftest.$ac_ext conftest.o conftest
  AS_IF([test $rt_have_openacc = 1],
    [AC_MSG_RESULT([$ACC_CFLAGS])
     rt_openacc_id=`$ACC_CC --version 2>/dev/null | sed -n '/./{p;q;}'`],
    [AC_MSG_RESULT([no])
     RT_NOT_FOUND([openacc], [$ACC_CC does not compile and link an OpenACC program; see config.log])])
])
