# SPDX-License-Identifier: Apache-2.0
"""The objects of the library: chips, managers, plans, findings, times and pictures."""

import os
from contextlib import contextmanager

from . import _spad

Tensor = _spad.Tensor
Direct = _spad.Direct
PlanResult = _spad.PlanResult
Layout = _spad.Layout
Sim = _spad.Sim
Tune = _spad.Tune
Buffer = _spad.Buffer
Device = _spad.Device
Workspace = _spad.Workspace
Pool = _spad.Pool
Walk = _spad.Walk
Memory = _spad.Memory
Allocation = _spad.Allocation
Fence = _spad.Fence
Tmem = _spad.Tmem
Registry = _spad.Registry
Component = _spad.Component
Allocator = _spad.Allocator
copy = _spad.copy
copy_part = _spad.copy_part
copy_tile = _spad.copy_tile


def _data(text):
    import json  # here, because a program that plans needs none of it

    return json.loads(text)


def _read(path):
    with open(os.fspath(path), encoding="utf-8") as file:
        return file.read()


class Target(_spad.Target):
    """Target(name): a chip, its memory spaces and engines.

    Target.parse(text) and Target.load(path) read one from a file (docs/targets.md).
    """

    @classmethod
    def load(cls, path):
        """A chip from a target file."""
        return cls.parse(_read(path), str(path))

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

    def __repr__(self):
        return f"<spad.Target {self.name}: {self.about}>"


def targets():
    """The built-in chips, by name."""
    return {name: Target(name) for name in _spad.target_names()}


# ---- pictures ---------------------------------------------------------------------------


class Report(_spad.Report):
    """Report(target, title=None, time_unit=None): boxes in memory over time."""

    def text(self):
        """A map of letters."""
        return self.write("text")

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
        for PyTorch's memory_viz) or .trace (for Perfetto)."""
        kinds = {".svg": "svg", ".html": "html", ".json": "json", ".txt": "text",
                 ".pickle": "snapshot", ".trace": "trace"}
        ending = "." + os.fspath(path).rpartition(".")[2]
        if ending not in kinds:
            raise _spad.ArgumentError(f"'{ending}' is no ending of a picture; there are "
                                      + ", ".join(sorted(kinds)))
        content = self.write(kinds[ending])
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def _repr_svg_(self):
        return self.svg()

    def __repr__(self):
        return f"<spad.Report of {len(self)} boxes>"


def diff(before, after, format="text"):
    """What is different in two reports, as text, json or html; "changes" is a list of dicts."""
    return _spad.diff(before, after, format)


def emit(what, lang, name=None, target=None, space=None):
    """The places of a Layout or a PlanResult as source text: c, cuda, nki, json or csv.

    Also those of buffers that are given one by one, as dicts with name, space, bytes (per lane)
    and places, a list of (lane, byte); and lanes, alignment, shape and dtype if they are known.
    """
    if isinstance(what, PlanResult):
        if target is None:
            target, space = _plan_home(what)
    elif not isinstance(what, Layout):
        if target is None:
            raise TypeError("emit() of rows needs a target")
        what = [(row.get("name"), row["space"], row.get("lanes", 1), row["bytes"],
                 row.get("alignment", 1), row["places"], row.get("shape"), row.get("dtype"))
                for row in what]
    return _spad.emit(what, lang, name, target, space)


class Trace(_spad.Trace):
    """Trace(target): the log of what was allocated and freed. Managers, devices and kernels write
    one; alloc(), free(), open_scope() and so on write it by hand."""

    def report(self, title=None):
        """A Report of the tensors."""
        return trace_report(self, title)

    def _repr_svg_(self):
        return self.report().svg()

    def __repr__(self):
        return f"<spad.Trace on {self.target.name}: {len(self)} events>"


def trace_report(trace, title=None):
    """A Report of a trace of any class."""
    report = Report(trace.target, title)
    report.add_trace(trace)
    return report


# ---- the scoped manager --------------------------------------------------------------------


