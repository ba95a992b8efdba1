# SPDX-License-Identifier: Apache-2.0
"""Buffers on a CUDA device and those who share them: PyTorch, numba, CuPy where they are installed."""

import gc

import pytest

import spad
import spad.ascend as T

if "cuda:0" not in [device["name"] for device in spad.devices()["devices"]]:
    pytest.skip("there is no CUDA device", allow_module_level=True)


@pytest.fixture(scope="module")
def device():
    return spad.Device("cuda:0")


def numbers(count):
    return bytes(i % 251 for i in range(count))


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
        with first.alloc(1000, 256) as block:
            assert block.address % 256 == 0
    assert b.read() == numbers(1 << 20)
    with pytest.raises(BufferError):
        memoryview(a)


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
    pool = device.memory().pool(initial_bytes=1 << 20)
    blocks = [pool.alloc(1000) for _ in range(100)]
    pool.check()
    assert pool.stats()["live_blocks"] == len(blocks)


def test_interface(device):
    a = device.alloc((4, 6), "float32")
    interface = a.__cuda_array_interface__
    assert interface["typestr"] == "<f4" and interface["shape"] == (4, 6)
    assert interface["data"] == (a.address, False) and a.__dlpack_device__() == (2, 0)
    scratch = spad.Device("cuda:0", target="910b").alloc((64,), "float32", scope="shared")
    assert not hasattr(scratch, "__cuda_array_interface__")
    with pytest.raises(BufferError, match="global memory"):
        scratch.__dlpack__()
    with pytest.raises(BufferError):
        a.__dlpack__(dl_device=(1, 0))


def test_bytes_are_handed_over_when_our_streams_are_done(device):
    a, b = device.alloc((1 << 22,), "uint8"), device.alloc((1 << 22,), "uint8")
    with spad.Stream(device) as stream:
        for hand_over in (lambda: b.__dlpack__(), lambda: b.__cuda_array_interface__):
            for _ in range(10):
                spad.copy(b, a, stream)
            fence = stream.record()
            hand_over()
            assert fence.done
        b.__dlpack__(stream=-1)  # the consumer says that it waits itself


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "uint8", "bool"])
def test_torch_shares_the_bytes(device, dtype):
    torch = pytest.importorskip("torch")
    buffer = device.alloc((3, 5), dtype)
    buffer.write(bytes(buffer.nbytes))
    tensor = torch.from_dlpack(buffer)
    assert tensor.dtype == getattr(torch, dtype) and tuple(tensor.shape) == (3, 5)
    assert tensor.data_ptr() == buffer.address and tensor.is_cuda
    tensor[1, 2] = 1
    torch.cuda.synchronize()
    size = buffer.nbytes // 15
    assert any(buffer.read(7 * size, size)) and not any(buffer.read(0, 7 * size))
    with pytest.raises(BufferError):
        buffer.free()
    del tensor
    gc.collect()
    buffer.free()
    with pytest.raises(spad.StateError):
        torch.from_dlpack(buffer)


def test_torch_sees_what_our_streams_did(device):
    torch = pytest.importorskip("torch")
    count = 1 << 24
    a, b = device.alloc((count,), "uint8"), device.alloc((count,), "uint8")
    a.write(b"\1" * count)
    with spad.Stream(device) as stream:
        for _ in range(20):
            spad.copy(b, a, stream)
        assert int(torch.from_dlpack(b).sum(dtype=torch.int64)) == count
    assert int(torch.as_tensor(b, device="cuda").sum(dtype=torch.int64)) == count


def test_torch_streams_are_wrapped(device):
    torch = pytest.importorskip("torch")
    theirs = torch.cuda.Stream()
    a, b = device.alloc((64,), "uint8"), device.alloc((64,), "uint8")
    a.write(numbers(64))
    with spad.Stream.wrap(device, theirs.cuda_stream) as stream:
        assert stream.native == theirs.cuda_stream
        spad.copy(b, a, stream)
        theirs.synchronize()
        assert b.read() == numbers(64)


def works(library):
    """A library may want more of the driver than ours does."""
    try:
        return library.is_available()
    except Exception:
        return False


def test_numba_and_cupy(device):
    a = device.alloc((16,), "int32")
    a.write(numbers(64))
    found = False
    for module, view in (("numba.cuda", "as_cuda_array"), ("cupy", "asarray")):
        try:
            library = __import__(module, fromlist=["x"])
        except ImportError:
            continue
        if not works(library):
            continue
        found = True
        array = getattr(library, view)(a)
        copied = array.copy_to_host() if module == "numba.cuda" else library.asnumpy(array)
        assert copied.tobytes() == numbers(64)
    if not found:
        pytest.skip("there is neither numba nor CuPy")


def test_drop_in():
    T.use("cuda:0")
    try:
        a, b = T.alloc_buffer((4, 4), "float32"), T.alloc_buffer((4, 4), "float32")
        a[1, 2].assign(5)
        with T.stream("copies"):
            T.copy(a, b)
        assert b[1, 2] == 5 and a.__dlpack_device__() == (2, 0)
        assert a.__cuda_array_interface__["data"] == (T.address_of(a), False)
    finally:
        T.use()
