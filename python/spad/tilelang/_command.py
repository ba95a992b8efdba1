# SPDX-License-Identifier: Apache-2.0
"""python -m spad tilelang COMMAND FILE.py:KERNEL (or package.module:KERNEL): lowers a TileLang kernel and shows what spad says about it."""

import argparse
import json
import sys

from .. import tilelang
from .._program.command import checked, items, joined, numbers, run, saved_at, shown, sizes, values
from .._program.config import add_options, nearest
from .._program.load import file_of, function_at
from .._files import replace_file


def ways(text):
    """(name, [value, ...]) of NAME=VALUE,VALUE or NAME=FIRST..LAST."""
    name, equals, given = text.partition("=")
    if not equals or not name.strip().isidentifier() or not items(given):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE,VALUE or NAME=FIRST..LAST")
    return name.strip(), numbers(given) or [values(f"{name}={item}")[name.strip()] for item in items(given)]


def _parser():
    parser = argparse.ArgumentParser(prog="spad tilelang", description="Lowers a TileLang kernel, without a GPU.")
    parser.add_argument("command", choices=("check", "plan", "sim", "report", "text", "tree", "compare"))
    parser.add_argument("kernel", help="FILE.py:KERNEL, package.module:KERNEL, or a FILE.json that `tree` wrote")
    parser.add_argument("--arg", dest="arguments", type=values, action="append", default=[], metavar="NAME=VALUE",
                        help="an argument of the function")
    parser.add_argument("--vary", type=ways, metavar="NAME=V,V", help="an argument with several values: a kernel of each")
    parser.add_argument("--target", help="H100, B200, sm_80 ... (default: that of the kernel, or sm_90)")
    parser.add_argument("--name", help="which device function, where there are several")
    parser.add_argument("-D", dest="sizes", type=sizes, action="append", default=[], metavar="NAME=N", help="a dynamic size")
    add_options(parser)
    parser.add_argument("-o", "--output", help="the file of a report or of a tree; with --vary, one for each value")
    return parser


def _loaded(options):
    """[(label, kernel), ...], one for each way."""
    config = nearest(file_of(options.kernel) or options.kernel)
    arguments, given_sizes = joined(options.arguments), {**config.get("sizes", {}), **joined(options.sizes)}
    if options.kernel.endswith(".json"):
        if arguments or options.vary:
            raise ValueError("a tree has no arguments: they were chosen when it was lowered")
        if options.target is not None:
            raise ValueError("a tree has the target that it was lowered for")
        return [(None, tilelang.load(options.kernel, name=options.name, sizes=given_sizes))]
    function = function_at(options.kernel)
    name, given = options.vary or (None, [None])
    made = []
    for value in given:
        chosen = {**arguments, name: value} if name else arguments
        made.append((value, tilelang.load(function, target=options.target or config.get("target"), name=options.name, arguments=chosen or None, sizes=given_sizes)))
    return made


def _show(command, kernel):
    """(text, exit status)."""
    if command == "plan":
        page = kernel.report()
        return page.text(), 0 if page.layout.fits else 1
    if command == "tree":
        return json.dumps(kernel.tree) + "\n", 0
    return shown(command, kernel)


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


def _answered(options, made):
    """Prints what is asked for; the status of the process."""
    status = 0
    for _, kernel in made:
        _tell(kernel)
    if options.command == "check":
        return checked(options, [(f"{options.vary[0]} = {label}" if options.vary else "", kernel) for label, kernel in made])
    for label, kernel in made:
        if options.output is not None:
            print(_written(options, kernel, label, len(made) > 1))
        elif options.command != "compare":
            text, failed = _show(options.command, kernel)
            print(text, end="")
            status = max(status, failed)
    if options.command == "compare" or options.command == "report" and len(made) > 1:
        names = {kernel: f"{options.vary[0]} = {label}" for label, kernel in made} if options.vary else {}
        print(tilelang.compare(*[kernel for _, kernel in made], names=names), end="")
    return status


def main(arguments):
    """The status of the process: 0, 1 for a kernel that is wrong or does not fit, 2 for wrong usage."""
    return run("spad tilelang", _parser().parse_args(arguments), ("report", "tree"), _loaded, _answered)
