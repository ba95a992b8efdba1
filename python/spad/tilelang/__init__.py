# SPDX-License-Identifier: Apache-2.0
"""The allocation calls of TileLang, and kernel bodies that use them.

    import tilelang.language as T      # before
    import spad.tilelang as T          # after

Three ways. A kernel that TileLang itself lowers, from its objects: load(prim_func, target="sm_90") gives a
spad.Kernel with what its compiler decided; docs/tilelang-load.md. The buffers of a block alone, with places when the
with block ends:

    with T.block("sm_100") as block:
        a = T.alloc_shared((128, 64), "float16")
        acc = T.alloc_tmem((128, 256), "float32")
        T.free(acc)
    a.offset, block.totals["dynamic_bytes"], block.fits

And a function with @T.prim_func: main.record("sm_90") runs its body and gives a spad.Kernel with
the allocations, copies, gemms, loops and reducers, to check, plan and simulate. Nothing is
compiled. What is not covered is refused where it stands; docs/tilelang.md lists what is.

Arguments are those of TileLang; allocations also take a name, and where it makes sense stages,
use, align, at and a lifetime.
"""

from __future__ import annotations

import builtins
import contextvars
import math
import numbers
import operator
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .. import _float_codes
from .. import _spad
from .. import core
from . import _record
from ._load import LoadedKernel as LoadedKernel, Unsupported as Unsupported, compare as compare, load as load
from ._record import PrimFunc as PrimFunc, Tensor as Tensor, macro as macro
from ._values import Uncovered as Uncovered, Value as Value
from ._words import (
    Cast as Cast, GemmWarpPolicy as GemmWarpPolicy, Layout as Layout, abs as abs, annotate_layout as annotate_layout,
    bfloat16 as bfloat16, bool as bool, cast as cast, ceil as ceil, ceildiv as ceildiv, clamp as clamp, cos as cos,
    disable_warp_group_reg_alloc as disable_warp_group_reg_alloc, dtype as dtype, erf as erf, exp as exp, exp2 as exp2,
    exp10 as exp10, float as float, float8_e4m3fn as float8_e4m3fn, float8_e5m2 as float8_e5m2, float16 as float16,
    float32 as float32, float64 as float64, floor as floor, floordiv as floordiv, floormod as floormod, fma as fma,
    if_then_else as if_then_else, infinity as infinity, int8 as int8, int16 as int16, int32 as int32, int64 as int64,
    isinf as isinf, isnan as isnan, log as log, log2 as log2, log10 as log10, max as max, min as min, pow as pow,
    reinterpret as reinterpret, round as round, rsqrt as rsqrt, sigmoid as sigmoid, sin as sin, sqrt as sqrt,
    tan as tan, tanh as tanh, uint8 as uint8, uint16 as uint16, uint32 as uint32, uint64 as uint64,
    use_swizzle as use_swizzle)

if TYPE_CHECKING:
    from builtins import bool as _bool, float as _float
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Any
    from .._spad import _Facts, _Shape, Target

_current = contextvars.ContextVar("spad.tilelang.block", default=None)


_SPACES = {"shared": "shared", "local": "registers", "global": "global"}


