"""A described machine, as SimGrid wants it: a platform file, the host of each rank, and traces of exchanges and sums.

All times are written in microseconds, as if they were seconds: SimGrid prints six decimals. What a message costs a
rank besides the network (LogGP's o; SimGrid's smpi/os and smpi/or) is in the traces as work of the rank, because SimGrid
cannot count it once for all messages of a round.
"""
import itertools
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from . import USAGE, Fault, disk, shipped
from .records import Count, Mismatch, NotNegative, Positive, Record, Text

Message = Sequence[int]  # from, to, bytes


@dataclass(repr=False, eq=False)
class Link(Record):
    """bandwidth: bytes/s in each direction; latency: seconds from end to end."""
    closed = True
    bandwidth: Positive
    latency: NotNegative


@dataclass(repr=False, eq=False)
class Level(Record):
    """A level of switches. children: nodes, or groups of the level below; bandwidth and latency of the link from each
    child up to its switch."""
    closed = True
    children: Count
    bandwidth: Positive
    latency: NotNegative


@dataclass(repr=False, eq=False)
class Platform(Record):
    """node: between two ranks of a node; rail: from so many ranks (rail_ranks) to the network."""
    closed = True
    name: Text
    over: Literal['ranks', 'GPUs']
    node_ranks: Count
    rail_ranks: Count
    node: Link
    rail: Link
    tree: list[Level]
    assumed: str = ''


class Cost(NamedTuple):
    """What messages cost each of their two ranks, in seconds besides the network. each: every message costs that, or
    else all of a round together cost what one does, sent and received."""
    seconds: float
    each: bool


def load(name: str) -> Platform:
    """Returns the platform of a file, or one that is shipped: 'gpu-fat-tree'."""
    path = name if os.path.sep in name or name.endswith('.json') else shipped('inputs', 'platforms', f'{name}.json')
    try:
        platform = Platform.from_json(disk.parse(path)[1])
    except Mismatch as mismatch:
        raise Fault(USAGE, f'{path}: not a platform: {mismatch}') from None
    if platform.node_ranks % platform.rail_ranks:
        raise Fault(USAGE, f'{path}: rail_ranks: does not divide node_ranks')
    return platform


# ---- Hosts ----

