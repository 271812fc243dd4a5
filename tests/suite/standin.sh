#!/bin/sh
# standin.sh - what the stand-ins answer without a run, in sh, which starts faster than Python; standin.py does the rest.
app=${0##*/}
case "$* " in
    '--version ')
        printf '%s (Rooftop) 0.1.0\ncompiler      none\nMPI           this build has no MPI\n' "$app"
        echo 'CUDA          not in this build'
        exit ;;
    '--help ')
        printf 'Usage\n  --json FILE   result\n  --[no-]ladder   all rungs\n'
        printf '  --window S\n  --warm-up S\n  --nonce TEXT\n  --dry-run\n'
        exit ;;
    '--list --ladder ')
        printf 'plain        cpu     one loop\nfast         cpu     a better one\nbig          cuda    on a GPU\n'
        echo '                     absent: this build has no CUDA'
        exit ;;
    *'--device'[=\ ]'x '*)
        echo "$app: --device x: must be auto, cpu, or ordinals"
        exit 2 ;;
    *'--dry-run '*)
        echo 'memory        fast will need: host 2.0 MiB of 8.0 GiB free'
        echo 'options       --elements=7x7x7 --degree=9 --cells=7x7x7 --surface=7 --layers=7'
        exit ;;
esac
[ -n "${RANKS:-}" ] || case "$* " in
    *'--json'* | *'--picture'*) ;;
    *) # a run that is only timed
        printf '  sum = reference  0.5  bound 1.0  held\n%s: VALID\n' "$app"
        exit ;;
esac
