# SPDX-License-Identifier: Apache-2.0
"""Unmodified NKI kernels, traced: run once under a stand-in for nki, and recorded as a spad.Kernel.

    import spad.nki.trace as nt
    with nt.installed():
        from mykernels import scale
    k = nt.trace(scale, nt.hbm((128, 512), "bf16"), target="trn2")
    print(k.check().text(), k.plan().text(), k.sim().text())

docs/nki-reference.md says what is modelled, docs/nki-trace.md what "proved" means for a traced shape.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import json
import os
import re
import sys
import threading
import traceback
from typing import TYPE_CHECKING

from .. import _spad
from .. import core
from .. import kernel as _kernel
from .._program.load import LoadError, function_at
from . import _direct
from ._older import Again, unwrapped
from ._programs import Turns, two_cores
from ._record import NotCovered, Recorder, TraceError, _current
from ._same_values import SameValues
from ._stand_in import Jit, MemoryRegion, installed, unchanged_modules
from ._trips import over_trips
from ._views import View, item_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any
    from ..core import Check, Finding, Layout, Report
    from ..kernel import Kernel

__all__ = ["Array", "Hbm", "Ran", "Traced", "TraceError", "array", "example", "hbm", "installed", "load", "run",
           "trace"]

OPERATIONS_MOST = 1_000_000


class Hbm:
    """A tensor in HBM that a kernel is called with."""

    __slots__ = ("shape", "dtype")

    def __init__(self, shape: int | Sequence[int], dtype: str) -> None:
        if isinstance(shape, int):
            shape = (shape,)
        self.shape: tuple[int, ...] = tuple(shape)
        if not self.shape or any(isinstance(count, bool) or not isinstance(count, int) or count < 1
                                 for count in self.shape):
            raise _spad.ArgumentError(f"{shape!r} is no shape: it has whole numbers from 1 on")
        self.dtype: str = _spad.dtype_name(dtype)
        item_bytes(self.dtype)

    def __repr__(self):
        return f"nt.hbm({self.shape}, '{self.dtype}')"


def hbm(shape: int | Sequence[int], dtype: str) -> Hbm:
    """An argument of a trace: a tensor in HBM with this shape and element type."""
    return Hbm(shape, dtype)


_FROM = re.compile(r" from (\d+)$")


class Traced(_kernel.Kernel):
    """The kernel of a trace: a spad.Kernel with `notes`, what the trace had to enclose or leave out as
    ((file, line), text); and `operations`, how many were recorded."""

    notes: list[tuple[tuple[str, int] | None, str]]
    operations: int

    def __init__(self, recorder: Any, text: str, fold: bool) -> None:
        super().__init__(recorder.chip, recorder.name)
        self.notes, self.operations = recorder.notes, recorder.operations
        self._rows = recorder.sources.rows
        self._text, self._fold, self._traced_name = text, fold, recorder.name
        self.faults: list[tuple[tuple[str, int] | None, str, str]] = []
        if recorder.older is not None:
            self.faults = recorder.older.findings()
        self._warnings = recorder.equal_stores

    def finish(self) -> Traced:
        """Reads what was recorded, and finds its loops."""
        if self._c is None:
            try:
                made = _spad.Kernel.parse(self._text, "<traced>", None, None, self._chip)
            except _spad.TextError as error:
                self._split = self._text.split("\n")
                place = self.place(error.line or 0)
                if place is None:
                    raise
                refused = TraceError(error.faults[0]["message"])
                refused.place = place
                raise _failure(self._traced_name, refused) from error
            folded = made.fold() if self._fold else None
            self._is_folded = folded is not None
            self._c, self._text = made if folded is None else folded, None
        return self

    @functools.cached_property
    def folded(self) -> tuple[int, int] | None:
        """The numbers of statements and loops that the operations became, or None where nothing repeats."""
        if not self._is_folded:
            return None
        return sum(row["kind"] == "operation" for row in self.statements), len(self.loops)

    def summary(self) -> str:
        """How many operations were recorded, and what they became."""
        if self.folded is None:
            return f"{self.operations} operation{'s' * (self.operations != 1)}, without loops"
        statements, loops = self.folded
        return (f"{self.operations} operations, folded into {statements} statement{'s' * (statements != 1)} "
                f"in {loops} loop{'s' * (loops != 1)}")

    def over_trips(self) -> Kernel | None:
        """The kernel with a parameter for each trip count of its outer loops, to ask the check about others; None
        where nothing was folded. Of other shapes of the kernel in Python it says nothing: only that the loops
        that were found, with as many rounds as one likes, are right."""
        text = over_trips(self.source) if self._is_folded else None
        return _kernel.Kernel.parse(text, "<traced>", None, None, self._chip) if text is not None else None

    def place(self, line: int) -> tuple[str, int] | None:
        """(file, line) of the Python that a line of the kernel comes from, or None."""
        chain = self.chain(line)
        return chain[0] if chain else None

    def chain(self, line: int) -> list[tuple[str, int]]:
        """The (file, line) that a line of the kernel comes from, and of the calls that led to it."""
        if self._split is None:
            self._split = self.source.split("\n")
        found = _FROM.search(self._split[line - 1]) if 0 < line <= len(self._split) else None
        number, places = int(found[1]) if found else None, []
        while number is not None:
            file, at, number, _ = self._rows[number]
            places.append((file, at))
        return places

    _split = None

    plan = _kernel.Kernel.layout

    def check(self, layout: Layout | bool | None = None, **options: Any) -> Check:
        """spad.check of this kernel. With direct allocation of the older dialect, what its compiler refuses
        comes first (docs/direct.md). Stores of equal values from two cores are warnings."""
        check = super().check(layout, **options)
        return TracedCheck(check, self.faults, self._warnings) if self.faults or self._warnings else check

    def report(self, timed: bool = True) -> Report:
        """spad.Kernel.report, with what the compiler of the older dialect refuses among the findings."""
        report = super().report(timed)
        if self.faults:
            count = len(self.faults)
            report.add_note(f"wrong: NKI refuses the placement of tensors, {count} error{'s' * (count > 1)}")
        for place, code, message in self.faults:
            where = f" ({os.path.basename(place[0])}:{place[1]})" if place is not None else ""
            try:
                report.add_finding(code, message + where, line=self._line_at(place))
            except ValueError:  # the code of a call that was refused: a place that the memory does not have
                report.add_finding("SPAD-OUT-OF-SPACE", f"{message}{where} [{code}]", line=self._line_at(place))
        return report

    def _line_at(self, place):
        """The first line of the kernel that comes from a (file, line) of Python, or 0."""
        numbers = {str(number) for number, row in enumerate(self._rows) if row[:2] == place}
        for number, line in enumerate(self.source.split("\n"), 1):
            found = _FROM.search(line) if numbers else None
            if found is not None and found[1] in numbers and not line.startswith("source "):
                return number
        return 0

    def where(self, line: int) -> str:
        """'file:line' of the user's Python for a line of the kernel, or ''."""
        place = self.place(line)
        return f"{place[0]}:{place[1]}" if place is not None else ""

    def explain(self, check: Check) -> str:
        """The text of a check with the verdict first, and by how many notes of the trace it depends on."""
        *found, verdict = check.text().rstrip("\n").split("\n")
        count = len(self.notes)
        noted = [f"with {count} note{'s' if count > 1 else ''} of the trace"] if count else []
        said = self._said_of_trips(check)
        return "\n".join([verdict, self.summary(), *([said.rstrip("\n")] if said else []), *noted, *found]) + "\n"

    def _said_of_trips(self, check):
        """A line about other trip counts of the outer loops, if these are proved."""
        over = self.over_trips() if check.verdict == "proved for this shape" else None
        found = over.check(advice=False) if over is not None else None
        if found is None or found.verdict != "proved for all trip counts":
            return ""
        return f"its outer loops, with any number of rounds: proved {found.reason}\n"