def block_of(boxes: Sequence[int], ranks: int) -> tuple[int, int, int]:
    """Returns the box of ranks that divides `boxes` and is as close to a cube as may be; (0, 0, 0) if none does."""
    fits = [(x, y, ranks // x // y) for x in range(1, ranks + 1) if ranks % x == 0
            for y in range(1, ranks // x + 1) if ranks // x % y == 0]
    fits = [block for block in fits if all(n % b == 0 for n, b in zip(boxes, block))]
    return min(fits, key=lambda block: (sum(b * b for b in block), block), default=(0, 0, 0))


def placed(ranks: int, boxes: Sequence[int], node_ranks: int) -> list[int]:
    """Returns the host of each rank. Boxes: a node has a compact block of them; else, or if no block fits, ranks fill
    one node after the other."""
    block = block_of(boxes, node_ranks) if boxes else (0, 0, 0)
    if not block[0]:
        return list(range(ranks))
    hosts = []
    for rank in range(ranks):
        at = (rank % boxes[0], rank // boxes[0] % boxes[1], rank // (boxes[0] * boxes[1]))
        node, inside = 0, 0
        for d in (2, 1, 0):
            node = node * (boxes[d] // block[d]) + at[d] // block[d]
            inside = inside * block[d] + at[d] % block[d]
        hosts.append(node * node_ranks + inside)
    return hosts


# ---- The platform file ----

def us(seconds: float) -> str:
    return f'{seconds * 1e6:.9g}s'


def per_us(bandwidth: float) -> str:
    return f'{bandwidth * 1e-6:.9g}Bps'


def link(name: str, bandwidth: float, latency: float) -> str:
    return f'<link id="{name}" bandwidth="{per_us(bandwidth)}" latency="{us(latency)}" sharing_policy="SPLITDUPLEX"/>'


def through(*links: tuple[str, str]) -> str:
    return ''.join(f'<link_ctn id="{name}" direction="{way}"/>' for name, way in links)


def node_xml(platform: Platform, node: int, ranks: int) -> Iterator[str]:
    """A node: a link per rank to the others, rails to the router."""
    first = node * platform.node_ranks
    yield f'<zone id="z0_{node}" routing="Full">'
    for i in range(first, first + ranks):
        yield f'<host id="h{i}" speed="1f"/>'
    yield f'<router id="r0_{node}"/>'
    for i in range(first, first + ranks):
        yield link(f'n{i}', platform.node.bandwidth, platform.node.latency / 2)
        if i % platform.rail_ranks == 0:
            yield link(f'l{i}', platform.rail.bandwidth, platform.rail.latency / 2)
    for i, j in itertools.combinations(range(first, first + ranks), 2):
        yield f'<route src="h{i}" dst="h{j}">{through((f"n{i}", "UP"), (f"n{j}", "DOWN"))}</route>'
    for i in range(first, first + ranks):
        yield f'<route src="h{i}" dst="r0_{node}">{through((f"l{i - i % platform.rail_ranks}", "UP"))}</route>'
    yield '</zone>'


def group_xml(platform: Platform, level: int, group: int, nodes: range) -> Iterator[str]:
    """A switch of this level (from 1) and what is below it. nodes: those of the whole machine."""
    below = math.prod(one.children for one in platform.tree[:level - 1])
    children = range(group * platform.tree[level - 1].children, (group + 1) * platform.tree[level - 1].children)
    children = range(children.start, min(children.stop, -(-len(nodes) // below)))
    yield f'<zone id="z{level}_{group}" routing="Full">'
    for child in children:
        if level > 1:
            yield from group_xml(platform, level - 1, child, nodes)
        else:
            yield from node_xml(platform, child, platform.node_ranks)
    yield f'<zone id="s{level}_{group}" routing="Full"><router id="r{level}_{group}"/></zone>'
    one = platform.tree[level - 1]
    for child in children:
        yield link(f'u{level}_{child}', one.bandwidth, one.latency)
    for i, j in itertools.combinations(children, 2):
        yield zone_route(level, i, f'z{level - 1}_{j}', f'r{level - 1}_{j}',
                         through((f'u{level}_{i}', 'UP'), (f'u{level}_{j}', 'DOWN')))
    for i in children:
        yield zone_route(level, i, f's{level}_{group}', f'r{level}_{group}', through((f'u{level}_{i}', 'UP')))
    yield '</zone>'


def zone_route(level: int, i: int, to: str, gateway: str, links: str) -> str:
    return (f'<zoneRoute src="z{level - 1}_{i}" gw_src="r{level - 1}_{i}" dst="{to}" gw_dst="{gateway}">{links}'
            '</zoneRoute>')


def platform_xml(platform: Platform, ranks: int) -> Iterator[str]:
    """Yields the lines of the platform file for so many ranks, in whole nodes, with no more levels than they need."""
    nodes = range(-(-ranks // platform.node_ranks))
    room = [math.prod(one.children for one in platform.tree[:k]) for k in range(len(platform.tree) + 1)]
    level = next((k for k, most in enumerate(room) if most >= len(nodes)), None)
    if level is None:
        raise Fault(USAGE, f'--ranks {ranks}: the platform has room for {room[-1] * platform.node_ranks}')
    yield "<?xml version='1.0'?>"
    yield '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
    yield '<platform version="4.1">'
    yield from node_xml(platform, 0, platform.node_ranks) if level == 0 else group_xml(platform, level, 0, nodes)
    yield '</platform>'


# ---- Traces ----

@dataclass(repr=False, eq=False)
class Rank:
    """What a rank does in one round: messages to others and from others,."""
    sends: list[tuple[int, float]] = field(default_factory=list)
    receives: list[tuple[int, float]] = field(default_factory=list)


def round_lines(rank: int, one: Rank, cost: Cost) -> Iterator[str]:
    """Yields the actions of a rank: the costs of all its messages, then the messages, receives first."""
    messages = len(one.sends) + len(one.receives)
    paid = cost.seconds * (messages if cost.each else min(messages, 2))
    if paid > 0:
        yield f'{rank} compute {paid * 1e6:.9g}'
    for other, size in one.receives:
        yield f'{rank} irecv {other} 0 {size:.9g}'
    for other, size in one.sends:
        yield f'{rank} isend {other} 0 {size:.9g}'
    if messages:
        yield f'{rank} waitall {messages}'


def exchange_rounds(ranks: int, messages: Sequence[Message]) -> list[list[Rank]]:
    """Returns the one round of an exchange."""
    of = [Rank() for _ in range(ranks)]
    for sender, receiver, size in messages:
        of[sender].sends.append((receiver, size))
        of[receiver].receives.append((sender, size))
    return [of]


def sum_rounds(hosts: Sequence[int], size: int) -> list[list[Rank]]:
    """Returns the rounds of recursive doubling, partners in a node first. Ranks beyond a power of two hand their part
    to another rank, and get the sum from it at the end."""
    order = sorted(range(len(hosts)), key=lambda rank: hosts[rank])
    most = 1 << (len(order).bit_length() - 1)
    pairs = [[(order[most + i], order[i]) for i in range(len(order) - most)]]
    pairs += [[(order[i], order[i ^ step]) for i in range(most)] for step in (1 << k for k in range(most.bit_length() - 1))]
    pairs.append([(to, sender) for sender, to in pairs[0]])
    rounds = []
    for one in pairs:
        rounds += exchange_rounds(len(order), [(sender, to, size) for sender, to in one]) if one else []
    return rounds


def trace_lines(rounds: Sequence[Sequence[Rank]], cost: Cost) -> Iterator[str]:
    """Yields a replay of the rounds, one after the other, for all ranks."""
    for rank in range(len(rounds[0])):
        yield f'{rank} init'
        for of in rounds:
            yield from round_lines(rank, of[rank], cost)
        yield f'{rank} finalize'
