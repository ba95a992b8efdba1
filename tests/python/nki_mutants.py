# SPDX-License-Identifier: Apache-2.0
"""Kernels whose rings and offsets are numbers in their source, for a study of mutants (test_nki_mutants.py).
PRESENT and OLDER are texts: a mutant is one of them with one number lowered."""

PRESENT = '''
import nki
import nki.isa as nisa
import nki.language as nl
from spad.nki import ModularAllocator, SbufManager


@nki.jit
def ring(x):
    """Loads that run ahead, in a ring of three."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = []
    for i in range(8):
        t = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, address=(0, i % 3 * 256))
        nisa.dma_copy(dst=t, src=x[i])
        tiles.append(t)
        if i >= 2:
            u = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, address=(0, 768 + i % 2 * 256))
            nisa.activation(dst=u, op=nl.exp, data=tiles[i - 2])
            nisa.dma_copy(dst=out[i - 2], src=u)
    return out


@nki.jit
def offsets(x):
    """Tensors one after another, some of them only while others are dead."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, address=(0, 0))
    b = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, address=(0, 256))
    c = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, address=(0, 512))
    half = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.sbuf, address=(64, 768))
    other = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.sbuf, address=(0, 768))
    nisa.dma_copy(dst=a, src=x[0])
    nisa.dma_copy(dst=b, src=x[1])
    nisa.tensor_tensor(dst=c, data1=a, data2=b, op=nl.add)
    nisa.dma_copy(dst=out[0], src=c)
    nisa.dma_copy(dst=half, src=x[2, 0:64])
    nisa.dma_copy(dst=other, src=x[2, 64:128])
    d = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, address=(0, 1024))
    nisa.tensor_scalar(dst=d, data=a, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out[1], src=d)
    nisa.dma_copy(dst=out[2, 0:64], src=half)
    nisa.dma_copy(dst=out[2, 64:128], src=other)
    e = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, address=(0, 1280))
    nisa.dma_copy(dst=e, src=x[3])
    nisa.dma_copy(dst=out[3], src=e)
    nisa.dma_copy(dst=out[4], src=b)
    return out


@nki.jit
def banks(x):
    """Sums in a ring of PSUM banks that are read later."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    sums = []
    w = nl.load(x[7])
    for i in range(6):
        t = nl.load(x[i])
        p = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum, address=(0, i % 3 * 2048))
        nisa.nc_matmul(dst=p, stationary=t, moving=w, accumulate=False)
        nisa.nc_matmul(dst=p, stationary=w, moving=t, accumulate=True)
        sums.append(p)
        if i >= 2:
            u = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=u, src=sums[i - 2])
            nisa.dma_copy(dst=out[i - 2, 0:64], src=u)
    return out


@nki.jit
def managed(x):
    """A manager with two sections, and a ring of the modular allocator."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    sbm = SbufManager(0, 65536)
    sbm.open_scope(interleave_degree=2)
    rings = ModularAllocator(initial_address=65536)
    late = rings.alloc_sbuf_tensor((128, 64), nl.float32, block_dim=[8], num_free_tiles=[3])
    before = None
    for i in range(8):
        row = sbm.alloc_stack((128, 64), nl.float32)
        nisa.dma_copy(dst=row, src=x[i])
        nisa.tensor_scalar(dst=late[i], data=row, op0=nl.add, operand0=1.0)
        if before is not None:
            nisa.tensor_tensor(dst=late[i], data1=late[i], data2=before, op=nl.add)
        if i >= 2:
            nisa.dma_copy(dst=out[i - 2], src=late[i - 2])
        before = row
        sbm.increment_section()
    sbm.close_scope()
    return out
'''

OLDER = '''
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def groups(x):
    """Two groups of tiles: loads, sums and results in rings of their own."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    w = nl.ndarray((par_dim(128), 64), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    t = nl.ndarray((4, 2, par_dim(128), 64), dtype=x.dtype,
                   buffer=ncc.sbuf.mod_alloc(base_addr=256, num_free_tiles=(2, 2)))
    p = nl.ndarray((4, 2, par_dim(64), 64), dtype=nl.float32,
                   buffer=ncc.psum.mod_alloc(base_bank=1, num_bank_tiles=(2, 2)))
    r = nl.ndarray((4, 2, par_dim(64), 64), dtype=x.dtype,
                   buffer=ncc.sbuf.mod_alloc(base_addr=1280, num_free_tiles=(2, 1)))
    w[...] = nl.load(x[7])
    for j in nl.affine_range(2):
        t[0, j] = nl.load(x[j])
    for i in nl.affine_range(4):
        if i < 3:
            for j in nl.affine_range(2):
                t[i + 1, j] = nl.load(x[2 * i + j + 2])
        for j in nl.affine_range(2):
            p[i, j] = nisa.nc_matmul(t[i, j], w)
        for j in nl.affine_range(2):
            r[i, j] = nl.copy(p[i, j])
            nl.store(out[2 * i + j, 0:64], value=r[i, j])
    return out


@nki.jit
def lanes(x):
    """Tiles beside each other: four along the partitions."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((8, par_dim(32), 64), dtype=x.dtype,
                   buffer=ncc.sbuf.mod_alloc(base_addr=512, num_par_tiles=(4,), num_free_tiles=(1,)))
    for i in nl.affine_range(2):
        for j in nl.affine_range(4):
            t[4 * i + j] = nl.load(x[i, 32 * j:32 * j + 32])
        for j in nl.affine_range(4):
            nl.store(out[i, 32 * j:32 * j + 32], value=t[4 * i + j])
    return out


@nki.jit
def placed(x):
    """A function places the tiles."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)

    def where(idx, pdim_size, fdim_size):
        return (0, 4096 + idx[0] % 4 * fdim_size)

    t = nl.ndarray((8, par_dim(128), 64), dtype=x.dtype, buffer=ncc.sbuf.alloc(where))
    u = nl.ndarray((8, par_dim(128), 64), dtype=x.dtype,
                   buffer=ncc.sbuf.mod_alloc(base_addr=5120, num_free_tiles=(2,)))
    for i in nl.affine_range(8):
        t[i] = nl.load(x[i])
        if i >= 3:
            u[i - 3] = nl.add(t[i - 3], t[i])
            nl.store(out[i - 3], value=u[i - 3])
    return out
'''
