# SPDX-License-Identifier: Apache-2.0
"""A sweep over steps: the pieces that are alive now and share no bytes, in the order of their places. A
question or a change takes the logarithm of their number, and moving a list of pointers."""

import heapq
from bisect import bisect_left


class Alive:
    """Steps only go on: advance() before each add()."""

    def __init__(self):
        self.starts, self.pieces = [], {}  # start -> end and what it is
        self.ends, self.added = [], 0  # a heap of (last, number, start, what)

    def advance(self, first):
        """Removes those whose last step is before `first`; returns them, the earliest last step first."""
        gone = []
        while self.ends and self.ends[0][0] < first:
            _, _, start, what = heapq.heappop(self.ends)
            if self.pieces.get(start, (0, None))[1] is what:  # else it was removed before
                self.remove(start)
                gone.append(what)
        return gone

    def clash(self, start, end):
        """A piece that shares bytes with [start, end); None: there is none."""
        at = bisect_left(self.starts, end) - 1
        if at < 0 or self.pieces[self.starts[at]][0] <= start:
            return None
        return self.pieces[self.starts[at]][1]

    def add(self, start, end, last, what):
        """A piece that clashes with none."""
        self.starts.insert(bisect_left(self.starts, start), start)
        self.pieces[start] = end, what
        self.added += 1
        heapq.heappush(self.ends, (last, self.added, start, what))

    def remove(self, start):
        """The piece that begins at `start`."""
        del self.starts[bisect_left(self.starts, start)], self.pieces[start]
