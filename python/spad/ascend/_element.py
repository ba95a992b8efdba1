# SPDX-License-Identifier: Apache-2.0
"""Elements of buffers: numbers that are read and assigned where they lie."""

from __future__ import annotations

import numbers
import operator
from typing import TYPE_CHECKING

from .. import _float_codes
from .. import _spad

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self


def encode(value, dtype):
    """The bits of a number as an element; one that it cannot hold is a spad.ArgumentError."""
    value = value.value if isinstance(value, Element) else value
    if dtype == "bool":
        value = bool(value)
    elif "float" in dtype:
        value = float(value)
    else:
        value = int(value)
    return _spad.value(dtype, value)[1]


def _with_number(operation: Callable[..., Any]) -> Callable[..., Any]:
    """An operator of elements and numbers, which gives a number."""
    def compute(self, other):
        other = other.value if isinstance(other, Element) else other
        return operation(self.value, other) if isinstance(other, numbers.Real) else NotImplemented
    return compute


def _swapped(operation: Callable[..., Any]) -> Callable[..., Any]:
    return _with_number(lambda mine, other: operation(other, mine))


class Element:
    """One element of a buffer. In arithmetic and comparisons it is the number that it holds."""

    __slots__ = ("buffer", "line")

    __add__, __radd__ = _with_number(operator.add), _swapped(operator.add)
    __sub__, __rsub__ = _with_number(operator.sub), _swapped(operator.sub)
    __mul__, __rmul__ = _with_number(operator.mul), _swapped(operator.mul)
    __truediv__, __rtruediv__ = _with_number(operator.truediv), _swapped(operator.truediv)
    __lt__, __le__ = _with_number(operator.lt), _with_number(operator.le)
    __gt__, __ge__ = _with_number(operator.gt), _with_number(operator.ge)

    def __init__(self, buffer: Any, line: int) -> None:
        self.buffer, self.line = buffer, line

    def _place(self):
        """Its first byte, its bytes, and the first of its bits there: types of 4 bits are two to a
        byte, the first one in the low bits."""
        dtype = self.buffer.dtype
        if dtype.endswith("_x4"):
            raise _spad.ArgumentError(f"an element of {dtype} is four values; look at its bytes with "
                                      "T.buffer_alias")
        at = self.line * _spad.dtype_bits(dtype)
        return at // 8, _spad.dtype_bytes(dtype), at % 8

    def assign(self, value: Any) -> Self:
        """Writes the element."""
        at, size, shift = self._place()
        raw = self.buffer.raw
        code = encode(value, raw.dtype)
        if _spad.dtype_bits(raw.dtype) == 4:  # the other half of the byte stays
            code = code << shift | raw.read(at, 1)[0] & 0xF0 >> shift
        raw.write(code.to_bytes(size, "little"), at)
        return self

    @property
    def value(self):
        """Reads the element: a number, as assign() takes it."""
        at, size, shift = self._place()
        whole = int.from_bytes(self.buffer.raw.read(at, size), "little")
        return _float_codes.number_of(self.buffer.dtype, whole >> shift)

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return int(self.value)

    def __bool__(self):
        return bool(self.value)

    def __neg__(self):
        return -self.value

    def __eq__(self, other):
        return self.value == (other.value if isinstance(other, Element) else other)

    __hash__ = None

    def __repr__(self):
        return repr(self.value)
