# SPDX-License-Identifier: Apache-2.0
"""Drop-in for the memory interface of TileLang-Ascend, on real memory.

    import tilelang.language as T      # before
    import spad.ascend as T            # after

Memory is that of the host unless another device is chosen: T.use("cuda:0"). The scopes shared and
local are as large as anyone needs unless a chip is chosen: T.use("host", target="910b") gives them
the size of that chip's UB and L0C, and T.MemoryError is raised where the chip would be full.
"""

from __future__ import annotations

import functools
import itertools
import math
import numbers
import operator
import os
import sys
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .. import _spad
from .. import _devices
from .. import core
from ._element import Element as Element, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal, Self
    from .._spad import _Facts, _Shape, Device, Target, Workspace

MemoryError = _spad.FitError
int8, int32, int64, float16, float32 = "int8", "int32", "int64", "float16", "float32"

# Scratchpads without the limits of a chip.
_ROOMY = """target roomy
space ub { bytes 64 MiB }
space l0c { bytes 64 MiB }
space gm { off chip }
"""

_state = {"device": None, "workspace": None, "streams": {}, "stream": None, "trace": None}
_alive = weakref.WeakSet()  # the buffers that have memory of their own


def use(device: str | None = "host", target: Target | str | None = None) -> Device:
    """The device of later allocations, and the chip whose scratchpads it has."""
    chip = core.Target.parse(_ROOMY) if target is None else (
        target if isinstance(target, _spad.Target) else core.Target(target))
    _state.update(device=core.Device(device, chip), workspace=None, streams={}, stream=None,
                  trace=None)
    _state["chip"] = chip
    return _state["device"]


def _device():
    return _state["device"] or use()


# ---- buffers ---------------------------------------------------------------------------------------


