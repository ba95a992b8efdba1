# SPDX-License-Identifier: Apache-2.0
"""Devices, logs and snapshots from Python: what is recorded is drawn, what is written is read."""

import ctypes
import os
import pickle
import re
import subprocess
import sys

import pytest

import spad

# ---- traces of devices -----------------------------------------------------------------------------


@pytest.mark.parametrize("chip", ["host", "910b"])
def test_what_a_device_records_is_drawn(chip):
    device = spad.Device("host", block_bytes=64)
    trace = spad.Trace(chip)
    assert device.record(trace) is None
    x = device.alloc((4, 16), "float32", name="x")
    y = device.alloc((64,), "int8", name="y")
    x.free()
    z = device.alloc((2,), "int8", name="z")
    places = {box["name"]: (box["byte"], box["bytes"]) for box in trace.report().boxes()}
    assert places["x"] == (0, 256) and places["y"][1] == 64 and places["z"][1] == 2
    assert None not in [byte for byte, _ in places.values()]
    text = trace.report().text()
    assert "without an address" not in text and "aaaa" in text and "in [0, 256)" in text
    assert '<rect' in trace.report().svg()
    assert device.record(None) is trace
    del y, z


def test_the_target_of_a_device_is_known():
    device = spad.Device("host")
    assert device.target.name == "910b"
    trace = spad.Trace(device.target)
    device.record(trace)
    with device.alloc((64,), "int8", scope="shared", name="s"), device.alloc((64,), "int8", name="g"):
        pass
    assert [box["space"] for box in trace.report().boxes()] == ["ub", "gm"]
    with pytest.raises(spad.ArgumentError, match="the trace is of target 'trn2'"):
        device.record(spad.Trace("trn2"))
    own = spad.Target.parse("target mine\nspace hbm { bytes 1000 }\n")
    assert spad.Device("host", target=own).target is own


def test_two_runs_record_the_same_places():
    def run():
        device, trace = spad.Device("host"), spad.Trace("host")
        device.record(trace)
        kept = [device.alloc((n,), "uint8", name=f"b{n}") for n in (10, 5000000, 20, 3000000)]
        kept.pop(1)
        kept.append(device.alloc((2000000,), "uint8"))
        return trace.tensors()

    assert run() == run()


def test_a_trace_is_a_problem_to_plan():
    device, trace = spad.Device("host", block_bytes=64), spad.Trace("host")
    device.record(trace)
    for i in range(4):
        with device.alloc((100 + i,), "uint8", name="x") as x:
            x.alias((5,), name="part")
    plan = trace.plan()
    assert len(plan) == 4 and [plan[i]["name"] for i in range(4)] == ["x", "x#2", "x#3", "x#4"]
    assert all(plan[i]["offset"] is None for i in range(4))
    result = plan.solve()
    assert result.height == 103 and result.verdict == "optimal"
    assert trace.plan("memory", capacity=50).solve().verdict == "infeasible"
    assert len(spad.Trace("trn2").plan("sbuf")) == 0


# ---- snapshots of PyTorch ----------------------------------------------------------------------------


def frame(name, file="model.py", line=7):
    return {"name": name, "filename": f"/home/me/{file}", "line": line}


def event(action, addr, size, name=None, **more):
    frames = [frame("malloc", "c10/alloc.cpp", 0)] + ([frame(name)] if name else [])
    return dict({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": 5,
                 "frames": frames}, **more)


def snapshot():
    """As torch.cuda.memory._snapshot() gives it, with a history that begins in the middle."""
    base = 0x7f0000000000
    events = [
        event("segment_alloc", base, 1 << 20),
        event("alloc", base, 512, "forward"),
        event("alloc", base + 512, 1024, "forward"),
        event("free_requested", base, 512), event("free_completed", base, 512),
        event("free_requested", base + 8192, 256), event("free_completed", base + 8192, 256),
        event("alloc", base, 300, "backward"),
        event("oom", 0, 1 << 60, device_free=0),
        event("snapshot", 0, 0),
    ]
    blocks = [{"address": base, "size": 300, "state": "active_allocated", "frames": []},
              {"address": base + 300, "size": 212, "state": "inactive", "frames": []},
              {"address": base + 512, "size": 1024, "state": "active_allocated", "frames": []},
              {"size": 2560, "state": "inactive"},  # older versions have no addresses
              {"size": 512, "requested_size": 100, "state": "active_allocated",
               "frames": [frame("weights")]}]
    segment = {"device": 0, "address": base, "total_size": 1 << 20, "stream": 0, "blocks": blocks}
    return {"segments": [segment], "device_traces": [events, []], "allocator_settings": {}}


