# SPDX-License-Identifier: Apache-2.0
"""Instructions that were seen before.

What an instruction reads and writes depends on the forms of its tensors and on a few options, not on
which tensors they are. The first call with some forms is worked out by the recorder; what it gives is
kept as a Template, and later calls with these forms are the template and their tensors.
"""

from ._views import View

_NUMBERS = frozenset((int, float, bool, str, type(None)))
_OPTIONS = frozenset("engine op accumulate oob_mode dst_rmw_op is_transpose perf_mode".split())
TEMPLATES_MOST = 200_000


class Template:
    """An operation, with the names of its tensors left out."""

    __slots__ = ("kept", "_format", "_order", "_parts", "_written", "_make")

    @classmethod
    def of(cls, made, storages, make):
        """The template of an operation, or None where it names something other than its tensors."""
        places = {storage: at for at, storage in enumerate(storages)}
        parts = [(word, places.get(storage), name, ranges)
                 for word, accesses in made.accesses.items()
                 for (name, ranges), storage in accesses.items()]
        if any(at is None or storages[at].name != name for _, at, name, _ in parts):
            return None
        self = cls()
        self._parts = [(word, at, ranges) for word, at, _, ranges in parts]
        self._order = tuple(at for _, at, _ in self._parts)
        self._written = tuple({at for word, at, _ in self._parts if word not in ("reads", "may reads")})
        text, last = f"{made.engine} {made.name}", None
        for word, _, ranges in self._parts:
            text += ("," if word == last else f" {word}") + " %s" + ranges
            last = word
        self._format = text + made.tail
        self._make = make, made.engine, made.name, made.tail
        return self

    def text(self, storages):
        return self._format % tuple([storages[at].name for at in self._order])

    def mark(self, storages):
        for at in self._written:
            storage = storages[at]
            storage.written.add(storage.name)

    def operation(self, storages):
        make, engine, name, tail = self._make
        made = make(engine, name)
        made.tail = tail
        for word, at, ranges in self._parts:
            made.add(word, storages[at], [(storages[at].name, ranges)])
        return made


class Plan:
    """Which arguments of a call with these names matter."""

    __slots__ = ("tensors", "options", "sums")

    def __init__(self, row, names):
        self.tensors = tuple(name for name in (*row.sums, *row.writes, *row.updates, *row.reads) if name in names)
        self.options = tuple(name for name in names if name in _OPTIONS)
        self.sums = row.sums[0] if row.sums else None


class Fast:
    """The templates of one trace."""

    def __init__(self, recorder, region, holds, meets, end_sums):
        self._recorder = recorder
        self._region, self._holds, self._meets, self._end_sums = region, holds, meets, end_sums
        self._plans, self._templates = {}, {}
        self._kept = []  # options, whose ids are in keys

    def key(self, row, kwargs):
        """(key, views, does it add) of a call, or None for one that has to be worked out."""
        names = (row, *kwargs)
        plan = self._plans.get(names)
        if plan is None:
            plan = self._plans[names] = Plan(row, kwargs)
        key, views = [plan], []
        for name in plan.tensors:
            value = kwargs[name]
            if value.__class__ is View:
                if value.index:
                    return None
                key.append(value.form)
                views.append(value)
            elif value.__class__ in _NUMBERS:
                key.append(None)
            else:
                return None
        for name in plan.options:
            value = kwargs[name]
            key.append(value if value.__class__ in _NUMBERS else id(value))
        adds = None
        if plan.sums is not None:
            view = kwargs[plan.sums]
            if view.__class__ is not View:
                return None
            adds = self._adding(view, kwargs.get("accumulate"))
            if adds is None:
                return None
            key.append(adds)
        storages = [view.storage for view in views]
        if len({*storages}) < len(storages):
            key += [storages.index(storage) for storage in storages]
        return tuple(key), views, storages

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

    def record(self, row, key, views, storages):
        """Records a call whose template is known; False: it is not."""
        template = self._templates.get(key)
        if template is None:
            return False
        plan = key[0]
        first = 0
        if plan.sums is not None:
            first = 1
            region, sums = views[0].form.region, storages[0].sums
            for other in sums:
                if self._holds(other, region):
                    break
            else:
                sums.append(region)
        for view in views[first:]:
            if view.storage.sums:
                self._end_sums(view)
        template.mark(storages)
        self._recorder.lines.append((template, storages))
        return True

    def learn(self, key, made, storages, options, make):
        """Keeps what was worked out for a call."""
        if len(self._templates) < TEMPLATES_MOST:
            template = Template.of(made, storages, make)
            if template is not None:
                self._templates[key] = template
                self._kept.append(options)
