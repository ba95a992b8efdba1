# SPDX-License-Identifier: Apache-2.0
"""python -m spad nki COMMAND FILE.py:KERNEL: traces a kernel and shows what spad says about it."""

import argparse
import ast
import re
import sys

from .. import _spad
from .. import core
from .._files import replace_file
from .._program.command import runs_right
from .._program.config import add_options, nearest, policy, write_files
from .._program.load import file_of
from .._sweep.inputs import split_list
from . import trace as nt
from ._programs import SpmdDim
from ._stand_in import Jit
from .trace import _unwrapped

ROWS_MOST = 60  # of a table of places
_TENSOR = re.compile(r"([A-Za-z]\w*)\[([^\[\]()]*)\]\Z")
_TENSORS = re.compile(r"[(\[].*[A-Za-z]\w*\[.*\].*[)\]]\Z", re.DOTALL)


def _tensor(text):
    """bf16[1,2048,128] as a tensor; None: it is something else."""
    found = _TENSOR.match(text.strip())
    if found is None:
        return None
    try:
        return nt.hbm([int(count) for count in found[2].split(",") if count.strip()], found[1])
    except (ValueError, _spad.Error) as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no tensor: {error}") from None


def _value(text):
    """What follows NAME= in an argument."""
    text = text.strip()
    if re.match(r"[A-Za-z]\w*\[", text) and text.count("[") != text.count("]"):
        raise argparse.ArgumentTypeError(f"'{text}' is no tensor: a bracket is missing")
    made = _tensor(text)
    if made is not None:
        return made
    if _TENSORS.match(text):
        parts = [_value(part) for part in split_list(text[1:-1]) if part]
        return tuple(parts) if text[0] == "(" else parts
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def argument(text):
    """(name, value) of --arg: name=bf16[1,2048,128], name=3, name=True, name=(1, 2), name=text, and lists and tuples
    of tensors: name=(bf16[128,64], bf16[128,64])."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"'{text}' is no argument: NAME=DTYPE[SHAPE] or NAME=VALUE")
    return name, _value(value)


def _grid(text):
    """4,2 as a launch grid; 4xnc2 is a dimension whose programs alternate between two cores."""
    grid = []
    for part in text.split(","):
        found = re.fullmatch(r"([1-9]\d{0,8})(xnc2)?", part.strip(), re.ASCII)
        if found is None:
            raise argparse.ArgumentTypeError(f"'{text}' is no grid: whole numbers from 1 on, as in 4,2 or 4xnc2")
        grid.append(SpmdDim(int(found[1]), 2) if found[2] else int(found[1]))
    return tuple(grid)


def _parser():
    parser = argparse.ArgumentParser(
        prog="spad nki", description="Traces an unmodified NKI kernel: no compiler and no device is needed.")
    parser.add_argument("command", choices=("check", "plan", "sim", "tune", "report", "emit", "text"),
                        help="what to show; text is the kernel itself")
    parser.add_argument("kernel", help="FILE.py:KERNEL or package.module:KERNEL")
    parser.add_argument("--arg", action="append", type=argument, default=[], metavar="NAME=VALUE",
                        help="an argument: a tensor as bf16[1,2048,128], a tuple or list of such, or a Python "
                             "literal; without any, spad_example() of the file is used")
    parser.add_argument("--target", help="the chip (default: that of .spad.toml, or trn2)")
    parser.add_argument("--lnc", type=int, default=1, help="cores: 1 or 2")
    parser.add_argument("--grid", type=_grid, metavar="N[,N...]",
                        help="the launch grid, as in kernel[4, 2](...); 4xnc2 is nl.spmd_dim(4, nl.nc(2))")
    parser.add_argument("--for", dest="goal", choices=("time", "bytes"),
                        help="plan: places by simulated overlap, for the least time or for the fewest bytes")
    parser.add_argument("--release", action="store_true",
                        help="plan --for: also places tensors that have an address")
    add_options(parser)
    parser.add_argument("-o", "--output", help="the file to write instead of the standard output")
    parser.add_argument("--quiet", action="store_true", help="without the notes of the trace")
    return parser


def _config(options):
    return nearest(file_of(options.kernel) or options.kernel)


def _traced(options):
    kernel = nt._load(options.kernel)
    args, kwargs = (), dict(options.arg)
    if not options.arg:
        given = nt.example(kernel)
        args, kwargs = given if given is not None else ((), {})
    if options.grid is not None:
        kernel = Jit(*_unwrapped(kernel))[options.grid]
    return nt.trace(kernel, *args, target=options.target or _config(options).get("target", "trn2"), lnc=options.lnc, **kwargs)


def _planned(options, kernel):
    """The layout that is asked for, and the figures of its time, as text."""
    if options.goal is None:
        return kernel.plan(), ""
    frontier = kernel.frontier(release=options.release)
    layout = frontier.layout(options.goal)
    if layout is None:
        raise nt.TraceError("no layout fits")
    return layout, "" if options.json else "\n" + frontier.text()


def _shown(options, kernel):
    """(text, exit status)."""
    command = options.command
    if command == "emit":
        return core.emit(kernel.plan(), "nki"), 0
    if command == "text":
        return kernel.source, 0
    more, fine = "", True
    if command == "check":
        made = kernel.check(**policy(options, _config(options)))
        write_files(options, [made])
        fine = bool(made) or bool(options.write_baseline)
    elif command == "plan":
        made, more = _planned(options, kernel)
        fine = made.fits
        table = made.table() if not options.json and fine else ""
        if table.count("\n") <= ROWS_MOST:
            more = f"\n{table}{more}" if table else more
    else:
        made = getattr(kernel, command)()
        fine = command != "sim" or runs_right(kernel, made)
    text = made.json() if options.json else kernel.explain(made) if command == "check" else made.text() + more
    return text, 0 if fine else 1


def _write(path, write, content):
    """write(path, content), with a message that names the file."""
    try:
        write(path, content)
    except OSError as error:
        raise nt.TraceError(f"'{path}' cannot be written: {error.strerror or error}") from None
    print(f"wrote {path}", file=sys.stderr)


def _wrong_words(options):
    """What is wrong with the options, or None."""
    if options.command == "report" and not options.output:
        return "a report needs a file: -o FILE.html"
    if options.goal is not None and options.command != "plan":
        return "--for is an option of plan"
    if options.release and options.goal is None:
        return "--release is for plan --for time or bytes"
    if options.json and options.command not in ("check", "plan", "sim", "tune"):
        return f"{options.command} has no form as JSON"
    return None


def main(arguments):
    """Runs the command; the status of the process: 0, 1 for a kernel that is wrong or does not fit, 2 for
    wrong usage and for one that cannot be traced."""
    options = _parser().parse_args(arguments)
    wrong = _wrong_words(options)
    if wrong is not None:
        print(f"spad nki: {wrong}", file=sys.stderr)
        return 2
    try:
        kernel = _traced(options)
        if not options.quiet:
            for place, text in kernel.notes:
                print(f"note: {place[0]}:{place[1]}: {text}" if place else f"note: {text}", file=sys.stderr)
        if options.command != "check":  # which shows them itself
            for place, code, text in kernel.faults:
                where = f"{place[0]}:{place[1]}: " if place else ""
                print(f"{where}error: {text} [{code}]", file=sys.stderr)
        if options.command == "report":
            _write(options.output, lambda path, report: report.save(path), kernel.report())
            return 0
        text, status = _shown(options, kernel)
        if options.output:
            _write(options.output, replace_file, text.encode())
    except (_spad.Error, OSError) as error:
        print(f"spad nki: {error}", file=sys.stderr)
        for note in getattr(error, "__notes__", ()):
            print(f"  {note}", file=sys.stderr)
        return 1 if isinstance(error, _spad.FitError) else 2
    if not options.output:
        print(text, end="" if text.endswith("\n") else "\n")
    return status
