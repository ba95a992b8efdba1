# SPDX-License-Identifier: Apache-2.0
"""Running the body of a TileLang kernel, and what it does as a spad kernel.

The body runs once as Python. A loop gives a symbol for its variable and runs its body once, so
loops stay loops; T.Parallel is one operation per statement. What the body says is kept as a tree of
loops and operations, and written in the kernel language (docs/kernel.md) when the body has ended:
only then is it known which buffers a pipelined loop has to itself. One block is recorded; its
place in the grid are parameters of the kernel, 0 unless defined otherwise.

An `if` on variables of the kernel is a branch of it (_body.py). One on a variable of
T.Parallel is a mask: the part of the loop for which it holds is recorded, with a branch where its
length depends on the other variables. A copy that reaches over the edge of a tensor in global
memory is cut there. `with T.ws(i)` makes agents, barriers are mbarriers.

Everything that cannot be said exactly is refused where it stands (Uncovered), and nothing is
guessed: an index is a sum of loop variables and numbers.
"""

from __future__ import annotations

import functools
import inspect
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .. import _spad
from .. import core
from .. import kernel as _kernel
from ._body import rewritten
from ._values import (
    Condition, Index, Place, Uncovered, Value, _index, bounds, need, place_text, recorder,
    source_line, words)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# ---- the tree ----------------------------------------------------------------------------------


class Loop:
    """A loop that stays one. stages: copies in flight of what it has to itself."""

    def __init__(self, name, extent, stages):
        self.name, self.extent, self.stages, self.body = name, extent, stages, []
        self.role = None


class Branch:
    """An if of the kernel, and its other side."""

    def __init__(self, condition):
        self.condition, self.body, self.orelse, self.role = condition, [], [], None


class Step:
    """One operation, or with a form a statement about barriers; line: of the kernel body. form and
    tail are texts with {} for a barrier, whose name is known at the end."""

    def __init__(self, engine, name, reads, writes, updates, where, role=None, tail="", form=None,
                 barrier=None):
        self.barrier = barrier
        self.engine, self.name = engine, name
        self.reads, self.writes, self.updates = reads, writes, updates
        self.where = where  # the loops around it
        self.role, self.tail, self.form, self.line = role, tail, form, source_line()

    def accesses(self):
        """(ranges of a buffer, is it a plain write) of everything it touches."""
        return [*((a, False) for a in self.reads), *((a, True) for a in self.writes),
                *((a, False) for a in self.updates)]


