"""Edits results by hand, in each way one may think of, and expects verify to name it; compares the suite's own schema
check with python3-jsonschema, where that is installed. Run by verify.sh in a folder with result.json, invalid.json
(of the stand-in) and run/."""
import copy
import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.join(sys.argv[1], 'tools'))
from rooftop_suite import results, source, verify  # noqa: E402: needs the path

failed = 0


def fail(text):
    global failed
    failed = 1
    print(f'failed: {text}')


def faults(path):
    files = []
    verify.judge_file(path, None, files)
    return [line for _, wrong, _ in files for line in wrong]


def write(path, value, seal):
    """As the programs do; sealed anew, or with the old seal: what a hand with and without the rule would do."""
    text = json.dumps({**value, 'seal': '0' * 64} if seal else value, indent=2) + '\n'
    if seal:
        nonce = value['nonce'].encode()
        text = hashlib.sha256(nonce + b'\n' + text.encode()).hexdigest().join(text.rsplit('0' * 64, 1))
    with open(path, 'w') as file:
        file.write(text)


def set_at(value, path, new):
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = new


RUNG = ('rungs', 0)
EDITS = (  # member, new value, what is said even if the file is sealed anew ('': only the seal can tell)
    (RUNG + ('fom_flop_per_s',), 9e9, 'fom_flop_per_s is 9e+09'),
    (RUNG + ('credited_flop_per_unit',), 2e7, 'fom_flop_per_s is'),
    (RUNG + ('seconds_per_unit',), 0.004, 'seconds_per_unit is 0.004'),
    (RUNG + ('window_seconds', 0), 0.001, 'its windows say'),
    (RUNG + ('window_seconds',), [0.005], 'windows is 5, there are 1'),
    (RUNG + ('spread',), 0.001, 'spread is 0.001'),
    (RUNG + ('spread_flag',), True, 'spread_flag is true'),
    (RUNG + ('checks', 0, 'value'), 1.5, "check 'sum = reference'"),
    (RUNG + ('checks', 0, 'bound'), 0.1, "check 'sum = reference'"),
    (RUNG + ('checks', 0, 'held'), False, "check 'sum = reference'"),
    (RUNG + ('checks',), [], 'nothing was verified'),
    (RUNG + ('valid',), False, 'valid is false'),
    (RUNG + ('bytes_per_s',), 2e11, '200 % of the ceilings in the file'),
    (('verdict',), 'INVALID', 'verdict is INVALID, its rungs say VALID'),
    (('nonce',), 'other', "nonce 'other' gives the seed"),
    (('seed',), 7, "gives the seed"),
    (('options', 'seed'), 7, 'options.seed is 7'),
    (('gpu',), 'H200', ''),
    (('host',), 'elsewhere', ''),
    (('cpu',), 'another', ''),
    (('options', 'size'), 'full', ''),
    (('ceilings_cpu_before', 'copy_bytes_per_s'), 1.0, ''),
)


def edited_results():
    good = results.parse('result.json')[1]
    if faults('result.json'):
        fail(f'result.json: {faults("result.json")}')
    for path, new, text in EDITS:
        value = copy.deepcopy(good)
        set_at(value, path, new)
        write('edited.json', value, seal=False)
        if not any('the seal does not hold' in line for line in faults('edited.json')):
            fail(f'{path}: the seal holds')
        write('edited.json', value, seal=True)
        said = faults('edited.json')
        if text and not any(text in line for line in said) or not text and said:
            fail(f"{path}, sealed anew: not '{text}' but {said}")
    files = []
    verify.judge_file('result.json', 'n2', files)
    if files[0][1] != ["nonce is 'n1', not 'n2'"]:
        fail(f'another nonce: {files[0][1]}')
    bad = results.parse('invalid.json')[1]
    if faults('invalid.json') != ['consistent and unchanged, and its verdict is INVALID']:
        fail(f'invalid.json: {faults("invalid.json")}')
    bad['verdict'] = 'VALID'
    write('edited.json', bad, seal=True)
    if not any('verdict is VALID, its rungs say INVALID' in line for line in faults('edited.json')):
        fail(f'an INVALID that says VALID: {faults("edited.json")}')


RUN_EDITS = (  # of run.json, sealed anew by the suite's own hand
    (('summary', 'nekbone', 'fom'), 9e9, 'summary.nekbone.fom is'),
    (('summary', 'nekbone', 'valid'), False, 'summary.nekbone.valid is false'),
    (('environment', 'host'), 'elsewhere', 'run.json says elsewhere'),
    (('nonce',), 'other', "nonce is 'n1', not 'other'"),
    (('steps', 0, 'sha256'), 'a' * 64, 'not the file that the run wrote'),
    (('steps', 2, 'state'), 'failed', 'ladder-nekbone: failed'),
    (('tier',), 'ported', ''),
    (('official',), True, 'official: windows of 0.1 s, not 10'),
    (('ranks',), 2, '1 ranks, run.json says 2'),
)


