# SPDX-License-Identifier: Apache-2.0
"""The objects of the library: chips, managers, plans, findings, times and pictures."""

import math
import os
from contextlib import contextmanager

from . import _spad
from ._files import replace_file

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


def _data(text):
    import json  # here, because a program that plans needs none of it

    return json.loads(text)


# What a file may be at most, so that a device or a pipe without an end is an error; as of the command.
_TEXT_MIB = 64  # kernels and chips
_ROWS_MIB = 1024  # rows of buffers and logs


def _read_bytes(path, mebibytes):
    """The bytes of a file as a BytesIO, and the name of the file for messages."""
    import io

    name, content, most = os.fsdecode(path), io.BytesIO(), mebibytes << 20
    with open(name, "rb", buffering=0) as file:
        while content.tell() <= most and (piece := file.read(1 << 20)):
            content.write(piece)
    if content.tell() > most:
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


# Floating-point types: bits of the exponent and of the fraction, the bias, and what the highest codes
# mean: "ieee" infinity and NaN, "fn" one NaN, "fnuz" NaN at -0, "all" numbers, "power" powers of two
# and one NaN (IEEE 754, OCP's 8-bit and microscaling formats, ml_dtypes).
_FLOATS = {
    "float64": (11, 52, 1023, "ieee"),
    "float32": (8, 23, 127, "ieee"),
    "float32r": (8, 23, 127, "ieee"),
    "tfloat32": (8, 23, 127, "ieee"),
    "float16": (5, 10, 15, "ieee"),
    "bfloat16": (8, 7, 127, "ieee"),
    "float8_e3m4": (3, 4, 3, "ieee"),
    "float8_e4m3": (4, 3, 7, "ieee"),
    "float8_e4m3fn": (4, 3, 7, "fn"),
    "float8_e4m3fnuz": (4, 3, 8, "fnuz"),
    "float8_e4m3b11fnuz": (4, 3, 11, "fnuz"),
    "float8_e5m2": (5, 2, 15, "ieee"),
    "float8_e5m2fnuz": (5, 2, 16, "fnuz"),
    "float8_e8m0fnu": (8, 0, 127, "power"),
    "float4_e2m1fn": (2, 1, 1, "all"),
}


def _number_of(dtype, code):
    """The number that the lowest bits of a code are in an element type; the reverse of value()."""
    bits = _spad.dtype_bits(dtype)
    code &= (1 << bits) - 1
    if dtype in _FLOATS:
        return _float_of(code, *_FLOATS[dtype])
    if dtype == "bool":
        return code != 0
    return code - (1 << bits) if dtype.startswith("int") and code >> bits - 1 else code


def _float_of(code, exponent_bits, fraction_bits, bias, highest):
    most, ones = (1 << exponent_bits) - 1, (1 << fraction_bits) - 1
    exponent, fraction = code >> fraction_bits & most, code & ones
    if highest == "power":
        return math.nan if code == most else math.ldexp(1, code - bias)
    sign = -1.0 if code >> exponent_bits + fraction_bits else 1.0
    if highest == "ieee" and exponent == most:
        return math.nan if fraction else sign * math.inf
    if highest == "fn" and exponent == most and fraction == ones:
        return math.nan
    if highest == "fnuz" and sign < 0 and exponent == fraction == 0:
        return math.nan
    mantissa = fraction + ones + 1 if exponent else fraction
    return sign * math.ldexp(mantissa, max(exponent, 1) - bias - fraction_bits)


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
class Target:
    """Target(name): a chip, its memory spaces and engines.

    Target.parse(text) and Target.load(path) read one from a file (docs/targets.md).
    """

    @classmethod
    def load(cls, path):
        """A chip from a target file."""
        return cls.parse(*_read(path, _TEXT_MIB))

    @property
    def data(self):
        """Everything about the chip as a dict."""
        return _data(self.json())

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


def targets():
    """The built-in chips, by name."""
    return {name: Target(name) for name in _spad.target_names()}


# ---- pictures ---------------------------------------------------------------------------


