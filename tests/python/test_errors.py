# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments as users meet them: the class of the exception, and what it says."""

import os
import pathlib
import pickle

import pytest

import spad

KERNEL = "kernel k on trn2\ntensor x : sbuf bf16 [4] (128, 64)\nfor i in 0..4 { vector a writes x[i] }\n"
HUGE = 2 ** 63


def refused(kind, text, call, *args, **options):
    with pytest.raises(kind) as caught:
        call(*args, **options)
    assert text in str(caught.value)


def test_numbers():
    plan = spad.Plan(capacity=100)
    refused(OverflowError, f"{HUGE} does not fit 64 bits", spad.Plan, capacity=HUGE)
    refused(TypeError, "'str' object cannot be interpreted as an integer", spad.Plan, capacity="9")
    refused(TypeError, "'float'", plan.add, 0.5, 1, 1)
    refused(TypeError, "'NoneType'", plan.add, None, 1, 1)
    refused(spad.ArgumentError, "negative size of -1 B", plan.add, 0, 1, -1)
    refused(TypeError, "missing required argument 'size'", plan.add, 0, 1)
    refused(TypeError, "a gap is (lower, upper)", plan.add, 0, 3, 1, gaps=[(1,)])
    refused(TypeError, "both target and space", spad.Plan, "trn2")
    refused(TypeError, "progress is a function", plan.solve, progress=5)
    refused(spad.ArgumentError, "threads", spad.layout, KERNEL, threads=2 ** 40)
    assert len(plan) == 0


def test_columns():
    plan = spad.Plan(capacity=100)
    refused(TypeError, "lower is needed", plan.add_many, None, [1], [1])
    refused(TypeError, "'NoneType'", plan.add_many, [0, None], [1, 2], [1, 2])
    refused(spad.ArgumentError, "upper has 1 numbers and lower has 2", plan.add_many, [0, 1], [1], [1])
    refused(OverflowError, "does not fit 64 bits", plan.add_many, [0], [1], [2 ** 70])
    assert len(plan) == 0
    assert plan.add_many((i for i in range(3)), range(1, 4), [1, 1, 1], offset=[None, 4, None]) == 0
    assert plan[1]["offset"] == 4 and plan[2]["offset"] is None
    assert plan.add_many([], [], []) == 3


def test_columns_of_numpy():
    np = pytest.importorskip("numpy")
    plan = spad.Plan(capacity=100)
    ones = np.ones(3, int)
    for wrong in (np.zeros(3), np.zeros(3, bool), np.zeros((3, 3), int), np.zeros(3, ">i8"),
                  np.zeros(3, object), np.int64(3)):
        refused(TypeError, "lower has to be a one-dimensional array of whole numbers", plan.add_many,
                wrong, ones, ones)
    refused(OverflowError, f"{HUGE} does not fit", plan.add_many, np.array([HUGE], np.uint64), [1], [1])
    assert len(plan) == 0
    plan.add_many(np.arange(6)[::2], np.arange(6)[::2] + 1, ones)
    plan.add_many(np.arange(3)[::-1], np.arange(3)[::-1] + 1, ones)
    assert [plan[i]["lower"] for i in range(6)] == [0, 2, 4, 2, 1, 0]


def test_shapes_types_and_names():
    stack = spad.Stack("trn2")
    refused(TypeError, "not iterable", stack.alloc_heap, None, "uint8")
    refused(TypeError, "'float'", stack.alloc_heap, (1.5, 2), "uint8")
    refused(spad.ArgumentError, "an alignment of 0 B", stack.alloc_heap, (1, 2), "uint8",
            align=0)
    refused(spad.ArgumentError, "an alignment of -1 B", stack.alloc_heap, (1, 2), "uint8",
            align=-1)
    refused(spad.ArgumentError, "at least one dimension", stack.alloc_heap, (), "uint8")
    refused(spad.ArgumentError, "-4; extents cannot be negative", stack.alloc_heap, (128, -4), "uint8")
    refused(spad.ArgumentError, "do not fit 64 bits", stack.alloc_heap, (128, 2 ** 62, 4), "uint8")
    refused(OverflowError, "does not fit 64 bits", stack.alloc_heap, (128, HUGE), "uint8")
    refused(spad.ArgumentError, "at most 16", stack.alloc_heap, (1,) * 20, "uint8")
    for wrong in (None, [], "bf17", 3):
        refused(spad.ArgumentError, "unknown element type", stack.alloc_heap, (128, 4), wrong)
    refused(TypeError, "a str is needed, not bytes", stack.alloc_heap, (128, 4), "uint8", name=b"x")
    refused(ValueError, "character 0", stack.alloc_heap, (128, 4), "uint8", name="a\0b")
    assert stack.alloc_heap((n for n in (128, 4)), "uint8").shape == (128, 4)
    assert stack.alloc_heap([128, 4], "uint8").shape == (128, 4)
    assert len(stack.live()) == 2


