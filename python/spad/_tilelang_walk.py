# SPDX-License-Identifier: Apache-2.0
"""The walk over a tree of what TileLang lowered (_tilelang_tree): what each warp does to memory, and in which order.

Every warp is an agent: the function is walked once for each warp, with the threads of it that take part in a statement.
Loops that synchronise stay loops; the others are run here, and each of their statements is one operation with the bytes
that all iterations and threads of the warp access. _tilelang_calls has the intrinsics.
"""

import json
import math

from . import _spad
from . import core
from . import _tilelang_calls as _calls
from . import _tilelang_sets as _sets
from . import _tilelang_sizes as _sizes
from . import _tilelang_tcgen05 as _tcgen05
from ._tilelang_calls import Unsupported
from ._tilelang_sets import Opaque, Sum
from ._tilelang_write import Access, Op

_WARP = 32
_POINTS_MOST = 1 << 17  # points of loops that are run for one statement of a warp
_THREADS = ("thread__x", "thread__y", "thread__z")
_RESERVED = frozenset(
    "kernel param tensor unit for if else in on by at of as from and or min max step parallel break cursor advance scope "
    "agent source wait sync arrive signal take init expect invalidate commit drain fence alloc free group barrier mbarrier "
    "counter region grid unknown macro next reads writes updates adds may delivers arrives signals after elected cost "
    "latency work cycles ns moves pending parity count relaxed drop registers threads input output persistent auto ring mod "
    "stack heap alias lane bank align reused any fixed simt copy shared global local section sections base par banks "
    "tma wgmma cpasync mma stores loads mmas B KiB MiB GiB".split())


