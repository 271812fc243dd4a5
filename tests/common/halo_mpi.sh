# halo_mpi.sh - the ranks and the halo on 2 ranks and 4 (on a GPU only if long: they may share one), long on 3 too, and how
# they end when one of them cannot go on.
app=halo
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
why=$(have_mpi) || skip "$why"
tests=$top/tests/common

# A second net under the tests' own alarms: a hang must end too.
run()
{
    ranks=$1
    shift
    timeout 300 $mpirun -n "$ranks" "$@"
}

case $(run 2 "$tests"/test_comm library) in
    "2 ranks: "*) ;;
    *) fail "$mpirun -n 2 does not start two ranks of one program" ;;
esac

# ends STATUS TEXT COMMAND...: two ranks end with the status, and the text is said exactly once.
ends()
{
    status=$1 text=$2
    shift 2
    output=$(run 2 "$@" 2>&1)
    got=$?
    [ $got = "$status" ] || fail "$*: ended with $got, not $status: $output"
    said=$(printf '%s\n' "$output" | grep -c -- "$text")
    [ "$said" = 1 ] || fail "$*: '$text' was said $said times: $output"
}

# A refusal that the other ranks do not share: they must not wait for ever. They wait 5 s, beside the other tests.
mkdir "$work.mpi/alone"
(
    failed=0
    export OMPI_MCA_orte_tmpdir_base=$work.mpi/alone # as in lib.sh
    ends 2 "^test_comm: rank 1: on purpose, alone" "$tests"/test_comm refuse-alone
    exit $failed
) &
alone=$!

for ranks in $(is_long && echo 2 3 4 || echo 2 4); do
    for t in test_comm test_halo; do
        echo "$t on $ranks ranks"
        run $ranks env $([ $ranks != 4 ] || is_long || echo CUDA_VISIBLE_DEVICES=) "$tests"/$t || fail "$t on $ranks ranks"
    done
done

# Ranks begin a timed solve together: it must not include the 100 ms that one of them needs to get ready.
late=$(run 2 "$tests"/test_app late | awk '$1 == "plain" && $2 == "cpu" { print $3 }')
[ "$(echo "$late" | awk '$1 > 0 && $1 < 90000')" ] || fail "a solve of ranks that are ready at different times: '$late' us"

ends 4 "test_comm: rank 1: .*on purpose" "$tests"/test_comm die
ends 3 "^test_comm: on purpose, 2 ranks" "$tests"/test_comm refuse
ends 2 "^test_halo: halo: global id 5 has 0 owners" "$tests"/test_halo no-owner
ends 2 "some ranks name owners and some do not" "$tests"/test_halo some-owners
ends 3 "transport nccl: \(not in this build\|it moves device memory\)" "$tests"/test_halo transport nccl
wait $alone || failed=1
exit $failed
