# SPDX-License-Identifier: Apache-2.0
"""Kernels in the older dialect (neuronxcc.nki), for traces."""

import functools
import math

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import neuronxcc.nki.typing as nt
from neuronxcc.nki.language import par_dim


@nki.jit
def rows(x):
    """Index tiles and masks: the last tile is partly empty."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(x.shape[1])[None, :]
    for i in nl.affine_range(math.ceil(x.shape[0] / 128)):
        inside = i * 128 + i_p < x.shape[0]
        t = nl.load(x[i * 128 + i_p, i_f], mask=inside)
        e = nl.exp(t, mask=inside)
        total = nl.sum(e, axis=[1], mask=inside)
        share = nl.divide(e, total, mask=inside)
        nl.store(out[i * 128 + i_p, i_f], value=share, mask=inside)
    return out


@nki.jit
def matmul(lhsT, rhs):
    """Sums in PSUM, blocks, slots that are written."""
    depth, height = lhsT.shape
    result = nl.ndarray((height, rhs.shape[1]), dtype=rhs.dtype, buffer=nl.shared_hbm)
    a = nl.ndarray((depth // 128, par_dim(128), height), dtype=lhsT.dtype, buffer=nl.sbuf)
    b = nl.ndarray((depth // 128, par_dim(128), rhs.shape[1]), dtype=rhs.dtype, buffer=nl.sbuf)
    acc = nl.zeros((height, rhs.shape[1]), dtype=nl.float32, buffer=nl.psum)
    for k in nl.affine_range(depth // 128):
        a[k] = nl.load(lhsT[k * 128:(k + 1) * 128, :])
        b[k, :, :] = nl.load(rhs[nl.ds(k * 128, 128), :])
        acc += nisa.nc_matmul(a[k], b[k])
    nl.store(result, value=nl.copy(acc, dtype=result.dtype))
    return result


@ncc.skip_middle_end_transformations
@ncc.enable_stack_allocator(log_level=10)
@nki.baremetal(artifacts_dir="unused")
def placed(x, tiles=2, banks=2, base=0):
    """Everything is placed: a ring of loads, a ring of banks."""
    count = x.shape[0] // 128
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((count, par_dim(128), 512), dtype=nl.bfloat16,
                   buffer=ncc.sbuf.mod_alloc(base_addr=base, num_free_tiles=(tiles,)))
    p = nl.ndarray((count, par_dim(128), 512), dtype=nl.float32,
                   buffer=ncc.psum.mod_alloc(base_bank=0, num_bank_tiles=(banks,)))
    r = nl.ndarray((count, par_dim(128), 512), dtype=nl.bfloat16,
                   buffer=ncc.sbuf.alloc(functools.partial(after, first=8192)))
    for i in nl.affine_range(count):
        t[i] = nl.load(x[nl.ds(i * 128, 128), :])
    for i in nl.affine_range(count):
        p[i] = nisa.nc_matmul(t[i, :, 0:128], t[i])
        r[i, :, :] = nl.copy(p[i])
        nl.store(out[nl.ds(i * 128, 128), :], value=r[i])
    return out


def after(first, idx, pdim_size, fdim_size):
    return (0, first + idx[0] % 2 * fdim_size)


@nki.jit
def counted(x):
    """The compiler runs the body of a loop once, so a cursor in it moves once."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    at = 0
    for i in nl.affine_range(x.shape[0] // 128):
        for j in nl.sequential_range(2):
            t = nl.ndarray((par_dim(128), 512), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=at))
            at += 1024
            u = nl.ndarray((par_dim(128), 512), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=at))
            at += 1024
            t[...] = nl.load(x[i * 128:(i + 1) * 128, j * 512:(j + 1) * 512])
            u[...] = nl.copy(t)
            nl.store(out[i * 128:(i + 1) * 128, j * 512:(j + 1) * 512], value=u)
    return out


@nki.jit
def add(a, b):
    """A program of a grid."""
    c = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:128, 0:256]
    row, column = nl.program_id(0) * 128 + i_p, nl.program_id(1) * 256 + i_f
    assert nl.num_programs() == nl.num_programs(0) * nl.num_programs(1) and nl.program_ndim() == 2
    nl.store(c[row, column], value=nl.load(a[row, column]) + nl.load(b[row, column]))
    return c


