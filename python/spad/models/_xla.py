# SPDX-License-Identifier: Apache-2.0
"""XLA's temporary memory as arenas, from the two files that --xla_dump_to writes for a module:
*buffer-assignment.txt (sizes and offsets) and *live-range.txt (lives).

Values that XLA lets share bytes while both are alive (in place, loops) stay together: they are one
buffer, as large and as long-lived as all of them."""

import io
import os
import re

from .._alive import Alive
from .._files import read_most
from ..arena import Arena, Model, common_alignment, fault, whole

ASSIGNMENT, RANGES = "buffer-assignment.txt", "live-range.txt"
FILE_MOST = 1 << 30
LINES_MOST = 1 << 22
HEAD = 64  # bytes that say which of the two a file is
WORK_MOST = 1 << 26  # pieces that joins look at
ALLOCATION = re.compile(r"^allocation (\d{1,18}): (?:\w+ )?size (\d{1,30})(.*):$")
VALUE = re.compile(r"^ value: <\d+ (\S+?)(\{[\d,]*\})? @\d+> \(size=(\d{1,30}),offset=(\d{1,30})\)")
RANGE = re.compile(r"^    (\S+?)(\{[\d,]*\}):(\d{1,18})-(\d{1,18})$")
ORDER = re.compile(r"^    (\d{1,18}):(\S+)$")


class _Piece:
    """Values that stay together: bytes [start, end) of their allocation, steps [first, last]."""

    __slots__ = ("name", "start", "end", "first", "last")

    def __init__(self, name, start, end, first, last):
        self.name, self.start, self.end, self.first, self.last = name, start, end, first, last

    def clashes(self, other):
        return self.first <= other.last and other.first <= self.last and \
            self.start < other.end and other.start < self.end

    def join(self, other):
        if (self.end - self.start) < (other.end - other.start):
            self.name = other.name
        self.start, self.end = min(self.start, other.start), max(self.end, other.end)
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)


def _ended(ended, piece):
    """The last of those that ended, in this order, that clashes with a piece; None: there is none."""
    for at in range(len(ended) - 1, -1, -1):
        if ended[at].last < piece.first:
            return None
        if ended[at].clashes(piece):
            return at
    return None


def _joined(pieces, file):
    """Joins what clashes, until nothing does. Those that ended before are looked at only if a joined
    piece begins earlier than the last one."""
    alive, ended, work = Alive(), [], 0
    for piece in sorted(pieces, key=lambda p: (p.first, p.start, p.name)):
        ended += alive.advance(piece.first)
        began = piece.first
        while True:
            other = alive.clash(piece.start, piece.end)
            if other is not None:
                alive.remove(other.start)
            elif piece.first < began:
                work += len(ended)
                at = _ended(ended, piece)
                other = None if at is None else ended.pop(at)
            if other is None:
                break
            piece.join(other)
        if work > WORK_MOST:
            fault("too many of its values share bytes while alive", file)
        alive.add(piece.start, piece.end, piece.last, piece)
    return sorted(ended + alive.advance(float("inf")), key=lambda p: (p.first, p.start, p.name))


def _lines(content, file):
    """The lines of a text, one at a time."""
    count = content.count(b"\n")
    if count > LINES_MOST:
        fault(f"it has {count} lines; the most is {LINES_MOST}", file)
    for line in io.BytesIO(content):
        yield line.decode("utf-8", "replace").rstrip("\r\n")


def _ranges(content, file):
    lives, steps = {}, {}
    for line in _lines(content, file):
        found = RANGE.match(line)
        if found:
            lives[found[1] + found[2]] = int(found[3]), int(found[4])
            continue
        found = ORDER.match(line)
        if found:
            steps[int(found[1])] = found[2]
    if not lives:
        fault("no live ranges", file)
    return lives, steps


def _allocations(content, file):
    """Number, size, words and values of every allocation."""
    found = []
    for number, line in enumerate(_lines(content, file), 1):
        head = ALLOCATION.match(line)
        if head:
            found.append((int(head[1]), int(head[2]), head[3], []))
            continue
        value = VALUE.match(line)
        if value and not found:
            fault(f"line {number}: a value before the first allocation", file)
        if value:
            found[-1][3].append((value[1] + (value[2] or "{}"), int(value[3]), int(value[4])))
        elif line.startswith(" value:"):
            fault(f"line {number}: not a value: '{line.strip()[:60]}'", file)
    if not found:
        fault("no allocations", file)
    return found


def _arena(allocation, lives, top, steps, file):
    """top: the last step of all lives."""
    number, size, _, values = allocation
    whole(size, f"the size of allocation {number}", file=file)
    pieces, unknown = [], 0
    for name, length, offset in values:
        whole(offset + length, f"the end of '{name}'", 0, size, file)
        first, last = lives.get(name, (0, top))
        unknown += name not in lives
        if last < first:
            fault(f"'{name}' ends at {last}, before it begins at {first}", file)
        if length:
            pieces.append(_Piece(name, offset, offset + length, first, last))
    joined = _joined(pieces, file)
    arena = Arena(f"allocation {number}", common_alignment([p.start for p in joined], 256), steps=steps)
    for piece in joined:
        arena.add(piece.name, piece.first, piece.last, piece.end - piece.start, theirs=piece.start)
    arena.compare_with("XLA", size)
    if len(joined) < len(pieces):
        arena.notes.append(f"{len(pieces)} values in {len(joined)} buffers: some share bytes while alive")
    if unknown:
        arena.notes.append(f"{unknown} values have no live range and count as always alive")
    return arena


def _other(file, mine, wanted):
    """The bytes of the other file in the same folder, and its name."""
    path = str(file)
    if mine not in os.path.basename(path):
        fault(f"its name has to have {mine} in it, with the file {wanted} in the same folder", file)
    folder, name = os.path.split(path)
    other = os.path.join(folder, name.replace(mine, wanted))
    try:
        if os.stat(other).st_size > FILE_MOST:
            fault(f"it has more than {FILE_MOST} B", other)
        with open(other, "rb") as content:
            return read_most(content, FILE_MOST), other
    except OSError as error:
        fault(f"it needs '{other}' as well: {error.strerror}", file)


def read(content, file):
    """A Model of a buffer assignment or of live ranges; the other file is in the same folder."""
    if content[:HEAD].lstrip().startswith(b"BufferAssignment"):
        ranges, name = _other(file, ASSIGNMENT, RANGES)
        return assignment(content, ranges, file, name)
    places, name = _other(file, RANGES, ASSIGNMENT)
    return assignment(places, content, name, file)


def assignment(places, ranges, file, ranges_file):
    lives, steps = _ranges(ranges, ranges_file)
    top = max(last for _, last in lives.values())
    arenas = [_arena(found, lives, top, steps, file) for found in _allocations(places, file)
              if "preallocated-temp" in found[2] and found[3]]
    notes = [] if arenas else ["it has no temporary memory to plan"]
    return Model("XLA", file, arenas, notes)
