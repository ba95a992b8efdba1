# SPDX-License-Identifier: Apache-2.0
"""The intrinsics of tensor memory and tcgen05 in lowered TileLang (sm_100). The address of an allocation is in a slot in shared
memory; the allocation itself is a tensor of the space tmem."""

from . import _calls
from . import _cluster
from . import _sets
from ._sets import Opaque
from ._write import Op

_UMMA_SWIZZLE = {2: 1, 4: 2, 6: 3}  # of a tcgen05 descriptor: the same as 1, 2 and 3 of wgmma
_UMMA_BITS = {"f16": 16, "bf16": 16, "fp16": 16, "tf32": 32, "f8f6f4": 8, "e4m3": 8, "e5m2": 8, "e2m1": 8, "i8": 8,
              "int8": 8}  # 4 bits have 8 of shared memory
_TMEM_UNIT = "unit tcgen05 on tensor same proxy fence tcgen05"


def _tmem(walk, name, block=None):
    """The tensor in tensor memory whose address a slot in shared memory holds: of this block of a cluster, or of another."""
    if name not in walk.tmem:
        raise _calls._unsupported(walk, "tensor memory", f"'{name}' is not allocated")
    return walk.named(name, walk.block if block is None else block, "_tmem")


def _tmem_alloc(walk, args, _):
    found = _calls.pointer(walk, args[0])
    walk.tmem[found.buffer] = _calls._number(walk, args[1], "a number of columns")
    walk.line(f"alloc {_tmem(walk, found.buffer)}")
    op = Op("simt", "tmem_alloc")  # writes the address
    walk.access(op.writes, found.buffer, 0, 1, 32)
    walk.emit(op)


def _tmem_free(walk, args, _):
    found = _calls.pointer(walk, args[0])
    _addresses(walk, found.buffer)
    walk.line(f"free {_tmem(walk, found.buffer)}")


def _tmem_parts(walk, name, first, count, column, columns, block=None):
    """Lanes and bytes of lanes of an access to tensor memory: `columns` from `column` on, in all rounds of the loops around it."""
    column = walk.value(column)
    if "?" in _sets.names(column):
        raise _calls._unsupported(walk, f"tensor memory '{name}'", "at a column that is data")
    home = f"{_tmem(walk, name, block)}({first}..{first + count}, "
    found = _sets.Footprint(walk.scope, column, columns, walk.numeric(), walk.loops, walk.guards, 32).runs(walk.lanes)
    return [f"{home}{offset.text(low)}..{offset.text(high)})" for offset, runs in found for low, high in runs]


def _slot(walk, tree):
    """(buffer, column) of an address in tensor memory: that in a slot, with columns added to it."""
    if isinstance(tree, list) and tree[0] == "+":
        for base, more in ((tree[1], tree[2]), (tree[2], tree[1])):
            if isinstance(base, list) and base[:1] == ["load"] and base[1] in walk.tmem:
                return base[1], more
    found = _calls.pointer(walk, tree)
    if found is None:
        raise _calls._unsupported(walk, "an address in tensor memory", f"{tree!r}")
    return found.buffer, 0


def _umma_descriptor(walk, args, _):
    _calls._descriptor(walk, [args[0], args[1], _UMMA_SWIZZLE.get(walk.value(args[6]), 0), args[2], args[3]], None)


def _addresses(walk, *slots):
    """The thread reads addresses in tensor memory from their slots."""
    op = Op("simt", "address")
    for name in slots:
        walk.access(op.reads, name, 0)
    walk.emit(op)


def _constant(tree):
    """The bits of an instruction descriptor that are constant; those of a scaled product that say which byte of a scale are not."""
    if isinstance(tree, list) and tree[0] == "|":
        return _constant(tree[1]) | _constant(tree[2])
    return tree if isinstance(tree, int) else 0