def test_names_that_are_nearly_right():
    refused(spad.ArgumentError, "did you mean 'trn2'", spad.Plan, "trn22", "sbuf")
    refused(spad.ArgumentError, "it has sbuf, psum, hbm", spad.Plan, "trn2", "sbuff")
    refused(spad.ArgumentError, "did you mean 'N'?", spad.Kernel.parse,
            KERNEL.replace("tensor", "param N = 4\ntensor", 1), defines={"M": 3})
    refused(spad.ArgumentError, "there are host, cuda:N, opencl:N, ascend:N", spad.Device, "abacus:0")
    refused(AttributeError, "no engine, unit or attribute 'warp'", getattr, spad.Kernel("trn2"), "warp")


def test_texts_and_paths(tmp_path):
    refused(TypeError, "a str is needed, not bytes", spad.Kernel.parse, KERNEL.encode())
    refused(TypeError, "a str is needed, not NoneType", spad.Kernel.parse, None)
    refused(TypeError, "a Kernel or its text is needed, not NoneType", spad.check, None)
    refused(TypeError, "a Layout, a PlanResult or rows", spad.emit, "x", "c", target="trn2")
    refused(FileNotFoundError, "nothing.spad", spad.Kernel.load, tmp_path / "nothing.spad")
    file = tmp_path / "k.spad"
    file.write_text(KERNEL)
    for path in (file, str(file), os.fsencode(file), pathlib.PurePath(file)):
        assert spad.Kernel.load(path).file == str(file)
    report = spad.Kernel.load(file).report()
    for path in (tmp_path / "a.svg", str(tmp_path / "b.svg"), os.fsencode(tmp_path / "c.svg")):
        assert report.save(path) == path
    refused(spad.ArgumentError, "has to end with one of .html", report.save, tmp_path / "picture")
    file.write_bytes(b"\xff\xfe")
    refused(spad.TextError, f"'{file}' is no text in UTF-8: invalid start byte at byte 0", spad.Kernel.load, file)


def test_closed_and_freed_things():
    device = spad.Device()
    with device.alloc((4, 4), "float32") as buffer:
        refused(spad.ArgumentError, "are outside a buffer of 64 B", buffer.write, bytes(100))
        refused(spad.ArgumentError, "at byte -1", buffer.write, b"x", offset=-1)
        with memoryview(buffer):
            refused(BufferError, "in use by a view", buffer.free)
    for call in (buffer.free, buffer.read, buffer.__dlpack__, lambda: buffer.alias((1,)),
                 lambda: memoryview(buffer), buffer.__enter__):
        refused(spad.StateError, "freed before", call)
    assert repr(buffer) == "<spad.Buffer, freed>"
    stream = spad.Stream(device)
    stream.close()
    for call in (stream.wait, stream.close, stream.record, lambda: stream.alloc(1)):
        refused(spad.StateError, "the stream was closed before", call)
    with spad.Workspace(device, 64) as workspace:
        taken = workspace.take((4,), "int8")
    for call in (workspace.close, workspace.next, lambda: workspace.take((4,), "int8")):
        refused(spad.StateError, "the workspace was closed before", call)
    refused(spad.StateError, "freed before", taken.read)


