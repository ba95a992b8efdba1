# SPDX-License-Identifier: Apache-2.0
"""Whole numbers of a lowered kernel: which bytes the threads of a warp access, as runs.

An index is a sum. Terms of thread numbers and of loops that are run here are *numeric*: their values are enumerated, for
every thread. Terms of loops that stay loops are *symbolic*: they become text of the kernel language. A term of both is
enumerated for its numeric parts, which gives one symbolic term for each of their values.
"""

import math
import re

_INFIX = {"+": "+", "-": "-", "*": "*", "//": "//", "%": "%", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "==": "==",
          "!=": "!=", "and": "and", "or": "or", "&": "&", "|": "|", "^": "^", "<<": "<<", ">>": ">>"}
_NOT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}

DATA = ("load", "call", "f", "ramp")  # kinds of expressions that are data
GROUPS_MOST = 64  # symbolic offsets of one access
LENGTH_MOST = 64  # numbers, names and operators of an expression of the kernel language
RUNS_MOST = 2048  # runs of bytes of one access


class Opaque(Exception):
    """A value that is not a number of the kernel: it comes from data, or has no form in the kernel language."""


def has(tree, kinds):
    """Whether an expression is of one of these kinds, or has one in it that is."""
    return isinstance(tree, list) and bool(tree) and (tree[0] in kinds or any(has(part, kinds) for part in tree[1:]))


def names(tree):
    """The variables of an expression; "?" stands for data."""
    if isinstance(tree, str):
        return {tree}
    if not isinstance(tree, list):
        return set()
    if tree[0] in DATA:
        return {"?"}.union(*[names(part) for part in tree[1:] if isinstance(part, list)])
    if tree[0] == "s":
        return set()
    parts = tree[2:] if tree[0] == "cast" else tree[1:]
    return set().union(*[names(part) for part in parts])


def all_names(tree):
    """The variables of an expression, with those that say where data is loaded from."""
    if isinstance(tree, str):
        return {tree}
    if not isinstance(tree, list) or tree[0] == "s":
        return set()
    parts = tree[2:] if tree[0] in ("cast", "load", "call") else tree[1:]
    return set().union(*[all_names(part) for part in parts])


def words(text):
    """The names in a text of the kernel language."""
    return set(re.findall(r"[A-Za-z_]\w*", text))


def replace(tree, lets):
    """An expression with its let variables written out."""
    if isinstance(tree, str):
        return lets.get(tree, tree)
    if not isinstance(tree, list) or not lets:
        return tree
    if tree[0] == "load":
        return ["load", tree[1], replace(tree[2], lets)]
    skip = 2 if tree[0] in ("call", "cast") else 1
    return tree[:skip] + [replace(part, lets) for part in tree[skip:]]


def code(tree):
    """An expression as Python."""
    if isinstance(tree, int):
        return str(tree)
    if isinstance(tree, str):
        return "v_" + tree
    kind = tree[0]
    if kind in _INFIX and len(tree) == 3:
        return f"({code(tree[1])} {_INFIX[kind]} {code(tree[2])})"
    if kind in ("min", "max"):
        return f"{kind}({code(tree[1])}, {code(tree[2])})"
    if kind == "not":
        return f"(not {code(tree[1])})"
    if kind == "select":
        return f"({code(tree[2])} if {code(tree[1])} else {code(tree[3])})"
    if kind == "cast":
        return f"int({code(tree[2])})"
    if kind == "wide":
        return code(tree[1])
    raise Opaque(f"'{kind}' has no value here")


# ---- symbolic sums -----------------------------------------------------------------------------------


