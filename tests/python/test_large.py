# SPDX-License-Identifier: Apache-2.0
"""Files of hundreds of megabytes: what is read of them, and the limits at which they are refused. The limits
are made small here, so that small files reach them."""

import gc
import json
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import pytest

import spad
from spad import _files, _spad, models
from spad.models import _iree, _logs, _onnx, _snapshot, _xla

EVENT = {"name": "[memory]", "ts": 1, "args": {"Addr": 4096, "Bytes": 64, "Device Id": 0, "Device Type": 0}}


def found(text, most=1000):
    """The events that are found, decoded; None: there is no list of them."""
    content = text if isinstance(text, bytes) else text.encode()
    places = _spad.memory_events(content, most)
    if places is None:
        return None
    numbers = memoryview(places).cast("q").tolist()
    return [json.loads(content[a:b]) for a, b in zip(numbers[::2], numbers[1::2])]


def expected(text):
    """The same by reading all of it."""
    document = json.loads(text)
    events = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(events, list):
        return None
    return [e for e in events if isinstance(e, dict) and e.get("name") == "[memory]"]


# ---- traces -------------------------------------------------------------------------------------


def some_value(dice, depth):
    kind = dice.randrange(9 if depth else 6)
    if kind < 4:
        return dice.choice([0, -1, 1.5, 1e300, -2e-9, True, False, None, 1 << 70, float("inf")])
    if kind < 6:
        return dice.choice(["", "[memory]", "name", "traceEvents", '"', "\\", '\\"', "\\\\", "é\u2028", "{", "]", ","])
    if kind == 6:
        return [some_value(dice, depth - 1) for _ in range(dice.randrange(4))]
    keys = ["name", "traceEvents", "args", '"name"', "\\", "x"]
    return {dice.choice(keys): some_value(dice, depth - 1) for _ in range(dice.randrange(4))}


def test_random_traces_are_read_as_json_reads_them():
    dice, full = random.Random(20), 0
    for turn in range(3000):
        events = [dict(EVENT, more=some_value(dice, 3)) if dice.randrange(2) else some_value(dice, 4)
                  for _ in range(dice.randrange(6))]
        document = {"a": some_value(dice, 3), "traceEvents": events if dice.randrange(9) else some_value(dice, 2)}
        if not dice.randrange(9):
            document = some_value(dice, 4)
        text = json.dumps(document, ensure_ascii=dice.randrange(2) > 0, indent=dice.choice([None, 1]))
        full += bool(expected(text))
        assert found(text) == expected(text), text
        at = dice.randrange(len(text))  # a text that is cut or changed is refused, or is read without what is broken
        for broken in (text[:at], text[:at] + dice.choice('[]{},:"x1 \n\\') + text[at + 1:]):
            try:
                right = expected(broken)
            except ValueError:
                continue
            assert found(broken) == right, broken
    assert full > 500


@pytest.mark.parametrize("text, words", [
    ("", "the text ends early at byte 0"), ("{", "a string is expected at byte 1"), ('{"a" 1}', "':' is expected at byte 5"),
    ('{"a": 1', "',' or '}' is expected at byte 7"), ("[1 2]", "',' or ']' is expected at byte 3"),
    ('["a', "a string does not end at byte 2"), ('["a\\"', "a string does not end"), ("[tru]", "a value is expected at byte 1"),
    ("[-]", "a value is expected at byte 1"), ("[1.]", "a value is expected at byte 1"), ("[1e]", "a value is expected at byte 1"),
    ("[1e+]", "a value is expected"), ("{} {}", "the text goes on after its end at byte 3"),
    ('{"a":' + "[" * 300, "it is nested too deeply at byte 260"), ('{"a":', "the text ends early at byte 5"),
    ('{"traceEvents": [{"name": "[mem', "a string does not end"),
])
def test_traces_that_are_no_json(text, words):
    with pytest.raises(spad.TextError) as caught:
        found(text)
    assert words in str(caught.value)