def test_a_snapshot_is_read(tmp_path):
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(snapshot()))
    log = spad.Log.load(path)
    assert log.allocations == 5 and isinstance(log, spad.Log)
    assert log.names == ("malloc", "weights (model.py:7)", "forward (model.py:7)",
                         "forward (model.py:7)", "backward (model.py:7)")
    assert [row["action"] for row in log] == ["allocate", "allocate", "allocate", "allocate", "free",
                                              "free", "allocate", "failure"]
    sizes = [row["bytes"] for row in log if row["action"] == "allocate"]
    assert sizes == [256, 100, 512, 1024, 300] and log[7]["bytes"] == 1 << 60
    again = spad.Log.from_snapshot(snapshot())
    assert list(again) == list(log) and again.names == log.names
    boxes = {box["name"]: box for box in log.report().boxes()}
    assert boxes["weights (model.py:7)"]["byte"] == 4096
    assert boxes["backward (model.py:7)"]["begin"] == 6 and "<svg" in log._repr_html_()


def test_a_snapshot_is_replayed_and_planned(tmp_path):
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(snapshot(), protocol=2))
    done = spad.replay(path)
    assert done["allocations"] == 5 and done["failures"] == 1 and done["unknown_frees"] == 0
    assert done["peak_bytes"] == 256 + 100 + 512 + 1024
    plan = spad.Log.load(path).plan(alignment=4)
    assert len(plan) == 5 and plan[3]["name"] == "forward (model.py:7)#2"
    result = plan.solve()
    assert result.verdict == "optimal" and result.height == 1892 and plan.check(result) == 1892


def test_a_history_with_holes_is_read():
    base = 0x1000
    lost = {"device_traces": [[event("alloc", base, 64, "f"), event("alloc", base, 32, "g")]]}
    log = spad.Log.from_snapshot(lost)
    assert [row["action"] for row in log] == ["allocate", "free", "allocate"]
    late = {"device_traces": [[event("alloc", base, 64), event("free_completed", base, 64)]],
            "segments": [{"address": base, "blocks": [{"size": 64, "state": "active_allocated"}]}]}
    log = spad.Log.from_snapshot(late)
    assert [row["action"] for row in log] == ["allocate", "free", "allocate"]
    late["device_traces"][0].pop(0)  # now it frees what is older than itself
    log = spad.Log.from_snapshot(late)
    assert [row["action"] for row in log] == ["allocate", "free", "allocate"]
    assert len(spad.Log.from_snapshot({"segments": [], "device_traces": []})) == 0


def test_devices_of_a_snapshot():
    both = snapshot()
    both["device_traces"][1] = [event("alloc", 0x10, 8, "other")]
    with pytest.raises(spad.ArgumentError, match="there are devices 0, 1; say which"):
        spad.Log.from_snapshot(both)
    assert spad.Log.from_snapshot(both, device=1).names == ("other (model.py:7)",)
    with pytest.raises(spad.ArgumentError, match="nothing of device 5; there are 0, 1"):
        spad.Log.from_snapshot(both, device=5)


class Trap:
    def __init__(self, call, *args):
        self.made = call, args

    def __reduce__(self):
        return self.made


def test_a_pickle_runs_nothing(tmp_path):
    mark = tmp_path / "mark"
    for trap in (Trap(os.mkdir, str(mark)), Trap(eval, f"open({str(mark)!r}, 'w')"),
                 {"segments": [Trap(os.mkdir, str(mark))]}, spad.Target):
        for protocol in (2, 4):
            with pytest.raises(spad.TextError, match="it names .* plain data") as caught:
                spad.Log.from_snapshot(pickle.dumps(trap, protocol), file="trap.pickle")
            assert str(caught.value).startswith("trap.pickle: ")
    assert not mark.exists()


@pytest.mark.parametrize("wrong", [
    b"", b"\x80", b"\x80\x04garbage", pickle.dumps([1, 2]), pickle.dumps({"a": 1}),
    pickle.dumps({"segments": 5}), pickle.dumps({"device_traces": 5}),
    pickle.dumps({"device_traces": [[5]]}), pickle.dumps({"device_traces": [5]}),
    pickle.dumps({"device_traces": [[{"action": "alloc", "addr": "x", "size": 1}]]}),
    pickle.dumps({"device_traces": [[{"action": "alloc", "addr": 1}]]}),
    pickle.dumps({"device_traces": [[{"action": "alloc", "addr": 1, "size": -1}]]}),
    pickle.dumps({"device_traces": [[{"action": "alloc", "addr": 1, "size": 1 << 63}]]}),
    pickle.dumps({"device_traces": [[{"action": "alloc", "addr": 1, "size": 1, "frames": 3}]]}),
    pickle.dumps({"segments": [{"address": 0, "blocks": [{"size": None}]}]}),
])
def test_what_is_no_snapshot_is_an_error(wrong, tmp_path):
    with pytest.raises(spad.TextError) as caught:
        spad.Log.from_snapshot(wrong, file="wrong.pickle")
    assert str(caught.value).startswith("wrong.pickle: ") and caught.value.code == "SPAD-SYNTAX"
    assert caught.value.file == "wrong.pickle"


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_a_pickle_that_ends_early_is_an_error(protocol):
    content = pickle.dumps(snapshot(), protocol)
    for length in range(0, len(content), 3):
        with pytest.raises(spad.TextError, match="not a snapshot of PyTorch"):
            spad.Log.from_snapshot(content[:length])
    assert spad.Log.from_snapshot(content).allocations == 5


