# SPDX-License-Identifier: Apache-2.0
"""Runs one cluster: picks a warp at random, and goes on until it touches shared memory or synchronises."""

import random
from dataclasses import dataclass, field

from . import operations
from .integers import Registers, compute
from .memory import GLOBAL, PARAMETER, Clocks, Memory

LIMIT = 400_000  # steps of warps


class Undefined(Exception):
    """The PTX ISA does not define what the program does."""


@dataclass
class Launch:
    """Arguments: a number, ("buffer", bytes[, words]) or ("map", bytes of a box)."""
    block: int
    args: list
    cluster: int = 1
    grid: int = 0
    smem: int = 0


@dataclass
class Lane:
    """A thread. It runs if it waits for nothing; what it waits for is a function that also does what follows."""
    regs: Registers
    warp: object
    index: int
    pc: int = 0
    wait: object = None
    done: bool = False
    copies: list = field(default_factory=list)  # cp.async, not yet in a group
    groups: list = field(default_factory=list)
    bulk: list = field(default_factory=list)
    bulk_groups: list = field(default_factory=list)
    fenced: dict = field(default_factory=dict)  # registers at the last wgmma.fence
    cluster_phase: int | None = None  # of an arrival that was not waited for


class Warp:
    def __init__(self, number, cta, priority):
        self.number, self.cta, self.priority = number, cta, priority
        self.lanes, self.seen, self.gathered, self.copying = [], {}, {}, (None,)
        self.clocks, self.released, self.heard = Clocks({number: 1}), Clocks(), Clocks()
        self.time, self.stopped_at = 1, -1

    def release(self):
        copy = self.clocks.copy()
        self.time += 1
        self.clocks.generic[self.number] = self.time
        return copy

    def proxy_fence(self):
        self.clocks.proxy.update(self.release().generic)

    def live(self):
        return [lane for lane in self.lanes if not lane.done]


class Cta:
    def __init__(self, rank):
        self.rank, self.warps, self.barriers, self.groups, self.gone = rank, [], {}, {}, False

    def find_end(self):
        self.gone = not any(warp.live() for warp in self.warps)


