# SPDX-License-Identifier: Apache-2.0
"""Registers that lowered TileLang reads before it writes them.

Registers belong to one thread, whose order is that of the program, so one pass over the statements decides. The pass keeps two sets of
elements for each buffer in registers: those written on every path so far, and those written on some path. A read outside of the second
set reads what nobody wrote; a read outside of the first one depends on data, and is only reported as an assumption.

Loops with constant bounds run iteration by iteration until everything that they access is written, the others once for their first
iteration and once for any later one. The first pass knows no thread; where it finds something, threads of each warp are tried, so that
conditions on threads are decided.

Not followed: variables of `T.alloc_var`, which TileLang sets to 0, and descriptors. A function that receives a pointer is taken to write
what it points to.
"""

import contextlib
import re

from . import _sets
from ._sets import Opaque, Sum
from ._tree import _dtype_bits, _texts, bodies
from ._write import Access, Op

_WARP = 32
_STEPS_MOST = 1 << 16  # statements of one pass
_ELEMENTS_MOST = 1 << 16  # of a buffer in registers of one thread
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_DATA = ["call", "data"]  # an index that is not known
_IGNORED = ("warpgroup_fence_operand",)
_EXCHANGES = ("shfl", "shuffle")  # a lane may read what another one wrote


class _TooLong(Exception):
    """A pass took more steps than are tried."""


