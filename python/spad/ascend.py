# SPDX-License-Identifier: Apache-2.0
"""Drop-in for the memory interface of TileLang-Ascend, on real memory.

    import tilelang.language as T      # before
    import spad.ascend as T            # after

Memory is that of the host unless another device is chosen: T.use("cuda:0"). The scopes shared and
local are as large as anyone needs unless a chip is chosen: T.use("host", target="910b") gives them
the size of that chip's UB and L0C, and T.MemoryError is raised where the chip would be full.
"""

import functools
import math
from contextlib import contextmanager

from . import _spad
from . import core

MemoryError = _spad.FitError
int8, int32, int64, float16, float32 = "int8", "int32", "int64", "float16", "float32"

# Scratchpads without the limits of a chip.
_ROOMY = """target roomy
space ub { bytes 64 MiB }
space l0c { bytes 64 MiB }
space gm { off chip }
"""

_state = {"device": None, "workspace": None, "streams": {}, "stream": None}


def use(device="host", target=None):
    """The device of later allocations, and the chip whose scratchpads it has."""
    chip = core.Target.parse(_ROOMY) if target is None else (
        target if isinstance(target, _spad.Target) else core.Target(target))
    _state.update(device=core.Device(device, chip), workspace=None, streams={}, stream=None)
    _state["chip"] = chip
    return _state["device"]


def _device():
    return _state["device"] or use()


# ---- buffers ---------------------------------------------------------------------------------------


class Buffer:
    """A buffer: buf[i, j] is an element (assign, value), buf[a:b, c:d] a tile. Host buffers speak
    the buffer protocol (memoryview(buf.raw), numpy.asarray(buf)) and DLPack, CUDA buffers DLPack
    and __cuda_array_interface__."""

    def __init__(self, raw, home=None):
        self.raw, self._home = raw, home

    shape = property(lambda self: self.raw.shape, doc="Its extents; None: not known yet.")
    dtype = property(lambda self: self.raw.dtype, doc="Its element type.")
    scope = property(lambda self: self.raw.scope, doc="global, shared or local.")
    nbytes = property(lambda self: self.raw.nbytes, doc="Bytes.")
    name = property(lambda self: self.raw.name, doc="Its name.")

    def __getitem__(self, key):
        key = key if isinstance(key, tuple) else (key,)
        shape = self.shape
        if shape is None:
            raise _spad.StateError("the buffer has no shape yet; copy something into it first")
        if any(isinstance(k, slice) for k in key):
            return Tile(self, key)
        line = 0
        if len(key) > len(shape):
            raise IndexError(f"{len(key)} indices for {len(shape)} dimensions")
        key = key + (0,) * (len(shape) - len(key))
        for extent, at in zip(shape, key):
            if not -extent <= at < extent:
                raise IndexError(f"index {at} is outside an extent of {extent}")
            line = line * extent + at % extent
        return Element(self, line)

    def __setitem__(self, key, value):
        self[key].assign(value)

    def __array__(self, dtype=None, copy=None):
        import numpy
        array = numpy.asarray(memoryview(self.raw))
        return array if dtype is None else array.astype(dtype)

    def __dlpack_device__(self):
        return self.raw.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.raw.__dlpack__(**options)

    @property
    def __cuda_array_interface__(self):
        return self.raw.__cuda_array_interface__

    def __repr__(self):
        if self.raw.freed:
            return "<Buffer, freed>"
        return f"<Buffer {self.name or ''}{self.shape} {self.dtype} in {self.scope} memory>"


def _encode(value, dtype):
    """The bits of a number as an element; one that it cannot hold is a spad.ArgumentError."""
    value = value.value if isinstance(value, Element) else value
    if dtype == "bool":
        value = bool(value)
    elif "float" in dtype:
        value = float(value)
    else:
        value = int(value)
    return _spad.value(dtype, value)[1]


def _need(buffer):
    if not isinstance(buffer, Buffer):
        raise TypeError(f"a buffer is needed, not {type(buffer).__name__}")
    return buffer