class TracedCheck(core.Check):
    """A check with the findings of the trace itself: `place` of each is (file, line) of the Python."""

    def __init__(self, check: Check, faults: list[tuple[tuple[str, int] | None, str, str]],
                 warnings: list[tuple[tuple[str, int] | None, str, str]]) -> None:
        super().__init__(check._c, check._shown)
        self._faults = [_found("error", *fault) for fault in faults]
        self.own: list[Finding] = self._faults + [_found("warning", *warning) for warning in warnings]
        self.findings = self.own + [finding for finding in self.findings if finding.severity == "error"
                                    or not faults or finding.code != "SPAD-MIXED-PLACEMENT"]

    verdict: str = property(lambda self: "wrong" if self._faults else self._c.verdict, doc="wrong, if the trace has errors.")
    reason: str = property(lambda self: self._faults[0].message if self._faults else self._c.reason,
                      doc="The first error of the trace, or the reason of the check.")

    @property
    def counts(self) -> dict[str, int]:
        made = dict(self._c.counts)
        for key, severity in (("errors", "error"), ("warnings", "warning"), ("advice", "advice")):
            made[key] = sum(finding.severity == severity and not finding.hidden for finding in self.findings)
        return made

    def __bool__(self) -> bool:
        """Does nothing fail the check, and was there no error in the trace?"""
        return not self._faults and super().__bool__()

    def text(self) -> str:
        """The findings of the trace with their places in Python, and those of the kernel."""
        rows = [f"{finding.file}:{finding.line}: {finding.severity}: {finding.message} [{finding.code}]\n"
                for finding in self.own]
        return "".join(rows) + super().text()

    def json(self) -> str:
        """Everything as JSON; the findings of the trace are in "trace"."""
        made = json.loads(super().json())
        made["verdict"] = self.verdict
        made["trace"] = [{name: getattr(finding, name) for name in ("code", "severity", "message", "file", "line")}
                         for finding in self.own]
        return json.dumps(made, indent=2) + "\n"


