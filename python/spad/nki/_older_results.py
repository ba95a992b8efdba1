# SPDX-License-Identifier: Apache-2.0
"""What the functions of the older dialect have in common: types, operands, results, matmuls."""

import math

from .. import _spad
from . import _direct
from ._index import cut
from ._isa import INSTRUCTIONS
from ._older import Blocks, Box, Result, copy, fitted, now, unwrapped
from ._views import View, item_bytes


class Dtype:
    """A type of nki.language: equal to its name, and to numpy's type of that name."""

    def __init__(self, name):
        self.name = self.__name__ = name

    @property
    def dtype(self):
        """What numpy.dtype() makes of it; types that numpy does not have are so many bytes."""
        import numpy
        try:
            return numpy.dtype(self.name)
        except TypeError:
            return numpy.dtype(f"V{self.itemsize}")

    itemsize = property(lambda self: item_bytes(self.name))

    def __eq__(self, other):
        try:
            return _spad.dtype_name(str(other) if isinstance(other, Dtype) else other) == self.name
        except (_spad.Error, TypeError):
            return False

    def __hash__(self):
        return hash(self.name)

    def __str__(self):
        return self.name

    def __repr__(self):
        return f"nl.{self.name}"

    def __call__(self, value):
        """nl.float32(3): a number."""
        return value


def _dtype(dtype):
    return None if dtype is None else _spad.dtype_name(str(dtype) if isinstance(dtype, Dtype) else dtype)


_RANKS = {"float32": 6, "tfloat32": 5, "float16": 4, "bfloat16": 4, "int32": 3, "uint32": 3, "int16": 2,
          "uint16": 2}


def _promoted(views):
    """The type of a result: that of the operand with the highest precision."""
    return max((view.dtype for view in views), key=lambda name: _RANKS.get(name, 1))


def _only_name(what, options):
    """Options that have no effect on what is recorded."""
    unknown = [key for key in options if key not in ("name", "lowering_name")]
    if unknown:
        raise TypeError(f"{what} got an unexpected keyword argument '{unknown[0]}'")


def _operand(what, value):
    value = unwrapped(value)
    if isinstance(value, Blocks):
        raise TypeError(f"{what}: '{value.name}' has block dimensions; an operation takes a tile of it")
    return value


def _broadcast(what, views):
    """The shape of an elementwise result."""
    ndim = max(view.ndim for view in views)
    shape = []
    for dim in range(ndim):
        counts = {view.shape[dim] for view in views if dim < view.ndim} - {1}
        if len(counts) > 1:
            raise ValueError(f"{what}: operands of " + " and ".join(str(view.shape) for view in views))
        shape.append(counts.pop() if counts else 1)
    return tuple(shape)


def _elementwise(recorder, what, op, operands, dtype, mask, engine):
    """A result that has a number for each place of its operands."""
    views = [part for part in operands if isinstance(part, View)]
    if not views:
        raise TypeError(f"{what}: none of the arguments is a tensor")
    shape = _broadcast(what, views)

    def emit(dst):
        box = Box(recorder, mask, shape, what)
        if box.is_empty:
            return
        dst = box.of(_as(dst, shape))
        given = [box.of(part) if isinstance(part, View) else part for part in operands]
        recorder.operation(engine, op, [part for part in given if isinstance(part, View)], [dst])
        if recorder.values is not None:
            recorder.values.elementwise(op, dst, given)

    return Result(recorder, what, shape, dtype or _promoted(views), emit)


def _as(dst, shape):
    """A destination in the shape of what is written to it."""
    return dst if dst.shape == tuple(shape) or dst.size != math.prod(shape) else fitted(dst).reshape(shape)


def _axes(what, axis, ndim):
    axes = {dim % ndim for dim in (axis if isinstance(axis, (tuple, list)) else (axis,))}
    if 0 in axes:
        raise ValueError(f"{what} along the partitions: use nki.isa.tensor_partition_reduce or a transpose")
    return axes


def _reduced(shape, axes, keepdims):
    """The shape after a reduction; a tile keeps two dimensions."""
    if keepdims or len(shape) - len(axes) < 2:
        return tuple(1 if dim in axes else count for dim, count in enumerate(shape))
    return tuple(count for dim, count in enumerate(shape) if dim not in axes)


