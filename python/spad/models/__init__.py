# SPDX-License-Identifier: Apache-2.0
"""Files of other compilers: recognised, planned, drawn, and compared with what that compiler had.

    model = spad.models.load("model.tflite")
    print(model.text())

`spad plan FILE` is the same as a command; docs/compilers.md lists the files.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from .. import _spad
from .._files import read_most, replace_file
from .._sweep.inputs import one_value
from ..arena import fault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from ..arena import Model

FILE_MOST = 1 << 30  # bytes of a file that is read as a whole, unless the caller says another number
BINARY_MOST = (1 << 31) - 1  # of files whose format has this limit itself, and which are mostly weights
MEMORY_MOST = 12 << 30  # bytes of memory that the command takes at most
HEAD = 1 << 16  # bytes by which a file is recognised


def _read_tflite(content, file):
    from .. import tflite

    return tflite.read(content, file)


def _read_onnx(content, file, **more):
    from . import _onnx

    return _onnx.read(content, file, **more)


def _read_iree(content, file):
    from . import _iree

    return _iree.read(content, file)


def _read_xla(content, file):
    from . import _xla

    return _xla.read(content, file)


def _read_snapshot(content, file):
    from . import _logs

    return _logs.read_snapshot(content, file)


def _read_log(content, file):
    from . import _logs

    return _logs.read_log(content, file)


def _read_trace(content, file):
    from . import _logs

    return _logs.read_trace(content, file)


# What a file is, by its first bytes and its name; the first that fits.
KINDS: tuple[tuple[str, Callable[[bytes, str], bool], Callable[..., Model]], ...] = (
    ("TFLite", lambda head, name: head[4:8] == b"TFL3" or name.endswith(".tflite"), _read_tflite),
    ("ONNX", lambda head, name: name.endswith(".onnx"), _read_onnx),
    ("PyTorch snapshot", lambda head, name: head[:1] == b"\x80" or name.endswith((".pickle", ".pkl")),
     _read_snapshot),
    ("RMM log", lambda head, name: b"Thread,Time,Action,Pointer,Size,Stream" in head[:64], _read_log),
    ("XLA", lambda head, name: b"BufferAssignment:" in head[:64] or b"HloLiveRange" in head[:64], _read_xla),
    ("PyTorch profiler", lambda head, name: b'"traceEvents"' in head, _read_trace),
    ("IREE", lambda head, name: b"stream.resource.pack" in head or name.endswith(".mlir"), _read_iree),
)


def recognise(head: bytes, name: str) -> tuple[str, Callable[..., Model]] | None:
    """The kind of a file and its reader, from its first 64 KiB and its name; None: not known."""
    for kind, fits, reader in KINDS:
        if fits(head, name):
            return kind, reader
    return None


def read(content: bytes | bytearray | memoryview, file: str = "<model>", defines: Mapping[str, int] | None = None,
         views: bool = True, alignment: int | None = None) -> Model:
    """A spad.arena.Model of the bytes of a file. For ONNX models: defines are values for named extents;
    views=False: no value is bytes of another one; alignment: of every offset, 1 without it."""
    content = content if isinstance(content, bytes) else bytes(content)
    found = recognise(content[:HEAD], str(file))
    if found is None and b"stream.resource.pack" in content:
        found = "IREE", _read_iree
    if found is None:
        kinds = ", ".join(kind for kind, _, _ in KINDS)
        fault(f"not a file that is known; there are {kinds}", str(file))
    more = {"defines": defines} if defines else {}
    if not views:
        more["views"] = False
    if alignment is not None:
        more["alignment"] = alignment
    if more and found[0] != "ONNX":
        words = {"defines": "extents with names", "views": "views", "alignment": "an alignment that is free"}
        fault(f"only ONNX models have {words[next(iter(more))]}", str(file))
    try:
        return found[1](content, str(file), **more)
    except _spad.ArgumentError as error:
        fault(str(error), str(file))
    except MemoryError:
        fault(f"it needs more memory than there is: {len(content)} B in the file", str(file))
    except RecursionError:
        fault("it is nested too deeply", str(file))


def _most(head, name, given):
    """The bytes that a file may have."""
    kind = (recognise(head, name) or ("", None))[0]
    own = BINARY_MOST if kind in ("TFLite", "ONNX") else None
    return own or FILE_MOST if given is None else min(given, own or given)


def _content(name, given):
    """The bytes of a file. One that says that it is too large is not read, of others no more than may be."""
    with open(name, "rb") as file:
        size = os.fstat(file.fileno()).st_size  # of a pipe 0
        head = file.read(HEAD)
        most = _most(head, name, given)
        ways = "" if given is not None or most == BINARY_MOST else "; '--max-file' (in Python: most) raises that"
        if size > most:
            fault(f"it has {size} B; the most is {most}{ways}", name)
        try:
            if size:
                file.seek(0)
            content = read_most(file, most) if size else head + read_most(file, max(most - len(head), 0))
        except MemoryError:
            fault(f"it needs more memory than there is: {size} B", name)
    if len(content) > most:
        fault(f"it has more than {most} B, which is the most{ways}", name)
    return content


def load(path: str | PathLike[str], defines: Mapping[str, int] | None = None, views: bool = True,
         alignment: int | None = None, most: int | None = None) -> Model:
    """A spad.arena.Model of a file; see read(). most: the bytes that it may have; without it 1 GiB, and 2 GiB for
    TFLite and ONNX models, which cannot have more."""
    name = os.fspath(path)
    return read(_content(name, most), name, defines, views, alignment)


# ---- the command ---------------------------------------------------------------------------------


class _Usage(Exception):
    """Wrong words on the command line."""


class _Unwritten(Exception):
    """An output that could not be written."""


VALUES = {"-o": "output", "--output": "output", "--report": "html", "--svg": "svg", "--data": "data",
          "--timeout": "timeout", "--seed": "seed", "--threads": "threads", "--capacity": "capacity",
          "--arena": "arena", "--alignment": "alignment", "--max-file": "max-file", "-D": "defines",
          "--define": "defines"}
FLAGS = {"--json": "json", "--text": "drawn", "--no-views": "no_views"}


def _take(found, name, value):
    """Keeps the value of an option; those of -D are a dict."""
    if name != "defines":
        found[name] = value
        return
    extent, _, number = value.partition("=")
    if not extent or not (number.isascii() and number.isdigit()) or len(number) > 10:
        raise _Usage(f"option '-D' takes NAME=N, not '{value}'")
    found.setdefault("defines", {})[extent] = int(number)


def _words(arguments):
    """The options and the one file of a command line that C has read once already."""
    found, files, rest = {}, [], list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            files, rest = files + rest, []
        elif word in FLAGS:
            found[FLAGS[word]] = True
        elif name in VALUES and (equals or rest):
            _take(found, VALUES[name], value if equals else rest.pop(0))
        elif word.startswith("-D"):
            _take(found, "defines", word[2:])
        elif word.startswith("-") and word != "-":
            raise _Usage(f"option '{name}' is not for models; see 'spad plan --help'")
        else:
            files.append(word)
    if len(files) != 1:
        raise _Usage("one model is needed; see 'spad plan --help'")
    return found, files[0]


def _bytes(text):
    """4096, 0x1000 and 4KiB."""
    value = one_value(text)
    if not isinstance(value, int):
        raise ValueError
    return value


def _number(words, name, default, least, kind=int):
    if name not in words:
        return default
    try:
        value = kind(words[name])
    except ValueError:
        value = None
    if value is None or not least <= value <= 1 << 62:
        what = "bytes such as 4096, 0x1000 or 4KiB" if kind is _bytes else f"a number from {least} on"
        raise _Usage(f"option '--{name}' takes {what}, not '{words[name]}'")
    return value


def _arena(model, words):
    """The arena to draw and to write."""
    if "arena" not in words:
        return model.largest()
    for arena in model.arenas:
        if arena.name == words["arena"]:
            return arena
    names = ", ".join(f"'{arena.name}'" for arena in model.arenas[:12])
    raise _Usage(f"there is no arena '{words['arena']}'; there are {names}")


def _write(path, content):
    if path == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    try:
        replace_file(path, content)
    except OSError as error:
        raise _Unwritten(f"cannot write '{path}': {error.strerror}") from None
    print(f"wrote {path}", file=sys.stderr)


def _output(model, words, path):
    output = words["output"]
    if output != "-" and os.path.exists(output) and os.path.samefile(output, path):
        raise _Usage(f"'{output}' is the input")
    if model.kind == "TFLite" and not output.endswith(".csv"):
        _write(output, model.file.write(model.file.plan(model.arenas[0])))
        return
    arena = _arena(model, words)
    if len(model.arenas) > 1 and "arena" not in words:
        raise _Usage(f"there are {len(model.arenas)} arenas; say which one to write with '--arena'")
    _write(output, arena.csv().encode())


def _draw(model, words):
    report = None
    for name, form in (("html", "html"), ("svg", "svg"), ("data", "json")):
        if name in words:
            report = report or _arena(model, words).report(os.path.basename(model.name))
            text = report.write(form)
            _write(words[name], text if isinstance(text, bytes) else text.encode())
    if words.get("drawn"):
        sys.stdout.write((report or _arena(model, words).report(os.path.basename(model.name))).text())


def _command(arguments):
    words, path = _words(arguments)
    model = load(path, words.get("defines"), not words.get("no_views"), _number(words, "alignment", None, 1, _bytes),
                 _number(words, "max-file", None, 1, _bytes))
    capacity = _number(words, "capacity", None, 0, _bytes)
    for arena in model.arenas if capacity is not None else ():
        arena.capacity = capacity
    model.solve(_number(words, "timeout", 30, 0, float) or None, _number(words, "seed", 1, 0),
                min(64, _number(words, "threads", 1, 1)))
    if "output" in words and model.fits:
        _output(model, words, path)
    elif "output" in words:
        print(f"spad: '{words['output']}' is not written: there is no plan within the capacity",
              file=sys.stderr)
    _draw(model, words)
    if not words.get("drawn"):
        shown = sys.stderr if "-" in (words.get(n) for n in ("output", "html", "svg", "data")) else sys.stdout
        shown.write(model.json() if words.get("json") else model.text())
    return 0 if model.fits else 1


def main(arguments: Sequence[str]) -> int:
    """`spad plan MODEL ...`; returns the exit status of the command."""
    try:
        return _command(arguments)
    except (_Usage, _Unwritten, _spad.Error) as error:
        print(f"spad: {error}", file=sys.stderr)
        return 3 if isinstance(error, (_Unwritten, _spad.InternalError, _spad.MachineError)) else 2
    except OSError as error:
        name = f"'{error.filename}'" if error.filename else "a file"
        print(f"spad: cannot read {name}: {error.strerror}", file=sys.stderr)
        return 2
