# SPDX-License-Identifier: Apache-2.0
"""What a sweep goes over: the files, the values of parameters, the chips, and the jobs that they become.

A job is a dict that JSON can hold. It has all that a worker needs to know, the text of a file included, so
that a worker on another machine needs no files; only programs in Python are read where the sweep was
started (work.read), and the worker gets the kernel that they became.
"""

import glob
import itertools
import os
import re

from .. import _spad
from .. import core
from .._program.load import file_of

SIZES = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
MOST = 1_000_000  # combinations
PROGRAMS = ("nki", "triton", "lowered")  # kinds of FILE.py:KERNEL; the last is what TileLang lowers
SOURCES = (".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp")
SCALARS = (int, str, float, bool, type(None))


def wrong(message):
    """The exception for an argument that a sweep cannot take."""
    return _spad.ArgumentError(message)


# ---- values of parameters -------------------------------------------------------------------------

_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:([+*])(\d+))?\Z")
_SIZE = re.compile(r"(-?(?:0[xX][0-9a-fA-F]+|\d+)) ?(B|KiB|MiB|GiB)?\Z")


def split_list(text, opening="[({", closing="])}"):
    """The parts between the commas that are outside of brackets."""
    depth, parts = 0, [""]
    for letter in text:
        depth += (letter in opening) - (letter in closing)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def one_value(text):
    """64, 0x40 and 4KiB are numbers; everything else is a text, which programs take for a Python literal."""
    found = _SIZE.match(text)
    return int(found[1], 0) * SIZES[found[2] or ""] if found and _is_number(found[1]) else text


def _is_number(digits):
    try:
        int(digits, 0)
    except ValueError:  # 007
        return False
    return True


def range_values(text):
    """1..6, 1..9+2 and 32..256*2 with both ends; None: the text is no range."""
    found = _RANGE.match(text)
    if found is None:
        return None
    first, last, sign, step = int(found[1]), int(found[2]), found[3] or "+", int(found[4] or 1)
    if last < first:
        raise wrong(f"'{text}' has no values: {last} is less than {first}")
    if step < (2 if sign == "*" else 1) or (sign == "*" and first < 1):
        raise wrong(f"'{text}' has no end: steps are +1 or more, or *2 or more from 1 or more")
    if sign == "+":
        if (last - first) // step >= MOST:
            raise wrong(f"'{text}' has more than {MOST} values")
        return list(range(first, last + 1, step))
    values = [first]
    while values[-1] * step <= last:
        values.append(values[-1] * step)
    return values


def values_of(text):
    """The values of "1..6", "64,128", "1..4,8", "32..256*2", "bf16[128,512],bf16[128,1024]"."""
    values = []
    for part in split_list(text):
        if not part:
            raise wrong(f"'{text}' has an empty value")
        if re.match(r"-?\d+\.\.", part) and not _RANGE.match(part):
            raise wrong(f"'{part}' is not a range such as 1..6, 0..12+4 or 32..256*2")
        values.extend(range_values(part) or [one_value(part)])
    return list(dict.fromkeys(values))


def pair(text, option):
    """(name, what follows the =) of NAME=..."""
    name, equals, rest = text.partition("=")
    if not equals or not name.strip().isidentifier() or not rest.strip():
        raise wrong(f"option '{option}' needs a name and values, such as S=1..6 or BM=64,128, not '{text}'")
    return name.strip(), rest.strip()


def check_values(vary):
    """{name: [value, ...]} of what Python was given: a text as on the command line, a value or some."""
    made = {}
    for name, values in dict(vary or {}).items():
        if isinstance(values, str):
            values = values_of(values)
        elif isinstance(values, SCALARS):
            values = [values]
        made[str(name)] = list(dict.fromkeys(value.__index__() if hasattr(value, "__index__")
                                             and not isinstance(value, bool) else value for value in values))
        if not made[str(name)]:
            raise wrong(f"'{name}' has no values")
        for value in made[str(name)]:
            if not isinstance(value, SCALARS):
                raise TypeError(f"a value of '{name}' is a number or a text, not {value!r}")
    return made


# ---- files ----------------------------------------------------------------------------------------


def _kind(path, function):
    if function:
        return "program"
    return {".ttgir": "ttgir", ".csv": "csv", ".tsv": "csv", ".json": "tilelang"}.get(os.path.splitext(path)[1], "kernel")


def _places(word):
    """(path, function) of the files that a word names; function is "" but for FILE.py:KERNEL and package.module:KERNEL."""
    path, colon, function = word.rpartition(":")
    if not colon:
        path, function = word, ""
    elif not path.endswith(".py"):
        file = file_of(word)
        path, function = (word, "") if file is None or file == path else (os.path.relpath(file), function)
    found = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
    found = [name for name in found if not os.path.isdir(name)]
    if not found:
        raise wrong(f"no file matches '{path}'")
    return [(name, function) for name in found]


