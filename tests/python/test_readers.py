# SPDX-License-Identifier: Apache-2.0
"""Readers of what other compilers and runtimes print: IREE, XLA, ONNX, PyTorch, RMM. Recorded files,
wrong ones, random damage, and, where they are installed, the real packages."""

import json
import math
import os
import pickle
import random

import pytest

import spad
from spad import models


@pytest.fixture
def golden(root):
    return root / "tests/python/golden"


def damaged(content, chance, words):
    """A text with a few bytes, words or lines changed."""
    content = bytearray(content)
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(content))
        kind = chance.randrange(4)
        if kind == 0:
            content[at] = chance.randrange(256)
        elif kind == 1:
            content[at:at + chance.randrange(1, 30)] = b""
        elif kind == 2:
            content[at:at] = chance.choice(words)
        else:
            end = chance.randrange(at, min(len(content), at + 200) + 1)
            content[at:at] = content[at:end]
    return bytes(content)


WORDS = [b"-1", b"9223372036854775807", b"9223372036854775808", b"99999999999999999999999999", b"{", b"}", b"[", b"\0",
         b"\n", b"0", b"\xff\xfe", b"%c0", b"null", b"1e300", b"\"\""]


def survive(content, name, seed=1, least=1):
    """Damaged files are read or refused; nothing else is raised."""
    chance, refused = random.Random(seed), 0
    for _ in range(20000 if os.environ.get("SPAD_THOROUGH") else 150):
        changed = damaged(content, chance, WORDS)
        try:
            model = models.read(changed, name)
            for arena in model.arenas:
                arena.solve(timeout=0.2)
            model.text()
        except spad.Error:
            refused += 1
    assert refused >= least


# ---- IREE ---------------------------------------------------------------------------------------


def test_iree(golden):
    model = models.load(golden / "iree_unet.mlir")
    assert model.kind == "IREE" and [len(a) for a in model.arenas] == [16]
    arena = model.arenas[0]
    assert (arena.their_name, arena.their_bytes) == ("IREE", 2740288)
    assert arena.height == 1884928 and arena.proved and "-31.2 %" in model.text()


PACK = """\
util.func public @main(%arg0: !hal.buffer_view) {
  %c100 = arith.constant 100 : index
  %c64 = arith.constant 64 : index
  %1:3 = stream.resource.pack slices({
    [0, 1] = %c100,
    [1, 2] = %c64
  }) : index
  %r, %t = stream.resource.alloca uninitialized : !stream.resource<transient>{%1#0} => !stream.timepoint
}
"""


def test_json(golden):
    """The golden file is what docs/schema/model.schema.json is checked with; SPAD_ACCEPT=1 writes it."""
    found = json.loads(models.read(PACK.encode(), "a.mlir").json())
    for arena in found["arenas"]:
        arena["nanoseconds"] = 0
    if os.environ.get("SPAD_ACCEPT"):
        (golden / "model.json").write_text(json.dumps(found, indent=2) + "\n")
    assert found == json.loads((golden / "model.json").read_text())


def test_iree_by_hand():
    model = models.read(PACK.encode(), "a.mlir")
    assert model.height == 192 and model.their_bytes is None  # 64 is the alignment
    after = PACK.split("  %1:3")[0] + "  %c256 = arith.constant 256 : index\n  %r, %t = stream.resource.alloca " \
        "uninitialized : !stream.resource<transient>{%c256} => !stream.timepoint\n}\n"
    assert models.read((PACK + after).encode(), "a.mlir").their_bytes == 256
    other = after.replace("@main", "@other")
    assert models.read((PACK + other).encode(), "a.mlir").their_bytes is None
    aligned = "#x = #stream.resource_config<{min_buffer_offset_alignment = 128}>\n" + PACK
    assert models.read(aligned.encode(), "a.mlir").height == 256
    dynamic = models.read(PACK.replace("= %c64", "= %arg7").encode(), "a.mlir")
    assert dynamic.arenas == [] and "not constants" in dynamic.text()


@pytest.mark.parametrize("old, new, words", [
    ("[0, 1] = %c100,", "[0, 1] = 100,", "a slice has to be"), ("[0, 1]", "[3, 1]", "before it begins"),
    ("100 : index", "-100 : index", "the size"), ("100 : index", "9223372036854775808 : index", "2\\^63"),
    ("  }) : index", "", "a slice has to be"), ("  }) : index\n" + PACK.split("  }) : index\n")[1], "", "ends within"),
    ("stream.resource.pack", "stream.resource.unpack", "no stream.resource.pack"),
])
def test_wrong_iree(old, new, words):
    with pytest.raises(spad.TextError, match=words):
        models.read(PACK.replace(old, new).encode(), "a.mlir")


