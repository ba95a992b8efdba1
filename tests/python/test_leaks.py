# SPDX-License-Identifier: Apache-2.0
"""Memory does not grow: every kind of object, made and dropped many times, errors included."""

import gc
import os
import sys

import pytest

import spad
import spad.ascend as T
from spad import cubie, nki

QUIET = nki.Logger(level=nki.OFF)
KERNEL = """kernel k on trn2
tensor x : sbuf bf16 [4] (128, 64) ring 2
for i in 0..4 { vector a writes x[i]
vector b reads x[i] }
"""


def managers():
    sbm = nki.SbufManager(0, 1000, QUIET, trace=True)
    sbm.open_scope(2, "s")
    sbm.alloc_stack((128, 4), "bfloat16", name="x")
    for wrong in (lambda: sbm.alloc_stack((128, 4000), "bfloat16"), sbm.pop_heap):
        try:
            wrong()
        except AssertionError:
            pass
    sbm.close_scope()
    sbm.log(), sbm.live(), sbm.stats(), sbm.trace.tensors()


def plans():
    plan = spad.Plan(capacity=100)
    plan.add_many([0, 1], [3, 4], (40, 30), names=["a", None])
    result = plan.solve(interrupt="best")
    list(result.offsets[::-1]), repr(result.offsets), result.offsets == [1, 2], result.text()
    for wrong in (lambda: plan.add(3, 3, 1), lambda: plan.solve(interrupt="no"),
                  lambda: plan.add_many([0], [1], [1], names=["b", "c"])):
        try:
            wrong()
        except spad.Error:
            pass
    result.report().svg()
    tight = spad.Plan(capacity=10)
    tight.add(0, 1, 11)
    tight.solve().explain()


def kernels():
    kernel = spad.Kernel.parse(KERNEL)
    layout = kernel.layout()
    kernel.check(layout), kernel.sim(layout), layout.csv(), kernel.tensors
    try:
        spad.Kernel.parse("kernel")
    except spad.TextError:
        pass


def buffers():
    buf = T.alloc_buffer((8, 8), "float32")
    memoryview(T.buffer_alias(buf, (4,)).raw)[0] = 1.0
    buf.__dlpack__()
    buf.__dlpack__(max_version=(1, 0))
    T.free(buf)


def traces():
    device, trace = spad.Device(), spad.Trace("host")
    device.record(trace)
    with device.alloc((64,), "uint8", name="x"):
        pass
    trace.plan(), device.target, trace.report().boxes()
    log = spad.Log.from_snapshot({"device_traces": [[
        {"action": "alloc", "addr": 64, "size": 8, "frames": [{"name": "f", "filename": "f.py", "line": 3}]},
        {"action": "free_completed", "addr": 128, "size": 8}]]})
    log.plan(), log.report().boxes()
    try:
        spad.Log.from_snapshot(b"\x80\x04cos\nsystem\n.")
    except spad.TextError:
        pass


def groups():
    group = cubie.BufferGroup()
    group.register("a", 3, "shared")
    group.register("b", 2, "local", aliases="a")
    group.shared_layout
    nki.ModularAllocator().alloc_sbuf_tensor((128, 4), "uint8", [2, 2])


def memories():
    device = spad.Device()
    memory = device.memory().limit(1000).statistics().log().fault(3).pool(block_bytes=64)
    with memory.alloc(10), memory.alloc(20, 64):
        try:
            memory.alloc(4000)
        except spad.Error:
            pass
    memory.stats(), memory.below.below.text(), memory.trim()
    with spad.Stream(device) as stream:
        stream.record().wait()
        stream.alloc(64).free()


def registries():
    registry = spad.Registry()
    loop, step = registry.add("loop"), registry.add("step")
    loop.register("state", 8, precision="float64")
    step.register("work", 4, "local")
    loop.add_child(step, "s")
    loop.layout(bytes=True), loop.buffers, loop.children, loop.allocator("state").slice(3)
    try:
        loop.find("nothing")
    except spad.Error:
        pass


def walks():
    kernel = spad.Kernel.parse(KERNEL)
    list(kernel.walk(layout=True)), kernel.statements, kernel.loops
    trace = kernel.trace()
    trace.events(), trace.scopes(), trace.live_at("sbuf", 1), trace.report().boxes()


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
@pytest.mark.skipif("SPAD_SANITIZED" in os.environ, reason="the sanitizer keeps freed memory")
@pytest.mark.parametrize("work", [managers, plans, kernels, buffers, traces, groups, memories,
                                  registries, walks])
def test_memory_does_not_grow(work, leak_rounds):
    rounds = leak_rounds if work not in (plans, kernels, walks) else max(leak_rounds // 10, 100)
    induction = []
    for _ in range(5):  # caches of Python grow at first; a leak grows every time
        gc.collect()
        before, blocks = resident(), sys.getallocatedblocks()
        for _ in range(rounds):
            work()
        gc.collect()
        induction.append((sys.getallocatedblocks() - blocks, resident() - before))
        if induction[-1][0] < 50 and induction[-1][1] < 1 << 20:
            return
    raise AssertionError(f"(blocks, bytes) of {rounds} rounds: {induction}")
