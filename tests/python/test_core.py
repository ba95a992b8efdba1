# SPDX-License-Identifier: Apache-2.0
"""Chips, managers, plans, kernels, pictures and errors, with the standard library alone."""

import array
import copy
import errno
import gc
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

import spad

EXP_ROWS = """\
kernel exp_rows on trn2
param N = 16
tensor x   : sbuf bf16 [N] (128, 512) ring 2
tensor y   : sbuf bf16 [N] (128, 512) mod base 4096 free 2
tensor in  : hbm bf16 [N] (128, 512) input
tensor out : hbm bf16 [N] (128, 512) output
for i in 0..N parallel {
    dma    load  reads in[i]  writes x[i]
    scalar exp   reads x[i]   writes y[i]
    dma    store reads y[i]   writes out[i]
}
"""


# ---- chips ------------------------------------------------------------------------------------


def test_targets(root):
    chips = spad.targets()
    assert {"trn2", "sm_90", "910b"} <= set(chips)
    trn2 = chips["trn2"]
    assert trn2.family == "neuron" and trn2.usable("sbuf") == 212984
    assert trn2.spaces["psum"]["lanes"] == 128 and "scalar" in trn2.engines
    trn2.check_lanes("sbuf", 64, 64)
    with pytest.raises(spad.ArgumentError) as caught:
        trn2.check_lanes("sbuf", 32, 64)
    assert caught.value.code == "SPAD-LANES"
    own = spad.Target.load(root / "examples/chips/npu7.chip")
    assert own.name == "npu7" and spad.Target.parse(own.text()).data == own.data
    with pytest.raises(spad.ArgumentError, match="trn2"):
        spad.Target("trn22")
    with pytest.raises(spad.TextError) as caught:
        spad.Target.parse("target x\nspace y { lanes many }\n", "x.chip")
    assert caught.value.line == 2 and "x.chip:2:" in caught.value.diagnostics


def test_dtypes():
    assert spad.dtype_name("bf16") == "bfloat16" and spad.dtype_bytes("fp16") == 2
    assert spad.dtype_bits("int4") == 4
    with pytest.raises(spad.ArgumentError, match="float32"):
        spad.dtype_name("float23")


# ---- errors -----------------------------------------------------------------------------------


def test_errors_carry_facts():
    stack = spad.Stack("trn2", upper=100)
    with pytest.raises(spad.FitError) as caught:
        stack.alloc_heap((128, 101), "uint8", name="big")
    error = caught.value
    assert isinstance(error, spad.Error) and isinstance(error, MemoryError)
    assert (error.code, error.needed, error.available) == ("SPAD-NO-FIT", 101, 100)
    assert error.line is None and error.file is None
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is spad.FitError and again.needed == 101 and str(again) == str(error)
    assert issubclass(spad.ArgumentError, ValueError) and issubclass(spad.StateError, RuntimeError)
    assert spad.Error.needed is None


def test_wrong_types_are_refused():
    stack = spad.Stack("trn2")
    stack.open_scope()
    for call in (lambda: stack.alloc_stack("no shape", "uint8"),
                 lambda: stack.alloc_stack((1.5, 2), "uint8"),
                 lambda: stack.alloc_stack((1, 2)),
                 lambda: stack.alloc_stack((1, 2), "uint8", colour="red"),
                 lambda: stack.alloc_stack((1, 2), "uint8", name=3),
                 lambda: spad.Plan().add_many([0], [1], 7),
                 lambda: spad.Plan().add_many([0], [1], array.array("d", [1])),
                 lambda: spad.Stack(),
                 lambda: spad.Report("trn2").add_trace("no trace"),
                 lambda: spad.PlanResult(),
                 lambda: spad.layout(3)):
        with pytest.raises((TypeError, AttributeError)):
            call()
    with pytest.raises(OverflowError):
        stack.alloc_stack((1, 2 ** 70), "uint8")
    with pytest.raises(spad.ArgumentError):
        stack.alloc_stack((1,) * 17, "uint8")
    assert stack.live() == []


# ---- the manager ------------------------------------------------------------------------------


def test_stack():
    stack = spad.Stack("trn2", trace=True)
    with stack.scope(2, "ring"):
        places = []
        for _ in range(3):
            places.append(stack.alloc_stack((128, 512), "bf16").address)
            stack.increment_section()
        with pytest.raises(RuntimeError), stack.scope():
            stack.open_scope()
            raise RuntimeError
        assert stack.depth == 1
    assert places == [(0, 0), (0, 1024), (0, 0)]
    assert stack.log().startswith("[SBM] Allocations:") and stack.log() == ""
    assert stack.stats()["peak_stack"] == 2048
    assert stack.trace.stats("sbuf")["peak_bytes"] == 2048 and len(stack.trace) > 0
    assert [t["byte"] for t in stack.trace.tensors()] == [0, 1024, 0]
    assert "<svg" in stack._repr_html_() and stack.overlaps() == []


def test_an_attempt_is_undone():
    stack = spad.Stack("trn2", upper=1000)
    stack.open_scope()
    with stack.attempt() as attempt:
        stack.alloc_stack((1, 600), "uint8")
        stack.alloc_stack((1, 600), "uint8")
    assert not attempt and attempt.error.needed == 600 and stack.live() == []
    with stack.attempt() as attempt:
        stack.alloc_stack((1, 600), "uint8")
    assert attempt and len(stack.live()) == 1
    mark = stack.mark()
    stack.close_scope()
    with pytest.raises(spad.StateError):
        stack.rollback(mark)
    with pytest.raises(ValueError):
        stack.rollback(b"")


# ---- plans ------------------------------------------------------------------------------------


def test_plan():
    plan = spad.Plan(capacity=4096)
    assert plan.add(0, 3, 1024, name="a") == 0
    assert plan.add_many([2, 4], (5, 6), array.array("i", [2048, 512])) == 1
    result = plan.solve()
    assert result.verdict in ("optimal", "feasible") and result.fits and len(result) == 3
    assert plan.check(result) == result.height <= 4096
    assert plan[0]["name"] == "a" and len(plan) == 3
    offsets = result.offsets
    assert offsets.format == "q" and offsets.readonly and len(offsets) == 3
    del result, plan
    gc.collect()
    assert all(0 <= n < 4096 for n in offsets)  # the view keeps its result