def _found(severity, place, code, message):
    file, line = place if place is not None else ("?", 0)
    return core.Finding(code=code, severity=severity, message=message, file=file, line=line, count=1, notes=[])


def _called(kernel):
    """The function of a kernel, without @nki.jit."""
    return _unwrapped(kernel)[0]


def _unwrapped(kernel):
    """(function of a kernel, options of its decorators)."""
    options = {}
    while isinstance(kernel, Jit):
        kernel, options = kernel.func, {**kernel.options, **options}
    if not callable(kernel):
        raise TraceError(f"a kernel is a function, not {kernel!r}")
    return kernel, options


def _bound(recorder, value, name, place):
    """An argument with tensors of the trace in the place of nt.hbm()."""
    if isinstance(value, Hbm):
        made = recorder.tensor(value.shape, value.dtype, MemoryRegion.hbm, name, is_input=True, place=place)
        recorder.arguments.append(made.storage)
        if recorder.values is not None and isinstance(value, Array):
            recorder.values.put(made, value.values)
        return made
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_bound(recorder, part, f"{name}_{at}", place) for at, part in enumerate(value))
    if isinstance(value, dict):
        return {key: _bound(recorder, part, f"{name}_{key}", place) for key, part in value.items()}
    return value


def _arguments(recorder, function, args, kwargs):
    try:
        given = inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise TraceError(f"'{recorder.name}' cannot be called with these arguments: {error}; it is "
                         f"{recorder.name}{inspect.signature(function)}") from None
    code = getattr(function, "__code__", None)
    place = (code.co_filename, code.co_firstlineno) if code is not None else None
    for name, value in given.arguments.items():
        given.arguments[name] = _bound(recorder, value, name, place)
    return given.args, given.kwargs


def _user_place(error):
    """(file, line) of the innermost frame of the user's code in a traceback, or None."""
    place = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if not frame.f_globals.get("__name__", "").startswith("spad."):
            place = frame.f_code.co_filename, line
    return place


def _failure(name, error, done="traced"):
    """A TraceError with the user's line for what a kernel raised, or the file that it is in."""
    place = getattr(error, "place", None) or _user_place(error)
    if isinstance(error, SyntaxError) and error.filename:
        place = error.filename, error.lineno or 0
    where = f"{place[0]}:{place[1]}: " if place else ""
    what = str(error) if isinstance(error, TraceError) else f"{type(error).__name__}: {error}"
    if isinstance(error, NotCovered):
        what = f"the values of {error} are not computed"
    if isinstance(error, RecursionError):
        what = f"the kernel calls itself without an end ({type(error).__name__})"
    if isinstance(error, SystemExit):
        what = f"the kernel ends the program (SystemExit: {error})"
    failure = TraceError(f"{where}{what} (while '{name}' was {done})")
    failure.place = place
    return failure


