# SPDX-License-Identifier: Apache-2.0
"""Everything that the C headers declare can be reached from Python, or there is a reason."""

import json
import re

import pytest

import spad
from api_table import REASONS, TABLE


def public_functions(root):
    found = {}
    for header in sorted((root / "include/spad").rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)
        for match in re.finditer(r"^SPAD_API\b[^;]*?\b(spad_\w+)\s*\(", text, re.M):
            found[match[1]] = header.name
    return found


def test_every_c_function_is_in_the_table(root):
    found = public_functions(root)
    assert len(found) > 450
    missing = {name: header for name, header in found.items() if name not in TABLE}
    assert not missing, "say in api_table.py how these are reached from Python"
    assert not TABLE.keys() - found.keys(), "these are no longer in the headers"


@pytest.mark.parametrize("path", sorted(set(TABLE.values()) - set(REASONS)))
def test_the_python_name_exists_and_says_what_it_does(path):
    thing = spad
    for name in path.split("."):
        thing = getattr(thing, name)
    if callable(thing) or isinstance(thing, property):
        assert thing.__doc__, f"{path} has no docstring"


# ---- walks and tables ---------------------------------------------------------------------------

RING = """\
kernel ring on sm_90
param S = 2
param KT = 4
unit tma on copy free proxy
mbarrier full[S] count 1
group mmas
tensor a  : global fp16 [KT] (128, 64) input
tensor sa : shared fp16 [KT] (128, 64) ring S
tensor out : global fp16 (128, 64) output
for s in 0..S { init full[s] }
fence
agent producer {
    for k in 0..KT {
        arrive full[k % S] expect 16384
        tma load reads a[k] writes sa[k] delivers full[k % S]
    }
}
agent consumer {
    for j in 0..KT {
        wait full[j % S] parity (j / S) % 2
        simt use reads sa[j](0..64, ..) updates out cost 100 + j ns
    }
}
"""


def ring():
    return spad.Kernel.parse(RING)


def test_walk():
    k = ring()
    events = list(k.walk(layout=True))
    assert [e["time"] for e in events] == list(range(len(events)))
    loads = [e for e in events if e["kind"] == "operation" and e["name"] == "load"]
    assert [e["completions"] for e in loads] == [
        [{"kind": "deliver", "object": "full", "element": i % 2, "amount": 16384}] for i in range(4)]
    writes = [e["accesses"][1] for e in loads]
    assert [w["slot"] for w in writes] == [0, 1, 0, 1] and all(w["placed"] for w in writes)
    assert writes[0]["byte"] == writes[2]["byte"] != writes[1]["byte"]
    assert {e["agent"] for e in loads} == {"producer"}
    waits = [e for e in events if e["kind"] == "sync" and e["what"] == "wait"]
    assert [e["amount"] for e in waits] == [0, 0, 1, 1]
    only = list(k.walk("consumer"))
    assert {e["agent"] for e in only} == {"consumer"} and len(only) < len(events)
    with pytest.raises(spad.ArgumentError, match="no agent 'nobody'"):
        k.walk("nobody")
    with pytest.raises(spad.ArgumentError):
        k.walk(7)
    assert list(k.walk(layout=ring().layout())) == events  # that of an equal kernel
    with pytest.raises(spad.ArgumentError, match="the layout is of kernel"):
        k.walk(layout=ring().reshape(defines={"KT": 5}).layout())
    with pytest.raises(TypeError):
        k.walk(layout=k)


def test_walk_is_pulled_and_can_jump():
    k = ring().reshape(defines={"KT": 10 ** 9})
    walk = k.walk("producer")
    for event in walk:
        if event["kind"] == "iteration" and event["loop"] == "k":
            break
    assert walk.values == {"k": 0} and "k" in repr(walk)
    walk.jump(10 ** 9 - 1)
    assert walk.values["k"] == 10 ** 9 - 1 and len(list(walk)) < 10
    with pytest.raises(spad.ArgumentError):
        walk.jump(0)