class Element:
    """One element of a buffer."""

    __slots__ = ("buffer", "line")

    def __init__(self, buffer, line):
        self.buffer, self.line = buffer, line

    def _place(self):
        """Its first byte, its bytes, and the first of its bits there: types of 4 bits lie two to a
        byte, the first one in the low bits."""
        dtype = self.buffer.dtype
        if dtype.endswith("_x4"):
            raise _spad.ArgumentError(f"an element of {dtype} is four values; look at its bytes with "
                                      "T.buffer_alias")
        at = self.line * _spad.dtype_bits(dtype)
        return at // 8, _spad.dtype_bytes(dtype), at % 8

    def assign(self, value):
        """Writes the element."""
        at, size, shift = self._place()
        raw = self.buffer.raw
        code = _encode(value, raw.dtype)
        if _spad.dtype_bits(raw.dtype) == 4:  # the other half of the byte stays
            code = code << shift | raw.read(at, 1)[0] & 0xF0 >> shift
        raw.write(code.to_bytes(size, "little"), at)
        return self

    @property
    def value(self):
        """Reads the element: a number, as assign() takes it."""
        at, size, shift = self._place()
        whole = int.from_bytes(self.buffer.raw.read(at, size), "little")
        return core._number_of(self.buffer.dtype, whole >> shift)

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return int(self.value)

    def __eq__(self, other):
        return self.value == (other.value if isinstance(other, Element) else other)

    __hash__ = None

    def __repr__(self):
        return repr(self.value)


class Tile:
    """A rectangle of a matrix: rows [r, r + n) and columns [c, c + m)."""

    __slots__ = ("buffer", "start", "shape")

    def __init__(self, buffer, key):
        shape = buffer.shape
        if len(shape) != 2 or len(key) > 2:
            raise TypeError("tiles are cut from buffers of two dimensions")
        parts = [k if isinstance(k, slice) else slice(k, k + 1) for k in key]
        ranges = [p.indices(n) for p, n in zip(parts + [slice(None)] * (2 - len(parts)), shape)]
        if any(step != 1 for _, _, step in ranges):
            raise TypeError("a tile has no step")
        self.buffer = buffer
        self.start = tuple(a for a, _, _ in ranges)
        self.shape = tuple(max(0, b - a) for a, b, _ in ranges)

    def __getitem__(self, key):
        row, column = key
        return self.buffer[self.start[0] + row, self.start[1] + column]

    def __repr__(self):
        return f"<Tile {self.shape} at {self.start} of {self.buffer!r}>"


def alloc_buffer(shape, dtype="float16", scope="global", alignment=0, name=None, device=None):
    """A buffer. shape "auto": it gets its shape from what is copied into it first."""
    home = _device() if device is None else core.Device(device)
    shape = tuple(shape) if isinstance(shape, list) else shape
    return Buffer(home.alloc(shape, dtype, scope, alignment, name))


@contextmanager
def allocate(shape=1024, dtype="float32", scope="shared", alignment=0, name=None):
    """A buffer for the with block. Inside a workspace it takes that over, whole if no shape is
    given."""
    space = _state["workspace"]
    if space is not None:
        if shape == 1024:
            shape = space.bytes // _spad.dtype_bytes(dtype)
        space.next()
        yield Buffer(space.take(shape, dtype, alignment, name))
        space.next()
        return
    made = alloc_buffer(shape, dtype, scope, alignment, name)
    try:
        yield made
    finally:
        if not made.raw.freed:
            made.raw.free()


def free(buffer):
    """Gives a buffer back; using it afterwards raises spad.StateError."""
    if _need(buffer)._home is not None:
        buffer._home.free(buffer)
    else:
        buffer.raw.free()


