# SPDX-License-Identifier: Apache-2.0
"""spad.ascend: what the memory manual of TileLang-Ascend shows, on real memory."""

import array
import gc
import math
import struct

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


def test_allocate_inside_a_workspace():
    T.workspace(4096)
    with T.allocate(dtype="float32", scope="shared") as whole:  # all of it
        with T.allocate(dtype="float32", scope="shared") as inner:  # nothing is left
            whole[0].assign(1)
            inner[0].assign(2)
            assert whole[0] == 1 and inner[0] == 2 and inner.shape == (1024,)
        assert inner.raw.freed and not whole.raw.freed
    with T.allocate(1024, "float32") as given, T.allocate((4,), "float32") as beside:
        assert given.shape == (1024,) and beside.shape == (4,)
    with T.allocate((512,), "float16") as first:
        with T.allocate((256,), "float32") as second, T.allocate(dtype="int8") as rest:
            assert T.address_of(second) == T.address_of(first) + 1024
            assert rest.shape == (4096 - 2048,)
        first[511].assign(3)  # still there
    with T.allocate(dtype="float32", scope="global") as other:
        assert other.scope == "global" and other.shape == (1024,)
    with pytest.raises(T.MemoryError):
        with T.allocate((4096,), "float32"):
            pass
    with pytest.raises(ZeroDivisionError):
        with T.allocate(dtype="float32") as again:
            1 / 0
    with T.allocate(dtype="float32") as again:  # the failed block has ended its phase
        assert again.shape == (1024,)


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


@pytest.mark.parametrize("part", [
    slice(-3, 0), slice(0, 5), slice(4, 4), slice(3, 1), slice(-5, None), slice(5, 6)])
def test_a_tile_is_inside_its_buffer(part):
    a, b = T.alloc_buffer((4, 4), "float32"), T.alloc_buffer((4, 4), "float32")
    for use in (lambda: T.copy(a[part, 0:2], b[0:2, 0:2]), lambda: a[0:2, part],
                lambda: a[0:4, 0:4][part, 0]):
        with pytest.raises(IndexError):
            use()
    with pytest.raises(TypeError, match="no step"):
        a[0:4:2, :]