def test_tables_of_a_kernel():
    k = ring()
    assert [a["name"] for a in k.agents] == ["main", "producer", "consumer"]
    assert k.loops[1] == {"name": "k", "begin": 0, "end": 4, "from": None, "to": None, "step": 1,
                          "parallel": False, "outer": None,
                          "statement": k.loops[1]["statement"], "line": k.loops[1]["line"]}
    assert k.units[0]["name"] == "tma" and k.units[0]["proxy"]
    assert [(s["name"], s["kind"], s["elements"]) for s in k.syncs] == [
        ("full", "mbarrier", 2), ("mmas", "group", 1)]
    assert k.regions == [] and not k.is_implicit and k.file == "<kernel>"
    use = next(s for s in k.statements if s["item"] == "use")
    assert use["accesses"][0]["ranges"][0] == ("0", "64", None) and use["cost"] == "100 + j"
    wait = next(s for s in k.statements if s["kind"] == "wait")
    assert wait["index"] == ("j % S",) and wait["amount"] == "(j / S) % 2"
    assert all(s["end"] > i for i, s in enumerate(k.statements))


def test_hoist_and_buffers():
    k = spad.Kernel.parse("kernel k on trn2\ntensor in : hbm bf16 [8] (128, 512) input\n"
                          "tensor out : hbm bf16 [8] (128, 512) output\nfor i in 0..8 {\n"
                          "tensor t : sbuf bf16 (128, 512)\ndma load reads in[i] writes t\n"
                          "dma store reads t writes out[i]\n}\n")
    hoisted = k.hoist("t", 2)
    assert next(t for t in hoisted.tensors if t["name"] == "t")["slots"] == 2
    assert hoisted.sim().makespan <= k.sim().makespan
    with pytest.raises(spad.ArgumentError, match="no tensor 'u'"):
        k.hoist("u", 2)
    report = spad.Report("trn2")
    report.add_buffers(hoisted.layout())
    assert len(report) >= 2
    with pytest.raises(TypeError):
        report.add_buffers(k)


# ---- traces -------------------------------------------------------------------------------------


def test_a_trace_can_be_written_by_hand():
    trace = spad.Trace("trn2")
    scope = trace.open_scope("sbuf", "rows", degree=2)
    a = trace.alloc("sbuf", "a", 0, 64, lanes=128, shape=(128, 32), dtype="bf16", mode="stack",
                    scope=scope)
    trace.section(scope, 1, 64)
    b = trace.alloc("sbuf", None, 128, 32)
    trace.free(a, scope)
    trace.rollback("sbuf")
    trace.free(b)
    trace.close_scope(scope, 64, 160)
    assert [e["kind"] for e in trace.events()] == [
        "scope_open", "alloc", "section", "alloc", "free", "rollback", "free", "scope_close"]
    assert trace.scopes()[0]["high_water"] == 160 and trace.tensors()[0]["end"] == 4
    assert trace.live_at("sbuf", 3) == [a, b] and trace.live_at("sbuf", 5) == [b]
    assert trace.largest_hole("sbuf", 3, 0, 200) == (64, 64)
    assert trace.largest_hole("sbuf", 3) == (160, 212984 - 160)
    assert len(trace) == 8 and "8 events" in repr(trace) and "<svg" in trace._repr_html_()
    with pytest.raises(spad.StateError):
        trace.free(b)
    for wrong in (lambda: trace.alloc("nowhere", "x", 0, 1), lambda: trace.free(9),
                  lambda: trace.alloc("sbuf", "x", 0, 1, mode="luck"),
                  lambda: trace.alloc("sbuf", "x", 0, 1, lane=-1),
                  lambda: trace.close_scope(scope), lambda: trace.largest_hole("sbuf", 0, 9, 3)):
        with pytest.raises(spad.Error):
            wrong()


# ---- memories -----------------------------------------------------------------------------------


