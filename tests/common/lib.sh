# lib.sh - what the test scripts of the apps share. Source it with `app` set. It puts the script into an empty folder
# of its own, which is removed at the end.
set -u
export COLUMNS=10000 # nothing is wrapped that a test looks for
top=$(cd "${abs_top_builddir:-.}" && pwd)
program=$top/apps/$app/$app
inputs=$(cd "${abs_top_srcdir:-.}" && pwd)/inputs
samples=$inputs/$app
mpirun=${MPIRUN:-mpirun}
failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/${app}_XXXXXX") || exit 1
# Python compiles the suite once for all tests, also where it has been told to keep nothing; beside the source it may not write.
export PYTHONPYCACHEPREFIX=$top/tests/__pycache__
trap 'cd /; rm -rf "$work" "$work.err" "$work.mpi" "$top/tests/__pycache__$work"' EXIT
cd "$work" || exit 1
unset PYTHONDONTWRITEBYTECODE
case $0 in *gpu* | *halo_mpi*) ;; *) export CUDA_VISIBLE_DEVICES= ;; esac # the others leave a GPU to those that are about it
mkdir "$work.mpi" && export OMPI_MCA_orte_tmpdir_base=$work.mpi # mpirun removes a folder that another is about to use

fail()
{
    echo "failed: $*"
    failed=1
}

skip()
{
    echo "skipped: $*"
    exit 77
}

