# SPDX-License-Identifier: Apache-2.0
"""Instructions that were seen before.

What an instruction reads and writes depends on the forms of its tensors and on a few options, not on
which tensors they are. The first call with some forms is worked out by the recorder; what it gives is
kept as a Template, and later calls with these forms are the template and their tensors. Forms that differ only in where
they begin give the same but for the ranges: for them a template is made of the Pattern of an earlier call.
"""

from ._access import run_text
from ._views import Form, View

_NUMBERS = frozenset((int, float, bool, str, type(None)))
_OPTIONS = frozenset("engine op accumulate oob_mode dst_rmw_op is_transpose perf_mode".split())
TEMPLATES_MOST = 200_000


class Template:
    """An operation, with the names of its tensors left out."""

    __slots__ = ("kept", "_format", "_order", "_parts", "_written", "_make")

    def __init__(self, parts, engine, name, tail, make):
        """parts: (word, which tensor, ranges)."""
        self._parts = parts
        self._order = tuple([at for _, at, _ in parts])
        self._written = tuple({at for word, at, _ in parts if word not in ("reads", "may reads")})
        text, last = f"{engine} {name}", None
        for word, _, ranges in parts:
            text += ("," if word == last else f" {word}") + " %s" + ranges
            last = word
        self._format = text + tail + "%s"
        self._make = make, engine, name, tail

    @classmethod
    def of(cls, made, storages, make):
        """The template of an operation, or None where it names something other than its tensors."""
        places = {storage: at for at, storage in enumerate(storages)}
        parts = [(word, places.get(storage), name, ranges)
                 for word, accesses in made.accesses.items()
                 for (name, ranges), storage in accesses.items()]
        if any(at is None or storages[at].name != name for _, at, name, _ in parts):
            return None
        return cls([(word, at, ranges) for word, at, _, ranges in parts], made.engine, made.name, made.tail, make)

    def text(self, storages, tail):
        return self._format % (*[storages[at].name for at in self._order], tail)

    def mark(self, storages):
        for at in self._written:
            storages[at].is_written = True

    def operation(self, storages):
        make, engine, name, tail = self._make
        made = make(engine, name)
        made.tail = tail
        for word, at, ranges in self._parts:
            made.add(word, storages[at], [(storages[at].name, ranges)])
        return made


class Pattern:
    """An operation with both the names of its tensors and their ranges left out."""

    __slots__ = ("engine", "_parts", "_name", "_tail", "_make")

    @classmethod
    def of(cls, made, views, ranges, make):
        """The pattern of an operation in which each tensor has one part, or None."""
        parts = []
        for word, accesses in made.accesses.items():
            for (name, text), storage in accesses.items():
                at = next((at for at, view in enumerate(views)
                           if view.storage is storage and storage.name == name and ranges[at] == text), None)
                if at is None:
                    return None
                parts.append((word, at))
        self = cls()
        self.engine, self._parts, self._name, self._tail, self._make = made.engine, parts, made.name, made.tail, make
        return self

    def filled(self, ranges):
        return Template([(word, at, ranges[at]) for word, at in self._parts], self.engine, self._name, self._tail,
                        self._make)


class Plan:
    """Which arguments of a call matter, by their places: those without a name first, then the others as they come."""

    __slots__ = ("tensors", "options", "sums", "accumulate")

    def __init__(self, row, count, names):
        given = (*row.order[:count], *names)
        at = {name: place for place, name in enumerate(given)}
        self.tensors = tuple(at[name] for name in (*row.sums, *row.writes, *row.updates, *row.reads) if name in at)
        self.options = tuple(place for place, name in enumerate(given) if name in _OPTIONS)
        self.sums = at.get(row.sums[0]) if row.sums else None
        self.accumulate = at.get("accumulate")

    @classmethod
    def of(cls, row, count, names):
        """The plan of a call, or None where an argument is too many, or given twice."""
        if count > len(row.order) or not set(row.order[:count]).isdisjoint(names) or row.sums and \
                row.sums[0] not in (*row.order[:count], *names):
            return None
        return cls(row, count, names)


