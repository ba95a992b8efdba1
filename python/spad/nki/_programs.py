# SPDX-License-Identifier: Apache-2.0
"""The programs of a launch: a grid of them on one core, or one for each of two cores.

Every program runs the same function. What it makes in shared HBM is one tensor for all: the n-th that
a program makes is the n-th that the first one made. Everything else is its own.
"""

import contextvars
import functools
import itertools
import math
import threading

from .. import core


@functools.cache
def _two_cores(name):
    lines, inside = [], ("", "")
    for line in core.Target(name).text().split("\n"):
        words = line.split()
        if words[:1] in (["space"], ["engine"]):
            inside = words[0], words[1]
        if words[:1] == ["target"]:
            line = line.replace(name, f"{name}_lnc2", 1)
        lines.append(line)
        if line.endswith("{") and inside in (("space", "sbuf"), ("space", "psum")):
            lines.append("    instances 2")
        elif line.endswith("{") and inside[0] == "engine" and inside[1] not in ("dma", "sync"):
            lines.append("    count 2")
    return core.Target.parse("\n".join(lines), f"{name}_lnc2")


def two_cores(chip):
    """The chip with two cores: each has its own SBUF, PSUM and engines; HBM and the DMA engines are shared."""
    return _two_cores(chip.name)



class Cores:
    """nl.nc(2)."""

    def __init__(self, count):
        self.count = count


class SpmdDim:
    """nl.spmd_dim(4, nl.nc(2)): a dimension of a grid whose programs alternate between the cores."""

    def __init__(self, count, cores):
        self.count, self.cores = count, getattr(cores, "count", cores)


class Programs:
    """Which program of a launch is recorded."""

    def __init__(self, lnc):
        self.lnc = lnc
        self.grid = (lnc,)
        self.at = (0,)
        self.core = 0
        self._shared, self._next = [], None
        self._launches, self._launched = [], 0  # what each made in shared HBM; how many there were

    def launch(self, grid, run):
        """Calls run() for every program of a grid, in order; gives back what the first one does. Of two cores each
        runs its own."""
        dims = [dim if isinstance(dim, SpmdDim) else SpmdDim(dim, 1) for dim in
                (grid if isinstance(grid, (tuple, list)) else (grid,))]
        counts = [max(int(dim.count), 1) * dim.cores for dim in dims]
        if math.prod(counts) > 4096:
            raise ValueError(f"a launch of {math.prod(counts)} programs: a trace has at most 4096")
        halves = [at for at, dim in enumerate(dims) if dim.cores == 2]
        if self.lnc == 2 and len(halves) != 1:
            raise ValueError("a launch on two cores: nl.spmd_dim(n, nl.nc(2)) in the grid says which programs each has")
        if self.core == 0:
            self._launches.append([])
        before = self.grid, self.at, self._shared, self._next
        self.grid, self._shared = tuple(counts), self._launches[self._launched]
        self._launched += 1
        try:
            returned = None
            own = [at for at in itertools.product(*map(range, counts))
                   if self.lnc == 1 or at[halves[0]] % 2 == self.core]
            for number, at in enumerate(own):
                self.at, self._next = at, 0 if number or self.core else None
                made = run()
                returned = made if number == 0 else returned
        finally:
            self.grid, self.at, self._shared, self._next = before
        return returned

    def on_core(self, number):
        """From now on the program of this core is recorded."""
        self.core, self.at, self._next, self._launched = number, (number,), 0 if number else None, 0

    def known(self, shape, dtype):
        """What an earlier program has made for this tensor in shared HBM, or None."""
        if self._next is None:
            return None
        if self._next == len(self._shared):
            raise ValueError("a program makes a tensor in shared HBM that the first one does not make")
        found = self._shared[self._next]
        if (found.shape, found.dtype) != (tuple(shape), str(dtype)):
            raise ValueError(f"a program makes {dtype}{list(shape)} in shared HBM where the first one makes "
                             f"{found.dtype}{list(found.shape)}")
        self._next += 1
        return found

    def made(self, storage):
        """A tensor in shared HBM was made."""
        if self._next is None:
            self._shared.append(storage)

    def program_id(self, axis=0):
        if not -len(self.at) <= axis < len(self.at):
            return 0
        return self.at[axis]

    def num_programs(self, axes=None):
        if axes is None:
            return math.prod(self.grid)
        axes = axes if isinstance(axes, (tuple, list)) else (axes,)
        return math.prod(self.grid[axis] if axis < len(self.grid) else 1 for axis in axes)

    def state(self):
        """What changes from program to program."""
        return self.core, self.at, self.grid, self._shared, self._next, self._launched

    def resume(self, state):
        self.core, self.at, self.grid, self._shared, self._next, self._launched = state


class _Stopped(BaseException):
    """The other program has failed."""


class Turns:
    """The programs of two cores, each of which runs until it meets the other one: numbers that one reads are those that
    the other one has written. What a program records is its own."""

    def __init__(self, recorder, run):
        self._recorder, self._run = recorder, run
        self._changed, self._turn, self._failure = threading.Condition(), 0, None
        self._ended, self._kept, self._met = [False, False], [None, None], [0, 0]

    def both(self):
        """Runs both programs; gives back what the first one does."""
        recorder = self._recorder
        recorder.turns = self
        first = recorder.lines, recorder.places
        recorder.programs.on_core(1)
        self._kept[1] = [], [], None, None, recorder.programs.state(), []
        recorder.programs.on_core(0)
        other = threading.Thread(target=contextvars.copy_context().run, args=(self._second,), daemon=True)
        other.start()
        try:
            returned = self._run()
            recorder.settle()
        except BaseException as error:
            self._stop(error)
            raise
        finally:
            self._end(0)
            other.join()
        if self._failure is not None:
            raise self._failure
        lines, places = self._kept[1][:2]
        recorder.second = len(first[0])
        recorder.lines, recorder.places = first[0] + lines, first[1] + places
        return returned

    def _second(self):
        try:
            self._wait(1)
            self._run()
            self._recorder.settle()
        except _Stopped:
            pass
        except BaseException as error:
            self._stop(error)
        finally:
            self._end(1)

    def _stop(self, error):
        with self._changed:
            self._failure = self._failure or error
            self._changed.notify_all()

    def _end(self, core):
        with self._changed:
            self._ended[core] = True
            if self._failure is None:
                self._hand_over(core)
            self._changed.notify_all()

    def _hand_over(self, core):
        recorder, older = self._recorder, self._recorder.older
        self._kept[core] = (recorder.lines, recorder.places, recorder.pending, recorder.at, recorder.programs.state(),
                            older.loops if older is not None else [])
        lines, places, pending, at, state, loops = self._kept[1 - core]
        recorder.lines, recorder.places, recorder.pending, recorder.at = lines, places, pending, at
        recorder.programs.resume(state)
        if older is not None:
            older.loops = loops
        self._turn = 1 - core

    def _wait(self, core):
        with self._changed:
            self._changed.wait_for(lambda: self._turn == core or self._failure is not None)
            if self._failure is not None:
                raise _Stopped

    def meet(self):
        """The program waits for the other one here."""
        core = self._recorder.programs.core
        self._met[core] += 1
        if not self._ended[1 - core]:
            with self._changed:
                self._hand_over(core)
                self._changed.notify_all()
            self._wait(core)
        if self._ended[1 - core] and self._met[1 - core] < self._met[core]:
            raise ValueError("the cores meet a different number of times: the other one has ended")
