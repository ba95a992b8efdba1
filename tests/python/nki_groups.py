# SPDX-License-Identifier: Apache-2.0
"""A kernel of our own for each group of instructions, in the present dialect. Their traces are in golden/.

The numbers that they compute mean nothing: each instruction of a group is called as kernels call it, in a loop, with
tensors of a ring, a manager or the planner.
"""

import nki
import nki.isa as nisa
import nki.language as nl


def tile(columns, dtype=nl.float32, buffer=nl.sbuf, **options):
    return nl.ndarray((128, columns), dtype=dtype, buffer=buffer, **options)


@nki.jit
def transfers(x):
    """DMA: copies, transposes, sums, and every second column."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[0] // 128):
        rows = nl.ds(i * 128, 128)
        t = tile(128, x.dtype, address=(0, i % 3 * 256))
        u = tile(128, x.dtype)
        nisa.dma_copy(dst=t[:, 0:128:2], src=x[rows, 0:128:2])
        nisa.dma_copy(dst=t[:, 1:128:2], src=x[rows, 1:128:2])
        nisa.dma_transpose(dst=u, src=t)
        nisa.dma_compute(dst=out[rows, :], srcs=[t, u], reduce_op=nl.add, scales=[1.0, 1.0])
    return out


@nki.jit
def indirect(table, index):
    """Rows by indices of the device, read and written."""
    out = nl.ndarray(table.shape, dtype=table.dtype, buffer=nl.shared_hbm)
    width = table.shape[1]
    at = tile(1, nl.int32)
    rows = tile(width, table.dtype)
    nisa.dma_copy(dst=at, src=index)
    nisa.dma_copy(dst=rows, src=table.ap(pattern=[[width, 128], [1, width]], vector_offset=at, indirect_dim=0))
    nisa.dma_copy(dst=out.ap(pattern=[[width, 128], [1, width]], vector_offset=at, indirect_dim=0), src=rows)
    return out


@nki.jit
def sums(a, b):
    """The tensor engine: a sum over four parts in each of four rounds, and a transpose."""
    out = nl.ndarray((512, 128), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in nl.affine_range(4):
        acc = tile(128, buffer=nl.psum, address=(0, m % 2 * 2048))
        for k in nl.affine_range(4):
            left, right = tile(128, a.dtype), tile(128, b.dtype)
            nisa.dma_copy(dst=left, src=a[nl.ds(k * 128, 128), nl.ds(m * 128, 128)])
            nisa.dma_copy(dst=right, src=b[nl.ds(k * 128, 128), :])
            nisa.nc_matmul(dst=acc, stationary=left, moving=right)
        res, turned = tile(128), tile(128, buffer=nl.psum)
        nisa.tensor_copy(dst=res, src=acc, engine=nisa.scalar_engine)
        nisa.nc_transpose(dst=turned, data=res)
        nisa.tensor_copy(dst=res, src=turned, engine=nisa.vector_engine)
        nisa.dma_copy(dst=out[nl.ds(m * 128, 128), :], src=res)
    return out


@nki.jit
def pointwise(x):
    """The vector engine, element by element and along rows."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[0]):
        t, u, mask = tile(64), tile(64), tile(64, nl.uint8)
        total, stats, both = tile(1), tile(6), tile(2)
        nisa.dma_copy(dst=t, src=x[i])
        nisa.tensor_scalar(dst=u, data=t, op0=nl.multiply, operand0=2.0, op1=nl.add, operand1=1.0)
        nisa.tensor_scalar(dst=mask, data=t, op0=nl.greater, operand0=0.0)
        nisa.tensor_tensor(dst=u, data1=u, data2=t, op=nl.add)
        nisa.scalar_tensor_tensor(dst=u, data=u, op0=nl.multiply, operand0=2.0, op1=nl.add, operand1=t)
        nisa.tensor_tensor_scan(dst=u, data0=u, data1=t, initial=0.0, op0=nl.multiply, op1=nl.add)
        nisa.tensor_scalar_cumulative(dst=u, src=u, op0=nl.add, op1=nl.add, imm0=0.0)
        nisa.tensor_copy_predicated(dst=u, src=t, predicate=mask)
        nisa.select_reduce(dst=u, predicate=mask, on_true=u, on_false=0.0)
        nisa.range_select(dst=u, on_true_tile=u, comp_op0=nl.greater, comp_op1=nl.less, bound0=total_of(t), bound1=total_of(u))
        nisa.tensor_reduce(dst=total, op=nl.add, data=u, axis=1)
        nisa.tensor_scalar_reduce(dst=u, data=u, op0=nl.multiply, operand0=total, reduce_op=nl.add, reduce_res=total)
        nisa.bn_stats(dst=stats, data=u)
        nisa.bn_aggr(dst=both, data=stats)
        nisa.reciprocal(dst=both, data=both)
        nisa.tensor_scalar(dst=u, data=u, op0=nl.multiply, operand0=both[:, 0:1])
        nisa.nc_stream_shuffle(dst=t, src=u, shuffle_mask=list(range(32)))
        nisa.dma_copy(dst=out[i], src=t)
    return out


def total_of(t):
    made = tile(1)
    nisa.tensor_reduce(dst=made, op=nl.add, data=t, axis=1)
    return made


@nki.jit
def searches(x):
    """Largest elements and where they are."""
    out = nl.ndarray((128, 16), dtype=nl.float32, buffer=nl.shared_hbm)
    t, largest, at = tile(64), tile(8), tile(8, nl.uint32)
    nisa.dma_copy(dst=t, src=x)
    nisa.max8(dst=largest, src=t)
    nisa.nc_find_index8(dst=at, data=t, vals=largest)
    nisa.nc_match_replace8(dst=t, data=t, vals=largest, imm=0.0)
    both = tile(16)
    nisa.tensor_copy(dst=both[:, 0:8], src=largest)
    nisa.tensor_copy(dst=both[:, 8:16], src=at)
    nisa.dma_copy(dst=out, src=both)
    return out


