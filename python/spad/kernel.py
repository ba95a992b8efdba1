# SPDX-License-Identifier: Apache-2.0
"""Kernels: from text, or recorded in a with block.

    with spad.Kernel("trn2", "exp_rows") as k:
        N = k.param("N", 16)
        x = k.tensor("x", "sbuf", "bf16", (128, 512), blocks=[N], ring=2)
        out = k.tensor("out", "hbm", "bf16", (128, 512), blocks=[N], output=True)
        with k.loop("i", N, parallel=True) as i:
            k.dma("load", writes=x[i])
            k.dma("store", reads=x[i], writes=out[i])
    print(k.check().verdict, k.layout().text())

The recorder writes the kernel language (docs/kernel.md) and the library reads it, so there
is one set of rules; `k.source` is that text. A fault names the line of the with block.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from . import _spad
from . import core

if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from os import PathLike
    from typing import Any, NoReturn, Self, TypeAlias, Unpack
    from ._spad import _CheckOptions, _Facts, _Shape, Target
    from .core import Advice, Analysis, Check, Frontier, Layout, Report, Sim, Tune

    _Number: TypeAlias = "int | Expr"
    _Numbers: TypeAlias = "int | Expr | Sequence[int | Expr]"
    _Handles: TypeAlias = "Handle | str | Sequence[Handle | str]"


class Expr:
    """A whole number of a kernel: a parameter, a loop variable, or a sum of them. `//` and `%`
    are the language's `/` and `%`; comparisons are conditions for `k.when`. Python cannot branch
    on one: its value is known when the kernel runs, not while it is recorded."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def _binary(self, op, other, swap=False):
        left, right = (other, self) if swap else (self, other)
        return Expr(f"({_number(left)} {op} {_number(right)})")

    def __add__(self, other: _Number) -> Expr:
        return self._binary("+", other)

    def __radd__(self, other: _Number) -> Expr:
        return self._binary("+", other, True)

    def __sub__(self, other: _Number) -> Expr:
        return self._binary("-", other)

    def __rsub__(self, other: _Number) -> Expr:
        return self._binary("-", other, True)

    def __mul__(self, other: _Number) -> Expr:
        return self._binary("*", other)

    __rmul__ = __mul__

    def __floordiv__(self, other: _Number) -> Expr:
        return self._binary("/", other)

    def __mod__(self, other: _Number) -> Expr:
        return self._binary("%", other)

    def __neg__(self) -> Expr:
        return Expr(f"(-{self.text})")

    def _compare(self, relation, other):
        return Condition(f"{self.text} {relation} {_number(other)}")

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return self._compare("==", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return self._compare("!=", other)

    def __lt__(self, other: _Number) -> Condition:
        return self._compare("<", other)

    def __le__(self, other: _Number) -> Condition:
        return self._compare("<=", other)

    def __gt__(self, other: _Number) -> Condition:
        return self._compare(">", other)

    def __ge__(self, other: _Number) -> Condition:
        return self._compare(">=", other)

    __hash__: None = None

    def __bool__(self) -> NoReturn:
        raise TypeError(f"'{self.text}' has no value while the kernel is recorded; for a branch of "
                        f"the kernel write `with k.when({self.text} != 0):`")

    def __repr__(self):
        return self.text


class Condition:
    """What a comparison of an Expr gives, for `k.when`; `a & b` holds where both do, and `a | b`
    where one of them does. It is neither true nor false in Python, so `if`, `and`, `not`,
    `0 < i < 5`, min() and max() refuse it; `k.min` and `k.max` are for numbers of the kernel."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __and__(self, other: Condition) -> Condition:
        if not isinstance(other, Condition):
            return NotImplemented
        for side in (self, other):
            if " or " in side.text:
                raise TypeError(f"'{side.text}' cannot be one side of `&`: the language has no "
                                f"parentheses in conditions; write (a & c) | (b & c)")
        return Condition(f"{self.text} and {other.text}")

    def __or__(self, other: Condition) -> Condition:
        if not isinstance(other, Condition):
            return NotImplemented
        return Condition(f"{self.text} or {other.text}")

    def __bool__(self) -> NoReturn:
        raise TypeError(f"'{self.text}' is neither true nor false while the kernel is recorded; for "
                        f"a branch of the kernel write `with k.when(...):` and `k.otherwise()`, with "
                        f"`&` or a comma between comparisons")

    def __eq__(self, other: object) -> NoReturn:
        return bool(self)

    __hash__: None = None

    def __repr__(self):
        return self.text


class _Unknown:
    """An array of unknown values: `u[i]` is a number of the kernel."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __getitem__(self, index):
        return Expr(f"{self.name}[{_number(index)}]")


def _name(name):
    """A name that the kernel language takes for one word."""
    if not isinstance(name, str):
        raise TypeError(f"a name is a str, not {name!r}")
    if not (name.isascii() and name.isidentifier() and len(name) <= 63):
        raise _spad.ArgumentError(f"{name!r} is no name: a name is a letter or _ and up to 62 more "
                                  f"letters, digits or _")
    return name


def _chosen(word, first, others):
    if not others:
        raise TypeError(f"{word}() needs two numbers or more")
    return Expr(f"{word}({', '.join(str(_number(n)) for n in (first, *others))})")


def _quoted(text):
    """A string of the kernel language."""
    for raw, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(raw, escaped)
    return f'"{text}"'


def _known(name):
    """The name of something of the chip, which is quoted where it is not one word."""
    if not isinstance(name, str):
        raise TypeError(f"a name is a str, not {name!r}")
    return name if name.isascii() and name.isidentifier() else _quoted(name)


def _space(name):
    """The name of a space of the chip, or of an instance of one: "ub", "ub[1]"."""
    if not isinstance(name, str):
        raise TypeError(f"a name is a str, not {name!r}")
    base, bracket, instance = name.removesuffix("]").partition("[")
    if bracket and name.endswith("]") and instance.isascii() and instance.isdigit():
        return f"{_known(base)}[{int(instance)}]"
    return _known(name)


def _number(value):
    if isinstance(value, Expr):
        return value.text
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"a whole number or an expression is needed, not {value!r}")
    return str(value.__index__())


