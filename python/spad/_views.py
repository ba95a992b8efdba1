# SPDX-License-Identifier: Apache-2.0
"""Values that are bytes of another one, so that nothing has to be copied: outputs of reshapes and
slices are bytes of their input, and inputs of a concatenation are written where its output has them.

Values that have fixed distances from each other are a group; one of them, the whole, covers all of
it. Two groups become one at a distance if no byte would have to hold two things: wherever a member of
one and a member of the other overlap while both are alive, they hold the same bytes of the same
origin. Contents are lists of ranges of origins: a reshape has the content of its input, a concatenation
the contents of its inputs one after the other, whether these are copied or not. So the concatenations
of a DenseNet, each with one more input, are all the beginning of the last one.

Values that the caller gives or gets never overlap each other, and stay out of concatenations.
Invariant: every group has one whole, which covers it. A join costs the product of the numbers of members,
so that all of them together have a budget; what comes after it is copied.
"""

PARTS_MOST = 1024  # ranges of a content; one with more is an origin of its own
WORK_MOST = 1 << 21  # pairs of members that joins look at, and ranges of contents


class _Value:
    __slots__ = ("first", "last", "size", "owned", "content", "group", "at")

    def __init__(self, first, last, size, owned):
        self.first, self.last, self.size, self.owned = first, last, size, owned
        self.content = [(0, size, self, 0)]  # from, to, origin, where in the origin
        self.group, self.at = None, 0  # its place in the whole


class _Group:
    __slots__ = ("whole", "members", "owned")

    def __init__(self, value):
        self.whole, self.members = value, [value]
        self.owned = [value] if value.owned else []


def _cut(content, start, end):
    """The ranges of a content from start to end, as places from 0 on."""
    return [(max(a, start) - start, min(b, end) - start, origin, at + max(0, start - a))
            for a, b, origin, at in content if a < end and b > start]


def _joined(ranges):
    """The same content, and equal ones are equal lists: neighbours of one origin are one range."""
    out = []
    for start, end, origin, at in ranges:
        if out and out[-1][2] is origin and out[-1][1] == start and out[-1][3] + start - out[-1][0] == at:
            out[-1] = (out[-1][0], end, origin, out[-1][3])
        else:
            out.append((start, end, origin, at))
    return out


def _overlap(a, b, distance):
    """Do two values share bytes, a `distance` after b?"""
    return distance < b.size and distance + a.size > 0


def _differ(a, b, distance):
    """Do they hold different things in the bytes that they share?"""
    if not _overlap(a, b, distance):
        return False
    start, end = max(0, distance), min(b.size, distance + a.size)
    return _joined(_cut(a.content, start - distance, end - distance)) != _joined(_cut(b.content, start, end))


class Views:
    """add() the values, then view() and concatenation() in the order of the nodes; slices() are the
    values that are bytes of another one. alignment: every place of a value is a multiple."""

    def __init__(self, alignment=1):
        self.alignment, self.values, self.work = alignment, {}, WORK_MOST

    def add(self, key, first, last, size, owned=False):
        """A value that is alive from step first to last. owned: the caller gives or gets it."""
        self.values[key] = value = _Value(first, last, size, owned)
        value.group = _Group(value)

    def view(self, part, whole, at):
        """The value part has the bytes of whole from `at` on."""
        part, whole = self.values[part], self.values[whole]
        if 0 <= at <= whole.size - part.size and self._afford(len(whole.content)):
            part.content = self._limited(part, _cut(whole.content, at, at + part.size))
            self._join(part, whole, at)

    def concatenation(self, whole, parts):
        """The value whole has the bytes of each (part, at); other bytes are its own."""
        whole = self.values[whole]
        parts = sorted(((at, self.values[part]) for part, at in parts), key=lambda item: item[0])
        ranges, end = [], 0
        for at, part in parts:
            if at < end or at + part.size > whole.size:
                return
            if not self._afford(len(part.content)) or len(ranges) > 2 * PARTS_MOST:
                return
            ranges.append((end, at, whole, end))
            ranges += ((at + a, at + b, origin, place) for a, b, origin, place in part.content)
            end = at + part.size
        ranges.append((end, whole.size, whole, end))
        whole.content = self._limited(whole, [r for r in ranges if r[0] < r[1]])
        for at, part in parts:
            if not any(_overlap(value, part, value.at - part.at) for value in part.group.owned):
                self._join(part, whole, at)

    def _afford(self, work):
        """Takes work off the budget. False: there is not that much left."""
        if work > self.work:
            return False
        self.work -= work
        return True

    def _limited(self, value, ranges):
        ranges = _joined(ranges)
        return ranges if len(ranges) <= PARTS_MOST else [(0, value.size, value, 0)]

    def _join(self, part, whole, at):
        """Puts the groups of the two together, if that is possible."""
        inner, outer = part.group, whole.group
        shift = whole.at + at - part.at  # where the whole of `inner` begins in that of `outer`
        if inner is outer:
            return
        if shift < 0 or shift + inner.whole.size > outer.whole.size:
            inner, outer, shift = outer, inner, -shift
        if shift < 0 or shift + inner.whole.size > outer.whole.size or self._clash(inner, outer, shift):
            return
        outer.owned += inner.owned
        outer.members += inner.members
        for value in inner.members:
            value.group, value.at = outer, value.at + shift

    def _clash(self, inner, outer, shift):
        """Would a byte have to hold two things?"""
        if shift % self.alignment or not self._afford(len(inner.members) * len(outer.members)):
            return True
        if any(_overlap(a, b, a.at + shift - b.at) for a in inner.owned for b in outer.owned):
            return True
        return any(a.first <= b.last and b.first <= a.last and _differ(a, b, a.at + shift - b.at)
                   for a in inner.members for b in outer.members)

    def slices(self):
        """(part, whole, at) for every value that is bytes of another one, in the order of add()."""
        keys = {id(value): key for key, value in self.values.items()}
        return [(key, keys[id(value.group.whole)], value.at) for key, value in self.values.items()
                if value is not value.group.whole]
