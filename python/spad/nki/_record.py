# SPDX-License-Identifier: Apache-2.0
"""Records what a traced NKI kernel does, as lines of the kernel language.

One Recorder per trace. A tensor becomes a declaration where the kernel makes it, an instruction an
operation with exactly what it reads and writes. Nothing is computed. Each line has the file and the
line of the user's Python, as a comment and for Kernel.place().
"""

import contextvars
import linecache
import math
import os
import re
import sys

from .. import _spad
from ._access import Accesses, alias_text, lane_pieces
from ._isa import INSTRUCTIONS
from ._programs import Programs
from ._views import Register, Storage, View, item_bytes


class TraceError(_spad.ArgumentError):
    """A kernel that cannot be traced. `place` is (file, line) of the user's Python, or None."""

    place = None


class NotCovered(Exception):
    """Something whose numbers nt.run does not compute."""


_current = contextvars.ContextVar("spad.nki.trace", default=None)

_WORDS = frozenset("""reads writes updates in delivers arrives signals cost after by at alias of ring mod lane bank
    step align auto stack heap input output persistent free par banks base kernel tensor for if else scope agent
    alloc wait on sync arrive signal take init expect invalidate commit drain fence next section param region unit
    barrier counter mbarrier group all""".split())


def recording():
    """The recorder of the trace that runs, or None."""
    return _current.get()


def current(what):
    """The recorder of the trace that runs, for a call of the kernel."""
    recorder = _current.get()
    if recorder is None:
        raise _spad.StateError(f"{what} is recorded only in a trace: spad.nki.trace.trace(kernel, ...)")
    return recorder


