# SPDX-License-Identifier: Apache-2.0
"""Conditions of a lowered kernel, in the walk over it (_walk): of threads, of loops that are run, of loops that stay loops, and of
data (_decide)."""

import contextlib
import json

from . import _sets
from . import _sizes
from ._data import has_end, stored as _stored
from ._sets import Opaque

THREADS = ("thread__x", "thread__y", "thread__z")
_NUMBERS = {"get_lane_idx": ("%", (32,)), "get_warp_idx": ("//", (32,)), "get_warp_idx_sync": ("//", (32,)),
            "get_warp_group_idx": ("//", (32, 4))}  # how wide each is where no argument says it


def of_threads(tree):
    """A function of the numbers of a thread, from an expression that has no other variables."""
    return eval("lambda v_thread__x, v_thread__y, v_thread__z: " + _sets.code(tree))  # numbers, and names with a prefix


def with_numbers(tree, threads):
    """Statements or an expression in which calls that give the number of a lane, of a warp or of a warpgroup are sums of threads."""
    if not isinstance(tree, list):
        return tree
    if tree[:1] == ["call"] and len(tree) > 1 and tree[1] in _NUMBERS and all(isinstance(part, int) for part in tree[2:]):
        sign, wide = _NUMBERS[tree[1]]
        width = 1
        for number, usual in enumerate(wide):
            given = tree[2 + number] if len(tree) > 2 + number else 0
            width *= given if given > 0 else usual
        return [sign, ["+", THREADS[0], ["*", threads[0], ["+", THREADS[1], ["*", threads[1], THREADS[2]]]]], width]
    return [with_numbers(part, threads) for part in tree]


def with_parities(tree):
    """Statements or an expression in which `(x + 1) % 2` of a variable that counts is `1 - x % 2`, as parities of rings are written."""
    if not isinstance(tree, list):
        return tree
    made = [with_parities(part) for part in tree]
    if made[:1] == ["%"] and made[2] == 2 and isinstance(made[1], list) and made[1][:1] == ["+"] and isinstance(made[1][2], int):
        what = made[1][1]
        count = what[1] if isinstance(what, list) and what[0] == "//" and isinstance(what[2], int) else what
        if isinstance(count, list) and count[:1] == ["load"] and count[2] == 0:
            return ["-", 1, ["%", what, 2]] if made[1][2] % 2 else ["%", what, 2]
    return made


def with_returns(body):
    """Statements of a function in which what comes after `if c: return` is the other side of the condition. A return that is deeper is left
    as it is, and refused."""
    for number, s in enumerate(body):
        if s[0] == "if" and s[2] and s[2][-1] == ["do", ["call", "thread_return"]]:
            return [*body[:number], ["if", s[1], s[2][:-1], [*s[3], *with_returns(body[number + 1:])]]]
        if s[0] == "attr" and number == len(body) - 1:
            return [*body[:number], [*s[:-1], with_returns(s[-1])]]
    return body


def with_flags(body):
    """Statements in which what is under a variable that a condition has just set to 0 or 1 is under that condition:
    `if c: … v = 1 else: … v = 0` and `if v != 0: …` after it."""
    made = []
    for s in body:
        s = [s[0], *[with_flags(part) if isinstance(part, list) and part and isinstance(part[0], list) else part for part in s[1:]]]
        flag = _flag(made[-1]) if made else None
        if flag is not None and s[0] == "if" and s[1] == ["!=", ["load", flag[0], 0], 0]:
            sides = [made[-1][2 + side] + (s[2] if value else s[3]) for side, value in enumerate(flag[1])]
            made[-1] = ["if", made[-1][1], *sides]
        else:
            made.append(s)
    return made


def _flag(s):
    """(variable, its two numbers) where both sides of a condition end with a store of a number to it."""
    ends = [side[-1] if side else None for side in s[2:4]] if s[0] == "if" else [None]
    if None in ends or any(end[0] != "store" or end[2] != 0 or not isinstance(end[3], int) for end in ends) or ends[0][1] != ends[1][1]:
        return None
    return ends[0][1], [end[3] for end in ends]


