# SPDX-License-Identifier: Apache-2.0
"""Barriers between warps of a Triton whose pass `membar` is part of its conversion to LLVM (3.6).

Each operation of a copy of the text gets a location of its own, the number of its line, and the copy is converted.
A barrier of the result has the location of the operation that `membar` put it before, or, after a wait for copies,
after (Membar.cpp), and so has one that is part of an operation. Before, between or after the other instructions of
the operation that touch memory: that is where the warps meet. What spad takes for granted of later versions,
that arrivals, products and operations with scratch memory have barriers of their own, is compared with what is there:
an arrival without one is marked (spad.alone), anything else is not decided."""

import re

_MEMORY = re.compile(r"llvm\.(load|store|inline_asm|call|atomicrmw|cmpxchg)|nvvm\.(?!barrier|shfl|read|elect)|nvg\.|ttng\.")
_MEETING = ("ttng.arrive_barrier", "ttng.barrier_expect", "ttng.tc_gen5_commit", "ttng.tc_gen5_mma",
            "ttng.tc_gen5_mma_scaled", "ttng.warp_group_dot_wait")
_BARRIERS = ("gpu.barrier", "ttg.barrier")
_SCRATCH = ('"tt.reduce"', '"tt.scan"', "tt.histogram", "tt.atomic_rmw", "tt.atomic_cas", "ttg.convert_layout")
_PARTITION = re.compile(r"partition\d+\(.*num_warps\((\d+)\)")


class Unclear(RuntimeError):
    """The converted text does not show where the barriers are."""


def _bare(line):
    """A line of an operation without its location."""
    at = line.rfind(" loc(")
    return line[:at] if at >= 0 and line.endswith(")") and line.count("(", at) == line.count(")", at) else line


def located(text):
    """The text with the number of its line as the location of each operation."""
    return "\n".join(line if line.startswith("#") or _bare(line) == line else f'{_bare(line)} loc("spad{number}")'
                     for number, line in enumerate(text.split("\n")))


def _starts(lines):
    """Of each line that ends an operation with regions, the line that begins it."""
    starts, stack = {}, []
    for number, line in enumerate(lines):
        bare = re.sub(r'"[^"]*"', "", _bare(line)).strip()
        if bare.startswith("}"):
            opened = stack.pop() if stack else number
            starts[number] = opened
            if bare.endswith("{"):
                stack.append(opened)
        elif bare.endswith("{"):
            stack.append(number)
    return starts


def _single(lines):
    """Lines of partitions, and of kernels, of one warp: nothing has to meet there."""
    found, warps = set(), None
    whole = any('"ttg.num-warps" = 1 :' in line for line in lines)
    for number, line in enumerate(lines):
        partition = _PARTITION.search(line)
        warps = partition[1] if partition else warps
        if warps == "1" or (warps is None and whole):
            found.add(number)
        if "ttg.warp_return" in line:
            warps = None
    return found


def _met(converted):
    """(before, inside, after): lines of operations with a barrier before all instructions of theirs that touch memory,
    between two of them, and after the last."""
    places = dict(re.findall(r'^(#loc\d*) = loc\("spad(\d+)"\)', converted, re.MULTILINE))
    order = {}  # by operation: "b" for each barrier and "m" for each other instruction
    for line in converted.split("\n"):
        barrier = "nvvm.barrier" in line or "gpu.barrier" in line
        if not barrier and not _MEMORY.search(line):
            continue
        found = re.search(r'loc\((?:(#loc\d*)|"spad(\d+)")\)$', line)
        number = places.get(found[1], found[2]) if found else None
        if number is not None:
            order.setdefault(int(number), []).append("b" if barrier else "m")
        elif barrier:
            raise Unclear("a barrier without a location")
    words = {number: "".join(word) for number, word in order.items()}
    return ({number for number, word in words.items() if word.startswith("b")},
            {number for number, word in words.items() if re.search("mb+m", word)},
            {number for number, word in words.items() if word.endswith("mb")})


def _name(line):
    return re.sub(r"^%\S+(:\d+)? = ", "", line.strip()).split("(")[0].split(" ")[0]


def _alone(lines, starts, met, inside):
    """Lines of operations that have a barrier of their own in a later Triton, and none here."""
    single, found = _single(lines), set()
    ends = {start: end for end, start in starts.items()}
    for number, line in enumerate(lines):
        name, own = _name(line), ends.get(number, number)
        if number in single:
            continue
        if name in _MEETING and own not in met:
            found.add(number)
        scratch = name in _SCRATCH and "allocation.offset" in lines[own]
        if scratch and own not in inside:
            raise Unclear(f"{name} in line {number + 1} has no barrier for its scratch memory")
    if found and any("ttg.warp_specialize" in line for line in lines):
        raise Unclear(f"line {min(found) + 1} of a kernel with partitions lets one thread arrive for several warps")
    return found


def insert(text, convert):
    """The text with a line `ttg.barrier local` for each barrier of `membar`. convert: gives the text of the
    module after the conversion to LLVM. Unclear where it cannot be said where they are."""
    lines = text.split("\n")
    starts = _starts(lines)
    before, inside, after = _met(convert(located(text)))
    alone = _alone(lines, starts, before | inside, inside)
    added = {starts.get(number, number) for number in before if _name(lines[number]) not in _BARRIERS}
    added |= {number + 1 for number in after}
    out = []
    for number, line in enumerate(lines):
        if number in added:
            out.append("    ttg.barrier local")
        if number in alone:
            line = re.sub(r"( \{[^{}]*\})?( : )", lambda found: f" {{{found[1][2:-1] + ', ' if found[1] else ''}"
                          f"spad.alone}}{found[2]}", line, count=1)
        out.append(line)
    return "\n".join(out)
