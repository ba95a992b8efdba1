# SPDX-License-Identifier: Apache-2.0
"""The intrinsics of tensor memory and tcgen05 in lowered TileLang (sm_100). The address of an allocation is in a slot in shared
memory; the allocation itself is a tensor of the space tmem."""

from . import _tilelang_calls as _calls
from . import _tilelang_sets as _sets
from ._tilelang_sets import Opaque
from ._tilelang_write import Op

_UMMA_SWIZZLE = {2: 1, 4: 2, 6: 3}  # of a tcgen05 descriptor: the same as 1, 2 and 3 of wgmma
_UMMA_BITS = {"f16": 16, "bf16": 16, "fp16": 16, "tf32": 32, "f8f6f4": 8, "e4m3": 8, "e5m2": 8, "i8": 8, "int8": 8}
_TMEM_UNIT = "unit tcgen05 on tensor same proxy fence tcgen05"


def _tmem(walk, name):
    """The tensor in tensor memory whose address a slot in shared memory holds."""
    if name not in walk.tmem:
        raise _calls._unsupported(walk, "tensor memory", f"'{name}' is not allocated")
    return f"{walk.fresh(name)}_tmem"


def _tmem_alloc(walk, args, _):
    found = _calls.pointer(walk, args[0])
    walk.tmem[found.buffer] = _calls._number(walk, args[1], "a number of columns")
    walk.line(f"alloc {_tmem(walk, found.buffer)}")
    op = Op("simt", "tmem_alloc")  # writes the address
    walk.access(op.writes, found.buffer, 0, 1, 32)
    walk.emit(op)


def _tmem_free(walk, args, _):
    found = _calls.pointer(walk, args[0])
    walk.line(f"free {_tmem(walk, found.buffer)}")


def _tmem_part(walk, name, first, count, column, columns):
    """Lanes and bytes of lanes of an access to tensor memory."""
    low = walk.scope.sum(walk._uniform(walk.value(column)))
    return f"{_tmem(walk, name)}({first}..{first + count}, {low.times(4).text()}..{low.times(4).text(4 * columns)})"


def _umma_descriptor(walk, args, _):
    _calls._descriptor(walk, [args[0], args[1], _UMMA_SWIZZLE.get(walk.value(args[6]), 0), args[2], args[3]], None)


def _umma(walk, args, _, registers=False):
    kind, instruction = args[0][1], walk.value(args[7])
    if not isinstance(instruction, int) or args[-1] not in (0, False):
        raise _calls._unsupported(walk, "tcgen05.mma", "of two blocks, or its instruction descriptor is no constant")
    m, n = (instruction >> 24 & 31) * 16, (instruction >> 17 & 63) * 8
    bits = _UMMA_BITS.get(kind, 16)
    depth = 256 // bits
    op = Op("tcgen05", "mma")
    walk.units["tcgen05"] = _TMEM_UNIT
    if registers:
        op.reads.append(_tmem_part(walk, args[1], 0, min(m, 128), args[2], 8))
    else:
        _calls.operand(walk, op, args[1], [">>", args[2], 4], m, depth, not instruction >> 15 & 1, bits)
    _calls.operand(walk, op, args[3], [">>", args[4], 4], n, depth, not instruction >> 16 & 1, bits)
    part = _tmem_part(walk, args[5], 0, min(m, 128), args[6], n)
    op.tail = _calls.matrix_cost(walk, m * n * depth, bits)
    first = _first(walk, args[8])
    again = Op(op.engine, op.name, op.tail)
    again.reads, again.updates = list(op.reads), [part]
    op.writes = [part]
    try:
        zero = walk.scope.condition(first, False)
    except Opaque:
        zero = None
    if zero == [[]]:
        walk.emit(op)
    elif not zero:
        if zero is None:
            walk.note("tcgen05.mma", "whether it starts a sum is data: it goes on with one")
        walk.emit(again)
    else:
        walk.either(" or ".join(" and ".join(a) for a in zero), op, again)


def _first(walk, tree):
    """An expression at the first point of the loops that are run here."""
    tree = walk.value(tree)
    tree = _sets.replace(tree, {var: begin for var, begin, _ in walk.loops})
    return _picked(tree)


def _picked(tree):
    """An expression without `select` on numbers; select(k == 0, 0, 1) is k != 0."""
    if not isinstance(tree, list):
        return tree
    if tree[0] == "select":
        if not _sets.names(tree[1]):
            return _picked(tree[2] if eval(_sets.code(tree[1])) else tree[3])
        if (tree[2], tree[3]) == (0, 1):
            return ["not", tree[1]]
        if (tree[2], tree[3]) == (1, 0):
            return tree[1]
    return [tree[0]] + [_picked(part) for part in tree[1:]]


def _umma_ts(walk, args, statement):
    _umma(walk, args, statement, True)


def _umma_arrive(walk, args, _):
    walk.units["tcgen05"] = _TMEM_UNIT
    walk.line(f"arrive {_calls.mbarrier(walk, args[0])} on tcgen05")


def _tmem_lanes(walk):
    return walk.warp % 4 * 32


def _tmem_load(walk, args, _):
    found = _calls.pointer(walk, args[3])
    op = Op("simt", "tcgen05_ld")
    walk.collect(args[3], op)
    op.reads.append(_tmem_part(walk, found.buffer, _tmem_lanes(walk), 32, args[4], int(args[1]) * int(args[0]) // 32))
    walk.emit(op)


def _tmem_store(walk, args, _):
    found = _calls.pointer(walk, args[3])
    op = Op("simt", "tcgen05_st")
    walk.collect(args[3], op)
    op.writes.append(_tmem_part(walk, found.buffer, _tmem_lanes(walk), 32, args[4], int(args[1]) * int(args[0]) // 32))
    walk.emit(op)


def _tmem_before(walk, args, _):
    if walk.tmem_used:
        walk.line("fence tcgen05 before")


def _tmem_after(walk, args, _):
    if walk.tmem_used:
        walk.line("fence tcgen05 after")


TABLE = {
    "ptx_init_tensor_memory": _tmem_alloc, "ptx_deallocate_tensor_memory": _tmem_free,
    "initialize_tcgen05_descriptor": _umma_descriptor, "ptx_tcgen05_mma_ss": _umma, "ptx_tcgen05_mma_ts": _umma_ts,
    "tcgen05_mma_arrive": _umma_arrive, "tcgen05_ld": _tmem_load, "tcgen05_st": _tmem_store,
    "tcgen05_before_thread_sync": _tmem_before, "tcgen05_after_thread_sync": _tmem_after,
}
