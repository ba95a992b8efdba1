# SPDX-License-Identifier: Apache-2.0
"""Instructions that touch memory, synchronise or decide where a thread goes on.

make(machine, instruction) gives (a function of a lane, does it end a turn), or nothing for one on registers only. A
function that has to wait sets lane.wait: it is asked again and again, and acquires when it answers yes."""

from .integers import mixed, reader
from .memory import MASK, PARAMETER, SHARED, Clocks

NOTHING = ("setmaxnreg", "griddepcontrol", "nanosleep", "prefetch", "createpolicy", "discard", "applypriority")
ATOMIC = {"add": lambda a, b: a + b, "inc": lambda a, b: 0 if a >= b else a + 1, "exch": lambda a, b: b, "or": lambda a, b: a | b,
          "and": lambda a, b: a & b, "max": max, "min": min, "xor": lambda a, b: a ^ b}


def undefined(why):
    from .machine import Undefined
    raise Undefined(why)


class Barrier:
    """A named barrier, or the barrier of a cluster: arrivals, phases, and what is released in each."""

    def __init__(self, expected=None):
        self.arrived, self.phase, self.expected = 0, 0, expected
        self.pending, self.complete = Clocks(), Clocks()

    def arrive(self, count, clocks=None):
        if clocks:
            self.pending.join(clocks)
        self.arrived += count
        self.complete_if_full()

    def complete_if_full(self):
        if self.arrived and self.arrived >= self.expected():
            self.arrived, self.phase = 0, self.phase + 1
            self.complete.join(self.pending)
            self.pending = Clocks()


class Mbarrier:
    def __init__(self, count):
        self.count = self.pending_count = count
        self.bytes = self.phase = 0
        self.pending, self.complete = Clocks(), Clocks()

    def arrive(self, count=1, clocks=None, expect=0):
        self.bytes += expect
        self.pending_count -= count
        if clocks:
            self.pending.join(clocks)
        self.advance()

    def bytes_done(self, count, clocks):
        self.bytes -= count
        self.pending.join(clocks)
        self.advance()

    def advance(self):
        if self.pending_count < 0:
            undefined("more arrivals at an mbarrier than it counts")
        if self.pending_count == 0 and self.bytes == 0:
            self.phase, self.pending_count = self.phase + 1, self.count
            self.complete.join(self.pending)
            self.pending = Clocks()


class Transfer:
    """Asynchronous work: its steps, one at a time, when it is ready. Its number is that of an agent of its own."""

    def __init__(self, machine, steps, ranks, ready=lambda: True):
        machine.transfers_made += 1
        self.number = 10 ** 6 + machine.transfers_made
        self.steps, self.ranks, self.ready, self.passed = steps, set(ranks), ready, 0
        self.read = self.done = False
        machine.transfers.append(self)
        machine.changes += 1

    def step(self):
        self.steps[self.passed](self)
        self.passed += 1
        self.done = self.passed == len(self.steps)

    def clocks(self):
        return Clocks({self.number: 1}, {self.number: 1})


# ---- addresses ----------------------------------------------------------------------------


def address_of(argument):
    """A function that gives the address of ("mem", base, offset)."""
    base, offset = reader(argument[1]), argument[2]
    return lambda lane: base(lane.regs) + offset


def cells(machine, address, size):
    """The cells of some bytes. Shared memory must be there."""
    if address >> 40 == 1:
        address &= MASK
    if address < SHARED:
        rank, end = address >> 24, (address & 0xFFFFFF) + size
        if rank >= machine.launch.cluster or end > machine.kernel.shared_bytes + machine.launch.smem:
            undefined("an access beyond shared memory")
        if machine.ctas and machine.ctas[rank].gone:
            undefined("an access to the memory of a block that has ended")
    if address % 4 or size % 4:
        raise NotImplementedError("a part of 4 bytes")
    return range(address >> 2, (address + size) >> 2)


def mbarrier_at(machine, address):
    address &= MASK
    cells(machine, address, 8)
    return machine.mbarriers.get(address) or undefined("an mbarrier that is not initialised")


# ---- loads, stores, atomics ---------------------------------------------------------------


def width(instruction):
    return int(instruction.parts[-1][1:]) // 8