def _numbers(values):
    if isinstance(values, Expr) or hasattr(values, "__index__"):
        values = (values,)
    return ", ".join(_number(value) for value in values)


def _counts(values):
    text = _numbers(values)
    return f"[{text}]" if "," in text else text


class Handle:
    """Something with a name and, where it has dimensions, an index: x[i], full[s]. A further
    index is a part of a tile: x[i][0:64, :]."""

    __slots__ = ("text", "_indexed")

    def __init__(self, text: str, indexed: bool = False) -> None:
        self.text = text
        self._indexed = indexed

    def __getitem__(self, key: Any) -> Handle:
        key = key if isinstance(key, tuple) else (key,)
        if not self._indexed and not any(isinstance(k, slice) for k in key):
            return Handle(f"{self.text}[{_numbers(key)}]", True)
        return Handle(f"{self.text}({', '.join(_range(k) for k in key)})", True)

    def moving(self, count: _Number) -> Handle:
        """The same part, of which an access that may touch it moves `count` bytes."""
        return Handle(f"{self.text} moves {_number(count)}", True)

    __iter__: None = None  # an index is an expression, so Python would iterate forever
    __contains__: None = None

    def __repr__(self):
        return self.text


def _range(key):
    if not isinstance(key, slice):
        return _number(key)
    step = "" if key.step is None else f" by {_number(key.step)}"
    if key.start is None and key.stop is None:
        return ".." + step
    if key.stop is None:
        raise TypeError("a part of a tile is [:], [a:b], [a:b:step], [::step] or [a]")
    return f"{_number(0 if key.start is None else key.start)}..{_number(key.stop)}{step}"


def _names(things):
    if isinstance(things, (Handle, str)):
        things = (things,)
    return ", ".join(_name(thing) if isinstance(thing, str) else _handle(thing).text
                     for thing in things)


