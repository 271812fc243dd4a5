# cli.sh - what gfnn-wave says and how it ends: good runs of every kind, and bad input.
. "${abs_top_srcdir:-.}/tests/gfnn-wave/lib.sh" || exit 1
export OMP_NUM_THREADS=1
cpu="--device cpu --seconds 0"

# --- every preconditioner, face, form and precision; a network needs a third of bj's iterations ---
rows "$program" $cpu $small --rung solve-simd <<END
0||--precond {bj,cheb3,gf8,gfm2,gfm4,gfm8,bj --vectors fp64,gfm2 --vectors fp64}
0||--coef {nn-reg,nn-class}
0||--dt 15e-6
0||--elements 20x4x4 --model uniform:50 --precond bj
0|waves, 2x2x1 times head: 24x20x8 elements|--elements 24x20x8 --heads 2x2x1 --steps 1
END
rows "$program" $cpu --elements 6x5x7 --steps 1 --rung solve-simd <<END
0||--precond {cheb1,cheb5 --faces free,{bj,gfm2 --precision fp32,cheb3 --vectors fp64} --tolerance 1e-12}
0||--dt 15e-6 --precond {gf8,gfm4,gfm8}
END
on_cpu precision $small --precision fp32 --ladder --only predictor
on_cpu reach $small --precond gf8 --reach 6 --ladder --only predictor
on_cpu voxels --model "$samples/ball.voxels" --precond bj --rung solve-simd
on_cpu default-is-fine $small --precond bj --coef nn-reg --rung reference
on_cpu odd --elements 3x5x7 --steps 1 --faces free --ladder
on_cpu least --elements 1x1x1 --steps 1 --faces free --ladder
# Too few iterations for any program: that is no wrong answer.
"$program" $cpu $small --max-iterations 1 --rung solve-simd >few.out 2>&1
[ $? = 1 ] && [ "$(tail -n 1 few.out)" = "gfnn-wave: NOT CONVERGED" ] && ! grep -q FAILED few.out ||
    fail "too few iterations: $(tail -n 3 few.out)"

