# SPDX-License-Identifier: Apache-2.0
"""The trip counts of folded loops as parameters.

A folded kernel has numbers for trip counts. Here its outer loops get a parameter for each number, and what the loops go
through grows with it: the tiles of a tensor whose first index moves with the loop, and a tensor off chip, which is cut
into tiles along the dimension that moves. With the parameters as they are preset the operations are those of the
folded kernel, on the same bytes on chip; off chip the elements are in another order, each at one place as before, so
accesses overlap where they did. What holds for other values is for the check to say: tensors that a loop does
not go through evenly stay as they are, and then it has no proof for other values.
"""

import re

_DECLARED = re.compile(r"tensor (\w+) : (\S+ \w+)(?: \[([^\]]*)\])? \(([^)]*)\)(.*)")
_LOOP = re.compile(r"( *)for (\w+) in 0\.\.(.*) \{")
_ACCESS = re.compile(r"\b([A-Za-z_]\w*)(?:\[([^\]]*)\])?(?:\(([^()]*)\))?")
_TERM = re.compile(r"\s*([+-]?)\s*(?:(\d+)(?: \* ([A-Za-z_]\w*))?|([A-Za-z_]\w*))\s*")
_WORDS = re.compile(r" (?=(?:may )?(?:reads|writes|updates) |cost |from )")


def affine(text):
    """{variable: factor, None: constant} of a sum, or None."""
    made, at = {}, 0
    while at < len(text):
        found = _TERM.match(text, at)
        if found is None or (at and not found[1]):
            return None
        number, name = int(found[2] or 1), found[3] or found[4]
        made[name] = made.get(name, 0) + (-number if found[1] == "-" else number)
        at = found.end()
    return {name: number for name, number in made.items() if number} if text else None


def written(sum_of):
    """An affine sum as text: the constant first, unless there is none."""
    text = str(sum_of.get(None, 0)) if sum_of.get(None) or not any(sum_of.values()) else ""
    for name, number in sum_of.items():
        if name is None or not number:
            continue
        term = name if abs(number) == 1 else f"{abs(number)} * {name}"
        if text:
            text += f" {'-' if number < 0 else '+'} {term}"
        else:
            text = term if number > 0 else f"0 - {term}"
    return text


class _Tensor:
    """A declaration and what is known of the accesses."""

    def __init__(self, found):
        self.name, self.type, self.tail = found[1], found[2], found[5]
        self.blocks = found[3].split(", ") if found[3] else []
        self.dims = found[4].split(", ")
        alias = re.search(r"alias of (\w+)", self.tail)
        self.home = alias[1] if alias else self.name
        self.is_off_chip = self.type.startswith("hbm ")
        self.accesses = []  # (parameter or None, variable, indices, ranges)

    def text(self):
        blocks = f" [{', '.join(self.blocks)}]" if self.blocks else ""
        return f"tensor {self.name} : {self.type}{blocks} ({', '.join(self.dims)}){self.tail}"