class Buffer:
    """A buffer: buf[i, j] is an element (assign, value), buf[a:b, c:d] and buf[i] a tile. Host buffers speak
    the buffer protocol (memoryview(buf.raw), numpy.asarray(buf)) and DLPack, CUDA buffers DLPack
    and __cuda_array_interface__."""

    def __init__(self, raw: _spad.Buffer, home: Any = None) -> None:
        self.raw, self._home = raw, home
        self._where = _caller()

    shape: tuple[int, ...] | None = property(lambda self: self.raw.shape, doc="Its extents; None: not known yet.")
    dtype: str = property(lambda self: self.raw.dtype, doc="Its element type.")
    scope: str = property(lambda self: self.raw.scope, doc="global, shared or local.")
    nbytes: int = property(lambda self: self.raw.nbytes, doc="Bytes.")
    name: str = property(lambda self: self.raw.name, doc="Its name.")

    def __getitem__(self, key: Any) -> Any:
        key = key if isinstance(key, tuple) else (key,)
        shape = self.shape
        if shape is None:
            raise _spad.StateError("the buffer has no shape yet; copy something into it first")
        if len(key) < len(shape) or any(isinstance(k, slice) or k is Ellipsis for k in key):
            return Tile(self, key)
        line = 0
        if len(key) > len(shape):
            raise IndexError(f"{len(key)} indices for {len(shape)} dimensions")
        for extent, at in zip(shape, key):
            line = line * extent + _place(at, extent)
        return Element(self, line)

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.shape is None and key is Ellipsis:
            self.assign(value)
        else:
            self[key].assign(value)

    def assign(self, value: Any) -> Self:
        """Fills the buffer with a number, or copies something into it."""
        if self.shape is None and not isinstance(value, (numbers.Real, Element)):
            copy(value, self)  # it gets its shape
        else:
            self[...].assign(value)
        return self

    def __enter__(self) -> Self:
        """with: the buffer is freed at the end."""
        return self

    def __exit__(self, *unused: Any) -> None:
        if not self.raw.freed:
            free(self)

    def __len__(self) -> int:
        """The extent of its first dimension."""
        if not self.shape:
            raise TypeError("the buffer has no dimensions" + " yet" * (self.shape is None))
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy
        array = numpy.asarray(memoryview(self.raw))
        return array if dtype is None else array.astype(dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.raw.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        return self.raw.__dlpack__(**options)

    @property
    def __cuda_array_interface__(self) -> _Facts:
        return self.raw.__cuda_array_interface__

    def __repr__(self):
        if self.raw.freed:
            return "<Buffer, freed>"
        return f"<Buffer {self.name or ''}{self.shape} {self.dtype} in {self.scope} memory>"


def _caller():
    """file:line of the call into this module."""
    frame, here = sys._getframe(1), (__file__, contextmanager.__code__.co_filename)
    while frame.f_back is not None and frame.f_code.co_filename in here:
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def _place(at, extent):
    """An index of a dimension; a negative one counts from its end."""
    at = operator.index(at)
    if not -extent <= at < extent:
        raise IndexError(f"index {at} is outside an extent of {extent}")
    return at % extent


def _range(part, extent):
    """(first, count) of a slice. One that reaches outside, or holds nothing, is an error:
    Python would cut it short, and a copy would do nothing without a word."""
    if part.step not in (None, 1):
        raise TypeError("a tile has no step")
    start = 0 if part.start is None else operator.index(part.start)
    stop = extent if part.stop is None else operator.index(part.stop)
    if not -extent <= start <= extent or not -extent <= stop <= extent:
        raise IndexError(f"[{start}:{stop}] is outside an extent of {extent}")
    start, stop = start + extent * (start < 0), stop + extent * (stop < 0)
    if start >= stop:
        raise IndexError(f"[{part.start}:{part.stop}] of an extent of {extent} is empty")
    return start, stop - start


def _need(buffer):
    if not isinstance(buffer, Buffer):
        raise TypeError(f"a buffer is needed, not {type(buffer).__name__}")
    return buffer


class Tile:
    """A part of a buffer: in each dimension the places [start, start + count). A dimension with a
    plain index counts as one place and is not part of the shape."""

    __slots__ = ("buffer", "start", "counts", "_axes")

    def __init__(self, buffer: Any, key: Any) -> None:
        key = _spread(key, len(buffer.shape))
        self.buffer = buffer
        ranges = [_range(k, n) if isinstance(k, slice) else (_place(k, n), 1)
                  for k, n in zip(key, buffer.shape)]
        self.start: tuple[int, ...] = tuple(start for start, _ in ranges)
        self.counts: tuple[int, ...] = tuple(count for _, count in ranges)
        self._axes = tuple(i for i, k in enumerate(key) if isinstance(k, slice))

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return tuple(self.counts[i] for i in self._axes)

    dtype: str = property(lambda self: self.buffer.dtype, doc="Its element type.")

    def __getitem__(self, key: Any) -> Any:
        key = _spread(key if isinstance(key, tuple) else (key,), len(self._axes))
        whole = list(self.start)
        for axis, k in zip(self._axes, key):
            if isinstance(k, slice):
                first, count = _range(k, self.counts[axis])
                first += self.start[axis]
                whole[axis] = slice(first, first + count)
            else:
                whole[axis] = self.start[axis] + _place(k, self.counts[axis])
        return self.buffer[tuple(whole)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self[key].assign(value)

    def assign(self, value: Any) -> Self:
        """Fills the tile with a number, or copies a buffer, a tile or data of the host into it."""
        if isinstance(value, (numbers.Real, Element)):
            _fill(self, value)
        else:
            copy(value, self)
        return self

    def _runs(self):
        """(first element, count) of its stretches without a gap, in the order of the elements."""
        shape = self.buffer.shape
        last = len(shape) - 1  # from here on every dimension is whole
        while last > 0 and self.counts[last] == shape[last]:
            last -= 1
        inner = math.prod(shape[last + 1:])
        for at in itertools.product(*(range(a, a + n) for a, n in
                                      zip(self.start[:last], self.counts[:last]))):
            line = 0
            for place, extent in zip((*at, self.start[last]), shape):
                line = line * extent + place
            yield line * inner, self.counts[last] * inner

    def __repr__(self):
        return f"<Tile {self.shape} at {self.start} of {self.buffer!r}>"


def _spread(key, rank):
    """One index per dimension: an Ellipsis, and what is not given, are whole dimensions."""
    if key.count(Ellipsis) > 1:
        raise IndexError("an index has one '...' at most")
    given = len(key) - key.count(Ellipsis)
    if given > rank:
        raise IndexError(f"{given} indices for {rank} dimensions")
    at = key.index(Ellipsis) if Ellipsis in key else len(key)
    return (*key[:at], *(slice(None),) * (rank - given), *key[at + 1:])


def alloc_buffer(shape: _Shape | Literal['auto'], dtype: Any = "float16", scope: str = "global", alignment: int = 0,
                 name: str | None = None, device: str | None = None) -> Buffer:
    """A buffer. shape "auto": it gets its shape from what is copied into it first."""
    home = _device() if device is None else core.Device(device)
    shape = tuple(shape) if isinstance(shape, list) else shape
    if isinstance(shape, numbers.Integral):
        shape = (operator.index(shape),)
    made = Buffer(home.alloc(shape, dtype, scope, alignment, name))
    _alive.add(made)
    return made


@contextmanager
def allocate(shape: _Shape | None = None, dtype: Any = "float32", scope: str | None = None, alignment: int = 0,
             name: str | None = None) -> Iterator[Buffer]:
    """A buffer for the with block; without a shape of 1024 elements, without a scope in shared
    memory. Inside a workspace of its scope it is a part of that, without a shape all that is left.
    A block inside another one that finds nothing left has memory of its own."""
    space = _state["workspace"]
    if space is not None and scope in (None, space.scope):
        with space.part(shape, dtype, alignment, name) as made:
            if made is not None:
                yield made
                return
    made = alloc_buffer(1024 if shape is None else shape, dtype, scope or "shared", alignment, name)
    try:
        yield made
    finally:
        if not made.raw.freed:
            made.raw.free()


def free(buffer: Any) -> None:
    """Gives a buffer back; using it afterwards raises spad.StateError."""
    if _need(buffer)._home is not None:
        buffer._home.free(buffer)
    else:
        buffer.raw.free()


class memory_pool:
    """memory_pool(max_size, block_size=4096, scope="global"): buffers out of one piece."""

    def __init__(self, max_size: int, block_size: int = 4096, scope: str = "global") -> None:
        self.whole: _spad.Buffer = _device().alloc((max_size,), "uint8", scope, 0, "pool")
        self._pool = core.Pool(self.whole, block_size)
        self._blocks, self._orphans = {}, []

    def allocate(self, shape: _Shape, dtype: Any = "float16", alignment: int = 1, name: str | None = None) -> Buffer:
        """A buffer of the pool."""
        self._collect()
        shape = (operator.index(shape),) if isinstance(shape, numbers.Integral) else tuple(shape)
        bits = math.prod(shape) * _spad.dtype_bits(dtype)
        block = self._pool.alloc((bits + 7) // 8, alignment)
        try:
            made = Buffer(self.whole.alias(shape, dtype, block[0], name), self)
        except _spad.Error:
            self._pool.free(block)
            raise
        self._blocks[id(made.raw)] = made.raw, block  # the buffer stays until it is freed
        weakref.finalize(made, self._dropped, made.raw).atexit = False
        return made

    def free(self, buffer: Any) -> None:
        """Gives a buffer back to the pool."""
        if id(_need(buffer).raw) not in self._blocks:
            raise _spad.StateError("the buffer is not of this pool, or was freed before")
        self._give_back(buffer.raw)

    def _give_back(self, raw):
        raw.free()
        self._pool.free(self._blocks.pop(id(raw))[1])

    def _dropped(self, raw):
        """The object of a buffer is gone. While views of it are there it keeps its block, and is
        examined again with the next call."""
        if id(raw) not in self._blocks:
            return
        try:
            self._give_back(raw)
        except BufferError:
            self._orphans.append(raw)

    def _collect(self):
        waiting, self._orphans = self._orphans, []
        for raw in waiting:
            self._dropped(raw)

    def __enter__(self) -> Self:
        """with: the pool is given back at the end, when all its buffers are."""
        return self

    def __exit__(self, *unused: Any) -> None:
        self._collect()
        if not self._blocks and not self.whole.freed:
            self.whole.free()

    def stats(self) -> Stats:
        """What the pool has given out, its largest hole and its fragmentation."""
        self._collect()
        return Stats(self._pool.stats())


def buffer_alias(buffer: Any, shape: _Shape | None = None, dtype: Any = None, offset: int = 0,
                 name: str | None = None) -> Buffer:
    """Another view of the bytes of a buffer; without a shape in its own."""
    if shape is None:
        shape = _need(buffer).shape
        if dtype is not None and _spad.dtype_bits(dtype) != _spad.dtype_bits(buffer.dtype):
            raise _spad.ArgumentError(f"an alias of {buffer.dtype} as {dtype} has another number of "
                                      "elements: give its shape")
    return Buffer(_need(buffer).raw.alias(shape, dtype, offset, name))


def workspace(size: int, scope: str = "shared", name: str = "workspace") -> Workspace:
    """Bytes that later `with T.allocate(...)` blocks of this function use in turn."""
    made = core.Workspace(_device(), size, scope, name)
    _state["workspace"] = _Phases(made, scope)
    return made


class _Phases:
    """The workspace of a function: each outermost `with T.allocate` is a phase."""

    def __init__(self, space, scope):
        self.space, self.scope, self.depth = space, scope, 0

    @contextmanager
    def part(self, shape, dtype, alignment, name):
        """A buffer of the workspace; None: inside another one there is no room for it."""
        space = self.space
        if shape is None:
            shape = (space.bytes - space.used) * 8 // _spad.dtype_bits(dtype)
        try:
            made = Buffer(space.take(shape, dtype, alignment, name)) if shape != 0 else None
        except _spad.FitError:
            if self.depth == 0:
                raise
            made = None
        if made is None:
            yield None
            return
        self.depth += 1
        try:
            yield made
        finally:
            self.depth -= 1
            if self.depth == 0:
                space.next()


def address_of(buffer: Any) -> int:
    """The address of a buffer, or of an element or the first one of a tile, on its device or in its
    scratchpad."""
    first = 0
    if isinstance(buffer, Tile):
        first, buffer = next(buffer._runs())[0], buffer.buffer
    elif isinstance(buffer, Element):
        first, buffer = buffer.line, buffer.buffer
    if _need(buffer).shape is None:
        raise _spad.StateError("the buffer has no address yet; copy something into it first")
    return buffer.raw.address + first * _spad.dtype_bits(buffer.dtype) // 8


def is_aligned(address: Any, alignment: int = 256) -> bool:
    """Is an address, or that of a buffer, a multiple?"""
    if isinstance(address, (Buffer, Tile, Element)):
        address = address_of(address)
    if alignment < 1 or alignment & alignment - 1:
        raise _spad.ArgumentError(f"alignment {alignment} is not a power of two")
    return address % alignment == 0


# ---- copies -----------------------------------------------------------------------------------------

_SCOPES = {"cpu": "the host", "npu": "the device", "gpu": "a GPU", "hbm": "global", "ub": "shared",
           "global": "global", "shared": "shared", "local": "local"}


def _check_scope(side, scope):
    """Is that side of a copy where its scope says? cpu: on the host; gpu: on a GPU; npu: the
    device of T.use, which represents the NPU; the others: in that memory of a device."""
    if scope is None:
        return
    if scope not in _SCOPES:
        raise _spad.ArgumentError(f"'{scope}' is no scope; there are " + ", ".join(_SCOPES))
    buffer = side.buffer if isinstance(side, Tile) else side
    if not isinstance(buffer, Buffer):
        found, fits = "data of the host", scope == "cpu"
    else:
        device = buffer.raw.device.name
        found = f"{buffer.scope} memory of device '{device}'"
        on_host = device.split(":")[0] == "host"
        fits = {"cpu": on_host, "npu": True, "gpu": not on_host}.get(
            scope, _SCOPES[scope] == buffer.scope)
    if not fits:
        raise _spad.ArgumentError(f"scope '{scope}' means {_SCOPES[scope]}, and this side of the "
                                  f"copy is {found}")


_KINDS = {"?": "bool", **dict.fromkeys("bhilqn", "int"), **dict.fromkeys("BHILQN", "uint"),
          **dict.fromkeys("efd", "float")}


def _alike(src, dst):
    """Two buffers or tiles between which elements are copied as they are."""
    theirs, ours = (getattr(side, "buffer", side) for side in (src, dst))
    if src.shape is None:
        raise _spad.StateError("the source has no shape yet; copy something into it first")
    if theirs.dtype != ours.dtype:
        raise _spad.ArgumentError(
            f"a copy does not convert: the source is {theirs.dtype}, the destination {ours.dtype}; "
            "T.buffer_alias shows bytes as another type")
    if dst.shape is not None and src.shape != dst.shape:
        raise _spad.ArgumentError(
            f"shapes {src.shape} and {dst.shape} are not alike; T.buffer_alias shows a buffer in "
            "another shape")


def _check_host(view, side):
    """Data of the host: bytes as they are, or numbers of the type and shape of a buffer or tile."""
    buffer = side.buffer if isinstance(side, Tile) else side
    kind = _KINDS.get(view.format.lstrip("@=<"))
    wanted = _KINDS[buffer.raw.format], _spad.dtype_bytes(buffer.dtype)
    if view.format not in ("B", "c") and (kind, view.itemsize) != wanted:
        raise _spad.ArgumentError(
            f"a copy does not convert: one side has elements '{view.format}' of "
            f"{view.itemsize} B, the other {buffer.dtype}; give bytes, or convert it first")
    if side.shape is not None and view.ndim > 1 and view.shape != side.shape:
        raise _spad.ArgumentError(f"shapes {view.shape} and {side.shape} are not alike")
    if isinstance(side, Tile) and view.nbytes * 8 != _tile_bits(side):
        raise _spad.ArgumentError(f"{view.nbytes} B are not the {_tile_bits(side) // 8} B of the "
                                  "tile")


def _tile_bits(tile):
    return math.prod(tile.counts) * _spad.dtype_bits(tile.dtype)


def _byte_runs(tile):
    """(first byte, bytes) of the stretches of a tile."""
    bits = _spad.dtype_bits(tile.dtype)
    for first, count in tile._runs():
        if first * bits % 8 or count * bits % 8:
            raise _spad.ArgumentError(f"a row of the tile begins or ends inside a byte of {tile.dtype}")
        yield first * bits // 8, count * bits // 8


def _put(data, dst):
    """Data of the host into a buffer or tile."""
    with memoryview(data) as view:
        _check_host(view, dst)
        if not isinstance(dst, Tile):
            dst.raw.bind(data) if dst.shape is None else dst.raw.write(data)
            return
        whole, at = view.tobytes(), 0
        for first, count in list(_byte_runs(dst)):
            dst.buffer.raw.write(whole[at:at + count], first)
            at += count


def _get(src, data):
    """A buffer or tile into writable data of the host."""
    with memoryview(data) as view:
        if view.readonly:
            raise _spad.ArgumentError("the destination is read-only")
        if not view.c_contiguous:
            raise _spad.ArgumentError("the destination has gaps; give one without, or copy it then")
        _check_host(view, src)
        raw = src.buffer.raw if isinstance(src, Tile) else src.raw
        runs = _byte_runs(src) if isinstance(src, Tile) else [(0, raw.nbytes)]
        whole = b"".join(raw.read(*run) for run in runs)
        if len(whole) != view.nbytes:
            raise _spad.ArgumentError(f"the source has {len(whole)} B, the destination "
                                      f"{view.nbytes} B")
        view.cast("B")[:] = whole


def _fill(tile, value):
    """Every element of a tile is the number."""
    dtype, raw = tile.dtype, tile.buffer.raw
    bits, code = _spad.dtype_bits(dtype), encode(value, dtype)
    if bits < 8:  # two to a byte, and a row may begin in the middle of one
        for first, count in tile._runs():
            for line in range(first, first + count):
                Element(tile.buffer, line).assign(value)
        return
    for first, count in tile._runs():
        raw.write(code.to_bytes(bits // 8, "little") * count, first * bits // 8)


def _copy_tiles(src, dst):
    """Tiles of the same shape, whatever the dimensions of their buffers: stretch by stretch,
    each as long as both sides have no gap."""
    stream = _state["stream"]
    if len(src.counts) == len(dst.counts) == 2 and src.counts == dst.counts:
        _spad.copy_tile(dst.buffer.raw, src.buffer.raw, dst.start, src.start, src.counts, stream)
        return
    ours, theirs = list(_byte_runs(dst)), list(_byte_runs(src))
    while ours:
        (to, room), (at, count) = ours.pop(0), theirs.pop(0)
        width = min(room, count)
        _spad.copy_part(dst.buffer.raw, src.buffer.raw, width, to_offset=to, from_offset=at,
                        stream=stream)
        if width < room:
            ours.insert(0, (to + width, room - width))
        if width < count:
            theirs.insert(0, (at + width, count - width))


def copy(src: Any, dst: Any, src_scope: str | None = None, dst_scope: str | None = None) -> None:
    """Copies a buffer, a tile, or data of the host (bytes, numpy) into another one of the same
    type and shape; one side at least is a buffer or tile. In `with T.stream(...)` a copy between
    buffers returns at once. A scope that is given is checked: the side has to be there."""
    _check_scope(src, src_scope)
    _check_scope(dst, dst_scope)
    trace = _state["trace"]
    first = 0 if trace is None else len(trace)
    ours = isinstance(src, (Buffer, Tile)), isinstance(dst, (Buffer, Tile))
    if not any(ours):
        raise TypeError(f"a buffer is needed, not {type(dst).__name__}: one side of a copy at least is a "
                        "buffer or a tile")
    if not all(ours) and _state["stream"] is not None:
        _state["stream"].wait()  # the host takes its turn after what is under way
    if ours == (False, True):
        _put(src, dst)
    elif ours == (True, False):
        _get(src, dst)
    elif isinstance(src, Tile) or isinstance(dst, Tile):
        src = src if isinstance(src, Tile) else src[...]
        dst = dst if isinstance(dst, Tile) else dst[...]
        _alike(src, dst)
        _copy_tiles(src, dst)
    else:
        _alike(src, dst)
        _spad.copy(dst.raw, src.raw, _state["stream"])
    if trace is not None:
        trace._note(first, src, dst)


@contextmanager
def stream(name: str = "default") -> Iterator[_spad.Stream]:
    """Copies of the with block go to a stream, in order, and are done at its end."""
    streams = _state["streams"]
    if name not in streams:
        streams[name] = _devices.Stream(_device())
    before, _state["stream"] = _state["stream"], streams[name]
    try:
        yield streams[name]
    finally:
        _state["stream"] = before
        streams[name].wait()


# ---- watching ---------------------------------------------------------------------------------------


class Stats(dict[str, Any]):
    """A dict whose keys are attributes, too."""

    def __getattr__(self, key: Any) -> Any:
        try:
            return self[key]
        except KeyError:
            raise AttributeError(key) from None


def memory_stats(scope: str | None = None) -> Stats:
    """allocated_bytes, peak_bytes, freed_bytes and more, of a scope or of all."""
    return Stats(_device().stats(scope))


class MemoryTrace(core.Trace):
    """A spad.Trace of all memory operations: allocations, frees, aliases and copies. The copies of
    one T.copy are one operation, however many pieces its tiles have."""

    def __init__(self, target: Target) -> None:
        self._notes = []  # (events [first, end), row): what T.copy knows about its events

    def _note(self, first, src, dst):
        tile = next(side for side in (dst, src) if isinstance(side, (Buffer, Tile)))
        buffer = tile.buffer if isinstance(tile, Tile) else tile
        bits = math.prod(tile.shape) * _spad.dtype_bits(buffer.dtype)
        self._notes.append((range(first, len(self)), {
            "time": first, "source": _side(src), "destination": _side(dst), "shape": tile.shape,
            "dtype": buffer.dtype, "bytes": (bits + 7) // 8,
            "asynchronous": _state["stream"] is not None, "where": _caller()}))

    @property
    def copies(self) -> list[_Facts]:
        """The copies as dicts, also those of elements and of raw buffers."""
        return [row for row in self.operations() if row["what"] == "copy"]

    def operations(self) -> list[_Facts]:
        """Allocations, frees and copies as dicts, in the order in which they were made; `what` is
        the kind."""
        events, tensors, rows = self.events(), self.tensors(), []
        notes = {note.start: (note, row) for note, row in self._notes if note}
        skip = 0
        for time, event in enumerate(events):
            if time in notes:
                note, row = notes[time]
                skip = note.stop
                rows.append({**row, "what": "copy"})
            elif time >= skip:
                rows.append({**event, "what": event["kind"]} if event["kind"] != "copy"
                            else _plain_copy(time, event, tensors))
        return rows


def _plain_copy(time, event, tensors):
    """The row of a copy that T.copy did not make: an element, or a read or write of raw bytes. A side
    that is not of the trace, the host or an older buffer, has neither name nor scope."""
    spaces = {"gm": "global", "ub": "shared", "l0c": "local"}

    def side(number):
        if number is None:
            return None, None
        return tensors[number]["name"], spaces.get(tensors[number]["space"], tensors[number]["space"])

    return {"what": "copy", "time": time, "source": side(event["source"]),
            "destination": side(event["tensor"]), "shape": None, "dtype": None,
            "bytes": event["bytes"], "asynchronous": bool(event["count"]), "where": None}


def _side(side):
    """A side of a copy: (name, scope) of the buffer, or of the host."""
    buffer = side.buffer if isinstance(side, Tile) else side
    return (buffer.name, buffer.scope) if isinstance(buffer, Buffer) else (None, "cpu")


@contextmanager
def memory_trace(enabled: bool = True) -> Iterator[Any]:
    """Records every allocation, free and copy of the with block in a spad.Trace: operations()
    lists them in order, copies the last."""
    if not enabled:
        yield None
        return
    device = _device()
    trace = MemoryTrace(_state["chip"])
    before, outer = device.record(trace), _state["trace"]
    _state["trace"] = trace
    try:
        yield trace
    finally:
        _state["trace"] = outer
        device.record(before)


class Leak(Stats):
    """A buffer that is still there: name, bytes, scope, shape, dtype, where; str() is a line."""

    def __str__(self):
        name = f"'{self['name']}'" if self["name"] else "a buffer"
        return (f"leak: {name} of {self['bytes']} B in {self['scope']} memory, {self['shape']} "
                f"{self['dtype']}, allocated at {self['where']}")


def memory_leaks() -> list[Leak]:
    """The buffers of the device that are alive, largest first, with the line of the program that
    allocated each. Aliases and parts of workspaces and pools are not leaks of their own."""
    device = _device()
    found = [Leak(name=b.name, bytes=b.nbytes, scope=b.scope, shape=b.shape, dtype=b.dtype,
                  where=b._where)
             for b in list(_alive) if not b.raw.freed and b.raw.device is device]
    return sorted(found, key=lambda leak: (-leak["bytes"], leak["where"], leak["name"] or ""))


# ---- what the snippets of the manual use beside it ----------------------------------------------------


def prim_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Runs a function as it is; a workspace that it declares ends with it."""

    @functools.wraps(func)
    def run(*args, **keywords):
        before = _state["workspace"]
        try:
            return func(*args, **keywords)
        finally:
            _state["workspace"] = before

    return run


class _Evaluated:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __enter__(self) -> Self:
        return self.value

    def __exit__(self, *unused: Any) -> None:
        return None


def evaluate(value: Any) -> Any:
    """The value was computed already; also usable as a with block."""
    return _Evaluated(value)


def serial(start: int, stop: int | None = None, step: int = 1, **tile: Any) -> range:
    """range; a keyword such as tile_i is the step."""
    if stop is None:
        start, stop = 0, start
    return range(start, stop, next(iter(tile.values()), step))