class Recorder:
    """What a kernel body has done so far."""

    def __init__(self, target, name):
        self.target, self.name = target, name
        chip = core.Target(target)
        if "simt" not in chip.engines:
            raise Uncovered(f"kernel bodies on {target}: they are recorded for the GPUs of spad targets")
        self.engines = chip.engines
        self.body, self.loops, self.parallel = [], [], {}  # parallel: name -> [first, end)
        self.home = self.body  # where the next item goes
        self.role, self.roles, self.threads = None, [], 128
        self.most, self.barriers, self.file = {}, [], None
        self.buffers, self.unnamed, self.grid, self.entered = [], [], [], False
        self.counts, self.blocks, self.code = {}, 1, None
        self.opened = {}  # reducer -> where it was filled

    def take_names(self, frame):
        """Calls buffers without a name as the variables of the body do."""
        while frame is not None and frame.f_code is not self.code:
            frame = frame.f_back
        for name, value in frame.f_locals.items() if frame is not None else ():
            for i, buffer in enumerate(self.unnamed):
                if buffer is value and name.isascii():
                    value.label = self.fresh(name)
                    del self.unnamed[i]
                    break

    def tensor(self, name, note):
        """A tensor in global memory."""
        made = GlobalBuffer(self.fresh(name), note.shape, note.dtype)
        self.buffers.append(made)
        return made

    def helpers(self):
        """What a rewritten body calls."""
        def tensor(name, note):
            return self.tensor(name, note) if isinstance(note, Tensor) else self.values.get(name)

        return {"branches": self.branches, "both": both, "negated": negated, "tensor": tensor,
                "store": store, "read": read, "turns": turns}

    def fresh(self, stem):
        """A name that no other loop or buffer has."""
        taken = {buffer.label for buffer in self.buffers} | set(self.counts)
        number = self.counts.get(stem, -1) + 1
        self.counts[stem] = number
        name = f"{stem}{number}" if stem in taken or number or stem[-1] == "_" else stem
        return name if name not in taken else self.fresh(stem + "_")

    def step(self, engine, name, reads=(), writes=(), updates=(), tail="", barrier=None,
             combined=None):
        """Records an operation on (buffer, ranges), on the engine if that reaches all of its
        buffers on this chip, otherwise on the threads. combined: a reducer whose own step this
        is; nothing else may access one before it is finalised."""
        for access, parts in (("read", reads), ("write", writes), ("read", updates), ("write", updates)):
            for buffer, _ in parts:
                if buffer is not combined or not buffer.is_reducer:
                    buffer.touch(access)
        rules = self.engines[{"tma": "copy"}.get(engine, engine)]
        if not ({b.space for b, _ in [*reads, *updates]} <= set(rules["reads"])
                and {b.space for b, _ in [*writes, *updates]} <= set(rules["writes"])):
            engine = "simt"
        self.add(Step(engine, name, list(reads), list(writes), list(updates), tuple(self.loops),
                      self.role, tail, None, barrier))

    def say(self, form, barrier=None):
        """Records a statement about barriers."""
        self.add(Step(None, None, [], [], [], tuple(self.loops), self.role, "", form, barrier))

    def add(self, item):
        """Puts an item where the body is now."""
        self.home.append(item)

    @contextmanager
    def inside(self, home):
        """Items go there."""
        before, self.home = self.home, home
        try:
            yield
        finally:
            self.home = before

    @contextmanager
    def loop(self, extent, stages):
        made = Loop(self.fresh("k"), extent, stages)
        self.most[made.name] = (extent if isinstance(extent, int) else bounds(extent)[1]) - 1
        self.add(made)
        self.loops.append(made)
        try:
            with self.inside(made.body):
                yield Index(made.name)
        finally:
            self.loops.pop()

    # ---- branches ----

    def branches(self, test, has_else, names):
        """The sides of an if to run: see _body.py."""
        if not isinstance(test, Condition):
            if isinstance(test, Index):
                test = test != 0
            else:
                yield bool(test)
                return
        if names:
            raise Uncovered(f"{names} is assigned on one side of a branch of the kernel and used "
                            "outside of it")
        if test.masks():
            yield from self._masked(test, True)
            if has_else:
                yield from self._masked(test.negated(), False)
            return
        made = Branch(test.text())
        self.add(made)
        with self.inside(made.body):
            yield True
        if has_else:
            with self.inside(made.orelse):
                yield False

    def _masked(self, test, side):
        """Runs a side for the part of parallel loops in which comparisons hold. Where the end of
        that part is not a number the body runs twice: for the whole loop, and for less of it."""
        plain = Condition([p for p in test.parts if not (p[0].parallel or p[2].parallel)])
        masks = [_mask(p) for p in test.parts if p[0].parallel or p[2].parallel]
        masks.sort(key=lambda mask: len(set(bounds(mask[2]))))  # numbers first

        def run(rest):
            if not rest:
                yield side
                return
            for condition, name, low, high in self._cases(*rest[0]):
                before = self.parallel[name]
                self.parallel[name] = (low, high)
                try:
                    if condition is None:
                        yield from run(rest[1:])
                    else:
                        made = Branch(condition)
                        self.add(made)
                        with self.inside(made.body):
                            yield from run(rest[1:])
                finally:
                    self.parallel[name] = before

        if not plain.parts:
            yield from run(masks)
            return
        made = Branch(plain.text())
        self.add(made)
        with self.inside(made.body):
            yield from run(masks)

    def _cases(self, name, relation, limit):
        """(condition or None, name, first, end) of the part of a parallel loop that is below a
        limit, or not below it."""
        low, high = self.parallel[name]
        if not isinstance(low, int) or not isinstance(high, int):
            raise Uncovered("a second mask of a parallel variable in addition to one that depends on "
                            "variables")
        least, most = bounds(limit)
        below = relation == "<"
        if least == most:
            cut = sorted((low, least, high))[1]
            part = (low, cut) if below else (cut, high)
            return [(None, name, *part)] if part[0] < part[1] else []
        if (least >= high) if below else (most <= low):
            return [(None, name, low, high)]
        whole = f"{limit.text} {'>=' if below else '<='} {high if below else low}"
        part = (f"{limit.text} < {high} and {limit.text} > {low}" if below
                else f"{limit.text} > {low} and {limit.text} < {high}")
        # the same where the branch is taken, and inside the loop elsewhere: a range is never empty
        width = high - low
        if below:
            ends = low, (limit - (low + 1)) % width + (low + 1)
        else:
            ends = (limit - low) % width + low, high
        return [(whole, name, low, high), (part, name, *ends)]

    # ---- writing ----

    def steps(self, body=None):
        """All operations in program order."""
        for item in self.body if body is None else body:
            if isinstance(item, Loop):
                yield from self.steps(item.body)
            elif isinstance(item, Branch):
                yield from self.steps(item.body)
                yield from self.steps(item.orelse)
            else:
                yield item

    def _rings(self):
        """Which shared buffers a pipelined loop loads ahead: buffer -> loop. Such a buffer is
        touched nowhere else, and in each turn something from global memory fills it first. What
        the loop computes itself is not ahead of it, and has one place."""
        found, lost = {}, set()
        for step in self.steps():
            pipelined = [loop for loop in step.where if loop.stages > 1]
            for (buffer, _), writes in step.accesses():
                loop = pipelined[-1] if pipelined else None
                if (buffer.space != "shared" or loop is None or self.roles
                        or found.get(buffer, loop) is not loop):
                    lost.add(buffer)
                elif buffer not in found and not (
                        writes and any(source.space == "global" for source, _ in step.reads)):
                    lost.add(buffer)
                found.setdefault(buffer, loop)
        return {buffer: loop for buffer, loop in found.items() if buffer not in lost}

    def text(self):
        """The kernel in the kernel language."""
        rings = self._rings()
        lines = [f"kernel {self.name} on {self.target}"]
        lines += [f"param {name} = 0" for name in self.grid]
        used, reads, writes = set(), set(), set()
        for step in self.steps():
            for buffer, _ in step.reads + step.updates:
                if buffer not in writes:
                    reads.add(buffer)
            writes |= {buffer for buffer, _ in step.writes + step.updates}
        used = reads | writes
        for buffer in self.buffers:
            if buffer not in used and buffer.space != "tmem":  # that is allocated all the same
                continue
            shape = ", ".join(map(str, buffer.shape or (1,)))
            loop = rings.get(buffer)
            blocks = f"[{number_text(loop.extent)}] " if loop else ""
            depth = loop and (min(loop.stages, loop.extent) if isinstance(loop.extent, int)
                              else loop.stages)
            tail = f" ring {depth}" if loop else ""
            if buffer.space == "global":  # other blocks of a grid write the rest of an output
                outside = buffer in reads or self.blocks > 1
                tail = " input" * outside + " output" * (buffer in writes)
            if buffer.space == "tmem":
                tail = f" at {buffer.offset} lane {buffer.lane}"
            lines.append(f"tensor {buffer.label} : {buffer.space} {buffer.dtype} {blocks}({shape})"
                         f"{tail}")
        self.lines = {}  # line of the text -> line of the body
        lines[1:1] = self._declared()
        for barrier in self.barriers:
            for number, count in enumerate(barrier.counts):
                lines.append(f"init {barrier.label}[{number}] count {count}")
        if self.barriers:
            lines.append("fence")
        if self.roles:
            self._write_agents(lines, rings)
        else:
            self._write(lines, self.body, rings, "")
        return "\n".join(lines) + "\n"

    def _declared(self):
        """Units, groups and barriers."""
        lines = []
        if any(step.engine == "tma" for step in self.steps()):
            lines.append("unit tma on copy free proxy")
        if any("in mmas" in step.tail for step in self.steps()):
            lines += ["unit wgmma on tensor same proxy", "group mmas"]
        return lines + [f"mbarrier {b.label}[{len(b.counts)}] count {b.counts[0]}"
                        for b in self.barriers]

    def _write_agents(self, lines, rings):
        """Main program, an agent for each role, main program. What is not of a role stands before
        the first or after the last."""
        def has_role(item):
            return item.role is not None or any(
                has_role(i) for i in [*getattr(item, "body", ()), *getattr(item, "orelse", ())])

        marked = [i for i, item in enumerate(self.body) if has_role(item)]
        self._write(lines, self.body[:marked[0]], rings, "")
        middle = self.body[marked[0]:marked[-1] + 1]
        lost = next((s for s in self.steps(middle) if s.role is None), None)
        if lost is not None:
            raise Uncovered(f"an operation of all threads between those of T.ws, at line {lost.line[1]}")
        for role in sorted(self.roles):
            lines.append(f"agent ws{role} {{")
            self._write(lines, middle, rings, "    ", role)
            lines.append("}")
        self._write(lines, self.body[marked[-1] + 1:], rings, "")

    def _is_of(self, item, role):
        if role is None or not isinstance(item, (Loop, Branch)):
            return role is None or item.role == role
        return any(step.role == role for step in self.steps([item]))

    def _write(self, lines, body, rings, indent, role=None):
        for item in body:
            if not self._is_of(item, role):
                continue
            if isinstance(item, Loop):
                lines.append(f"{indent}for {item.name} in 0..{number_text(item.extent)} {{")
                self._write(lines, item.body, rings, indent + "    ", role)
                lines.append(indent + "}")
            elif isinstance(item, Branch):
                self._write_branch(lines, item, rings, indent, role)
            else:
                self.lines[len(lines) + 1] = item.line
                text = item.form or self._operation(item, rings)
                if item.barrier is not None:
                    text = text.replace("{}", barrier_text(item.barrier))
                lines.append(indent + text)

    def _write_branch(self, lines, item, rings, indent, role):
        sides = []
        for side in (item.body, item.orelse):
            inner = []
            offset = len(lines) + 1 + sum(map(len, sides)) + len(sides)
            kept, self.lines = self.lines, {}
            self._write(inner, side, rings, indent + "    ", role)
            self.lines, moved = kept, self.lines
            self.lines.update({line + offset: place for line, place in moved.items()})
            sides.append(inner)
        if not any(sides):
            return
        lines += [f"{indent}if {item.condition} {{", *sides[0]]
        lines += [f"{indent}}} else {{", *sides[1], indent + "}"] if sides[1] else [indent + "}"]

    @staticmethod
    def _operation(item, rings):
        words = [item.engine, item.name]
        for word, places in (("reads", item.reads), ("writes", item.writes),
                             ("updates", item.updates)):
            if places:
                words += [word, ", ".join(_place_text(p, rings) for p in places)]
        return " ".join(words) + item.tail


