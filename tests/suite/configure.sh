# configure.sh - what configure decides, by a small configure of its own that has only the macro in question: CUDA for the
# GPUs that are there, the compiler that nvcc is given, a Kokkos with CUDA without our CUDA files, which BLAS is which, and
# Caliper where it is asked for. nvcc, GPUs and libraries are not real.
app=configure
here=$(cd "${abs_top_srcdir:-.}" && pwd)
. "$here/tests/common/lib.sh" || exit 1
autoconf --version >/dev/null 2>&1 || skip "no autoconf"

# small NAME LINES...: writes the script ./NAME, a configure that runs these macros.
small() {
    { printf 'm4_define([AM_CONDITIONAL], [])\n'
      printf 'm4_include([%s])\n' "$here/m4/rt_util.m4" "$here/m4/rt_cuda.m4" "$here/m4/rt_kokkos.m4" "$here/m4/rt_blas.m4" "$here/m4/rt_lib.m4"
      printf 'AC_INIT([small], [1])\n'
      printf '%s\n' "${@:2}"; } >"$1.ac" && autoconf -o "$1" "$1.ac" 2>"$1.err" || { cat "$1.err"; fail "autoconf $1"; exit 1; }
}

# ---- the folders: one that make would misread, as build or as source ----
small folders RT_FOLDERS 'AS_ECHO([fine])'
mkdir plain
# says TEXT BUILD SCRIPT: what it says in that folder is one line with the text.
says() {
    (cd "$2" && "$3") >out 2>&1
    grep -q "$1" out && [ "$(wc -l <out)" = 1 ] || fail "$3 in $2: $(cat out)"
}
for name in 'a b' 'a;touch ran' $'a\nb' 'a[b' 'a%b'; do
    mkdir "$name" && cp folders "$name"
    says 'would misread the path' "$name" ../folders
done
says 'would misread the path' plain "../a b/folders"
mkdir 'grün+x@1,2~3-4_.5'
says fine 'grün+x@1,2~3-4_.5' ../folders