def test_dlpack_on_the_host():
    np = pytest.importorskip("numpy")
    if not hasattr(np, "from_dlpack"):
        pytest.skip("this numpy has no from_dlpack")
    device = spad.Device()
    buffer = device.alloc((2, 3), "int32")
    array = np.from_dlpack(buffer)
    memoryview(buffer)[1, 2] = 7
    assert array[1, 2] == 7 and array.shape == (2, 3)
    refused(BufferError, "in use by a view", buffer.free)
    del array
    buffer.free()
    packed = device.alloc((2, 3), "int4")
    refused(BufferError, "DLPack has no such type as int4", packed.__dlpack__)
    refused(BufferError, "a copy was asked for", packed.__dlpack__, copy=True)


def test_every_error_has_a_code_and_travels():
    for kind, code in ((spad.ArgumentError, "SPAD-ARGUMENT"), (spad.StateError, "SPAD-LIFE-CYCLE"),
                       (spad.FitError, "SPAD-NO-FIT"), (spad.TextError, "SPAD-SYNTAX"),
                       (spad.InternalError, "SPAD-INTERNAL")):
        assert kind("said in Python").code == code in spad.codes()
        assert kind("said in Python").needed is None
        assert type(kind.__new__(kind)) is kind  # as libraries do that unpickle exceptions
    assert spad.TextError("x").diagnostics is None and spad.TextError("x").faults == ()
    with pytest.raises(spad.FitError) as caught:
        spad.Device().memory().limit(10).alloc(11)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is spad.FitError and (again.code, again.needed) == ("SPAD-NO-FIT", 11)
    assert str(again) == str(caught.value) and isinstance(again, MemoryError)


def test_drop_ins():
    import spad.ascend as A
    import spad.tilelang as T

    for call in (A.free, A.address_of, lambda b: A.buffer_alias(b, (1,)), T.free, T.reducer_init,
                 lambda b: A.copy(b"x", b)):
        refused(TypeError, "a buffer is needed, not NoneType", call, None)
    byte = A.alloc_buffer((1,), "int8")
    refused(spad.ArgumentError, "int8 cannot hold 300", byte[0].assign, 300)
    for dtype, number in (("bfloat16", 1.00390625), ("float16", -2.5), ("uint16", 65535), ("bool", 1)):
        one = A.alloc_buffer((2,), dtype)
        one[0], one[1] = 0, number
        assert one[1].value == (1.0 if dtype == "bfloat16" else number) and one[0].value == 0
    refused(IndexError, "index 5 is outside an extent of 1", byte.__getitem__, 5)
    refused(spad.StateError, "allocate inside", T.alloc_shared, (1,), "float16")


@pytest.mark.parametrize("call, start", [
    (lambda: spad.Kernel.parse("kernel k on trn2\ntensor a : sbuf bf17 (1)\n", "a.spad"),
     "a.spad:2:17: unknown element type 'bf17'"),
    (lambda: spad.Target.parse("target\n", "b.target"), "b.target:1:7: expected a name"),
    (lambda: spad.Plan().read_csv("id,lower\n1,2\n", "c.csv"), "c.csv:1:1: the header has no"),
    (lambda: spad.Target("trn9"), "no target is called 'trn9'"),
])
def test_errors_in_a_text_say_where(call, start):
    with pytest.raises(spad.Error) as caught:
        call()
    assert str(caught.value).startswith(start)


def test_what_has_no_place_has_no_line():
    report = spad.Report("trn2")
    report.add_box("a", 0, 1, 0, 64)
    report.add_box("b", 0, 1, 64, 64, line=3)
    assert [box["line"] for box in report.boxes()] == [None, 3]
    direct = spad.Direct("trn2")
    direct.declare("sbuf", (128, 8), "uint8", name="x", mode="at", base=(0, 0))
    direct.declare("sbuf", (128, 8), "uint8", name="y")
    found = direct.findings()
    assert found and all(finding["line"] is finding["column"] is None for finding in found)


def test_findings_without_a_place_name_no_line():
    finding = spad.core.Finding(code="SPAD-X", severity="error", message="m", line=0, column=0,
                                notes=[{"line": 0, "message": "n"}, {"line": 3, "message": "o"}])
    assert repr(finding) == "<error SPAD-X: m>"
    assert "line 0" not in finding._repr_html_() and "line 3: o" in finding._repr_html_()
    finding.line = 4
    assert repr(finding) == "<error SPAD-X in line 4: m>"
