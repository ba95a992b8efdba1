# SPDX-License-Identifier: Apache-2.0
"""Words of the commands about kernels that are Python programs: `spad triton`, `spad tilelang`, and `spad sweep`."""

import argparse
import ast
import importlib.util
import sys
from pathlib import Path

from . import _spad


def items(text):
    """The parts between the commas that are outside of brackets."""
    depth, part, parts = 0, "", []
    for letter in text:
        depth += (letter in "[(<{") - (letter in "])>}")
        if letter == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    return [part.strip() for part in [*parts, part] if part.strip()]


def pairs(text):
    """{name: value} of NAME=VALUE,NAME=VALUE."""
    found = {}
    for item in items(text):
        name, equals, value = item.partition("=")
        if not equals or not name.strip().isidentifier():
            raise argparse.ArgumentTypeError(f"'{item}' is not NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def values(text):
    """As pairs, with Python literals."""
    try:
        return {name: ast.literal_eval(value) for name, value in pairs(text).items()}
    except (ValueError, SyntaxError):
        name, _, value = text.partition("=")
        raise argparse.ArgumentTypeError(f"'{text}': a value is a number, True, False, None or a 'word' in quotes, around which the shell "
                                         f"needs quotes of its own: \"{name}='{value}'\"") from None


def function_at(place):
    """The function of FILE.py:NAME."""
    path, colon, name = place.rpartition(":")
    if not colon:
        raise ValueError(f"'{place}' is not FILE.py:KERNEL")
    if not Path(path).is_file():
        raise ValueError(f"no file '{path}'")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(path).resolve().parent))
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("__")]
        raise ValueError(f"'{path}' has no '{name}'{_spad.close_names(name, known)}")
    return getattr(module, name)


def saved_at(output, label, several):
    """The path of one of several reports: a_3.html of a.html."""
    path = Path(output)
    return path.with_name(f"{path.stem}_{label}{path.suffix}") if several else path


def beside(rows, compiler):
    """A table of (name, verdict, bytes of the compiler or None, ours, time or None)."""
    lines = [("kernel", "verdict", f"{compiler} B", "spad B", "time")]
    lines += [(name, verdict, "-" if theirs is None else str(theirs), "-" if ours is None else str(ours), time or "-")
              for name, verdict, theirs, ours, time in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(5)]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() + "\n" for line in lines)
