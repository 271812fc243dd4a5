# cli.sh - what gfnn-wave says and how it ends: good runs of every kind, and bad input.
. "${abs_top_srcdir:-.}/tests/gfnn-wave/lib.sh" || exit 1
cpu="--device cpu --threads 1 --seconds 0"

# --- every preconditioner, face, coefficient, form and precision ---
for precond in bj cheb3 gf8 gfm2 gfm4 gfm8; do
    for vectors in fp64 fp32; do
        valid precond "$gfnn" $cpu $small --precond $precond --vectors $vectors --rung solve-simd
    done
done
for faces in periodic free; do
    valid faces-$faces "$gfnn" $cpu --elements 8x6x7 --steps 2 --faces $faces --ladder
done
for coef in nn-reg nn-class; do
    valid coef-$coef "$gfnn" $cpu $small --coef $coef --rung solve-simd
done
for precision in fp32 fp16; do
    valid precision "$gfnn" $cpu $small --precision $precision --ladder --only predictor
done
valid dt "$gfnn" $cpu $small --dt 15e-6 --rung solve-simd
valid uniform "$gfnn" $cpu --elements 20x4x4 --model uniform:50 --precond bj --rung solve-simd
valid heads "$gfnn" $cpu --elements 24x20x8 --heads 2x2x1 --steps 1 --rung solve-simd
grep -q 'waves, 2x2x1 times head: 24x20x8 elements' heads.out || fail "--heads 2x2x1: $(head -n 5 heads.out)"
valid voxels "$gfnn" $cpu --model "$samples/ball.voxels" --precond bj --rung solve-simd
# Too few iterations for any program: that is no wrong answer.
"$gfnn" $cpu $small --max-iterations 1 --rung solve-simd >few.out 2>&1
[ $? = 1 ] && [ "$(tail -n 1 few.out)" = "gfnn-wave: NOT CONVERGED" ] && ! grep -q FAILED few.out ||
    fail "too few iterations: $(tail -n 3 few.out)"
valid odd "$gfnn" $cpu --elements 3x5x7 --steps 1 --ladder

# A network needs a third of bj's iterations, neither 16 bits nor FP32 vectors cost any, and they are in the report.
report="$gfnn $cpu --elements 16x16x16 --steps 2 --rung solve-simd --json"
for precision in fp32 fp16; do
    valid $precision $report $precision.json --precision $precision
done
valid bj $report bj.json --precond bj
valid double $report double.json --precision fp16 --vectors fp64
for file in fp16 fp32 bj double; do
    [ -n "$(iterations $file.json)" ] || fail "$file.json has no iterations"
done
[ "$(iterations fp16.json)" = "$(iterations fp32.json)" ] ||
    fail "iterations of fp16 $(iterations fp16.json), of fp32 $(iterations fp32.json)"
[ "$(iterations fp16.json)" = "$(iterations double.json)" ] ||
    fail "iterations in FP32 vectors $(iterations fp16.json), in FP64 $(iterations double.json)"
set -- $(iterations fp16.json) $(iterations bj.json)
[ "$1" -le 16 ] && [ "$3" -ge 30 ] && [ "$3" -le 44 ] || fail "iterations of gfm: $1, of bj: $3"

# The text of the Kokkos rungs for GPUs: the operator, and sweeps in one pass, which cost no iteration.
"$gfnn" --list --rung kokkos --device cpu >list.out
if ! grep -A 2 '^kokkos ' list.out | grep -q 'absent:'; then
    for faces in periodic free; do
        valid team "$gfnn" $cpu --elements 33x17x9 --faces $faces --rung kokkos --choose threads=1
        report="$gfnn $cpu --elements 18x11x10 --faces $faces --steps 2 --precond cheb --json"
        valid two-passes $report simd.json --rung solve-simd
        valid sweeps $report team.json --rung solve-kokkos --choose threads=1
        [ -n "$(iterations simd.json)" ] && [ "$(iterations simd.json)" = "$(iterations team.json)" ] &&
            close "$(number simd.json residual)" "$(number team.json residual)" 0.01 ||
            fail "$faces, sweeps: iterations $(iterations team.json), not $(iterations simd.json), residual $(number team.json residual), not $(number simd.json residual)"
    done
fi

