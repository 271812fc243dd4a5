# RT_CUDA: --with-cuda[=DIR], --with-cuda-arch=80,90 or native.
#
# By default CUDA is compiled for the GPUs of this machine, and not at all where there is none: nvcc takes more time than
# all other compilers together. --with-cuda or --with-cuda-arch asks for it anywhere.
#
# Sets rt_have_cuda, rt_have_nvtx, rt_cuda_archs, rt_nvcc_id, and for make: NVCC, NVCCFLAGS (the
# user's), RT_NVCCFLAGS (ours), CUDA_CPPFLAGS, CUDA_LIBS, and CUOBJDUMP. CUDA's runtime is linked
# statically and libcuda not at all, so the program starts on a machine without a driver.
AC_DEFUN([RT_CUDA], [
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@], [use CUDA (DIR/bin/nvcc)])],
    [], [with_cuda=check])
  AC_ARG_WITH([cuda-arch],
    [AS_HELP_STRING([--with-cuda-arch=LIST], [compute capabilities to compile for, as 80,90, or native
     @<:@native where there is a GPU, else 80,90@:>@])],
    [test "x$with_cuda" != xcheck || with_cuda=yes], [with_cuda_arch=check])
  AC_ARG_VAR([NVCC], [CUDA compiler])
  AC_ARG_VAR([NVCCFLAGS], [flags for NVCC])
  CUDA_CPPFLAGS= CUDA_LIBS= RT_NVCCFLAGS= CUOBJDUMP=
  rt_have_cuda=0 rt_have_nvtx=0 rt_cuda_archs= rt_nvcc_id= rt_why_cuda="--without-cuda was given"
  AS_IF([test "x$with_cuda" != xno], [RT_CUDA_GPUS])
  AS_IF([test "x$with_cuda,$rt_gpus" = xcheck,no],
    [RT_NOT_FOUND([cuda], [there is no NVIDIA GPU here; --with-cuda builds it all the same])],
  [test "x$with_cuda" != xno], [
    RT_CUDA_TOOLKIT
    AS_IF([test "x$NVCC" = x],
      [RT_NOT_FOUND([cuda], [there is no nvcc in $rt_tried (install NVIDIA's CUDA toolkit)])],
      [RT_CUDA_CHOOSE
       RT_CUDA_TRY])
  ])
  AC_SUBST([CUDA_CPPFLAGS])
  AC_SUBST([CUDA_LIBS])
  AC_SUBST([RT_NVCCFLAGS])
  AC_SUBST([CUOBJDUMP])
  AM_CONDITIONAL([HAVE_CUDA], [test $rt_have_cuda = 1])
])

# RT_CUDA_GPUS: sets rt_gpus to the compute capabilities of the GPUs here, as "80 90 ", to unknown or to no.
# /proc/driver/nvidia proves nothing: a container has it without a GPU.
AC_DEFUN([RT_CUDA_GPUS], [
  AC_MSG_CHECKING([for NVIDIA GPUs])
  rt_gpus=`nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>&AS_MESSAGE_LOG_FD | tr -d . |
    grep '^@<:@0-9@:>@*$' | sort -n -u | tr '\n' ' '`
  AS_IF([test "x$rt_gpus" = x], [
    rt_gpus=no
    for rt_d in /dev/nvidia@<:@0-9@:>@*; do
      AS_IF([test -e $rt_d], [rt_gpus=unknown])
    done
  ])
  AC_MSG_RESULT([$rt_gpus])
])

# RT_CUDA_CHOOSE: makes the list of architectures and checks that this nvcc supports them.
AC_DEFUN([RT_CUDA_CHOOSE], [
  AC_MSG_CHECKING([for CUDA architectures])
  rt_nvcc_can=`$NVCC --list-gpu-code 2>/dev/null | tr '\n' ' '`
  rt_native=
  for rt_a in $rt_gpus; do
    AS_CASE([" $rt_nvcc_can "], [*" sm_$rt_a "*], [rt_native="${rt_native:+$rt_native,}$rt_a"])
  done
  AS_CASE([$with_cuda_arch],
    [native], [rt_want=$rt_native],
    [check|yes|no], [rt_want=${rt_native:-80,90}],
    [rt_want=$with_cuda_arch])
  AS_IF([test "x$rt_want" = x],
    [AC_MSG_ERROR([--with-cuda-arch=native: nvidia-smi names no GPU here ($rt_gpus) that $NVCC can compile for; give a list, as 80,90])])
  rt_cuda_archs= rt_gencode=
  for rt_a in `AS_ECHO(["$rt_want"]) | tr , '\n' | sed 's/^sm_//' | sort -n -u`; do
    rt_n=`AS_ECHO(["$rt_a"]) | sed 's/@<:@af@:>@$//'`   # the list has 90, not 90a
    AS_CASE([" $rt_nvcc_can "],
      [*" sm_$rt_n "*],
        [rt_cuda_archs="${rt_cuda_archs:+$rt_cuda_archs,}$rt_a" rt_highest=$rt_a
         rt_gencode="$rt_gencode -gencode arch=compute_$rt_a,code=sm_$rt_a"],
      [AS_IF([test "x$with_cuda_arch" != xcheck],
         [AC_MSG_ERROR([--with-cuda-arch=$with_cuda_arch: $NVCC cannot compile for $rt_a, only for $rt_nvcc_can])])])
  done
  # PTX of the highest one, so that newer GPUs can run the program too.
  AS_IF([test "x$rt_cuda_archs" != x],
    [rt_gencode="$rt_gencode -gencode arch=compute_$rt_highest,code=compute_$rt_highest"])
  AC_MSG_RESULT([${rt_cuda_archs:-none of $rt_want}])
])

# RT_CUDA_TOOLKIT: finds nvcc, and what belongs to it: sets NVCC (empty: there is none in $rt_tried), NVCCFLAGS, rt_ccbin,
# rt_top, rt_libdir and rt_cuda_libs. A Kokkos with CUDA needs it where our own CUDA files are not compiled.
AC_DEFUN([RT_CUDA_TOOLKIT], [
  AS_CASE([$with_cuda],
    [/*], [rt_cuda_path=$with_cuda/bin rt_tried=$with_cuda/bin],
    [rt_cuda_path=${CUDA_HOME:+$CUDA_HOME/bin:}$PATH:/usr/local/cuda/bin
     rt_tried="CUDA_HOME/bin, PATH or /usr/local/cuda/bin"])
  AC_PATH_PROG([NVCC], [nvcc], [], [$rt_cuda_path])
  AS_IF([test "x${NVCCFLAGS+set}" = x],
    [AS_IF([test "x$enable_debug" = xyes], [NVCCFLAGS="-O0 -g -G"], [NVCCFLAGS="-O3 -lineinfo"])])
  # nvcc expects the name of a compiler: it would take `g++ -m64` for a file name, and `ccache g++` for ccache.
  rt_ccbin=
  for rt_w in $CXX; do
    AS_CASE([$rt_w], [ccache|*/ccache|distcc|*/distcc|sccache|*/sccache|icecc|*/icecc|env|*/env|*=*|-*], [],
      [rt_ccbin=$rt_w; break])
  done
  AS_IF([test "x$NVCC" != x], [
    echo >conftest.cu
    # nvcc says where its toolkit is, even if links and wrappers lead to it.
    rt_top=`$NVCC --dryrun conftest.cu 2>&1 | sed -n 's/^.. *TOP=//p'`
    rt_top=`test -d "$rt_top" && cd "$rt_top" && pwd`
    rt_libdir=
    for rt_d in $rt_top/lib64 $rt_top/lib $rt_top/targets/*/lib $rt_top/lib/*-linux-gnu; do
      AS_IF([test -f "$rt_d/libcudart_static.a"], [rt_libdir=$rt_d; break])
    done
    rm -f conftest.cu
    rt_cuda_libs="-L$rt_libdir -lcudart_static -ldl -lrt -lpthread"
  ])
])

# RT_CUDA_TRY: compiles a kernel and links it as the programs will be linked.
AC_DEFUN([RT_CUDA_TRY], [
  # C++20 can fill tables by name. A member that is not named is zero, as in C: no cause to warn.
  RT_NVCCFLAGS="-std=c++20 -ccbin $rt_ccbin$rt_gencode -Xcompiler -Wall,-Wextra,-Wno-missing-field-initializers"
  # Host code in .cu files packs data for kernels. It uses all cores, as the C files do.
  AS_IF([test "x$OPENMP_CFLAGS" = x-fopenmp], [RT_NVCCFLAGS="$RT_NVCCFLAGS -Xcompiler -fopenmp"])

  AC_MSG_CHECKING([whether CUDA works])
  # Kernels take element matrices as arguments of more than 4 KB, possible since CUDA 12.1, and store
  # 16 bytes at once with PTX's .b128, possible since CUDA 12.3.
  echo 'int main() { int n; return cudaGetDeviceCount(&n) && n; }
struct matrices { double a@<:@1200@:>@; }; __global__ void k(matrices) {}
__global__ void pair(long long *p) { asm volatile(
  "{.reg .b128 q; mov.b128 q, {%1, %1}; st.relaxed.gpu.global.b128 @<:@%0@:>@, q;}" :: "l"(p), "l"(*p)); }' >conftest.cu
  AS_IF([test "x$rt_top" != x/usr && test -d "$rt_top/include"], [CUDA_CPPFLAGS="-isystem $rt_top/include"])
  CUDA_LIBS=$rt_cuda_libs
  rt_cuda_ok=no
  RT_RUN([$NVCC $RT_NVCCFLAGS $NVCCFLAGS -c conftest.cu -o conftest.o],
    [RT_RUN([$CXX $CXXFLAGS $LDFLAGS conftest.o -o conftest $CUDA_LIBS], [rt_cuda_ok=yes])])
  rm -f conftest.cu conftest.o conftest
  AC_MSG_RESULT([$rt_cuda_ok])
  AS_IF([test $rt_cuda_ok = yes && test "x$rt_cuda_archs" != x], [
    rt_have_cuda=1
    rt_nvcc_id="nvcc `$NVCC --version | sed -n 's/.*, V//p'`"
    AS_IF([test -f "$rt_top/include/nvtx3/nvToolsExt.h"], [rt_have_nvtx=1])
    CUOBJDUMP=`AS_DIRNAME(["$NVCC"])`/cuobjdump
  ], [
    CUDA_CPPFLAGS= CUDA_LIBS= rt_cuda_archs=
    RT_NOT_FOUND([cuda], [$NVCC -ccbin $rt_ccbin (toolkit $rt_top) with $CXX does not compile and link a CUDA program of CUDA 12.3 or later; see config.log])
  ])
])
