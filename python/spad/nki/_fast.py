# SPDX-License-Identifier: Apache-2.0
"""Instructions that were seen before.

What an instruction reads and writes depends on the forms of its tensors and on a few options, not on
which tensors they are. The first call with some forms is worked out by the recorder; what it gives is kept as a
Template, and later calls are the template and the names of their parts. Where a part is one text of ranges, forms
that differ only in where they begin have one template; of others every form has its own, with the ranges in it.
"""

from operator import itemgetter

from ._views import View

_NUMBERS = frozenset((int, float, bool, str, type(None)))
_OPTIONS = frozenset("engine op accumulate oob_mode dst_rmw_op is_transpose perf_mode".split())
_MOVING_ENGINES = frozenset(("register_load", "register_store"))  # their engine depends on where the tensor is
TEMPLATES_MOST = 200_000


class Template:
    """An operation, with the names of its parts left out."""

    __slots__ = ("written", "_format", "_picked", "_parts", "_make")

    def __init__(self, parts, engine, name, tail, make):
        """parts: (word, which tensor, ranges); ranges are None where they come with the name."""
        self._parts = parts
        self.written = tuple({at for word, at, _ in parts if word not in ("reads", "may reads")})
        self._picked = itemgetter(*[at for _, at, _ in parts])
        text, last = f"{engine} {name}", None
        for word, _, ranges in parts:
            text += ("," if word == last else f" {word}") + " %s" + (ranges or "")
            last = word
        self._format = text + tail
        self._make = make, engine, name, tail

    @classmethod
    def of(cls, made, storages, ranges, make):
        """The template of an operation, or None where it names something other than its tensors. ranges: of each
        tensor, False where its part is not one text."""
        parts = []
        for word, accesses in made.accesses.items():
            for (name, text), storage in accesses.items():
                at = next((at for at, own in enumerate(storages)
                           if own is storage and storage.name == name and ranges[at] in (text, False)), None)
                if at is None:
                    return None
                parts.append((word, at, text if ranges[at] is False else None))
        return cls(parts, made.engine, made.name, made.tail, make) if parts else None

    def text(self, names):
        return self._format % self._picked(names)

    def operation(self, names, storages):
        """The operation that a line is. storages: the tensors of the trace by name."""
        make, engine, name, tail = self._make
        made = make(engine, name)
        made.tail = tail
        for word, at, ranges in self._parts:
            own, bracket, given = names[at].partition("(")
            made.add(word, storages[own], [(own, bracket + given if ranges is None else ranges)])
        return made


class Plan:
    """Which arguments of a call matter, by their places: those without a name first, then the others as they come."""

    __slots__ = ("tensors", "options", "sums", "accumulate", "is_dma")

    def __init__(self, row, count, names):
        given = (*row.order[:count], *names)
        at = {name: place for place, name in enumerate(given)}
        self.tensors = tuple(at[name] for name in (*row.sums, *row.writes, *row.updates, *row.reads) if name in at)
        self.options = tuple(place for place, name in enumerate(given) if name in _OPTIONS)
        self.sums = at.get(row.sums[0]) if row.sums else None
        self.accumulate = at.get("accumulate")
        self.is_dma = row.engines[0] == "dma"

    @classmethod
    def of(cls, row, count, names):
        """The plan of a call, or None where an argument is too many, or given twice."""
        if count > len(row.order) or not set(row.order[:count]).isdisjoint(names) or row.sums and \
                row.sums[0] not in (*row.order[:count], *names) or row.name in _MOVING_ENGINES:
            return None
        return cls(row, count, names)


