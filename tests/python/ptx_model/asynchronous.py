# SPDX-License-Identifier: Apache-2.0
"""Copies and products that go on beside the threads."""

from .integers import mixed, reader
from .memory import MASK, Clocks
from .operations import Transfer, address_of, cells, gather, mbarrier_at


def wait_for_all(lane, transfers, reads_only=False, proxy=False):
    """The lane goes on when some transfers are done, or have read; then it knows of what they wrote."""
    def passed():
        if not all(one.done or reads_only and one.read for one in transfers):
            return False
        if not reads_only:
            for one in transfers:
                lane.warp.clocks.join(one.clocks() if proxy else Clocks(one.clocks().generic))
        return True
    lane.wait = passed


def copy(machine, i):
    if "bulk" in i.parts:
        return bulk(machine, i)
    if i.op.startswith("cp.async.mbarrier"):
        return copies_arrive(machine, i)
    if i.parts[2] == "commit_group":
        def commit(lane):
            lane.groups.append(lane.copies)
            lane.copies = []
        return commit, False
    if i.parts[2] in ("wait_group", "wait_all"):
        def wait(lane):
            if i.parts[2] == "wait_all":
                lane.groups.append(lane.copies)
                lane.copies = []
            count = i.args[0] if i.args else 0
            wait_for_all(lane, [one for group in lane.groups[:len(lane.groups) - count] for one in group])
        return wait, True
    return copy_of_thread(machine, i)


def copy_of_thread(machine, i):
    to, source, size, *kept = i.args
    to, source, kept = address_of(to), address_of(source), [reader(argument) for argument in kept[:1]]

    def run(lane):
        given = size if not kept else min(size, kept[0](lane.regs))
        target, origin = cells(machine, to(lane), size), cells(machine, source(lane), size)

        warp, key = lane.warp, (id(i), machine.steps)
        if warp.copying[0] != key:  # lanes that go together share one transfer
            parts = []

            def land(transfer):
                for a, b, value in parts:
                    machine.memory.write(a, machine.memory.newest(b) if value else 0, transfer.number, 1)
            warp.copying = key, parts, Transfer(machine, [land], [warp.cta.rank])
        warp.copying[1].extend((a, b, 4 * n < given) for n, (a, b) in enumerate(zip(target, origin)))
        lane.copies.append(warp.copying[2])
    return run, True


def copies_arrive(machine, i):
    address = address_of(i.args[0])

    def run(lane):
        barrier, warp, key = mbarrier_at(machine, address(lane)), lane.warp, (id(i), machine.steps, address(lane))
        if warp.copying[0] != key:
            before, lanes = set(), []

            def arrive(_):
                barrier.arrive(len(lanes), Clocks({one.number: 1 for one in before}))
            warp.copying = key, (before, lanes)
            Transfer(machine, [arrive], [warp.cta.rank], lambda: all(one.done for one in before))
        before, lanes = warp.copying[1]
        before.update(one for group in [*lane.groups, lane.copies] for one in group)
        lanes.append(lane)
        if "noinc" not in i.op:
            barrier.pending_count += 1
    return run, True


# ---- bulk copies --------------------------------------------------------------------------


