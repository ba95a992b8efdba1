# SPDX-License-Identifier: Apache-2.0
"""From a view to accesses of the kernel language.

In a lane a view is a set of elements: a start and a (stride, count) for each dimension. The kernel
language knows parts that are evenly spaced runs of one length. `pieces` turns a view into such parts,
exactly where it can and otherwise into the smallest enclosing one, and says which it was.
"""

import math

from ._views import item_bytes

PIECES_MOST = 32  # parts that an access is split into before it is enclosed


def simplify(start, dims):
    """(start, run, levels): a run of elements, repeated along levels (stride, count) of growing
    stride, which is the same set as the dimensions give; levels that overlap are joined where their
    union is even."""
    run, levels = 1, []
    ordered = []
    for stride, count in dims:
        if stride < 0:
            start += stride * (count - 1)
            stride = -stride
        if stride and count != 1:
            ordered.append((stride, count))
    for stride, count in sorted(ordered):
        if not levels and stride <= run:
            run += stride * (count - 1)
            continue
        if levels:
            step, many = levels[-1]
            if stride % step == 0 and stride // step <= many:
                levels[-1] = (step, many + (count - 1) * (stride // step))
                continue
        levels.append((stride, count))
    return start, run, levels


def enclose(run, levels):
    """The innermost level as one run."""
    (stride, count), *outer = levels
    return simplify_levels(run + stride * (count - 1), outer)


def simplify_levels(run, levels):
    _, longer, rest = simplify(0, [(1, run), *levels])
    return longer, rest


def overlaps_itself(run, levels):
    """Do the repeats of the innermost levels run into the next one?"""
    reach = run
    for stride, count in levels:
        if stride < reach:
            return True
        reach = stride * (count - 1) + reach
    return False


def pieces(start, dims, most=PIECES_MOST):
    """([(start, run, stride, count)], exact): evenly spaced runs that hold a set of elements."""
    start, run, levels = simplify(start, dims)
    exact = True
    while len(levels) > 1 and (math.prod(count for _, count in levels[1:]) > most
                               or overlaps_itself(run, levels)):
        exact = False
        run, levels = enclose(run, levels)
    inner = levels[:1] or [(run, 1)]
    starts = [start]
    for stride, count in levels[1:]:
        starts = [at + stride * k for k in range(count) for at in starts]
    return [(at, run, *inner[0]) for at in starts], exact


def lane_pieces(view, most=PIECES_MOST):
    """([(first lane, lanes)], exact)."""
    stride, count = view.dims[0]
    if stride in (0, 1) or count == 1:
        return [(view.lane, count if stride else 1)], True
    first = view.lane + min(0, stride * (count - 1))
    if count <= most:
        return [(first + abs(stride) * k, 1) for k in range(count)], True
    return [(first, abs(stride) * (count - 1) + 1)], False


def box(shape, start, run, stride, count):
    """The ranges (first, end, step, extent) of a row-major shape that are evenly spaced runs, or None."""
    weights = [math.prod(shape[at + 1:]) for at in range(len(shape))]
    ranges, rest, size, repeat = [], start, run, count
    for extent, weight in zip(shape, weights):
        first, rest = divmod(rest, weight)
        if repeat > 1 and stride % weight == 0 and stride < weight * extent and size <= weight:
            step = stride // weight
            last = first + step * (repeat - 1)
            if last >= extent or rest + size > weight:
                return None
            ranges.append((first, last + 1, step, extent))
            repeat = 1
            continue
        if size > weight:
            if rest or size % weight or first + size // weight > extent or repeat > 1:
                return None
            ranges.append((first, first + size // weight, 1, extent))
            size = weight
            continue
        if first >= extent or rest + size > weight:
            return None
        ranges.append((first, first + 1, 1, extent))
    return ranges if repeat == 1 else None


def ranges_text(ranges):
    if all(first == 0 and end == extent and step == 1 for first, end, step, extent in ranges):
        return ", ".join([".."] * len(ranges))
    return ", ".join(".." if (first, end, step) == (0, extent, 1) and extent > 1 else
                     str(first) if end == first + 1 else
                     f"{first}..{end}" if step == 1 else f"{first}..{end} by {step}"
                     for first, end, step, extent in ranges)


def run_text(form):
    """The ranges of a form that is one run of elements in its lanes, as Accesses gives them; None where it is something
    else, or where ranges of the tensor's own shape do not hold it."""
    kind, run, texts, is_all = form.kind, form.family.run, [], True
    if run is None:
        return None
    if kind.is_on_chip:
        count = form.dims[0][1]
        texts, is_all = [_range_text(form.lane, count, kind.lanes)], count == kind.lanes
    rest = form.start
    for weight, extent in kind.free_dims:
        first, rest = divmod(rest, weight)
        count = max(run // weight, 1)
        if first + count > extent or (rest or run % weight if run > weight else rest + run > weight):
            return None
        texts.append(_range_text(first, count, extent))
        is_all, run = is_all and count == extent, min(run, weight)
    return "" if is_all else f"({', '.join(texts)})"


def _range_text(first, count, extent):
    return str(first) if count == 1 else ".." if count == extent else f"{first}..{first + count}"


def free_shape(storage):
    """The dimensions in a lane, at least one."""
    shape = storage.shape[1:] if storage.is_on_chip else storage.shape
    return tuple(shape) or (1,)


class Accesses:
    """Writes the accesses of one kernel; declares the aliases that they need."""

    def __init__(self, declare, fresh):
        self._declare, self._fresh = declare, fresh
        self._known = {}

    def of(self, view, any_lane=True):
        """(parts, exact): one or more (name, ranges) that are exactly the view, or enclose it. any_lane:
        parts may start in any lane, as those of a DMA; else lanes are not split."""
        form = view.form
        text = form.ranges[any_lane]
        if text is None:
            text = run_text(form)
            if text is not None:
                view.must_fit()
                form.ranges[any_lane] = text
        if text.__class__ is str:
            return [(view.storage.name, text)], True
        key = (view.storage, view.dtype, view.lane, view.start, view.dims, view.reach, any_lane)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._made(view, PIECES_MOST if any_lane else 0)
        return known

    def _made(self, view, lanes_most):
        if not view.size:
            return [], True
        view.must_fit()
        lanes, lanes_exact = lane_pieces(view, lanes_most) if view.is_on_chip else ([None], True)
        parts, exact = pieces(view.start, view.free_dims(), max(PIECES_MOST // len(lanes), 1))
        found = [piece for lane in lanes for part in parts
                 for piece in self._part(view.storage, view.dtype, lane, *part)]
        return found, exact and lanes_exact

    def _part(self, storage, dtype, lane, start, run, stride, count):
        if item_bytes(dtype) == item_bytes(storage.dtype):
            found = box(free_shape(storage), start, run, stride, count)
            if found is not None:
                return [self._text(storage.name, storage, lane, found)]
        row = storage.row_bytes() // item_bytes(dtype)
        if count == 1:
            name = self._alias(storage, dtype, 0, (row,))
            return [self._text(name, storage, lane, [(start, start + run, 1, row)])]
        for first in (0, start % stride, start - (stride - run)):
            inner, many = (start - first) % stride, (row - first) // stride
            at = (start - first) // stride
            if first >= 0 and inner + run <= stride and at + count <= many:
                name = self._alias(storage, dtype, first, (many, stride))
                return [self._text(name, storage, lane,
                                   [(at, at + count, 1, many), (inner, inner + run, 1, stride)])]
        last = start + stride * (count - 1)  # the run that no alias of equal rows can hold
        return (self._part(storage, dtype, lane, start, run, stride, count - 1)
                + self._part(storage, dtype, lane, last, run, run, 1))

    @staticmethod
    def _text(name, storage, lane, found):
        ranges = ([(lane[0], lane[0] + lane[1], 1, storage.lanes)] if lane is not None else []) + found
        text = ranges_text(ranges)
        return name, "" if set(text) <= set("., ") else f"({text})"

    def _alias(self, storage, dtype, first, shape):
        key = (dtype, first, shape)
        if storage.aliases is None:
            storage.aliases = {}
        name = storage.aliases.get(key)
        if name is None:
            name = storage.aliases[key] = self._fresh(f"{storage.name[:50]}_v")
            full = (storage.lanes, *shape) if storage.is_on_chip else shape
            self._declare(storage, name, alias_text(storage, dtype, first * item_bytes(dtype), full))
        return name


def alias_text(storage, dtype, byte, shape):
    """What follows the name in the declaration of an alias."""
    return (f"{storage.home} {dtype} ({', '.join(map(str, shape))}) alias of {storage.name}"
            + (f" + {byte}" if byte else ""))
