# SPDX-License-Identifier: Apache-2.0
"""The words of tilelang.language that need no recorder: types, numbers, and functions of values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from . import _record
from ._values import Condition, Index, Value

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class dtype(str):
    """An element type: its name. As a function it converts a value."""

    __slots__ = ()

    def __call__(self, value: Any) -> Any:
        return Value("other", value) if isinstance(value, Value) else value


float, bool = dtype("float32"), dtype("bool")
float16, bfloat16, float32, float64 = map(dtype, ("float16", "bfloat16", "float32", "float64"))
int8, int16, int32, int64 = map(dtype, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(dtype, ("uint8", "uint16", "uint32", "uint64"))
float8_e4m3fn, float8_e5m2 = map(dtype, ("float8_e4m3fn", "float8_e5m2"))


class GemmWarpPolicy:
    """How the warps of a gemm divide it: of no account here."""

    Square, FullRow, FullCol = range(3)


def ceildiv(number: Any, by: int) -> Any:
    """number / by, rounded up."""
    return (number + (by - 1)) // by


def floordiv(number: Any, by: int) -> Any:
    """number / by, rounded down."""
    return number // by


def floormod(number: Any, by: int) -> Any:
    """The rest of floordiv."""
    return number % by


def infinity(dtype: Any) -> Any:
    """Infinity of an element type."""
    return math.inf


def use_swizzle(*unused: Any, **more: Any) -> None:
    """The order of blocks: of no account for one block."""


def disable_warp_group_reg_alloc() -> None:
    """Registers of roles stay as they are: of no account for bytes."""


class Layout:
    """A swizzle for annotate_layout: of no account for bytes."""

    def __init__(self, *unused: Any, **more: Any) -> None:
        pass


def annotate_layout(*unused: Any, **more: Any) -> None:
    """How a buffer is swizzled: of no account for its bytes."""


def _function(kind: str) -> Callable[..., Value]:
    def value(*parts):
        return Value(kind, *parts)
    return value


def _extreme(kind: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def value(*parts):
        if all(isinstance(part, int) for part in parts):
            return plain(parts)
        if all(isinstance(part, (int, Index)) for part in parts):
            return _record.extreme(kind, parts)
        return Value(kind, *parts)
    value.__name__ = kind
    return value


def if_then_else(condition: Any, yes: Any, no: Any) -> Any:
    """One of two values; what both read counts."""
    if isinstance(condition, (Condition, Value)):
        parts = [p for p in (condition, yes, no) if isinstance(p, Value)]
        return Value("other", *parts)
    return yes if condition else no


max, min = _extreme("max", max), _extreme("min", min)
(exp, exp2, exp10, log, log2, log10, sqrt, rsqrt, tanh, sin, cos, tan, sigmoid, erf, abs, cast, Cast, clamp,
 round, floor, ceil, pow, fma, reinterpret, isnan, isinf) = (_function("other") for _ in range(26))
