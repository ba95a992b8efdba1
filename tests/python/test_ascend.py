# SPDX-License-Identifier: Apache-2.0
"""spad.ascend: what the memory manual of TileLang-Ascend shows, on real memory."""

import gc

import pytest

import spad
import spad.ascend as T


@pytest.fixture(autouse=True)
def fresh():
    T.use()
    yield
    T.use()


def test_alloc_and_free():
    buf = T.alloc_buffer((128, 128), "float16", scope="global", alignment=256)
    assert buf.shape == (128, 128) and buf.nbytes == 32768
    assert T.is_aligned(T.address_of(buf), alignment=256) and T.is_aligned(buf)
    stats = T.memory_stats()
    assert stats.allocated_bytes == stats["peak_bytes"] == 32768 and stats.freed_bytes == 0
    T.free(buf)
    assert T.memory_stats().allocated_bytes == 0 and "freed" in repr(buf)
    with pytest.raises(spad.StateError):
        T.free(buf)
    with pytest.raises(spad.StateError):
        buf[0, 0].assign(1)


def test_buffers_go_with_their_objects():
    T.alloc_buffer((10,), "float32")
    gc.collect()
    assert T.memory_stats().allocated_bytes == 0


def test_allocate_is_a_scope():
    with T.allocate(dtype="float32", scope="shared") as buf:
        T.evaluate(buf[0].assign(1.0))
        assert float(buf[0]) == 1.0 and T.memory_stats("shared").allocated_bytes == buf.nbytes
    assert buf.raw.freed and T.memory_stats("shared").allocated_bytes == 0


@pytest.mark.parametrize("dtype, value, read", [
    ("float16", 1.5, 1.5), ("bfloat16", 1.0009765625, 1.0), ("bfloat16", -2.5, -2.5),
    ("float32", 0.1, pytest.approx(0.1)), ("int8", -3, -3), ("uint16", 65535, 65535),
    ("bool", True, True), ("int64", -(2 ** 40), -(2 ** 40)), ("float64", 1e300, 1e300)])
def test_elements(dtype, value, read):
    buf = T.alloc_buffer((3, 4), dtype)
    buf[1, -1].assign(value)
    buf[2, 0] = buf[1, 3]
    assert buf[2, 0] == read and buf[1, 3].value == read
    with pytest.raises(IndexError):
        buf[3, 0]
    with pytest.raises(IndexError):
        buf[0, 0, 0]


def test_pool():
    pool = T.memory_pool(max_size=1024 * 1024, block_size=4096, scope="shared")
    buf = pool.allocate(shape=(256, 256), dtype="float16")
    buf[255, 255].assign(2)
    assert pool.stats().allocated_bytes == 131072
    with pytest.raises(T.MemoryError) as caught:
        pool.allocate((1024, 1024), "float32")
    assert caught.value.largest_hole == 1024 * 1024 - 131072
    pool.free(buf)
    with pytest.raises(spad.StateError):
        pool.free(buf)
    other = pool.allocate(16, "int8")
    T.free(other)
    assert pool.stats().allocated_bytes == 0


