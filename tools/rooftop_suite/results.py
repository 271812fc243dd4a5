"""Results: files that are whole or not there, in a folder with a manifest.

    load(path, nonce=...)         a program's or a run's JSON: parsed, of the schema, its seal whole; else Fault
    save(path, value, nonce=...)  written whole or not at all, sealed
    Folder.create / Folder.open   a result folder: its manifest, steps and results

The seal is SHA-256 over the nonce, a newline and the file with the seal's 64 digits as zeros. It shows that a file was
changed by hand, not that nobody made a false one: docs/run-rules.md says what it is worth.
"""
import hashlib
import json
import math
import os
import re

from . import ENVIRONMENT, INVALID, Fault, shipped

SCHEMA = 1
ZEROS = '0' * 64
SEAL = re.compile(rb'"seal": "([0-9a-f]{64})"\s*}\s*$')  # the very last member


# ---- Files ----

def remove(path):
    try:
        os.remove(path)
    except FileNotFoundError:
        pass


def settle(part, path):
    """Makes a finished file the one of that name, for good."""
    with open(part, 'rb') as file:
        os.fsync(file.fileno())
    os.replace(part, path)
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(folder)  # the name is on disk too
    finally:
        os.close(folder)


def save_bytes(path, data):
    """Written whole or not at all. A full disk is a Fault, and the file that was there is as it was."""
    folder, name = os.path.split(os.path.abspath(path))
    part = os.path.join(folder, f'.part-{name}')
    try:
        with open(part, 'wb') as file:
            file.write(data)
        settle(part, path)
    except OSError as error:
        try:
            remove(part)
        except OSError:
            pass
        raise Fault(ENVIRONMENT, f'{path}: {error.strerror}') from None


def save(path, value, nonce=''):
    """A JSON file with its seal, as the last member."""
    unsealed = {name: member for name, member in value.items() if name != 'seal'}
    text = json.dumps({**unsealed, 'seal': ZEROS}, indent=1, allow_nan=False, ensure_ascii=False) + '\n'
    data = text.encode()
    seal = seal_of(data, nonce)
    save_bytes(path, seal.encode().join(data.rsplit(ZEROS.encode(), 1)))


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, 'rb') as file:
        for block in iter(lambda: file.read(1 << 20), b''):
            digest.update(block)
    return digest.hexdigest()


# ---- Seal and seed ----

def seal_of(data, nonce=''):
    """The seal of a file's bytes, in which 64 digits stand for it already."""
    found = SEAL.search(data)
    if found:
        data = data[:found.start(1)] + ZEROS.encode() + data[found.end(1):]
    return hashlib.sha256(nonce.encode() + b'\n' + data).hexdigest()


def seal_holds(data, nonce=''):
    """True or False; None: there is no seal."""
    found = SEAL.search(data)
    return found[1].decode() == seal_of(data, nonce) if found else None


def seed_of(nonce):
    """The seed that the programs derive from a nonce."""
    return int.from_bytes(hashlib.sha256(b'rooftop:' + nonce.encode()).digest()[:8], 'big') & ((1 << 62) - 1)


# ---- Reading ----

def no_constant(name):
    raise ValueError(f'{name} is no JSON')


def no_twins(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError('a member stands there twice')
    return value


def parse(path):
    """(bytes, value) of a JSON file; Fault if it cannot be read or is not one JSON object."""
    try:
        with open(path, 'rb') as file:
            data = file.read()
    except OSError as error:
        raise Fault(ENVIRONMENT, f'{path}: {error.strerror}') from None
    try:
        value = json.loads(data.decode('utf-8'), parse_constant=no_constant, object_pairs_hook=no_twins)
    except (ValueError, RecursionError) as error:
        raise Fault(INVALID, f'{path}: not a whole JSON file: {error}') from None
    if not isinstance(value, dict):
        raise Fault(INVALID, f'{path}: not a result: no object')
    return data, value


def load(path, nonce=None):
    """A result's value. nonce: what must be in it (None: whatever is)."""
    data, value = parse(path)
    wrong = schema_errors(value)
    if wrong:
        raise Fault(INVALID, f'{path}: not a result by docs/result-schema.json: {wrong[0]}')
    own = value.get('nonce', '')
    if nonce is not None and own != nonce:
        raise Fault(INVALID, f"{path}: its nonce is '{own}', not '{nonce}'")
    if not seal_holds(data, own):
        raise Fault(INVALID, f'{path}: its seal does not hold: the file is not as it was written')
    return value


# ---- Schema ----
# A validator for the part of JSON Schema 2020-12 that docs/result-schema.json uses, so that nothing has to be
# installed. What it does not know is an error, never passed over.

KNOWN = {'$schema', '$id', '$defs', '$ref', 'title', 'description', 'type', 'properties', 'required',
         'additionalProperties', 'items', 'enum', 'const', 'minimum', 'maximum', 'exclusiveMinimum', 'minItems',
         'minLength', 'pattern', 'oneOf'}
TYPES = {
    'object': lambda v: isinstance(v, dict),
    'array': lambda v: isinstance(v, list),
    'string': lambda v: isinstance(v, str),
    'boolean': lambda v: isinstance(v, bool),
    'null': lambda v: v is None,
    'integer': lambda v: not isinstance(v, bool) and (isinstance(v, int) or isinstance(v, float) and v.is_integer()),
    'number': lambda v: isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v),
}
schema_read = None  # once


