# SPDX-License-Identifier: Apache-2.0
"""Random damage to the files that the readers in Python take: each is read, or refused with one line, in finite time.

    python3 fuzz/python_readers.py --seconds 600            # until then, from a seed of its own
    python3 fuzz/python_readers.py --seed 7 --files 500     # the same files every time
    python3 fuzz/python_readers.py --only onnx,snapshot ...

The seeds are recorded files of tests/python/golden and files that are made here. A file that raises anything but an
error of spad, or that needs more than --patience seconds, is written to --out and named; exit status 1.
Readers whose packages (onnx) are not installed are left out, and named.
"""

import argparse
import json
import os
import pickle
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import spad
from spad import models

ROOT = Path(os.environ.get("SPAD_ROOT", Path(__file__).resolve().parents[1]))
GOLDEN = ROOT / "tests/python/golden"
WORDS = [b"-1", b"0", b"1", b"9223372036854775807", b"9223372036854775808", b"1e300", b"NaN", b"9" * 5000, b"[" * 2000, b"{",
         b"}", b"]", b"\0", b"\n", b"\xff" * 8, b"\x80" * 9 + b"\x01", b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"%c0", b"null",
         b"\"\"", b",", b"@", b"#2"]


class TooLong(BaseException):
    """Raised by the alarm; not an Exception, so that no reader takes it for its own."""


def onnx_seed():
    """A model with the nodes that have rules of their own, or None without the package onnx."""
    try:
        import onnx
    except ImportError:
        return None
    make, kinds = onnx.helper, onnx.TensorProto
    node = make.make_node
    body = make.make_graph([node("Relu", ["a"], ["q"])], "body", [], [make.make_tensor_value_info("q", kinds.FLOAT, [2, 8])])
    nodes = [node("Relu", ["x"], ["a"]), node("Concat", ["a", "x"], ["b"], axis=0),
             node("Constant", [], ["k"], value_ints=[1]), node("Constant", [], ["z"], value_int=0),
             node("Slice", ["b", "k", "k", "k"], ["c"]), node("Transpose", ["b"], ["d"], perm=[1, 0]),
             node("Split", ["b"], ["e", "f"], num_outputs=2), node("Gather", ["b", "z"], ["g"], axis=0),
             node("Dropout", ["a"], ["h"]), node("If", ["t"], ["r"], then_branch=body, else_branch=body),
             node("Reshape", ["e", "s"], ["i"]), node("Less", ["a", "x"], ["l"]), node("Add", ["h", "e"], ["y"])]
    infos = [make.make_tensor_value_info("x", kinds.FLOAT, ["n", 8]), make.make_tensor_value_info("t", kinds.BOOL, [1])]
    shape = make.make_tensor("s", kinds.INT64, [2], [-1, 4])
    graph = make.make_graph(nodes, "g", infos, [make.make_tensor_value_info("y", kinds.FLOAT, None)], [shape])
    return make.make_model(graph).SerializeToString()


def snapshot_seed():
    frames = [{"filename": "/torch/a.py", "name": "f", "line": 1}, {"filename": "b.py", "name": "g", "line": 2}]
    history = [{"action": "alloc", "addr": 512 * i, "size": 512, "stream": 0, "frames": frames} for i in range(6)]
    history += [{"action": "free_completed", "addr": 512 * i, "size": 512, "stream": 0} for i in range(3)]
    blocks = [{"size": 512, "requested_size": 400, "state": "active_allocated", "frames": []},
              {"size": 1024, "state": "inactive", "frames": frames}]
    return pickle.dumps({"device_traces": [history], "segments": [{"address": 8192, "stream": 0, "device": 0,
                                                                  "blocks": blocks}]}, protocol=2)


def trace_seed():
    events = [{"name": "[memory]", "ts": i, "args": {"Addr": 64 * (i % 5), "Bytes": 64 if i < 5 else -64, "Device Type": 0,
                                                     "Device Id": -1}} for i in range(10)]
    return json.dumps({"traceEvents": events}).encode()


LOG = b"Thread,Time,Action,Pointer,Size,Stream\n" + b"".join(
    b"1,%d,%s,0x%x,256,0x0\n" % (i, b"allocate" if i < 4 else b"free", 256 * (i % 4)) for i in range(8))


