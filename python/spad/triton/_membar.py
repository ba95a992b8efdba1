# SPDX-License-Identifier: Apache-2.0
"""Barriers between warps of a Triton whose pass `membar` is part of its conversion to LLVM (3.6): each operation of a copy has
its line as its location, and the copy is converted. Where a barrier of the result is among the instructions of an operation that touch
memory is where the warps meet; ttgir_barriers.c says what follows from it."""

import re

_MEMORY = re.compile(r"llvm\.(load|store|inline_asm|call|atomicrmw|cmpxchg)|nvvm\.(?!barrier|shfl|read|elect)|nvg\.|ttng\.")
_PLACE = re.compile(r'^(#loc\d*) = loc\("[^"]*":(\d+):\d+\)', re.MULTILINE)


class Unclear(RuntimeError):
    """The converted text does not show where the barriers are."""


def meetings(converted):
    """(line, before, inside, after) of each operation with barriers: before all instructions of its that touch memory, between
    two of them, and after the last."""
    places = dict(_PLACE.findall(converted))
    order = {}  # by line: "b" for each barrier and "m" for each other instruction
    for line in converted.split("\n"):
        barrier = "nvvm.barrier" in line or "gpu.barrier" in line
        if not barrier and not _MEMORY.search(line):
            continue
        found = re.search(r'loc\((?:(#loc\d*)|"[^"]*":(\d+):\d+)\)$', line)
        number = places.get(found[1], found[2]) if found else None
        if number is not None:
            order[int(number)] = order.get(int(number), "") + ("b" if barrier else "m")
        elif barrier:
            raise Unclear("a barrier without a location")
    rows = [(number, word.startswith("b"), re.search("mb+m", word) is not None, word.endswith("mb")) for number, word in order.items()]
    return [row for row in rows if any(row[1:])]
