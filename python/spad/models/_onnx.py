# SPDX-License-Identifier: Apache-2.0
"""The values of an ONNX model as an arena: lives in the order of its nodes, sizes by the shape
inference of the package onnx. Initializers and constants are not in it, nor are reshapes of them. A value
that a subgraph of an If, Loop or Scan reads is alive until that node ends; the subgraph's own values live
within it. The output of a node that works element by element may take the bytes of an input that dies
there, unless the caller owns that input or gets it. Reshapes, slices and inputs of concatenations are
bytes of another value where that is possible (_onnx_views.py, _views.py)."""

import math

from .. import _spad
from .._views import Views
from ..arena import Arena, Model, fault, whole
from ._onnx_views import KEEP, Node, views_of

STEPS_MOST = 1 << 20
PARTS_MOST = 1 << 22  # nodes, weights, values, and parts of the model beside its graph
MODEL_GRAPH, GRAPH_NODE = 7, 1  # numbers of fields
DEPTH_MOST = 32  # of subgraphs in subgraphs
WEIGHT_MOST = 4096  # bytes of a constant that may say something about shapes
# Nodes that read each element before they write the one in its place, and those that move none. Of the
# former any input may be the place, of the latter and of those with parameters the first.
_EACH = frozenset("""Add And BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean
    Min Mod Mul Or PRelu Pow Sub Sum Where Xor""".split())
_FIRST = frozenset("""Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalization BitwiseNot Cast Ceil Celu Clip Cos Cosh
    Elu Erf Exp Flatten Floor Gelu HardSigmoid HardSwish Identity LeakyRelu Log Mish Neg Not Reciprocal Relu Reshape
    Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Squeeze Swish Tan Tanh ThresholdedRelu
    Unsqueeze""".split())


def _library():
    try:
        import onnx
    except ImportError:
        raise _spad.StateError("ONNX models need the package onnx: pip install onnx") from None
    return onnx


def _text(name):
    """A name in words: some versions of protobuf give one that is no UTF-8 as bytes."""
    return name if isinstance(name, str) else bytes(name).decode("utf-8", "replace")


class _Life:
    """A value: first and last step, bytes and extents (None: not known), and the kind of its elements."""

    __slots__ = ("name", "first", "last", "size", "shape", "kind", "owned")

    def __init__(self, name, step, size, shape, kind, owned):
        self.name, self.first, self.last, self.size = name, step, step, size
        self.shape, self.kind, self.owned = shape, kind, owned