def user_frame():
    """The innermost frame that is not of this package, or None."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("spad."):
        frame = frame.f_back
    return frame


_ASSIGNED = re.compile(r"\s*(?:self\.)?([A-Za-z_]\w*)\s*(?::[^=]*)?=[^=]")


class Recorder:
    """The lines of one trace."""

    def __init__(self, chip, name, lnc, operations_most):
        self.chip, self.name, self.lnc = chip, name, lnc
        self.engines, self.spaces = chip.engines, chip.spaces  # each is read from the chip once
        self.lines, self.places = [], []
        self.storages = []
        self.notes = []      # (place, text), each once
        self.operations = 0
        self.constants = {}
        self._noted = set()
        self._names = {}
        self._assigned = {}
        self._most = operations_most
        self._accesses = Accesses(self._declare, self.fresh)
        self.at = None       # the place of what is recorded, where it is not the one of the call
        self.pending = None  # a result of the older dialect that has no tensor yet
        if lnc > 1:          # names of what the cores meet at
            self._names.update(cores=1, exchange=1, core_0=1, core_1=1)
        self.older = None    # what the older dialect needs (_older.Older)
        self.kept = ()       # where its results are tensors of their own
        self.programs = Programs(lnc)
        self.values = None   # what computes numbers (_values.Values)
        self.arguments = []  # the tensors that the kernel is called with
        self.second = None   # the first line of the second core
        self.exchanges = {}, {}  # of each core: pipe: [(operation, src, dst)]

    def settle(self):
        """Gives the pending result a tensor of its own; before anything else is recorded."""
        pending, self.pending = self.pending, None
        if pending is not None:
            pending.settle()

    # ---- lines -------------------------------------------------------------------------

    def place(self):
        if self.at is not None:
            return self.at
        frame = user_frame()
        return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else None

    def line(self, text, place=None):
        place = self.place() if place is None else place
        self.lines.append(text)
        self.places.append(place)

    def note(self, text, place=None):
        """Something that the reader of a result must know; kept once for each source line."""
        place = self.place() if place is None else place
        if (place, text) not in self._noted:
            self._noted.add((place, text))
            self.notes.append((place, text))

    def no_values(self, what):
        """Refuses an operation whose numbers are asked for and not known."""
        if self.values is not None:
            raise NotCovered(what)

    def refuse(self, text):
        error = TraceError(text)
        error.place = self.place()
        return error

    def fresh(self, name):
        """A name that the kernel language takes and that is not in use."""
        name = re.sub(r"\W", "_", str(name), flags=re.ASCII)[:50] or "t"
        if not (name[0].isalpha() or name[0] == "_"):
            name = f"t{name}"
        if name in _WORDS or name in self.engines or name in self.spaces:
            name += "_t"
        count = self._names.get(name, 0) + 1
        self._names[name] = count
        if count == 1:
            return name
        return self.fresh(f"{name}_{count}")

    # ---- tensors -----------------------------------------------------------------------

    def tensor(self, shape, dtype, buffer, name=None, address=None, is_input=False, place=None,
               is_fresh=False):
        self.settle()
        shape = tuple(_whole(count, "shape") for count in
                      (shape if isinstance(shape, (tuple, list)) else (shape,)))
        space = getattr(buffer, "space", None)
        if space is None:
            raise TypeError(f"buffer= is {buffer!r}, not a memory of nki.language")
        if not shape or min(shape) < 1:
            raise ValueError(f"a tensor has at least one element in each dimension, not {shape}")
        item_bytes(dtype)
        place = place or self.place()
        lanes = self.spaces[space]["lanes"]
        if space != "hbm" and shape[0] > lanes:
            raise ValueError(f"a tensor of {shape[0]} partitions; {space} has {lanes}")
        known = self.programs.known(buffer, shape, dtype) if not is_input else None
        if known is not None:
            return View.whole(known)
        if not is_fresh:
            name = self.fresh(name or self._assigned_name(place) or "t")
        storage = Storage(name, space, buffer, str(dtype), shape, self._address(address, space), self.programs.core)
        storage.is_input = is_input
        self.programs.made(storage)
        self.line(Declaration(storage, storage.name, None), place)
        self.storages.append(storage)
        return View.whole(storage)

    def _address(self, address, space):
        if address is None:
            return None
        if space == "hbm":
            raise ValueError("a tensor in HBM has no address of the kernel's choice")
        lane, byte = address
        return _whole(lane, "address"), _whole(byte, "address")

    def _assigned_name(self, place):
        """The variable that the source line of a call assigns, for a tensor without a name."""
        if place not in self._assigned:
            found = _ASSIGNED.match(linecache.getline(*place)) if place is not None else None
            self._assigned[place] = found[1] if found else None
        return self._assigned[place]

    def _declare(self, storage, name, text):
        self.line(Declaration(storage, name, text))

    # ---- operations --------------------------------------------------------------------

    def call(self, name, args, kwargs):
        """An instruction of nki.isa, by its row in the table."""
        row = INSTRUCTIONS[name]
        given = row.bind(args, kwargs)
        if name in ("core_barrier", "sendrecv"):
            return self._meet(name, given)
        if name == "register_move":
            return None
        for parameter in (*row.writes, *row.updates, *row.sums):
            value = given[parameter]
            if not isinstance(value, View) and not (value is None and
                                                    row.signature.parameters[parameter].default is None):
                raise TypeError(f"nki.isa.{name}: {parameter} is {value!r}, not a tensor")
        reads = [view for parameter in row.reads
                 for view in _views(given[parameter], row.steps.get(parameter))]
        writes = [view for parameter in row.writes
                  for view in _views(given[parameter], row.steps.get(parameter))]
        updates = [view for parameter in row.updates for view in _views(given[parameter])]
        if name in ("dma_copy",) and given["dst_rmw_op"] is not None:
            writes, updates = [], writes
        if getattr(given.get("oob_mode"), "name", "error") != "error":
            self.note(f"{name}: the device may skip a part of the copy (oob_mode); recorded as copied")
        _check_shapes(name, given)
        adds = self.operation(self._engine(row, given, reads, writes), name, reads, writes, updates,
                              [view for parameter in row.sums for view in _views(given[parameter])],
                              row.cost, given.get("accumulate"))
        if self.values is not None:
            self.values.instruction(name, given, adds)
        return Instruction(self)

    def _meet(self, name, given):
        """An instruction where the two cores wait for each other."""
        if self.lnc == 1:
            if name == "sendrecv":
                raise self.refuse("nki.isa.sendrecv between two cores: a trace has one core (lnc=2)")
            self.note("core_barrier of one core has no effect")
        elif name == "core_barrier":
            self.settle()
            self.line(Meeting("cores"))
        else:
            self._exchange(given)

    def _exchange(self, given):
        """sendrecv: each core copies what the other one sends, between two meetings."""
        src, dst = given["src"], given["dst"]
        if src.size != dst.size:
            raise ValueError(f"nki.isa.sendrecv: src {src.shape} and dst {dst.shape} have different numbers of "
                             f"elements")
        self.settle()
        made, core = Operation("dma", "sendrecv"), self.programs.core
        self.operations += 1
        made.add("writes", dst.storage, self._accesses.of(dst)[0])
        sent = self.exchanges[core].setdefault(given["pipe_id"], [])
        sent.append((made, src, dst))
        if core:
            others = self.exchanges[0].get(given["pipe_id"], [])
            if len(others) < len(sent):
                raise self.refuse("nki.isa.sendrecv: the other core does not call it")
            other, other_src, other_dst = others[len(sent) - 1]
            for operation, source, target in ((made, other_src, dst), (other, src, other_dst)):
                if source.size != target.size:
                    raise ValueError(f"nki.isa.sendrecv: the other core sends {source.shape}, and dst is "
                                     f"{target.shape}")
                operation.add("reads", source.storage, self._accesses.of(source)[0])
        place = self.place()
        for line in (Meeting("exchange"), made, Meeting("exchange")):
            self.line(line, place)

    def _engine(self, row, given, reads, writes):
        views = [*reads, *writes]
        spaces = {view.storage.space for view in views}
        if row.name in ("register_load", "register_store"):
            return "dma" if "hbm" in spaces else row.engines[0]
        asked = given.get("engine")
        asked = getattr(asked, "name", asked)
        if row.engines[0] == "dma" or asked in (None, "unknown"):
            return self._default(row, given, spaces, views)
        if asked not in row.engines:
            raise ValueError(f"nki.isa.{row.name} does not run on the engine '{asked}'; it runs on "
                             f"{', '.join(row.engines)}")
        return asked

    def _default(self, row, given, spaces, views):
        """The engine where the call leaves it open: the documented rule, or the first of the row."""
        if row.name == "nc_transpose":
            return "tensor" if given["dst"].storage.space == "psum" and spaces != {"psum"} else "vector"
        if row.name == "tensor_tensor" and "psum" not in spaces:
            op = getattr(given["op"], "__name__", "")
            if op == "power" or all(view.dtype in ("int32", "uint32") for view in views):
                return "gpsimd"
        if row.name == "tensor_scalar" and "gpsimd" in row.engines:
            return "vector"
        return row.engines[0]

    def operation(self, engine, name, reads, writes, updates=(), sums=(), cost="sizes", accumulate=None):
        self.settle()
        if self.older is not None and self.older.zeroed:
            self.older.start([*reads, *updates], writes, sums)
        place = self.place()
        self.operations += 1
        if self.operations > self._most:
            raise self.refuse(f"the kernel has more than {self._most} operations; "
                              f"trace(..., operations_most=) sets the limit")
        reads = [*reads, *(index for view in (*reads, *writes, *updates, *sums) for index in view.index)]
        adds = False
        for view in sums:
            if self._adds(view, accumulate):
                updates, adds = [*updates, view], True
            else:
                writes = [*writes, view]
        for view in (*reads, *writes, *updates):
            if view not in sums:
                _end_sums(view)
        made, exact = Operation(engine, name), True
        for word, views in (("reads", reads), ("writes", writes), ("updates", updates)):
            for view in views:
                parts, whole = self._accesses.of(view, engine == "dma")
                made.add(word, view.storage, parts)
                self._note_part(name, word, view, whole, place)
                exact = exact and whole and not view.reach
        made.tail = self._cost(engine, cost, [*reads, *writes, *updates], exact)
        self.line(made, place)
        return adds

    def _note_part(self, name, word, view, exact, place):
        """Says where an access is recorded as more than it is."""
        if exact and not view.reach:
            return
        counted = "" if word == "reads" else ", and all of it counts as written"
        if view.reach:
            self.note(f"{name}: which part of '{view.name}' is accessed is known on the device only; "
                      f"recorded as all that it may be{counted}", place)
        else:
            self.note(f"{name}: the part of '{view.name}' has no exact form in the kernel language; "
                      f"recorded as the smallest part that holds it{counted}", place)

    def _cost(self, engine, kind, views, exact):
        if kind == "moved" or engine == "dma":
            if exact:
                return ""
            moved = max(view.size * item_bytes(view.dtype) for view in views)
            lanes = max([view.dims[0][1] for view in views if view.is_on_chip] or [1])
            engine = self.engines["dma"]
            units = min(engine["count"], -(-lanes // 8))
            return f" cost {engine['fixed_ns'] + -(-moved * 1000 // (engine['bytes_per_us'] * units))} ns"
        if kind == "sizes":
            if exact:
                return ""
            return f" cost {max(64, self._elements(views))} cycles"
        sign, number = kind.split()[1:]
        count = self._elements(views)
        return f" cost {max(64, count * int(number) if sign == 'x' else count + int(number))} cycles"

    @staticmethod
    def _elements(views):
        return max([math.prod(view.shape[1:]) for view in views if view.is_on_chip] or [1])

    def _adds(self, view, accumulate):
        """Does a matmul add to its destination? As accumulate= says; where it is left open, the first one
        of a sum overwrites and the others add, until something else reads or writes the destination."""
        region = _region(view)
        sums = view.storage.sums
        known = any(_holds(other, region) for other in sums)
        if accumulate is not None:
            adds = bool(accumulate)
        else:
            adds = known
            if not known and any(_meets(other, region) for other in sums):
                self.note(f"a matmul writes a part of '{view.name}' that an open sum only partly covers; "
                          f"recorded as the start of a sum")
        if not known:
            sums.append(region)
        return adds

    # ---- the end -----------------------------------------------------------------------

    def finish(self, returned):
        """(lines, places) of the whole kernel."""
        self.settle()
        for view in _views(returned):
            view.storage.is_output = True
        if self.lnc > 1:
            return self._finish_cores()
        lines, places = [f"kernel {self.name} on {self.chip.name}"], [None]
        shown = {storage: self._shown(storage) for storage in self.storages}
        for made, place in zip(self.lines, self.places):
            for text in made.texts(shown):
                lines.append(text + self._comment(place))
                places.append(place)
        return lines, places

    def _finish_cores(self):
        """(lines, places) of a kernel with an agent for each core."""
        for pipe in self.exchanges[0]:
            if len(self.exchanges[0][pipe]) != len(self.exchanges[1].get(pipe, [])):
                raise TraceError(f"the cores call nki.isa.sendrecv for pipe {pipe} a different number of times")
        shown = {storage: self._shown(storage) for storage in self.storages}
        lines, places = [f"kernel {self.name} on {self.chip.name}"], [None]

        def write(made, place):
            for text in made.texts(shown):
                lines.append(text + self._comment(place))
                places.append(place)

        all_lines = list(zip(self.lines, self.places))
        for made, place in all_lines:
            if isinstance(made, Declaration):
                write(made, place)
        for name in sorted({made.name for made in self.lines if isinstance(made, Meeting)}):
            lines.append(f"barrier {name} count 2")
            places.append(None)
        for core, part in enumerate((all_lines[:self.second], all_lines[self.second:])):
            lines.append(f"agent core_{core} {{")
            places.append(None)
            for made, place in part:
                if not isinstance(made, Declaration):
                    write(made, place)
            lines.append("}")
            places.append(None)
        return lines, places

    def _shown(self, storage):
        """name: the name that reads use for it. Of a tensor that is written under several names, each name
        would be a tensor of its own for the check; a name that is never written shows what all have written
        (docs/check.md). So reads, and the end of the kernel, use names that are only read."""
        written = storage.written | ({storage.name} if storage.is_input and storage.written else set())
        if len(written) < 2:
            return {}
        return {name: self.fresh(f"{name[:58]}_r") for name in sorted(written | {storage.name})}

    @staticmethod
    def _comment(place):
        if place is None:
            return ""
        file = os.path.basename(place[0])
        file = "".join(char if char.isprintable() else "?" for char in file)
        return f"  # {file}:{place[1]}"


class Declaration:
    """A tensor, or another name of it."""

    __slots__ = ("storage", "name", "text")

    def __init__(self, storage, name, text):
        self.storage, self.name, self.text = storage, name, text

    def texts(self, shown):
        storage, twin = self.storage, shown[self.storage].get(self.name)
        if self.text is not None:
            made = [f"tensor {self.name} : {self.text}"]
            return made if twin is None else [*made, f"tensor {twin} : {self.text}"]
        shape = storage.shape if len(storage.shape) > storage.is_on_chip else (*storage.shape, 1)
        text = f"tensor {self.name} : {storage.home} {storage.dtype} ({', '.join(map(str, shape))})"
        if storage.address is not None:
            lane, byte = storage.address
            text += f" at {byte}" + (f" lane {lane}" if lane else "")
        is_output = storage.is_output or storage.is_input and bool(storage.written)
        if twin is None:
            both = storage.is_input and is_output
            return [text + (" persistent" if both else " input" if storage.is_input else
                            " output" if is_output else "")]
        return [text + (" input" if storage.is_input else ""),
                f"tensor {twin} : {alias_text(storage, storage.dtype, 0, shape)}"
                + (" output" if is_output else "")]


class Meeting:
    """Both cores wait for each other."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def texts(self, shown):
        return [f"sync {self.name}"]