def _handle(thing):
    if not isinstance(thing, Handle):
        raise TypeError(f"something that the kernel declares is needed, not {thing!r}")
    return thing


class _Finished:
    """A kernel that was read: what the C part hands out (Layout.kernel, Tune.chosen ...). A Kernel has
    these methods, too."""

    def walk(self, agent: str | int = "all", layout: Layout | bool | None = None,
             trace: _spad.Trace | None = None) -> _spad.Walk:
        """The events of a run in program order, a dict each: an iterator, which holds nothing of
        what has been. agent: a name, a number or "all"; layout: where planned tensors are (True
        plans first); trace: where scoped managers log."""
        made = core._kernel_in(self)
        return _spad.walk(made, agent, _spad.layout(made) if layout is True else layout, trace)

    def analyse(self, skip: Iterable[str] = (), **options: Any) -> Analysis:
        """spad.analyse of this kernel."""
        return core.analyse(self, skip, **options)

    def check(self, layout: Layout | bool | None = None, **options: Unpack[_CheckOptions]) -> Check:
        """spad.check of this kernel."""
        return core.check(self, layout, **options)

    def layout(self, timeout: float | None = None, seed: int = 0, threads: int = 1,
               progress: Callable[[_Facts], Any] | None = None) -> Layout:
        """spad.layout of this kernel."""
        return core.layout(self, timeout, seed, threads, progress)

    def sim(self, layout: Layout | bool | None = None, **options: Any) -> Sim:
        """spad.sim of this kernel."""
        return core.sim(self, layout, **options)

    def advise(self, skip: Iterable[str] = (), depth_most: int = 0, trials_most: int = 0, timeout: float | None = None,
               steps: bool = False) -> Advice:
        """spad.advise of this kernel."""
        return core.advise(self, skip, depth_most, trials_most, timeout, steps)

    def tune(self, depth_most: int = 0, exhaustive_most: int = 0, timeout: float | None = None, steps: bool = False,
             progress: Callable[[_Facts], Any] | None = None) -> Tune:
        """spad.tune of this kernel."""
        return core.tune(self, depth_most, exhaustive_most, timeout, steps, progress)

    def frontier(self, release: bool = False, timeout: float | None = None, steps: bool = False,
                 seed: int = 0) -> Frontier:
        """spad.frontier of this kernel."""
        return core.frontier(self, release, timeout, steps, seed)

    def report(self, timed: bool = True) -> Report:
        """A Report with places, findings and, unless timed is False, the times of the
        simulation."""
        return core.analyse(self, () if timed else ("sim",)).report()

    def _repr_html_(self):
        return self.report().light()

    def __repr__(self):
        return f"<spad.Kernel {self.name} on {self.target.name}>"


core._part_of(_spad.Kernel)(_Finished)


def _fact(name: str, doc: str) -> Any:
    """A property of a kernel that is known once it is finished."""
    return property(lambda self: getattr(self._finished(), name), doc=doc)


