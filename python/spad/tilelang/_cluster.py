# SPDX-License-Identifier: Apache-2.0
"""Clusters of blocks in lowered TileLang: which blocks are walked, and the intrinsics that reach memory of another block.

A kernel whose blocks touch only their own memory is walked for one block: another block changes nothing for it, and a barrier of
the cluster is one of its own threads. Otherwise every block is walked, with its rank in place of `block_rank_in_cluster`: tensors and
mbarriers are there once per block, and agents are the warps of all. The memory of a block ends when all its threads have: they
meet at its end, and then what others reach is freed.
"""

from . import _calls
from . import _sets
from ._sets import Opaque
from ._tree import STATEMENTS
from ._write import Op

BLOCKS_MOST = 16
_RANK = "block_rank_in_cluster"
_REACH = frozenset("ptx_arrive_cluster_barrier tma_load_multicast tma_store_cluster ptx_cluster_store clc_try_cancel_multicast".split())


def blocks_of(tree):
    """How many blocks have to be walked: all of a cluster where one reaches memory of another, else one."""
    size = 1
    for extent in tree.get("cluster", []):
        size *= extent
    return size if size > 1 and _reaches(tree["body"]) else 1


def _reaches(part):
    if not isinstance(part, list):
        return False
    if part[:1] == ["call"] and len(part) > 1:
        name = part[1]
        if name in _REACH or name.endswith("_2cta") or name == "ptx_arrive_barrier_expect_tx" and len(part) > 4:
            return True
        if name.startswith("ptx_tcgen05_mma") and part[-1] not in (0, False):
            return True
    return any(_reaches(inner) for inner in part)


def with_rank(tree, rank):
    """The statements of a kernel for one block: its rank is a number, or the name of a parameter."""
    return _body(tree["body"], rank) if _RANK in str(tree["body"]) else tree["body"]


def _body(body, rank):
    return [[s[0], *[_body(part, rank) if kind == "b" else _ranked(part, rank) if kind == "e" else part
                     for kind, part in zip(STATEMENTS[s[0]], s[1:])]] for s in body]


def _ranked(tree, rank):
    if not isinstance(tree, list) or not tree:
        return tree
    if tree[:2] == ["call", _RANK]:
        return rank
    return [tree[0], *[_ranked(part, rank) for part in tree[1:]]]


def axes_of(tree, rank):
    """(x, y, z) of a block in its cluster."""
    wide, high, _ = tree.get("cluster", [1, 1, 1])
    return rank % wide, rank // wide % high, rank // wide // high


# ---- intrinsics --------------------------------------------------------------------------------------


def peer(walk, tree, what):
    """The block of the cluster that an expression names."""
    value = walk._uniform(walk.value(tree))
    if walk.blocks == 1:
        raise _calls._unsupported(walk, what, "the kernel has no cluster")
    try:
        total = walk.scope.sum(value)
    except Opaque as why:
        raise _calls._unsupported(walk, what, f"of a block that is not known: {why}") from None
    if total.terms or not 0 <= total.const < walk.blocks:
        raise _calls._unsupported(walk, what, f"of block '{total.text()}' of a cluster of {walk.blocks}")
    return total.const


def pair(walk):
    """The two blocks that share an operation of tcgen05: ranks that differ in the last bit."""
    if walk.blocks == 1:
        raise _calls._unsupported(walk, "an operation of two blocks", "the kernel has no cluster")
    return [walk.block & ~1, walk.block | 1]


def meet(walk):
    """All threads of the cluster; of the one block that is walked, where no other matters."""
    total = walk.blocks * walk.count
    walk.barriers["cluster"] = total
    walk.line(f"sync cluster by {len(walk.lanes)}")


def _sync(walk, args, _):
    meet(walk)


def _arrive(walk, args, _, word=""):
    """barrier.cluster.arrive: a phase of its own for each; the wait says which."""
    walk.split = True
    walk.line(f"arrive cluster_split by {len(walk.lanes)}{word}")


def _arrive_relaxed(walk, args, statement):
    _arrive(walk, args, statement, " relaxed")


def _wait(walk, args, _):
    walk.split = True
    walk.line("wait cluster_split next")


def _arrive_remote(walk, args, _):
    block = peer(walk, args[1], "an arrival at a barrier of a cluster")
    walk.line(f"arrive {_calls.mbarrier(walk, args[0], block)} by {len(walk.lanes)}")