def launch(a, b):
    return add[a.shape[0] // 128, a.shape[1] // 256](a, b)


def launch_on_cores(a, b):
    return add[nl.spmd_dim(a.shape[0] // 256, nl.nc(2)), a.shape[1] // 256](a, b)


@nki.jit
def sum_used_twice(x):
    """A sum that is used again is a tensor of its own."""
    t = nl.load(x)
    acc = nl.zeros((par_dim(128), 128), dtype=nl.float32, buffer=nl.psum)
    r = nisa.nc_matmul(t, t)
    acc += r
    nl.store(x, value=nl.add(acc, r))


@nki.jit
def functions(x, weight):
    """Functions that are several instructions."""
    out = nl.ndarray((6, *x.shape), dtype=nl.float32, buffer=nl.shared_hbm)
    i = nl.mgrid[0:128, 0:128]
    t = nl.load(x[i.p, i.x])
    w = nl.load(weight.reshape((1, 128)))
    nl.store(out[0], nl.softmax(t, axis=1))
    nl.store(out[1], nl.rms_norm(t, w, axis=1, n=128))
    nl.store(out[2], nl.matmul(t, t))
    nl.store(out[3], nl.transpose(t))
    nl.store(out[4], (t - nl.mean(t, axis=1)) / nl.sqrt(nl.var(t, axis=1) + 1e-5))
    s = nl.zeros((par_dim(128), 128), dtype=nl.float32)
    for k in nl.sequential_range(2):
        s[...] = nl.loop_reduce(nl.multiply(t, float(k + 1)), op=nl.add, loop_indices=[k])
    s += 1.0
    nl.store(out[5], s)
    return out


@nki.jit
def instructions(x):
    """Instructions that give their result back."""
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    t: nt.tensor[128, 512] = nl.load(x)
    i_p, i_f = nl.mgrid[0:128, 0:512]
    causal = nisa.affine_select(pred=(i_p >= i_f), on_true_tile=t, on_false_value=nl.fp32.min)
    top = nisa.tensor_reduce(op=nl.max, data=causal, axis=1, negate=True)
    total = nl.ndarray((par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)
    e = nisa.activation(op=nl.exp, data=causal, bias=top, reduce_op=nl.add, reduce_res=total,
                        reduce_cmd=nisa.reduce_cmd.reset_reduce)
    share = nisa.tensor_scalar(data=e, op0=nl.multiply, operand0=nisa.reciprocal(total))
    scan = nisa.tensor_tensor_scan(share, t, initial=0.0, op0=nl.multiply, op1=nl.add)
    count = nisa.iota(i_f, dtype=nl.int32)
    both = nisa.tensor_tensor(scan, count, op=nl.add)
    turned = nisa.nc_transpose(both[:, 0:128])
    both[:, 0:128] = nisa.tensor_copy(turned)
    both[:, 128:256] = nisa.scalar_tensor_tensor(data=t[:, 0:128], op0=nl.add, operand0=top, op1=nl.multiply,
                                                 operand1=t[:, 128:256])
    stats = nisa.bn_aggr(nisa.bn_stats(t))
    both[:, 256:258] = nisa.tensor_copy(stats)
    both[:, 258:259] = nisa.memset((128, 1), 3.0, nl.float32)
    nisa.dma_copy(dst=out[i_p, i_f], src=both)
    return out


@nki.jit
def others(x, index, seed):
    """What the other kernels do not call."""
    out = nl.ndarray((12, 128, 128), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.load(x)
    nl.store(out[0], value=nl.load_transpose2d(x))
    nl.store(out[1], value=nl.static_cast(t, nl.bfloat16).astype(nl.float32))
    like = nl.zeros_like(t)
    like += nl.empty_like(t).shape[0]
    like *= 2.0
    like -= t
    like /= 2
    nl.store(out[2], value=like)
    ones = nl.ones((par_dim(128), 128), dtype=nl.float32)
    nl.store(out[3], value=nl.broadcast_to(nl.expand_dims(nl.sum(t, axis=1), 2), shape=(128, 128, 1)) - ones)
    predicate = nl.greater(t, 0.0)
    copied = nl.copy(ones)
    nisa.tensor_copy_predicated(src=t, dst=copied, predicate=predicate)
    nl.store(out[4], value=copied)
    nisa.nc_stream_shuffle(src=t, dst=copied, shuffle_mask=[31 - k for k in range(32)])
    nl.store(out[5], value=copied)
    low, high = nisa.memset((128, 1), 10, nl.float32), nl.full((par_dim(128), 1), 50, dtype=nl.float32)
    nl.store(out[6], value=nisa.range_select(on_true_tile=t, comp_op0=nl.greater_equal, comp_op1=nl.less, bound0=low,
                                             bound1=high, on_false_value=0.0))
    chosen = nl.ndarray((par_dim(128), 128), dtype=nl.float32, buffer=nl.sbuf)
    nisa.select_reduce(dst=chosen, predicate=predicate, on_true=t, on_false=-1.0)
    nl.store(out[7], value=-chosen)
    eight = nisa.max8(src=t)
    row = nl.zeros((par_dim(128), 128), dtype=nl.float32)
    row[:, 0:8] = nisa.tensor_copy(eight)
    row[:, 8:16] = nisa.nc_find_index8(data=t, vals=eight)
    row[0:1, 16:80] = nisa.tensor_partition_reduce(nl.add, t[:, 0:64])
    row[0:32, 96:128] = nisa.nc_transpose(t[0:32, 0:32])
    nl.store(out[8], value=row)
    nl.store(out[9], value=nisa.nc_match_replace8(data=t, vals=eight, imm=0.0))
    identity = nl.load(nl.shared_identity_matrix(128, dtype=nl.float32))
    nl.store(out[10], value=nl.where(predicate, t, identity) if t.assert_shape((128, 128)) is not None else t)
    nl.store(out[11], value=(1.0 - t) ** 2 + (t < 0.5))
    nl.device_print("t", t)
    return out


@nki.jit
def not_computed(x, index, seed):
    """What has no numbers."""
    t, at = nl.load(x), nl.load(index)
    nl.random_seed(nl.load(seed))
    t += nl.dropout(t, rate=0.5) + nl.rand((128, 128), dtype=nl.float32)
    nl.store(x, value=t)
    nl.store(x[:, 0:8], value=nl.gather_flattened(t, at))
    nl.atomic_rmw(x, value=t, op=nl.add)
    bounds = nisa.sequence_bounds(segment_ids=nl.load(seed))
    nl.store(x[0:1, 0:2], value=bounds)
    nl.store(x[:, 0:128], value=nisa.local_gather(t, at[:, 0:1], num_elem_per_idx=8))


@nki.jit
def pooled(x):
    """A view with more dimensions than its tensor."""
    c, h, w = x.shape
    out = nl.ndarray((c, h // 2, w // 2), dtype=x.dtype, buffer=nl.shared_hbm)
    i0, i1, i2, i3, i4 = nl.mgrid[0:c, 0:h // 2, 0:2, 0:w // 2, 0:2]
    t = nl.load(x)
    nl.store(out, value=nl.sum(t[i0, 2 * i1 + i2, 2 * i3 + i4], axis=[2, 4]) / 4.0)
    return out


@nki.jit
def used_twice(x):
    """A result that is written into a slot and used again is a tensor of its own."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((par_dim(128), x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    r = nl.exp(nl.load(x))
    t[...] = r
    t[...] = nl.square(t)
    nl.store(out, value=r + t)
    return out


@nki.jit
def gathered(table, index):
    out = nl.ndarray((128, table.shape[1]), dtype=table.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(128)[:, None], nl.arange(table.shape[1])[None, :]
    at = nl.load(index)
    nl.store(out, value=nl.load(table[at[i_p, 0], i_f]))
    return out


# ---- mistakes ----------------------------------------------------------------------------------------------


def mixed(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    u = nl.ndarray((par_dim(128), 512), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    u[...] = nl.exp(nl.load(x))  # a tensor of the compiler
    nl.store(out, value=u)
    return out


def unknown(x):
    nl.load_faster(x)


def unknown_parameter(x):
    nisa.tensor_copy(nl.load(x), colour=3)


def outside(x):
    i_p, i_f = nl.mgrid[0:128, 0:512]
    nl.store(x[i_p, i_f], value=nl.load(x[i_p, i_f + 1]))


def not_affine(x):
    nl.load(x[nl.arange(128)[:, None] // 2, nl.arange(512)[None, :]])


def along_blocks(x):
    t = nl.ndarray((4, par_dim(128), 512), dtype=x.dtype, buffer=nl.sbuf)
    t[nl.arange(4)[:, None, None], nl.arange(128)[None, :, None], nl.arange(512)[None, None, :]] = 0.0


def several_blocks(x):
    t = nl.ndarray((4, par_dim(32), 512), dtype=x.dtype, buffer=nl.sbuf)
    t[...] = nl.load(x.reshape((4, 32, 512)))


def other_shape(x):
    t = nl.ndarray((par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)
    t[...] = nl.load(x)


def no_mask(x):
    nl.store(x, value=nl.load(x, mask=3))


def collective(x):
    nl.all_reduce(nl.load(x), nl.add, 0)


def spad_example(kernel):
    import spad.nki.trace as trace
    return {"x": trace.hbm((512, 512), "bf16")}


@nki.jit
def masked_by_python(x, rows):
    """Masks of numbers that Python knows: all of a tile, or nothing of it."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(2):
        t = nl.zeros((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        u = nl.load(x[i * 128:(i + 1) * 128, :], mask=(i * 128 < rows))
        t[...] = nl.copy(u, mask=(i * 128 < rows))
        nl.store(out[i * 128:(i + 1) * 128, :], value=t, mask=True)
    return out
