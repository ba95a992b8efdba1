# SPDX-License-Identifier: Apache-2.0
"""Drop-in for tilelang.language.allocate.

    import tilelang.language as T      # before
    import spad.tilelang as T          # after

    with T.block("sm_100") as block:
        a = T.alloc_shared((128, 64), "float16")
        acc = T.alloc_tmem((128, 256), "float32")
    a.offset, block.totals["dynamic_bytes"], block.fits

Arguments are those of TileLang; every call also takes a name, and where it makes sense stages,
use, align, at and a lifetime. After the block the buffers have offsets.
"""

import contextvars
import math
from contextlib import contextmanager

from . import _spad
from . import core

_current = contextvars.ContextVar("spad.tilelang.block", default=None)


class Buffer:
    """A buffer of a block. Before the block ends it has no offset."""

    __slots__ = ("block", "number")

    def __init__(self, block, number):
        self.block, self.number = block, number

    def __getattr__(self, field):
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

    planned = False

    def finish(self):
        """Places every buffer; the end of the with block does it."""
        self.plan()
        self.planned = True

    @property
    def buffers(self):
        """All buffers in order of allocation."""
        return [Buffer(self, number) for number in range(len(self))]

    @property
    def sums(self):
        """Bytes, columns, limits and blocks per unit."""
        return self.totals()

    @property
    def fits(self):
        """Does it fit the chip?"""
        return self.totals()["fits"]

    def _repr_html_(self):
        return f"<pre>{core._escape(self.text())}</pre>" if self.planned else None


@contextmanager
def block(target="sm_90", name=None, **options):
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
    if isinstance(request.get("shape"), int):
        request["shape"] = (request["shape"],)
    return Buffer(home, home.alloc(scope, **request))


def alloc_shared(shape, dtype, scope="shared.dyn", name=None, **more):
    """Shared memory. More: stages, use, align, at, begin, end."""
    return _alloc(scope, shape=shape, dtype=dtype, name=name, **more)


def alloc_local(shape, dtype, scope="local", name=None):
    """Registers of one thread."""
    return _alloc(scope, shape=shape, dtype=dtype, name=name)


def alloc_fragment(shape, dtype, scope="local.fragment", name=None):
    """Registers of all threads together."""
    return _alloc(scope, shape=shape, dtype=dtype, name=name)


def alloc_var(dtype, *args, scope=None, init=None, name=None):
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
    return _alloc(scope or "local.var", dtype=dtype, init=init, name=name)


def _arrivals(count):
    return [count] if isinstance(count, int) else list(count)


def alloc_barrier(arrive_count, name=None, **more):
    """An mbarrier, or one for each of a list of arrival counts."""
    return _barrier("shared.barrier", arrive_count, name, more)


def alloc_cluster_barrier(arrive_count, name=None, **more):
    """The same across the blocks of a cluster."""
    return _barrier("shared.cluster_barrier", arrive_count, name, more)


def _barrier(scope, arrive_count, name, more):
    try:
        return _alloc(scope, arrivals=_arrivals(arrive_count), name=name, **more)
    except _spad.ArgumentError as error:
        raise ValueError(str(error)) from error


def alloc_tmem(shape, dtype, name=None):
    """Tensor memory: the last two extents are the matrix."""
    return _alloc("shared.tmem", shape=shape, dtype=dtype, name=name)


def alloc_reducer(shape, dtype, op="sum", replication=None, name=None):
    """A reducer: one init (or fill), updates in parallel regions, one finalize."""
    return _alloc("local.reducer", shape=shape, dtype=dtype, op=op, replication=replication,
                  name=name)


def alloc_global(shape, dtype, scope="global", name=None):
    """Memory that the host allocates for the kernel."""
    return _alloc(scope, shape=shape, dtype=dtype, name=name)


def alloc_descriptor(kind="wgmma", dtype=None, name=None):
    """A descriptor: wgmma, tcgen05_smem or tcgen05_instr."""
    del dtype  # fixed by the kind
    return _alloc(f"local.descriptor.{kind}", name=name)


def alloc_wgmma_desc(dtype="uint64", name=None):
    """alloc_descriptor("wgmma")."""
    return alloc_descriptor("wgmma", dtype, name)


def alloc_tcgen05_smem_desc(dtype="uint64", name=None):
    """alloc_descriptor("tcgen05_smem")."""
    return alloc_descriptor("tcgen05_smem", dtype, name)


def alloc_tcgen05_instruction_desc(dtype="uint32", name=None):
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


def Serial():
    """A loop whose iterations follow each other: `with T.Serial():`."""
    return _region("serial")


def Parallel():
    """A loop whose iterations are spread over threads."""
    return _region("parallel")


def Branch():
    """An if, or one side of it."""
    return _region("branch")


def Concurrent():
    """Around sides that run side by side, each a Branch."""
    return _region("concurrent")


def _need(buffer):
    if not isinstance(buffer, Buffer):
        raise TypeError(f"a buffer is needed, not {type(buffer).__name__}")
    return buffer


def free(buffer):
    """The buffer is not used any more."""
    _need(buffer).block.free(buffer.number)


def max_value(dtype):
    """The largest finite number of an element type: what a reducer for min is filled with."""
    return _far_end("min", dtype)


def min_value(dtype):
    """The lowest finite number of an element type: what a reducer for max is filled with."""
    return _far_end("max", dtype)


def _far_end(op, dtype):
    dtype, code = _spad.reduce_identity(op, dtype)
    number = core._number_of(dtype, code)
    return core._number_of(dtype, code - 1) if math.isinf(number) else number  # next to infinity


def fill(reducer, value):
    """Opens a reducer, in the older form."""
    _need(reducer).block.reducer_fill(reducer.number, value)


def reducer_init(reducer, seed=None):
    """Opens a reducer."""
    _need(reducer).block.reducer_init(reducer.number, seed)


def reducer_update(reducer, op):
    """One statement that combines values."""
    _need(reducer).block.reducer_update(reducer.number, op)


def finalize_reducer(reducer, destination=None, batch=1):
    """Closes a reducer; without a destination in place, if it was filled."""
    _need(reducer).block.reducer_finalize(
        reducer.number, -1 if destination is None else _need(destination).number, batch)