def _blocks_of_mask(walk, tree):
    mask = _calls._number(walk, tree, "the blocks of a multicast")
    found = [block for block in range(walk.blocks) if mask >> block & 1]
    if not found or mask >> walk.blocks:
        raise _calls._unsupported(walk, "a multicast", f"to blocks {mask:#x} of a cluster of {walk.blocks}")
    return found


def _multicast(walk, args, _):
    """A copy to the same place in several blocks, which completes at the mbarrier of each."""
    _calls.tma_load(walk, [*args[:3], *args[4:]], _blocks_of_mask(walk, args[3]))


def _load_pair(walk, args, _):
    """A copy of both blocks of a pair, each to its own memory; the mbarrier is that of the first."""
    _calls.tma_load(walk, args, [walk.block], pair(walk)[0])


def _store_cluster(walk, args, _):
    """A copy from shared memory to that of another block: it arrives there, with its bytes, which the copy delivers."""
    target, source = _calls.pointer(walk, args[0]), _calls.pointer(walk, args[1])
    block = peer(walk, args[2], "a copy to another block")
    size = _calls._number(walk, args[3], "the size of a copy to another block")
    barrier = _calls.mbarrier(walk, args[4], block)
    walk.line(f"arrive {barrier} by {len(walk.lanes)} expect {size * len(walk.lanes)}")
    walk.line("fence")
    op = Op("tma", "to_block", f" delivers {barrier}")
    walk.units["tma"] = "unit tma on copy free proxy"
    walk.access(op.reads, source.buffer, source.index, size * 8 // source.bits, source.bits)
    walk.reach(walk.block, f"free {walk.named(source.buffer, walk.block)}")  # which no wait of this block keeps
    walk.access(op.writes, target.buffer, target.index, size * 8 // target.bits, target.bits, block=block)
    walk.emit(op)


def _element_store(walk, args, _):
    """A store of an element to the memory of another block."""
    target = _calls.pointer(walk, args[0])
    block = peer(walk, args[2], "a store to another block")
    op = Op("simt", "store_to_block")
    walk.collect(args[1], op)
    walk.collect(args[3], op)
    walk.access(op.writes, target.buffer, ["+", target.index, args[3]], 1, block=block)
    walk.emit(op)


def _cancel(walk, args, _, blocks=None):
    """clusterlaunchcontrol.try_cancel: 16 bytes that come from the hardware, in one block or in all."""
    target = _calls.pointer(walk, args[0])
    blocks = [walk.block] if blocks is None else blocks
    walk.units["clc"] = "unit clc on copy free proxy"
    op = Op("clc", "try_cancel", "".join(f" delivers {_calls.mbarrier(walk, args[1], block)} by 16" for block in blocks))
    for block in blocks:
        walk.access(op.writes, target.buffer, target.index, 128 // target.bits, target.bits, block=block)
    walk.emit(op)


def _cancel_all(walk, args, statement):
    _cancel(walk, args, statement, list(range(walk.blocks)))


def _answer(walk, args, _):
    """clusterlaunchcontrol.query_cancel: TileLang's functions load the 16 bytes, and have a fence of the async proxy after that."""
    target, op = _calls.pointer(walk, args[0]), Op("simt", "query_cancel")
    walk.access(op.reads, target.buffer, target.index, 128 // target.bits, target.bits)
    walk.emit(op)
    walk.line("fence")


# ---- the end of a block ------------------------------------------------------------------------------


def close(walk, agents):
    """The ends of the agents (name, body, registers, threads) of a cluster: the memory that another block reaches is there until the
    threads of its block have ended."""
    made = []
    for name, body, registers, threads in agents:
        block = int(name[5:name.index("_")])
        reached = list(walk.reached.get(block, ()))
        if reached:
            walk.barriers[f"exit_block{block}"] = walk.count
            body = [*body, f"sync exit_block{block} by {threads}"]
            if name.endswith("_warp_0"):
                body += reached
        made.append((name, body, registers, threads))
    return made


TABLE = {
    "cluster_sync": _sync, "cluster_arrive": _arrive, "cluster_arrive_relaxed": _arrive_relaxed, "cluster_wait": _wait,
    "ptx_arrive_cluster_barrier": _arrive_remote, "tma_load_multicast": _multicast, "tma_load_2cta": _load_pair,
    "tma_store_cluster": _store_cluster, "ptx_cluster_store": _element_store,
    "clc_try_cancel": _cancel, "clc_try_cancel_multicast": _cancel_all, **dict.fromkeys(_calls.ANSWERS, _answer),
}