def test_logs_of_rmm_are_planned():
    text = ("Thread,Time,Action,Pointer,Size,Stream\n"
            "2171,12:01:22:104512,allocate,0x7f10,64,0x0\n2171,12:01:22:104520,allocate,0x7f50,32,0x2\n"
            "2171,12:01:22:104533,free,0x7f10,64,0x0\n2171,12:01:22:104540,allocate,0x7f90,48,0x0\n"
            "2171,12:01:22:104541,allocate failure,(nil),9999999,0x0\n")
    log = spad.Log.parse(text, "rmm.csv")
    plan = log.plan(capacity=96)
    result = plan.solve()
    assert len(plan) == 3 and result.fits and log.names is None
    assert log.plan(capacity=95).solve().verdict == "infeasible"
    assert [(plan[i]["lower"], plan[i]["upper"]) for i in range(3)] == [(0, 2), (1, 5), (3, 5)]


# ---- PyTorch's allocator ----------------------------------------------------------------------------


def test_the_library_for_pytorch_can_be_loaded():
    path = spad.torch_library()
    assert os.path.isfile(path)
    library = ctypes.CDLL(path)
    for name in ("spad_torch_alloc", "spad_torch_free", "spad_torch_record_stream"):
        assert getattr(library, name)
    assert spad.torch_stats(7) is None and spad.torch_stats(-1) is None
    if "cuda:0" in [device["name"] for device in spad.devices()["devices"]]:
        alloc, free = library.spad_torch_alloc, library.spad_torch_free
        alloc.restype = ctypes.c_void_p
        alloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
        free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
        block = alloc(1000, 0, None)
        assert block and spad.torch_stats()["live_blocks"] == 1
        free(block, 1000, 0, None)


TORCH = """
import torch, spad
allocator = torch.cuda.memory.CUDAPluggableAllocator(
    spad.torch_library(), "spad_torch_alloc", "spad_torch_free")
torch.cuda.memory.change_current_allocator(allocator)
a = torch.arange(1 << 20, device="cuda", dtype=torch.float32)
b = (a @ a.reshape(-1, 1)).item()
stats = spad.torch_stats(0)
assert stats["live_blocks"] >= 1 and stats["peak_bytes"] >= a.numel() * 4, stats
del a
torch.cuda.synchronize()
print("fine", b > 0)
"""


def test_pytorch_takes_its_memory_from_us():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no CUDA device here")
    done = subprocess.run([sys.executable, "-c", TORCH], capture_output=True, text=True, timeout=300)
    assert done.stdout == "fine True\n", done.stderr


def test_a_snapshot_of_pytorch_is_read():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no CUDA device here")
    torch.cuda.memory._record_memory_history(max_entries=1000)
    kept = torch.empty(1 << 20, device="cuda")
    torch.empty(1 << 21, device="cuda")
    log = spad.Log.from_snapshot(pickle.dumps(torch.cuda.memory._snapshot()))
    torch.cuda.memory._record_memory_history(enabled=None)
    assert kept.numel() and log.allocations >= 2 and log.plan().solve().fits


# ---- DLPack ------------------------------------------------------------------------------------------


def test_capsules_of_both_versions():
    device = spad.Device()
    buffer = device.alloc((2, 3), "int32")
    assert '"dltensor"' in repr(buffer.__dlpack__())
    assert '"dltensor"' in repr(buffer.__dlpack__(max_version=(0, 8)))
    capsule = buffer.__dlpack__(max_version=(1, 0))
    assert '"dltensor_versioned"' in repr(capsule)
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    at = get(capsule, b"dltensor_versioned")
    assert ctypes.c_uint32.from_address(at).value == 1  # the version
    assert ctypes.c_uint64.from_address(at + 24).value == 0  # no flag, so not read-only
    shape, strides = (ctypes.c_void_p.from_address(at + 32 + k).value for k in (24, 32))
    assert list((ctypes.c_int64 * 2).from_address(shape)) == [2, 3]
    assert list((ctypes.c_int64 * 2).from_address(strides)) == [3, 1]
    with pytest.raises(BufferError):
        buffer.free()
    del capsule
    buffer.free()


def test_numpy_writes_to_a_buffer():
    np = pytest.importorskip("numpy")
    if tuple(int(n) for n in re.findall(r"\d+", np.__version__)[:2]) < (2, 1):
        pytest.skip(f"numpy {np.__version__} takes whatever DLPack gives for read-only; 2.1 does not")
    buffer = spad.Device().alloc((2, 3), "int32")
    array = np.from_dlpack(buffer)
    assert array.flags.writeable
    array[1, 2] = 7
    assert memoryview(buffer)[1, 2] == 7
    del array
    buffer.free()