class Report(_spad.Report):
    """Report(target, title=None, time_unit=None): boxes in memory over time."""

    def write(self, format):
        """text, svg, light, html, json, trace (Chrome's) as a str, or snapshot as bytes."""
        return _interruptible(super().write, format)

    def text(self):
        """A map of letters."""
        return self.write("text")

    def light(self):
        """The picture that notebooks show, below 100 kB however many boxes there are: the largest are
        drawn, all others are shades of gray; hovering shows what is there."""
        return self.write("light")

    def svg(self):
        """A picture to print."""
        return self.write("svg")

    def html(self):
        """One page with everything in it."""
        return self.write("html")

    @property
    def data(self):
        """Everything as a dict."""
        return _data(self.write("json"))

    def save(self, path):
        """Writes a file; its ending says what: .svg, .html, .json, .txt, .pickle (a snapshot
        for PyTorch's memory_viz) or .trace (for Perfetto). An old file is replaced when the new
        one is complete."""
        kinds = {".svg": "svg", ".html": "html", ".json": "json", ".txt": "text",
                 ".pickle": "snapshot", ".trace": "trace"}
        ending = os.path.splitext(os.fsdecode(path))[1]
        if ending not in kinds:
            raise _spad.ArgumentError(f"'{os.fsdecode(path)}' has to end with one of "
                                      + ", ".join(sorted(kinds)))
        content = self.write(kinds[ending])
        replace_file(path, content if isinstance(content, bytes) else content.encode())
        return path

    def _repr_html_(self):
        return self.light()

    def __repr__(self):
        return f"<spad.Report of {len(self)} boxes>"


def diff(before, after, format="text"):
    """What is different in two reports, as text, json or html; "changes" is a list of dicts."""
    return _interruptible(_spad.diff, before, after, format)


def emit(what, lang, name=None, target=None, space=None):
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
class Trace:
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
    automatic=False, default_heap=False, use_reserved=False, manual_log=False): a manager with
    scopes."""

    @contextmanager
    def scope(self, interleave_degree=1, name=""):
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
    def attempt(self):
        """What is allocated in the with block is undone if it raises FitError; the error is
        in the object that the with statement gives."""
        mark = self.mark()
        outcome = Attempt()
        try:
            yield outcome
        except _spad.FitError as error:
            self.rollback(mark)
            outcome.error = error

    def report(self, title=None):
        """A Report of all tensors so far; needs a trace."""
        if self.trace is None:
            raise _spad.StateError("there is no trace; make the manager with trace=True")
        return self.trace.report(title)

    def _repr_html_(self):
        return self.report().light() if self.trace is not None else None

    def __repr__(self):
        return (f"<spad.Stack on {self.target.name}: {self.get_used_space()} of "
                f"{self.get_total_space()} B per lane, {self.depth} scopes>")


class Attempt:
    """How a Stack.attempt() ended."""

    error = None

    def __bool__(self):
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

    space = None
    source = None

    def __init__(self, target=None, space=None, capacity=None):
        self.space = space

    @classmethod
    def load(cls, path, **options):
        """The buffers of a CSV file."""
        plan = cls(**options)
        plan.source, name = _read(path, _ROWS_MIB)
        plan.read_csv(plan.source, name)
        return plan

    def __repr__(self):
        limit = "no capacity" if self.capacity is None else f"{self.capacity} B"
        return f"<spad.Plan of {len(self)} buffers, {limit}>"


def plan_csv(path, timeout=None, **options):
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
class PlanResult:
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
    count, file, notes, place: the line of the program that the kernel was made from."""

    __slots__ = ("code", "severity", "message", "subject", "other", "line", "column", "count",
                 "file", "notes", "place")

    def __init__(self, **facts):
        for name in self.__slots__:
            setattr(self, name, facts.get(name))

    def __repr__(self):
        where = f" in line {self.line}" if self.line else ""
        return f"<{self.severity} {self.code}{where}: {self.message}>"

    def _repr_html_(self):
        return _finding_table([self])


