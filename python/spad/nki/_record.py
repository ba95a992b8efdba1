# SPDX-License-Identifier: Apache-2.0
"""Records what a traced NKI kernel does, as lines of the kernel language.

One Recorder per trace. A tensor becomes a declaration where the kernel makes it, an instruction an
operation with exactly what it reads and writes. Nothing is computed. Each line has the file and the
line of the user's Python, as a comment and for Kernel.place().
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import linecache
import math
import re
import sys

from .. import _spad
from ..kernel import _quoted
from ._access import Accesses, lane_pieces
from ._cores import notes as order_notes
from ._fast import Fast
from ._operands import check_shapes
from ._programs import Programs
from ._statements import Declaration, Meeting, Operation
from ._views import Register, Storage, View, forget_forms, item_bytes, kind_of


class TraceError(_spad.ArgumentError):
    """A kernel that cannot be traced. `place` is (file, line) of the user's Python, or None."""

    place: tuple[str, int] | None = None


class NotCovered(Exception):
    """Something whose numbers nt.run does not compute."""


_current = contextvars.ContextVar("spad.nki.trace", default=None)

_WORDS = frozenset("""reads writes updates in delivers arrives signals cost after by at alias of ring mod lane bank
    step align auto stack heap input output persistent free par banks base kernel tensor for if else scope agent
    alloc wait on sync arrive signal take init expect invalidate commit drain fence next section param region unit
    barrier counter mbarrier group all may from source moves adds elected unknown macro cursor advance
    break""".split())


recording = _current.get  # the recorder of the trace that runs, or None


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


class Sources:
    """The lines of Python that a trace came through: (file, line, caller, code), where caller is the number
    of the line that called, or None.

    While a function runs, what called it stays where it is. So the frames of the last stack are kept, each with the
    number of the line that called it, and only frames that are new are walked through. A frame that is kept is not
    freed, so it is no other one. A generator may go on for another caller and is walked through again."""

    def __init__(self):
        self.rows = []
        self._known = {}   # a row, or a place -> its number
        self._lines = {}   # (number of the caller, id of a code object) -> {instruction: number of its line}
        self._last = None, {}  # the frame of the last line, unless it is one of a generator, and the numbers of its lines
        self._own = {}     # id of a code object -> is it one of this package?
        self._codes = []   # keeps them alive, so that an id stays theirs
        self._callers = {} # frame of the last stack -> number of the line that called it, _NO_CALLER for none
        self._stack = []   # these frames, the outermost first

    def here(self, frame):
        """The number of the line that runs in the innermost frame of the user's code, or None."""
        last, lines = self._last
        if frame is last:
            number = lines.get(frame.f_lasti)
            if number is not None:
                return number
        own = self._own
        while frame is not None:
            code = frame.f_code
            mine = own.get(id(code))
            if mine is None:
                mine = self._add(frame, code)
            if not mine:
                caller = self._callers.get(frame)
                if caller is None:
                    caller = self._entered(frame)
                lines = self._lines_of(code, caller)
                if not code.co_flags & _GENERATORS:
                    self._last = frame, lines
                number = lines.get(frame.f_lasti)
                return number if number is not None else self._made(lines, code, frame.f_lasti, caller)
            if mine is _END:
                return None
            frame = frame.f_back
        return None

    def forget_frames(self):
        """The kernel has ended."""
        self._callers.clear()
        self._stack.clear()
        self._last = None, {}

    def _entered(self, frame):
        """The number of the line that called a frame; keeps the frames that are new."""
        new, own, stack = [], self._own, self._stack
        while frame is not None and frame not in self._callers:
            mine = own.get(id(frame.f_code))
            if mine is None:
                mine = self._add(frame, frame.f_code)
            if mine is _END:
                frame = None
                break
            if not mine:
                new.append(frame)
            frame = frame.f_back
        while stack and stack[-1] is not frame:
            del self._callers[stack.pop()]
        caller = self._line_of(frame, self._callers[frame]) if frame is not None else _NO_CALLER
        for at in range(len(new) - 1, -1, -1):
            frame = new[at]
            if not frame.f_code.co_flags & _GENERATORS:
                self._callers[frame] = caller
                stack.append(frame)
            if at:
                caller = self._line_of(frame, caller)
        return caller

    def _line_of(self, frame, caller):
        lines = self._lines_of(frame.f_code, caller)
        number = lines.get(frame.f_lasti)
        return number if number is not None else self._made(lines, frame.f_code, frame.f_lasti, caller)

    def _lines_of(self, code, caller):
        key = (caller, id(code))
        lines = self._lines.get(key)
        if lines is None:
            lines = self._lines[key] = {}
        return lines

    def at(self, place):
        """The number of a (file, line) without callers."""
        if place is None:
            return None
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = self._row(place, None)
        return known

    def place(self, number):
        return self.rows[number][:2] if number is not None else None

    def _add(self, frame, code):
        name = frame.f_globals.get("__name__", "")
        mine = _END if name == "spad.nki.trace" else name.startswith("spad.")
        self._codes.append(code)
        self._own[id(code)] = mine
        return mine

    def _made(self, lines, code, instruction, caller):
        place = code.co_filename, _line(code, instruction)
        number = lines[instruction] = self._row(place, caller if caller != _NO_CALLER else None)
        return number

    def _row(self, place, caller):
        row = (*place, caller)
        known = self._known.get(row)
        if known is None:
            known = self._known[row] = len(self.rows)
            code = linecache.getline(*place).strip()
            self.rows.append((*row, code if code.isprintable() else ""))
        return known

    def texts(self):
        return [f"source {number} {_quoted(file)} {line}" + (f" from {caller}" if caller is not None else "")
                + (f" {_quoted(code[:200])}" if code else "")
                for number, (file, line, caller, code) in enumerate(self.rows)]