def strength(parts):
    return {"acquire", "release", "acq_rel", "volatile", "relaxed"} & set(parts)


def access(machine, i):
    op, parts, store = i.op, i.parts, i.parts[0] == "st"
    at, value = (i.args[0], i.args[1]) if store else (i.args[1], i.args[0])
    address, size, local = address_of(at), width(i), "param" in parts
    names = value if isinstance(value, list) else [value]
    strong, gets = strength(parts), [reader(name) for name in names]

    def load(lane):
        where = address(lane)
        if local or where >= PARAMETER:
            lane.regs[names[0]] = machine.parameters[(where - PARAMETER) >> 12] & ((1 << 8 * size) - 1)
            return
        for n, name in enumerate(names):
            lane.regs[name] = sum(load_cell(machine, lane, cell, strong) << 32 * k
                                  for k, cell in enumerate(cells(machine, where + n * size, size)))

    def put(lane):
        where = address(lane)
        for n, get in enumerate(gets):
            for k, cell in enumerate(cells(machine, where + n * size, size)):
                store_cell(machine, lane, cell, get(lane.regs) >> 32 * k, strong)
    seen_by_others = not local and "global" not in parts or strong
    return (put if store else load), bool(seen_by_others)


def load_cell(machine, lane, cell, strong=()):
    warp = lane.warp
    value = machine.memory.read(cell, warp.clocks.generic, warp.seen)
    if strong and cell in machine.memory.clocks:
        (warp.clocks if strong & {"acquire", "acq_rel"} else warp.heard).join(machine.memory.clocks[cell])
    return value


def store_cell(machine, lane, cell, value, strong=()):
    warp = lane.warp
    machine.memory.write(cell, value, warp.number, warp.time)
    if strong:
        clocks = machine.memory.clocks.setdefault(cell, Clocks())
        clocks.join(warp.release() if strong & {"release", "acq_rel"} else warp.released)
    if value & MASK != machine.memory.cells[cell][-2][0]:
        machine.change()


def atomic(machine, i):
    result = None if i.parts[0] == "red" else i.args[0]
    at, *values = i.args if result is None else i.args[1:]
    address, gets, strong = address_of(at), [reader(value) for value in values], strength(i.parts) | {"relaxed"}
    kind = next(part for part in i.parts if part in ATOMIC or part == "cas")

    def run(lane):
        cell = cells(machine, address(lane), 4)[0]
        load_cell(machine, lane, cell, strong)
        old, given = machine.memory.newest(cell), [get(lane.regs) for get in gets]
        new = (given[1] if old == given[0] else old) if kind == "cas" else \
            mixed(i.op, old, given[0]) if i.parts[-1][0] == "f" else ATOMIC[kind](old, given[0])
        store_cell(machine, lane, cell, new, strong)
        if result is not None:
            lane.regs[result] = old
    return run, True


def fence(machine, i):
    def run(lane):
        warp = lane.warp
        if "proxy" in i.parts:
            if "async" in " ".join(i.parts):
                warp.proxy_fence()
        elif "mbarrier_init" not in i.parts:
            warp.clocks.join(warp.heard)
            warp.released.join(warp.release())
    return run, True


# ---- barriers -----------------------------------------------------------------------------


def gather(machine, i, act, members=None):
    """Runs act(lanes) when all threads of the warp, or of a mask, are at this instruction."""
    def run(lane):
        warp = lane.warp
        mask = MASK if members is None else reader(members)(lane.regs)
        lanes = warp.gathered.setdefault(id(i), (mask, [], act))[1]
        lanes.append(lane)
        lane.wait = lambda: False
        machine.change()
        complete_gathering(machine, warp, id(i))
    return run, True


def complete_gathering(machine, warp, at):
    mask, lanes, act = warp.gathered[at]
    if len(lanes) == sum(1 for lane in warp.live() if mask >> lane.index & 1):
        del warp.gathered[at]
        for lane in lanes:
            lane.wait = None
        act(lanes)


def wait_for(lane, barrier, phase, acquires=True):
    def passed():
        if barrier.phase == phase:
            return False
        if acquires:
            lane.warp.clocks.join(barrier.complete)
        return True
    lane.wait = passed


