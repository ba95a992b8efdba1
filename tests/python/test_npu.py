# SPDX-License-Identifier: Apache-2.0
"""Ascend and Neuron devices from Python, on the libraries that replace their drivers."""

import pytest

import spad
import spad.ascend as T

NAMES = [device["name"] for device in spad.devices()["devices"]]

if "ascend:0" not in NAMES or "neuron:0" not in NAMES:
    pytest.skip("there are no Ascend and Neuron devices", allow_module_level=True)


@pytest.fixture(params=["ascend:0", "npu:0", "neuron:0", "neuron:1"])
def device(request):
    return spad.Device(request.param)


def numbers(count):
    return bytes(i % 251 for i in range(count))


def test_names():
    assert [name for name in NAMES if name.startswith(("ascend", "neuron"))] == [
        "ascend:0", "ascend:1", "neuron:0", "neuron:1"]
    assert spad.Device("npu:1").name == "ascend:1" and spad.Device("npu").name == "ascend:0"
    with pytest.raises(spad.Error, match="there is no ascend:7; ascend has 2 devices"):
        spad.Device("npu:7")
    assert spad.Device("neuron:0").total_bytes == 1 << 30
    assert not spad.Device("ascend:0").host_reads


def test_copies_streams_and_fences(device):
    host = spad.Device()
    here, a, b = (d.alloc((1 << 20,), "uint8") for d in (host, device, device))
    here.write(numbers(1 << 20))
    with spad.Stream(device) as first, spad.Stream(device) as second:
        spad.copy(a, here, first)
        second.wait_fence(first.record())
        spad.copy(b, a, second)
        fence = second.record()
        fence.wait()
        assert fence.done and isinstance(first.native, int)
    assert b.read() == numbers(1 << 20)
    b.fill(7, offset=10, bytes=5)
    assert b.read(9, 7) == bytes([9, 7, 7, 7, 7, 7, 15])
    b.fill()
    assert b.read() == bytes(1 << 20)
    with pytest.raises(ValueError, match="256 is not the value of a byte"):
        b.fill(256)
    with pytest.raises(spad.Error):
        b.fill(1, offset=1 << 21)
    with pytest.raises(BufferError):
        memoryview(a)
    with pytest.raises(BufferError, match="cannot carry memory of"):
        a.__dlpack__()


def test_pitched_copies(device):
    wide, narrow = device.alloc((64, 100), "uint8"), device.alloc((64, 3), "uint8")
    wide.write(numbers(6400))
    spad.copy_part(narrow, wide, width=3, rows=64, from_offset=5, from_pitch=100)
    rows = [numbers(6400)[100 * i + 5:100 * i + 8] for i in range(64)]
    assert narrow.read() == b"".join(rows)


def test_memory_of_the_driver(device):
    counted = device.memory().statistics().limit(1 << 20)
    with counted.alloc(1000, 256) as block:
        assert block.address % 256 == 0
    with pytest.raises(spad.FitError):
        counted.alloc(1 << 21)
    pool = device.host_memory().pool(initial_bytes=1 << 20)
    blocks = [pool.alloc(1000) for _ in range(100)]
    pool.check()
    assert pool.stats()["live_blocks"] == len(blocks)
    assert device.host_memory().kind == "host"


def test_objects(device):
    a = device.alloc((64,), "uint8")
    b = device.alloc((64,), "uint8")
    if device.name.startswith("neuron"):
        assert a.native[0] == b.native[0] and a.native[1] != b.native[1]
    else:
        with pytest.raises(spad.Error, match="has addresses and no objects"):
            a.native


def test_traces(device):
    trace = spad.Trace("910b")
    on = spad.Device(device.name, target="910b")
    on.record(trace)
    x = on.alloc((64, 4), "float16", name="x")
    y = on.alloc((64, 4), "float16", scope="shared", name="y")
    spad.copy(y, x)
    x.free()
    y.free()
    on.record(None)
    assert [tensor["name"] for tensor in trace.tensors()] == ["x", "y"]
    with pytest.raises(spad.FitError):
        on.alloc((1 << 20,), "float32", scope="shared")


@pytest.mark.parametrize("name", ["npu:0", "neuron:0"])
def test_the_drop_in_runs_there(name):
    T.use(name)
    try:
        source = T.alloc_buffer((32, 32), "float16", scope="global", alignment=256)
        assert T.is_aligned(T.address_of(source), alignment=256)
        source[...] = 1.5
        target = T.alloc_buffer("auto", "float16")
        with T.stream("compute"):
            T.copy(source, target)
        assert target[3, 4] == 1.5
        result = bytearray(32 * 32 * 2)
        T.copy(target, result, src_scope="npu", dst_scope="cpu")
        assert result[:2] == bytes([0, 0x3e])
    finally:
        T.use()
