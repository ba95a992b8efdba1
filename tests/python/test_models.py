# SPDX-License-Identifier: Apache-2.0
"""`spad plan FILE` for files of other compilers: recognised, planned, written, compared."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import spad
from spad import arena, models


def command(*words, **more):
    """What the command does: its exit status, output and messages."""
    program = Path(spad.__file__).with_name("spad")
    if not program.exists():
        pytest.skip("the package was built without the command")
    paths = [str(Path(spad.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "SPAD_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run([str(program), "plan", *map(str, words)], capture_output=True, text=True, errors="replace",
                          env=environment, timeout=120, **more)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def tiny(tmp_path):
    pytest.importorskip("flatbuffers", reason="there is no flatbuffers")
    import tflite_models

    path = tmp_path / "chain.tflite"
    path.write_bytes(tflite_models.chain().build())
    return path


# ---- arenas -------------------------------------------------------------------------------------


def test_an_arena():
    a = arena.Arena("sram", alignment=16, reserved=10, steps=["read", "add", "write"])
    assert a.add("x", 0, 1, 20) == 0 and a.add("x", 1, 2, 40) == 1 and a.add("none", 0, 0, 0) == 2
    assert len(a) == 3 and [b.name for b in a.buffers] == ["x", "x #2", "none"]
    assert a.load() == (60, 1) and [b.size for b in a.peak()] == [40, 20]
    assert a.offsets[2] == 10 and a.proved and a.fits and a.height == a.bound
    assert a.compare_with("them", 200).saving().startswith("-")
    assert "at step 1 (add)" in a.text() and "reserved" in a.text()
    rows = a.csv().splitlines()
    assert rows[0] == "id,lower,upper,size,alignment,offset" and len(rows) == 3
    again = spad.Plan()
    again.read_csv(a.csv())
    assert len(again) == 2
    assert a.report().svg().startswith("<svg") and "sram" in repr(a)


def test_an_arena_that_does_not_fit():
    a = arena.Arena("sram", capacity=50)
    a.add("x", 0, 1, 30)
    a.add("y", 1, 1, 30)
    assert not a.fits and a.height is None and "over by 10 B" in a.text()
    assert a.facts()["places"][0]["offset"] is None and a.saving() == ""
    with pytest.raises(spad.FitError):
        a.offsets
    a.capacity = None
    assert a.height == 60


def test_greedy_and_their_offsets():
    a = arena.Arena("m")
    for name, first, last, size, at in (("a", 0, 2, 4, 0), ("b", 2, 4, 6, 4), ("c", 4, 6, 4, 0)):
        a.add(name, first, last, size, theirs=at)
    assert a.greedy() == a.greedy(theirs=True) == 10 and a.their_clash() is None
    assert a.their_result().height == 10
    a.add("d", 6, 6, 1, theirs=3)
    first, second = a.their_clash()
    assert (first.name, second.name) == ("c", "d")
    a.add("e", 6, 6, 1)
    assert a.their_result() is None
    large = arena.Arena("m")
    for i in range(arena.GREEDY_MOST + 1):
        large.add("x", i, i, 1)
    assert large.greedy() is None and large.height == 1


def test_greedy_is_never_below_the_plan():
    import random

    chance = random.Random(2)
    for _ in range(200):
        a = arena.Arena("m", chance.choice((1, 8)), chance.choice((0, 5)))
        for i in range(chance.randrange(1, 10)):
            first = chance.randrange(8)
            a.add(i, first, first + chance.randrange(5), chance.randrange(0, 40))
        assert a.height <= a.greedy() and a.proved


@pytest.mark.parametrize("words", [("x", 0, -1, 5), ("x", 0, 1, -5), ("x", 0, 1, 1 << 63), ("x", "0", 1, 5),
                                   ("x", 0, 1.5, 5), ("x", 0, 1, True), ("x", 0, 1, 5, 0), ("x", 0, 1, 5, 1, -1)])
def test_wrong_buffers(words):
    a = arena.Arena("m")
    with pytest.raises(spad.ArgumentError):
        a.add(*words)
    assert len(a) == 0


def test_names_that_cannot_be_shown():
    a = arena.Arena("m")
    a.add("bad\0name\n", 0, 1, 4)
    a.add("", 0, 1, 4)
    a.add('with, "quotes"', 0, 1, 4)
    assert [b.name for b in a.buffers] == ["bad?name?", "?", 'with, "quotes"']
    plan = spad.Plan()
    plan.read_csv(a.csv())
    assert plan[2]["name"] == 'with; "quotes"'


def test_models_without_buffers():
    empty = arena.Model("nothing", "f", [])
    assert empty.height == 0 and empty.their_bytes is None and empty.fits
    with pytest.raises(spad.TextError):
        empty.report()


# ---- the command --------------------------------------------------------------------------------


def test_a_model_is_planned_and_written(tiny, tmp_path):
    from spad import tflite

    status, shown, messages = command(tiny, "-o", tmp_path / "out.tflite", "--report", tmp_path / "r.html",
                                      "--svg", tmp_path / "r.svg", "--data", tmp_path / "r.json")
    assert status == 0 and "TFLM" in shown and "optimal" in shown
    assert messages == "".join(f"wrote {tmp_path}/{name}\n" for name in ("out.tflite", "r.html", "r.svg", "r.json"))
    assert (tmp_path / "out.tflite").read_bytes() == tflite.plan(tiny.read_bytes())
    assert "<html" in (tmp_path / "r.html").read_text() and "<svg" in (tmp_path / "r.svg").read_text()
    json.loads((tmp_path / "r.json").read_text())
    status, shown, _ = command(tiny, "--json", "--timeout=2", "--seed", "3", "--threads", "2")
    assert status == 0 and json.loads(shown)["arenas"][0]["verdict"] == "optimal"
    status, shown, messages = command(tiny, "-o", tmp_path / "rows.csv", "--text")
    assert status == 0 and (tmp_path / "rows.csv").read_text().startswith("id,lower,upper,size")
    status, shown, messages = command(tiny, "-o", "-")
    assert "id,lower" not in shown and "spad" in messages


def test_a_model_that_does_not_fit(tiny, tmp_path):
    status, shown, messages = command(tiny, "--capacity", "64", "-o", tmp_path / "out.tflite")
    assert status == 1 and "does not fit" in shown and "is not written" in messages
    assert not (tmp_path / "out.tflite").exists()


def test_a_profile_of_pytorch(root, tmp_path):
    trace = root / "examples" / "training_step.json"
    status, shown, messages = command(trace, "--capacity", "1MiB", "-o", tmp_path / "rows.csv")
    assert status == 0 and messages == f"wrote {tmp_path}/rows.csv\n" and "678,020 B" in shown
    assert command(trace, "--capacity", "0x10000")[0] == 1
    status, _, messages = command(trace, "--capacity", "4KB")
    assert status == 2 and "takes bytes such as 4096, 0x1000 or 4KiB, not '4KB'" in messages
    status, _, messages = command(trace, "-o", tmp_path / "none" / "rows.csv")
    assert status == 3 and f"cannot write '{tmp_path}/none/rows.csv'" in messages


def test_wrong_words(tiny, tmp_path):
    for words, expected in ((["--frontier"], "is not for models"), (["--timeout", "x"], "--timeout"),
                            (["--seed", "-1"], "--seed"), (["--arena", "no"], "there is no arena 'no'"),
                            (["-o", tiny], "is the input")):
        status, _, messages = command(tiny, *words, *(["--text"] if words[0] == "--arena" else []))
        assert status == 2 and expected in messages, messages
    status, _, messages = command(tmp_path / "none.tflite")
    assert status == 2 and "none.tflite" in messages
    (tmp_path / "bad.tflite").write_bytes(b"hello")
    status, _, messages = command(tmp_path / "bad.tflite")
    assert status == 2 and "not a TFLite model" in messages
    status, _, messages = command("-", input="x" * 4 + "TFL3" + "y" * 40)
    assert status == 2 and "stdin" in messages
    with pytest.raises(spad.TextError, match="not a file that is known"):
        models.read(b"hello", "x.txt")
    assert models.main([]) == 2


def test_huge_files(tmp_path):
    """The size is looked at before anything is read: sparse files, which would be read as zeros."""
    for name, head, size in (("huge.tflite", b"1234TFL3", 1 << 31), ("huge.onnx", b"", 1 << 31),
                             ("huge.pickle", b"\x80\x04", 1 << 40), ("trace.json", b'{"traceEvents": [', 1 << 40),
                             ("log.csv", b"Thread,Time,Action,Pointer,Size,Stream\n", (1 << 30) + 1),
                             ("huge.mlir", b"", 1 << 40), ("unknown", b"hello", 1 << 40),
                             ("x.buffer-assignment.txt", b"BufferAssignment:\n", 1 << 40)):
        path = tmp_path / name
        path.write_bytes(head)
        os.truncate(path, size)
        most = models.BINARY_MOST if size == 1 << 31 else models.FILE_MOST
        with pytest.raises(spad.TextError, match=f"it has {size} B; the most is {most}") as caught:
            models.load(path)
        assert ("--max-file" in str(caught.value)) == (size != 1 << 31)
    for name, words in (("trace.json", "the most is 1073741824"), ("huge.pickle", "the most is 1073741824"),
                        ("unknown", "larger than 1024 MiB")):
        status, _, messages = command(tmp_path / name)
        assert status == 2 and messages.count("\n") == 1 and words in messages


def test_limits_that_the_caller_gives(root, tiny, tmp_path):
    trace = root / "examples" / "training_step.json"
    size = trace.stat().st_size
    assert models.load(trace, most=size).arenas
    with pytest.raises(spad.TextError, match=f"it has {size} B; the most is {size - 1}$"):
        models.load(trace, most=size - 1)
    status, _, messages = command(trace, "--max-file", "1KiB")
    assert status == 2 and f"it has {size} B; the most is 1024\n" in messages
    assert command(tiny, "--max-file=8GiB")[0] == 0  # more than the format can have is no limit
    status, _, messages = command(trace, "--max-file", "many")
    assert status == 2 and "'--max-file' takes bytes" in messages


def test_pipes(root, tmp_path):
    """A pipe does not say its size: no more is read than may be, and the rest stays with the writer."""
    content = (root / "examples" / "training_step.json").read_bytes()
    for count, most, words in ((1, None, None), (1, len(content), None), (1, len(content) - 1, "it has more than"),
                               (400, len(content) + 100, "it has more than")):
        path, sent = tmp_path / f"pipe{count}-{most}.json", []
        os.mkfifo(path)

        def send():
            with open(path, "wb", buffering=0) as pipe:
                try:
                    for _ in range(count):
                        sent.append(pipe.write(content))
                except BrokenPipeError:
                    pass

        writer = threading.Thread(target=send)
        writer.start()
        try:
            if words is None:
                assert models.load(path, most=most).arenas
            else:
                with pytest.raises(spad.TextError, match=words):
                    models.load(path, most=most)
        finally:
            writer.join()
        assert sum(sent) <= (len(content) if words is None else most + (1 << 20))
