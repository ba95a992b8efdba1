# SPDX-License-Identifier: Apache-2.0
"""What data decides in a walk over a lowered kernel (_walk): which values are the same ones, which rounds a loop has, and what
is under conditions on data. _data has what the walks of a kernel learn from each other.

Two uses of data are one value where the same expression reads global memory that the kernel does not write, or variables that came
about in the same way from such data. Tensors of a kernel are taken to be different memory, which nothing else writes while it runs.
"""

import bisect
import contextlib
import hashlib
import itertools
import json

from . import _calls
from . import _data
from . import _sets
from . import _sizes
from ._calls import Unsupported
from ._sets import Opaque, Sum
from ._tree import bodies

_UNKNOWNS_MOST = 6  # values of data with a name each: a check runs a kernel for all ways that they can be
_CHOICES = 2  # rounds in a row in which data chooses: see `_choice`
_CHOSEN_MOST = 8  # such values and others together that are 0 or 1
UNROLLED_MOST = 32  # rounds of a loop that are written one by one


class Decides:
    """The part of a walk that knows of data."""

    def start(self, known):
        """What is found out of data, in this walk and in those before."""
        self.known = known if known is not None else _data.Known()
        self.unknowns = {}
        self.quotients, self.rooms = {}, {}  # of data: what it is divided by, and how much of it a buffer has room for
        self.used, self.opened = set(), set()  # names of data in this walk, and those that are rounds of loops
        self.uses, self.under, self.guard = {}, [], None  # accesses of buffers, and the conditions on data around them
        self.guard_loops, self.guard_begins, self.guard_counts, self.unbounded = {}, {}, {}, set()
        self.numbers, self.numbered, self.writers, self.at = {}, {}, {}, 0
        self.around, self.begun = [], {}  # (variable, name, which one of its name) of the loops that stay loops
        self.doubts = {}  # buffer: data that decides whether it is read
        self.seen, self.turning, self.choices = set(), set(), set()  # loops, those with rounds of several kinds, and what data chooses in rounds

    def number(self, statements):
        """Numbers statements in the order of the program, and keeps for each buffer those that write it."""
        if id(statements) in self.numbered:
            return
        self.numbered[id(statements)] = statements  # kept: what is known of statements goes by their identity
        for s in statements:
            if id(s) in self.numbers:
                continue
            self.numbers[id(s)] = len(self.numbers)
            self.numbered[id(s)] = s
            for name in ({s[1]} if s[0] == "store" else set()) | _calls.written(self, [s]) if s[0] in ("store", "do", "let") else ():
                self.writers.setdefault(name, []).append(self.numbers[id(s)])
            for inner in bodies(s):
                self.number(inner)

    # ---- values -----------------------------------------------------------------------------

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

    def is_same_for_all(self, tree):
        """Whether data is the same for all threads and rounds: of global memory that the kernel does not write, at a place
        that the block alone decides. Tensors of the kernel are taken to be different memory."""
        return _sets.all_names(tree) <= self.block_vars() and self._lasting(tree)

    def block_vars(self):
        return {self.tree["bound"].get("blockIdx." + axis) for axis in "xyz"}

    def use_datum(self, datum):
        """The name of a datum, which is declared when it is first used."""
        self.scope.bind(datum.name, datum.name, 0, datum.most)
        self.used.add(datum.name)
        kind = " any"
        if datum.most is not None:
            kind = f"in 0..{datum.most + 1} = {min(datum.most, 4 + datum.less)}"
            self.note(f"'{datum.name}'", f"at most {datum.most}, because '{datum.room}' has no room for more")
        self.unknowns.setdefault("datum " + datum.name, (datum.name, kind))
        return datum.name

    def unsure(self):
        """Whether it is not certain that all threads of the warp run what is walked now."""
        return bool(self.guards) or self.may or self.guard is not None or len(self.lanes) < self.whole

    def _copy(self, buffer, index, value):
        """Follows a local copy of global memory that is made once: its elements are those of the original."""
        facts = self.buffers.get(buffer)
        found = _data.copied(value) if facts and facts["scope"].startswith("local") and not self.depth else None
        if found is None or len(self.writers[buffer]) != 1 or self.loops or self.unsure() or index[:3] != ["ramp", 0, 1]:
            return
        casts, load = found
        if index[3] == load[2][3] == facts.get("elements") and self.is_same_for_all(["load", load[1], self.value(load[2][1])]):
            self.copies[buffer] = (casts, load[1], self.value(load[2][1]))

    def _originate(self, buffer, index, value):
        """Follows how a variable of one element came about, where that is the same for all threads and rounds: from data that is,
        and numbers. Equal texts give equal values, also in other branches of the program."""
        facts = self.buffers.get(buffer)
        if not facts or not facts["scope"].startswith("local") or facts.get("elements") != 1:
            return
        value = self.value(value)
        texts = {name: self.origins[name] for name in loaded(value) if name in self.origins}
        self.origins.pop(buffer, None)
        bound = self.block_vars() | {loop[0] for loop in self.loops}
        known = _sets.all_names(value) <= bound and all(isinstance(part, int) for loop in self.loops for part in loop[1:])
        if self.depth or self.unsure() or index != 0 or not known:
            return
        if self._lasting(_without(value, texts)):
            hints = self.tree.get("hints", {})
            loops = {loop[0]: hints.get(loop[0], loop[0]) for loop in self.loops}
            made = json.dumps([_sets.replace(value, loops), [[loops[loop[0]], *loop[1:]] for loop in self.loops], sorted(texts.items())])
            self.origins[buffer] = hashlib.sha256(made.encode()).hexdigest()

    def _forget(self, names):
        """What variables came from is not known any more."""
        for name in names:
            self.origins.pop(name, None)
            self.made.pop(name, None)

    def _opaque(self, tree):
        try:
            self.scope.sum(tree)
        except Opaque:
            return True
        return False

    def _constant(self, tree):
        """A number where an expression comes to one."""
        if isinstance(tree, list):
            with contextlib.suppress(Opaque):
                total = self.scope.sum(tree)
                return tree if total.terms else total.const
        return tree

    def _one_value(self, condition):
        """Whether data that decides is the same for all threads and rounds: of global memory that the kernel does not write,
        at a place that the block alone decides."""
        return self.is_same_for_all(condition) and len({name for name, _ in self.unknowns.values()}) < _UNKNOWNS_MOST

    def _key(self, tree):
        """Equal for the same expression, also where the loops of producers and of consumers, which were one in the program,
        have variables of their own."""
        hints = self.tree.get("hints", {})
        tree = _sets.replace(tree, {name: hints[name] for name in hints if name in self.scope.values})
        return json.dumps([tree, self._versions(tree)])

    def _versions(self, tree):
        """For each buffer that an expression reads and the kernel writes, how its value came about, or how many writes stand before
        it in the program: the same place has the same value only where no write is between."""
        read = {name for name in loaded(tree) if name in self.writers}
        return {name: self.origins.get(name) or bisect.bisect_left(self.writers[name], self.at) for name in sorted(read)}

    def _unknown(self, tree, name, kind):
        """A name for a value that data decides: one for all uses of the same expression."""
        return self._named(self._key(tree), name, kind)

    def _named(self, key, name, kind):
        if key not in self.unknowns:
            used = {name for name, _ in self.unknowns.values()} | {datum.name for datum in self.known.datums.values()}
            made, number = name, 1
            while made in used:
                made, number = f"{name}_{number}", number + 1
            self.unknowns[key] = (made, kind)
        return self.unknowns[key][0]

    def _doubt(self, statement, condition):
        """Notes which buffers may be read under a condition, and what that is a condition on."""
        reads = set()
        _calls.buffers_of(self, [*statement[2], *statement[3]], reads, set())
        for name in reads & set(self.shared):
            self.doubts.setdefault(name, set()).add(frozenset(loaded(condition)))

    def _is_doubtful(self, statement, condition):
        """Whether what is stored under a condition may be read under one without a name, on the same data: then they may be the same one."""
        writes = set()
        _calls.buffers_of(self, [*statement[2], *statement[3]], set(), writes)
        return any(frozenset(loaded(condition)) in self.known.doubts.get(name, ()) for name in writes)

    def is_asked(self, key):
        """Whether a condition has a name somewhere in the kernel."""
        return key in self.unknowns or key in self.known.asked

    def _choice(self, condition, orders):
        """What data chooses for all threads together, in each round of the loops around, as a condition; None where it is not that. orders:
        something under it synchronises.

        Two rounds in a row have choices of their own, and the pairs repeat. Where rounds are alike, that covers all choices: in the rounds
        between two accesses that meet, nothing orders them, and nothing writes what is read. Without those rounds, which may as well
        be before or after, the two are in the same round or in neighbouring ones, in the same order or in none."""
        found = self.uniform_form(condition)
        loops = self.around[:found[1]] if found is not None else []
        if not loops or len(loops) > 2 or any(var is None for var, _, _ in self.around) or len(self.around) != self.depth:
            return None
        alike = {name for _, name, _ in self.around} <= self.known.alike
        if not alike and not orders:
            return None
        hints, turns = self.tree.get("hints", {}), list(itertools.product(range(_CHOICES), repeat=len(loops)))
        key = json.dumps(["choice", found[0], [[hints.get(var, var), which] for var, _, which in loops]])
        taken = {made for made, kind in self.unknowns.values() if kind != " any"}
        if f"{key} {turns[0]}" not in self.unknowns and len(taken) + len(turns) > _CHOSEN_MOST:
            return None
        ways = []
        for turn in turns:
            rest = [f"{name} % {_CHOICES} == {number}" for (_, name, _), number in zip(loops, turn)]
            ways.append(" and ".join([*rest, f"{self._named(f'{key} {turn}', 'data', '')} == 1"]))
        if not alike:
            self.note("a condition on data around synchronisation", f"all that it can be in {_CHOICES} rounds in a row, and those repeat")
        self.choices.add(" or ".join(ways))
        return " or ".join(ways)

    @contextlib.contextmanager
    def _in_rounds(self, var, name):
        """The rounds of a loop that stays one."""
        hint = self.tree.get("hints", {}).get(var, var)
        self.begun[hint] = self.begun.get(hint, 0) + 1
        self.around.append((var, name, self.begun[hint]))
        self.depth += 1
        yield
        self.depth -= 1
        self.around.pop()
        self.seen.add(name)
        if not all(self._is_alike(item, name) for item in self.out):
            self.turning.add(name)

    def _is_alike(self, item, name):
        """Whether a statement of a round does the same in each, if data chooses the same."""
        if isinstance(item, str):
            known = item.startswith(("sync ", "fence", "commit ", "tensor mma")) or item.startswith("wait ") and " pending " in item
            return known and name not in _sets.words(item)
        if isinstance(item, tuple):
            same = name not in _sets.words(item[1]) or item[1].startswith("if ") and item[1][3:] in self.choices
            return same and all(self._is_alike(inner, name) for inner in (*item[2], *(item[3] or ())))
        places = [text for access in item.accesses() if not isinstance(access, str) for text in (*access.offset.terms, access.tile)]
        return " delivers " not in item.tail and " arrives " not in item.tail and not any(name in _sets.words(f"{text}") for text in places)

    # ---- rounds -----------------------------------------------------------------------------

    def steps(self, body, turn):
        """{variable: value} at the start of a round of variables that each round raises; turn: how many rounds were before."""
        if self._opaque(turn):
            return {}
        return {name: ["+", self.local[name], ["*", turn, step]] for name, step in _data.steps_of(body).items() if name in self.local}

    def _each_round(self, var, values, body):
        """A loop whose rounds stand one after another: a power of two that its variable gives has no form in the kernel language."""
        kept = self.lets
        self.depth += 1
        for value in values:
            self.lets = {**self.lets, var: value}
            self.body(body)
        self.depth -= 1
        self.lets = kept

    def _chosen_rounds(self, statement, begin, extent):
        """A loop of which data chooses the rounds that do something: everything is under one condition, on data at a place that
        the round decides. Those rounds come one after another, and their number is any; which ones they are is data."""
        _, var, _, _, _, body = statement
        lets = [s for s in body if s[0] == "let"]
        parts = body[len(lets):]
        if not parts or self.loops or not all(s[0] == "if" and self._computes(s[3]) for s in parts) or not self.orders(body):
            return False
        kept, values = dict(self.lets), dict(self.scope.values)
        self.scope.bind(var, self.fresh(var), 0, None)
        self.around.append((var, self.fresh(var), 0))
        for s in lets:
            value = self.value(s[2])
            self.lets[s[1]] = value if self._lasting(value) else self.as_data(value, s[1])
        conditions = [self.value(s[1]) for s in parts]
        forms = [self.uniform_form(condition) for condition in conditions]
        self.around.pop()
        used, keys = _sets.all_names(conditions[0]), {json.dumps(form) for form in forms}
        same = self.block_vars() | set(_sizes.names(self.tree))
        fixed = _sets.all_names(begin) | _sets.all_names(extent) <= same and self._lasting(["+", begin, extent])
        chosen = (len(keys) == 1 and forms[0] is not None and var in used <= same | {var} and fixed and "?" in _sets.names(conditions[0])
                  and (self._lasting(conditions[0]) or not self.around))
        if chosen:
            rounds = self._named(json.dumps(["chosen", forms[0][0], begin, extent]), "data_n", " any")
        self.lets, self.scope.values = kept, values
        if chosen:
            self.note(f"the loop over {self.fresh(var)}", "data chooses its rounds: any number of them")
            self._change([inner for s in parts for inner in s[3]])  # what rounds that are not chosen compute
            self._counted_rounds(var, f"0..{rounds}", [*lets, *[inner for s in parts for inner in s[2]]], True)
        return chosen

    def _computes(self, body):
        """Whether statements do nothing but store to variables."""
        return all(s[0] == "store" and self.is_variable(s[1]) and s[1] not in self.counters for s in body)

    def _counted_rounds(self, var, rounds, body, hidden=False):
        """A loop over rounds whose number is data. hidden: which value its variable has in a round is data, too."""
        name, lets = self.fresh(var), dict(self.lets)
        self.scope.bind(var, name, 0, None)
        turn = var
        if hidden:
            turn = "turn__" + var
            self.scope.bind(turn, name, 0, None)
            self.lets[var] = ["call", "data", var]
        self._loop_lines(f"for {name} in {rounds}", body, self.steps(body, turn), var)
        self.lets = lets

    def _ended_rounds(self, statement, begin, extent):
        """A loop that data ends early: all of its rounds, or so many and the part of one more up to the break."""
        _, var, _, _, _, body = statement
        ends = [n for n, s in enumerate(body) if _data.is_break(s)]
        if not ends:
            return False
        if len(ends) > 1 or begin != 0 or not isinstance(extent, int) or extent > _data.WAYS_MOST or self.loops:
            raise Unsupported(f"a loop over '{var}' of {extent} with {len(ends)} places where data ends it")
        if _sets.all_names(self.value(body[ends[0]][1])) & self.numeric():
            raise Unsupported(f"a loop over '{var}' that threads end by themselves")
        first, rest = body[:ends[0]], body[ends[0] + 1:]
        if loaded(self.value(body[ends[0]][1])) & set(self.shared):
            first = [*first, ["do", body[ends[0]][1]]]
        rounds = self._unknown(["ended", self.numbers.get(id(statement), 0)], "data_end", f"in 0..{extent + 1} = {extent}")
        self.note(f"the loop over {self.fresh(var)}", "data ends it, after any number of rounds, which is the same for all warps")
        if not first:
            self._counted_rounds(var, f"0..{rounds}", rest)
            return True
        self.scope.bind(rounds, rounds, 0, extent)
        self._counted_rounds(var, f"0..min({rounds} + 1, {extent})", [*first, ["if", ["<", var, rounds], rest, []]])
        return True

    def _bounds(self, name, begin, extent):
        """The begin of a loop and how many rounds it has."""
        try:
            low, count = self.scope.sum(begin), self.scope.sum(extent)
            data = [atom for atom in count.terms if any(d.name in _sets.words(atom) for d in self.known.datums.values())]
            if not data or all(d.most is not None for d in self.known.datums.values()):
                return low, count
            self.note(f"the loop over {name}", "its extent is data: any number of rounds" + self._hint(extent))
            if self._open(count):
                return low, count
        except Opaque:
            self.note(f"the loop over {name}", "its extent is data: any number of rounds" + self._hint(extent))
        if self.depth and not self._lasting(extent):
            self.note(f"the loop over {name}", "its extent is data: the same whenever it begins")
        return Sum(0), Sum(0, {self._unknown(extent, "data_n", " any"): 1})

    def _open(self, count):
        """Whether a number of rounds is a datum without an upper bound, and a constant: a proof for all values covers it, and none
        where it is negative."""
        datum = self.known.named(next(iter(count.terms))) if len(count.terms) == 1 else None
        if datum is None or datum.most is not None or count.terms != {datum.name: 1}:
            return False
        datum.less = max(datum.less, -count.const)
        self.opened.add(datum.name)
        return True

    # ---- guards -----------------------------------------------------------------------------

    def _guard_form(self, condition):
        """The form of a guard (_data), or None: data that the kernel does not write, at a place that blocks and loops give."""
        found = _data.guard_of(condition)
        if found is None or not self._lasting(condition) or found[0] in self.known.bad or self._opaque(found[1]):
            return None
        if not _sets.all_names(json.loads(found[0])) <= self.block_vars() | {"?"}:
            return None
        self.guard_loops.setdefault(found[0], set()).update(_sets.names(found[1]) - self.block_vars())
        return found[0]

    def _guarded_body(self, form, condition, body):
        place = self.scope.sum(_data.guard_of(condition)[1])
        blocks = {atom: times for atom, times in place.terms.items() if atom in self.params and atom.startswith("block_")}
        place = place.plus(Sum(0, self.guard_begins.setdefault(form, blocks)), -1)
        low, high = self.scope.range(place)
        if low is None or high is None or low < 0:
            self.unbounded.add(form)
        else:
            self.guard_counts[form] = max(self.guard_counts.get(form, 0), high + 1)
        self.guard = place
        self.body(body)
        self.guard = None

    def _under_guard(self, access, field, op):
        """Notes the condition on data around an access, or takes a guard that is known into it."""
        if access.buffer not in self.shared:
            access.may = access.may or self.guard is not None
            return
        form = self.under[0] if len(self.under) == 1 and " delivers" not in op.tail else "?" if self.under or access.may else None
        self.uses.setdefault(access.buffer, set()).add((field, form if form != "?" else 0))
        if access.buffer in self.known.tiles:
            access.tile = self.guard.text() if self.guard is not None else 0
        elif self.guard is not None and not (field == "reads" and access.buffer in self.known.plain):
            access.may = True

    def _room(self, offset, runs, size, buffer):
        """Whether a datum says where bytes are, and is small enough for them to be in the buffer: other values would be a mistake in
        the data. Whether they come before the buffer is left to the check, which knows the conditions around."""
        for datum in self.known.datums.values():
            times = offset.terms.get(datum.name, 0)
            if times <= 0:
                continue
            _, most = self.scope.range(offset.plus(Sum(0, {datum.name: 1}), -times))
            if datum.most is None and most is not None:
                room = (size - runs[-1][1] - most) // times
                self.rooms[datum.name] = min(self.rooms.get(datum.name, (room, buffer)), (room, buffer))
            return datum.most is not None and most is not None and most + times * datum.most + runs[-1][1] <= size
        return False