class Fast:
    """The templates of one trace."""

    def __init__(self, recorder, region, holds, meets, end_sums):
        self._recorder = recorder
        self._region, self._holds, self._meets, self._end_sums = region, holds, meets, end_sums
        self._plans, self._templates = {}, {}
        self._kept = []  # options, whose ids are in keys

    def record(self, row, args, kwargs):
        """Records a call whose template is known: True. Otherwise what learn() needs, or None for a call that has to
        be worked out every time."""
        call = (row, len(args), *kwargs)
        plan = self._plans.get(call, self)
        if plan is self:
            plan = self._plans[call] = Plan.of(row, len(args), call[2:])
        if plan is None:
            return None
        values = (*args, *kwargs.values()) if args else (*kwargs.values(),)
        is_dma, key, storages, names, summed = plan.is_dma, [plan], [], [], ()
        for at in plan.tensors:
            value = values[at]
            if value.__class__ is View:
                if value.index:
                    return None
                form, storage = value.form, value.storage
                text = form.ranges[is_dma]
                if text is None:
                    text = self._ranges(value, is_dma)
                if text is False:
                    key.append(form)
                    names.append(storage.name)
                else:
                    key.append(form.family)
                    names.append(storage.name + text)
                storages.append(storage)
                if storage.sums:
                    summed = (*summed, value)
            elif value.__class__ in _NUMBERS:
                key.append(None)
            else:
                return None
        for at in plan.options:
            value = values[at]
            key.append(value if value.__class__ in _NUMBERS else id(value))
        sums = None
        if plan.sums is not None:
            sums = values[plan.sums]
            adds = self._adding(sums, values[plan.accumulate] if plan.accumulate is not None else None)
            if adds is None:
                return None
            key.append(adds)
        if len(storages) == 2 and storages[0] is storages[1] or len(storages) > 2 and len({*storages}) < len(storages):
            key += self._same(values, plan)
        key = tuple(key)
        template = self._templates.get(key)
        if template is None:
            return key, values, plan
        self._close_and_open_sums(sums, summed)
        for at in template.written:
            storages[at].is_written = True
        self._recorder.lines.append((template, names))
        return True

    def _close_and_open_sums(self, sums, summed):
        """An instruction that adds to `sums` opens its sum, and one that accesses `summed` ends those of others."""
        if sums is not None:
            region, storage = sums.form.region, sums.storage
            if not storage.sums:
                storage.sums = region,
            else:
                self._open_sum(storage, region)
        for view in summed:
            if view is not sums:
                self._end_sums(view)

    @staticmethod
    def _same(values, plan):
        """For each tensor of a call the first one with the same text: an access is recorded once."""
        known, same = {}, []
        for at in plan.tensors:
            if values[at].__class__ is View:
                form = values[at].form
                text = form.ranges[plan.is_dma]
                same.append(known.setdefault((values[at].storage, form if text is False else text), at))
        return same

    def _adding(self, view, accumulate):
        """Does a matmul add? As Recorder._adds says; None: it has to be looked at there."""
        if view.__class__ is not View:
            return None
        region = view.form.region or self._region(view)
        sums = view.storage.sums
        if not sums:
            return bool(accumulate)
        for other in sums:
            if self._holds(other, region):
                return True if accumulate is None else bool(accumulate)
        if accumulate is None and any(self._meets(other, region) for other in sums):
            return None
        return bool(accumulate)

    def _open_sum(self, storage, region):
        """A matmul adds to a part of a tensor, or starts to."""
        if not any([self._holds(other, region) for other in storage.sums]):
            storage.sums = (*storage.sums, region)

    def _ranges(self, view, any_lane):
        """The ranges of a view as text; False where it is not exactly one part of its tensor."""
        parts, exact = self._recorder.accesses.of(view, any_lane)
        is_one = exact and len(parts) == 1 and not view.reach and parts[0][0] == view.storage.name
        text = view.form.ranges[any_lane] = parts[0][1] if is_one else False
        return text

    def learn(self, asked, made, make):
        """Keeps what was worked out for a call."""
        key, values, plan = asked
        views = [values[at] for at in plan.tensors if values[at].__class__ is View]
        if len(self._templates) < TEMPLATES_MOST:
            template = Template.of(made, [view.storage for view in views],
                                   [view.form.ranges[plan.is_dma] for view in views], make)
            if template is not None:
                self._templates[key] = template
                self._kept.append(values)
