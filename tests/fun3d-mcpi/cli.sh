# cli.sh - what fun3d-mcpi says and how it ends: good runs of every kind of input, and bad input.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
cpu="--device cpu --seconds 0"
tiny="--surface 4 --layers 4" # where many types are tried

# --- every block size and type ---
valid ladder "$mcpi" $cpu $small --ladder
export OMP_NUM_THREADS=1 # two above, and where the number of threads plays a part
for nb in 4 6 7 8 12 15; do
    valid nb-$nb "$mcpi" $cpu $tiny --block-size $nb --ladder
done
for type in fp64 fp32 fp16 bf16; do
    for dq in fp64 fp32; do
        for sum in fp64 fp32; do
            valid types "$mcpi" $cpu $tiny --offdiagonal $type --dq $dq --accumulate $sum --rung cpu-simd
        done
    done
done
for type in fp64 fp32 fp16 bf16; do
    valid species-$type "$mcpi" $cpu $tiny --block-size 15 --offdiagonal $type --accumulate fp64 --rung cpu-simd
done
valid double "$mcpi" $cpu $tiny --offdiagonal fp64 --dq fp64 --accumulate fp64 --rung cpu-simd
# every type converges, down to its own accuracy
for type in fp64 fp32 fp16 bf16; do
    valid long-$type "$mcpi" $cpu $tiny --offdiagonal $type --sweeps 60 --rung cpu-simd
done
awk -v a="$(residual double)" 'BEGIN { exit !(a > 0 && a < 1e-3) }' ||
    fail "residual after 15 sweeps: $(residual double)"
awk -v a="$(residual long-fp32)" -v b="$(residual long-fp16)" -v c="$(residual long-bf16)" \
    'BEGIN { exit !(a < 1e-5 && a < b && b < c && c < 0.1) }' ||
    fail "residuals of fp32, fp16, bf16: $(residual long-fp32) $(residual long-fp16) $(residual long-bf16)"

# --- the text of the rung kokkos for GPUs ---
"$mcpi" --list --rung kokkos --device cpu >list.out
if ! grep -A 2 '^kokkos ' list.out | grep -q 'absent:'; then
    team="--rung kokkos --choose threads=1"
    for nb in 4 5 6 7 9; do
        for type in fp64 fp32 fp16 bf16; do
            valid team "$mcpi" $cpu $tiny --block-size $nb --offdiagonal $type $team
        done
    done
    fan fan.msh 29 # two rows of 30 blocks, more than a team multiplies at once
    valid team-dq "$mcpi" $cpu --mesh fan.msh --walls none --dq fp64 $team
    valid team-sums "$mcpi" $cpu --mesh fan.msh --walls none --accumulate fp64 --offdiagonal fp16 $team
    valid team-long "$mcpi" $cpu --mesh fan.msh --walls none $team
    grep -q ' 31 rows, 176 off-diagonal blocks' team-long.out || fail "fan.msh: $(grep '^problem' team-long.out)"
fi

# --- files ---
for file in "$inputs"/alya-rhs/cube*.msh; do
    valid file "$mcpi" $cpu --mesh "$file" --walls none --rung cpu-simd
done
for suffix in msh b8.ugrid lb8.ugrid; do
    valid mixed-$suffix "$mcpi" $cpu --mesh "$samples/mixed.$suffix" --rung cpu-simd
    [ -n "$(fingerprint mixed-msh)" ] && [ "$(fingerprint mixed-$suffix)" = "$(fingerprint mixed-msh)" ] ||
        fail "mixed.$suffix: dQ is '$(fingerprint mixed-$suffix)', of mixed.msh '$(fingerprint mixed-msh)'"
done
grep -q ' 54 rows, 618 off-diagonal blocks' mixed-msh.out || fail "mixed.msh: $(grep '^problem' mixed-msh.out)"
for walls in 2 1,2 none; do
    valid walls "$mcpi" $cpu --mesh "$samples/mixed.msh" --walls $walls --rung cpu-simd
    [ "$(fingerprint walls)" != "$(fingerprint mixed-msh)" ] || fail "--walls $walls changes nothing"
done
valid rows "$mcpi" $cpu $small --rung cpu-simd --choose rows=16
valid tuned "$mcpi" --device cpu $small --rung cpu-simd --seconds 0.005 --windows 1 --tune --tune-seconds 0.2 --tuning t.tuning
grep -q '"point": {"nb": 5.0, "bytes": [24].0, "rows": [0-9.]*}, "rung": "cpu-simd"' t.tuning || fail "--tune writes no point: $(cat t.tuning)"