class Stack(_spad.Stack):
    """Stack(target, space='sbuf', lower=0, upper=None, behaviour='exact', trace=None,
    automatic=False, default_heap=False, use_reserved=False): a manager with scopes."""

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
        return trace_report(self.trace, title)

    def _repr_svg_(self):
        return self.report().svg() if self.trace is not None else None

    def __repr__(self):
        return (f"<spad.Stack on {self.target.name}: {self.get_used_space()} of "
                f"{self.get_total_space()} B per lane, {self.depth} scopes>")


class Attempt:
    """How a Stack.attempt() ended."""

    error = None

    def __bool__(self):
        return self.error is None


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
        text = _read(path)
        plan.read_csv(text, str(path))
        plan.source = text
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
    top = max(plan.capacity or 0, result.height or 0, 1)
    text = f"target plan\nspace memory {{ bytes {top}; lanes {plan.lanes} }}\n"
    return Target.parse(text, "<plan>"), "memory"


def plan_report(result, title="plan"):
    """A Report of the buffers of a PlanResult."""
    target, space = _plan_home(result)
    report = Report(target, title, "time")
    report.add_plan(result, space)
    height = "no plan" if result.height is None else f"height {result.height} B"
    report.add_note(f"{result.verdict}: {height}, no plan is lower than {result.bound} B")
    return report


# ---- kernels ------------------------------------------------------------------------------------


class Finding:
    """Something that a check found: code, severity, message, subject, other, line, column,
    count, file, notes."""

    __slots__ = ("code", "severity", "message", "subject", "other", "line", "column", "count",
                 "file", "notes")

    def __init__(self, **facts):
        for name in self.__slots__:
            setattr(self, name, facts.get(name))

    def __repr__(self):
        return f"<{self.severity} {self.code} in line {self.line}: {self.message}>"


class Check:
    """What is wrong with a kernel. bool() is true if there are no errors."""

    def __init__(self, made, layout=None):
        self._c = made
        self._layout = layout
        self.findings = [Finding(**facts) for facts in made._findings]

    verdict = property(lambda self: self._c.verdict, doc="wrong, proved ..., or unknown.")
    reason = property(lambda self: self._c.reason, doc="One sentence about the verdict.")
    counts = property(lambda self: self._c.counts, doc="What was found and looked at.")

    def text(self):
        """The findings as a compiler shows them."""
        return self._c.text()

    def json(self):
        """Everything as JSON."""
        return self._c.json()

    def sarif(self):
        """A SARIF log, for code-review tools."""
        return self._c.sarif()

    def report(self):
        """A Report of the kernel with the findings in it."""
        made = self._layout or _spad.layout(self._c.kernel)
        return layout_report(made, check=self._c)

    def _repr_html_(self):
        colours = {"error": "#b00020", "warning": "#9a6700", "advice": "#0b57d0"}
        rows = "".join(
            f"<tr><td style='color:{colours.get(f.severity, 'inherit')}'>{_escape(f.severity)}</td>"
            f"<td>{f.line}</td><td><code>{_escape(f.code)}</code></td>"
            f"<td style='text-align:left'>{_escape(f.message)}</td></tr>" for f in self.findings)
        return (f"<p><b>{_escape(self.verdict)}</b>: {_escape(self.reason)}</p>"
                + (f"<table><tr><th></th><th>line</th><th>code</th><th>what</th></tr>{rows}</table>"
                   if rows else ""))

    def __bool__(self):
        return self.counts["errors"] == 0

    def __iter__(self):
        return iter(self.findings)

    def __len__(self):
        return len(self.findings)

    def __repr__(self):
        return f"<spad.Check: {self.verdict}, {len(self.findings)} findings>"