class Operation:
    """What an instruction reads, writes and updates, by name."""

    __slots__ = ("engine", "name", "accesses", "tail")

    def __init__(self, engine, name):
        self.engine, self.name, self.tail = engine, name, ""
        self.accesses = {"reads": {}, "writes": {}, "updates": {}}

    def add(self, word, storage, parts):
        for part in parts:
            self.accesses[word][part] = storage
            if word != "reads":
                storage.written.add(part[0])

    def texts(self, shown):
        reads, writes, updates = (dict(self.accesses[word]) for word in ("reads", "writes", "updates"))
        for part, storage in list(updates.items()):
            if part[0] in shown[storage] and self.engine != "tensor":  # which cannot read its own results
                del updates[part]
                reads[part], writes[part] = storage, storage
        text = f"{self.engine} {self.name}"
        for word, parts in (("reads", reads), ("writes", writes), ("updates", updates)):
            names = [(shown[storage].get(name, name) if word == "reads" else name) + ranges
                     for (name, ranges), storage in parts.items()]
            text += f" {word} {', '.join(dict.fromkeys(names))}" if names else ""
        return [text + self.tail]


class Instruction:
    """What an instruction gives back to the kernel: order can be asked for, and holds already."""

    __slots__ = ("_recorder",)

    def __init__(self, recorder):
        self._recorder = recorder

    def depends_on(self, *producers):
        self._recorder.note("depends_on is not modelled: operations wait for the data that they access")
        return self


