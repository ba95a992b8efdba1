# SPDX-License-Identifier: Apache-2.0
"""spad.tilelang: kernel bodies with branches, masks, edges, barriers, warp groups and variables."""

import operator
import random

import pytest

import spad
import spad.tilelang as T


def source(kernel):
    """The statements of a recorded kernel, without declarations."""
    lines = kernel.source.splitlines()
    skip = ("kernel", "param", "tensor", "unit", "group", "mbarrier", "init")
    return [line for line in lines if not line.startswith(skip) and line]


def proved(kernel):
    return kernel.check().verdict.startswith("proved") and not [
        f for f in kernel.check().findings if f.severity != "advice"]


# ---- branches -----------------------------------------------------------------------------------


def test_branches_on_variables_of_the_kernel():
    @T.prim_func
    def main(X: T.Tensor((8, 64), "float32"), Y: T.Tensor((8, 64), "float32")):
        with T.Kernel(4) as bx:
            s = T.alloc_shared((64,), "float32")
            for k in T.serial(8):
                if k == 0 and bx < 2:
                    T.copy(X[0, 0], s)
                elif not k > 4:
                    T.clear(s)
                else:
                    T.fill(s, 1)
                if 1 <= k < 7:
                    T.copy(s, Y[k, 0])

    kernel = main.record("sm_90")
    assert source(kernel) == """\
for k in 0..8 {
    if k == 0 and bx < 2 {
        copy copy reads X(0..1, ..) writes s
    } else {
        if k <= 4 {
            simt fill writes s
        } else {
            simt fill writes s
        }
    }
    if 1 <= k and k < 7 {
        copy copy reads s writes Y(k..k + 1, ..)
    }
}""".replace("if 1 <= k", "if k >= 1").splitlines()
    assert kernel.check().verdict.startswith("proved")


def test_tests_of_python_choose_a_side():
    def made(causal, scale=None):
        @T.prim_func
        def main(X: T.Tensor((64,), "float32")):
            with T.Kernel(1):
                f = T.alloc_fragment((64,), "float32")
                if causal and scale is None:
                    limit = 1
                else:
                    limit = 2
                if scale is not None and scale > 2:
                    T.copy(X, f)
                for _ in T.serial(limit):
                    T.clear(f)
        return source(main.record("sm_90"))

    assert made(True) == ["for k in 0..1 {", "    simt fill writes f", "}"]
    assert made(False)[0] == "for k in 0..2 {" and made(True, 3)[0].startswith("simt copy reads X")