def _end(walk, args, statement):
    """An end of a loop that is not a statement of a round by itself: `if later: … if empty: break`."""
    loop, conditions = next(found for body in walk.bodies if (found := _around(body, statement)) is not None)
    read = sorted(set().union(*[loaded(condition) for condition in conditions]))
    by = f", by what {' and '.join(repr(name) for name in read)} hold{'s' * (len(read) == 1)}" if read else ""
    where = "inside of another condition" if len(conditions) > 1 else "early"
    raise Unsupported(f"'{walk.tree['name']}' ends {loop} {where}{by}: in which round, and whether it is the same for all warps, is not known")


TABLE = {"break_loop": _end, "loop_break": _end}


def _around(body, statement, loop=None, conditions=()):
    """(loop, conditions in its rounds) around a statement; None where it is not among some statements."""
    for s in body:
        if s is statement:
            return loop, conditions
        inner = (loop, (*conditions, s[1]) if s[0] == "if" else conditions)
        if s[0] in ("for", "while"):
            inner = (f"the loop over '{s[1]}'" if s[0] == "for" else "a while loop", ())
        for part in bodies(s):
            found = _around(part, statement, *inner)
            if found is not None:
                return found
    return None


def copied_loads(tree, copies):
    """An expression with the elements of local copies of global memory as those of the original."""
    if not isinstance(tree, list) or not copies:
        return tree
    if tree[0] == "load" and tree[1] in copies and not (isinstance(tree[2], list) and tree[2][:1] == ["ramp"]):
        casts, source, begin = copies[tree[1]]
        made = ["load", source, ["+", begin, copied_loads(tree[2], copies)]]
        for cast in reversed(casts):
            made = ["cast", cast, made]
        return made
    return [tree[0]] + [copied_loads(part, copies) for part in tree[1:]]


