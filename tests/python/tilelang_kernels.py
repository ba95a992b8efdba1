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
OTHER = {"histogram_sm_90": (histogram, "sm_90"), "dynamic_sm_80": (dynamic, "sm_80"), "dynamic_sm_90": (dynamic, "sm_90")}


def unfenced():
    """Without roles for warps: copies by cp.async, and the last rounds outside of the loop."""
    return gemm()


def one_barrier():
    """Two groups of threads with a buffer each, one in static and one in dynamic memory. TileLang numbers the barriers of the
    two memories apart, so that both groups meet at barrier 3."""
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((512, 64), "float32"), B: T.Tensor((512, 64), "float32")):
        with T.Kernel(4, threads=256) as bx:
            a = T.alloc_shared((128, 16), "float32")
            b = T.alloc_shared((128,), "float32", scope="shared")
            tx = T.get_thread_binding()
            if tx < 128:
                for k in T.serial(4):
                    for i in T.serial(16):
                        a[tx, i] = A[bx * 128 + tx, k * 16 + i]
                    for i in T.serial(16):
                        B[bx * 128 + tx, k * 16 + i] = a[127 - tx, i]
            else:
                for k in T.serial(4):
                    b[tx - 128] = A[bx * 128 + tx - 128, k]
                    B[bx * 128 + tx - 128, k * 16] = b[255 - tx]

    return main


WRONG = {"one_barrier_sm_90": (one_barrier, "sm_90"), "unfenced_sm_90": (unfenced, "sm_90"), "tensor_memory_sm_100": (tensor_memory, "sm_100"), "hasty_sm_100": (hasty, "sm_100")}  # as TileLang 0.1.15 lowers them


def main():
    from spad._tilelang_tree import of_prim_func

    TREES.mkdir(parents=True, exist_ok=True)
    for name, (make, arch) in {**CASES, **OTHER, **WRONG}.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        tree, = of_prim_func(make(), arch, {"tl.disable_warp_specialized": True} if make is unfenced else None)
        (TREES / f"{name}.json").write_text(json.dumps(tree) + "\n")


if __name__ == "__main__":
    main()