class Unwritten:
    """reads: {(id of a statement, warp): {buffer: elements}} of reads before any write. unsure: {buffer} whose reads depend on data."""

    def __init__(self, walk, body):
        found = {name: facts["elements"] for name, facts in walk.buffers.items()
                 if facts["scope"] in ("local", "local.fragment") and facts.get("elements")}
        self.buffers = {name: (1 << elements) - 1 for name, elements in found.items() if elements <= _ELEMENTS_MOST}
        self.reads, self.unsure = {}, set(found) - set(self.buffers)
        self.kept = body  # results go by identity
        if not self.buffers:
            return
        shared = {}
        try:
            found = _Pass(walk, self.buffers, body, None, shared)
            if found.certain or found.unsure:
                self._by_threads(walk, body, shared)
            if self.unsure:
                self._by_threads(walk, body, shared, in_block=True)
        except _TooLong:
            self.unsure |= set(self.buffers)

    def _by_threads(self, walk, body, shared, in_block=False):
        wide, high = walk.threads[0], walk.threads[1]
        for warp in range(-(-walk.count // _WARP)):
            for number in range(warp * _WARP, min(walk.count, warp * _WARP + 2)):
                lane = (number % wide, number // wide % high, number // wide // high)
                found = _Pass(walk, self.buffers, body, lane, shared, in_block)
                self.unsure |= set() if in_block else found.unsure  # other blocks may read what this one has written
                for (statement, buffer), elements in found.certain.items():
                    at = self.reads.setdefault((statement, warp), {})
                    at[buffer] = at.get(buffer, 0) | elements

    def show(self, walk, statement):
        """Adds the first read of registers that a warp has not written; what asynchronous operations use is an access of theirs."""
        for buffer, elements in self.reads.get((id(statement), walk.warp), {}).items():
            if buffer in walk.tracked or buffer in walk.reported:
                continue
            walk.reported.add(buffer)
            bits, op = walk.buffers[buffer]["bits"], Op("simt", "read")
            low = (elements & -elements).bit_length() - 1
            runs = [(low * bits // 8, -(-elements.bit_length() * bits // 8))]
            op.reads.append(Access(buffer, Sum(), runs, walk.block * -(-walk.count // _WARP) + walk.warp))
            walk.emit(op)

    def certain(self):
        """Names of the buffers that are read before they are written."""
        return {buffer for found in self.reads.values() for buffer in found}

    def assumed(self):
        """Names of those that may be: that they are not is assumed."""
        return self.unsure - self.certain()


class _Pass:
    """One pass over the statements of a thread; lane: its numbers, or None for any thread; in_block: of the block that is walked, not of any."""

    def __init__(self, walk, buffers, body, lane, shared, in_block=False):
        self.walk, self.buffers, self.shared = walk, buffers, shared
        self.sure, self.some = dict.fromkeys(buffers, 0), dict.fromkeys(buffers, 0)
        self.certain, self.unsure = {}, set()
        self.around = []  # bodies of loops around
        self.branches = []  # what may be passed by: (its statements, the number of loops around it)
        self.steps = 0
        self.at = None
        self.env = {}
        for axis, name in enumerate(("thread__x", "thread__y", "thread__z")):
            var = walk.tree["bound"].get("threadIdx." + "xyz"[axis])
            for known in (var, name):
                if lane is not None and known is not None:
                    self.env["v_" + known] = lane[axis]
        for _, var, name, size in walk.ranks if in_block else ():
            if size == 1:
                self.env["v_" + var] = walk.params[name]
        self.body(body)

    # ---- numbers ----------------------------------------------------------------------------

    def number(self, tree):
        """The value of an expression, or None where it is not known here."""
        if isinstance(tree, int):
            return tree
        if isinstance(tree, str):
            return self.env.get("v_" + tree)
        key = id(tree)
        if key not in self.shared:
            try:
                self.shared[key] = (compile(_sets.code(tree), "<index>", "eval"), {"v_" + n for n in _sets.names(tree)}, tree)
            except Opaque:
                self.shared[key] = (None, (), tree)
        code, names, _ = self.shared[key]
        if code is None or not all(name in self.env for name in names):
            return self._choice(tree)
        try:
            return int(eval(code, {"min": min, "max": max, "int": int}, self.env))
        except ArithmeticError:
            return None

    def _choice(self, tree):
        """The value of a connective or a choice that one side decides, or None."""
        if tree[0] in ("and", "or"):
            found = [self.number(part) for part in tree[1:]]
            if tree[0] == "and" and 0 in found:
                return 0
            if tree[0] == "or" and any(found):
                return 1
        if tree[0] == "select":
            which = self.number(tree[1])
            both = [self.number(part) for part in tree[2:]]
            if which is not None or both[0] == both[1]:
                return both[0] if which is None or which else both[1]
        return None

    def elements(self, buffer, index, count=1):
        """The elements that an access from an index on has, or None where they are not known: all of a buffer with elements of several types."""
        if self.walk.buffers[buffer].get("views"):
            return self.buffers[buffer]
        stride, size = 1, self.buffers[buffer].bit_length()
        if isinstance(index, list) and index[0] == "ramp":
            index, stride, count = index[1], self.number(index[2]), self.number(index[3])
        base = self.number(index)
        if None in (base, stride, count) or not 0 < count <= size:
            return None
        last = base + stride * (count - 1)
        if min(base, last) < 0 or max(base, last) >= size:
            return None
        if stride == 1:
            return (1 << count) - 1 << base
        return sum({1 << base + stride * lane for lane in range(count)})

    # ---- accesses ---------------------------------------------------------------------------

    def read(self, buffer, elements):
        """A read of elements, or of some that are not known (None)."""
        wanted = self.buffers[buffer] if elements is None else elements
        if not wanted & ~self.sure[buffer]:
            return
        some = self.buffers[buffer] if self._is_written_before(buffer) else self.some[buffer]
        missing = wanted & ~some if elements is not None else wanted * (not some)
        if missing:
            key = (self.at, buffer)
            self.certain[key] = self.certain.get(key, 0) | missing
        else:
            self.unsure.add(buffer)

    def _is_written_before(self, buffer):
        """Whether an earlier iteration may have written a buffer although it passed this read by. Statements of the same branch did not:
        the read is one of them, and what follows it there was not done before it."""
        if not self.branches:
            return False
        branch, loops = self.branches[-1]
        return any(buffer in self._facts(body, branch)[1] for body in self.around[:loops])

    @contextlib.contextmanager
    def _branch(self, statements, is_open=True):
        """Within statements that may be passed by."""
        if is_open:
            self.branches.append((statements, len(self.around)))
        yield
        if is_open:
            self.branches.pop()

    def write(self, buffer, elements):
        """A write of elements, or of some that are not known (None)."""
        self.some[buffer] |= self.buffers[buffer] if elements is None else elements
        self.sure[buffer] |= elements or 0

    def escape(self, buffer):
        """A pointer that someone else writes through."""
        self.write(buffer, self.buffers[buffer])

    def expression(self, tree, exchanged=False):
        """What an expression reads, and what its calls write."""
        if not isinstance(tree, list) or not tree:
            return
        if tree[0] == "load":
            self.expression(tree[2])
            if tree[1] in self.buffers and not exchanged:
                self.read(tree[1], self.elements(tree[1], tree[2]))
        elif tree[0] == "select":
            self.expression(tree[1])
            which = self.number(tree[1])
            with self._branch(None, which is None):
                for wanted, part in ((True, tree[2]), (False, tree[3])):
                    if which is None or bool(which) == wanted:
                        self.expression(part)
        elif tree[0] == "call":
            self.call(tree[1], tree[2:])
        elif tree[0] != "s":
            for part in tree[1:]:
                self.expression(part, exchanged)

    def call(self, name, args):
        """A call: products by their operands, the others by the pointers that they get."""
        if name in _IGNORED:
            return
        if name.startswith("ptx_mma"):
            self._mma(args, name.endswith("_sp"))
            return
        if name.startswith("ptx_wgmma_"):
            self._wgmma(args, "_rs" in name, "_sp_" in name)
            return
        if name == "tvm_access_ptr":
            self._pointer(args)
            return
        if name == "address_of":
            if isinstance(args[0], list) and args[0][0] == "load" and args[0][1] in self.buffers:
                self.escape(args[0][1])
                return
        writes = []
        for tree in args:
            if isinstance(tree, str) and tree in self.buffers:
                writes.append(tree)
            elif isinstance(tree, list) and tree[:2] == ["call", "tvm_access_ptr"] and self._mask(tree[2:]) != 1:
                writes.append(tree[2:])  # after everything is read
            else:
                self.expression(tree, any(word in name for word in _EXCHANGES))
        for made in writes:
            self.escape(made) if isinstance(made, str) else self._pointer(made)

    @staticmethod
    def _mask(args):
        return args[4] if len(args) > 4 and isinstance(args[4], int) else 3

    def _pointer(self, args):
        """A pointer with what is done to it: 1 a read, 2 a write; what is both is taken to be a write."""
        buffer = args[1]
        self.expression(args[2])
        if not isinstance(buffer, str) or buffer not in self.buffers:
            return
        elements = self._reach(buffer, args[0], args[2], self.number(args[3]))
        if self._mask(args) == 1:
            self.read(buffer, elements)
        elif elements is None and self._mask(args) != 2:
            self.escape(buffer)
        else:
            self.write(buffer, elements)

    def _reach(self, buffer, kind, index, extent):
        """Elements from an index on, both in elements of a type that may be another one than that of the buffer."""
        bits, own = _dtype_bits(kind[1]), self.walk.buffers[buffer]["bits"]
        first = self.number(index)
        if first is None or extent is None or first * bits % own or extent * bits % own:
            return None
        return self.elements(buffer, first * bits // own, extent * bits // own)

    def _operand(self, buffer, index, count):
        if isinstance(buffer, str) and buffer in self.buffers:
            self.read(buffer, self.elements(buffer, index, max(count, 1)))

    def _sum(self, buffer, index, count, goes_on=1):
        """The sum of a product, which goes on with what is there, or starts anew."""
        if not isinstance(buffer, str) or buffer not in self.buffers:
            return
        elements, flag = self.elements(buffer, index, max(count, 1)), self.number(goes_on)
        with self._branch(None, flag is None):
            if flag != 0:
                self.read(buffer, elements)
        self.write(buffer, elements)

    def _mma(self, args, sparse):
        m, n, k = map(int, _SHAPE.match(args[0][1]).groups())
        rest = [a for a in args if not (isinstance(a, list) and a[:1] == ["s"])]
        packs = [self.walk.buffers[b]["bits"] for b in rest[0:6:2] if isinstance(b, str) and b in self.buffers]
        if len(packs) < 3:
            return
        wide = {"fp64": 64, "fp32": 32, "tf32": 32, "fp16": 16, "bf16": 16, "int32": 32}
        kinds = [a[1] for a in args if isinstance(a, list) and a[:1] == ["s"]][3:6]
        counts = [m * k // (64 if sparse else 32), n * k // 32, m * n // 32]
        for place, (kind, count) in enumerate(zip(kinds, counts)):
            if wide.get(kind, packs[place]) != packs[place]:  # packed: how many elements that is depends on the form
                rest[2 * place + 1] = _DATA
        self._operand(rest[0], rest[1], counts[0])
        self._operand(rest[2], rest[3], counts[1])
        if sparse:
            self._operand(rest[6], rest[7], 1)
        self._sum(rest[4], rest[5], counts[2])

    def _wgmma(self, args, registers, sparse):
        m, n, k = map(int, _SHAPE.match(args[0][1]).groups())
        rest = args[5:] if registers else args[6:]
        if registers:
            self._operand(rest[0], rest[1], m * (k // 2 if sparse else k) // 128)
        if sparse:
            self._operand(rest[2], rest[3], 1)
            rest = rest[:2] + rest[5:]
        self._sum(rest[4], rest[5], m * n // 128, rest[6])

    # ---- statements -------------------------------------------------------------------------

    def body(self, statements):
        for statement in statements:
            self.steps += 1
            if self.steps > _STEPS_MOST:
                raise _TooLong
            self.at = id(statement)
            getattr(self, "on_" + statement[0])(statement)

    def on_attr(self, statement):
        self.body(statement[2])

    def on_do(self, statement):
        self.expression(statement[1])

    def on_let(self, statement):
        self.expression(statement[2])
        self._bind(statement[1], self.number(statement[2]))

    def _bind(self, var, value):
        if value is None:
            self.env.pop("v_" + var, None)
        else:
            self.env["v_" + var] = value

    def on_store(self, statement):
        _, buffer, index, value = statement
        self.expression(index)
        self.expression(value)
        if buffer in self.buffers:
            self.write(buffer, self.elements(buffer, index))

    def on_if(self, statement):
        self.expression(statement[1])
        which = self.number(statement[1])
        if which is not None:
            self.body(statement[2] if which else statement[3])
            return
        before = self._state()
        with self._branch(statement[2]):
            self.body(statement[2])
        one = self._state()
        self._restore(before)
        with self._branch(statement[3]):
            self.body(statement[3])
        self._join(one)

    def _state(self):
        return dict(self.sure), dict(self.some), dict(self.env)

    def _restore(self, state):
        self.sure, self.some, self.env = (dict(part) for part in state)

    def _join(self, other):
        """What holds whichever of two paths was taken."""
        sure, some, env = other
        for name in self.buffers:
            self.sure[name] &= sure[name]
            self.some[name] |= some[name]
        self.env = {name: value for name, value in self.env.items() if env.get(name) == value}

    def on_while(self, statement):
        self.expression(statement[1])
        self._rounds(None, None, statement[2], statement)

    def on_for(self, statement):
        _, var, begin, extent, _, body = statement
        self.expression(begin)
        self.expression(extent)
        first, count = self.number(begin), self.number(extent)
        if count is not None and count <= 0:
            return
        if first is None or count is None:
            self._rounds(var, first, body, statement, count is not None)
            return
        self.around.append(body)
        for turn in range(count):
            self._bind(var, first + turn)
            self.body(body)
            self.at = id(statement)
            if self._is_settled(body) or self._is_long(body, count - turn):
                break
        self.around.pop()
        if turn + 1 < count and not self._is_settled(body):
            self._later(var, body)

    def _rounds(self, var, first, body, statement, once=False):
        """A loop of any number of iterations, at least one of them where that is known."""
        before = self._state()
        if var is not None:
            self._bind(var, first)
        with self._branch(body, not once):
            self.around.append(body)
            self.body(body)
            self.around.pop()
        self.at = id(statement)
        if not self._is_settled(body):
            self._later(var, body)
        if not once:
            self._join(before)

    def _later(self, var, body):
        """Any later iteration: what the first ones write for certain is there, and everything else may be."""
        after = self._state()
        if var is not None:
            self._bind(var, None)
        for name in self._facts(body)[1]:
            self.some[name] = self.buffers[name]
        self.body(body)
        some = self.some
        self._restore(after)
        self.some = some

    def _facts(self, body, without=None):
        """(buffers that statements access, those that they may write, number of statements), but for a branch."""
        key = (id(body), id(without))
        if key not in self.shared:
            used, written, count = set(), set(), 0
            for s in body:
                count += 1
                inner = bodies(s)
                parts = [part for part in s[1:] if not any(part is one for one in inner)]
                used |= set().union(*map(_texts, parts)) & set(self.buffers)
                written |= {s[1]} if s[0] == "store" else set()
                written |= set().union(*map(_written_by, parts))
                for one in inner:
                    if one is not without:
                        more = self._facts(one, without)
                        used, written, count = used | more[0], written | more[1], count + more[2]
            self.shared[key] = (used, written & set(self.buffers), count, body, without)
        return self.shared[key]

    def _is_settled(self, body):
        """Whether everything that statements access is written."""
        return all(self.sure[name] == self.buffers[name] for name in self._facts(body)[0])

    def _is_long(self, body, rounds):
        return rounds * self._facts(body)[2] > _STEPS_MOST // 4


def _written_by(tree):
    """Names of what the calls of an expression may write."""
    if not isinstance(tree, list) or not tree:
        return set()
    found = set().union(*map(_written_by, tree))
    if tree[0] != "call" or tree[1] in _IGNORED:
        return found
    if tree[1].startswith("ptx_mma"):
        return {[a for a in tree[2:] if not (isinstance(a, list) and a[:1] == ["s"])][4]}
    if tree[1].startswith("ptx_wgmma_"):
        rest = tree[7:] if "_rs" in tree[1] else tree[8:]
        return {rest[7 if "_sp_" in tree[1] else 4]}
    if tree[1] == "tvm_access_ptr":
        return found | ({tree[3]} if len(tree) < 7 or tree[6] != 1 else set())
    if tree[1] == "address_of":
        return found | {tree[2][1]}
    return found | {a for a in tree[2:] if isinstance(a, str)}
