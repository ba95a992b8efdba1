# SPDX-License-Identifier: Apache-2.0
"""Stores of one thread alone, though only data says which: `if S[tx] >= k and S[tx + 1] < k: found[0] = tx`.

If S never grows from one thread to the next and k is the same for all, no two threads pass: of two, the first has S[tx + 1] below k, and the
second has an S[tx] that is not more. What is known of S comes from running the statements that make it, for all threads, with sums of
unknown numbers that are not negative in place of values: 0 is stored to S, atomics add numbers that are not negative at places that only data says,
and threads add elements to each other. One value is not less than another where each unknown is in it at least as often.

Threads are run statement by statement. In a program without races nothing else can happen, and the check, which is told that the stores are
alone, looks for all other races: the first race of a run would have to be one of those. The same store in another round is another matter: one
is taken to be alone only if all threads of the block meet after it, before it or another store to its buffer comes again.
"""

import contextlib
import json

from . import _tilelang_calls as _calls
from . import _tilelang_data as _data
from . import _tilelang_decide as _decide
from . import _tilelang_sets as _sets
from ._tilelang_conditions import THREADS, conjunction, of_threads
from ._tilelang_tickets import ADDS
from ._tilelang_tree import bodies

_BITS = 16  # of a number of times in a value
_TIMES_MOST = 1 << _BITS - 2
_BYTES_MOST = 1 << 13  # of a buffer whose elements are followed
_FRESH_MOST = 1 << 13  # unknown numbers of a kernel
_NEST_MOST = 3  # loops in loops that are run more than once
_WIDE = ("int32", "int64")


class Value:
    """A sum of unknown numbers that are not negative; number 0 is 1. `sum` has how often each is in it, _BITS for each."""

    __slots__ = ("sum", "most")

    def __init__(self, total, most):
        self.sum, self.most = total, most

    def plus(self, other):
        most = self.most + other.most
        return Value(self.sum + other.sum, most) if most <= _TIMES_MOST else None

    def covers(self, other):
        """Whether it has each unknown at least as often as another one has it."""
        count = max(self.sum.bit_length(), other.sum.bit_length()) // _BITS + 1
        high = ((1 << count * _BITS) - 1) // ((1 << _BITS) - 1) << _BITS - 1
        return ((self.sum | high) - other.sum) & high == high


def _plus(left, right):
    return None if left is None or right is None else left.plus(right)


def _same(left, right):
    return left is not None and right is not None and left.sum == right.sum


