# SPDX-License-Identifier: Apache-2.0
"""spad.tflite: models of our own, broken ones, and, where it is installed, the real TFLM, in which a
model gives the same bytes with our plan and without it. Where there is no flatbuffers, only what needs no
writing of new tables is tested, with models that were recorded."""

import os
import random
import struct

import pytest

import spad
from spad import tflite

try:
    import tflite_models as models
except ImportError:
    models = None
needs_flatbuffers = pytest.mark.skipif(models is None, reason="there is no flatbuffers")


def stored(content):
    """The plan in a file: version, subgraphs, and the offsets."""
    file = tflite.TFLite(content)
    start, length = file.old_data
    version, graphs, count, *offsets = struct.unpack_from(f"<{length // 4}i", content, start)
    assert count == len(offsets) == file.count
    return version, graphs, offsets


def lives(content):
    file = tflite.TFLite(content)
    return [(t.name, t.first, t.last, t.size, t.why) for graph in file.graphs for t in graph]


def check(content, offsets):
    """Tensors that live at once share no byte; all that is not in the arena is -1."""
    rows = lives(content)
    for i, (_, first, last, size, why) in enumerate(rows):
        assert (offsets[i] >= 0) == (why is None and first is not None and last is not None and size > 0)
        assert offsets[i] < 0 or offsets[i] % 16 == 0
        for j in range(i):
            if min(offsets[i], offsets[j]) < 0 or last < rows[j][1] or rows[j][2] < first:
                continue
            assert offsets[i] + size <= offsets[j] or offsets[j] + rows[j][3] <= offsets[i]


def test_recorded_models(root):
    """The models of tflite_models, with a plan that leaves everything to the runtime."""
    for name in ("chain", "branches"):
        content = (root / f"tests/python/golden/tflite_{name}.tflite").read_bytes()
        arena = tflite.read(content).arenas[0]
        planned = tflite.plan(content)  # a plan of the same length is there: nothing new is written
        assert len(planned) == len(content) and stored(content)[2] == [-1] * tflite.TFLite(content).count
        check(planned, stored(planned)[2])
        assert arena.proved and tflite.read(planned).their_bytes == arena.height
        if models is not None:
            assert lives(getattr(models, name)().build()) == lives(content)


def test_writing_says_what_it_needs(root, monkeypatch):
    content = (root / "tests/python/golden/tflite_chain.tflite").read_bytes()
    bare = content.replace(tflite.NAME, b"SomethingElse".ljust(len(tflite.NAME), b"_"))
    monkeypatch.setitem(__import__("sys").modules, "flatbuffers", None)
    with pytest.raises(spad.StateError, match="pip install flatbuffers"):
        tflite.plan(bare)


@needs_flatbuffers
def test_a_plan_is_written_and_read():
    content = models.chain().build()
    model = tflite.read(content, "chain.tflite")
    arena = model.arenas[0]
    planned = tflite.plan(content)
    version, graphs, offsets = stored(planned)
    assert (version, graphs) == (1, 1)
    check(planned, offsets)
    assert lives(planned) == lives(content)  # nothing else has changed
    assert content in planned
    again = tflite.read(planned)
    assert again.arenas[0].their_name == "old plan" and again.arenas[0].their_bytes == arena.height
    assert arena.proved and arena.their_name == "TFLM" and arena.height <= arena.their_bytes
    assert "chain.tflite: TFLite" in model.text() and "the live peak is" in model.text()


@needs_flatbuffers
def test_a_plan_is_replaced():
    content = tflite.plan(models.chain().build())
    file = tflite.TFLite(content)
    other = file.write([-1] * file.count)
    assert len(other) == len(content) and stored(other)[2] == [-1] * file.count
    assert tflite.plan(other) == content == tflite.plan(content)


@needs_flatbuffers
def test_a_plan_of_another_length_is_replaced():
    model = models.chain()
    model.metadata = [("min_runtime_version", model.buffer(b"1.5.0")),
                      ("OfflineMemoryAllocation", model.buffer(struct.pack("<4i", 1, 1, 1, 0)))]
    content = model.build()
    planned = tflite.plan(content)
    check(planned, stored(planned)[2])
    kept = tflite.TFLite(planned).model.tables(tflite.MODEL_METADATA)
    assert [m.text(0) for m in kept] == [b"min_runtime_version", b"OfflineMemoryAllocation"]