def test_numbers_of_thousands_of_digits(tmp_path):
    many = "9" * 5000
    assert "not constants" in models.read(PACK.replace("100 : index", many + " : index").encode(), "a.mlir").text()
    with pytest.raises(spad.TextError, match="a slice has to be"):
        models.read(PACK.replace("[0, 1]", f"[0, {many}]").encode(), "a.mlir")
    with pytest.raises(spad.TextError, match="not a value"):
        xla(tmp_path, ASSIGNED.replace("offset=256", "offset=" + many))
    with pytest.raises(spad.TextError, match="not a trace"):
        models.read(trace(memory(1, 2, 3)).replace(b'"Bytes": 3', b'"Bytes": ' + many.encode()), "t.json")


def test_damaged_iree(golden):
    survive((golden / "iree_unet.mlir").read_bytes(), "a.mlir")


# ---- XLA ----------------------------------------------------------------------------------------


def test_xla(golden):
    model = models.load(golden / "xla_unet.buffer-assignment.txt")
    arena = model.arenas[0]
    assert model.kind == "XLA" and arena.their_bytes == arena.height == 4584960 and arena.proved
    assert arena.their_clash() is None and arena.their_result().height <= arena.their_bytes
    assert models.load(golden / "xla_unet.live-range.txt").facts()["height"] == 4584960


ASSIGNED = """\
BufferAssignment:
allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}:
 value: <0 x @0> (size=64,offset=0): f32[16]{0}
allocation 1: size 384, preallocated-temp:
 value: <1 a @0> (size=128,offset=0): f32[32]{0}
 value: <2 b{1} @0> (size=128,offset=128): f32[32]{0}
 value: <3 c @0> (size=128,offset=256): f32[32]{0}
 value: <4 d @0> (size=64,offset=0): f32[16]{0}
"""
LIVE = """\
HloLiveRange (max 9):
  InstructionSequence:
    0:x
    1:a
  BufferLiveRange:
    x{}:0-9
    a{}:1-2
    b{1}:2-4
    c{}:4-6
    d{}:2-3
"""


def xla(folder, assigned=ASSIGNED, live=LIVE):
    (folder / "m-buffer-assignment.txt").write_text(assigned)
    (folder / "m-live-range.txt").write_text(live)
    return models.load(folder / "m-buffer-assignment.txt")


def test_xla_by_hand(tmp_path):
    model = xla(tmp_path)
    arena = model.arenas[0]
    # d takes the bytes of a while a is alive: they stay together
    assert [(b.name, b.first, b.last, b.size) for b in arena.buffers] == \
        [("a{}", 1, 3, 128), ("b{1}", 2, 4, 128), ("c{}", 4, 6, 128)]
    assert arena.height == 256 and arena.their_bytes == 384 and "4 values in 3 buffers" in model.text()
    unknown = xla(tmp_path, live=LIVE.replace("    c{}:4-6\n", ""))
    assert "no live range" in unknown.text() and unknown.height == 384
    assert "no temporary memory" in xla(tmp_path, ASSIGNED.replace("preallocated-temp", "constant")).text()


def test_xla_joins_until_nothing_clashes(tmp_path):
    """Random values at random places: afterwards their plan is a right one."""
    chance = random.Random(3)
    for _ in range(60):
        rows, lives = [], []
        for i in range(chance.randrange(2, 14)):
            first, offset, size = chance.randrange(12), chance.randrange(0, 200), chance.randrange(1, 60)
            rows.append(f" value: <{i} v{i} @0> (size={size},offset={offset}): f32[1]\n")
            lives.append(f"    v{i}{{}}:{first}-{first + chance.randrange(5)}\n")
        model = xla(tmp_path, "BufferAssignment:\nallocation 0: size 300, preallocated-temp:\n" + "".join(rows),
                    "HloLiveRange (max 20):\n" + "".join(lives))
        arena = model.arenas[0]
        assert arena.their_clash() is None and arena.height <= arena.their_result().height <= 300