def test_wrappers_go_around_each_other():
    counted = spad.Device().memory().statistics()
    logged = counted.limit(1000).log()
    faulty = logged.fault(first=3, every=2)
    a, b = faulty.alloc(100, align=64), faulty.alloc(10)
    assert a.address % 64 == 0 and (a.bytes, a.freed) == (100, False)
    with pytest.raises(spad.FitError, match="on purpose"):
        faulty.alloc(1)
    with pytest.raises(spad.FitError) as caught:
        faulty.alloc(900)
    assert (caught.value.needed, caught.value.available) == (900, 890)
    assert counted.stats()["allocated_bytes"] == 110 and faulty.stats()["failures"] == 2
    with a:
        pass
    assert a.freed
    with pytest.raises(spad.StateError, match="freed before"):
        with a:
            pass
    with pytest.raises(spad.StateError):
        a.free()
    del b
    assert counted.stats()["live_blocks"] == 0
    log = spad.Log.parse(logged.text())
    assert [row["action"] for row in log] == ["allocate", "allocate", "failure", "free", "free"]
    assert log.allocations == 2 and log[3]["allocation"] == 0 and "<svg" in log._repr_html_()
    assert "fault over <spad.Memory: log" in repr(faulty) and faulty.kind == "fault"
    for wrong in (counted.text, counted.trim, counted.check, counted.below.stats):
        with pytest.raises(spad.StateError):
            wrong()
    with pytest.raises(IndexError):
        log[5]


def test_pools_of_devices_and_over_memories():
    device = spad.Device()
    counted = device.memory().statistics()
    pool = counted.pool(block_bytes=64, exact=True)
    blocks = [pool.alloc(1000) for _ in range(10)]
    assert counted.stats()["allocations"] == 1 and pool.stats()["live_blocks"] == 10
    pool.check()
    blocks.clear()
    assert pool.trim() > 0 and counted.stats()["live_blocks"] == 0
    kept = device.pool("global")
    before = kept.stats()["allocated_bytes"]
    buffer = device.alloc((100,), "float32")
    assert kept.stats()["allocated_bytes"] == before + 400 and buffer.freed is False


def test_logs_are_replayed(tmp_path):
    text = ("Thread,Time,Action,Pointer,Size,Stream\n0,0,allocate,0x100,64,0x0\n"
            "0,1,allocate,0x200,32,0x0\n0,2,free,0x100,64,0x0\n")
    (tmp_path / "rmm.csv").write_text(text)
    log = spad.Log.load(tmp_path / "rmm.csv")
    limited = spad.Device().memory().limit(80).log()
    done = log.replay(limited)
    assert (done["allocations"], done["failures"], done["frees"]) == (1, 1, 1)
    assert spad.replay(log, spad.Device().memory())["peak_bytes"] == 96
    assert spad.replay(tmp_path / "rmm.csv")["left"] == 1
    assert (done["unknown_frees"], done["resized_frees"]) == (0, 0)
    assert len(log.report()) == 2 and "3 rows" in repr(log)
    with pytest.raises(spad.TextError, match="rmm.csv|Action|row"):
        spad.Log.parse("Thread,Time\n0,0\n", "rmm.csv")


# ---- streams ------------------------------------------------------------------------------------


def test_fences_and_blocks_of_streams():
    device = spad.Device()
    with spad.Stream(device) as first, spad.Stream(device) as second:
        a, b = device.alloc((64,), "uint8"), device.alloc((64,), "uint8")
        a.write(bytes(range(64)))
        spad.copy(b, a, stream=first)
        fence = first.record()
        second.wait_fence(fence)
        fence.wait()
        assert fence.done and b.read() == bytes(range(64))
        block = first.alloc(100, 64)
        assert block.address % 64 == 0 and first.device is device
        with pytest.raises(spad.StateError, match="1 blocks of the stream"):
            first.close()
        block.free()
        assert isinstance(first.native, int)
        with pytest.raises(TypeError):
            first.wait_fence(b)
    with pytest.raises(spad.StateError):
        first.record()
    with spad.Stream.wrap(device) as theirs:
        spad.copy(a, b, theirs)


def test_numbers_from_python_are_not_followed():
    buffer = spad.Device().alloc((64,), "uint8")
    pool = spad.Pool(buffer)
    offset, count, handle = pool.alloc(16)
    for wrong in (1 << 64, -1):
        with pytest.raises(OverflowError):
            pool.free((offset, count, wrong))
    with pytest.raises(spad.StateError, match="not allocated in this pool"):
        pool.free((offset, count, handle + 1))
    pool.free((offset, count, handle))
    for kind in (2, 4, -1):  # memory of a GPU, of OpenCL, of nothing
        with pytest.raises(BufferError, match=f"device type {kind}"):
            spad._spad.to_dlpack(buffer, kind, 0)


