# SPDX-License-Identifier: Apache-2.0
"""Allocators of spad.cubie where no compiler for device functions is installed: Python functions
that cut the slice of a buffer out of an array. Every slice is checked against the length and the
element type of that array."""

import operator
from array import array

from .. import _spad

_LETTERS = {"float32": "f", "float64": "d", "int32": "i", "int64": "q"}


def local_array(length, dtype):
    """An array of zeros; without numpy there is no array of float16."""
    try:
        import numpy
    except ImportError:
        letter = _LETTERS.get(dtype)
        if letter is None:
            raise _spad.StateError(f"an array of {dtype} needs numpy") from None
        return array(letter, [0] * length)
    return numpy.zeros(length, dtype)


def _viewed(part, buffer):
    """A part of the memory of the parent as the type of the buffer, with its length."""
    if not buffer.needs_view:
        return part
    if hasattr(part, "view"):
        return part.view(buffer._dtype)[:buffer.size]
    return _cast(part, _LETTERS.get(buffer._dtype), buffer)[:buffer.size]


def build_allocator(region, part, length, buffer, zeroed, stride):
    def allocate_buffer(shared, persistent=None, thread=None, stride=stride):
        """(shared, persistent, thread): persistent memory is that of one thread. (base, thread):
        the memory, for all threads, of the region that the buffer lies in."""
        memory, step = shared, stride
        if _is_number(persistent):
            if thread is not None:
                raise TypeError(f"two threads, {persistent} and {thread}: write (shared, "
                                "persistent, thread) or (base, thread)")
            thread = persistent
        elif persistent is not None and (isinstance(persistent, str) or not hasattr(persistent, "__len__")):
            raise TypeError(f"persistent memory is an array, and a thread a whole number, not {persistent!r:.40}")
        elif region == "persistent":
            memory, step = persistent, 0
        begin = _thread_number(thread) * step
        if region == "local":
            out = local_array(length, buffer._dtype)
        else:
            out = _viewed(_whole(_memory(memory, region, buffer), begin + part.start,
                                 begin + part.stop, region), buffer)
        for i in range(zeroed):
            out[i] = 0
        return out

    return allocate_buffer


def _is_number(value):
    """True for an integer, of Python or numpy; False for an array, which has a length."""
    return hasattr(value, "__index__") and not hasattr(value, "__len__")


def _thread_number(thread):
    thread = 0 if thread is None else operator.index(thread)
    if thread < 0:
        raise ValueError(f"thread must be at least 0, not {thread}")
    return thread


def _cast(view, letter, buffer):
    """A memoryview of other elements, of the same bytes. There is none of float16."""
    try:
        return view.cast("B").cast(letter)
    except TypeError:
        raise TypeError(f"buffer '{buffer.name}' of {buffer._dtype} cannot be cut from this "
                        f"memoryview; pass a numpy array of {buffer._parent}") from None


def _memory(given, region, buffer):
    """The memory of a region as an array of a known length whose slices share its bytes. An
    address has no length to check, and a slice of a list is a copy: neither is accepted."""
    if hasattr(given, "view") and hasattr(given, "dtype"):
        if given.ndim != 1:
            raise TypeError(f"{region} memory has {given.ndim} dimensions; pass it flattened")
        _need_type(str(given.dtype).split(".")[-1], region, buffer)
        return given
    try:
        view = memoryview(given)
    except TypeError:
        raise TypeError(f"buffer '{buffer.name}' is in {region} memory: pass the array that holds "
                        f"it, not {given!r:.40}") from None
    letter = view.format.lstrip("@=<")
    if letter == "l":
        letter = "i" if view.itemsize == 4 else "q"
    if letter in "Bbc":
        return _cast(view, _LETTERS.get(buffer._parent), buffer)
    _need_type({v: k for k, v in _LETTERS.items()}.get(letter, letter), region, buffer)
    return _cast(view, letter, buffer)


def _need_type(element, region, buffer):
    """From 0.4 on, memory has the element type of the parent, and slices count its elements."""
    if buffer._typed and element != buffer._parent:
        raise TypeError(f"{region} memory is an array of {element}, and slices of buffer "
                        f"'{buffer.name}' count elements of {buffer._parent}")


def _whole(memory, start, stop, region):
    """memory[start:stop], all of it: Python would silently cut a slice short."""
    if start < 0 or stop > len(memory):
        raise IndexError(f"elements [{start}, {stop}) are outside {region} memory of "
                         f"{len(memory)} elements")
    return memory[start:stop]