# Without --precond: the polynomial on a CPU, the network where a predictor runs, and one size for all.
for row in cheb7 "cheb3 --precond cheb3" "gfm2 --coef nn-class" "gfm2 --precond gfm" "bj --precond bj" "cheb7 --ladder --only solve" "gfm2 --ladder"; do
    set -- $row
    precond=$1
    shift
    "$gfnn" --device cpu --size tiny --dry-run "$@" >dry.out || fail "--dry-run $*: $(cat dry.out)"
    grep -q -e "^options .*--elements=36x36x36 .*--precond=$precond " dry.out || fail "--dry-run $*: $(tail -n 1 dry.out)"
done

# --- what is said ---
valid tiny "$gfnn" --device cpu --size tiny --seconds 0.01 --windows 1 --steps 1 --precond bj --rung cpu-simd --json tiny.json
awk -F '[:,]' '/"predicted"/ && !said { said = $2 } /"high_water"/ && !used { used = $2 }
    END { exit !(used > 4e7 && said <= 68e6 && used <= said && said <= 1.1 * used) }' tiny.json ||
    fail "--size tiny: $(grep -m 2 -e predicted -e high_water tiny.json)"
valid ladder "$gfnn" --device cpu --threads 1 --elements 6x6x6 --steps 1 --seconds 0.005 --windows 1 --ladder
for ladder in operator predictor solve; do
    grep -A 1 "^Ladder $ladder\$" ladder.out | grep -q '^One unit is one' || fail "--ladder has no table of $ladder"
done
${PYTHON:-python3} - bj.json <<'EOF' || fail "bj.json: the residual history"
import json, sys
rung = json.load(open(sys.argv[1]))['rungs'][0]
history = rung['residual_history']
assert len(history) == rung['iterations'][-1] + 1 and history[0] == 1 and history[-1] == rung['residual'] < 1e-8, history
EOF
grep -q '^iterations to' ladder.out || fail "--ladder says nothing on iterations"
"$gfnn" --help >help.out || fail "--help ends with $?"
for option in elements model precond coef weights tolerance; do
    grep -q -e "--$option" help.out || fail "--help says nothing on --$option"
done
"$gfnn" --list --rung cpu-simd --device cpu >list.out || fail "--list ends with $?"
grep -A 1 '^cpu-simd ' list.out | grep -q 'claims the same bits' || fail "--list names no claim"

# --- pictures ---
valid vti "$gfnn" $cpu $small --rung solve-simd --steps 3 --picture wave.vti
# the largest u is that of the source, and the whole residual, with as many values as nodes
python3 - wave.vti >vti.out 2>&1 <<'END' || fail "wave.vti: $(cat vti.out)"
import re, struct, sys
text, _, data = open(sys.argv[1], 'rb').read().partition(b'<AppendedData encoding="raw">\n_')
nx, ny, nz = (int(n) + 1 for n in re.search(rb'WholeExtent="0 (\d+) 0 (\d+) 0 (\d+)"', text).groups())
nodes = nx * ny * nz
u, r = (struct.unpack_from(f'={3 * nodes}f', data, 8 + k * (12 * nodes + 8)) for k in (0, 1))
largest = max(range(3 * nodes), key=lambda value: abs(u[value]))
assert u[largest] and largest == 3 * (7 + nx * (6 + ny * 4)) + 2, largest
norm = sum(value * value for value in r) ** 0.5
assert 0 < norm < 1e-3 and len(data) == 25 * nodes + 3 * 8 + 28 and nodes == 960, (norm, len(data), nodes)
END
refused 2 "--picture wave.jpg" "$gfnn" $cpu --picture wave.jpg
refused 2 "computes no wave" "$gfnn" $cpu --rung cpu-simd --picture wave2.vti

# --- bad input: one line, status 2, nothing left behind ---
refused 2 "--elements 0: out of range" "$gfnn" $cpu --elements 0
refused 2 "periodic faces need 3" "$gfnn" $cpu --elements 2x8x8
refused 2 "a rank can number 2147483647" "$gfnn" $cpu --elements 2000
refused 2 "--heads 5x1x1: a box of 48x48x48 elements cannot be divided so" "$gfnn" $cpu --heads 5x1x1
refused 2 "--heads 2x2: not three extents" "$gfnn" $cpu --heads 2x2
refused 2 "--heads 0: out of range" "$gfnn" $cpu --heads 0
refused 2 "--heads 1x2x1: only --model head can be repeated" "$gfnn" $cpu --heads 1x2x1 --model uniform
refused 2 "--heads 1x2x1: only --model head can be repeated" "$gfnn" $cpu --heads 1x2x1 --model "$samples/ball.voxels"
refused 2 "--ranks 2x1x1 is 2 boxes" "$gfnn" $cpu --ranks 2x1x1
refused 2 "--ranks 2x: must be auto" "$gfnn" $cpu --ranks 2x
refused 2 "--precond gfm3: networks of 2, 4 and 8 kernels are shipped" "$gfnn" $cpu --precond gfm3
for precond in ilu gfm9 gfm0 gf8x cheb65 cheb-1 gf bj3; do
    refused 2 "--precond $precond: must be bj, chebN" "$gfnn" $cpu --precond $precond
