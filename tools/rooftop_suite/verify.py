"""`rooftop verify`: does a result say what was measured?

Everything in a file that follows from something else in it is worked out again: verdicts from checks, median and
spread from windows, the figure of merit from the credited work, the seed from the nonce. The seal says whether
anything at all was changed since it was written. A folder's manifest holds the SHA-256 of each file. With --rerun the
program here makes the inputs once more and their digest is compared. What all of this can show, and what not, is in
docs/run-rules.md. Each fault is one line.
"""
import json
import os
import statistics

from . import ENVIRONMENT, INVALID, USAGE, VALID, Fault, aggregate, programs, results, source
from .run import OFFICIAL

ROUNDING = 1e-9  # of numbers that were written with 17 digits, and worked out again
MOST_SHARE, STEADY = 1.02, 0.03


def add_arguments(parser):
    parser.add_argument('files', nargs='+', metavar='FILE', help='a result, a run.json or a folder of rooftop run')
    parser.add_argument('--nonce', metavar='TEXT', help='that must be in it: the one that the buyer gave')
    parser.add_argument('--rerun', action='store_true', help='make the inputs here and compare their digest')
    programs.add_arguments(parser)


def near(a, b):
    return abs(a - b) <= ROUNDING * max(abs(a), abs(b))


# ---- A program's result ----

def judge_checks(where, rung, wrong):
    for check in rung['checks']:
        held = 'value' in check and check['value'] <= check['bound']
        if held != check['held']:
            wrong.append(f"{where}: check '{check['name']}': value {check.get('value', 'not finite')} and bound "
                         f"{check['bound']} say {'held' if held else 'failed'}, the file does not")
    if not rung['checks']:
        wrong.append(f'{where}: no checks: nothing was verified')
    if rung['valid'] != (all(check['held'] for check in rung['checks'])):
        wrong.append(f'{where}: valid is {json.dumps(rung["valid"])}, its checks say otherwise')


def judge_times(where, rung, wrong):
    if 'window_seconds' not in rung:
        if 'fom_flop_per_s' in rung:
            wrong.append(f'{where}: fom_flop_per_s without windows')
        return
    windows = rung['window_seconds']
    median = statistics.median(windows)
    spread = (max(windows) - min(windows)) / median
    for name, value in (('seconds_per_unit', median), ('spread', spread)):
        if name in rung and not near(rung[name], value):
            wrong.append(f'{where}: {name} is {rung[name]:.9g}, its windows say {value:.9g}')
    if rung.get('windows', len(windows)) != len(windows):
        wrong.append(f'{where}: windows is {rung["windows"]}, there are {len(windows)}')
    if 'spread_flag' in rung and rung['spread_flag'] != (spread > STEADY) and abs(spread - STEADY) > ROUNDING:
        wrong.append(f'{where}: spread_flag is {json.dumps(rung["spread_flag"])}, the spread is {100 * spread:.1f} %')
    if 'credited_flop_per_unit' in rung and 'fom_flop_per_s' in rung:
        fom = rung['credited_flop_per_unit'] / median
        if not near(rung['fom_flop_per_s'], fom):
            wrong.append(f'{where}: fom_flop_per_s is {rung["fom_flop_per_s"]:.6g}, credited work over the median '
                         f'says {fom:.6g}')


def ceilings_of(result, rung):
    """(bandwidth, arithmetic) ceilings that a rung is held against, for each processor it may have run on."""
    for processor in ('cpu',) if rung['kind'] == 'cpu' else ('gpu',) if rung['kind'] == 'cuda' else ('gpu', 'cpu'):
        rows = [result[name] for when in ('before', 'after') for name in [f'ceilings_{processor}_{when}']
                if name in result]
        rows += [rung['ceilings_again']] if 'ceilings_again' in rung else []
        if rows:
            best = lambda name: max(row[name] for row in rows)
            bandwidth = max(best(f'{kind}_bytes_per_s') for kind in ('copy', 'triad', 'read'))
            arithmetic = {'fp64': 'fma64', 'fp32': 'fma32'}.get(rung.get('arithmetic'))
            yield bandwidth, best(f'{arithmetic}_flop_per_s') if arithmetic else 0


def judge_plausible(where, result, rung, wrong):
    """A rung that was found plausible must be so by the ceilings of its own file."""
    if rung.get('plausible') is not True:
        if rung.get('plausible') is False and rung['valid']:
            wrong.append(f'{where}: valid, but not plausible')
        return
    shares = []
    for bandwidth, arithmetic in ceilings_of(result, rung):
        share = rung['bytes_per_s'] / result['ranks'] / bandwidth if bandwidth else 0
        shares.append(max(share, rung['flop_per_s'] / result['ranks'] / arithmetic if arithmetic else 0))
    if not shares:
        wrong.append(f'{where}: plausible, but the file has no ceilings')
    elif min(shares) > MOST_SHARE * (1 + ROUNDING):
        wrong.append(f'{where}: {100 * min(shares):.0f} % of the ceilings in the file, and plausible')