def choice(tree, numeric):
    """One of two numbers in an index, by a condition of loops; None: there is none."""
    if not isinstance(tree, list) or not tree:
        return None
    if tree[0] == "select" and not _sets.names(tree[1]) & {*numeric, "?"}:
        return tree
    return next((found for part in tree[1:] if (found := choice(part, numeric)) is not None), None)


def swapped(tree, choice, other):
    if tree is choice or tree == choice:
        return other
    return [tree[0]] + [swapped(part, choice, other) for part in tree[1:]] if isinstance(tree, list) and tree else tree


def _without(tree, names):
    """An expression without loads of variables."""
    if not isinstance(tree, list) or not tree:
        return tree
    return 0 if tree[0] == "load" and tree[1] in names else [tree[0]] + [_without(part, names) for part in tree[1:]]


def loaded(tree):
    """The buffers that an expression reads."""
    if not isinstance(tree, list) or not tree:
        return set()
    return ({tree[1]} if tree[0] == "load" else set()).union(*[loaded(part) for part in tree[1:]])


def shifts(tree, var, inside=False):
    """Whether a variable says by how much something is shifted that decides where an access is, or whether it is. (For a loop with
    a break it is not asked: its rounds stay rounds.)"""
    if not isinstance(tree, list) or not tree:
        return False
    if inside and len(tree) == 3 and tree[0] in ("<<", ">>"):
        return var in _sets.all_names(tree[2])
    if tree[0] == "if" and len(tree) == 4:
        return not _data.is_break(tree) and (shifts(tree[1], var, True) or any(shifts(part, var) for part in tree[2:]))
    if tree[0] in ("load", "store"):
        return shifts(tree[2], var, True) or any(shifts(part, var, inside) for part in tree[3:])
    return any(shifts(part, var, inside or tree[:2] == ["call", "tvm_access_ptr"]) for part in tree)
