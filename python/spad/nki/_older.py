# SPDX-License-Identifier: Apache-2.0
"""What the older dialect needs while a kernel is traced: results, tensors with blocks, masks.

In neuronxcc.nki an operation gives its result back: `t[i] = nl.exp(x)` writes it into the slot, and
`y = nl.exp(x)` makes a new tensor, which the compiler places. A Result is recorded when it is known
which of both it is: where it is assigned, or before anything else is recorded. Tensors with block
dimensions are one tensor for each tile; where they are is what spad.nki's direct allocation says
(_direct, docs/direct.md).
"""

import contextlib
import itertools
import math

from .. import _spad
from . import _direct
from ._index import Grid, Index, Mask, cut
from ._record import current
from ._stand_in import MemoryRegion
from ._views import GRID_TYPES, View


class Again(Exception):
    """A result that was written into a slot is used again: it is a tensor of its own, and the trace starts
    again with that known."""

    def __init__(self, place):
        super().__init__(place)
        self.place = place


class _Loop:
    """A loop that runs: the placements that its first iteration chose, in order."""

    __slots__ = ("count", "log", "next")

    def __init__(self):
        self.count, self.log, self.next = 0, [], 0

    def again(self, place, buffer):
        """The placement that the first iteration chose at this place; a tensor that it did not make has its
        own."""
        for at in range(self.next, len(self.log)):
            if self.log[at][0] == place:
                self.next = at + 1
                return self.log[at][1]
        return buffer


class Older:
    """The part of a Recorder that only the older dialect has."""

    def __init__(self, recorder, kept=()):
        self.recorder = recorder
        self.kept = kept      # places of results that are tensors of their own
        self.direct = _direct.DirectKernel(recorder.chip, force_auto=_direct._forced.get())
        self.places = {}      # name: where it was made
        self.faults = []      # (place, code, message)
        self.off_chip = []    # tensors in HBM, and whether they are shared
        self.zeroed = {}      # storage: what fills it, unless the first access is a sum
        self.loops = []       # those that run, the outermost first

    # ---- tensors -----------------------------------------------------------------------

    def loop(self, numbers):
        """The iterations of a loop whose body the compiler runs once: tensors that later iterations make are
        where those of the first one are."""
        loop = _Loop()
        self.loops.append(loop)
        try:
            for loop.count, number in enumerate(numbers):
                loop.next = 0
                yield number
        finally:
            self.loops.remove(loop)

    def _once(self, place, buffer):
        """The placement of a tensor: the first iterations of all loops choose it."""
        later = max((at for at, loop in enumerate(self.loops) if loop.count), default=-1)
        if later >= 0:
            buffer = self.loops[later].again(place, buffer)
        for loop in self.loops[later + 1:]:
            loop.log.append((place, buffer))
        return buffer

    def make(self, shape, dtype, buffer, name="", implicit_of=None):
        """nl.ndarray: a View, or Blocks of them."""
        recorder = self.recorder
        recorder.settle()
        buffer = _direct._placement(_buffer(buffer))
        dtype = _spad.dtype_name(_direct._given_dtype(dtype))
        if buffer.name == "hbm":
            return self._off_chip(shape, dtype, buffer, name)
        if getattr(buffer, "mode", "auto") != "auto":
            buffer = self._once(recorder.place(), buffer)
        facts = dict(getattr(buffer, "facts", {}))
        blocks = self._blocks(shape, facts)
        shape = tuple(int(count) for count in shape)
        place = recorder.place()
        name = recorder.fresh(name or recorder._assigned_name(place) or "t")
        rows = self._declare(buffer, shape[:blocks], shape[blocks:], dtype, name, implicit_of, facts)
        region = MemoryRegion[buffer.name]
        bank = recorder.spaces["psum"].get("bank_bytes", 0) if buffer.name == "psum" else 0
        tiles = []
        for row in rows:
            address = None if row["byte"] is None else (row["lane"], row["bank"] * bank + row["byte"])
            label = recorder.fresh("_".join([name, *map(str, row["index"])])) if blocks else name
            tiles.append(recorder.tensor(shape[blocks:], dtype, region, label, address, place=place,
                                         is_fresh=True))
        return Blocks(tiles, shape[:blocks]) if blocks else tiles[0]

    def _blocks(self, shape, facts):
        """How many dimensions of a shape are blocks. Counts of tiles of a tensor without blocks have no
        effect: the formula of mod_alloc ends with the shorter tuple."""
        counts = [key for key in ("bank_tiles", "par_tiles", "free_tiles") if facts.get(key)]
        blocks = 0 if _is_tile(shape) and counts else _direct._split_shape(shape, facts)
        if blocks == 0 and counts:
            if any(math.prod(facts[key]) != 1 for key in counts):
                self.recorder.note("counts of tiles have no effect on a tensor without block dimensions")
            facts.update(dict.fromkeys(counts, ()))
        return blocks

    def _declare(self, buffer, block, tile, dtype, name, implicit_of, facts):
        """Where its tiles are. What the rules of the chip refuse is a fault, and placed by the planner."""
        self.places[name] = self.recorder.place()
        mode = getattr(buffer, "mode", "auto")
        given = {key: value or None if key != "base" else value for key, value in facts.items()}
        try:
            number = self.direct.declare(buffer.name, tile, dtype, block or None, name, mode,
                                         implicit_of=implicit_of, **given)
        except _spad.ArgumentError as error:
            if mode == "auto":
                raise
            self.faults.append((self.recorder.place(), error.code, str(error)))
            return [{"byte": None, "index": index} for index in itertools.product(*map(range, block))]
        return self.direct.tiles(number)

    def _off_chip(self, shape, dtype, buffer, name):
        region = MemoryRegion.shared_hbm if buffer.output else MemoryRegion.hbm
        made = self.recorder.tensor([int(count) for count in shape], dtype, region, name)
        if made.name not in self.places:  # else another program of the grid has made it
            self.places[made.name] = self.recorder.place()
            self.off_chip.append(made.storage)
        return made

    def hide(self, what, shape, dtype="float32", space="sbuf"):
        """An operation makes a tensor that the kernel cannot place."""
        name = f"{what.rpartition('.')[2]}_{len(self.places)}"
        self.places[name] = self.recorder.place()
        self.direct.declare(space, shape, dtype, None, name, "auto", implicit_of=what)

    def start(self, reads, writes, sums):
        """Before an operation: zeros that are not the start of a sum are written where they were made."""
        for view in (*reads, *writes, *sums):
            place = self.zeroed.pop(view.storage, None)
            is_whole = view.size == math.prod(view.storage.shape)
            if place is not None and not (is_whole and view not in reads):
                with placed(self.recorder, place):
                    self.recorder.operation("vector", "memset", [], [View.whole(view.storage)])
                    if self.recorder.values is not None:
                        self.recorder.values.fill(View.whole(view.storage), 0)

    def findings(self):
        """[(place, code, message)]: what NKI 0.1 refuses about the kernel."""
        made = list(self.faults)
        for storage in self.off_chip:
            self.direct.declare("hbm", storage.shape, storage.dtype, None, storage.name, "auto",
                                output=storage.is_output and storage.buffer is MemoryRegion.shared_hbm)
        for finding in self.direct.findings():
            made.append((self.places.get(finding["subject"]), finding["code"], finding["message"]))
        return made