def test_a_tile_has_no_elements_outside():
    a = T.alloc_buffer((4, 4), "float32")
    for i in range(16):
        a[i // 4, i % 4].assign(i)
    tile = a[0:2, 1:3]
    assert tile[1, 1] == 6 and tile[-1, -1] == 6 and a[-2:, :][1, 0] == 12 and tile[1].shape == (2,)
    for key in ((3, 3), (2, 0), (0, -3), (0, 0, 0)):
        with pytest.raises(IndexError):
            tile[key]
    assert tile[0:1, :][0, 1] == 2 and a[..., 3].shape == (4,)
    with pytest.raises(IndexError, match="one '...'"):
        a[..., ...]


def test_slices_of_all_ranks():
    line, cube = T.alloc_buffer((16,), "float32"), T.alloc_buffer((2, 3, 4), "float32")
    cube[...] = 0
    for i in range(16):
        line[i].assign(i)
    T.copy(line[4:8], line[0:4])
    assert [line[i].value for i in range(8)] == [4, 5, 6, 7] * 2
    T.copy(line[8:12], cube[1, 2, :])
    assert cube[1, 2, 3] == 11 and cube[0, 2, 3] == 0
    T.copy(cube[:, 2, 1:3], cube[:, 0, 0:2])
    assert cube[1, 0, 1] == 10
    column = T.alloc_buffer((3,), "float32")
    T.copy(cube[1, :, 1], column)  # with gaps on one side only
    assert [column[i].value for i in range(3)] == [10, 0, 9]
    T.copy(cube[0:1, 0:2], cube[1:2, 1:3])
    assert cube[1, 2, 3] == 0
    with pytest.raises(spad.ArgumentError, match="not alike"):
        T.copy(cube[0], line[0:4])


def test_assignment_to_slices():
    a = T.alloc_buffer((4, 4), "float16").assign(0)
    a[1:3, 1:3] = 2.5
    assert a[2, 2] == 2.5 and a[0, 0] == 0 and a[1, 3] == 0
    a[3, :] = a[1, :]
    assert a[3, 2] == 2.5 and a[3, 3] == 0
    a[0, 0:2] = array.array("H", [0x3C00, 0x3C00]).tobytes()
    assert a[0, 1] == 1.0
    a[...] = a[3, 1]
    assert a[0, 3] == 2.5 and a.assign(1)[2, 2] == 1
    half = T.alloc_buffer((3, 3), "int4").assign(0)  # rows begin inside a byte
    half[1, 0:3] = 5
    assert [half[i, j].value for i in range(3) for j in range(3)] == [0] * 3 + [5] * 3 + [0] * 3
    with pytest.raises(spad.ArgumentError, match="8 B are not the 4 B"):
        a[0, 0:2] = bytes(8)


def test_copies_to_the_host():
    a = T.alloc_buffer((2, 3), "float32").assign(0)
    a[1, 1:3] = 7.0
    into = array.array("f", [0] * 6)
    T.copy(a, into)
    assert list(into) == [0, 0, 0, 0, 7, 7]
    short = bytearray(8)
    T.copy(a[1, 1:3], short)
    assert struct.unpack("2f", short) == (7, 7)
    for wrong in (array.array("i", [0] * 6), array.array("f", [0] * 5), bytes(24)):
        with pytest.raises(spad.ArgumentError, match="convert|5 B|20 B|read-only"):
            T.copy(a, wrong)
    with pytest.raises(TypeError, match="one side"):
        T.copy(b"1", bytearray(1))
    with T.stream("s"):
        a[...] = 1.0
        T.copy(a, into)
    assert list(into) == [1] * 6


def test_scopes_of_copies_are_checked():
    a, b = T.alloc_buffer((4,), "int8"), T.alloc_buffer((4,), "int8", scope="shared")
    T.copy(a, b, src_scope="global", dst_scope="ub")
    T.copy(b, a, src_scope="shared", dst_scope="hbm")
    T.copy(b"abcd", a, src_scope="cpu", dst_scope="npu")
    for scopes in ({"src_scope": "shared"}, {"dst_scope": "local"}, {"dst_scope": "gpu"}):
        with pytest.raises(spad.ArgumentError, match=f"scope '{[*scopes.values()][0]}' means"):
            T.copy(a, b, **scopes)
    with pytest.raises(spad.ArgumentError, match="data of the host"):
        T.copy(b"abcd", a, src_scope="npu")


def test_a_dropped_pool_buffer_gives_its_block_back():
    pool = T.memory_pool(max_size=8192, block_size=4096, scope="shared")
    for _ in range(5):
        buf = pool.allocate((4096,), "int8")
        del buf
        gc.collect()
    assert pool.stats().allocated_bytes == 0
    buf = pool.allocate((4096,), "int8")
    view = memoryview(buf.raw)
    del buf
    gc.collect()
    assert pool.stats().allocated_bytes == 4096  # still in use
    view.release()
    assert pool.stats().allocated_bytes == 0


def test_leaks():
    base = T.memory_leaks()
    assert base == []
    small = T.alloc_buffer((4,), "int8")
    large = T.alloc_buffer((128, 128), "float16", name="activations")
    T.buffer_alias(large, (64, 64))
    first, second = T.memory_leaks()
    assert (first.name, first.bytes, second.bytes) == ("activations", 32768, 4)
    assert first.where.startswith("test_ascend.py:")
    assert str(first).startswith(
        "leak: 'activations' of 32768 B in global memory, (128, 128) float16, allocated at test_")
    T.free(large)
    del small
    gc.collect()
    assert T.memory_leaks() == []


def test_copies_do_not_convert():
    half = T.alloc_buffer((4, 4), "float16")
    for other in ("int16", "bfloat16", "float32"):
        with pytest.raises(spad.ArgumentError, match=f"does not convert.*float16.*{other}.*alias"):
            T.copy(half, T.alloc_buffer((4, 4), other))
        with pytest.raises(spad.ArgumentError, match="does not convert"):
            T.copy(half[0:2, 0:2], T.alloc_buffer((4, 4), other)[0:2, 0:2])
    with pytest.raises(spad.ArgumentError, match="does not convert"):
        T.copy(half, T.alloc_buffer("auto", "int16"))
    flat = T.alloc_buffer((16,), "float16")
    with pytest.raises(spad.ArgumentError, match=r"\(4, 4\) and \(16,\) are not alike.*alias"):
        T.copy(half, flat)
    half[3, 3].assign(2.5)
    T.copy(T.buffer_alias(half, (16,)), flat)
    assert flat[15] == 2.5
    bits = T.alloc_buffer((4, 4), "int16")
    T.copy(T.buffer_alias(half, (4, 4), "int16"), bits)
    assert bits[3, 3] == 0x4100
    for wrong in (array.array("h", [1] * 16), array.array("f", [1] * 8), array.array("b", [1] * 32)):
        with pytest.raises(spad.ArgumentError, match="does not convert"):
            T.copy(wrong, flat)
    T.copy(flat.raw.read(), half)  # bytes are bytes
    assert half[3, 3] == 2.5
    words = T.alloc_buffer((2,), "int64")
    T.copy(array.array("l" if array.array("l").itemsize == 8 else "q", [1, -2]), words)
    assert words[1] == -2
    with pytest.raises(spad.ArgumentError, match="not alike"):
        T.copy(memoryview(bytes(16)).cast("q", (1, 2)), words)


SMALL = {"bfloat16": 254, "float16": 2046, "float8_e3m4": 30, "float8_e4m3": 14,
         "float8_e4m3fn": 2,
         "float8_e4m3fnuz": 1, "float8_e4m3b11fnuz": 1, "float8_e5m2": 6, "float8_e5m2fnuz": 1,
         "float8_e8m0fnu": 1, "float4_e2m1fn": 0}


@pytest.mark.parametrize("dtype, nans", SMALL.items())
def test_elements_of_small_floats_are_numbers(dtype, nans):
    a, b = T.alloc_buffer((6,), dtype), T.alloc_buffer((6,), dtype)
    a[1].assign(2.0)
    b[4].assign(a[1])
    assert a[1] == 2.0 and b[4] == 2.0 and float(b[4]) == 2.0
    bits = spad.dtype_bits(dtype)
    codes = T.alloc_buffer((1 << bits,), dtype)
    if bits == 4:
        codes.raw.write(bytes(low | low + 1 << 4 for low in range(0, 16, 2)))
    else:
        codes.raw.write(b"".join(c.to_bytes(bits // 8, "little") for c in range(1 << bits)))
    numbers = [codes[code].value for code in range(1 << bits)]
    assert sum(map(math.isnan, numbers)) == nans
    for code, number in enumerate(numbers):  # the library makes the same code of it again
        assert math.isnan(number) or spad.value(dtype, number) == (dtype, code), number


@pytest.mark.parametrize("dtype, numbers", [
    ("int4", [-8, 7, -1, 0, 3]), ("uint4", [15, 0, 9, 1, 8]),
    ("float4_e2m1fn", [-6.0, 0.5, 1.5, 0.0, 4.0])])
def test_elements_of_four_bits_lie_two_to_a_byte(dtype, numbers):
    buf = T.alloc_buffer((5,), dtype)
    for order in (range(5), reversed(range(5))):
        buf.raw.write(b"\xa5" * 3)
        for i in order:
            buf[i].assign(numbers[i])
        assert [buf[i].value for i in range(5)] == numbers
    codes = [spad.value(dtype, n)[1] for n in numbers]
    assert buf.raw.read() == bytes([codes[0] | codes[1] << 4, codes[2] | codes[3] << 4,
                                    codes[4] | 0xa0])


@pytest.mark.parametrize("dtype, letter, numbers", [
    ("float16", "e", [1.5, -0.25, 65504.0, 6e-8, -math.inf]),
    ("float32", "f", [1.5, -3.4028234663852886e38, 1e-45, math.inf, 2.0 ** -126]),
    ("float64", "d", [0.1, -1.7976931348623157e308, 5e-324, -math.inf, 2.0 ** -1022]),
    ("int8", "b", [-128, 127, -1]), ("int16", "h", [-32768, 32767]), ("uint16", "H", [65535, 1]),
    ("int32", "i", [-1, 2**31 - 1]), ("int64", "q", [-2**63, 2**63 - 1]), ("bool", "?", [True, False])])
def test_elements_are_what_the_struct_module_reads(dtype, letter, numbers):
    buf = T.alloc_buffer((len(numbers),), dtype)
    for i, number in enumerate(numbers):
        buf[i].assign(number)
    read = list(struct.unpack(f"<{len(numbers)}{letter}", buf.raw.read()))
    assert [buf[i].value for i in range(len(numbers))] == read
    assert read == numbers or dtype in ("float16", "float32")


def test_packed_units_have_no_single_value():
    buf = T.alloc_buffer((4,), "float8_e4m3fn_x4")
    for misused in (lambda: buf[0].value, lambda: buf[0].assign(1.0)):
        with pytest.raises(spad.ArgumentError, match="four values.*alias"):
            misused()
    part = T.buffer_alias(buf, (16,), "float8_e4m3fn")
    part[15].assign(448)
    assert part[15] == 448 and buf.raw.read(15, 1) == b"\x7e"


def test_all_of_uint64():
    buf = T.alloc_buffer((2,), "uint64")
    for number in (0, 2**63 - 1, 2**63, 2**64 - 1):
        buf[1].assign(number)
        assert buf[1] == number and spad.value("uint64", number) == ("uint64", number)
    with pytest.raises(OverflowError):
        spad.value("uint64", 2**64)
    with pytest.raises(OverflowError):
        spad.value("int64", 2**63)
    with pytest.raises(spad.ArgumentError):
        spad.value("uint64", -1)


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


def test_messages_of_memory_that_runs_out():
    """Each names what was full, and only arguments that there are: neither host memory nor a pool has `max_bytes`."""
    with pytest.raises(T.MemoryError, match=r"^the host has no \d+ B; request less$") as caught:
        T.alloc_buffer((1 << 46,), "uint8")
    assert caught.value.needed == 1 << 46
    pool = T.memory_pool(max_size=8192, block_size=4096, scope="shared")
    with pytest.raises(T.MemoryError, match="8192 of 8192 B are free.*; free something or request less$"):
        pool.allocate((8193,), "uint8")


@pytest.mark.parametrize("shape", ["x", "AUTO", ("x", 128), (128, ""), ["auto ", 128]])
def test_only_auto_is_an_extent_that_is_not_known(shape):
    with pytest.raises(TypeError, match="an extent is a number or 'auto', not '"):
        T.alloc_buffer(shape, "float16")


def test_trace():
    with T.memory_trace(enabled=True) as trace:
        buf = T.alloc_buffer((16,), "float32", scope="shared", name="x")
        T.free(buf)
    row, = trace.tensors()
    assert (row["name"], row["bytes"], row["space"]) == ("x", 64, "ub") and row["end"] is not None
    assert "<svg" in trace._repr_html_()
    with T.memory_trace() as trace2:
        a, b = T.alloc_buffer((8,), "int16", name="a"), T.alloc_buffer((8,), "int16", scope="shared")
        T.copy(a[0:4], b[4:8])
        T.copy(bytes(16), a)
        T.free(a)
    tile, host = trace2.copies
    assert (tile["source"], tile["bytes"], tile["shape"]) == (("a", "global"), 8, (4,))
    assert host["source"] == (None, "cpu") and host["where"].startswith("test_ascend.py:")
    assert [row["what"] for row in trace2.operations()] == ["alloc", "alloc", "copy", "copy", "free"]
    T.copy(bytes(16), b)
    assert len(trace2.copies) == 2
    with T.memory_trace(enabled=False) as nothing:
        assert nothing is None
    T.alloc_buffer((16,), "float32")
    assert len(trace.tensors()) == 1


def test_the_trace_has_what_c_has():
    """Copies are events of the trace itself; T.copy of a tile with gaps is one operation."""
    before = T.alloc_buffer((2, 3), "int8", name="before")
    with T.memory_trace() as trace:
        cube = T.alloc_buffer((2, 3, 4), "int8", name="cube")
        flat = T.alloc_buffer((2, 3), "int8", scope="shared", name="flat")
        cube[1, 2, 3].assign(7)
        T.copy(cube[:, :, 1], flat)
        T.copy(before[0:2, :], flat)
        assert flat[0, 0] == before[0, 0]
        alias = T.buffer_alias(flat, (6,), name="alias")
        with T.stream("s"):
            T.copy(T.buffer_alias(cube, (2, 3)), flat)
        T.free(flat)
    events = trace.events()
    copies = [e for e in events if e["kind"] == "copy"]
    names = [t["name"] for t in trace.tensors()]
    assert sum(e["bytes"] for e in copies) == 1 + 6 + 6 + 1 + 1 + 6  # with the elements
    assert {(e["source"], e["tensor"]) for e in copies} >= {
        (None, names.index("cube")), (names.index("cube"), names.index("flat")),
        (None, names.index("flat")), (names.index("flat"), None)}
    assert copies[-1]["count"] == 1 and names[:2] == ["cube", "flat"] and "alias" in names
    assert [(row["source"], row["destination"], row["bytes"]) for row in trace.copies] == [
        ((None, None), ("cube", "global"), 1),
        (("cube", "global"), ("flat", "shared"), 6),
        (("before", "global"), ("flat", "shared"), 6),
        (("flat", "shared"), (None, None), 1),
        ((None, None), (None, None), 1),  # of an older buffer
        ((None, "global"), ("flat", "shared"), 6)]
    assert [row["asynchronous"] for row in trace.copies] == [False] * 5 + [True]
    assert "COPY cube -> flat: 1 B" in trace.tree()
    assert alias.raw.freed


def test_with_frees_buffers_and_pools():
    with T.alloc_buffer((4,), "int8") as buf:
        buf[0].assign(1)
    assert buf.raw.freed
    with T.memory_pool(max_size=8192, block_size=4096, scope="shared") as pool:
        with pool.allocate(shape=(4,), dtype="int8") as part:
            part[3].assign(2)
        assert pool.stats().allocated_bytes == 0
    assert T.memory_stats("shared").allocated_bytes == 0


def test_automatic_shapes_come_with_assignments():
    source = T.alloc_buffer((2, 3), "float16").assign(1.5)
    for fill in (lambda b: b.assign(source), lambda b: b.__setitem__(..., source)):
        auto = T.alloc_buffer("auto", "float16", scope="shared")
        for early in (lambda: T.address_of(auto), lambda: T.copy(auto, source),
                      lambda: auto.assign(1.0)):
            with pytest.raises(spad.StateError, match="copy something into it first"):
                early()
        fill(auto)
        assert auto.shape == (2, 3) and auto[1, 2] == 1.5


def test_elements_compute():
    buf = T.alloc_buffer((3,), "float32").assign(2.0)
    buf[0].assign(buf[0] + 1)
    buf[1] += buf[0] * 2 - 1
    assert [float(e) for e in buf] == [3.0, 7.0, 2.0] and len(buf) == 3
    assert buf[0] + buf[1] == 10 and 1 - buf[0] == -2 and 6 / buf[0] == 2 and -buf[2] == -2
    assert buf[0] > 2 and buf[0] <= buf[1] and not buf[0] < 3 and buf[2] and max(buf) == 7
    with pytest.raises(TypeError):
        buf[0] + "1"
    with pytest.raises(TypeError, match="no dimensions yet"):
        len(T.alloc_buffer("auto", "int8"))


def test_numbers_of_numpy():
    np = pytest.importorskip("numpy")
    assert T.alloc_buffer(np.array([2, 3]), "int8").shape == (2, 3)
    buf = T.alloc_buffer(np.int64(4), np.float32)
    buf.assign(np.float32(2.5))
    assert buf.shape == (4,) and buf[np.int64(1)] == 2.5
    buf[np.int64(1):np.int64(3)] = np.float64(1.5)
    buf[np.int32(0)].assign(np.float16(0.5))
    assert [e.value for e in buf] == [0.5, 1.5, 1.5, 2.5]
    pool = T.memory_pool(np.int64(8192), block_size=np.int64(4096))
    assert pool.allocate(np.int64(8), np.int8).shape == (8,)
    for wrong in (1.0, "1", None):
        with pytest.raises(TypeError):
            buf[wrong]


def test_addresses_of_parts():
    buf = T.alloc_buffer((4, 8), "float32", alignment=256)
    assert T.address_of(buf[1, 2]) - T.address_of(buf) == 40
    assert T.address_of(buf[2:4, 1:3]) - T.address_of(buf) == 68
    assert not T.is_aligned(buf[0, 1], alignment=256) and T.is_aligned(buf[:, 0:2])
    for wrong in (0, 3, -4):
        with pytest.raises(spad.ArgumentError, match="power of two"):
            T.is_aligned(buf, alignment=wrong)
    same = T.buffer_alias(buf)
    assert same.shape == (4, 8) and T.buffer_alias(buf, dtype="int32").dtype == "int32"
    with pytest.raises(spad.ArgumentError, match="give its shape"):
        T.buffer_alias(buf, dtype="int8")


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
    view = np.asarray(buf)
    view[2, 3] = 9
    assert buf[2, 3] == 9
    T.copy(np.full((4, 4), 2, np.float32), buf)
    for wrong in (np.ones((4, 4)), np.ones((4, 4), np.int32), np.ones((2, 8), np.float32)):
        with pytest.raises(spad.ArgumentError, match="does not convert|not alike"):
            T.copy(wrong, buf)
    assert view.sum() == 32
    shared = np.from_dlpack(buf)
    with pytest.raises(BufferError):
        T.free(buf)
    assert shared[0, 0] == 2 and buf.__dlpack_device__() == (1, 0)
    del shared, view
    gc.collect()
    buf.__dlpack__()  # no consumer takes it
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
