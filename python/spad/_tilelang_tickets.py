# SPDX-License-Identifier: Apache-2.0
"""Places that atomicAdd hands out: `pos = atomicAdd(&count[c], 1); rows[c][pos] = x`, as where threads collect what they found.

Between two resets of a counter each thread gets another number, so these stores never are to the same place. Stores of
different resets are in order if the counter is: there is no synchronisation between the addition and its store, so that whatever comes after
the one comes after the other, and the check compares additions and resets. What was collected is read up to the count: `n = count[c]` and
`if i < n: … rows[c][i]`. All numbers below n were given out before n was read, if that is in order with the additions, and their stores came
with them, so the places are written. Places beyond a row would be a mistake of the data: a row has as many as its counter may give out.

Nothing is known of values here. Two statements are under the same conditions where the conditions have the same text and nothing
stores to the variables in them in between.
"""

import json

from . import _tilelang_calls as _calls
from . import _tilelang_data as _data
from . import _tilelang_decide as _decide
from . import _tilelang_sets as _sets
from ._tilelang_conditions import THREADS, conjunction

ADDS = ("atomic_add_elem_op", "atomic_add_ret_elem_op")


class Rows:
    """The places of a buffer that one counter gives out: of element c of it those from stride * c + first on, so many as there is room."""

    def __init__(self, buffer, counter, stride, first, room):
        self.buffer, self.counter, self.stride, self.first, self.room = buffer, counter, stride, first, room
        self.filled = False  # whether all reads are of places that were given out, and stored to
        self.apart = False  # whether what is stored can be an addition in the kernel: the places hold something before

    def begin(self, index):
        """The first place of the row of an element of the counter."""
        return ["+", ["*", index, self.stride], self.first]