class Lone:
    """One pass over the statements of a kernel. `stores` has the identity of each store that one thread does alone."""

    def __init__(self, walk, body, others=()):
        """others: buffers with stores that are taken for atomics already."""
        self.walk, self.alone, self.atomic = walk, {}, {*others, *_changed(walk, body)}
        wide, high, deep = walk.threads
        self.threads = [(x, y, z) for z in range(deep) for y in range(high) for x in range(wide)]
        self.lanes, self.sure, self.even = list(range(len(self.threads))), True, True
        self.uniform, self.values, self.arrays = set(), {}, {}
        self.lets, self.hidden = dict(walk.lets), set()
        self.around, self.ends, self.plain, self.fresh = [], [], set(), 1
        if _may_choose(walk, body):
            self.body(body, False)
        self.stores = {number for number, alone in self.alone.items() if alone}

    # ---- statements ---------------------------------------------------------------------------

    def body(self, statements, loop):
        """Statements one after another; loop: they are the rounds of one."""
        self.around.append([statements, 0, loop])
        for number, s in enumerate(statements):
            self.around[-1][1] = number
            getattr(self, "on_" + s[0])(s)
        self.around.pop()

    def on_attr(self, s):
        self.body(s[2], False)

    def on_let(self, s):
        self._change([s])
        value = _sets.replace(s[2], self.lets)
        if _sets.names(value) & ({"?"} | self.hidden):
            self.hidden.add(s[1])
        else:
            self.lets[s[1]] = value

    def on_do(self, s):
        if _data.is_end(s):
            self.ends.append(set(self.uniform) if self.even and len(self.lanes) == len(self.threads) else set())
        self._change([s])

    def on_store(self, s):
        _, buffer, index, value = s
        self._change([["do", index], ["do", value]])
        if buffer in self.walk.shared:
            if self.sure:
                self.plain.add(buffer)
            if self._is_followed(buffer):
                self._store(buffer, _sets.replace(index, self.lets), self._value(value))
        elif self.walk.buffers.get(buffer, {}).get("scope", "").startswith("local"):
            self._assign(buffer, index, value)

    def on_if(self, s):
        condition = _sets.replace(s[1], self.lets)
        self._change([["do", s[1]]])
        holds = self._numbers(condition)
        if holds is not None:
            self._with([n for n, yes in zip(self.lanes, holds) if yes], s[2])
            self._with([n for n, yes in zip(self.lanes, holds) if not yes], s[3])
            return
        self._try(s, condition)
        sure, even = self.sure, self.even
        self.sure, self.even = False, even and self._is_uniform(condition)
        self.body(s[2], False)
        self.body(s[3], False)
        self.sure, self.even = sure, even

    def _with(self, lanes, body):
        kept, self.lanes = self.lanes, lanes
        if lanes:
            self.body(body, False)
        self.lanes = kept

    def on_for(self, s):
        _, var, begin, extent, _, body = s
        self._change([["do", begin], ["do", extent]])
        begin, extent = _sets.replace(begin, self.lets), _sets.replace(extent, self.lets)
        short = isinstance(begin, int) and isinstance(extent, int) and extent <= _decide.UNROLLED_MOST and not _data.has_end(s)
        if short and sum(loop for _, _, loop in self.around) < _NEST_MOST and _decide.shifts(body, var):
            kept = dict(self.lets)
            for value in range(begin, begin + extent):
                self.lets[var] = value
                self.body(body, True)
            self.lets = kept
            return
        even = self._is_uniform(begin) and self._is_uniform(extent)
        self.hidden |= set() if even else {var}
        self._rounds(body, even)

    def on_while(self, s):
        self._change([["do", s[1]]])
        self._rounds(s[2], False)

    def _rounds(self, body, even):
        """Any number of rounds: what is known at the start of a round is what no round changes."""
        outer, kept = self.ends, set(self.uniform)
        even = even and sum(loop for _, _, loop in self.around) < _NEST_MOST
        while True:
            self.ends, before = [], set(kept if even else kept - _data.stored(body))
            self._change(body)
            self.uniform = set(before)
            self.body(body, True)
            ended = bool(self.ends) and not all(self.ends)
            kept = before.intersection(self.uniform, *self.ends) if not ended else before - _data.stored(body)
            if kept == before:
                break
        self._change(body)
        self.uniform, self.ends = kept, outer

    # ---- memory -------------------------------------------------------------------------------

    def _change(self, body):
        """Forgets what statements may write, and adds to what they add to."""
        if not body:
            return
        for name in _data.stored(body):
            self.values.pop(name, None)
            self.arrays.pop(name, None)
        for name, adds in _changed(self.walk, body).items():
            if adds and name in self.arrays:
                self.arrays[name] = [_plus(value, self._any()) for value in self.arrays[name]]
            else:
                self.arrays.pop(name, None)

    def _any(self):
        self.fresh += 1
        return Value(1 << self.fresh * _BITS, 1) if self.fresh < _FRESH_MOST else None

    def _is_followed(self, buffer):
        """Whether the elements of a buffer are numbers, and few."""
        return self.walk.shared[buffer]["bytes"] <= _BYTES_MOST and self.walk.buffers[buffer]["dtype"] in _WIDE

    def _store(self, buffer, index, values):
        count = self.walk.shared[buffer]["bytes"] * 8 // self.walk.buffers[buffer]["bits"]
        places = self._numbers(index)
        if places is None or any(not 0 <= place < count for place in places):
            self.arrays.pop(buffer, None)
            return
        array = self.arrays.setdefault(buffer, [None] * count)
        written = {}
        for place, value in zip(places, values):
            written[place] = value if place not in written or _same(written[place], value) else None
        for place, value in written.items():
            array[place] = value if self.sure or _same(array[place], value) else None

    def _assign(self, var, index, value):
        facts, new = self.walk.buffers[var], self._value(value)
        alike = index == 0 and self.even and len(self.lanes) == len(self.threads) and self._is_uniform(_sets.replace(value, self.lets))
        self.uniform = self.uniform | {var} if alike else self.uniform - {var}
        if index != 0 or facts.get("elements") != 1 or facts["dtype"] not in _WIDE:
            self.values.pop(var, None)
            return
        held = self.values.setdefault(var, [None] * len(self.threads))
        for lane, made in zip(self.lanes, new):
            held[lane] = made if self.sure else None

    # ---- expressions --------------------------------------------------------------------------

    def _numbers(self, tree):
        """An expression of threads, for each of those that take part; None: it is of something else."""
        if _sets.has(tree, _sets.DATA) or not _sets.all_names(tree) <= set(THREADS):
            return None
        with contextlib.suppress(_sets.Opaque, ArithmeticError):
            run = of_threads(tree)
            return [int(run(*self.threads[lane])) for lane in self.lanes]
        return None

    def _value(self, tree):
        """The value of an expression, for each thread that takes part; None where it is not known."""
        nothing = [None] * len(self.lanes)
        tree = _sets.replace(tree, self.lets)
        if isinstance(tree, int):
            return [Value(tree, tree)] * len(self.lanes) if 0 <= tree <= _TIMES_MOST else nothing
        if not isinstance(tree, list):
            return nothing
        if tree[0] == "cast" and tree[1] in _WIDE:
            return self._value(tree[2])
        if tree[0] == "+":
            return [_plus(a, b) for a, b in zip(self._value(tree[1]), self._value(tree[2]))]
        if tree[0] != "load":
            return nothing
        if tree[1] in self.values and tree[2] == 0:
            return [self.values[tree[1]][lane] for lane in self.lanes]
        array, places = self.arrays.get(tree[1]), self._numbers(tree[2])
        if array is None or places is None:
            return nothing
        return [array[place] if 0 <= place < len(array) else None for place in places]

    def _is_uniform(self, tree):
        """Whether an expression is the same for all threads."""
        if isinstance(tree, str):
            return tree not in THREADS and tree not in self.hidden
        if not isinstance(tree, list):
            return True
        if tree[0] == "call":
            return False
        if tree[0] == "load":
            facts = self.walk.buffers.get(tree[1], {"scope": "global"})
            if facts["scope"].startswith("local"):
                return tree[1] in self.uniform and tree[2] == 0
            lasting = tree[1] not in self.walk.written if tree[1] not in self.walk.shared else self._is_quiet(tree[1])
            return lasting and self._is_uniform(tree[2])
        return all(self._is_uniform(part) for part in (tree[2:] if tree[0] == "cast" else tree[1:]))

    # ---- threads that meet --------------------------------------------------------------------

    def _is_quiet(self, buffer):
        """Whether nothing writes a buffer between the barriers of all threads before and after this statement, beside it in the program."""
        statements, at, _ = self.around[-1]
        first = next((n for n in range(at - 1, -1, -1) if self._meets(statements[n])), None)
        last = next((n for n in range(at + 1, len(statements)) if self._meets(statements[n])), None)
        return first is not None and last is not None and not self._writes(statements[first:last], {buffer})

    def _meets(self, s):
        """Whether a statement is a barrier of all threads of the block."""
        call = s[1] if s[0] == "do" else None
        return isinstance(call, list) and call[:2] == ["call", "tvm_storage_sync"] and len(call) == 3 and call[2] in (
            ["s", "shared"], ["s", "shared.dyn"])

    def _writes(self, body, buffers):
        return bool((_data.stored(body) | set(_changed(self.walk, body))) & buffers)

    def _is_closed(self, buffers):
        """Whether all threads meet after this statement before something stores to the buffers again, in another round too."""
        for statements, at, loop in reversed(self.around):
            for s in statements[at + 1:]:
                if self._meets(s):
                    return True
                if self._writes([s], buffers) or _data.has_end(s):
                    return False
            if loop:
                return False
        return True

    # ---- one thread alone ---------------------------------------------------------------------

    def _try(self, s, condition):
        """Whether one thread at most passes a condition, and what it stores is its own; in each run of the statement here."""
        stores = [inner for inner in s[2] if inner[0] == "store" and inner[1] in self.walk.shared]
        if not stores:
            return
        buffers, parts = {inner[1] for inner in stores}, conjunction(condition)
        alone = not s[3] and buffers <= self.plain and not buffers & self.atomic and self._is_closed(buffers) and (
            any(self._is_one(part) for part in parts) or any(self._is_step(a, b) for a in parts for b in parts))
        for inner in stores:
            self.alone[id(inner)] = alone and self.alone.get(id(inner), True)

    def _is_one(self, part):
        """A number of its own for each thread, that is equal to one of all."""
        if not isinstance(part, list) or part[:1] != ["=="]:
            return False
        for own, other in (part[1:], part[:0:-1]):
            numbers = self._numbers(own)
            if numbers is not None and self._is_uniform(other):
                return len(set(numbers)) == len(numbers)
        return False

    def _is_step(self, high, low):
        """`k <= X` and `Y < k`, where Y of a thread is not less than X of the next, and X does not grow."""
        high, low = _ordered(high), _ordered(low)
        if high is None or low is None or "<" not in (high[0], low[0]):
            return False
        if json.dumps(high[1]) != json.dumps(low[2]) or not self._is_uniform(high[1]):
            return False
        tops, rests = self._value(high[2]), self._value(low[1])
        return any(_falls(xs, ys) for xs, ys in ((tops, rests), (tops[::-1], rests[::-1])))