def test_traces_of_unusual_shape():
    one = json.dumps(EVENT)
    assert found(b"\xef\xbb\xbf" + f'{{"traceEvents": [{one}]}}'.encode()) == [EVENT]
    assert found(f' {{"traceEvents": [{one}], "traceEvents": [{one}, {one}]}}\n') == [EVENT] * 2  # the last counts
    assert found(f'{{"traceEvents": [{one}], "traceEvents": 1}}') is None
    assert found('{"traceEvents": [{"name": "[memory]", "name": "x"}]}') == []
    assert found('{"traceEvents": [{"name": {"name": "[memory]"}}, [{"name": "[memory]"}]]}') == []
    assert found("[1, -0, 1.5e+9, 2E-3, 3e4, NaN, -Infinity]") is None and found('{"traceEvents": []}') == []
    many = f'{{"traceEvents": [{",".join([one] * 5000)}, and so on'
    assert len(found(many, 3000)) == 3001  # nothing after the first that is too many is looked at
    for wrong in ((1, 2), ("text", 1), (b"", "x"), ()):
        with pytest.raises(TypeError):
            _spad.memory_events(*wrong)


def test_traces_with_too_many_events(monkeypatch):
    text = json.dumps({"traceEvents": [EVENT] * 2100}).encode()
    assert len(models.read(text, "t.json").arenas[0]) == 2100  # in several parts
    monkeypatch.setattr(_logs, "ROWS_MOST", 2099)
    with pytest.raises(spad.TextError, match="t.json: it has more than 2099 memory events"):
        models.read(text, "t.json")
    broken = text.replace(b'"ts": 1', b'"ts": 01', 1)
    monkeypatch.setattr(_logs, "ROWS_MOST", 2100)
    with pytest.raises(spad.TextError, match="not a trace: .* of the memory events from byte 17 on"):
        models.read(broken, "t.json")


# ---- snapshots and logs -------------------------------------------------------------------------


def test_logs_with_too_many_rows(monkeypatch):
    text = b"Thread,Time,Action,Pointer,Size,Stream\n" + b"".join(b"1,0,allocate,%#x,16,0\n" % (16 * i) for i in range(1, 50))
    monkeypatch.setattr(_logs, "ROWS_MOST", 50)
    assert len(models.read(text, "l.csv").arenas[0]) == 49
    monkeypatch.setattr(_logs, "ROWS_MOST", 49)
    with pytest.raises(spad.TextError, match="l.csv: it has 50 rows; the most is 49"):
        models.read(text, "l.csv")


def snapshot(count):
    frames = [{"filename": "/a/model.py", "name": "forward", "line": 3}] * 5
    return {"device_traces": [[{"action": "alloc", "addr": 512 * i, "size": 512, "frames": frames} for i in range(count)]]}


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_snapshots_in_pieces(protocol):
    """Larger than one piece, with frames (of protocol 4 on) and without them."""
    whole = snapshot(8000)
    content = pickle.dumps(whole, protocol)
    assert len(content) > 1 << 17 and _snapshot.unpickle(content, "s.pickle") == whole
    for end in (0, 1, 100, 1 << 17, len(content) - 1):
        with pytest.raises(spad.TextError, match="s.pickle: not a snapshot of PyTorch"):
            _snapshot.unpickle(content[:end], "s.pickle")
    assert gc.isenabled()


def test_snapshots_that_are_more_objects_than_bytes(monkeypatch):
    sizes = iter(range(0, 1 << 40, 1 << 24))
    monkeypatch.setattr(_snapshot, "resident", lambda: next(sizes))
    monkeypatch.setattr(_snapshot, "OBJECTS_MOST", 1 << 22)
    gc.disable()
    try:
        with pytest.raises(spad.TextError, match="s.pickle: not a snapshot of PyTorch: its first 10485.. B are objects"):
            _snapshot.unpickle(b"\x80\x04" + b"N0" * (1 << 20), "s.pickle")
        assert not gc.isenabled()  # as it was before
    finally:
        gc.enable()
    assert _snapshot.unpickle(b"\x80\x04" + b"N0" * (1 << 10) + b"N.", "s.pickle") is None


def test_frames_that_are_none(tmp_path):
    for frames in (5, "x", [1], [{}, None]):
        content = pickle.dumps({"device_traces": [[{"action": "alloc", "addr": 1, "size": 1, "frames": frames}]]})
        with pytest.raises(spad.TextError, match="'frames' has to be a list of dicts"):
            models.read(content, "s.pickle")


# ---- texts of compilers, ONNX -------------------------------------------------------------------


