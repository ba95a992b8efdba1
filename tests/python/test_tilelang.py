# SPDX-License-Identifier: Apache-2.0
"""spad.tilelang: the argument forms of tilelang.language.allocate, and what comes out."""

import sys
import warnings

import pytest

import spad
import spad.tilelang as T


def test_everything_once():
    with T.block("sm_100", "gemm") as block:
        a = T.alloc_shared((128, 64), "float16", name="a", stages=2, use="swizzle_128b")
        s = T.alloc_shared((16,), "float32", scope="shared")
        b = T.alloc_shared((4,), "bool")
        acc = T.alloc_tmem((128, 256), "float32", name="acc")
        bar = T.alloc_barrier([1, 128], name="bar")
        T.alloc_cluster_barrier(2)
        r = T.alloc_local((8,), "float32")
        f = T.alloc_fragment((128, 64), "float32")
        v = T.alloc_var("int32", 3)
        red = T.alloc_reducer((128, 64), "float32", "max", "all")
        g = T.alloc_global((1024,), "float32")
        for kind in ("tcgen05_smem", "tcgen05_instr"):
            T.alloc_descriptor(kind)
        T.alloc_tcgen05_smem_desc(), T.alloc_tcgen05_instruction_desc()
        T.reducer_init(red)
        with T.Parallel():
            T.reducer_update(red, "max")
        T.finalize_reducer(red, f)
        T.free(acc)
        assert a.offset is None
    assert a.offset % 1024 == 0 and (a.stages, a.bytes, a.stride) == (2, 16384, 16384)
    assert s.is_static and bar.is_static and b.scope.startswith("shared")
    assert (acc.columns, acc.lanes, acc.alloc) == (256, 128, 0)
    assert r.offset is None and g.offset is None and v.dtype == "int32"
    totals = block.sums
    assert totals["dynamic_bytes"] >= 32768 and totals["tmem_columns"] == 256 and block.fits
    assert "acc" in block.text() and "gemm" in block._repr_html_()
    assert len(block.buffers) == len(block) and "<svg" in block._repr_html_()
    with pytest.raises(AttributeError):
        a.colour


def test_numbers_of_numpy():
    np = pytest.importorskip("numpy")
    with T.block("sm_90") as block:
        a = T.alloc_shared((np.int64(128), np.int64(64)), np.float16)
        b = T.alloc_shared(np.int64(8), T.float32)
        T.alloc_barrier(np.int64(4))
        T.alloc_barrier(np.array([1, 2]))
    assert a.shape == (128, 64) and b.shape == (8,) and block.fits


def test_reuse_over_time():
    with T.block("sm_90") as block:
        with T.Serial():
            a = T.alloc_shared((1024,), "uint8")
            T.free(a)
            b = T.alloc_shared((1024,), "uint8")
    assert a.offset == b.offset == 0 and block.sums["dynamic_bytes"] == 1024
    with T.block("sm_90", reuse=False) as block:
        a = T.alloc_shared(1024, "uint8")
        T.free(a)
        T.alloc_shared(1024, "uint8")
    assert block.sums["dynamic_bytes"] == 2048


@pytest.mark.parametrize("columns, allocs", [([384, 4, 4, 4], 1), ([128, 4, 4], 2), ([160, 96], 1)])
def test_tensor_memory_is_packed_as_tilelang_does(columns, allocs):
    with T.block("sm_100", tilelang_policy=True) as block:
        for n in columns:
            T.alloc_tmem((128, n), "float32")
    assert block.sums["tmem_allocs"] == allocs


def test_forms_of_alloc_var():
    with T.block("sm_90") as block:
        for made in (T.alloc_var("int32"), T.alloc_var("float32", 1.5), T.alloc_var("int32", "local.var"),
                     T.alloc_var("int32", 3, "local.var"), T.alloc_var("int32", init=3)):
            assert made.scope == "local.var"
        for wrong in (lambda: T.alloc_var("int32", 1, "local.var", 3),
                      lambda: T.alloc_var("int32", 1, init=2), lambda: T.alloc_var("int32", 1, 2)):
            with pytest.raises(TypeError):
                wrong()
    assert len(block) == 5


