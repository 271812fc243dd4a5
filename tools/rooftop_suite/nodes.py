"""What every node of a run is: each node's first rank is asked, through the launcher, by `rooftop doctor --node`."""
import json
import os
import sys

from . import Fault, Json, machine, programs, quiet

LOCAL = ('OMPI_COMM_WORLD_LOCAL_RANK', 'SLURM_LOCALID', 'MPI_LOCALRANKID', 'PALS_LOCAL_RANKID',
         'MV2_COMM_WORLD_LOCAL_RANK')
ALIKE = ('system', 'kernel', 'cpu', 'cores', 'gpus', 'governors', 'interconnect')


def print_own() -> None:
    """Prints this node's environment as one line of JSON, if this is its first rank."""
    if all(os.environ.get(name, '0') == '0' for name in LOCAL):
        seen = {name: value for name, value in machine.environment().items() if name != 'variables'}
        os.write(1, json.dumps(seen).encode() + b'\n')


def found_in(text: str) -> list[Json]:
    """Returns the environments in what the ranks printed, one per host."""
    nodes: dict[str, Json] = {}
    for line in text.splitlines():
        try:
            seen = json.loads(line)
        except ValueError:
            continue
        if isinstance(seen, dict) and 'host' in seen:
            nodes[str(seen['host'])] = seen
    return [nodes[host] for host in sorted(nodes)]


def environment(launcher: list[str], ranks: int) -> Json:
    """Returns "nodes", the environment of each node of a run with several ranks, and says how they differ; {} for one
    rank."""
    if ranks == 1:
        return {}
    tool = os.path.realpath(sys.argv[0])
    try:
        command = [sys.executable, '-S', tool, 'doctor', '--node']
        ended = programs.run(programs.launched(command, launcher, ranks), limit=120)
        nodes = found_in(ended.text)
    except Fault:
        nodes = []
    if not nodes:
        quiet.tell('the nodes of the ranks could not be asked what they are: the result describes this node only')
        return {}
    for name in ALIKE:
        kinds = {json.dumps(without_names(node.get(name)), sort_keys=True) for node in nodes}
        if len(kinds) > 1:
            quiet.tell(f'nodes differ in {name}: {"; ".join(sorted(kinds))[:200]}')
    return {'nodes': nodes}


def without_names(value: object) -> object:
    """Returns a value without what differs between equal nodes: the numbers of their GPUs."""
    if isinstance(value, list):
        return [without_names(part) for part in value]
    return {name: part for name, part in value.items() if name != 'uuid'} if isinstance(value, dict) else value