class Machine:
    def __init__(self, kernel, launch, seed):
        self.kernel, self.launch, self.random = kernel, launch, random.Random(seed)
        self.memory, self.mbarriers, self.transfers = Memory(self.random), {}, []
        self.changes = self.steps = self.transfers_made = 0
        self.cluster_barrier = operations.Barrier()
        self.hurry = self.random.choice((0.0, 0.02, 0.2, 0.8))  # how soon asynchronous work is done
        self.fair = self.random.random() < 0.4
        self.programs = [self.program(instruction) for instruction in kernel.code]
        self.set_arguments()
        self.executed = set()  # lines
        self.ctas = [self.make_cta(rank) for rank in range(launch.cluster)]
        self.warps = [warp for cta in self.ctas for warp in cta.warps]

    def program(self, instruction):
        """(function, does it end a turn)"""
        made = operations.make(self, instruction)
        if made:
            return made
        function = compute(instruction)
        return (lambda lane: function(lane.regs)), False

    def set_arguments(self):
        self.parameters = []
        for number, argument in enumerate(self.launch.args):
            if isinstance(argument, tuple) and argument[0] == "buffer":
                base = GLOBAL + (number << 32)
                self.parameters.append(base)
                for n, word in enumerate(argument[2] if len(argument) > 2 else []):
                    self.memory.cells[(base >> 2) + n] = [(word & 0xFFFFFFFF, None, 0, False)]
            else:
                self.parameters.append(argument)

    def make_cta(self, rank):
        cta, launch = Cta(rank), self.launch
        names = {name: rank << 24 | offset for name, offset in self.kernel.shared.items()}
        names |= {name: PARAMETER + (n << 12) for n, (name, _) in enumerate(self.kernel.parameters)}
        for tid in range(launch.block):
            if tid % 32 == 0:
                number = rank * (launch.block // 32) + tid // 32
                cta.warps.append(Warp(number, cta, self.random.random()))
            regs = Registers(names)
            regs |= {"%tid.x": tid, "%ntid.x": launch.block, "%ctaid.x": rank, "%laneid": tid % 32, "%cluster_ctarank": rank,
                     "%nctaid.x": launch.grid or launch.cluster, "%cluster_nctarank": launch.cluster, "%warpid": tid // 32,
                     "%cluster_ctaid.x": rank, "%cluster_nctaid.x": launch.cluster, "%clusterid.x": 0, "WARP_SZ": 32}
            regs |= {f"%{name}.{dim}": value for name, value in (("tid", 0), ("ctaid", 0), ("ntid", 1), ("nctaid", 1))
                     for dim in "yz"}
            cta.warps[-1].lanes.append(Lane(regs, cta.warps[-1], tid % 32))
        return cta

    # ---- the schedule ---------------------------------------------------------------------

    def run(self):
        """("values", digest), ("deadlock",), ("undefined", why) or ("timeout",)."""
        idle = 0
        try:
            while self.steps < LIMIT:
                self.steps += 1
                before = self.changes
                if self.transfers and self.random.random() < self.hurry:
                    self.transfer()
                elif not self.turn() or idle > 8 * len(self.warps):
                    if not self.transfer():
                        if all(warp.live() == [] for warp in self.warps):
                            return "values", self.digest()
                        if idle > 100 * len(self.warps) or not any(self.runnable(warp) for warp in self.warps):
                            return ("deadlock",)
                idle = 0 if self.changes != before else idle + 1
            return ("timeout",)
        except Undefined as error:
            return "undefined", str(error)

    def turn(self):
        """One turn of a warp; false if none can run. Unfair schedules prefer the one with the highest priority."""
        order = sorted(self.warps, key=lambda warp: -warp.priority) if not self.fair else \
            self.random.sample(self.warps, len(self.warps))
        for warp in order:
            lanes = self.runnable(warp)
            if lanes:
                if self.random.random() < 0.05:
                    warp.priority = self.random.random()
                self.advance(lanes)
                return True
        return False

    def runnable(self, warp):
        """Lanes at one instruction that can go on: mostly those furthest behind."""
        if warp.stopped_at == self.changes:
            return None
        at = {}
        for lane in warp.lanes:
            if lane.wait and lane.wait():
                lane.wait = None
            if not lane.done and not lane.wait:
                at.setdefault(lane.pc, []).append(lane)
        if not at:
            warp.stopped_at = self.changes
            return None
        return at[min(at) if self.random.random() < 0.7 else self.random.choice(list(at))]

    def advance(self, lanes):
        """Runs lanes at one instruction until it is one that others see, or they part."""
        code, programs = self.kernel.code, self.programs
        while True:
            pc = lanes[0].pc
            self.steps += 1
            if pc >= len(code):
                for lane in lanes:
                    self.exit(lane)
                return
            instruction, (function, ends) = code[pc], programs[pc]
            guard, unless = instruction.guard, instruction.unless
            self.executed.add(instruction.line)
            for lane in lanes:
                lane.pc = pc + 1
                if guard is None or bool(lane.regs[guard]) != unless:
                    function(lane)
            if ends or self.steps > LIMIT or any(lane.pc != lanes[0].pc or lane.done for lane in lanes):
                return

    def transfer(self):
        """Does one part of the asynchronous work that is under way."""
        for transfer in self.random.sample(self.transfers, len(self.transfers)):
            if transfer.ready():
                self.changes += 1
                transfer.step()
                if transfer.done:
                    self.transfers.remove(transfer)
                return True
        return False

    def exit(self, lane):
        lane.done = True
        self.changes += 1
        warp = lane.warp
        for pc in list(warp.gathered):
            operations.complete_gathering(self, warp, pc)
        for barrier in warp.cta.barriers.values():
            barrier.complete_if_full()
        self.cluster_barrier.complete_if_full()
        warp.cta.find_end()
        if warp.cta.gone and any(warp.cta.rank in transfer.ranks for transfer in self.transfers):
            raise Undefined("asynchronous work on shared memory after the end of its block")

    def digest(self):
        """What is in global memory, and in the tensors of maps."""
        return hash(tuple(sorted((cell, values[-1][0]) for cell, values in self.memory.cells.items()
                                 if cell >= GLOBAL >> 2 and len(values) > 1)))

    def change(self):
        self.changes += 1


def outcomes(kernel, launch, seeds):
    """The outcomes under some schedules, each with the first seed that gives it."""
    found = {}
    for seed in seeds:
        found.setdefault(Machine(kernel, launch, seed).run(), seed)
    return found
