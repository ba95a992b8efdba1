# SPDX-License-Identifier: Apache-2.0
"""The walk over a tree of what TileLang lowered (_tree): what each warp does to memory, and in which order.

Every warp is an agent: the function is walked once for each warp, with the threads of it that take part in a statement.
Loops that synchronise stay loops; the others are run here, and each of their statements is one operation with the bytes
that all iterations and threads of the warp access. _calls has the intrinsics.
"""

import json
import math

from .. import _spad
from .. import core
from . import _calls
from . import _cluster
from . import _data
from . import _locals
from . import _decide
from . import _sets
from . import _sizes
from . import _tcgen05
from ._calls import Unsupported
from ._conditions import THREADS as _THREADS, Conditions, of_threads
from ._data import stored as _stored
from ._decide import Decides
from ._sets import Opaque, Sum
from ._tree import bodies
from ._uniform import UniformValues
from ._unwritten import Unwritten
from ._write import ANY_ROUNDS, Access, Op, is_again

_WARP = 32
_POINTS_MOST = 1 << 17  # points of loops that are run for one statement of a warp
_ROUNDS_MOST = 16  # of a while loop that is run
_RESERVED = frozenset(
    "kernel param tensor unit for if else in on by at of as from and or min max step parallel break cursor advance scope "
    "agent source wait sync arrive signal take init expect invalidate commit drain fence alloc free group barrier mbarrier "
    "counter region grid unknown macro next reads writes updates adds may delivers arrives signals after elected cost "
    "latency work cycles ns moves pending parity count relaxed drop registers threads input output persistent auto ring mod "
    "stack heap alias lane bank align reused any fixed simt copy shared global local section sections base par banks "
    "tma wgmma cpasync mma stores loads mmas B KiB MiB GiB".split())


def _is_one_store(body):
    """Whether a loop, or a nest of loops, has one statement, and that is a store."""
    return len(body) == 1 and (body[0][0] == "store" or (body[0][0] == "for" and _is_one_store(body[0][5])))


