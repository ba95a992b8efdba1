# SPDX-License-Identifier: Apache-2.0
"""A study of mutants of CUDA kernels: each synchronising instruction is removed, weakened or moved, one at a time. The
check says what it thinks of the mutant, and a model of PTX that shares no code with it runs it under random schedules.

    PYTHONPATH=build/release/python python3 tests/python/ptx_mutants.py [--schedules 30] [--kernel NAME] [--list]

prints a row for each kernel, and every mutant that the two judge differently. Exit status 1: there are some where the
check proves what the model sees fail."""

import argparse
import os
import pathlib
import re
import sys
from dataclasses import dataclass

import spad
import spad.cuda as sc
from ptx_model import machine, text

FOLDER = pathlib.Path(os.environ.get("SPAD_ROOT") or pathlib.Path(__file__).resolve().parents[2]) / "tests" / "ptx"


@dataclass
class Case:
    file: str
    kernel: str
    block: int
    args: list  # as for spad.cuda.load
    cluster: int = 1
    smem: int = 0


CASES = [
    Case("mutants", "block_sum", 128, ["i32[7,128]", "i32[7,128]", 7]),
    Case("mutants", "double_buffer", 128, ["i32[5,128]", "i32[128]", 5]),
    Case("mutants", "bulk_ring", 96, ["i32[8,64]", "i32[64]", 8]),
    Case("mutants", "specialised", 128, ["i32[6,64]", "i32[64]", 6]),
    Case("mutants", "multicast_ring", 64, ["i32[6,64]", "i32[64]", 6], cluster=2),
    Case("mutants", "ping_pong", 64, ["i32[4,32]", "i32[64]", 4]),
    Case("mutants", "store_epilogue", 128, ["i32[4,256]", 4]),
    Case("mutants", "split_sum", 64, ["i32[6,64]", "i32[64]", 3], cluster=2),
    Case("mutants", "in_place", 64, ["i32[3,64]", "i32[3,64]", 3]),
    Case("reduce", "sums", 128, ["f32[3,128]", "f32[3]", 3]),
    Case("copies", "ring_sum", 160, ["f32[7,256]", "f32[128]", 7]),
    Case("arrivals", "reverse_rows", 128, ["f32[7,128]", "f32[7,128]", 7]),
    Case("peers", "swap_parts", 64, ["f32[64]"], cluster=2),
    Case("pipeline", "pipeline", 288, ["tensormap:f16[128,320],box[128,64],swizzle128",
                                       "tensormap:f16[16,320],box[8,64],swizzle128",
                                       "tensormap:f16[128,16],box[64,16]", 5], smem=70000),
]


def model_argument(argument):
    """An argument for the model: a number, the bytes of a buffer, or those of a box."""
    if isinstance(argument, int):
        return argument
    kind, extents = re.search(r"([a-z]+\d+)\[([\d,]+)\]", argument).groups()
    if "box" in argument:
        extents = re.search(r"box\[([\d,]+)\]", argument)[1]
    size = int(re.sub(r"\D", "", kind)) // 8
    for extent in extents.split(","):
        size *= int(extent)
    return ("map" if argument.startswith("tensormap") else "buffer", size)


# ---- mutants ------------------------------------------------------------------------------

SYNCHRONISES = re.compile(r"(bar|barrier|mbarrier|fence|membar)\.|cp\.async\.(bulk\.)?(wait|commit|mbarrier)|"
                          r"wgmma\.(fence|commit|wait)|(red|atom)\.(acquire|release|acq_rel)")
TOUCHES = re.compile(SYNCHRONISES.pattern + r"|(ld|st)\.(shared|[bu]32)|ldmatrix|stmatrix|cp\.|wgmma|(red|atom)\.")


def plus(instruction, argument, what):
    """The text of an instruction with one operand changed by an instruction before it."""
    changed = re.sub(r"(.*)" + re.escape(argument), lambda match: match[1] + "%changed", instruction)
    return "{ .reg .b32 %changed; " + what.format("%changed", argument) + "; " + changed + " }"


def weaker(line):
    """(what was done, the line) of the ways to weaken an instruction."""
    def last():
        return re.split(r"[\s,]+", line.strip(" ;\t"))[-1]
    if "mbarrier.init" in line:
        yield "count - 1", plus(line, last(), "add.s32 {}, {}, -1")
        yield "count + 1", plus(line, last(), "add.s32 {}, {}, 1")
    if "expect_tx" in line:
        yield "bytes - 16", plus(line, last(), "add.s32 {}, {}, -16")
    if "wait.parity" in line:
        yield "parity flipped", plus(line, last(), "xor.b32 {}, {}, 1")
        yield "relaxed", line.replace("wait.parity", "wait.parity.relaxed.cta")
    if re.search(r"wait_group", line):
        yield "one group more", re.sub(r"(\d+)(\s*;)", lambda match: f"{int(match[1]) + 1}{match[2]}", line)
    if "mbarrier.arrive" in line and "cp.async" not in line:
        yield "relaxed", line.replace(".release", ".relaxed") if ".release" in line else \
            re.sub(r"arrive(\.expect_tx)?", r"arrive\1.relaxed.cta", line)
    if "barrier.cluster.arrive" in line:
        yield "relaxed", re.sub(r"arrive(\.release)?", "arrive.relaxed", line)
    if re.search(r"\bbar(rier)?\.(sync|arrive)", line) and "," in line:
        yield "threads - 32", re.sub(r"(\d+)(\s*;)", lambda match: f"{int(match[1]) - 32}{match[2]}", line)


def without(line):
    """A wait becomes one that has always passed."""
    return re.sub(r"mbarrier\.(try|test)_wait\S*\s+([^,]+),.*", r"setp.eq.u32 \2, 0, 0;", line)


