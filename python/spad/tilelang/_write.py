# SPDX-License-Identifier: Apache-2.0
"""The text of the kernel language for what a walk over a lowered kernel of TileLang found."""

import re

from ..kernel import _quoted
from ._uncounted import uncounted

_WARP = 32
ANY_ROUNDS = 4  # of a loop of any number, where one is taken
IDLE = "waits at the end of a warp"  # what is left out without a loss


class Op:
    """An operation of one agent: what it reads, writes, updates and adds to, as accesses."""

    KINDS = ("reads", "writes", "updates", "adds")
    __slots__ = ("engine", "name", *KINDS, "may", "tail", "source")

    def __init__(self, engine, name, tail=""):
        self.engine, self.name, self.tail = engine, name, tail
        self.reads, self.writes, self.updates, self.adds = [], [], [], []
        self.may = False
        self.source = None

    def accesses(self):
        """All of them."""
        return self.reads + self.writes + self.updates + self.adds


class Access:
    """Bytes of a buffer: a symbolic offset and runs. may: some of them, and the kernel does not say which. block: of a cluster, whose
    memory it is."""

    __slots__ = ("buffer", "tile", "offset", "runs", "may", "block")

    def __init__(self, buffer, offset, runs, tile=None, may=False, block=None):
        self.buffer, self.offset, self.runs, self.tile, self.may, self.block = buffer, offset, runs, tile, may, block