def _read(path, mebibytes):
    try:
        return core._read(path, mebibytes)[0]
    except _spad.TextError:
        raise wrong(f"'{path}' is no text; a sweep takes kernels, TTGIR, CSV files, trees of TileLang and "
                    f"FILE.py:KERNEL") from None
    except OSError as error:
        raise wrong(f"cannot open '{path}': {error.strerror}") from None


def open_inputs(words):
    """The inputs that words name, each once: dicts with kind, file, function and text. The text of a program
    is there for the name of its results only."""
    if isinstance(words, (str, os.PathLike)):
        words = [words]
    places = dict.fromkeys(place for word in words for place in _places(os.fspath(word)))
    if not places:
        raise wrong("no files are given")
    inputs = []
    for path, function in places:
        kind = _kind(path, function)
        if kind == "kernel" and path.endswith(".py"):
            raise wrong(f"'{path}' is a program: {path}:KERNEL names a kernel in it")
        if kind == "kernel" and os.path.splitext(path)[1] in SOURCES:
            raise wrong(f"'{path}' is CUDA, C or C++ source, which spad does not read: write down what the kernel "
                        f"does to memory as a .spad file (docs/kernel.md)")
        text = _read(path, core._ROWS_MIB if kind == "csv" else core._TEXT_MIB)
        if kind == "program":
            package = re.search(r"^\s*(?:import|from)\s+(triton|tilelang)\b", text, re.M)
            kind = {"triton": "triton", "tilelang": "lowered"}[package[1]] if package else "nki"
        inputs.append({"kind": kind, "file": path, "function": function, "text": text})
    return inputs


# ---- chips ----------------------------------------------------------------------------------------


def open_target(word):
    """A chip as a part of a job: {"name"} of a built-in one, or {"text", "file"}."""
    if isinstance(word, _spad.Target):
        return {"text": word.text(), "file": f"<{word.name}>"}
    word = os.fspath(word)
    if os.sep not in word and not word.endswith(".chip"):
        try:
            return {"name": _spad.Target(word).name}
        except _spad.Error:
            if not os.path.isfile(word):
                raise
    text = _read(word, core._TEXT_MIB)
    _spad.Target.parse(text, word)
    return {"text": text, "file": word}


def target_of(part):
    """The chip of a part of a job; None stays None."""
    if part is None:
        return None
    return _spad.Target(part["name"]) if "name" in part else _spad.Target.parse(part["text"], part["file"])


# ---- combinations ---------------------------------------------------------------------------------


def check_names(inputs, names_of, vary):
    """Raises for a parameter that none of the inputs has. names_of: the names of each input, in order; None:
    they are not known, because it cannot be read or takes any."""
    for name in vary:
        if all(names is not None and name not in names for names in names_of):
            known = sorted({known for names in names_of for known in names})
            files = f"'{inputs[0]['file']}'" if len(inputs) == 1 else f"none of the {len(inputs)} inputs"
            has = f"{files} has {'no' if len(inputs) == 1 else 'a'} parameter '{name}'"
            raise wrong(has + (_spad.close_names(name, known) or f"; there are: {', '.join(known) or 'none'}"))


def _own(values, names):
    return {name: given for name, given in values.items() if names is None or name in names}


def _check_whole(file, values):
    for name, given in values.items():
        for value in given:
            number = one_value(value) if isinstance(value, str) else value
            if not isinstance(number, int) or isinstance(number, bool):
                raise wrong(f"'{name}' of '{file}' takes whole numbers such as 64 or 4KiB, not {value!r}")


def make_jobs(inputs, names_of, vary, targets, options):
    """All combinations as jobs, in the order of inputs, chips and values, the last parameter fastest. An input
    is not varied by names that it does not have."""
    jobs = []
    for item, names in zip(inputs, names_of):
        own = _own(vary, names)
        if item["kind"] == "kernel":
            own = {name: [one_value(value) if isinstance(value, str) else value for value in given]
                   for name, given in own.items()}
        if item["kind"] not in PROGRAMS:
            _check_whole(item["file"], own)
        args = _own(options.get("args") or {}, names) if item["kind"] in PROGRAMS else {}
        rings = (options.get("rings") or {}) if item["kind"] == "kernel" else {}
        axes = [*own.values(), *rings.values()]
        total = len(targets)
        for axis in axes:
            total *= len(axis)
        if len(jobs) + total > MOST:
            raise wrong(f"more than {MOST} combinations")
        for target in targets:
            for values in itertools.product(*axes):
                jobs.append({**item, "args": args, "target": target, "values": dict(zip(own, values)),
                             "rings": dict(zip(rings, values[len(own):])), "timeout": options.get("timeout"),
                             "space": options.get("space"), "signature": options.get("signature") or ""})
    return jobs