_END = object()  # below it are the frames of who asked for the trace
_NO_CALLER = -1
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _line(code, instruction):
    for first, end, line in code.co_lines():
        if first <= instruction < end and line is not None:
            return line
    return code.co_firstlineno


_ASSIGNED = re.compile(r"\s*(?:self\.)?([A-Za-z_]\w*)\s*(?::[^=]*)?=[^=]")


class Recorder:
    """The lines of one trace."""

    def __init__(self, chip, name, lnc, operations_most):
        forget_forms()
        self.chip, self.name, self.lnc = chip, name, lnc
        self.engines, self.spaces = chip.engines, chip.spaces  # each is read from the chip once
        self.lines, self.places = [], []  # what was recorded, and the number of its source
        self.sources = Sources()
        self.storages = []
        self.notes = []      # (place, text), each once
        self.operations = 0
        self.constants = {}
        self._noted = set()
        self._names, self._clean = {}, {}
        self._kinds = {}     # (shape, element type, buffer) -> (space, Kind, is it shared HBM?)
        self._assigned = {}
        self._most = operations_most
        self.accesses = Accesses(self._declare, self.fresh)
        self._fast = Fast(self, _region, _holds, _meets, _end_sums)
        self._instruction = Instruction(self)
        self._notes_asked = 0
        self.at = None       # the place of what is recorded, where it is not the one of the call
        self.pending = None  # a result of the older dialect that has no tensor yet
        if lnc > 1:          # names of what the cores meet at
            self._names.update(cores=1, exchange=1, core_0=1, core_1=1)
        self.older = None    # what the older dialect needs (_older.Older)
        self.kept = ()       # where its results are tensors of their own
        self.programs = Programs(lnc)
        self.values = None   # what computes numbers (_values.Values)
        self.arguments = []  # the tensors that the kernel is called with
        self.turns = None    # the two cores by turns, where numbers are computed (_programs.Turns)
        self.second = None   # the first line of the second core
        self.exchanges = {}, {}  # of each core: pipe: [(operation, src, dst)]
        self.equal_stores = []  # of two cores: (place, code, message)
        self.same = None     # which stores of both cores have the same values (_same_values.SameValues)

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
        self.lines.append(text)
        self.places.append(self._source(sys._getframe(1), place))

    def _source(self, frame, place=None):
        place = self.at if place is None else place
        return self.sources.here(frame) if place is None else self.sources.at(place)

    def note(self, text, place=None):
        """Something that the reader of a result must know; kept once for each source line."""
        self._notes_asked += 1
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
        known = self._clean.get(name)
        if known is None:
            known = self._clean[name] = self._allowed(name)
        names = self._names
        count = names.get(known, 0) + 1
        longer = known if count == 1 else f"{known}_{count}"  # which is no word of the language
        while count > 1 and longer in names:
            count += 1
            longer = f"{known}_{count}"
        names[longer], names[known] = 1, count
        return longer

    def _allowed(self, name):
        name = re.sub(r"\W", "_", str(name), flags=re.ASCII)[:50] or "t"
        if not (name[0].isalpha() or name[0] == "_"):
            name = f"t{name}"
        if name in _WORDS or name in self.engines or name in self.spaces:
            name += "_t"
        return name

    # ---- tensors -----------------------------------------------------------------------

    def tensor(self, shape, dtype, buffer, name=None, address=None, is_input=False, place=None,
               is_fresh=False):
        if self.pending is not None:
            self.settle()
        known = self._kinds.get((shape, dtype, buffer)) if shape.__class__ is tuple and dtype.__class__ is str else None
        if known is None or not (len(shape) == 2 and shape[0].__class__ is shape[1].__class__ is int
                                 or _INT.issuperset(map(type, shape))):  # True and 1.0 are 1 for a dict
            shape = self._shape(shape)
            space, dtype = self._memory(shape, buffer), str(dtype)
            is_shared = getattr(buffer, "value", None) == "shared_hbm"
            known = self._kinds[shape, dtype, buffer] = space, kind_of(space, dtype, shape), is_shared
        space, kind, is_shared = known
        earlier = self.programs.known(shape, dtype) if is_shared and not is_input else None
        if earlier is not None:
            return View.whole(earlier)
        source = self.sources.here(sys._getframe(2)) if place is self.at is None else self._source(None, place)
        if not is_fresh:
            if not name:
                name = self._assigned.get(source) or self._assigned_name(source) or "t"
            name = self.fresh(name)
        if address is not None:
            address = self._address(address, space)
        storage = Storage(name, space, buffer, dtype, shape, address, self.programs.core, kind)
        if is_input:
            storage.is_input = True
        if is_shared:
            self.programs.made(storage)
        self.lines.append(Declaration(storage, name, None))
        self.places.append(source)
        self.storages.append(storage)
        return View.whole(storage)

    @staticmethod
    def _shape(shape):
        if shape.__class__ is not tuple or not all(count.__class__ is int for count in shape):
            shape = tuple(_whole(count, "shape") for count in
                          (shape if isinstance(shape, (tuple, list)) else (shape,)))
        return shape

    def _memory(self, shape, buffer):
        """The space of a tensor, which must have a place for its shape."""
        space = getattr(buffer, "space", None)
        if space is None:
            raise TypeError(f"buffer= is {buffer!r}, not a memory of nki.language")
        if not shape or min(shape) < 1:
            raise ValueError(f"a tensor has at least one element in each dimension, not {shape}")
        lanes = self.spaces[space]["lanes"]
        if space != "hbm" and shape[0] > lanes:
            raise ValueError(f"a tensor of {shape[0]} partitions; {space} has {lanes}")
        return space

    @staticmethod
    def _address(address, space):
        if space == "hbm":
            raise ValueError("a tensor in HBM has no address of the kernel's choice")
        if not isinstance(address, (tuple, list)) or len(address) != 2:
            raise TypeError(f"address= is {address!r}, not (partition, byte)")
        lane, byte = address
        if lane.__class__ is byte.__class__ is int:
            return lane, byte
        return _whole(lane, "address"), _whole(byte, "address")

    def _assigned_name(self, where):
        """The variable that the line of a call assigns, for a tensor without a name; where: the number of a
        source, or (file, line)."""
        if where not in self._assigned:
            place = where if where is None or isinstance(where, tuple) else self.sources.place(where)
            found = _ASSIGNED.match(linecache.getline(*place)) if place is not None else None
            self._assigned[where] = found[1] if found else None
        return self._assigned[where]

    def _declare(self, storage, name, text):
        self.line(Declaration(storage, name, text))

    # ---- operations --------------------------------------------------------------------

    def call(self, row, args, kwargs):
        """An instruction of nki.isa, by its row in the table."""
        if self.same is not None:
            self.same.instruction(self.programs.core, row, args, kwargs)
            self.same.inside = True
            try:
                return self._record(row, args, kwargs)
            finally:
                self.same.inside = False
        return self._record(row, args, kwargs)

    def _record(self, row, args, kwargs):
        is_plain = self.older is self.values is None  # is it nothing but what its row says?
        asked = self._fast.record(row, args, kwargs) if is_plain else None
        if asked is True:
            self.places.append(self.sources.here(sys._getframe(3)))
            self.operations += 1
            if self.operations > self._most:
                self._refuse_more()
            return self._instruction
        noted, first = self._notes_asked, len(self.lines)
        made = self._call(row, args, kwargs)
        if asked is not None and self._notes_asked == noted and len(self.lines) == first + 1 \
                and isinstance(self.lines[-1], Operation):
            self._fast.learn(asked, self.lines[-1], Operation)
        return made

    def _count(self):
        self.operations += 1
        if self.operations > self._most:
            self._refuse_more()

    def _refuse_more(self):
        raise self.refuse(f"the kernel has more than {self._most} operations; "
                          f"trace(..., operations_most=) sets the limit")

    def _call(self, row, args, kwargs):
        name = row.name
        given = row.bind(args, kwargs)
        if name in ("core_barrier", "sendrecv"):
            return self._meet(name, given)
        if name == "register_move":
            if self.values is not None:
                self.values.instruction(name, given, False)
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
        check_shapes(name, given)
        adds = self.operation(self._engine(row, given, reads, writes), name, reads, writes, updates,
                              [view for parameter in row.sums for view in _views(given[parameter])],
                              row.cost, given.get("accumulate"))
        if self.values is not None:
            self.values.instruction(name, given, adds)
        return self._instruction

    def _meet(self, name, given):
        """An instruction where the two cores wait for each other."""
        if self.lnc == 1:
            if name == "sendrecv":
                raise self.refuse("nki.isa.sendrecv between two cores: a trace has one core (lnc=2)")
            self.note("core_barrier of one core has no effect")
        elif name == "core_barrier":
            self.settle()
            self.line(Meeting("cores", getattr(given["data"], "storage", None)))
            if self.turns is not None:
                self.turns.meet()
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
        self._count()
        made.add("writes", dst.storage, self.accesses.of(dst)[0])
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
                operation.add("reads", source.storage, self.accesses.of(source)[0])
        place = self.place()
        for line in (Meeting("exchange"), made, Meeting("exchange")):
            self.line(line, place)
        if self.turns is not None:
            self.turns.meet()
            received = self.exchanges[1 - core].get(given["pipe_id"], [])
            if len(received) < len(sent):
                raise self.refuse("nki.isa.sendrecv: the other core does not call it")
            numbers = self.values.get(received[len(sent) - 1][1])
            self.turns.meet()
            self.values.put(dst, numbers.reshape(dst.shape))

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
        self._count()
        if self.same is not None and not self.same.inside:
            self.same.operation(self.programs.core, name, reads, writes, [*updates, *sums])
        reads = [*reads, *(index for view in (*reads, *writes, *updates, *sums) for index in view.index
                           if isinstance(index, View))]
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
                parts, whole = self.accesses.of(view, engine == "dma")
                if view.reach:  # one of the parts, or some of each: bytes are shared out among them
                    moved = -(-view.size * item_bytes(view.dtype) // max(len(parts), 1))
                    made.add(f"may {word}", view.storage, [(at, f"{ranges} moves {moved}") for at, ranges in parts])
                    continue
                made.add(word, view.storage, parts)
                if not whole:
                    self._note_part(name, word, view)
                exact = exact and whole
        made.tail = self._cost(engine, cost, [*reads, *writes, *updates], exact)
        self.line(made)
        return adds

    def _note_part(self, name, word, view):
        """Says that an access is recorded as more than it is."""
        counted = "" if word == "reads" else ", and all of it counts as written"
        self.note(f"{name}: the part of '{view.name}' has no exact form in the kernel language; "
                  f"recorded as the smallest part that holds it{counted}")

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
            view.storage.sums = (*sums, region)
        return adds

    # ---- the end -----------------------------------------------------------------------

    def finish(self, returned):
        """The text of the whole kernel."""
        self.settle()
        for view in _views(returned):
            view.storage.is_output = True
        shown = {storage: self._shown(storage) for storage in self.storages
                 if storage.names_written or storage.is_input}
        shown = {storage: names for storage, names in shown.items() if names}
        lines = [f"kernel {self.name} on {self.chip.name}", 'compiler "NKI"', *self.sources.texts()]
        if self.lnc > 1:
            twins = self._finish_cores(lines, shown)
            for source, text in order_notes(self, shown, Declaration, Meeting, Operation, twins):
                self.note(text, self.sources.place(source))
        else:
            self._write(lines, shown, zip(self.lines, self.places))
        return "\n".join(lines) + "\n"

    def forget(self):
        """The text is all that is wanted: frees what was recorded, which is in cycles."""
        for kept in (self.lines, self.places, self.storages, self.arguments, self._names, self._kinds, self.constants):
            kept.clear()
        self.__dict__.pop("by_name", None)
        self.sources = self._fast = self.accesses = None
        forget_forms()

    @functools.cached_property
    def by_name(self):
        """The tensors; when all have been recorded."""
        return {storage.name: storage for storage in self.storages}

    def _write(self, lines, shown, rows):
        add, tails, changed = lines.append, {None: ""}, {storage.name for storage in shown}
        for made, source in rows:
            tail = tails.get(source)
            if tail is None:
                tail = tails[source] = f" from {source}"
            if made.__class__ is tuple:
                template, names = made
                if not changed or not any([name.partition("(")[0] in changed for name in names]):
                    add(template.text(names) + tail)
                    continue
                made = template.operation(names, self.by_name)
            elif not shown and made.__class__ is Declaration and made.text is None:
                add(made.alone() + tail)
                continue
            for text in made.texts(shown):
                add(text + (tail if not isinstance(made, Meeting) else ""))

    def _finish_cores(self, lines, shown):
        """A kernel with an agent for each core."""
        for pipe in self.exchanges[0]:
            if len(self.exchanges[0][pipe]) != len(self.exchanges[1].get(pipe, [])):
                raise TraceError(f"the cores call nki.isa.sendrecv for pipe {pipe} a different number of times")
        rows = list(zip(self.lines, self.places))
        self._write(lines, shown, [row for row in rows if isinstance(row[0], Declaration)])
        twins = self._twins(lines, shown)
        for name in sorted({made.name for made in self.lines if isinstance(made, Meeting)}):
            lines.append(f"barrier {name} count 2")
        for core, part in enumerate((rows[:self.second], rows[self.second:])):
            lines.append(f"agent core_{core} {{")
            first = len(lines)
            self._write(lines, shown, [row for row in part if not isinstance(row[0], Declaration)])
            if core and twins:
                lines[first:] = [_renamed(line, twins) for line in lines[first:]]
            lines.append("}")
        return twins

    def _twins(self, lines, shown):
        """name: the tensor that the second core writes instead, where both cores write the same values."""
        twins = {}
        for storage in self.same.found() if self.same is not None else ():
            if storage.aliases or storage in shown:
                continue
            twins[storage.name] = self.fresh(f"{storage.name[:50]}_core_1")
            kept = "persistent" if storage.is_input else "output"
            lines.append(f"tensor {twins[storage.name]} : {storage.home} {storage.kind.text} {kept}")
            self.equal_stores.append((self._place_of(storage), "SPAD-RACE", (
                f"both cores write '{storage.name}', and nothing orders them; their values are the same, so that "
                f"it is recorded as a tensor for each core; let one core write it, or a part each")))
        return twins

    def _place_of(self, storage):
        return next((self.sources.place(source) for made, source in zip(self.lines, self.places)
                     if isinstance(made, Declaration) and made.storage is storage), None)

    def _shown(self, storage):
        """name: the name that reads use for it. Of a tensor that is written under several names, each name
        would be a tensor of its own for the check; a name that is never written shows what all have written
        (docs/check-how.md). So reads, and the end of the kernel, use names that are only read."""
        written = storage.written | ({storage.name} if storage.is_input and storage.written else set())
        if len(written) < 2:
            return {}
        return {name: self.fresh(f"{name[:58]}_r") for name in sorted(written | {storage.name})}


def _renamed(line, names):
    """An operation that writes other tensors."""
    head, writes, tail = line.partition(" writes ")
    written, cost, rest = tail.partition(" cost ")
    return head + writes + re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), written) + cost + rest


class Instruction:
    """What an instruction gives back to the kernel: order can be asked for, and holds already."""

    __slots__ = ("_recorder",)

    def __init__(self, recorder):
        self._recorder = recorder

    def depends_on(self, *producers):
        self._recorder.note("depends_on is not modelled: operations wait for the data that they access")
        return self


_INT = frozenset((int,))


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
    """(first lane, end, first byte, end) that hold a view."""
    region = view.form.region
    if region is None:
        lanes, _ = lane_pieces(view, 0)
        low, high = view.extent()
        size = item_bytes(view.dtype)
        region = view.form.region = lanes[0][0], lanes[0][0] + lanes[0][1], low * size, high * size
    return region


def _holds(a, b):
    return a[0] <= b[0] and b[1] <= a[1] and a[2] <= b[2] and b[3] <= a[3]


def _meets(a, b):
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def _end_sums(view):
    if view.storage.sums:
        region = _region(view)
        view.storage.sums = tuple([other for other in view.storage.sums if not _meets(other, region)])
