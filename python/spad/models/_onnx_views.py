# SPDX-License-Identifier: Apache-2.0
"""Which values of an ONNX node are bytes of others, in memory where the last extent is the closest:
outputs that are a contiguous part of the first input, and inputs that are one of a Concat's output.

Each rule takes a _Node and gives (name of the part, name of the whole, place in elements), or nothing
if that depends on what is not known before the model runs."""

import math

ELEMENTS_MOST = 64  # of a constant that a rule looks at: there is one for each axis


class Node:
    """A node and what is known about its values. shape(name): a list of extents, or None.
    constant(name): a TensorProto, or None."""

    def __init__(self, onnx, node, shape, constant):
        self.onnx, self.node, self.shape, self._constant = onnx, node, shape, constant

    def number(self, name, default):
        """A whole number that is an attribute; None: it is something else."""
        for attribute in self.node.attribute:
            if attribute.name == name:
                return attribute.i if attribute.HasField("i") else None
        return default

    def many(self, name):
        """Whole numbers that are an attribute; None: there is none, or something else."""
        for attribute in self.node.attribute:
            if attribute.name == name:
                return list(attribute.ints)
        return None

    def numbers(self, index):
        """The whole numbers of a constant input; None: it has none, or they are not known."""
        name = self.node.input[index] if index < len(self.node.input) else ""
        tensor = self._constant(name) if name else None
        kinds = self.onnx.TensorProto
        if tensor is None or tensor.data_type not in (kinds.INT32, kinds.INT64, kinds.BOOL):
            return None
        if tensor.data_location == kinds.EXTERNAL or math.prod(tensor.dims) > ELEMENTS_MOST:
            return None
        try:
            return [int(n) for n in self.onnx.numpy_helper.to_array(tensor).reshape(-1)]
        except Exception:  # dims and data that do not agree raise nearly anything
            return None

    def is_left_out(self, index):
        return index >= len(self.node.input) or not self.node.input[index]


def _place(shape, part, starts):
    """Where a box of extents `part` from `starts` on is in a value; None: not in one piece."""
    if len(shape) != len(part):
        return None
    split = next((i for i, extent in enumerate(part) if extent != 1), len(part))
    if part[split + 1:] != shape[split + 1:]:
        return None
    at, stride = 0, 1
    for extent, size, start in zip(reversed(shape), reversed(part), reversed(starts)):
        if not 0 <= start <= extent - size:
            return None
        at += start * stride
        stride *= extent
    return at


def _axis(value, rank):
    if value is None:
        return None
    return value + rank if -rank <= value < 0 else value if 0 <= value < rank else None


def _same(n):
    """Another shape for the same elements."""
    source, result = n.shape(n.node.input[0]), n.shape(n.node.output[0])
    if source is not None and result is not None and math.prod(source) == math.prod(result):
        yield n.node.output[0], n.node.input[0], 0


def _dropout(n):
    if n.is_left_out(2) or n.numbers(2) == [0]:
        yield from _same(n)


def _transpose(n):
    source = n.shape(n.node.input[0])
    if source is None:
        return
    order = n.many("perm")
    if order is None:
        order = list(range(len(source)))[::-1]
    moved = [i for i in order if 0 <= i < len(source) and source[i] != 1]
    if len(order) == len(source) and moved == sorted(moved):  # only extents of 1 change places
        yield from _same(n)


def _slice_words(n):
    """starts, ends, axes and steps; None: not known."""
    starts = n.many("starts")
    if starts is not None:  # before version 10
        axes = n.many("axes")
        return starts, n.many("ends"), list(range(len(starts))) if axes is None else axes, [1] * len(starts)
    starts, ends = n.numbers(1), n.numbers(2)
    if starts is None or ends is None:
        return None
    axes = list(range(len(starts))) if n.is_left_out(3) else n.numbers(3)
    steps = [1] * len(starts) if n.is_left_out(4) else n.numbers(4)
    return starts, ends, axes, steps


def _slice(n):
    source, result, words = n.shape(n.node.input[0]), n.shape(n.node.output[0]), _slice_words(n)
    if source is None or result is None or words is None or None in words or len({len(w) for w in words}) != 1:
        return
    begins, extents = [0] * len(source), list(source)
    for start, end, axis, step in zip(*words):
        axis = _axis(axis, len(source))
        if axis is None or step != 1:
            return
        extent = source[axis]
        start, end = (min(max(w + extent if w < 0 else w, 0), extent) for w in (start, end))
        begins[axis], extents[axis] = start, max(0, end - start)
    at = _place(source, extents, begins) if extents == result else None
    if at is not None:
        yield n.node.output[0], n.node.input[0], at


def _side_by_side(n, whole, names):
    """(name, whole, where in it) of values that make up a whole along an axis, for those that are one piece of it."""
    extents, parts = n.shape(whole), [n.shape(name) for name in names]
    axis = None if extents is None else _axis(n.number("axis", 0), len(extents))
    if axis is None or None in parts or any(len(part) != len(extents) for part in parts):
        return
    if sum(part[axis] for part in parts) != extents[axis]:
        return
    starts = [0] * len(extents)
    for name, part in zip(names, parts):
        at = _place(extents, part, starts)
        if at is not None:
            yield name, whole, at
        starts[axis] += part[axis]


def _split(n):
    return _side_by_side(n, n.node.input[0], n.node.output)


def _gather(n):
    """One element of an axis."""
    source, result, index = n.shape(n.node.input[0]), n.shape(n.node.output[0]), n.numbers(1)
    axis = None if source is None else _axis(n.number("axis", 0), len(source))
    if axis is None or result is None or index is None or len(index) != 1:
        return
    start = _axis(index[0], source[axis])
    part = [*source[:axis], 1, *source[axis + 1:]]
    if start is None or math.prod(part) != math.prod(result):
        return
    at = _place(source, part, [start if i == axis else 0 for i in range(len(source))])
    if at is not None:
        yield n.node.output[0], n.node.input[0], at


def _concat(n):
    return _side_by_side(n, n.node.output[0], n.node.input)


KEEP = frozenset("Cast Dropout Expand Flatten Identity Reshape Squeeze Transpose Unsqueeze".split())
RULES = {**dict.fromkeys(KEEP, _same), "Dropout": _dropout, "Transpose": _transpose, "Slice": _slice, "Split": _split,
         "Gather": _gather, "Concat": _concat}


def views_of(node):
    """(part, whole, place in elements) of a Node of ONNX's own operators."""
    rule = RULES.get(node.node.op_type)
    if rule is None or not node.node.input or not node.node.output:
        return []
    return list(rule(node))
