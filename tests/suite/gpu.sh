# gpu.sh - rooftop run on the GPU of this machine, whether CUDA or Kokkos alone reaches it: by itself it takes a rung of the
# GPU, whose ceilings it measures, and whose energy where nvidia-smi knows it. Where Kokkos alone reaches it, all rungs of
# the GPU too: the gpu.sh of the apps are about CUDA's.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1
said=$("$top/apps/nekbone/nekbone" --device 0 --elements 2x2x2 --degree 2 --seconds 0 2>&1) ||
    skip "$(tail -n 1 <<<"$said")"
kind=cuda
grep -q 'RT_HAVE_CUDA 1' "$top/config.h" || kind=kokkos

$rooftop run --force --bindir "$top" --device 0 --size tiny --seconds 0.5 --no-ladders --into run >out 2>err
got=$?
case $got in 0 | 3) ;; *) fail "rooftop run: ended with $got: $(cat out err)" ;; esac # 3: all disturbed
"$python" - $kind "$(nvidia-smi -L 2>/dev/null)" <<'END' || failed=1
import json, sys
kind, there = sys.argv[1:]
faults = []
for app in ('nekbone', 'alya-rhs', 'fun3d-mcpi', 'gfnn-wave'):
    with open(f'run/{app}.json') as file:
        result = json.load(file)
    rung = result['rungs'][0]
    for what, held in (('no name of the GPU', result['gpu']), ('the rung is of another kind', rung['kind'] == kind),
                       ('not on the GPU', rung['processor'] == 'gpu'), ('not right', rung['verdict'] in ('VALID', 'UNSTEADY')),
                       ('no memory of the GPU', rung['memory_bytes']['device']['high_water'] > 0),
                       ('no ceilings', result.get('ceilings_gpu', {}).get('copy_bytes_per_s', 0) > 1e10),
                       ('no energy', not there or rung.get('energy_joules', 0) > 0)):
        if not held:
            faults.append(f'{app}: {what}: {rung["name"]}')
print(*faults, sep='\n')
sys.exit(bool(faults))
END
$rooftop verify run >out 2>err
! grep 'no ceilings\|% of the ceilings\|gpu .*, run.json says' out || fail "rooftop verify does not believe it"

ladders gpu --device 0
grep -q "$kind" table.csv || fail "no rung ran on the GPU: $(cat table.csv)"
for app in $([ $kind = cuda ] || echo nekbone alya-rhs fun3d-mcpi gfnn-wave); do
    valid $app "$top/apps/$app/$app" --device 0 --ladder --only gpu --size tiny --seconds 0
    grep -q '^[a-z-]*kokkos[a-z-]* (kokkos): ' $app.out || fail "$app: no rung ran: $(tail -n 3 $app.out)"
done
exit $failed