def _falls(tops, rests):
    """Whether each of tops, and of rests, covers the next of tops."""
    return None not in tops and all(
        rest is not None and rest.covers(after) and top.covers(after) for top, rest, after in zip(tops, rests, tops[1:]))


def _ordered(part):
    """A comparison as ("<" or "<=", the smaller, the larger)."""
    if not isinstance(part, list) or part[0] not in ("<", "<=", ">", ">="):
        return None
    return (part[0], part[1], part[2]) if part[0][0] == "<" else ("<" + part[0][1:], part[2], part[1])


def _may_choose(walk, body):
    """Whether data decides whether something is stored to shared memory."""
    return any(s[0] == "if" and _sets.has(s[1], _sets.DATA) and any(inner[0] == "store" and inner[1] in walk.shared for inner in s[2])
               or any(_may_choose(walk, inner) for inner in bodies(s)) for s in body)


def _changed(walk, body):
    """{shared buffer: whether all that calls do to it is to add what is not negative} of those that calls in statements may write."""
    found = {}

    def look(part):
        if not isinstance(part, list) or not part:
            return
        rest = part if isinstance(part[0], list) else part[1:]
        if part[0] == "call" and part[1] in ADDS and len(part) > 3 and isinstance(part[3], int) and part[3] >= 0:
            where = _calls.pointer(walk, part[2])
            if where is not None and where.bits == walk.buffers[where.buffer]["bits"]:
                found.setdefault(where.buffer, True)
                look(where.index)
                rest = part[3:]
        elif part[0] == "call":
            where = _calls.pointer(walk, part)
            for name in [arg for arg in part[2:] if isinstance(arg, str)] + ([where.buffer] if where is not None else []):
                found[name] = False
        for inner in rest:
            look(inner)

    look(body)
    return {name: adds for name, adds in found.items() if name in walk.shared}
