# SPDX-License-Identifier: Apache-2.0
"""spad.tilelang: the argument forms of tilelang.language.allocate, and what comes out."""

import sys

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
        assert a.offset is None
    assert a.offset % 1024 == 0 and (a.stages, a.bytes, a.stride) == (2, 16384, 16384)
    assert s.is_static and bar.is_static and b.scope.startswith("shared")
    assert (acc.columns, acc.lanes, acc.alloc) == (256, 128, 0)
    assert r.offset is None and g.offset is None and v.dtype == "int32"
    totals = block.sums
    assert totals["dynamic_bytes"] >= 32768 and totals["tmem_columns"] == 256 and block.fits
    assert "acc" in block.text() and "gemm" in block._repr_html_()
    assert len(block.buffers) == len(block) and "<svg" in block._repr_svg_()
    with pytest.raises(AttributeError):
        a.colour


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