# ---- CUDA ----
small cuda 'RT_CUDA' 'AS_ECHO(["archs $rt_cuda_archs flags $RT_NVCCFLAGS why $rt_why_cuda"])'
mkdir bin gpu
printf '#!/bin/sh\ncase "$*" in\n*--list-gpu-code*) echo sm_80; echo sm_90 ;;\n*"-ccbin ccache"*) exit 1 ;;\nesac\n' >bin/nvcc
printf '#!/bin/sh\nexit 0\n' >bin/ccache
printf '#!/bin/sh\ncat "$GPUS"\n' >gpu/nvidia-smi
chmod +x bin/* gpu/*
printf '9.0\n8.0\n9.0\n' >two
echo 12.0 >newer

# decides WHAT PATTERN GPUS ARGUMENT...: what configure says, with these GPUs, matches.
decides() {
    local path=$PWD/bin:$PATH
    [ -z "$3" ] || path=$PWD/gpu:$path
    GPUS=$3 CUDA_HOME='' PATH=$path CXX='ccache c++ -m64' ./cuda "${@:4}" >out 2>&1
    grep -q -e "$2" out || fail "$1: $(tail -n 1 out)"
}
decides "two kinds of GPU" 'archs 80,90 .*code=sm_80 .*code=sm_90' two
decides "the compiler behind ccache" '-ccbin c++ ' two
decides "a list" 'archs 90 ' two --with-cuda-arch=90
decides "a GPU that this nvcc does not know" 'archs 80,90 ' newer
decides "native with such a GPU" 'error: --with-cuda-arch=native: .*(120 )' newer --with-cuda-arch=native
if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1 && ! command -v nvidia-smi >/dev/null; then
    decides "no GPU" 'archs  .*why there is no NVIDIA GPU here; --with-cuda builds it all the same' ''
    decides "no GPU, but asked for" 'archs 80,90 ' '' --with-cuda
    decides "no GPU, but a list" 'archs 80 ' '' --with-cuda-arch=80
fi

# ---- a Kokkos with CUDA where our CUDA files are not compiled: it needs nvcc and the toolkit, and must be asked for ----
small kokkos 'AC_PROG_CXX' 'RT_CUDA' 'rt_have_openmp=0' 'RT_KOKKOS' \
    'AS_ECHO(["cuda $rt_have_cuda$CUDA_LIBS kokkos $rt_have_kokkos by $KOKKOS_CXX $KOKKOS_CXXFLAGS $KOKKOS_LIBS why $rt_why_kokkos"])'
mkdir -p kk/include kk/lib tk/bin tk/lib64/stubs
printf '#define KOKKOS_%s\n' 'VERSION 40601' ENABLE_SERIAL ENABLE_CUDA ARCH_HOPPER90 >kk/include/KokkosCore_config.h
for l in kk/lib/libkokkoscore tk/lib64/libcudart_static tk/lib64/stubs/libcuda; do
    ar rc $l.a || exit 1
done
cat >tk/bin/nvcc <<END
#!/bin/sh
case "\$*" in
*--dryrun*) echo '#\$ TOP=$PWD/tk' >&2 ;;
*"-x cu "*" -arch=sm_90 "*) echo 'int main() {}' >x.cpp && ${CXX:-c++} -c x.cpp -o conftest.o ;;
*) exit 1 ;;
esac
END
chmod +x tk/bin/nvcc
sed 's,/usr/local/cuda/bin,/none,' kokkos >kokkos-without && chmod +x kokkos-without
# kokkos WHAT PATTERN SCRIPT ARGUMENT...: what it says matches. What the first has found out of the compiler is kept.
kokkos() {
    CUDA_HOME='' CXX="${CXX:-c++}" CONFIG_SITE=$PWD/known "./$3" "${@:4}" --cache-file=kokkos.cache >out 2>&1
    grep -E '^ac_cv_(prog|cxx|objext|exeext)' kokkos.cache >known
    rm kokkos.cache
    grep -q -e "$2" out || fail "$1: $(tail -n 1 out)"
}
PATH=$PWD/tk/bin:$PATH kokkos "Kokkos with CUDA alone" \
    "^cuda 0 kokkos 1 by $PWD/tk/bin/nvcc .*-arch=sm_90 .*-L$PWD/tk/lib64/stubs -lcuda -L$PWD/tk/lib64 -lcudart_static" \
    kokkos --without-cuda --with-kokkos="$PWD/kk"
PATH=$PWD/tk/bin:$PATH KOKKOS_ROOT=$PWD/kk kokkos "Kokkos with CUDA, not asked for" \
    "^cuda 0 kokkos 0 .* built with CUDA, and .* --without-cuda was given; --with-kokkos uses it all the same" kokkos --without-cuda
without=$(tr : '\n' <<<"$PATH" | while read -r d; do [ -x "$d/nvcc" ] || printf '%s:' "$d"; done)
if PATH=$without command -v sed >/dev/null; then
    PATH=$without kokkos "Kokkos with CUDA, no nvcc" "error: --with-kokkos was asked for, but .* built with CUDA, and there is no nvcc in" \
        kokkos-without --without-cuda --with-kokkos="$PWD/kk"
fi

# ---- BLAS; and Caliper, off unless it is asked for: the timers are then its regions ----
small libs 'AC_PROG_CC' 'RT_BLAS' \
    'RT_LIB([caliper], [caliper/cali.h], [cali_begin_region], [spack install caliper], [no])' \
    'AS_ECHO(["found $rt_blas"])' 'AS_ECHO(["caliper $rt_have_caliper $CALIPER_LIBS"])' \
    'sed -n "s/^#define RT_BLAS_\([A-Z]*\) /\1 /p" confdefs.h'
mkdir -p cali/include/caliper cali/lib
printf 'void cali_begin_region(const char *name);\nvoid cali_end_region(const char *name);\n' >cali/include/caliper/cali.h
printf '#include <caliper/cali.h>\nvoid cali_begin_region(const char *n) { (void)n; }\nvoid cali_end_region(const char *n) { (void)n; }\n' >x.c
${CC:-cc} -Icali/include -c x.c && ar rc cali/lib/libcaliper.a x.o
# finds NAME HEADER FUNCTION LIBRARY...: what configure finds with a folder that has a BLAS with the function.
finds() {
    mkdir -p "$1/include" "$1/lib"
    echo 'void cblas_dgemm(void);' >"$1/include/$2"
    echo "void cblas_dgemm(void) {} void $3(void) {}" >x.c
    ${CC:-cc} -c x.c && for l in "${@:4}"; do ar rc "$1/lib/lib$l.a" x.o 2>/dev/null || exit 1; done
    ./libs CC="${CC:-cc}" --with-blas="$PWD/$1" $caliper --cache-file="$1.cache" >out 2>&1
}
caliper=
finds blis cblas.h bli_thread_set_num_threads blis blas
grep -E '^ac_cv_(prog|c|objext|exeext)' blis.cache >known # about the compiler; the later ones need not ask again
export CONFIG_SITE=$PWD/known
grep -q '^found BLIS, .*-lblis$' out && grep -q '^INT long' out || fail "BLIS: $(tail -n 3 out)"
grep -q '^caliper 0 ' out || fail "Caliper unasked: $(tail -n 3 out)"
caliper=--with-caliper=$PWD/cali
finds mkl mkl_cblas.h MKL_Set_Num_Threads mkl_intel_lp64 mkl_sequential mkl_core
grep -q '^found MKL, ' out && grep -q '^HEADER .*/mkl_cblas.h"$' out || fail "MKL: $(tail -n 3 out)"
grep -q '^caliper 1 .*-lcaliper' out || fail "Caliper: $(tail -n 3 out)"
caliper=
finds alias cblas.h openblas_set_num_threads blas
grep -q '^found OpenBLAS, .*-lblas$' out || fail "OpenBLAS by another name: $(tail -n 3 out)"
finds reference cblas.h dgemm_ blas
grep -q '^found the reference BLAS, which is slow' out && ! grep -q '^THREADS' out || fail "reference BLAS: $(tail -n 3 out)"
if grep -q 'RT_HAVE_CUDA 0' "$top/config.h"; then
    sed 's/RT_HAVE_CALIPER 0/RT_HAVE_CALIPER 1/' "$top/config.h" >config.h
    ${CC:-cc} -std=c11 -I. -Icali/include -I"$here/common" -c "$here/common/machine/timer.c" -o timer.o &&
        [ "$(nm timer.o | grep -c ' U cali_\(begin\|end\)_region')" = 2 ] || fail "the timers are no regions of Caliper"
fi
exit $failed