@pytest.mark.parametrize("assigned, live, words", [
    (ASSIGNED.replace("offset=256", "offset=300"), LIVE, "the end of 'c"),
    (ASSIGNED.replace("offset=256", "offset=x"), LIVE, "not a value"),
    (ASSIGNED.replace("size 384", "size 99999999999999999999").replace("offset=256", "offset=9223372036854775808"),
     LIVE, "2\\^66"),
    (ASSIGNED, LIVE.replace("4-6", "6-4"), "before it begins"),
    (ASSIGNED, "HloLiveRange\n", "no live ranges"),
    ("BufferAssignment:\n", LIVE, "no allocations"),
    ("BufferAssignment:\n value: <1 a @0> (size=128,offset=0): x\n", LIVE, "before the first"),
])
def test_wrong_xla(tmp_path, assigned, live, words):
    with pytest.raises(spad.TextError, match=words):
        xla(tmp_path, assigned, live).text()


def test_xla_needs_both_files(tmp_path):
    path = tmp_path / "m-buffer-assignment.txt"
    path.write_text(ASSIGNED)
    with pytest.raises(spad.TextError, match="needs .*live-range"):
        models.load(path)
    with pytest.raises(spad.TextError, match="its name has to have"):
        models.read(ASSIGNED.encode(), "other.txt")


def test_damaged_xla(golden, tmp_path):
    live = (golden / "xla_unet.live-range.txt").read_bytes()
    (tmp_path / "m-live-range.txt").write_bytes(live)
    survive((golden / "xla_unet.buffer-assignment.txt").read_bytes(), str(tmp_path / "m-buffer-assignment.txt"))
    (tmp_path / "m-buffer-assignment.txt").write_bytes((golden / "xla_unet.buffer-assignment.txt").read_bytes())
    # a life that cannot be read is one without an end
    survive(live, str(tmp_path / "m-live-range.txt"), least=0)


# ---- PyTorch and RMM ----------------------------------------------------------------------------


def memory(time, address, size, kind=0, number=-1):
    return {"name": "[memory]", "ph": "i", "ts": time,
            "args": {"Addr": address, "Bytes": size, "Device Type": kind, "Device Id": number}}


def trace(*events):
    return json.dumps({"traceEvents": [{"ph": "M", "name": "process_name"}, *events]}).encode()


def test_profiler_trace():
    content = trace(memory(1.0, 0, 256), memory(3.5, 512, 256), memory(2.5, 0, -256), memory("4.0", 999, -8),
                    memory(5, 256, 64, 1, 0), memory(6, 512, 64))
    model = models.read(content, "t.json")
    assert model.kind == "PyTorch profiler" and [a.name for a in model.arenas] == ["cpu", "device 0"]
    cpu = model.arenas[0]
    assert [(b.first, b.last, b.size) for b in cpu.buffers] == [(0, 0, 256), (2, 3, 256), (4, 5, 64)]
    assert cpu.their_bytes == 512 and cpu.height == 256 and "before the trace" in model.text()


@pytest.mark.parametrize("content, words", [
    (b'{"traceEvents": []}', "profile_memory=True"), (b'{"traceEvents": 3}', "has to be a list"),
    (b'{"traceEvents": [', "not a trace"), (b'["traceEvents"]' * 1, "has to be a list"),
    (b'{"traceEvents": ' + b"[" * 100000, "not a trace"),
    (trace({"name": "[memory]"}), "without 'ts'"), (trace(memory(1, -5, 8)), "'Addr'"),
    (trace(memory(1, 5, 1 << 63)), "2\\^63"), (trace(memory(1, 5, "8")), "whole number"),
    (trace(memory("x", 5, 8)), "without 'ts'"),
])
def test_wrong_traces(content, words):
    with pytest.raises(spad.TextError, match=words):
        models.read(content, "t.json")


def test_damaged_traces():
    events = [memory(i, 64 * (i % 7), 64 if i % 3 else -64) for i in range(40)]
    survive(trace(*events), "t.json")


def snapshot():
    def event(action, address, size):
        return {"action": action, "addr": address, "size": size, "stream": 0,
                "frames": [{"filename": "/model.py", "line": 7, "name": "forward"}]}

    return {"segments": [], "device_traces": [
        [event("alloc", 0, 512), event("alloc", 512, 512), event("free_completed", 0, 512),
         event("alloc", 2048, 512)],
        [event("alloc", 0, 100)]]}