def judge_seed(result, wrong):
    if result['nonce'] and result['seed'] != results.seed_of(result['nonce']):
        wrong.append(f"nonce '{result['nonce']}' gives the seed {results.seed_of(result['nonce'])}, "
                     f"not {result['seed']}")
    if result['options']['seed'] != result['seed']:
        wrong.append(f"options.seed is {result['options']['seed']}, seed is {result['seed']}")


def judge_program(result):
    """Faults of a program's result, one line each."""
    wrong = []
    for i, rung in enumerate(result.get('rungs', ())):
        where = f'rungs[{i}] {rung["name"]}'
        judge_checks(where, rung, wrong)
        judge_times(where, rung, wrong)
        judge_plausible(where, result, rung, wrong)
    if result.get('rungs'):
        valid = all(rung['valid'] for rung in result['rungs'])
        if (result['verdict'] == 'VALID') != valid:
            wrong.append(f'verdict is {result["verdict"]}, its rungs say {"VALID" if valid else "INVALID"}')
    judge_seed(result, wrong)
    return wrong


def judge_official(result):
    """Faults of a measured run against the rules for published results."""
    wrong = []
    for i, rung in enumerate(result.get('rungs', ())):
        where = f'rungs[{i}] {rung["name"]}: official'
        if len(rung.get('window_seconds', ())) < OFFICIAL['windows']:
            wrong.append(f'{where}: fewer than {OFFICIAL["windows"]} windows')
        elif rung.get('timed_seconds', 0) < OFFICIAL['window'] * len(rung['window_seconds']) * (1 - ROUNDING):
            wrong.append(f'{where}: windows of {rung.get("timed_seconds", 0) / len(rung["window_seconds"]):.1f} s, not '
                         f'{OFFICIAL["window"]:g}')
        if rung.get('warm_up_seconds', 0) < OFFICIAL['warm_up'] * (1 - ROUNDING):
            wrong.append(f'{where}: warm-up of {rung.get("warm_up_seconds", 0):.1f} s, not {OFFICIAL["warm_up"]:g}')
    return wrong


def digest_here(result, bindir):
    """The digest of the inputs that the program here makes for a result's problem."""
    program = programs.find(result['program'], bindir)
    words = [program, '--digest']
    for name, value in result['options'].items():
        if name in ('seed', 'ranks'):
            continue  # the inputs do not depend on the ranks
        words.append(f'--{name}={value}')
    words += ['--nonce', result['nonce']] if result['nonce'] else ['--seed', str(result['seed'])]
    ended = programs.run(words, limit=1800)
    lines = ended.text.strip().splitlines()
    if ended.exit != 0 or not lines:
        raise Fault(ENVIRONMENT, f'{" ".join(words[:2])}: {programs.reason(ended)}')
    return lines[-1].strip()


def judge_scaling(value):
    """Faults of efficiencies."""
    wrong = []
    for kind in ('strong', 'weak'):
        points = [point for point in value.get(kind, ()) if point['valid']]
        for point in points:
            more = point['ranks'] / points[0]['ranks']
            gain = points[0]['seconds_per_unit'] / point['seconds_per_unit'] if kind == 'strong' else \
                point['fom_flop_per_s'] / points[0]['fom_flop_per_s']
            if not near(point['efficiency'], gain / more):
                wrong.append(f'{kind}, {point["ranks"]} ranks: efficiency is {point["efficiency"]:.6g}, its times say '
                             f'{gain / more:.6g}')
    return wrong


# ---- A run ----

def judge_summary(folder, loaded, wrong):
    manifest = folder.manifest
    for app, row in manifest['summary'].items():
        result = loaded.get(app)
        rung = result['rungs'][0] if result and result['rungs'] else {}
        if row['valid'] != bool(result and result['verdict'] == 'VALID'):
            wrong.append(f'summary.{app}.valid is {json.dumps(row["valid"])}, {app}.json says otherwise')
        for name, member in (('fom', 'fom_flop_per_s'), ('spread', 'spread'), ('rung', 'name')):
            if row[name] != rung.get(member):
                wrong.append(f'summary.{app}.{name} is {row[name]}, {app}.json says {rung.get(member)}')
    if manifest['aggregate']['value'] is not None:
        value = aggregate.of(manifest)['value']
        if value is None or not near(value, manifest['aggregate']['value']):
            wrong.append(f'aggregate is {manifest["aggregate"]["value"]:.6g}, the reference here gives {value}')