# --- the ladder flow ---
valid flow "$mcpi" $cpu $small --ladder --only flow
# alone it begins with a smaller wing, unless a size was asked for
for rows in 15138 "17410 --layers 9" "2817 --surface 12 --layers 8"; do
    "$mcpi" $cpu --ladder --only flow $(echo "$rows" | cut -s -d ' ' -f 2-) --dry-run 2>&1 | grep -q ": ${rows%% *} rows" || fail "--only flow: not $rows"
done
"$mcpi" $cpu --ladder --only flow --size tiny --dry-run 2>&1 | grep -q ": 15138 rows" && fail "--only flow changes --size"
valid flow-laminar "$mcpi" $cpu $small --rung flow-simd --flow-reynolds 500 --offdiagonal fp16 --steps 3
for walls in 1 2; do
    valid flow-file "$mcpi" $cpu --mesh "$samples/mixed.msh" --walls $walls --symmetry $((3 - walls)) --rung flow-simd --steps 3
done
# one answer, whatever O is stored in; a step more or less. Short: the finest and the coarsest
types=$([ "${RT_CHECK_LONG:-0}" = 0 ] && echo fp64 bf16 || echo fp64 fp32 fp16 bf16)
for type in $types; do
    valid converged-$type "$mcpi" $cpu $body --rung flow-simd --offdiagonal $type --tolerance 1e-7 --json $type.json
    steps "$type"
done >converged.list
awk '{ if (NR == 1) { drag = $2; steps = $3 }
       if (!($2 > 0) || ($2 / drag - 1) ^ 2 > 1e-12 || $3 < steps - 5 || $3 > steps + 5) bad = 1 }
     END { exit bad || NR < 2 }' converged.list || fail "drag and steps by the type of O: $(cat converged.list)"
# the same bits on any number of threads
for threads in 1 2; do
    "$mcpi" $cpu $body --threads $threads --rung flow-simd --steps 4 --json threads.json >/dev/null 2>&1
    grep -o '"residual": [^,}]*' threads.json | tail -n +2 >threads-$threads.list # the first is a time
done
[ -s threads-1.list ] && cmp -s threads-1.list threads-2.list || fail "the residuals of a flow depend on the number of threads"
# a flow without friction has no drag: what there is falls with the mesh, and so does the lift at no angle
if [ "${RT_CHECK_LONG:-0}" != 0 ]; then
    for mesh in "12 --layers 16" "24 --layers 32"; do
        valid drag "$mcpi" $cpu --surface $mesh --rung flow-simd --angle 0 --flow-mach 0.3 --steps 300 --tolerance 1e-5 --json drag.json
        sed -n 's/.*"drag": \([^,]*\),*/\1/p; s/.*"lift": \([^,]*\),*/\1/p' drag.json
    done >drag.list
    awk '{ of[NR] = $1 * $1 } END { exit !(NR == 4 && of[1] > 0 && of[3] < of[1] / 4 && of[4] < of[2] / 4) }' drag.list ||
        fail "drag and lift of a flow without friction: $(cat drag.list)"
fi
# pictures
valid picture "$mcpi" $cpu $body --rung flow-simd --picture flow.vtu
grep -q 'NumberOfPoints="488" NumberOfCells="1693"' flow.vtu || fail "flow.vtu: $(head -c 200 flow.vtu)"
# A flow that diverges by its options: not converged, and one line says in which step and where.
"$mcpi" $cpu $small --rung flow-simd --courant 1e9 --flow-mach 3 --json lost.json >lost.out 2>&1
[ $? = 1 ] && grep -q 'diverged in step [0-9]* at vertex [0-9]*: try' lost.out && grep -q '"verdict": "NOT CONVERGED"' lost.json ||
    fail "a flow that diverges: $(tail -n 3 lost.out)"
"$mcpi" $cpu $body --rung flow-simd --steps 3 --tolerance 1e-9 >slow.out 2>&1
[ $? = 1 ] && grep -q 'as far as asked.*not converged' slow.out && ! grep -q FAILED slow.out || fail "a flow that is not converged: $(tail -n 3 slow.out)"
# Layers that grow too fast and a first step that breaks the state: steps are taken back.
valid rough "$mcpi" $cpu $small --rung flow-simd --steps 300 --tolerance 1e-5 --courant 100 --json rough.json
grep -q '"steps_taken_back": [1-9]' rough.json || fail "a flow that needs control: $(grep '^solve' rough.out)"
# Sweeps that leave too much go on, as far as they may.
valid few "$mcpi" $cpu --surface 8 --layers 8 --rung flow-simd --steps 300 --tolerance 1e-5 --sweeps 3
grep -q "of 3 to 6 sweeps" few.out || fail "--sweeps 3: $(grep '^solve' few.out)"
"$mcpi" $cpu $small --rung flow-simd --steps 30 >free.out 2>&1
[ $? = 1 ] && grep -q 'diverged in step' free.out || fail "steps without a tolerance are controlled: $(tail -n 3 free.out)"