def test_refusals():
    with T.block("sm_90"):
        T.alloc_wgmma_desc()
        with pytest.raises(spad.ArgumentError, match="tcgen05"):
            T.alloc_descriptor("tcgen05_smem")
    with pytest.raises(spad.StateError):
        T.alloc_shared((1,), "float32")
    with T.block("sm_80"), pytest.raises(ValueError):
        T.alloc_barrier(1)
    with T.block("sm_90"), pytest.raises(spad.ArgumentError):
        T.alloc_tmem((128, 32), "float32")
    with T.block("sm_90") as block:
        T.alloc_shared((240000,), "uint8", name="huge")
    assert not block.fits
    with pytest.raises(spad.FitError, match="huge"):
        block.check_fit()
    with pytest.raises(spad.StateError), T.block("sm_90"):
        red = T.alloc_reducer((8,), "float32")
        T.fill(red, 0.0)
        T.reducer_update(red, "sum")  # not in a parallel region


def test_ascend_scopes():
    with T.block("910b") as block:
        ub = T.alloc_shared((128, 128), "float16", "shared")
        l1 = T.alloc_shared((128, 128), "float16", "shared.l1")
    assert (ub.offset, l1.offset) == (0, 0) and len(block) == 2


@pytest.mark.parametrize("dtype, low, high", [
    ("float32", -3.4028234663852886e38, 3.4028234663852886e38), ("float16", -65504, 65504),
    ("float8_e4m3fn", -448, 448), ("float8_e5m2", -57344, 57344), ("float4_e2m1fn", -6, 6),
    ("float8_e8m0fnu", 2.0 ** -127, 2.0 ** 127), ("float64", -sys.float_info.max, sys.float_info.max),
    ("int8", -128, 127), ("uint8", 0, 255), ("int4", -8, 7), ("int64", -2**63, 2**63 - 1),
    ("uint64", 0, 2**64 - 1), ("bool", False, True)])
def test_ends_of_the_finite_numbers_fill_reducers(dtype, low, high):
    assert (T.min_value(dtype), T.max_value(dtype)) == (low, high)
    with T.block("sm_90"):
        for op, value in (("min", T.max_value(dtype)), ("max", T.min_value(dtype))):
            reducer = T.alloc_reducer((128,), dtype, op=op)
            T.fill(reducer, value)
            with T.Parallel():
                T.reducer_update(reducer, op)
            T.finalize_reducer(reducer)


def test_types_without_ends():
    with pytest.raises(spad.ArgumentError):
        T.max_value("float8_e4m3fn_x4")
    with pytest.raises(spad.ArgumentError):
        T.min_value("nothing")


# ---- the rules of tensor memory ------------------------------------------------------------------


@pytest.mark.parametrize("columns, instead", [(48, 64), (16, 32), (31, 32), (96, 128), (300, 512)])
def test_columns_are_a_power_of_two(columns, instead):
    with T.block("sm_100") as block:
        with pytest.raises(ValueError, match=f"{columns} columns.*power of two.*ask for {instead}$"):
            T.alloc_tmem((128, columns), "float32")
        T.free(T.alloc_tmem((128, instead), "float32"))
        T.free(T.alloc_tmem((2, 128, 32), "float16", name="half"))  # twice 16 columns
    assert len(block) == 2


def test_columns_do_not_increase():
    with T.block("sm_100"):
        T.free(T.alloc_tmem((128, 128), "float32"))
        T.free(T.alloc_tmem((128, 64), "float32"))
        with pytest.raises(spad.StateError, match="128 columns of tensor memory after an allocation of 64"):
            T.alloc_tmem((128, 128), "float32")
        with pytest.raises(spad.Error):  # a call that fails counts for nothing
            T.alloc_tmem((256, 32), "float32")
        T.free(T.alloc_tmem((128, 64), "float32"))


def test_counts_of_columns_that_are_none():
    with T.block("sm_100"):
        for count in (513, 1 << 20, 0, -1, -64):
            with pytest.raises(ValueError) as caught:
                T.alloc_tmem(num_cols=count)
            assert "ask for" not in str(caught.value)


def test_tensor_memory_has_to_be_freed():
    with pytest.warns(UserWarning, match="'acc' of 64 columns is not freed.*T.free"):
        with T.block("sm_100"):
            T.alloc_tmem((128, 64), "float32", name="acc")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with T.block("sm_100"):
            T.free(T.alloc_tmem((128, 64), "float32", name="acc"))


def test_variables_of_other_scopes():
    with T.block("sm_90") as block:
        for scope in ("local", "shared", "shared.dyn", "global", "local.fragment"):
            made = T.alloc_var("int32", scope)
            assert made.scope == scope and made.shape == (1,)
        with pytest.raises(ValueError, match="no init"):
            T.alloc_var("int32", 1, "shared")
    assert len(block) == 5 and block.sums["static_bytes"] >= 4