def _is_tile(shape):
    """Without par_dim: two dimensions are partitions and elements, whatever the counts of tiles are."""
    return isinstance(shape, (tuple, list)) and len(shape) == 2 and \
        not any(isinstance(count, _direct.par_dim) for count in shape)


def _buffer(buffer):
    """A memory of the present dialect as one of the older."""
    if isinstance(buffer, MemoryRegion):
        return getattr(_direct, buffer.name)
    return buffer


def now(what):
    """(recorder, its Older) of the trace that runs, for a call of the kernel."""
    recorder = current(what)
    if recorder.older is None:
        recorder.older = Older(recorder, recorder.kept)
    return recorder, recorder.older


# ---- tensors with blocks ---------------------------------------------------------------------------------


class Blocks:
    """A tensor with block dimensions: a View for each tile, in row-major order."""

    __slots__ = ("tiles", "block")

    def __init__(self, tiles, block):
        self.tiles, self.block = tiles, tuple(block)

    @property
    def shape(self):
        return (*self.block, *self.tiles[0].shape)

    dtype = property(lambda self: self.tiles[0].dtype)
    itemsize = property(lambda self: self.tiles[0].itemsize)
    buffer = property(lambda self: self.tiles[0].buffer)
    ndim = property(lambda self: len(self.shape))
    name = property(lambda self: self.tiles[0].name)

    def __len__(self):
        return self.block[0]

    __iter__ = None

    def _chosen(self, key):
        """(Blocks or View, the rest of the key)."""
        key = list(key) if isinstance(key, tuple) else [key]
        if any(part is Ellipsis for part in key):
            at = next(at for at, part in enumerate(key) if part is Ellipsis)
            key[at:at + 1] = [slice(None)] * (self.ndim + 1 - len(key))
        head, rest = key[:len(self.block)], key[len(self.block):]
        head += [slice(None)] * (len(self.block) - len(head))
        numbers, block = [0], []
        for extent, part in zip(self.block, head):
            if isinstance(part, slice):
                chosen = range(*part.indices(extent))
                block.append(len(chosen))
            else:
                if isinstance(part, Index):
                    if part.limits()[0] != part.limits()[1]:
                        raise TypeError(f"an index tile along a block dimension of '{self.name}': a loop "
                                        f"goes from block to block")
                    part = part.constant
                if not hasattr(part, "__index__"):
                    raise TypeError(f"an index of '{self.name}' is {part!r}")
                part = part.__index__()
                if not 0 <= part < extent:
                    raise IndexError(f"block {part} of '{self.name}', which has {extent}")
                chosen = [part]
            numbers = [number * extent + at for number in numbers for at in chosen]
        tiles = [self.tiles[number] for number in numbers]
        return (Blocks(tiles, block) if block else tiles[0]), tuple(rest)

    def __getitem__(self, key):
        made, rest = self._chosen(key)
        if not rest:
            return made
        if isinstance(made, View):
            return made[rest]
        return Blocks([tile[rest] for tile in made.tiles], made.block)

    def __setitem__(self, key, value):
        assign(self[key], value)

    def __iadd__(self, value):
        raise TypeError(f"'{self.name}' has blocks: add to one of them")

    def __repr__(self):
        return f"<tensor '{self.name}' {self.dtype}{list(self.shape)}>"


