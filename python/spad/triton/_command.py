# SPDX-License-Identifier: Apache-2.0
"""python -m spad triton COMMAND FILE.py:KERNEL (or package.module:KERNEL): compiles a Triton kernel and shows what spad says about it."""

import argparse
import importlib
import sys

from .. import triton as st
from .._files import replace_file
from .._program.command import checked, joined, numbers, pairs, run, said, saved_at, shown, sizes, values
from .._program.config import add_options, nearest
from .._program.load import file_of, function_at


def stages(text):
    """3, or 1..5."""
    found = [int(text)] if text.isdecimal() else numbers(text)
    if found is None or found[0] < 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of stages: 3, or 1..5")
    return found


def constants(text):
    """As values; tl.float16 is what triton.language has."""
    found = pairs(text)
    types = {name: value[3:] for name, value in found.items() if value.startswith("tl.")}
    plain = ",".join(f"{name}={value}" for name, value in found.items() if name not in types)
    language = importlib.import_module("triton.language") if types else None
    for name, word in types.items():
        if not hasattr(language, word):
            raise argparse.ArgumentTypeError(f"'{name}=tl.{word}': triton.language has no '{word}'")
    return {**values(plain), **{name: getattr(language, word) for name, word in types.items()}}


def _parser():
    parser = argparse.ArgumentParser(prog="spad triton", description="Compiles a Triton kernel, without a GPU.")
    parser.add_argument("command", choices=("check", "plan", "sim", "report", "text", "ttgir", "compare"))
    parser.add_argument("kernel", help="FILE.py:KERNEL or package.module:KERNEL")
    parser.add_argument("--signature", type=pairs, default={}, metavar="NAME=TYPE,...",
                        help="a_ptr=*fp16:16,K=i32:16 (':16': a multiple of 16)")
    parser.add_argument("--constexprs", type=constants, default={}, metavar="NAME=VALUE,...",
                        help="numbers, True, None, 'words', tl.float16")
    parser.add_argument("--config", type=int, help="which configuration of @triton.autotune, from 0 on")
    parser.add_argument("--target", help="H100, B200, sm_80 ... (default: that of .spad.toml, or H100)")
    parser.add_argument("--stages", type=stages, default=[None], metavar="N or N..M",
                        help="(default: those of Triton, or of the configuration)")
    parser.add_argument("--warps", type=int, help="(default: those of Triton, or of the configuration)")
    parser.add_argument("-D", dest="sizes", type=sizes, action="append", default=[], metavar="NAME=N",
                        help="a size, for what cannot stay symbolic")
    add_options(parser)
    parser.add_argument("-o", "--output", help="the file of report, text or ttgir; with several stages, one for each: a_1.html ...")
    return parser


def _show(command, kernel):
    """(text, exit status)."""
    if command == "plan":
        layout = kernel.layout()
        return layout.text(), 0 if layout.fits else 1
    if command == "ttgir":
        return kernel.ttgir, 0
    return shown(command, kernel)


def _tell(kernel):
    """What is printed in addition to the answer, on stderr."""
    info = kernel.info
    for text in (kernel.unplaced and f"without Triton's addresses: {kernel.unplaced}",
                 info["unrolled"] and f"run with its sizes, without loops: no expression for {info['reason']}",
                 info["scratch"] and f"scratch memory of operations has no size in the text: {info['scratch']}",
                 info["approximated"] and f"data decides; it is assumed that {info['approximated']}",
                 info["skipped"] and f"with these sizes and this program_id, {info['skipped']}",
                 info["blocks"] > 1 and (f"what all {info['blocks']} blocks of a cluster do together" if info["together"]
                                         else f"what each of {info['blocks']} blocks of a cluster does")):
        if text:
            print(f"spad triton: {text}", file=sys.stderr)


def _save(options, kernel, stage, several):
    path = saved_at(options.output, stage, several)
    if options.command == "report":
        kernel.report().save(str(path))
    else:
        replace_file(path, _show(options.command, kernel)[0].encode())
    return path


def _loaded(options):
    """[(stage, kernel), ...], one for each number of stages."""
    if options.kernel.endswith(".ttgir"):
        raise ValueError(f"'{options.kernel}' is TTGIR, which `spad check {options.kernel}` takes, as do plan, sim and tune")
    function = function_at(options.kernel)
    config = nearest(file_of(options.kernel) or options.kernel)
    target = options.target or config.get("target", "H100")
    given = {**config.get("sizes", {}), **joined(options.sizes)}
    return [(stage, st.load(function, options.signature, options.constexprs, target=target, num_stages=stage,
                            num_warps=options.warps, sizes=given, config=options.config))
            for stage in options.stages]


def _told(error, path):
    """As said; of Triton's compiler with the line of the kernel, of the function that the error is in."""
    inner, found, begin = error, None, "".join(f"{note}: " for note in getattr(error, "__notes__", []))
    while inner is not None:
        found = inner if getattr(inner, "node", None) is not None and getattr(inner, "src", None) else found
        inner = inner.__cause__
    if found is None:
        return begin + said(error, path)
    line = found.src.splitlines()[found.node.lineno - 1].strip()
    return f"{begin}{found.error_message or type(found).__name__}: {line}"


def _answered(options, made):
    """Prints what is asked for; the status of the process."""
    status, several = 0, len(made) > 1
    if options.command == "check":
        for _, kernel in made:
            _tell(kernel)
        return checked(options, [(f"{stage} stages", kernel) for stage, kernel in made])
    for stage, kernel in made:
        _tell(kernel)
        if options.output is not None:
            print(_save(options, kernel, stage, several))
        elif options.command != "compare":
            text, failed = _show(options.command, kernel)
            if several:
                print(f"with {stage} stages:")
            print(text, end="" if text.endswith("\n") else "\n")
            status = max(status, failed)
    if options.command == "compare" or options.command == "report" and several:
        print(st.compare(*[kernel for _, kernel in made]), end="")
    return status


def main(arguments):
    """The status of the process: 0, 1 for a kernel that is wrong or does not fit, 2 for wrong usage."""
    return run("spad triton", _parser().parse_args(arguments), ("report", "text", "ttgir"), _loaded, _answered, _told)