# Neither 16 bits nor FP32 vectors cost an iteration, and they are in the report.
for row in "bj --precond bj" "fp32 --precision fp32" "fp16 --precision fp16" "double --precision fp16 --vectors fp64"; do
    on_cpu report --elements 16x16x16 --steps 2 --rung solve-simd --json ${row%% *}.json ${row#* }
    echo "$(iterations ${row%% *}.json)"
done >iterations.list
awk 'NR == 1 { held = NF == 2 && $2 >= 30 && $2 <= 44 } NR == 2 { held = held && $1 <= 16; first = $0 }
    NR > 2 { held = held && $0 == first } END { exit !(held && NR == 4) }' iterations.list ||
    fail "iterations of bj; of gfm in fp32, fp16, and with FP64 vectors: $(cat iterations.list)"
${PYTHON:-python3} - bj.json <<'EOF' || fail "bj.json: the residual history"
import json, sys
rung = json.load(open(sys.argv[1]))['rungs'][0]
history = rung['residual_history']
assert len(history) == rung['iterations'][-1] + 1 and history[0] == 1 and history[-1] == rung['residual'] < 1e-8, history
EOF

# The text of the Kokkos rungs for GPUs: predictor, operator, and sweeps in one pass, which cost no iteration.
"$program" --list --rung kokkos --device cpu >list.out
if ! grep -A 2 '^kokkos ' list.out | grep -q 'absent:'; then
    each on_cpu <<<"--elements 9x6x7 --rung predict-kokkos --choose threads=1 --precond {gf8,gfm2,gfm4,gfm8,gf8 --reach 6}"
    for faces in periodic free; do
        on_cpu team --elements 33x17x9 --faces $faces --rung kokkos --choose threads=1
        sweeps="--elements 18x11x10 --faces $faces --steps 2 --precond cheb --json"
        on_cpu two-passes $sweeps simd.json --rung solve-simd
        on_cpu sweeps $sweeps team.json --rung solve-kokkos --choose threads=1
        [ -n "$(iterations simd.json)" ] && [ "$(iterations simd.json)" = "$(iterations team.json)" ] &&
            close "$(number simd.json residual)" "$(number team.json residual)" 0.01 ||
            fail "$faces, sweeps: iterations $(iterations team.json), not $(iterations simd.json), residual $(number team.json residual), not $(number simd.json residual)"
    done
fi

# Without --precond: the polynomial on a CPU, the network where a predictor runs, and one size for all.
for row in cheb7 "cheb3 --precond cheb3" "gfm2 --coef nn-class" "gfm2 --precond gfm" "bj --precond bj" "cheb7 --ladder --only solve" "gfm2 --ladder"; do
    set -- $row
    "$program" --device cpu --size tiny --dry-run "${@:2}" >dry.out || fail "--dry-run ${*:2}: $(cat dry.out)"
    grep -q -e "^options .*--elements=36x36x36 .*--precond=$1 " dry.out || fail "--dry-run ${*:2}: $(tail -n 1 dry.out)"
done

# --- what is said ---
# Some 400 solves: where the one that is drawn to be put aside is the last, 5 of 58 MB are not used.
valid tiny "$program" --device cpu --size tiny --seconds 0.3 --windows 1 --steps 1 --precond bj --rung cpu-simd --json tiny.json
awk -F '[:,]' '/"predicted"/ && !said { said = $2 } /"high_water"/ && !used { used = $2 }
    END { exit !(used > 4e7 && said <= 68e6 && used <= said && said <= 1.1 * used) }' tiny.json ||
    fail "--size tiny: $(grep -m 2 -e predicted -e high_water tiny.json)"

# --- pictures ---
on_cpu vti $small --rung solve-simd --steps 3 --picture wave.vti
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

# --- Green's functions: columns and expansions, a picture that has no expansion beyond the reach ---
rows "$program" --device cpu --elements 12x10x8 <<END
0|^all, in energy |--green {11x0x7 --precond {gf8,gfm2},0x5x3 --faces free}
0|^6 |--green 5x4x3 --reach 6 --precond gf8 --picture green.vti
END
python3 - green.vti >vti.out 2>&1 <<'END' || fail "green.vti: $(cat vti.out)"
import struct, sys
data, nodes = open(sys.argv[1], 'rb').read().partition(b'<AppendedData encoding="raw">\n_')[2], 960
g, h, d = (struct.unpack_from(f'={3 * nodes}f', data, 8 + k * (12 * nodes + 8)) for k in range(3))
at = 3 * (5 + 12 * (4 + 10 * 3)) + 2
assert max(g) == g[at] > 0 and len(data) == 37 * nodes + 4 * 8 + 28, (max(g), g[at], len(data))
assert all(abs(x - y - z) < 1e-6 * g[at] for x, y, z in zip(g, h, d)) and 0.5 < h[at] / g[at] < 2, h[at]
END

# --- bad input, and what would be ignored: one line, status 2, nothing left behind ---
sed 's/120/142/' "$samples/ball.voxels" >fast.voxels
echo "not a network" | tee bad.voxels >bad.gfnn
rows "$program" $cpu <<END
2|--picture wave.jpg|--picture wave.jpg
2|computes no wave|--rung cpu-simd --picture wave2.vti
2|--elements 0: out of range|--elements 0
2|periodic faces need 3|--elements 2x8x8
2|a rank can number 2147483647|--elements 2000
2|--heads 5x1x1: a box of 48x48x48 elements cannot be divided so|--heads 5x1x1
2|--heads 2x2: not three extents|--heads 2x2
2|--heads 0: out of range|--heads 0
2|--heads 1x2x1: only --model head can be repeated|--heads 1x2x1 --model {uniform,$samples/ball.voxels}
2|--ranks 2x1x1 is 2 boxes|--ranks 2x1x1
2|: must be auto, or boxes along|--ranks {2x,2x2,2x2x1y,-2x-2x1}
2|--precond gfm3: networks of 2, 4 and 8 kernels are shipped|--precond gfm3
2|: must be bj, chebN|--precond {ilu,gfm9,gfm0,gf8x,cheb65,cheb-1,gf,bj3}
2|Vs 150 m/s must be above 0 and at most Vp / sqrt(2) = 141.4|--model uniform:150
2|must be uniform:VS with VS above 0|--model uniform:x
2|Vs 142 m/s must be above 0 and at most Vp / sqrt(2) = 141.4|--model fast.voxels
2|--tolerance 1e-15: out of range|--tolerance 1e-15
2|--frequency 20000: a period is 2.5 time steps|--frequency 20000
2|--faces open: |--faces open
2|--dt nan|--dt nan
2|gfm2-dt18us|--precond gfm --dt 18e-6
2|no gfm2-nd4-dt20us.gfnn ships|--reach 4
2|gfm2-dt20us.gfnn is for a reach = 3 nodes, and this run has 6 nodes|--reach 6 --weights $samples/gfm2-dt20us.gfnn
2|periodic faces need as many as --reach|--precond gf8 --reach 6 --elements 12x5x8
2|--reach 7: out of range|--reach 7
2|--reach: for --precond gf8 and gfm alone|--precond bj --reach 6
2|missing.gfnn|--weights missing.gfnn
2|bad.gfnn|--weights bad.gfnn
2|has no network|--weights bad.gfnn --precond bj
2|missing.voxels|--model missing.voxels
2|bad.voxels|--model bad.voxels
2|--elements 4x4x4: |--model $samples/ball.voxels --elements 4x4x4
2|--coef: for --precond gf8 and gfm alone|--precond bj --coef nn-class
2|--size is for models that are generated|--model $samples/ball.voxels --size tiny
2|it applies a network|--precond bj --rung predict-simd
2|--green: --precond bj has no network|--green 1x2x3 --precond bj
2|--green: no node has number 48 along y|--green 1x48x3
2|--green: no node has number -1 along z|--green 1x2x-1
2|--green 1x2: not three extents|--green 1x2
2|--green is answered instead of a run: leave out|--green 1x2x3 {--rung solve-simd,--ladder,--json green.json,--size tiny}
2|there is no such ladder|--ladder --only everything
3|--rung parity cannot run here|--rung parity
END
refused 2 "--roofline: each of the three ladders" "$program" --device cpu --roofline
# another mean of the coefficients, which are the last doubles before the networks: another network, so another digest
shipped=$samples/gfm2-dt20us.gfnn
${PYTHON:-python3} - "$shipped" other.gfnn <<'EOF' || fail "no python3"
import struct, sys, zlib
data = bytearray(open(sys.argv[1], 'rb').read())
kernels, regression, classifier = struct.unpack('<12xi4x2i', data[4:32])
at = 36 + 4 * (regression + classifier + 2) + 72 + 4 * kernels * 9 * 343
struct.pack_into('<d', data, at, struct.unpack_from('<d', data, at)[0] * 1.001)
data[-4:] = struct.pack('<I', zlib.crc32(data[:-4]))
open(sys.argv[2], 'wb').write(data)
EOF
[ "$(digests "$program $cpu $small --weights" "$shipped" other.gfnn)" = 2 ] || fail "the digest leaves out a part of the network"

exit $failed