class Sum:
    """const + sum of coefficient * atom; an atom is text of the kernel language with known bounds."""

    __slots__ = ("const", "terms")

    def __init__(self, const=0, terms=None):
        self.const, self.terms = const, terms or {}

    def key(self):
        """Equal sums have equal keys."""
        return (self.const, tuple(sorted(self.terms.items())))

    def plus(self, other, factor=1):
        terms = dict(self.terms)
        for atom, count in other.terms.items():
            terms[atom] = terms.get(atom, 0) + count * factor
            if not terms[atom]:
                del terms[atom]
        return Sum(self.const + other.const * factor, terms)

    def times(self, factor):
        return Sum(self.const * factor, {a: c * factor for a, c in self.terms.items()} if factor else {})

    def text(self, extra=0):
        parts = []
        for atom, count in sorted(self.terms.items()):
            if count == 1:
                parts.append(atom)
            else:
                parts.append(f"{atom} * {count}" if count >= 0 else f"{atom} * ({count})")
        const = self.const + extra
        if const or not parts:
            parts.append(str(const))
        return " + ".join(parts).replace("+ -", "- ")


class Scope:
    """What is known of the symbolic variables: their text and bounds, and those of the atoms made of them."""

    def __init__(self):
        self.values = {}
        self.bounds = {}
        self.ends = {}  # loop variable: its rounds as a number, and as a Sum of a parameter

    def bind(self, var, text, low, high):
        self.values[var] = Sum(0, {text: 1})
        self.bounds[text] = (low, high)

    def range(self, total):
        """(least, most), each None where it is not bounded."""
        low = high = total.const
        for atom, count in total.terms.items():
            least, most = self.bounds.get(atom, (None, None))
            if count < 0:
                least, most = most, least
            low = None if low is None or least is None else low + count * least
            high = None if high is None or most is None else high + count * most
        return low, high

    def _atom(self, text, low, high):
        self.bounds[text] = (low, high)
        return Sum(0, {text: 1})

    def sum(self, tree):
        """An expression of symbolic variables and numbers as a Sum."""
        if isinstance(tree, int):
            return Sum(tree)
        if isinstance(tree, str):
            if tree not in self.values:
                raise Opaque(f"'{tree}', which has no value in the kernel")
            return self.values[tree]
        kind = tree[0]
        if kind == "+":
            return self.sum(tree[1]).plus(self.sum(tree[2]))
        if kind == "-":
            return self.sum(tree[1]).plus(self.sum(tree[2]), -1)
        if kind in ("cast", "wide"):
            return self.sum(tree[-1])
        if kind == "*":
            return self._product(self.sum(tree[1]), self.sum(tree[2]))
        if kind in ("<<", ">>"):
            right = self.sum(tree[2])
            if right.terms:
                raise Opaque("a shift by a number that is not constant")
            left = self.sum(tree[1])
            return left.times(1 << right.const) if kind == "<<" else self._quotient(left, 1 << right.const)
        if kind in ("//", "%", "&"):
            left, right = self.sum(tree[1]), self.sum(tree[2])
            if right.terms or (kind == "&" and right.const & (right.const + 1)) or right.const < 0:
                raise Opaque(f"'{kind}' by a number that is not constant")
            if kind == "//":
                return self._quotient(left, right.const)
            return self._rest(left, right.const + (kind == "&"))
        if kind == "|":
            return self._union(self.sum(tree[1]), self.sum(tree[2]))
        if kind == "^":
            return self._flip(self.sum(tree[1]), self.sum(tree[2]))
        if kind in ("min", "max"):
            return self._extreme(kind, self.sum(tree[1]), self.sum(tree[2]))
        if kind == "select":
            return self._select(*tree[1:])
        raise Opaque(f"'{tree[1] if kind == 'call' else kind}' has no form in the kernel language")

    def _product(self, left, right):
        if left.terms and right.terms:
            raise Opaque("a product of two variables")
        return right.times(left.const) if not left.terms else left.times(right.const)

    def _quotient(self, total, by):
        if by == 1:
            return total
        low, high = self.range(total)
        if low is not None and high is not None and low // by == high // by:
            return Sum(low // by)
        if all(count % by == 0 for count in total.terms.values()):
            return Sum(total.const // by, {a: c // by for a, c in total.terms.items()})
        whole = {a: c // by for a, c in total.terms.items() if c % by == 0}
        rest = Sum(total.const, {a: c for a, c in total.terms.items() if c % by})
        if whole:
            return Sum(0, whole).plus(self._quotient(rest, by))
        return self._atom(f"(({total.text()}) / {by})", None if low is None else low // by,
                          None if high is None else high // by)

    def _rest(self, total, by):
        total = Sum(total.const, {a: c for a, c in total.terms.items() if c % by})
        low, high = self.range(total)
        if low is not None and high is not None and low // by == high // by:
            return total.plus(Sum(-(low // by) * by))
        return self._atom(f"(({total.text()}) % {by})", 0, by - 1)

    def _union(self, left, right):
        """Bits of two numbers: their sum where one is a multiple of a power of two that the other is below."""
        if not left.terms and not right.terms:
            return Sum(left.const | right.const)
        for high, low in ((left, right), (right, left)):
            least, most = self.range(low)
            if (least, most) == (0, 0) or least is not None and most is not None and 0 <= least and most < _unit(high):
                return left.plus(right)
        raise Opaque("'|' of a variable")

    def _flip(self, left, right):
        if left.terms and right.terms:
            raise Opaque("'^' of two variables")
        if right.terms:
            left, right = right, left
        if not left.terms:
            return Sum(left.const ^ right.const)
        low, high = self.range(left)
        if right.const == 0:
            return left
        if right.const == 1 and low is not None and high is not None and low >= 0 and high <= 1:
            return Sum(1).plus(left, -1)
        raise Opaque("'^' of a variable")

    def _extreme(self, kind, left, right):
        if not left.terms and not right.terms:
            return Sum((min if kind == "min" else max)(left.const, right.const))
        (a, b), (c, d) = self.range(left), self.range(right)
        pick = min if kind == "min" else max
        low = pick(a, c) if a is not None and c is not None else None
        high = pick(b, d) if b is not None and d is not None else None
        return self._atom(f"{kind}({left.text()}, {right.text()})", low, high)

    def _select(self, condition, yes, no):
        """One of two values that differ by a constant: the second, and the difference times 0 or 1."""
        known = self.condition(condition)
        if known in ([], [[]]):
            return self.sum(yes if known else no)
        low, difference = self.sum(no), self.sum(yes).plus(self.sum(no), -1)
        if difference.terms:
            raise Opaque("one of two values that differ by a variable")
        return low.plus(self._indicator(condition), difference.const)

    def _indicator(self, tree):
        """1 where a comparison holds, 0 elsewhere."""
        kind = tree[0] if isinstance(tree, list) else None
        if kind in ("cast", "wide"):
            return self._indicator(tree[-1])
        if kind == "not":
            return Sum(1).plus(self._indicator(tree[1]), -1)
        if kind not in ("<", "<=", ">", ">="):
            raise Opaque("one of two values by a condition of several parts")
        small, large = tree[1:] if kind[0] == "<" else reversed(tree[1:])
        distance = self.sum(large).plus(self.sum(small), -1).plus(Sum(len(kind) - 1))
        return self._atom(f"max(0, min(1, {distance.text()}))", 0, 1)

    # ---- conditions -------------------------------------------------------------------------------

    def condition(self, tree, wanted=True):
        """A condition as alternatives of comparisons that all hold: [[text, ...], ...]; [] is false and [[]] true."""
        kind = tree[0] if isinstance(tree, list) else None
        if kind == "not":
            return self.condition(tree[1], not wanted)
        if kind in ("cast", "wide"):
            return self.condition(tree[-1], wanted)
        if kind in ("and", "or"):
            left, right = self.condition(tree[1], wanted), self.condition(tree[2], wanted)
            if (kind == "or") == wanted:
                return [[]] if [] in left or [] in right else left + right
            both = [a + b for a in left for b in right]
            if len(both) > 8:
                raise Opaque("a condition of too many parts")
            return both
        if _is_truth(tree) and kind == "select":
            return self.condition(tree[1], wanted == bool(tree[2]))
        if kind not in _NOT:
            return self.condition(["!=", tree, 0], wanted)
        if kind in ("==", "!=") and tree[2] == 0 and _is_truth(tree[1]):
            return self.condition(tree[1], wanted == (kind == "!="))
        relation = kind if wanted else _NOT[kind]
        left, right = self._with_ends(self.sum(tree[1]), self.sum(tree[2]))
        low, high = self.range(left.plus(right, -1))
        known = _decided(relation, low, high)
        if known is not None:
            return [[]] if known else []
        return [[f"{left.text()} {relation} {right.text()}"]]


    def bound_by(self, tree, wanted):
        """(atom, least, most) where a comparison that holds, or does not, has one atom in it; None for others."""
        if not isinstance(tree, list) or tree[0] not in _NOT:
            return None
        relation = tree[0] if wanted else _NOT[tree[0]]
        try:
            difference = self.sum(tree[1]).plus(self.sum(tree[2]), -1)
        except Opaque:
            return None
        if len(difference.terms) != 1 or relation == "!=":
            return None
        (atom, count), = difference.terms.items()
        if count < 0:
            count, difference, relation = -count, difference.times(-1), {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}[relation]
        low, high = self.bounds.get(atom, (None, None))
        if relation in ("<", "<=", "=="):  # count * atom <= most
            most = (-difference.const - (relation == "<")) // count
            high = most if high is None else min(high, most)
        if relation in (">", ">=", "=="):
            least = -((difference.const - (relation == ">")) // count)
            low = least if low is None else max(low, least)
        return atom, low, high

    def _with_ends(self, left, right):
        """`k < 63` in a loop of 64 rounds is about its last round, also where the rounds are a parameter."""
        for one, other, flip in ((left, right, False), (right, left, True)):
            if len(one.terms) == 1 and not other.terms:
                (var, count), = one.terms.items()
                rounds, text = self.ends.get(var, (0, None))
                if count == 1 and rounds >= 4 and rounds - 2 <= other.const - one.const <= rounds:
                    other = text.plus(Sum(other.const - rounds))
                    return (other, one) if flip else (one, other)
        return left, right


def _unit(total):
    """The largest power of two that every value of a sum is a multiple of."""
    found = math.gcd(total.const, *total.terms.values())
    return found & -found if found else 1 << 62


def _decided(relation, low, high):
    """Whether d REL 0 holds for all d from low to high, for none, or None."""
    below = high is not None and high < 0
    above = low is not None and low > 0
    if relation in ("<", ">="):
        yes = True if below else False if low is not None and low >= 0 else None
        return yes if relation == "<" or yes is None else not yes
    if relation in (">", "<="):
        yes = True if above else False if high is not None and high <= 0 else None
        return yes if relation == ">" or yes is None else not yes
    equal = True if low == high == 0 and low is not None else False if below or above else None
    return equal if relation == "==" or equal is None else not equal


def _is_truth(tree):
    """Whether an expression is 0 or 1, by a condition."""
    return isinstance(tree, list) and (tree[0] in ("not", "and", "or", *_NOT) or tree[0] == "select" and tree[2:] in ([1, 0], [0, 1]))


# ---- footprints --------------------------------------------------------------------------------------


def terms(tree, factor=1):
    """The terms of a sum, each with its factor."""
    if isinstance(tree, list):
        if tree[0] in ("+", "-"):
            return terms(tree[1], factor) + terms(tree[2], factor if tree[0] == "+" else -factor)
        if tree[0] == "*" and isinstance(tree[2], int):
            return terms(tree[1], factor * tree[2])
        if tree[0] == "*" and isinstance(tree[1], int):
            return terms(tree[2], factor * tree[1])
        if tree[0] in ("cast", "wide"):
            return terms(tree[-1], factor)
        if tree[0] == "|" and 0 in tree[1:]:
            return terms(tree[2] if tree[1] == 0 else tree[1], factor)
    return [(tree, factor)]


class Footprint:
    """An access of every thread: offset in bytes and size, over a domain of loops with guards. `runs(lanes)` gives
    [(Sum, [(start, end), ...]), ...]: for every symbolic offset the runs of bytes, merged."""

    def __init__(self, scope, offset, size, numeric, loops, guards, index_bits=8):
        self.scope, self.size, self.bits = scope, size, index_bits
        self.holes, plain = [], []
        self.fixed = Sum()
        mixed = []
        for term, factor in terms(offset):
            used = names(term)
            if "?" in used:
                raise Opaque("an index that is data")
            if used <= numeric:
                plain.append(["*", term, factor])
            elif not used & numeric:
                self.fixed = self.fixed.plus(scope.sum(term), factor)
            else:
                mixed.append((self._hole(term, numeric), factor))
        self.mixed = mixed
        body = " + ".join(code(t) for t in plain) or "0"
        keys = "".join(code(h) + ", " for h in self.holes)
        lines = ["def run(lanes, out):", " for v_thread__x, v_thread__y, v_thread__z in lanes:"]
        depth = 2
        for var, begin, extent in loops:
            low = code(begin)
            lines.append(" " * depth + f"for v_{var} in range({low}, {low} + {code(extent)}):")
            depth += 1
        for guard in guards:
            lines.append(" " * depth + f"if not {code(guard)}: continue")
        lines.append(" " * depth + f"out.setdefault(({keys}), set()).add({body})")
        space = {}
        exec("\n".join(lines), space)  # expressions of this module's own making: numbers and names with a prefix
        self.run = space["run"]
        self.same = "v_thread__" not in "\n".join(lines[2:])  # for all threads
        self.kept = None

    def _hole(self, tree, numeric):
        """A term of both kinds, with its numeric parts as ("hole", number)."""
        if isinstance(tree, (int, str)) or names(tree) <= numeric:
            if isinstance(tree, int):
                return tree
            if isinstance(tree, str) and tree not in numeric:
                return tree
            self.holes.append(tree)
            return ["hole", len(self.holes) - 1]
        return [tree[0]] + [self._hole(part, numeric) if not (tree[0] == "cast" and n == 0) else part
                            for n, part in enumerate(tree[1:])]

    def runs(self, lanes):
        if not self.same or self.kept is None:
            self.kept = self._runs(lanes[:1] if self.same else lanes)
        return self.kept

    def _runs(self, lanes):
        found = {}
        self.run(lanes, found)
        groups = {}
        for key, starts in found.items():
            total = self.fixed
            for tree, factor in self.mixed:
                total = total.plus(self.scope.sum(_fill(tree, key)), factor)
            shift, total = total.const, _in_bytes(total.terms, self.bits)
            home = groups.setdefault(total.key(), (total, set()))
            home[1].update(start + shift for start in starts)
        if len(groups) > GROUPS_MOST:
            raise Opaque(f"{len(groups)} different offsets")
        if any(length(total.text(1)) > LENGTH_MOST for total, _ in groups.values()):
            raise Opaque("an offset that is too long to write")
        return [(total, _merge(starts, self.size, self.bits)) for total, starts in groups.values()]


def length(text):
    """Numbers, names and operators of an expression as it is written."""
    return 2 * len(re.findall(r"\w+", text)) - 1


def _in_bytes(terms, bits):
    """Terms that count units of `bits`, as bytes."""
    if any(count * bits % 8 for count in terms.values()):
        raise Opaque("an offset that is not a whole number of bytes")
    return Sum(0, {atom: count * bits // 8 for atom, count in terms.items()})


def _fill(tree, key):
    if isinstance(tree, list):
        if tree[0] == "hole":
            return int(key[tree[1]])
        return [tree[0]] + [_fill(part, key) for part in tree[1:]]
    return tree


def _merge(starts, size, bits):
    """Runs of bytes from starts in units of `bits`, each `size` units long."""
    runs = []
    for start in sorted(starts):
        low, high = start * bits // 8, -(-(start + size) * bits // 8)
        if runs and low <= runs[-1][1]:
            runs[-1][1] = max(runs[-1][1], high)
        else:
            runs.append([low, high])
    return [tuple(run) for run in runs]


def pieces(runs):
    """Runs as (start, length, step, count): evenly spaced runs of one length."""
    found, at = [], 0
    while at < len(runs):
        start, length = runs[at][0], runs[at][1] - runs[at][0]
        count, step = 1, 0
        while at + count < len(runs) and runs[at + count][1] - runs[at + count][0] == length:
            gap = runs[at + count][0] - runs[at + count - 1][0]
            if count > 1 and gap != step:
                break
            step, count = gap, count + 1
        found.append((start, length, step if count > 1 else length, count))
        at += count
    return found
