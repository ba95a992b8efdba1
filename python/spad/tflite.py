# SPDX-License-Identifier: Apache-2.0
"""Offline memory plans for TFLite models on microcontrollers (LiteRT for Microcontrollers, TFLM).

    spad plan model.tflite -o planned.tflite

TFLM's runtime obeys the metadata OfflineMemoryAllocation: an offset in the arena for every tensor of
every subgraph, or -1 for what the runtime places itself. read() finds the tensors and how long they
live, as TFLM itself counts; write() puts offsets into a copy of the file. Variable tensors, scratch
buffers and all that is persistent stay with the runtime.

Writing needs the package flatbuffers. A file keeps all its bytes: a new root with two new vectors goes
in front of them, and refers to the old tables where they are. Only where a plan of the same length
is there already, its bytes are replaced.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from . import _spad
from ._files import read_most, replace_file
from .arena import Arena, Model, fault, whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from typing import Any

NAME = b"OfflineMemoryAllocation"
IDENTIFIER = b"TFL3"
ALIGNMENT = 16  # of TFLM's arena
ONLINE = -1  # left to the runtime
STEPS_MOST = 1 << 18  # operators that run, with those of subgraphs
# A small file can have one table, vector or string any number of times.
TABLES_MOST = 1 << 18  # tables that vectors refer to
BYTES_MOST = 1 << 24  # of names, shapes and lists of tensors
FILE_MOST = (1 << 31) - 1  # of a FlatBuffer

# Bytes of an element as TFLM counts them, by the number of the type; it cannot place the others.
TYPES = {0: 4, 1: 2, 2: 4, 3: 1, 4: 8, 6: 1, 7: 2, 8: 8, 9: 1, 10: 8, 11: 16, 12: 8, 13: 4, 15: 4, 16: 2,
         17: 1, 18: 2}
IF, WHILE, CALL_ONCE = 118, 119, 129  # operators that run subgraphs
CALLS = {IF: 2, WHILE: 2, CALL_ONCE: 1}  # and how many

# Fields of the schema's tables, by their numbers.
MODEL_VERSION, MODEL_CODES, MODEL_SUBGRAPHS, MODEL_BUFFERS, MODEL_METADATA = 0, 1, 2, 4, 6
MODEL_FIELDS = 10
CODE_OLD, CODE_NEW = 0, 3
GRAPH_TENSORS, GRAPH_INPUTS, GRAPH_OUTPUTS, GRAPH_OPERATORS = 0, 1, 2, 3
TENSOR_SHAPE, TENSOR_TYPE, TENSOR_BUFFER, TENSOR_NAME, TENSOR_VARIABLE = 0, 1, 2, 3, 5
TENSOR_EXTERNAL = 10
OPERATOR_CODE, OPERATOR_INPUTS, OPERATOR_OUTPUTS, OPERATOR_OPTIONS = 0, 1, 2, 4
BUFFER_DATA, BUFFER_OFFSET = 0, 1
METADATA_NAME, METADATA_BUFFER = 0, 1


def _builder(size):
    """A builder of FlatBuffers, of the package that is kept up with the format."""
    try:
        import flatbuffers
    except ImportError:
        raise _spad.StateError("writing a plan into a model needs the package flatbuffers: pip install "
                               "flatbuffers (Debian: python3-flatbuffers)") from None
    return flatbuffers.Builder(size)


class _Table:
    """A table of a FlatBuffer; fields by their number in the schema. What lies outside of the file
    is an error."""

    def __init__(self, file, position):
        self.file, self.position = file, position
        self.fields = position - self.get("<i", position)
        self.length = self.get("<H", self.fields)

    def get(self, kind, position):
        """A number of the file."""
        if not 0 <= position <= len(self.file.content) - struct.calcsize(kind):
            self.file.wrong("broken FlatBuffer: a table or vector lies outside of the file")
        return struct.unpack_from(kind, self.file.content, position)[0]

    def at(self, field):
        """Where a field is; 0: it has its default."""
        entry = 4 + 2 * field
        place = self.get("<H", self.fields + entry) if entry + 2 <= self.length else 0
        return place and self.position + place

    def number(self, field, kind="<i", default=0):
        place = self.at(field)
        return self.get(kind, place) if place else default

    def target(self, place):
        """What an offset points at."""
        found = place + self.get("<I", place)
        self.get("<I", found)  # every table, vector and string has four bytes there
        return found

    def child(self, field):
        place = self.at(field)
        return _Table(self.file, self.target(place)) if place else None

    def vector(self, field, width):
        """Position and length of a vector, checked against the file."""
        place = self.at(field)
        if not place:
            return 0, 0
        start = self.target(place)
        length = self.get("<I", start)
        if start + 4 + length * width > len(self.file.content):
            self.file.wrong(f"broken FlatBuffer: a vector of {length} elements ends outside of the file")
        return start + 4, length

    def numbers(self, field):
        start, length = self.vector(field, 4)
        self.file._count_bytes(4 * length)
        return list(struct.unpack_from(f"<{length}i", self.file.content, start))

    def tables(self, field):
        start, length = self.vector(field, 4)
        self.file._count_tables(length)
        return [_Table(self.file, self.target(start + 4 * i)) for i in range(length)]

    def text(self, field):
        start, length = self.vector(field, 1)
        self.file._count_bytes(length)
        return self.file.content[start:start + length]


class _Tensor:
    """What a plan needs to know of a tensor."""

    __slots__ = ("name", "size", "first", "last", "why")

    def __init__(self, name, size, why):
        self.name, self.size = name, size
        self.why = why  # why the runtime keeps it; None: it is in the arena
        self.first = self.last = None

    def create(self, step):
        if self.first is None:
            self.first = step


class TFLite:
    """The tensors of a .tflite file and their lives. content: its bytes; file: its name."""

    content: bytes
    file: str
    graphs: list[list[Any]]
    steps: dict[int, str]

    def __init__(self, content: bytes | bytearray | memoryview, file: str = "<model>") -> None:
        self.content, self.file = bytes(content), str(file)
        if len(self.content) > FILE_MOST:
            self.wrong(f"it has {len(self.content)} B; a FlatBuffer has at most {FILE_MOST}")
        if len(self.content) < 8 or self.content[4:8] != IDENTIFIER:
            self.wrong("not a TFLite model: it does not have TFL3 in bytes 4 to 8")
        self.graphs, self.steps = [], {}
        self.tables_read = self.bytes_read = 0
        self.frozen: str | None = None  # why the plan in the file must stay
        self._read()

    def wrong(self, message: str) -> None:
        fault(message, self.file)

    # ---- reading

    def _count_tables(self, count):
        self.tables_read += count
        if self.tables_read > TABLES_MOST:
            self.wrong(f"more than {TABLES_MOST} tables; does it have the same ones many times?")

    def _count_bytes(self, count):
        self.bytes_read += count
        if self.bytes_read > BYTES_MOST:
            self.wrong(f"more than {BYTES_MOST} B of names and shapes; does it have the same ones many times?")

    def _read(self):
        self.model = _Table(self, struct.unpack_from("<I", self.content, 0)[0])
        self.buffers = self.model.tables(MODEL_BUFFERS)
        self.codes = [max(code.number(CODE_OLD, "<b"), code.number(CODE_NEW))
                      for code in self.model.tables(MODEL_CODES)]
        self.tables = self.model.tables(MODEL_SUBGRAPHS)
        if not self.tables:
            self.wrong("it has no subgraphs")
        for number, graph in enumerate(self.tables):
            self.graphs.append([self._tensor(number, i, tensor) for i, tensor in
                                enumerate(graph.tables(GRAPH_TENSORS))])
        self.step, self.parsed = 0, {}
        self._walk(0, ())
        self.count = sum(len(graph) for graph in self.graphs)
        self.old = self._old_plan()

    def _is_constant(self, tensor):
        number = tensor.number(TENSOR_BUFFER, "<I")
        if number >= len(self.buffers):
            self.wrong(f"a tensor has buffer {number}; there are {len(self.buffers)}")
        if tensor.number(TENSOR_EXTERNAL, "<I"):
            return True
        buffer = self.buffers[number]
        return buffer.vector(BUFFER_DATA, 1)[1] > 0 or buffer.number(BUFFER_OFFSET, "<Q") > 1

    def _tensor(self, graph, number, tensor):
        # of operators that were made one, the first
        name = tensor.text(TENSOR_NAME).decode("utf-8", "replace").split(";")[0] or f"{graph}.{number}"
        shape = tensor.numbers(TENSOR_SHAPE)
        kind = tensor.number(TENSOR_TYPE, "<b")
        if self._is_constant(tensor):
            return _Tensor(name, 0, "constant")
        size = TYPES.get(kind)
        if size is None:
            return _Tensor(name, 0, f"type {kind}")
        for extent in shape:
            if extent < 0:
                self.wrong(f"tensor '{name}' has a negative extent: {shape}")
            size *= extent
        if size > FILE_MOST:
            self.wrong(f"tensor '{name}' has more than {FILE_MOST} B: {shape}")
        variable = tensor.number(TENSOR_VARIABLE, "<?", False)
        return _Tensor(name, size, "variable" if variable else None)

    def _at(self, graph, number):
        if number >= len(self.graphs[graph]):
            self.wrong(f"tensor {number} of subgraph {graph}: it has {len(self.graphs[graph])} tensors")
        return self.graphs[graph][number]

    def _called(self, operator):
        """The subgraphs that an operator runs."""
        code = operator.number(OPERATOR_CODE, "<I")
        if code >= len(self.codes):
            self.wrong(f"an operator has code {code}; there are {len(self.codes)}")
        count = CALLS.get(self.codes[code], 0)
        options = operator.child(OPERATOR_OPTIONS) if count else None
        return [options.number(i) for i in range(count)] if options else []

    def _next(self, name=None):
        self.step += 1
        if self.step > STEPS_MOST:
            self.wrong(f"more than {STEPS_MOST} operators run")
        if name:
            self.steps[self.step] = name

    def _walk(self, graph, above):
        """Lives as TFLM counts them: one step for each operator, and one when a subgraph starts."""
        if not 0 <= graph < len(self.tables):
            self.wrong(f"an operator runs subgraph {graph}; there are {len(self.tables)}")
        if graph in above:
            self.wrong(f"subgraph {graph} runs itself")
        if graph not in self.parsed:
            self.parsed[graph] = self._parse(graph)
        inputs, operators, results = self.parsed[graph]
        for tensor in inputs:
            tensor.create(self.step)
            tensor.last = self.step
        for read, written, calls in operators:
            self._next(written[0].name if written else None)
            for tensor in written:
                tensor.create(self.step)
            for called in calls:
                self._next()
                self._walk(called, (*above, graph))
            for tensor in (*read, *written):
                tensor.last = self.step
        for tensor in results:
            tensor.create(self.step)
            tensor.last = self.step

    def _parse(self, graph):
        """The tensors that a subgraph takes, those of its operators, and those that it gives."""
        table = self.tables[graph]

        def tensors(holder, field):  # -1: an input that is left out
            return [self._at(graph, n) for n in holder.numbers(field) if n >= 0]

        operators = [(tensors(operator, OPERATOR_INPUTS), tensors(operator, OPERATOR_OUTPUTS),
                      self._called(operator)) for operator in table.tables(GRAPH_OPERATORS)]
        return tensors(table, GRAPH_INPUTS), operators, tensors(table, GRAPH_OUTPUTS)

    def _old_plan(self):
        """The offsets of a plan that is in the file; None: there is none that the runtime takes."""
        found = [m for m in self.model.tables(MODEL_METADATA) if m.text(METADATA_NAME) == NAME]
        self.old_data = None
        if not found:
            return None
        number = found[-1].number(METADATA_BUFFER, "<I")
        if number >= len(self.buffers):
            self.wrong(f"the metadata have buffer {number}; there are {len(self.buffers)}")
        start, length = self.buffers[number].vector(BUFFER_DATA, 1)
        if length != 4 * (3 + self.count) or len(found) > 1:
            return None
        shared = [n for n in range(len(self.graphs))
                  for t in self.tables[n].tables(GRAPH_TENSORS)
                  if t.number(TENSOR_BUFFER, "<I") == number]
        self.old_data = None if shared else (start, length)
        _, _, count, *offsets = struct.unpack_from(f"<{3 + self.count}i", self.content, start)
        return offsets if count == self.count and min(offsets, default=0) >= ONLINE else None

    # ---- planning

    def arena(self) -> Arena:
        """The tensors that a plan places: those in the arena that something creates and uses."""
        arena = Arena("arena", ALIGNMENT, steps=self.steps)
        self.placed = []  # number of a tensor in the file, in the order of the arena
        left, number = {}, 0
        for tensor in (t for graph in self.graphs for t in graph):
            why = tensor.why
            if why is None and (tensor.first is None or tensor.last is None):
                why = "never created"
            if why is None and tensor.size:
                old = self.old[number] if self.old else ONLINE
                size = -(-tensor.size // ALIGNMENT) * ALIGNMENT
                arena.add(tensor.name, tensor.first, tensor.last, size,
                          theirs=old if old >= 0 else None)
                self.placed.append(number)
            elif why not in (None, "constant") and (tensor.size or why[:4] == "type"):
                left[why] = left.get(why, 0) + 1
            number += 1
        for why in sorted(left):
            arena.notes.append(f"left to the runtime: {left[why]} tensors ({why})")
        self._compare(arena)
        return arena

    def _compare(self, arena):
        """What the runtime needs with the plan in the file, or with its own greedy planner."""
        clash = arena.their_clash()
        if clash:
            a, b = clash
            self.frozen = (f"its plan lets '{a.name}' and '{b.name}' share bytes, which live at once: the "
                           "compiler that made it (such as Vela) relies on that, so it is kept")
            arena.notes.append(self.frozen)
            return
        needed = arena.greedy(latest_first=True, theirs=self.old is not None)
        if needed is not None and arena.buffers:
            arena.compare_with("old plan" if self.old else "TFLM", needed)

    def plan(self, arena: Arena) -> list[int]:
        """The offsets for all tensors of the file."""
        offsets = [ONLINE] * self.count
        for number, offset, buffer in zip(self.placed, arena.offsets, arena.buffers):
            if offset + buffer.size > FILE_MOST:
                self.wrong(f"tensor '{buffer.name}' would end beyond 2^31 bytes")
            offsets[number] = offset
        return offsets

    # ---- writing

    def write(self, offsets: Sequence[int]) -> bytes:
        """The bytes of the file with a plan."""
        if len(offsets) != self.count:
            fault(f"{len(offsets)} offsets for {self.count} tensors")
        for offset in offsets:
            whole(offset, "an offset", ONLINE, FILE_MOST)
        if self.frozen:
            self.wrong(self.frozen)
        data = struct.pack(f"<{3 + self.count}i", 1, len(self.graphs), self.count, *offsets)
        if self.old_data is not None:
            start, length = self.old_data
            return self.content[:start] + data + self.content[start + length:]
        if any(b.number(BUFFER_OFFSET, "<Q") > 1 for b in self.buffers):
            self.wrong("its weights are after the FlatBuffer, at places that a longer file would move")
        return self._rebuild(data)

    def _rebuild(self, data):
        builder = _builder(len(self.content) + len(data) + 4096)
        # FlatBuffers are built from their end: first all old bytes, at a multiple of 16.
        tail = self.content + bytes(-len(self.content) % ALIGNMENT)
        builder.Prep(ALIGNMENT, 0)
        start = builder.CreateByteVector(tail) - 4  # of the old bytes, from the end

        def old(position):
            return start - position

        builder.Prep(ALIGNMENT, len(data))  # the schema wants data at multiples of 16
        content = builder.CreateByteVector(data)
        builder.StartObject(3)
        builder.PrependUOffsetTRelativeSlot(BUFFER_DATA, content, 0)
        buffers = [old(b.position) for b in self.buffers] + [builder.EndObject()]
        name = builder.CreateString(NAME)
        builder.StartObject(2)
        builder.PrependUOffsetTRelativeSlot(METADATA_NAME, name, 0)
        builder.PrependUint32Slot(METADATA_BUFFER, len(buffers) - 1, 0)
        entry = builder.EndObject()
        metadata = [old(m.position) for m in self.model.tables(MODEL_METADATA)
                    if m.text(METADATA_NAME) != NAME] + [entry]
        vectors = {}
        for field, items in ((MODEL_BUFFERS, buffers), (MODEL_METADATA, metadata)):
            builder.StartVector(4, len(items), 4)
            for item in reversed(items):
                builder.PrependUOffsetTRelative(item)
            vectors[field] = self._end(builder, len(items))
        return self._root(builder, vectors, old)

    def _end(self, builder, count):
        try:
            return builder.EndVector()
        except TypeError:  # before version 2 it wants the number of elements
            return builder.EndVector(count)

    def _root(self, builder, vectors, old):
        for field in range(MODEL_FIELDS, 32):
            if self.model.at(field):
                self.wrong(f"the model has field {field}, which is newer than this reader")
        builder.StartObject(MODEL_FIELDS)
        for field in range(1, MODEL_FIELDS):
            place = self.model.at(field)
            if field in vectors:
                builder.PrependUOffsetTRelativeSlot(field, vectors[field], 0)
            elif place:
                builder.PrependUOffsetTRelativeSlot(field, old(self.model.target(place)), 0)
        builder.PrependUint32Slot(MODEL_VERSION, self.model.number(MODEL_VERSION, "<I"), 0)
        builder.Finish(builder.EndObject(), file_identifier=IDENTIFIER)
        return bytes(builder.Output())


def read(content: bytes | bytearray | memoryview, file: str = "<model>") -> Model:
    """A spad.arena.Model of the bytes of a .tflite file; model.file is the TFLite."""
    found = TFLite(content, file)
    model = Model("TFLite", file, [found.arena()])
    model.file = found
    if len(found.graphs) > 1:
        model.notes.append(f"{len(found.graphs)} subgraphs")
    model.notes.append("scratch buffers of operators are not in the file; the runtime places them around the plan")
    return model


def plan(content: bytes | bytearray | memoryview, file: str = "<model>", timeout: float | None = 5) -> bytes:
    """The bytes of a .tflite file with an offline plan, from the bytes of one without."""
    model = read(content, file).solve(timeout)
    return model.file.write(model.file.plan(model.arenas[0]))


def plan_file(path: str | PathLike[str], output: str | PathLike[str], timeout: float | None = 5) -> Model:
    """Writes the file at path with an offline plan to output; returns the spad.arena.Model."""
    with open(path, "rb") as file:
        model = read(read_most(file, FILE_MOST), str(path)).solve(timeout)
    replace_file(output, model.file.write(model.file.plan(model.arenas[0])))
    return model