def test_a_branch_that_reads_what_only_one_side_wrote_is_found():
    @T.prim_func
    def main(Y: T.Tensor((8, 64), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared((64,), "float32")
            for k in T.serial(8):
                if k > 0:
                    T.clear(s)
                T.copy(s, Y[k, 0])

    findings = main.record("sm_90").check().findings
    assert [f.code for f in findings] == ["SPAD-UNINITIALISED-READ"]


def refused(message, statement, error=T.Uncovered):
    """A body with one statement is refused, with its line."""
    def find():
        return statement.record("sm_90")
    with pytest.raises(error, match=message) as caught:
        find()
    assert "test_tilelang_body.py:" in str(caught.value)


def test_what_a_branch_cannot_say_is_refused_with_its_line():
    @T.prim_func
    def name(X: T.Tensor((64, 64), "float32")):
        with T.Kernel(4) as bx:
            row = 0
            if bx > 1:
                row = 1
            T.clear(T.alloc_fragment((row + 1,), "float32"))

    @T.prim_func
    def leave(X: T.Tensor((64, 64), "float32")):
        with T.Kernel(4) as bx:
            for k in T.serial(4):
                if k == bx:
                    break

    @T.prim_func
    def either(X: T.Tensor((64, 64), "float32")):
        with T.Kernel(4) as bx:
            if (bx == 1) | (bx == 2):
                pass

    @T.prim_func
    def data(X: T.Tensor((64, 64), "float32")):
        with T.Kernel(4) as bx:
            f = T.alloc_fragment((64,), "float32")
            T.clear(f)
            if f[0] > 0:
                T.clear(f)

    @T.prim_func
    def value(X: T.Tensor((64, 64), "float32")):
        with T.Kernel(4) as bx:
            n = 1 if bx == 0 else 2
            T.alloc_shared((n,), "float32")

    @T.prim_func
    def loop(X: T.Tensor((64, 64), "float32")):
        with T.Kernel(4):
            for i in T.serial(4):
                for _ in T.serial(i):
                    pass

    @T.prim_func
    def gather(X: T.Tensor((64, 64), "int32")):
        with T.Kernel(4):
            f = T.alloc_fragment((64,), "int32")
            T.copy(X[X[0, 0], 0], f)

    for statement, message in ((name, "row is assigned on one side"), (leave, "no truth value"),
                               (either, "with `or`"), (data, "branch on data"),
                               (value, "no truth value"), (loop, "depends on another loop"),
                               (gather, "as an index")):
        refused(message, statement)


# ---- masks and edges ----------------------------------------------------------------------------


def test_masks_cut_a_parallel_loop():
    @T.prim_func
    def main(X: T.Tensor((100,), "float32"), Y: T.Tensor((100,), "float32")):
        with T.Kernel(4) as bx:
            f = T.alloc_fragment((32,), "float32")
            for i in T.Parallel(32):
                if i < 8:
                    f[i] = 0.0
                else:
                    f[i] = 1.0
            for i in T.Parallel(32):
                if bx * 32 + i < 100:
                    Y[bx * 32 + i] = f[i] + X[bx * 32 + i]

    kernel = main.record("sm_90")
    limit = "(0 - ((bx * 32) - 100))"
    end = f"((({limit} - 1) % 32) + 1)"  # the same in the branch, and never empty
    assert source(kernel) == [
        "simt assign writes f(0..8)", "simt assign writes f(8..32)",
        f"if {limit} >= 32 {{",
        "    simt assign reads f, X((bx * 32)..(bx * 32) + 32) writes Y((bx * 32)..(bx * 32) + 32)",
        "}",
        f"if {limit} < 32 and {limit} > 0 {{",
        f"    simt assign reads f(0..{end}), X((bx * 32)..(bx * 32) + {end}) "
        f"writes Y((bx * 32)..(bx * 32) + {end})",
        "}"]
    for block in range(4):
        assert kernel.reshape({"bx": block}).check().verdict.startswith("proved")


def test_masks_from_below_and_in_two_directions():
    @T.prim_func
    def main(Y: T.Tensor((40, 40), "float32")):
        with T.Kernel(3, 3) as (bx, by):
            f = T.alloc_fragment((16, 16), "float32")
            T.clear(f)
            for i, j in T.Parallel(16, 16):
                if by * 16 + i < 40 and bx * 16 + j < 40 and i >= 4:
                    Y[by * 16 + i, bx * 16 + j] = f[i, j]

    kernel = main.record("sm_90")
    for bx in range(3):
        for by in range(3):
            assert kernel.reshape({"bx": bx, "by": by}).check().verdict.startswith("proved")
    ranges = [line.split("reads ")[1].split(" writes")[0] for line in source(kernel) if "reads" in line]
    assert ranges[0] == "f(4..16, ..)" and len(ranges) == 4


def test_quotients_and_rests_of_parallel_variables():
    @T.prim_func
    def main(X: T.Tensor((64, 32), "uint8"), Y: T.Tensor((64, 64), "float16")):
        with T.Kernel(1):
            packed = T.alloc_shared((64, 32), "uint8")
            wide = T.alloc_fragment((64, 64), "float16")
            row = T.alloc_fragment((8,), "float16")
            T.copy(X, packed)
            T.clear(row)
            for i, j in T.Parallel(64, 64):
                wide[i, j] = packed[i, j // 2] + row[j % 8] + row[i // 16 % 4 + 2]
            T.copy(wide, Y)

    kernel = main.record("sm_90")
    assert "simt assign reads packed, row, row(2..6) writes wide" in source(kernel)
    assert kernel.check().verdict.startswith("proved")

    def body(statement):
        @T.prim_func
        def main(Y: T.Tensor((64, 64), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(40):
                    statement(Y, i)
        return main

    def diagonal(Y, i):
        Y[i, i] = 0.0

    def rows(Y, i):
        Y[i // 8, i % 8] = 0.0

    def shifted(Y, i):
        Y[(i + 1) // 2, 0] = 0.0

    for statement, message in ((diagonal, "diagonal"), (rows, "diagonal"), (shifted, "not a sum")):
        refused(message, body(statement))


def test_masks_that_are_not_covered():
    @T.prim_func
    def equal(Y: T.Tensor((40,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(40):
                if i == 3:
                    Y[i] = 0.0

    @T.prim_func
    def both(Y: T.Tensor((40, 40), "float32")):
        with T.Kernel(1):
            for i, j in T.Parallel(40, 40):
                if i <= j:
                    Y[i, j] = 0.0

    refused("mask with ==", equal)
    refused("one parallel variable", both)


def test_blocks_beyond_the_tensor_copy_nothing_of_it():
    @T.prim_func
    def main(X: T.Tensor((40, 8), "float16"), Y: T.Tensor((5, 32, 8), "float16")):
        with T.Kernel(5) as bx:
            s = T.alloc_shared((32, 8), "float16")
            T.copy(X[bx * 16, 0], s)
            T.copy(s, Y[bx, 0, 0])
            T.copy(s, X[bx * 16, 0])

    kernel = main.record("sm_90")
    for block in range(5):
        assert kernel.reshape({"bx": block}).check().verdict.startswith("proved")


@pytest.mark.parametrize("m, n", [(100, 100), (128, 100), (100, 128), (128, 128), (97, 1)])
def test_copies_are_cut_at_the_edge(m, n):
    @T.prim_func
    def main(X: T.Tensor((m, n), "float16"), Y: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 32)) as (bx, by):
            s = T.alloc_shared((32, 32), "float16")
            T.copy(X[by * 32, bx * 32], s)
            T.copy(s, Y[by * 32, bx * 32])

    kernel = main.record("sm_90")
    branches = sum(d % 32 != 0 for d in (m, n))
    assert kernel.source.count("copy copy") == 2 * 2 ** branches
    for bx in range(-(-n // 32)):
        for by in range(-(-m // 32)):
            assert proved(kernel.reshape({"bx": bx, "by": by}))


def test_a_copy_beyond_the_tensor_fills_with_zeros():
    @T.prim_func
    def main(X: T.Tensor((64, 8), "float16"), Y: T.Tensor((5, 32, 8), "float16")):
        with T.Kernel(1):
            s = T.alloc_shared((32, 8), "float16")
            for k in T.serial(5):  # two tiles too many
                T.copy(X[k * 16, 0], s)
                T.copy(s, Y[k, 0, 0])

    kernel = main.record("sm_90")
    assert "simt fill writes s" in kernel.source and proved(kernel)


def test_if_then_else_reads_what_both_sides_read():
    @T.prim_func
    def main(X: T.Tensor((64, 64), "float32")):
        with T.Kernel(4) as bx:
            f = T.alloc_fragment((64, 64), "float32")
            g = T.alloc_fragment((64, 64), "float32")
            T.copy(X, g)
            for i, j in T.Parallel(64, 64):
                f[i, j] = T.if_then_else(bx * 16 + i >= j, g[i, j], -T.infinity("float32"))
            for i, j in T.Parallel(64, 64):
                f[i, j] = T.if_then_else(f[i, j] > 0, f[i, j] * 2, T.if_then_else(True, 1.0, 2.0))

    assert source(main.record("sm_90"))[1:] == ["simt assign reads g writes f", "simt assign updates f"]


def test_all_buffers_of_an_expression_are_read():
    @T.prim_func
    def main(A: T.Tensor((32,), "float32"), B: T.Tensor((32,), "float32"), C: T.Tensor((32,), "float32")):
        with T.Kernel(1):
            a, b = T.alloc_shared((32,), "float32"), T.alloc_shared((32,), "float32")
            c = T.alloc_fragment((32,), "float32")
            T.copy(A, a)
            T.copy(B, b)
            for i in T.Parallel(32):
                c[i] = a[i] * 2 + b[i] + a[i]
            T.copy(c, C)

    assert "simt assign reads a, b writes c" in source(main.record("sm_90"))


# ---- loops --------------------------------------------------------------------------------------


def test_loops():
    @T.prim_func
    def main(X: T.Tensor((64, 16), "float32")):
        with T.Kernel(4) as bx:
            f = T.alloc_fragment((16,), "float32")
            for k in T.serial(2, 10, 3):
                T.copy(X[k, 0], f)
            for k in T.unroll(2):
                T.copy(X[k, 0], f)
            for k in T.Pipelined(T.min(4, T.ceildiv((bx + 1) * 3, 2)), num_stages=2):
                T.copy(X[k, 0], f)
            for k in T.serial(T.ceildiv(bx * 4 + 1, 2)):
                T.copy(X[k, 0], f)
            for i in T.vectorized(16):
                f[i] = 0.0

    kernel = main.record("sm_90")
    text = "\n".join(source(kernel))
    assert "for k in 0..3 {\n    simt copy reads X(((k * 3) + 2)..((k * 3) + 2) + 1, ..)" in text
    assert "for k2 in 0..4 {\n    if k2 < ((((bx + 1) * 3) + 1) / 2) {" in text
    assert "for k3 in 0..((((bx * 4) + 1) + 1) / 2) {" in text
    assert kernel.reshape({"bx": 3}).check().verdict.startswith("proved")


def test_python_variables_do_not_change_from_turn_to_turn():
    @T.prim_func
    def counter(X: T.Tensor((8, 16), "float32")):
        with T.Kernel(1):
            f = T.alloc_fragment((2, 16), "float32")
            stage = 0
            for k in T.serial(8):
                T.copy(X[k, :], f[stage, :])
                stage = (stage + 1) % 2

    @T.prim_func
    def added(X: T.Tensor((8, 16), "float32")):
        with T.Kernel(1):
            n = 0
            for _ in T.Parallel(8):
                n += 1

    @T.prim_func
    def kept(X: T.Tensor((8, 16), "float32")):
        with T.Kernel(1):
            last = 0
            for k in T.serial(8):
                if k > 4:
                    last = 1
                T.copy(X[k, 0], T.alloc_fragment((16,), "float32"))
                row = last

    for statement, message in ((counter, "stage changes"), (added, "n changes"),
                               (kept, "last (changes|is assigned)")):
        refused(message, statement)

    @T.prim_func
    def fine(X: T.Tensor((8, 16), "float32")):
        with T.Kernel(1):
            f = T.alloc_fragment((2, 16), "float32")
            stage = 0
            for k in range(8):  # a loop of Python is unrolled
                T.copy(X[k, :], f[stage, :])
                stage = (stage + 1) % 2
            for k in T.serial(8):
                stage = k % 2  # set before it is used
                T.copy(X[k, :], f[stage, :])

    assert len(source(fine.record("sm_90"))) == 8 + 3


def test_slices_have_lengths_that_are_numbers():
    @T.prim_func
    def main(X: T.Tensor((4, 256, 16), "float32")):
        with T.Kernel(4, 2) as (bx, by):
            f = T.alloc_fragment((32, 16), "float32")
            for k in T.serial(4):
                T.copy(X[by, (k + bx // 2) * 32:(k + bx // 2 + 1) * 32, :], f)
                T.copy(X[bx % 2, k * 32:k * 32 + 32, :], f)

    assert main.record("sm_90").check().verdict.startswith("proved")

    @T.prim_func
    def growing(X: T.Tensor((256, 16), "float32")):
        with T.Kernel(4) as bx:
            T.copy(X[bx * 32:bx * 40 + 32, :], T.alloc_fragment((32, 16), "float32"))

    refused("its length is not a number", growing)


# ---- barriers and warp groups -------------------------------------------------------------------


def specialised(steps, parity=1):
    @T.prim_func
    def main(A: T.Tensor((64, steps * 32), "float16"), B: T.Tensor((steps * 32, 64), "float16"),
             C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((2, 64, 32), "float16")
            b = T.alloc_shared((2, 32, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            bars = T.alloc_barrier([128, 128, 128, 128])
            with T.ws(0):
                T.clear(c)
            for k in T.serial(steps):
                with T.ws(1):
                    T.mbarrier_wait_parity(bars[k % 2 + 2], parity=((k // 2) % 2) ^ parity)
                    T.tma_copy(A[0, k * 32], a[k % 2, :, :], barrier=bars[k % 2])
                    T.tma_copy(B[k * 32, 0], b[k % 2, :, :], barrier=bars[k % 2])
                    T.mbarrier_arrive(bars[k % 2])
                with T.ws(0):
                    T.mbarrier_wait_parity(bars[k % 2], parity=(k // 2) % 2)
                    T.gemm(a[k % 2, :, :], b[k % 2, :, :], c)
                    T.mbarrier_arrive(bars[k % 2 + 2])
            with T.ws(0):
                T.copy(c, C)
    return main


def test_warp_groups_are_agents():
    kernel = specialised(8).record("sm_90")
    assert "unit tma on copy free proxy" in kernel.source and "group mmas" in kernel.source
    assert [line for line in source(kernel) if "agent" in line] == ["agent ws0 {", "agent ws1 {"]
    assert "    for k in 0..8 {" in kernel.source  # the loop stays a loop, in both
    check = kernel.check()
    assert check.verdict.startswith("proved") and not list(check.findings)
    assert kernel.sim().makespan > 0


def test_a_wait_for_the_wrong_phase_is_found():
    with pytest.raises(T.Uncovered, match="parity of 0 or 1"):
        specialised(8, parity=2).record("sm_90")

    @T.prim_func
    def main(A: T.Tensor((8, 32), "float16"), C: T.Tensor((8, 32), "float16")):
        with T.Kernel(1, threads=256):
            s = T.alloc_shared((32,), "float16")
            ready, done = T.alloc_barrier(128), T.alloc_barrier(arrive_count=128)
            for k in T.serial(8):
                with T.ws(0):
                    T.barrier_wait(done, k % 2)  # should be (k + 1) % 2: nothing has arrived
                    T.tma_copy(A[k, 0], s, barrier=ready)
                    T.barrier_arrive(ready)
                with T.ws(1):
                    T.barrier_wait(ready, k % 2)
                    T.copy(s, C[k, 0])
                    T.barrier_arrive(done)

    assert "SPAD-DEADLOCK" in [f.code for f in main.record("sm_90").check().findings]


def test_what_barriers_and_groups_do_not_cover():
    @T.prim_func
    def between(A: T.Tensor((32,), "float16")):
        with T.Kernel(1):
            s = T.alloc_shared((32,), "float16")
            with T.ws(0):
                T.clear(s)
            T.copy(s, A)
            with T.ws(1):
                T.clear(s)

    @T.prim_func
    def without(A: T.Tensor((32,), "float16")):
        with T.Kernel(1):
            T.tma_copy(A, T.alloc_shared((32,), "float16"))

    @T.prim_func
    def cluster(A: T.Tensor((32,), "float16")):
        with T.Kernel(1):
            T.alloc_cluster_barrier(1)

    @T.prim_func
    def nested(A: T.Tensor((32,), "float16")):
        with T.Kernel(1), T.ws(0), T.ws(1):
            pass

    @T.prim_func
    def several(A: T.Tensor((32,), "float16")):
        with T.Kernel(1):
            T.barrier_arrive(T.alloc_barrier([1, 1]))

    @T.prim_func
    def sync(A: T.Tensor((32,), "float16")):
        with T.Kernel(1):
            T.sync_threads()  # fine
            with T.ws(0):
                T.sync_threads()

    with pytest.raises(T.Uncovered, match="between those of T.ws, at line"):
        between.record("sm_90")
    with pytest.raises(T.Uncovered, match="several barriers at once"):
        several.record("sm_90")
    for statement, message in ((without, "without a barrier"), (cluster, "several blocks"),
                               (nested, "inside of T.ws"), (sync, "inside of T.ws")):
        refused(message, statement)

    @T.prim_func
    def threads(A: T.Tensor((32,), "float16")):
        with T.Kernel(1):
            A[T.get_thread_binding()] = 0.0

    refused("does not cover T.get_thread_binding", threads, AttributeError)


# ---- variables, macros, jit ---------------------------------------------------------------------


def test_variables_are_written_and_read():
    @T.prim_func
    def main(X: T.Tensor((64,), "float32")):
        with T.Kernel(2) as bx:
            v = T.alloc_var("float32", 1.0)
            w = T.alloc_var("float32", scope="shared")
            f = T.alloc_fragment((64,), "float32")
            w = 2.0
            for k in T.serial(4):
                if k > 1:
                    v = v * 2 + w
                v += 1
            for i in T.Parallel(64):
                f[i] = v
            T.copy(f, X)

    kernel = main.record("sm_90")
    assert source(kernel) == [
        "simt init writes v", "simt assign writes w", "for k in 0..4 {", "    if k > 1 {",
        "        simt assign reads w updates v", "    }", "    simt assign updates v", "}",
        "simt assign reads v writes f", "simt copy reads f writes X"]
    assert "tensor w : shared float32 (1)" in kernel.source and kernel.check().verdict.startswith("proved")


def test_macros_and_jit():
    @T.macro
    def clear_first(buffer, k):
        if k == 0:
            T.clear(buffer)

    @T.jit
    def add(A, block, dtype: T.dtype = T.float32):
        M, = (T.const("M"),)
        A: T.Tensor((M,), dtype)
        B = T.empty((M,), dtype)
        with T.Kernel(T.ceildiv(M, block), threads=128) as bx:
            s = T.alloc_shared((block,), dtype)
            for k in T.serial(2):
                clear_first(s, k)
            T.copy(A[bx * block], s)
            T.copy(s, B[bx * block])
        return B

    kernel = add.record("sm_90", M=256, block=64)
    assert [t["name"] for t in kernel.tensors] == ["A", "B", "s"]
    assert "    if k == 0 {\n        simt fill writes s" in kernel.source
    with pytest.raises(TypeError, match="T.const: give M to record"):
        add.record("sm_90", block=64)
    with pytest.raises(TypeError, match="'block' is no T.Tensor"):
        add.record("sm_90", M=256)

    @T.jit(out_idx=[1])
    def factory(n):
        @T.prim_func
        def main(A: T.Tensor((n,), "float32")):
            with T.Kernel(1):
                T.copy(A, T.alloc_shared((n,), "float32"))
        return main

    assert "(128)" in factory(128).record("sm_90").source


def test_faults_of_the_kernel_name_the_line_of_the_body():
    @T.prim_func
    def main(X: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(65):
                X[i] = 0.0

    with pytest.raises(spad.TextError) as caught:
        main.record("sm_90")
    assert caught.value.__notes__[0].startswith("recorded at test_tilelang_body.py:")


def written(kernel, bx):
    """The places of Y that a recorded kernel writes, by reading its text for one block."""
    found, active = set(), [True]
    for line in source(kernel):
        line = line.strip().replace("/", "//")
        if line.startswith("if "):
            active.append(active[-1] and eval(line[3:-1], {"bx": bx}))
        elif line == "}":
            active.pop()
        elif line == "} else {":
            raise AssertionError("masks have no else")
        elif active[-1] and "writes Y" in line:
            part = line.split("writes Y")[1]
            first, last = part[1:-1].split("..") if part else ("0", "64")
            found |= set(range(eval(first, {"bx": bx}), eval(last, {"bx": bx})))
    return found


@pytest.mark.parametrize("seed", range(100))
def test_random_masks_are_exact(seed):
    rng = random.Random(seed)
    extent, scale, shift = rng.randint(1, 20), rng.randint(0, 3), rng.randint(-5, 5)
    limit, relation = rng.randint(-3, 25), rng.choice(["<", "<=", ">", ">="])
    compare = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}[relation]
    swapped, second = rng.random() < 0.5, rng.randint(0, 12)

    @T.prim_func
    def main(Y: T.Tensor((64,), "float32")):
        with T.Kernel(5) as bx:
            for i in T.Parallel(extent):
                left, right = i + bx * scale + shift, limit
                if swapped:
                    left, right = right - bx * scale - shift, i
                if compare(left, right) and i >= second:
                    Y[bx + i] = 0.0

    def holds(bx, i):
        left, right = (limit - bx * scale - shift, i) if swapped else (i + bx * scale + shift, limit)
        return compare(left, right) and i >= second

    expected = [{bx + i for i in range(extent) if holds(bx, i)} for bx in range(5)]
    if not any(expected):
        return  # nothing is written, so there is no Y
    kernel = main.record("sm_90")
    assert [written(kernel, bx) for bx in range(5)] == expected, kernel.source
