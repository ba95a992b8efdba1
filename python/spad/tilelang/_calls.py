# SPDX-License-Identifier: Apache-2.0
"""The intrinsics of lowered TileLang: what each does to memory on chip and to the order of the warps.

`TABLE` has a function for each intrinsic that is a statement; names in `_NOTHING` have no effect on either. A statement that is in
neither is an error that names it. A call inside an expression is one where it is handed a pointer to memory on chip that it may write.
"""

import re

from .. import _spad
from . import _sets
from ._sets import Opaque
from ._tree import _dtype_bits, bodies
from ._write import Access, Op

_NOTHING = frozenset(
    "prefetch_tma_descriptor warpgroup_fence_operand no_set_max_nreg pdl_trigger pdl_sync sync_warp device_assert "
    "device_assert_with_msg rng_init annotate_producer_reg_dealloc annotate_consumer_reg_alloc assume tvm_thread_invariant "
    "nanosleep print debug_print_msg".split())

class Unsupported(_spad.ArgumentError):
    """Something that touches memory on chip and that spad.tilelang.load does not know."""


_GMMA = re.compile(r"m(\d+)n(\d+)k(\d+)")
_REDUCE = re.compile(r"tl::AllReduce<\s*[^,]+,\s*(\d+),\s*(\d+),\s*(\d+)(.*)>::run(_batch)?$")
_OPERAND_BITS = {"fp16": 16, "bf16": 16, "tf32": 32, "fp32": 32, "int8": 8, "uint8": 8, "e4m3": 8, "e5m2": 8,
                 "float8_e4m3": 8, "float8_e5m2": 8, "s8": 8, "u8": 8}


class Pointer:
    """A pointer argument: buffer, index in elements of `bits`, extent in elements."""

    __slots__ = ("buffer", "index", "extent", "bits")

    def __init__(self, buffer, index, extent, bits):
        self.buffer, self.index, self.extent, self.bits = buffer, index, extent, bits


