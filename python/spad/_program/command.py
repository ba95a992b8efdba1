# SPDX-License-Identifier: Apache-2.0
"""What the commands about kernels that are Python programs share, `spad triton` and `spad tilelang`: how words are read, how
errors are reported, and how a kernel is shown."""

import argparse
import ast
import json
import os
import sys
import traceback
from pathlib import Path

from .. import _spad
from .._sweep.inputs import range_values, split_list
from .config import nearest, policy, write_files
from .load import file_of


def items(text):
    """The parts between the commas that are outside of brackets, also those of tensordesc<...>, without empty ones."""
    return [part for part in split_list(text, "[({<", "])}>") if part]


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


def sizes(text):
    """As pairs, with whole numbers."""
    found = {}
    for name, word in pairs(text).items():
        try:
            found[name] = ast.literal_eval(word)
        except (ValueError, SyntaxError):
            found[name] = None
        if not isinstance(found[name], int) or not -1 << 63 <= found[name] < 1 << 63:
            raise argparse.ArgumentTypeError(f"the size '{name}' is {word}, and no whole number of 64 bits")
    return found


def joined(given):
    """One dict of those that an option was given several times."""
    return {name: value for some in given for name, value in some.items()}


def numbers(text):
    """[1, 2, 3] of 1..3, as `spad sweep` reads it; None: it is no range."""
    try:
        return range_values(text.replace(" ", ""))
    except _spad.ArgumentError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def said(error, path):
    """What went wrong, in a line; for an error of the program at `path` also where in its file."""
    kind, text = type(error).__name__, str(error).strip()
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {kind}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if path and os.path.abspath(frame.filename) == os.path.abspath(path)]
    if lines:
        return f"{path}:{lines[-1]}: {kind}" + (f": {text}" if text else "")
    if isinstance(error, OSError) and error.filename is not None:
        return f"'{os.fsdecode(error.filename)}': {error.strerror}"
    plain = (_spad.Error, ImportError, RuntimeError, TypeError, ValueError)
    return text if text and isinstance(error, plain) else f"{kind}: {text}".removesuffix(": ")


def _wrong_words(options, files):
    if options.command == "report" and not options.output:
        return "a report needs a file: -o FILE.html"
    if options.command not in files and options.output is not None:
        return f"{options.command} writes no file: -o is for {', '.join(files[:-1])} and {files[-1]}"
    if options.output is not None and Path(options.output).is_dir():
        return f"'{options.output}' is a directory: -o is a file"
    return None


def run(name, options, files, load, show, told=said):
    """Runs a command: load(options) compiles, and show(options, what it gave) prints and gives a status. files: commands that write one.
    The status of the process: 0, 1 for a kernel that is wrong or does not fit, 2 for wrong usage."""
    wrong = _wrong_words(options, files)
    if wrong is None:
        try:
            made = load(options)
        except (Exception, SystemExit) as error:  # of the program, of its compiler or ours
            wrong = told(error, file_of(options.kernel))
    if wrong is None:
        try:
            return show(options, made)
        except (OSError, _spad.Error) as error:
            wrong = said(error, None)
    print(f"{name}: {wrong}", file=sys.stderr)
    return 2


def checked(options, made):
    """Checks kernels, writes the files that are asked for, and prints; the status of the process."""
    rules = policy(options, nearest(file_of(options.kernel) or options.kernel))
    checks = [kernel.check(**rules) for _, kernel in made]
    write_files(options, checks)
    if options.json:
        print(json.dumps([json.loads(check.json()) for check in checks], indent=2))
    for (label, _), check in zip(made, checks if not options.json and options.sarif != "-" else []):
        if len(made) > 1:
            print(f"with {label}:")
        print(check.text(), end="")
    return 0 if all(checks) or options.write_baseline else 1


def shown(command, kernel):
    """(text, exit status) of what all kernels can be asked: check, text and sim."""
    if command == "check":
        check = kernel.check()
        return check.text(), 0 if check else 1
    if command == "text":
        return kernel.text(), 0
    sim = kernel.sim()
    return sim.text(), 0 if runs_right(kernel, sim) else 1


def runs_right(kernel, sim):
    """Does a simulated kernel run to its end without an error? The time of one that is wrong means little."""
    if sim.stuck is not None:
        return False
    check = kernel.check()
    if not check:
        print(f"{kernel.name} is wrong: {check.reason}; 'check' shows it", file=sys.stderr)
    return bool(check)


def saved_at(output, label, several):
    """The path of one of several reports: a_3.html of a.html."""
    path = Path(output)
    return path.with_name(f"{path.stem}_{label}{path.suffix}") if several else path


def timed(kernel):
    """(simulated time as a text or None, the work that it leaves out or None) of a kernel."""
    try:
        sim = kernel.sim()
    except _spad.Error:
        return None, None
    return sim.time_text(sim.makespan), sim.uncounted


def beside(rows, compiler):
    """A table of (name, verdict, bytes of the compiler or None, ours, what timed() gave), and below it the work that
    times leave out."""
    lines = [("kernel", "verdict", f"{compiler} B", "spad B", "time")]
    lines += [(name, verdict, "-" if theirs is None else str(theirs), "-" if ours is None else str(ours), time or "-")
              for name, verdict, theirs, ours, (time, _) in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(5)]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    for work in dict.fromkeys(left_out for *_, (_, left_out) in rows if left_out):
        names = [name for name, *_, (_, left_out) in rows if left_out == work]
        table.append(f"not counted in the time of {', '.join(names)}: {work}")
    return "".join(line + "\n" for line in table)
