# SPDX-License-Identifier: Apache-2.0
"""Data that decides what a kernel of TileLang does: one name for one value, wherever it is used.

A *datum* is a sum of numbers in global memory that the kernel does not write, at places that the block alone decides, such
as the length of a sequence: every thread and every round sees the same. Where it is divided by a number, as in
`(length + 127) // 128`, the quotient is a number of the kernel, and comparisons of the length that it answers are comparisons
of the quotient.

A *guard* is a condition on such data at a place that a loop moves, and around it are plain accesses only. Taking all guards
as true gives all orders and all races, because no guard decides what waits for what. What is left is whether the bytes
that are read were written: a buffer whose accesses are all under guards of one form has a tile for each place of
the data, so a read under a guard has to find what was last written under the same guard, which is there if it is.

What a walk has seen decides how the next one reads it (`Known.learn`); `_load` walks until nothing is new.
"""

import json

from ._sets import has
from ._tree import bodies

_FLIP = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
WAYS_MOST = 128  # values of a datum that are checked one by one
_WRITES = ("writes", "updates", "adds")


class Datum:
    """(sum + shift) // by, as a number of the kernel. most: where a buffer has no room for more."""

    def __init__(self, name, by, shift):
        self.name, self.by, self.shift = name, by, shift
        self.most, self.room, self.less = None, None, 0


