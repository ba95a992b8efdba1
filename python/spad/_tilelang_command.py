# SPDX-License-Identifier: Apache-2.0
"""python -m spad tilelang COMMAND FILE.py:KERNEL: lowers a TileLang kernel and shows what spad says about it."""

import argparse
import json
import os
import sys
import traceback

from . import _spad
from . import tilelang
from ._program_command import function_at, items, saved_at, values
from ._files import replace_file


def ways(text):
    """(name, [value, ...]) of NAME=VALUE,VALUE or NAME=FIRST..LAST."""
    name, equals, given = text.partition("=")
    first, dots, last = given.partition("..")
    if equals and dots and first.strip().isdigit() and last.strip().isdigit() and int(first) <= int(last):
        return name.strip(), list(range(int(first), int(last) + 1))
    if not equals or not name.strip().isidentifier() or not items(given):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE,VALUE or NAME=FIRST..LAST")
    return name.strip(), [values(f"{name}={item}")[name.strip()] for item in items(given)]


def _parser():
    parser = argparse.ArgumentParser(prog="spad tilelang", description="Lowers a TileLang kernel, without a GPU.")
    parser.add_argument("command", choices=("check", "plan", "sim", "report", "text", "tree", "compare"))
    parser.add_argument("kernel", help="FILE.py:KERNEL, or a FILE.json that `tree` wrote")
    parser.add_argument("--arg", dest="arguments", type=values, action="append", default=[], metavar="NAME=VALUE",
                        help="an argument of the function")
    parser.add_argument("--vary", type=ways, metavar="NAME=V,V", help="an argument with several values: a kernel of each")
    parser.add_argument("--target", help="H100, B200, sm_80 ... (default: that of the kernel, or sm_90)")
    parser.add_argument("--name", help="which device function, where there are several")
    parser.add_argument("-D", dest="sizes", type=values, action="append", default=[], metavar="NAME=N", help="a dynamic size")
    parser.add_argument("-o", "--output", help="the file of a report or of a tree; with --vary, one for each value")
    return parser


def _loaded(options):
    """[(label, kernel), ...], one for each way."""
    together = lambda given: {name: value for some in given for name, value in some.items()}  # noqa: E731
    arguments, sizes = together(options.arguments), together(options.sizes)
    if options.kernel.endswith(".json"):
        if arguments or options.vary:
            raise ValueError("a tree has no arguments: they were chosen when it was lowered")
        return [(None, tilelang.load(options.kernel, name=options.name, sizes=sizes))]
    function = function_at(options.kernel)
    name, given = options.vary or (None, [None])
    made = []
    for value in given:
        chosen = {**arguments, name: value} if name else arguments
        made.append((value, tilelang.load(function, target=options.target, name=options.name, arguments=chosen or None, sizes=sizes)))
    return made


def _shown(command, kernel):
    """(text, exit status)."""
    if command == "check":
        check = kernel.check()
        return check.text(), 0 if check else 1
    if command == "plan":
        page = kernel.report()
        return page.text(), 0 if page.layout.fits else 1
    if command == "tree":
        return json.dumps(kernel.tree) + "\n", 0
    return kernel.text() if command == "text" else kernel.sim().text(), 0


def _said(error, path=None):
    """What went wrong in loading; for an error of a program also where in its file."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"'{os.fsdecode(error.filename)}': {error.strerror}"
    if isinstance(error, (_spad.Error, ValueError)) or str(error).startswith("spad.tilelang.load takes"):
        return str(error)
    lines = [entry.lineno for entry in traceback.extract_tb(error.__traceback__) if path and os.path.abspath(entry.filename) == os.path.abspath(path)]
    return (f"{path}:{lines[-1]}: " if lines else "") + f"{type(error).__name__}: {str(error).strip()}"


def _tell(kernel):
    """What is approximated, on stderr."""
    for row in kernel.approximations:
        if row["what"] != tilelang.LoadedKernel.IDLE:
            print(f"spad tilelang: {row['what']}: {row['why']}", file=sys.stderr)


def _written(options, kernel, label, several):
    path = saved_at(options.output, label, several)
    if options.command == "tree":
        replace_file(path, (json.dumps(kernel.tree) + "\n").encode())
    else:
        kernel.report().save(str(path))
    return path


def main(arguments):
    """The status of the process: 0, 1 for a kernel that is wrong or does not fit, 2 for wrong usage."""
    options = _parser().parse_args(arguments)
    if options.command == "report" and not options.output:
        print("spad tilelang: a report needs a file: -o FILE.html", file=sys.stderr)
        return 2
    try:
        made = _loaded(options)
    except Exception as error:  # of the program, of TileLang's compiler or ours
        print(f"spad tilelang: {_said(error, options.kernel.rpartition(':')[0])}", file=sys.stderr)
        return 2
    status = 0
    for label, kernel in made:
        _tell(kernel)
        if options.output and options.command in ("report", "tree"):
            try:
                print(_written(options, kernel, label, len(made) > 1))
            except OSError as error:
                print(f"spad tilelang: {_said(error)}", file=sys.stderr)
                return 2
        elif options.command != "compare":
            text, failed = _shown(options.command, kernel)
            print(text, end="")
            status = max(status, failed)
    if options.command == "compare" or options.command == "report" and len(made) > 1:
        names = {kernel: f"{options.vary[0]} = {label}" for label, kernel in made} if options.vary else {}
        print(tilelang.compare(*[kernel for _, kernel in made], names=names), end="")
    return status
