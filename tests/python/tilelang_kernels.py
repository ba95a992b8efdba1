# SPDX-License-Identifier: Apache-2.0
"""Kernels in TileLang, written for the tests of spad.tilelang.load, and the trees that TileLang lowers them to.

    python tests/python/tilelang_kernels.py          # needs tilelang; writes golden/tilelang/*.json

The tests read those trees everywhere; where TileLang is installed they also lower the kernels.
"""

import json
import sys
from pathlib import Path

TREES = Path(__file__).parent / "golden" / "tilelang"


def gemm(size=256, block=64, deep=32, stages=3):
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((size, size), "float16"), B: T.Tensor((size, size), "float16"),
             C: T.Tensor((size, size), "float16")):
        with T.Kernel(size // block, size // block, threads=128) as (bx, by):
            a = T.alloc_shared((block, deep), "float16")
            b = T.alloc_shared((deep, block), "float16")
            c = T.alloc_shared((block, block), "float16")
            acc = T.alloc_fragment((block, block), "float32")
            T.clear(acc)
            for ko in T.Pipelined(size // deep, num_stages=stages):
                T.copy(A[by * block, ko * deep], a)
                T.copy(B[ko * deep, bx * block], b)
                T.gemm(a, b, acc)
            T.copy(acc, c)
            T.copy(c, C[by * block, bx * block])

    return main


def attention(rows=512, width=64, block=64, stages=2):
    """Softmax of the products of q and k, times v, with a running maximum."""
    import tilelang.language as T

    @T.prim_func
    def main(Q: T.Tensor((rows, width), "float16"), K: T.Tensor((rows, width), "float16"),
             V: T.Tensor((rows, width), "float16"), O: T.Tensor((rows, width), "float16")):
        with T.Kernel(rows // block, threads=128) as bx:
            q = T.alloc_shared((block, width), "float16")
            k = T.alloc_shared((block, width), "float16")
            v = T.alloc_shared((block, width), "float16")
            o = T.alloc_shared((block, width), "float16")
            s = T.alloc_fragment((block, block), "float32")
            p = T.alloc_fragment((block, block), "float16")
            out = T.alloc_fragment((block, width), "float32")
            top = T.alloc_fragment((block,), "float32")
            old = T.alloc_fragment((block,), "float32")
            part = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(Q[bx * block, 0], q)
            T.clear(out)
            T.clear(total)
            T.fill(top, -T.infinity("float32"))
            for n in T.Pipelined(rows // block, num_stages=stages):
                T.copy(K[n * block, 0], k)
                T.clear(s)
                T.gemm(q, k, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(top, old)
                T.reduce_max(s, top, dim=1, clear=False)
                for i, j in T.Parallel(block, block):
                    s[i, j] = T.exp2(s[i, j] - top[i])
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(block):
                    total[i] = total[i] * T.exp2(old[i] - top[i]) + part[i]
                T.copy(s, p)
                for i, j in T.Parallel(block, width):
                    out[i, j] = out[i, j] * T.exp2(old[i] - top[i])
                T.copy(V[n * block, 0], v)
                T.gemm(p, v, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block, width):
                out[i, j] = out[i, j] / total[i]
            T.copy(out, o)
            T.copy(o, O[bx * block, 0])

    return main


def tensor_memory(size=512, block=128, deep=64, stages=0):
    """A product that is summed in tensor memory. With stages the slot of a product is released when the product is issued, and
    not when it is done."""
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((size, size), "float16"), B: T.Tensor((size, size), "float16"),
             C: T.Tensor((size, size), "float16")):
        with T.Kernel(size // block, size // block, threads=128) as (bx, by):
            a = T.alloc_shared((block, deep), "float16")
            b = T.alloc_shared((block, deep), "float16")
            total = T.alloc_tmem((block, block), "float32")
            done = T.alloc_barrier(1)
            part = T.alloc_fragment((block, block), "float32")
            c = T.alloc_shared((block, block), "float16")
            for ko in T.Pipelined(size // deep, num_stages=stages):
                T.copy(A[by * block, ko * deep], a)
                T.copy(B[bx * block, ko * deep], b)
                T.tcgen05_gemm(a, b, total, False, True, mbar=done, clear_accum=ko == 0)
                T.mbarrier_wait_parity(done, ko % 2)
            T.copy(total, part)
            T.copy(part, c)
            T.copy(c, C[by * block, bx * block])

    return main


def hasty():
    return tensor_memory(stages=2)


def dynamic(stages=3):
    """A product whose depth the host passes with each launch."""
    import tilelang.language as T

    rows, deep = T.dynamic("rows"), T.dynamic("deep")

    @T.prim_func
    def main(A: T.Tensor((rows, deep), "float16"), B: T.Tensor((deep, 64), "float16"), C: T.Tensor((rows, 64), "float16")):
        with T.Kernel(T.ceildiv(rows, 64), threads=128) as by:
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(deep, 32), num_stages=stages):
                T.copy(A[by * 64, ko * 32], a)
                T.copy(B[ko * 32, 0], b)
                T.gemm(a, b, acc)
            T.copy(acc, C[by * 64, 0])

    return main


def histogram(count=1024, bins=64):
    """Counts in shared memory, by atomics at places that data chooses; one buffer, which is not merged with others."""
    import tilelang.language as T

    @T.prim_func
    def main(X: T.Tensor((count,), "int32"), H: T.Tensor((bins,), "int32")):
        with T.Kernel(count // 256, threads=256) as bx:
            counts = T.alloc_shared((bins,), "int32")
            for i in T.Parallel(bins):
                counts[i] = 0
            for i in T.Parallel(256):
                T.atomic_add(counts[X[bx * 256 + i] % bins], 1)
            for i in T.Parallel(bins):
                T.atomic_add(H[i], counts[i])

    return main


def numbered(count=256):
    """Sums of the warps, at places that the numbers of warps and lanes give."""
    import tilelang.language as T

    @T.prim_func
    def main(X: T.Tensor((8, count), "float32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(8, threads=count) as bx:
            part = T.alloc_shared((count // 32,), "float32")
            tx = T.get_thread_binding()
            own = T.alloc_local((1,), "float32")
            own[0] = T.warp_reduce_sum(X[bx, tx])
            if T.get_lane_idx() == 0:
                part[T.get_warp_idx()] = own[0]
            T.sync_threads()
            if T.get_warp_group_idx() == 0 and tx == 0:
                own[0] = 0.0
                for w in T.serial(count // 32):
                    own[0] += part[w]
                Y[bx] = own[0]

    return main


def narrowed(count=128, rounds=4):
    """Two tiles, written in the first two rounds of a loop alone, at a place that a condition keeps inside."""
    import tilelang.language as T

    @T.prim_func
    def main(X: T.Tensor((8, 2, count), "float32"), Y: T.Tensor((8, rounds, count), "float32")):
        with T.Kernel(8, threads=count) as bx:
            x = T.alloc_shared((2, count), "float32")
            tx = T.get_thread_binding()
            for i in T.serial(rounds):
                if i < 2:
                    x[i, tx] = X[bx, i, tx]
                T.sync_threads()
                Y[bx, i, tx] = x[i % 2, count - 1 - tx]

    return main


def jit_functions():
    """Functions of tilelang.jit: one that gives a prim_func, one whose body is the kernel, one with tilelang.autotune."""
    import tilelang
    import tilelang.language as T

    @tilelang.jit(out_idx=[-1])
    def lazy(M, BK=32):
        return gemm(M, 128, BK)

    @tilelang.jit
    def eager(A, B, C, block: int = 128, deep: int = 32):
        M, N, K = T.const("M N K")
        A: T.Tensor[[M, K], T.float16]
        B: T.Tensor[[K, N], T.float16]
        C: T.Tensor[[M, N], T.float16]
        with T.Kernel(N // block, M // block, threads=128) as (bx, by):
            a = T.alloc_shared((block, deep), "float16")
            b = T.alloc_shared((deep, block), "float16")
            acc = T.alloc_fragment((block, block), "float32")
            T.clear(acc)
            for ko in T.Pipelined(K // deep, num_stages=3):
                T.copy(A[by * block, ko * deep], a)
                T.copy(B[ko * deep, bx * block], b)
                T.gemm(a, b, acc)
            T.copy(acc, C[by * block, bx * block])

    @tilelang.autotune(configs=[{"BK": 32}, {"BK": 64}])
    @tilelang.jit(out_idx=[-1])
    def tuned(M, BK=32):
        return gemm(M, 128, BK)

    return lazy, eager, tuned


CASES = {"gemm_sm_80": (gemm, "sm_80"), "gemm_sm_90": (gemm, "sm_90"), "gemm_sm_100": (gemm, "sm_100"),
         "attention_sm_80": (attention, "sm_80"), "attention_sm_90": (attention, "sm_90")}
OTHER = {"histogram_sm_90": (histogram, "sm_90"), "numbered_sm_90": (numbered, "sm_90"), "narrowed_sm_90": (narrowed, "sm_90"), "dynamic_sm_80": (dynamic, "sm_80"), "dynamic_sm_90": (dynamic, "sm_90")}


def unfenced():
    """Without roles for warps: copies by cp.async, and the last rounds outside of the loop."""
    return gemm()


def fed_by_threads(size=256, block=64, deep=32):
    """Roles for warps written by hand: threads of one group store tiles for products of the other, and arrive."""
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((size, size), "float16"), B: T.Tensor((size, size), "float16"), C: T.Tensor((size, size), "float16")):
        with T.Kernel(size // block, size // block, threads=256) as (bx, by):
            a = T.alloc_shared((2, block, deep), "float16")
            b = T.alloc_shared((2, deep, block), "float16")
            acc = T.alloc_fragment((block, block), "float32")
            full, empty = T.alloc_barrier([128] * 2), T.alloc_barrier([128] * 2)
            tx = T.get_thread_binding()
            if tx >= 128:
                for k in T.serial(size // deep):
                    T.barrier_wait(empty[k % 2], k // 2 % 2 ^ 1)
                    T.copy(A[by * block:by * block + block, k * deep:k * deep + deep], a[k % 2, :, :])
                    T.copy(B[k * deep:k * deep + deep, bx * block:bx * block + block], b[k % 2, :, :])
                    T.barrier_arrive(full[k % 2])
            else:
                T.clear(acc)
                for k in T.serial(size // deep):
                    T.barrier_wait(full[k % 2], k // 2 % 2)
                    T.gemm(a[k % 2, :, :], b[k % 2, :, :], acc)
                    T.barrier_arrive(empty[k % 2])
                T.copy(acc, C[by * block, bx * block])

    return main


def while_loop():
    """Rounds that data counts: TileLang puts a barrier between stores and loads, and none before the stores of the next round."""
    import tilelang.language as T

    @T.prim_func
    def main(X: T.Tensor((1024,), "float32"), rounds: T.Tensor((8,), "int32"), Y: T.Tensor((1024,), "float32")):
        with T.Kernel(8, threads=128) as bx:
            x = T.alloc_shared((128,), "float32")
            n = T.alloc_var("int32")
            n = rounds[bx]
            while n > 0:
                T.copy(X[bx * 128], x)
                for i in T.Parallel(128):
                    Y[bx * 128 + i] = x[127 - i]
                n = n - 1

    return main


def one_barrier():
    """Two groups of threads with a buffer each, one in static and one in dynamic memory. TileLang numbers the barriers of the
    two memories apart, so that both groups meet at barrier 3."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "tilelang"))
    import two_faults

    return two_faults.one_barrier(4)


def two_blocks(size=512, block=128, deep=64, stages=2):
    """Products of two blocks of a cluster: each copies its rows of A and half of the columns of B, the first multiplies, and both store."""
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((size, size), "bfloat16"), B: T.Tensor((size, size), "bfloat16"), C: T.Tensor((size, size), "bfloat16")):
        with T.ClusterKernel(size // block, size // block, threads=128, cluster_dims=2) as (bx, by):
            a = T.alloc_shared((stages, block, deep), "bfloat16")
            b = T.alloc_shared((stages, deep, block // 2), "bfloat16")
            sums = T.alloc_tmem([block, block], "float32")
            out = T.alloc_fragment((block, block), "float32")
            c = T.alloc_shared((block, block), "bfloat16")
            full = T.alloc_cluster_barrier([64] * stages)
            empty = T.alloc_cluster_barrier([1] * stages)
            done = T.alloc_barrier([1])
            tx = T.get_thread_binding()
            rank = T.block_rank_in_cluster()
            T.assume(rank < 2)
            if tx < 32:
                for k in T.serial(size // deep):
                    T.mbarrier_wait_parity(empty[k % stages], k // stages & 1 ^ 1)
                    T.tma_copy(A[bx * block:bx * block + block, k * deep:k * deep + deep], a[k % stages, :, :], barrier=full[k % stages])
                    T.tma_copy(B[k * deep:k * deep + deep, by * block + rank * (block // 2):by * block + (rank + 1) * (block // 2)],
                               b[k % stages, :, :], barrier=full[k % stages])
                    T.mbarrier_arrive(full[k % stages], 0)
            elif rank == 0 and tx < 64:
                for k in T.serial(size // deep):
                    T.mbarrier_wait_parity(full[k % stages], k // stages & 1)
                    T.tcgen05_gemm(a[k % stages, :, :], b[k % stages, :, :], sums, mbar=empty[k % stages], clear_accum=k == 0, use_2cta=True)
                T.tcgen05_mma_arrive(done, arrive_2cta=True)
            T.mbarrier_wait_parity(done, 0)
            T.copy(sums, out)
            T.copy(out, c)
            T.copy(c, C[bx * block, by * block])

    return main


def multicast(size=512, block=64, deep=64, stages=2, crossed=False):
    """Two blocks of a cluster with the same rows of A: the first copies them for both, when both have an empty slot. Crossed: each block
    counts the arrivals of both instead, and those of the first for the next lap may come before the last of the second for this one."""
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((size, size), "float16"), B: T.Tensor((size, size), "float16"), C: T.Tensor((size, size), "float16")):
        with T.ClusterKernel(size // block, size // block, threads=256, cluster_dims=(2, 1, 1)) as (bx, by):
            a = T.alloc_shared((stages, block, deep), "float16")
            b = T.alloc_shared((stages, deep, block), "float16")
            acc = T.alloc_fragment((block, block), "float32")
            full = T.alloc_barrier([1] * stages)
            if crossed:
                empty = T.alloc_cluster_barrier([256] * stages)
            else:
                empty = T.alloc_barrier([128] * stages)
                both = T.alloc_cluster_barrier([256] * stages)
            tx = T.get_thread_binding()
            if not crossed:
                rank = T.block_rank_in_cluster()
                T.assume(rank < 2)
            if tx >= 128:
                if tx == 128:
                    for k in T.serial(size // deep):
                        T.mbarrier_wait_parity(empty[k % stages], k // stages & 1 ^ 1)
                        if not crossed:
                            if rank == 0:
                                T.mbarrier_wait_parity(both[k % stages], k // stages & 1 ^ 1)
                        T.tma_copy(A[by * block:by * block + block, k * deep:k * deep + deep], a[k % stages, :, :], barrier=full[k % stages],
                                   cluster_mask=3)
                        T.tma_copy(B[k * deep:k * deep + deep, bx * block:bx * block + block], b[k % stages, :, :], barrier=full[k % stages])
                        T.mbarrier_arrive(full[k % stages])
            else:
                T.clear(acc)
                for k in T.serial(size // deep):
                    T.mbarrier_wait_parity(full[k % stages], k // stages & 1)
                    T.gemm(a[k % stages, :, :], b[k % stages, :, :], acc)
                    if crossed:
                        T.mbarrier_arrive(empty[k % stages], 0)
                        T.mbarrier_arrive(empty[k % stages], 1)
                    else:
                        T.mbarrier_arrive(empty[k % stages])
                        T.mbarrier_arrive(both[k % stages], 0)
                T.copy(acc, C[by * block, bx * block])
            T.cluster_sync()

    return main


def crossed_multicast():
    return multicast(crossed=True)


def hasty_multicast(rows=512, wide=64):
    """A copy for two blocks whose mbarriers only their own threads wait for: the second block may not have begun."""
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((rows, wide), "float16"), B: T.Tensor((rows, 2 * wide), "float16")):
        with T.ClusterKernel(2, rows // 64, threads=128, cluster_dims=(2, 1, 1)) as (bx, by):
            a = T.alloc_shared((64, wide), "float16")
            T.copy_cluster(A[by * 64, 0], a, cluster_mask=3)
            T.copy(a, B[by * 64, bx * wide])

    return main


def to_a_block(count=1024):
    """The first block of a cluster copies to the second: one part as a whole, and one element by element."""
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((count,), "float32"), B: T.Tensor((count,), "float32")):
        with T.ClusterKernel(2, threads=128, cluster_dims=(2, 1, 1)) as bx:
            x = T.alloc_shared((count // 2,), "float32")
            y = T.alloc_shared((count // 2,), "float32")
            z = T.alloc_shared((count // 2,), "float32")
            there = T.alloc_cluster_barrier([1])
            if bx == 0:
                T.copy(A[0:count // 2], x)
                T.copy_cluster(x, y, dst_block=1, remote_barrier=there[0])
                T.copy_cluster(x, z, dst_block=1)
            else:
                T.mbarrier_wait_parity(there[0], 0)
                T.copy(y, B[0:count // 2])
            T.cluster_sync()
            if bx == 1:
                T.copy(z, B[count // 2:count])

    return main


def alone(size=256):
    """A cluster whose blocks touch only their own memory, and meet."""
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((size, 128), "float32"), B: T.Tensor((size, 128), "float32")):
        with T.ClusterKernel(size // 32, threads=128, cluster_dims=(2, 1, 1)) as bx:
            a = T.alloc_shared((32, 128), "float32")
            T.copy(A[bx * 32, 0], a)
            T.cluster_sync()
            for i, j in T.Parallel(32, 128):
                B[bx * 32 + i, j] = a[i, 127 - j] * T.float32(2)

    return main


def sparse(size=256, block=64, deep=64):
    """A product whose A has two of four elements, and numbers that say which."""
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((size, size // 2), "float16"), E: T.Tensor((size, size // 16), "int16"), B: T.Tensor((size, size), "float16"),
             C: T.Tensor((size, size), "float32")):
        with T.Kernel(size // block, size // block, threads=128) as (bx, by):
            a = T.alloc_shared((block, deep // 2), "float16")
            e = T.alloc_shared((block, deep // 16), "int16")
            b = T.alloc_shared((deep, block), "float16")
            acc = T.alloc_fragment((block, block), "float32")
            T.clear(acc)
            for k in T.Pipelined(size // deep, num_stages=2):
                T.copy(A[by * block, k * deep // 2], a)
                T.copy(E[by * block, k * deep // 16], e)
                T.copy(B[k * deep, bx * block], b)
                T.gemm_sp(a, e, b, acc)
            T.copy(acc, C[by * block, bx * block])

    return main


def grid_sync(rows=512, wide=64, block=64):
    """A sum in two steps with a barrier of the grid between them: TileLang's roles for warps leave it to the warps that multiply."""
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((rows, rows), "float16"), B: T.Tensor((rows, wide), "float16"), P: T.Tensor((rows, wide), "float32"),
             C: T.Tensor((rows, wide), "float32")):
        with T.Kernel(rows // block, threads=128) as bx:
            a = T.alloc_shared((block, block), "float16")
            b = T.alloc_shared((block, wide), "float16")
            acc = T.alloc_fragment((block, wide), "float32")
            T.clear(acc)
            for k in T.Pipelined(rows // block, num_stages=2):
                T.copy(A[bx * block, k * block], a)
                T.copy(B[k * block, 0], b)
                T.gemm(a, b, acc)
            T.copy(acc, P[bx * block, 0])
            T.sync_grid()
            for i, j in T.Parallel(block, wide):
                C[bx * block + i, j] = P[rows - 1 - bx * block - i, j]

    return main


def from_tmem(rows=512, wide=128, block=128):
    """A product of what threads put into tensor memory: its columns are combined with `|`."""
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((rows, wide), "bfloat16"), B: T.Tensor((rows, wide), "bfloat16"), C: T.Tensor((rows, wide), "bfloat16")):
        with T.Kernel(rows // block, threads=128) as bx:
            b = T.alloc_shared((block, wide), "bfloat16")
            part = T.alloc_tmem([block, block], "bfloat16")
            sums = T.alloc_tmem([block, wide], "float32")
            a = T.alloc_fragment((block, block), "bfloat16")
            out = T.alloc_fragment((block, wide), "float32")
            done = T.alloc_barrier([1])
            tx = T.get_thread_binding()
            for k in T.serial(rows // block):
                T.copy(A[bx * block, 0], a)
                T.copy(B[k * block, 0], b)
                T.copy(a, part)
                T.sync_threads()
                if tx < 32:
                    T.tcgen05_gemm(part, b, sums, mbar=done[0], clear_accum=k == 0)
                T.mbarrier_wait_parity(done[0], k & 1)
            T.sync_threads()
            T.copy(sums, out)
            T.copy(out, C[bx * block, 0])
            T.sync_threads()

    return main


def scaled(size=256, blocks=2, deep=128):
    """Products with a scale for each row and 128 elements, in tensor memory. Every block has several tiles, in a while loop."""
    import tilelang.language as T

    tiles = size // 128

    @T.prim_func
    def main(A: T.Tensor((size, size), "float8_e4m3fn"), B: T.Tensor((size, size), "float8_e4m3fn"), X: T.Tensor((size,), "uint32"),
             Y: T.Tensor((size,), "uint32"), C: T.Tensor((size, size), "float32")):
        with T.Kernel(blocks, threads=256) as bx:
            a = T.alloc_shared((2, 128, deep), "float8_e4m3fn")
            b = T.alloc_shared((2, 128, deep), "float8_e4m3fn")
            x = T.alloc_shared((2, 128), "uint32")
            y = T.alloc_shared((2, 128), "uint32")
            sums = T.alloc_tmem([128, 128], "float32")
            xs = T.alloc_tmem([128, 4], "uint32")
            ys = T.alloc_tmem([128, 4], "uint32")
            out = T.alloc_fragment((128, 128), "float32")
            loaded = T.alloc_barrier([32] * 2)
            turned = T.alloc_barrier([32] * 2)
            used = T.alloc_barrier([1] * 2)
            full = T.alloc_barrier([1])
            empty = T.alloc_barrier([128])
            tx = T.get_thread_binding()
            n = T.alloc_var("int32")
            t = T.alloc_var("int32")
            n = 0
            t = bx
            if tx < 32:
                while t < tiles * tiles:
                    for k in T.serial(size // deep):
                        p = n * (size // deep) + k
                        T.mbarrier_wait_parity(used[p % 2], p // 2 & 1 ^ 1)
                        T.tma_copy(A[t // tiles * 128:t // tiles * 128 + 128, k * deep:k * deep + deep], a[p % 2, :, :], barrier=loaded[p % 2])
                        T.tma_copy(B[t % tiles * 128:t % tiles * 128 + 128, k * deep:k * deep + deep], b[p % 2, :, :], barrier=loaded[p % 2])
                        if k % 4 == 0:
                            T.tma_copy(X[t // tiles * 128:t // tiles * 128 + 128], x[p % 2, :], barrier=loaded[p % 2])
                            T.tma_copy(Y[t % tiles * 128:t % tiles * 128 + 128], y[p % 2, :], barrier=loaded[p % 2])
                        T.mbarrier_arrive(loaded[p % 2])
                    n = n + 1
                    t = t + blocks
            elif tx < 64:
                while t < tiles * tiles:
                    T.mbarrier_wait_parity(empty[0], n & 1 ^ 1)
                    for k in T.serial(size // deep):
                        p = n * (size // deep) + k
                        T.mbarrier_wait_parity(turned[p % 2], p // 2 & 1)
                        if k % 4 == 0:
                            T.tcgen05_cp_warpx4(x[p % 2, :], xs)
                            T.tcgen05_cp_warpx4(y[p % 2, :], ys)
                        T.tcgen05_gemm_blockscaled(a[p % 2, :, :], b[p % 2, :, :], sums, xs, ys, transpose_B=True, mbar=used[p % 2],
                                                   clear_accum=k == 0, k_start=k * deep, sf_a_granularity_k=128, sf_b_granularity_k=128)
                    T.tcgen05_mma_arrive(full)
                    n = n + 1
                    t = t + blocks
            elif tx < 96:
                while t < tiles * tiles:
                    for k in T.serial(size // deep):
                        p = n * (size // deep) + k
                        T.mbarrier_wait_parity(loaded[p % 2], p // 2 & 1)
                        if k % 4 == 0:
                            T.tcgen05_sf_warp_transpose(x[p % 2, :])
                            T.tcgen05_sf_warp_transpose(y[p % 2, :])
                            T.fence_proxy_async()
                        T.mbarrier_arrive(turned[p % 2])
                    n = n + 1
                    t = t + blocks
            elif tx >= 128:
                while t < tiles * tiles:
                    T.mbarrier_wait_parity(full[0], n & 1)
                    T.copy(sums, out)
                    T.mbarrier_arrive(empty[0])
                    T.copy(out, C[t // tiles * 128, t % tiles * 128])
                    n = n + 1
                    t = t + blocks
            T.sync_threads()

    return main


def dead_tile(count=256, bins=64):
    """A tile that is written and never read, and one of which each warp has its own rows. Without TileLang's own barriers no other one is
    needed, but TileLang 0.1.15 puts the one tile over the other."""
    import tilelang.language as T

    @T.prim_func
    def main(X: T.Tensor((8, count), "int32"), Y: T.Tensor((8, count // 32, bins), "int32")):
        with T.Kernel(8, threads=count) as bx:
            dead = T.alloc_shared((count,), "int32")
            bin = T.alloc_shared((count // 32, bins), "int32")
            tx = T.get_thread_binding()
            dead[tx] = 0
            for i in T.serial(bins // 32):
                bin[tx // 32, i * 32 + tx % 32] = X[bx, tx]
            T.sync_warp()
            for i in T.serial(bins // 32):
                Y[bx, tx // 32, i * 32 + tx % 32] = bin[tx // 32, i * 32 + 31 - tx % 32]

    return main


WRONG = {"dead_tile_sm_90": (dead_tile, "sm_90"), "one_barrier_sm_90": (one_barrier, "sm_90"), "while_loop_sm_90": (while_loop, "sm_90"),
         "fed_by_threads_sm_90": (fed_by_threads, "sm_90"), "unfenced_sm_90": (unfenced, "sm_90"), "tensor_memory_sm_100": (tensor_memory, "sm_100"), "hasty_sm_100": (hasty, "sm_100")}  # as TileLang 0.1.15 lowers them
MORE = {"two_blocks_sm_100": (two_blocks, "sm_100"), "multicast_sm_90": (multicast, "sm_90"), "crossed_multicast_sm_90": (crossed_multicast, "sm_90"),
        "hasty_multicast_sm_90": (hasty_multicast, "sm_90"),
        "to_a_block_sm_90": (to_a_block, "sm_90"), "alone_sm_90": (alone, "sm_90"), "sparse_sm_80": (sparse, "sm_80"), "sparse_sm_90": (sparse, "sm_90"),
        "grid_sync_sm_90": (grid_sync, "sm_90"), "from_tmem_sm_100": (from_tmem, "sm_100"), "scaled_sm_100": (scaled, "sm_100")}


def lengths(block=64, deep=32, stages=3):
    """A product of as many tiles as data has, for each row of blocks: its rounds, the copies before them and the products after
    them are decided by one number."""
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((512, 512), "float16"), B: T.Tensor((512, block), "float16"), ends: T.Tensor((9,), "int32"),
             C: T.Tensor((512, block), "float16")):
        with T.Kernel(8, threads=128) as by:
            a = T.alloc_shared((block, deep), "float16")
            b = T.alloc_shared((deep, block), "float16")
            acc = T.alloc_fragment((block, block), "float32")
            T.clear(acc)
            count = ends[by + 1] - ends[by]
            for k in T.Pipelined(T.ceildiv(count, deep), num_stages=stages):
                T.copy(A[by * block, k * deep], a)
                T.copy(B[k * deep, 0], b)
                T.gemm(a, b, acc)
            T.copy(acc, C[by * block, 0])

    return main


def columns(block=64, deep=32, most=8):
    """As many rounds as data has, each with a column of its own; then all columns are stored, also those without a round."""
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((512, 512), "float16"), ends: T.Tensor((9,), "int32"), S: T.Tensor((512, most), "float32")):
        with T.Kernel(8, threads=128) as by:
            a = T.alloc_shared((block, deep), "float16")
            s = T.alloc_shared((block, most), "float32")
            part = T.alloc_fragment((block, deep), "float32")
            top = T.alloc_fragment((block,), "float32")
            count = ends[by + 1] - ends[by]
            for k in T.Pipelined(T.ceildiv(count, deep), num_stages=2):
                T.copy(A[by * block, k * deep], a)
                T.copy(a, part)
                T.reduce_max(part, top, dim=1)
                T.copy(top, s[:, k])
            T.copy(s, S[by * block, 0])

    return main


def masked(size=256, block=64, deep=32, stages=2):
    """A product of the tiles that a mask has: data chooses the rounds that do something."""
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((size, size), "float16"), B: T.Tensor((size, size), "float16"),
             mask: T.Tensor((size // block, size // block, size // deep), "bool"), C: T.Tensor((size, size), "float16")):
        with T.Kernel(size // block, size // block, threads=128) as (bx, by):
            a = T.alloc_shared((block, deep), "float16")
            b = T.alloc_shared((deep, block), "float16")
            c = T.alloc_shared((block, block), "float16")
            acc = T.alloc_fragment((block, block), "float32")
            T.clear(acc)
            for k in T.Pipelined(size // deep, num_stages=stages):
                if mask[by, bx, k]:
                    T.copy(A[by * block, k * deep], a)
                    T.copy(B[k * deep, bx * block], b)
                    T.gemm(a, b, acc)
            T.copy(acc, c)
            T.copy(c, C[by * block, bx * block])

    return main


def chosen(rows=256, width=64, block=64):
    """Products of q with the tiles of k that a mask has, which is copied to registers. The wait for q is in the first round that
    does something, so a block without any writes its result while q may be on its way."""
    import tilelang.language as T

    count = rows // block

    @T.prim_func
    def main(Q: T.Tensor((rows, width), "float16"), K: T.Tensor((rows, width), "float16"), M: T.Tensor((count, count), "int8"),
             O: T.Tensor((rows, block), "float16")):
        with T.Kernel(count, threads=128) as bx:
            q = T.alloc_shared((block, width), "float16")
            k = T.alloc_shared((block, width), "float16")
            o = T.alloc_shared((block, block), "float16")
            acc = T.alloc_fragment((block, block), "float32")
            mask = T.alloc_local([count], "int8")
            T.copy(Q[bx * block, 0], q)
            T.clear(acc)
            for n in T.vectorized(count):
                mask[n] = M[bx, n]
            for n in T.Pipelined(count, num_stages=1):
                if mask[n] != 0:
                    T.copy(K[n * block, 0], k)
                    T.gemm(q, k, acc, transpose_B=True)
            T.copy(acc, o)
            T.copy(o, O[bx * block, 0])

    return main


def ended(count=128, most=4):
    """Rounds that data ends: a number is read from shared memory, and where it is 0 the rest of the rounds are left out."""
    import tilelang.language as T

    @T.prim_func
    def main(X: T.Tensor((8, count), "float32"), left: T.Tensor((8, most), "int32"), Y: T.Tensor((8, count), "float32")):
        with T.Kernel(8, threads=count) as bx:
            x = T.alloc_shared((count,), "float32")
            tx = T.get_thread_binding()
            total = T.alloc_var("float32")
            total = 0.0
            for r in T.serial(most):
                if left[bx, r] <= 0:
                    break
                x[tx] = X[bx, tx]
                T.sync_threads()
                total += x[count - 1 - tx]
                T.sync_threads()
            Y[bx, tx] = total

    return main


def ordered(count=128):
    """Elements that threads exchange at distances of powers of two, by a condition on them."""
    import tilelang.language as T

    @T.prim_func
    def main(X: T.Tensor((8, count), "float32"), Y: T.Tensor((8, count), "float32")):
        with T.Kernel(8, threads=count) as bx:
            x = T.alloc_shared((count,), "float32")
            tx = T.get_thread_binding()
            x[tx] = X[bx, tx]
            T.sync_threads()
            for i in T.serial(7):
                for j in T.serial(i + 1):
                    other = tx ^ (1 << (i - j))
                    if tx < other and x[tx] > x[other]:
                        kept = x[tx]
                        x[tx] = x[other]
                        x[other] = kept
                    T.sync_threads()
            Y[bx, tx] = x[tx]

    return main


def collected(count=2048, room=512, threads=128):
    """What threads find goes to places that an atomic addition gives them: from memory to the first row, and then from row to row."""
    import tilelang.language as T

    @T.prim_func
    def main(X: T.Tensor((8, count), "int32"), Y: T.Tensor((8, count), "int32")):
        with T.Kernel(8, threads=threads) as bx:
            n = T.alloc_shared((2,), "int32")
            rows = T.alloc_shared((2, room), "int32")
            tx = T.get_thread_binding()
            pos = T.alloc_var("int32")
            many = T.alloc_var("int32")
            if tx == 0:
                n[0] = 0
            T.sync_threads()
            for s in T.serial(count // threads):
                if X[bx, s * threads + tx] > 0:
                    pos = T.atomic_add(n[0], 1, return_prev=True)
                    rows[0, pos] = s * threads + tx
            for r in T.serial(2):
                T.sync_threads()
                if tx == 0:
                    n[(r % 2) ^ 1] = 0
                T.sync_threads()
                many = n[r % 2]
                for s in T.serial(T.ceildiv(many, threads)):
                    if s * threads + tx < many:
                        if X[bx, rows[r % 2, s * threads + tx]] > r + 1:
                            pos = T.atomic_add(n[(r % 2) ^ 1], 1, return_prev=True)
                            rows[(r % 2) ^ 1, pos] = rows[r % 2, s * threads + tx]
            T.sync_threads()
            many = n[0]
            for s in T.serial(T.ceildiv(many, threads)):
                if s * threads + tx < many:
                    Y[bx, s * threads + tx] = rows[0, s * threads + tx]

    return main


def threshold(count=1024, bins=64, threads=128, wanted=100):
    """Counts in bins, their sums from the end, and the one bin where these pass a number, twice: its thread stores it."""
    import tilelang.language as T

    @T.prim_func
    def main(X: T.Tensor((8, count), "int32"), Y: T.Tensor((8,), "int32")):
        with T.Kernel(8, threads=threads) as bx:
            counts = T.alloc_shared((bins + 1,), "int32")
            found = T.alloc_shared((1,), "int32")
            tx = T.get_thread_binding()
            left = T.alloc_var("int32")
            value = T.alloc_var("int32")
            place = T.alloc_var("int32")
            left = wanted
            if tx == 0:
                found[0] = 0
            for r in T.serial(2):
                if tx < bins + 1:
                    counts[tx] = 0
                T.sync_threads()
                for s in T.serial(count // threads):
                    T.atomic_add(counts[(X[bx, s * threads + tx] >> (r * 6)) & (bins - 1)], 1)
                T.sync_threads()
                if tx < bins:
                    for i in T.serial(6):
                        T.sync_threads(3, bins)
                        if tx + (1 << i) < bins:
                            value = counts[tx] + counts[tx + (1 << i)]
                        T.sync_threads(3, bins)
                        if tx + (1 << i) < bins:
                            counts[tx] = value
                    T.sync_threads(3, bins)
                    if counts[tx] >= left and counts[tx + 1] < left:
                        found[0] = tx
                T.sync_threads()
                place = found[0]
                left = left - counts[place + 1]
                T.sync_threads()
            if tx == 0:
                Y[bx] = found[0]

    return main


def whole_chunks(wide=64, chunk=32):
    """Chunks of a sequence: whole ones are copied in one way and the last one in another, by what all threads read from memory."""
    import tilelang.language as T

    @T.prim_func
    def main(X: T.Tensor((4096, wide), "float32"), ends: T.Tensor((9,), "int32"), chunks: T.Tensor((9,), "int32"), Y: T.Tensor((8, 128), "float32")):
        with T.Kernel(8, threads=128) as bx:
            tile = T.alloc_shared((chunk, wide), "float32")
            total = T.alloc_local((1,), "float32")
            tx = T.get_thread_binding()
            total[0] = 0
            first = ends[bx]
            last = ends[bx + 1]
            for k in T.serial(chunks[bx + 1] - chunks[bx]):
                if first + k * chunk + chunk <= last:
                    T.copy(X[first + k * chunk, 0], tile)
                else:
                    for i in T.serial(chunk * wide // 128):
                        if first + k * chunk + i * 2 + tx // wide < last:
                            tile[i * 2 + tx // wide, tx % wide] = X[first + k * chunk + i * 2 + tx // wide, tx % wide]
                        else:
                            tile[i * 2 + tx // wide, tx % wide] = 0
                T.sync_threads()
                for i in T.serial(chunk * wide // 128):
                    total[0] += tile[chunk - 1 - (i * 2 + tx // wide), tx % wide]
                T.sync_threads()
            Y[bx, tx] = total[0]

    return main


def handed_out(tiles=64, wide=128):
    """The hardware hands out tiles (cluster launch control): one thread asks for the next one, the others wait for the answer."""
    import tilelang.language as T

    @T.prim_func
    def main(X: T.Tensor((tiles, wide), "float32"), Y: T.Tensor((tiles, wide), "float32")):
        with T.Kernel(tiles, threads=256) as bx:
            tile = T.alloc_shared((wide,), "float32")
            arrived = T.alloc_barrier([1])
            finished = T.alloc_barrier([wide])
            published = T.alloc_barrier([1])
            answer = T.alloc_shared((4,), "uint32", scope="shared")
            valid = T.alloc_shared((1,), "int32")
            place = T.alloc_shared((1,), "int32")
            tx = T.get_thread_binding()
            if tx < wide:
                for w in T.unroll(tiles):
                    at = T.alloc_var(T.int32, init=bx)
                    if w > 0:
                        T.mbarrier_wait_parity(published, (w - 1) & 1)
                        if valid[0] == 0:
                            break
                        at = place[0]
                        T.mbarrier_arrive(finished)
                    tile[tx] = X[at, tx]
                    T.sync_threads(1, wide)
                    Y[at, tx] = tile[wide - 1 - tx]
                    T.sync_threads(1, wide)
            elif tx == wide:
                for w in T.unroll(tiles):
                    if w > 0:
                        T.mbarrier_wait_parity(finished, (w - 1) & 1)
                    T.mbarrier_arrive_expect_tx(arrived, 16)
                    T.clc_try_cancel(answer, arrived)
                    T.mbarrier_wait_parity(arrived, w & 1)
                    valid[0] = T.clc_is_canceled(answer)
                    place[0] = T.cast(T.clc_get_first_ctaid_x(answer), "int32")
                    T.mbarrier_arrive(published)
                    if valid[0] == 0:
                        break

    return main


DATA = {"lengths_sm_80": (lengths, "sm_80"), "lengths_sm_90": (lengths, "sm_90"), "columns_sm_80": (columns, "sm_80"),
        "masked_sm_80": (masked, "sm_80"), "masked_sm_90": (masked, "sm_90"), "chosen_sm_90": (chosen, "sm_90"),
        "ended_sm_90": (ended, "sm_90"), "ordered_sm_90": (ordered, "sm_90"), "collected_sm_80": (collected, "sm_80"),
        "threshold_sm_90": (threshold, "sm_90")}  # data decides rounds, copies or places


SHARED_BY_ALL = {"whole_chunks_sm_80": (whole_chunks, "sm_80"), "whole_chunks_sm_90": (whole_chunks, "sm_90"),
                 "handed_out_sm_100": (handed_out, "sm_100")}  # by data that is the same for all threads


PASSES = {unfenced: {"tl.disable_warp_specialized": True},  # what the passes of TileLang are told
          **{make: {"tl.disable_thread_storage_sync": True} for make in (dead_tile, collected, threshold, handed_out)}}


def main():
    from spad.tilelang._tree import of_prim_func

    TREES.mkdir(parents=True, exist_ok=True)
    for name, (make, arch) in {**CASES, **OTHER, **WRONG, **MORE, **DATA, **SHARED_BY_ALL}.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        tree, = of_prim_func(make(), arch, PASSES.get(make))
        (TREES / f"{name}.json").write_text(json.dumps(tree) + "\n")


if __name__ == "__main__":
    main()