def test_plan_rules():
    plan = spad.Plan(capacity=100)
    a = plan.add(0, 2, 40, offset=60)
    b = plan.add(0, 2, 40)
    c = plan.add(4, 5, 30)
    d = plan.add(6, 8, 40, gaps=[(6, 7)])
    plan.alias(b, d)
    plan.apart(a, c)
    result = plan.solve()
    assert result.offsets[a] == 60 and result.offsets[b] == result.offsets[d]
    assert result.offsets[c] + 30 <= 60
    with pytest.raises(spad.ArgumentError):
        plan.add(3, 3, 1)
    with pytest.raises(spad.ArgumentError, match="size has 1 numbers and lower has 2"):
        plan.add_many([0, 1], [1, 2], [3])


def test_plan_that_does_not_fit():
    plan = spad.Plan(capacity=100)
    plan.add_many([0, 0], [2, 2], [60, 60])
    result = plan.solve()
    assert not result.fits and result.verdict == "infeasible" and result.bound == 120
    assert "120" in result.explain() and json.loads(result.json())["verdict"] == "infeasible"
    with pytest.raises(spad.ArgumentError):
        plan.solve(timeout=-1)


def test_plan_csv(root):
    plan = spad.Plan.load(root / "examples/buffers.csv")
    result = plan.solve()
    rows = result.csv(plan.source).splitlines()
    assert len(rows) == len(plan) + 1 and "offset" in rows[0]
    assert spad.plan_csv(root / "examples/buffers.csv").height == result.height
    with pytest.raises(spad.TextError) as caught:
        spad.Plan().read_csv("id,lower,upper,size\n1,0,x,3\n", "bad.csv")
    assert (caught.value.line, caught.value.file) == (2, "bad.csv")


def test_plan_on_a_chip():
    plan = spad.Plan("trn2", "psum")
    plan.add_many([0] * 8, [1] * 8, [2048] * 8, lanes=[128] * 8)
    result = plan.solve()
    assert sorted(result.offsets) == [i * 2048 for i in range(8)] and plan.capacity == 16384
    assert "psum" in result.report().text() and spad.emit(result, "c").count("2048") >= 8


def hard_plan(capacity=None):
    """Random buffers whose plan is several per cent above the bound for a long time."""
    rng = random.Random(3)
    plan = spad.Plan(capacity=capacity)
    lower = [rng.randrange(5000) for _ in range(5000)]
    plan.add_many(lower, [at + rng.randint(1, 500) for at in lower],
                  [rng.randint(1 << 10, 1 << 20) for _ in lower])
    return plan


def test_progress_can_cancel_and_raise():
    calls = []
    result = hard_plan().solve(timeout=20, progress=lambda facts: calls.append(facts) or True)
    assert calls and calls[0]["bound"] > 0 and result.bound > 0

    def stop(facts):
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        hard_plan().solve(timeout=20, progress=stop)


def test_ctrl_c_ends_an_explanation():
    plan = hard_plan(capacity=hard_plan().solve(timeout=0.1).bound - 1)
    result = plan.solve(timeout=1)
    assert result.verdict == "infeasible"
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        result.explain(timeout=100000)
    assert f"{plan.capacity:,}" in result.explain(timeout=0.1)
    plan.add(0, 1, 1)  # the work is over, not only the waiting


def test_ctrl_c_gives_the_best_plan_on_request():
    plan = hard_plan()
    assert plan.solve(timeout=0.3).verdict == "feasible"  # there is something to wait for
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    result = plan.solve(timeout=100000, interrupt="best")
    assert result.verdict == "feasible" and plan.check(result) == result.height >= result.bound
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        plan.solve(timeout=100000, interrupt="raise")
    with pytest.raises(spad.ArgumentError, match="'raise' or 'best'"):
        plan.solve(interrupt="never")
    before = signal.signal(signal.SIGALRM, lambda *unused: {}["other"])
    try:  # what another handler raises is raised
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyError):
            plan.solve(timeout=100000, interrupt="best")
    finally:
        signal.signal(signal.SIGALRM, before)


def test_an_explanation_raises_what_the_library_says():
    plan = spad.Plan(capacity=10)
    plan.add(0, 1, 10)
    with pytest.raises(spad.ArgumentError, match="the plan fits"):
        plan.solve().explain()


@pytest.mark.parametrize("timeout", [1e300, 1e9, 0, -1, float("nan"), float("inf")])
def test_a_timeout_that_is_none(timeout):
    with pytest.raises(spad.ArgumentError, match="seconds: .*below 1e9, or None"):
        hard_plan().solve(timeout=timeout)


def test_the_gil_is_released_and_a_busy_plan_refuses_changes():
    plan = hard_plan()
    refused = []

    def change(facts):
        with pytest.raises(RuntimeError, match="in the call that called this one"):
            plan.add(0, 1, 1)
        refused.append(True)
        return True

    plan.solve(timeout=20, progress=change)
    assert refused
    ticks = []
    done = threading.Event()
    thread = threading.Thread(target=lambda: (hard_plan().solve(timeout=0.3), done.set()))
    thread.start()
    while not done.wait(0.01):
        ticks.append(1)
    thread.join()
    assert len(ticks) > 3


# ---- kernels ----------------------------------------------------------------------------------


def recorded():
    with spad.Kernel("trn2", "exp_rows") as k:
        N = k.param("N", 16)
        x = k.tensor("x", "sbuf", "bf16", (128, 512), blocks=[N], ring=2)
        y = k.tensor("y", "sbuf", "bf16", (128, 512), blocks=[N], mod={"base": 4096, "free": 2})
        inp = k.tensor("in", "hbm", "bf16", (128, 512), blocks=[N], input=True)
        out = k.tensor("out", "hbm", "bf16", (128, 512), blocks=[N], output=True)
        with k.loop("i", N, parallel=True) as i:
            k.dma("load", reads=inp[i], writes=x[i])
            k.scalar("exp", reads=x[i], writes=y[i])
            k.dma("store", reads=y[i], writes=out[i])
    return k


def test_recorder_and_text_give_the_same_kernel():
    text = spad.Kernel.parse(EXP_ROWS)
    assert recorded().text() == text.text()
    assert text.params == {"N": 16} and [t["name"] for t in text.tensors] == ["x", "y", "in", "out"]