def named_barrier(machine, i):
    which, *count = [reader(argument) for argument in i.args]

    def act(lanes):
        lane = lanes[0]
        warp, cta = lane.warp, lane.warp.cta
        number, threads = which(lane.regs), count[0](lane.regs) if count else None
        everyone = lambda: 32 * sum(1 for one in cta.warps if one.live())  # noqa: E731
        barrier = cta.barriers.setdefault(number, Barrier())
        barrier.expected = (lambda: threads) if threads else everyone
        phase = barrier.phase
        if "arrive" not in i.parts:
            for one in lanes:
                wait_for(one, barrier, phase)
        barrier.arrive(32, warp.release())
        if threads and barrier.arrived > threads:
            undefined("more threads at a barrier than it counts")
        machine.change()
    return gather(machine, i, act)


def cluster_barrier(machine, i):
    barrier = machine.cluster_barrier
    barrier.expected = lambda: sum(len(warp.live()) for warp in machine.warps)

    def run(lane):
        if i.parts[2] == "arrive":
            lane.cluster_phase = barrier.phase
            barrier.arrive(1, None if "relaxed" in i.parts else lane.warp.release())
            machine.change()
        elif lane.cluster_phase is None:
            undefined("a wait for the cluster without an arrival")
        else:
            wait_for(lane, barrier, lane.cluster_phase)
            lane.cluster_phase = None
    return run, True


def mbarrier(machine, i):
    op, parts = i.parts[1], i.parts
    if op == "arrive":
        return mbarrier_arrive(machine, i)
    if op in ("try_wait", "test_wait"):
        return mbarrier_wait(machine, i)
    address, *more = [address_of(i.args[0])] + [reader(argument) for argument in i.args[1:]]

    def run(lane):
        machine.change()
        at = address(lane) & MASK
        if op == "init":
            cells(machine, at, 8)
            machine.mbarriers[at] = Mbarrier(more[0](lane.regs))
        elif op == "inval":
            machine.mbarriers.pop(at, None)
        elif op == "expect_tx":
            mbarrier_at(machine, at).bytes += more[0](lane.regs)
        else:
            raise NotImplementedError(".".join(parts))
    return run, True


def mbarrier_arrive(machine, i):
    args = list(i.args)
    token = None if args[0] == "_" or args[0][0] == "mem" else args[0]
    at, *more = args if args[0][0] == "mem" else args[1:]
    address, more = address_of(at), [reader(argument) for argument in more]
    expects = "expect_tx" in i.parts

    def run(lane):
        barrier = mbarrier_at(machine, address(lane))
        if token:
            lane.regs[token] = barrier.phase
        value = more[0](lane.regs) if more else None
        clocks = None if "relaxed" in i.parts else lane.warp.release()
        barrier.arrive(1 if expects or value is None else value, clocks, value if expects else 0)
        machine.change()
        if machine.random.random() < 0.3:  # others first, so that what follows an arrival too early comes late
            lane.warp.priority = -machine.steps
    return run, True


def mbarrier_wait(machine, i):
    done, at, which = i.args[0], address_of(i.args[1]), reader(i.args[2])

    def run(lane):
        barrier, value = mbarrier_at(machine, at(lane)), which(lane.regs)
        passed = barrier.phase & 1 != value & 1 if "parity" in i.parts else barrier.phase != value
        lane.regs[done] = passed
        if not passed:
            lane.warp.priority = -machine.steps  # others first
        elif "relaxed" not in i.parts:
            lane.warp.clocks.join(barrier.complete)
    return run, True


# ---- within a warp ------------------------------------------------------------------------


def shuffle(machine, i):
    targets = i.args[0] if isinstance(i.args[0], list) else [i.args[0]]
    gets, mode = [reader(argument) for argument in i.args[1:]], i.parts[2]

    def act(lanes):
        values = {lane.index: gets[0](lane.regs) for lane in lanes}
        for lane in lanes:
            b = gets[1](lane.regs)
            source = {"bfly": lane.index ^ b, "up": lane.index - b, "down": lane.index + b, "idx": b & 31}[mode]
            inside = source in values
            lane.pending = values[source if inside else lane.index], inside
        for lane in lanes:
            for name, value in zip(targets, lane.pending):
                lane.regs[name] = value
    return gather(machine, i, act, i.args[4])