def _escape(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _line(number):
    return f"line {number}: " if number else ""


def _finding_table(findings):
    colours = {"error": "#b00020", "warning": "#9a6700", "advice": "#0b57d0"}
    rows = "".join(
        f"<tr><td style='color:{colours.get(f.severity, 'inherit')}'>{_escape(f.severity)}</td>"
        f"<td>{f.line or ''}</td><td><code>{_escape(f.code)}</code></td>"
        f"<td style='text-align:left'>{_escape(f.message)}"
        + "".join(f"<br><small>{_line(note['line'])}{_escape(note['message'])}</small>"
                  for note in f.notes or ())
        + "</td></tr>" for f in findings)
    return f"<table><tr><th></th><th>line</th><th>code</th><th>what</th></tr>{rows}</table>"


class Check:
    """What is wrong with a kernel. bool() is true if there are no errors."""

    def __init__(self, made, shown=None):
        self._c = made
        self._shown = shown  # the faults of a text that cannot be read
        self.findings = [Finding(**facts) for facts in made._findings]

    verdict = property(lambda self: self._c.verdict, doc="wrong, proved ..., or unknown.")
    reason = property(lambda self: self._c.reason, doc="One sentence about the verdict.")
    counts = property(lambda self: self._c.counts, doc="What was found and examined.")

    def text(self):
        """The findings as a compiler shows them."""
        return self._c.text() if self._shown is None else self._shown

    def json(self):
        """Everything as JSON."""
        return self._c.json()

    def sarif(self):
        """A SARIF log, for code-review tools."""
        return self._c.sarif()

    def report(self):
        """A Report of the kernel with the findings in it."""
        if self._c.kernel is None:
            raise _spad.StateError("there is no kernel to draw: its text cannot be read")
        return (self._c.layout or _spad.layout(self._c.kernel)).report(check=self)

    def _repr_html_(self):
        return (f"<p><b>{_escape(self.verdict)}</b>: {_escape(self.reason)}</p>"
                + (_finding_table(self.findings) if self.findings else ""))

    def __bool__(self):
        return self.counts["errors"] == 0

    def __iter__(self):
        """The findings: errors first, then in the order of the text."""
        return iter(self.findings)

    def __len__(self):
        """How many findings there are."""
        return len(self.findings)

    def __repr__(self):
        found = self.counts
        return (f"<spad.Check: {self.verdict}; errors: {found['errors']}, warnings: "
                f"{found['warnings']}, advice: {found['advice']}>")


def _kernel_in(kernel):
    """The C object of a Kernel, or the kernel of a text."""
    if isinstance(kernel, _spad.Kernel):
        return kernel
    if isinstance(kernel, str):
        return _spad.Kernel.parse(kernel)
    if not hasattr(kernel, "_finished"):
        raise TypeError(f"a Kernel or its text is needed, not {type(kernel).__name__}")
    return kernel._finished()


def layout(kernel, timeout=None, seed=0, threads=1, progress=None):
    """Places for every tensor of a kernel. That it does not fit is a result: layout.fits.
    progress(facts) is called now and then; a true value ends the search, with the best so far."""
    return _spad.layout(_kernel_in(kernel), timeout, seed, threads, progress)


def analyse(kernel, skip=(), **options):
    """Everything about a kernel, each part computed once: layout, check, simulation, and changes
    that make it fit. skip: names of parts to leave out ("layout", "check", "sim", "fit"). Options:
    timeout=None for all of it, advice=True, one_shape=False, event_limit=0, finding_limit=0, vary=()
    (as check()), and layout=, check=, sim= for parts that are there already."""
    given = options.get("check")
    if isinstance(given, Check):
        options["check"] = given._c
    return _spad.analyse(_kernel_in(kernel), skip, **options)


def check(kernel, layout=None, **options):
    """Is the memory of a kernel right? Options: advice=True, one_shape=False, event_limit=0,
    finding_limit=0, timeout=None, vary=(): names of parameters, such as ring depths, whose
    neighbouring values are tried, too, where an error is a warning about this kernel. With a layout (True plans one) planned places are checked too,
    and what does not fit is an error."""
    skip = ("sim", "fit") if layout is not None else ("layout", "sim", "fit")
    given = None if layout is True else layout
    return _spad.analyse(_kernel_in(kernel), skip, given, **options).check


def check_text(text, file="<kernel>", layout=None, **options):
    """check() of a text, for editors: faults of the text are findings SPAD-SYNTAX."""
    try:
        made = _spad.Kernel.parse(text, file)
    except _spad.TextError as error:
        return Check(_spad.check_faults(text, file), error.diagnostics)
    return check(made, layout, **options)


def sim(kernel, layout=None, **options):
    """How long a kernel takes, in picoseconds, and what its engines wait for. Options: hoists=None,
    no_repeat=False, operation_limit=0, timeout=None (seconds, after which TimeError is raised)."""
    made = _kernel_in(kernel)
    if layout is True:
        layout = _spad.layout(made)
    return _spad.sim(made, layout, **options)


def tune(kernel, depth_most=0, exhaustive_most=0, timeout=None, steps=False, progress=None):
    """How deep the rings of a kernel should be. timeout: seconds, after which the best that was found
    is the result. A kernel with assumed costs is refused unless steps is true. progress(facts) is
    called now and then; a true value ends the search, with the best so far."""
    return _spad.tune(_kernel_in(kernel), depth_most, exhaustive_most, timeout, steps, progress)


def frontier(kernel, release=False, timeout=None, steps=False, seed=0):
    """Layouts of a kernel between the fewest bytes and the least time. release: tensors that have an
    address are placed, too. A kernel with assumed costs is refused unless steps is true."""
    return _spad.frontier(_kernel_in(kernel), release, timeout, steps, seed)


def advise(kernel, skip=(), depth_most=0, trials_most=0, timeout=None, steps=False):
    """Changes that make a kernel smaller or faster and keep its proof: an Advice. skip: kinds to leave
    out ("load", "deeper", "shorter", "alias"). Where costs are assumed, rings stay as they are
    unless steps is true. timeout: seconds, after which what was found is the result."""
    return _spad.advise(_kernel_in(kernel), skip, depth_most, trials_most, timeout, steps)


@_part_of(_spad.Layout)
class Layout:
    """The places of all tensors of a kernel."""

    @property
    def data(self):
        """Everything as a dict."""
        return _data(self.json())

    def report(self, check=None, sim=None, title=None):
        """A Report of the places, with findings and times if there are some."""
        skip = [name for name, part in (("check", check), ("sim", sim)) if part is None]
        return analyse(self.kernel, skip, layout=self, check=check, sim=sim).report(title)

    def _repr_html_(self):
        return self.report().light()

    def __repr__(self):
        return f"<spad.Layout of {self.kernel.name}: {'fits' if self.fits else 'does not fit'}>"


@_part_of(_spad.Analysis)
class Analysis:
    """Everything about a kernel. bool() is true if it fits, is right and runs to its end."""

    @property
    def check(self):
        """The Check; None: it was left out."""
        made = self._check
        return None if made is None else Check(made)

    @property
    def data(self):
        """Layout, check and engines as a dict."""
        return _data(self.json())

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
class Sim:
    """How long a kernel takes, and why."""

    @property
    def data(self):
        """Everything as a dict: engines, waits, repeats, path and rows."""
        return _data(self.json())

    def report(self, layout=None):
        """A Report with the operations on their engines, and the tensors over time."""
        made = _spad.layout(self.kernel) if layout is None else layout
        return made.report(sim=self)

    def _repr_html_(self):
        return self.report().light()

    def __repr__(self):
        return f"<spad.Sim of {self.kernel.name}: {self.time_text(self.makespan)}>"


@_part_of(_spad.Tune)
class Tune:
    """How deep the rings of a kernel should be."""

    @property
    def data(self):
        """Everything as a dict: knobs, frontier and hoists."""
        return _data(self.json())

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
class Frontier:
    """Layouts of a kernel between the fewest bytes and the least time."""

    @property
    def data(self):
        """Everything as a dict."""
        return _data(self.json())

    def __repr__(self):
        return f"<spad.Frontier of {self.kernel.name}: {len(self.points)} layouts>"


@_part_of(_spad.Advice)
class Advice:
    """Changes of a kernel that keep its proof; kernel has them all."""

    @property
    def data(self):
        """Everything as a dict."""
        return _data(self.json())

    def __len__(self):
        return len(self.changes)

    def __repr__(self):
        return f"<spad.Advice: {len(self)} changes of {self.kernel.name}>"


@_part_of(_spad.Walk)
class Walk:
    """The events of a kernel in program order, a dict each; see Kernel.walk."""

    def __repr__(self):
        return f"<spad.Walk at {self.values}>"


# ---- blocks and registries -----------------------------------------------------------------------


@_part_of(_spad.Registry)
class Registry:
    """Registry(): the buffers of components, laid out by name (docs/registry.md)."""

    def __repr__(self):
        return f"<spad.Registry of {len(self.components)} components>"


class Block(_spad.Block):
    """Block(target, name=None, tilelang_policy=False, reuse=True, merge_static=False,
    barriers_in_arena=False, threads=0): the buffers of one thread block."""

    @contextmanager
    def region(self, kind="serial"):
        """A loop or branch: serial, parallel, branch or concurrent."""
        self.enter(kind)
        try:
            yield self
        finally:
            self.leave()

    def report(self, title=None):
        """A Report of the plan."""
        return self.trace().report(title)

    def _repr_html_(self):
        try:
            return self.report().light()
        except _spad.Error:
            return None  # there is no plan yet

    def __repr__(self):
        return f"<spad.Block on {self.target.name} of {len(self)} buffers>"


# ---- devices ---------------------------------------------------------------------------------------


@_part_of(_spad.Device)
class Device:
    """Device(name='host', target=None, max_bytes=0, block_bytes=0): host, cuda:N, opencl:N,
    ascend:N (or npu:N) or neuron:N."""

    def __repr__(self):
        return f"<spad.Device {self.name}: {self.about}>"


@_part_of(_spad.Buffer)
class Buffer:
    """A typed, shaped piece of the memory of a device. As a with block it is freed at the end.

    Host buffers speak the buffer protocol and DLPack, CUDA buffers DLPack and
    __cuda_array_interface__.
    """

    def __enter__(self):
        if self.freed:
            raise _spad.StateError("the buffer was freed before")
        return self

    def __exit__(self, *unused):
        if not self.freed:
            self.free()

    def __dlpack_device__(self):
        """(1, 0) for the host, (2, N) for cuda:N."""
        name = self.device.name
        if name == "host":
            return 1, 0
        if name.startswith("cuda:"):
            return 2, int(name[5:])
        raise BufferError(f"DLPack cannot carry memory of {name}")

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """The bytes for another library, without a copy; as long as it has them, free() is
        refused. Work on streams of ours is done first, unless stream is -1."""
        where = self.__dlpack_device__()
        if copy or dl_device not in (None, where):
            raise BufferError("a copy was asked for; copy the buffer first")
        if where[0] == 2 and stream != -1 and self.nbytes:
            self.read(0, 1)
        return _spad.to_dlpack(self, *where, max_version is not None and max_version[0] >= 1)

    @property
    def __cuda_array_interface__(self):
        """Version 3 of the interface; only CUDA buffers in global memory have it."""
        if not self.device.name.startswith("cuda:") or self.scope != "global":
            raise AttributeError("the buffer is not in global memory of a CUDA device")
        if self.nbytes:
            self.read(0, 1)  # what our streams do with it is done
        size = _spad.dtype_bytes(self.dtype)
        kind = {"e": "f", "f": "f", "d": "f", "b": "i", "h": "i", "i": "i", "q": "i",
                "?": "b"}.get(self.format, "u")
        return {"shape": self.shape, "typestr": f"{'|' if size == 1 else '<'}{kind}{size}",
                "data": (self.address, False), "version": 3, "strides": None, "stream": None}

    def __repr__(self):
        if self.freed:
            return "<spad.Buffer, freed>"
        return (f"<spad.Buffer {self.name or '(unnamed)'}: {self.shape} {self.dtype} on "
                f"{self.device.name}>")


@_part_of(_spad.Workspace)
class Workspace:
    """Workspace(device, bytes, scope='global', name=None): bytes that the phases of a computation
    use in turn. As a with block it is closed at the end."""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __repr__(self):
        return f"<spad.Workspace of {self.bytes} B: {self.used} B used, {self.peak} B at most>"


class Stream(_spad.Stream):
    """Stream(device): an order of work. As a with block it is closed at the end."""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __repr__(self):
        return f"<spad.Stream on {self.device.name}>"


class Log(_spad.Log):
    """A log of allocations in the format of RMM's logging adaptor; a sequence of its rows.
    Log.parse(text), Log.load(path), Log.from_snapshot(snapshot)."""

    names = None  # of its allocations, by number; None: the log has none

    @classmethod
    def load(cls, path, device=None):
        """The log in a file: of RMM as CSV, or a pickled memory snapshot of PyTorch, of which
        device says the number of the device. A pickle is read as plain data."""
        content, name = _read_bytes(path, _ROWS_MIB)
        head = content.read(1)
        content.seek(0)
        if head == b"\x80":  # every pickle since protocol 2 begins so, and no text does
            return cls.from_snapshot(content.read(), device, name)
        return cls.parse(content.read().decode("utf-8"), name)

    @classmethod
    def from_snapshot(cls, snapshot, device=None, file="<snapshot>"):
        """The log of a memory snapshot of PyTorch: the dict of torch.cuda.memory._snapshot(), or
        the bytes of its pickle. device: the number of the device, if there are several."""
        from . import _snapshot  # here, because few programs need it

        if isinstance(snapshot, (bytes, bytearray, memoryview)):
            snapshot = _snapshot.unpickle(bytes(snapshot), file)
        text, names = _snapshot.read(snapshot, device, file)
        log = cls.parse(text, file)
        log.names = tuple(names)
        return log

    def _lives(self):
        """Begin, end, address, bytes, name and stream of every allocation; end None: not freed."""
        lives = []
        for time, row in enumerate(self):
            number = row["allocation"]
            if number is None:
                continue
            if row["action"] == "allocate":
                name = None if self.names is None else self.names[number]
                lives.append([time, None, row["address"], row["bytes"], name, row["stream"]])
            else:
                lives[number][1] = time
        return lives

    def plan(self, capacity=None, alignment=1):
        """A Plan of the allocations: their sizes, and the rows between which they live."""
        lives, plan = self._lives(), Plan(capacity=capacity)
        plan.add_many([life[0] for life in lives],
                      [len(self) if life[1] is None else life[1] for life in lives],
                      [life[3] for life in lives], alignment=[alignment] * len(lives),
                      names=_distinct(life[4] for life in lives))
        return plan

    def report(self, title="log"):
        """A Report of the blocks over time."""
        lives = self._lives()
        low = min((life[2] for life in lives), default=0)
        top = max((life[2] + life[3] for life in lives), default=1)
        chip = Target.parse(f"target log\nspace memory {{ bytes {max(top - low, 1)} }}\n", "<log>")
        report = Report(chip, title, "row")
        if self.names is None:
            report.add_log(self)
            return report
        for number, (begin, end, address, size, name, stream) in enumerate(lives):
            report.add_box(name or f"stream {stream}[{number}]", begin,
                           len(self) if end is None else end, address - low, size)
        return report

    def _repr_html_(self):
        return self.report().light()

    def __repr__(self):
        return f"<spad.Log of {len(self)} rows, {self.allocations} allocations>"


def torch_library():
    """The path of the library that PyTorch's pluggable CUDA allocator loads, to take its memory
    from our pool:

        allocator = torch.cuda.memory.CUDAPluggableAllocator(
            spad.torch_library(), "spad_torch_alloc", "spad_torch_free")
        torch.cuda.memory.change_current_allocator(allocator)   # before the first tensor

    torch_stats(device) has what it took."""
    return _spad.__file__


def replay(log, device="host", scope="global"):
    """Makes the calls of a log (a Log, or the path of one: of RMM or of PyTorch) again, on the pool of a device or on a
    Memory: how long they take, and what does not fit."""
    if not isinstance(log, _spad.Log):
        log = Log.load(log)
    if not isinstance(device, (_spad.Device, Memory)):
        device = Device(device)
    return log.replay(device if isinstance(device, Memory) else device.pool(scope))


def devices():
    """The devices of this machine, and why others are absent."""
    return _data(_spad.devices_json())