class Buffer:
    """A buffer of a block. Before the block ends it has no offset. In a kernel body buffer[i, j]
    reads, and assignments write."""

    __slots__ = ("block", "number", "label")

    def __init__(self, block: TileBlock, number: int, label: str | None = None) -> None:
        self.block, self.number, self.label = block, number, label

    @property
    def space(self) -> str:
        """The memory space of the chip that it lives in."""
        scope = self.scope
        return "tmem" if scope == "shared.tmem" else _SPACES[scope.split(".")[0]]

    @property
    def is_reducer(self) -> _bool:
        """Is it combined, and not written?"""
        return self.scope == "local.reducer"

    def update(self, op: str) -> None:
        """A reducer takes values."""
        self.block.reducer_update(self.number, op)

    def touch(self, access: str) -> None:
        """StateError: it may not be read or written here."""
        if self.number in self.block._freed:
            raise _spad.StateError(f"{self.scope} '{self.label}' is used after T.free")
        if self.is_reducer:
            self.block.touch(self.number, access)

    def __getitem__(self, key: Any) -> Value:
        _record.need()
        return _record.Place(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _record.assign(self, key, value)

    def __getattr__(self, field: str) -> Any:
        try:
            return self.block[self.number][field]
        except KeyError:
            raise AttributeError(f"a buffer has no '{field}'") from None

    def __repr__(self):
        facts = self.block[self.number]
        return (f"<{facts['scope']} {facts['name'] or '(unnamed)'} {facts['shape']} "
                f"{facts['dtype']}: offset {facts['offset']}>")


class TileBlock(core.Block):
    """The buffers of one thread block, planned when its with block ends."""

    planned: _bool = False

    def __init__(self, target: Target | str, name: str | None = None, **options: Any) -> None:
        self._freed = set()
        self._packs = builtins.bool(options.get("tilelang_policy"))

    def finish(self) -> None:
        """Places every buffer; the end of the with block does it."""
        for buffer in self.buffers:
            if (buffer.scope == "shared.tmem" and buffer.number not in self._freed
                    and not self._packs):
                warnings.warn(f"tensor memory '{buffer.name or buffer.number}' of {buffer.columns} "
                              "columns is not freed: its block must do so before it ends; write "
                              "T.free(buffer)", stacklevel=4)
        self.plan()
        self.planned = True

    @property
    def buffers(self) -> list[Buffer]:
        """All buffers in order of allocation."""
        return [Buffer(self, number) for number in range(len(self))]

    @property
    def sums(self) -> _Facts:
        """Bytes, columns, limits and blocks per unit."""
        return self.totals()

    @property
    def fits(self) -> _bool:
        """Does it fit the chip?"""
        return self.totals()["fits"]

    def _repr_html_(self):
        return f"{super()._repr_html_() or ''}<pre>{core._escape(self.text())}</pre>" if self.planned else None


@contextmanager
def block(target: str = "sm_90", name: str | None = None, **options: Any) -> Iterator[TileBlock]:
    """Collects what is allocated in the with block. Options of spad.Block: tilelang_policy,
    reuse, merge_static, barriers_in_arena, threads."""
    made = TileBlock(target, name, **options)
    token = _current.set(made)
    try:
        yield made
    finally:
        _current.reset(token)
    made.finish()


def _alloc(scope, **request):
    home = _current.get()
    if home is None:
        raise _spad.StateError("allocate inside `with spad.tilelang.block(target):`")
    if isinstance(request.get("shape"), numbers.Integral):
        request["shape"] = (operator.index(request["shape"]),)
    rec = _record.recorder.get()
    if rec is None:
        return Buffer(home, _placed(home, scope, request))
    if scope in ("shared.barrier", "shared.cluster_barrier"):
        return _body_barrier(rec, home, scope, request)
    if not set(request) <= {"shape", "dtype", "name", "op", "replication", "init"}:
        raise Uncovered(f"{scope} with {', '.join(sorted(request))} in a kernel body; the kernel "
                        "language has barriers, rings and places of its own (docs/kernel.md)")
    made = Buffer(home, _placed(home, scope, request),  # names are unique in the recorded kernel
                  rec.fresh(request.get("name") or scope.replace(".", "_") + "_"))
    rec.buffers.append(made)
    if not request.get("name"):
        rec.unnamed.append(made)
    if scope == "shared.tmem" and len(made.shape) > 2:
        raise Uncovered("tensor memory of more than two dimensions in a kernel body")
    return made


def _placed(home, scope, request):
    """The number of a new buffer. Tensor memory follows the rules of its instruction, unless
    TileLang's own policy packs buffers into such allocations."""
    if scope == "shared.tmem" and not home._packs:
        request = {**request, "tcgen05_rules": True}
    return home.alloc(scope, **request)


def _body_barrier(rec, home, scope, request):
    """Barriers of a kernel body: mbarriers of the kernel language."""
    if scope != "shared.barrier":
        raise Uncovered("T.alloc_cluster_barrier: barriers of several blocks")
    if set(request) > {"arrivals", "name"}:
        raise Uncovered(f"a barrier with {', '.join(sorted(set(request) - {'arrivals', 'name'}))}")
    home.alloc(scope, **request)
    made = _record.Barrier(rec.fresh(request.get("name") or "barrier_"), request["arrivals"])
    rec.barriers.append(made)
    if not request.get("name"):
        rec.unnamed.append(made)
    return made


def alloc_shared(shape: _Shape, dtype: Any, scope: str = "shared.dyn", name: str | None = None, **more: Any) -> Buffer:
    """Shared memory. More: stages, use, align, at, begin, end."""
    return _alloc(scope, shape=shape, dtype=dtype, name=name, **more)


def alloc_local(shape: _Shape, dtype: Any, scope: str = "local", name: str | None = None) -> Buffer:
    """Registers of one thread."""
    return _alloc(scope, shape=shape, dtype=dtype, name=name)


def alloc_fragment(shape: _Shape, dtype: Any, scope: str = "local.fragment", name: str | None = None) -> Buffer:
    """Registers of all threads together."""
    return _alloc(scope, shape=shape, dtype=dtype, name=name)


def alloc_var(dtype: Any, *args: Any, scope: str | None = None, init: _float | None = None,
              name: str | None = None) -> Buffer:
    """A variable: alloc_var(dtype), (dtype, scope), (dtype, init), (dtype, init, scope)."""
    if len(args) > 2:
        raise TypeError(f"alloc_var takes at most an init and a scope after the dtype, not "
                        f"{len(args)} values")
    if len(args) == 1 and isinstance(args[0], str):
        args = (None, args[0])
    if args and args[0] is not None:
        if init is not None:
            raise TypeError("alloc_var got an init twice")
        init = args[0]
    if len(args) == 2:
        if scope is not None:
            raise TypeError("alloc_var got a scope twice")
        scope = args[1]
    if scope is not None and not isinstance(scope, str):
        raise TypeError(f"a scope is a str, not {scope!r}")
    if scope in (None, "local.var"):
        made = _alloc("local.var", dtype=dtype, init=init, name=name)
        if init is not None and _record.recorder.get() is not None:
            _record.need().step("simt", "init", writes=[_all_of(made)])
        return made
    if init is not None and _record.recorder.get() is not None:
        made = _alloc(scope, shape=(1,), dtype=dtype, name=name)
        made[0] = init
        return made
    if init is not None:
        raise ValueError(f"a variable of scope '{scope}' has no init; assign it, or use 'local.var'")
    return _alloc(scope, shape=(1,), dtype=dtype, name=name)  # one element elsewhere


def _arrivals(count):
    return [operator.index(count)] if isinstance(count, numbers.Integral) else list(count)


def alloc_barrier(arrive_count: int | Sequence[int], name: str | None = None, **more: Any) -> Any:
    """An mbarrier, or one for each of a list of arrival counts."""
    return _barrier("shared.barrier", arrive_count, name, more)


def alloc_cluster_barrier(arrive_count: int | Sequence[int], name: str | None = None, **more: Any) -> Buffer:
    """The same across the blocks of a cluster."""
    return _barrier("shared.cluster_barrier", arrive_count, name, more)


def _barrier(scope, arrive_count, name, more):
    try:
        return _alloc(scope, arrivals=_arrivals(arrive_count), name=name, **more)
    except _spad.ArgumentError as error:
        raise ValueError(str(error)) from error


def alloc_tmem(shape: _Shape | None = None, dtype: Any = "float32", name: str | None = None, *,
               num_cols: int | None = None) -> Buffer:
    """Tensor memory: the last two extents are the matrix. num_cols: that many columns of 32 bits
    in all 128 lanes, instead of a shape."""
    if (shape is None) == (num_cols is None):
        raise TypeError("alloc_tmem takes a shape such as (128, 256), or num_cols")
    if num_cols is not None:
        shape = (128, num_cols * 32 // _spad.dtype_bits(dtype))
    return _alloc("shared.tmem", shape=shape, dtype=dtype, name=name)


def alloc_reducer(shape: _Shape, dtype: Any, op: str = "sum", replication: str | None = None,
                  name: str | None = None) -> Buffer:
    """A reducer: one init (or fill), updates in parallel regions, one finalize."""
    return _alloc("local.reducer", shape=shape, dtype=dtype, op=op, replication=replication,
                  name=name)


def alloc_global(shape: _Shape, dtype: Any, scope: str = "global", name: str | None = None) -> Buffer:
    """Memory that the host allocates for the kernel."""
    return _alloc(scope, shape=shape, dtype=dtype, name=name)


def alloc_descriptor(kind: str = "wgmma", dtype: Any = None, name: str | None = None) -> Buffer:
    """A descriptor: wgmma, tcgen05_smem or tcgen05_instr."""
    del dtype  # fixed by the kind
    return _alloc(f"local.descriptor.{kind}", name=name)


def alloc_wgmma_desc(dtype: Any = "uint64", name: str | None = None) -> Buffer:
    """alloc_descriptor("wgmma")."""
    return alloc_descriptor("wgmma", dtype, name)


def alloc_tcgen05_smem_desc(dtype: Any = "uint64", name: str | None = None) -> Buffer:
    """alloc_descriptor("tcgen05_smem")."""
    return alloc_descriptor("tcgen05_smem", dtype, name)


def alloc_tcgen05_instruction_desc(dtype: Any = "uint32", name: str | None = None) -> Buffer:
    """alloc_descriptor("tcgen05_instr")."""
    return alloc_descriptor("tcgen05_instr", dtype, name)


# ---- control flow and reducers ------------------------------------------------------------------


@contextmanager
def _region(kind):
    home = _current.get()
    if home is None:
        raise _spad.StateError("there is no block around this")
    with home.region(kind):
        yield


def Serial(*extents: Any) -> Any:
    """A loop whose iterations follow each other: `with T.Serial():` in a block, `for i in
    T.Serial(n):` in a kernel body."""
    return _loop(extents, 1) if extents else _region("serial")


def serial(*extents: Any) -> Iterator[Any]:
    """`for i in T.serial(n):`, or from a first number on."""
    return _loop(extents, 1)


def Pipelined(*extents: Any, num_stages: int = 0, **unused: Any) -> Iterator[Any]:
    """A loop whose copies run ahead: what it has to itself gets num_stages copies."""
    return _loop(extents, num_stages if num_stages and num_stages > 1 else 1)


def unroll(*extents: Any, **unused: Any) -> Iterator[Any]:
    """A loop that the compiler unrolls: recorded as a loop."""
    return _loop(extents, 1)


def vectorized(*extents: int) -> Iterator[Any]:
    """A loop over the lanes of a vector: as T.Parallel."""
    return _parallel(extents)


def _loop(extents, stages):
    begin, end = (0, extents[0]) if len(extents) == 1 else extents[:2]
    step = extents[2] if len(extents) == 3 else 1
    rec = _record.need()
    limit = None
    if isinstance(end, _record.Least):  # a loop of the number, and a branch for the rest
        end, limit = end.number, end.index
    if isinstance(begin, _record.Value) or isinstance(end, _record.Value):
        raise Uncovered("a loop whose extent is data of the kernel")
    if step != 1:
        if not all(isinstance(n, int) for n in (begin, end, step)) or step < 1:
            raise Uncovered("a loop with a step whose ends are not numbers")
        end = begin + -(-(end - begin) // step)
    extent = end - begin
    if isinstance(extent, _record.Index):
        if _record.has_loop(rec, extent):
            raise Uncovered("a loop whose extent depends on another loop")
        if extent.text.isdigit():
            extent = int(extent.text)
    if isinstance(extent, int) and extent <= 0:
        return
    with rec.loop(extent, stages) as turn, _region("serial"):
        value = turn * step + begin if step != 1 else turn + begin
        if limit is None:
            yield value
            return
        for _ in rec.branches(value < limit, False, ""):
            yield value


def Parallel(*extents: int, **unused: Any) -> Any:
    """A loop whose iterations are spread over threads: `with T.Parallel():` in a block, `for i, j
    in T.Parallel(m, n):` in a kernel body."""
    return _parallel(extents) if extents else _region("parallel")


def _parallel(extents):
    rec = _record.need()
    if not extents or not all(isinstance(extent, int) for extent in extents):
        raise Uncovered("a parallel loop whose extent is not a number")
    names = [rec.fresh("p") for _ in extents]
    rec.parallel.update((name, (0, extent)) for name, extent in zip(names, extents))
    with _region("parallel"):
        turns = tuple(_record.Index("0", {name: 1}) for name in names)
        yield turns if len(turns) > 1 else turns[0]
    for name in names:
        del rec.parallel[name]


def Branch() -> AbstractContextManager[None]:
    """An if, or one side of it."""
    return _region("branch")


def Concurrent() -> AbstractContextManager[None]:
    """Around sides that run side by side, each a Branch."""
    return _region("concurrent")


def _need(buffer):
    if not isinstance(buffer, Buffer):
        raise TypeError(f"a buffer is needed, not {type(buffer).__name__}")
    return buffer


def free(buffer: Any) -> None:
    """The buffer is not used any more."""
    _need(buffer).block.free(buffer.number)
    buffer.block._freed.add(buffer.number)


def max_value(dtype: Any) -> int | _float:
    """The largest finite number of an element type: what a reducer for min is filled with."""
    return _far_end("min", dtype)


def min_value(dtype: Any) -> int | _float:
    """The lowest finite number of an element type: what a reducer for max is filled with."""
    return _far_end("max", dtype)


def _far_end(op, dtype):
    dtype, code = _spad.reduce_identity(op, dtype)
    number = _float_codes.number_of(dtype, code)
    return _float_codes.number_of(dtype, code - 1) if math.isinf(number) else number  # next to infinity


def fill(buffer: Any, value: Any) -> None:
    """Opens a reducer, in the older form; in a kernel body it fills any buffer."""
    if not isinstance(buffer, _Buffers) or _record.recorder.get() is None or buffer.is_reducer:
        _need(buffer).block.reducer_fill(buffer.number, value)
    if _record.recorder.get() is not None:
        _record.need().opened[buffer] = _record.need().home
        _record.need().step("simt", "fill", writes=[_all_of(buffer)], combined=buffer)


def clear(buffer: Any) -> None:
    """Fills a buffer with 0."""
    fill(buffer, 0)


def reducer_init(reducer: Buffer, seed: _float | None = None) -> None:
    """Opens a reducer."""
    _need(reducer).block.reducer_init(reducer.number, seed)
    if _record.recorder.get() is not None:
        _record.need().opened[reducer] = _record.need().home
        _record.need().step("simt", "reducer_init", writes=[_all_of(reducer)], combined=reducer)


def reducer_update(reducer: Buffer, op: str) -> None:
    """One statement that combines values."""
    _need(reducer).block.reducer_update(reducer.number, op)


def finalize_reducer(reducer: Buffer, destination: Buffer | None = None, batch: int = 1) -> None:
    """Closes a reducer; without a destination in place, if it was filled."""
    _need(reducer).block.reducer_finalize(
        reducer.number, -1 if destination is None else _need(destination).number, batch)
    if _record.recorder.get() is not None:
        if _record.need().opened[reducer] is not _record.need().home:
            raise Uncovered("T.finalize_reducer on one side of a branch, of a reducer that was "
                            "filled outside of it")
        whole = [_all_of(reducer)]
        if destination is None:
            _record.need().step("simt", "finalize", updates=whole, combined=reducer)
        else:
            _record.need().step("simt", "finalize", reads=whole, writes=[_all_of(destination)],
                                combined=reducer)


# ---- kernel bodies ------------------------------------------------------------------------------

_Buffers = (Buffer, _record.GlobalBuffer)
def prim_func(func: Callable[..., Any] | None = None, **unused: Any) -> Any:
    """A kernel function; its record(target) gives a spad.Kernel."""
    return PrimFunc if func is None else PrimFunc(func)


class _Jit(PrimFunc):
    def __call__(self, *args, **keywords):
        """Of a function that makes a kernel function: the call. One that is a kernel is not run."""
        if _record.recorder.get() is None and "with T.Kernel" not in _record.own_source(self.func):
            return self.func(*args, **keywords)
        return super().__call__()


def jit(func: Callable[..., Any] | None = None, **unused: Any) -> Any:
    """@tilelang.jit: the function is a kernel, with record(target, ...), or returns one."""
    return _Jit if func is None else _Jit(func)


def const(names: str) -> Any:
    """Sizes of a kernel by name, as in M, N = T.const("M, N"): given to record()."""
    rec, names = _record.need(), [name.strip() for name in names.split(",")]
    missing = [name for name in names if name not in rec.values]
    if missing:
        raise TypeError(f"T.const: give {', '.join(missing)} to record()")
    found = tuple(rec.values[name] for name in names)
    return found if len(found) > 1 else found[0]


def empty(shape: _Shape, dtype: Any = "float32") -> Any:
    """A result in global memory."""
    return _unnamed_tensor(Tensor(shape, dtype))


def _unnamed_tensor(note):
    rec = _record.need()
    made = rec.tensor("out_", note)
    rec.unnamed.append(made)
    return made


@contextmanager
def Kernel(*grid: int, threads: Any = 128, **unused: Any) -> Iterator[Any]:
    """One block of a grid: `with T.Kernel(nx, ny, threads=128) as (bx, by):`. The place in the grid
    is a parameter of the recorded kernel, 0 unless defined otherwise."""
    rec = _record.need()
    if rec.entered:
        raise Uncovered("a second T.Kernel in one function")
    rec.entered = True
    if not all(isinstance(extent, int) for extent in grid) or len(grid) > 3:
        raise Uncovered("a grid whose extents are not one to three numbers")
    names = [rec.fresh(stem) for stem in ("bx", "by", "bz")[:len(grid)]]
    rec.grid, rec.blocks = names, math.prod(grid)
    rec.threads = threads if isinstance(threads, int) else math.prod(threads)
    rec.most.update((name, extent - 1) for name, extent in zip(names, grid))
    made = TileBlock(rec.target, rec.name, threads=rec.threads)
    token = _current.set(made)
    try:
        found = tuple(map(_record.Index, names))
        yield found if len(found) != 1 else found[0]
        rec.take_names(sys._getframe())
        made.plan()  # reducers are finalised, and tensor memory has its columns
    finally:
        _current.reset(token)


def _all_of(buffer):
    if not isinstance(buffer, _Buffers):
        raise TypeError(f"a buffer is needed, not {type(buffer).__name__}")
    return buffer, [(_record.Index("0"), extent) for extent in buffer.shape]


def _part(side, other):
    """A side of a copy as (buffer, ranges): a buffer, a region, or the first element of a region
    as large as the other side."""
    if not isinstance(side, _record.Place):
        return _all_of(side)
    counts = None
    if side.extents() is None:
        counts = other.extents() if isinstance(other, _record.Place) else list(other.shape)
        if counts is None:
            raise Uncovered("a copy between two single elements: give one side a region")
    return side.buffer, side.ranges(counts)


def _size(part):
    return math.prod(1 if count is None else count for _, count in part[1])


def _bytes(part):
    return _size(part) * _spad.dtype_bits(part[0].dtype) // 8


def copy(src: Any, dst: Any, **unused: Any) -> None:
    """Copies a buffer or region; the engine is that of copies where global memory is a side. What
    reaches over the edge of a tensor in global memory is not copied: a destination on chip gets
    zeros there."""
    _copy(src, dst, "copy", None)


def tma_copy(src: Any, dst: Any, barrier: Any = None, **unused: Any) -> None:
    """A copy that arrives at a barrier: its bytes are expected there, and delivered."""
    if not isinstance(barrier, (_record.Barrier, _record.BarrierPlace)):
        raise Uncovered("T.tma_copy without a barrier of T.alloc_barrier")
    _record.need().say(f"expect {{}} by {_bytes(_part(dst, src))}", barrier)
    _copy(src, dst, "tma", barrier)


def _copy(src, dst, engine, barrier):
    rec = _record.need()
    there, here = _part(src, dst), _part(dst, src)
    if _size(there) != _size(here):
        raise _spad.ArgumentError(f"a copy of {_size(there)} elements to {_size(here)}")
    spaces = {there[0].space, here[0].space}
    if "global" not in spaces:
        engine = "simt" if engine == "copy" else engine
    fits = [_record.edges(side) if side[0].space == "global" else [] for side in (there, here)]
    if not any(fits):
        rec.step(engine, "copy", [there], [here], [], "" if barrier is None else " delivers {}",
                 barrier)
        return
    if spaces == {"global"} or barrier is not None:
        raise Uncovered("a copy over the edge of a tensor between two tensors in global memory, or "
                        "with a barrier")
    side = there if fits[0] else here
    _cut_copy(rec, engine, there, here, side, sum(fits, []))


def _cut_copy(rec, engine, there, here, side, axes):
    """A copy that is cut at the edge along the axes of one side: a branch for each of them."""
    if not axes:
        rec.step(engine, "copy", reads=[there], writes=[here])
        return
    axis, *rest = axes
    first, count = side[1][axis]
    extent = side[0].shape[axis]
    for inside in rec.branches(first + count <= extent, True, ""):
        ranges = list(side[1])
        if not inside:
            within = first if _record.bounds(first)[1] < extent else first % extent
            ranges[axis] = (within, extent - within)  # never empty, also where it is not reached
        cut = (side[0], ranges)
        sides = (cut, here) if side is there else (there, cut)
        if inside or _record.bounds(first)[1] < extent:
            _cut_copy(rec, engine, *sides, cut, rest)
            continue
        for reaches in rec.branches(first < extent, True, ""):
            if reaches:
                _cut_copy(rec, engine, *sides, cut, rest)
            elif side is there:  # nothing of the tensor: zeros
                rec.step("simt", "fill", writes=[here])


def _matrix(side):
    """(part, extents) of an operand of a gemm."""
    if isinstance(side, _record.Place):
        extents = side.extents()
        if extents is None:
            raise Uncovered("a single element as an operand of T.gemm")
        return (side.buffer, side.ranges()), extents[-2:]
    return _all_of(side), list(side.shape[-2:])


def gemm(A: Any, B: Any, C: Any, transpose_A: _bool = False, transpose_B: _bool = False, clear_accum: _bool = False,
         **unused: Any) -> None:
    """C += A B on the tensor cores; with clear_accum C = A B."""
    (a, of_a), (b, of_b), (c, of_c) = _matrix(A), _matrix(B), _matrix(C)
    (m, k) = of_a[::-1] if transpose_A else of_a
    (n, k2) = of_b if transpose_B else of_b[::-1]
    if k != k2 or of_c != [m, n]:
        raise _spad.ArgumentError(f"a gemm of {tuple(of_a)} and {tuple(of_b)} does not give "
                                  f"{tuple(of_c)}")
    rec = _record.need()
    reads, writes, updates = [a, b], [c] if clear_accum else [], [] if clear_accum else [c]
    shared = all(part[0].space == "shared" for part in (a, b))
    if rec.role is None or not shared or not rec.target.startswith("sm_9"):
        rec.step("tensor", "gemm", reads=reads, writes=writes, updates=updates)
        return
    rec.step("tensor", "gemm", reads, writes, updates, tail=" in mmas")  # wgmma, and its wait
    rec.home[-1].engine = "wgmma"
    rec.say("commit mmas")
    rec.say("wait mmas pending 0")


# ---- barriers and warp groups --------------------------------------------------------------------


def _barrier_step(form, barrier):
    if not isinstance(barrier, (_record.Barrier, _record.BarrierPlace)):
        raise Uncovered("a barrier that T.alloc_barrier did not make")
    _record.need().say(form, barrier)


def mbarrier_wait_parity(mbarrier: Any, parity: Any) -> None:
    """Waits until the phase of a parity is complete."""
    if isinstance(parity, _record.Value):
        raise Uncovered("a parity that is data of the kernel")
    _barrier_step(f"wait {{}} parity {_record.number_text(parity)}", mbarrier)


def mbarrier_arrive(mbarrier: Any) -> None:
    """Every thread of the warp group, or of the block outside of T.ws, arrives."""
    rec = _record.need()
    _barrier_step(f"arrive {{}} by {rec.threads if rec.role is None else 128}", mbarrier)


def mbarrier_expect_tx(mbarrier: Any, tx: Any) -> None:
    """The phase needs so many bytes more."""
    _barrier_step(f"expect {{}} by {_record.number_text(tx)}", mbarrier)


barrier_wait, barrier_arrive = mbarrier_wait_parity, mbarrier_arrive


def sync_threads(*unused: Any) -> None:
    """A barrier of the block. Outside of T.ws what stands before is done anyway."""
    if _record.need().role is not None:
        raise Uncovered("T.sync_threads inside of T.ws")


@contextmanager
def ws(*groups: int) -> Iterator[None]:
    """What one warp group does, as an agent of the kernel."""
    rec = _record.need()
    if len(groups) != 1 or not isinstance(groups[0], int):
        raise Uncovered("T.ws of several warp groups")
    if rec.role is not None:
        raise Uncovered("T.ws inside of T.ws")
    rec.role = groups[0]
    if groups[0] not in rec.roles:
        rec.roles.append(groups[0])
    try:
        yield
    finally:
        rec.role = None


def atomic_add(destination: Any, value: Any, **unused: Any) -> None:
    """Adds to an element: reads and writes it."""
    if not isinstance(destination, _record.Place):
        raise Uncovered("T.atomic_add to more than an element")
    destination.buffer[destination.key] = destination + (
        value if isinstance(value, Value) else 0)


def _reduce(name, buffer, out, clear):
    _record.need().step("simt", name, reads=[_all_of(buffer)],
                        writes=[_all_of(out)] if clear else [],
                        updates=[] if clear else [_all_of(out)])


def reduce_sum(buffer: Any, out: Any, dim: int = -1, clear: _bool = True) -> None:
    """Sums along a dimension; without clear on top of what is there."""
    _reduce("reduce_sum", buffer, out, clear)


def reduce_max(buffer: Any, out: Any, dim: int = -1, clear: _bool = True) -> None:
    """The largest along a dimension; without clear also of what is there."""
    _reduce("reduce_max", buffer, out, clear)


def reduce_min(buffer: Any, out: Any, dim: int = -1, clear: _bool = True) -> None:
    """The smallest along a dimension; without clear also of what is there."""
    _reduce("reduce_min", buffer, out, clear)


def reduce_absmax(buffer: Any, out: Any, dim: int = -1, clear: _bool = True) -> None:
    """The largest absolute value along a dimension."""
    _reduce("reduce_absmax", buffer, out, clear)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    where = _record.place_text(" ({}:{})")
    raise AttributeError(f"spad.tilelang does not cover T.{name}{where}; docs/tilelang.md lists what "
                         "it covers")
