#!/usr/bin/env bash
# hip.sh - make check-hip: hipcc compiles the device headers that need no Kokkos, for an AMD GPU. Nothing runs.
# HIPCC and HIP_ARCH may be given. KOKKOS_SOURCE=DIR, a Kokkos source, which configure --with-kokkos-source has named: the
# Kokkos rungs too. CMake configures it for HIP, which makes the headers that differ; it is not built.
set -u
top=${srcdir:-.}
hipcc=${HIPCC:-hipcc} arch=${HIP_ARCH:-gfx90a}
command -v "$hipcc" >/dev/null || { echo "check-hip: SKIPPED, there is no $hipcc (apt install hipcc)"; exit 77; }
work=$(mktemp -d) faults=0
trap 'rm -rf "$work"' EXIT

# compile NAME OPTION..: compiles $work/NAME.cpp, or a source of the tree
compile() {
    "$hipcc" -x hip --offload-arch="$arch" --cuda-device-only -O1 -std=c++17 -Wall -Wextra -Wno-missing-field-initializers \
        -DHAVE_CONFIG_H -I. -I"$top" -I"$top/common" -Icommon "${@:2}" -c "$1" -o "$work/out.o" >"$work/log" 2>&1 ||
        { echo "check-hip: $1 does not compile for $arch:"; grep error "$work/log" | head -n 5; faults=$((faults + 1)); }
}

headers=0
for set in "nekbone/precond/boxes.h nekbone/cpu/points.h" "alya-rhs/element/form.hpp alya-rhs/patches/patch_record.h" \
    "fun3d-mcpi/flow/node.h fun3d-mcpi/input/narrow.h" "gfnn-wave/loops/node.h"; do
    { echo '#include "config.h"'; for header in $set; do echo "#include \"apps/$header\""; done; } >"$work/headers.cpp"
    compile "$work/headers.cpp" -include hip/hip_runtime.h
    headers=$((headers + $(wc -w <<<"$set")))
done
rungs=0
if [ -n "${KOKKOS_SOURCE:-}" ]; then
    cmake -S "$KOKKOS_SOURCE" -B "$work/kokkos" -DCMAKE_CXX_COMPILER="$hipcc" -DKokkos_ENABLE_HIP=ON -DKokkos_ENABLE_SERIAL=ON \
        "-DKokkos_ARCH_AMD_${arch^^}=ON" -DKokkos_ENABLE_ROCTHRUST=OFF >"$work/log" 2>&1 ||
        { echo "check-hip: cmake does not configure $KOKKOS_SOURCE:"; grep -A 3 -i error "$work/log" | head -n 5; exit 1; }
    for source in "$top"/apps/*/kokkos/*.cpp "$top"/common/*/*kokkos.cpp; do
        compile "$source" -isystem "$work/kokkos" -isystem "$work/kokkos/core/src" -isystem "$work/kokkos/generated" \
            -isystem "$KOKKOS_SOURCE/core/src" -isystem "$KOKKOS_SOURCE/tpls/desul/include" -isystem "$KOKKOS_SOURCE/tpls/mdspan/include"
        rungs=$((rungs + 1))
    done
fi
[ $faults = 0 ] || exit 1
echo "check-hip: $headers headers and $rungs Kokkos sources compile for $arch by $("$hipcc" --version 2>/dev/null | head -n 1)"