def vote(machine, i):
    get = reader(i.args[1])

    def act(lanes):
        votes = [bool(get(lane.regs)) for lane in lanes]
        value = sum(vote << lane.index for vote, lane in zip(votes, lanes)) if "ballot" in i.parts else \
            {"any": any, "all": all}[i.parts[2]](votes)
        for lane in lanes:
            lane.regs[i.args[0]] = value
    return gather(machine, i, act, i.args[2])


def elect(machine, i):
    def act(lanes):
        for lane in lanes:
            for name, value in zip(i.args[0], (lanes[0].index, lane.index == min(one.index for one in lanes))):
                lane.regs[name] = value
    return gather(machine, i, act, i.args[1])


def matrix(machine, i):
    """stmatrix and ldmatrix of 8 x 8 elements of 2 bytes: lanes 8n to 8n + 7 have the rows of matrix n."""
    at, names = (i.args[0], i.args[1]) if i.parts[0] == "stmatrix" else (i.args[1], i.args[0])
    address, store = address_of(at), i.parts[0] == "stmatrix"
    if "trans" in i.parts and store:
        raise NotImplementedError(i.op)

    def act(lanes):
        rows = {lane.index: address(lane) for lane in lanes}
        for lane in lanes:
            for n, name in enumerate(names):
                def cell(row, column):
                    return cells(machine, rows[8 * n + row] + 4 * column, 4)[0]
                low, high = lane.index % 4, lane.index // 4
                if store:
                    store_cell(machine, lane, cell(high, low), lane.regs[name])
                elif "trans" in i.parts:
                    lane.regs[name] = sum((load_cell(machine, lane, cell(2 * low + k, high // 2)) >> high % 2 * 16 & 0xFFFF)
                                          << 16 * k for k in range(2))
                else:
                    lane.regs[name] = load_cell(machine, lane, cell(high, low))
    return gather(machine, i, act)


# ---- control ------------------------------------------------------------------------------


def branch(machine, i):
    def run(lane):
        lane.pc = machine.kernel.labels[i.args[0]]
    return run, False


def leave(machine, i):
    return machine.exit, True


def trap(machine, i):
    return lambda lane: undefined("trap"), True


def convert_address(machine, i):
    get, to = reader(i.args[1]), i.args[0]
    if i.parts[0] == "mapa":
        rank, bits = reader(i.args[2]), SHARED if i.parts[-1] == "u64" and "shared::cluster" not in i.op else 0
        return lambda lane: lane.regs.__setitem__(to, get(lane.regs) & 0xFFFFFF | rank(lane.regs) << 24 | bits), False
    shared = "shared" in i.op
    if "to" in i.parts:
        return lambda lane: lane.regs.__setitem__(to, get(lane.regs) & MASK if shared else get(lane.regs)), False
    return lambda lane: lane.regs.__setitem__(to, get(lane.regs) | (SHARED if shared else 0)), False


def make(machine, i):
    from . import asynchronous
    parts = i.parts
    table = {"ld": access, "st": access, "ldu": access, "atom": atomic, "red": atomic, "fence": fence, "membar": fence,
             "mbarrier": mbarrier, "shfl": shuffle, "vote": vote, "elect": elect, "bra": branch, "ret": leave,
             "exit": leave, "trap": trap, "cvta": convert_address, "mapa": convert_address, "stmatrix": matrix,
             "ldmatrix": matrix, "cp": asynchronous.copy, "wgmma": asynchronous.wgmma}
    if parts[0] in NOTHING:
        return (lambda lane: None), False
    if i.op.startswith("bar.warp.sync"):
        return gather(machine, i, lambda lanes: None, i.args[0])
    if parts[0] in ("bar", "barrier"):
        return cluster_barrier(machine, i) if "cluster" in parts else named_barrier(machine, i)
    if parts[0] in ("call", "tcgen05", "match", "redux", "clusterlaunchcontrol", "tensormap", "wmma"):
        raise NotImplementedError(i.op)
    return table[parts[0]](machine, i) if parts[0] in table else None
