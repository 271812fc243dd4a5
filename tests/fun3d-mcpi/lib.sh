# lib.sh - what the scripts of fun3d-mcpi share, beside what all apps do.
app=fun3d-mcpi
inputs=$(cd "${abs_top_srcdir:-.}" && pwd)/inputs/alya-rhs
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
mcpi=$program
small="--surface 6 --layers 5"

# fingerprint NAME: the bits of dQ after a solve, as the run whose output is NAME.out has them.
fingerprint()
{
    sed -n 's/^residual .*dQ is \([0-9a-f]*\)$/\1/p' "$1.out"
}

# residual NAME: after the last sweep.
residual()
{
    sed -n 's/^residual .*, [0-9]*: \([^;]*\);.*/\1/p' "$1.out"
}

# matrix_file FILE N: a Matrix Market file of N x N: a chain of cells of 5 unknowns, diagonally dominant.
matrix_file()
{
    awk -v n="$2" 'BEGIN {
        for (i = 0; i < n; i++)
            for (j = 0; j < n; j++) {
                a = int(i / 5) - int(j / 5)
                if (a >= -1 && a <= 1)
                    line[k++] = (i + 1) " " (j + 1) " " (i == j ? 30 : sin(i + 2 * j))
            }
        print "%%MatrixMarket matrix coordinate real general"
        print n, n, k
        for (i = 0; i < k; i++)
            print line[i]
    }' >"$1"
}
