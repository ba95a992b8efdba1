# SPDX-License-Identifier: Apache-2.0
"""The kernel of a grid, for spad.tilelang and spad.triton alike: the text of a kernel changed at the places that its rows
name, and the clauses that say what blocks share."""

from . import _spad

LINE = 256  # bytes that the memory brings at a time, docs/results/calibrate.md
PIECE = 16  # bytes that a thread copies at a time


class Edited:
    """The text of a kernel and its rows, whose lines and columns are those of the text. Changes are collected, so that
    all places stay those of the rows."""

    def __init__(self, kernel):
        self.rows = _spad.Kernel.parse(kernel.text(), "<kernel of a grid>", None, None, kernel.target)
        self.lines = self.rows.source.split("\n")
        self.tensors = {tensor["name"]: tensor for tensor in self.rows.tensors}
        self.statements = self.rows.statements
        self.barriers = {sync["name"]: sync["count"] for sync in self.rows.syncs if sync["kind"] == "barrier"}
        self._out = set()  # lines that are left out
        self._instead = {}  # by line: the lines in its place
        self._before, self._after = {}, {}

    def is_off_chip(self, name):
        return self.tensors[name]["space"] == "global"

    def line(self, row):
        """The line of a row."""
        return self.lines[row["line"] - 1]

    def depth(self, row):
        """Characters in front of the line of a row."""
        line = self.line(row)
        return len(line) - len(line.lstrip())

    def plain(self, row):
        """The line of a row without its margin, and without the line of the program that it comes from."""
        source = row.get("source")
        return self.line(row)[self.depth(row):].removesuffix("" if source is None else f" from {source}")

    def _margin(self, row):
        return " " * self.depth(row)

    def leave_out(self, agent):
        """The whole program of an agent is left out."""
        ends = [other["line"] for other in self.rows.agents if other["line"] > agent["line"]]
        self._out.update(range(agent["line"], min(ends, default=len(self.lines))))

    def is_left_out(self, row):
        return row["line"] in self._out

    def replace(self, row, *texts):
        """Lines in the place of that of a row, as deep as it; none: it is left out."""
        self._instead[row["line"]] = [self._margin(row) + text for text in texts]

    def add(self, row, text, before=False):
        """A line after that of a row, or before it, as deep as it."""
        (self._before if before else self._after).setdefault(row["line"], []).append(self._margin(row) + text)

    def with_accesses(self, statement, texts):
        """An operation with other accesses, as plain() gives it: texts by their number."""
        line = self.plain(statement)
        margin = self.depth(statement)
        for number in sorted(texts, reverse=True):
            access = statement["accesses"][number]
            at = access["column"] - 1 - margin
            line = line[:at] + texts[number] + line[at + access["width"]:]
        return line

    def text(self):
        """The text with all changes."""
        out = []
        for number, line in enumerate(self.lines, 1):
            if number in self._out:
                continue
            out += [*self._before.get(number, ()), *self._instead.get(number, (line,)), *self._after.get(number, ())]
        return "\n".join(out)


def access_text(access, index=None, ranges=None):
    """An access in the kernel language, without the threads that make it; with another index or other ranges where they
    are given."""
    index = access["index"] if index is None else index
    if ranges is None:
        ranges = [_range(*part) for part in access["ranges"]]
    return (access["tensor"] + (f"[{', '.join(index)}]" if index else "") + (f"({', '.join(ranges)})" if ranges else "")
            + (f" moves {access['moves']}" if access["moves"] else ""))


def _range(begin, end, step):
    if begin is not None and end is None:
        return begin
    return f"{begin or ''}..{end or ''}" + (f" by {step}" if step else "")


def tile_number(statement):
    """Which tile of a row of tiles a copy reads, as an expression: the one that its stage counts, or the loop around it."""
    for access in statement["accesses"][1:2]:
        if access["counts"]:
            return access["counts"][0]
    return statement["loop"] or "0"


def element_bytes(tensor):
    """Bytes of an element of a tensor."""
    count = 1
    for extent in tensor["shape"]:
        count *= extent
    return tensor["bytes"] * tensor["lanes"] // max(count, 1)


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


def tensor_line(tensor, shared=(1, 1), cached=None, pieces=False, shape=None):
    """The declaration of a tensor off chip. shared: (reused, near); cached: that many tiles of so many in a row; pieces:
    threads copy it; shape: another one."""
    reused, near = shared
    dims = ", ".join(map(str, shape or tensor["shape"]))
    role = "persistent" if tensor["input"] and tensor["output"] else "input" if tensor["input"] else "output"
    words = [f"tensor {tensor['name']} : global {tensor['dtype']} {f'[{cached[1]}] ' if cached else ''}({dims}) {role}"]
    words += [f"reused {reused}"] if reused > 1 else []
    words += [f"near {min(near, reused)}"] if min(near, reused) > 1 else []
    words += [f"cached {cached[0]} of {cached[1]}"] if cached else []
    words += [f"pieces {PIECE}"] if pieces else []
    return " ".join(words)