def test_snapshots(tmp_path):
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps(snapshot()))
    model = models.load(path)
    assert [a.name for a in model.arenas] == ["device 0", "device 1"] and model.height == 1024 + 100
    assert model.their_bytes == 1536 + 100 and "forward (model.py:7)" in model.text()
    with pytest.raises(spad.TextError):
        models.read(b"\x80\x04broken", "s.pickle")
    with pytest.raises(spad.TextError, match="neither segments"):
        models.read(pickle.dumps({}), "s.pickle")
    survive(pickle.dumps(snapshot()), "s.pickle")


def test_rmm_log(root):
    path = root / "tests/cli/input/memory_log.csv"
    model = models.load(path)
    assert model.kind == "RMM log" and model.height == model.their_bytes == 5120
    with pytest.raises(spad.TextError, match="not text"):
        models.read(b"Thread,Time,Action,Pointer,Size,Stream\n\xff\xff", "l.csv")
    survive(path.read_bytes(), "l.csv")


def test_real_profiler(tmp_path):
    torch = pytest.importorskip("torch", reason="there is no PyTorch")
    net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as made:
        net(torch.randn(32, 64)).sum().backward()
    made.export_chrome_trace(str(tmp_path / "t.json"))
    model = models.load(tmp_path / "t.json")
    assert model.kind == "PyTorch profiler" and model.height <= model.their_bytes and len(model.arenas[0]) > 5


# ---- ONNX ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def onnx():
    return pytest.importorskip("onnx", reason="there is no onnx")


def graph(onnx, nodes, shape=(1, 64), outputs=("y",), initializers=(), inputs=("x",)):
    make = onnx.helper
    infos = [make.make_tensor_value_info(n, onnx.TensorProto.FLOAT, shape) for n in inputs]
    results = [make.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in outputs]
    weights = [make.make_tensor(n, onnx.TensorProto.FLOAT, [64], [0.0] * 64) for n in initializers]
    return make.make_graph(nodes, "g", infos, results, weights)


def model_of(onnx, *words, **more):
    return onnx.helper.make_model(graph(onnx, *words, **more)).SerializeToString()


def test_onnx(onnx):
    node = onnx.helper.make_node
    nodes = [node("Add", ["x", "w"], ["a"], name="first"), node("Relu", ["a"], ["b"]),
             node("Concat", ["a", "b"], ["c"], axis=1), node("Constant", [], ["k"], value_float=1.0),
             node("Add", ["c", "c"], ["y"])]
    model = models.read(model_of(onnx, nodes, initializers=["w"]), "m.onnx")
    arena = model.arenas[0]
    assert {b.name: (b.first, b.last, b.size) for b in arena.buffers} == \
        {"x": (0, 1, 256), "a": (1, 3, 256), "b": (2, 3, 256), "c": (3, 5, 512), "y": (5, 5, 512)}
    # a and b are written where c has them, and y takes the place of c
    assert arena.proved and arena.height == 512 and arena.their_name == "by size" and "first" in arena.steps[1]
    assert [(arena.buffers[p].name, arena.buffers[w].name, at) for p, w, at in arena.kept_views] == \
        [("a", "c", 0), ("b", "c", 256)]
    assert arena.without_views == 1024 and "optimal with these views" in arena.text() and "512 B are not copied" in \
        arena.text()
    plain = models.read(model_of(onnx, nodes, initializers=["w"]), "m.onnx", views=False).arenas[0]
    assert plain.height == 1024 and plain.without_views is None and "views" not in plain.text()


def test_onnx_in_place(onnx):
    """A chain of element-wise nodes and reshapes is in one place; what the caller owns or gets stays."""
    node = onnx.helper.make_node
    chain = [node("Concat", ["x", "x"], ["a"], axis=1), node("Relu", ["a"], ["b"]), node("Add", ["b", "b"], ["c"]),
             node("Flatten", ["c"], ["d"]), node("Sigmoid", ["d"], ["y"])]

    def height(nodes, **more):
        weights = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [64, 64], [0.0] * 4096)
        g = graph(onnx, nodes, **more)
        g.initializer.append(weights)
        return models.read(onnx.helper.make_model(g).SerializeToString(), "m.onnx").height

    assert height(chain) == 256 + 512  # x and the place of all others
    assert height(chain, outputs=("c", "y")) == 2 * 512  # c stays
    assert height([node("Relu", ["x"], ["y"])]) == 2 * 256  # x is the caller's
    last = [node("Concat", ["x", "x"], ["a"], axis=1), node("Relu", ["a"], ["y"])]
    assert height(last) == 256 + 512
    assert height(last, outputs=("a", "y")) == 2 * 512  # a is an output that ends where y begins
    softmax = [node("Concat", ["x", "x"], ["a"], axis=1), node("Softmax", ["a"], ["y"])]
    assert height(softmax) == 2 * 512  # it reads all of a row first


