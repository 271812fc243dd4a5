# cli.sh - what fun3d-mcpi says and how it ends: good runs of every kind of input, and bad input.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
cpu="--device cpu --seconds 0"
tiny="--surface 4 --layers 4" # where many types are tried

# --- every block size and type; a type converges down to its own accuracy ---
on_cpu ladder $small --ladder
export OMP_NUM_THREADS=1 # two above, and where the number of threads plays a part
each on_cpu <<END
$tiny --block-size {4,6,7,8,15} --ladder
$tiny --offdiagonal {fp64,fp32,fp16,bf16} --dq {fp64,fp32} --accumulate {fp64,fp32} --rung cpu-simd
$tiny --block-size 15 --offdiagonal {fp64,fp32,fp16,bf16} --accumulate fp64 --rung cpu-simd
END
on_cpu double $tiny --offdiagonal fp64 --dq fp64 --accumulate fp64 --rung cpu-simd
for type in fp32 fp16 bf16; do
    on_cpu long-$type $tiny --offdiagonal $type --sweeps 60 --rung cpu-simd
done
awk -v double="$(residual double)" -v a="$(residual long-fp32)" -v b="$(residual long-fp16)" -v c="$(residual long-bf16)" \
    'BEGIN { exit !(double > 0 && double < 1e-3 && a < 1e-5 && a < b && b < c && c < 0.1) }' ||
    fail "residuals after 15 sweeps of fp64, 60 of fp32, fp16, bf16: $(residual double) $(residual long-fp32) $(residual long-fp16) $(residual long-bf16)"

# --- the text of the rung kokkos for GPUs ---
"$program" --list --rung kokkos --device cpu >list.out
if ! grep -A 2 '^kokkos ' list.out | grep -q 'absent:'; then
    fan fan.msh 29 # two rows of 30 blocks, more than a team multiplies at once
    rows "$program" $cpu --rung kokkos --choose threads=1 <<END
0||$tiny {--block-size {4,5,6,7,9} --offdiagonal {fp64,fp32,fp16,bf16},--choose "threads=1,lanes="{8,32}}
0| 31 rows, 176 off-diagonal blocks|--mesh fan.msh --walls none {,--dq fp64,--accumulate fp64 --offdiagonal fp16}
2|at least as many as a block has rows|$tiny --choose lanes=8 --block-size 9
END
fi

# --- files ---
on_cpu file --mesh "$inputs/alya-rhs/cube-4.1.msh" --walls none --rung cpu-simd
for suffix in msh b8.ugrid lb8.ugrid; do
    on_cpu mixed-$suffix --mesh "$samples/mixed.$suffix" --rung cpu-simd
    [ -n "$(fingerprint mixed-msh)" ] && [ "$(fingerprint mixed-$suffix)" = "$(fingerprint mixed-msh)" ] ||
        fail "mixed.$suffix: dQ is '$(fingerprint mixed-$suffix)', of mixed.msh '$(fingerprint mixed-msh)'"
done
grep -q ' 54 rows, 618 off-diagonal blocks' mixed-msh.out || fail "mixed.msh: $(grep '^problem' mixed-msh.out)"
for walls in 2 1,2 none; do
    on_cpu walls --mesh "$samples/mixed.msh" --walls $walls --rung cpu-simd
    [ "$(fingerprint walls)" != "$(fingerprint mixed-msh)" ] || fail "--walls $walls changes nothing"
done
on_cpu rows $small --rung cpu-simd --choose rows=16
valid tuned "$program" --device cpu $small --rung cpu-simd --seconds 0.005 --windows 1 --tune --tune-seconds 0.2 --tuning t.tuning
grep -q '"point": {"nb": 5.0, "bytes": [24].0, "rows": [0-9.]*}, "rung": "cpu-simd"' t.tuning || fail "--tune writes no point: $(cat t.tuning)"

