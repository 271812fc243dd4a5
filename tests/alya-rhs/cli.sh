# cli.sh - what alya-rhs says and how it ends: good runs of every kind of input, and bad input.
app=alya-rhs
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
cpu="--device cpu --seconds 0"

# --- every order, form and file ---
for order in natural hilbert random-elements random-all; do
    valid order-$order "$program" $cpu --cells 8x7x5 --order $order --reorder no --ladder
done
for form in conv skew cons emac; do
    valid form-$form "$program" $cpu --cells 4x4x3 --form $form --filter-width 1.5 --force-x 0.1 --ladder
done
for file in "$samples"/*.msh; do
    valid file "$program" $cpu --mesh "$file" --rung cpu-closed
done
valid box "$program" $cpu --mesh box --cells 5x4x4 --jitter 0.1 --ladder
# layers so thin that the products det is a difference of are 10^10 times as large
valid thin "$program" $cpu --cells 5x4x60 --growth 1.5 --jitter 0.15 --force-x 0.1 --ladder
"$program" $cpu --size tiny --rung cpu-closed --dry-run >dry.out && grep -q 'need: host [56][0-9.]* MiB' dry.out || fail "--size tiny: $(cat dry.out)"
[ "${RT_CHECK_LONG:-0}" = 0 ] || valid tiny "$program" --device cpu --size tiny --seconds 0.01 --rung cpu-closed
valid ladder "$program" --device cpu --cells 8x7x5 --seconds 0.005 --ladder --json ladder.json
grep -q '"elements"' ladder.json || fail "--json does not say how many elements"
grep -q 'B / this' ladder.out || fail "--ladder prints no comparison with the paper"
# a random order is put in order at set-up, unless that is not wanted
valid chunk "$program" $cpu --cells 12x8x6 --ladder --choose chunk=64
valid random "$program" $cpu --cells 30x30x8 --order random-all --rung cpu-closed
grep -q '^set-up .*reordering' random.out || fail "no word on the time of set-up"

# --- pictures ---
valid picture "$program" $cpu --cells 12x8x6 --rung cpu-closed --picture flow.vtu
grep -q UnstructuredGrid flow.vtu || fail "flow.vtu is no VTK file"
refused 2 "--picture flow.jpg" "$program" $cpu --picture flow.jpg

# --- claims ---
"$program" --list --rung cpu-closed --device cpu >list.out || fail "--list ends with $?"
grep -A 1 '^cpu-closed ' list.out | grep -q 'claims the same bits' || fail "--list names no claim"

# --- bad input: one line, status 2, nothing left behind ---
refused 2 "--cells 0: out of range" "$program" $cpu --cells 0
refused 2 "a rank can hold 2147483641" "$program" $cpu --cells 900x900x900
refused 2 "--growth 9: out of range" "$program" $cpu --growth 9
refused 2 "--jitter 0.2: out of range; give 0 to 0.15" "$program" $cpu --growth 1.25 --jitter 0.2
refused 2 "is flat: its volume is" "$program" $cpu --cells 6x5x60 --growth 2
refused 2 "--order backwards: " "$program" $cpu --order backwards
refused 2 "--form foo: " "$program" $cpu --form foo
refused 2 "--rho 0: out of range" "$program" $cpu --rho 0
refused 2 "--mu nan" "$program" $cpu --mu nan
refused 2 "missing.msh" "$program" $cpu --mesh missing.msh
refused 2 "--size is for meshes that are made" "$program" $cpu --size tiny --mesh "$samples/cube-4.1.msh"
echo "not a mesh" >bad.msh
refused 2 "bad.msh" "$program" $cpu --mesh bad.msh
head -c 300 "$samples/cube-4.1.msh" >short.msh
refused 2 "short.msh" "$program" $cpu --mesh short.msh
cat >flat.msh <<'MSH'
$MeshFormat
4.1 0 8
$EndMeshFormat
$Nodes
1 5 1 5
3 1 0 5
1
2
3
4
5
0 0 0
1 0 0
0 1 0
0 0 1
0.5 0.5 0
$EndNodes
$Elements
1 2 1 2
3 1 4 2
1 1 2 3 4
2 1 2 3 5
$EndElements
MSH
refused 2 "flat" "$program" $cpu --mesh flat.msh
sed 's/^2 1 2 3 5/2 2 1 3 4/; s/^0.5 0.5 0$/9 9 9/' flat.msh >inverted.msh
refused 2 "inverted" "$program" $cpu --mesh inverted.msh
sed 's/^2 1 2 3 5/2 2 3 1 4/' flat.msh >twins.msh
refused 2 "element 1 has the same four nodes as element 0" "$program" $cpu --mesh twins.msh
# Files of one mesh have one digest; a coordinate's last bit makes another.
sed 's/^0.5 0.5 0$/0.5 0.5 -1/; s/^2 1 2 3 5/2 2 1 3 5/' flat.msh >whole.msh
sed 's/^0.5 0.5 -1$/0.5 0.5 -1.0000000000000002/' whole.msh >moved.msh
[ "$(digests "$program $cpu --mesh" "$samples/cube-4.1.msh" "$samples/cube-4.1-binary.msh")" = 1 ] ||
    fail "the digest of a mesh depends on its format"
[ "$(digests "$program $cpu --mesh" whole.msh whole.msh moved.msh)" = 2 ] ||
    fail "the digest of a mesh says nothing of its coordinates"
# Another format is converted: the same mesh, with its tags (three triangles, after 5 nodes).
printf '%s\n' "NDIME= 3" "NELEM= 2" "10 0 1 2 3" "10 1 0 2 4" "NPOIN= 5" "0 0 0" "1 0 0" "0 1 0" "0 0 1" "0.5 0.5 -1" "NMARK= 2" \
    "MARKER_TAG= wall" "MARKER_ELEMS= 2" "5 0 1 3" "5 1 2 3" "MARKER_TAG= far" "MARKER_ELEMS= 1" "5 0 2 3" >whole.su2
refused 2 "convert it: python3 inputs/to_ugrid.py" "$program" $cpu --mesh whole.su2
if /usr/bin/python3 -c 'import meshio' 2>convert.out; then
    /usr/bin/python3 "$inputs/to_ugrid.py" whole.su2 whole.lb8.ugrid >convert.out 2>&1 || fail "to_ugrid.py: $(tail -n 1 convert.out)"
    [ "$(digests "$program $cpu --mesh" whole.msh whole.lb8.ugrid)" = 1 ] || fail "to_ugrid.py makes another mesh of whole.su2"
    [ "$(od -An -td4 -j184 -N12 whole.lb8.ugrid | tr -s ' ')" = " 1 1 2" ] || fail "to_ugrid.py loses the tags of whole.su2"
    /usr/bin/python3 "$inputs/to_ugrid.py" "$inputs/fun3d-mcpi/mixed.msh" mixed.lb8.ugrid
    cmp mixed.lb8.ugrid "$inputs/fun3d-mcpi/mixed.lb8.ugrid" || fail "to_ugrid.py makes another mesh of mixed.msh"
else
    echo "to_ugrid.py is not tested: $(tail -n 1 convert.out)"
fi
# A picture that cannot be written is said, and ends with 3.
(ulimit -f 8; "$program" $cpu --cells 4x4x3 --seconds 0 --rung reference --picture quota.vtu 2>&1 | cat >quota.out; exit ${PIPESTATUS[0]})
[ $? = 3 ] && grep -q "^alya-rhs: cannot write 'quota.vtu': File too large" quota.out || fail "a quota: $(tail -n 3 quota.out)"
tail -n 1 quota.out | grep -q "VALID, but not every file was written" || fail "a quota: $(tail -n 1 quota.out)"
# What would be ignored.
refused 2 "--transport nosuch: there are" "$program" $cpu --transport nosuch
for option in "--cells 9x9x9" "--jitter 0.1" "--growth 1.3"; do
    refused 2 "${option% *}: no effect with --mesh FILE; leave it out" "$program" $cpu --mesh whole.msh $option
done
refused 2 "--growth: for --mesh hill alone" "$program" $cpu --mesh box --growth 1.3
refused 3 "--rung patch cannot run here" "$program" $cpu --rung patch
refused 2 "there is no such rung" "$program" $cpu --rung fastest

exit $failed