def _mask(part):
    """(parallel variable, "<" or ">=", limit) of a comparison: p + a < b is p < b - a."""
    left, relation, right = part
    whole = left - right  # relation 0
    if len(whole.parallel) != 1 or abs(next(iter(whole.parallel.values()))) != 1:
        raise Uncovered(f"a mask of {left!r} and {right!r}: one parallel variable, once, is covered")
    (name, sign), = whole.parallel.items()
    if name not in need().parallel:
        raise Uncovered(f"a mask of {left!r} and {right!r}: of a quotient or rest")
    rest = Index(whole.text)  # sign * p + rest  relation  0
    if sign < 0:
        relation = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(relation, relation)
    limit = (0 - rest) if sign > 0 else rest  # p relation limit
    if relation in ("==", "!="):
        raise Uncovered(f"a mask with {relation}: <, <=, > and >= are covered")
    if relation in ("<=", ">"):
        limit = limit + 1
    return name, "<" if relation in ("<", "<=") else ">=", limit


def number_text(number):
    return number.text if isinstance(number, Index) else str(number)


def _place_text(place, rings):
    buffer, ranges = place
    tile = f"[{rings[buffer].name}]" if buffer in rings else ""
    parts = []
    for (first, count), extent in zip(ranges, buffer.shape):
        count = 1 if count is None else count
        whole = first.text == "0" and isinstance(count, int) and count == extent
        if first.text.isdigit() and isinstance(count, int):
            end = str(int(first.text) + count)
        else:
            end = number_text(count) if first.text == "0" else f"{first.text} + {number_text(count)}"
        parts.append(".." if whole else f"{first.text}..{end}")
    return buffer.label + tile + ("" if all(p == ".." for p in parts) else f"({', '.join(parts)})")