# --- the ladder flow; alone it begins with a smaller wing, unless a size was asked for ---
for rows in 15138 "17410 --layers 9" "2817 --surface 12 --layers 8"; do
    "$program" $cpu --ladder --only flow $(echo "$rows" | cut -s -d ' ' -f 2-) --dry-run 2>&1 | grep -q ": ${rows%% *} rows" || fail "--only flow: not $rows"
done
"$program" $cpu --ladder --only flow --size tiny --dry-run 2>&1 | grep -q ": 15138 rows" && fail "--only flow changes --size"
# Layers that grow too fast and a first step that breaks the state: steps are taken back. Sweeps that leave too much go on, as
# far as they may.
rows "$program" $cpu --rung flow-simd <<END
0||$small --flow-reynolds 500 --offdiagonal fp16 --steps 3
0||--mesh $samples/mixed.msh --steps 3 {--walls 1 --symmetry 2,--walls 2 --symmetry 1}
0|, [1-9][0-9]* of them taken back|$small --steps 300 --tolerance 1e-5 --courant 100
0|of 3 to 6 sweeps|--surface 8 --layers 8 --steps 300 --tolerance 1e-5 --sweeps 3
END
# one answer, whatever O is stored in; a step more or less. Short: the finest and the coarsest
types=$([ "${RT_CHECK_LONG:-0}" = 0 ] && echo fp64 bf16 || echo fp64 fp32 fp16 bf16)
for type in $types; do
    on_cpu converged-$type $body --rung flow-simd --offdiagonal $type --tolerance 1e-7 --json flow.json --picture flow.vtu
    echo "$type $(sed -n 's/.*"\(drag\|steps_done\)": \([^,]*\),*/\2/p' flow.json | xargs)"
done >converged.list
awk '{ if (NR == 1) { drag = $2; steps = $3 }
       if (!($2 > 0) || ($2 / drag - 1) ^ 2 > 1e-12 || $3 < steps - 5 || $3 > steps + 5) bad = 1 }
     END { exit bad || NR < 2 }' converged.list || fail "drag and steps by the type of O: $(cat converged.list)"
# the same bits on any number of threads
for threads in 1 2; do
    "$program" $cpu $body --threads $threads --rung flow-simd --steps 4 --json threads.json >/dev/null 2>&1
    grep -o '"residual": [^,}]*' threads.json | tail -n +2 >threads-$threads.list # the first is a time
done
[ -s threads-1.list ] && cmp -s threads-1.list threads-2.list || fail "the residuals of a flow depend on the number of threads"
# a flow without friction has no drag: what there is falls with the mesh, and so does the lift at no angle
if [ "${RT_CHECK_LONG:-0}" != 0 ]; then
    for mesh in "12 --layers 16" "24 --layers 32"; do
        valid drag "$program" $cpu --surface $mesh --rung flow-simd --angle 0 --flow-mach 0.3 --steps 300 --tolerance 1e-5 --json drag.json
        sed -n 's/.*"drag": \([^,]*\),*/\1/p; s/.*"lift": \([^,]*\),*/\1/p' drag.json
    done >drag.list
    awk '{ of[NR] = $1 * $1 } END { exit !(NR == 4 && of[1] > 0 && of[3] < of[1] / 4 && of[4] < of[2] / 4) }' drag.list ||
        fail "drag and lift of a flow without friction: $(cat drag.list)"
fi
grep -q 'NumberOfPoints="488" NumberOfCells="1693"' flow.vtu || fail "flow.vtu: $(head -c 200 flow.vtu)"
# A flow that diverges by its options: not converged, and one line says in which step and where.
"$program" $cpu $small --rung flow-simd --courant 1e9 --flow-mach 3 --json lost.json >lost.out 2>&1
[ $? = 1 ] && grep -q 'diverged in step [0-9]* at vertex [0-9]*: try' lost.out && grep -q '"verdict": "NOT CONVERGED"' lost.json ||
    fail "a flow that diverges: $(tail -n 3 lost.out)"