class Place:
    """One side of a copy: bytes in memory, or a box of a tensor map. `cells(lane)` names them, `bytes(lane)` counts."""

    def __init__(self, machine, argument, size):
        base, at = reader(argument[1]), argument[2]
        self.map = isinstance(at, list)

        def box(lane):
            which = (base(lane.regs) - (3 << 40)) >> 12
            return which, machine.parameters[which][1], tuple(reader(one)(lane.regs) for one in at)
        self.address = (lambda lane: None) if self.map else address_of(argument)
        self.bytes = (lambda lane: box(lane)[1]) if self.map else (lambda lane: size(lane.regs))

        def of_box(lane):
            which, count, coordinates = box(lane)
            return [(5 << 40) + (mixed(which, coordinates) << 20) + n for n in range(count // 4)]
        self.cells = of_box if self.map else (lambda lane: cells(machine, address_of(argument)(lane), size(lane.regs)))


def bulk(machine, i):
    if "commit_group" in i.parts:
        def commit(lane):
            lane.bulk_groups.append(lane.bulk)
            lane.bulk = []
        return commit, False
    if "wait_group" in i.parts:
        def wait(lane):
            kept = lane.bulk_groups[:len(lane.bulk_groups) - i.args[0]]
            wait_for_all(lane, [one for group in kept for one in group], "read" in i.parts, True)
        return wait, True
    if "prefetch" in i.parts:
        return (lambda lane: None), False
    return bulk_store(machine, i) if "bulk_group" in i.parts else bulk_load(machine, i)


def bulk_load(machine, i):
    args = list(i.args)
    size = reader(args.pop(2)) if not isinstance(args[2], tuple) else None
    to, source, barrier_at = address_of(args[0]), Place(machine, args[1], size), address_of(args[2])
    mask = reader(args[3]) if "multicast::cluster" in i.parts else None

    def run(lane):
        count, origin, target, signal = source.bytes(lane), source.cells(lane), to(lane) & MASK, barrier_at(lane) & MASK
        clock, cta = dict(lane.warp.clocks.proxy), lane.warp.cta.rank
        ranks = [rank for rank in range(machine.launch.cluster) if mask(lane.regs) >> rank & 1] if mask else [target >> 24]
        barriers = [(signal & 0xFFFFFF | rank << 24) if mask else signal for rank in ranks]
        targets = [cells(machine, target & 0xFFFFFF | rank << 24, count) for rank in ranks]
        shared = origin[0] < 1 << 38
        values = []

        def read(transfer):
            values.extend(machine.memory.read(cell, clock, {}) if shared else machine.memory.newest(cell) for cell in origin)

        def land(n):
            def step(transfer):
                for cell, value in zip(targets[n], values):
                    machine.memory.write_by_proxy(cell, value, transfer.number, clock)
                mbarrier_at(machine, barriers[n]).bytes_done(count, transfer.clocks())
            return step
        Transfer(machine, [read] + [land(n) for n in range(len(ranks))], ranks + [cta] * shared)
    return run, True


def bulk_store(machine, i):
    args = list(i.args)
    size = reader(args[2]) if len(args) > 2 and not isinstance(args[2], tuple) else None
    target, source = Place(machine, args[0], size), address_of(args[1])

    def run(lane):
        count, rank = target.bytes(lane), lane.warp.cta.rank
        origin, written, clock = cells(machine, source(lane), count), target.cells(lane), dict(lane.warp.clocks.proxy)
        values = []

        def read(transfer):
            values.extend(machine.memory.read(cell, clock, {}) for cell in origin)
            transfer.read = True
            transfer.ranks.clear()

        def land(transfer):
            for cell, value in zip(written, values):
                old = machine.memory.newest(cell)
                machine.memory.write(cell, old + value if "reduce" in i.parts else value, transfer.number, 1)
        lane.bulk.append(Transfer(machine, [read, land], [rank]))
    return run, True


# ---- wgmma --------------------------------------------------------------------------------


class Group:
    """The products of a warpgroup, done in order; each chain of accumulators has one value."""

    def __init__(self):
        self.open, self.groups, self.last, self.values, self.here = [], [], None, {}, {}


def group_of(lane):
    warps = lane.warp.cta.warps
    number = warps.index(lane.warp) // 4
    return lane.warp.cta.groups.setdefault(number, Group()), [one for warp in warps[4 * number:4 * number + 4] for one in warp.lanes]


def together(machine, i, act):
    """Runs act(group, lanes) once all four warps are here."""
    def warp_is_here(lanes):
        group, everyone = group_of(lanes[0])
        count = group.here.setdefault(id(i), [])
        count.extend(lanes)
        for lane in lanes:
            lane.wait = lambda: False
        if len(count) == len(everyone):
            del group.here[id(i)]
            for lane in everyone:
                lane.wait = None
            act(group, everyone)
        machine.change()
    return gather(machine, i, warp_is_here)


def wgmma(machine, i):
    if i.parts[1] == "fence":
        def fence(lanes):
            for lane in lanes:
                lane.fenced = dict(lane.regs)
        return gather(machine, i, fence)
    if i.parts[1] == "commit_group":
        def commit(group, lanes):
            group.groups.append(group.open)
            group.open = []
        return together(machine, i, commit)
    if i.parts[1] == "wait_group":
        return gather(machine, i, lambda lanes: wait_for_products(lanes, i.args[0]))
    return product(machine, i)


def wait_for_products(lanes, count):
    group, _ = group_of(lanes[0])
    waited = [one for some in group.groups[:max(len(group.groups) - count, 0)] for one in some]

    def wait(lane):
        def passed():
            if not all(one.done for one in waited):
                return False
            for one in waited:
                lane.warp.clocks.join(one.clocks())
                if one.last_of_chain():
                    one.taken = True
                    values = {name: mixed(one.value, lane.index, n) for n, name in enumerate(one.names)}
                    lane.regs |= values
                    lane.fenced |= values
            return True
        lane.wait = passed
    for lane in lanes:
        wait(lane)


def matrix_cells(machine, rank, descriptor, rows, major_k):
    """The cells that a descriptor names, of `rows` x 32 bytes, or of 16 x (2 rows) bytes where `rows` go along memory."""
    start, lead, stride = [(descriptor >> at & 0x3FFF) << 4 for at in (0, 16, 32)]
    swizzle = {0: 16, 1: 128, 2: 64, 3: 32}[descriptor >> 62]
    found = set()
    if major_k:
        chunks = [(row // 8 * stride + row % 8 * swizzle, column) for row in range(rows) for column in (0, 1)]
        places = [start + at + (column * 16 if swizzle > 16 else column * lead) for at, column in chunks]
    else:
        if swizzle == 16:
            raise NotImplementedError("a matrix along memory without swizzle")
        places = [start + k // 8 * stride + k % 8 * swizzle + chunk * 16 % swizzle + chunk * 16 // swizzle * lead
                  for k in range(16) for chunk in range(rows // 8)]
    for place in places:
        place ^= place >> 3 & swizzle - 16
        found.update(cells(machine, rank << 24 | place, 16))
    return sorted(found)


def product(machine, i):
    names, a, b, scale, *flags = i.args
    shape = next(part for part in i.parts if part[0] == "m" and "k" in part)
    columns = int(shape[shape.index("n") + 1:shape.index("k")])
    transposed = [bool(flag) for flag in (flags[2:4] if len(flags) >= 4 else [0, *flags[2:3]] if len(flags) == 3 else [0, 0])]
    scale = reader(scale)

    def act(group, lanes):
        first = lanes[0]
        clock, rank = dict(first.warp.clocks.proxy), first.warp.cta.rank
        for lane in lanes:
            if lane.warp.clocks.proxy != clock:  # an order that only some of the warps know of is enough for their rows
                clock = {key: min(clock.get(key, 0), lane.warp.clocks.proxy.get(key, 0)) for key in clock}
        key, keeps = tuple(names), scale(first.regs)
        registers = [[lane.regs[name] for name in a] for lane in lanes] if isinstance(a, list) else 0
        origin = [] if isinstance(a, list) else matrix_cells(machine, rank, first.regs[a], 64, not transposed[0])
        origin += matrix_cells(machine, rank, first.regs[b], columns, not transposed[1])
        before = group.last
        chained = group.values.get(key)
        inputs = None if not keeps else chained if chained and not chained.taken else \
            mixed([unfenced(machine, lane, name) for lane in lanes for name in names])

        def run(transfer):
            start = inputs.value if isinstance(inputs, Transfer) else inputs
            transfer.value = mixed(start, registers, [machine.memory.read(cell, clock, {}) for cell in origin])
        transfer = Transfer(machine, [run], [rank], lambda: before is None or before.done)
        transfer.names, transfer.taken, group.last, group.values[key] = names, False, transfer, transfer
        transfer.last_of_chain = lambda: group.values[key] is transfer
        group.open.append(transfer)
        for lane in lanes:
            lane.regs |= {name: machine.random.getrandbits(32) for name in names}
            lane.fenced = dict(lane.regs)
    return together(machine, i, act)


def unfenced(machine, lane, name):
    """An accumulator that was written after the last wgmma.fence may have any value."""
    return lane.regs[name] if lane.fenced.get(name) == lane.regs[name] else machine.random.random()