def test_onnx_in_place_of_as_many_elements(onnx):
    """As many bytes are not enough: a[0] of 4 bytes is compared four times, and each answer has 1 byte."""
    node, make, kinds = onnx.helper.make_node, onnx.helper, onnx.TensorProto
    nodes = [node("Relu", ["x"], ["a"]), node("Less", ["a", "z"], ["y"]), node("Not", ["y"], ["n"])]
    infos = [make.make_tensor_value_info("x", kinds.FLOAT, [1]), make.make_tensor_value_info("z", kinds.FLOAT, [4])]
    g = make.make_graph(nodes, "g", infos, [make.make_tensor_value_info("n", kinds.BOOL, [4])])
    arena = models.read(make.make_model(g).SerializeToString(), "m.onnx").arenas[0]
    names = [b.name for b in arena.buffers]
    assert [(names[o], names[i]) for o, i in arena.pairs] == [("n", "y")]


def view_nodes(onnx, draw, shapes):
    """A random node on values of known shapes, and the shapes of its outputs; `shapes` are those of floats."""
    node, name = onnx.helper.make_node, draw.choice(list(shapes))
    shape, fresh = shapes[name], f"v{len(shapes)}"
    kind = draw.choice(("Relu", "Add", "Reshape", "Flatten", "Identity", "Slice", "Split", "Gather", "Concat", "Concat",
                        "Transpose", "Dropout", "Softmax"))
    axis = draw.randrange(len(shape))
    given = axis - len(shape) * draw.randrange(2)  # also from the end
    if kind == "Reshape":
        return [node(kind, [name, "flat"], [fresh])], [[1, math.prod(shape)]]
    if kind == "Flatten":
        return [node(kind, [name], [fresh], axis=axis)], [[math.prod(shape[:axis]), math.prod(shape[axis:])]]
    if kind == "Slice":
        start = draw.randrange(shape[axis])
        end = draw.randrange(start + 1, shape[axis] + 1)
        words = [[start - shape[axis] * draw.randrange(2)], [end if end < shape[axis] else 1 << 40], [given], [1]]
        constants = [node("Constant", [], [f"{fresh}.{i}"], value_ints=word) for i, word in enumerate(words)]
        return [*constants, node(kind, [name, *(f"{fresh}.{i}" for i in range(4))], [fresh])], \
            [[*shape[:axis], end - start, *shape[axis + 1:]]]
    if kind == "Split" and shape[axis] > 1:
        cut = draw.randrange(1, shape[axis])
        sizes = node("Constant", [], [f"{fresh}.s"], value_ints=[cut, shape[axis] - cut])
        return [sizes, node(kind, [name, f"{fresh}.s"], [fresh, f"{fresh}b"], axis=given)], \
            [[*shape[:axis], part, *shape[axis + 1:]] for part in (cut, shape[axis] - cut)]
    if kind == "Gather":
        index = node("Constant", [], [f"{fresh}.i"], value_int=draw.randrange(-shape[axis], shape[axis]))
        left = [*shape[:axis], *shape[axis + 1:]]
        return ([index, node(kind, [name, f"{fresh}.i"], [fresh], axis=given)], [left]) if left else ([], [])
    if kind == "Concat":
        others = [n for n, s in shapes.items() if len(s) == len(shape) and s[:axis] == shape[:axis] and
                  s[axis + 1:] == shape[axis + 1:]]
        parts = [name, *draw.choices(others, k=draw.randrange(3))]
        return [node(kind, parts, [fresh], axis=given)], \
            [[*shape[:axis], sum(shapes[p][axis] for p in parts), *shape[axis + 1:]]]
    if kind == "Transpose":
        order = draw.sample(range(len(shape)), len(shape))
        return [node(kind, [name], [fresh], perm=order)], [[shape[i] for i in order]]
    if kind == "Add":
        return [node(kind, [name, name], [fresh])], [shape]
    return [node("Relu" if kind == "Split" else kind, [name], [fresh])], [shape]


