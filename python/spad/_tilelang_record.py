# SPDX-License-Identifier: Apache-2.0
"""Running the body of a TileLang kernel, and what it does as a spad kernel.

The body runs once as Python. A loop gives a symbol for its variable and runs its body once, so
loops stay loops; T.Parallel is one operation per statement. What the body says is kept as a tree of
loops and operations, and written in the kernel language (docs/kernel.md) when the body has ended:
only then is it known which buffers a pipelined loop has to itself. One block is recorded; its
place in the grid are parameters of the kernel, 0 unless defined otherwise.

Everything that cannot be said exactly is refused where it stands (Uncovered), and nothing is
guessed: an index is a sum of loop variables and numbers, and a branch on one is not covered.
"""

import contextvars
import inspect
from contextlib import contextmanager

from . import _spad
from . import core
from . import kernel as _kernel

recorder = contextvars.ContextVar("spad.tilelang.recorder", default=None)


class Uncovered(_spad.StateError):
    """A TileLang construct that spad does not record."""


def need():
    """The recorder of the running kernel body."""
    current = recorder.get()
    if current is None:
        raise _spad.StateError("this is part of a kernel body: use it inside `with T.Kernel(...)` of "
                               "a function with @T.prim_func, and call its record(target)")
    return current


# ---- numbers -----------------------------------------------------------------------------------


class Index:
    """A whole number: text of the kernel language, and how often each parallel variable is in."""

    __slots__ = ("text", "parallel")

    def __init__(self, text, parallel=()):
        self.text, self.parallel = text, dict(parallel)

    def _with(self, other, sign, swap=False):
        if not isinstance(other, (int, Index)):
            return NotImplemented
        left, right = (_index(other), self) if swap else (self, _index(other))
        parallel = dict(left.parallel)
        for name, times in right.parallel.items():
            parallel[name] = parallel.get(name, 0) + times * (1 if sign == "+" else -1)
        text = right.text if left.text == "0" and sign == "+" else (
            left.text if right.text == "0" else f"({left.text} {sign} {right.text})")
        return Index(text, {k: n for k, n in parallel.items() if n})

    def __add__(self, other):
        return self._with(other, "+")

    def __radd__(self, other):
        return self._with(other, "+", True)

    def __sub__(self, other):
        return self._with(other, "-")

    def __rsub__(self, other):
        return self._with(other, "-", True)

    def __mul__(self, other):
        if not isinstance(other, (int, Index)):
            return NotImplemented
        other = _index(other)
        if self.parallel and other.parallel or (self.parallel and not other.text.isdigit()):
            raise Uncovered(f"{self!r} * {other!r} is not a sum of loop variables")
        if other.parallel:
            return other * self
        text = "0" if "0" in (self.text, other.text) else f"({self.text} * {other.text})"
        return Index(text, {k: n * int(other.text) for k, n in self.parallel.items()})

    __rmul__ = __mul__

    def _divided(self, op, other):
        if not isinstance(other, int) or self.parallel:
            raise Uncovered(f"{self!r} {op} {other!r} is not a sum of loop variables")
        return Index(f"({self.text} {op} {other})")

    def __floordiv__(self, other):
        return self._divided("/", other)

    def __mod__(self, other):
        return self._divided("%", other)

    def _branch(self, other):
        raise Uncovered("a comparison of loop variables is a branch of the kernel, which is not "
                        "covered")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _branch
    __hash__ = None

    def __bool__(self):
        self._branch(None)

    def __repr__(self):
        return " + ".join([self.text, *self.parallel])


def _index(number):
    if isinstance(number, Index):
        return number
    if isinstance(number, int):
        return Index(str(number) if number >= 0 else f"(0 - {-number})")
    raise Uncovered(f"{type(number).__name__} as an index")


class Value:
    """What an expression computes: its kind, and the places that it reads."""

    __slots__ = ("kind", "parts")

    def __init__(self, kind, *parts):
        self.kind, self.parts = kind, parts

    def reads(self):
        """The places, in order."""
        for part in self.parts:
            if isinstance(part, Value):
                yield from part.reads()

    def _other(self, other):
        return Value("other", self, other)

    def __add__(self, other):
        return Value("sum", self, other)

    __radd__ = __add__
    __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _other
    __floordiv__ = __mod__ = __pow__ = __and__ = __or__ = __lt__ = __le__ = __gt__ = __ge__ = _other

    def __neg__(self):
        return Value("other", self)

    def __bool__(self):
        raise Uncovered("a branch on a value of the kernel is not covered; T.if_then_else is")


