# cli.sh - what alya-rhs says and how it ends: good runs of every kind of input, and bad input.
app=alya-rhs
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
cpu="--device cpu --seconds 0"

# --- every order, form and file; layers so thin that the products det is a difference of are 10^10 times as large; a random
# order that is put in order at set-up, unless that is not wanted ---
each on_cpu <<END
--ladder --only assembly --cells 8x7x5 --order {natural,hilbert,random-all} --reorder no
--ladder --only assembly --cells 4x4x3 --form {conv,skew,emac} --filter-width 1.5 --force-x 0.1
--ladder --only assembly --cells 5x4x60 --growth 1.5 --jitter 0.15 --force-x 0.1 --form cons
--ladder --only assembly --mesh box --cells 5x4x4 --jitter 0.1 --order random-all --reorder no --choose chunk=64
--ladder --only step --cells 6x5x4 --jitter 0.1 --form skew --force-x 0.1
--rung step-cpu-closed --mesh box --cells 5x4x4 --jitter 0.1 --order random-all --reorder no --steps 3 --dt 0.1
--rung step-cpu-RSP --mesh $samples/cube-4.1.msh --tolerance 1e-9
END
export OMP_NUM_THREADS=1 # two above
rows "$program" $cpu --rung cpu-closed <<END
0|reordering|--cells 30x30x8 --order random-all
END
"$program" $cpu --size tiny --rung cpu-closed --dry-run >dry.out && grep -q 'need: host [56][0-9.]* MiB' dry.out || fail "--size tiny: $(cat dry.out)"
[ "${RT_CHECK_LONG:-0}" = 0 ] || valid tiny "$program" --device cpu --size tiny --seconds 0.01 --rung cpu-closed

# --- pictures ---
on_cpu picture --mesh box --cells 4x2x3 --rung cpu-closed --dump one --picture one.vtu
! have_mpi >mpi.out || launch="$mpirun -n 3" on_cpu ranks --mesh box --cells 4x2x3 --rung cpu-closed --picture many.vtu
numpy=$(for python in ${PYTHON:-python3 /usr/bin/python3}; do "$python" -c 'import numpy' && echo "$python" && break; done 2>/dev/null)
"${numpy:-true}" "${abs_top_srcdir:-.}/tests/alya-rhs/picture.py" one one.vtu $([ -s mpi.out ] || echo many.vtu) >picture.out || fail "one.vtu: $(cat picture.out)"
on_cpu steps --cells 6x5x4 --rung step-cpu-closed --steps 4 --dt 0.25 --picture steps.vtu --json steps.json
grep -a -q '"TimeValue" NumberOfTuples="1" format="ascii">1<' steps.vtu && [ "$(number steps.json time)" = 1.0 ] ||
    fail "four steps of 0.25 s do not end at 1 s"
# A picture that cannot be written is said, and ends with 3.
(ulimit -f 8; "$program" $cpu --cells 4x4x3 --rung reference --picture quota.vtu 2>&1 | cat >quota.out; exit ${PIPESTATUS[0]})
[ $? = 3 ] && grep -q "^alya-rhs: cannot write 'quota.vtu': File too large" quota.out || fail "a quota: $(tail -n 3 quota.out)"
tail -n 1 quota.out | grep -q "VALID, but not every file was written" || fail "a quota: $(tail -n 1 quota.out)"

# --- bad input, and what would be ignored: one line, status 2, nothing left behind ---
echo "not a mesh" >bad.msh
head -c 300 "$samples/cube-4.1.msh" >short.msh
# two tetrahedra, of five nodes; in another format, with three triangles that have tags
printf '%s\n' '$MeshFormat' '4.1 0 8' '$EndMeshFormat' '$Nodes' '1 5 1 5' '3 1 0 5' 1 2 3 4 5 '0 0 0' '1 0 0' '0 1 0' '0 0 1' '0.5 0.5 -1' \
    '$EndNodes' '$Elements' '1 2 1 2' '3 1 4 2' '1 1 2 3 4' '2 2 1 3 5' '$EndElements' >whole.msh
sed 's/^0.5 0.5 -1$/0.5 0.5 0/' whole.msh >flat.msh
sed 's/^0.5 0.5 -1$/0.5 0.5 -1.0000000000000002/' whole.msh >moved.msh
printf '%s\n' "NDIME= 3" "NELEM= 2" "10 0 1 2 3" "10 1 0 2 4" "NPOIN= 5" "0 0 0" "1 0 0" "0 1 0" "0 0 1" "0.5 0.5 -1" "NMARK= 2" \
    "MARKER_TAG= wall" "MARKER_ELEMS= 2" "5 0 1 3" "5 1 2 3" "MARKER_TAG= far" "MARKER_ELEMS= 1" "5 0 2 3" >whole.su2
rows "$program" $cpu <<END
2|--picture flow.jpg|--picture flow.jpg
2|--cells 0: out of range|--cells 0
2|a rank can hold 2147483641|--cells 900x900x900
2|--growth 9: out of range|--growth 9
2|--jitter 0.2: out of range; give 0 to 0.15|--growth 1.25 --jitter 0.2
2|is flat: its volume is|--cells 6x5x60 --growth 2
2|--order backwards: |--order backwards
2|--form foo: |--form foo
2|--rho 0: out of range|--rho 0
2|--tolerance 1: out of range|--tolerance 1
2|--mu nan|--mu nan
2|missing.msh|--mesh missing.msh
2|bad.msh|--mesh bad.msh
2|short.msh|--mesh short.msh
2|flat|--mesh flat.msh
2|convert it: python3 inputs/to_ugrid.py|--mesh whole.su2
2|--size is for meshes that are made|--size tiny --mesh $samples/cube-4.1.msh
2|: no effect with --mesh FILE; leave it out|--mesh whole.msh --{cells 9x9x9,jitter 0.1,growth 1.3}
2|--growth: for --mesh hill alone|--mesh box --growth 1.3
3|--rung patch cannot run here|--rung patch
END

# --- files of one mesh have one digest; a coordinate's last bit makes another ---
[ "$(digests "$program $cpu --mesh" "$samples/cube-4.1.msh" "$samples/cube-4.1-binary.msh")" = 1 ] ||
    fail "the digest of a mesh depends on its format"
[ "$(digests "$program $cpu --mesh" whole.msh moved.msh)" = 2 ] || fail "the digest of a mesh says nothing of its coordinates"
# Another format is converted: the same mesh, with its tags (three triangles, after 5 nodes).
if /usr/bin/python3 -c 'import meshio' 2>convert.out; then
    /usr/bin/python3 "$inputs/to_ugrid.py" whole.su2 whole.lb8.ugrid >convert.out 2>&1 || fail "to_ugrid.py: $(tail -n 1 convert.out)"
    [ "$(digests "$program $cpu --mesh" whole.msh whole.lb8.ugrid)" = 1 ] || fail "to_ugrid.py makes another mesh of whole.su2"
    [ "$(od -An -td4 -j184 -N12 whole.lb8.ugrid | tr -s ' ')" = " 1 1 2" ] || fail "to_ugrid.py loses the tags of whole.su2"
    /usr/bin/python3 "$inputs/to_ugrid.py" "$inputs/fun3d-mcpi/mixed.msh" mixed.lb8.ugrid
    cmp mixed.lb8.ugrid "$inputs/fun3d-mcpi/mixed.lb8.ugrid" || fail "to_ugrid.py makes another mesh of mixed.msh"
else
    echo "to_ugrid.py is not tested: $(tail -n 1 convert.out)"
fi

exit $failed