class Fast:
    """The templates of one trace."""

    def __init__(self, recorder, region, holds, meets, end_sums):
        self._recorder = recorder
        self._region, self._holds, self._meets, self._end_sums = region, holds, meets, end_sums
        self._plans, self._templates, self._patterns = {}, {}, {}
        self._kept = []  # options, whose ids are in keys

    def key(self, row, args, kwargs):
        """(key, views, storages, arguments) of a call, or None for one that has to be worked out."""
        call = (row, len(args), *kwargs)
        plan = self._plans.get(call, self)
        if plan is self:
            plan = self._plans[call] = Plan.of(*call[:2], call[2:])
        if plan is None:
            return None
        values = (*args, *kwargs.values()) if args else (*kwargs.values(),)
        key, views, storages = [plan], [], []
        for at in plan.tensors:
            value = values[at]
            if value.__class__ is View:
                if value.index:
                    return None
                key.append(value.form)
                views.append(value)
                storages.append(value.storage)
            elif value.__class__ in _NUMBERS:
                key.append(None)
            else:
                return None
        for at in plan.options:
            value = values[at]
            key.append(value if value.__class__ in _NUMBERS else id(value))
        if plan.sums is not None:
            view = values[plan.sums]
            if view.__class__ is not View:
                return None
            adds = self._adding(view, values[plan.accumulate] if plan.accumulate is not None else None)
            if adds is None:
                return None
            key.append(adds)
        if len({*storages}) < len(storages):
            key += [storages.index(storage) for storage in storages]
        return tuple(key), views, storages, values

    def _adding(self, view, accumulate):
        """Does a matmul add? As Recorder._adds says; None: it has to be looked at there."""
        region = view.form.region or self._region(view)
        sums = view.storage.sums
        for other in sums:
            if self._holds(other, region):
                return True if accumulate is None else bool(accumulate)
        if accumulate is None and sums and any(self._meets(other, region) for other in sums):
            return None
        return bool(accumulate)

    def record(self, key, views, storages, values):
        """Records a call whose template is known; False: it is not."""
        template = self._templates.get(key)
        if template is None:
            template = self._filled(key, views)
            if template is None:
                return False
        first = 0
        if key[0].sums is not None:
            first = 1
            region, storage = views[0].form.region, storages[0]
            for other in storage.sums:
                if self._holds(other, region):
                    break
            else:
                storage.sums = (*storage.sums, region)
        for view in views[first:] if first else views:
            if view.storage.sums:
                self._end_sums(view)
        template.mark(storages)
        self._recorder.lines.append((template, storages))
        return True

    def _filled(self, key, views):
        """The template of a call like an earlier one with tensors that begin elsewhere, or None."""
        pattern = self._patterns.get(_without_starts(key, views))
        ranges = self._ranges(views, pattern.engine == "dma") if pattern is not None else None
        if ranges is None or len(self._templates) >= TEMPLATES_MOST:
            return None
        made = self._templates[key] = pattern.filled(ranges)
        return made

    def _ranges(self, views, any_lane):
        """The ranges of each view as text; None where one is not exactly one part of its tensor."""
        texts = []
        for view in views:
            text = view.form.ranges[any_lane]
            if text is None:
                text = run_text(view.form)
                if text is None:
                    parts, exact = self._recorder.accesses.of(view, any_lane)
                    is_one = exact and len(parts) == 1 and not view.reach and parts[0][0] == view.storage.name
                    text = parts[0][1] if is_one else False
                view.form.ranges[any_lane] = text
            if text is False:
                return None
            texts.append(text)
        return texts

    def learn(self, key, made, views, values, make):
        """Keeps what was worked out for a call."""
        if len(self._templates) < TEMPLATES_MOST:
            template = Template.of(made, [view.storage for view in views], make)
            if template is not None:
                self._templates[key] = template
                self._kept.append(values)
                ranges = self._ranges(views, made.engine == "dma")
                pattern = Pattern.of(made, views, ranges, make) if ranges is not None else None
                if pattern is not None:
                    self._patterns[_without_starts(key, views)] = pattern


def _without_starts(key, views):
    """A key in which forms that begin elsewhere are the same. What is the same part of the same tensor stays so."""
    known = {}
    same = [known.setdefault((view.storage, view.form), at) for at, view in enumerate(views)]
    return (*same, *((part.kind.space, part.dtype, part.dims, part.spread) if part.__class__ is Form else part
                     for part in key))
