# SPDX-License-Identifier: Apache-2.0
"""Joins the stores of a warp that fill the gaps of each other, so that the kernel has few runs of bytes.

A program that unpacks two numbers of a byte stores to x[2 * j] and to x[2 * j + 1]: each store has a run for every element, and both together
one for a row. The first store gets the bytes of the second one, which keeps its reads:

    reads R1, writes W1; reads R2, writes W2    becomes    reads R1, writes W1 and W2; reads R2

No statement of the warp is between them, so every check gives the same as long as W2 and R2 are disjoint. Reads that the first store
has done already are left out where it does not write these bytes.
"""

from ._write import Access, Op


def _is_plain_store(item):
    return (isinstance(item, Op) and (item.engine, item.name, item.tail) == ("simt", "store", "") and not item.may
            and not item.updates and not item.adds and all(isinstance(a, Access) and not a.may for a in item.accesses()))


def _place(access):
    return access.buffer, access.tile, access.block, tuple(sorted(access.offset.terms.items()))


def _union(one, other, shift):
    """Two lists of runs as one, the second moved by `shift`; None: they have bytes in common, or nothing touches."""
    moved = [(begin + shift, end + shift) for begin, end in other]
    out = []
    for begin, end in sorted(one + moved):
        if out and begin < out[-1][1]:
            return None
        if out and begin == out[-1][1]:
            out[-1] = (out[-1][0], end)
        else:
            out.append((begin, end))
    return out if len(out) < len(one) + len(moved) else None


def _key(access):
    return (*_place(access), access.offset.const, tuple(access.runs))


class Joins:
    """Joins stores to buffers in shared memory. shared: {name: bytes and place}."""

    def __init__(self, shared):
        self.shared = shared

    def _apart(self, one, other):
        """Whether two buffers have no byte in common, wherever they are placed now."""
        if one == other:
            return False
        a, b = self.shared.get(one), self.shared.get(other)
        if a is None or b is None or a["at"] is None or b["at"] is None:
            return True  # of other memories, or allocations of their own
        return a["at"] + a["bytes"] <= b["at"] or b["at"] + b["bytes"] <= a["at"]

    def _joined(self, first, second):
        """What two stores become, or None."""
        if not (_is_plain_store(first) and _is_plain_store(second) and first.writes and second.writes):
            return None
        if not all(self._apart(write.buffer, read.buffer) for write in second.writes for read in second.reads):
            return None
        writes = {_place(access): access for access in first.writes}
        if len(writes) < len(first.writes):
            return None
        for access in second.writes:
            mine = writes.get(_place(access))
            runs = _union(mine.runs, access.runs, access.offset.const - mine.offset.const) if mine is not None else None
            if runs is None or access.buffer not in self.shared:
                return None
            writes[_place(access)] = Access(mine.buffer, mine.offset, runs, mine.tile, block=mine.block)
        made = Op("simt", "store")
        made.reads, made.writes, made.source = first.reads, list(writes.values()), first.source
        return [made, *self._rest(first, second)]

    def _rest(self, first, second):
        """The reads of the second store that the first one has not done."""
        known = {_key(read) for read in first.reads if all(self._apart(write.buffer, read.buffer) for write in first.writes)}
        left = Op("simt", "load")
        left.reads, left.source = [read for read in second.reads if _key(read) not in known], second.source
        return [left] if left.reads else []

    def body(self, items):
        """Statements with their stores joined, those inside of blocks as well."""
        out = []
        for item in items:
            if isinstance(item, tuple):
                kind, head, inner, other = item
                item = (kind, head, self.body(inner), self.body(other) if other else other)
            made = self._joined(out[-1], item) if out else None
            if made is None:
                out.append(item)
            else:
                out[-1:] = made
        return out
