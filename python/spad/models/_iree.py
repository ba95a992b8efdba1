# SPDX-License-Identifier: Apache-2.0
"""The slices of IREE's stream.resource.pack as arenas, from the text of

    iree-compile ... --mlir-print-ir-before=iree-stream-layout-slices \\
                     --mlir-print-ir-after=iree-stream-layout-slices 2> slices.mlir

The text before the pass has lives and sizes; that after it has the bytes that IREE allocates, as the
size of the same allocation of the same function."""

import re

from ..arena import LIMIT, Arena, Model, fault, whole

ALIGNMENT = 64  # of a slice, where the text does not say it
CONSTANT = re.compile(r"^\s*(%[\w$.-]+) = arith\.constant (-?\d{1,30}) : index\s*$")
FUNCTION = re.compile(r"^\s*(?:util|func)\.(?:func|initializer)\b[^@{]*(@[\w$.-]+|@\"[^\"]*\")?")
PACK = re.compile(r"^\s*(%[\w$.-]+)(?::\d+)? = stream\.resource\.pack\b.*slices\(\{")
SLICE = re.compile(r"^\s*\[(-?\d{1,18}), (-?\d{1,18})\] = (%[\w$.-]+),?\s*$")
ALLOCATION = re.compile(r"= stream\.resource\.alloca\b.*\{(%[\w$.-]+)(#0)?\} =>")  # from one place on: its .* is long
WORDS = (b"arith.constant", b"stream.resource.pack", b"stream.resource.alloca", b".func", b".initializer",
         b"min_buffer_offset_alignment")  # a line without any of them says nothing about memory
LINES_MOST = 1 << 20  # that have one of them
LINE_MOST = 1 << 16  # bytes that are looked at; constants are longer lines
ALIGNED = re.compile(r"min_buffer_offset_alignment = (\d{1,18})")


class _Function:
    """One function of one dump: its constants, packs and allocations in their order."""

    def __init__(self, name):
        self.name, self.constants, self.packs, self.allocations = name, {}, [], []

    def bytes_of(self, word):
        return self.constants.get(word)


def _lines(content, reader):
    """Where each line begins that has one of the words, or that is in a list of slices, and its text: most of
    such a text is something else, and is not split into lines."""
    end, places = 0, dict.fromkeys(WORDS, -1)
    for _ in range(LINES_MOST):
        for word, at in places.items():
            if at < end:
                found = content.find(word, end)
                places[word] = found if found >= 0 else len(content)
        at = end if reader.slices is not None else min(places.values())
        if at >= len(content):
            return
        start = content.rfind(b"\n", end, at) + 1 or end
        end = content.find(b"\n", at) + 1 or len(content) + 1
        yield start, content[start:min(end - 1, start + LINE_MOST)].decode("utf-8", "replace")
    fault(f"it has more than {LINES_MOST} lines about memory, which is the most", reader.file)


class _Reader:
    def __init__(self, content, file):
        self.content, self.file, self.functions, self.alignment = content, file, [], ALIGNMENT
        self.function, self.slices = None, None

    def number(self, place):
        """The number of the line that begins there."""
        return self.content.count(b"\n", 0, place) + 1

    def line(self, text, place):
        if self.slices is not None:
            self._slice(text, place)
            return
        found = FUNCTION.match(text)
        if found:
            self.function = _Function(found[1] or f"function {len(self.functions)}")
            self.functions.append(self.function)
        if "min_buffer_offset_alignment" in text:
            for word in ALIGNED.findall(text)[:1]:
                self.alignment = whole(int(word), "min_buffer_offset_alignment", 1, 1 << 20, self.file)
        if self.function is None:
            self.function = _Function("module")
            self.functions.append(self.function)
        self._operation(text, place)

    def _operation(self, text, place):
        found = CONSTANT.match(text)
        if found:
            self.function.constants[found[1]] = int(found[2])
            return
        found = PACK.match(text)
        if found:
            self.slices = []
            self.function.packs.append((found[1], place, self.slices))
            return
        at = text.find("= stream.resource.alloca")
        found = ALLOCATION.match(text, at) if at >= 0 else None
        if found:
            self.function.allocations.append((found[1], bool(found[2])))

    def _slice(self, text, place):
        if text.lstrip().startswith("})"):
            self.slices = None
            return
        found = SLICE.match(text)
        if found is None:
            fault(f"line {self.number(place)}: a slice has to be '[first, last] = %size', not '{text.strip()[:60]}'",
                  self.file)
        self.slices.append((int(found[1]), int(found[2]), found[3]))


def _arena(reader, function, number):
    """The arena of a pack; None if a size is not a constant."""
    (_, place, slices), alignment, file = function.packs[number], reader.alignment, reader.file
    arena = Arena(f"{function.name} {number}", alignment)
    for first, last, word in slices:
        size = function.bytes_of(word)
        if size is None:
            return None
        if last < first:
            fault(f"line {reader.number(place)}: a slice ends at {last}, before it begins at {first}", file)
        if not 0 <= size <= LIMIT:
            whole(size, f"line {reader.number(place)}: the size {word}", file=file)
        arena.add(word, first, last, -(-size // alignment) * alignment)
    return arena


def _compare(arena, function, name, after):
    """The bytes that IREE allocates for a pack: those of the same allocation after the pass."""
    if after is None or len(after.allocations) != len(function.allocations):
        return
    for (word, whole_pack), (theirs, _) in zip(function.allocations, after.allocations):
        size = after.bytes_of(theirs)
        if whole_pack and word == name and size is not None and size >= 0:
            arena.compare_with("IREE", size)


def read(content, file):
    """A Model of the text: an arena for every pack with two slices or more."""
    reader = _Reader(content, file)
    for place, line in _lines(content, reader):
        reader.line(line, place)
    if reader.slices is not None:
        fault("the text ends within a stream.resource.pack", file)
    arenas, dynamic = [], 0
    for index, function in enumerate(reader.functions):
        after = next((f for f in reader.functions[index + 1:index + 2] if f.name == function.name), None)
        for number, pack in enumerate(function.packs):
            arena = _arena(reader, function, number)
            dynamic += arena is None
            if arena is not None and len(arena) > 0:
                _compare(arena, function, pack[0], after)
                arenas.append(arena)
    if not arenas and not dynamic:
        fault("no stream.resource.pack with slices", file)
    notes = [f"{dynamic} packs have sizes that are not constants and are left out"] if dynamic else []
    return Model("IREE", file, arenas, notes)
