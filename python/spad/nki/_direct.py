# SPDX-License-Identifier: Apache-2.0
"""Direct allocation of spad.nki: places, tensors and their parts, and kernels.

A tensor is (block dims..., partition dim, free dims...). An index names tiles or a part of them,
and a part knows its address. Inside a kernel, operations are recorded as what they read and
write; when the kernel ends, the record is checked as a kernel of the library (docs/check.md).
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import math
import operator
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .. import _spad
from .. import core
from .. import kernel as recorder
from ._chip import chip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, Self
    from .._spad import _Shape, Target, Trace
    from ..core import Report

# ---- places -----------------------------------------------------------------------------------


class par_dim(int):
    """Marks the partition dimension of a shape."""


class Placement:
    """What sbuf.alloc(...) and the like return: the `buffer` of an ndarray."""

    def __init__(self, space: str, mode: str, **facts: Any) -> None:
        self.name, self.mode, self.facts = space, mode, facts


def _spot(answer, space, whose):
    """(start_partition, byte_addr), or for PSUM (bank, start_partition, byte_addr)."""
    form = {"sbuf": "(start_partition, byte_addr)",
            "psum": "(bank, start_partition, byte_addr)"}[space]
    spot = tuple(answer) if isinstance(answer, (tuple, list)) else None
    if spot is None or len(spot) != form.count(",") + 1:
        raise _spad.ArgumentError(f"{whose} is {answer!r}; in {space} a place is {form}")
    return spot


def _takes_by_name(func):
    """Does a function take its arguments by name only? A partial() whose other arguments come first does."""
    try:
        inspect.signature(func).bind((), 1, 1)
    except TypeError:
        return True
    except ValueError:  # a function without a signature
        pass
    return False


def _function(func, space):
    if not callable(func):
        raise _spad.ArgumentError(f"{space}.alloc takes a function of (idx, pdim_size, fdim_size), "
                                  f"not {func!r}")

    by_name = _takes_by_name(func)

    def place(idx, pdim_size, fdim_size):
        given = func(idx=idx, pdim_size=pdim_size, fdim_size=fdim_size) if by_name else \
            func(idx, pdim_size, fdim_size)
        return _spot(given, space, f"what the function of {space}.alloc returned for tile {idx}")

    return place


def _base_address(base_addr, byte_addr, default=None):
    """base_addr; the manual also prints byte_addr for it."""
    if base_addr is Ellipsis:
        raise _spad.ArgumentError("mod_alloc(...) of the manual stands for its arguments; write "
                                  "mod_alloc(base_addr=0, num_free_tiles=(2,)) or what they are")
    if base_addr is not None and byte_addr is not None:
        raise TypeError("mod_alloc takes base_addr; byte_addr is another word for it, give one")
    given = base_addr if byte_addr is None else byte_addr
    if given is None:
        given = default
    if given is None:
        raise TypeError("mod_alloc needs base_addr, the first byte of the physical tiles")
    return given


class _Sbuf:
    name = "sbuf"

    def alloc(self, func: Callable[..., Any]) -> Placement:
        """func(idx, pdim_size, fdim_size) -> (start_partition, byte_addr)"""
        return Placement("sbuf", "func", func=_function(func, "sbuf"))

    def mod_alloc(self, base_addr: int | None = None, base_partition: int = 0, num_par_tiles: Sequence[int] = (),
                  num_free_tiles: Sequence[int] | None = (), *, byte_addr: int | None = None) -> Placement:
        """Tiles at the block index modulo the number of physical tiles. byte_addr: base_addr."""
        return Placement("sbuf", "mod", base=(base_partition, _base_address(base_addr, byte_addr)),
                         par_tiles=num_par_tiles, free_tiles=num_free_tiles)

    def auto_alloc(self) -> Placement:
        """Leaves the place to the planner."""
        return Placement("sbuf", "auto")


class _Psum:
    name = "psum"

    def alloc(self, func: Callable[..., Any]) -> Placement:
        """func(idx, pdim_size, fdim_size) -> (bank, start_partition, byte_addr)"""
        return Placement("psum", "func", func=_function(func, "psum"))

    def mod_alloc(self, base_bank: int | None = None, *, base_addr: int | None = None,
                  base_partition: int | None = None, num_bank_tiles: Sequence[int] = (),
                  num_par_tiles: Sequence[int] = (), num_free_tiles: Sequence[int] | None = (),
                  byte_addr: int | None = None, start_partition: int | None = None) -> Placement:
        """Tiles at the block index modulo the number of banks. byte_addr: base_addr;
        start_partition: base_partition."""
        if base_partition is not None and start_partition is not None:
            raise TypeError("mod_alloc takes base_partition; start_partition is another word for "
                            "it, give one")
        base_partition = base_partition if start_partition is None else start_partition
        base_addr = _base_address(base_bank if base_bank is Ellipsis else base_addr, byte_addr, 0)
        if base_bank is None:
            raise TypeError("psum.mod_alloc needs base_bank, the first bank of the physical tiles; "
                            "the byte in a bank, base_addr, is 0")
        return Placement("psum", "mod",
                         base=(base_bank, base_partition or 0, base_addr),
                         bank_tiles=num_bank_tiles, par_tiles=num_par_tiles,
                         free_tiles=num_free_tiles)

    def auto_alloc(self) -> Placement:
        """Leaves the place to the planner."""
        return Placement("psum", "auto")


class _Hbm:
    def __init__(self, name: str, output: bool = False) -> None:
        self.name, self.output = name, output


sbuf, psum = _Sbuf(), _Psum()
hbm, private_hbm, shared_hbm = _Hbm("hbm"), _Hbm("hbm"), _Hbm("hbm", True)


def _placement(buffer):
    """The buffer of an ndarray as something with name, mode and facts."""
    if buffer is None:
        return sbuf.auto_alloc()
    owner, method = getattr(buffer, "__self__", None), getattr(buffer, "__name__", "")
    if isinstance(owner, (_Sbuf, _Psum)):
        if method == "auto_alloc":
            return buffer()
        raise _spad.ArgumentError(f"buffer is the function {owner.name}.{method}; write "
                                  f"{owner.name}.{method}(...)")
    if not isinstance(buffer, str) and not hasattr(buffer, "name"):
        raise _spad.ArgumentError(f"{buffer!r} is no buffer; there are nl.sbuf, nl.psum, "
                                  "nl.shared_hbm and what their alloc functions return")
    return buffer


# ---- indices ----------------------------------------------------------------------------------


def _entries(index, rank):
    """The index as one entry for each dimension."""
    index = list(index) if isinstance(index, tuple) else [index]
    dots = [i for i, entry in enumerate(index) if entry is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index has one '...' at most")
    if dots:
        index[dots[0]:dots[0] + 1] = [slice(None)] * (rank + 1 - len(index))
    if len(index) > rank:
        raise IndexError(f"{len(index)} indices for {rank} dimensions")
    return index + [slice(None)] * (rank - len(index))


def _whole_number(value, what):
    try:
        return operator.index(value)
    except TypeError:
        raise IndexError(f"{what} is a whole number, a slice or '...', not {value!r}") from None


def _range(entry, extent, dim, steps):
    """(range, is the dimension kept) of one entry of an index."""
    where = f"dimension {dim}, which has {extent}"
    if not isinstance(entry, slice):
        at = _whole_number(entry, "an index")
        if not 0 <= at < extent:
            raise IndexError(f"index {at} in {where}")
        return range(at, at + 1), False
    start = 0 if entry.start is None else _whole_number(entry.start, "the start of a slice")
    stop = extent if entry.stop is None else _whole_number(entry.stop, "the end of a slice")
    step = 1 if entry.step is None else _whole_number(entry.step, "the step of a slice")
    if not 0 <= start < stop <= extent:
        raise IndexError(f"slice {start}:{stop} in {where}")
    if step < 1 or (step != 1 and not steps):
        raise IndexError(f"step {step} in {where}; parts of a tile are without gaps")
    return range(start, stop, step), True


class Tile:
    """A tensor with an address."""

    __slots__ = ("shape", "dtype", "address", "bytes", "bank", "index")
    shape: tuple[int, ...]
    address: tuple[int, int] | None
    index: tuple[int, ...]

    def __init__(self, shape: _Shape, dtype: Any, address: Any, bytes: int, bank: int = 0, index: Any = ()) -> None:
        self.shape, self.dtype, self.address = shape, dtype, address
        self.bytes, self.bank, self.index = bytes, bank, index

    def __repr__(self):
        return f"Tile(shape={self.shape}, dtype={self.dtype}, address={self.address})"


class Part:
    """What an index of an ndarray names: a tile, a part of one, or several. address, bank and
    index are those of the first; tiles has each."""

    def __init__(self, array: ndarray, ranges: list[range], kept: list[bool]) -> None:
        self.array, self._ranges, self._kept = array, ranges, kept
        self.dtype: Any = array.dtype
        self.shape: tuple[int, ...] = tuple(len(r) for r, keep in zip(ranges, kept) if keep)
        split = len(array.block)
        self.within: list[range] = ranges[split:]
        self.numbers: list[int] = [0]
        for extent, r in zip(array.block, ranges[:split]):
            self.numbers = [n * extent + at for n in self.numbers for at in r]

    def _cut(self, tile):
        """The part of one tile."""
        element = _spad.dtype_bytes(self.dtype)
        lengths = [len(r) for r in self.within]
        address = tile.address
        if address is not None:
            skipped, stride = 0, 1
            for extent, r in zip(reversed(self.array.tile[1:]), reversed(self.within[1:])):
                skipped += r.start * stride
                stride *= extent
            address = (address[0] + self.within[0].start, address[1] + skipped * element)
        whole = tuple(lengths) == self.array.tile
        size = tile.bytes if whole else math.prod(lengths[1:]) * element
        return Tile(tuple(lengths), self.dtype, address, size, tile.bank, tile.index)

    @property
    def tiles(self) -> list[Tile]:
        """The Tile of each, in the order of their block indices."""
        return [self._cut(self.array.tiles[n]) for n in self.numbers]

    def _first(self):
        return self._cut(self.array.tiles[self.numbers[0]])

    @property
    def address(self) -> tuple[int, int] | None:
        """(partition, byte) of the first; None: left to the planner."""
        return self._first().address

    @property
    def bank(self) -> int:
        """The bank of the first."""
        return self._first().bank

    @property
    def bytes(self) -> int:
        """Bytes per partition of each."""
        return self._first().bytes

    @property
    def index(self) -> tuple[int, ...]:
        """The block index of the first."""
        return self._first().index

    def __getitem__(self, index: Any) -> Part:
        split, ranges, kept = len(self.array.block), list(self._ranges), list(self._kept)
        open_dims = [d for d, keep in enumerate(kept) if keep]
        for d, entry in zip(open_dims, _entries(index, len(open_dims))):
            inner, kept[d] = _range(entry, len(ranges[d]), d, d < split)
            ranges[d] = ranges[d][inner.start:inner.stop:inner.step]
        return Part(self.array, ranges, kept)

    def __setitem__(self, index: Any, value: Any) -> None:
        _assign(self[index], value)

    def __iter__(self) -> Iterator[Tile]:
        return iter(self.tiles)

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self):
        return f"Part(shape={self.shape}, dtype={self.dtype}, address={self.address})"


# ---- kernels ----------------------------------------------------------------------------------

_kernel = contextvars.ContextVar("spad.nki.kernel", default=None)
_forced = contextvars.ContextVar("spad.nki.force_auto", default=False)


_LIFETIME_ERRORS = {"SPAD-LIFETIME-CONFLICT": "Lifetime conflict", "SPAD-ALIAS-CLASH": "Lifetime conflict",
                    "SPAD-UNINITIALISED-READ": "Uninitialised read"}


class CompileError(_spad.ArgumentError):
    """What the compiler refuses about a kernel as a whole; code is that of the finding."""


def _refusal(code, message):
    error = CompileError(message)
    error.code = code
    return error


class _Step:
    """An operation of a kernel: what it reads and writes on chip, and its place in the source."""

    __slots__ = ("name", "reads", "writes", "place")

    def __init__(self, name, reads):
        frame = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__", "").startswith("spad."):
            frame = frame.f_back
        self.name, self.reads, self.writes = name, reads, []
        self.place = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("?", 0)


class DirectKernel(_spad.Direct):
    """The tensors of a kernel with direct allocation: overlaps(), findings(), check(), trace."""

    trace: Trace
    target: _spad.Target

    def __new__(cls, target: Target | str | None = None, force_auto: bool = False) -> Self:
        made = chip(target)
        trace = core.Trace(made)
        self = super().__new__(cls, made, force_auto, trace)
        self.trace = trace
        self.target = made
        self._arrays, self._steps, self._results = [], [], []
        self._allocated = {}  # id: a tensor of an allocator that an operation used
        self._stored = set()  # ids of its tensors in HBM that were written
        self._unwritten = []  # operations that read others, with the tensor
        return self

    def _take_in(self, array):
        """Declares a tensor that an allocator placed, at its first use in this kernel."""
        if array.kernel is None and id(array) not in self._allocated:
            facts = {} if array.address is None else {"base": array.address}
            self.declare(array.space, array.tile, array.dtype, None, array.name, array.mode, **facts)
            self._allocated[id(array)] = array

    def report(self, title: str | None = None) -> Report:
        """A Report of all tiles."""
        return self.trace.report(title)

    def _repr_html_(self) -> str | None:
        return self.report().light()

    def __repr__(self):
        return f"<spad.nki.DirectKernel on {self.target.name} of {len(self)} tensors>"

    def check(self, returned: Sequence[ndarray] = ()) -> None:
        """Raises CompileError for what the compiler refuses: hidden and automatic tensors beside
        alloc and mod_alloc, HBM tensors that are not returned, reads of what was never written, and
        lifetime conflicts."""
        placed = next((a for a in self._arrays if a.mode in ("func", "mod")), None)
        if placed is not None:
            self._check_mixture(placed)
            self._check_hbm(returned)
        self._check_lifetimes()
        for step, array in self._unwritten:
            raise _refusal("SPAD-UNINITIALISED-READ",
                           f"Uninitialised read: {step.name} reads {array.who()}, but nothing has "
                           "written it in HBM; write it first ({}:{})".format(*step.place))

    def _check_mixture(self, placed):
        for value in self._results:
            if value.hidden or not value.stored:
                raise value.refuse(placed)
        for finding in self.findings():
            if finding["code"] == "SPAD-MIXED-PLACEMENT":
                raise _refusal(finding["code"], "Mixing direct allocation with automatic "
                                                "allocation: " + finding["message"])

    def _check_hbm(self, returned):
        lost = [a for a in self._arrays if a.space == "hbm"
                and not (getattr(a.buffer, "output", False) and any(a is r for r in returned))]
        if lost:
            names = ", ".join(a.name or "(unnamed)" for a in lost)
            raise _refusal("SPAD-OFF-CHIP-NOT-OUTPUT", "Non IO HBM tensor is not supported in "
                                                       f"allocated NKI kernel: {names}")

    def _check_lifetimes(self):
        """Checks the record as a kernel of the library, with a tensor for each tile, and raises the
        first lifetime error in the words of the compiler."""
        names, steps = {}, []
        for step in self._steps:
            reads, writes = ([self._named(names, part) for part in parts]
                             for parts in (step.reads, step.writes))
            if any(reads) or any(writes):
                steps.append((step, sum(reads, []), sum(writes, [])))
        if not steps:
            return
        made = recorder.Kernel(self.target, "traced")
        for name, array, number in names.values():
            tile = array.tiles[number]
            place = {} if tile.address is None else {
                "at": tile.address[1], "lane": tile.address[0] or None,
                "bank": tile.bank if array.space == "psum" else None}
            made.tensor(name, array.space, array.dtype, array.tile, **place)
        lines = {}
        for step, reads, writes in steps:
            made.line(f"vector {step.name}" + (f" reads {', '.join(reads)}" if reads else "")
                      + (f" writes {', '.join(writes)}" if writes else ""))
            lines[len(made._lines)] = step
        self._raise_conflict(made.finish().check(), names, lines)

    @staticmethod
    def _named(names, part):
        """The part of each tile in the kernel language."""
        text = []
        for number in part.numbers:
            name = names.setdefault((id(part.array), number),
                                    (f"t{len(names)}", part.array, number))[0]
            ranges = ", ".join(f"{r.start}..{r.stop}" for r in part.within)
            text.append(f"{name}({ranges})")
        return text

    @staticmethod
    def _raise_conflict(check, names, lines):
        conflict = next((f for f in check.findings if f.code in _LIFETIME_ERRORS), None)
        if conflict is None:
            return
        arrays = {name: (array, number) for name, array, number in names.values()}
        message, on_psum = conflict.message, False
        for name in (conflict.subject, conflict.other):
            if name in arrays:
                array, number = arrays[name]
                message = message.replace(f"'{name}'", array.who(number))
                on_psum = on_psum or array.space == "psum"
        step = lines.get(conflict.line)
        place = " ({}:{})".format(*step.place) if step is not None else ""
        what = _LIFETIME_ERRORS[conflict.code]
        start = "[SCH713] Violation of accumulation group interleaving: " \
            if on_psum and what == "Lifetime conflict" else ""
        raise _refusal(conflict.code, f"{start}{what}: {message}{place}")


@contextmanager
def kernel(target: Target | str | None = None, force_auto: bool = False) -> Iterator[DirectKernel]:
    """Collects the ndarrays of the with block, so that they can be checked together."""
    made = DirectKernel(target, force_auto or _forced.get())
    token = _kernel.set(made)
    try:
        yield made
    finally:
        _kernel.reset(token)
        made.close()


def _arrays_in(thing):
    """The ndarrays in what a kernel returns."""
    if isinstance(thing, ndarray):
        return [thing]
    if isinstance(thing, dict):
        thing = thing.values()
    elif not isinstance(thing, (tuple, list)):
        return []
    return [array for item in thing for array in _arrays_in(item)]


def compiled(func: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose calls are kernels: its tensors and operations are collected, and checked
    when it returns. Called in a kernel, it is a part of that one."""

    @functools.wraps(func)
    def run(*args, **keywords):
        if _kernel.get() is not None:
            return func(*args, **keywords)
        with kernel(force_auto=getattr(func, "_force_auto", False)) as made:
            result = func(*args, **keywords)
        made.check(_arrays_in(result))
        return result

    return run