def trace(kernel: Callable[..., Any], *args: Any, target: _spad.Target | str = "trn2", lnc: int = 1,
          replace_nki: bool = False, operations_most: int = OPERATIONS_MOST, fold: bool = True,
          **kwargs: Any) -> Traced:
    """Runs a kernel once under the stand-in and returns what it did as a spad.Kernel.

    args, kwargs: what the kernel is called with; nt.hbm() stands for tensors, also in lists, tuples and
    dicts. target: the chip. lnc: cores, 1 or 2; two are two agents of one kernel. replace_nki: set a real nki aside
    meanwhile. fold: find loops again; without it every operation is a statement.
    A kernel that raises, or that calls something unknown, gives a TraceError with the user's line."""
    with _alone(), _without_gc():
        traced, recorder, _ = _recorded(kernel, args, kwargs, target, lnc, replace_nki, operations_most, fold=fold)
        recorder.forget()
        return traced


_MEMORIES = {"hbm", "psum", "sbuf"}


def _recorded(kernel, args, kwargs, target, lnc, replace_nki, operations_most, make_values=None, fold=True):
    """(Traced, its recorder, what the kernel returned). make_values: makes what computes numbers."""
    if lnc not in (1, 2):
        raise TraceError(f"lnc={lnc}: a trace has one core, or two")
    function, options = _unwrapped(kernel)
    chip = target if isinstance(target, _spad.Target) else core.Target(target)
    if not _MEMORIES <= chip.spaces.keys():
        raise TraceError(f"'{chip.name}' is no NeuronCore: it has no {', '.join(sorted(_MEMORIES - chip.spaces.keys()))}; "
                         f"NKI kernels are traced for trn1, trn2, trn3 or inf2")
    chip = two_cores(chip) if lnc == 2 else chip
    name = re.sub(r"\W", "_", getattr(function, "__name__", "kernel"), flags=re.ASCII)[:60]
    name = name if name.isidentifier() else f"k{name}"
    kept = ()
    with installed(replace_nki), _forced(options), _without_gc():
        while True:
            recorder = Recorder(chip, name, lnc, operations_most)
            recorder.kept = kept
            recorder.values = make_values(chip) if make_values is not None else None
            if lnc == 2 and recorder.values is None:
                recorder.same = SameValues()
            try:
                with unchanged_modules():
                    returned = _run(recorder, function, options, args, kwargs)
                break
            except Again as again:
                kept = (*kept, again.place)
        if not recorder.operations:
            raise TraceError(f"'{name}' has no operations: with these arguments it calls nothing of nki.isa")
        return Traced(recorder, recorder.finish(returned), fold).finish(), recorder, returned


_tracing = threading.Lock()


@contextlib.contextmanager
def _alone():
    """One trace at a time: sys.modules and the forms of tensors are those of the process."""
    if _current.get() is not None:
        raise _spad.StateError("a trace runs already: a kernel that calls another one calls it as a function")
    with _tracing:
        yield