def test_alias_and_workspace():
    a, b = T.alloc_buffer((128, 128), "float16"), T.alloc_buffer((4, 4), "float16")
    b[0, 0].assign(3)
    alias = T.buffer_alias(a, shape=(64, 64))
    T.evaluate(alias[0, 0].assign(b[0, 0]))
    assert a[0, 0] == 3
    T.free(a)
    with pytest.raises(spad.StateError):
        alias[0, 0].value
    with pytest.raises(spad.ArgumentError):
        T.buffer_alias(b, shape=(64, 64))

    @T.prim_func
    def phases(size):
        space = T.workspace(size)
        seen = []
        for _ in range(2):
            with T.allocate(dtype="float32", scope="shared") as ws:
                seen.append(T.address_of(ws))
                assert ws.shape == (size // 4,)
        return seen, space.peak

    addresses, peak = phases(4096)
    assert addresses[0] == addresses[1] and peak == 4096
    with T.allocate(dtype="float32") as ws:
        assert ws.shape == (1024,)  # the workspace has ended with its function


def test_auto_shape():
    buf = T.alloc_buffer("auto", "float16")
    assert buf.shape is None
    with pytest.raises(spad.StateError):
        buf[0]
    source = T.alloc_buffer((8, 8), "float16")
    T.copy(source, buf)
    assert buf.shape == (8, 8)
    bound = T.alloc_buffer("auto", "int8")
    T.copy(b"\1\2\3", bound)
    assert bound.shape == (3,) and bound[2] == 3


def test_copies():
    src, dst = T.alloc_buffer((64, 64), "float32"), T.alloc_buffer((64, 64), "float32")
    src[1, 2].assign(5)
    T.copy(src, dst)
    assert dst[1, 2] == 5
    with T.stream("compute"):
        src[1, 2].assign(6)
        T.copy(src, dst)
    assert dst[1, 2] == 6
    T.copy(src, dst, src_scope="cpu", dst_scope="npu")
    for i in T.serial(0, 64, tile_i=32):
        for j in T.serial(0, 64, tile_j=32):
            T.copy(src[i:i + 32, j:j + 32], dst[32 - i:64 - i, 32 - j:64 - j])
    assert dst[33, 34] == 6 and src[0:32, 0:32][1, 2] == 6
    with pytest.raises(spad.ArgumentError):
        T.copy(src, T.alloc_buffer((2,), "float32"))
    with pytest.raises(spad.ArgumentError):
        T.copy(src[0:2, 0:2], dst[0:3, 0:3])
    with pytest.raises(spad.ArgumentError):
        T.copy(src, dst, src_scope="moon")


def test_functions_as_the_manual_writes_them():
    """One of each kind that its page shows: decorated, with annotations, nested, returned."""

    @T.prim_func
    def dynamic(n: T.int32):
        return T.alloc_buffer((n, 128), "float16", scope="global")

    @T.prim_func
    def phases():
        buf = T.alloc_buffer((256, 256), "float16", scope="shared")
        seen = []
        for value in (1.0, 2.0):
            with T.evaluate(buf[0, 0].assign(value)):
                seen.append(float(buf[0, 0]))
        return seen

    @T.prim_func
    def preallocate():
        return T.alloc_buffer((1 << 20), "float32", scope="shared")

    @T.prim_func
    def tiled(input_buf, output_buf):
        for i in T.serial(0, 128, tile_i=32):
            for j in T.serial(0, 128, tile_j=32):
                T.copy(input_buf[i:i + 32, j:j + 32], output_buf[i:i + 32, j:j + 32])

    @T.prim_func
    def safe():
        try:
            return T.alloc_buffer((1 << 40, 1 << 20), "float16")
        except (T.MemoryError, spad.Error):
            return T.alloc_buffer((512, 512), "float16")

    source = dynamic(128)
    assert source.shape == (128, 128) and phases() == [1.0, 2.0]
    assert preallocate().nbytes == 4 << 20 and safe().shape == (512, 512)
    out = T.alloc_buffer((128, 128), "float16")
    source[100, 70].assign(3)
    tiled(source, out)
    assert out[100, 70] == 3


def test_a_chip_has_limits():
    T.use("host", target="910b")
    with pytest.raises(T.MemoryError) as caught:
        T.alloc_buffer((1 << 20), "float32", scope="shared")
    assert caught.value.available == 196608
    buf = T.alloc_buffer((256, 256), "float16", scope="shared")
    assert buf.nbytes == 131072


def test_trace():
    with T.memory_trace(enabled=True) as trace:
        buf = T.alloc_buffer((16,), "float32", scope="shared", name="x")
        T.free(buf)
    row, = trace.tensors()
    assert (row["name"], row["bytes"], row["space"]) == ("x", 64, "ub") and row["end"] is not None
    assert "<svg" in trace._repr_svg_()
    with T.memory_trace(enabled=False) as nothing:
        assert nothing is None
    T.alloc_buffer((16,), "float32")
    assert len(trace.tensors()) == 1


def test_views_keep_the_memory():
    buf = T.alloc_buffer((4, 4), "float32")
    alias = T.buffer_alias(buf, (2, 2))
    view = memoryview(alias.raw)
    assert view.shape == (2, 2) and view.format == "f" and not view.readonly
    with pytest.raises(BufferError):
        T.free(buf)
    view[1, 1] = 7.0
    assert buf[0, 3] == 7.0
    view.release()
    T.free(buf)
    with pytest.raises(spad.StateError):
        memoryview(alias.raw)
    space = spad.Workspace(spad.Device(), 64)
    view = memoryview(space.take((4,), "float32"))
    for end in (space.next, space.close):
        with pytest.raises(BufferError):
            end()
    del view
    space.next()
    space.close()


def test_numpy_and_dlpack():
    np = pytest.importorskip("numpy")
    buf = T.alloc_buffer((4, 4), "float32")
    array = np.asarray(buf)
    array[2, 3] = 9
    assert buf[2, 3] == 9
    T.copy(np.full((4, 4), 2, np.float32), buf)
    assert array.sum() == 32
    shared = np.from_dlpack(buf)
    with pytest.raises(BufferError):
        T.free(buf)
    assert shared[0, 0] == 2 and buf.__dlpack_device__() == (1, 0)
    del shared, array
    gc.collect()
    buf.__dlpack__()  # nobody takes it
    T.free(buf)
    with pytest.raises(AttributeError):
        T.alloc_buffer((1,), "float32").__cuda_array_interface__
    with pytest.raises(BufferError):
        T.alloc_buffer((4,), "float8_e4m3").__dlpack__()


def test_devices():
    found = spad.devices()
    assert found["devices"][0]["name"] == "host"
    with pytest.raises(spad.Error):
        spad.Device("cuda:99")
    with pytest.raises(spad.ArgumentError):
        spad.Device("abacus")


def test_replay(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("Thread,Time,Action,Pointer,Size,Stream\n0,0,allocate,0x10,1024,0x0\n"
                   "0,1,allocate,0x20,2048,0x0\n0,2,free,0x10,1024,0x0\n", encoding="ascii")
    done = spad.replay(log)
    assert (done["allocations"], done["frees"], done["left"]) == (2, 1, 1)
    assert done["peak_bytes"] == 3072
    log.write_text("Action,Pointer\n", encoding="ascii")
    with pytest.raises(spad.TextError):
        spad.replay(log)