# ---- masks ------------------------------------------------------------------------------------------------


class Box:
    """The part of a grid where an operation takes place."""

    def __init__(self, recorder, mask, shape, what):
        self.shape, self.is_all = tuple(shape), True
        self.spans = [(0, count) for count in self.shape]
        if mask is None:
            return
        found, exact = self._spans_of(mask, what)
        self.is_all = exact and found == self.spans
        self.spans = found
        if not exact:
            recorder.note(f"{what}: the mask is no box of the tile; recorded as the smallest box that "
                          f"holds it, and all of it counts as written")

    def _spans_of(self, mask, what):
        if isinstance(mask, Mask):
            return mask.spans(self.shape)
        if isinstance(mask, bool) or type(mask).__name__ in ("bool_", "bool"):  # of numbers that Python knows, or numpy
            return self.spans if mask else [(0, 0)] * len(self.shape), True
        raise TypeError(f"{what}: mask= is {mask!r}, neither a comparison of index tiles nor a boolean")

    @property
    def is_empty(self):
        return any(end <= first for first, end in self.spans)

    def of(self, view):
        """An operand in the box. One with fewer dimensions has those that come first."""
        spans = [(0, count) for count in view.shape]
        for dim, count in enumerate(view.shape):
            if dim < len(self.spans) and count == self.shape[dim]:
                spans[dim] = self.spans[dim]
        if isinstance(view, Grid):
            return view.fitted(spans)
        return view if self.is_all else cut(view, spans)


# ---- results ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def placed(recorder, place):
    """What is recorded in the block is of this place."""
    before, recorder.at = recorder.at, place
    try:
        yield
    finally:
        recorder.at = before


