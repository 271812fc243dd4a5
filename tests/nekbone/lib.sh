# lib.sh - what nekbone's scripts share, in addition to what all apps share.
app=nekbone
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1

# history FILE: prints the residual norms of the first rung of a --json file, one per line.
history()
{
    awk '/"residual_history": \[/ { on = 1; next } /\]/ { on = 0 } on { gsub(/[ ,]/, ""); print }' "$1"
}

# same_history A B POINTS N [EPS]: checks that two runs differ by rounding errors only, which grow with the
# iterations: (k + 1) eps ((4 n + 8) sqrt(kappa) + 2 (64 + 2 sqrt(points))), kappa = 1000, as in
# verify.c; eps is that of FP64 unless given. Catches anything that depends on how the mesh is divided.
same_history()
{
    history "$1" >a.txt
    history "$2" >b.txt
    paste a.txt b.txt | awk -v points="$3" -v n="$4" -v eps="${5:-1.11e-16}" '
        NF != 2 { print "histories of different length"; bad = 1; exit }
        {
            d = $1 - $2
            bound = NR * eps * ((4 * n + 8) * sqrt(1000) + 2 * (64 + 2 * sqrt(points)))
            e = (d < 0 ? -d : d) / ($1 * bound)
            if (!(e <= most)) most = e
        }
        END {
            if (bad || NR < 2 || !(most <= 1)) {
                printf "%d norms, difference %g of the bound\n", NR, most
                exit 1
            }
            printf "%d norms, difference %.2g of the bound\n", NR, most
        }' || fail "$1 and $2: residual histories differ"
}