def test_iree_between_other_lines(root, monkeypatch):
    text = (root / "tests/python/golden/iree_unet.mlir").read_bytes()
    model = models.read(text, "i.mlir")
    noise = b"\r\n// " + b"x" * 1000 + b"\n"
    lines = [line for line in text.splitlines() if line.strip()]
    within = False
    mixed = b""
    for line in lines:
        within = within or b"slices({" in line
        mixed += line + (b"\n" if within else noise)
        within = within and not line.strip().startswith(b"})")
    again = models.read(mixed, "i.mlir")
    assert [(a.name, a.height, a.their_bytes) for a in again.arenas] == [(a.name, a.height, a.their_bytes) for a in model.arenas]
    for cut in (b"\n" * 10, b""):  # with and without a line break at the end
        assert [a.height for a in models.read(text.rstrip() + cut, "i.mlir").arenas] == [a.height for a in model.arenas]
    long = b'  %cst = arith.constant dense<"0x' + b"A" * 200000 + b'"> : tensor<4xf32>\n'
    assert [a.height for a in models.read(long + text, "i.mlir").arenas] == [a.height for a in model.arenas]
    monkeypatch.setattr(_iree, "LINES_MOST", 5)
    with pytest.raises(spad.TextError, match="i.mlir: it has more than 5 lines about memory"):
        models.read(text, "i.mlir")


def test_xla_with_too_many_lines(tmp_path, monkeypatch):
    path = tmp_path / "m.buffer-assignment.txt"
    path.write_text("BufferAssignment:\r\nallocation 0: size 16, preallocated-temp:\r\n value: <1 v @0> (size=16,offset=0): f32[4]\r\n")
    (tmp_path / "m.live-range.txt").write_text("HloLiveRange (max 2):\n    0:p\n    v{}:0-1\n")
    assert models.load(path).arenas[0].height == 16
    monkeypatch.setattr(_xla, "LINES_MOST", 2)
    with pytest.raises(spad.TextError, match="m.live-range.txt: it has 3 lines; the most is 2"):
        models.load(path)


def test_onnx_with_too_many_parts(monkeypatch):
    """Counted in the bytes, before the package onnx makes objects of them."""
    assert _onnx._varint(b"\x80" * 20, 0) == (None, 0) and _onnx._varint(b"\xac\x02", 0) == (300, 2)
    fields = b"\x08\x05" + b"\x11" + bytes(8) + b"\x1d" + bytes(4) + b"\x22\x02ab"
    assert list(_onnx._fields(fields, 0, len(fields))) == [(1, 2, 2), (2, 3, 11), (3, 12, 16), (4, 18, 20)]
    for broken in (b"\x0b\x00", b"\x00\x00", b"\x22\x05ab", b"\x22", b"\x1d\x00", b"\xff"):
        assert list(_onnx._fields(broken, 0, len(broken))) == []
    monkeypatch.setattr(_onnx, "PARTS_MOST", 10)
    monkeypatch.setattr(_onnx, "STEPS_MOST", 5)
    _onnx._check_parts(b"\x3a\x04\x0a\x00\x0a\x00" * 2, "m.onnx")
    for content, words in ((b"\x3a\x0c" + b"\x0a\x00" * 6, "more than 5 nodes"), (b"\x3a\x02\x0a\x00" * 6, "more than 5 nodes"),
                           (b"\x3a\x16" + b"\x2a\x00" * 11, "more than 10 nodes, weights"), (b"\x08\x05" * 11, "more than 10 nodes")):
        with pytest.raises(spad.TextError, match=f"m.onnx: {words}"):
            _onnx._check_parts(content, "m.onnx")


# ---- memory -------------------------------------------------------------------------------------


@pytest.mark.skipif(bool(os.environ.get("SPAD_SANITIZED")) or sys.platform != "linux", reason="no limits of memory")
def test_the_memory_that_a_command_may_take():
    """In a process of its own, because it is for the rest of its life. The size is larger than what Python holds
    back, and smaller than what machines have."""
    program = ("import sys; sys.path[:0] = [sys.argv[1]]\n"
               "from spad._files import limit_memory, resident\n"
               "before = resident(); kept = b'x' * (64 << 20); assert resident() > before + (60 << 20)\n"
               "limit_memory(256 << 20); more = bytes(64 << 20)\n"
               "try: bytes(1 << 30)\n"
               "except MemoryError: print('refused')\n")
    done = subprocess.run([sys.executable, "-c", program, str(Path(spad.__file__).parents[1])], capture_output=True, text=True,
                          timeout=60)
    assert done.stdout == "refused\n", done.stderr[-500:]


def test_systems_that_do_not_say_their_memory(monkeypatch):
    def missing(*words, **more):
        raise FileNotFoundError

    monkeypatch.setattr(_files, "open", missing, raising=False)
    assert _files.resident() == 0
    _files.limit_memory(1)  # which changes nothing, or the next line would fail
    assert len(bytes(1 << 20)) == 1 << 20