class _Values:
    """A graph's values and their lives; the same numbering of steps for all subgraphs."""

    def __init__(self, onnx, file, defines, opset=0, named=None):
        self.onnx, self.file, self.defines, self.opset = onnx, file, defines, opset
        self.named = named  # extents with names of the model's own; None: all
        self.step, self.steps, self.lives, self.left = 0, {}, [], {}
        self.missing = set()  # names of extents that have no value
        self.pairs = []  # lives of an output and of an input whose place it may take
        self.joins = []  # for each node with views: (life of the part, of the whole, byte), and the one of all

    def bits(self, kind):
        try:
            name = self.onnx.TensorProto.DataType.Name(kind).lower()
        except ValueError:
            return None
        known = {"float": 32, "double": 64, "half": 16, "bool": 8, "complex64": 64, "complex128": 128}
        digits = "".join(c for c in name.partition("e")[0] if c.isdigit())
        return known.get(name) or (int(digits) if digits and name != "string" else None)

    def extents(self, name, info):
        """The extents of a value, None: not known; and the number of its type."""
        if info is None or not info.type.HasField("tensor_type"):
            return None, None
        kind = info.type.tensor_type
        if self.bits(kind.elem_type) is None or not kind.HasField("shape"):
            return None, None
        shape = []
        for extent in kind.shape.dim:
            if extent.HasField("dim_value"):
                shape.append(whole(extent.dim_value, f"an extent of '{name}'", 0, file=self.file))
            elif extent.dim_param in self.defines:
                shape.append(self.defines[extent.dim_param])
            elif extent.dim_param and (self.named is None or extent.dim_param in self.named):
                self.missing.add(extent.dim_param)
                shape.append(1)
            else:
                return None, None
        return shape, kind.elem_type

    def size(self, name, shape, kind):
        if shape is None:
            return None
        return whole(math.ceil(math.prod(shape) * self.bits(kind) / 8), f"the size of '{name}'", file=self.file)

    def next(self, name):
        self.step += 1
        self.steps[self.step] = _text(name)
        if self.step > STEPS_MOST:
            fault(f"more than {STEPS_MOST} nodes", self.file)

    def life(self, scope, name, known, owned=()):
        if name and name not in scope:
            shape, kind = self.extents(name, known.get(name))
            scope[name] = _Life(_text(name), self.step, self.size(name, shape, kind), shape, kind, name in owned)
            self.lives.append(scope[name])

    def use(self, scopes, name):
        """A read: the value lives until now. Names are looked up from the inside out."""
        for constants, scope in reversed(scopes):
            if name in scope:
                scope[name].last = self.step
                return
            if name in constants:
                return
        fault(f"a node reads '{name}' before anything writes it; is there a cycle?", self.file)

    def bodies(self, node):
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield attribute.g
            yield from attribute.graphs

    def in_place(self, node, scope):
        """Notes the inputs whose bytes the output may take: those with as many elements of as many bits."""
        if len(node.output) != 1 or node.output[0] not in scope:
            return
        names = node.input if node.op_type in _EACH else node.input[:1] if node.op_type in _FIRST else ()
        output = scope[node.output[0]]
        for name in dict.fromkeys(names):
            taken = scope.get(name)
            if taken and not taken.owned and taken.size is not None and taken.size == output.size and \
                    math.prod(taken.shape) == math.prod(output.shape):
                self.pairs.append((output, taken))

    def views(self, node, scopes):
        """Notes which values of a node are bytes of another one."""
        constants, scope = scopes[-1]
        tensors = [c for c, _ in reversed(scopes)]

        def constant(name):
            return next((c[name] for c in tensors if name in c), None)

        def shape(name):
            life = scope.get(name)
            if life is not None:
                return life.shape
            tensor = constant(name)
            return None if tensor is None else list(tensor.dims)

        if node.op_type == "Dropout" and self.opset < 7:  # it draws numbers unless an attribute forbids it
            return
        found = []
        for part, whole_, at in views_of(Node(self.onnx, node, shape, constant)):
            part, whole_ = scope.get(part), scope.get(whole_)
            if part and whole_ and part.kind == whole_.kind and part.size and at * self.bits(part.kind) % 8 == 0:
                found.append((part, whole_, at * self.bits(part.kind) // 8))
        if found:
            self.joins.append((node.op_type == "Concat", found))

    def is_constant(self, node, constants):
        """Is its output a constant in another shape?"""
        return (node.op_type in KEEP and node.domain in ("", "ai.onnx") and len(node.output) == 1 and
                bool(node.input) and node.input[0] in constants and node.op_type not in ("Cast", "Expand", "Transpose")
                and (node.op_type != "Dropout" or len(node.input) < 3 and self.opset >= 7))

    def tensor(self, node):
        """The value of a Constant, where it is a tensor or whole numbers."""
        for attribute in node.attribute:
            if attribute.name == "value":
                return attribute.t
            if attribute.name in ("value_int", "value_ints"):
                numbers = [attribute.i] if attribute.name == "value_int" else list(attribute.ints)
                dims = [] if attribute.name == "value_int" else [len(numbers)]
                return self.onnx.helper.make_tensor("", self.onnx.TensorProto.INT64, dims, numbers)
        return None

    def extend(self, scopes, start):
        for _, scope in scopes:
            for life in scope.values():
                if life.last >= start:
                    life.last = self.step

    def graph(self, graph, outer, depth=0):
        if depth > DEPTH_MOST:
            fault(f"subgraphs more than {DEPTH_MOST} deep", self.file)
        known = {info.name: info for info in (*graph.value_info, *graph.input, *graph.output)}
        constants = {t.name: t for t in graph.initializer}  # those whose values do not matter: None
        constants.update((t.values.name, None) for t in graph.sparse_initializer)
        owned = {info.name for info in (*graph.input, *graph.output)}
        results = {info.name for info in graph.output}
        scope = {}
        scopes = [*outer, (constants, scope)]
        for info in graph.input:
            if info.name not in constants:
                self.life(scope, info.name, known, owned)
        for node in graph.node:
            self.next(node.name or node.op_type)
            if node.op_type == "Constant":
                constants.update((name, self.tensor(node)) for name in node.output)
                continue
            if self.is_constant(node, constants) and node.output[0] not in results:
                constants[node.output[0]] = None
                continue
            for name in node.output:
                if name in scope or name in constants:
                    fault(f"'{name}' is written twice", self.file)
            start = self.step
            for name in node.output:
                self.life(scope, name, known, owned)
            for inner in self.bodies(node):
                self.graph(inner, scopes, depth + 1)
            written = set(node.output)
            for name in node.input:
                if name in written:
                    fault(f"a node reads '{name}', which it writes itself", self.file)
                if name:
                    self.use(scopes, name)
            if node.domain in ("", "ai.onnx"):
                self.in_place(node, scope)
                self.views(node, scopes)
            if self.step > start:  # a body may run again, so what it reads lives until the node ends
                self.extend(scopes, start)
        for info in graph.output:
            if info.name:
                self.use(scopes, info.name)


def _add_views(values, arena, numbers):
    """The views of the model that are possible together."""
    views = Views(arena.alignment)
    for life in values.lives:
        if life.size:
            views.add(id(life), life.first, life.last, life.size, life.owned)
    for is_concatenation, found in values.joins:
        if is_concatenation:
            views.concatenation(id(found[0][1]), [(id(part), at) for part, _, at in found])
            continue
        for part, whole_, at in found:
            views.view(id(part), id(whole_), at)
    for part, whole_, at in views.slices():
        arena.view(numbers[part], numbers[whole_], at)


def _named(graph, depth=0):
    """The names of extents in a model. Shape inference makes up others, to which a user has no value."""
    for info in (*graph.input, *graph.output, *graph.value_info):
        for extent in info.type.tensor_type.shape.dim:
            if extent.HasField("dim_param"):
                yield extent.dim_param
    for node in graph.node if depth < DEPTH_MOST else ():
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs:
                yield from _named(inner, depth + 1)


def _lighten(graph, depth=0):
    """Takes the bytes of large weights out: shapes do not depend on them, and shape inference copies them."""
    for tensor in graph.initializer:
        if len(tensor.raw_data) > WEIGHT_MOST:
            tensor.ClearField("raw_data")
        for field in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data"):
            if len(getattr(tensor, field)) > WEIGHT_MOST // 8:
                tensor.ClearField(field)
    for node in graph.node if depth < DEPTH_MOST else ():
        for attribute in node.attribute:
            if len(attribute.t.raw_data) > WEIGHT_MOST:
                attribute.t.ClearField("raw_data")
            for inner in (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs:
                _lighten(inner, depth + 1)


def _varint(content, at):
    """A number of the wire format, and where it ends; (None, at): there is none."""
    value = 0
    for k in range(10):
        byte = content[at + k] if at + k < len(content) else 0x80
        value |= (byte & 127) << 7 * k
        if byte < 128:
            return value, at + k + 1
    return None, at


def _fields(content, at, end):
    """Number, begin and end of each field of a message; it stops where something is wrong, which the package
    onnx will find."""
    while at < end:
        key, at = _varint(content, at)
        if key is None or key < 8 or key & 7 not in (0, 1, 2, 5):
            return
        size = {1: 8, 5: 4}.get(key & 7, 0)
        if key & 7 == 0:
            _, at = _varint(content, at)
        elif key & 7 == 2:
            size, at = _varint(content, at)
        if size is None or at + size > end:
            return
        yield key >> 3, at, at + size
        at += size


def _check_parts(content, file):
    """Refuses what has too many parts before it is parsed: a part of two bytes is an object of a hundred."""
    parts = nodes = 0
    for number, begin, end in _fields(content, 0, len(content)):
        parts += 1
        for inner, _, _ in _fields(content, begin, end) if number == MODEL_GRAPH else ():
            parts, nodes = parts + 1, nodes + (inner == GRAPH_NODE)
            if nodes > STEPS_MOST:
                fault(f"more than {STEPS_MOST} nodes", file)
            if parts > PARTS_MOST:
                break
        if parts > PARTS_MOST:
            fault(f"more than {PARTS_MOST} nodes, weights and values", file)


def _parse(onnx, content, file):
    """The model with shapes, and the names of its extents."""
    _check_parts(content, file)
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # of whichever protobuf is installed
        fault(f"not an ONNX model: {' '.join(str(error)[:80].split()) or type(error).__name__}", file)
    if not model.graph.node:
        fault("not an ONNX model: it has no nodes", file)
    if len(model.graph.node) > STEPS_MOST:
        fault(f"more than {STEPS_MOST} nodes", file)
    named = set(_named(model.graph))
    _lighten(model.graph)
    try:
        return onnx.shape_inference.infer_shapes(model, strict_mode=False, data_prop=True), named
    except Exception as error:
        fault(f"its shapes cannot be inferred: {' '.join(str(error)[:160].split()) or type(error).__name__}", file)


def read(content, file, defines=None, views=True, alignment=1):
    """A Model of the bytes of an ONNX file. defines: values of named extents, such as batch. views: may
    values be bytes of others? alignment: of every offset."""
    onnx = _library()
    model, named = _parse(onnx, content, file)
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
    values = _Values(onnx, file, defines or {}, opset, named)
    values.graph(model.graph, [])
    if values.missing:
        names = ", ".join(sorted(map(_text, values.missing))[:8])
        fault(f"extents without a value: {names}; give them with -D NAME=N", file)
    arena = Arena("values", alignment, steps=values.steps)
    numbers = {id(life): arena.add(life.name, life.first, life.last, life.size)
               for life in values.lives if life.size is not None}
    for output, taken in values.pairs:
        arena.in_place(numbers[id(output)], numbers[id(taken)])
    if views:
        _add_views(values, arena, numbers)
    left = len(values.lives) - len(numbers)
    if left:
        arena.notes.append(f"{left} of {len(values.lives)} values have no shape and are left out: constants that a "
                           "program such as onnxsim folds may give them one")
    needed = arena.greedy()
    if needed is not None and arena.buffers:
        arena.compare_with("by size", needed)
    return Model("ONNX", file, [arena])