"$program" $cpu $body --rung flow-simd --steps 3 --tolerance 1e-9 >slow.out 2>&1
[ $? = 1 ] && grep -q 'as far as asked.*not converged' slow.out && ! grep -q FAILED slow.out || fail "a flow that is not converged: $(tail -n 3 slow.out)"
"$program" $cpu $small --rung flow-simd --steps 30 >free.out 2>&1
[ $? = 1 ] && grep -q 'diverged in step' free.out || fail "steps without a tolerance are controlled: $(tail -n 3 free.out)"

# --- output ---
[ "${RT_CHECK_LONG:-0}" = 0 ] || on_cpu size --size tiny --sweeps 2 --rung cpu-simd
valid one "$program" --device cpu $small --seconds 0.01 --rung cpu-simd --json tiny.json
for key in rows off_diagonal_blocks colours colour_imbalance residuals dq_fingerprint ghost_rows; do
    grep -q "\"$key\"" tiny.json || fail "--json does not say $key"
done
colours=$(sed -n 's/.*"colours": \([0-9]*\).*/\1/p' tiny.json)
grep -q "\"launches\": $colours[.,]" tiny.json || fail "--json: a sweep is not a launch per colour: $(grep launches tiny.json)"
# flops count against the ceiling of what most of them are done in, which --accumulate decides
grep -q '"arithmetic": "fp32"' tiny.json && grep -q '"precision": "O fp32, dQ fp32, sums fp32' tiny.json || fail "--json: $(grep -e arithmetic -e precision tiny.json)"
if "$program" $cpu --surface 2 --layers 2 --threads 2 2>&1 | grep -q 'no OpenMP'; then
    echo "not on two threads: this build has no OpenMP"
else
    on_cpu two $small --threads 2 --rung cpu-simd
    [ -n "$(fingerprint one)" ] && [ "$(fingerprint one)" = "$(fingerprint two)" ] ||
        fail "dQ depends on the number of threads: '$(fingerprint one)' '$(fingerprint two)'"
fi
on_cpu other $small --seed 2 --rung cpu-simd
[ "$(fingerprint one)" != "$(fingerprint other)" ] || fail "--seed changes nothing"
on_cpu constant $small --solution constant --rung cpu-simd
awk -v a="$(residual constant)" -v b="$(residual one)" 'BEGIN { exit !(a > b && b > 0) }' ||
    fail "a constant solution is found as fast as a random one: $(residual constant), $(residual one)"

# --- bad input, and what would be ignored: one line, status 2, no files left behind ---
echo "not a mesh" >bad.msh
bad_files
mkfifo fifo
cp "$samples/mixed.msh" own.msh
rows "$program" $cpu <<END
2|use less of either|--surface 30000
2|--block-size 16: out of range|--block-size 16
2|the name must end in .vtu|$small --picture flow.gif
2|a flow needs a body|$small --walls none --rung flow-simd
2|a flow has 5 unknowns|$small --block-size 4 --rung flow-simd
2|--symmetry 9: of the boundary faces none has the tag 9|$small --symmetry 9
2|--walls 3,7: of the boundary faces none has the tag 7|$small --walls 3,7
2|7: of the boundary faces none has the tag 7|--mesh own.msh --walls {7,1\,7}
2|--walls 1,x: not a list|--mesh own.msh --walls 1,x
2|missing.msh|--mesh missing.msh
2|bad.msh|--mesh bad.msh
2|the file is empty|--mesh empty.msh --json bad.json
2|tetrahedron 0 is inverted|--mesh inverted.msh --json bad.json
2|fifo: not a regular file|--mesh fifo
2|--size is for meshes that are made|--size tiny --mesh own.msh
2|--surface: no effect with --mesh FILE; leave it out|--mesh own.msh --surface 9
2|the same file as --mesh|--mesh own.msh --json own.msh
3|--rung staged cannot run here|--rung staged
END
# Files of one mesh in several formats have one digest.
[ "$(digests "$program $cpu --walls none --mesh" "$samples/mixed.msh" "$samples/mixed.lb8.ugrid")" = 1 ] ||
    fail "the digest of a mesh depends on its format"

exit $failed