class Barrier:
    """Barriers of T.alloc_barrier: one for each arrival count."""

    scope, dtype = "shared.barrier", "uint64"

    def __init__(self, label, counts):
        self.label, self.counts = label, list(counts)
        self.shape = (len(self.counts),)

    def __getitem__(self, key):
        return BarrierPlace(self, _index(key))


class BarrierPlace:
    """One of several barriers."""

    def __init__(self, barrier, index):
        self.barrier, self.index = barrier, index


def barrier_text(barrier):
    """A barrier in the kernel language."""
    if isinstance(barrier, BarrierPlace):
        return f"{barrier.barrier.label}[{barrier.index.text}]"
    if len(barrier.counts) != 1:
        raise Uncovered("several barriers at once: write b[i]")
    return f"{barrier.label}[0]"


class Least:
    """The smaller of a number and an index: the extent of a loop."""

    def __init__(self, number, index):
        self.number, self.index = number, index

    def __getattr__(self, name):
        raise Uncovered("T.min of a variable of the kernel: as the extent of a loop it is covered")


def extreme(kind, parts):
    """T.min or T.max of indices and numbers."""
    spans = [bounds(_index(part)) if not (isinstance(part, Index) and part.parallel) else None
             for part in parts]
    if len(parts) == 2 and None not in spans:
        (a, b), (of_a, of_b) = parts, spans
        if of_a[1] <= of_b[0]:
            return a if kind == "min" else b
        if of_b[1] <= of_a[0]:
            return b if kind == "min" else a
        numbers = [part for part in parts if isinstance(part, int)]
        if kind == "min":
            index = next(part for part in parts if isinstance(part, Index))
            number = numbers[0] if numbers else None
            if number is not None:
                return Least(number, index)
    raise Uncovered(f"T.{kind} of variables of the kernel")