class Conditions:
    """The part of a walk that knows of conditions."""

    def on_if(self, statement):
        condition = self.value(statement[1])
        parts = conjunction(condition)
        if len(parts) == 1 or not statement[3]:
            self._parts(parts, statement)
            return
        self.loads(statement[1], "condition")
        used = _sets.names(condition)
        if used <= set(THREADS):
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
        self.loads(part, "condition")  # by the threads for which the parts before it hold
        if isinstance(part, list) and part[:1] == ["call"] and part[1] == "tl_shuffle_elect":
            self._elect(part, one)
        elif "?" in used:
            self._data(one)
        elif used <= set(THREADS):
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
        run = of_threads(part)
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
        holds = self._holds(part)
        if holds is not None:
            self.body(statement[2] if holds else statement[3])
            return
        if _sets.names(part) & {loop[0] for loop in self.loops}:
            self._either(statement)
            return
        for lane in kept:
            values = dict(zip(THREADS, lane))
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

    def _holds(self, part):
        """Whether a condition holds for all threads and rounds at hand, or for none of them, by bounds alone; None: neither is sure."""
        scope, values, bounds = self.scope, self.scope.values, self.scope.bounds
        scope.values, scope.bounds = dict(values), dict(bounds)
        for name, numbers in zip(THREADS, zip(*self.lanes)):
            scope.bind(name, name, min(numbers), max(numbers))
        for var, begin, extent in self.loops:
            if isinstance(begin, int) and isinstance(extent, int):
                scope.bind(var, var, begin, begin + extent - 1)
        try:
            found = scope.condition(part)
        except Opaque:
            found = None
        scope.values, scope.bounds = values, bounds
        return bool(found) if found in ([], [[]]) else None

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
        for made in _sure_stores([statement], self.shared).values():
            self.statement(made)
        if not _is_partition(statement, self.buffers):
            self.note(what, "both sides may run")

    def _symbolic(self, part, statement):
        try:
            yes = self.scope.condition(part)
        except Opaque:
            self._data(statement)
            return
        if yes in ([], [[]]):
            self.body(statement[2] if yes else statement[3])
            return
        self._branch(" or ".join(" and ".join(alternative) for alternative in yes), statement, part)

    def _branch(self, text, statement, part=None):
        """Both sides of a condition; part: what it is in terms of loops, so that variables can be one of two numbers after it."""
        outer, state = self.out, dict(self.local)
        self.out = []
        with self._where(part, True):
            self.body(statement[2])
        yes, self.out = self.out, []
        after, self.local = self.local, dict(state)
        with self._where(part, False):
            self.body(statement[3])
        no, self.out = self.out, outer
        self.local = {k: v if self.local.get(k) == v else ["select", part, v, self.local[k]] for k, v in after.items()
                      if self.local.get(k) == v or part is not None and k in self.local}
        self._forget(_stored([*statement[2], *statement[3]]))
        if yes or no:
            self.out.append(("block", f"if {text}", yes, no))

    @contextlib.contextmanager
    def _where(self, part, wanted):
        """A side of a condition: a comparison with one variable in it bounds the variable there, and what is computed from it."""
        found = self.scope.bound_by(part, wanted) if part is not None else None
        if found is None:
            yield
            return
        before, atom = self.scope.bounds, found[0]
        self.scope.bounds = {**before, atom: found[1:]}
        self.narrowed.append(found)
        try:
            yield
        finally:
            self.narrowed.pop()
            others = {text: bounds for text, bounds in self.scope.bounds.items() if not _sets.words(atom) & _sets.words(text)}
            self.scope.bounds = {**others, **before}

    def _data(self, statement):
        """A condition that data decides."""
        condition = self.value(statement[1])
        one = self._one_value(condition)
        orders = self.orders(statement[2]) or self.orders(statement[3])
        form = None if orders or statement[3] else self._guard_form(condition)
        if form in self.known.tiles.values() and not self.under:
            self._guarded_body(form, condition, statement[2])
            return
        self.under.append(form or "?")
        self._decided(statement, condition, one, orders)
        self.under.pop()

    def _decided(self, statement, condition, one, orders):
        text = None if one else self._choice(condition, orders)
        unnamed = not one and text is None and not self.is_asked(self._key(condition))
        if not orders and (unnamed or one and self._is_doubtful(statement, condition)):
            self._doubt(statement, condition)
            self._both(statement, "a condition on data")
            return
        if _sets.names(condition) & set(_sizes.names(self.tree)):
            raise _sizes.NeedsSize(_sets.names(condition) & set(_sizes.names(self.tree)))
        if text is None:
            text = f"{self._unknown(condition, 'data', '')} == 1"
            if orders and not one:
                self.note("a condition on data around synchronisation", "the same in every iteration and for all warps")
        self._branch(text, statement)


def conjunction(tree):
    """The parts of a condition that all hold."""
    if isinstance(tree, list) and tree[0] == "and":
        return conjunction(tree[1]) + conjunction(tree[2])
    return [tree]


def _join(parts):
    tree = parts[0]
    for part in parts[1:]:
        tree = ["and", tree, part]
    return tree


def _sure_stores(body, buffers, loops=()):
    """{key: statement} of the stores to some buffers that statements make in any case, at places of numbers known before: each is in loops
    alone, or on both sides of a condition. Stores at the same places by the same threads have the same key."""
    found = {}
    for s in body:
        if s[0] == "for" and not has_end(s):
            found.update(_sure_stores(s[5], buffers, (*loops, s)))
        elif s[0] == "if":
            other = _sure_stores(s[3], buffers, loops)
            found.update((key, made) for key, made in _sure_stores(s[2], buffers, loops).items() if key in other)
        elif s[0] == "store" and s[1] in buffers:
            names = {loop[1]: f"loop__{n}" for n, loop in enumerate(loops)}
            index = _sets.replace(s[2], names)
            if "?" in _sets.names(index) and s[2][:1] != ["ramp"]:
                continue
            extents = [_sets.replace(part, names) for loop in loops for part in loop[2:4]]
            made = ["store", s[1], s[2], ["f"]]
            for loop in reversed(loops):
                made = [*loop[:5], [made]]
            found[json.dumps([s[1], index, extents])] = made
    return found


def _is_partition(statement, buffers):
    """Whether a condition has stores alone on its sides, and those to some buffers are at the same places on both."""
    yes, no = statement[2:4]
    return (_sure_stores(yes, buffers).keys() == _sure_stores(no, buffers).keys() and _only_stores(yes, buffers) and _only_stores(no, buffers))


def _only_stores(body, buffers):
    return all(s[0] == "store" or s[0] == "for" and _only_stores(s[5], buffers) or s[0] == "if" and _is_partition(s, buffers) for s in body)
