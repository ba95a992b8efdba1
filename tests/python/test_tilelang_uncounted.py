# SPDX-License-Identifier: Apache-2.0
"""Work that a lowered TileLang kernel does in registers: it has no statement in the kernel, and times name it."""

import pytest

import spad.tilelang as T
from spad.tilelang._uncounted import uncounted
from tilelang_kernels import TREES

LOAD = ["load", "x", "i"]
BUFFERS = {"x": {"scope": "local", "bits": 32, "elements": 8, "dtype": "float32"}, "y": {"scope": "shared.dyn", "bits": 16, "dtype": "float16"},
           "n": {"scope": "local.var", "bits": 32, "elements": 1, "dtype": "int32"}, "desc": {"scope": "local.descriptor.wgmma", "bits": 64}}


def of(*body):
    return uncounted({"body": list(body), "buffers": BUFFERS})


@pytest.mark.parametrize("value, names", [
    (["call", "exp2", LOAD], "exp2"), (["+", LOAD, ["*", LOAD, 2]], "+, *"), (["cast", "float16", LOAD], "cast"),
    (["call", "call_extern", ["s", "tl::AllReduce<tl::MaxOp, 4>::run"], LOAD], "tl::AllReduce"),
    (["wide", ["max", LOAD, 0]], "max"), (["select", ["<", LOAD, 0], 0, LOAD], "select, <"),
    (["select", ["<", "i", 8], ["call", "exp", LOAD], 0], "exp")])
def test_what_is_computed_from_loaded_values(value, names):
    assert of(["store", "x", "i", value]) == f"1 element-wise operation of threads ({names})"


@pytest.mark.parametrize("statement", [
    ["store", "x", "i", LOAD], ["store", "x", "i", ["f"]], ["store", "x", "i", ["wide", LOAD]], ["store", "x", "i", ["call", "reinterpret", LOAD]],
    ["store", "x", "i", ["load", "x", ["+", ["load", "n", 0], 1]]],  # an address
    ["store", "x", "i", ["select", ["and", ["<", "i", 8], ["<", "k", 4]], LOAD, 0]],  # zeros outside of the tensor
    ["store", "n", 0, ["+", ["load", "n", 0], 1]], ["store", "desc", 0, ["+", ["load", "desc", 0], 1]],  # counters and descriptors
    ["do", ["call", "ptx_wgmma_ss", LOAD]], ["do", ["call", "call_extern", ["s", "tl::tma_store_arrive"]]], ["let", "v", ["+", LOAD, 1]]])
def test_what_only_moves(statement):
    assert of(statement) == ""


def test_loops_and_names():
    stores = [["store", "x", "i", ["call", name, LOAD]] for name in ("exp2", "log", "sin", "cos")]
    assert of(["for", "i", 0, 8, "unroll", [stores[0]]]) == "1 element-wise operation of threads (exp2)"  # the elements of a tile
    assert of(["for", "k", 0, "K", "serial", [["for", "i", 0, 8, "vectorized", [stores[0]]]]]) == "1 element-wise operation of threads in loops (exp2)"
    assert of(["while", "k", [["if", "k", stores[:2], []]]], stores[2], stores[3]) == (
        "4 element-wise operations of threads, 2 in loops (exp2, log, sin and others)")
    assert of(["do", ["call", "call_extern", ["s", "decode_i4_to_f16<true>"], LOAD]]) == "1 element-wise operation of threads (decode_i4_to_f16)"


def test_times_name_it():
    work = "10 element-wise operations of threads, 9 in loops (max, tl::AllReduce, exp2 and others)"
    k = T.load(TREES / "attention_sm_90.json")
    assert f'uncounted "{work}"\n' in k.text()
    for sim in (k.sim(), k.sim(grid=True)):
        assert sim.uncounted == work and f"not counted: {work}" in sim.badge
    assert f"not counted in the time of 0: main_kernel: {work}" in T.compare(k)
    assert f"not counted: {work}" in k.report().html()
    assert T.load(TREES / "gemm_sm_90.json").sim().uncounted is None