# --- output ---
valid size "$mcpi" $cpu --size tiny --sweeps 2 --rung cpu-simd
valid tiny "$mcpi" --device cpu $small --seconds 0.01 --rung cpu-simd --json tiny.json
for key in rows off_diagonal_blocks colours colour_imbalance residuals dq_fingerprint ghost_rows; do
    grep -q "\"$key\"" tiny.json || fail "--json does not say $key"
done
# flops count against the ceiling of what most of them are done in, which --accumulate decides
grep -q '"arithmetic": "fp32"' tiny.json && grep -q '"precision": "O fp32, dQ fp32, sums fp32' tiny.json || fail "--json: $(grep -e arithmetic -e precision tiny.json)"
valid one "$mcpi" $cpu $small --threads 1 --rung cpu-simd
if "$mcpi" $cpu --surface 2 --layers 2 --threads 2 2>&1 | grep -q 'no OpenMP'; then
    echo "not on two threads: this build has no OpenMP"
else
    valid two "$mcpi" $cpu $small --threads 2 --rung cpu-simd
    [ -n "$(fingerprint one)" ] && [ "$(fingerprint one)" = "$(fingerprint two)" ] ||
        fail "dQ depends on the number of threads: '$(fingerprint one)' '$(fingerprint two)'"
fi
valid other "$mcpi" $cpu $small --seed 2 --rung cpu-simd
[ "$(fingerprint one)" != "$(fingerprint other)" ] || fail "--seed changes nothing"
valid constant "$mcpi" $cpu $small --solution constant --rung cpu-simd
awk -v a="$(residual constant)" -v b="$(residual one)" 'BEGIN { exit !(a > b && b > 0) }' ||
    fail "a constant solution is found as fast as a random one: $(residual constant), $(residual one)"
"$mcpi" --list --rung cpu-simd --device cpu >list.out || fail "--list ends with $?"
grep -A 1 '^cpu-simd ' list.out | grep -q 'claims the same bits' || fail "--list prints no claim"

# --- bad input: one line, status 2, no files left behind ---
refused 2 "use less of either" "$mcpi" $cpu --surface 30000
refused 2 "--block-size 16: out of range" "$mcpi" $cpu --block-size 16
refused 2 "the name must end in .vtu" "$mcpi" $cpu $small --picture flow.gif
refused 2 "a flow needs a body" "$mcpi" $cpu $small --walls none --rung flow-simd
refused 2 "a flow has 5 unknowns" "$mcpi" $cpu $small --block-size 4 --rung flow-simd
refused 2 "--symmetry 9: of the boundary faces none has the tag 9" "$mcpi" $cpu $small --symmetry 9
refused 2 "missing.msh" "$mcpi" $cpu --mesh missing.msh
refused 2 "--size is for meshes that are made" "$mcpi" $cpu --size tiny --mesh "$samples/mixed.msh"
echo "not a mesh" >bad.msh
refused 2 "bad.msh" "$mcpi" $cpu --mesh bad.msh
for walls in 7 1,7; do
    refused 2 "--walls $walls: of the boundary faces none has the tag 7" "$mcpi" $cpu \
        --mesh "$samples/mixed.msh" --walls $walls
done
refused 2 "--walls 3,7: of the boundary faces none has the tag 7" "$mcpi" $cpu $small --walls 3,7
refused 2 "--walls 1,x: not a list" "$mcpi" $cpu --mesh "$samples/mixed.msh" --walls 1,x
# Files of one mesh in several formats have one digest.
[ "$(digests "$mcpi $cpu --walls none --mesh" "$samples/mixed.msh" "$samples/mixed.lb8.ugrid")" = 1 ] ||
    fail "the digest of a mesh depends on its format"
bad_files
while read -r file text; do
    refused 2 "$text" "$mcpi" $cpu --mesh "$file" --json bad.json
done <bad.list
# What would be ignored.
refused 2 "--transport nosuch: there are" "$mcpi" $cpu $small --transport nosuch
refused 2 "--surface: no effect with --mesh FILE; leave it out" "$mcpi" $cpu --mesh "$samples/mixed.msh" --surface 9
mkfifo fifo
refused 2 "fifo: not a regular file" "$mcpi" $cpu --mesh fifo
cp "$samples/mixed.msh" own.msh
refused 2 "the same file as --mesh" "$mcpi" $cpu --mesh own.msh --json own.msh
refused 3 "--rung staged cannot run here" "$mcpi" $cpu --rung staged
refused 2 "there is no such rung" "$mcpi" $cpu --rung fastest

exit $failed