# valid NAME COMMAND...: the command must end with 0 and VALID as its last word, or UNSTEADY on a machine that others use too;
# its output stays in NAME.out.
valid()
{
    name=$1
    shift
    timeout 300 "$@" >"$name.out" 2>"$name.err"
    got=$?
    last=$(<"$name.out")
    last=${last##*$'\n'}
    if [ $got != 0 ] || { [ "$last" != "$app: VALID" ] && [ "$last" != "$app: UNSTEADY" ]; }; then
        fail "$*: ended with $got, last line '$last'"
        grep -e FAILED "$name.out"
        cat "$name.err"
        return 1
    fi
}

# Sets listed to the names of all files here.
list_files()
{
    shopt -s dotglob
    listed=(*)
    shopt -u dotglob
    listed=${listed[*]@Q}
}

# read_messages FILE: sets lines to those of the file, without what a program that takes long says on how far it is.
read_messages()
{
    local line progress="^$app: [0-9]+ s(, [a-z]+ [0-9]+ of [0-9]+)?: "
    lines=()
    while IFS= read -r line || [ -n "$line" ]; do
        [[ $line =~ $progress ]] || lines+=("$line")
    done <"$1"
}

# refused STATUS TEXT COMMAND...: the command must end with STATUS after one line on stderr that says TEXT, and leave no
# file. mpirun adds lines of its own, which do not start with "$app:".
refused()
{
    status=$1 text=$2
    shift 2
    list_files
    before=$listed said=0
    timeout 60 "$@" >/dev/null 2>"$work.err"
    got=$?
    read_messages "$work.err"
    for line in "${lines[@]}"; do
        case $line in "$app: "*) said=$((said + 1)) ;; esac
    done
    case $1 in *mpirun*) lines=(1) ;; esac
    if [ $got != "$status" ] || [ "$said" != 1 ] || [ ${#lines[@]} != 1 ]; then
        fail "$*: ended with $got, not $status, and said:"
        cat "$work.err"
    elif [[ $(<"$work.err") != *"$text"* ]]; then
        fail "$*: does not say '$text' but: $(<"$work.err")"
    fi
    list_files
    [ "$before" = "$listed" ] || fail "$*: leaves files behind: $listed"
}

# each COMMAND...: runs the command (a function that calls valid and the like) with a name and the words of each line of stdin,
# $at_once of them at the same time. a {1,2} b is two lines, a 1 b and a 2 b.
each()
{
    local table line line_rows row job jobs=() count=0
    mapfile -t table
    for line in "${table[@]}"; do
        eval "line_rows=(${line// /\\ })"
        for row in "${line_rows[@]}"; do
            [ ${#jobs[@]} -lt ${at_once:-1} ] || { wait ${jobs[0]} || failed=1; jobs=("${jobs[@]:1}"); }
            count=$((count + 1))
            (
                failed=0
                "$@" row-$count $row
                exit $failed
            ) &
            jobs+=($!)
        done
    done
    for job in "${jobs[@]}"; do
        wait $job || failed=1
    done
}

# rows COMMAND...: runs the command with the words of each line of stdin, STATUS|TEXT|WORDS, in which braces are as for each. It
# must be refused so; or, if the status is 0, be VALID and print what matches the text.
rows()
{
    local table line line_rows row status text words
    mapfile -t table
    for line in "${table[@]}"; do
        IFS='|' read -r status text words <<<"$line"
        eval "line_rows=(${words// /\\ })"
        for row in "${line_rows[@]}"; do
            if [ $status = 0 ]; then
                valid run "$@" $row && { grep -q -e "$text" run.out || fail "$* $row: does not print '$text'"; }
            else
                refused $status "$text" "$@" $row
            fi
        done
    done
}

have_mpi()
{
    command -v "${mpirun%% *}" >/dev/null || { echo "no $mpirun"; return 1; }
    case $("$top/tests/common/test_comm" library) in
        *"this build has no MPI"*) echo "this build has no MPI"; return 1 ;;
    esac
}

have_nccl()
{
    grep -q 'RT_HAVE_NCCL 1' "$top/config.h"
}

# find_transports: sets transports to those that carry messages between two GPUs here; to nothing if there is one GPU.
find_transports()
{
    gpus=$("$program" --device 77 2>&1 | sed -n 's/.* has \([0-9]*\) GPU.*/\1/p')
    transports=
    if [ "${gpus:-1}" -lt 2 ]; then
        echo "not on two GPUs: there is one"
        return
    fi
    transports="staged peer"
    ! have_nccl || transports="$transports nccl"
}

# number FILE KEY: prints the first number of that key in a report of --json.
number()
{
    sed -n "s/^ *\"$2\": \([-+.0-9e]*\),*$/\1/p" "$1" | head -n 1
}

# digest COMMAND...: prints the digest of its inputs; fails if it has none.
digest()
{
    "$@" --seconds 0 --quiet --json digest.json >digest.out || return
    sed -n 's/.*"inputs_digest": "\([0-9a-f]*\)".*/\1/p' digest.json
}

# digests COMMAND FILE...: prints how many different digests the inputs from these files have; nothing if one has none.
digests()
{
    command=$1
    shift
    for file in "$@"; do
        digest $command "$file" || return
    done >digests.out
    sort -u digests.out | wc -l
}

# same_inputs PROGRAM ARGUMENTS...: by their digest, two ranks must make the same inputs as one, and another seed others.
same_inputs()
{
    one=$(digest "$@") two=$(digest $mpirun -n 2 "$@" --threads 1)
    [ ${#one} = 64 ] && [ "$one" = "$two" ] || fail "$*: the digest of its inputs is '$one', on two ranks '$two'"
    [ "$one" != "$(digest "$@" --seed 7)" ] || fail "$*: the digest of its inputs is the same for another seed"
}

# on_cpu NAME OPTION...: a run on the CPU that times nothing, with $launch before the program.
on_cpu()
{
    valid "$1" ${launch:-} "$program" --device cpu --seconds 0 "${@:2}"
}

# ran NAME RUNG...: the ladder of NAME must have verified all these rungs.
ran()
{
    name=$1
    shift
    for rung in "$@"; do
        grep -q "^$rung (" "$name.out" || fail "$name: $rung did not run"
    done
}

is_long() { [ "${RT_GPU_RECORD:-${RT_CHECK_LONG:-0}}" != 0 ]; } # make gpu-record or make check-long runs this

# find_gpu_rungs [long]: sets gpu_rungs to those that run on a GPU; skips if CUDA can run none, and a long test in make check.
find_gpu_rungs()
{
    "$program" --list --ladder >list.out
    reason=$(awk '/^[^ ]/ { cuda = $2 == "cuda" } cuda && sub(/^ *absent: /, "") { print; exit }' list.out)
    [ -z "$reason" ] || skip "$reason"
    [ -z "${1:-}" ] || is_long || skip "it is long: make gpu-record runs it"
    gpu_rungs=$(gpu_rungs_of)
    case $gpu_rungs in *kokkos*) ;; *) echo "not by Kokkos: $(grep -m 1 -A 5 ' kokkos ' list.out | tail -n 1)" ;; esac
}

# gpu_rungs_of [LADDER]: prints those of CUDA, and those of Kokkos if it uses a GPU.
gpu_rungs_of()
{
    awk -v only="${1:-}" '/^[a-z]*:$/ { ladder = $1 } only != "" && ladder != only ":" { next }
        /^[^ ]/ { name = $1; if ($2 == "cuda") print name } /^ *back-end here: .*Cuda/ { print name }' list.out | xargs
}

# any_of WORD...: prints what stands for each of them in a line of a table.
any_of()
{
    local IFS=,
    [ $# = 1 ] && echo "$1" || echo "{$*}"
}

# ladder NAME OPTION...: runs the rungs that run on a GPU, with $launch before the program; none of gpu_rungs may be left out.
ladder()
{
    valid "$1" ${launch:-} "$program" --ladder --only gpu --seconds 0 "${@:2}" && ran "$1" $gpu_rungs
}

# single NAME RUNG OPTION...: one rung, on a GPU.
single()
{
    valid "$1" ${launch:-} "$program" --seconds 0 --rung "${@:2}"
}

# True if the sanitizers are wanted: RT_SANITIZE=1, or =only for nothing else.
sanitizing()
{
    [ "${RT_SANITIZE:-0}" != 0 ] || return 1
    command -v compute-sanitizer >/dev/null || { fail "RT_SANITIZE is set, and no compute-sanitizer on PATH"; exit 1; }
}

# sanitized NAME OPTION...: run with these options, no tool of compute-sanitizer, all four at once, may find anything; $launch comes before the tool
# (mpirun, for two GPUs). Catches what can go unnoticed: reads out of bounds, a barrier that is missing or that some threads
# skip, memory that was never set.
sanitized()
{
    under=$1
    shift
    judged=("$program" --seconds 0 "$@")
    at_once=4 each tool <<<"{memcheck,racecheck,initcheck,synccheck}"
    echo "sanitized: $under, $SECONDS s"
}

tool()
{
    more= # barriers that are followed: of all blocks, and rings have many
    [ $2 != synccheck ] || more=--num-cuda-barriers=65536
    valid $2-$under ${launch:-} compute-sanitizer --tool $2 $more --error-exitcode 9 --log-file $2-$under.%p.log "${judged[@]}"
    for log in $2-$under.*.log; do
        grep -qE 'SUMMARY: 0 (errors|hazards)' $log || fail "$2: $(tail -n 20 $log)"
    done
}

# cut_off OPTION...: two ranks that send each other nothing get a wrong field, and every rung that runs is found out: the judge
# has an exchange of its own.
cut_off()
{
    timeout 100 $mpirun -n 2 "$program" --device cpu --threads 1 --seconds 0 --transport none --ladder --json cut.json "$@" >cut.out 2>&1
    got=$?
    verdicts=$(grep -o '"verdict": *"[A-Z]*"' cut.json | grep -o '[A-Z]*' | sort -u)
    [ $got = 1 ] && [ "$verdicts" = INVALID ] || fail "$*: without messages ended with $got, verdicts: $verdicts"
}

# copy_source FOLDER: copies the source, without what a build in place has made, for a build of another kind.
copy_source()
{
    [ -x "${abs_top_srcdir:-.}/configure" ] || skip "no configure"
    mkdir -p "$1"
    (cd "${abs_top_srcdir:-.}" && tar -cf - --exclude='*.o' --exclude='*.a' --exclude=.git --exclude=__pycache__ --exclude=config.status \
        configure Makefile.in aclocal.m4 config.h.in configure.ac Makefile.am build-aux m4 common apps tools inputs man docs \
        tests packaging *.md CITATION.cff COPYING) | (cd "$1" && tar -xf -)
    echo 1.2.3 >"$1/.tarball-version"
}

# find_python: sets python to an interpreter, not a wrapper of one: PYTHON, or the first that has the packages for pages; draws
# to yes if it has them.
find_python()
{
    local ask='import importlib.util, sys; print(sys.executable if sys.version_info >= (3, 9) else "")
sys.exit(None in map(importlib.util.find_spec, ("jinja2", "matplotlib")))' # importing them takes a second
    for python in ${PYTHON:-python3 /usr/bin/python3 python3}; do
        draws=yes
        python=$("$python" -c "$ask" 2>/dev/null) && [ -n "$python" ] && return
    done
    draws=
    [ -n "$python" ] || skip "no Python 3.9 or later"
}
