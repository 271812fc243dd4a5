# lost.sh - what the scripts share that take a GPU, or a rank, away from an app while it works.
lost=$top/tests/$app/lost

# none_left WHAT: checks that no process of it is left, or that the last one ends within 10 s.
none_left()
{
    for _ in $(seq 100); do
        left=$(find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$lost" 2>/dev/null)
        [ -n "$left" ] || return 0
        sleep 0.1
    done
    fail "$*: processes are left: $left"
    kill -9 $(echo "$left" | cut -d/ -f3)
}

# lost AFTER RANK COMMAND...: the GPU of RANK is lost after AFTER seconds. Checks that the command ends with 3 within 60 s,
# prints one line of its own (Kokkos may print more before) with CUDA's error, and leaves no file. Catches a call whose
# error is ignored, a wait without an end, and a result of half a run.
lost()
{
    after=$1 who=$2
    shift 2
    began=$SECONDS
    RT_LOSE_AFTER=$after RT_LOSE_RANK=$who timeout -k 5 60 "$@" >lost.out 2>lost.err
    got=$?
    [ $got = 3 ] || fail "$*, lost after $after s: ended with $got, not 3: $(tail -n 5 lost.out lost.err)"
    grep -q '^lost: after' lost.err || fail "$*: was not lost: $(cat lost.err)"
    grep -q "^$app: " lost.err && grep -q cudaError lost.err || fail "$*: no reason: $(cat lost.err)"
    case $1 in
    *mpirun*) ;; # a rank that loses a neighbour may report that too
    *)
        read_messages lost.err
        [ "$(printf '%s\n' "${lines[@]}" | grep -c "^$app: ")" = 1 ] || fail "$*: not one line: $(cat lost.err)" ;;
    esac
    left=$(find . -name '*result*' -o -name '.part-*')
    [ -z "$left" ] || fail "$*, lost after $after s: leaves $left"
    none_left "$*, lost after $after s"
    echo "lost after $after s: gone in $((SECONDS - began)) s: $(grep "^$app: .*cudaError" lost.err | head -n 1)"
    rm -f result.*
}
