# SPDX-License-Identifier: Apache-2.0
"""Stores of two cores that provably have the same values.

Both programs often do the same work and store it to the same place of shared HBM: a race of equal values, which no
order could make better or worse. Contents are numbered: equal numbers are equal contents. What an instruction writes
has a number for its name, its options and the contents of its operands; the content of a tensor one for what it was
before and what was written to which part. Anything else (random numbers, registers, indices and loops of the device,
what the other core sends) has a number of its own, so that it equals nothing.

The content of a tensor in HBM is known where the kernel never writes it. A tensor that both cores write and none reads
has the same values in the end if both store the same list of contents to the same parts: whichever core stores last to
a byte, it stores its last value of that byte.
"""

import enum

from ._values import COVERED
from ._views import View

# Instructions whose result depends on nothing but their operands and options: those that nt.run computes, and one more.
_DETERMINED = COVERED - {"register_load", "register_move", "register_store"} | {"nonzero_with_count"}
_FRESH_SUMS = (None, "reset_reduce")  # of reduce_cmd; others go on with what an engine has summed up
_PLAIN = (bool, int, float, str, type(None))
_COPIES = frozenset(("load", "store", "assign"))  # operations without options


class Unknown(Exception):
    """A content that equals no other one."""


class SameValues:
    """The contents of the tensors of one trace on two cores."""

    def __init__(self):
        self._numbers, self._unknown = {}, 0
        self._contents = {}    # of a tensor on chip; of one in HBM where it is never written: its number
        self._stores = {}, {}  # of each core: tensor in HBM -> [(content, part)]
        self._read = set()     # tensors in HBM
        self.inside = False    # is an instruction being recorded, whose operation is no other one?

    def _number(self, *key):
        return self._numbers.setdefault(key, len(self._numbers))

    def _other(self):
        self._unknown -= 1
        return self._unknown

    def _content(self, storage):
        known = self._contents.get(storage)
        if known is None:
            known = self._contents[storage] = self._number("new", storage.kind) if storage.is_on_chip else \
                self._number("input", storage)
        return known

    @staticmethod
    def _part(view):
        if view.index or view.reach:
            raise Unknown
        return view.dtype, view.lane, view.start, view.dims

    def _described(self, value):
        """Something hashable that is equal for equal operands and options."""
        if isinstance(value, View):
            part, content = self._part(value), self._content(value.storage)
            if content < 0:
                raise Unknown
            return content, part
        if type(value) in _PLAIN:
            return type(value), repr(value)
        if isinstance(value, enum.Enum):
            return type(value).__name__, value.name
        if isinstance(value, (list, tuple)):
            return tuple(map(self._described, value))
        if getattr(value, "__module__", "").startswith("spad.nki.") and callable(value):
            return value  # a function of nki.language
        raise Unknown

    def instruction(self, core, row, args, kwargs):
        """A call of nki.isa."""
        try:
            given = row.bind(args, kwargs)
        except TypeError:
            return  # which is refused
        targets = [name for name in (*row.writes, *row.updates, *row.sums) if given[name] is not None]
        try:
            if row.name not in _DETERMINED or getattr(given.get("reduce_cmd"), "name", None) not in _FRESH_SUMS:
                raise Unknown
            key = row.name, tuple((name, self._described(value)) for name, value in given.items() if name != "name")
        except Unknown:
            key = None
        keeps = {*row.updates, *row.sums} | ({"dst"} if given.get("dst_rmw_op") is not None else set())
        self._reads([value for name, value in given.items() if name not in targets or name in keeps])
        self._writes(core, [view for name in targets for view in _views(given[name])], key)

    def operation(self, core, name, reads, writes, updates):
        """Another operation: of nki.language."""
        try:
            key = (name, tuple(map(self._described, reads))) if name in _COPIES and not updates else None
        except Unknown:
            key = None
        self._reads([*reads, *updates])
        self._writes(core, [*writes, *updates], key)

    def _reads(self, values):
        for view in _views(values):
            if not view.is_on_chip:
                self._read.add(view.storage)

    def _writes(self, core, views, key):
        for at, view in enumerate(views):
            try:
                part = self._part(view)
                content = self._number(key, at) if key is not None else self._other()
            except Unknown:
                part, content = None, self._other()
            storage = view.storage
            if not storage.is_on_chip:
                self._stores[core].setdefault(storage, []).append((content, part))
            elif content < 0:
                self._contents[storage] = content
            elif (before := self._content(storage)) >= 0:
                self._contents[storage] = self._number("then", before, content, part)

    def found(self):
        """The tensors in HBM that both cores write with the same values, and none reads."""
        both = [storage for storage in self._stores[0] if storage in self._stores[1]]
        if not self._read.isdisjoint({*self._stores[0], *self._stores[1]}):
            return []  # the content of what is read depends on when
        return [storage for storage in both if self._stores[0][storage] == self._stores[1][storage]
                and all(content >= 0 for content, _ in self._stores[0][storage])]


def _views(value):
    if isinstance(value, View):
        return [value]
    if isinstance(value, (list, tuple)):
        return [view for part in value for view in _views(part)]
    return []