class Walk(Conditions, Decides, UniformValues):
    """The walk of one function, warp by warp."""

    def __init__(self, tree, block=None, known=None):
        self.tree = tree
        self.start(known)
        self.table = {**_calls.TABLE, **_tcgen05.TABLE, **_cluster.TABLE, **_decide.TABLE}
        self.blocks, self.block = _cluster.blocks_of(tree), 0
        if self.blocks > _cluster.BLOCKS_MOST:
            raise Unsupported(f"a cluster of {self.blocks} blocks")
        self.reached = {}  # block: statements that end what other blocks reach
        self.split = False  # whether the cluster arrives and waits by itself
        self.buffers, self.shared = tree["buffers"], tree["shared"]
        self.scope = _sets.Scope()
        self.threads = [int(n) for n in tree["threads"]]
        self.count = self.threads[0] * self.threads[1] * self.threads[2]
        self.lets = {}
        self.params = {}
        self.barriers = {}
        self.mbarriers = {}
        self.units, self.groups = {}, {}
        self.globals, self.outputs = {}, []
        self.depth = 0  # of loops that stay loops
        self.endless = set()  # those of any number of rounds
        self.macs = _rates(tree["arch"])
        self.tmem = {}
        self.aligns = {}
        self.tmem_used = "ptx_init_tensor_memory" in json.dumps(tree["body"])
        self.registers = None
        self.notes = {}
        self.order, self.fed = {}, {}  # by identity, with the statements: that of statements which are gone is given again
        self.footprints = {}
        self.narrowed = []  # bounds of variables in the conditions around
        self.tracked = _locals.tracked(tree)
        self.counters = _locals.counters(tree)
        self.free_vars = _indexed(tree)
        self.written = _stored(tree["body"]) | _calls.written(self, tree["body"])
        self.agents = []
        self.unwritten, self.never_written, self.taken = None, set(), set()  # registers that are read before they are written
        self.place = None  # the line of the program
        self.ranks = []
        self._bind(dict(block or {}))

    def _bind(self, block):
        wide = self.tree.get("cluster", [1, 1, 1])
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
            size = wide[number] if self.blocks > 1 else 1
            name = "block_" + axis if size == 1 else "cluster_" + axis
            self.scope.bind(var if size == 1 else name, name, 0, -(-extent // size) - 1 if isinstance(extent, int) else None)
            self.params[name] = value // size
            self.ranks.append((number, var, name, size))
        if block:
            raise _spad.ArgumentError(f"'{next(iter(block))}' is no axis of the grid: x, y, z")

    # ---- notes ------------------------------------------------------------------------------

    def note(self, what, why):
        """Says once that something is approximated."""
        self.notes.setdefault((what, why), []).append(self.agent)

    # ---- blocks of a cluster -----------------------------------------------------------------

    def own(self, name):
        """A name for what each block of a cluster has of its own."""
        return name if self.blocks == 1 else f"{name}_block{self.block}"

    def home(self, buffer, block=None):
        """The block whose memory an access is to, or None where blocks are not told apart."""
        if self.blocks == 1 or buffer in self.tracked:
            return None
        block = self.block if block is None else block
        if block != self.block:
            self.reach(block, f"free {self.named(buffer, block)}")
        return block

    def named(self, buffer, block, more=""):
        """The tensor of a buffer, in a block of the cluster."""
        name = self.fresh(buffer) + more
        return name if self.blocks == 1 or block is None else f"{name}_block{block}"

    def names(self, buffer):
        """The tensors of a buffer, in all blocks."""
        return {self.named(buffer, block) for block in range(self.blocks)}

    def reach(self, block, *ends):
        """What another block does needs something of this one, which the statements end."""
        self.reached.setdefault(block, {}).update(dict.fromkeys(ends))

    def peer(self, tree, what):
        """The block of the cluster that an expression names."""
        return _cluster.peer(self, tree, what)

    def meet_cluster(self):
        """All threads of the cluster."""
        _cluster.meet(self)

    def closed(self, agents):
        """The agents with the end of each block."""
        return _cluster.close(self, agents)

    # ---- running a warp ----------------------------------------------------------------------

    def run(self):
        """The agents: (name, statements, registers, threads) of each."""
        self.bodies = []  # kept: what is known of statements goes by their identity
        for self.block in range(self.blocks):
            body = _cluster.with_rank(self.tree, self._rank())
            self.bodies.append(body)
            self.unwritten = Unwritten(self, body)
            self.never_written |= self.unwritten.certain()
            self.taken |= self.unwritten.assumed()
            self.find_uniform(body)
            for warp in range(-(-self.count // _WARP)):
                self._run_warp(warp, body)
        return self.agents

    def _rank(self):
        """The rank of the block that is walked; of the one block of a cluster whose blocks are alike, a parameter."""
        for number, var, name, size in self.ranks:
            if size > 1:
                self.lets[var] = ["+", ["*", name, size], _cluster.axes_of(self.tree, self.block)[number]]
        cluster = math.prod(self.tree.get("cluster", [1]))
        if self.blocks > 1 or cluster == 1:
            return self.block
        self.scope.bind("cluster__rank", "cluster_rank", 0, cluster - 1)
        self.params["cluster_rank"] = 0
        return "cluster__rank"

    def _run_warp(self, warp, body):
        wide, high = self.threads[0], self.threads[1]
        self.warp, self.agent = warp, f"warp_{warp}" if self.blocks == 1 else f"block{self.block}_warp_{warp}"
        numbers = range(warp * _WARP, min(self.count, (warp + 1) * _WARP))
        self.lanes = [(t % wide, t // wide % high, t // wide // high) for t in numbers]
        self.registers, self.whole = None, len(self.lanes)
        self.descriptors, self.local, self.loops, self.guards = {}, {}, [], []
        self.copies, self.origins, self.begun, self.made = {}, {}, {}, {}
        self.reported = set()
        self.out = []
        self.may = False
        kept = dict(self.lets)
        self.body(body)
        self.lets = kept
        self.agents.append((self.agent, self.out, self.registers, len(numbers)))

    def body(self, statements):
        self.number(statements)
        for statement in statements:
            self.statement(statement)

    def statement(self, statement):
        if not self.lanes:
            return
        self.at = self.numbers.get(id(statement), self.at)
        kept, self.place = self.place, getattr(statement[0], "place", self.place)
        self.unwritten.show(self, statement)
        outcome = self.outcome(statement)
        getattr(self, "on_" + statement[0])(statement)
        self.made.update(outcome)
        self.place = kept

    def on_attr(self, statement):
        self.body(statement[2])

    def on_let(self, statement):
        value = self.value(statement[2])
        if _calls.pointer(self, value) is not None and value[0] == "call":
            self.lets[statement[1]] = value  # a place, which nothing is read from here
            return
        self.loads(statement[2], "let")
        self.lets[statement[1]] = value if self._lasting(value) else self.as_data(value, statement[1])

    def value(self, tree):
        """An expression with let variables and known local variables written out, and data by its name."""
        made = _decide.copied_loads(_known(_cursors(_sets.replace(tree, self.lets), self.counters), self.local), self.copies)
        return self.known.rewritten(self, made)

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
            self._change(statement[2])
            self.body(statement[2])
            self.may = with_may
            if self.writes_on_chip(statement[2]):
                self.note("a while loop", "its accesses may be")
            return
        if self._counted(statement) or self._stepped(statement):
            return
        name = self._unknown(statement[1], "rounds", " any")
        self.note("a while loop", "its rounds are any number")
        self._loop_lines(f"for {self.fresh('round')} in 0..{name}", statement[2])

    def _counted(self, statement):
        """A while loop over a variable that grows by a constant up to a bound is a loop that counts its rounds."""
        _, condition, body = statement
        grows = _data.steps_of(body)
        if not isinstance(condition, list) or condition[0] != "<" or not isinstance(condition[1], list) or condition[1][:1] != ["load"]:
            return False
        var, bound = condition[1][1], self.value(condition[2])
        if condition[1][2] != 0 or var not in grows or grows[var] <= 0 or var not in self.local or _stored(body) & _decide.loaded(condition[2]):
            return False
        first, step = self.local[var], grows[var]
        rounds = f"{self.fresh(var)}_rounds"
        known = {name: ["+", self.local[name], ["*", rounds, more]] for name, more in grows.items() if name in self.local}
        count = ["max", ["//", ["+", ["-", bound, first], step - 1], step], 0]
        self._symbolic_loop(["for", rounds, 0, count, "while", body], 0, count, known)
        return True

    def _stepped(self, statement):
        """A while loop whose condition is a number in every round, for this block: its rounds, one after another."""
        kept = (list(self.out), dict(self.local), dict(self.lets))
        for _ in range(_ROUNDS_MOST):
            holds = self._here(statement[1])
            if holds is None:
                break
            if not holds:
                self.note("a while loop", "its rounds are those of this block")
                return True
            self.body(statement[2])
            self.local = {name: value if self._here(value) is None else self._here(value) for name, value in self.local.items()}
        self.out, self.local, self.lets = kept
        return False

    def _here(self, tree):
        """The value of an expression in the block at hand, or None where it is not known."""
        tree = _sets.replace(self.value(tree), self._places())
        if _sets.all_names(tree) or "?" in _sets.names(tree):
            return None
        try:
            return int(eval(_sets.code(tree)))
        except (Opaque, ArithmeticError):
            return None

    def _places(self):
        """The numbers of this block: {variable: value}."""
        return {var if size == 1 else name: self.params[name] for _, var, name, size in self.ranks}

    # ---- loops ------------------------------------------------------------------------------

    def fresh(self, name):
        return name + "_" if name in _RESERVED else name

    def orders(self, body):
        """Whether statements synchronise, so that a loop around them has to stay one."""
        if id(body) not in self.order:
            self.order[id(body)] = (any(self._orders_one(s) for s in body), body)
        return self.order[id(body)][0]

    def _orders_one(self, s):
        if s[0] == "do" and isinstance(s[1], list) and s[1][0] == "call":
            return _calls.is_order(s[1][1], s[1][2:])
        if s[0] == "store":
            return _calls.stores_order(self, s)
        return any(self.orders(inner) for inner in bodies(s))

    def on_for(self, statement):
        _, var, begin, extent, kind, body = statement
        begin, extent = self._constant(self.value(begin)), self._constant(self.value(extent))
        used = _sets.names(begin) | _sets.names(extent)
        if used <= self.numeric() and not self.orders(body) and not self._feeds(body) and not self._delivers(body, var):
            if self._points() * self._most(extent) <= _POINTS_MOST or not self.writes_on_chip(body):
                self._change(body)
                self.loops.append((var, begin, extent))
                self.body(body)
                self.loops.pop()
                return
        if kind == "unroll" and isinstance(extent, int) and extent <= 1:
            self.lets[var] = begin
            self.body(body)
            return
        if isinstance(begin, int) and isinstance(extent, int) and extent <= _decide.UNROLLED_MOST and not self.loops and _decide.shifts(body, var):
            self._each_round(var, range(begin, begin + extent), body)
        elif not self._chosen_rounds(statement, begin, extent) and not self._ended_rounds(statement, begin, extent):
            self._symbolic_loop(statement, begin, extent)

    def _symbolic_loop(self, statement, begin, extent, known=None):
        _, var, _, _, kind, body = statement
        extent = self.known.extent(self, extent)
        if self.loops:  # a loop that orders is never in one that does not; one that is too long may be
            raise Unsupported(f"a loop over '{var}' of {extent} in a loop that is run")
        begin, extent = self._uniform(begin), self._uniform(extent)
        name = self.fresh(var)
        low, count = self._bounds(name, begin, extent)
        fewest, _ = self.scope.range(count)
        if count.terms and fewest is not None and fewest < 0 and not self._open(count):  # no rounds, in some blocks
            count = self.scope.sum(["max", extent, 0])
        (_, most), (least, _) = self.scope.range(low.plus(count)), self.scope.range(low)
        end = low.plus(count)
        if not count.terms and not low.terms and count.const > 1 and var not in self.free_vars | self.known.fixed:
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
        if count.terms and self.known.named(next(iter(count.terms))) is None and any(
                kind == " any" for made, kind in self.unknowns.values() if made in count.terms):
            self.endless.add(name)
        self._loop_lines(f"for {name} in {low.text()}..{end.text()}", body, {**self.steps(body, ["-", var, begin]), **(known or {})}, var)

    def _hint(self, tree):
        """What to pass for an exact reading, where a dynamic size makes an expression data."""
        found = _sets.names(tree) & set(_sizes.names(self.tree))
        return f"; pass sizes={{{', '.join(repr(name) + ': N' for name in sorted(found))}}} for one" if found else ""

    def _trips(self, var, count, word):
        """The parameter for the rounds of a loop after the first: one for all loops that were the same in the program."""
        hint = self.tree.get("hints", {}).get(var, var)
        hint = "".join(c if c.isascii() and c.isalnum() else "_" for c in hint).strip("_") or "rounds"
        for number in range(len(self.params) + 1):
            name = f"{hint}_{word}" if not number else f"{hint}_{word}{number}"
            if self.params.setdefault(name, count) == count:
                return name
        return name

    def _loop_lines(self, head, body, known=None, var=None):
        """A loop; known: what local variables hold at the start of a round; var: its variable in the program."""
        outer, self.out = self.out, []
        state = dict(self.local)
        self._change(body)
        self.local.update(known or {})
        with self._in_rounds(var, head.split()[1]):
            self.body(body)
        self.local = {k: v for k, v in state.items() if k in self.local and self.local[k] == v}
        self._forget(_stored(body))
        if self.out and all(is_again(item, head.split()[1]) for item in self.out):
            outer.extend(self.out)
        elif self.out:
            outer.append(("block", head, self.out, None))
        self.out = outer

    def _change(self, body):
        """Forgets the local variables that the rounds of a loop change: the first round is not the only one. Where the loop is one
        store, what its variable came from stays: before the loop, and the text of store and loop, is all that decides its value."""
        for key in _stored(body):
            self.local.pop(key, None)
            self.made.pop(key, None)
        if not _is_one_store(body):
            self._forget(_stored(body))

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
            run = of_threads(tree)
            found = {int(run(*lane)) for lane in self.lanes}
            if len(found) == 1:
                return found.pop()
        return tree

    def _feeds(self, body):
        """Whether statements read shared memory and write it: then their order matters, also for different buffers, which
        may share bytes."""
        if id(body) not in self.fed:
            reads, writes = set(), set()
            _calls.buffers_of(self, body, reads, writes)
            self.fed[id(body)] = (bool(reads & set(self.shared)) and bool(writes & set(self.shared)), body)
        return self.fed[id(body)][0]

    def writes_on_chip(self, body):
        reads, writes = set(), set()
        _calls.buffers_of(self, body, reads, writes)
        return bool((reads | writes) & set(self.shared))

    def _delivers(self, body, var):
        return _calls.barrier_uses(body, var)

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
        self.made.pop(buffer, None)
        if buffer in self.counters:
            self._count(buffer, value)
            return
        choice = _decide.choice(self.value(index), self.numeric()) if buffer in self.shared else None
        if choice is not None:
            made = self.value(index)
            self._symbolic(choice[1], ["if", choice[1], [["store", buffer, _decide.swapped(made, choice, choice[2]), value]],
                                       [["store", buffer, _decide.swapped(made, choice, choice[3]), value]]])
            return
        op = Op("simt", "store")
        self._copy(buffer, index, value)
        self._originate(buffer, index, value)
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
        if self.loops or self.unsure() or "?" in _sets.names(value):
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

    def access(self, home, buffer, index, elements=1, unit_bits=None, lanes=None, block=None):
        """Adds an access to `elements` of a buffer from an index on, of all lanes; block: in the memory of another block."""
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
                self.access(home, buffer, ["+", index[1], ["*", "lane__", index[2]]], elements, bits, lanes, block)
                self.loops.pop()
                return
            index, elements = index[1], elements * int(index[3])
        tile = self.block * -(-self.count // _WARP) + self.warp if buffer in self.tracked else None
        block = self.home(buffer, block)
        try:
            if self._points() > 16 * _POINTS_MOST:
                raise Opaque("too many rounds to run")
            made = self._footprint(index, elements, bits)
            groups = made.runs(lanes or self.lanes)
            if sum(len(runs) for _, runs in groups) > _sets.RUNS_MOST:
                raise Opaque("more than %d runs" % _sets.RUNS_MOST)
        except Opaque as why:
            self._whole(home, buffer, tile, str(why), block)
            return
        for offset, runs in groups:
            self._add(home, buffer, offset, runs, tile, block)

    def _add(self, home, buffer, offset, runs, tile, block):
        """Adds an access to runs of bytes at an offset: those that are in the buffer, and any of it where that is not sure."""
        size = self.size(buffer)
        if not offset.terms and (not runs or runs[0][0] < 0 or runs[-1][1] > size):
            runs = [(max(a, 0), min(b, size)) for a, b in runs if b > 0 and a < size]
            self.note(f"'{buffer}'", "an access that reaches outside is cut off")
        if runs and (self._room(offset, runs, size, buffer) or self._inside(offset, runs, size)):
            home.append(Access(buffer, offset, runs, tile, block=block))
        elif runs:
            self._whole(home, buffer, tile, "a place that a condition keeps inside of it", block)

    def _inside(self, offset, runs, size):
        """Whether bytes at a symbolic offset are in a buffer, as far as the bounds of its variables are known; those of rounds of any
        number are in it for as many as the kernel is written with."""
        turns = {var: offset.terms[var] for var in self.endless & set(offset.terms)}
        low, high = self.scope.range(offset.plus(Sum(0, turns), -1))
        low = None if low is None else low + (ANY_ROUNDS - 1) * sum(min(times, 0) for times in turns.values())
        high = None if high is None else high + (ANY_ROUNDS - 1) * sum(max(times, 0) for times in turns.values())
        return (low is None or low + runs[0][0] >= 0) and (high is None or high + runs[-1][1] <= size)

    def _whole(self, home, buffer, tile, why, block=None):
        followed = buffer not in self.tracked  # registers of asynchronous operations are there from the start
        if followed:
            given = [f"; pass sizes={{'{name}': N}}" for name in _sizes.names(self.tree) if f"'{name}'" in why]
            self.note(f"'{buffer}'", f"any part of it, because of {why}" + "".join(given))
        home.append(Access(buffer, Sum(), [(0, self.size(buffer))], tile, followed, block))

    def size(self, buffer):
        if buffer in self.shared:
            return self.shared[buffer]["bytes"]
        facts = self.buffers[buffer]
        return max(4, facts["elements"] * facts["bits"] // 8)

    def _footprint(self, index, elements, bits):
        key = json.dumps([index, elements, bits, self.loops, self.guards, self.narrowed])
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
        op.may, op.source = self.may, self.place
        first = self.tree.get("first", {})
        for field in Op.KINDS:
            setattr(op, field, _joined(getattr(op, field)))
            for access in getattr(op, field):
                if isinstance(access, Access):
                    self._under_guard(access, field, op)
                    if op.source is None and access.buffer in self.never_written:
                        op.source = first.get(access.buffer)
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
        key = (access.buffer, access.tile, access.offset.key(), access.may, access.block)
        if key not in found:
            found[key] = Access(access.buffer, access.offset, list(access.runs), access.tile, access.may, access.block)
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


def _cursors(tree, counters):
    """An expression with the uses of counters as cursors."""
    if not isinstance(tree, list) or not counters or not tree:
        return tree
    use = _locals.ring_use(tree)
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


def _waits_for_one(body):
    """Whether one of some statements waits for a phase whose parity is a constant."""
    return any(s[0] == "do" and s[1][:2] == ["call", "mbarrier_wait_parity"] and isinstance(s[1][3], int) for s in body)


def _lets(body):
    """{variable: value} of let statements, with those before them written out."""
    found = {}
    for s in body:
        if s[0] == "let":
            found[s[1]] = _sets.replace(s[2], found)
        for inner in bodies(s):
            found.update((name, _sets.replace(value, found)) for name, value in _lets(inner).items())
    return found


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
    """Loop variables that an index on chip or the parity of a wait uses other than below a remainder, or there together with what
    another loop changes, or that say how many copies a wait leaves under way, or whose last round has a wait with a parity of its
    own: their loops keep their extents."""
    found, lets = set(), _lets(tree["body"])
    blocks = {tree["bound"].get("blockIdx." + axis) for axis in "xyz"}

    def walk(part, inside):
        if isinstance(part, str):
            if inside:
                found.update(_sets.names(lets.get(part, part)))
            return
        if not isinstance(part, list) or not part:
            return
        if part[0] in ("%", "s") or part[0] == "&" and isinstance(part[2], int) and not part[2] & part[2] + 1:
            used = _sets.names(_sets.replace(part[1], lets)) - blocks if inside and part[0] != "s" else set()
            found.update(used if len(used) > 1 else ())
            return
        if part[0] == "call" and part[1] in ("ptx_wait_group", "mbarrier_wait_parity"):
            walk(part[-1], True)
            return
        if part[0] == "if" and isinstance(part[1], list) and part[1][0] == "==" and part[1][2] != 0 and _waits_for_one(part[2]):
            found.update(_sets.names(part[1]))
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
