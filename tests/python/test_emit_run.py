# SPDX-License-Identifier: Apache-2.0
"""What `emit` writes as Python runs: NKI kernels with the tensors of a plan at their addresses, TileLang kernels with
its allocations."""

import types

import pytest

import spad
import spad.nki.trace as nt
import spad.tilelang as T
from test_tilelang_load import _installed

ROWS = """
kernel rows on trn2
param N = 6
tensor x : hbm bf16 [N] (128, 256) input
tensor y : hbm bf16 [N] (128, 256) output
tensor a : sbuf bf16 [N] (128, 256) ring 2
tensor b : sbuf bf16 [N] (128, 256) ring 3 align 64
for n in 0..N {
    dma load reads x[n] writes a[n]
    scalar exp reads a[n] writes b[n]
    dma store reads b[n] writes y[n]
}
"""

PRODUCT = """
kernel product on sm_80
param K = 8
unit cp on copy free
group loads
tensor ga : global f16 [K] (128, 32) input
tensor gb : global f16 [K] (32, 128) input
tensor c  : global f32 (128, 128) output
tensor a  : shared f16 [K] (128, 32) ring 2
tensor b  : shared f16 [K] (32, 128) ring 2
tensor acc : registers f32 (128, 128)
tensor fa : registers f16 (128, 32)
tensor fb : registers f16 (32, 128)
simt clear writes acc
for k in 0..K {
    cp load_a reads ga[k] writes a[k] in loads
    cp load_b reads gb[k] writes b[k] in loads
    commit loads
    wait loads pending 0
    simt fragments reads a[k], b[k] writes fa, fb
    tensor mma reads fa, fb updates acc
}
simt store reads acc writes c
"""


def emitted(text, lang):
    """The module that `emit` writes."""
    module = types.ModuleType("places")
    exec(compile(spad.emit(spad.Kernel.parse(text).layout(), lang), "places.py", "exec"), module.__dict__)
    return module


def test_nki_tensors_are_where_the_plan_has_them():
    places = emitted(ROWS, "nki")

    def kernel(x):
        import nki.isa as nisa
        import nki.language as nl
        y = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        for n in range(6):
            a, b = places.tile(nl, "A", n), places.tile(nl, "B", n)
            nisa.dma_copy(dst=a, src=x[n])
            nisa.activation(dst=b, op=nl.exp, data=a)
            nisa.dma_copy(dst=y[n], src=b)
        return y

    traced = nt.trace(kernel, nt.hbm((6, 128, 256), "bf16"), target="trn2")
    assert not traced.check().findings
    wanted = {place for tile in "AB" for place in places.TILES[tile]["addresses"]}
    rows = [row for space in traced.layout().data["spaces"] for row in space["buffers"]]
    assert {(row["lane"], row["byte"]) for row in rows} == wanted
    assert len(wanted) == 5


def test_a_tile_that_the_table_does_not_have():
    with pytest.raises(KeyError, match="NO_TILE"):
        emitted(ROWS, "nki").address("NO_TILE")


def body(T, places):
    """A product with the buffers of the plan, in TileLang."""
    @T.prim_func
    def product(A: T.Tensor((128, 256), "float16"), B: T.Tensor((256, 128), "float16"),
                C: T.Tensor((128, 128), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = places.alloc(T, "A")
            b = places.alloc(T, "B")
            acc = places.alloc(T, "ACC")
            T.clear(acc)
            for k in T.serial(8):
                T.copy(A[0:128, k * 32:k * 32 + 32], a[k % 2, :, :])
                T.copy(B[k * 32:k * 32 + 32, 0:128], b[k % 2, :, :])
                T.gemm(a[k % 2, :, :], b[k % 2, :, :], acc)
            T.copy(acc, C)
    return product


def test_tilelang_allocations_in_a_recorded_kernel():
    kernel = body(T, emitted(PRODUCT, "tilelang")).record("sm_80")
    assert not [f for f in kernel.check().findings if f.severity == "error"]
    assert {(t["name"], t["space"], tuple(t["shape"])) for t in kernel.tensors} >= {
        ("a", "shared", (2, 128, 32)), ("b", "shared", (2, 32, 128)), ("acc", "registers", (128, 128))}


def test_tilelang_barriers():
    text = PRODUCT.replace("sm_80", "sm_90").replace("group loads", "group loads\nmbarrier full[2] count 4")
    places = emitted(text, "tilelang")
    assert places.TILES["FULL"]["alloc"] == "alloc_barrier" and places.TILES["FULL"]["arrivals"] == [4, 4]
    with T.block("sm_90") as block:
        places.alloc(T, "FULL")
        places.alloc(T, "A")
    assert len(block.buffers) == 2


def test_tilelang_says_what_it_cannot_allocate():
    with pytest.raises(spad.ArgumentError, match="TileLang cannot allocate 'A' in sbuf: it has shared memory"):
        emitted(ROWS, "tilelang")


@pytest.mark.skipif(not _installed(), reason="tilelang is not installed")
def test_tilelang_itself_takes_the_allocations():
    import tilelang
    import tilelang.language as language
    chip = {"kind": "cuda", "arch": "sm_80"}
    with tilelang.tvm.target.Target(chip):
        made = tilelang.lower(body(language, emitted(PRODUCT, "tilelang")), target=chip, enable_device_compile=False)
    assert "__global__" in made.kernel_source and "mma_sync" in made.kernel_source