def pointer(walk, tree):
    """The pointer that an expression is, or None."""
    if isinstance(tree, str):
        return Pointer(tree, 0, None, walk.buffers[tree]["bits"]) if tree in walk.buffers else None
    if not isinstance(tree, list):
        return None
    if tree[0] == "call" and tree[1] == "tvm_access_ptr" and isinstance(tree[3], str):
        return Pointer(tree[3], tree[4], tree[5], _dtype_bits(tree[2][1]))
    if tree[0] == "call" and tree[1] == "address_of" and isinstance(tree[2], list) and tree[2][0] == "load":
        return Pointer(tree[2][1], tree[2][2], 1, walk.buffers[tree[2][1]]["bits"])
    if tree[0] == "call" and tree[1] == "handle_add_byte_offset":
        base = pointer(walk, tree[2])
        if base is None or base.bits % 8:
            return None
        return Pointer(base.buffer, ["+", ["*", base.index, base.bits // 8], tree[3]], None, 8)
    if tree[0] == "call" and tree[1] in ("reinterpret", "access_ptr"):
        return pointer(walk, tree[2])
    if tree[0] == "load" and tree[1] in walk.buffers:
        return Pointer(tree[1], tree[2], 1, walk.buffers[tree[1]]["bits"])
    return None


def _number(walk, tree, what):
    value = walk.value(tree)
    if not isinstance(value, int):
        raise _unsupported(walk, what, f"{tree!r} is no constant")
    return value


def _unsupported(walk, name, why):
    return Unsupported(f"spad.tilelang.load does not know {name} in '{walk.tree['name']}': {why}")


def on_chip(walk, buffer):
    """Whether a buffer is in shared or tensor memory."""
    facts = walk.buffers.get(buffer)
    return facts is not None and facts["scope"].startswith("shared")


# ---- barriers ----------------------------------------------------------------------------------------


def mbarrier(walk, tree, block=None):
    """The text of an mbarrier argument, which is declared when it is first named: of this block of a cluster, or of another."""
    found = pointer(walk, tree)
    if found is None or walk.buffers[found.buffer]["scope"] not in ("shared.barrier", "shared.cluster_barrier"):
        raise _unsupported(walk, "an mbarrier", f"{tree!r}")
    size = walk.buffers[found.buffer].get("elements") or 1
    walk.mbarriers[found.buffer] = size
    index = _inline(walk, found.index, f"mbarrier '{found.buffer}' at an index")
    if walk.blocks == 1:
        return f"{walk.fresh(found.buffer)}[{index}]"
    block = walk.block if block is None else block
    if block != walk.block:
        walk.reach(block, *[f"invalidate {walk.fresh(found.buffer)}[{block}, {number}]" for number in range(size)])
    return f"{walk.fresh(found.buffer)}[{block}, {index}]"


def _sync(walk, args, _):
    scope = args[0][1] if isinstance(args[0], list) else str(args[0])
    if scope == "warp":
        return
    if scope == "cluster":
        walk.meet_cluster()
        return
    if scope not in ("shared", "shared.dyn"):
        raise _unsupported(walk, f"tvm_storage_sync(\"{scope}\")", "threads of several blocks wait")
    number, count = 0, walk.count
    if len(args) >= 3:
        number, count = _number(walk, args[1], "a barrier number"), _number(walk, args[2], "a thread count")
    meet(walk, number, count)


def meet(walk, number, count, word="sync"):
    """bar.sync of a hardware barrier by the lanes of this warp."""
    name = f"bar_{number}" if count == walk.count else f"bar_{number}_{count}"
    while name in walk.buffers:  # a name of the program's own
        name += "_"
    name = walk.own(name)
    walk.barriers[name] = count
    walk.line(f"{word} {name} by {len(walk.lanes)}")


def _bar_arrive(walk, args, _):
    meet(walk, _number(walk, args[0], "a barrier number"), _number(walk, args[1], "a thread count"), "arrive")


def _init(walk, args, _):
    walk.line(f"init {mbarrier(walk, args[0])} count {walk.inline(args[1])}")


def _inline(walk, tree, what):
    """An expression of the kernel; what it is, for where there is none."""
    try:
        return walk.inline(tree)
    except Opaque as why:
        raise _unsupported(walk, what, str(why)) from None


def _wait_parity(walk, args, _):
    parity = _inline(walk, args[1], "mbarrier_wait_parity with a parity")
    walk.line(f"wait {mbarrier(walk, args[0])} parity {parity}")


def _expect(walk, args, _):
    walk.line(f"expect {mbarrier(walk, args[0])} by {walk.inline(args[1])}")


def _arrive_expect(walk, args, _):
    block = None
    if len(args) > 2:
        if args[3] != 1:
            raise _unsupported(walk, "ptx_arrive_barrier_expect_tx", "of some threads only")
        block = walk.peer(args[2], "an arrival at a barrier of a cluster")
    for _ in walk.lanes:  # one arrival of each thread, with its bytes
        walk.line(f"arrive {mbarrier(walk, args[0], block)} expect {walk.inline(args[1])}")


def _arrive(walk, args, _):
    walk.line(f"arrive {mbarrier(walk, args[0])} by {len(walk.lanes)}")


def _fence(walk, args, _):
    walk.line("fence")


def _sync_grid(walk, args, _):
    """A barrier of all blocks: what is in shared memory is of one of them, whose threads meet."""
    meet(walk, "grid", walk.count)


# ---- copies ------------------------------------------------------------------------------------------


def _source(walk, home, name, size):
    """Adds a read of `size` bytes of global memory."""
    key = (name, size)
    if key not in walk.globals:
        walk.globals[key] = f"{walk.fresh(name)}_{size}B"
    home.append(walk.globals[key])


def _tma_load(walk, args, _):
    tma_load(walk, args)


def tma_load(walk, args, blocks=None, signalled=None):
    """A copy to a place in this block, or in the given ones, which completes at the mbarrier of each, or of one block."""
    first = pointer(walk, args[0])
    if first is not None and on_chip(walk, first.buffer):  # a run of bytes: destination, source, mbarrier
        args = [args[1], args[2], args[0]]
    target = pointer(walk, args[2])
    if target is None or not on_chip(walk, target.buffer):
        raise _unsupported(walk, "tma_load", "its destination is no shared buffer")
    if isinstance(args[0], str):
        walk.needs(target.buffer, 128)
    op = Op("tma", "load")
    walk.units["tma"] = "unit tma on copy free proxy"
    extent = walk.value(target.extent)
    if not isinstance(extent, int):
        raise _unsupported(walk, "tma_load", "its extent is no constant")
    blocks = [walk.block] if blocks is None else blocks
    size = extent * target.bits // 8 * _repeats(walk)
    for block in blocks:
        walk.access(op.writes, target.buffer, target.index, extent, target.bits, block=block)
    moved = size // 2 if "unpacked" in walk.buffers[target.buffer]["dtype"] else size  # 4 bits of 8 are copied
    by = f" by {moved}" if moved != size or len(blocks) > 1 else ""
    for block in blocks if signalled is None else [signalled]:
        op.tail += f" delivers {mbarrier(walk, args[1], block)}{by}"
    name = args[0] if isinstance(args[0], str) else getattr(pointer(walk, args[0]), "buffer", "global_memory")
    _source(walk, op.reads, name, size)
    walk.emit(op)


def _repeats(walk):
    total = 1
    for _, _, extent in walk.loops:
        total *= extent if isinstance(extent, int) else 1
    return total


def _tma_store(walk, args, _):
    source = pointer(walk, args[1]) or pointer(walk, args[0])
    if source is None or not on_chip(walk, source.buffer):
        source = pointer(walk, args[0])
    if source is None or not on_chip(walk, source.buffer):
        raise _unsupported(walk, "tma_store", "its source is no shared buffer")
    if isinstance(args[0], str):
        walk.needs(source.buffer, 128)
    op = Op("tma", "store", " in stores")
    walk.units["tma"] = "unit tma on copy free proxy"
    walk.groups["stores"] = True
    extent = walk.value(source.extent)
    if not isinstance(extent, int):
        raise _unsupported(walk, "tma_store", "its extent is no constant")
    walk.access(op.reads, source.buffer, source.index, extent, source.bits)
    if not walk.depth:  # in a loop the place would be another one in every round
        walk.outputs.append(extent * source.bits // 8 * _repeats(walk))
        op.writes.append(f"stored_{len(walk.outputs)}")
    walk.emit(op)


def _store_commit(walk, args, _):
    walk.groups["stores"] = True
    walk.line("commit stores")


def _store_wait(walk, args, _):
    walk.groups["stores"] = True
    pending = _number(walk, args[0], "tma_store_wait") if args else 0
    reads = bool(args[1]) if len(args) > 1 and isinstance(args[1], int) else True
    walk.line(f"wait stores pending {pending}{' reads' if reads else ''}")


def _cp_async(walk, args, _):
    target, source = pointer(walk, args[0]), pointer(walk, args[1])
    if target is None or not on_chip(walk, target.buffer):
        raise _unsupported(walk, "ptx_cp_async", "its destination is no shared buffer")
    count = _number(walk, args[2], "the size of ptx_cp_async")
    op = Op("cpasync", "load", " in loads")
    walk.units["cpasync"] = "unit cpasync on copy free"
    walk.groups["loads"] = True
    walk.access(op.writes, target.buffer, target.index, count, target.bits)
    _source(walk, op.reads, source.buffer if source else "global_memory",
            count * target.bits // 8 * len(walk.lanes) * _repeats(walk))
    walk.emit(op)


def _cp_commit(walk, args, _):
    walk.groups["loads"] = True
    walk.units["cpasync"] = "unit cpasync on copy free"
    walk.line("commit loads")


def _cp_wait(walk, args, _):
    walk.groups["loads"] = True
    walk.line(f"wait loads pending {_inline(walk, args[0], 'ptx_wait_group')}")


def _cp_arrive(walk, args, _):
    walk.units["cpasync"] = "unit cpasync on copy free"
    walk.line(f"arrive {mbarrier(walk, args[0])} by {len(walk.lanes)} on cpasync")


def _ldmatrix(walk, args, _):
    if len(args) > 4:
        raise _unsupported(walk, "ptx_ldmatrix", "an older form of it")
    source = pointer(walk, args[2])
    op = Op("simt", "ldmatrix")
    rows = walk.lanes[:8 * int(args[1])]
    walk.access(op.reads, source.buffer, source.index, 128 // source.bits, source.bits, rows)
    local = pointer(walk, args[3])
    if local is not None:
        walk.access(op.writes, local.buffer, local.index, local.extent if isinstance(local.extent, int) else 1, local.bits)
    walk.emit(op)


def _stmatrix(walk, args, _):
    target = pointer(walk, args[2])
    op = Op("simt", "stmatrix")
    for value in args[3:]:
        walk.collect(value, op)
    rows = walk.lanes[:8 * int(args[1])]
    walk.access(op.writes, target.buffer, target.index, 128 // target.bits, target.bits, rows)
    walk.emit(op)


def _bulk_zero(walk, args, _):
    target = pointer(walk, args[0])
    size = _number(walk, args[1], "ptx_st_bulk_shared")
    op = Op("simt", "zero")
    walk.access(op.writes, target.buffer, target.index, size * 8 // target.bits, target.bits)
    walk.emit(op)


# ---- wgmma -------------------------------------------------------------------------------------------


def _descriptor(walk, args, _):
    found = pointer(walk, args[0])
    start = pointer(walk, args[1])
    if start is None or not on_chip(walk, start.buffer):
        raise _unsupported(walk, "initialize_wgmma_descriptor", "its start is no shared buffer")
    walk.descriptors[found.buffer] = [start, 0, *[walk.value(a) for a in args[2:5]]]


def _descriptor_more(walk, args, _):
    found = pointer(walk, args[0])
    if found.buffer not in walk.descriptors:
        raise _unsupported(walk, "increase_descriptor_offset", "its descriptor is not initialised")
    home = walk.descriptors[found.buffer]
    walk.descriptors[found.buffer] = [home[0], ["+", home[1], args[1]], *home[2:]]


def operand(walk, op, name, steps, rows, depth, k_major, bits, block=None):
    """What a matrix operand that a descriptor gives covers: rows x depth elements from `steps` 16-byte units on. The swizzle
    exchanges 16-byte units of a row, so it decides which units a part of a row is."""
    if name not in walk.descriptors:
        raise _unsupported(walk, "a wgmma", f"descriptor '{name}' is not initialised")
    start, more, mode, lead, stride = walk.descriptors[name]
    if not all(isinstance(n, int) for n in (mode, lead, stride)) or mode not in (1, 2, 3):
        _hull(walk, op, start, "a descriptor without a swizzle", block)
        return
    width = {1: 128, 2: 64, 3: 32}[mode]
    walk.needs(start.buffer, 8 * width)  # the pattern of the swizzle repeats after eight rows
    units = width // 16
    if k_major:
        outer, groups, inner = rows // 8, stride * 16, depth * bits // 128
        spread = [("row__", 0, 8), ("group__", 0, max(outer, 1)), ("unit__", 0, inner)]
        base = ["*", "group__", groups]
        unit = "unit__"
    else:
        per = width * 8 // bits
        blocks, inner = max(rows // per, 1), min(units, rows * bits // 128)
        spread = [("row__", 0, 8), ("group__", 0, max(depth // 8, 1)), ("block__", 0, blocks), ("unit__", 0, inner)]
        base = ["+", ["*", "group__", stride * 16], ["*", "block__", lead * 16]]
        unit = "unit__"
    exact = isinstance(steps, list) and steps[0] == ">>" and steps[2] == 4
    step = steps[1] if exact else ["*", steps, 16]
    first = ["+", ["*", start.index, start.bits // 8] if start.bits >= 8 else ["//", start.index, 2], ["+", more, step]]
    row = ["*", "row__", width]
    swap = ["%", ["//", "row__", 8 // units], units] if units > 1 else 0
    # the start lies in the row pattern: its units are exchanged together with those of the part
    position = ["+", ["//", ["%", first, width], 16], unit]
    place = ["+", ["-", first, ["%", first, width]], ["+", ["+", base, row], ["*", ["^", position, swap], 16]]]
    kept = list(walk.loops)
    walk.loops = kept + spread
    try:
        walk.access(op.reads, start.buffer, place, 16, 8, block=block)
    finally:
        walk.loops = kept


def matrix_cost(walk, macs, bits):
    """The clause for the time of a matrix product of `macs` multiply-adds, or nothing where the chip has no figure."""
    rate = walk.macs.get(bits)
    return f" cost {max(1, -(-macs * _repeats(walk) // rate))} cycles" if rate else ""


def _hull(walk, op, start, why, block=None):
    walk.note(f"'{start.buffer}'", f"all of it, because of {why}")
    op.reads.append(Access(start.buffer, _sets.Sum(), [(0, walk.size(start.buffer))], None, block=walk.home(start.buffer, block)))


def _wgmma(walk, args, _, registers=False, sparse=False):
    """wgmma.mma_async; of a sparse one, half of A is stored, and 32 bits of each thread say which half."""
    m, n, k = map(int, _GMMA.match(args[0][1]).groups())
    stored = k // 2 if sparse else k
    op = Op("wgmma", "mma", " in mmas")
    walk.units["wgmma"] = "unit wgmma on tensor same proxy fence wgmma"
    walk.groups["mmas"] = True
    if registers:
        b_major, types, rest = args[1], args[2:5], args[5:]
        a_bits = _OPERAND_BITS.get(types[0][1], 16)
        walk.access(op.reads, rest[0], rest[1], m * stored // 128)
    else:
        a_major, b_major, types, rest = args[1], args[2], args[3:6], args[6:]
        a_bits = _OPERAND_BITS.get(types[0][1], 16)
        operand(walk, op, rest[0], rest[1], m, stored, bool(a_major), a_bits)
    if sparse:
        walk.access(op.reads, rest[2], rest[3], 32 // walk.buffers[rest[2]]["bits"])
        rest = rest[:2] + rest[5:]
    operand(walk, op, rest[2], rest[3], n, k, bool(b_major), _OPERAND_BITS.get(types[1][1], a_bits))
    walk.access(op.updates, rest[4], rest[5], m * n // 128)
    op.tail += matrix_cost(walk, m * n * stored // 4, a_bits)  # a quarter for each warp of the group
    walk.emit(op)


def _wgmma_rs(walk, args, statement):
    _wgmma(walk, args, statement, True)


def _wgmma_sp(walk, args, statement):
    _wgmma(walk, args, statement, False, True)


def _wgmma_sp_rs(walk, args, statement):
    _wgmma(walk, args, statement, True, True)


def _wgmma_fence(walk, args, _):
    walk.line("fence wgmma")


def _wgmma_commit(walk, args, _):
    walk.groups["mmas"] = True
    walk.line("commit mmas")


def _wgmma_wait(walk, args, _):
    walk.groups["mmas"] = True
    walk.line(f"wait mmas pending {_number(walk, args[0], 'warpgroup_wait')}")


def _registers(walk, args, _):
    walk.registers = _number(walk, args[0], "set_max_nreg")


# ---- others ------------------------------------------------------------------------------------------


def _mma(walk, args, _, share=1):
    """mma.sync: registers only; those of asynchronous operands are followed. share: how many of its elements a sparse one has."""
    op = Op("simt", "mma")
    for tree in args:
        found = pointer(walk, tree) if isinstance(tree, (str, list)) else None
        if found is not None and found.buffer in walk.tracked:
            walk._whole(op.updates, found.buffer, walk.warp, "registers of an mma")
    walk.emit(op)
    shapes = [found for found in (_GMMA.match(a[1]) for a in args if isinstance(a, list) and a[:1] == ["s"]) if found]
    kinds = [_OPERAND_BITS[a[1]] for a in args if isinstance(a, list) and a[:1] == ["s"] and a[1] in _OPERAND_BITS]
    if shapes and kinds and len(walk.lanes) == 32:
        m, n, k = map(int, shapes[0].groups())
        cost = matrix_cost(walk, m * n * k // share, kinds[0])
        if cost:
            walk.line(f"tensor mma{cost}")


def _mma_sp(walk, args, statement):
    _mma(walk, args, statement, 2)


def _atomic(walk, args, _):
    """An atomic update of an element, in any order with others, and what it reads."""
    op = Op("simt", "atomic")
    found = pointer(walk, args[0])
    for tree in args[1:]:
        walk.collect(tree, op)
    if found is not None and on_chip(walk, found.buffer):
        extent = found.extent if isinstance(found.extent, int) else 1
        walk.access(op.adds, found.buffer, found.index, extent, found.bits)
        op.name = "atomic_add"
    walk.emit(op)


def _atomic_store(walk, args, _):
    """A store that is one piece: it needs nothing there before it."""
    op = Op("simt", "atomic_store")
    found = pointer(walk, args[0])
    for tree in args[1:]:
        walk.collect(tree, op)
    if found is not None and on_chip(walk, found.buffer):
        walk.access(op.writes, found.buffer, found.index, 1, found.bits)
    walk.emit(op)


def _all_reduce(walk, args, op):
    """tl::AllReduce: shuffles, and through a buffer where it goes across warps."""
    found = _REDUCE.match(args[0][1])
    if found is None:
        return False
    threads, scale, first = (int(found.group(n)) for n in (1, 2, 3))
    for tree in args[1:2]:
        walk.collect(tree, op)
    named = re.search(r"NamedBarrier<(\d+)>", found.group(4))
    offset = threads // 2
    where = pointer(walk, args[2]) if len(args) > 2 else None
    batch = _batch(found.group(4)) if found.group(5) else (1, 0)
    while offset >= max(scale, 32) and where is not None:
        for number, kind in ((1, "writes"), (2, "reads")):
            meet(walk, number if named else 0, int(named.group(1)) if named else walk.count)
            step = Op("simt", "allreduce")
            thread = ["-", "thread__x", first]
            if kind == "reads":
                thread = ["^", thread, offset]
            kept = list(walk.loops)
            walk.loops = kept + [("batch__", 0, batch[0])]
            walk.access(getattr(step, kind), where.buffer,
                        ["+", where.index, ["+", thread, ["*", "batch__", batch[1]]]], 1, where.bits)
            walk.loops = kept
            walk.emit(step)
        offset //= 2
    return True


def _batch(text):
    """Batch size and stride of the workspace: the last two arguments of the template."""
    numbers = re.findall(r",\s*(\d+)", text)
    return (int(numbers[-2]), int(numbers[-1])) if len(numbers) >= 2 else (1, 0)


_SCAN = re.compile(r"tl::Cum(?:Sum|Max)(1D|2D)<(\d+)(?:, ([01]))?, (?:true|false)>::run$")


def _scan(walk, args):
    """tl::CumSum1D and 2D: a warp has a line at a time, and the next warp the next line; the first alone where there is one.
    Nothing is synchronised."""
    found = _SCAN.match(args[0][1]) if args and isinstance(args[0], list) and args[0][:1] == ["s"] else None
    ends = [pointer(walk, tree) for tree in args[1:3]] if found else []
    sizes = [walk.value(tree) for tree in args[3:]]
    if len(ends) < 2 or None in ends or not all(isinstance(size, int) for size in sizes):
        return False
    if found[1] == "1D":
        lines, length, steps, across = 1, sizes[0], (0, 0), (1, 1)
    elif found[3] == "1":
        (lines, length), steps, across = sizes[:2], sizes[2:4], (1, 1)
    else:
        (length, lines), steps, across = sizes[:2], (1, 1), sizes[2:4]
    warps = int(found[2]) // 32
    mine = len(range(walk.warp, lines, warps))
    op, kept = Op("simt", "scan"), list(walk.loops)
    same = ends[0].buffer == ends[1].buffer
    for end, home, step, stride in zip(ends, (op.reads, op.updates if same else op.writes), steps, across):
        if not mine or (same and home is op.reads) or not on_chip(walk, end.buffer):
            continue
        line = ["+", end.index, ["*", ["+", ["*", "scan__line", warps], walk.warp], step]]
        walk.loops = [*kept, ("scan__line", 0, mine)] + ([("scan__at", 0, length)] if stride != 1 else [])
        walk.access(home, end.buffer, line if stride == 1 else ["+", line, ["*", "scan__at", stride]],
                    length if stride == 1 else 1, end.bits)
    walk.loops = kept
    walk.emit(op)
    return True


def _extern(walk, args, statement):
    op = Op("simt", "call")
    if args and isinstance(args[0], list) and _all_reduce(walk, args, op):
        walk.emit(op)
        return
    if _scan(walk, args):
        return
    _unknown(walk, args[0][1] if isinstance(args[0], list) else "call_extern", args[1:])


def _store_global(walk, args, statement):
    """stg64 and its like: a store to global memory with what it reads."""
    _unknown(walk, "stg", args)


TABLE = {
    "tvm_storage_sync": _sync, "named_barrier_arrive": _bar_arrive,
    "ptx_init_barrier_thread_count": _init, "mbarrier_wait_parity": _wait_parity, "mbarrier_expect_tx": _expect,
    "ptx_arrive_barrier_expect_tx": _arrive_expect, "ptx_arrive_barrier": _arrive,
    "ptx_fence_barrier_init": _fence, "fence_proxy_async": _fence,
    "sync_grid": _sync_grid, **{f"stg{bits}": _store_global for bits in (32, 64, 128, 256)},
    "tma_load": _tma_load, "tma_load_im2col": _tma_load, "tma_load_gather4": _tma_load,
    "tma_store": _tma_store, "tma_store_scatter4": _tma_store, "tma_store_arrive": _store_commit, "tma_store_wait": _store_wait,
    "ptx_cp_async": _cp_async, "ptx_commit_group": _cp_commit, "ptx_wait_group": _cp_wait,
    "ptx_cp_async_barrier_noinc": _cp_arrive, "ptx_cp_async_barrier": _cp_arrive,
    "ptx_ldmatrix": _ldmatrix, "ptx_stmatrix": _stmatrix, "ptx_st_bulk_shared": _bulk_zero,
    "initialize_wgmma_descriptor": _descriptor, "increase_descriptor_offset": _descriptor_more,
    "ptx_wgmma_ss": _wgmma, "ptx_wgmma_rs": _wgmma_rs, "ptx_wgmma_sp_ss": _wgmma_sp, "ptx_wgmma_sp_rs": _wgmma_sp_rs,
    "warpgroup_arrive": _wgmma_fence,
    "warpgroup_commit_batch": _wgmma_commit, "warpgroup_wait": _wgmma_wait, "wait_wgmma": _wgmma_wait, "set_max_nreg": _registers,
    "ptx_mma": _mma, "ptx_mma_sm70": _mma, "ptx_mma_sp": _mma_sp, "call_extern": _extern, "call_pure_extern": _extern,
    "atomic_add_elem_op": _atomic, "atomic_addx2_elem_op": _atomic, "atomic_addx4_elem_op": _atomic,
    "atomic_add_ret_elem_op": _atomic, "atomic_max_elem_op": _atomic, "atomic_min_elem_op": _atomic,
    "atomic_or_elem_op": _atomic, "atomic_load_elem_op": _atomic, "atomic_store_elem_op": _atomic_store,
}

_ORDER = frozenset(
    "tvm_storage_sync named_barrier_arrive ptx_init_barrier_thread_count mbarrier_wait_parity mbarrier_expect_tx "
    "ptx_arrive_barrier_expect_tx ptx_arrive_barrier ptx_fence_barrier_init fence_proxy_async tma_store_arrive tma_store_wait "
    "ptx_commit_group ptx_wait_group ptx_cp_async_barrier_noinc ptx_cp_async_barrier initialize_wgmma_descriptor "
    "increase_descriptor_offset warpgroup_arrive warpgroup_commit_batch warpgroup_wait wait_wgmma tcgen05_mma_arrive "
    "initialize_tcgen05_descriptor ptx_init_tensor_memory ptx_deallocate_tensor_memory tcgen05_before_thread_sync tcgen05_after_thread_sync "
    "tcgen05_mma_arrive_2cta ptx_init_tensor_memory_2cta ptx_deallocate_tensor_memory_2cta tma_store_cluster sync_grid "
    "ptx_arrive_cluster_barrier clc_try_cancel clc_try_cancel_multicast cluster_arrive cluster_arrive_relaxed cluster_wait "
    "cluster_sync loop_break break_loop".split())
ANSWERS = frozenset("clc_is_canceled clc_get_first_ctaid_x clc_get_first_ctaid_y clc_get_first_ctaid_z".split())  # each has a fence


def is_order(name, args):
    """Whether a call takes part in the order of warps or of asynchronous operations."""
    if name in ("call_extern", "call_pure_extern"):
        return _crosses_warps(args)
    return name in _ORDER or any(_orders(a) for a in args)


def _orders(tree):
    if not isinstance(tree, list) or not tree:
        return False
    if tree[0] == "call" and tree[1] in ANSWERS:
        return True
    if tree[0] == "call" and tree[1] in ("call_extern", "call_pure_extern"):
        return _crosses_warps(tree[2:])
    return any(_orders(part) for part in tree[1:])


def _crosses_warps(args):
    found = _REDUCE.match(args[0][1]) if args and isinstance(args[0], list) and args[0][0] == "s" else None
    return found is not None and len(args) > 2 and int(found.group(1)) // 2 >= max(32, int(found.group(2)))


def stores_order(walk, statement):
    """Whether a store's value synchronises, or it changes a variable of one element that others read as a number."""
    if _orders(statement[3]) or _orders(statement[2]):
        return True
    return statement[1] in walk.counters


def barrier_uses(body, var):
    """Whether a loop's copies deliver to different mbarriers, or the loop has other reasons to stay."""
    for s in body:
        if s[0] == "do" and isinstance(s[1], list) and s[1][:1] == ["call"]:
            if s[1][1].startswith("tma_load") and var in _sets.names(["+", s[1][3], 0]) | _deep(s[1][3]):
                return True
        if any(barrier_uses(inner, var) for inner in bodies(s)):
            return True
    return False


def _deep(tree):
    if isinstance(tree, str):
        return {tree}
    return set().union(*[_deep(part) for part in tree]) if isinstance(tree, list) else set()


def call(walk, name, args, statement):
    """A call that is a statement."""
    made = walk.table.get(name)
    if made is not None:
        made(walk, args, statement)
    elif name not in _NOTHING:
        raise _unsupported(walk, f"'{name}'", "it may access memory on chip or synchronise")


def _unknown(walk, name, args):
    """An unknown call: an error where it is handed memory on chip, else what its arguments read."""
    for tree in args:
        found = pointer(walk, tree)
        is_load = isinstance(tree, list) and tree[:1] == ["load"]
        if found is not None and on_chip(walk, found.buffer) and not is_load:
            raise _unsupported(walk, f"'{name}'", f"it has a pointer to '{found.buffer}' on chip")
    op = Op("simt", "call")
    for tree in args:
        walk.collect(tree, op)
    walk.emit(op)


def value(walk, name, args, op):
    """A call inside an expression: what it reads."""
    if name in ("call_extern", "call_pure_extern") and args and isinstance(args[0], list) and _all_reduce(walk, args, op):
        return
    if name.startswith("atomic") and args:
        _atomic(walk, args, None)
        return
    if name in ANSWERS:
        walk.table[name](walk, args, None)
        return
    for tree in args:
        found = pointer(walk, tree) if isinstance(tree, list) and tree[:1] == ["call"] else None
        if found is None:
            walk.collect(tree, op)
        elif on_chip(walk, found.buffer):
            mask = tree[6] if tree[1] == "tvm_access_ptr" and len(tree) > 6 else 3
            if mask != 1:
                raise _unsupported(walk, f"'{name}'", f"it has a pointer to '{found.buffer}' on chip")
            walk.access(op.reads, found.buffer, found.index, found.extent if isinstance(found.extent, int) else 1, found.bits)


def written(walk, body):
    """Names of the buffers that statements write, also by copies and atomics; of tensor maps those of their tensors. A call that gets
    the address of a buffer writes it, unless it is a copy from there."""
    found = set()
    buffers_of(walk, body, set(), found)

    def calls(part):
        if not isinstance(part, list) or not part:
            return
        if part[:1] == ["call"] and part[1].startswith("stg"):
            found.update(to.buffer for to in [pointer(walk, part[2])] if to is not None)
        if part[:1] == ["call"] and part[1].startswith("tma_store"):
            found.update(name.removesuffix("_desc") for name in part[2:4] if isinstance(name, str))
        if part[:1] == ["call"] and part[1] != "ptx_cp_async" and not part[1].startswith(("tma_load", "prefetch")):
            for given in part[2:]:
                if isinstance(given, list) and given[:2] == ["call", "address_of"] and isinstance(given[2], list):
                    found.add(given[2][1])
                elif isinstance(given, str) and given in walk.buffers and part[1] not in ("tvm_access_ptr", "address_of"):
                    found.add(given)
        for inner in part:
            calls(inner)

    calls(body)
    return found


def buffers_of(walk, body, reads, writes):
    """Names of the buffers that statements read and write, without where."""
    def expr(part):
        if isinstance(part, list) and part:
            if part[0] == "load":
                reads.add(part[1])
            if part[0] == "call" and part[1] == "tvm_access_ptr" and isinstance(part[3], str):
                mask = part[6] if len(part) > 6 and isinstance(part[6], int) else 3
                if mask & 1:
                    reads.add(part[3])
                if mask & 2:
                    writes.add(part[3])
            for inner in part[1:]:
                expr(inner)

    for s in body:
        if s[0] == "store":
            writes.add(s[1])
            expr(s[2])
            expr(s[3])
            continue
        for part in s[1:]:
            if isinstance(part, list) and part and isinstance(part[0], list):
                buffers_of(walk, part, reads, writes)
            else:
                expr(part)