def seeds():
    """name -> the name of a file of this kind, and contents to damage."""
    found = {
        "tflite": ("m.tflite", [p.read_bytes() for p in sorted(GOLDEN.glob("*.tflite"))]),
        "onnx": ("m.onnx", [onnx_seed()]),
        "iree": ("m.mlir", [(GOLDEN / "iree_unet.mlir").read_bytes()[:20000]]),
        "xla": ("m.buffer-assignment.txt", [(GOLDEN / "xla_unet.buffer-assignment.txt").read_bytes()]),
        "ranges": ("m.live-range.txt", [(GOLDEN / "xla_unet.live-range.txt").read_bytes()]),
        "snapshot": ("m.pickle", [snapshot_seed()]),
        "trace": ("m.json", [trace_seed()]),
        "log": ("m.csv", [LOG]),
    }
    return {name: (file, contents) for name, (file, contents) in found.items() if contents and None not in contents}


def damaged(content, draw, others):
    content = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        at = draw.randrange(len(content) + 1)
        kind = draw.randrange(7)
        if kind == 0 and at < len(content):
            content[at] = draw.randrange(256)
        elif kind == 1 and at < len(content):
            content[at] ^= 1 << draw.randrange(8)
        elif kind == 2:
            del content[at:at + draw.choice((1, 2, 4, 30, 1000))]
        elif kind == 3:
            content[at:at] = draw.choice(WORDS)
        elif kind == 4:
            end = min(len(content), at + draw.choice((4, 40, 400)))
            content[at:at] = content[at:end] * draw.choice((1, 1, 2, 50))
        elif kind == 5:
            content[at:at + 4] = draw.choice((b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x04\0\0\0", b"\0\0\0\x80"))
        else:
            other = draw.choice(others)
            start = draw.randrange(len(other) + 1)
            content[at:at] = other[start:start + draw.randrange(200)]
    return bytes(content)


def attempt(content, path, defines):
    """None: it was read or refused; else what went wrong."""
    try:
        path.write_bytes(content)
        model = models.load(path, defines)
        model.solve(timeout=0.2)
        model.text()
        model.json()
        if model.fits and model.arenas:
            model.arenas[0].csv()
    except spad.Error as error:
        if "\n" in str(error) or len(str(error)) > 600:
            return f"an error of several lines or {len(str(error))} characters"
        if isinstance(error, spad.InternalError):
            return f"{error}"
    except TooLong:
        return "too long"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None


def interrupt(*_):
    raise TooLong


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--seconds", type=float, default=0)
    words.add_argument("--files", type=int, default=0)
    words.add_argument("--seed", type=int)
    words.add_argument("--only", default="")
    words.add_argument("--patience", type=int, default=30)
    words.add_argument("--out", default=tempfile.gettempdir())
    words = words.parse_args()
    seed = words.seed if words.seed is not None else random.SystemRandom().randrange(1 << 32)
    draw, known = random.Random(seed), seeds()
    wanted = [name for name in (words.only.split(",") if words.only else known) if name in known]
    ended, counts, wrong = time.monotonic() + words.seconds, dict.fromkeys(wanted, 0), 0
    signal.signal(signal.SIGALRM, interrupt)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        while wanted and (time.monotonic() < ended if words.seconds else sum(counts.values()) < (words.files or 1000)):
            name = draw.choice(wanted)
            file, contents = known[name]
            for beside in ("xla", "ranges"):
                (folder / known[beside][0]).write_bytes(known[beside][1][0])
            content = damaged(draw.choice(contents), draw, contents)
            signal.alarm(words.patience)
            problem = attempt(content, folder / file, {"n": 2} if name == "onnx" else None)
            signal.alarm(0)
            counts[name] += 1
            if problem:
                wrong += 1
                kept = Path(words.out) / f"reader-{name}-{seed}-{counts[name]}-{file}"
                kept.write_bytes(content)
                print(f"{kept}: {problem}", flush=True)
    print(f"seed {seed}: " + ", ".join(f"{name} {count}" for name, count in counts.items()) + f"; {wrong} wrong")
    missing = sorted({"onnx", "tflite"} - set(known))
    if missing:
        print(f"left out: {', '.join(missing)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