class Walk:
    """The walk of one function, warp by warp."""

    def __init__(self, tree, block=None):
        self.tree = tree
        self.table = {**_calls.TABLE, **_tcgen05.TABLE}
        self.buffers, self.shared = tree["buffers"], tree["shared"]
        self.scope = _sets.Scope()
        self.threads = [int(n) for n in tree["threads"]]
        self.count = self.threads[0] * self.threads[1] * self.threads[2]
        self.lets = {}
        self.params = {}
        self.unknowns = {}
        self.barriers = {}
        self.mbarriers = {}
        self.units, self.groups = {}, {}
        self.globals, self.outputs = {}, []
        self.depth = 0  # of loops that stay loops
        self.macs = _rates(tree["arch"])
        self.tmem = {}
        self.aligns = {}
        self.tmem_used = "ptx_init_tensor_memory" in json.dumps(tree["body"])
        self.registers = None
        self.notes = {}
        self.order = {}
        self.touched = {}
        self.footprints = {}
        self.tracked = _calls.tracked(tree)
        self.counters = _calls.counters(tree)
        self.free_vars = _indexed(tree)
        self.written = _stored(tree["body"])
        self.agents = []
        self._bind(dict(block or {}))

    def _bind(self, block):
        for axis, name in zip("xyz", _THREADS):
            var = self.tree["bound"].get("threadIdx." + axis)
            if var is not None:
                self.lets[var] = name
        for number, axis in enumerate("xyz"):
            var = self.tree["bound"].get("blockIdx." + axis)
            extent = self.tree["grid"][number]
            if var is None:
                if block.pop(axis, 0) != 0:
                    raise _spad.ArgumentError(f"block {axis} is outside of the grid of 1")
                continue
            value = int(block.pop(axis, block.pop(var, 0)))
            if isinstance(extent, int) and not 0 <= value < extent:
                raise _spad.ArgumentError(f"block {axis} = {value} is outside of the grid of {extent}")
            if extent == 1:
                self.lets[var] = 0
                continue
            self.scope.bind(var, "block_" + axis, 0, extent - 1 if isinstance(extent, int) else None)
            self.params["block_" + axis] = value
        if block:
            raise _spad.ArgumentError(f"'{next(iter(block))}' is no axis of the grid: x, y, z")

    # ---- notes ------------------------------------------------------------------------------

    def note(self, what, why):
        """Says once that something is approximated."""
        self.notes.setdefault((what, why), []).append(self.warp)

    # ---- running a warp ----------------------------------------------------------------------

    def run(self):
        """The agents, a list of (name, statements, registers) each."""
        wide, high = self.threads[0], self.threads[1]
        for warp in range(-(-self.count // _WARP)):
            self.warp = warp
            numbers = range(warp * _WARP, min(self.count, (warp + 1) * _WARP))
            self.lanes = [(t % wide, t // wide % high, t // wide // high) for t in numbers]
            self.registers, self.whole = None, len(self.lanes)
            self.descriptors, self.local, self.loops, self.guards = {}, {}, [], []
            self.out = []
            self.may = False
            kept = dict(self.lets)
            self.body(self.tree["body"])
            self.lets = kept
            self.agents.append((f"warp_{warp}", self.out, self.registers, len(numbers)))
        return self.agents

    def body(self, statements):
        for statement in statements:
            self.statement(statement)

    def statement(self, statement):
        if not self.lanes:
            return
        getattr(self, "on_" + statement[0])(statement)

    def on_attr(self, statement):
        self.body(statement[2])

    def on_let(self, statement):
        value = self.value(statement[2])
        self.loads(statement[2], "let")
        self.lets[statement[1]] = value if self._lasting(value) else ["call", "data"]

    def _lasting(self, tree):
        """Whether an expression keeps its value: it reads nothing, or global memory that the kernel does not write."""
        if not isinstance(tree, list):
            return True
        if tree[0] == "load":
            facts = self.buffers.get(tree[1], {"scope": "global"})
            return facts["scope"] == "global" and tree[1] not in self.written and self._lasting(tree[2])
        if tree[0] == "call":
            return False
        return all(self._lasting(part) for part in tree[1:])

    def value(self, tree):
        """An expression with let variables and known local variables written out."""
        return _known(_cursors(_sets.replace(tree, self.lets), self.counters), self.local)

    def on_do(self, statement):
        tree = statement[1]
        if isinstance(tree, list) and tree[0] == "call":
            _calls.call(self, tree[1], tree[2:], statement)
        elif isinstance(tree, list):
            self.loads(tree, "read")

    def on_while(self, statement):
        if not self.orders(statement[2]):
            with_may = self.may
            self.may = True
            self.body(statement[2])
            self.may = with_may
            return
        name = self._unknown(statement[1], "rounds", " any")
        self.note("a while loop", "its rounds are any number")
        self._loop_lines(f"for {self.fresh('round')} in 0..{name}", statement[2])

    # ---- loops ------------------------------------------------------------------------------

    def fresh(self, name):
        return name + "_" if name in _RESERVED else name

    def orders(self, body):
        """Whether statements synchronise, so that a loop around them has to stay one."""
        key = id(body)
        if key not in self.order:
            self.order[key] = any(self._orders_one(s) for s in body)
        return self.order[key]

    def _orders_one(self, s):
        if s[0] == "do" and isinstance(s[1], list) and s[1][0] == "call":
            return _calls.is_order(s[1][1], s[1][2:])
        if s[0] == "store":
            return _calls.stores_order(self, s)
        return any(self.orders(part) for part in s if isinstance(part, list) and part and isinstance(part[0], list))

    def on_for(self, statement):
        _, var, begin, extent, kind, body = statement
        begin, extent = self.value(begin), self.value(extent)
        used = _sets.names(begin) | _sets.names(extent)
        if used <= self.numeric() and not self.orders(body) and not self._feeds(body) and not self._delivers(body, var):
            if self._points() * self._most(extent) <= _POINTS_MOST or not self.writes_on_chip(body):
                self.loops.append((var, begin, extent))
                self.body(body)
                self.loops.pop()
                return
        if kind == "unroll" and isinstance(extent, int) and extent <= 1:
            self.lets[var] = begin
            self.body(body)
            return
        self._symbolic_loop(statement, begin, extent)

    def _symbolic_loop(self, statement, begin, extent):
        _, var, _, _, kind, body = statement
        if self.loops:  # a loop that orders is never in one that does not; one that is too long may be
            raise Unsupported(f"a loop over '{var}' of {extent} in a loop that is run")
        begin, extent = self._uniform(begin), self._uniform(extent)
        name = self.fresh(var)
        try:
            low, count = self.scope.sum(begin), self.scope.sum(extent)
        except Opaque:
            low, count = Sum(0), Sum(0, {self._unknown(extent, "data_n", " any"): 1})
            self.note(f"the loop over {name}", "its extent is data: any number of rounds" + self._hint(extent))
        (_, most), (least, _) = self.scope.range(low.plus(count)), self.scope.range(low)
        end = low.plus(count)
        if not count.terms and not low.terms and count.const > 1 and var not in self.free_vars:
            if kind == "serial":
                more = self._trips(var, count.const - 1, "more")
                self.scope.bounds[more] = (0, None)
                end = low.plus(Sum(1, {more: 1}))
                self.scope.ends[name] = (low.const + count.const, end)
            elif kind == "pipelined":  # what follows it was made for its remainder
                lap = _lap(body, var)
                laps, rest = (count.const - 1) // lap, (count.const - 1) % lap + 1
                end = low.plus(Sum(rest, {self._trips(var, laps, "laps"): lap}))
        self.scope.ends = {k: v for k, v in self.scope.ends.items() if k != name or end.terms}
        self.scope.bind(var, name, least, None if most is None or end.terms != low.plus(count).terms else most - 1)
        self._loop_lines(f"for {name} in {low.text()}..{end.text()}", body)

    def _hint(self, tree):
        """What to pass for an exact reading, where a dynamic size makes an expression data."""
        found = _sets.names(tree) & set(_sizes.names(self.tree))
        return f"; pass sizes={{{', '.join(repr(name) + ': N' for name in sorted(found))}}} for one" if found else ""

    def _trips(self, var, count, word):
        """The parameter for the rounds of a loop after the first: one for all loops that were the same in the program."""
        hint = self.tree.get("hints", {}).get(var, var)
        hint = "".join(c if c.isascii() and c.isalnum() else "_" for c in hint)
        for number in range(len(self.params) + 1):
            name = f"{hint}_{word}" if not number else f"{hint}_{word}{number}"
            if self.params.setdefault(name, count) == count:
                return name
        return name

    def _loop_lines(self, head, body):
        outer, self.out = self.out, []
        state = dict(self.local)
        for key in _stored(body):
            self.local.pop(key, None)
        self.depth += 1
        self.body(body)
        self.depth -= 1
        self.local = {k: v for k, v in state.items() if k in self.local and self.local[k] == v}
        if self.out:
            outer.append(("block", head, self.out, None))
        self.out = outer

    def numeric(self):
        return {*_THREADS, *[loop[0] for loop in self.loops]}

    def _points(self):
        total = len(self.lanes)
        for _, _, extent in self.loops:
            total *= self._most(extent)
        return total

    def _most(self, extent):
        return max(1, extent) if isinstance(extent, int) else 64

    def _uniform(self, tree):
        """A number where an expression of threads is the same for all of the warp."""
        if isinstance(tree, list) and _sets.names(tree) & set(_THREADS) and _sets.names(tree) <= set(_THREADS):
            run = eval("lambda v_thread__x, v_thread__y, v_thread__z: " + _sets.code(tree))
            found = {int(run(*lane)) for lane in self.lanes}
            if len(found) == 1:
                return found.pop()
        return tree

    def _feeds(self, body):
        """Whether statements read shared memory and write it: then their order matters, also for different buffers, which
        may share bytes."""
        key = ("feeds", id(body))
        if key not in self.touched:
            reads, writes = set(), set()
            _calls.buffers_of(self, body, reads, writes)
            self.touched[key] = bool(reads & set(self.shared)) and bool(writes & set(self.shared))
        return self.touched[key]

    def writes_on_chip(self, body):
        reads, writes = set(), set()
        _calls.buffers_of(self, body, reads, writes)
        return bool((reads | writes) & set(self.shared))

    def _delivers(self, body, var):
        return _calls.barrier_uses(body, var)

    # ---- conditions -------------------------------------------------------------------------

    def on_if(self, statement):
        condition = self.value(statement[1])
        self.loads(statement[1], "condition")
        parts = _conjunction(condition)
        if len(parts) == 1 or not statement[3]:
            self._parts(parts, statement)
            return
        used = _sets.names(condition)
        if used <= set(_THREADS):
            self._lanes(condition, statement)
        elif not used & self.numeric() and "?" not in used:
            self._symbolic(condition, statement)
        else:
            self._data(statement)

    def _parts(self, parts, statement):
        """A condition that is a conjunction, one part after another; an else case belongs to a single part."""
        part, rest = parts[0], parts[1:]
        inner = statement if not rest else ["if", _join(rest), statement[2], []]
        follow = statement[2] if not rest else [inner]
        one = ["if", part, follow, statement[3] if not rest else []]
        used = _sets.names(part)
        if isinstance(part, list) and part[:1] == ["call"] and part[1] == "tl_shuffle_elect":
            self._elect(part, one)
        elif "?" in used:
            self._data(one)
        elif used <= set(_THREADS):
            self._lanes(part, one)
        elif used <= self.numeric():
            self._guard(part, one)
        elif used & self.numeric():
            self._mixed(part, one)
        else:
            self._symbolic(part, one)

    def _elect(self, part, statement):
        every = part[2] if len(part) > 2 and isinstance(part[2], int) else 0
        kept = self.lanes
        wide, high = self.threads[0], self.threads[1]
        number = [x + y * wide + z * wide * high for x, y, z in kept]
        mine = [lane for lane, n in zip(kept, number) if (n % every == 0 if every else n == 0)]
        self._with(mine, statement[2])
        self._with([lane for lane in kept if lane not in mine], statement[3])

    def _with(self, lanes, body):
        kept, self.lanes = self.lanes, lanes
        if lanes:
            self.body(body)
        self.lanes = kept

    def _lanes(self, part, statement):
        run = eval("lambda v_thread__x, v_thread__y, v_thread__z: " + _sets.code(part))
        yes = [lane for lane in self.lanes if run(*lane)]
        no = [lane for lane in self.lanes if lane not in yes]
        self._with(yes, statement[2])
        self._with(no, statement[3])

    def _guard(self, part, statement):
        for guard, body in ((part, statement[2]), (["not", part], statement[3])):
            if body:
                self.guards.append(guard)
                self.body(body)
                self.guards.pop()

    def _mixed(self, part, statement):
        """Threads and loops that stay loops: decided where bounds or the block decide it, otherwise both sides may run."""
        kept, sure = self.lanes, {True: [], False: []}
        if _sets.names(part) & {loop[0] for loop in self.loops}:
            self._either(statement)
            return
        for lane in kept:
            values = dict(zip(_THREADS, lane))
            try:
                found = self.scope.condition(_sets.replace(part, values))
            except Opaque:
                found = None
            if found not in ([], [[]]):
                self._either(statement)
                return
            sure[bool(found)].append(lane)
        self._with(sure[True], statement[2])
        self._with(sure[False], statement[3])

    def _either(self, statement):
        if self.orders(statement[2]) or self.orders(statement[3]):
            self._data(statement)
            return
        self._both(statement, "a condition of threads and loops")

    def _both(self, statement, what):
        """Both sides may run; what both store at the same places is written in any case."""
        kept, self.may = self.may, True
        self.body(statement[2])
        self.body(statement[3])
        self.may = kept
        if not self.writes_on_chip(statement[2]) and not self.writes_on_chip(statement[3]):
            return
        first, second = dict(_plain_stores(statement[2])), dict(_plain_stores(statement[3]))
        for key in first:
            if key in second:
                self.statement(first[key])
        if first.keys() != second.keys() or not (_only_stores(statement[2]) and _only_stores(statement[3])):
            self.note(what, "both sides may run")

    def _symbolic(self, part, statement):
        try:
            yes, no = self.scope.condition(part), None
        except Opaque:
            self._data(statement)
            return
        if yes in ([], [[]]):
            self.body(statement[2] if yes else statement[3])
            return
        self._branch(" or ".join(" and ".join(alternative) for alternative in yes), statement)
        del no

    def _branch(self, text, statement):
        outer, state = self.out, dict(self.local)
        self.out = []
        self.body(statement[2])
        yes, self.out = self.out, []
        after, self.local = self.local, dict(state)
        self.body(statement[3])
        no, self.out = self.out, outer
        self.local = {k: v for k, v in after.items() if self.local.get(k) == v}
        if yes or no:
            self.out.append(("block", f"if {text}", yes, no))

    def _data(self, statement):
        """A condition that data decides."""
        if not self.orders(statement[2]) and not self.orders(statement[3]):
            self._both(statement, "a condition on data")
            return
        condition = self.value(statement[1])
        if _sets.names(condition) & set(_sizes.names(self.tree)):
            raise _sizes.NeedsSize(_sets.names(condition) & set(_sizes.names(self.tree)))
        name = self._unknown(condition, "data", "")
        self.note("a condition on data around synchronisation", "the same in every iteration and for all warps")
        self._branch(f"{name} == 1", statement)

    def _unknown(self, tree, name, kind):
        """A name for a value that data decides: one for all uses of the same expression, also where the loops of producers
        and of consumers, which were one in the program, have variables of their own."""
        key = json.dumps(_sets.replace(tree, {name: hint for name, hint in self.tree.get("hints", {}).items() if name in self.scope.values}))
        if key not in self.unknowns:
            used = {name for name, _ in self.unknowns.values()}
            made, number = name, 1
            while made in used:
                made, number = f"{name}_{number}", number + 1
            self.unknowns[key] = (made, kind)
        return self.unknowns[key][0]

    # ---- accesses ---------------------------------------------------------------------------

    def _count(self, buffer, value):
        """A counter of ring positions: a cursor for each of its moduli."""
        for size in self.counters[buffer]:
            stage, phase = f"{buffer}_s{size}", f"{buffer}_p{size}"
            if not isinstance(value, int):
                self.line(f"advance {stage}" + (f" by {value[2]}" if value[2] != 1 else ""))
                continue
            self.scope.bind(stage, stage, 0, size - 1)
            self.scope.bind(phase, phase, 0, 1)
            self.line(f"cursor {stage}, {phase} mod {size}")
            if value:
                self.line(f"advance {stage} by {value}")

    def on_store(self, statement):
        _, buffer, index, value = statement
        if buffer in self.counters:
            self._count(buffer, value)
            return
        op = Op("simt", "store")
        if self.known_local(buffer, statement):
            return
        self.collect(value, op)
        self.collect(index, op)
        self.access(op.writes, buffer, index)
        self.emit(op)

    def known_local(self, buffer, statement):
        """Follows a local variable that holds a number of the kernel."""
        facts = self.buffers.get(buffer)
        if not facts or not facts["scope"].startswith("local") or buffer in self.tracked:
            return False
        if facts.get("elements") != 1 or statement[2] != 0:
            return False
        value = self.value(statement[3])
        if self.loops or self.guards or self.may or len(self.lanes) < self.whole or "?" in _sets.names(value):
            self.local.pop(buffer, None)
            return False
        self.local[buffer] = value
        return True

    def loads(self, tree, name):
        """Reads of an expression, as an operation."""
        op = Op("simt", name)
        self.collect(tree, op)
        self.emit(op)

    def collect(self, tree, op):
        """Adds what an expression reads."""
        if not isinstance(tree, list):
            return
        if tree[0] == "load":
            self.access(op.reads, tree[1], tree[2])
            self.collect(tree[2], op)
        elif tree[0] == "select":
            self.collect(tree[1], op)
            self._guarded(tree[1], True, tree[2], op)
            self._guarded(tree[1], False, tree[3], op)
        elif tree[0] == "call":
            _calls.value(self, tree[1], tree[2:], op)
        else:
            for part in tree[1:]:
                self.collect(part, op)

    def _guarded(self, condition, wanted, tree, op):
        condition = self.value(condition)
        used = _sets.names(condition)
        if used <= self.numeric():
            self.guards.append(condition if wanted else ["not", condition])
            self.collect(tree, op)
            self.guards.pop()
            return
        self.collect(tree, op)

    def access(self, home, buffer, index, elements=1, unit_bits=None, lanes=None):
        """Adds an access to `elements` of a buffer from an index on, of all lanes."""
        facts = self.buffers.get(buffer)
        if facts is None or (buffer not in self.shared and buffer not in self.tracked):
            if facts is not None and facts["scope"].startswith("shared") and facts["scope"] not in (
                    "shared.barrier", "shared.cluster_barrier"):
                raise Unsupported(f"an access to '{buffer}' in {facts['scope']}, which has no place")
            return
        bits = unit_bits or facts["bits"]
        index = self.value(index)
        if isinstance(index, list) and index[0] == "ramp":
            if index[2] != 1:
                points = ("lane__", 0, index[3])
                self.loops.append(points)
                self.access(home, buffer, ["+", index[1], ["*", "lane__", index[2]]], elements, bits, lanes)
                self.loops.pop()
                return
            index, elements = index[1], elements * int(index[3])
        tile = self.warp if buffer in self.tracked else None
        try:
            if self._points() > 16 * _POINTS_MOST:
                raise Opaque("too many rounds to run")
            made = self._footprint(index, elements, bits)
            groups = made.runs(lanes or self.lanes)
            if sum(len(runs) for _, runs in groups) > _sets.RUNS_MOST:
                raise Opaque("more than %d runs" % _sets.RUNS_MOST)
        except Opaque as why:
            self._whole(home, buffer, tile, str(why))
            return
        size = self.size(buffer)
        for offset, runs in groups:
            if not offset.terms and (not runs or runs[0][0] < 0 or runs[-1][1] > size):
                runs = [(max(a, 0), min(b, size)) for a, b in runs if b > 0 and a < size]
                self.note(f"'{buffer}'", "an access that reaches outside is cut off")
            if runs and not self._inside(offset, runs, size):
                self._whole(home, buffer, tile, "a place that a condition keeps inside of it")
            elif runs:
                home.append(Access(buffer, offset, runs, tile))

    def _inside(self, offset, runs, size):
        """Whether bytes at a symbolic offset are in a buffer, as far as the bounds of its variables are known."""
        low, high = self.scope.range(offset)
        return (low is None or low + runs[0][0] >= 0) and (high is None or high + runs[-1][1] <= size)

    def _whole(self, home, buffer, tile, why):
        followed = buffer not in self.tracked  # registers of asynchronous operations are there from the start
        if followed:
            self.note(f"'{buffer}'", f"any part of it, because of {why}")
        home.append(Access(buffer, Sum(), [(0, self.size(buffer))], tile, followed))

    def size(self, buffer):
        if buffer in self.shared:
            return self.shared[buffer]["bytes"]
        facts = self.buffers[buffer]
        return max(4, facts["elements"] * facts["bits"] // 8)

    def _footprint(self, index, elements, bits):
        key = json.dumps([index, elements, bits, self.loops, self.guards])
        if key not in self.footprints or self.footprints[key][1] != self._values(index):
            made = _sets.Footprint(self.scope, index, elements, self.numeric(), self.loops, self.guards, bits)
            self.footprints[key] = (made, self._values(index))
        return self.footprints[key][0]

    def _values(self, index):
        return {v: self.scope.values[v].key() for v in _sets.names(index) if v in self.scope.values}

    def emit(self, op):
        """Adds an operation, unless it accesses nothing on chip."""
        if not op.accesses():
            return
        op.may = self.may
        for field in Op.KINDS:
            setattr(op, field, _joined(getattr(op, field)))
        self.out.append(op)

    def either(self, text, one, other):
        """Emits one of two operations, by a condition."""
        outer, self.out = self.out, []
        self.emit(one)
        yes, self.out = self.out, []
        self.emit(other)
        no, self.out = self.out, outer
        self.out.append(("block", f"if {text}", yes, no))

    def needs(self, buffer, align):
        """The start of a buffer has to be aligned, whatever TileLang asked for."""
        self.aligns[buffer] = max(align, self.aligns.get(buffer, 1))

    def line(self, text):
        self.out.append(text)

    def inline(self, tree):
        """A number of the kernel language, for a synchronisation."""
        return self.scope.sum(self._uniform(self.value(tree))).text()


def _joined(accesses):
    """Accesses with those of one buffer and one symbolic offset as one."""
    found = {}
    for access in accesses:
        if isinstance(access, str):
            found.setdefault(access, access)
            continue
        key = (access.buffer, access.tile, access.offset.key(), access.may)
        if key not in found:
            found[key] = Access(access.buffer, access.offset, list(access.runs), access.tile, access.may)
        else:
            found[key].runs = _union(found[key].runs + access.runs)
    return list(found.values())


def _union(runs):
    made = []
    for low, high in sorted(runs):
        if made and low <= made[-1][1]:
            made[-1] = (made[-1][0], max(made[-1][1], high))
        else:
            made.append((low, high))
    return made


def _conjunction(tree):
    if isinstance(tree, list) and tree[0] == "and":
        return _conjunction(tree[1]) + _conjunction(tree[2])
    return [tree]


def _join(parts):
    tree = parts[0]
    for part in parts[1:]:
        tree = ["and", tree, part]
    return tree


def _cursors(tree, counters):
    """An expression with the uses of counters as cursors."""
    if not isinstance(tree, list) or not counters or not tree:
        return tree
    use = _calls._ring_use(tree)
    if use and use[0] in counters:
        return f"{use[0]}_{'s' if use[2] == 'stage' else 'p'}{use[1]}"
    return [tree[0]] + [_cursors(part, counters) for part in tree[1:]]


def _known(tree, local):
    """An expression with the local variables whose values are known."""
    if not isinstance(tree, list) or not local:
        return tree
    if tree[0] == "load" and tree[2] == 0 and tree[1] in local:
        return local[tree[1]]
    return [tree[0]] + [_known(part, local) for part in tree[1:]]


def _stored(body):
    found = set()
    for s in body:
        if s[0] == "store":
            found.add(s[1])
        for part in s[1:]:
            if isinstance(part, list) and part and isinstance(part[0], list):
                found |= _stored(part)
    return found


def _plain_stores(body, loops=()):
    """(key, statement) of each store that is in loops alone, and of numbers known before: stores at the same places by the
    same threads have the same key."""
    for s in body:
        if s[0] == "for":
            yield from _plain_stores(s[5], (*loops, s))
        elif s[0] == "store":
            names = {loop[1]: f"loop__{n}" for n, loop in enumerate(loops)}
            index = _sets.replace(s[2], names)
            if "?" in _sets.names(index) and s[2][:1] != ["ramp"]:
                continue
            extents = [_sets.replace(part, names) for loop in loops for part in loop[2:4]]
            made = ["store", s[1], s[2], ["f"]]
            for loop in reversed(loops):
                made = [*loop[:5], [made]]
            yield json.dumps([s[1], index, extents]), made


def _only_stores(body):
    return all(s[0] == "store" or s[0] == "for" and _only_stores(s[5]) for s in body)


def _rates(arch):
    """Multiply-adds per cycle of the matrix engine, by the bits of an operand."""
    bits = {"float16": 16, "int8": 8, "float8_e4m3": 8, "tfloat32": 32}
    for engine in core.Target(arch).data["engines"]:
        if engine["name"] == "tensor":
            return {bits[r["dtype"]]: r["per_cycle"] for r in engine["rates"] if r["dtype"] in bits}
    return {}


def _lap(tree, var):
    """The least common multiple of what a variable is divided by: after so many rounds its remainders repeat."""
    found = 1
    if isinstance(tree, list):
        if len(tree) == 3 and tree[0] == "%" and isinstance(tree[2], int) and var in _sets.names(tree[1]):
            found = math.lcm(found, tree[2])
        for part in tree:
            found = math.lcm(found, _lap(part, var))
    return found


def _indexed(tree):
    """Loop variables that an index on chip uses other than below a remainder, or that say how many copies a wait leaves
    under way: their loops keep their extents."""
    found = set()

    def walk(part, inside):
        if isinstance(part, str):
            if inside:
                found.add(part)
            return
        if not isinstance(part, list) or not part:
            return
        if part[0] in ("%", "s"):
            return
        if part[0] == "call" and part[1] == "ptx_wait_group":
            walk(part[2], True)
            return
        if part[0] == "call" and part[1] == "tvm_access_ptr":
            facts = tree["buffers"].get(part[3]) if isinstance(part[3], str) else None
            walk(part[4], bool(facts) and facts["scope"].startswith("shared"))
            return
        if part[0] in ("load", "store") and isinstance(part[1], str) and part[1] in tree["buffers"]:
            on_chip = tree["buffers"][part[1]]["scope"].startswith("shared")
            walk(part[2], on_chip)
            for rest in part[3:]:
                walk(rest, False)
            return
        for rest in part:
            walk(rest, inside)

    walk(tree["body"], False)
    return found