class Result:
    """What an operation gives back. emit(dst) records it with its destination; adds(dst), where it is not
    None, records it as a sum into dst. shape None: that of the slot."""

    __slots__ = ("recorder", "what", "shape", "dtype", "space", "place", "emit", "adds", "_view", "_stored")

    view_of = None

    def __init__(self, recorder, what, shape, dtype, emit, space="sbuf", adds=None):
        recorder.settle()
        self.recorder, self.what, self.space = recorder, what, space
        self.shape = None if shape is None else tuple(shape)
        self.dtype, self.emit, self.adds = str(dtype), emit, adds
        self.place = recorder.place()
        self._view = self._stored = None
        recorder.pending = self

    ndim = property(lambda self: len(self.shape))

    def settle(self):
        """A tensor of its own."""
        if self.shape is None:
            raise TypeError(f"{self.what}(...) of the manual stands for its arguments: its result has no "
                            f"shape unless it is assigned to a part of a tensor")
        with placed(self.recorder, self.place):
            try:
                self._view = self.recorder.older.make(
                    (_direct.par_dim(self.shape[0]), *self.shape[1:]), self.dtype, getattr(_direct, self.space),
                    implicit_of=self.what)
                self.emit(self._view)
            except Exception as error:  # the line is that of the operation, not the one that runs now
                if getattr(error, "place", None) is None:
                    error.place = self.place
                raise

    def view(self):
        if self._view is None:
            if self._stored:
                raise Again(self.place)
            if self.recorder.pending is self:
                self.recorder.settle()
        return self._view

    def store(self, part):
        """part = this."""
        # The tensor engine writes PSUM only, and no engine that computes writes HBM.
        is_moved = part.storage.space not in ("sbuf" if self.space == "sbuf" else "psum", "psum")
        if self.recorder.pending is not self or self.place in self.recorder.kept or is_moved:
            copy(self.recorder, part, self.view())
            return
        if self.shape is not None and math.prod(part.shape) != math.prod(self.shape):
            raise ValueError(f"the result of {self.what} is {self.shape}, and it is assigned to {part.shape}")
        self.recorder.pending, self._stored = None, True
        with placed(self.recorder, self.place):
            self.emit(part)

    def add_to(self, part):
        """part += this."""
        if self.adds is None or part.storage.space != "psum" or self.recorder.pending is not self \
                or self.place in self.recorder.kept:
            return False
        self.recorder.pending, self._stored = None, True
        with placed(self.recorder, self.place):
            self.adds(part)
        return True

    def __getitem__(self, key):
        return self.view()[key]

    def __setitem__(self, key, value):
        assign(self.view()[key], value)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.view(), name)

    def __repr__(self):
        return f"<result of {self.what} {self.dtype}{list(self.shape or ())}>"


GRID_TYPES.add(Result)


def unwrapped(value):
    """An argument with the tensors of results."""
    if isinstance(value, Result):
        return value.view()
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(unwrapped(part) for part in value)
    return value


def fitted(view):
    """A view that lies in its tensor."""
    return view.fitted([(0, count) for count in view.shape]) if isinstance(view, Grid) else view


def copy(recorder, dst, src):
    """dst = src, on the engine that can do it."""
    dst, src = fitted(dst), fitted(src)
    if dst.size != src.size:
        raise ValueError(f"{src!r} is assigned to a part of {dst.shape} of '{dst.name}'")
    hbm = "hbm" in (dst.storage.space, src.storage.space)
    recorder.operation("dma" if hbm else "vector", "copy", [src], [dst], cost="moved" if hbm else "sizes")
    if recorder.values is not None:
        recorder.values.put(dst, recorder.values.get(src).reshape(dst.shape))


def fill(recorder, dst, value):
    """dst = a number."""
    dst = fitted(dst)
    recorder.operation("dma" if dst.storage.space == "hbm" else "vector", "memset", [], [dst])
    if recorder.values is not None:
        recorder.values.fill(dst, value)


def assign(part, value):
    """part = value, for a View or Blocks."""
    recorder, _ = now("an assignment to a tensor")
    if isinstance(part, Blocks):
        _assign_blocks(part, value)
    elif isinstance(value, Result):
        value.store(fitted(part))
    elif isinstance(value, View):
        if not _is_same(fitted(part), fitted(value)):  # which is what += leaves
            copy(recorder, part, value)
    elif value is Ellipsis:
        recorder.operation("vector", "assign", [], [fitted(part)])
    elif isinstance(value, (int, float)) or hasattr(value, "__float__"):
        fill(recorder, part, float(value))
    else:
        raise TypeError(f"{value!r} is assigned to a part of '{part.name}'")


def _assign_blocks(part, value):
    if isinstance(value, Result) and value.shape is not None:
        raise TypeError(f"the result of {value.what} is assigned to several blocks of '{part.name}': an operation "
                        f"writes one tile")
    if isinstance(value, Result):  # nl.load(...) of manuals: something for each block
        value.recorder.pending, value = None, Ellipsis
    if isinstance(value, Blocks):
        if value.block != part.block:
            raise ValueError(f"{value!r} is assigned to {part!r}")
        pairs = zip(part.tiles, value.tiles)
    elif isinstance(value, View):
        flat = value.reshape((len(part.tiles), *value.shape[len(part.block):]))
        pairs = ((tile, flat[at]) for at, tile in enumerate(part.tiles))
    else:
        pairs = ((tile, value) for tile in part.tiles)
    for tile, one in pairs:
        assign(tile, one)


def _is_same(a, b):
    return (a.storage, a.dtype, a.lane, a.start, a.dims) == (b.storage, b.dtype, b.lane, b.start, b.dims)
