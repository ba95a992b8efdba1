# SPDX-License-Identifier: Apache-2.0
"""An arena: the buffers of one memory with their lives, the offsets that they get, and what another
planner needed for the same buffers.

Every reader of another compiler's data makes arenas, and every report about them is written here.
A life is [first, last]: steps of a program, both ends included, as compilers count them.
"""

from __future__ import annotations

import json
import os
import time
from bisect import insort
from typing import TYPE_CHECKING

from . import _spad
from ._alive import Alive
from .core import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, NoReturn, Self
    from ._spad import _Facts, PlanResult
    from .core import Report

LIMIT = 1 << 62  # of one size, so that sums of few stay below 2^63
GREEDY_MOST = 4000  # its time grows with the square of the number of buffers
NAME_MOST = 200  # characters of a name
MESSAGE_MOST = 400  # characters of an error
SHOWN = 12  # buffers of the peak in a text


def shown(value: object) -> str:
    """A value of a foreign file or program in a message: short, whatever it is."""
    if isinstance(value, int) and not -LIMIT <= value <= LIMIT:
        return f"about {'-' if value < 0 else ''}2^{value.bit_length() - 1}"  # Python writes no huge numbers
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return f"a {type(value).__name__} of {len(value)}"  # which may have itself in it
    if isinstance(value, (str, bytes, bytearray)):
        return repr(value[:40])
    return f"{value!r:.60}"


def whole(value: object, what: str, least: int = 0, most: int = LIMIT, file: str | None = None) -> int:
    """A whole number of a foreign file or program; others raise an error that names it."""
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        fault(f"{what} is {shown(value)}; it has to be from {least} to {most}", file)
    fault(f"{what} has to be a whole number, not {shown(value)}", file)


def fault(message: str, file: str | None = None) -> NoReturn:
    """Raises what is wrong with a file, or with an argument where there is no file: one line, whatever names
    of a file are in it."""
    message = "".join(c if c.isprintable() else "?" for c in message[:MESSAGE_MOST])
    if file is None:
        raise _spad.ArgumentError(message)
    error = _spad.TextError(f"{file}: {message}")
    error.file = file
    raise error


def common_alignment(places: Iterable[int], most: int) -> int:
    """The largest power of two up to `most` of which all places are multiples: for files that have
    places and do not say their alignment."""
    power = most
    for place in places:
        while place % power:
            power //= 2
    return power


class Buffer:
    """One buffer: name, first and last step, size, alignment, offset (a pin), and where the other
    planner has it."""

    __slots__ = ("name", "first", "last", "size", "alignment", "pin", "theirs")

    def __init__(self, name: str, first: int, last: int, size: int, alignment: int | None, pin: int | None,
                 theirs: int | None) -> None:
        self.name, self.first, self.last, self.size = name, first, last, size
        self.alignment, self.pin, self.theirs = alignment, pin, theirs

    def __repr__(self):
        return f"<buffer {self.name}: {self.size} B, steps {self.first} to {self.last}>"


