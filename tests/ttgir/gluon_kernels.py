"""Kernels of Gluon whose blocks touch each other's memory: what Triton 3.9 prints for them is tests/ttgir/gluon_*.

    python3 tests/ttgir/gluon_kernels.py FOLDER

compiles them, with Triton's passes for addresses and barriers where the name has `placed`."""
import pathlib
import re
import sys

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (TensorMemoryLayout, allocate_tensor_memory,
                                                                 fence_async_shared, tcgen05_commit, tcgen05_mma,
                                                                 tcgen05_mma_barrier_count)
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait


@gluon.jit
def store_tile(c_desc, values):
    c = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_shape, c_desc.layout)
    c.store(values.to(c_desc.dtype))
    fence_async_shared()
    tma.async_store(c_desc, [0, 0], c)
    tma.store_wait(0)


@gluon.jit
def multicast(a_desc, b_desc, c_desc, tiles, S: gl.constexpr, MMA: gl.constexpr):
    """Each block has half of the rows of A; B is the same in both, and block 0 copies it to both."""
    a = gl.allocate_shared_memory(a_desc.dtype, [S] + a_desc.block_shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, [S] + b_desc.block_shape, b_desc.layout)
    ready = mbarrier.allocate_mbarrier(batch=S)
    empty = mbarrier.allocate_mbarrier(batch=S, two_ctas=True)
    for i in gl.static_range(S):
        mbarrier.init(ready.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    acc = gl.zeros((a_desc.block_shape[0], b_desc.block_shape[1]), gl.float32, MMA)
    for k in range(tiles):
        s = k % S
        mbarrier.wait(empty.index(s), (k // S & 1) ^ 1)
        mbarrier.expect(ready.index(s), a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [0, k * 64], ready.index(s), a.index(s))
        tma.async_load(b_desc, [k * 64, 0], ready.index(s), b.index(s), multicast=True)
        mbarrier.wait(ready.index(s), k // S & 1, deps=[a, b])
        acc = warpgroup_mma(a.index(s), b.index(s), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(empty.index(s))
    store_tile(c_desc, acc)


@gluon.jit
def load_part(a_desc, b_desc, a, b, ready, empty, tiles):
    S: gl.constexpr = a.shape[0]
    for k in range(tiles):
        s = k % S
        mbarrier.wait(empty.index(s), (k // S & 1) ^ 1)
        mbarrier.expect(ready.index(s), a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [0, k * 64], ready.index(s), a.index(s), multicast=True)
        tma.async_load(b_desc, [k * 64, 0], ready.index(s), b.index(s), multicast=True)


@gluon.jit
def product_part(a, b, acc, ready, empty, done, tiles):
    S: gl.constexpr = a.shape[0]
    for k in range(tiles):
        s = k % S
        mbarrier.wait(ready.index(s), k // S & 1)
        tcgen05_mma(a.index(s), b.index(s), acc, use_acc=k != 0, multicast=True, mbarriers=[empty.index(s)])
    tcgen05_commit(done, descs=[a.index(0), b.index(0)])


@gluon.jit
def store_part(c_desc, acc, done):
    mbarrier.wait(done, 0)
    store_tile(c_desc, acc.load())


@gluon.jit
def pair_ws(a_desc, b_desc, c_desc, tiles, LAYOUT: gl.constexpr, S: gl.constexpr):
    """Products of two blocks, with partitions for copies, products and the result."""
    a = gl.allocate_shared_memory(a_desc.dtype, [S] + a_desc.block_shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, [S] + b_desc.block_shape, b_desc.layout)
    acc = allocate_tensor_memory(gl.float32, [a_desc.block_shape[0], b_desc.block_shape[1]], LAYOUT)
    ready = mbarrier.allocate_mbarrier(batch=S, two_ctas=True)
    empty = mbarrier.allocate_mbarrier(batch=S)
    done = mbarrier.allocate_mbarrier()
    count: gl.constexpr = tcgen05_mma_barrier_count([a.index(0), b.index(0)], multicast=True, two_ctas=True)
    for i in gl.static_range(S):
        mbarrier.init(ready.index(i), count=1)
        mbarrier.init(empty.index(i), count=count)
    mbarrier.init(done, count=count)
    gl.warp_specialize([(store_part, (c_desc, acc, done)),
                        (load_part, (a_desc, b_desc, a, b, ready, empty, tiles)),
                        (product_part, (a, b, acc, ready, empty, done, tiles))], [1, 1], [24, 24])


@gluon.jit
def pair(a_desc, b_desc, c_desc, tiles, LAYOUT: gl.constexpr):
    """Products of two blocks, one after another; each block waits for both before it copies again."""
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_shape, b_desc.layout)
    acc = allocate_tensor_memory(gl.float32, [a_desc.block_shape[0], b_desc.block_shape[1]], LAYOUT)
    ready = mbarrier.allocate_mbarrier(two_ctas=True)
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(ready, count=1)
    mbarrier.init(done, count=1)
    for k in range(tiles):
        mbarrier.expect(ready, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [0, k * 64], ready, a)
        tma.async_load(b_desc, [k * 64, 0], ready, b)
        mbarrier.wait(ready, k & 1, deps=[a, b])
        tcgen05_mma(a, b, acc, use_acc=k != 0, mbarriers=[done])
        mbarrier.wait(done, k & 1, deps=[a, b])
    mbarrier.invalidate(ready)
    mbarrier.invalidate(done)
    store_tile(c_desc, acc.load())


@gluon.jit
def softmax(x_ptr, y_ptr, stride, N: gl.constexpr):
    """Rows in several blocks: the reductions go from block to block."""
    cga: gl.constexpr = ((1, ), (2, ), (4, ), (8, ))[:gl.num_ctas().bit_length() - 1]
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0], cga_layout=cga)
    at = gl.arange(0, N, layout)
    x = gl.load(x_ptr + gl.program_id(0) * stride + at)
    y = gl.exp(x - gl.max(x, axis=0))
    gl.store(y_ptr + gl.program_id(0) * stride + at, y / gl.sum(y, axis=0))


@gluon.jit
def gathered(x_ptr, y_ptr, TO: gl.constexpr):
    """A conversion that moves values between blocks, and an arrival of block 0 for both."""
    FROM: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0], cga_layout=[[1, 0]])
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    at = gl.arange(0, 64, gl.SliceLayout(1, FROM))[:, None] * 64 + gl.arange(0, 64, gl.SliceLayout(0, FROM))[None, :]
    x = gl.load(x_ptr + at)
    mbarrier.arrive(bar, from_cta=0)
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    y = gl.convert_layout(x, TO)
    to = gl.arange(0, 64, gl.SliceLayout(1, TO))[:, None] * 64 + gl.arange(0, 64, gl.SliceLayout(0, TO))[None, :]
    gl.store(y_ptr + to, y)


def tile(rows, cols, cga):
    layout = gl.NVMMASharedLayout.get_default_for([rows, cols], gl.float16, cga_layout=cga)
    return "fp16", [rows, cols], layout


def tiles(blocks):
    """A, B and the result of products of pairs: each pair has 256 rows, and half of B is in each block."""
    rows = [[1, 0], [2, 0]][:blocks.bit_length() - 1]
    halves = [[0, 1], [0, 0]][:blocks.bit_length() - 1]
    layout = TensorMemoryLayout(block=(128, 128), col_stride=1, cga_layout=rows, two_ctas=True)
    return {"a_desc": tile(128 * blocks, 64, rows), "b_desc": tile(64, 128, halves),
            "c_desc": tile(128 * blocks, 128, rows), "tiles": "i32"}, layout


def cases():
    """(name, function, signature, constants, chip, blocks)"""
    two, layout = tiles(2)
    four, wide = tiles(4)
    wgmma = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 128, 16], cga_layout=[[1, 0]])
    once = {"a_desc": tile(256, 64, [[1, 0]]), "b_desc": tile(64, 128, [[0, 0]]), "c_desc": tile(256, 128, [[1, 0]]),
            "tiles": "i32"}
    to = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0], cga_layout=[[0, 1]])
    rows = {"x_ptr": "*fp32:16", "y_ptr": "*fp32:16", "stride": "i32"}
    yield "multicast_cluster2_sm90_s2_v39_placed", multicast, once, {"S": 2, "MMA": wgmma}, 90, 2
    yield "pair_cluster2_sm100_v39", pair, two, {"LAYOUT": layout}, 100, 2
    yield "pair_cluster2_sm100_v39_placed", pair, two, {"LAYOUT": layout}, 100, 2
    yield "pair_ws_cluster2_sm100_s2_v39_placed", pair_ws, two, {"LAYOUT": layout, "S": 2}, 100, 2
    yield "pair_ws_cluster4_sm100_s2_v39_placed", pair_ws, four, {"LAYOUT": wide, "S": 2}, 100, 4
    yield "softmax_cluster2_sm90_v39_placed", softmax, rows, {"N": 4096}, 90, 2
    yield "gathered_cluster2_sm90_v39_placed", gathered, {"x_ptr": "*fp32:16", "y_ptr": "*fp32:16"}, {"TO": to}, 90, 2


def record(folder):
    import spad.triton as st
    for name, function, signature, constants, chip, blocks in cases():
        text = st.compile(function, signature, constants, chip, num_ctas=blocks, num_warps=4)
        if name.endswith("placed"):
            text = st.place(text, chip)
        text = re.sub(r'"[^"]*/site-packages/(triton/)', r'"/\1', text)  # where the package is, is of no interest
        text = re.sub(r'"[^"]*gluon_kernels.py"', '"gluon_kernels.py"', text)
        (pathlib.Path(folder) / f"gluon_{name}.ttgir").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    record(sys.argv[1])
