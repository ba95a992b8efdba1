# SPDX-License-Identifier: Apache-2.0
"""The objects of the library: chips, managers, plans, findings, times and pictures."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import _spad
from ._files import replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from os import PathLike
    from typing import Any, Self, Unpack
    from ._spad import _CheckOptions, _Facts
    from .kernel import Kernel

Target = _spad.Target
Trace = _spad.Trace
PlanResult = _spad.PlanResult
Layout = _spad.Layout
Analysis = _spad.Analysis
Sim = _spad.Sim
Tune = _spad.Tune
Frontier = _spad.Frontier
Advice = _spad.Advice
Walk = _spad.Walk
Registry = _spad.Registry
Device = _spad.Device
Buffer = _spad.Buffer
Workspace = _spad.Workspace
Tensor = _spad.Tensor
Direct = _spad.Direct
Pool = _spad.Pool
Memory = _spad.Memory
Allocation = _spad.Allocation
Fence = _spad.Fence
Tmem = _spad.Tmem
Component = _spad.Component
Allocator = _spad.Allocator
Column = _spad.Column
copy = _spad.copy
copy_part = _spad.copy_part
copy_tile = _spad.copy_tile


# What a file may be at most, so that a device or a pipe without an end is an error; as of the command.
_TEXT_MIB = 64  # kernels and chips
_ROWS_MIB = 1024  # rows of buffers and logs


def _read_bytes(path, mebibytes):
    """The bytes of a file as a BytesIO, and the name of the file for messages."""
    import io

    name, content, most = os.fsdecode(path), io.BytesIO(), mebibytes << 20
    with open(name, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size  # of what is no regular file 0
        while max(size, content.tell()) <= most and (piece := file.read(1 << 20)):
            content.write(piece)
    if max(size, content.tell()) > most:
        error = _spad.MachineError(f"cannot read '{name}': larger than {mebibytes} MiB")
        error.code, error.file, error.available = "SPAD-IO", name, most
        raise error
    content.seek(0)
    return content, name


def _read(path, mebibytes):
    """The text of a file, and the name of the file for messages."""
    import io

    content, name = _read_bytes(path, mebibytes)
    try:
        return io.TextIOWrapper(content, encoding="utf-8").read(), name
    except UnicodeDecodeError as error:
        wrong = _spad.TextError(f"'{name}' is no text in UTF-8: {error.reason} at byte {error.start}")
        wrong.file = name
        raise wrong from None


def _interruptible(call, *args):
    """call(*args), where Ctrl-C ends the waiting: for calls of the C part that do not look at signals.
    The work of an interrupted call runs to its end, or to its timeout, in a thread."""
    import threading  # here, because few programs need it

    if threading.current_thread() is not threading.main_thread():
        return call(*args)
    outcome = []

    def work():
        try:
            outcome.append((call(*args), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=work, name="spad", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    value, error = outcome.pop()
    if error is not None:
        raise error
    return value


def _part_of(kind):
    """Adds what a class body has to a type of the C part, so that what the C part makes has it,
    too."""

    def add(body):
        for name, value in vars(body).items():
            if name not in ("__dict__", "__weakref__", "__module__"):
                setattr(kind, name, value)
        return kind

    return add


@_part_of(_spad.Target)
class _Target:
    """Target(name): a chip, its memory spaces and engines.

    Target.parse(text) and Target.load(path) read one from a file (docs/targets.md).
    """

    @classmethod
    def load(cls, path):
        """A chip from a target file."""
        return cls.parse(*_read(path, _TEXT_MIB))

    @property
    def spaces(self):
        """Its memory spaces by name."""
        return {space["name"]: space for space in self.data["spaces"]}

    @property
    def engines(self):
        """Its engines by name."""
        return {engine["name"]: engine for engine in self.data["engines"]}

    @property
    def fences(self):
        """Its kinds of fences by name."""
        return {fence["name"]: fence for fence in self.data["fences"]}

    def __repr__(self):
        return f"<spad.Target {self.name}: {self.about}>"


def targets() -> dict[str, Target]:
    """The built-in chips, by name."""
    return {name: Target(name) for name in _spad.target_names()}


# ---- pictures ---------------------------------------------------------------------------


class Report(_spad.Report):
    """Report(target, title=None, time_unit=None): boxes in memory over time."""

    def write(self, format: str) -> Any:
        """text, svg, light, html, json or trace (Chrome's)."""
        return _interruptible(super().write, format)

    def text(self) -> str:
        """A map of letters."""
        return self.write("text")

    def light(self) -> str:
        """The picture that notebooks show, below 100 kB however many boxes there are: the largest are
        drawn, all others are shades of gray; hovering shows what is there."""
        return self.write("light")

    def svg(self) -> str:
        """A picture to print."""
        return self.write("svg")

    def html(self) -> str:
        """One page with everything in it."""
        return self.write("html")

    def save(self, path: str | PathLike[str]) -> Any:
        """Writes a file; its ending says what: .svg, .html, .json, .txt or .trace
        (for Perfetto). An old file is replaced when the new
        one is complete."""
        kinds = {".svg": "svg", ".html": "html", ".json": "json", ".txt": "text", ".trace": "trace"}
        ending = os.path.splitext(os.fsdecode(path))[1]
        if ending not in kinds:
            raise _spad.ArgumentError(f"'{os.fsdecode(path)}' has to end with one of "
                                      + ", ".join(sorted(kinds)))
        content = self.write(kinds[ending])
        replace_file(path, content.encode())
        return path

    def _repr_html_(self) -> str | None:
        return self.light()

    def __repr__(self):
        return f"<spad.Report of {len(self)} boxes>"


def diff(before: Report, after: Report, format: str = "text") -> Any:
    """What is different in two reports, as text, json or html; "changes" is a list of dicts."""
    return _interruptible(_spad.diff, before, after, format)


def emit(what: Layout | PlanResult | Iterable[Mapping[str, Any]], lang: str, name: str | None = None,
         target: Target | str | None = None, space: str | None = None) -> str:
    """The places of a Layout or a PlanResult as source text: c, cuda, nki, tilelang, json or csv.

    Also those of buffers that are given one by one, as dicts with name, space, bytes (per lane)
    and places, a list of (lane, byte); and lanes, alignment, shape and dtype if they are known.
    """
    if isinstance(what, PlanResult):
        if target is None:
            target, space = _plan_home(what)
    elif not isinstance(what, Layout):
        what = list(what) if hasattr(what, "__iter__") else [None]
        if not all(isinstance(row, dict) for row in what):
            raise TypeError("emit() takes a Layout, a PlanResult or rows as dicts")
        if target is None:
            raise TypeError("emit() of rows needs a target")
        what = [(row.get("name"), row["space"], row.get("lanes", 1), row["bytes"],
                 row.get("alignment", 1), row["places"], row.get("shape"), row.get("dtype"))
                for row in what]
    return _spad.emit(what, lang, name, target, space)


@_part_of(_spad.Trace)
class _Trace:
    """Trace(target): the log of what was allocated and freed. Managers, devices and kernels write
    one; alloc(), free(), open_scope() and so on write it by hand."""

    def report(self, title=None):
        """A Report of the tensors."""
        report = Report(self.target, title)
        report.add_trace(self)
        return report

    def plan(self, space=None, capacity=None):
        """A Plan of the tensors of a space, by default the first with one: their sizes and
        lifetimes, without the places that they had. Aliases are no buffers of their own."""
        tensors = [t for t in self.tensors() if t["mode"] != "alias"]
        if space is None:
            space = tensors[0]["space"] if tensors else next(iter(self.target.spaces))
        rows = [t for t in tensors if t["space"] == space]
        end = len(self)
        plan = Plan(self.target, space, capacity)
        plan.add_many([t["begin"] for t in rows],
                      [end if t["end"] is None else t["end"] for t in rows],
                      [t["bytes"] for t in rows], lanes=[t["lanes"] for t in rows],
                      names=_distinct(t["name"] for t in rows))
        return plan

    def _repr_html_(self):
        return self.report().light()

    def __repr__(self):
        return f"<spad.Trace on {self.target.name}: {len(self)} events>"


# ---- the scoped manager --------------------------------------------------------------------


class Stack(_spad.Stack):
    """Stack(target, space='sbuf', lower=0, upper=None, behaviour='exact', trace=None,
    automatic=False, default_heap=False, use_reserved=False, manual_log=False, strict=False,
    tensors=None): a manager with scopes."""

    @contextmanager
    def scope(self, interleave_degree: int = 1, name: str = "") -> Iterator[Self]:
        """Opens a scope; it is closed at the end of the with block, and so is what was left
        open inside."""
        depth = self.depth
        self.open_scope(interleave_degree, name)
        try:
            yield self
        finally:
            while self.depth > depth:
                self.close_scope()

    @contextmanager
    def attempt(self) -> Iterator[Attempt]:
        """What is allocated in the with block is undone if it raises FitError; the error is
        in the object that the with statement gives."""
        mark = self.mark()
        outcome = Attempt()
        try:
            yield outcome
        except _spad.FitError as error:
            self.rollback(mark)
            outcome.error = error

    def report(self, title: str | None = None) -> Report:
        """A Report of all tensors so far, and of the last one if it did not fit; needs a trace."""
        if self.trace is None:
            raise _spad.StateError("there is no trace; make the manager with trace=True")
        report = self.trace.report(title)
        if self._refused is not None:
            space, name, size, message = self._refused
            now = max(len(self.trace), 1)
            report.add_box(name, now - 1, now, None, size, space)
            report.add_finding("SPAD-DOES-NOT-FIT", message, subject=name)
        return report

    def _repr_html_(self) -> str | None:
        return self.report().light() if self.trace is not None else None

    def __repr__(self):
        return (f"<spad.Stack on {self.target.name}: {self.get_used_space()} of "
                f"{self.get_total_space()} B per lane, {self.depth} scopes>")


class Attempt:
    """How a Stack.attempt() ended."""

    error: _spad.Error | None = None

    def __bool__(self) -> bool:
        return self.error is None


def _distinct(names):
    """The names, each with a number after it where it has been before."""
    seen, out = set(), []
    for name in names:
        fresh, number = name, 1
        while fresh is not None and fresh in seen:
            number += 1
            fresh = f"{name}#{number}"
        seen.add(fresh)
        out.append(fresh)
    return out


# ---- plans -----------------------------------------------------------------------------------


class Plan(_spad.Plan):
    """Plan(target=None, space=None, capacity=None): buffers that need offsets.

    add() takes one buffer, add_many() columns of them (numpy arrays, array.array, lists),
    read_csv() and Plan.load() the CSV dialect of MiniMalloc.
    """

    space: str | None = None
    source: str | None = None

    def __init__(self, target: Target | str | None = None, space: str | None = None,
                 capacity: int | None = None) -> None:
        self.space = space

    @classmethod
    def load(cls, path: str | PathLike[str], **options: Any) -> Self:
        """The buffers of a CSV file."""
        plan = cls(**options)
        plan.source, name = _read(path, _ROWS_MIB)
        plan.read_csv(plan.source, name)
        return plan

    def __repr__(self):
        limit = "no capacity" if self.capacity is None else f"{self.capacity} B"
        return f"<spad.Plan of {len(self)} buffers, {limit}>"


def plan_csv(path: str | PathLike[str], timeout: float | None = None, **options: Any) -> PlanResult:
    """Plans the buffers of a CSV file: Plan.load(path, **options).solve(timeout=timeout)."""
    return Plan.load(path, **options).solve(timeout=timeout)


def _plan_home(result):
    """The chip and space of a result; a made-up one for a plan without."""
    plan = result.plan
    if plan.target is not None:
        return plan.target, plan.space
    top = plan.capacity or result.height or 1  # what does not fit is drawn above the limit
    text = f"target plan\nspace memory {{ bytes {top}; lanes {plan.lanes} }}\n"
    return Target.parse(text, "<plan>"), "memory"


@_part_of(_spad.PlanResult)
class _PlanResult:
    """Where every buffer of a Plan goes, or why they do not fit."""

    def report(self, title="plan"):
        """A Report of the buffers."""
        target, space = _plan_home(self)
        report = Report(target, title, "time")
        report.add_plan(self, space)
        report.add_reason(self)
        return report

    def _repr_html_(self):
        return None if self.height is None else self.report().light()

    def __repr__(self):
        return f"<spad.PlanResult: {self.verdict}, height {self.height} B, bound {self.bound} B>"


# ---- kernels ------------------------------------------------------------------------------------


class Finding:
    """Something that a check found: code, severity, message, subject, other, line, column,
    count, file, notes, place: the line of the program that the kernel was made from. Where file,
    line and column are of a program that was compiled, such as CUDA C++, from_input is the line and
    the column of what the compiler made. fingerprint: stays when lines and sizes change. cause: the number of the
    first finding of the same cause, or -1. hidden: why it is not shown, as "source", with why, the reason in the
    program. compiler_fault: the known fault of a compiler that it is, with its severity "compiler"."""

    __slots__ = ("code", "severity", "message", "subject", "other", "line", "column", "count",
                 "file", "notes", "place", "from_input", "fingerprint", "cause", "hidden", "why", "compiler_fault")
    code: str
    severity: str
    message: str
    subject: str | None
    other: str | None
    line: int | None
    column: int | None
    count: int
    file: str | None
    notes: list[_Facts]
    place: str | None
    from_input: tuple[int, int] | None
    fingerprint: str
    cause: int
    hidden: str | None
    why: str | None
    compiler_fault: _Facts | None

    def __init__(self, **facts: Any) -> None:
        for name in self.__slots__:
            setattr(self, name, facts.get(name))

    def __repr__(self):
        where = f" in line {self.line}" if self.line else ""
        where += f" of {self.file}" if self.from_input else ""
        return f"<{self.severity} {self.code}{where}: {self.message}>"

    def _repr_html_(self) -> str:
        return _finding_table([self])


def _escape(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _line(number):
    return f"line {number}: " if number else ""


def _finding_table(findings):
    colours = {"error": "#b00020", "warning": "#9a6700", "advice": "#0b57d0", "compiler": "#9a6700"}
    rows = "".join(
        f"<tr><td style='color:{colours.get(f.severity, 'inherit')}'>{_escape(f.severity)}</td>"
        f"<td>{f.line or ''}</td><td><code>{_escape(f.code)}</code></td>"
        f"<td style='text-align:left'>{_escape(f.message)}"
        + "".join(f"<br><small>{_line(note['line'])}{_escape(note['message'])}</small>"
                  for note in f.notes or ())
        + "</td></tr>" for f in findings)
    return f"<table><tr><th></th><th>line</th><th>code</th><th>what</th></tr>{rows}</table>"


class Check:
    """What is wrong with a kernel. bool() is true if nothing fails the check: there are no errors that are shown, and
    no known faults of the compiler with wrong results (compiler_faults="error": none at all)."""

    def __init__(self, made: Any, shown: str | None = None) -> None:
        self._c = made
        self._shown = shown  # the faults of a text that cannot be read
        self.findings: list[Finding] = [Finding(**facts) for facts in made._findings]

    verdict: str = property(lambda self: self._c.verdict, doc="wrong, proved ..., or unknown.")
    reason: str = property(lambda self: self._c.reason, doc="One sentence about the verdict.")
    counts: dict[str, int] = property(lambda self: self._c.counts, doc="What was found and examined.")

    def text(self) -> str:
        """The findings as a compiler shows them."""
        return self._c.text() if self._shown is None else self._shown

    def json(self) -> str:
        """Everything as JSON."""
        return self._c.json()

    def sarif(self) -> str:
        """A SARIF log, for code-review tools."""
        return self._c.sarif()

    def report(self) -> Report:
        """A Report of the kernel with the findings in it."""
        if self._c.kernel is None:
            raise _spad.StateError("there is no kernel to draw: its text cannot be read")
        return (self._c.layout or _spad.layout(self._c.kernel)).report(check=self)

    def _repr_html_(self) -> str:
        return (f"<p><b>{_escape(self.verdict)}</b>: {_escape(self.reason)}</p>"
                + (_finding_table(self.findings) if self.findings else ""))

    def __bool__(self) -> bool:
        """Does nothing fail the check?"""
        return self._c.passes

    def __iter__(self) -> Iterator[Finding]:
        """The findings: errors first, then in the order of the text."""
        return iter(self.findings)

    def __len__(self) -> int:
        """How many findings there are."""
        return len(self.findings)

    def __repr__(self):
        found = self.counts
        faults = f", faults of the compiler: {found['compiler_faults']}" if found["compiler_faults"] else ""
        return (f"<spad.Check: {self.verdict}; errors: {found['errors']}, warnings: "
                f"{found['warnings']}, advice: {found['advice']}{faults}>")


def _kernel_in(kernel):
    """The C object of a Kernel, or the kernel of a text."""
    if isinstance(kernel, _spad.Kernel):
        return kernel
    if isinstance(kernel, str):
        return _spad.Kernel.parse(kernel)
    if not hasattr(kernel, "_finished"):
        raise TypeError(f"a Kernel or its text is needed, not {type(kernel).__name__}")
    return kernel._finished()


def layout(kernel: Kernel | str, timeout: float | None = None, seed: int = 0, threads: int = 1,
           progress: Callable[[_Facts], Any] | None = None) -> Layout:
    """Places for every tensor of a kernel. That it does not fit is a result: layout.fits.
    progress(facts) is called now and then; a true value ends the search, with the best so far."""
    return _spad.layout(_kernel_in(kernel), timeout, seed, threads, progress)


def analyse(kernel: Kernel | str, skip: Iterable[str] = (), **options: Any) -> Analysis:
    """Everything about a kernel, each part computed once: layout, check, simulation, and changes
    that make it fit. skip: names of parts to leave out ("layout", "check", "sim", "fit"). Options:
    timeout=None for all of it, advice=True, one_shape=False, event_limit=0, finding_limit=0, vary=()
    (as check()), and layout=, check=, sim= for parts that are there already."""
    given = options.get("check")
    if isinstance(given, Check):
        options["check"] = given._c
    return _spad.analyse(_kernel_in(kernel), skip, **options)


def check(kernel: Kernel | str, layout: Layout | bool | None = None, **options: Unpack[_CheckOptions]) -> Check:
    """Is the memory of a kernel right? Options: advice=True, one_shape=False, event_limit=0,
    finding_limit=0 (-1: all, and the text shows each, not one for each cause), timeout=None, vary=(): names of parameters, such as ring depths, whose
    neighbouring values are tried, too, where an error is a warning about this kernel; compiler_faults="error", "warning" or
    "ignore"; rules={"SPAD-SHORT-ROW": "ignore"}, or another severity; baseline: fingerprints of findings that are known. The places of the layout are checked, by default
    those that the planner finds, as in a report and on the command line; what does not fit is an error. layout=False:
    without places."""
    skip = ("layout", "sim", "fit") if layout is False else ("sim", "fit")
    given = layout if isinstance(layout, _spad.Layout) else None
    return _spad.analyse(_kernel_in(kernel), skip, given, **options).check


def check_text(text: str, file: str = "<kernel>", layout: Layout | bool | None = None,
               **options: Unpack[_CheckOptions]) -> Check:
    """check() of a text, for editors: faults of the text are findings SPAD-SYNTAX."""
    try:
        made = _spad.Kernel.parse(text, file)
    except _spad.TextError as error:
        return Check(_spad.check_faults(text, file), error.diagnostics)
    return check(made, layout, **options)


def sim(kernel: Kernel | str, layout: Layout | bool | None = None, **options: Any) -> Sim:
    """How long a kernel takes, in picoseconds, and what its engines wait for, with the places of the layout: by default
    those that the planner finds, as in a report and on the command line. layout=False: tensors without an address share
    no bytes. Options: hoists=None, no_repeat=False, operation_limit=0, timeout=None (seconds, after which TimeError is
    raised)."""
    made = _kernel_in(kernel)
    if layout is None or layout is True:
        layout = _spad.layout(made)
    return _spad.sim(made, layout or None, **options)


def tune(kernel: Kernel | str, depth_most: int = 0, exhaustive_most: int = 0, timeout: float | None = None,
         steps: bool = False, progress: Callable[[_Facts], Any] | None = None) -> Tune:
    """How deep the rings of a kernel should be. timeout: seconds, after which the best that was found
    is the result. A kernel with assumed costs is refused unless steps is true. progress(facts) is
    called now and then; a true value ends the search, with the best so far."""
    return _spad.tune(_kernel_in(kernel), depth_most, exhaustive_most, timeout, steps, progress)


def frontier(kernel: Kernel | str, release: bool = False, timeout: float | None = None, steps: bool = False,
             seed: int = 0) -> Frontier:
    """Layouts of a kernel between the fewest bytes and the least time. release: tensors that have an
    address are placed, too. A kernel with assumed costs is refused unless steps is true."""
    return _spad.frontier(_kernel_in(kernel), release, timeout, steps, seed)


def advise(kernel: Kernel | str, skip: Iterable[str] = (), depth_most: int = 0, trials_most: int = 0,
           timeout: float | None = None, steps: bool = False) -> Advice:
    """Changes that make a kernel smaller or faster and keep its proof: an Advice. skip: kinds to leave
    out ("load", "deeper", "shorter", "alias"). Where costs are assumed, rings stay as they are
    unless steps is true. timeout: seconds, after which what was found is the result."""
    return _spad.advise(_kernel_in(kernel), skip, depth_most, trials_most, timeout, steps)


@_part_of(_spad.Layout)
class _Layout:
    """The places of all tensors of a kernel."""

    def report(self, check=None, sim=None, title=None):
        """A Report of the places, with findings and times if there are some."""
        skip = [name for name, part in (("check", check), ("sim", sim)) if part is None]
        return analyse(self.kernel, skip, layout=self, check=check, sim=sim).report(title)

    def _repr_html_(self):
        return self.report().light()

    def __repr__(self):
        return f"<spad.Layout of {self.kernel.name}: {'fits' if self.fits else 'does not fit'}>"


@_part_of(_spad.Analysis)
class _Analysis:
    """Everything about a kernel. bool() is true if it fits, is right and runs to its end."""

    @property
    def check(self):
        """The Check; None: it was left out."""
        made = self._check
        return None if made is None else Check(made)

    def report(self, title=None):
        """A Report with all of it."""
        report = Report(self.kernel.target, title)
        report.add_analysis(self)
        return report

    def _repr_html_(self):
        return self.report().light()

    def __bool__(self):
        return self.is_fine

    def __repr__(self):
        return f"<spad.Analysis of {self.kernel.name}: {'fine' if self.is_fine else 'not fine'}>"


@_part_of(_spad.Sim)
class _Sim:
    """How long a kernel takes, and why."""

    def report(self, layout=None):
        """A Report with the operations on their engines, and the tensors over time."""
        made = _spad.layout(self.kernel) if layout is None else layout
        return made.report(sim=self)

    def _repr_html_(self):
        return self.report().light()

    def __repr__(self):
        return f"<spad.Sim of {self.kernel.name}: {self.time_text(self.makespan)}>"


@_part_of(_spad.Tune)
class _Tune:
    """How deep the rings of a kernel should be."""

    def _repr_html_(self):
        data = self.data
        names = [_escape(knob["name"]) for knob in data["knobs"]]
        cells = lambda values, mark: "".join(f"<{mark}>{value}</{mark}>" for value in values)
        time = lambda ps: "does not fit" if ps is None else self.time_text(ps)
        rows = "".join(f"<tr>{cells([*p['values'], p['bytes'], time(p['makespan_ps'])], 'td')}</tr>"
                       for p in data["frontier"])
        chosen = ", ".join(f"{_escape(name)} = {n}" for name, n in self.depths.items())
        badge = f" ({_escape(self.badge)})" if self.badge else ""
        return (f"<p><b>{chosen or 'nothing to choose'}</b>: {time(self.makespan)}, as written "
                f"{time(self.written)}{badge}</p>"
                f"<table><tr>{cells([*names, 'bytes', self.unit], 'th')}</tr>{rows}</table>")

    def __repr__(self):
        time = "nothing fits" if self.makespan is None else self.time_text(self.makespan)
        return f"<spad.Tune: {self.depths}, {time}>"


@_part_of(_spad.Frontier)
class _Frontier:
    """Layouts of a kernel between the fewest bytes and the least time."""

    def __repr__(self):
        return f"<spad.Frontier of {self.kernel.name}: {len(self.points)} layouts>"


@_part_of(_spad.Advice)
class _Advice:
    """Changes of a kernel that keep its proof; kernel has them all."""

    def __len__(self):
        return len(self.changes)

    def __repr__(self):
        return f"<spad.Advice: {len(self)} changes of {self.kernel.name}>"


@_part_of(_spad.Walk)
class _Walk:
    """The events of a kernel in program order, a dict each; see Kernel.walk."""

    def __repr__(self):
        return f"<spad.Walk at {self.values}>"


# ---- blocks and registries -----------------------------------------------------------------------


@_part_of(_spad.Registry)
class _Registry:
    """Registry(): the buffers of components, laid out by name (docs/registry.md)."""

    def __repr__(self):
        return f"<spad.Registry of {len(self.components)} components>"


class Block(_spad.Block):
    """Block(target, name=None, tilelang_policy=False, reuse=True, merge_static=False,
    barriers_in_arena=False, threads=0): the buffers of one thread block."""

    @contextmanager
    def region(self, kind: str = "serial") -> Iterator[Self]:
        """A loop or branch: serial, parallel, branch or concurrent."""
        self.enter(kind)
        try:
            yield self
        finally:
            self.leave()

    def report(self, title: str | None = None) -> Report:
        """A Report of the plan."""
        return self.trace().report(title)

    def _repr_html_(self) -> str | None:
        try:
            return self.report().light()
        except _spad.Error:
            return None  # there is no plan yet

    def __repr__(self):
        return f"<spad.Block on {self.target.name} of {len(self)} buffers>"