def _whole(value, what):
    if isinstance(value, Register):
        raise TypeError(f"{value.what} in {what}=")
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what}= has {value!r}, which is no whole number")
    return value.__index__()


def _views(value, step=None):
    """The tensors in an argument: itself, or those in a list."""
    if isinstance(value, View):
        if step is None:
            return [value]
        lane_step, count = value.dims[0]
        return [value._with(dims=((lane_step * step, -(-count // step)), *value.dims[1:]))]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [view for part in value for view in _views(part, step)]
    return []


def _region(view):
    lanes, _ = lane_pieces(view, 0)
    low, high = view.extent()
    size = item_bytes(view.dtype)
    return lanes[0][0], lanes[0][0] + lanes[0][1], low * size, high * size


def _holds(a, b):
    return a[0] <= b[0] and b[1] <= a[1] and a[2] <= b[2] and b[3] <= a[3]


def _meets(a, b):
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def _end_sums(view):
    if view.storage.sums:
        region = _region(view)
        view.storage.sums = [other for other in view.storage.sums if not _meets(other, region)]


def _check_shapes(name, given):
    """The shapes that an instruction certainly refuses."""
    if name in ("nc_matmul",):
        dst, stationary, moving = (given[key] for key in ("dst", "stationary", "moving"))
        if stationary.shape[0] != moving.shape[0]:
            raise ValueError(f"nki.isa.nc_matmul: stationary {stationary.shape} and moving {moving.shape} "
                             f"have different numbers of partitions")
        if given["is_transpose"] or given["perf_mode"] is not None and \
                getattr(given["perf_mode"], "name", "none") != "none":
            return
        rows, columns = (math.prod(view.shape[1:]) for view in (stationary, moving))
        if dst.shape[0] != rows or math.prod(dst.shape[1:]) != columns:
            raise ValueError(f"nki.isa.nc_matmul: stationary {stationary.shape} and moving {moving.shape} "
                             f"give ({rows}, {columns}), and dst is {dst.shape}")
    elif name in ("dma_copy", "tensor_copy"):
        dst, src = given["dst"], given["src"]
        if isinstance(src, View) and dst.size != src.size:
            raise ValueError(f"nki.isa.{name}: dst {dst.shape} and src {src.shape} have different numbers "
                             f"of elements")
    elif name == "tensor_tensor":
        for key in ("data1", "data2"):
            if given[key].shape[0] != given["dst"].shape[0]:
                raise ValueError(f"nki.isa.tensor_tensor: dst {given['dst'].shape} and {key} "
                                 f"{given[key].shape} have different numbers of partitions")