@needs_flatbuffers
def test_variable_tensors_and_other_types_are_the_runtimes():
    model = models.TinyModel()
    g = model.graph()
    x = g.input(32)
    state = g.tensor([32], variable=True, name="state")
    text = g.tensor([4], kind=5, name="words")
    y = g.add(x, state)
    g.run(models.ADD, [y, y], [text])
    g.tensor([8], name="unused")
    g.outputs = [g.add(y, y)]
    content = model.build()
    _, _, offsets = stored(tflite.plan(content))
    check(content, offsets)
    assert offsets[state] == offsets[text] == -1
    notes = " ".join(tflite.read(content).arenas[0].notes)
    assert "1 tensors (variable)" in notes and "(type 5)" in notes and "(never created)" in notes


@needs_flatbuffers
def test_subgraphs_are_one_after_the_other():
    content = models.branches().build()
    version, graphs, offsets = stored(tflite.plan(content))
    assert graphs == 3 and len(offsets) == sum(len(g.tensors) for g in models.branches().graphs)
    check(content, offsets)
    model = tflite.read(content)
    assert "3 subgraphs" in model.notes and model.arenas[0].proved


@needs_flatbuffers
def test_a_plan_that_shares_bytes_on_purpose_is_kept():
    model = models.chain()
    count = len(model.graphs[0].tensors)
    model.metadata = [("OfflineMemoryAllocation", model.buffer(struct.pack(f"<{3 + count}i", 1, 1, count,
                                                                         *[0] * count)))]
    content = model.build()
    assert any("share bytes" in note for note in tflite.read(content).arenas[0].notes)
    with pytest.raises(spad.TextError, match="Vela"):
        tflite.plan(content)


@needs_flatbuffers
def test_files(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(models.chain().build())
    model = tflite.plan_file(path, tmp_path / "out.tflite")
    assert (tmp_path / "out.tflite").read_bytes() == tflite.plan(path.read_bytes())
    assert model.height == tflite.read((tmp_path / "out.tflite").read_bytes()).their_bytes


def wrong(model, words):
    content = model if isinstance(model, bytes) else model.build()
    with pytest.raises(spad.TextError, match=words):
        tflite.plan(content, "bad.tflite")


@needs_flatbuffers
def test_wrong_models():
    wrong(b"", "not a TFLite model")
    wrong(b"\0\0\0\0TFL3", "broken|outside|no subgraphs")
    wrong(b"\x10\0\0\0TFL3" + bytes(64), "no subgraphs|broken|outside")
    wrong(b"\xff\xff\xff\x7fTFL3" + bytes(64), "outside")
    model = models.TinyModel()
    wrong(model, "no subgraphs")
    for shape, words in (([-1, 4], "negative"), ([2**31 - 1, 2**31 - 1], "more than"), ([2**31 - 1], "more")):
        model = models.chain()
        model.graphs[0].tensors[0] = (shape, 0, 0, "x", False)
        wrong(model, words)
    model = models.chain()
    model.graphs[0].outputs = [9999]
    wrong(model, "tensor 9999")
    model = models.chain()
    model.graphs[0].tensors[0] = ([4], 0, 77, "x", False)
    wrong(model, "buffer 77")
    model = models.branches()
    model.graphs[0].operators[2] = (models.IF, [0, 1], [4], (1, 7))
    wrong(model, "subgraph 7")


@needs_flatbuffers
def test_a_field_that_points_outside():
    """One that the plan does not need, too: the new root refers to it."""
    content = bytearray(models.chain().build())
    file = tflite.TFLite(content)
    place = file.model.at(3)  # the description
    content[place:place + 4] = struct.pack("<I", 0x7FFFFFFF)
    wrong(bytes(content), "outside")


@needs_flatbuffers
def test_subgraphs_that_run_themselves_or_too_often():
    model = models.branches()
    y = model.graphs[1].inputs[0]
    model.graphs[1].run(models.IF, [y, y], [model.graphs[1].tensor([96])], 0, 0)
    wrong(model, "subgraph 0 runs itself")
    model = models.TinyModel()
    for number in range(64):  # 2^64 runs of the last one
        g = model.graph()
        x = g.input(4)
        g.run(models.IF, [x, x], [g.tensor([4])], min(number + 1, 63), min(number + 1, 63))
    model.graphs[63].operators.clear()
    wrong(model, "operators run")


@needs_flatbuffers
def test_weights_after_the_flatbuffer_cannot_be_moved(monkeypatch):
    file = tflite.TFLite(models.chain().build())
    real = tflite._Table.number
    monkeypatch.setattr(tflite._Table, "number", lambda self, field, kind="<i", default=0:
                        4096 if kind == "<Q" else real(self, field, kind, default))
    with pytest.raises(spad.TextError, match="after the FlatBuffer"):
        file.write([-1] * file.count)


@needs_flatbuffers
def test_offsets_are_checked():
    file = tflite.TFLite(models.chain().build())
    with pytest.raises(spad.ArgumentError, match="offsets for"):
        file.write([0])
    with pytest.raises(spad.ArgumentError, match="an offset is"):
        file.write([1 << 31] * file.count)


@needs_flatbuffers
def test_random_models():
    chance = random.Random(4)
    for _ in range(40):
        content = models.random_model(chance).build()
        planned = tflite.plan(content)
        check(planned, stored(planned)[2])
        assert tflite.read(content).height == tflite.read(planned).their_bytes


@needs_flatbuffers
def test_random_damage():
    """A damaged file is planned or refused; it never ends in another exception."""
    chance = random.Random(7)
    sound = [models.chain().build(), models.branches().build(), tflite.plan(models.chain().build())]
    refused = 0
    count = 100000 if os.environ.get("SPAD_THOROUGH") else 600
    for _ in range(count):
        content = bytearray(chance.choice(sound))
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(content))
            content[at] = chance.choice((0, 1, 127, 128, 255, chance.randrange(256)))
        if chance.random() < 0.2:
            del content[chance.randrange(len(content)):]
        try:
            tflite.plan(bytes(content), timeout=1)
        except spad.Error:
            refused += 1
    assert 0 < refused < count