def judge_environment(manifest, name, result, wrong):
    """What the system said, against what the program said."""
    there = manifest['environment']
    if result['ranks'] != manifest['ranks']:
        wrong.append(f'{name}: {result["ranks"]} ranks, run.json says {manifest["ranks"]}')
    if manifest['ranks'] == 1 and not manifest['launcher'] and result['host'] != there.get('host'):
        wrong.append(f'{name}: host {result["host"]}, run.json says {there.get("host")}')
    names = [gpu['name'] for gpu in there.get('gpus', ())]
    if result['gpu'] and names and result['gpu'] not in names:
        wrong.append(f'{name}: gpu {result["gpu"]}, run.json says {names[0]}')


def judge_source(folder, wrong):
    what, tier = folder.manifest['source'], folder.manifest['tier']
    if tier != 'unknown' and tier != source.tier_of(what['changed']):
        wrong.append(f'tier is {tier}, the files that were changed say {source.tier_of(what["changed"])}')
    if what['diff_file']:
        try:
            same = results.sha256_of(folder.file(what['diff_file'])) == what.get('diff_sha256')
        except OSError:
            same = False
        if not same:
            wrong.append(f'{what["diff_file"]}: not the file that the run wrote')


def judge_folder(folder, files):
    """Faults of a run; adds its programs' results to files."""
    manifest, wrong, loaded = folder.manifest, [], {}
    if manifest['nonce'] and manifest['seed'] != results.seed_of(manifest['nonce']):
        wrong.append(f"nonce '{manifest['nonce']}' does not give the seed {manifest['seed']}")
    if manifest['state'] != 'complete':
        wrong.append('the run is not complete')
    for step in folder.steps:
        path = folder.file(step['json'])
        if step['state'] != 'done':
            wrong.append(f'{step["name"]}: {step["state"]}{": " if step["why"] else ""}{step["why"]}')
        elif not os.path.isfile(path):
            wrong.append(f'{step["json"]} is missing')
        else:
            if not folder.whole(step):
                wrong.append(f'{step["json"]}: not the file that the run wrote: its SHA-256 is another')
            result = judge_file(path, manifest['nonce'], files)
            if not result:
                continue
            loaded[step['name']] = result
            if result['program'] != step['app']:
                wrong.append(f'{step["json"]}: of {result["program"]}, not {step["app"]}')
            judge_environment(manifest, step['json'], result, wrong)
            if manifest['official'] and step['name'] == step['app']:
                wrong += [f'{step["json"]}: {line}' for line in judge_official(result)]
    judge_summary(folder, loaded, wrong)
    judge_source(folder, wrong)
    return wrong


def judge_file(path, nonce, files):
    """Puts (path, faults, result) of a file into files; returns the result, or None if it cannot be read."""
    try:
        data, value = results.parse(path)
    except Fault as fault:
        files.append((path, [str(fault).replace(f'{path}: ', '')], None))
        return None
    wrong = [f'not by docs/result-schema.json: {line}' for line in results.schema_errors(value)[:5]]
    if wrong:
        files.append((path, wrong, None))
        return None
    if nonce is not None and value['nonce'] != nonce:
        wrong.append(f"nonce is '{value['nonce']}', not '{nonce}'")
    if value.get('kind') == 'run':
        wrong += judge_folder(results.Folder(os.path.dirname(path) or '.', value), files)
    elif value.get('kind') == 'scale':
        wrong += judge_scaling(value)
    else:
        wrong += judge_program(value)
    if not results.seal_holds(data, value['nonce']):
        known = '' if wrong else '; it is in what is only recorded: environment, options, history or the like'
        wrong.insert(0, f'the seal does not hold: the file was changed after it was written{known}')
    elif value.get('verdict') == 'INVALID' and not wrong:
        wrong.append('as it was written, and its verdict is INVALID')
    files.append((path, wrong, value))
    return value


def rerun(files, bindir):
    """Digests of all results whose problem can be made here."""
    seen = {}
    for path, wrong, value in files:
        if not value or 'inputs_digest' not in value:
            continue
        problem = json.dumps([value['program'], value['options'], value['nonce']], sort_keys=True)
        if problem not in seen:
            seen[problem] = digest_here(value, bindir)
        if seen[problem] != value['inputs_digest']:
            wrong.append(f'inputs_digest is {value["inputs_digest"][:12]}.., the inputs made here have '
                         f'{seen[problem][:12]}..')


def main(args):
    files = []
    for path in args.files:
        if os.path.isdir(path):
            path = os.path.join(path, 'run.json')
        if not os.path.isfile(path):
            raise Fault(USAGE, f'{path}: no such file')
        judge_file(path, args.nonce, files)
    if args.rerun:
        rerun(files, args.bindir)
    bad = 0
    for path, wrong, _ in files:
        bad += bool(wrong)
        for line in wrong or ['consistent, and as it was written']:
            print(f'{path}: {line}')
    print(f'verify: {len(files)} files, {bad} with faults: {"NOT ACCEPTED" if bad else "ACCEPTED"}')
    return INVALID if bad else VALID