def test_numbers_are_not_streams():
    """A driver follows the handle of a stream wherever it points."""
    class Stream:
        cuda_stream = npu_stream = ptr = int_ptr = 1 << 64

    names = ["host", *(row["name"] for row in spad.devices()["devices"] if "opencl" in row["name"])]
    for name in names:
        device = spad.Device(name)
        for number in (0, 1, 4096, -1, 1 << 64, "x"):
            with pytest.raises(TypeError, match=f"not a stream of {name}; pass the stream object"):
                spad.Stream.wrap(device, number)
        with pytest.raises((TypeError, OverflowError)):
            spad.Stream.wrap(device, Stream())
    for name in names[1:]:
        device = spad.Device(name)
        a, b = (device.alloc((4,), "uint8") for _ in range(2))
        a.write(b"abcd")
        with spad.Stream(device) as own:
            theirs = Stream()
            theirs.int_ptr = own.native
            with spad.Stream.wrap(device, theirs) as stream:
                assert stream.native == own.native
                spad.copy(b, a, stream)
                stream.wait()
        assert b.read() == b"abcd"


def test_pitched_copies():
    device = spad.Device()
    wide, narrow = device.alloc((4, 8), "uint8"), device.alloc((4, 2), "uint8")
    wide.write(bytes(range(32)))
    spad.copy_part(narrow, wide, width=2, rows=4, from_offset=3, from_pitch=8)
    assert narrow.read() == bytes([3, 4, 11, 12, 19, 20, 27, 28])
    with spad.Stream(device) as stream:
        spad.copy_tile(wide, narrow, (0, 6), (0, 0), (4, 2), stream=stream)
        stream.wait()
    assert wide.read()[6:8] == bytes([3, 4]) and wide.read()[30:] == bytes([27, 28])
    with pytest.raises(spad.ArgumentError):
        spad.copy_part(narrow, wide, width=2, rows=5, from_pitch=8)
    with pytest.raises(TypeError):
        spad.copy_part(narrow, b"bytes", width=2)


# ---- the registry -------------------------------------------------------------------------------


def test_registry():
    registry = spad.Registry()
    step, solver = registry.add("step", "float32"), registry.add("solver", "float64")
    step.register("k", 24)
    step.register("scratch", 8, aliases="k")
    step.register("kept", 3, "local", persistent=True)
    solver.register("residual", 10)
    assert step.add_child(solver, "newton") == ("newton_shared", "newton_persistent")
    assert step.layout()["scratch"] == {"region": "shared", "offset": 0, "length": 8, "consumed": 0,
                                        "inside": "k"}
    assert step.size("shared") == 34 and step.size("shared", bytes=True) == 96 + 80
    assert step.alignment("shared", bytes=True) == 8 and step.slice("k")["consumed"] == 8
    assert step.children == {"newton": solver} and registry.components == [step, solver]
    assert step.find("kept")["persistent"] and step.declared_local() == 3
    assert step.update("k", size=30) == (True, True) and step.update("none", size=3) == (False, False)
    assert step.settings({"k_location": "local", "other_location": "shared"}) == ["k_location"]
    assert step.find("k")["location"] == "local" and hash(step) != hash(solver)
    assert not step.is_laid_out() and step.size("local") > 0 and step.is_laid_out()
    assert step.revision > 0 and step.has_group and registry.group_count == 2
    shared, persistent = step.child_allocators(solver, "newton")
    assert shared.region == "shared" and shared.slice(thread=2, shared=5, shared_stride=50)[0] == (
        shared.offset + 105)
    assert step.allocator("kept", zero=True).zeroed == 3 and "persistent" in repr(persistent)
    top = step.toplevel_allocators()
    assert top[0].length == 0 and top[0].precision == "float32"
    assert "<svg" in step.trace("sm_90", {"shared": "shared"})._repr_html_()
    step.clear()
    assert not step.has_group and "step" in repr(step)
    solver.remove()
    assert solver.name is None
    with pytest.raises(spad.StateError):
        solver.register("x", 1)
    with pytest.raises(spad.ArgumentError):
        step.add_child(spad.Registry().add("other"))
    with pytest.raises(spad.ArgumentError, match="not a region"):
        step.size("nowhere")
    registry.reset()