@nki.jit
def functions(x):
    """The scalar engine."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    bias = tile(1)
    nisa.memset(dst=bias, value=0.0)
    for i in nl.sequential_range(x.shape[0]):
        t, total = tile(64), tile(1)
        nisa.dma_copy(dst=t, src=x[i])
        nisa.activation(dst=t, op=nl.exp, data=t, bias=bias, scale=0.5)
        nisa.activation_reduce(dst=t, op=nl.square, data=t, reduce_op=nl.add, reduce_res=total, bias=bias)
        nisa.activation(dst=total, op=nl.rsqrt, data=total, bias=bias)
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=total)
        nisa.dma_copy(dst=out[i], src=t)
    return out


@nki.jit
def general(x, index):
    """GpSimd."""
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    t, at, steps, row = tile(64), tile(64, nl.uint32), tile(64, nl.int32), nl.ndarray((1, 64), dtype=nl.float32,
                                                                                    buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=at, src=index)
    nisa.iota(dst=steps, pattern=[[1, 64]], offset=0)
    nisa.affine_select(dst=t, pattern=[[-1, 64]], channel_multiplier=1, on_true_tile=t, on_false_value=0.0)
    picked = tile(64)
    nisa.nc_n_gather(dst=picked, data=t, indices=at)
    nisa.tensor_partition_reduce(dst=row, op=nl.add, data=picked)
    nisa.tensor_tensor(dst=picked, data1=picked, data2=steps, op=nl.add, engine=nisa.gpsimd_engine)
    nisa.dma_copy(dst=out, src=picked)
    nisa.dma_copy(dst=out[0:1, :], src=row)
    return out


@nki.jit
def random_numbers(x, seed):
    """Random numbers."""
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    t, kept, seeds = tile(64), tile(64), tile(1, nl.uint32)
    nisa.dma_copy(dst=seeds, src=seed)
    nisa.set_rng_seed(src_seeds=seeds)
    nisa.dma_copy(dst=t, src=x)
    nisa.dropout(dst=kept, data=t, prob=0.5)
    nisa.rng(dst=t)
    nisa.tensor_tensor(dst=kept, data1=kept, data2=t, op=nl.add)
    nisa.dma_copy(dst=out, src=kept)
    return out


@nki.jit
def rings(a, b):
    """Every tensor has an address, in rings of two and three tiles, so that loops are found again."""
    out = nl.ndarray((512, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in nl.affine_range(4):
        acc = tile(512, buffer=nl.psum, address=(0, m % 2 * 2048))
        for k in nl.affine_range(6):
            left = tile(128, a.dtype, address=(0, k % 3 * 256))
            right = tile(512, b.dtype, address=(0, 1024 + k % 2 * 1024))
            nisa.dma_copy(dst=left, src=a[nl.ds(k * 128, 128), nl.ds(m * 128, 128)])
            nisa.dma_copy(dst=right, src=b[nl.ds(k * 128, 128), :])
            nisa.nc_matmul(acc, left, right)
        res = tile(512, address=(0, 4096 + m % 2 * 2048))
        nisa.tensor_copy(dst=res, src=acc)
        nisa.dma_copy(dst=out[nl.ds(m * 128, 128), :], src=res)
    return out


@nki.jit
def causal(q, k):
    """Row i has i + 1 parts: a loop whose bound is that of the loop around it."""
    out = nl.ndarray((q.shape[1], 128), dtype=nl.float32, buffer=nl.shared_hbm)
    count = q.shape[1] // 128
    parts = [tile(128, k.dtype, address=(0, j * 256)) for j in range(count)]
    for j in nl.affine_range(count):
        nisa.dma_copy(dst=parts[j], src=k[:, nl.ds(j * 128, 128)])
    for i in nl.affine_range(count):
        row = tile(128, q.dtype, address=(0, 8192 + i % 2 * 256))
        acc = tile(128, buffer=nl.psum, address=(0, i % 2 * 2048))
        res = tile(128, address=(0, 9216 + i % 2 * 512))
        nisa.dma_copy(dst=row, src=q[:, nl.ds(i * 128, 128)])
        for j in range(i + 1):
            nisa.nc_matmul(dst=acc, stationary=row, moving=parts[j])
        nisa.tensor_copy(dst=res, src=acc)
        nisa.dma_copy(dst=out[nl.ds(i * 128, 128), :], src=res)
    return out


def spad_example(kernel):
    import spad.nki.trace as nt
    return {"transfers": [nt.hbm((768, 128), "bf16")],
            "rings": [nt.hbm((768, 512), "bf16"), nt.hbm((768, 512), "bf16")],
            "causal": [nt.hbm((128, 1024), "bf16"), nt.hbm((128, 1024), "bf16")],
            "indirect": [nt.hbm((1024, 64), "bf16"), nt.hbm((128, 1), "int32")],
            "sums": [nt.hbm((512, 512), "bf16"), nt.hbm((512, 128), "bf16")],
            "pointwise": [nt.hbm((4, 128, 64), "f32")],
            "searches": [nt.hbm((128, 64), "f32")],
            "functions": [nt.hbm((5, 128, 64), "f32")],
            "general": [nt.hbm((128, 64), "f32"), nt.hbm((128, 64), "uint32")],
            "random_numbers": [nt.hbm((128, 64), "f32"), nt.hbm((128, 1), "uint32")]}[kernel]