def mutants(source, kernel):
    """(line, what was done, text), for each synchronising instruction of a kernel. Lines with several are left alone."""
    lines = source.split("\n")
    lines_of = [i.line for i in kernel.code]
    for n, i in enumerate(kernel.code):
        at = i.line - 1
        if not SYNCHRONISES.match(i.op) or lines_of.count(i.line) > 1 or not lines[at].rstrip().endswith(";"):
            continue

        def text_with(changes):
            return "\n".join(changes.get(row, line) for row, line in enumerate(lines))
        gone = without(lines[at]) if "_wait" in i.op and i.op.startswith("mbarrier") else ""
        yield i.line, "removed", text_with({at: gone})
        for what, line in weaker(lines[at]):
            yield i.line, what, text_with({at: line})
        other = neighbour(kernel, n)
        if other is not None and not gone:
            to = kernel.code[other].line - 1
            yield i.line, "moved down", text_with({at: "", to: lines[to] + "\n" + lines[at].strip()})


def neighbour(kernel, n):
    """The next instruction of the same straight code and braces that touches memory or synchronises, if there is one."""
    targets, i = set(kernel.labels.values()), kernel.code[n]
    for m in range(n + 1, len(kernel.code)):
        other = kernel.code[m]
        if m in targets or other.parts[0] in ("bra", "ret", "exit") or "#" in repr(other.args + i.args + [other.guard]):
            return None
        if TOUCHES.match(other.op):
            return m if [one.line for one in kernel.code].count(other.line) == 1 else None
    return None


# ---- verdicts -----------------------------------------------------------------------------


def ask_check(source, case):
    """("proved" or "found" or "unknown", why), of all that peeks can answer."""
    way = last = 0
    while way <= last:
        verdict, why, choices = ask_check_one_way(source, case, way)
        if verdict != "proved":
            break
        way, last = way + 1, 2 ** min(choices, 4) - 1
    return verdict, why


def ask_check_one_way(source, case, way):
    try:
        kernel = sc.load(source, case.kernel, grid=case.cluster, block=case.block, cluster=case.cluster, smem=case.smem,
                         args=case.args, way=way)
        check = kernel.check()
    except spad.Error as error:
        return "found", str(error).split("\n")[0], 0
    errors = sorted({finding.code for finding in check.findings if finding.severity == "error"} |
                    {remark["message"] for remark in kernel.run["remarks"] if remark["wrong"]})
    if errors:
        return "found", " ".join(errors), 0
    return ("proved" if check.verdict.startswith("proved") else "unknown"), check.verdict, kernel.run["choices"]


def ask_model(source, case, schedules, wanted=None):
    """The outcomes of some schedules; with a wanted one, up to the first other. And the lines that ran."""
    kernel = text.read_kernel(source, case.kernel)
    launch = machine.Launch(case.block, [model_argument(one) for one in case.args], case.cluster, smem=case.smem)
    found, lines = {}, set()
    for seed in range(schedules):
        run = machine.Machine(kernel, launch, seed)
        outcome = run.run()
        found.setdefault(outcome, seed)
        lines |= run.executed
        if wanted is not None and outcome != wanted:
            break
    return found, lines


def source_of(case):
    return (FOLDER / f"{case.file}.ptx").read_text()


def study(case, schedules, every=1):
    """A row for each mutant: (line, what was done, class, what the check says, what the model sees)."""
    source = source_of(case)
    outcomes, lines = ask_model(source, case, schedules)
    verdict, why = ask_check(source, case)
    assert verdict == "proved" and len(outcomes) == 1 and next(iter(outcomes))[0] == "values", (case.kernel, why, outcomes)
    wanted = next(iter(outcomes))
    for n, (line, what, changed) in enumerate(mutants(source, text.read_kernel(source, case.kernel))):
        if n % every:
            continue
        if line not in lines:
            yield line, what, "not executed", "", ""
            continue
        verdict, why = ask_check(changed, case)
        seen, _ = ask_model(changed, case, schedules, wanted)
        other = next((outcome for outcome in seen if outcome != wanted), None)
        if other is None:
            kind = "harmless" if verdict == "proved" else "check only"
        else:
            kind = "found" if verdict == "found" else "DISAGREEMENT"
        yield line, what, kind, f"{verdict}: {why}", other and " ".join(str(part) for part in other)


CLASSES = ["found", "check only", "harmless", "not executed", "DISAGREEMENT"]


def main():
    parser = argparse.ArgumentParser(description="a study of mutants of CUDA kernels")
    parser.add_argument("--schedules", type=int, default=30)
    parser.add_argument("--kernel", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="every mutant")
    options = parser.parse_args()
    total, rows = dict.fromkeys(CLASSES, 0), []
    print(f"{'kernel':16}{'mutants':>8}" + "".join(f"{name:>14}" for name in CLASSES))
    for case in CASES:
        if options.kernel not in case.kernel:
            continue
        counts = dict.fromkeys(CLASSES, 0)
        for line, what, kind, verdict, seen in study(case, options.schedules, options.every):
            counts[kind] += 1
            if options.list or kind in ("check only", "DISAGREEMENT"):
                rows.append(f"{case.file}.ptx:{line}: {case.kernel}: {what}: {kind}; {verdict}; model: {seen}")
        total = {name: total[name] + counts[name] for name in CLASSES}
        print(f"{case.kernel:16}{sum(counts.values()):8}" + "".join(f"{counts[name]:14}" for name in CLASSES), flush=True)
    print(f"{'all':16}{sum(total.values()):8}" + "".join(f"{total[name]:14}" for name in CLASSES))
    print("\n".join(rows))
    return 1 if total["DISAGREEMENT"] else 0


if __name__ == "__main__":
    sys.exit(main())
