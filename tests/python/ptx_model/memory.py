# SPDX-License-Identifier: Apache-2.0
"""Memory as histories: each cell of 4 bytes has all values that were written to it, with writer and time, and a clock
says which of them a reader can no longer miss. An agent has two clocks, of the generic and of the async proxy; a proxy
fence raises the second to the first, a release copies both into an object, an acquire takes them from there."""

from .integers import mixed

SHARED, GLOBAL, PARAMETER = 1 << 40, 2 << 40, 3 << 40
MASK = 0xFFFFFFFF


def join(clock, other):
    for agent, time in other.items():
        if clock.get(agent, 0) < time:
            clock[agent] = time


class Clocks:
    """What an agent, or an object that agents synchronise with, knows of: agent -> time."""

    def __init__(self, generic=(), proxy=()):
        self.generic, self.proxy = dict(generic), dict(proxy)

    def copy(self):
        return Clocks(self.generic, self.proxy)

    def join(self, other):
        join(self.generic, other.generic)
        join(self.proxy, other.proxy)


class Memory:
    def __init__(self, random):
        self.random = random
        self.cells = {}  # cell -> [(value, writer, time, by the async proxy)]
        self.clocks = {}  # cell -> what releases by atomics and flags have left there

    def history(self, cell):
        if cell not in self.cells:
            value = mixed(cell) & 0xFFFF if cell >= GLOBAL >> 2 else self.random.getrandbits(32)
            self.cells[cell] = [(value, None, 0, False)]
        return self.cells[cell]

    def newest(self, cell):
        return self.history(cell)[-1][0]

    def read(self, cell, clock, seen):
        """Any value that is not outdated for this clock, and not older than what this agent has read."""
        values = self.history(cell)
        last = low = len(values) - 1
        while low > seen.get(cell, 0) and clock.get(values[low][1], 0) < values[low][2]:
            low -= 1
        if low == last:
            return values[last][0]
        seen[cell] = self.random.choice((low, self.random.randint(low, last)))
        return values[seen[cell]][0]

    def write(self, cell, value, writer, time):
        self.history(cell).append((value & MASK, writer, time, False))

    def write_by_proxy(self, cell, value, writer, clock):
        """The write of a copy: one by a thread that no proxy fence has ordered before it may land after it."""
        values = self.history(cell)
        before = values[-1]
        values.append((value & MASK, writer, 1, True))
        if not before[3] and clock.get(before[1], 0) < before[2] and self.random.random() < 0.5:
            values.append(before)