done
refused 2 "Vs 150 m/s must be above 0 and at most Vp / sqrt(2) = 141.4" "$gfnn" $cpu --model uniform:150
refused 2 "must be uniform:VS with VS above 0" "$gfnn" $cpu --model uniform:x
sed 's/120/142/' "$samples/ball.voxels" >fast.voxels
refused 2 "Vs 142 m/s must be above 0 and at most Vp / sqrt(2) = 141.4" "$gfnn" $cpu --model fast.voxels
refused 2 "--tolerance 1e-15: out of range" "$gfnn" $cpu --tolerance 1e-15
refused 2 "--frequency 20000: a period is 2.5 time steps" "$gfnn" $cpu --frequency 20000
refused 2 "--faces open: " "$gfnn" $cpu --faces open
refused 2 "--dt nan" "$gfnn" $cpu --dt nan
refused 2 "gfm2-dt18us" "$gfnn" $cpu --precond gfm --dt 18e-6
refused 2 "no gfm2-nd4-dt20us.gfnn ships" "$gfnn" $cpu --reach 4
refused 2 "gfm2-dt20us.gfnn is for a reach = 3 nodes, and this run has 6 nodes" "$gfnn" $cpu --reach 6 \
    --weights "$inputs/gfnn-wave/gfm2-dt20us.gfnn"
refused 2 "periodic faces need as many as --reach" "$gfnn" $cpu --precond gf8 --reach 6 --elements 12x5x8
refused 2 "--reach 7: out of range" "$gfnn" $cpu --reach 7
refused 2 "--reach: for --precond gf8 and gfm alone" "$gfnn" $cpu --precond bj --reach 6
for only in operator predictor; do
    valid reach-$only "$gfnn" $cpu $small --precond gf8 --reach 6 --ladder --only $only
done
refused 2 "missing.gfnn" "$gfnn" $cpu --weights missing.gfnn
echo "not a network" >bad.gfnn
refused 2 "bad.gfnn" "$gfnn" $cpu --weights bad.gfnn
# another mean of the coefficients, which are the last doubles before the networks: another network, so another digest
shipped=$inputs/gfnn-wave/gfm2-dt20us.gfnn
${PYTHON:-python3} - "$shipped" other.gfnn <<'EOF' || fail "no python3"
import struct, sys, zlib
data = bytearray(open(sys.argv[1], 'rb').read())
kernels, regression, classifier = struct.unpack('<12xi4x2i', data[4:32])
at = 36 + 4 * (regression + classifier + 2) + 72 + 4 * kernels * 9 * 343
struct.pack_into('<d', data, at, struct.unpack_from('<d', data, at)[0] * 1.001)
data[-4:] = struct.pack('<I', zlib.crc32(data[:-4]))
open(sys.argv[2], 'wb').write(data)
EOF
[ "$(digests "$gfnn $cpu $small --weights" "$shipped" other.gfnn)" = 2 ] || fail "the digest leaves out a part of the network"
refused 2 "has no network" "$gfnn" $cpu --weights bad.gfnn --precond bj
refused 2 "missing.voxels" "$gfnn" $cpu --model missing.voxels
echo "not a model" >bad.voxels
refused 2 "bad.voxels" "$gfnn" $cpu --model bad.voxels
refused 2 "--elements 4x4x4: " "$gfnn" $cpu --model "$samples/ball.voxels" --elements 4x4x4
# What would be ignored.
refused 2 "--coef: for --precond gf8 and gfm alone" "$gfnn" $cpu --precond bj --coef nn-class
valid default-is-fine "$gfnn" $cpu $small --precond bj --coef nn-reg --rung reference
refused 2 "--size is for models that are generated" "$gfnn" $cpu --model "$samples/ball.voxels" --size tiny
refused 2 "it applies a network" "$gfnn" $cpu --precond bj --rung predict-simd
refused 2 "--roofline: each of the three ladders" "$gfnn" --device cpu --roofline
refused 2 "there is no such ladder" "$gfnn" $cpu --ladder --only everything
refused 2 "there is no such rung" "$gfnn" $cpu --rung fastest
refused 3 "--rung parity cannot run here" "$gfnn" $cpu --rung parity

exit $failed