def schema():
    global schema_read
    if schema_read is None:
        with open(shipped('docs', 'result-schema.json'), encoding='utf-8') as file:
            schema_read = json.load(file)
    return schema_read


def schema_errors(value, kind=None):
    """Lines that say where a value differs from the schema; none: it is of the schema. kind: a name of $defs; by
    default what the value itself says: its "kind", else a program's result."""
    kind = kind or (value.get('kind', 'program') if isinstance(value, dict) else 'program')
    definition = schema()['$defs'].get(kind) if isinstance(kind, str) else None
    if definition is None:
        return [f'kind: {kind!r} is not known']
    wrong = []
    check(value, definition, '', wrong)
    return wrong


def check(value, rule, where, wrong):
    unknown = set(rule) - KNOWN
    if unknown:
        raise ValueError(f'docs/result-schema.json uses {sorted(unknown)}, which results.py does not know')
    if '$ref' in rule:
        check(value, schema()['$defs'][rule['$ref'].rpartition('/')[2]], where, wrong)
    at = where or 'the file'
    kinds = rule.get('type', [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(TYPES[kind](value) for kind in kinds):
        wrong.append(f'{at}: not of type {" or ".join(kinds)}')
        return
    if 'enum' in rule and value not in rule['enum']:
        wrong.append(f'{at}: {value!r} is none of {rule["enum"]}')
    if 'const' in rule and (value != rule['const'] or isinstance(value, bool) != isinstance(rule['const'], bool)):
        wrong.append(f'{at}: {value!r} is not {rule["const"]!r}')
    if 'oneOf' in rule:
        held = []
        for option in rule['oneOf']:
            tried = []
            check(value, option, where, tried)
            held += [] if tried else [option]
        if len(held) != 1:
            wrong.append(f'{at}: {len(held)} of its forms fit, not one')
    if isinstance(value, dict):
        check_object(value, rule, where, wrong)
    elif isinstance(value, list):
        if len(value) < rule.get('minItems', 0):
            wrong.append(f'{at}: fewer than {rule["minItems"]}')
        for i, member in enumerate(value if 'items' in rule else ()):
            check(member, rule['items'], f'{where}[{i}]', wrong)
    elif isinstance(value, str):
        if len(value) < rule.get('minLength', 0):
            wrong.append(f'{at}: shorter than {rule["minLength"]}')
        if 'pattern' in rule and not re.search(rule['pattern'], value):
            wrong.append(f'{at}: {value!r} does not match {rule["pattern"]}')
    elif TYPES['number'](value):
        if value < rule.get('minimum', value) or value > rule.get('maximum', value):
            wrong.append(f'{at}: {value} is out of range')
        if 'exclusiveMinimum' in rule and value <= rule['exclusiveMinimum']:
            wrong.append(f'{at}: {value} is not above {rule["exclusiveMinimum"]}')


def check_object(value, rule, where, wrong):
    for name in rule.get('required', ()):
        if name not in value:
            wrong.append(f'{where or "the file"}: no {name}')
    named = rule.get('properties', {})
    others = rule.get('additionalProperties', True)
    for name, member in value.items():
        path = f'{where}.{name}' if where else name
        if name in named:
            check(member, named[name], path, wrong)
        elif others is False:
            wrong.append(f'{path}: not in the schema')
        elif isinstance(others, dict):
            check(member, others, path, wrong)


# ---- Result folders ----

class Folder:
    """A folder of `rooftop run`: run.json (the manifest) and the files that its steps name.

    .path, .manifest (dict), .steps (its list of steps); .app(name) and .ladder(name): the JSON of the measured run and
    of the ladder of an app, or None; .optional(file): a JSON that may be there (doctor.json, scale-nekbone.json).
    """

    def __init__(self, path, manifest):
        self.path, self.manifest = path, manifest

    @classmethod
    def create(cls, path, manifest):
        """Makes the folder and its manifest."""
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise Fault(ENVIRONMENT, f'{path}: {error.strerror}') from None
        folder = cls(path, manifest)
        folder.save()
        return folder

    @classmethod
    def open(cls, path):
        """The folder that is there; Fault if it is none, or its manifest is not whole."""
        manifest = load(os.path.join(path, 'run.json'))
        if manifest.get('kind') != 'run':
            raise Fault(INVALID, f'{path}/run.json: not the manifest of a run')
        return cls(path, manifest)

    @staticmethod
    def is_one(path):
        return os.path.isfile(os.path.join(path, 'run.json'))

    def save(self):
        save(self.file('run.json'), self.manifest, self.manifest['nonce'])

    def file(self, name):
        return os.path.join(self.path, name)

    @property
    def steps(self):
        return self.manifest['steps']

    def whole(self, step):
        """Is a step done, and its file the one that was written then?"""
        if step['state'] != 'done':
            return False
        try:
            return sha256_of(self.file(step['json'])) == step['sha256']
        except OSError:
            return False

    def result(self, name):
        """The JSON of the step of this name, or None if it is not done or its file is not whole."""
        for step in self.steps:
            if step['name'] == name and self.whole(step):
                return load(self.file(step['json']))
        return None

    def app(self, app):
        return self.result(app)

    def ladder(self, app):
        return self.result(f'ladder-{app}')

    def optional(self, name):
        """A JSON file of the folder that need not be there, as it is: None if it is not there or not whole."""
        try:
            return parse(self.file(name))[1]
        except Fault:
            return None