def test_recorder_has_every_statement():
    with spad.Kernel("sm_90", "ring", "TMA producer") as k:
        S, KT = k.param("S", 4), k.param("KT", 6)
        k.unit("tma", "copy", "free", proxy=True)
        k.unit("wgmma", "tensor", "same", proxy=True)
        full, empty = k.mbarrier("full", 1, [S]), k.mbarrier("empty", 1, [S])
        mmas = k.group("mmas")
        a = k.tensor("a", "global", "fp16", (128, 64), blocks=[KT], input=True)
        sa = k.tensor("sa", "shared", "fp16", (128, 64), blocks=[KT], ring=S, align=1024)
        acc = k.tensor("acc", "registers", "f32", (128, 64), persistent=True)
        with k.loop("s", S) as s:
            k.init(full[s])
            k.init(empty[s])
        k.fence()
        with k.agent("producer"), k.loop("k", KT) as i:
            k.wait(empty[i % S], parity=(i // S + 1) % 2)
            k.arrive(full[i % S], expect=16384)
            k.tma("load", reads=a[i], writes=sa[i], delivers=full[i % S])
        with k.agent("consumer"):
            with k.loop("j", KT) as i:
                k.wait(full[i % S], parity=i // S % 2)
                k.wgmma("mma", reads=sa[i], updates=acc, group=mmas)
                k.commit(mmas)
                k.wait(mmas, pending=1)
                with k.when(i > 0):
                    k.arrive(empty[(i - 1) % S])
            k.wait(mmas, pending=0)
    assert k.check(), k.check().text()
    assert k.sim().stuck is None


def test_recorder_has_fences_by_kind():
    assert set(spad.Target("sm_90").fences) == {"shared", "global", "wgmma", "mbarrier"}
    assert spad.Target("sm_100").fences["tcgen05"]["kind"] == "threads"

    def product(fence):
        with spad.Kernel("sm_90", "product") as k:
            k.unit("wgmma", "tensor", "same", proxy=True, fence="wgmma")
            mmas = k.group("mmas")
            a = k.tensor("a", "shared", "fp16", (64, 64), input=True)
            acc = k.tensor("acc", "registers", "f32", (64, 64), output=True)
            k.simt("clear", writes=acc)
            if fence:
                k.fence("wgmma")
            k.wgmma("mma", reads=a, updates=acc, group=mmas)
            k.commit(mmas)
            k.wait(mmas, pending=0)
        return k
    assert product(True).check() and product(True).units[0]["fence"] == "wgmma"
    assert [f.code for f in product(False).check().findings] == ["SPAD-MISSING-FENCE"]
    with spad.Kernel("sm_100", "handover") as k:
        k.fence("tcgen05", "after")
        k.fence("shared")
    assert "fence tcgen05 after\nfence shared\n" in k.text()


def test_recorder_has_elected_arrivals_and_waits():
    with spad.Kernel("sm_90", "one") as k:
        full = k.mbarrier("full", count=1)
        k.init(full)
        with k.agent("a", threads=64):
            k.arrive(full, elected=True)
            k.wait(full, parity=0, elected=True)
            k.wait(full, next=True, elected=True)
    assert "arrive full by 1 elected\n" in k.text()
    assert "wait full parity 0 elected\n" in k.text() and "wait full next elected\n" in k.text()


def test_mbarriers_have_places():
    with spad.Kernel("sm_90", "over") as k:
        full, far = k.mbarrier("full", 1, [2], at=64), k.mbarrier("far", 1)
        x = k.tensor("x", "shared", "u8", (32,), at=48, input=True)
        k.init(full[0])
        k.init(far)
        k.simt("use", reads=[x])
    assert "mbarrier full[2] count 1 at 64\n" in k.text() and "mbarrier far count 1\n" in k.text()
    assert [row["byte"] for row in k.syncs] == [64, None]
    assert k.check().findings[0].code == "SPAD-MBARRIER-BYTES"


def test_recorder_has_loops_cursors_and_unknown_values():
    with spad.Kernel("sm_90", "causal") as k:
        M, S = k.param("M", 3), k.param("S", 2)
        skip = k.unknown("skip")
        rows = k.unknown("rows", 1, 3, count=M, values=[2, 1])
        k.unit("tma", "copy", "free")
        full, empty = k.mbarrier("full", 1, [S]), k.mbarrier("empty", 1, [S])
        a = k.tensor("a", "global", "fp16", (64, 64), blocks=[M], input=True)
        sa = k.tensor("sa", "shared", "fp16", (64, 64), blocks=[S])
        out = k.tensor("out", "global", "fp16", (64, 64), blocks=[2], persistent=True)
        with k.loop("s", S) as s:
            k.init(full[s])
            k.init(empty[s])
        with k.agent("loader"):
            stage, phase = k.cursor("stage", "phase", S)
            with k.loop("m", M) as m, k.loop("n", 0, k.min(m + 1, rows[m]), step=-1) as n:
                k.wait(empty[stage], parity=1 - phase)
                k.arrive(full[stage], expect=8192)
                k.tma("load", reads=a[n], writes=sa[stage], delivers=full[stage])
                k.advance(stage)
        for w in range(1):
            with k.agent(f"user_{w}"):
                stage, phase = k.cursor("stage", "phase", S)
                with k.loop("m", M) as m, k.loop("n", 0, k.min(m + 1, rows[m]), step=-1) as n:
                    k.wait(full[stage], next=True)
                    with k.when((skip == 0) & (n == 0) | (n > k.max(m, 1))):
                        k.simt("use", reads=sa[stage], adds=out[w])
                    k.arrive(empty[stage])
                    k.advance(stage, by=1)
    assert "for n in 0..min((m + 1), rows[m]) step -1 {" in k.source
    assert "if skip == 0 and n == 0 or n > max(m, 1) {" in k.source
    assert k.check().verdict == "proved for this shape" and "for all 16 ways" in k.check().reason
    assert [c["stage"] for c in k.cursors] == ["stage", "stage"] and not k.cursors[0]["even"]
    assert [u["elements"] for u in k.unknowns] == [1, 3]
    assert k.loops[2]["from"] == "0" and k.loops[2]["to"] == "min((m + 1), rows[m])"
    assert k.loops[2]["step"] == -1
    assert spad.Kernel.parse(k.text()).text() == k.text()


def test_any_number_of_rounds_is_proved_for_all_or_not_at_all():
    def rounds(limit):
        with spad.Kernel("sm_90", "rounds") as k:
            T = k.param("T", 2, any=True)
            c, d = k.counter("c"), k.counter("d")
            with k.agent("a"), k.loop("t", T):
                k.signal(c)
                k.take(d)
            with k.agent("b"), k.loop("t", T) as t:
                k.take(c)
                with k.when(t < limit):
                    k.signal(d)
        return k.check()
    assert rounds(5).verdict == "wrong" and rounds(5).reason == "seen with T = 6"
    with spad.Kernel("trn2", "plain") as k:
        T = k.param("T", 2, any=True)
        x = k.tensor("x", "sbuf", "bf16", (128, 512))
        with k.loop("t", T):
            k.vector("put", writes=x)
            k.vector("get", reads=x)
    assert k.check().verdict == "proved for all trip counts", k.check().reason


def test_conditions_are_alternatives_of_comparisons():
    with spad.Kernel("trn2", "either") as k:
        with k.loop("i", 4) as i:
            with pytest.raises(TypeError, match="no parentheses in conditions"):
                ((i == 0) | (i == 1)) & (i < 3)
            with pytest.raises(TypeError, match="needs two numbers"):
                k.min(i)
            with k.when((i == 0) | (i == 2)):
                k.vector("op")
    assert len([e for e in k.walk() if e["kind"] == "operation"]) == 2


def test_parts_branches_and_scopes():
    with spad.Kernel("trn2", "parts") as k:
        k.region("sbuf", 0, 4096)
        a = k.tensor("a", "hbm", "bf16", (128, 64), input=True)
        ready = k.counter("ready", 1)
        with k.scope("rows", sections=2):
            bias = k.tensor("bias", "sbuf", "f32", (128, 1), heap=True)
            k.gpsimd("clear", writes=bias)
            with k.loop("i", 0, 4) as i:
                row = k.tensor("row", "sbuf", "bf16", (128, 64), stack=True, align=32)
                k.dma("load", reads=a, writes=row[0:64, :])
                with k.when(i == 0, i < 3):
                    k.vector("first", updates=row[0:64, 0:32], cycles=64)
                with k.otherwise():
                    k.vector("rest", reads=row[0:64, 7], ns=100 + i)
                k.next_section()
            k.free(bias)
        k.signal(ready)
        k.take(ready, by=2)
    assert "row(0..64, ..)" in k.source and "} else {" in k.source
    assert spad.Kernel.parse(k.text()).text() == k.text()
    with pytest.raises(spad.StateError):
        k.fence()


def test_conditions_are_of_the_kernel_not_of_python():
    with spad.Kernel("trn2", "branches") as k:
        N = k.param("N", 8)
        x = k.tensor("x", "sbuf", "bf16", (128, 64), blocks=[N])
        with k.loop("i", N) as i:
            for misused in (lambda: 1 if i == 0 else 2, lambda: not i > 2, lambda: 0 < i < 5,
                            lambda: i > 2 and i < 5, lambda: min(i, 3), lambda: max(3, i),
                            lambda: i in (1, 2), lambda: sorted([i, 3]), lambda: (i > 2) == True,
                            lambda: (i > 2) != True):
                with pytest.raises(TypeError, match=r"neither true nor false.*k\.when"):
                    misused()
            with pytest.raises(TypeError, match=r"'i' has no value.*k\.when\(i != 0\)"):
                bool(i)
            for wrong in (True, "i > 0", None, i):
                with pytest.raises(TypeError, match="a comparison of"):
                    k.when(wrong)
            with pytest.raises(TypeError, match="needs a condition"):
                k.when()
            with pytest.raises(TypeError):
                (i > 0) & True
            with k.when((i > 0) & (i < 5) & (5 > i), N != 1):
                k.vector("some", writes=x[i])
    assert "if i > 0 and i < 5 and i < 5 and N != 1 {" in k.source


def test_a_tensor_of_the_recorder_is_not_a_sequence():
    k = spad.Kernel("trn2")
    x = k.tensor("x", "sbuf", "bf16", (128, 64), blocks=[4])
    for misused in (lambda: list(x), lambda: 3 in x, lambda: [t for t in x[0]], lambda: max(x)):
        with pytest.raises(TypeError):
            misused()


def test_names_of_the_recorder_are_one_word():
    k = spad.Kernel("trn2", about='says "a\\b"\n\tand more')
    x = k.tensor("x", "sbuf", "bf16", (128, 64), blocks=[4])
    lines = len(k._lines)
    for name in ("a writes x\n vector b", "a b", "", "2a", "a;b", "a#", "\u00e4", "a" * 64, "x[0]"):
        for paste in (lambda: k.vector(name, writes=x[0]), lambda: k.vector("a", writes=name),
                      lambda: k.param(name, 1), lambda: k.tensor(name, "sbuf", "bf16", (128, 4)),
                      lambda: k.unit(name, "dma"), lambda: k.unit("u", "dma", name),
                      lambda: k.barrier(name, 1), lambda: k.counter(name), lambda: k.group(name),
                      lambda: k.loop(name, 4).__enter__(), lambda: k.scope(name),
                      lambda: k.agent(name), lambda: k.region("sbuf", 0, 64, name),
                      lambda: spad.Kernel("trn2", name)):
            with pytest.raises(spad.ArgumentError, match="is no name"):
                paste()
    for thing in (5, None, "x"):
        with pytest.raises(TypeError, match="that the kernel declares is needed"):
            k.alloc(thing)
    with pytest.raises(TypeError, match="a name is a str"):
        k.vector(5, writes=x[0])
    assert len(k._lines) == lines
    k.vector("a" * 63, writes=x[0])
    k.line("vector b reads x[0]\nvector c reads x[0]")
    assert k.place(4)[1] == k.place(5)[1] == k.place(3)[1] + 1
    k.finish()
    assert k.about == 'says "a\\b"\n\tand more' and len(k.statements) == 4
    with pytest.raises(spad.TextError):
        with spad.Kernel("trn2") as k:
            k.tensor("y", 'sbuf bf16 (128, 4)\ntensor z : sbuf', "bf16", (128, 4))


def test_a_fault_names_the_python_line():
    with pytest.raises(spad.TextError) as caught:
        with spad.Kernel("trn2") as k:
            k.tensor("x", "nowhere", "bf16", (128, 4))
    assert "nowhere" in str(caught.value)
    assert __file__ in caught.value.__notes__[0]
    with pytest.raises(AttributeError, match="no engine"):
        spad.Kernel("trn2").warp("x")
    with pytest.raises(spad.StateError):
        spad.Kernel("trn2").check()


def test_place_of_an_alias():
    k = spad.Kernel.parse("kernel k on sm_90\ntensor a : shared f32 (64, 32)\n"
                          "tensor b : shared f32 (32, 32) alias of a + 4096\n"
                          "simt put writes a\nsimt get reads a\nsimt put writes b\nsimt get reads b\n")
    layout = k.layout()
    assert layout.place("b") == (0, layout.place("a")[1] + 4096)
    with pytest.raises(KeyError):
        layout.place("b", 1)


def searched():
    """A kernel of which the planner has to search for a layout, and the tuner for depths of rings."""
    lines = ["kernel k on sm_90", "param N = 40", "tensor a : shared u8 [N] (512) ring 1",
             "tensor b : shared u8 [N] (640) ring 1"]
    lines += [f"tensor t{i} : shared u8 ({128 + i * 7919 % 3001})" for i in range(120)]
    for i in range(160):
        if i < 120:
            lines.append(f"simt w writes t{i} cost 1 ns")
        if 0 <= i - 5 - i * 37 % 35 < 120:
            lines.append(f"simt r reads t{i - 5 - i * 37 % 35} cost 1 ns")
    lines.append("for i in 0..N {\nsimt w writes a[i] cost 3 ns\nsimt x reads a[i] writes b[i] cost 5 ns\n"
                 "simt r reads b[i] cost 2 ns\n}")
    return spad.Kernel.parse("\n".join(lines))


def test_progress_of_layout_and_tune():
    kernel, heard = searched(), []
    assert kernel.layout(timeout=60, progress=lambda facts: heard.append(facts) or True).fits
    assert heard and set(heard[0]) == {"space", "nanoseconds", "height", "bound", "nodes", "restarts"}
    assert heard[0]["space"] == "shared" and heard[0]["bound"] > 0
    heard = []
    assert kernel.tune(depth_most=3, timeout=60, progress=heard.append).makespan > 0
    assert heard and set(heard[0]) == {"nanoseconds", "simulations", "makespan_ps", "bound_ps"}

    def fails(facts):
        raise LookupError("no more")

    for call in (kernel.layout, kernel.tune):
        with pytest.raises(LookupError, match="no more"):
            call(timeout=60, progress=fails)
        with pytest.raises(TypeError, match="progress is a function or None"):
            call(progress=3)


def test_check_layout_sim_tune():
    k = recorded()
    layout = k.layout()
    assert layout.fits and layout.place("x", 1)[1] - layout.place("x", 0)[1] == 1024
    assert json.loads(layout.json()) and "x" in layout.table() and layout.csv().startswith("space")
    check = k.check(layout=True)
    assert check and check.verdict == "proved for all trip counts" and check.counts["errors"] == 0
    assert "exp_rows" in check.text() and json.loads(check.sarif())["version"] == "2.1.0"
    sim = k.sim(layout)
    assert sim.makespan >= sim.bound > 0 and sim.stuck is None and sim.data
    tune = k.tune()
    assert tune.makespan <= tune.written and tune.chosen.name == "exp_rows"
    other = k.reshape(defines={"N": 4}, rings={"x": 1})
    assert other.params["N"] == 4 and other.sim().makespan < sim.makespan
    with pytest.raises(spad.ArgumentError):
        k.reshape(defines={"M": 4})
    with pytest.raises(spad.ArgumentError, match="the layout is of kernel"):
        spad.check(other, layout)


def test_without_figures_there_is_no_time():
    text = ("kernel k on H100\ntensor t : shared fp16 [8] (64, 64) ring 1\nfor i in 0..8 {\n"
            "copy load writes t[i] COST\ntensor mma reads t[i] COST\n}\n")
    steps, real = spad.sim(text.replace("COST", "")), spad.sim(text.replace("COST", "cost 100 ns"))
    assert (steps.unit, steps.assumed, steps.unknown) == ("steps", 16, 16)
    assert steps.badge == "16 of 16 costs assumed: steps, not time"
    assert steps.time_text(steps.makespan) == "16 steps" and "16 steps" in repr(steps)
    assert steps.data["unit"] == "steps" and steps.data["assumed"] == 16
    assert (real.unit, real.assumed, real.badge) == ("time", 0, None) and "1.600 us" in repr(real)
    with pytest.raises(spad.ArgumentError, match="16 of 16 operations have no cost on 'sm_90'"):
        spad.tune(text.replace("COST", ""))
    tune = spad.tune(text.replace("COST", ""), steps=True)
    assert tune.unit == "steps" and tune.depths == {"t": 2} and "9 steps" in repr(tune)
    assert "9 steps" in tune._repr_html_() and tune.badge in tune._repr_html_()
    assert spad.tune(text.replace("COST", "cost 100 ns")).unit == "time"


def test_shared_bytes_have_a_price(root):
    """Two tiles that are never live together have the same bytes, and one waits for the other."""
    made = spad.analyse((root / "tests/cli/input/waits.spad").read_text())
    assert made.apart < made.sim.makespan and made.data["engines"]["apart_ps"] == made.apart
    assert "shared bytes cost" in made.text()
    assert spad.analyse(EXP_ROWS).apart == spad.analyse(EXP_ROWS).sim.makespan
    assert spad.analyse(EXP_ROWS, skip=["layout"]).apart is None


WEIGHTS = """\
kernel weights on trn2
param N = 8
tensor in  : hbm bf16 [N] (128, 512) input
tensor w   : hbm bf16 (128, 512) input
tensor out : hbm bf16 [N] (128, 512) output
tensor x   : sbuf bf16 [N] (128, 512) ring 2
tensor ws  : sbuf bf16 [N] (128, 512) ring 2
for i in 0..N {
    dma    load   reads in[i] writes x[i]
    dma    weight reads w writes ws[i]
    vector scale  reads ws[i] updates x[i]
    dma    store  reads x[i] writes out[i]
}
"""


def test_advice_changes_kernels(root):
    kernel = spad.Kernel.parse(WEIGHTS)
    advice = kernel.advise()
    assert advice.proved and not advice.cut and len(advice) == len(advice.changes) >= 2
    first = advice.changes[0]
    assert (first["kind"], first["name"], first["other"], first["operation"], first["line"]) == (
        "load", "ws", "i", "weight", 10)
    assert first["time"] < 0 and first["placed"] < 0
    assert advice.data["changes"][0]["kind"] == "load" and "'weight' of 'ws'" in advice.text()
    assert advice.kernel.check().verdict == kernel.check().verdict
    assert advice.kernel.layout().fits and "2 changes" in repr(advice)
    only = spad.advise(WEIGHTS, skip=["load", "deeper"])
    assert len(only) == 0 and only.kernel.text() == kernel.text()
    assert kernel.advise(trials_most=1).cut
    staged = spad.Kernel.load(root / "tests/cli/input/staged.spad")
    assert [c["kind"] for c in staged.advise().changes][-1] == "alias"
    queue = spad.Kernel.load(root / "tests/cli/input/queue.spad")
    assert [(c["kind"], c["name"], c["to"]) for c in queue.advise(steps=True).changes] == [("shorter", "S", 2)]
    with pytest.raises(spad.ArgumentError, match="'x' is no kind of change: load, deeper, shorter, alias"):
        kernel.advise(skip=["x"])
    with pytest.raises(TypeError):
        kernel.advise(skip=[1])
    with pytest.raises(spad.ArgumentError, match="a limit of -1 is negative"):
        kernel.advise(depth_most=-1)
    with pytest.raises(TypeError, match="a Kernel is needed"):
        spad._spad.advise(1)


def test_tune_and_fit_place_as_plan_does(root):
    """A tile that lies over another one after agents have ordered the two."""
    text = (root / "tests/cli/input/staged.spad").read_text()
    def bytes_of(kernel):
        return sum(space["used"] for space in kernel.layout().data["spaces"])
    kernel = spad.Kernel.parse(text)
    tune = kernel.tune(steps=True)
    assert tune.data["written_placed"] == bytes_of(kernel) == 4 * 49152 + 7 * 8 + 16384
    assert tune.placed == bytes_of(tune.chosen) < tune.bytes
    deep = spad.Kernel.parse(text, defines={"S": 5})
    change = json.loads(deep.layout().fit(json=True))[0]
    assert (change["to"], change["saved"]) == (3, bytes_of(deep) - bytes_of(kernel))


def test_products_are_targets():
    assert spad.Target("H100").name == "sm_90" and spad.Target("rtx 4090").name == "sm_89"
    with pytest.raises(spad.Error, match="did you mean 'H100'"):
        spad.Target("H10O")


def test_kernels_travel():
    k = recorded().reshape(defines={"N": 4}, rings={"x": 3})
    again = pickle.loads(pickle.dumps(k))
    assert again.text() == k.text() and again.sim().makespan == k.sim().makespan
    own = spad.Target.parse("target tiny\nspace pad { bytes 64 }\nengine e { reads pad; writes pad }\n")
    with spad.Kernel(own, "k") as k:
        k.e("op", writes=k.tensor("x", "pad", "uint8", (8,)))
    assert pickle.loads(pickle.dumps(k)).target.name == "tiny"


def test_findings():
    check = spad.check(EXP_ROWS.replace("reads x[i] ", "reads x[15 - i] "))
    assert not check and check.verdict == "wrong" and len(check) >= 1
    finding = check.findings[0]
    assert finding.severity == "error" and finding.code.startswith("SPAD-") and finding.line > 0
    assert "SPAD-" in check._repr_html_() and "<script" not in check._repr_html_()


def test_options_of_the_check():
    serial = ("kernel k on trn2\ntensor in : hbm bf16 [8] (128, 512) input\n"
              "tensor out : hbm bf16 [8] (128, 512) output\n"
              "tensor y : sbuf bf16 [8] (128, 512) mod base 1024 free 2\n"
              "for i in 0..8 parallel {\n"
              "    tensor t : sbuf bf16 (128, 512) mod base 0\n"
              "    dma    load  reads in[i] writes t\n"
              "    scalar exp   reads t     writes y[i]\n"
              "    dma    store reads y[i]  writes out[i]\n}\n")
    assert "advice" in [f.severity for f in spad.check(serial)]
    assert "advice" not in [f.severity for f in spad.check(serial, advice=False)]
    assert spad.check(EXP_ROWS).verdict == "proved for all trip counts"
    assert spad.check(EXP_ROWS, one_shape=True).verdict != "proved for all trip counts"
    wrong = EXP_ROWS.replace("reads x[i] ", "reads x[15 - i] ")
    assert len(spad.check(wrong, finding_limit=1)) < len(spad.check(wrong))


def test_neighbouring_values_are_tried():
    text = ("kernel k on sm_90\nparam R = 4\nparam N = 3\ncounter full\ncounter empty = 1\n"
            "tensor x : shared f32 (R, 64)\n"
            "agent a { for n in 0..N { take empty\nfor r in 0..R { simt put writes x(r, ..) }\n"
            "signal full } }\n"
            "agent b { for n in 0..N { take full\nfor r in 0..R { simt get reads x(r, ..)\n"
            "if r == %s { signal empty } } } }\n")
    right = spad.check(text % "R - 1", vary=["R"])
    assert right.reason == "for all N; R = 2, 3, 5, 6 are right, too"
    made = spad.Kernel.parse(text % "3")
    wrong = made.check(vary=("R", "N"))
    assert wrong.reason.startswith("right at R = 4, not with R = 5: ")
    assert "warning" in [f.severity for f in wrong]
    assert made.analyse(vary=["R"]).check.reason == made.check(vary=["R"]).reason
    assert made.check(vary=None).reason == made.check(vary=()).reason == "for all N; other values of R were not tried"
    with pytest.raises(spad.Error, match="kernel 'k' has no parameter 'Z' to vary"):
        made.check(vary=["Z"])
    with pytest.raises(TypeError, match="vary is a list of names"):
        made.check(vary="R")
    with pytest.raises(TypeError):
        made.check(vary=[1])
    with pytest.raises(TypeError):
        made.check(vary=3)


def test_what_does_not_fit_is_a_finding():
    text = EXP_ROWS.replace("ring 2", "ring 16").replace("(128, 512)", "(128, 16384)").replace(
        "mod base 4096 free 2", "ring 2")
    assert "SPAD-DOES-NOT-FIT" not in [f.code for f in spad.check(text, layout=False)]
    check = spad.check(text)
    assert not check and "SPAD-DOES-NOT-FIT" in [f.code for f in check]
    assert "SPAD-DOES-NOT-FIT" in spad.check(text, layout=True).text()
    assert spad.check(EXP_ROWS, layout=True) and "<svg" in spad.check(EXP_ROWS, layout=True).report().svg()
    many = ("kernel k on trn2\ntensor x : sbuf bf16 [2000000] (128, 4)\n"
            "for i in 0..4 { vector a writes x[i]\nvector b reads x[i] }\n")
    with pytest.raises(spad.ArgumentError):
        spad.layout(many)
    assert "SPAD-DOES-NOT-FIT" in [f.code for f in spad.check(many, layout=True)]


def test_check_of_a_text():
    assert spad.check_text(EXP_ROWS).verdict == "proved for all trip counts"
    check = spad.check_text("kernel k on trn2\ntensor x : sbuff bf16 (128, 4)\n", "k.spad")
    assert not check and check.findings[0].code == "SPAD-SYNTAX" and check.findings[0].line == 2
    assert check.findings[0].file == "k.spad" and "sbuff" in check._repr_html_()
    assert json.loads(check.json()) and json.loads(check.sarif()) and "^~~~" in check.text()
    with pytest.raises(spad.StateError):
        check.report()


def test_fit():
    text = EXP_ROWS.replace("ring 2", "ring 16").replace("(128, 512)", "(128, 16384)")
    layout = spad.layout(text.replace("mod base 4096 free 2", "ring 2"))
    assert not layout.fits and "fits" in layout.fit() and json.loads(layout.fit(json=True))
    with pytest.raises(spad.FitError):
        spad.emit(layout, "c")


# ---- pictures ---------------------------------------------------------------------------------


def test_a_saved_file_is_replaced_as_a_whole(tmp_path):
    report = recorded().report()
    old = tmp_path / "old.svg"
    old.write_text("old")
    old.chmod(0o604)
    (tmp_path / "link.svg").symlink_to("old.svg")
    (tmp_path / "dangling.svg").symlink_to("new.svg")
    before = os.umask(0o027)
    try:
        for name in ("link.svg", "dangling.svg", "page.html"):
            report.save(tmp_path / name)
    finally:
        os.umask(before)
    assert old.read_bytes().startswith(b"<svg") and old.stat().st_mode & 0o777 == 0o604
    for name in ("new.svg", "page.html"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link.svg").is_symlink() and (tmp_path / "dangling.svg").is_symlink()
    assert len(os.listdir(tmp_path)) == 5


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    code = ("import resource, signal, sys, spad\n"
            "report = spad.Report('trn2', 'page')\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
            "try:\n"
            "    report.save(sys.argv[1])\n"
            "except OSError as error:\n"
            "    print(error.strerror)\n")
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert done.stdout == "File too large\n", done.stderr
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["page.html"]


def test_a_folder_that_takes_no_files(tmp_path, monkeypatch):
    """The error names the file that was asked for, not the one that would have taken its name."""
    def refused(path, *flags):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(PermissionError) as caught:
        spad.Report("trn2", "page").save(tmp_path / "page.html")
    assert caught.value.filename == str(tmp_path / "page.html")


def test_a_pipe_is_written_in_place(tmp_path):
    path = tmp_path / "pipe.svg"
    os.mkfifo(path)
    got = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    recorded().report().save(path)
    reader.join()
    assert got[0].startswith(b"<svg") and path.is_fifo()


def test_reports(tmp_path):
    k = recorded()
    report = k.report()
    for path in ("a.svg", "a.html", "a.json", "a.txt", "a.trace"):
        assert report.save(tmp_path / path).stat().st_size > 100
    assert report.stats("sbuf")["conflicts"] == 0 and report.data
    deeper = k.reshape(rings={"x": 3}).report()
    assert "x" in spad.diff(report, deeper) and json.loads(spad.diff(report, deeper, "json"))
    with pytest.raises(spad.ArgumentError):
        report.save(tmp_path / "a.gif")
    own = spad.Report("trn2", "by hand")
    own.add_box("a", 0, 4, 0, 1024, space="sbuf", lanes=128)
    own.add_bar("scalar", "exp", 1, 3)
    own.add_note("a note")
    assert len(own) == 1 and "by hand" in own.text() and "<svg" in own._repr_html_()


@pytest.mark.parametrize("lang", ["c", "cuda", "nki", "json", "csv"])
def test_emit(lang):
    k = spad.Kernel.parse(EXP_ROWS)
    assert spad.emit(k.layout(), lang, "exp")
    with pytest.raises(spad.ArgumentError):
        spad.emit(k.layout(), "cobol")


def test_objects_cannot_be_copied():
    k = spad.Kernel.parse(EXP_ROWS)
    plan = spad.Plan()
    plan.add(0, 1, 1)
    device = spad.Device()
    stream, component, memory = spad.Stream(device), spad.Registry().add("c"), device.memory()
    component.register("x", 1)
    log = spad.Log.parse("Thread,Time,Action,Pointer,Size,Stream\n0,0,allocate,0x10,64,0x0\n")
    for thing in (memory, memory.alloc(1), log, stream.record(), component, component.registry,
                  component.allocator("x"), k.walk(), spad.Tmem("sm_100"), spad.Target("trn2"), spad.Trace("trn2"), spad.Stack("trn2"), plan, plan.solve(),
                  k._c, k.layout(), k.check()._c, k.sim(), k.tune(), spad.Report("trn2"),
                  spad.Block("sm_90"), spad.Direct("trn2"), device, device.alloc((1,), "int8"),
                  stream, spad.Workspace(device, 64)):
        for copier in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError):
                copier(thing)
    for kind in (spad.PlanResult, spad.Layout, spad.Sim, spad.Tune, spad.Buffer, spad.Tensor, spad.Walk,
                 spad.Memory, spad.Allocation, spad.Fence, spad.Component, spad.Allocator, spad.Log):
        with pytest.raises(TypeError):
            kind()
        with pytest.raises(TypeError):
            object.__new__(kind)


# ---- the command and the import -----------------------------------------------------------------


def environment():
    """That of a child: a sanitizer that is loaded here must not be loaded by it."""
    return {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}


@pytest.mark.skipif("SPAD_SANITIZED" in os.environ, reason="the command is sanitized, too")
def test_command(root):
    def run(*words):
        return subprocess.run([sys.executable, "-m", "spad", *words], capture_output=True,
                              text=True, env=environment())

    assert run("--version").stdout.strip().endswith(spad.__version__)
    done = run("check", str(root / "examples/kernels/01_exp_rows.spad"))
    assert done.returncode == 0 and "exp_rows" in done.stdout
    assert run("nonsense").returncode == 2


def test_drop_ins_are_loaded_when_they_are_used():
    code = ("import sys, spad; before = 'spad.nki' in sys.modules; spad.nki.SbufManager; "
            "print(before, 'spad.nki' in sys.modules, 'numpy' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True", "False"], done.stderr
    assert {"nki", "cubie", "ascend", "tilelang"} <= set(dir(spad))
    with pytest.raises(AttributeError):
        spad.nothing


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def import_elsewhere(isolated):
    """What a second interpreter of this process says about importing the package."""
    code = f"import sys; sys.path[:] = {sys.path}; import spad"
    if sys.version_info >= (3, 13):
        import _interpreters as interpreters

        other = interpreters.create("isolated" if isolated else "legacy")
        said = interpreters.run_string(other, code)
        said = said.formatted if said is not None else "nothing"
    else:
        interpreters = pytest.importorskip("_xxsubinterpreters")
        other = (interpreters.create(isolated=isolated) if sys.version_info >= (3, 12)
                 else interpreters.create())
        with pytest.raises(interpreters.RunFailedError) as caught:
            interpreters.run_string(other, code)
        said = str(caught.value)
    interpreters.destroy(other)
    return said


def test_one_interpreter():
    assert "one interpreter" in import_elsewhere(isolated=False)
    if sys.version_info >= (3, 12):  # with a GIL of its own: Python refuses it
        assert "does not support loading in subinterpreters" in import_elsewhere(isolated=True)
    assert spad.Plan(capacity=1).solve().fits  # this one is as it was


def test_the_module_is_imported_once():
    done = run("import sys, spad; del sys.modules['spad._spad']\n"
               "try:\n    import spad._spad\nexcept ImportError as error:\n    print(error)")
    assert "once" in done.stdout, done.stderr
    assert "2 spad" in run("import importlib, spad; importlib.reload(spad); importlib.reload(spad.core)\n"
                           "print(spad.dtype_bytes('bf16'), spad.__name__)").stdout


def test_a_python_without_the_gil_is_refused():
    if "t" in sys.abiflags:
        done = subprocess.run([sys.executable, "-X", "gil=0", "-c", "import spad"], text=True,
                              capture_output=True)
        assert "spad needs the GIL, which -X gil=0" in done.stderr
        assert sys._is_gil_enabled()
    else:
        done = run("import sys; sys.abiflags = 't'\n"
                   "try:\n    import spad\nexcept ImportError as error:\n    print(error)")
        assert "built for a Python with the GIL, and this one is free-threaded" in done.stdout, done.stderr


def test_threads_share_a_kernel():
    k = recorded()
    answers = []

    def work():
        layout = k.layout()
        answers.append((k.sim(layout).makespan, k.check(layout).verdict))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4 and len(set(answers)) == 1


def test_numpy():
    np = pytest.importorskip("numpy")
    plan = spad.Plan()
    rows = np.array([[0, 3, 1024], [2, 5, 2048], [4, 9, 512]])
    plan.add_many(rows[:, 0], rows[:, 1], rows[:, 2].astype(np.uint16),
                  alignment=np.full(3, 64, np.int32))
    offsets = np.asarray(plan.solve().offsets)
    assert offsets.dtype == np.int64 and (offsets % 64 == 0).all()
    with pytest.raises(TypeError):
        plan.add_many(rows, rows, rows)
    stack = spad.Stack("trn2")
    stack.open_scope()
    t = stack.alloc_stack((np.int64(128), np.int32(4)), np.float32)
    assert t.bytes == 16 and stack.alloc_stack((128, 4), np.dtype("int8")).bytes == 4


def test_instances_and_threads():
    """What a kernel says of cores and threads is in its text, and in its rows."""
    with spad.Kernel("910b", "cores") as k:
        a = k.tensor("a", "ub", "u8", (32,))
        b = k.tensor("b", "ub[1]", "u8", (32,))
        with k.agent("first", threads=64, registers=32):
            k.vector("fill", writes=a)
        with k.agent("second"):
            k.vector("fill", writes=b)
    assert [t["space"] for t in k.tensors] == ["ub", "ub[1]"]
    assert [(g["threads"], g["registers"]) for g in k.agents[1:]] == [(64, 32), (0, 0)]
    assert "tensor b : ub[1] " in k.text()
    assert spad.Target("910b").spaces["ub"]["instances"] == 2
    with pytest.raises(spad.Error, match="no ub.2."):
        with spad.Kernel("910b", "none") as k:
            k.tensor("c", "ub[2]", "u8", (32,))


PIPELINE = """kernel pipeline on trn2
tensor in  : hbm bf16 [2] (128, 2048) input
tensor out : hbm bf16 [2] (128, 2048) output
tensor a   : sbuf bf16 (128, 2048) at 0
tensor b   : sbuf bf16 (128, 2048) at 65536
dma    load  reads in[0] writes a
vector one   updates a
dma    store reads a writes out[0]
dma    load  reads in[1] writes b
vector two   updates b
dma    store reads b writes out[1]
"""


def test_layouts_for_time_and_for_bytes():
    kernel = spad.Kernel.parse(PIPELINE)
    made = kernel.frontier(release=True)
    small, fast = made.points
    assert small["bytes"] < fast["bytes"] < made.written_bytes
    assert fast["makespan"] == made.apart == made.written < small["makespan"]
    for goal, point in (("bytes", small), ("time", fast)):
        layout = made.layout(goal)
        assert made.kernel.sim(layout).makespan == point["makespan"]
        assert made.kernel.check(layout).verdict == "proved for this shape"
    assert made.data["layouts"] > 2 and "as it is" in made.text() and "2 layouts" in repr(made)
    assert made.kernel.text() == kernel.release().text() and " at " not in made.kernel.text()
    with pytest.raises(spad.ArgumentError, match="'time' or 'bytes'"):
        made.layout("speed")
    with pytest.raises(TypeError):
        spad.frontier(1)
    kept = spad.frontier(kernel)
    assert len(kept.points) == 1 and kept.layout() is not None
    big = spad.Kernel.parse("kernel big on trn2\ntensor a : sbuf bf16 (128, 200000)\nvector fill writes a\n")
    assert big.frontier().layout() is None and big.frontier().written is None
