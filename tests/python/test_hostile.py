# SPDX-License-Identifier: Apache-2.0
"""Files that are made to need much more memory or time than they have bytes: each gets an error of one line. They
are read in a process with little memory, which is stopped if it hangs."""

import json
import os
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path
from random import Random

import pytest

import spad
from spad.models import _snapshot
from spad import models

PROGRAM = """
import resource, sys
if not {sanitized}:
    resource.setrlimit(resource.RLIMIT_AS, ({memory} << 20, {memory} << 20))
from spad import models
sys.exit(models.main(sys.argv[1:]))
"""


def refuse(path, words, memory=1024, *options):
    """The command refuses the file with one line that has the words."""
    folder = str(Path(spad.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])}
    program = PROGRAM.format(memory=memory, sanitized=bool(os.environ.get("SPAD_SANITIZED")))
    done = subprocess.run([sys.executable, "-c", program, *options, str(path)], capture_output=True, text=True,
                          errors="replace", env=environment, timeout=300)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, (done.returncode, done.stderr[-500:])
    assert any(word in done.stderr for word in words.split("|")) and len(done.stderr) < 500, done.stderr


def kept(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path


# ---- TFLite -------------------------------------------------------------------------------------


def repeated(count, what):
    """A model in which one table is an element of its vector `count` times, and so are its own parts."""
    flatbuffers = pytest.importorskip("flatbuffers", reason="there is no flatbuffers")
    builder = flatbuffers.Builder(1024)

    def vector(item, times):
        builder.StartVector(4, times, 4)
        for _ in range(times):
            builder.PrependUOffsetTRelative(item)
        try:
            return builder.EndVector()
        except TypeError:
            return builder.EndVector(times)

    def table(fields, **offsets):
        builder.StartObject(fields)
        for field, offset in offsets.items():
            builder.PrependUOffsetTRelativeSlot(int(field[1:]), offset, 0)
        return builder.EndObject()

    many = {part: count if part in what else 1 for part in ("name", "shape", "tensors", "graphs", "inputs", "operators")}
    name = builder.CreateString("n" * many["name"])
    builder.StartVector(4, many["shape"], 4)
    for _ in range(many["shape"]):
        builder.PrependInt32(1)
    try:
        shape = builder.EndVector()
    except TypeError:
        shape = builder.EndVector(many["shape"])
    builder.StartVector(4, many["inputs"], 4)
    for _ in range(many["inputs"]):
        builder.PrependInt32(0)
    try:
        inputs = builder.EndVector()
    except TypeError:
        inputs = builder.EndVector(many["inputs"])
    buffers = vector(table(2), 1)
    codes = vector(table(4), 1)
    operators = vector(table(3, f1=inputs, f2=inputs), many["operators"])
    tensors = vector(table(6, f0=shape, f3=name), many["tensors"])
    graphs = vector(table(4, f0=tensors, f1=inputs, f3=operators), many["graphs"])
    model = table(8, f1=codes, f2=graphs, f4=buffers)
    builder.Finish(model, file_identifier=b"TFL3")
    return bytes(builder.Output())


@pytest.mark.parametrize("what", [("tensors", "graphs"), ("tensors", "shape", "name"), ("operators", "inputs")])
def test_tflite_with_one_table_many_times(tmp_path, what):
    refuse(kept(tmp_path, "m.tflite", repeated(6000, what)), "the same ones many times")


def test_tflite_that_ends_early():
    """Every beginning of a model is read or refused."""
    pytest.importorskip("flatbuffers", reason="there is no flatbuffers")
    import tflite_models

    from spad import tflite

    content, refused = tflite_models.chain().build(), 0
    for length in range(len(content)):
        try:
            tflite.read(content[:length], "m.tflite")
        except spad.TextError:
            refused += 1
    assert refused > len(content) // 2


# ---- traces, snapshots, logs --------------------------------------------------------------------


def test_deep_json(tmp_path):
    deep = b'{"traceEvents":' + b"[" * 10**6 + b"]" * 10**6 + b"}"
    refuse(kept(tmp_path, "t.json", deep), "not a trace")
    events = {"traceEvents": [{"name": "[memory]", "ts": 1, "args": {"Addr": [[[1]]], "Bytes": {"a": 1}}}]}
    refuse(kept(tmp_path, "u.json", json.dumps(events).encode()), "whole number")


def test_pickles_with_one_object_many_times(tmp_path):
    """Three lists of a thousand are a thousand million blocks; names that are lists of lists of lists have no end."""
    block = {"size": 1, "state": "active_allocated", "frames": []}
    segment = {"address": 0, "blocks": [block] * 3000, "device": 0}
    refuse(kept(tmp_path, "a.pickle", pickle.dumps({"segments": [segment] * 3000})), "the most are")
    refuse(kept(tmp_path, "b.pickle", pickle.dumps({"device_traces": [[{"action": "oom"}] * 4] * 1000})), "the most are")
    laugh = ["x"]
    for _ in range(60):
        laugh = [laugh, laugh]
    frames = [{"filename": laugh, "name": laugh, "line": laugh}] * 10**5
    history = [{"action": "alloc", "addr": i, "size": 1, "frames": frames} for i in range(1000)]
    path = kept(tmp_path, "c.pickle", pickle.dumps({"device_traces": [history]}))
    log = spad.Log.load(str(path))
    assert len(log) == 1000
    for value in (10**5000, -1, laugh, b"x" * 10**6, 1.5, None):
        with pytest.raises(spad.TextError, match="d.pickle: 'address' has to be a number"):
            models.read(pickle.dumps({"segments": [{"address": value, "blocks": []}]}), "d.pickle")


def test_pickles_that_are_no_data(tmp_path):
    refuse(kept(tmp_path, "a.pickle", b"\x80\x04cos\nsystem\n(S'true'\ntR."), "plain data")
    refuse(kept(tmp_path, "b.pickle", b"\x80\x04" + b"]" * 10**6), "not a snapshot")
    refuse(kept(tmp_path, "c.pickle", b"\x80\x04\x8e" + b"\xff" * 8), "not a snapshot")  # bytes of 2^64
    # a bytearray that ends early, after which CPython has a message of its own; an object that needs two lines
    refuse(kept(tmp_path, "d.pickle", b"\x80\x05\x96" + (100).to_bytes(8, "little") + b"abc"), "not a snapshot")
    refuse(kept(tmp_path, "e.pickle", b"\x80\x02Q."), "not a snapshot")


@pytest.mark.parametrize("content, words", [
    (b"\x80\x04Nr\xff\xff\xff\x07.", "a slot beyond all objects: byte 3"),  # 2 GB of memo
    (b"(Np134217727\n.", "a slot beyond all objects: byte 2"),
    (b"(Np1_000\n.", "a slot that is no number: byte 2"),
    (b"(N(Np99999999999999999999999\n.", "no number|beyond"),
    (b"\x80\x05\x96" + (1 << 33).to_bytes(8, "little") + b".", "longer than the rest of the file: byte 2"),
    (b"\x80\x05]\x96" + b"\xff" * 8, "longer than the rest of the file: byte 3"),
    (b"\x80\x04B" + b"\xff" * 4, "longer than the rest"), (b"\x80\x04N\x95\1", "longer than the rest"),
    (b"\x80\x04]q", "longer than the rest"), (b"\x80\x04S'abc", "a line does not end")])
def test_pickles_whose_numbers_do_not_fit_them(tmp_path, content, words):
    refuse(kept(tmp_path, "a.pickle", content), words)


def test_the_numbers_of_real_pickles_fit():
    shared = ["x" * 300, b"y" * 300, bytearray(b"z" * 70000), 1, -1, 1 << 40, 1 << 3000, 1.5, None, True, (), (1,), (1, 2),
              (1, 2, 3), (1, 2, 3, 4), {}, {1, 2}, frozenset({1}), "é" * 70000, b"b" * 70000]
    data = {"many": [shared, shared] + [[i] for i in range(70000)], "deep": [[[[shared]]]]}
    for protocol in range(6):
        content = pickle.dumps(data, protocol)
        assert spad._spad.check_pickle(content) is None, protocol
        assert spad._spad.check_pickle(memoryview(content)) is None


def test_no_small_pickle_takes_much_memory():
    """Operations at random, with numbers that are often far too large: what the check lets pass is cheap to read."""
    random, most, fine = Random(1), 0, 0
    operations = b"(012NQRabd}elo]sut)KhMJjGUCTBXFILPSVgciqrp." + bytes(range(0x80, 0x99))
    for _ in range(20000):
        parts = [b"\x80\x04"]
        for _ in range(random.randrange(1, 12)):
            number = random.choice([0, 1, 3, 255, 1 << 16, 1 << 27, (1 << 31) - 1, (1 << 32) - 1, 1 << 40])
            argument = random.choice([b"", b"ab", b"%d\n" % number, number.to_bytes(8, "little"),
                                      (number & 0xffffffff).to_bytes(4, "little"), bytes([number & 255])])
            parts.append(bytes([random.choice(operations)]) + argument)
        content = b"".join(parts)
        tracemalloc.start()
        try:
            _snapshot.unpickle(content, "r.pickle")
            fine += 1
        except spad.TextError as error:
            assert "Memory" not in str(error)
        most = max(most, tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most < 1 << 20 and fine > 10, (most, fine)


def test_a_long_name_many_times(tmp_path):
    """A name of a megabyte that a hundred thousand events share is not copied for each."""
    frames = [{"filename": "/" + "d" * 10**6 + ".py", "name": "n" * 10**6, "line": "1" * 10**6}]
    event = {"action": "alloc", "addr": 0, "size": 1, "frames": frames}
    path = kept(tmp_path, "n.pickle", pickle.dumps({"device_traces": [[event] * 10**5]}))
    tracemalloc.start()
    log = spad.Log.load(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(log) == 2 * 10**5 - 1 and len(set(map(id, log.names))) == 1 and len(log.names[0]) < 1000
    assert most < 200 << 20, most


@pytest.mark.parametrize("call", ["tilelang.load(path)", "tflite.plan_file(path, path)", "models.load(path)",
                                  "Log.load(path)", "Plan.load(path)", "Kernel.load(path)", "Target.load(path)"])
def test_a_device_without_end_is_read_up_to_the_limit(tmp_path, call):
    """/dev/zero says that it has no bytes; what the limit lets pass is there once."""
    os.symlink("/dev/zero", tmp_path / "zero.json")
    program = f"""
import resource, sys
import spad
from spad import core, models, tflite, tilelang, Kernel, Log, Plan, Target
core._TEXT_MIB, core._ROWS_MIB, models.FILE_MOST, tflite.FILE_MOST = 16, 16, 16 << 20, 16 << 20
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
before, path = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, sys.argv[1]
try:
    {call}
except spad.Error as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "zero.json"], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(Path(spad.__file__).parents[1])})
    assert done.returncode == 0 and done.stdout.count("\n") == 1, done.stderr
    assert int(done.stderr) < 40, (done.stderr, done.stdout)  # MiB; two copies of 16 MiB while one becomes the other


def test_logs_of_one_line(tmp_path):
    refuse(kept(tmp_path, "l.csv", b"Thread,Time,Action,Pointer,Size,Stream\n" + b"1," * 10**7), "the action is")


# ---- texts of compilers -------------------------------------------------------------------------


def test_iree_in_one_line(tmp_path):
    """The time of a line grows with its length, not with its square."""
    refuse(kept(tmp_path, "a.mlir", b"stream.resource.pack " + b"= stream.resource.alloca {%a " * 10**6), "no stream")
    refuse(kept(tmp_path, "b.mlir", b"%0 = stream.resource.pack slices({\n" + b"[0, 1] = %c" * 10**6), "a slice has to be")


def test_xla_with_many_values(tmp_path):
    """All alive at once, and each for itself: sorted, not compared with each other."""
    count = 10000
    values = "".join(f" value: <{i} v{i} @0> (size=16,offset={16 * i}): f32[4]\n" for i in range(count))
    text = f"BufferAssignment:\nallocation 0: size {16 * count}, preallocated-temp:\n{values}"
    lives = "HloLiveRange (max 2):\n  Instruction Sequence:\n    0:p\n  BufferLiveRange:\n" + \
        "".join(f"    v{i}{{}}:0-{count}\n" for i in range(count))
    kept(tmp_path, "m.live-range.txt", lives.encode())
    path = kept(tmp_path, "m.buffer-assignment.txt", text.encode())
    arena = models.load(path).arenas[0]
    assert len(arena) == count and arena.height == arena.their_bytes == 16 * count
    assert arena.their_clash() is None


# ---- ONNX ---------------------------------------------------------------------------------------


def varint(number):
    out = b""
    while True:
        out += bytes([number & 127 | (128 if number > 127 else 0)])
        number >>= 7
        if not number:
            return out


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def test_onnx_lengths_and_depth(tmp_path):
    pytest.importorskip("onnx", reason="there is no onnx")
    refuse(kept(tmp_path, "a.onnx", b"\x3a" + varint(1 << 62) + b"\x0a\x00"), "not an ONNX model", 4096)
    refuse(kept(tmp_path, "b.onnx", field(7, b"\x0a\x00" * (1 << 21))), "more than 1048576 nodes", 4096)
    deep = b""
    for _ in range(2000):  # a graph in an attribute of a node in a graph
        deep = field(1, field(5, field(6, deep)))
    refuse(kept(tmp_path, "c.onnx", field(7, deep)), "not an ONNX model", 4096)


def test_onnx_sizes():
    onnx = pytest.importorskip("onnx", reason="there is no onnx")
    make = onnx.helper
    for shape in ((1 << 62, 1 << 62), (-1 << 62,), ((1 << 63) - 1,), (0, -1)):
        infos = [make.make_tensor_value_info(n, onnx.TensorProto.FLOAT, shape) for n in ("x", "y")]
        content = make.make_model(make.make_graph([make.make_node("Relu", ["x"], ["y"])], "g", infos[:1], infos[1:]))
        with pytest.raises(spad.TextError, match="m.onnx: (an extent|the size) of|inferred"):
            models.read(content.SerializeToString(), "m.onnx")


def test_onnx_names_that_are_no_text():
    onnx = pytest.importorskip("onnx", reason="there is no onnx")
    make = onnx.helper
    infos = [make.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["batch"]) for n in ("xname", "yname")]
    nodes = [make.make_node("Relu", ["xname"], ["yname"], name="node")]
    content = make.make_model(make.make_graph(nodes, "g", infos[:1], infos[1:])).SerializeToString()
    for word in (b"batch", b"node", b"xname"):
        broken = content.replace(word, b"\xff" + word[1:])
        try:
            models.read(broken, "m.onnx", {"batch": 4} if word != b"batch" else None).text()
        except spad.TextError as error:
            assert "\n" not in str(error)
    with pytest.raises(spad.TextError, match=r"a node reads '\?name'|inferred") as caught:
        models.read(content.replace(b"\x05xname\x12", b"\x05\nname\x12", 1), "m.onnx")
    assert "\n" not in str(caught.value)


def test_onnx_with_many_parts(tmp_path):
    """One split of thousands of parts, all joined again: what views cost has a limit."""
    onnx = pytest.importorskip("onnx", reason="there is no onnx")
    make, count = onnx.helper, 5000
    names = [f"p{i}" for i in range(count)]
    nodes = [make.make_node("Relu", ["x"], ["a"]), make.make_node("Split", ["a"], names, axis=0),
             make.make_node("Concat", names, ["y"], axis=0)]
    infos = [make.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [count, 4]) for n in ("x", "y")]
    model = make.make_model(make.make_graph(nodes, "g", infos[:1], infos[1:]),
                            opset_imports=[make.make_opsetid("", 11)])
    arena = models.read(model.SerializeToString(), "m.onnx").arenas[0]
    assert len(arena) == count + 3 and len(arena.views) > 1000