class Place(Value):
    """A part of a buffer: buffer[key]."""

    __slots__ = ("buffer", "key")

    def __init__(self, buffer, key):
        self.kind, self.parts = "place", ()
        self.buffer, self.key = buffer, key if isinstance(key, tuple) else (key,)
        if len(self.key) > len(buffer.shape):
            raise IndexError(f"{len(self.key)} indices for {len(buffer.shape)} dimensions")

    def reads(self):
        yield self

    def same(self, other):
        """Is it the same part of the same buffer?"""
        return (isinstance(other, Place) and other.buffer is self.buffer
                and repr(other.key) == repr(self.key))

    def extents(self):
        """The extents of its slices, or None: it has none."""
        shape = self.buffer.shape
        if not any(isinstance(k, slice) for k in self.key) and len(self.key) == len(shape):
            return None
        return [count for _, count in self.ranges() if count is not None]

    def ranges(self, counts=None):
        """[(first, count)] of each dimension; count None: one place. counts: extents of a region
        that begins here, for the last dimensions."""
        shape = self.buffer.shape
        key = (*self.key, *(slice(None),) * (len(shape) - len(self.key)))
        out = []
        for axis, (k, extent) in enumerate(zip(key, shape)):
            if isinstance(k, slice):
                first = _index(k.start or 0)
                out.append((first, _length(first, k.stop, extent)))
                continue
            k = _index(k)
            count = _spread(k)
            at = axis - len(shape) + len(counts or ())
            if counts and at >= 0:
                count = counts[at]
            out.append((Index(k.text), count))
        return out


def _length(first, stop, extent):
    if stop is None:
        stop = extent
    if first.text.isdigit() and isinstance(stop, int):
        return stop - int(first.text)
    text, begin = _index(stop).text, f"({first.text} + "
    if text.startswith(begin) and text[len(begin):-1].isdigit():
        return int(text[len(begin):-1])
    raise Uncovered(f"a slice from {first!r} to {stop!r}: write x[a : a + number]")


def _spread(index):
    """How far the parallel variables of an index reach; None: it has none."""
    if not index.parallel:
        return None
    (name, times), *more = index.parallel.items()
    if more or times != 1:
        raise Uncovered(f"index {index!r}: one parallel variable, once, is covered")
    return need().parallel[name]


# ---- the tree ----------------------------------------------------------------------------------


class Loop:
    """A loop that stays one. stages: copies in flight of what it has to itself."""

    def __init__(self, name, extent, stages):
        self.name, self.extent, self.stages, self.body = name, extent, stages, []


class Step:
    """One operation."""

    def __init__(self, engine, name, reads, writes, updates, where):
        self.engine, self.name = engine, name
        self.reads, self.writes, self.updates = reads, writes, updates
        self.where = where  # the loops around it

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
        self.body, self.loops, self.parallel = [], [], {}
        self.buffers, self.unnamed, self.grid, self.entered = [], [], [], False
        self.counts, self.blocks, self.code = {}, 1, None

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

    def fresh(self, stem):
        """A name that no other loop or buffer has."""
        taken = {buffer.label for buffer in self.buffers} | set(self.counts)
        number = self.counts.get(stem, -1) + 1
        self.counts[stem] = number
        name = f"{stem}{number}" if stem in taken or number or stem[-1] == "_" else stem
        return name if name not in taken else self.fresh(stem + "_")

    def step(self, engine, name, reads=(), writes=(), updates=()):
        """Records an operation on (buffer, ranges), on the engine if that reaches all of its
        buffers on this chip, otherwise on the threads."""
        rules = self.engines[engine]
        if not ({b.space for b, _ in [*reads, *updates]} <= set(rules["reads"])
                and {b.space for b, _ in [*writes, *updates]} <= set(rules["writes"])):
            engine = "simt"
        home = self.loops[-1].body if self.loops else self.body
        home.append(Step(engine, name, list(reads), list(writes), list(updates),
                         tuple(self.loops)))

    @contextmanager
    def loop(self, extent, stages):
        made = Loop(self.fresh("k"), extent, stages)
        (self.loops[-1].body if self.loops else self.body).append(made)
        self.loops.append(made)
        try:
            yield Index(made.name)
        finally:
            self.loops.pop()

    # ---- writing ----

    def steps(self, body=None):
        """All operations in program order."""
        for item in self.body if body is None else body:
            if isinstance(item, Loop):
                yield from self.steps(item.body)
            else:
                yield item

    def _rings(self):
        """Which shared buffers a pipelined loop has to itself: buffer -> loop. Such a buffer is
        touched nowhere else, and in each turn a copy fills it first."""
        found, lost = {}, set()
        for step in self.steps():
            pipelined = [loop for loop in step.where if loop.stages > 1]
            for (buffer, _), writes in step.accesses():
                loop = pipelined[-1] if pipelined else None
                if buffer.space != "shared" or loop is None or found.get(buffer, loop) is not loop:
                    lost.add(buffer)
                elif buffer not in found and not writes:
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
            if buffer not in used:
                continue
            shape = ", ".join(map(str, buffer.shape))
            loop = rings.get(buffer)
            blocks = f"[{loop.extent}] " if loop else ""
            tail = f" ring {min(loop.stages, loop.extent)}" if loop else ""
            if buffer.space == "global":  # other blocks of a grid write the rest of an output
                outside = buffer in reads or self.blocks > 1
                tail = " input" * outside + " output" * (buffer in writes)
            lines.append(f"tensor {buffer.label} : {buffer.space} {buffer.dtype} {blocks}({shape})"
                         f"{tail}")
        self._write(lines, self.body, rings, "")
        return "\n".join(lines) + "\n"

    def _write(self, lines, body, rings, indent):
        for item in body:
            if isinstance(item, Loop):
                lines.append(f"{indent}for {item.name} in 0..{item.extent} {{")
                self._write(lines, item.body, rings, indent + "    ")
                lines.append(indent + "}")
                continue
            words = [item.engine, item.name]
            for word, places in (("reads", item.reads), ("writes", item.writes),
                                 ("updates", item.updates)):
                if places:
                    words += [word, ", ".join(_place_text(p, rings) for p in places)]
            lines.append(indent + " ".join(words))


