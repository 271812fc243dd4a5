# lib.sh - what the scripts of fun3d-mcpi share, in addition to what all apps share.
app=fun3d-mcpi
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
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

# bad_files: writes empty.msh and inverted.msh, which cannot be used; test_mesh has many more.
bad_files()
{
    : >empty.msh
    sed '/^3 1 4 /{n;s/^\([0-9]*\) \([0-9]*\) \([0-9]*\)/\1 \3 \2/;}' "$samples/mixed.msh" >inverted.msh
}

# fan FILE N: writes a mesh of N tetrahedra around an edge: its two vertices are neighbours of all N others.
fan()
{
    awk -v n="$2" 'BEGIN {
        print "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 " n + 2 " 1 " n + 2 "\n3 1 0 " n + 2
        for (v = 1; v <= n + 2; v++)
            print v
        print "0 0 0\n0 0 1"
        for (v = 0; v < n; v++)
            print cos(6.283185307 * v / n), sin(6.283185307 * v / n), 0.1 * sin(3 * v)
        print "$EndNodes\n$Elements\n1 " n " 1 " n "\n3 1 4 " n
        for (v = 0; v < n; v++)
            print v + 1, v + 3, (v + 1) % n + 3, 1, 2
        print "$EndElements"
    }' >"$1"
}
