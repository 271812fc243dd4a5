# lib.sh - what the scripts of fun3d-mcpi share, in addition to what all apps share.
app=fun3d-mcpi
inputs=$(cd "${abs_top_srcdir:-.}" && pwd)/inputs
samples=$inputs/fun3d-mcpi
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
mcpi=$program
small="--surface 6 --layers 5"
body="--surface 5 --layers 7" # layers that a flow of second order converges on

# fingerprint NAME: prints the fingerprint of dQ after a solve, from NAME.out.
fingerprint()
{
    sed -n 's/^residual .*dQ is \([0-9a-f]*\)$/\1/p' "$1.out"
}

# residual NAME: prints the residual after the last sweep, from NAME.out.
residual()
{
    sed -n 's/^residual .*, [0-9]*: \([^;]*\);.*/\1/p' "$1.out"
}

# steps TYPE: prints the type, the drag and the steps of a flow, from TYPE.json.
steps()
{
    sed -n "s/.*\"drag\": \([^,]*\),*/$1 \1/p" "$1.json" | tr '\n' ' '
    sed -n 's/.*"steps_done": \([0-9]*\).*/\1/p' "$1.json"
}

# ring FILE PROGRAM: writes the sample matrix, 8 block rows of 5, with each entry as this awk program leaves it:
# a and b are its block row and block column from 0; `next` leaves it out.
ring()
{
    awk "NR <= 3 { next } { a = int((\$1 - 1) / 5); b = int((\$2 - 1) / 5) } $2 { print }" \
        "$samples/ring.mtx" >ring.entries
    { head -n 2 "$samples/ring.mtx"; echo 40 40 "$(wc -l <ring.entries)"; cat ring.entries; } >"$1"
    rm ring.entries
}

# bad_files: writes files that cannot be used, and bad.list with a line for each: its name, and the expected message.
bad_files()
{
    ring singular.mtx 'a == 2 && b == 2 { $3 = 1 }'
    ring nearly.mtx 'a == 2 && b == 2 { $3 = $1 == $2 && $1 > 11 ? "1.0000000000001" : 1 }'
    ring zero.mtx '$1 == 16 && $2 == 16 { $3 = 0 }'
    ring alone.mtx 'a != b && (a == 3 || b == 3) { next }'
    ring oneway.mtx 'a == 0 && b == 4 { next }'
    ring diagonal.mtx 'a == 5 && b == 5 { next }'
    ring column.mtx '$1 == 7 && $2 == 9 { $2 = 41 }'
    ring twice.mtx '$1 == 7 && $2 == 9 { $2 = 8 }'
    ring value.mtx '$1 == 7 && $2 == 9 { $3 = "nan" }'
    sed 's/^40 40 700$/40 40 900/' "$samples/ring.mtx" >count.mtx
    for suffix in mtx msh lb8.ugrid; do
        : >empty.$suffix
    done
    sed '/^3 1 4 /{n;s/^\([0-9]*\) \([0-9]*\) \([0-9]*\)/\1 \3 \2/;}' "$samples/mixed.msh" >inverted.msh
    printf '%s\n' '$MeshFormat' "4.1 0 8" '$EndMeshFormat' '$Entities' "0 0 1 0" "1 0 0 0 1 1 0 1 1 0" '$EndEntities' \
        '$Nodes' "1 8 1 8" "3 1 0 8" 1 2 3 4 5 6 7 8 "0 0 0" "1 0 0" "1 1 0" "0 1 0" "0 0 0" "1 0 0" "1 1 0" "0 1 0" '$EndNodes' \
        '$Elements' "2 2 1 2" "2 1 3 1" "1 1 4 3 2" "3 1 5 1" "2 1 2 3 4 5 6 7 8" '$EndElements' >flat.msh
    head -c 2000 "$samples/mixed.lb8.ugrid" >short.lb8.ugrid
    cp "$samples/mixed.lb8.ugrid" other.b8.ugrid
    cat >bad.list <<-END
	singular.mtx block row 2 (rows 11 to 15): pivot 2 of its diagonal block
	nearly.mtx block row 2 (rows 11 to 15): pivot 2 of its diagonal block
	zero.mtx block row 3 (rows 16 to 20): pivot 1 of its diagonal block
	alone.mtx row 3 has no neighbour
	oneway.mtx row 4 has neighbour 0, which does not have it in return
	diagonal.mtx block row 5 (rows 26 to 30) has no diagonal block
	column.mtx column 41: must be 1 to 40
	twice.mtx row 7, column 8 is listed twice
	value.mtx row 7, column 9: the value is not finite
	count.mtx the file ends here
	empty.mtx the file is empty
	empty.msh the file is empty
	empty.lb8.ugrid the file is empty
	inverted.msh tetrahedron 0 is inverted
	flat.msh hexahedron 0 is flat
	short.lb8.ugrid the counts ask for
	other.b8.ugrid written in the other byte order
	END
}

# matrix_file FILE N [hub]: writes a Matrix Market file of N x N: a chain of cells of 5 unknowns, diagonally dominant.
# hub: the first cell is a neighbour of all others.
matrix_file()
{
    awk -v n="$2" -v hub="${3:-}" 'BEGIN {
        for (i = 0; i < n; i++)
            for (j = 0; j < n; j++) {
                a = int(i / 5) - int(j / 5)
                if (a >= -1 && a <= 1 || hub && (i < 5 || j < 5))
                    line[k++] = (i + 1) " " (j + 1) " " (i == j ? (hub ? n : 30) : sin(i + 2 * j))
            }
        print "%%MatrixMarket matrix coordinate real general"
        print n, n, k
        for (i = 0; i < k; i++)
            print line[i]
    }' >"$1"
}

# find_gpu_rungs: sets gpu_rungs (with kokkos) and gpu_flows to the rungs that run on a GPU here; skips if none can.
find_gpu_rungs()
{
    "$mcpi" --list --ladder >list.out
    reason=$(grep -A 3 '^naive ' list.out | sed -n 's/^ *absent: //p')
    [ -z "$reason" ] || skip "$reason"
    gpu_rungs="naive warp-shared warp-shuffle six-rows staged"
    grep -A 2 '^kokkos ' list.out | grep -q 'absent:' || gpu_rungs="$gpu_rungs kokkos"
    gpu_flows="flow-cuda $(grep -A 3 '^flow-kokkos ' list.out | grep -q 'absent:' || echo flow-kokkos)"
}

# ladder NAME OPTION...: runs all rungs that run on a GPU; none may be left out.
ladder()
{
    name=$1
    shift
    valid "$name" "$mcpi" "$@" --ladder --seconds 0 && ran "$name" $gpu_rungs
}