def has_loop(rec, index):
    """Does an index have the variable of a loop in it?"""
    return bool(words(index.text) - set(rec.grid)) or bool(index.parallel)


def edges(part):
    """The axes along which a part may reach over the end of its tensor."""
    buffer, ranges = part
    found = []
    for axis, ((first, count), extent) in enumerate(zip(ranges, buffer.shape)):
        low, high = bounds(first)
        if low < 0:
            raise Uncovered(f"a copy that may begin before '{buffer.label}': {first!r}")
        if high + (1 if count is None else count) > extent:
            if count is None:
                raise Uncovered(f"a copy that may be outside '{buffer.label}': {first!r}")
            found.append(axis)
    return found


def own_source(func):
    """The source of a function without those inside it; empty if there is none."""
    try:
        lines = inspect.getsourcelines(func)[0]
    except (OSError, TypeError):
        return ""
    start = next((i for i, line in enumerate(lines) if line.strip().startswith("def ")), 0)
    inner = next((i for i in range(start + 1, len(lines))
                  if lines[i].strip().startswith("def ")), len(lines))
    return "".join(lines[:inner])


# ---- functions ---------------------------------------------------------------------------------


class Tensor:
    """The annotation of a parameter: Tensor(shape, dtype)."""

    def __init__(self, shape, dtype="float32"):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype = dtype

    def __class_getitem__(cls, facts):
        """Tensor[shape, dtype]"""
        return cls(*facts)


class GlobalBuffer:
    """A tensor in global memory, as a kernel body sees it."""

    def __getattr__(self, name):
        raise AttributeError(f"spad.tilelang does not cover '{name}' of a tensor"
                             + place_text(" ({}:{})"))

    space, is_reducer = "global", False

    def __init__(self, label, shape, dtype):
        self.label, self.shape, self.dtype = label, shape, _spad.dtype_name(dtype)

    def __getitem__(self, key):
        return Place(self, key)

    def __setitem__(self, key, value):
        assign(self, key, value)

    def touch(self, access):
        """Global memory may always be accessed."""


def _same_part(a, b):
    return a[0] is b[0] and repr(a[1]) == repr(b[1])