def _umma(walk, args, _, registers=False, scales=None):
    """tcgen05.mma. Of two blocks, each has half of the rows of A and of the sum, and half of the columns of B."""
    kind, instruction = args[0][1], walk.value(args[7])
    if not isinstance(instruction, int) and scales is None:
        raise _calls._unsupported(walk, "tcgen05.mma", "its instruction descriptor is no constant")
    instruction = _constant(instruction)
    blocks = _cluster.pair(walk) if args[-1] not in (0, False) else [walk.block]
    m, n = (instruction >> 24 & 31) * 16, (instruction >> 17 & 63) * 8
    rows, columns = m // len(blocks), n
    lanes = min(rows, 128)
    if len(blocks) == 2 and m == 128:  # the second half of the columns is in the upper lanes
        lanes, columns = 128, n // 2
    bits = _UMMA_BITS.get(kind, 16)
    depth = 256 // bits
    _addresses(walk, args[5], *([args[1]] if registers else []), *[name for name, _ in scales or []])
    op = Op("tcgen05", "mma")
    walk.units["tcgen05"] = _TMEM_UNIT
    parts = []
    for block in blocks:
        if registers:
            op.reads += _tmem_parts(walk, args[1], 0, lanes, args[2], 8, block)
        else:
            _calls.operand(walk, op, args[1], [">>", args[2], 4], rows, depth, not instruction >> 15 & 1, bits, block)
        _calls.operand(walk, op, args[3], [">>", args[4], 4], n // len(blocks), depth, not instruction >> 16 & 1, bits, block)
        for (name, column), size in zip(scales or [], (rows, n)):  # a byte of each row, four rows to a lane
            op.reads += _tmem_parts(walk, name, 0, 128, column, -(-size // 32), block)
        parts += _tmem_parts(walk, args[5], 0, lanes, args[6], columns, block)
    op.tail = _calls.matrix_cost(walk, rows * n * depth, bits)
    _accumulate(walk, op, parts, _first(walk, args[8]))


def _accumulate(walk, op, parts, goes_on):
    """Emits a product whose sum is in parts of tensor memory, and goes on with what is there or starts anew, as an expression says."""
    again = Op(op.engine, op.name, op.tail)
    again.reads, again.updates = list(op.reads), parts
    op.writes = parts
    try:
        zero = walk.scope.condition(goes_on, False)
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


def _umma_scaled(walk, args, statement):
    """A product with a scale for each row and 32 elements, in tensor memory."""
    _umma(walk, args, statement, False, [(args[9], args[10]), (args[11], args[12])])


def _umma_arrive(walk, args, _, blocks=None):
    walk.units["tcgen05"] = _TMEM_UNIT
    for block in blocks or [walk.block]:
        walk.line(f"arrive {_calls.mbarrier(walk, args[0], block)} on tcgen05")


def _umma_arrive_pair(walk, args, statement):
    _umma_arrive(walk, args, statement, _cluster.pair(walk))


def _scale_copy(walk, args, _, blocks=None):
    """tcgen05.cp.32x128b.warpx4: 512 bytes of shared memory to four columns, the same for each of the four groups of lanes."""
    found = _calls.pointer(walk, walk.value(args[0]))
    _addresses(walk, args[1])
    op = Op("tcgen05", "cp")
    walk.units["tcgen05"] = _TMEM_UNIT
    for block in blocks or [walk.block]:
        walk.access(op.reads, found.buffer, found.index, 4096 // found.bits, found.bits, block=block)
        op.writes += _tmem_parts(walk, args[1], 0, 128, args[2], 4, block)
    walk.emit(op)


def _scale_copy_pair(walk, args, statement):
    _scale_copy(walk, args, statement, _cluster.pair(walk))


def _scale_turn(walk, args, _):
    """128 words of shared memory, put into another order by a warp."""
    found = _calls.pointer(walk, walk.value(args[0]))
    op = Op("simt", "transpose")
    walk.access(op.updates, found.buffer, found.index, 4096 // found.bits, found.bits)
    walk.emit(op)


def _tmem_lanes(walk):
    return walk.warp % 4 * 32


def _tmem_load(walk, args, _):
    slot, column = _slot(walk, args[3])
    op = Op("simt", "tcgen05_ld")
    walk.collect(args[3], op)
    op.reads += _tmem_parts(walk, slot, _tmem_lanes(walk), 32, ["+", column, args[4]], int(args[1]) * int(args[0]) // 32)
    walk.emit(op)


def _tmem_store(walk, args, _):
    slot, column = _slot(walk, args[3])
    op = Op("simt", "tcgen05_st")
    walk.collect(args[3], op)
    op.writes += _tmem_parts(walk, slot, _tmem_lanes(walk), 32, ["+", column, args[4]], int(args[1]) * int(args[0]) // 32)
    walk.emit(op)


def _tmem_before(walk, args, _):
    if walk.tmem_used:
        walk.line("fence tcgen05 before")


def _tmem_after(walk, args, _):
    if walk.tmem_used:
        walk.line("fence tcgen05 after")


TABLE = {
    "ptx_init_tensor_memory_2cta": _tmem_alloc, "ptx_deallocate_tensor_memory_2cta": _tmem_free,
    "tcgen05_mma_arrive_2cta": _umma_arrive_pair, "ptx_tcgen05_mma_blockscaled_ss": _umma_scaled,
    "ptx_tcgen05_cp_warpx4": _scale_copy, "ptx_tcgen05_cp_warpx4_2cta": _scale_copy_pair,
    "ptx_tcgen05_sf_warp_transpose": _scale_turn,
    "ptx_init_tensor_memory": _tmem_alloc, "ptx_deallocate_tensor_memory": _tmem_free,
    "initialize_tcgen05_descriptor": _umma_descriptor, "ptx_tcgen05_mma_ss": _umma, "ptx_tcgen05_mma_ts": _umma_ts,
    "tcgen05_mma_arrive": _umma_arrive, "tcgen05_ld": _tmem_load, "tcgen05_st": _tmem_store,
    "tcgen05_before_thread_sync": _tmem_before, "tcgen05_after_thread_sync": _tmem_after,
}