# ---- the real TFLM ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tflm():
    pytest.importorskip("tflite_micro", reason="there is no tflite-micro")
    import numpy
    from tflite_micro.python.tflite_micro import runtime

    def run(content, inputs, outputs):
        interpreter = runtime.Interpreter.from_bytes(content, arena_size=1 << 20)
        for number, value in enumerate(inputs):
            interpreter.set_input(value, number)
        interpreter.invoke()
        return [numpy.array(interpreter.get_output(i)).tobytes() for i in range(outputs)]

    return run


@needs_flatbuffers
def test_tflm_gives_the_same_bytes(tflm):
    import numpy

    chance, values = random.Random(11), numpy.random.default_rng(3)
    smaller = 0
    for turn in range(12):
        model = models.chain() if turn == 0 else models.random_model(chance)
        content = model.build()
        g = model.graphs[0]
        inputs = [values.standard_normal(g.length(i)).astype("f4") for i in g.inputs]
        assert tflm(tflite.plan(content), inputs, len(g.outputs)) == tflm(content, inputs, len(g.outputs))
        arena = tflite.read(content).arenas[0]
        smaller += arena.height < arena.their_bytes
    assert smaller > 0


@needs_flatbuffers
def test_tflm_with_subgraphs(tflm):
    import numpy

    content = models.branches().build()
    values = numpy.random.default_rng(3).standard_normal(48).astype("f4")
    for switch in (True, False):
        inputs = [numpy.array([switch]), values]
        assert tflm(tflite.plan(content), inputs, 1) == tflm(content, inputs, 1)


@needs_flatbuffers
def test_tflm_obeys_the_plan(tflm):
    """A plan in which everything is at 0 gives another result, so the offsets do matter."""
    import numpy

    content = models.branches().build()
    file = tflite.TFLite(content)
    inputs = [numpy.array([True]), numpy.random.default_rng(3).standard_normal(48).astype("f4")]
    spoiled = file.write([0 if t.why is None else -1 for graph in file.graphs for t in graph])
    assert tflm(spoiled, inputs, 1) != tflm(content, inputs, 1)