class Kernel(_Finished):
    """Kernel(target, name="kernel", about=""): a kernel that is recorded in a with block.

    Kernel.parse(text) and Kernel.load(path) read one. Afterwards: check(), layout(), sim(),
    tune(), report(), reshape(), and the fields name, target, params, tensors, source.
    """

    def __init__(self, target: Target | str, name: str = "kernel", about: str = "") -> None:
        self._c = None
        self._chip = target if isinstance(target, _spad.Target) else core.Target(target)
        self._lines = [f"kernel {_name(name)} on {_quoted(self._chip.name)}"
                       + (f" {_quoted(about)}" if about else "")]
        self._places = [None]
        self._depth = 0
        self._runners = set(self._chip.engines) if isinstance(self._chip, core.Target) else set()

    # ---- reading ----------------------------------------------------------------------

    @classmethod
    def _of(cls, made):
        kernel = cls.__new__(cls)
        kernel._c = made
        kernel._places = None
        return kernel

    @classmethod
    def parse(cls, text: str, file: str = "<kernel>", defines: Mapping[str, int] | None = None,
              rings: Mapping[str, int] | None = None, target: Target | str | None = None) -> Self:
        """A kernel from its text."""
        return cls._of(_spad.Kernel.parse(text, file, defines, rings, target))

    @classmethod
    def read_ttgir(cls, text: str, file: str = "<ttgir>", defines: Mapping[str, int] | None = None,
                   target: Target | str | None = None) -> Self:
        """A kernel from TTGIR, as Triton prints it; spad.triton.load has more."""
        return cls._of(_spad.Kernel.read_ttgir(text, file, defines, None, target)[0])

    @classmethod
    def load(cls, path: str | PathLike[str], defines: Mapping[str, int] | None = None,
             rings: Mapping[str, int] | None = None, target: Target | str | None = None) -> Self:
        """A kernel from a file: kernel text, or TTGIR of Triton where the name ends in .ttgir."""
        if str(path).endswith(".ttgir"):
            return cls.read_ttgir(*core._read(path, core._TEXT_MIB), defines, target)
        return cls.parse(*core._read(path, core._TEXT_MIB), defines, rings, target)

    # ---- recording --------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: types.TracebackType | None) -> None:
        if kind is None:
            self.finish()

    def finish(self) -> Self:
        """Reads what was recorded; the end of the with block does it."""
        if self._c is not None:
            return self
        text = "\n".join(self._lines) + "\n"
        try:
            self._c = _spad.Kernel.parse(text, "<recorded>", None, None, self._chip)
        except _spad.Error as error:
            place = self.place(error.line) if error.line else None
            if place is not None:
                error.add_note("recorded at {}:{}".format(*place))
            raise
        return self

    def place(self, line: int) -> tuple[str, int] | None:
        """(file, line) of the Python statement that recorded a line of the kernel, or None."""
        if self._places is None or not 0 < line <= len(self._places):
            return None
        return self._places[line - 1]

    def _finished(self) -> _spad.Kernel:
        if self._c is None:
            raise _spad.StateError("the kernel is still being recorded")
        return self._c

    def line(self, text: str) -> None:
        """Records statements as text."""
        if self._c is not None:
            raise _spad.StateError("the kernel is finished")
        frame = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__") in (__name__, "contextlib"):
            frame = frame.f_back
        for part in text.split("\n"):
            self._lines.append("    " * self._depth + part)
            self._places.append((frame.f_code.co_filename, frame.f_lineno) if frame else None)

    @contextmanager
    def _body(self, opening):
        self.line(opening + " {")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
        self.line("}")

    def param(self, name: str, value: _Number, any: bool = False) -> Expr:
        """A number that can be replaced later. any: it is not known before the kernel runs, and a
        check proves all values or nothing."""
        self.line(f"param {_name(name)} = {_number(value)}{' any' if any else ''}")
        return Expr(name)

    def unknown(self, name: str, least: _Number = 0, end: _Number = 2, count: _Number | None = None,
                values: Iterable[_Number] | None = None) -> Any:
        """Values that only the data decides, from least up to end, which is not one: a check looks at
        all of them. Gives a number, or with count an array of them; values: what is taken for
        them elsewhere."""
        size = "" if count is None else f"[{_number(count)}]"
        given = "" if values is None else f" = [{', '.join(str(_number(v)) for v in values)}]"
        self.line(f"unknown {_name(name)}{size} in {_number(least)}..{_number(end)}{given}")
        return Expr(name) if count is None else _Unknown(name)

    def tensor(self, name: str, space: str, dtype: Any, shape: _Shape, blocks: _Numbers | None = None,
               ring: _Numbers | None = None, at: _Number | None = None, mod: Mapping[str, Any] | None = None,
               lane: _Number | None = None, bank: _Number | None = None, step: _Number | None = None,
               align: int | None = None, stack: bool = False, heap: bool = False, alias: Any = None,
               input: bool = False, output: bool = False, persistent: bool = False, reused: _Number | None = None,
               near: _Number | None = None, cached: tuple[_Number, _Number] | None = None,
               pieces: _Number | None = None, like: Any = None) -> Handle:
        """A tensor of blocks of tiles. mod: a dict with base, lane, bank, free, par, banks. alias:
        a tensor or tile, or (that, bytes after its start). cached: (n, m), the last n of m tiles in a
        row are in a cache; pieces: bytes that a thread accesses at a time. like: a tensor in an earlier instance of the
        space, whose bytes and ring this one has."""
        text = f"tensor {_name(name)} : {_space(space)} {_spad.dtype_name(dtype)}"
        if blocks is not None:
            text += f" [{_numbers(blocks)}]"
        text += f" ({_numbers(shape)})"
        if alias is not None:
            of, byte = alias if isinstance(alias, tuple) else (alias, None)
            text += f" alias of {_handle(of).text}" + (f" + {_number(byte)}" if byte is not None else "")
        if mod is not None:
            text += " mod" + "".join(
                f" {_name(key)} {_counts(value) if key in ('free', 'par', 'banks') else _number(value)}"
                for key, value in mod.items())
        for word, value in (("at", at), ("lane", lane), ("bank", bank), ("step", step)):
            if value is not None:
                text += f" {word} {_number(value)}"
        if ring is not None:
            text += f" ring {_counts(ring)}"
        if like is not None:
            text += f" like {_handle(like).text}"
        for word, value in (("align", align), ("reused", reused), ("near", near)):
            if value is not None:
                text += f" {word} {_number(value)}"
        if cached is not None:
            text += f" cached {_number(cached[0])} of {_number(cached[1])}"
        if pieces is not None:
            text += f" pieces {_number(pieces)}"
        for word, flag in (("stack", stack), ("heap", heap), ("input", input), ("output", output),
                           ("persistent", persistent)):
            text += f" {word}" if flag else ""
        self.line(text)
        return Handle(name)

    def grid(self, blocks: _Number) -> None:
        """How many blocks the grid has, of which the kernel describes one."""
        self.line(f"grid {_number(blocks)}")

    def threads(self, threads: _Number, registers: _Number | None = None) -> None:
        """How many threads the main program has, which are those of a block, and how many registers each of them
        is limited to."""
        self.line(f"threads {_number(threads)}" + ("" if registers is None else f" registers {_number(registers)}"))

    def assume(self, text: str) -> None:
        """What a proof about the kernel rests on, as a clause: "the loop in line 7 has 3 rounds"."""
        self.line(f"assume {_quoted(text)}")

    def undecided(self, text: str) -> None:
        """Why a check may find errors, but proves nothing: "data decides the branch in line 7"."""
        self.line(f"undecided {_quoted(text)}")

    def uncounted(self, text: str) -> None:
        """Work that no statement stands for: its simulated time leaves it out, and says so."""
        self.line(f"uncounted {_quoted(text)}")

    def cluster(self, blocks: _Number) -> None:
        """The agents are those of several blocks of a cluster."""
        self.line(f"cluster {_number(blocks)}")

    def region(self, space: str, lower: _Number, upper: _Number, behaviour: str = "exact") -> None:
        """The bytes that the scoped manager of a space works on."""
        self.line(f"region {_space(space)} {_number(lower)}..{_number(upper)} as {_name(behaviour)}")

    def unit(self, name: str, engine: str, order: str = "free", proxy: bool = False,
             fence: str | None = None) -> Handle:
        """A unit that runs operations on its own after they were issued. fence: a fence of the target that
        its operations need, such as "wgmma"."""
        needs = "" if fence is None else f" fence {_known(fence)}"
        self.line(f"unit {_name(name)} on {_known(engine)} {_name(order)}" + (" proxy" if proxy else "") + needs)
        self._runners.add(name)
        return Handle(name)

    def _object(self, word, name, dims, tail):
        self.line(f"{word} {_name(name)}" + (f"[{_numbers(dims)}]" if dims is not None else "") + tail)
        return Handle(name)

    def barrier(self, name: str, count: _Number, dims: _Numbers | None = None) -> Handle:
        """All contributions come before every sync returns."""
        return self._object("barrier", name, dims, f" count {_number(count)}")

    def mbarrier(self, name: str, count: _Number, dims: _Numbers | None = None, at: _Number | None = None,
                 each_block: bool = False) -> Handle:
        """A barrier with phases, which may expect bytes. at: its byte in shared memory. each_block: the first of dims
        counts the blocks of the cluster, and each has its own, at the same bytes."""
        place = ("" if at is None else f" at {_number(at)}") + (" each block" if each_block else "")
        return self._object("mbarrier", name, dims, f" count {_number(count)}{place}")

    def counter(self, name: str, value: _Number = 0, dims: _Numbers | None = None) -> Handle:
        """A semaphore."""
        return self._object("counter", name, dims, f" = {_number(value)}")

    def group(self, name: str) -> Handle:
        """Bundles of operations that are waited for together."""
        return self._object("group", name, None, "")

    @contextmanager
    def loop(self, name: str, begin: _Number, end: _Number | None = None, parallel: bool = False,
             step: _Number = 1) -> Iterator[Expr]:
        """for name in begin..end; loop(name, n) starts at 0. Gives the variable. Bounds may have
        variables of loops around; a negative step runs from end - 1 down to begin."""
        if end is None:
            begin, end = 0, begin
        head = f"for {_name(name)} in {_number(begin)}..{_number(end)}"
        head += "" if isinstance(step, int) and step == 1 else f" step {_number(step)}"
        with self._body(head + (" parallel" if parallel else "")):
            yield Expr(name)

    def cursor(self, stage: str, phase: str, count: _Number) -> tuple[Expr, Expr]:
        """A position in a ring of `count` stages, at stage 0 of phase 0. Gives stage and phase as
        numbers; `k.advance(stage)` moves it on."""
        self.line(f"cursor {_name(stage)}, {_name(phase)} mod {_number(count)}")
        return Expr(stage), Expr(phase)

    def advance(self, stage: Expr, by: _Number = 1) -> None:
        """On to the next stage of a cursor, or `by` stages on."""
        tail = "" if isinstance(by, int) and by == 1 else f" by {_number(by)}"
        self.line(f"advance {_number(stage)}{tail}")

    def when(self, *conditions: Condition) -> AbstractContextManager[None]:
        """An if; all conditions, which are comparisons of expressions, must hold."""
        for condition in conditions:
            if not isinstance(condition, Condition):
                raise TypeError(f"a comparison of a parameter or loop variable is needed, not "
                                f"{condition!r}")
        if not conditions:
            raise TypeError("when() needs a condition")
        all_hold = conditions[0]
        for condition in conditions[1:]:
            all_hold = all_hold & condition
        return self._body("if " + all_hold.text)

    def min(self, first: _Number, *others: _Number) -> Expr:
        """The smallest of several numbers of the kernel."""
        return _chosen("min", first, others)

    def max(self, first: _Number, *others: _Number) -> Expr:
        """The largest of several numbers of the kernel."""
        return _chosen("max", first, others)

    def otherwise(self) -> AbstractContextManager[None]:
        """The else of the `when` that was closed just now."""
        if not self._lines[-1].endswith("}"):
            raise _spad.StateError("there is no `when` in front of this")
        self._lines.pop()
        self._places.pop()
        return self._body("} else")

    def scope(self, name: str, sections: _Number | None = None) -> AbstractContextManager[None]:
        """A scope of every scoped manager."""
        tail = "" if sections is None else f" sections {_number(sections)}"
        return self._body(f"scope {_name(name)}{tail}")

    def agent(self, name: str, threads: _Number | None = None,
              registers: _Number | None = None) -> AbstractContextManager[None]:
        """A part that runs beside the other agents; how many threads it has, and how many
        registers each of them is limited to."""
        tail = "" if threads is None else f" of {_number(threads)} threads"
        tail += "" if registers is None else f" registers {_number(registers)}"
        return self._body(f"agent {_name(name)}{tail}")

    def leave(self) -> None:
        """A break: ends the innermost loop of the kernel."""
        self.line("break")

    def next_section(self) -> None:
        """On to the next section of the innermost scope."""
        self.line("next section")

    def op(self, runner: str, name: str, reads: _Handles = (), writes: _Handles = (), updates: _Handles = (),
           group: Handle | None = None, delivers: Handle | None = None, arrives: Handle | None = None,
           signals: Handle | None = None, cycles: _Number | None = None, ns: _Number | None = None, adds: _Handles = (),
           elected: bool = False, latency_cycles: _Number | None = None, latency_ns: _Number | None = None,
           work: Mapping[str, _Number] | None = None, may_read: _Handles = (), may_write: _Handles = (),
           may_update: _Handles = ()) -> None:
        """An operation on an engine or a unit; also as a method: k.dma("load", writes=x[i]).
        elected: one thread of the agent runs it, not all. work: per element, {"fma": 2, "exp": 1}.
        may_read and so on: where only the device knows which bytes of a part are accessed;
        `x.moving(4096)` says how many are."""
        text = f"{_known(runner)} {_name(name)}"
        for word, things in (("reads", reads), ("writes", writes), ("updates", updates),
                             ("adds", adds), ("may reads", may_read), ("may writes", may_write),
                             ("may updates", may_update)):
            names = _names(things)
            text += f" {word} {names}" if names else ""
        text += " elected" if elected else ""
        for word, thing in (("in", group), ("delivers", delivers), ("arrives", arrives),
                            ("signals", signals)):
            text += f" {word} {_names(thing)}" if thing is not None else ""
        if cycles is not None:
            text += f" cost {_number(cycles)} cycles"
        if ns is not None:
            text += f" cost {_number(ns)} ns"
        if latency_cycles is not None:
            text += f" latency {_number(latency_cycles)} cycles"
        if latency_ns is not None:
            text += f" latency {_number(latency_ns)} ns"
        if work:
            text += " work " + ", ".join(f"{_number(n)} {_name(kind)}" for kind, n in work.items())
        self.line(text)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.__dict__.get("_runners", ()):
            return partial(self.op, name)
        raise AttributeError(f"'{type(self).__name__}' has no engine, unit or attribute '{name}'")

    def __dir__(self):
        return sorted({*super().__dir__(), *self.__dict__.get("_runners", ())})

    def _about(self, word, thing, last="", **clauses):
        self.line(f"{word} {_handle(thing).text}" + "".join(
            f" {key} {_number(value)}" for key, value in clauses.items() if value is not None) + last)

    def alloc(self, tile: Any) -> None:
        """A tile, or a whole tensor, becomes alive."""
        self._about("alloc", tile)

    def free(self, tile: Any) -> None:
        """The reverse."""
        self._about("free", tile)

    def sync(self, barrier: Handle, by: _Number | None = None) -> None:
        """Contributes to a barrier and waits."""
        self._about("sync", barrier, by=by)

    def arrive(self, barrier: Handle, by: _Number | None = None, expect: _Number | None = None,
               elected: bool = False) -> None:
        """Contributes without waiting. elected: one thread of the agent arrives, for itself."""
        self._about("arrive", barrier, " elected" if elected else "", by=by, expect=expect)

    def signal(self, counter: Handle, by: _Number | None = None) -> None:
        """Adds to a counter."""
        self._about("signal", counter, by=by)

    def take(self, counter: Handle, by: _Number | None = None) -> None:
        """Waits for a counter and takes from it."""
        self._about("take", counter, by=by)

    def wait(self, thing: Handle, at_least: _Number | None = None, parity: _Number | None = None,
             pending: _Number | None = None, next: bool = False, elected: bool = False) -> None:
        """Waits for a counter, a phase of an mbarrier, or a group. next: for the phase after the one
        that this agent waited for last. elected: one thread of the agent waits for the phase."""
        last = " elected" if elected else ""
        if next:
            self.line(f"wait {_handle(thing).text} next{last}")
        for word, value in ((">=", at_least), ("parity", parity), ("pending", pending)):
            if value is not None:
                self.line(f"wait {_handle(thing).text} {word} {_number(value)}{last}")

    def init(self, mbarrier: Handle, count: _Number | None = None) -> None:
        """The beginning of an mbarrier's life."""
        self._about("init", mbarrier, count=count)

    def commit(self, group: Handle) -> None:
        """Closes a bundle of operations."""
        self._about("commit", group)

    def drain(self, unit: Handle | None = None) -> None:
        """What was issued before is done before what is issued after."""
        self.line(f"drain {_handle(unit).text if unit is not None else 'all'}")

    def fence(self, kind: str | None = None, when: str | None = None) -> None:
        """A proxy fence for all memory, or a fence of the target by name; when: "before" or "after" threads meet."""
        kind = "" if kind is None else f" {_known(kind)}"
        when = "" if when is None else f" {_name(when)}"
        self.line("fence" + kind + when)

    # ---- what can be found out --------------------------------------------------------

    name: str = _fact("name", "Its name.")
    about: str = _fact("about", "Its line of text.")
    target: _spad.Target = _fact("target", "Its chip.")
    params: dict[str, int] = _fact("params", "Parameters and their values.")
    tensors: list[_Facts] = _fact("tensors", "Its tensors, a dict each.")
    source: str | None = _fact("source", "The text it was read from.")
    file: str | None = _fact("file", "The file it was read from.")
    is_implicit: bool = _fact("is_implicit", "Are dependencies left to the compiler?")
    regions: list[_Facts] = _fact("regions", "The regions of scoped managers, a dict each.")
    units: list[_Facts] = _fact("units", "Units, a dict each.")
    syncs: list[_Facts] = _fact("syncs", "Barriers, counters, mbarriers and groups, a dict each.")
    agents: list[_Facts] = _fact("agents", "The main program and the agents, a dict each.")
    loops: list[_Facts] = _fact("loops", "Its loops, a dict each.")
    unknowns: list[_Facts] = _fact("unknowns", "Its unknown values, a dict each.")
    sources: list[_Facts] = _fact("sources", "Lines of the program that it was made from, a dict each.")
    cursors: list[_Facts] = _fact("cursors", "Its cursors, a dict each.")
    statements: list[_Facts] = _fact("statements", "Its statements in the order of the text, a dict each.")

    def text(self) -> str:
        """The kernel as text, with the parameters that hold."""
        return self._finished().text()

    def fold(self) -> Kernel:
        """The kernel with the loops of a straight one found again; the same operations in the same
        order. This kernel itself where nothing repeats."""
        made = self._finished().fold()
        return self if made is None else Kernel._of(made)

    def trace(self) -> _spad.Trace:
        """What a run allocates, as a Trace."""
        return self._finished().trace()

    def release(self) -> Kernel:
        """The same kernel without the addresses of its tensors on chip."""
        return Kernel._of(self._finished().release())

    def reshape(self, defines: Mapping[str, int] | None = None, rings: Mapping[str, int] | None = None) -> Kernel:
        """The same kernel with other parameters and ring depths."""
        return Kernel._of(self._finished().reshape(defines, rings))

    def hoist(self, tensor: str, tiles: int) -> Kernel:
        """The same kernel with a tensor that is declared in a loop declared in front of it, with
        that many tiles by turns: what tune() names in data["hoists"]."""
        return Kernel._of(self._finished().hoist(tensor, tiles))

    def __reduce__(self) -> Any:
        return _again, (self.text(), self.target.text())

    def _repr_html_(self) -> str | None:
        return self.report().light() if self._c is not None else None

    def __repr__(self):
        if self._c is None:
            return f"<spad.Kernel: {len(self._lines)} lines so far>"
        return f"<spad.Kernel {self.name} on {self.target.name}>"


def _again(text: str, target: str) -> Kernel:
    """A kernel from its pickle: its text and that of its chip."""
    return Kernel.parse(text, target=core.Target.parse(target))