def _reduce(recorder, what, name, x, axis, dtype=None, mask=None, keepdims=False):
    axes = _axes(what, axis, x.ndim)
    full = tuple(1 if dim in axes else count for dim, count in enumerate(x.shape))

    def emit(dst):
        box = Box(recorder, mask, x.shape, what)
        if box.is_empty:
            return
        kept = _as(dst, full)
        part = [(0, 1) if dim in axes else span for dim, span in enumerate(box.spans)]
        source = box.of(x)
        kept = kept if box.is_all else _cut(kept, part)
        recorder.operation("vector", f"reduce_{name}", [source], [fitted(kept)])
        if recorder.values is not None:
            recorder.values.reduce(name, kept, source, axes)

    return Result(recorder, what, _reduced(x.shape, axes, keepdims), _dtype(dtype) or x.dtype, emit)


def _cut(view, spans):
    return cut(fitted(view), spans)


def _in_sbuf(recorder, older, what, value, dtype=None):
    """An operand of the tensor engine."""
    value = _operand(what, value)
    if value.storage.space != "psum":
        return value
    moved = older.make((_direct.par_dim(value.shape[0]), *value.shape[1:]), dtype or value.dtype, _direct.sbuf,
                       "moved", implicit_of=what)
    copy(recorder, moved, value)
    return moved


def _matmul(recorder, what, given, mask):
    rows, columns = math.prod(given["stationary"].shape[1:]), given["moving"].shape[1:]

    def emit(dst, accumulate=False):
        box = Box(recorder, mask, (rows, *columns), what)
        if box.is_empty:
            return
        dst = box.of(_as(dst, (rows, *columns)))
        cut = given
        if not box.is_all:
            cut = {**given, "stationary": _cut(given["stationary"], [(0, len(given["stationary"])), box.spans[0]]),
                   "moving": _cut(given["moving"], [(0, len(given["moving"])), *box.spans[1:]])}
        recorder.call(INSTRUCTIONS["nc_matmul"], (), {**cut, "dst": dst, "accumulate": accumulate})

    return Result(recorder, what, (rows, *columns), "float32", emit, "psum", lambda dst: emit(dst, None))


def _turned(x):
    return (math.prod(x.shape[1:]), x.shape[0])


def _instruction_result(recorder, name, given, shape, dtype, mask, space="sbuf"):
    """The result of an instruction of the table."""
    what = f"nki.isa.{name}"
    grid = given["data"].shape if name in ("tensor_reduce", "nc_transpose") else shape

    def emit(dst):
        box = Box(recorder, mask, grid, what)
        if box.is_empty:
            return
        dst = _as(dst, shape)
        if name == "nc_transpose":
            dst = fitted(dst) if box.is_all else _cut(dst, reversed(box.spans))
        elif name == "tensor_reduce":
            axes = _axes(what, given["axis"], given["data"].ndim)
            full = tuple(1 if dim in axes else count for dim, count in enumerate(grid))
            dst = _as(dst, full)
            dst = fitted(dst) if box.is_all else _cut(
                dst, [(0, 1) if dim in axes else span for dim, span in enumerate(box.spans)])
        else:
            dst = box.of(dst)
        cut = {key: box.of(value) if isinstance(value, View) else value for key, value in given.items()}
        if name == "tensor_reduce":
            cut["axis"], cut["keepdims"] = tuple(sorted(_axes(what, given["axis"], given["data"].ndim))), True
        recorder.call(INSTRUCTIONS[name], (), {**cut, "dst": dst})

    return Result(recorder, what, shape, dtype, emit, space)


class _Limits:
    """nl.fp32, nl.finfo(dtype): the least and the largest number of a type."""

    def __init__(self, least):
        self.min, self.max = least, -least


_LARGEST = {"float32": 3.4028234663852886e38, "bfloat16": 3.3895313892515355e38, "float16": 65504.0,
            "float8_e4m3": 240.0, "float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}


def finfo(dtype):
    """nl.finfo."""
    name = _dtype(dtype)
    if name not in _LARGEST:
        raise TypeError(f"nki.language.finfo of {name}")
    return _Limits(-_LARGEST[name])


def _refused(name):
    def function(*args, **kwargs):
        raise now(name)[0].refuse(f"{name} is not modelled")

    function.__name__ = name.rpartition(".")[2]
    return function


def _unspecified(recorder, what, name, engine="vector"):
    """nl.load(...) as manuals print it: something is read."""
    return Result(recorder, what, None, "float32",
                  lambda dst: recorder.operation(engine, name, [], [fitted(dst)]))