class Tickets:
    """One pass over the statements of a kernel. stores: {identity of a statement: (counter's index, Rows)}; resets: {counter: [Rows]};
    rounds: {identity of a loop: the most rounds that a count gives it}."""

    def __init__(self, walk, body):
        self.walk, self.stores, self.resets, self.rounds = walk, {}, {}, {}
        self.path, self.lets, self.changes = [], dict(walk.lets), 0  # path: (text, condition, what it says of a count)
        self.held, self.counts = {}, {}  # variables: what they were given, under which conditions
        self.sites, self.reads, self.loops, self.counting = [], [], [], set()  # counting: variables of loops, which are not negative
        self.given = {}  # counter: [the step of each addition, and the buffers that are stored to at what it gave]
        self.plain, self.other = {}, set()  # values of stores to buffers; those that are changed in other ways
        self.body(body)
        for buffer in dict.fromkeys(site["buffer"] for site in self.sites):
            rows = self._rows(buffer)
            if rows is not None:
                self._take(rows)

    # ---- statements ---------------------------------------------------------------------------

    def body(self, statements):
        for s in statements:
            getattr(self, "on_" + s[0])(s)

    def on_attr(self, s):
        self.body(s[2])

    def on_let(self, s):
        self._look(s[2])
        if not _sets.has(s[2], ("load", "call")):
            self.lets[s[1]] = _sets.replace(s[2], self.lets)

    def on_if(self, s):
        self._look(s[1])
        parts = [_sets.replace(part, self.lets) for part in conjunction(s[1])]
        for conditions, body in ((parts, s[2]), ([["not", s[1]]], s[3])):
            before = len(self.path)
            self.path += [(json.dumps(part), part, self._guard(part)) for part in conditions]
            self.body(body)
            left = {key for key, part, _ in self.path[before:] if not self._stays(part)}
            del self.path[before:]
            self.held = {var: held for var, held in self.held.items() if not left & set(held["path"])}
            self.counts = {var: count for var, count in self.counts.items() if not left & set(count["path"])}

    def on_for(self, s):
        _, var, begin, extent, _, body = s
        self._look(begin)
        self._look(extent)
        for name in _decide.loaded(extent) & set(self.counts):
            if self._here(self.counts[name]):
                self.loops.append((s, name, self.counts[name]))
        if isinstance(begin, int) and begin >= 0:
            self.counting.add(var)
        self._rounds(body, var)

    def on_while(self, s):
        self._look(s[1])
        self._rounds(s[2], None)

    def _rounds(self, body, var):
        """A round does not know what another one was given, nor what is after the loop what a round was."""
        self._forget(body)
        self.body(body)
        self._forget(body)
        self.counts = {name: count for name, count in self.counts.items() if var not in _sets.all_names(count["index"])}

    def _forget(self, body):
        self.held.clear()
        for name in _data.stored(body):
            self._kill(name)

    def on_do(self, s):
        call = s[1]
        if isinstance(call, list) and call[:1] == ["call"] and _calls.is_order(call[1], call[2:]):
            self.held.clear()
        self._look(call)

    def on_store(self, s):
        _, buffer, index, value = s
        self._look(index)
        self._look(value)
        ticket = self._ticket(buffer, index)
        if self.walk.buffers.get(buffer, {}).get("scope", "").startswith("local"):
            self._kill(buffer)
            if index == 0:
                self._assign(buffer, _bare(_sets.replace(value, self.lets)))
        elif ticket is not None:
            self.sites.append({**ticket, "buffer": buffer, "statement": s})
        elif buffer in self.walk.shared:
            self.plain.setdefault(buffer, []).append(value)

    # ---- variables ----------------------------------------------------------------------------

    def _keys(self):
        return tuple(key for key, _, _ in self.path)

    def _read_by_path(self):
        return set().union(*[_decide.loaded(part) for _, part, _ in self.path])

    def _here(self, fact):
        """Whether what is known under conditions is known under those around this place."""
        return set(fact["path"]) <= set(self._keys())

    def _stays(self, tree):
        """Whether a condition is the same until a variable in it is stored to."""
        if not isinstance(tree, list):
            return True
        if tree[0] == "call":
            return False
        if tree[0] == "load":
            scope = self.walk.buffers.get(tree[1], {"scope": "global"})["scope"]
            if not (scope.startswith("local") or scope == "global" and tree[1] not in self.walk.written):
                return False
        return all(self._stays(part) for part in tree[1:])

    def _kill(self, name):
        """A variable gets another value: conditions with it in them are not those of the same text any more."""
        self.changes += 1
        self.path = [(f"{key} {self.changes}" if name in _decide.loaded(part) else key, part, guard) for key, part, guard in self.path]
        for facts in (self.held, self.counts):
            facts.pop(name, None)
            for var in [v for v, fact in facts.items() if name in fact["reads"]]:
                del facts[var]

    def _assign(self, var, value):
        """A variable that is what an addition gave, or a count."""
        if self.walk.buffers[var].get("elements") != 1 or not isinstance(value, list):
            return
        if value[:2] == ["call", ADDS[1]]:
            found = self._counter(value[2:])
            if found is not None and self.given.get(found.buffer):
                self.held[var] = {"counter": found.buffer, "index": found.index, "path": self._keys(), "reads": self._read_by_path(),
                                  "given": self.given[found.buffer][-1]}
        elif value[0] == "load" and value[1] in self.walk.shared and not _sets.has(value[2], ("load", "call")):
            self.counts[var] = {"counter": value[1], "index": value[2], "path": self._keys(), "reads": self._read_by_path()}

    def _counter(self, args):
        found = _calls.pointer(self.walk, args[0])
        if found is None or found.buffer not in self.walk.shared or not self._is_element(found):
            return None
        found.index = _bare(_sets.replace(found.index, self.lets))
        return found

    def _is_element(self, found):
        return found.extent == 1 and found.bits == self.walk.buffers[found.buffer]["bits"]

    def _ticket(self, buffer, index):
        """What is known of a store whose place is what a variable was given, and a number that threads do not change."""
        if buffer not in self.walk.shared or isinstance(index, list) and index[:1] == ["ramp"]:
            return None
        form = _form(_sets.replace(index, self.lets))
        for var, held in self.held.items():
            own = json.dumps(["load", var, 0])
            rest = {term: times for term, times in form.items() if term != own}
            if form.get(own) == 1 and _is_fixed(rest) and self._here(held) and held["counter"] != buffer:
                return {**held, "begin": rest, "sure": set(held["path"]) == set(self._keys())}
        return None

    # ---- accesses -----------------------------------------------------------------------------

    def _look(self, tree):
        """What an expression reads and adds to."""
        if not isinstance(tree, list) or not tree:
            return
        if tree[0] == "load":
            if tree[1] in self.walk.shared:
                self._read(tree[1], tree[2])
        elif tree[0] == "call" and tree[1].startswith("atomic"):
            self._atomic(tree)
            for part in tree[3:]:
                self._look(part)
            return
        elif tree[0] == "call":
            if tree[1] in ("call_extern", "call_pure_extern"):
                self.held.clear()  # threads may meet in it
            found = _calls.pointer(self.walk, tree)
            for name in [part for part in tree[2:] if isinstance(part, str)] + ([found.buffer] if found is not None else []):
                self.other.add(name)
                self.reads.append((name, None))
        for part in tree[1:]:
            self._look(part)

    def _atomic(self, tree):
        found = _calls.pointer(self.walk, tree[2])
        if found is None:
            self._look(tree[2])
            return
        self._look(found.index)
        step = tree[3] if len(tree) > 3 and isinstance(tree[3], int) else 0
        if tree[1] in ADDS and step > 0 and self._is_element(found):
            self.given.setdefault(found.buffer, []).append({"step": step, "stored": set()})
        else:
            self.other.add(found.buffer)
        self.reads.append((found.buffer, None))

    def _guard(self, part):
        """(number, count) of a condition `number < count`, where the number is at least 0 and only threads and rounds decide it."""
        if not isinstance(part, list) or len(part) != 3 or part[0] not in ("<", ">"):
            return None
        low, high = part[1:] if part[0] == "<" else reversed(part[1:])
        high = _bare(high)
        count = self.counts.get(high[1]) if isinstance(high, list) and high[:1] == ["load"] and high[2] == 0 else None
        if count is None or not self._here(count) or not _is_sum(_bare(low)) or not _sets.all_names(low) <= self.counting | set(THREADS):
            return None
        return _form(low), count

    def _read(self, buffer, index):
        form = _form(_sets.replace(index, self.lets))
        for _, _, guard in self.path:
            begin = _minus(form, guard[0]) if guard is not None else None
            if begin is not None and _is_fixed(begin):
                self.reads.append((buffer, {**guard[1], "begin": begin}))
                return
        self.reads.append((buffer, None))

    # ---- rows ---------------------------------------------------------------------------------

    def _rows(self, buffer):
        """The rows of a buffer, where all stores at places that were given out are of one counter and one distance."""
        sites = [site for site in self.sites if site["buffer"] == buffer]
        counter, facts = sites[0]["counter"], self.walk.buffers
        if buffer in self.other or buffer in self.given:  # atomics, which the stores would be taken for
            return None
        if any(site["counter"] != counter for site in sites) or counter in self.other or not _is_counter(facts[counter]["dtype"]):
            return None
        if not all(isinstance(value, int) for value in self.plain.get(counter, [])):
            return None
        line = _line([(_form(site["index"]), site["begin"]) for site in sites])
        if line is None:
            return None
        elements = self.walk.shared[buffer]["bytes"] * 8 // facts[buffer]["bits"]
        return Rows(buffer, counter, line[0], line[1], line[0] or elements - line[1])

    def _is_of(self, rows, fact):
        """Whether places that are read are of the row whose count they are below."""
        index = _form(fact["index"])
        own = next(site["index"] for site in self.sites if site["buffer"] == rows.buffer)
        same = rows.stride > 0 or index == _form(own)
        return fact["counter"] == rows.counter and same and _is_row(rows.stride, rows.first, index, fact["begin"])

    def _take(self, rows):
        """Keeps what is known of rows."""
        sites = [site for site in self.sites if site["buffer"] == rows.buffer]
        given = self.given.get(rows.counter, [])
        for site in sites:
            if site["sure"]:
                site["given"]["stored"].add(rows.buffer)
        of = [fact for buffer, fact in self.reads if buffer == rows.buffer]
        rows.filled = (all(g["step"] == 1 and rows.buffer in g["stored"] for g in given) and set(self.plain.get(rows.counter, [1])) == {0}
                       and all(fact is not None and self._is_of(rows, fact) for fact in of))
        rows.apart = rows.filled or rows.buffer in self.plain
        if not 0 < rows.room:
            return
        self.stores.update((id(site["statement"]), (site["index"], rows)) for site in sites)
        if rows.filled:
            self.resets.setdefault(rows.counter, []).append(rows)
            for loop, var, count in self.loops:
                most = _most(_sets.replace(loop[3], self.lets), var, rows.room)
                if count["counter"] == rows.counter and most is not None:
                    self.rounds[id(loop)] = min(most, self.rounds.get(id(loop), most))