class Known:
    """What the walks before have found out."""

    def __init__(self):
        self.datums = {}  # terms of a sum: Datum
        self.dropped = set()  # terms of sums that are no data
        self.tiles = {}  # buffer: the form of the guards around all of its accesses
        self.plain = set()  # buffers that are written outside of guards alone
        self.fixed = set()  # loop variables that count places of guards
        self.bad = set()  # forms of guards whose places have no bounds
        self.alike, self.turned = set(), set()  # loops whose rounds do the same but for what data chooses in each, and others
        self.doubts = {}  # buffer: tensors whose data decides, by conditions without a name, whether it is read
        self.asked = set()  # conditions on data that have a name, because order depends on them somewhere

    def named(self, name):
        """The datum of a name, or None."""
        return next((datum for datum in self.datums.values() if datum.name == name), None)

    def learn(self, walk):
        """Takes over what a walk saw; whether that was new."""
        return any([self._dropped(walk), self._datums(walk.quotients), self._rooms(walk.rooms), self._guards(walk), self._rounds(walk)]) or self._doubts(walk)

    def _rounds(self, walk):
        """Conditions of one walk that the next knows from its first warp on, and loops in whose rounds data may choose."""
        self.turned |= walk.turning
        alike, asked = walk.seen - self.turned, self.asked | set(walk.unknowns)
        new = (alike, asked) != (self.alike, self.asked)
        self.alike, self.asked = alike, asked
        return new

    def _doubts(self, walk):
        """Conditions that are left without a name when all others have theirs."""
        doubts = {name: walk.doubts.get(name, set()) | self.doubts.get(name, set()) for name in {*walk.doubts, *self.doubts}}
        new, self.doubts = doubts != self.doubts, doubts
        return new

    def _dropped(self, walk):
        """A datum without a bound that is the rounds of no loop is left out again: there is no proof for all of its values, and one for
        both ways that each condition on it can be."""
        kept = walk.opened | {name for name, (most, _) in walk.rooms.items() if 0 <= most <= WAYS_MOST}
        lost = [terms for terms, datum in self.datums.items() if datum.most is None and datum.name in walk.used - kept]
        self.dropped |= set(lost)
        for terms in lost:
            del self.datums[terms]
        return bool(lost)

    def _datums(self, quotients):
        new = False
        for terms, uses in quotients.items():
            if terms in self.datums or terms in self.dropped or len(uses) != 1:
                continue
            (by, shift), = uses
            number = next(n for n in range(len(self.datums) + 1) if self.named(_name(n)) is None)
            self.datums[terms] = Datum(_name(number), by, shift)
            new = True
        return new

    def _rooms(self, rooms):
        new = False
        for name, (most, buffer) in rooms.items():
            datum = self.named(name)
            if datum.most is None and 0 <= most <= WAYS_MOST:
                datum.most, datum.room, new = most, buffer, True
        return new

    def _guards(self, walk):
        bad = walk.unbounded - self.bad
        if bad:
            self.bad |= bad
            self.tiles = {buffer: form for buffer, form in self.tiles.items() if form not in bad}
            return True
        if self.tiles:
            return False
        for buffer, uses in walk.uses.items():
            forms = {form for _, form in uses}
            form = forms.pop() if len(forms) == 1 else None
            if isinstance(form, str) and walk.guard_loops.get(form) and form not in self.bad and any(kind in _WRITES for kind, _ in uses):
                self.tiles[buffer] = form
            elif all(under is None for kind, under in uses if kind in _WRITES):
                self.plain.add(buffer)
        self.fixed = set().union(*[walk.guard_loops[form] for form in self.tiles.values()])
        return bool(self.tiles)

    # ---- expressions --------------------------------------------------------------------------

    def rewritten(self, walk, tree):
        """An expression with datums as names."""
        if not isinstance(tree, list) or not tree or not has(tree, ("load",)):
            return tree
        kind, made = tree[0], None
        if kind == "//" and isinstance(tree[2], int) and tree[2] > 0:
            made = self._divided(walk, tree[1], tree[2])
        elif kind in _FLIP and len(tree) == 3:
            made = self._comparison(walk, kind, linear(walk, ["-", tree[1], tree[2]]))
        elif kind == "select":
            datum = self.datums.get(((json.dumps(tree), 1),))
            made = walk.use_datum(datum) if datum is not None and (datum.by, datum.shift) == (1, 0) else None
        if made is not None:
            return made
        skip = 2 if kind in ("load", "call", "cast") else 1
        return tree[:skip] + [self.rewritten(walk, part) for part in tree[skip:]]

    def _divided(self, walk, tree, by):
        """tree // by; x % (by * m) // by is x // by % m."""
        if isinstance(tree, list) and tree[:1] == ["%"] and isinstance(tree[2], int) and tree[2] > 0 and tree[2] % by == 0:
            made = self._divided(walk, tree[1], by)
            return made if made is None else ["%", made, tree[2] // by]
        return self._quotient(walk, linear(walk, tree), by)

    def extent(self, walk, tree):
        """The rounds of a loop, where they are a datum by itself."""
        made = self._quotient(walk, linear(walk, tree), 1)
        return tree if made is None else made

    def _quotient(self, walk, line, by):
        if line is None or not line[0]:
            return None
        terms, const = line
        walk.quotients.setdefault(terms, set()).add((by, const % by))
        datum = self.datums.get(terms)
        if datum is None or datum.by != by or (const - datum.shift) % by:
            return None
        return _moved(walk.use_datum(datum), (const - datum.shift) // by)

    def _comparison(self, walk, kind, line):
        """sum + const RELATION 0, where the quotient has the answer: sum >= t is quotient >= (t + shift) / by for those t that
        a step of the quotient begins with."""
        if line is None or not line[0]:
            return None
        terms, const = line
        bound = -const
        if terms not in self.datums:
            terms, bound, kind = tuple((load, -times) for load, times in terms), const, _FLIP[kind]
        datum = self.datums.get(terms)
        if datum is None or kind in ("==", "!=") and datum.by != 1:
            return None
        bound += kind in ("<=", ">")
        if (bound + datum.shift) % datum.by:
            return None
        name, step = walk.use_datum(datum), (bound + datum.shift) // datum.by
        return [kind if kind in ("==", "!=") else ">=" if kind[0] == ">" else "<", name, step]


def _name(number):
    return f"data_n_{number}" if number else "data_n"


def _moved(name, by):
    return ["+", name, by] if by else name


def linear(walk, tree):
    """(terms, number) of a sum of datums: terms are (text of a load, factor). None where there is something else in it."""
    if isinstance(tree, int):
        return (), tree
    if not isinstance(tree, list) or not tree:
        return None
    if tree[0] == "load":
        name = walk.origins.get(tree[1]) if tree[2] == 0 else None  # of a variable: how it came about
        name = json.dumps(tree) if name is None and walk.is_same_for_all(tree) else name
        return (((name, 1),), 0) if name is not None else None
    if tree[0] == "select" and walk.is_same_for_all(tree):  # of two numbers, by data
        return ((json.dumps(tree), 1),), 0
    if tree[0] == "cast" and tree[1] in ("int32", "int64"):
        return linear(walk, tree[2])
    if tree[0] not in ("+", "-", "*"):
        return None
    left, right = linear(walk, tree[1]), linear(walk, tree[2])
    if left is None or right is None or tree[0] == "*" and left[0] and right[0]:
        return None
    if tree[0] == "*":
        left, factor = (right, left[1]) if not left[0] else (left, right[1])
        return _joined(left, ((), 0), factor, 0)
    return _joined(left, right, 1, 1 if tree[0] == "+" else -1)


def _joined(left, right, one, other):
    found = {}
    for (terms, _), factor in ((left, one), (right, other)):
        for load, times in terms:
            found[load] = found.get(load, 0) + times * factor
    return tuple(sorted((load, times) for load, times in found.items() if times)), left[1] * one + right[1] * other


# ---- guards ----------------------------------------------------------------------------------------------


def guard_of(tree):
    """(form, index): a condition with one load of global memory, and where that is; None for others."""
    loads = []

    def blank(part):
        if not isinstance(part, list) or not part:
            return part
        if part[0] == "load":
            loads.append(part)
            return ["load", part[1], "?"]
        return [part[0]] + [blank(inner) for inner in part[1:]]

    form = json.dumps(blank(tree))
    return (form, loads[0][2]) if len(loads) == 1 else None


# ---- loops -----------------------------------------------------------------------------------------------


def every(body):
    """Statements and those in them."""
    for s in body:
        yield s
        for part in s[1:]:
            if isinstance(part, list) and part and isinstance(part[0], list):
                yield from every(part)


def plain(body):
    """The statements without others in them, and what is computed for those with."""
    for s in every(body):
        if s[0] in ("store", "do", "let"):
            yield s
        else:
            yield from (["do", part] for part in s[1:] if not (isinstance(part, list) and part and isinstance(part[0], list)))


def stored(body):
    """The buffers that statements store to."""
    found = set()
    for s in body:
        if s[0] == "store":
            found.add(s[1])
        found.update(*map(stored, bodies(s)))
    return found


def is_break(statement):
    """Whether a statement ends the loop around it, by a condition."""
    return statement[0] == "if" and not statement[3] and [s[:1] for s in statement[2]] == [["do"]] and is_end(statement[2][0])


def is_end(statement):
    """Whether a statement is the end of the loop around it."""
    return statement[0] == "do" and isinstance(statement[1], list) and statement[1][:2] in (["call", "break_loop"], ["call", "loop_break"])


def has_end(statement):
    """Whether a loop may end in a statement."""
    return is_end(statement) or any(has_end(inner) for part in statement[1:] if isinstance(part, list) and part and isinstance(part[0], list)
                                    for inner in part)


def steps_of(body):
    """{variable: step} of variables that each round of a loop raises once, by a number, whatever happens in it."""
    found, count = {}, {}

    def stores(statements):
        for s in statements:
            if s[0] == "store":
                count[s[1]] = count.get(s[1], 0) + 1
            for inner in bodies(s):
                stores(inner)

    stores(body)
    for s in body:
        if s[0] == "store" and s[2] == 0 and count[s[1]] == 1 and isinstance(s[3], list):
            if s[3][:2] == ["+", ["load", s[1], 0]] and isinstance(s[3][2], int):
                found[s[1]] = s[3][2]
    return found


def copied(value):
    """(casts, load) of a value that is a load of several elements in a row, through casts; None for others."""
    casts = []
    while isinstance(value, list) and value[:1] == ["cast"]:
        casts.append(value[1].partition("x")[0] if value[1][-1].isdigit() and "x" in value[1] else value[1])
        value = value[2]
    if not isinstance(value, list) or value[:1] != ["load"]:
        return None
    index = value[2]
    if not isinstance(index, list) or index[:1] != ["ramp"] or index[2] != 1:
        return None
    return casts, value