@contextmanager
def forced() -> Iterator[None]:
    """Ignores all direct allocation in the block."""
    token = _forced.set(True)
    try:
        yield
    finally:
        _forced.reset(token)


def force_auto_alloc(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: ignores all direct allocation in func, to find out whether it is wrong."""

    @functools.wraps(func)
    def run(*args, **keywords):
        with forced():
            return func(*args, **keywords)

    run._force_auto = True  # for jit around it
    return run


# ---- tensors ----------------------------------------------------------------------------------


def _split_shape(shape, facts):
    """The number of block dimensions: those before par_dim; without one, as many as the tuples of
    tiles have counts."""
    if not isinstance(shape, (tuple, list)):
        raise TypeError(f"a shape is a tuple such as (nl.par_dim(128), 512), not {shape!r}")
    marked = [i for i, n in enumerate(shape) if isinstance(n, par_dim)]
    if len(marked) > 1:
        raise _spad.ArgumentError(f"{len(marked)} dimensions of {tuple(map(int, shape))} are marked "
                                  "with par_dim; a tensor has one partition dimension")
    if marked:
        return marked[0]
    counts = max((len(facts.get(key) or ()) for key in ("bank_tiles", "par_tiles", "free_tiles")),
                 default=0)
    if counts and counts >= len(shape):
        raise _spad.ArgumentError(f"{counts} counts of tiles leave no partition dimension in "
                                  f"{tuple(shape)}; mark it with par_dim")
    return counts


def _given_dtype(dtype):
    if dtype is not None and dtype is not Ellipsis:
        return dtype
    warnings.warn("an ndarray without a dtype is taken as float32; write dtype=nl.bfloat16 or what "
                  "it is", stacklevel=4)
    return "float32"


class ndarray:
    """nl.ndarray for direct allocation: (block dims..., par_dim(P), free dims...). An index gives
    the Part that it names; address is (partition, byte) of the first tile."""

    shape: tuple[int, ...]
    block: tuple[int, ...]
    tile: tuple[int, ...]

    def __init__(self, shape: _Shape, dtype: Any = None, buffer: Any = None, name: str | None = None,
                 address: Any = None) -> None:
        buffer = _placement(buffer)
        facts = dict(getattr(buffer, "facts", {}))
        self.mode: str = getattr(buffer, "mode", "auto")
        where = _split_shape(shape, facts)
        self.dtype: Any = _given_dtype(dtype)
        self.shape, self.name = tuple(int(n) for n in shape), name
        self.block, self.tile = self.shape[:where], self.shape[where:]
        self.buffer = buffer
        self.space: str = buffer if isinstance(buffer, str) else buffer.name
        home = _kernel.get()
        self.kernel: DirectKernel = DirectKernel(force_auto=_forced.get()) if home is None else home
        if address is not None:
            facts = {"base": self._given_address(address)}
            self.mode = "at"
        number = self.kernel.declare(
            self.space, self.tile, self.dtype, self.block or None, name, self.mode,
            output=bool(getattr(buffer, "output", False)),
            **{key: value or None if key != "base" else value for key, value in facts.items()})
        self.mode = self.kernel.info(number)["mode"]  # auto where that is forced
        self.tiles: list[Tile] = [
            Tile(self.tile, self.dtype,
                 None if row["byte"] is None else (row["lane"], row["byte"]),
                 row["bytes"], row["bank"], row["index"])
            for row in self.kernel.tiles(number)]
        self.kernel._arrays.append(self)

    def _given_address(self, address):
        """The place for an address (partition, byte); in PSUM the byte counts over its banks."""
        if self.mode != "auto":
            raise _spad.ArgumentError(f"an address and {self.space}.{self.mode}_alloc for the same "
                                      "tensor; give one of them")
        if self.space != "psum":
            return _spot(address, "sbuf", "address")
        if len(tuple(address)) == 3:
            return tuple(address)
        lane, byte = _spot(address, "sbuf", "address")
        bank_bytes = self.kernel.target.spaces["psum"]["bank_bytes"]
        return byte // bank_bytes, lane, byte % bank_bytes

    @property
    def is_placed(self) -> bool:
        """Is it on chip and not left to the planner?"""
        return self.tiles[0].address is not None

    def who(self, number: int | None = None) -> str:
        """Its name, and that of a tile, for messages."""
        who = f"tensor '{self.name}'" if self.name else "an unnamed tensor"
        return who + (f", tile {self.tiles[number].index}" if number is not None and self.block
                      else "")

    @property
    def address(self) -> Any:
        """(partition, byte) of the first tile; None: left to the planner."""
        return self.tiles[0].address

    @property
    def bank(self) -> int:
        """The bank of the first tile."""
        return self.tiles[0].bank

    @property
    def bytes(self) -> int:
        """Bytes per partition of a tile."""
        return self.tiles[0].bytes

    @property
    def lanes(self) -> int:
        """Partitions of a tile."""
        return self.tile[0]

    def _whole(self):
        return Part(self, [range(n) for n in self.shape], [True] * len(self.shape))

    def __getitem__(self, index: Any) -> Part:
        return self._whole()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        _assign(self[index], value)

    def __iter__(self) -> Iterator[Tile]:
        """The tiles, in the order of their block indices."""
        return iter(self.tiles)

    def __len__(self) -> int:
        """How many tiles there are."""
        return len(self.tiles)

    def __repr__(self):
        return f"ndarray(name={self.name!r}, shape={self.shape}, address={self.address})"


class _Allocated(ndarray):
    """A tensor that an allocator placed. A kernel takes it in when an operation uses it."""

    block, kernel, name, buffer = (), None, None, sbuf
    space: str = property(lambda self: self.buffer if isinstance(self.buffer, str) else self.buffer.name)
    mode: str = property(lambda self: "auto" if self.address is None else "at")
    tile: tuple[int, ...] = property(lambda self: tuple(int(n) for n in self.shape))
    tiles: list[Tile] = property(lambda self: [Tile(self.tile, self.dtype, self.address, self.bytes)])


class PlacedTensor(_Allocated):
    """A tensor of ModularAllocator."""

    address, bytes = None, 0

    def __init__(self, shape: _Shape, dtype: Any, address: Any, bytes: int) -> None:
        self.shape, self.dtype, self.address, self.bytes = shape, dtype, address, bytes


class StackTensor(_spad.Tensor, _Allocated):
    """A tensor of SbufManager, which makes it."""

    buffer = property(lambda self: sbuf if super().buffer is None else super().buffer)
    __repr__ = _spad.Tensor.__repr__


# ---- operations -------------------------------------------------------------------------------


tensor_engine, vector_engine = "tensor", "vector"


class Value:
    """The result of an operation that is not in a tensor yet: t[...] = nl.load(x) puts it there.
    What is not put into a tensor is a new one, which the compiler places. hidden: it makes
    tensors of its own inside, wherever its result is put."""

    def __init__(self, name: str, operands: Sequence[Any], hidden: bool = False) -> None:
        self.name, self.hidden, self.stored = name, hidden, False
        self.step: Any = _record(name, operands)
        home = _kernel.get()
        if home is not None:
            home._results.append(self)

    def refuse(self, placed: ndarray) -> CompileError:
        """The error in a kernel that places others."""
        if self.hidden:
            start = "Calling compute APIs that introduce implicit tensors"
            remedy = "use other operations"
        else:
            start = "Mixing direct allocation with automatic allocation"
            remedy = f"write t[...] = nl.{self.name}(...) with a tensor t that is placed"
        return _refusal(
            "SPAD-IMPLICIT-TENSOR",
            f"{start}: the tensor that nl.{self.name} makes cannot be placed, while "
            f"{placed.who()} is placed directly; {remedy} "
            "({}:{})".format(*self.step.place))

    def __repr__(self):
        return f"<result of nl.{self.name}>"


def _all_parts(operands):
    """The parts of tensors among the operands."""
    parts = [thing._whole() if isinstance(thing, ndarray) else thing for thing in operands]
    return [p for p in parts if isinstance(p, Part)]


def _parts(operands):
    """The same, of tensors on chip."""
    return [p for p in _all_parts(operands) if p.array.space != "hbm"]


def _record(name, operands):
    step = _Step(name, _parts(operands))
    home = _kernel.get()
    if home is not None:
        home._unwritten += [(step, part.array) for part in _all_parts(operands)
                            if part.array.space == "hbm" and part.array.kernel is home
                            and id(part.array) not in home._stored]
        for part in step.reads:
            home._take_in(part.array)
        home._steps.append(step)
    return step


def _write(step, part):
    """Records that an operation writes a part. Of a tensor in HBM it counts as all of it."""
    home = _kernel.get()
    if part.array.space == "hbm":
        if home is not None:
            home._stored.add(id(part.array))
        return
    if home is not None:
        home._take_in(part.array)
    step.writes.append(part)


def _assign(part, value):
    """tensor[index] = value"""
    if isinstance(value, Value) and not value.stored:
        value.stored, step = True, value.step
    else:
        step = _record("copy", [value])
    _write(step, part)


def operation(name: str) -> Callable[..., Value]:
    """A function of nki.language that reads its operands and gives a Value."""

    def call(*operands, **options):
        return Value(name, [*operands, *options.values()])

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"nl.{name}: records what it reads, and computes nothing."
    return call


def store(dst: Any, value: Any = None, **options: Any) -> None:
    """nl.store(dst, value): records that a value goes to HBM, or where dst is on chip, there."""
    step = _record("store", [value, *options.values()])
    for part in _all_parts([dst]):
        _write(step, part)


def softmax(x: Any, axis: Any = None, **options: Any) -> Value:
    """nl.softmax: makes tensors of its own, so that it has no place in a kernel with direct
    allocation."""
    return Value("softmax", [x], hidden=True)


def nc_transpose(data: Any, *, engine: Any = None, **options: Any) -> Value:
    """nisa.nc_transpose: on the tensor engine it makes an identity matrix."""
    return Value("nc_transpose", [data], hidden=engine != vector_engine)