# ---- kernel bodies -------------------------------------------------------------------------------


def matmul(m, n, k, bm, bn, bk, stages=3, dtype="float16", accum="float32"):
    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), dtype)
            B_shared = T.alloc_shared((bk, bn), dtype)
            C_local = T.alloc_fragment((bm, bn), accum)
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                T.copy(A[by * bm, ko * bk], A_shared)
                T.copy(B[ko * bk, bx * bn], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            for i, j in T.Parallel(bm, bn):
                C_local[i, j] = T.max(C_local[i, j], 0)
            T.copy(C_local, C[by * bm, bx * bn])
    return main


def test_a_gemm_is_recorded():
    kernel = matmul(1024, 512, 256, 128, 128, 32).record("sm_90")
    assert kernel.source == """kernel main on sm_90
param bx = 0
param by = 0
tensor A : global float16 (1024, 256) input
tensor B : global float16 (256, 512) input
tensor C : global float16 (1024, 512) input output
tensor A_shared : shared float16 [8] (128, 32) ring 3
tensor B_shared : shared float16 [8] (32, 128) ring 3
tensor C_local : registers float32 (128, 128)
simt fill writes C_local
for k in 0..8 {
    copy copy reads A((by * 128)..(by * 128) + 128, (k * 32)..(k * 32) + 32) writes A_shared[k]
    copy copy reads B((k * 32)..(k * 32) + 32, (bx * 128)..(bx * 128) + 128) writes B_shared[k]
    tensor gemm reads A_shared[k], B_shared[k] updates C_local
}
simt assign updates C_local
simt copy reads C_local writes C((by * 128)..(by * 128) + 128, (bx * 128)..(bx * 128) + 128)
"""
    check = kernel.check()
    assert check.verdict.startswith("proved") and not list(check.findings)
    assert "49,152" in kernel.layout().text()
    last = kernel.reshape({"bx": 3, "by": 7})  # another block of the grid
    assert last.check().verdict.startswith("proved")
    with pytest.raises(spad.ArgumentError, match="outside 'B'"):  # there are 4 in this direction
        kernel.reshape({"bx": 4})


def test_what_is_not_pipelined_has_one_copy():
    assert "ring" not in matmul(128, 128, 64, 128, 128, 32, stages=0).record("sm_90").source

    @T.prim_func
    def kept(A: T.Tensor((4, 128), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1) as bx:
            s = T.alloc_shared((128,), "float32")
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[k, 0], s)
            T.copy(s, B)  # it is read after the loop

    kernel = kept.record("sm_90")
    assert "ring" not in kernel.source and kernel.check().verdict.startswith("proved")


def test_what_a_loop_computes_is_not_ahead_of_it():
    """Scores that go through shared memory have one place; what is loaded for them has two."""
    @T.prim_func
    def scores(K: T.Tensor((4, 64, 64), "float16"), O: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=128) as bx:
            T.disable_warp_group_reg_alloc()
            k_shared = T.alloc_shared((64, 64), "float16")
            s_shared = T.alloc_shared((64, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            out = T.alloc_fragment((64, 64), "float32")
            T.clear(out)
            for n in T.Pipelined(4, num_stages=2):
                T.copy(K[n, 0, 0], k_shared)
                T.clear(acc)
                T.gemm(k_shared, k_shared, acc)
                T.copy(acc, s_shared)
                T.gemm(s_shared, k_shared, out)
            T.copy(out, O)

    kernel = scores.record("sm_90")
    assert "tensor k_shared : shared float16 [4] (64, 64) ring 2" in kernel.source
    assert "tensor s_shared : shared float16 (64, 64)\n" in kernel.source
    assert kernel.check().verdict.startswith("proved")
    assert kernel.layout().data["spaces"][0]["used"] == 3 * 8192


def test_reducers_in_parallel_loops():
    @T.prim_func
    def rows(X: T.Tensor((64, 128), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            x = T.alloc_fragment((64, 128), "float32")
            r = T.alloc_reducer((64,), "float32", op="sum")
            T.copy(X, x)
            T.fill(r, 0)
            for i, j in T.Parallel(64, 128):
                r[i] += x[i, j] * 2.0
            T.finalize_reducer(r)
            for i in T.Parallel(64):
                Y[i] = r[i]

    kernel = rows.record("sm_90")
    assert "simt assign reads x updates r\nsimt finalize updates r\n" in kernel.source
    assert kernel.check().verdict.startswith("proved")


def body(statement):
    """Records one statement of a kernel body, with a reducer and a fragment at hand."""
    @T.prim_func
    def main(X: T.Tensor((64, 64), "float32")):
        with T.Kernel(2) as bx:
            statement(X, T.alloc_fragment((64,), "float32"),
                      T.alloc_reducer((64,), "float32", op="max"), bx)
    return main.record("sm_90")


def test_what_is_not_covered_is_refused():
    def branch(X, f, r, bx):
        if bx == 0:
            pass

    def strided(X, f, r, bx):
        for i in T.Parallel(32):
            f[i * 2] = 0.0

    def wrong_reducer(X, f, r, bx):
        T.fill(r, T.min_value("float32"))
        for i in T.Parallel(64):
            r[i] = f[i]

    def other_op(X, f, r, bx):
        T.fill(r, T.min_value("float32"))
        for i in T.Parallel(64):
            r[i] += f[i]

    for statement, error, message in (
            (branch, T.Uncovered, "in the kernel or a T.macro"), (strided, T.Uncovered, "one parallel variable"),
            (wrong_reducer, spad.ArgumentError, "a reducer is combined"),
            (other_op, spad.Error, "max"),
            (lambda X, f, r, bx: T.copy(X, f), spad.ArgumentError, "4096 elements to 64"),
            (lambda X, f, r, bx: T.gemm(X, X, f), spad.ArgumentError, "does not give"),
            (lambda X, f, r, bx: T.alloc_shared((8,), "int8", stages=2), T.Uncovered, "stages"),
            (lambda X, f, r, bx: T.atomic_max(X, f), AttributeError, "does not cover T.atomic_max")):
        with pytest.raises(error, match=message):
            body(statement)
    with pytest.raises(T.Uncovered, match="no `with T.Kernel"):
        T.prim_func(lambda: None).record()
    with pytest.raises(T.Uncovered, match="not compiled"):
        matmul(128, 128, 32, 128, 128, 32)(1, 2, 3)
    with pytest.raises(T.Uncovered, match="on trn2"):
        matmul(128, 128, 32, 128, 128, 32).record("trn2")
    with pytest.raises(spad.StateError, match="part of a kernel body"):
        T.copy(1, 2)
    with T.block("sm_90"):
        f = T.alloc_fragment((4,), "float32")
        with pytest.raises(spad.StateError, match="part of a kernel body"):
            f[0]


@pytest.mark.parametrize("op", ["sum", "max"])
@pytest.mark.parametrize("reads", [
    lambda X, f, r: T.copy(r, f), lambda X, f, r: T.copy(r, X[0, 0:64]),
    lambda X, f, r: T.reduce_sum(r, f), lambda X, f, r: parallel(lambda i: setitem(X, (0, i), r[i])),
    lambda X, f, r: parallel(lambda i: setitem(f, i, r[i] * 2.0)),
    lambda X, f, r: parallel(lambda i: setitem(f, i, T.max(r[0], f[i])))])
def test_partial_results_are_not_read(op, reads):
    """A reducer is read after T.finalize_reducer, and not before it, whatever reads it."""
    def main(early, late):
        @T.prim_func
        def kernel(X: T.Tensor((64, 64), "float32")):
            with T.Kernel(1):
                f = T.alloc_fragment((64,), "float32")
                r = T.alloc_reducer((64,), "float32", op=op)
                T.copy(X[0, 0:64], f)
                T.fill(r, 0 if op == "sum" else T.min_value("float32"))
                for i in T.Parallel(64):
                    r[i] = r[i] + f[i] if op == "sum" else T.max(r[i], f[i])
                if early:
                    reads(X, f, r)
                T.finalize_reducer(r)
                if late:
                    reads(X, f, r)
        return kernel

    for late in (False, True):
        with pytest.raises(spad.StateError, match="is read before finalize"):
            main(True, late).record("sm_90")
    assert main(False, True).record("sm_90").check().verdict.startswith("proved")


def setitem(buffer, key, value):
    buffer[key] = value


def parallel(statement):
    for i in T.Parallel(64):
        statement(i)


def test_reducers_are_finalised():
    def kernel_of(end):
        @T.prim_func
        def kernel(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64,), "float32")):
            with T.Kernel(2) as bx:
                f = T.alloc_fragment((64,), "float32")
                r = T.alloc_reducer((64,), "float32")
                T.copy(X[0, 0:64], f)
                T.fill(r, 0)
                for i in T.Parallel(64):
                    r[i] += f[i]
                end(Y, f, r, bx)
        return kernel.record("sm_90")

    @T.macro
    def on_one_side(Y, f, r, bx):
        if bx == 0:
            T.finalize_reducer(r)
        T.copy(r, Y)

    def stored(Y, f, r, bx):
        T.copy(f, r)

    with pytest.raises(spad.StateError, match="never finalised"):
        kernel_of(lambda Y, f, r, bx: None)
    with pytest.raises(spad.StateError, match="is stored to"):
        kernel_of(stored)
    with pytest.raises(T.Uncovered, match="on one side of a branch"):
        kernel_of(on_one_side)


def two_accumulators(first, second, frees):
    @T.prim_func
    def kernel(A: T.Tensor((128, 64), "float16"), B: T.Tensor((64, 256), "float16"),
               C: T.Tensor((128, 256), "float32")):
        with T.Kernel(1):
            a, b = T.alloc_shared((128, 64), "float16"), T.alloc_shared((64, 256), "float16")
            T.copy(A, a)
            T.copy(B, b)
            one = T.alloc_tmem((128, first), "float32")
            T.gemm(a, b[:, 0:first], one, clear_accum=True)
            T.copy(one, C[:, 0:first])
            if frees:
                T.free(one)
            two = T.alloc_tmem((128, second), "float32")
            T.gemm(a, b[:, 0:second], two, clear_accum=True)
            T.copy(two, C[:, 0:second])
            if frees == "early":
                T.copy(one, C[:, 0:first])
    return kernel.record("sm_100")


def test_tensor_memory_is_held_until_it_is_freed():
    """Accumulators that are used in turn have columns of their own, as in TileLang."""
    kernel = two_accumulators(256, 256, False)
    assert kernel.layout().fits and kernel.check().verdict.startswith("proved")
    assert [row["used"] for row in kernel.layout().data["spaces"] if row["space"] == "tmem"] == [512 * 4]
    kernel = two_accumulators(256, 256, True)
    assert [row["used"] for row in kernel.layout().data["spaces"] if row["space"] == "tmem"] == [256 * 4]
    with pytest.raises(spad.StateError, match="shared.tmem '.*' is used after T.free"):
        two_accumulators(256, 256, "early")

    @T.prim_func
    def wide(C: T.Tensor((128, 512), "float32")):
        with T.Kernel(1):
            one, two = T.alloc_tmem((128, 512), "float32"), T.alloc_tmem((128, 512), "float32")
            for each in (one, two):
                T.fill(each, 0.0)
                T.copy(each, C)

    kernel = wide.record("sm_100")
    assert not kernel.layout().fits and not kernel.analyse()
    assert "SPAD-OUT-OF-SPACE" in {finding.code for finding in kernel.check()}

    @T.prim_func
    def unused(C: T.Tensor((128, 512), "float32")):
        with T.Kernel(1):
            one, two = T.alloc_tmem((128, 512), "float32"), T.alloc_tmem((128, 512), "float32")
            T.fill(one, 0.0)
            T.copy(one, C)

    assert unused.record("sm_100").check().verdict == "wrong"  # it is allocated all the same


def test_variables_and_barriers_have_shapes():
    with T.block("sm_90"):
        made = [T.alloc_var("int32"), T.alloc_var("int32", "local.var"), T.alloc_var("int32", scope="shared"),
                T.alloc_barrier(1), T.alloc_barrier([1, 2]), T.alloc_wgmma_desc()]
    assert [buffer.shape for buffer in made] == [(1,), (1,), (1,), (1,), (2,), (1,)]

    @T.prim_func
    def kernel(X: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            w = T.alloc_var("float32", "local.var")
            w[0] = 2.0
            assert (w.shape, w.dtype) == ((1,), "float32")
            bars = T.alloc_barrier([1, 2])
            assert (bars.shape, bars.dtype) == ((2,), "uint64")
            for i in T.Parallel(4):
                X[i] = w[0]

    assert kernel.record("sm_90").check().verdict.startswith("proved")


def test_a_read_before_the_write_is_found():
    def reads_too_early(X, f, r, bx):
        T.fill(r, T.min_value("float32"))
        T.finalize_reducer(r)
        for i in T.Parallel(64):
            X[bx, i] = f[i]

    kernel = body(reads_too_early)
    assert kernel.check().verdict.startswith("fail") or list(kernel.check().findings)
