# SPDX-License-Identifier: Apache-2.0
"""The values of an ONNX model as an arena: lives in the order of its nodes, sizes by the shape
inference of the package onnx. Initializers and constants are not in it. A value that a subgraph of an
If, Loop or Scan reads is alive until that node ends; the subgraph's own values live within it. The
output of a node that works element by element, or only gives a value another shape, may take the bytes
of an input that dies there, unless the caller owns that input or gets it."""

import math

from . import _spad
from .arena import Arena, Model, fault, whole

STEPS_MOST = 1 << 20
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


class _Values:
    """A graph's values and their lives; the same numbering of steps for all subgraphs."""

    def __init__(self, onnx, file, defines):
        self.onnx, self.file, self.defines = onnx, file, defines
        self.step, self.steps, self.lives, self.left = 0, {}, [], {}
        self.missing = set()  # names of extents that have no value
        self.pairs = []  # lives of an output and of an input whose place it may take

    def bits(self, kind):
        try:
            name = self.onnx.TensorProto.DataType.Name(kind).lower()
        except ValueError:
            return None
        known = {"float": 32, "double": 64, "half": 16, "bool": 8, "complex64": 64, "complex128": 128}
        digits = "".join(c for c in name.partition("e")[0] if c.isdigit())
        return known.get(name) or (int(digits) if digits and name != "string" else None)

    def size(self, name, info):
        """The bytes of a value; None: it has no shape."""
        if info is None or not info.type.HasField("tensor_type"):
            return None
        kind = info.type.tensor_type
        bits = self.bits(kind.elem_type)
        if bits is None or not kind.HasField("shape"):
            return None
        count = 1
        for extent in kind.shape.dim:
            if extent.HasField("dim_value"):
                count *= whole(extent.dim_value, f"an extent of '{name}'", 0, file=self.file)
            elif extent.dim_param in self.defines:
                count *= self.defines[extent.dim_param]
            elif extent.dim_param:
                self.missing.add(extent.dim_param)
            else:
                return None
        return whole(math.ceil(count * bits / 8), f"the size of '{name}'", file=self.file)

    def next(self, name):
        self.step += 1
        self.steps[self.step] = name
        if self.step > STEPS_MOST:
            fault(f"more than {STEPS_MOST} nodes", self.file)

    def life(self, scope, name, known):
        if name and name not in scope:
            scope[name] = [name, self.step, self.step, self.size(name, known.get(name))]
            self.lives.append(scope[name])

    def use(self, scopes, name):
        """A read: the value lives until now. Names are looked up from the inside out."""
        for constants, scope in reversed(scopes):
            if name in scope:
                scope[name][2] = self.step
                return
            if name in constants:
                return
        fault(f"a node reads '{name}' before anything writes it; is there a cycle?", self.file)

    def bodies(self, node):
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield attribute.g
            yield from attribute.graphs

    def in_place(self, node, scope, owned):
        """Notes the inputs whose bytes the output may take; `owned` are the caller's."""
        if node.domain not in ("", "ai.onnx") or len(node.output) != 1 or node.output[0] not in scope:
            return
        names = node.input if node.op_type in _EACH else node.input[:1] if node.op_type in _FIRST else ()
        output = scope[node.output[0]]
        for name in dict.fromkeys(names):
            if name in scope and name not in owned and scope[name][3] == output[3]:
                self.pairs.append((output, scope[name]))

    def extend(self, scopes, start):
        for _, scope in scopes:
            for life in scope.values():
                if life[2] >= start:
                    life[2] = self.step

    def graph(self, graph, outer, depth=0):
        if depth > 32:
            fault("subgraphs more than 32 deep", self.file)
        known = {info.name: info for info in (*graph.value_info, *graph.input, *graph.output)}
        constants = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
        scope = {}
        scopes = [*outer, (constants, scope)]
        for info in graph.input:
            if info.name not in constants:
                self.life(scope, info.name, known)
        owned = {info.name for info in (*graph.input, *graph.output)}
        for node in graph.node:
            self.next(node.name or node.op_type)
            if node.op_type == "Constant":
                constants.update(node.output)
                continue
            for name in node.output:
                if name in scope or name in constants:
                    fault(f"'{name}' is written twice", self.file)
            start = self.step
            for name in node.output:
                self.life(scope, name, known)
            for inner in self.bodies(node):
                self.graph(inner, scopes, depth + 1)
            written = set(node.output)
            for name in node.input:
                if name in written:
                    fault(f"a node reads '{name}', which it writes itself", self.file)
                if name:
                    self.use(scopes, name)
            self.in_place(node, scope, owned)
            if self.step > start:  # a body may run again, so what it reads lives until the node ends
                self.extend(scopes, start)
        for info in graph.output:
            if info.name:
                self.use(scopes, info.name)


def read(content, file, defines=None):
    """A Model of the bytes of an ONNX file. defines: values of named extents, such as batch."""
    onnx = _library()
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # of whichever protobuf is installed
        fault(f"not an ONNX model: {str(error)[:80] or type(error).__name__}", file)
    if not model.graph.node:
        fault("not an ONNX model: it has no nodes", file)
    try:
        model = onnx.shape_inference.infer_shapes(model, strict_mode=False, data_prop=True)
    except Exception as error:
        fault(f"its shapes cannot be inferred: {str(error).splitlines()[0][:120]}", file)
    values = _Values(onnx, file, defines or {})
    values.graph(model.graph, [])
    if values.missing:
        names = ", ".join(sorted(values.missing)[:8])
        fault(f"extents without a value: {names}; give them with -D NAME=N", file)
    arena = Arena("values", steps=values.steps)
    left = 0
    numbers = {}
    for life in values.lives:
        name, first, last, size = life
        if size is None:
            left += 1
        else:
            numbers[id(life)] = arena.add(name, first, last, size)
    for output, taken in values.pairs:
        if id(output) in numbers and id(taken) in numbers:
            arena.in_place(numbers[id(output)], numbers[id(taken)])
    if left:
        arena.notes.append(f"{left} values have no shape and are left out")
    needed = arena.greedy()
    if needed is not None and arena.buffers:
        arena.compare_with("by size", needed)
    return Model("ONNX", file, [arena])