def random_onnx(onnx, draw):
    make, kinds = onnx.helper, onnx.TensorProto
    shapes, nodes = {"x": draw.choice(([1, 4, 3], [2, 3], [6], [1, 1, 8], [3, 1, 2]))}, []
    for _ in range(draw.randrange(2, 9)):
        made, results = view_nodes(onnx, draw, shapes)
        nodes += made
        for name, shape in zip(made[-1].output if made else (), results):
            shapes[name] = shape
    names = [name for node in nodes for name in node.output if node.op_type != "Constant"]
    if not names:
        return random_onnx(onnx, draw)
    outputs = list(dict.fromkeys(draw.choices(names[-3:], k=2)))
    flat = make.make_tensor("flat", kinds.INT64, [2], [1, -1])
    g = make.make_graph(nodes, "g", [make.make_tensor_value_info("x", kinds.FLOAT, shapes["x"])],
                        [make.make_tensor_value_info(n, kinds.FLOAT, shapes[n]) for n in outputs], [flat])
    return make.make_model(g, opset_imports=[make.make_opsetid("", 18)]), shapes, names


def test_onnx_views_are_the_bytes_that_they_say(onnx):
    """Random models, run by the package onnx: a value that is a part has the bytes of its whole there, and
    values that are alive together and share bytes have the same ones."""
    numpy, reference = pytest.importorskip("numpy"), pytest.importorskip("onnx.reference")
    draw, viewed, kinds = random.Random(3), 0, set()
    for turn in range(20000 if os.environ.get("SPAD_THOROUGH") else 200):
        model, shapes, names = random_onnx(onnx, draw)
        arena = models.read(model.SerializeToString(), "m.onnx").arenas[0]
        del model.graph.output[:]
        model.graph.output.extend(onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, shapes[n]) for n in names)
        x = numpy.arange(math.prod(shapes["x"]), dtype="float32").reshape(shapes["x"]) - 2
        found = reference.ReferenceEvaluator(model).run(None, {"x": x})
        held = {"x": x.tobytes(), **{n: value.tobytes() for n, value in zip(names, found)}}
        buffers = arena.buffers
        assert all(len(held[b.name]) == b.size for b in buffers)
        writer = {n: node.op_type for node in model.graph.node for n in node.output}
        for part, whole, at in arena.kept_views:
            viewed += 1
            kinds.add(writer.get(buffers[part].name))
        pairs = {(buffers[o].name, buffers[i].name) for o, i in arena.pairs}
        places = list(zip(buffers, arena.offsets))
        for a, at in places:
            for b, to in places:
                start, end = max(at, to), min(at + a.size, to + b.size)
                if a is not b and start < end and a.first <= b.last and b.first <= a.last:
                    same = held[a.name][start - at:end - at] == held[b.name][start - to:end - to]
                    assert same or at == to and {(a.name, b.name), (b.name, a.name)} & pairs, (turn, a, b)
    assert viewed > 200 and {"Reshape", "Flatten", "Identity", "Slice", "Split", "Gather", "Concat", "Transpose",
                             "Dropout"} <= kinds


def test_onnx_concatenations_of_blocks(onnx):
    """Fire modules, dense blocks and a skip connection: nothing is copied."""
    node = onnx.helper.make_node
    squeeze = node("Softmax", ["x"], ["s"])

    def arena(nodes, **more):
        return models.read(model_of(onnx, nodes, **more), "m.onnx").arenas[0]

    fire = arena([squeeze, node("Softmax", ["s"], ["a"]), node("Softmax", ["s"], ["b"]),
                  node("Concat", ["a", "b"], ["c"], axis=1), node("Softmax", ["c"], ["y"])])
    assert fire.height == 1024 and len(fire.kept_views) == 2  # c and y; s is in the place of y
    words = [node("Constant", [], [n], value_ints=[v]) for n, v in (("zero", 0), ("one", 1), ("end", 64))]
    dense = [*words, squeeze]
    for layer in range(1, 5):  # every layer reads all before it
        dense += [node("Concat", ["s", *(f"f{i}" for i in range(1, layer))], [f"c{layer}"], axis=1),
                  node("Slice", [f"c{layer}", "zero", "end", "one"], [f"p{layer}"]),
                  node("Softmax", [f"p{layer}"], [f"f{layer}"])]
    dense.append(node("Concat", ["s", "f1", "f2", "f3", "f4"], ["y"], axis=1))
    block = arena(dense)
    assert block.height == 5 * 256 and len(block.kept_views) == 5 + 4 + 4  # all are parts of y; x is where f4 will be
    assert block.without_views == 10 * 256