def assign(buffer, key, value):
    """buffer[key] = value in a kernel body."""
    rec, to = need(), Place(buffer, key)
    value = value if isinstance(value, Value) else Value("number")
    if buffer.is_reducer:
        own = [part for part in value.parts if to.same(part)]
        if value.kind not in ("sum", "max", "min") or len(own) != 1:
            raise _spad.ArgumentError("a reducer is combined: r[...] += x for sum, r[...] = "
                                      "T.max(r[...], x) for max, T.min for min")
        buffer.update(value.kind)
    there = (buffer, to.ranges())
    reads = []
    for place in value.reads():
        at = (place.buffer, place.ranges())
        if not to.same(place) and not any(_same_part(at, other) for other in reads):
            reads.append(at)
    updates = any(to.same(place) for place in value.reads())
    rec.step("simt", "assign", reads, [] if updates else [there], [there] if updates else [],
             combined=buffer)


def store(variable, value):
    """v = value, where v is an alloc_var."""
    if getattr(variable, "scope", None) is None:
        raise Uncovered("an assignment to a name that was an alloc_var before")
    assign(variable, (0,) * len(variable.shape), value)


def read(variable):
    """v, where v is an alloc_var."""
    if isinstance(variable, Value) or getattr(variable, "scope", None) is None:
        return variable
    return Place(variable, (0,) * len(variable.shape))


def both(*tests):
    """a and b: conditions of the kernel together, or the truth value as Python has it."""
    found = None
    for test in tests:
        value = test()
        if not isinstance(value, Condition):
            if not value:
                return value
            last = value
            continue
        found = value if found is None else found & value
    return last if found is None else found


def turns(loop, names):
    """A loop that leaves Python variables to its next turn: not one of the kernel, whose body runs
    once."""
    if getattr(getattr(loop, "gi_code", None), "co_name", "") in ("_loop", "_parallel"):
        raise Uncovered(f"{names} changes from one turn of a loop of the kernel to the next: use "
                        "T.alloc_var, or an expression of the loop variable")
    return loop


def negated(test):
    """not a."""
    return test.negated() if isinstance(test, Condition) else not test


class PrimFunc:
    """A kernel function. record(target) runs its body and gives a spad.Kernel."""

    def __init__(self, func):
        self.func, self.__name__, self.__doc__ = func, func.__name__, func.__doc__

    def record(self, target="sm_90", **values):
        """The kernel of one block on a chip. Parameters that are no T.Tensor, and the names of
        T.const, are given by name."""
        rec = Recorder(target, self.__name__)
        rec.file, rec.values = self.func.__code__.co_filename, dict(values)
        token = recorder.set(rec)
        try:
            given = self._arguments(rec, values)
            body = rewritten(self.func, rec.helpers())
            rec.code = body.__code__
            body(**given)
            if not rec.entered:
                raise Uncovered(f"{self.__name__} has no `with T.Kernel(...)`")
            text = rec.text()
        finally:
            recorder.reset(token)
        try:
            return _kernel.Kernel.parse(text, f"<{self.__name__}>")
        except _spad.TextError as error:
            place = rec.lines.get(error.faults[0].get("line")) if error.faults else None
            if place is not None:
                error.add_note(f"recorded at {os.path.basename(place[0])}:{place[1]}")
            raise

    def _arguments(self, rec, values):
        parameters = inspect.signature(self.func).parameters
        given = {name: value for name, value in values.items() if name in parameters}
        inside = set(self.func.__code__.co_varnames)  # annotated in the body
        for name, parameter in parameters.items():
            note = parameter.annotation
            if isinstance(note, Tensor):
                given[name] = rec.tensor(name, note)
            elif name not in given and parameter.default is parameter.empty:
                if not _annotated_inside(self.func, name) or name not in inside:
                    raise TypeError(f"parameter '{name}' is no T.Tensor: give its value to record()")
                given[name] = None
        return given

    def __call__(self, *args, **keywords):
        raise Uncovered(f"{self.__name__} is not compiled and cannot run; "
                        f"{self.__name__}.record(target) gives the kernel")


def macro(func: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose body is part of the kernel that calls it."""

    @functools.wraps(func)
    def run(*args, **keywords):
        return rewritten(func, need().helpers())(*args, **keywords)

    return run


def _annotated_inside(func, name):
    """Is a parameter given its type in the body, as the functions of T.jit do?"""
    try:
        return any(line.strip().startswith(f"{name}:") for line in inspect.getsourcelines(func)[0][1:])
    except (OSError, TypeError):
        return False
