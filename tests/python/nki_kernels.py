# SPDX-License-Identifier: Apache-2.0
"""NKI kernels of our own, for test_nki_trace.py. They are imported under the stand-in only."""

import nki
import nki.isa as nisa
import nki.language as nl
from spad.nki import ModularAllocator, SbufManager

P = nl.tile_size.pmax


@nki.jit
def matmul(lhsT, rhs):
    K, M = lhsT.shape
    N = rhs.shape[1]
    out = nl.ndarray((M, N), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(M // P):
        acc = nl.ndarray((P, N), dtype=nl.float32, buffer=nl.psum)
        for k in nl.affine_range(K // P):
            a = nl.ndarray((P, P), dtype=lhsT.dtype, buffer=nl.sbuf)
            b = nl.ndarray((P, N), dtype=rhs.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=a, src=lhsT[k * P:(k + 1) * P, nl.ds(m * P, P)])
            nisa.dma_copy(dst=b, src=rhs[k * P:(k + 1) * P, :])
            nisa.nc_matmul(dst=acc, stationary=a, moving=b)
        res = nl.ndarray((P, N), dtype=lhsT.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=res, src=acc)
        nisa.dma_copy(dst=out[m * P:(m + 1) * P, :], src=res)
    return out


@nki.jit
def attention(q, k, v, scale=1.0):
    """softmax(q k^T) v for one tile of 128 queries; q and k have the head dimension first."""
    d, rows = q.shape
    keys = k.shape[1]
    out = nl.ndarray((rows, d), dtype=q.dtype, buffer=nl.shared_hbm)
    q_sb = nl.ndarray((d, rows), dtype=q.dtype, buffer=nl.sbuf)
    k_sb = nl.ndarray((d, keys), dtype=k.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=q_sb, src=q)
    nisa.dma_copy(dst=k_sb, src=k)
    scores = nl.ndarray((rows, keys), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=scores, stationary=q_sb, moving=k_sb)
    top = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=top, op=nl.maximum, data=scores, axis=1, negate=True)
    p = nl.ndarray((rows, keys), dtype=q.dtype, buffer=nl.sbuf)
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation_reduce(dst=p, op=nl.exp, data=scores, bias=top, scale=scale, reduce_op=nl.add,
                           reduce_res=total)
    nisa.reciprocal(dst=total, data=total)
    result = nl.ndarray((rows, d), dtype=nl.float32, buffer=nl.psum)
    for j in range(keys // P):
        turned = nl.ndarray((P, rows), dtype=q.dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=turned, data=p[:, j * P:(j + 1) * P])
        pT = nl.ndarray((P, rows), dtype=q.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=pT, src=turned, engine=nisa.scalar_engine)
        v_sb = nl.ndarray((P, d), dtype=v.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=v_sb, src=v[j * P:(j + 1) * P, :])
        nisa.nc_matmul(dst=result, stationary=pT, moving=v_sb)
    o = nl.ndarray((rows, d), dtype=q.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=o, data=result, op0=nl.multiply, operand0=total)
    nisa.dma_copy(dst=out, src=o)
    return out


class Config(nl.NKIObject):
    eps: float = 1e-5
    scratch: bool = False


@nki.jit
def layernorm(x, gamma, config=None):
    config = Config(eps=1e-6) if config is None else config
    rows, width = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    g = nl.ndarray((P, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=g, src=gamma.reshape((1, width)).broadcast(0, P))
    for i in nl.affine_range(rows // P):
        t = nl.ndarray((P, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[i * P:(i + 1) * P])
        parts = width // nl.tile_size.bn_stats_fmax
        stats = nl.ndarray((P, parts, 6), dtype=nl.float32, buffer=nl.sbuf)
        for j in range(parts):
            nisa.bn_stats(dst=stats[:, j, :], data=t[:, j * 512:(j + 1) * 512])
        moments = nl.ndarray((P, 2), dtype=nl.float32, buffer=nl.sbuf)
        nisa.bn_aggr(dst=moments, data=stats)
        nisa.activation(dst=moments[:, 1:2], op=nl.rsqrt, data=moments[:, 1:2], bias=None, scale=1.0)
        nisa.tensor_scalar(dst=t, data=t, op0=nl.subtract, operand0=moments[:, 0:1], op1=nl.multiply,
                           operand1=moments[:, 1:2])
        nisa.tensor_tensor(dst=t, data1=t, data2=g, op=nl.multiply)
        nisa.dma_copy(dst=out[i * P:(i + 1) * P], src=t)
    return out


@nki.jit
def language(x):
    """The functions of nki.language that make tensors."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    zero = nl.zeros((P, 1), dtype=nl.float32)
    s = nl.sum(nl.exp(t), axis=1, keepdims=True)
    nl.store(out, nl.multiply(nl.add(t, zero), s))
    return out


@nki.jit
def direct(x, ring=4):
    """Tiles at addresses of the kernel's choice, in a ring of `ring` slots, all alive together."""
    tiles = ModularAllocator(initial_address=1024).alloc_sbuf_tensor(
        (P, 512), nl.bfloat16, block_dim=[4], num_free_tiles=[ring])
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    acc = nl.ndarray((P, 512), dtype=nl.float32, buffer=nl.psum, address=(0, 2048))
    for i in range(4):
        nisa.dma_copy(dst=tiles[i], src=x[i * P:(i + 1) * P, :])
    for i in range(4):
        nisa.tensor_copy(dst=acc, src=tiles[i])
        nisa.tensor_copy(dst=tiles[i], src=acc)
        nisa.dma_copy(dst=out[i * P:(i + 1) * P, :], src=tiles[i])
    return out


@nki.jit
def managed(x, degree=2):
    """SbufManager with sections, mixed with a tensor that is placed automatically."""
    sbm = SbufManager(0, nl.tile_size.total_available_sbuf_size)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    sums = nl.ndarray((P, 4), dtype=nl.float32, buffer=nl.sbuf)
    sbm.open_scope(interleave_degree=degree, name="rows")
    for i in range(4):
        row = sbm.alloc_stack((P, 512), nl.bfloat16, name=f"row{i}")
        nisa.dma_copy(dst=row, src=x[i * P:(i + 1) * P, :])
        nisa.tensor_reduce(dst=sums[:, i], op=nl.add, data=row, axis=1)
        nisa.tensor_scalar(dst=row, data=row, op0=nl.multiply, operand0=sums[:, i:i + 1])
        nisa.dma_copy(dst=out[i * P:(i + 1) * P, :], src=row)
        sbm.increment_section()
    sbm.close_scope()
    return out


@nki.jit
def views(x, y):
    """Steps, access patterns, types, broadcasts, transposed shapes."""
    t = nl.ndarray((P, 64, 8), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x.reshape((P, 64, 8)))
    even = nl.ndarray((P, 256), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.tensor_copy(dst=even, src=t.reshape((P, 512))[:, 0:512:2])
    nisa.tensor_copy(dst=even[:, 1:256:3], src=t.ap(pattern=[[512, P], [6, 85]], offset=2))
    turned = nl.ndarray((P, 8, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.tensor_copy(dst=turned, src=t.permute((0, 2, 1)))
    words = turned.view(nl.float32)
    nisa.memset(dst=words[:, 1, 0:8], value=0)
    nisa.tensor_tensor(dst=even.reshape((P, 4, 64)), data1=turned[:, 0:1, :].broadcast(1, 4),
                       data2=turned[:, 4:8, :], op=nl.add)
    nisa.dma_copy(dst=y, src=even)
    return y


@nki.jit
def gather(table, index):
    """Rows of a table by indices of the device."""
    rows = index.shape[0]
    out = nl.ndarray((rows, table.shape[1]), dtype=table.dtype, buffer=nl.shared_hbm)
    i = nl.ndarray((rows, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=i, src=index)
    t = nl.ndarray((rows, table.shape[1]), dtype=table.dtype, buffer=nl.sbuf)
    width = table.shape[1]
    nisa.dma_copy(dst=t, src=table.ap(pattern=[[width, rows], [1, width]], vector_offset=i, indirect_dim=0))
    nisa.dma_copy(dst=out, src=t)
    return out


@nki.jit
def dynamic(x, count):
    """A loop with a count of the device."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    c = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=c, src=count)
    reg = nisa.register_alloc()
    nisa.register_load(reg, c)
    for i in nl.dynamic_range(reg):
        t = nl.ndarray((P, 64), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[i])
        nisa.dma_copy(dst=out[i], src=t)
    return out


# ---- errors ----------------------------------------------------------------------------------------

@nki.jit
def raises(x):
    t = nl.load(x)
    assert t.shape[1] == 7, "seven columns"


@nki.jit
def wrong_shapes(x):
    t = nl.ndarray((P, 8), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)


@nki.jit
def unknown(x):
    nisa.tensor_frobnicate(dst=x, src=x)


@nki.jit
def unknown_parameter(x):
    nisa.tensor_copy(dst=nl.load(x), src=nl.load(x), colour="red")


@nki.jit
def recursive(x):
    return recursive(x)


@nki.jit
def leaves(x):
    t = nl.load(x)
    nisa.memset(dst=t[:, 0:t.shape[1] + 1], value=0)


@nki.jit
def branches(x):
    if nisa.register_alloc():
        nl.load(x)


@nki.jit
def many(x):
    t = nl.load(x)
    while True:
        nisa.memset(dst=t, value=0)


@nki.jit
def collective(x):
    import nki.collectives as ncc
    ncc.all_reduce(x)


def copied(what, to):
    nisa.tensor_copy(dst=to, src=what)


@nki.jit
def through_calls(x, late=False):
    """Two calls of one helper; late: what it copies is loaded afterwards."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t, u = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf) for _ in range(2))
    if not late:
        nisa.dma_copy(dst=t, src=x)
    copied(t, u)
    copied(u, t)
    nisa.dma_copy(dst=out, src=t)
    return out


@nki.jit
def empty(x):
    return x


@nki.jit
def wrong_engine(x):
    nisa.activation(dst=nl.load(x), op=nl.exp, data=nl.load(x))
    nisa.tensor_copy(dst=nl.load(x), src=nl.load(x), engine=nisa.engine.tensor)


@nki.jit
def unreachable(x):
    """The tensor engine writes PSUM only."""
    t = nl.load(x)
    nisa.nc_matmul(dst=nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf), stationary=t[:, 0:128],
                   moving=t[:, 0:128])


def spad_example(kernel):
    import spad.nki.trace as nt
    if kernel == "matmul":
        return {"lhsT": nt.hbm((256, 128), "bf16"), "rhs": nt.hbm((256, 512), "bf16")}
    return [nt.hbm((512, 512), "bf16")]


@nki.jit
def halves(x, wait=True, other_data=False):
    """Two cores: each writes its half to shared HBM, and reads the half of the other."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    between = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    cores, me = nl.num_programs(0), nl.program_id(0)
    half = x.shape[1] // cores
    mine, other = nl.ds(me * half, half), nl.ds((cores - 1 - me) * half, half)
    t = nl.ndarray((P, half), dtype=x.dtype, buffer=nl.sbuf)
    u = nl.ndarray((P, half), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x[:, mine])
    nisa.activation(dst=t, op=nl.exp, data=t)
    nisa.dma_copy(dst=between[:, mine], src=t)
    if wait:
        nisa.core_barrier(data=out if other_data else between, cores=(0, 1))
    nisa.dma_copy(dst=u, src=between[:, other])
    nisa.tensor_tensor(dst=t, data1=t, data2=u, op=nl.add)
    nisa.dma_copy(dst=out[:, mine], src=t)
    return out


@nki.jit
def exchanged(x, overwrite=False):
    """Two cores: each sends its sum to the other."""
    out = nl.ndarray((2, *x.shape), dtype=nl.float32, buffer=nl.shared_hbm)
    me = nl.program_id(0)
    t = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf, address=(0, 0))
    u = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf, address=(0, 0 if overwrite else 4 * x.shape[1]))
    nisa.dma_copy(dst=t, src=x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=float(me + 1))
    nisa.sendrecv(src=t, dst=u, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0)
    nisa.tensor_tensor(dst=t, data1=t, data2=u, op=nl.add)
    nisa.dma_copy(dst=out[me], src=t)
    return out


@nki.jit
def one_sided(x):
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    u = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    if nl.program_id(0) == 0:
        nisa.sendrecv(src=t, dst=u, send_to_rank=1, recv_from_rank=1, pipe_id=0)
    nisa.dma_copy(dst=x[:, nl.ds(nl.program_id(0) * 64, 64)], src=t[:, nl.ds(nl.program_id(0) * 64, 64)])


@nki.jit
def composed(x, w):
    """Functions of the language that are several instructions."""
    out = nl.ndarray((6, *x.shape), dtype=nl.float32, buffer=nl.shared_hbm)
    t, scale = nl.load(x), nl.load(w)
    nl.store(out[0], nl.softmax(t, axis=1))
    nl.store(out[1], nl.rms_norm(t, scale, axis=1, n=x.shape[1]))
    nl.store(out[2], nl.copy(nl.matmul(t, t)))
    nl.store(out[3], nl.transpose(t))
    nl.store(out[4], nl.copy(nl.matmul(t, nl.load_transpose2d(x), transpose_x=True)))
    nl.store(out[5, :, 0:1], nl.var(t, axis=1))
    return out


@nki.jit
def random(x, index, seed):
    """Numbers of the device, and elements by their number."""
    nl.random_seed(nl.load(seed))
    t = nl.add(nl.dropout(nl.load(x), 0.5), nl.rand(x.shape, dtype=x.dtype))
    nl.store(x, t)
    nl.store(x[:, 0:8], nl.gather_flattened(t, nl.load(index)))


@nki.jit
def appended(x, counts, start):
    """Each core writes its part of a row behind what is there already, at a place that the device knows."""
    me, width = nl.program_id(0), x.shape[1]
    out = nl.ndarray((2, 1024), dtype=x.dtype, buffer=nl.shared_hbm)
    offset = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=offset, src=counts)
    t = nl.ndarray((1, width), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=out.ap([[1024, 1], [1, width]], offset=start * me, scalar_offset=offset, indirect_dim=1), src=t)
    return out


@nki.jit
def both_store(x, change):
    """Both cores do the same, apart from what `change` names, and store it to the same place."""
    me = nl.program_id(0)
    out = nl.ndarray((P, 256), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((P, 256), dtype=nl.float32, buffer=nl.sbuf)
    u = nl.ndarray((P, 256), dtype=nl.float32, buffer=nl.sbuf)
    first = 1 if me and change == "source" else 0
    nisa.dma_copy(dst=t, src=x[:, first:first + 256])
    nisa.memset(dst=u, value=me if change == "constant" else 1)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=float(me if change == "scalar" else 2),
                       op1=nl.maximum if me and change == "operation" else nl.add, operand1=1.0)
    swapped = me and change == "order of operands"
    nisa.tensor_tensor(dst=t, data1=u if swapped else t, data2=t if swapped else u, op=nl.subtract)
    if change == "random":
        nisa.rng(dst=t)
    if change == "function":
        t = nl.add(t, me)
    if change == "pattern":
        nisa.iota(dst=t, pattern=[[1, 256]], offset=me)
    if change == "other core":
        nisa.sendrecv(src=t, dst=u, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0)
        nisa.tensor_copy(dst=t, src=u)
    if change == "order of stores":
        for part in ((t, u) if me else (u, t)):
            nisa.dma_copy(dst=out, src=part)
    elif change == "part":
        nisa.dma_copy(dst=out[:, 0:128 + me], src=t[:, 0:128 + me])
    elif change == "added":
        nisa.dma_copy(dst=out, src=t, dst_rmw_op=nl.add)
    else:
        nisa.dma_copy(dst=out, src=t)
    if change == "read":
        nisa.dma_copy(dst=u, src=out)
    return out
