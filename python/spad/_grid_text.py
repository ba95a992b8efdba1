# SPDX-License-Identifier: Apache-2.0
"""The text of a kernel of a grid, for spad.tilelang and spad.triton alike: which loop a line is in, what blocks of the
grid share, and the clauses that say so of a tensor off chip."""

import re

LINE = 256  # bytes that the memory brings at a time, docs/calibrate.md
PIECE = 16  # bytes that a thread copies at a time
_FOR = re.compile(r"\s*for (\w+) in ")


def with_loops(lines):
    """(line, variable of the innermost loop around it) of each line; None outside of loops. The line that opens a loop
    is in it, the one that closes it is not."""
    loops = []
    for line in lines:
        if line.lstrip().startswith("}") and loops:  # "} else {", too
            loops.pop()
        if line.endswith("{"):
            loop = _FOR.match(line)
            loops.append(loop[1] if loop else loops[-1] if loops else None)
        yield line, loops[-1] if loops else None


def sharing(places):
    """(reused, near) of the places that the first blocks of a grid use, one of each: how many blocks use the same one,
    and the longest run of neighbours among them."""
    longest = run = 1
    for before, now in zip(places, places[1:]):
        run = run + 1 if before == now else 1
        longest = max(longest, run)
    return max(1, round(len(places) / len(set(places)))), longest


def cached_of(width):
    """(tiles in the cache, tiles in a row) for tiles of so many bytes in a row of memory; None: each is brought."""
    return (LINE // width - 1, LINE // width) if 0 < width <= LINE // 2 else None


def tensor_line(name, kind, dims, role, shared=(1, 1), cached=None, pieces=False):
    """The declaration of a tensor off chip. shared: (reused, near); cached: that many tiles of so many in a row;
    pieces: threads copy it."""
    reused, near = shared
    words = [f"tensor {name} : global {kind} {f'[{cached[1]}] ' if cached else ''}({dims}) {role}"]
    words += [f"reused {reused}"] if reused > 1 else []
    words += [f"near {min(near, reused)}"] if min(near, reused) > 1 else []
    words += [f"cached {cached[0]} of {cached[1]}"] if cached else []
    words += [f"pieces {PIECE}"] if pieces else []
    return " ".join(words)