def test_onnx_values_of_the_caller_stay(onnx):
    node = onnx.helper.make_node

    def views(nodes, **more):
        arena = models.read(model_of(onnx, nodes, **more), "m.onnx").arenas[0]
        return [(arena.buffers[p].name, arena.buffers[w].name, at) for p, w, at in arena.views]

    assert views([node("Concat", ["x", "x"], ["y"], axis=1)]) == []  # an input of the model
    assert views([node("Relu", ["x"], ["a"]), node("Concat", ["a", "a"], ["y"], axis=1)]) == [("a", "y", 0)]
    assert views([node("Relu", ["x"], ["a"]), node("Concat", ["a", "a"], ["y"], axis=1)], outputs=("a", "y")) == []
    assert views([node("Flatten", ["x"], ["y"])]) == []  # both are the caller's
    assert views([node("Relu", ["x"], ["a"]), node("Flatten", ["a"], ["y"])]) == [("y", "a", 0)]
    rows = [node("Relu", ["x"], ["a"]), node("Relu", ["a"], ["b"]), node("Concat", ["a", "b"], ["y"], axis=1)]
    assert views(rows, shape=(2, 64)) == []  # two rows: the parts are not in one piece
    assert len(views(rows, shape=(1, 64))) == 2


def test_onnx_alignment(onnx, tmp_path):
    """Places in a concatenation are multiples of the alignment, or their values stay copies."""
    node = onnx.helper.make_node
    rows = [node("Relu", ["x"], ["a"]), node("Relu", ["a"], ["b"]), node("Concat", ["a", "b"], ["y"], axis=1)]
    content = model_of(onnx, rows, shape=(1, 5))
    for alignment, places in ((None, 2), (4, 2), (20, 2), (16, 1), (64, 1)):
        arena = models.read(content, "m.onnx", alignment=alignment).arenas[0]
        assert len(arena.views) == places and all(at % (alignment or 1) == 0 for at in arena.offsets)
    with pytest.raises(spad.Error, match="alignment"):
        models.read(content, "m.onnx", alignment=0)
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    assert models.main(["--alignment", "64", "--no-views", str(path)]) == 0
    assert models.main(["--alignment", "0", str(path)]) == 2
    with pytest.raises(spad.TextError, match="only ONNX models have views"):
        models.read(PACK.encode(), "a.mlir", views=False)


def test_onnx_constants_in_other_shapes(onnx):
    """Weights that many nodes share come as Identity nodes; they need no bytes of the arena."""
    node = onnx.helper.make_node
    nodes = [node("Identity", ["w"], ["v"]), node("Unsqueeze", ["v", "zero"], ["u"]), node("Add", ["x", "u"], ["y"])]
    nodes.insert(0, node("Constant", [], ["zero"], value_ints=[0]))
    arena = models.read(model_of(onnx, nodes, initializers=["w"]), "m.onnx").arenas[0]
    assert [b.name for b in arena.buffers] == ["x", "y"]
    kept = models.read(model_of(onnx, nodes, initializers=["w"], outputs=("v", "y")), "m.onnx").arenas[0]
    assert [b.name for b in kept.buffers] == ["x", "v", "u", "y"]  # the caller gets v


def test_onnx_rows_are_read_again(onnx):
    """The rows of -o say which values share bytes, so that the plan in them is one."""
    node = onnx.helper.make_node
    nodes = [node("Relu", ["x"], ["a b"]), node("Relu", ["a b"], ["a_b"]), node("Concat", ["a b", "a_b"], ["c,d"], axis=1),
             node("Relu", ["c,d"], ["y"])]
    arena = models.read(model_of(onnx, nodes), "m.onnx").arenas[0]
    assert arena.csv().splitlines()[0] == "id,lower,upper,size,slice,in_place,offset"
    plan = spad.Plan()
    plan.read_csv(arena.csv())
    assert plan.solve(minimize=True).height == arena.height == 512


def test_onnx_named_extents(onnx, tmp_path):
    content = model_of(onnx, [onnx.helper.make_node("Relu", ["x"], ["y"])], shape=("batch", 64))
    with pytest.raises(spad.TextError, match="batch.*-D NAME=N"):
        models.read(content, "m.onnx")
    assert models.read(content, "m.onnx", {"batch": 8}).height == 2 * 8 * 256
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    assert models.main(["-Dbatch=4", str(path)]) == 0 and models.main(["-D", "batch=x", str(path)]) == 2
    with pytest.raises(spad.TextError, match="only ONNX models have extents"):
        models.read(PACK.encode(), "a.mlir", {"n": 1})