def _escape(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _kernel_in(kernel):
    """The C object of a Kernel, or the kernel of a text."""
    if isinstance(kernel, _spad.Kernel):
        return kernel
    if isinstance(kernel, str):
        return _spad.Kernel.parse(kernel)
    return kernel._finished()


def layout(kernel, timeout=None, seed=0, threads=1):
    """Places for every tensor of a kernel. That it does not fit is a result: layout.fits."""
    return _spad.layout(_kernel_in(kernel), timeout, seed, threads)


def check(kernel, layout=None, **options):
    """Is the memory of a kernel right? Options: advice=True, one_shape=False, event_limit=0,
    finding_limit=0. layout=True plans it first, so that planned places are checked too."""
    made = _kernel_in(kernel)
    if layout is True:
        layout = _spad.layout(made)
    return Check(_spad.check(made, layout, **options), layout)


def sim(kernel, layout=None, **options):
    """How long a kernel takes, in picoseconds, and what its engines wait for."""
    made = _kernel_in(kernel)
    if layout is True:
        layout = _spad.layout(made)
    return _spad.sim(made, layout, **options)


def tune(kernel, depth_most=0, exhaustive_most=0):
    """How deep the rings of a kernel should be."""
    return _spad.tune(_kernel_in(kernel), depth_most, exhaustive_most)


def layout_report(made, check=None, sim=None, title=None):
    """A Report of the places of a kernel, with findings and times if there are some."""
    kernel = made.kernel
    if title is None:
        values = ", ".join(f"{name} = {value}" for name, value in kernel.params.items())
        title = f"{kernel.name} ({values})" if values else kernel.name
    report = Report(kernel.target, title)
    report.add_layout(made, sim)
    if not made.fits:
        report.add_note("does not fit")
    if kernel.source is not None:
        report.set_source(kernel.file or "<kernel>", kernel.source)
    if check is not None:
        report.add_note(f"{check.verdict}: {check.reason}")
        report.add_findings(check)
    return report


# ---- blocks and devices --------------------------------------------------------------------------


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
        return trace_report(self.trace(), title)

    def _repr_svg_(self):
        try:
            return self.report().svg()
        except _spad.Error:
            return None  # there is no plan yet


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
    Log.parse(text), Log.load(path)."""

    @classmethod
    def load(cls, path):
        """The log in a file."""
        return cls.parse(_read(path), str(path))

    def report(self, title="log"):
        """A Report of the blocks over time."""
        top = max((row["address"] + row["bytes"] for row in self), default=1)
        low = min((row["address"] for row in self), default=0)
        chip = Target.parse(f"target log\nspace memory {{ bytes {max(top - low, 1)} }}\n", "<log>")
        report = Report(chip, title, "row")
        report.add_log(self)
        return report

    def _repr_svg_(self):
        return self.report().svg()

    def __repr__(self):
        return f"<spad.Log of {len(self)} rows, {self.allocations} allocations>"


def replay(log, device="host", scope="global"):
    """Makes the calls of a log (a Log, or the path of one) again, on the pool of a device or on a
    Memory: how long they take, and what does not fit."""
    if not isinstance(log, _spad.Log):
        log = Log.load(log)
    if not isinstance(device, (_spad.Device, Memory)):
        device = Device(device)
    return log.replay(device if isinstance(device, Memory) else device.pool(scope))


def devices():
    """The devices of this machine, and why others are absent."""
    return _data(_spad.devices_json())


# What is made by the C part only gets its pictures here.
PlanResult.report = plan_report
PlanResult._repr_svg_ = lambda self: None if self.height is None else plan_report(self).svg()
PlanResult.__repr__ = lambda self: (
    f"<spad.PlanResult: {self.verdict}, height {self.height} B, bound {self.bound} B>")
Layout.report = layout_report
Layout._repr_svg_ = lambda self: layout_report(self).svg()
Layout.__repr__ = lambda self: (
    f"<spad.Layout of {self.kernel.name}: {'fits' if self.fits else 'does not fit'}>")
Layout.data = property(lambda self: _data(self.json()), doc="Everything as a dict.")
Sim.data = property(lambda self: _data(self.json()), doc="Everything as a dict.")
Sim.__repr__ = lambda self: f"<spad.Sim of {self.kernel.name}: {self.makespan} ps>"
Tune.data = property(lambda self: _data(self.json()), doc="Everything as a dict.")
Tune.__repr__ = lambda self: f"<spad.Tune: {self.depths}, {self.makespan} ps>"
Walk.__repr__ = lambda self: f"<spad.Walk at {self.values}>"
Device.__repr__ = lambda self: f"<spad.Device {self.name}: {self.about}>"
Buffer.__repr__ = lambda self: (
    "<spad.Buffer, freed>" if self.freed else
    f"<spad.Buffer {self.name or '(unnamed)'}: {self.shape} {self.dtype} on {self.device.name}>")
Registry.__repr__ = lambda self: f"<spad.Registry of {len(self.components)} components>"