def _place_text(place, rings):
    buffer, ranges = place
    tile = f"[{rings[buffer].name}]" if buffer in rings else ""
    parts = []
    for (first, count), extent in zip(ranges, buffer.shape):
        count = 1 if count is None else count
        whole = first.text == "0" and count == extent
        end = str(int(first.text) + count) if first.text.isdigit() else f"{first.text} + {count}"
        parts.append(".." if whole else f"{first.text}..{end}")
    return buffer.label + tile + ("" if all(p == ".." for p in parts) else f"({', '.join(parts)})")


# ---- functions ---------------------------------------------------------------------------------


class Tensor:
    """The annotation of a parameter: Tensor(shape, dtype)."""

    def __init__(self, shape, dtype="float32"):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype = dtype


class GlobalBuffer:
    """A tensor in global memory, as a kernel body sees it."""

    space, is_reducer = "global", False

    def __init__(self, label, shape, dtype):
        self.label, self.shape, self.dtype = label, shape, _spad.dtype_name(dtype)

    def __getitem__(self, key):
        return Place(self, key)

    def __setitem__(self, key, value):
        assign(self, key, value)


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
        if not to.same(place) and repr(at) not in map(repr, reads):
            reads.append(at)
    updates = any(to.same(place) for place in value.reads())
    rec.step("simt", "assign", reads, [] if updates else [there], [there] if updates else [])


class PrimFunc:
    """A kernel function. record(target) runs its body and gives a spad.Kernel."""

    def __init__(self, func):
        self.func, self.__name__, self.__doc__ = func, func.__name__, func.__doc__

    def record(self, target="sm_90", **values):
        """The kernel of one block on a chip. Parameters that are no T.Tensor are given by name."""
        rec = Recorder(target, self.__name__)
        rec.code = self.func.__code__
        token = recorder.set(rec)
        try:
            self.func(**self._arguments(rec, values))
        finally:
            recorder.reset(token)
        if not rec.entered:
            raise Uncovered(f"{self.__name__} has no `with T.Kernel(...)`")
        return _kernel.Kernel.parse(rec.text(), f"<{self.__name__}>")

    def _arguments(self, rec, values):
        given = dict(values)
        for name, parameter in inspect.signature(self.func).parameters.items():
            note = parameter.annotation
            if isinstance(note, Tensor):
                given[name] = GlobalBuffer(rec.fresh(name), note.shape, note.dtype)
                rec.buffers.append(given[name])
            elif name not in given and parameter.default is parameter.empty:
                raise TypeError(f"parameter '{name}' is no T.Tensor: give its value to record()")
        return given

    def __call__(self, *args, **keywords):
        raise Uncovered(f"{self.__name__} is not compiled and cannot run; "
                        f"{self.__name__}.record(target) gives the kernel")
