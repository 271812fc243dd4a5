# aarch64.sh - the four programs, built by a cross compiler for 64-bit Arm: every CPU rung is VALID under QEMU. Catches code that
# only x86 compiles, and vector code of an Arm processor that computes something else. Debian: g++-aarch64-linux-gnu,
# qemu-user-static, and after dpkg --add-architecture arm64 libjansson-dev:arm64 and libgomp1:arm64.
app=aarch64
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
[ -n "${RT_CHECK_LONG:-}" ] || skip "a build for another processor: make check-long"
host=aarch64-linux-gnu
command -v $host-g++ >/dev/null || skip "no $host-g++"
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || skip "no qemu-aarch64"
[ -e /usr/lib/$host/libjansson.so ] || skip "no jansson for $host"

copy_source source
mkdir build && cd build || exit 1
# No -L to the cross compiler's own folder: its loader with the other C library spins in the first thread.
(../source/configure --host=$host --without-mpi --without-cuda --without-kokkos --without-hwloc --without-blas \
    --without-libxsmm CFLAGS='-O3 -march=armv8.2-a+fp16' CXXFLAGS='-O3 -march=armv8.2-a+fp16' \
    PKG_CONFIG_LIBDIR=/usr/lib/$host/pkgconfig &&
    make -j2 apps/nekbone/nekbone apps/alya-rhs/alya-rhs apps/fun3d-mcpi/fun3d-mcpi apps/gfnn-wave/gfnn-wave) >build.log 2>&1 || { fail "build: $(tail -n 20 build.log)"; exit 1; }
! grep -n 'warning:' build.log || fail "warnings"
for app in nekbone alya-rhs fun3d-mcpi gfnn-wave; do
    case $app in
        nekbone) ladders="iteration solve" size="--elements 3x2x2 --degree 7" ;;
        alya-rhs) ladders=cpu size="--cells 6x5x4" ;;
        fun3d-mcpi) ladders="sweeps flow" size="--surface 5 --layers 6 --offdiagonal fp16" ;;
        gfnn-wave) ladders="operator predictor solve" size="--elements 9x7x6 --steps 1" ;;
    esac
    for ladder in $ladders; do
        valid $app-$ladder "$qemu" apps/$app/$app $size --device cpu --threads 1 --seconds 0 --ladder --only $ladder
    done
done
exit $failed