class Arena:
    """Arena(name, alignment=1, reserved=0, capacity=None, steps=None): buffers that share a memory.

    reserved: bytes at the start that no buffer takes. capacity: the end of the memory. steps: a name
    for every step, or a dict of them. their_bytes and their_name: what another planner needed."""

    their_bytes: int | None
    their_name: str | None

    def __init__(self, name: object, alignment: int = 1, reserved: int = 0, capacity: int | None = None,
                 steps: Mapping[int, str] | Sequence[str] | None = None) -> None:
        self.name: str = str(name)
        self.alignment: int = whole(alignment, "the alignment", 1)
        self.reserved: int = whole(reserved, "the reserved bytes")
        self._capacity = None if capacity is None else whole(capacity, "the capacity")
        self.steps: Mapping[int, str] = dict(enumerate(steps)) if isinstance(steps, (list, tuple)) else steps or {}
        self.buffers: list[Buffer] = []
        self.pairs: list[tuple[int, int]] = []  # numbers of an output and an input whose bytes it may take
        self.views: list[tuple[int, int, int]] = []  # numbers of a buffer and of one whose bytes it is, and from which byte on
        self.without_views: int | None = None  # the bytes of the plan in which each of them has its own
        self.their_bytes = self.their_name = None
        self.reordered: dict[str, Any] | None = None  # what spad.reorder found, where the order of steps was free
        self.result: PlanResult | None = None
        self.notes: list[str] = []  # sentences about what the arena leaves out
        self._plan = None
        self._viewed = True  # does the plan have the views?
        self._numbers = []
        self._names = {"reserved": 1}  # how often a name was asked for

    @property
    def capacity(self) -> int | None:
        """The end of the memory; None: the fewest bytes are wanted."""
        return self._capacity

    @capacity.setter
    def capacity(self, capacity: int | None) -> None:
        self._capacity = None if capacity is None else whole(capacity, "the capacity")
        self._forget()

    def _forget(self):
        """The problem has changed: a plan of the old one is worth nothing."""
        self._plan = self.result = self.without_views = None
        self._viewed = True

    def _fresh(self, name):
        """The name, with a number if there is one like it: plans name their buffers once."""
        while True:
            count = self._names[name] = self._names.get(name, 0) + 1
            if count == 1:
                return name
            name = f"{name} #{count}"

    def __len__(self) -> int:
        return len(self.buffers)

    def add(self, name: object, first: int, last: int, size: int, alignment: int | None = None,
            offset: int | None = None, theirs: int | None = None) -> int:
        """A buffer that is alive from step first to step last, both included; returns its number."""
        name = "".join(c if c.isprintable() else "?" for c in str(name)[:NAME_MOST]) or "?"
        first = whole(first, f"the first step of '{name}'", -LIMIT)
        last = whole(last, f"the last step of '{name}'", first)
        size = whole(size, f"the size of '{name}'")
        if alignment is not None:
            alignment = whole(alignment, f"the alignment of '{name}'", 1)
        if offset is not None:
            offset = whole(offset, f"the offset of '{name}'")
        name = self._fresh(name)
        self.buffers.append(Buffer(name, first, last, size, alignment, offset, theirs))
        self._forget()
        return len(self.buffers) - 1

    def in_place(self, output: int, input: int) -> None:
        """The buffer with the number output may take the bytes of the buffer input, if that one is not
        alive after the first step of output."""
        for number in (output, input):
            whole(number, "the number of a buffer", 0, len(self.buffers) - 1)
        self.pairs.append((output, input))
        self._forget()

    def view(self, part: int, whole_: int, at: int = 0) -> None:
        """The buffer with the number part is the bytes of the buffer whole_ from `at` on, where that
        costs no bytes: both may be alive, and neither writes what the other has to keep. A plan has all
        views of an arena, or, if this is lower, none."""
        for number in (part, whole_):
            whole(number, "the number of a buffer", 0, len(self.buffers) - 1)
        inner, outer = self.buffers[part], self.buffers[whole_]
        if inner is outer:
            fault(f"'{inner.name}' cannot be bytes of itself")
        whole(at, f"the place of '{inner.name}' in '{outer.name}'", 0, outer.size - inner.size)
        align = inner.alignment or self.alignment
        if at % align:
            fault(f"'{inner.name}' begins at byte {at} of '{outer.name}': no multiple of its alignment {align}")
        self.views.append((part, whole_, at))
        self._forget()

    @property
    def kept_views(self) -> list[tuple[int, int, int]]:
        """The views that the plan has."""
        self.solve()
        return self.views if self._viewed else []

    @property
    def places(self) -> dict[str, int]:
        """The offset of every buffer by its name."""
        return {buffer.name: at for buffer, at in zip(self.buffers, self.offsets)}

    @property
    def plan(self) -> Plan:
        """The planning problem: a spad.Plan. Buffers without bytes are not in it."""
        if self._plan is None:
            self._plan, self._numbers = self._problem(lambda buffer: buffer.pin)
            self._relate(self._plan, self._numbers, self._viewed)
        return self._plan

    def _relate(self, plan, numbers, viewed):
        """Says which buffers may share bytes."""
        planned = (index for index, buffer in enumerate(self.buffers) if buffer.size)
        number = dict(zip(planned, numbers))
        for part, whole_, at in self.views if viewed else ():
            if part in number:
                plan.slice(number[part], number[whole_], at)
        for output, input in self.pairs:
            if output in number and input in number:
                plan.in_place(number[output], number[input])

    def _problem(self, pin):
        plan, numbers = Plan(capacity=self.capacity), []
        kept = [buffer for buffer in self.buffers if buffer.size > 0]
        lower = [buffer.first for buffer in kept]
        upper = [buffer.last + 1 for buffer in kept]
        pins = [pin(buffer) for buffer in kept]
        if self.reserved and kept:
            plan.add(min(lower), max(upper), self.reserved, name="reserved", offset=0)
        shift = len(plan)
        numbers = [shift + i for i in range(len(kept))]
        if kept:
            plan.add_many(lower, upper, [buffer.size for buffer in kept],
                          alignment=[buffer.alignment or self.alignment for buffer in kept],
                          offset=pins if any(p is not None for p in pins) else None,
                          names=[buffer.name for buffer in kept])
        return plan, numbers

    def solve(self, timeout: float | None = 5, seed: int = 1, threads: int = 1,
              progress: Callable[[_Facts], Any] | None = None) -> PlanResult:
        """Finds offsets; returns the spad.PlanResult. A second call returns the first answer."""
        if self.result is None:
            more = {"seed": seed, "threads": threads, "minimize": True, "progress": progress}
            started = time.monotonic()
            result = self.plan.solve(timeout=timeout if timeout is None or not self.views else timeout / 2, **more)
            if self.views:
                left = None if timeout is None else max(timeout / 10, timeout - (time.monotonic() - started))
                result = self._compare_views(result, left, more)
            self.result = result
        return self.result

    def _compare_views(self, result, timeout, more):
        """Plans without views, too, and takes the lower plan of the two."""
        plan, numbers = self._problem(lambda buffer: buffer.pin)
        self._relate(plan, numbers, False)
        plain = plan.solve(timeout=timeout, **more)
        self.without_views = max(plain.height or 0, self.reserved) if plain.fits else None
        if plain.fits and (not result.fits or plain.height < result.height):
            self._plan, self._numbers, self._viewed, result = plan, numbers, False, plain
        return result

    @property
    def fits(self) -> bool:
        return self.solve().fits

    @property
    def height(self) -> int | None:
        """The bytes of the plan, from 0 on; None: it does not fit."""
        result = self.solve()
        return None if not result.fits else max(result.height or 0, self.reserved)

    @property
    def bound(self) -> int:
        return max(self.solve().bound, self.reserved)

    @property
    def proved(self) -> bool:
        """Is it proved that no plan is lower? With views: none that has all of them, or none if the plan has
        none."""
        return self.solve().verdict == "optimal"

    @property
    def offsets(self) -> list[int]:
        """An offset for every buffer, in the order of add(); 0 for buffers without bytes."""
        result = self.solve()
        if not result.fits:
            raise _spad.FitError(f"{self.name}: {self.why()}")
        found = result.offsets.tolist()
        offsets, at = [], 0
        for buffer in self.buffers:
            offsets.append(found[self._numbers[at]] if buffer.size else self.reserved)
            at += buffer.size > 0
        return offsets

    def why(self) -> str:
        """The reason why it does not fit."""
        return self.solve().explain().partition("why: ")[2].strip()

    def load(self) -> tuple[int, int | None]:
        """The largest sum of sizes that are alive at once, and the first step where it is."""
        changes = {}
        for buffer in self.buffers:
            changes[buffer.first] = changes.get(buffer.first, 0) + buffer.size
            changes[buffer.last + 1] = changes.get(buffer.last + 1, 0) - buffer.size
        most, where, sum_ = 0, None, 0
        for step in sorted(changes):
            sum_ += changes[step]
            if sum_ > most:
                most, where = sum_, step
        return most, where

    def peak(self) -> list[Buffer]:
        """The buffers that are alive at the first step with the largest load, largest first."""
        _, step = self.load()
        alive = [b for b in self.buffers if step is not None and b.size and b.first <= step <= b.last]
        return sorted(alive, key=lambda b: (-b.size, b.first, b.name))

    def greedy(self, latest_first: bool = False, theirs: bool = False) -> int | None:
        """What a planner needs that takes the largest buffer first and puts each as low as it can;
        None for more than 4000 buffers. latest_first: of equal sizes the last one first. theirs: where
        the other planner has a place for a buffer, it is there."""
        if len(self.buffers) > GREEDY_MOST:
            return None
        sign = -1 if latest_first else 1
        order = sorted(((b.theirs if theirs else b.pin, b, i) for i, b in enumerate(self.buffers) if b.size),
                       key=lambda item: (item[0] is None, -item[1].size, sign * item[2]))
        placed, height = [], self.reserved  # (offset, end, first, last), by offset
        for at, buffer, _ in order:
            if at is None:
                at = self._lowest(placed, buffer)
            insort(placed, (at, at + buffer.size, buffer.first, buffer.last))
            height = max(height, at + buffer.size)
        return height

    def _lowest(self, placed, buffer):
        """The lowest place of a buffer next to those that are placed."""
        align = buffer.alignment or self.alignment
        at = -(-self.reserved // align) * align
        for start, end, first, last in placed:
            if last < buffer.first or buffer.last < first or end <= at:
                continue
            if start - at >= buffer.size:
                break
            at = -(-end // align) * align
        return at

    def compare_with(self, name: object, needed: int) -> Self:
        """Says what another planner needed for the same buffers."""
        self.their_name, self.their_bytes = str(name), whole(needed, f"the bytes of {name}")
        return self

    def their_result(self) -> PlanResult | None:
        """Their plan as a spad.PlanResult, checked; None if their offsets are not known for all
        buffers. A plan in which buffers that live at once share bytes raises a FitError."""
        if not self.buffers or any(b.theirs is None and b.size for b in self.buffers):
            return None
        plan, _ = self._problem(lambda buffer: buffer.theirs)
        return plan.solve(minimize=True)

    def their_clash(self) -> tuple[Buffer, Buffer] | None:
        """Two buffers that live at once and that the other planner lets share bytes; None: there are
        none. Some compilers do that on purpose."""
        alive = Alive()
        for buffer in sorted((b for b in self.buffers if b.theirs is not None and b.size),
                             key=lambda b: (b.first, b.theirs)):
            alive.advance(buffer.first)
            other = alive.clash(buffer.theirs, buffer.theirs + buffer.size)
            if other is not None:
                return other, buffer
            alive.add(buffer.theirs, buffer.theirs + buffer.size, buffer.last, buffer)
        return None

    # ---- what is shown

    def step_name(self, step: int | None) -> str:
        name = self.steps.get(step) if step is not None else None
        return f"step {step}" + (f" ({name})" if name else "")

    def verdict(self) -> str:
        result = self.solve()
        if result.verdict == "optimal":
            return "optimal" if not self.views else f"optimal with{'' if self._viewed else 'out'} these views"
        if result.verdict == "feasible":
            return f"bound {self.bound:,} B"
        return result.verdict

    def saving(self) -> str:
        """How many percent fewer bytes than theirs, as text."""
        if not self.their_bytes or self.height is None:
            return ""
        return f"{100 * (self.height - self.their_bytes) / self.their_bytes:+.1f} %"

    def text(self) -> str:
        """What a person wants to know: bytes, proof, who makes the peak."""
        result = self.solve()
        lines = [f"{self.name}: {len(self.buffers):,} buffers"]
        if self.their_bytes is not None:
            lines.append(f"  {self.their_name:<10} {self.their_bytes:>12,} B")
        if self.without_views is not None:
            lines.append(f"  {'no views':<10} {self.without_views:>12,} B")
        if self.height is None:
            lines.append(f"  spad       does not fit: {self.why()}")
        else:
            saved = f"{self.saving()}, " if self.their_bytes else ""
            lines.append(f"  {'spad':<10} {self.height:>12,} B  {saved}{self.verdict()}, "
                         f"{_spad.time_text(result.nanoseconds * 1000)}")
        if self.reserved:
            lines.append(f"  reserved   {self.reserved:>12,} B")
        if self.views:
            copied = sum(self.buffers[part].size for part, _, _ in self.views)
            lines.append("  every buffer has bytes of its own: with views they need more" if not self._viewed else
                         f"  {len(self.views):,} buffers are bytes of another one: {copied:,} B are not copied")
        load, step = self.load()
        peak = self.peak()
        if peak:
            shares = self.height is not None and load > self.height  # buffers that take over others
            apart = " if none takes over the bytes of another" if shares else ""
            lines.append(f"  the live peak is {load:,} B{apart}, at {self.step_name(step)}, with {len(peak):,} buffers:")
            lines += [f"  {b.size:>14,} B  {b.name}, steps {b.first} to {b.last}" for b in peak[:SHOWN]]
            if len(peak) > SHOWN:
                rest = sum(b.size for b in peak[SHOWN:])
                lines.append(f"  {rest:>14,} B  {len(peak) - SHOWN:,} others")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines) + "\n"

    def facts(self) -> _Facts:
        """The same as a dict for JSON."""
        result = self.solve()
        load, step = self.load()
        places = self.offsets if result.fits else [None] * len(self.buffers)
        return {
            "name": self.name, "buffers": len(self.buffers), "verdict": result.verdict,
            "height": self.height, "bound": self.bound, "reserved": self.reserved,
            "their_name": self.their_name, "their_bytes": self.their_bytes,
            "views": len(self.kept_views), "without_views": self.without_views,
            "peak_load": load, "peak_step": step,
            "peak": [b.name for b in self.peak()], "nanoseconds": result.nanoseconds,
            "notes": list(self.notes),
            "places": [{"name": b.name, "first": b.first, "last": b.last, "size": b.size,
                        "offset": at, "their_offset": b.theirs}
                       for b, at in zip(self.buffers, places)],
        }

    def _ids(self, blanks):
        """A name for every buffer as a cell of a CSV file has it, all different. blanks: may it have them?"""
        ids, taken = [], set()
        for buffer in self.buffers:
            base = buffer.name.replace(",", ";")  # a comma ends a cell in any case
            base = name = base if blanks else "_".join(base.split())
            count = 1
            while name in taken:
                count += 1
                name = f"{base}_{count}"
            taken.add(name)
            ids.append(name)
        return ids

    def _relations(self, ids):
        """The cells slice and in_place of every buffer."""
        slices, places = {}, {}
        for part, whole_, at in self.kept_views:
            slices.setdefault(part, []).append(f"{ids[whole_]}@{at}")
        for output, input in dict.fromkeys(self.pairs):
            if output != input and self.buffers[input].size:
                places.setdefault(output, []).append(ids[input])
        return slices, places

    def csv(self) -> str:
        """The buffers and their offsets in the CSV dialect of `spad plan`."""
        offsets, related = self.offsets, bool(self.kept_views or self.pairs)
        aligned = any((b.alignment or self.alignment) > 1 for b in self.buffers)
        ids = self._ids(not related)
        slices, places = self._relations(ids)
        rows = ["id,lower,upper,size" + (",alignment" if aligned else "") +
                (",slice,in_place" if related else "") + ",offset"]
        for number, (buffer, at) in enumerate(zip(self.buffers, offsets)):
            if not buffer.size:
                continue
            align = f",{buffer.alignment or self.alignment}" if aligned else ""
            shared = f",{' '.join(slices.get(number, ()))},{' '.join(places.get(number, ()))}" if related else ""
            rows.append(f"{ids[number]},{buffer.first},{buffer.last + 1},{buffer.size}{align}{shared},{at}")
        return "\n".join(rows) + "\n"

    def report(self, title: str | None = None) -> Report:
        """A spad.Report: the map of the arena."""
        return self.solve().report(title or self.name)

    def __repr__(self):
        return f"<spad arena {self.name}: {len(self.buffers)} buffers>"


class Model:
    """The arenas of one file or program, and the words about them: kind, name, arenas, notes."""

    name: str
    arenas: list[Arena]
    notes: list[str]

    def __init__(self, kind: str, name: object, arenas: Iterable[Arena], notes: Iterable[str] = ()) -> None:
        self.kind, self.name = kind, str(name)
        self.arenas, self.notes = list(arenas), list(notes)

    def solve(self, timeout: float | None = 5, seed: int = 1, threads: int = 1,
              progress: Callable[[_Facts], Any] | None = None) -> Self:
        """Plans every arena; returns the model."""
        for arena in self.arenas:
            arena.solve(timeout, seed, threads, progress)
        return self

    @property
    def fits(self) -> bool:
        return all(arena.fits for arena in self.arenas)

    @property
    def height(self) -> int | None:
        """The sum of the arenas; None if one of them does not fit."""
        heights = [arena.height for arena in self.arenas]
        return None if None in heights else sum(heights)

    @property
    def their_bytes(self) -> int | None:
        """The sum of what the other planner needed; None if that is not known."""
        theirs = [arena.their_bytes for arena in self.arenas]
        return None if None in theirs or not theirs else sum(theirs)

    def text(self) -> str:
        self.solve()
        lines = [f"{self.name}: {self.kind}\n"] + [arena.text() for arena in self.arenas]
        if len(self.arenas) > 1 and self.height is not None:
            theirs = self.their_bytes
            other = f", {theirs:,} B before" if theirs is not None else ""
            lines.append(f"together: {self.height:,} B{other}\n")
        return "".join(lines + [f"note: {note}\n" for note in self.notes])

    def facts(self) -> _Facts:
        self.solve()
        return {"kind": self.kind, "file": self.name, "height": self.height,
                "their_bytes": self.their_bytes, "fits": self.fits,
                "arenas": [arena.facts() for arena in self.arenas], "notes": list(self.notes)}

    def json(self) -> str:
        """facts() as JSON (docs/schema/model.schema.json)."""
        return json.dumps(self.facts(), indent=2) + "\n"

    def largest(self) -> Arena:
        """The arena with the most bytes of buffers; the one that is drawn."""
        if not self.arenas:
            fault("it has no buffers to plan", self.name)
        return max(self.arenas, key=lambda arena: arena.load()[0])

    def report(self, title: str | None = None) -> Report:
        """The picture of the largest arena."""
        return self.largest().report(title or os.path.basename(self.name))

    def __repr__(self):
        return f"<spad model {self.name}: {self.kind}, {len(self.arenas)} arenas>"