def test_registry_circles():
    registry = spad.Registry()
    a, b = registry.add("a", "float32"), registry.add("b", "float32")
    a.register("p", 3)
    b.register("q", 4)
    a.add_child(b, "x")
    b.add_child(a, "y")
    assert (a.size("shared"), b.size("shared")) == (7, 11)  # what was registered
    with pytest.raises(spad.StateError, match="which it contains itself") as caught:
        a.declared_local()
    assert caught.value.code == "SPAD-CYCLE"


def test_registry_shares_bytes_by_lifetimes():
    component = spad.Registry().add("loop")
    component.register("stages", 100, begin=0, end=2)
    component.register("output", 100, begin=2, end=4)
    component.set_automatic(True)
    assert component.size("shared") == 100
    component.set_automatic(False)
    component.update("output", aliases="stages", begin=1)
    with pytest.raises(spad.FitError) as caught:
        component.layout()
    assert {caught.value.subject, caught.value.other} == {"stages", "output"}


# ---- numbers ------------------------------------------------------------------------------------


def test_numbers():
    assert spad.shape_bytes((3, 5), "int4") == 8 and spad.tile_bytes((128, 5), "bf16") == (128, 10)
    assert spad.is_aligned(96, 32) and not spad.is_aligned(96, 64)
    assert spad.rects_overlap((0, 2, 0, 8), (1, 1, 7, 1))
    assert not spad.rects_overlap((0, 1, 0, 8), (1, 1, 7, 1))
    assert spad.value("bf16", 1.5) == ("bfloat16", 0x3FC0) and spad.value("int8", -1)[1] == 255
    assert spad.reduce_identity("max", "float16") == ("float16", 0xFC00)
    assert "sum" in spad.reduce_names() and spad.time_text(12_345_000) == "12.345 us"
    assert spad.codes()["SPAD-RACE"] and spad.codes()["SPAD-NO-FIT"]
    assert spad.close_names("sbuff", ["sbuf", "psum"]) == "; did you mean 'sbuf'?"
    assert spad.Target("trn2").round("psum", 3) >= 3
    with pytest.raises(spad.ArgumentError):
        spad.value("uint8", 300)
    with pytest.raises(OverflowError):
        spad.is_aligned(2 ** 64, 1)
    with pytest.raises(TypeError):
        spad.value("float32", "1.5")
    np = pytest.importorskip("numpy")
    assert spad.value(np.float32, np.float32(1.5)) == ("float32", 0x3FC00000)
    assert spad.value("int8", np.int16(-1))[1] == 255


def test_tensor_memory():
    tmem = spad.Tmem("sm_100")
    assert tmem.alloc(256) == 0 and tmem.alloc(128, warp=1) == 256
    with pytest.raises(spad.StateError):
        tmem.free(256, 128, 0)
    tmem.free(0, 256)
    with pytest.raises(spad.StateError):
        tmem.finish()
    tmem.free(256, 128, 1)
    tmem.finish()
    tmem.relinquish()
    with pytest.raises(spad.StateError):
        tmem.alloc(32)
    with pytest.raises(spad.ArgumentError):
        spad.Tmem("trn2")
    places, columns = spad.tmem_pack([("acc", 128, 256, 0, 4), ("p", 128, 128, 4, 6)])
    assert columns == (256,) and places[1] == {"alloc": 0, "column": 0, "lane": 0}
    assert sum(spad.tmem_pack([("acc", 128, 256, 0, 4), ("p", 128, 128, 4, 6)], True)[1]) == 384
    assert spad.tmem_alignment(64) == 32


# ---- managers, blocks, direct placement, reports ---------------------------------------------------


def test_scopes_of_a_stack():
    stack = spad.Stack("trn2")
    with stack.scope(2, "rows"):
        stack.alloc_stack((128, 10), "uint8")
        stack.increment_section()
        assert stack.scopes() == [{"name": "rows", "start": 0, "interleave": 2, "section": 1,
                                   "high_water": 10}]
        stack.check()
    assert stack.scopes() == [] and stack.overlap_count == 0