class Trips:
    """A folded kernel in text, taken apart."""

    def __init__(self, text):
        self.lines = text.split("\n")
        self.tensors = {}
        self.parameters = {}  # name: number
        self._by_count = {}   # trip count: name
        for line in self.lines:
            found = _DECLARED.match(line)
            if found:
                self.tensors[found[1]] = _Tensor(found)
        self._names = {word for line in self.lines for word in re.findall(r"\w+", line)}

    def over(self):
        """The kernel with parameters, as text; None where it has no outer loop."""
        self._walk(lambda tensor, *seen: tensor.accesses.append(seen))
        if not self.parameters:
            return None
        homes = {}
        for tensor in self.tensors.values():
            homes.setdefault(tensor.home, []).append(tensor)
        grown = {}  # tensor: what its accesses become
        for name, group in homes.items():
            if name in self.tensors:
                self._grow(group, grown)
        made = self._walk(lambda tensor, *seen: grown[tensor.name](*seen) if tensor.name in grown else None)
        rows = [f"param {name} = {count}" for name, count in self.parameters.items()]
        last = max((at for at, line in enumerate(made) if line.startswith("source ")), default=0)
        return "\n".join([*made[:last + 1], *rows, *made[last + 1:]])

    def _parameter(self, count):
        name = self._by_count.get(count)
        if name is None:
            number = len(self._by_count) + 1
            name = "trips" if number == 1 else f"trips_{number}"
            while name in self._names:
                name += "_"
            self._by_count[count] = name
            self.parameters[name] = count
        return name

    def _walk(self, access):
        """The lines, with what access(tensor, parameter, variable, indices, ranges) gives in the place of an access."""
        made, loop = [], (None, None)
        for line in self.lines:
            found, declared = _LOOP.match(line), _DECLARED.match(line)
            if found and not found[1] and found[3].isdigit():
                loop = self._parameter(int(found[3])), found[2]
                line = f"for {found[2]} in 0..{loop[0]} {{"
            elif found and not found[1]:
                loop = None, None
            elif line == "}":
                loop = None, None
            elif declared:
                line = self.tensors[declared[1]].text()
            elif not found and line.strip() and not line.startswith(("source ", "kernel ", "compiler ")):
                line = self._operation(line, loop, access)
            made.append(line)
        return made

    def _operation(self, line, loop, access):
        words = _WORDS.split(line)

        def replaced(found):
            tensor = self.tensors.get(found[1])
            if tensor is None:
                return found[0]
            parts = [part.split(", ") if part else [] for part in (found[2], found[3])]
            return access(tensor, *loop, *parts) or found[0]

        for at, part in enumerate(words[1:], 1):
            if re.match(r"(may )?(reads|writes|updates) ", part):
                words[at] = _ACCESS.sub(replaced, part)
        return " ".join(words)

    # ---- what grows ------------------------------------------------------------------------

    def _grow(self, group, grown):
        """Lets a tensor and its other names grow, if every access has the form for it."""
        if all(tensor.blocks and tensor.blocks[0].isdigit() for tensor in group):
            found = self._factor(group, lambda indices, ranges: indices[0] if indices else None)
            if found is not None and len({tensor.blocks[0] for tensor in group}) == 1:
                for tensor in group:
                    tensor.blocks[0] = self._count(int(tensor.blocks[0]), *found) or tensor.blocks[0]
        elif len(group) == 1 and group[0].is_off_chip and not group[0].blocks:
            self._grow_rows(group[0], grown)

    def _factor(self, group, index_of):
        """(parameter, factor) of the loop that goes through a tensor: the same one for every access in such loops;
        None: there is none, or there are others."""
        found = set()
        for tensor in group:
            for parameter, variable, indices, ranges in tensor.accesses:
                index = index_of(indices, ranges)
                index = affine(index) if index else None
                if index is None:
                    return None
                if parameter is not None and index.get(variable):
                    found.add((parameter, index[variable]))
        return found.pop() if len(found) == 1 else None

    def _count(self, count, parameter, factor):
        """A number of tiles that grows with a parameter; None: it is too small for that."""
        rest = count - factor * self.parameters[parameter]
        return written({None: rest, parameter: factor}) if factor > 0 and rest >= 0 else None

    def _grow_rows(self, tensor, grown):
        for row, extent in enumerate(tensor.dims):
            found = self._factor([tensor], lambda _, ranges: ranges[row].split("..")[0] if ranges else None)
            if found is None or found[1] < 1 or not extent.isdigit() or int(extent) % found[1]:
                continue
            parameter, size = found
            count = self._count(int(extent) // size, parameter, 1)
            if count is None or any(self._tile(ranges, row, size) is None for *_, ranges in tensor.accesses):
                continue
            tensor.blocks, tensor.dims[row] = [count], str(size)
            grown[tensor.name] = lambda *seen: tensor.name + self._tile(seen[-1], row, size)
            return

    @staticmethod
    def _tile(ranges, row, size):
        """'[index](ranges)' of a part of one tile; None: it is not in one."""
        first, dots, end = ranges[row].partition("..")
        begin, end = affine(first), affine(end) if dots else None
        if begin is None or (dots and end is None):
            return None
        width = {name: end.get(name, 0) - begin.get(name, 0) for name in {*begin, *end}} if dots else {None: 1}
        if any(number for name, number in width.items() if name is not None):
            return None
        if any(number % size for name, number in begin.items() if name is not None):
            return None  # a part that moves inside a tile
        inside, width = begin.get(None, 0) % size, width.get(None, 0)
        if inside + width > size:
            return None
        index = {name: number // size for name, number in begin.items()}
        part = ".." if width == size and size > 1 else f"{inside}..{inside + width}" if width > 1 else str(inside)
        return f"[{written(index)}]({', '.join([*ranges[:row], part, *ranges[row + 1:]])})"


def over_trips(text):
    """A folded kernel whose outer loops have parameters for trip counts, as text, or None."""
    return Trips(text).over()