# ---- sums --------------------------------------------------------------------------------------------


def _line(pairs):
    """(stride, first) with begin = stride * index + first for all pairs of sums; a stride of 0: one element of the counter."""
    index, begin = next((pair for pair in pairs if set(pair[0]) - {""}), pairs[0])
    others = [pair for pair in pairs if pair[0] != index]
    if not set(index) - {""} and not others:
        stride, rest = 0, 0
    elif set(index) - {""}:
        term = min(set(index) - {""})
        stride, rest = divmod(begin.get(term, 0), index[term])
    else:
        stride, rest = divmod(others[0][1].get("", 0) - begin.get("", 0), others[0][0].get("", 0) - index.get("", 0))
    first = begin.get("", 0) - stride * index.get("", 0)
    if rest or stride < 0 or stride == 0 and (others or set(index) - {""}) or first < 0:
        return None
    return (stride, first) if all(_is_row(stride, first, *pair) for pair in pairs) else None


def _is_row(stride, first, index, begin):
    """Whether a row begins at stride * index + first."""
    want = {term: times * stride for term, times in index.items()}
    want[""] = want.get("", 0) + first
    return begin == {term: times for term, times in want.items() if times}


def _form(tree):
    """A sum as {text of a term: how often}, without those that are 0; "" is the number in it."""
    found = {}
    for term, times in _sets.terms(_bare(tree)):
        key, times = ("", term * times) if isinstance(term, int) else (json.dumps(term), times)
        found[key] = found.get(key, 0) + times
    return {key: times for key, times in found.items() if times}


