# SPDX-License-Identifier: Apache-2.0
"""The words of tilelang.language that need no recorder: types, numbers, and functions of values."""

import math

from . import _tilelang_record as _record
from ._tilelang_values import Condition, Index, Value

class dtype(str):
    """An element type: its name. As a function it converts a value."""

    __slots__ = ()

    def __call__(self, value):
        return Value("other", value) if isinstance(value, Value) else value


float, bool = dtype("float32"), dtype("bool")
float16, bfloat16, float32, float64 = map(dtype, ("float16", "bfloat16", "float32", "float64"))
int8, int16, int32, int64 = map(dtype, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(dtype, ("uint8", "uint16", "uint32", "uint64"))
float8_e4m3fn, float8_e5m2 = map(dtype, ("float8_e4m3fn", "float8_e5m2"))


class GemmWarpPolicy:
    """How the warps of a gemm divide it: of no account here."""

    Square, FullRow, FullCol = range(3)


def ceildiv(number, by):
    """number / by, rounded up."""
    return (number + (by - 1)) // by


def floordiv(number, by):
    """number / by, rounded down."""
    return number // by


def floormod(number, by):
    """The rest of floordiv."""
    return number % by


def infinity(dtype):
    """Infinity of an element type."""
    return math.inf


def use_swizzle(*unused, **more):
    """The order of blocks: of no account for one block."""


def disable_warp_group_reg_alloc():
    """Registers of roles stay as they are: of no account for bytes."""


class Layout:
    """A swizzle for annotate_layout: of no account for bytes."""

    def __init__(self, *unused, **more):
        pass


def annotate_layout(*unused, **more):
    """How a buffer is swizzled: of no account for its bytes."""


def _function(kind):
    def value(*parts):
        return Value(kind, *parts)
    return value


def _extreme(kind, plain):
    def value(*parts):
        if all(isinstance(part, int) for part in parts):
            return plain(parts)
        if all(isinstance(part, (int, Index)) for part in parts):
            return _record.extreme(kind, parts)
        return Value(kind, *parts)
    value.__name__ = kind
    return value


def if_then_else(condition, yes, no):
    """One of two values; what both read counts."""
    if isinstance(condition, (Condition, Value)):
        parts = [p for p in (condition, yes, no) if isinstance(p, Value)]
        return Value("other", *parts)
    return yes if condition else no


max, min = _extreme("max", max), _extreme("min", min)
(exp, exp2, exp10, log, log2, log10, sqrt, rsqrt, tanh, sin, cos, tan, sigmoid, erf, abs, cast, Cast, clamp,
 round, floor, ceil, pow, fma, reinterpret, isnan, isinf) = (_function("other") for _ in range(26))
