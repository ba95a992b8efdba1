# SPDX-License-Identifier: Apache-2.0
"""Small TFLite models, written with the package flatbuffers: float vectors that are added, joined and
cut, in one subgraph or several."""

import struct

import flatbuffers

ADD, CONCATENATION, SLICE, IF, WHILE, CALL_ONCE = 0, 2, 65, 118, 119, 129
OPTIONS = {ADD: 11, CONCATENATION: 10, SLICE: 48, IF: 92, WHILE: 93, CALL_ONCE: 103}
FLOAT32, INT32, BOOL = 0, 2, 6


class Graph:
    """A subgraph: tensors are numbers."""

    def __init__(self, model):
        self.model, self.tensors, self.operators = model, [], []
        self.inputs, self.outputs = [], []

    def tensor(self, shape, kind=FLOAT32, data=None, variable=False, name=None):
        buffer = 0 if data is None else self.model.buffer(data)
        name = f"t{len(self.tensors)}" if name is None else name
        self.tensors.append((list(shape), kind, buffer, name, variable))
        return len(self.tensors) - 1

    def input(self, *shape, kind=FLOAT32):
        self.inputs.append(self.tensor(shape, kind))
        return self.inputs[-1]

    def run(self, code, inputs, outputs, *options):
        self.operators.append((code, list(inputs), list(outputs), options))
        return outputs[0] if outputs else None

    def length(self, number):
        return self.tensors[number][0][0]

    def add(self, a, b):
        return self.run(ADD, [a, b], [self.tensor([self.length(a)])])

    def join(self, a, b):
        return self.run(CONCATENATION, [a, b], [self.tensor([self.length(a) + self.length(b)])])

    def cut(self, a, start, count):
        words = [self.tensor([1], INT32, struct.pack("<i", n)) for n in (start, count)]
        return self.run(SLICE, [a, *words], [self.tensor([count])])


class TinyModel:
    """The bytes of a model are those of build()."""

    def __init__(self):
        self.buffers, self.graphs, self.metadata = [b""], [], []

    def buffer(self, data):
        self.buffers.append(data)
        return len(self.buffers) - 1

    def graph(self):
        self.graphs.append(Graph(self))
        return self.graphs[-1]

    def build(self):
        b = flatbuffers.Builder(1024)
        codes = sorted({op[0] for graph in self.graphs for op in graph.operators})
        graphs = [_graph(b, graph, codes) for graph in self.graphs]
        buffers = [_table(b, 3, [(0, _bytes(b, data))] if data else []) for data in self.buffers]
        metadata = []
        for name, number in self.metadata:
            metadata.append(_table(b, 2, [(0, b.CreateString(name))], [(1, "Uint32", number)]))
        kinds = [_table(b, 4, [], [(0, "Int8", min(c, 127)), (2, "Int32", 1), (3, "Int32", c)])
                 for c in codes]
        about = b.CreateString("a model for tests")
        fields = [(1, _offsets(b, kinds)), (2, _offsets(b, graphs)), (3, about), (4, _offsets(b, buffers))]
        if metadata:
            fields.append((6, _offsets(b, metadata)))
        b.Finish(_table(b, 8, fields, [(0, "Uint32", 3)]), file_identifier=b"TFL3")
        return bytes(b.Output())


def _bytes(b, data):
    b.Prep(16, len(data))
    return b.CreateByteVector(data)


def _numbers(b, numbers):
    b.StartVector(4, len(numbers), 4)
    for number in reversed(numbers):
        b.PrependInt32(number)
    return b.EndVector()


def _offsets(b, offsets):
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return b.EndVector()


def _table(b, count, offsets, numbers=()):
    b.StartObject(count)
    for slot, offset in offsets:
        b.PrependUOffsetTRelativeSlot(slot, offset, 0)
    for slot, kind, number in numbers:
        getattr(b, f"Prepend{kind}Slot")(slot, number, 0)
    return b.EndObject()


def _graph(b, graph, codes):
    tensors = []
    for shape, kind, buffer, name, variable in graph.tensors:
        fields = [(0, _numbers(b, shape)), (3, b.CreateString(name))]
        tensors.append(_table(b, 11, fields, [(1, "Int8", kind), (2, "Uint32", buffer),
                                              (5, "Bool", variable), (8, "Bool", True)]))
    operators = []
    for code, inputs, outputs, options in graph.operators:
        held = _table(b, 4, [], [(i, "Int32", n) for i, n in enumerate(options)])
        fields = [(1, _numbers(b, inputs)), (2, _numbers(b, outputs)), (4, held)]
        operators.append(_table(b, 9, fields, [(0, "Uint32", codes.index(code)),
                                               (3, "Uint8", OPTIONS[code])]))
    return _table(b, 5, [(0, _offsets(b, tensors)), (1, _numbers(b, graph.inputs)),
                         (2, _numbers(b, graph.outputs)), (3, _offsets(b, operators))])


def chain(lengths=(96, 32, 160, 64, 128)):
    """A model in which a planner that takes the largest first needs more than the peak."""
    model = TinyModel()
    g = model.graph()
    at = g.input(lengths[0])
    for length in lengths[1:]:
        while g.length(at) < length:
            at = g.join(at, at)
        at = g.cut(at, 0, length)
        at = g.add(at, at)
    g.outputs = [at]
    return model


def random_model(chance, operators=14):
    """Operators on tensors that exist, at random; the last ones are the outputs."""
    model = TinyModel()
    g = model.graph()
    known = [g.input(chance.randrange(4, 60)), g.input(chance.randrange(4, 60))]
    for _ in range(operators):
        a = chance.choice(known[-5:])
        kind = chance.choice(("add", "join", "cut"))
        if kind == "join" and g.length(a) < 300:
            known.append(g.join(a, chance.choice(known[-5:])))
        elif kind == "cut" and g.length(a) > 2:
            count = chance.randrange(1, g.length(a))
            known.append(g.cut(a, chance.randrange(g.length(a) - count + 1), count))
        else:
            known.append(g.add(a, a))
    g.outputs = [known[-1], known[-2]]
    return model


def branches():
    """An IF with two subgraphs, and work before and after it."""
    model = TinyModel()
    g = model.graph()
    switch = g.input(1, kind=BOOL)
    x = g.input(48)
    wide = g.join(g.add(x, x), x)
    chosen = g.run(IF, [switch, wide], [g.tensor([96])], 1, 2)
    g.outputs = [g.add(g.join(chosen, x), g.join(x, chosen))]
    for turn in range(2):
        part = model.graph()
        y = part.input(96)
        for _ in range(2 + turn):
            y = part.cut(part.join(y, part.add(y, y)), 40 * (1 - turn), 96)
        part.outputs = [part.add(y, y)]
    return model