class Writer:
    """The text of a kernel from a walk."""

    def __init__(self, walk, agents, name):
        self.walk, self.name = walk, name
        self.places = {n: facts["at"] for n, facts in walk.shared.items()}
        self.lines, self.depth = [], 0
        self.agents = []
        for agent, body, registers, threads in agents:
            kept = _without_idle_end(body)
            if len(kept) < len(body):
                walk.agent = agent
                walk.note(IDLE, "nothing depends on them: they are left out")
            if kept or walk.blocks > 1:
                self.agents.append((agent, kept, registers, threads))
        if walk.blocks > 1:
            self.agents = walk.closed(self.agents)

    def say(self, text):
        self.lines.append("    " * self.depth + text)

    def text(self):
        walk, tree = self.walk, self.walk.tree
        self.lines = []
        self.say(f"kernel {self.name} on {tree['arch']} \"lowered by TileLang {tree.get('tilelang', '')}\"")
        head = len(self.lines)
        blocks = 1
        for extent in tree["grid"]:
            blocks = blocks * extent if isinstance(extent, int) else blocks
        if blocks > 1:
            self.say(f"grid {blocks}")
        if walk.blocks > 1:
            self.say(f"cluster {walk.blocks}")
        if walk.taken:
            self.say("assume \"" + " and ".join(f"'{name}' in registers is written before it is read" for name in sorted(walk.taken)) + "\"")
        compiler = f"TileLang {tree.get('tilelang', '')}".rstrip()
        self.say(f"compiler {_quoted(compiler)}")
        work = uncounted(tree)
        if work:
            self.say(f"uncounted {_quoted(work)}")
        for number, (file, line, code) in enumerate(tree.get("sources", ())):
            self.say(f"source {number} {_quoted(file)} {line} {_quoted(code)}")
        for line in walk.units.values():
            self.say(line)
        for name in walk.groups:
            self.say(f"group {name}")
        for name, count in walk.barriers.items():
            self.say(f"barrier {name} count {count}")
        for name, size in walk.mbarriers.items():
            self.say(f"mbarrier {walk.fresh(name)}[{size if walk.blocks == 1 else f'{walk.blocks}, {size}'}] count 1{' each block' if walk.blocks > 1 else ''}")
        if walk.split:
            self.say(f"mbarrier cluster_split count {walk.blocks * walk.count}")
        self._tensors()
        if walk.split:
            self.say("init cluster_split")  # as the hardware does
        for agent in self.agents:
            self._agent(*agent)
        text = "\n".join(self.lines)
        declared = {name: f"param {name} = {value}" for name, value in walk.params.items()}
        declared.update((name, self._unknown(name, kind)) for name, kind in walk.unknowns.values())
        self.lines[head:head] = [line for name, line in declared.items() if re.search(rf"\b{name}\b", text)]
        return "\n".join(self.lines) + "\n"

    def _unknown(self, name, kind):
        """The declaration of a number that data decides; where one value is taken, it is one with which the work is done."""
        datum = self.walk.known.named(name)
        return f"param {name} = {ANY_ROUNDS + (datum.less if datum else 0)} any" if kind == " any" else f"unknown {name} {kind or 'in 0..2 = 1'}"

    def _tensors(self):
        walk = self.walk
        used = set()
        for _, body, _, _ in self.agents:
            _used(body, used)
        for name, facts in walk.shared.items():
            if name in used:
                align = max(facts["align"], walk.aligns.get(name, 1))
                place = f" at {self.places[name]}" if self.places[name] is not None else ""
                tiles = walk.guard_counts.get(walk.known.tiles.get(name))  # all at one place: one for each value of a guard
                count, ring = (f"[{tiles}] ", " ring 1") if tiles else ("", "")
                for block in range(walk.blocks):
                    if (name, block) not in used and walk.blocks > 1:
                        continue
                    space = f"shared[{block}]" if block else "shared"
                    self.say(f"tensor {walk.named(name, block)} : {space} u8 {count}({facts['bytes']}){place}{ring} align {align}")
        for name in sorted(walk.tracked | walk.never_written):
            if name in used:
                count = walk.blocks * -(-walk.count // _WARP)
                held = "" if name in walk.never_written else " input"  # every other read is known to follow its writes
                self.say(f"tensor {walk.fresh(name)} : registers u8 [{count}] ({walk.size(name)}){held}")
        for name, columns in walk.tmem.items():
            for block in range(walk.blocks):
                space = f"tmem[{block}]" if block else "tmem"
                self.say(f"tensor {walk.named(name, block, '_tmem')} : {space} u8 (128, {columns * 4})")
        for number, size in enumerate(walk.outputs, 1):
            self.say(f"tensor stored_{number} : global u8 ({size}) persistent")
        for (_, size), name in walk.globals.items():
            self.say(f"tensor {name} : global u8 ({size}) input")

    def _agent(self, name, body, registers, threads):
        more = f" registers {registers}" if registers else ""
        self.say(f"agent {name} of {threads} threads{more} {{")
        self.depth += 1
        self._body(body)
        self.depth -= 1
        self.say("}")

    def _body(self, body):
        for item in body:
            if isinstance(item, str):
                self.say(item)
            elif isinstance(item, Op):
                self.say(self._op(item))
            else:
                _, head, inner, other = item
                self.say(head + " {")
                self.depth += 1
                self._body(inner)
                self.depth -= 1
                if other:
                    self.say("} else {")
                    self.depth += 1
                    self._body(other)
                    self.depth -= 1
                self.say("}")

    def _op(self, op):
        text = f"{op.engine} {op.name}"
        for word in Op.KINDS:
            parts = {False: [], True: []}
            for access in getattr(op, word):
                parts[op.may or getattr(access, "may", False)] += self._access(access)
            for may, found in parts.items():
                if found:
                    text += f" {'may ' if may else ''}{word} " + ", ".join(dict.fromkeys(found))
        return text + op.tail + (f" from {op.source}" if op.source is not None else "")

    def _access(self, access):
        if isinstance(access, str):
            return [access]
        name = self.walk.named(access.buffer, access.block) + (f"[{access.tile}]" if access.tile is not None else "")
        size = self.walk.size(access.buffer)
        if not access.offset.terms and access.runs == [(0, size)]:
            return [name]
        return [f"{name}({access.offset.text(a)}..{access.offset.text(b)})" for a, b in access.runs]


def is_again(item, var):
    """Whether rounds of a loop that are this alone do the same as one of them: accesses that may be, at places that do not change with it."""
    return isinstance(item, Op) and not item.tail and all(
        isinstance(access, Access) and (item.may or access.may)
        and not any(re.search(rf"\b{var}\b", f"{text}") for text in (*access.offset.terms, access.tile)) for access in item.accesses())


def _does_something(body):
    """Whether an agent does more than wait."""
    for item in body:
        if isinstance(item, Op) or (isinstance(item, str) and not (item.startswith(("fence", "commit", "cursor", "advance")) or " parity " in item)):
            return True
        if isinstance(item, tuple) and (_does_something(item[2]) or _does_something(item[3] or [])):
            return True
    return False


def _without_idle_end(body):
    """The statements up to the last one that does more than wait."""
    end = len(body)
    while end and not _does_something(body[end - 1:end]):
        end -= 1
    return body[:end]


def _used(body, used):
    for item in body:
        if isinstance(item, Op):
            used.update(name for a in item.accesses() if isinstance(a, Access) for name in (a.buffer, (a.buffer, a.block)))
        elif isinstance(item, tuple):
            _used(item[2], used)
            _used(item[3] or [], used)