class memory_pool:
    """memory_pool(max_size, block_size=4096, scope="global"): buffers out of one piece."""

    def __init__(self, max_size, block_size=4096, scope="global"):
        self.whole = _device().alloc((max_size,), "uint8", scope, 0, "pool")
        self._pool = core.Pool(self.whole, block_size)
        self._blocks = {}

    def allocate(self, shape, dtype="float16", alignment=1, name=None):
        """A buffer of the pool."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        bits = math.prod(shape) * _spad.dtype_bits(dtype)
        block = self._pool.alloc((bits + 7) // 8, alignment)
        try:
            made = Buffer(self.whole.alias(shape, dtype, block[0], name), self)
        except _spad.Error:
            self._pool.free(block)
            raise
        self._blocks[id(made.raw)] = made.raw, block  # the buffer stays until it is freed
        return made

    def free(self, buffer):
        """Gives a buffer back to the pool."""
        if id(_need(buffer).raw) not in self._blocks:
            raise _spad.StateError("the buffer is not of this pool, or was freed before")
        buffer.raw.free()
        self._pool.free(self._blocks.pop(id(buffer.raw))[1])

    def stats(self):
        """What the pool has given out, its largest hole and its fragmentation."""
        return Stats(self._pool.stats())


def buffer_alias(buffer, shape, dtype=None, offset=0, name=None):
    """Another view of the bytes of a buffer."""
    return Buffer(_need(buffer).raw.alias(shape, dtype, offset, name))


def workspace(size, scope="shared", name="workspace"):
    """Bytes that later `with T.allocate(...)` blocks of this function use in turn."""
    made = core.Workspace(_device(), size, scope, name)
    _state["workspace"] = made
    return made


def address_of(buffer):
    """The address of a buffer on its device, or in its scratchpad."""
    return _need(buffer).raw.address


def is_aligned(address, alignment=256):
    """Is an address, or that of a buffer, a multiple?"""
    if isinstance(address, Buffer):
        address = address_of(address)
    return alignment >= 1 and address % alignment == 0


# ---- copies -----------------------------------------------------------------------------------------

_SCOPES = ("cpu", "npu", "gpu", "hbm", "ub", "global", "shared", "local")


_KINDS = {"?": "bool", **dict.fromkeys("bhilqn", "int"), **dict.fromkeys("BHILQN", "uint"),
          **dict.fromkeys("efd", "float")}


def _alike(src, dst):
    """Two buffers or tiles between which elements are copied as they are."""
    theirs, ours = (getattr(side, "buffer", side) for side in (src, dst))
    if theirs.dtype != ours.dtype:
        raise _spad.ArgumentError(
            f"a copy does not convert: the source is {theirs.dtype}, the destination {ours.dtype}; "
            "T.buffer_alias shows bytes as another type")
    if dst.shape is not None and src.shape != dst.shape:
        raise _spad.ArgumentError(
            f"shapes {src.shape} and {dst.shape} are not alike; T.buffer_alias shows a buffer in "
            "another shape")


def _put(data, dst):
    """Data of the host: bytes as they are, or numbers of the type of the buffer."""
    with memoryview(data) as view:
        kind = _KINDS.get(view.format.lstrip("@=<"))
        wanted = _KINDS[dst.raw.format], _spad.dtype_bytes(dst.dtype)
        if view.format not in ("B", "c") and (kind, view.itemsize) != wanted:
            raise _spad.ArgumentError(
                f"a copy does not convert: the source has elements '{view.format}' of "
                f"{view.itemsize} B, the destination {dst.dtype}; give bytes, or convert it first")
        if dst.shape is not None and view.ndim > 1 and view.shape != dst.shape:
            raise _spad.ArgumentError(f"shapes {view.shape} and {dst.shape} are not alike")
    dst.raw.bind(data) if dst.shape is None else dst.raw.write(data)


def copy(src, dst, src_scope=None, dst_scope=None):
    """Copies a buffer, a tile, or data of the host (bytes, numpy) into a buffer or tile of the same
    type and shape. In `with T.stream(...)` it returns at once."""
    for scope in (src_scope, dst_scope):
        if scope is not None and scope not in _SCOPES:
            raise _spad.ArgumentError(f"'{scope}' is no scope; there are " + ", ".join(_SCOPES))
    if isinstance(src, Tile) or isinstance(dst, Tile):
        src = src if isinstance(src, Tile) else _need(src)[:, :]
        dst = dst if isinstance(dst, Tile) else _need(dst)[:, :]
        _alike(src, dst)
        _spad.copy_tile(dst.buffer.raw, src.buffer.raw, dst.start, src.start, src.shape,
                        _state["stream"])
    elif isinstance(src, Buffer):
        _alike(src, _need(dst))
        _spad.copy(dst.raw, src.raw, _state["stream"])
    else:
        _put(src, _need(dst))


@contextmanager
def stream(name="default"):
    """Copies of the with block go to a stream, in order, and are done at its end."""
    streams = _state["streams"]
    if name not in streams:
        streams[name] = core.Stream(_device())
    before, _state["stream"] = _state["stream"], streams[name]
    try:
        yield streams[name]
    finally:
        _state["stream"] = before
        streams[name].wait()


# ---- watching ---------------------------------------------------------------------------------------


class Stats(dict):
    """A dict whose keys are attributes, too."""

    def __getattr__(self, key):
        try:
            return self[key]
        except KeyError:
            raise AttributeError(key) from None


def memory_stats(scope=None):
    """allocated_bytes, peak_bytes, freed_bytes and more, of a scope or of all."""
    return Stats(_device().stats(scope))


@contextmanager
def memory_trace(enabled=True):
    """Records every allocation and free of the with block in a spad.Trace."""
    if not enabled:
        yield None
        return
    device = _device()
    trace = core.Trace(_state["chip"])
    before = device.record(trace)
    try:
        yield trace
    finally:
        device.record(before)


# ---- what the snippets of the manual use beside it ----------------------------------------------------


def prim_func(func):
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
    def __init__(self, value):
        self.value = value

    def __enter__(self):
        return self.value

    def __exit__(self, *unused):
        return None


def evaluate(value):
    """The value was computed already; also usable as a with block."""
    return _Evaluated(value)


def serial(start, stop=None, step=1, **tile):
    """range; a keyword such as tile_i is the step."""
    if stop is None:
        start, stop = 0, start
    return range(start, stop, next(iter(tile.values()), step))