@contextlib.contextmanager
def _without_gc():
    """All that is recorded stays: to search it for garbage takes a third of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class Ran:
    """What a kernel computed: `outputs`, arrays in the form of what it returned; `arguments`, those of its
    tensors by name; `kernel`, its trace."""

    def __init__(self, kernel: Traced, outputs: Any, arguments: dict[str, Any]) -> None:
        self.kernel, self.outputs, self.arguments = kernel, outputs, arguments

    def __repr__(self):
        return f"<spad.nki.trace.Ran {self.kernel.name}: {len(self.arguments)} tensors>"


class Array(Hbm):
    """A tensor in HBM with numbers, for nt.run."""

    __slots__ = ("values",)

    def __init__(self, values: Any, dtype: str | None = None) -> None:
        super().__init__(values.shape, str(values.dtype) if dtype is None else dtype)
        self.values = values


def array(values: Any, dtype: str | None = None) -> Array:
    """An argument of nt.run: a numpy array as a tensor of an element type, which is its own unless it is given."""
    return Array(values, dtype)


def _with_arrays(value):
    if hasattr(value, "__array_interface__") and getattr(value, "shape", ()):
        return Array(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(map(_with_arrays, value))
    if isinstance(value, dict):
        return {key: _with_arrays(part) for key, part in value.items()}
    return value


def run(kernel: Callable[..., Any], *args: Any, target: _spad.Target | str = "trn2", lnc: int = 1, places: bool = False,
        replace_nki: bool = False, operations_most: int = OPERATIONS_MOST, **kwargs: Any) -> Ran:
    """Runs a kernel with numpy arrays, and gives a Ran: its numbers and its trace.

    Arrays are tensors of their own type; nt.array(x, "bf16") is one of another type, and nt.hbm() one that was never
    written. Values are computed in float32 and rounded where they are written; what was never written is NaN.
    places: tensors with an address share the bytes of the memory, so a lifetime conflict shows in the numbers. lnc: of
    two cores each runs until it meets the other one.
    An instruction that is not covered is a TraceError that names it."""
    from ._values import Values, np  # the only part that needs numpy
    if np is None:
        raise TraceError("nt.run needs numpy, which is not installed")
    with _alone():
        traced, recorder, returned = _recorded(kernel, _with_arrays(args), _with_arrays(kwargs), target, lnc, replace_nki,
                                               operations_most, lambda chip: Values(chip if places else None))
        arrays = {storage.name: recorder.values.get(View.whole(storage)) for storage in recorder.arguments}
        return Ran(traced, _values_of(recorder, returned), arrays)


def _values_of(recorder, returned):
    if isinstance(returned, View):
        return recorder.values.get(returned)
    if isinstance(returned, (list, tuple)):
        return type(returned)(_values_of(recorder, part) for part in returned)
    if isinstance(returned, dict):
        return {key: _values_of(recorder, part) for key, part in returned.items()}
    return returned


def _is_cores(grid, lnc):
    """Is a launch grid one program for each core?"""
    return grid in (lnc, (lnc,), [lnc]) and lnc > 1


def _forced(options):
    """@ncc.force_auto_alloc: placements are ignored."""
    return _direct.forced() if options.get("force_auto") else contextlib.nullcontext()


def _called_with(recorder, function, options, args, kwargs):
    def call():
        if "grid" in options and not _is_cores(options["grid"], recorder.lnc):
            return unwrapped(recorder.programs.launch(options["grid"], lambda: function(*args, **kwargs)))
        return unwrapped(function(*args, **kwargs))

    if recorder.lnc == 1:
        return call()
    if recorder.values is not None:
        return Turns(recorder, call).both()
    returned = call()
    recorder.settle()
    recorder.second = len(recorder.lines)
    recorder.programs.on_core(1)
    call()
    return returned


def _run(recorder, function, options, args, kwargs):
    """What the kernel returns."""
    token = _current.set(recorder)
    try:
        args, kwargs = _arguments(recorder, function, args, kwargs)
        returned = _called_with(recorder, function, options, args, kwargs)
        recorder.settle()
        return returned
    except Again:
        raise
    except TraceError as error:
        if error.place is None and _user_place(error) is None:
            raise
        raise _failure(recorder.name, error) from None
    except (Exception, SystemExit) as error:
        raise _failure(recorder.name, error) from error
    finally:
        _current.reset(token)
        recorder.sources.forget_frames()


# ---- kernels in files -----------------------------------------------------------------------------


def _load(where, replace_nki=False):
    """As load(). The folders that the file was found with stay in sys.path, for kernels that import when they are traced."""
    with installed(replace_nki):
        try:
            made = function_at(where)
        except LoadError as error:
            raise TraceError(str(error)) from error.__cause__
        except TraceError:
            raise
        except (Exception, SystemExit) as error:
            raise _failure(where.rpartition(":")[0], error, "loaded") from error
    _called(made)
    return made


def load(where: str, replace_nki: bool = False) -> Callable[..., Any]:
    """The kernel of 'FILE.py:NAME' or 'package.module:NAME', imported under the stand-in."""
    before = list(sys.path)
    try:
        return _load(where, replace_nki)
    finally:
        sys.path[:] = before


def example(kernel: Callable[..., Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """(args, kwargs) of spad_example() in the file of a kernel: a dict gives keyword arguments, a tuple
    or list the arguments in order. A spad_example with a parameter is given the name of the kernel."""
    function = _called(kernel)
    made = getattr(function, "__globals__", {}).get("spad_example")
    if made is None:
        return None
    with installed():
        try:
            given = made(function.__name__) if inspect.signature(made).parameters else made()
        except (Exception, SystemExit) as error:
            raise _failure("spad_example", error, "called") from error
    if isinstance(given, dict):
        return (), given
    if isinstance(given, (tuple, list)):
        return tuple(given), {}
    raise TraceError(f"spad_example() gave {given!r}; it gives a dict, a tuple or a list")