def _minus(left, right):
    found = {key: left.get(key, 0) - right.get(key, 0) for key in {**left, **right}}
    return {key: times for key, times in found.items() if times}


def _is_fixed(form):
    """Whether a sum is the same for all threads: nothing in it is data or a number of a thread."""
    terms = [json.loads(key) for key in form if key]
    return not any(_sets.has(term, ("load", "call")) or _sets.all_names(term) & set(THREADS) for term in terms)


def _bare(tree):
    """An expression without casts between whole numbers."""
    if not isinstance(tree, list):
        return tree
    if tree[0] == "cast" and tree[1] in ("int32", "int64"):
        return _bare(tree[2])
    return [tree[0]] + [_bare(part) for part in tree[1:]]


def _is_sum(tree):
    """Whether an expression is a sum of numbers of threads and rounds, times numbers that are not negative."""
    if not isinstance(tree, list):
        return isinstance(tree, str) or tree >= 0
    return tree[0] in ("+", "*") and all(_is_sum(part) for part in tree[1:])


def _is_counter(dtype):
    return dtype in ("int32", "uint32", "int64", "uint64")


def _most(tree, var, room):
    """The most that an expression is that grows with a variable of at most `room`; None: it may have another form."""
    if isinstance(tree, int):
        return tree
    if not isinstance(tree, list):
        return None
    if tree[0] == "load":
        return room if tree[1:] == [var, 0] else None
    if tree[0] in ("cast", "wide"):
        return _most(tree[-1], var, room)
    if tree[0] == "+" or tree[0] == "//" and isinstance(tree[2], int) and tree[2] > 0:
        left, right = _most(tree[1], var, room), _most(tree[2], var, room)
        return None if left is None or right is None else left + right if tree[0] == "+" else left // right
    return None
