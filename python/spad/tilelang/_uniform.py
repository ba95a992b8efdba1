# SPDX-License-Identifier: Apache-2.0
"""Uniform values in a walk over a lowered kernel (_walk.py): those that all threads of a block have alike. They are numbers, positions,
variables of loops that stay loops, global memory that the kernel does not write, shared memory that one thread writes once, and
variables computed from these alone.

A variable is known by how it came about: the text of the statements that made it, with what they read by how that came about. Equal texts
give equal values, in all warps, in the same round of the loops around. A statement may be a loop or a condition, if it does nothing but
compute variables.
"""

import hashlib
import json

from . import _calls
from . import _data
from . import _sets
from . import _sizes
from ._conditions import THREADS, conjunction

_WHOLE = frozenset(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"))
_PLACES_MOST = 4096  # of a buffer that one thread writes
_EITHER_WAY = frozenset(("and", "or", "+", "*", "==", "!=", "min", "max"))


class NotUniform(Exception):
    """An expression that is not known to be the same for all threads."""


class UniformValues:
    """The part of a walk that knows which values are the same for all threads."""

    def find_uniform(self, body):
        """What is found out before a walk."""
        self.called = set().union(*[_calls.written(self, [s]) for s in _data.plain(body) if s[0] != "store"])
        self.settled = {name for name in self.shared if name not in self.called and self._is_settled(body, name)}
        self.made = {}  # variable: (how its value came about, of how many of the loops around)

    def uniform_form(self, tree):
        """(form, loops) of an expression that is the same for all threads: equal forms are equal values, in the same rounds of the first
        loops around. None: it may differ."""
        found = [0]
        try:
            return self._form(tree, {}, found), found[0]
        except NotUniform:
            return None

    def _form(self, tree, names, depth):
        if isinstance(tree, int):
            return tree
        if isinstance(tree, str):
            return self._name(tree, names, depth)
        if not isinstance(tree, list) or not tree or tree[0] in ("f", "s", "ramp"):
            raise NotUniform
        if tree[0] == "call":
            return self._call(tree, depth)
        if tree[0] == "load":
            return self._load(tree, names, depth)
        if tree[0] == "cast":
            form = self._form(tree[2], names, depth)
            return form if tree[1] == "int64" and self._is_whole(tree[2]) else ["cast", tree[1], form]
        parts = [self._form(part, names, depth) for part in tree[1:]]
        return [tree[0], *(sorted(parts, key=json.dumps) if tree[0] in _EITHER_WAY else parts)]

    def _name(self, name, names, depth):
        if name in names:
            return names[name]
        if name in self.block_vars() or name in _sizes.names(self.tree):
            return name
        for place, (var, _, _) in enumerate(self.around):
            if var == name:
                depth[0] = max(depth[0], place + 1)
                return ["turn", self.tree.get("hints", {}).get(name, name)]
        raise NotUniform

    def _call(self, tree, depth):
        """A value that was made before, and the round of a loop of which data chooses the rounds."""
        if tree[1] == "made":
            depth[0] = max(depth[0], tree[3])
            return ["made", tree[2][1]]
        if tree[1] == "data" and len(tree) == 3:
            return self._name(tree[2], {}, depth)
        raise NotUniform

    def _load(self, tree, names, depth):
        buffer, index = tree[1:3]
        if ("variable", buffer) in names:
            if index != 0 or names["variable", buffer] is None:
                raise NotUniform
            return names["variable", buffer]
        if index == 0 and buffer in self.made:
            depth[0] = max(depth[0], self.made[buffer][1])
            return ["made", self.made[buffer][0]]
        if not self.keeps(buffer):
            raise NotUniform
        return ["load", buffer, self._form(index, names, depth)]

    def keeps(self, buffer):
        """Whether elements of a buffer have one value each: of global memory that is not written, or shared memory that one thread writes
        once. That it was written when it is read, and that no read is beside the write, is checked like all accesses."""
        facts = self.buffers.get(buffer, {"scope": "global"})
        return buffer in self.settled or facts["scope"] == "global" and buffer not in self.written

    def _is_whole(self, tree):
        """Whether an expression is of whole numbers that 64 bits have room for."""
        if not isinstance(tree, list):
            return True
        if tree[0] == "load":
            return self.buffers.get(tree[1], {}).get("dtype") in _WHOLE and self._is_whole(tree[2])
        if tree[0] == "call":
            return tree[1] == "made" or tree[1] == "data" and len(tree) == 3
        if tree[0] == "cast":
            return tree[1] in _WHOLE and self._is_whole(tree[2])
        return tree[0] not in ("f", "s", "ramp") and all(self._is_whole(part) for part in tree[1:])

    def as_data(self, tree, name):
        """What stands for the value of an expression that is data; name: of the variable that has it."""
        found = self.uniform_form(tree) if self._is_whole(tree) else None
        if found is None:
            return ["call", "data", ["s", self.tree.get("hints", {}).get(name, name)], 0]
        return ["call", "made", ["s", _digest(found[0])], found[1]]

    # ---- variables --------------------------------------------------------------------------------

    def is_variable(self, buffer):
        facts = self.buffers.get(buffer)
        return (bool(facts) and facts["scope"].startswith("local") and facts.get("elements") == 1 and facts.get("dtype") in _WHOLE
                and buffer not in self.called)

    def outcome(self, statement):
        """{variable: (how it came about, loops)} of what a statement computes, where that is all it does and it is the same for all threads."""
        if statement[0] not in ("store", "for", "if") or self.loops or self.unsure():
            return {}
        stored = list(dict.fromkeys(s[1] for s in _data.every([statement]) if s[0] == "store"))
        if not stored or not all(self.is_variable(name) for name in stored):
            return {}
        if statement[0] == "store":
            value = _sets.replace(statement[3], self.lets)
            found = self.uniform_form(value) if statement[2] == 0 and self._is_whole(value) else None
            return {} if found is None else {stored[0]: (_digest(found[0]), found[1])}
        held = {name: self.made[name] for name in stored if name in self.made}
        names = {("variable", name): ["own", number] if name in held else None for number, name in enumerate(stored)}
        found = [max([loops for _, loops in held.values()], default=0)]
        try:
            form = self._statement(statement, names, found, stored)
        except NotUniform:
            return {}
        whole = [form, [held[name][0] if name in held else None for name in stored]]
        return {name: (_digest(["after", number, whole]), found[0]) for number, name in enumerate(stored) if name in held}  # others may not be stored to

    def _statement(self, s, names, depth, stored):
        """The form of a statement that computes variables; what it declares has numbers for names."""
        def form(part):
            return self._form(_sets.replace(part, {name: value for name, value in self.lets.items() if name not in names}), names, depth)

        if s[0] == "store" and s[2] == 0:
            return ["store", stored.index(s[1]), form(s[3])]
        if s[0] == "let":
            made = ["let", form(s[2])]
            names[s[1]] = ["own let", len(names)]
            return made
        if s[0] == "if":
            return ["if", form(s[1]), *[self._statements(side, names, depth, stored) for side in s[2:4]]]
        if s[0] == "for" and not _data.has_end(s):
            made = ["for", form(s[2]), form(s[3])]
            names[s[1]] = ["own loop", len(names)]
            return [*made, self._statements(s[5], names, depth, stored)]
        raise NotUniform

    def _statements(self, body, names, depth, stored):
        return [self._statement(s, names, depth, stored) for s in body]

    # ---- shared memory that one thread writes once ----------------------------------------------------

    def _is_settled(self, body, buffer):
        """Whether each element of a buffer is stored to once at most, by one thread: at places that are numbers, or that a loop counts."""
        places = []

        def look(statements, alone, loops):
            for s in statements:
                if s[0] == "store" and s[1] == buffer:
                    places.append(_places(s[2], loops) if alone else None)
                elif s[0] == "if":
                    look(s[2], alone or any(self._is_one_thread(part) for part in conjunction(s[1])), loops)
                    look(s[3], alone, loops)
                else:
                    for part in s[1:]:
                        if isinstance(part, list) and part and isinstance(part[0], list):
                            look(part, alone, [*loops, s] if s[0] in ("for", "while") else loops)

        look(body, self.count == 1, [])
        taken = [place for found in places for place in (found or [None])]
        return bool(taken) and None not in taken and len(set(taken)) == len(taken)

    def _is_one_thread(self, part):
        """Whether a condition is that the number of a thread is one number."""
        if not isinstance(part, list) or part[0] != "==" or self.threads[1:] != [1, 1]:
            return False
        return _sets.replace(part[1], self.lets) == THREADS[0] and isinstance(part[2], int)


def _digest(form):
    return form[1] if isinstance(form, list) and form[0] == "made" else hashlib.sha256(json.dumps(form).encode()).hexdigest()


def _places(index, loops):
    """The places of a store, or None where they are not numbers, each of them once."""
    if isinstance(index, int) and not loops:
        return [index]
    if len(loops) != 1 or loops[0][0] != "for" or not all(isinstance(part, int) for part in loops[0][2:4]):
        return None
    _, var, begin, extent = loops[0][:4]
    first = 0 if index == var else index[2] if isinstance(index, list) and index[:2] == ["+", var] and isinstance(index[2], int) else None
    return None if first is None or extent > _PLACES_MOST else list(range(first + begin, first + begin + extent))