def test_onnx_bodies(onnx):
    node, make = onnx.helper.make_node, onnx.helper
    bodies = []
    for turn in range(2):
        inner = [node("Relu", ["a"], [f"p{turn}"]), node("Add", [f"p{turn}", f"p{turn}"], [f"q{turn}"])]
        bodies.append(make.make_graph(inner, "body", [], [make.make_tensor_value_info(
            f"q{turn}", onnx.TensorProto.FLOAT, [1, 64])]))
    nodes = [node("Relu", ["x"], ["a"]), node("If", ["t"], ["b"], then_branch=bodies[0], else_branch=bodies[1]),
             node("Relu", ["b"], ["y"])]
    g = graph(onnx, nodes)
    g.input.append(make.make_tensor_value_info("t", onnx.TensorProto.BOOL, [1]))
    model = models.read(make.make_model(g).SerializeToString(), "m.onnx")
    lives = {b.name: (b.first, b.last) for b in model.arenas[0].buffers}
    # both bodies run within the node of 5 steps, and what they read lives until it ends
    assert lives["a"] == (1, 6) and lives["b"] == (2, 7) and lives["y"] == (7, 7)
    assert sorted([lives["p0"], lives["p1"]]) == [(3, 4), (5, 6)]


def test_wrong_onnx(onnx):
    node = onnx.helper.make_node
    for nodes, words in (([node("Relu", ["b"], ["y"]), node("Relu", ["y"], ["b"])], "cycle|inferred|topolog"),
                         ([node("Relu", ["y"], ["y"])], "reads 'y'|inferred|topolog"),
                         ([], "no nodes"),
                         ([node("Relu", ["x"], ["y"]), node("Relu", ["x"], ["y"])], "written twice|inferred")):
        with pytest.raises(spad.TextError, match=words):
            models.read(model_of(onnx, nodes), "m.onnx")
    one = [node("Relu", ["x"], ["y"])]
    with pytest.raises(spad.TextError, match="extent|size|inferred"):
        models.read(model_of(onnx, one, shape=(-4, 64)), "m.onnx")
    with pytest.raises(spad.TextError, match="size|inferred"):
        models.read(model_of(onnx, one, shape=(1 << 40, 1 << 40)), "m.onnx")
    with pytest.raises(spad.TextError, match="not an ONNX"):
        models.read(b"hello hello", "m.onnx")


def test_damaged_onnx(onnx):
    node = onnx.helper.make_node
    nodes = [node("Relu", ["x"], ["a"]), node("Concat", ["a", "x"], ["b"], axis=0),
             node("Constant", [], ["k"], value_ints=[1]), node("Constant", [], ["z"], value_int=0),
             node("Slice", ["b", "k", "k", "k"], ["c"]), node("Transpose", ["b"], ["d"], perm=[0, 1]),
             node("Split", ["b"], ["e", "f"], num_outputs=2), node("Gather", ["b", "z"], ["g"], axis=0),
             node("Dropout", ["a"], ["h"]), node("Concat", ["h", "e"], ["y"], axis=0)]
    survive(model_of(onnx, nodes), "m.onnx")


def test_onnx_attributes_of_other_kinds(onnx):
    """What is no whole number is no axis, and no view."""
    node = onnx.helper.make_node
    for wrong in (1.5, "one", [1, 1], 99, -99):
        for kind in ("Concat", "Split", "Gather"):
            nodes = [node("Relu", ["x"], ["a"]), node(kind, ["a", "a"], ["y"], axis=wrong)]
            try:
                assert models.read(model_of(onnx, nodes), "m.onnx").arenas[0].views == []
            except spad.TextError as error:
                assert "inferred" in str(error)


def test_onnx_types(onnx):
    from spad.models._onnx import _Values

    values, kind = _Values(onnx, "f", {}), onnx.TensorProto
    assert [values.bits(k) for k in (kind.FLOAT, kind.DOUBLE, kind.FLOAT16, kind.BFLOAT16, kind.INT8, kind.UINT4,
                                     kind.BOOL, kind.COMPLEX128, kind.FLOAT8E4M3FN, kind.STRING, 999)] == \
        [32, 64, 16, 16, 8, 4, 8, 128, 8, None, None]