def test_touch_and_arena():
    block = spad.Block("sm_90")
    a = block.alloc("shared.dyn", (64,), "float32")
    block.touch(a, "write")
    block.free(a)
    with pytest.raises(spad.StateError):
        block.touch(a)
    with pytest.raises(spad.ArgumentError, match="not an access"):
        block.touch(a, "smell")
    block.plan()
    assert block.arena("shared")[0] == 256 and block.arena("shared")[1] > 200000


def test_direct_tables():
    direct = spad.Direct("trn2")
    n = direct.declare("sbuf", (128, 8), "uint8", block=(2, 4), name="x", mode="mod", base=(0, 0),
                       free_tiles=(1, 2))
    assert direct.find("x") == n and direct.info(n)["physical"] == 2
    assert direct.tile_number(n, (1, 2)) == 6 and direct.tiles(n)[6]["index"] == (1, 2)
    first = direct.physical(n)[0]
    assert first["tile"] == 0 and first["next"] == 2
    with pytest.raises(spad.ArgumentError, match="did you mean|no tensor"):
        direct.find("y")
    with pytest.raises(spad.ArgumentError, match="2 numbers, not 1"):
        direct.tile_number(n, 3)
    with pytest.raises(spad.ArgumentError):
        direct.info(-1)


def test_boxes_and_changes():
    def report(byte):
        made = spad.Report("trn2")
        made.add_box("a", 0, 4, byte, 64, space="sbuf", lanes=128)
        made.add_box("b" if byte else "c", 0, 4, 1024, 64)
        return made

    before, after = report(0), report(64)
    assert before.boxes()[0]["name"] == "a" and before.boxes()[0]["lanes"] == 128
    assert spad.diff(before, after, "changes") == [
        {"what": ["moved"], "before": 0, "after": 0}, {"what": ["gone"], "before": 1, "after": None},
        {"what": ["new"], "before": None, "after": 1}]


def test_bytes_of_boxes_and_bars():
    made = spad.Report("trn2")
    made.add_box("a", 0, 4, 0, 60, space="sbuf", rounding=4, alignment=64)
    made.add_bar("dma", "load", 0, 4, reads=60, writes=30)
    assert (made.boxes()[0]["rounding"], made.boxes()[0]["alignment"]) == (4, 64)
    data = json.loads(made.write("json"))
    assert data["spaces"][0]["boxes"][0]["rounding"] == 4 and data["spaces"][0]["boxes"][0]["alignment"] == 64
    assert (data["bars"][0]["reads"], data["bars"][0]["writes"]) == (60, 30)
    with pytest.raises(spad.ArgumentError, match="cannot read -1 and write 0 bytes"):
        made.add_bar("dma", "load", 0, 4, reads=-1)
    with pytest.raises(spad.ArgumentError, match="cannot be drawn"):
        made.add_box("b", 0, 4, 0, 60, alignment=-1)


def test_emit_of_rows():
    rows = [{"name": "x", "space": "sbuf", "bytes": 1024, "lanes": 128, "alignment": 32,
             "places": [(0, 0), (0, 1024)], "shape": (128, 512), "dtype": "bf16"},
            {"space": "psum", "bytes": 64, "places": [(0, 2048)]}]
    assert "1024" in spad.emit(rows, "c", "mine", "trn2") and spad.emit(rows, "csv", target="trn2")
    for wrong in (lambda: spad.emit(rows, "c"),
                  lambda: spad.emit([dict(rows[0], places=[1])], "c", target="trn2")):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(spad.ArgumentError):
        spad.emit([dict(rows[0], places=[])], "c", target="trn2")


def test_faults_of_a_text():
    with pytest.raises(spad.TextError) as caught:
        spad.Kernel.parse("kernel k on trn2\ntensor x : sbuff bf16 (128, 4)\ntensor y : sbuf bg16 (1)\n")
    assert [f["line"] for f in caught.value.faults] == [2, 3]
    assert "sbuff" in caught.value.faults[0]["message"] and caught.value.faults[1]["width"] == 4