def edited_runs():
    data, good = results.parse('run/run.json')
    for path, new, text in RUN_EDITS:
        value = copy.deepcopy(good)
        set_at(value, path, new)
        results.save('run/run.json', value, value['nonce'])
        said = faults('run/run.json')
        if text and not any(text in line for line in said):
            fail(f"run.json {path}: not '{text}' but {said}")
    with open('run/run.json', 'wb') as file:
        file.write(data.replace(b'"official": false', b'"official": true'))
    if not any('the seal does not hold' in line for line in faults('run/run.json')):
        fail('run.json: official by hand')
    results.save_bytes('run/run.json', data)
    if faults('run/run.json'):
        fail(f'run.json: {faults("run/run.json")}')


def schemas():
    """What one finds wrong, the other does."""
    try:
        import jsonschema
    except ImportError:
        print('no python3-jsonschema: the schema was checked by the suite alone')
        jsonschema = None
    good = {'program': results.parse('result.json')[1], 'run': results.parse('run/run.json')[1]}
    validators = {}
    if jsonschema:
        jsonschema.Draft202012Validator.check_schema(results.schema())
        for kind in good:
            rule = {**results.schema(), '$ref': f'#/$defs/{kind}'}
            rule.pop('oneOf')
            validators[kind] = jsonschema.Draft202012Validator(rule)
    wrong = [('program', path, new) for path, new in (
        (('schema',), 2), (('program',), 'hpl'), (('date',), 'today'), (('ranks',), 0), (('ranks',), 1.5),
        (('ranks',), True), (('seal',), 'ab'), (('inputs_digest',), None), (RUNG + ('name',), ''),
        (RUNG + ('kind',), 'fpga'),
        (RUNG + ('window_seconds',), []), (RUNG + ('window_seconds', 0), 0), (RUNG + ('checks', 0, 'more'), 1),
        (RUNG + ('memory_bytes', 'host'), 3), (RUNG + ('spread',), -1), (RUNG + ('plausible',), 1),
        (('ceilings_cpu_before', 'copy_bytes_per_s'), 'fast'), (('verdict',), 'valid'), (('absent', 0, 'kind'), 'x'),
        (('options', 'x'), []))]
    wrong += [('run', path, new) for path, new in (
        (('size',), 'huge'), (('tier',), 'best'), (('official',), 'yes'), (('steps', 0, 'state'), 'over'),
        (('steps', 0, 'more'), 1), (('steps', 0, 'exit'), '0'), (('source', 'tree_sha256'), 'x'),
        (('launcher',), 'srun'),
        (('summary', 'nekbone', 'valid'), 1), (('programs', 'nekbone', 'sha256'), ''))]
    cases = [(kind, good[kind], False) for kind in good]
    for kind, path, new in wrong:
        value = copy.deepcopy(good[kind])
        set_at(value, path, new)
        cases.append((f'{kind} {path} {new!r}', value, True))
    for kind, members in (('program', ('seal', 'nonce', 'rungs', 'gpu')), ('run', ('steps', 'source', 'tier'))):
        for member in members:
            if member in results.schema()['$defs'][kind]['required']:
                value = {k: v for k, v in good[kind].items() if k != member}
                cases.append((f'{kind} without {member}', value, True))
    for name, value, bad in cases:
        kind = name.split()[0]
        own = bool(results.schema_errors(value, kind))
        theirs = bool(list(validators[kind].iter_errors(value))) if validators else bad
        if own != bad or theirs != bad:
            fail(f'schema: {name}: own {own}, jsonschema {theirs}, expected {bad}')


def releases():
    """The tier of a release: its build in the source folder changes nothing, an edit of the source does."""
    def put(path, text):
        os.makedirs(os.path.dirname(os.path.join('tree', path)), exist_ok=True)
        with open(os.path.join('tree', path), 'w') as file:
            file.write(text)

    for path in ('configure.ac', 'common/driver/main.c', 'common/halo/halo.c', 'apps/nekbone/cpu/jammed.c'):
        put(path, 'as released\n')
    put(source.MANIFEST, source.manifest('tree'))
    cases = (('common/rt_app.o', 'baseline'), ('common/librooftop.a', 'baseline'), ('common/rooftop.pc', 'baseline'),
             ('apps/nekbone/verify.o', 'baseline'), ('apps/nekbone/cuda/compiled_text.inc', 'baseline'),
             ('common/halo/halo.c', 'ported'), ('apps/nekbone/cpu/new.c', 'optimised'), ('common/driver/main.c', 'invalid'))
    for path, expected in cases:  # each beside those before it
        put(path, 'made or changed\n')
        tier = source.judge_tree('tree')[1]
        if tier != expected:
            fail(f'a release with {path} is of tier {tier}, not {expected}')


edited_results()
edited_runs()
releases()
schemas()
sys.exit(failed)
