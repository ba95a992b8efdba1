# SPDX-License-Identifier: Apache-2.0
"""Index tiles of the older dialect: nl.arange, nl.mgrid, and the masks that compare them.

An Index is a number for each point of a grid: a constant plus a factor for each dimension of the grid.
A tensor that is indexed with such tiles gives a view with the dimensions of the grid. A Mask is a list
of such numbers, each at least 0 where the mask holds. What depends on one dimension is a range of it,
so a mask of these is a box in the grid, and a view is cut to it exactly.
"""

import operator

from ._views import GRID_TYPES, DynamicSlice, Register, View, is_tensor


class Index:
    """constant + the sum of factor * position along each dimension of a grid."""

    __slots__ = ("shape", "factors", "constant")

    def __init__(self, shape, factors, constant):
        self.shape, self.factors, self.constant = tuple(shape), tuple(factors), constant

    @property
    def ndim(self):
        return len(self.shape)

    def __getitem__(self, key):
        """[:, None]: the same numbers in a grid of more dimensions."""
        key = key if isinstance(key, tuple) else (key,)
        rest = list(zip(self.shape, self.factors))
        made = []
        for part in key:
            if part is None:
                made.append((1, 0))
            elif isinstance(part, slice) and part == slice(None) and rest:
                made.append(rest.pop(0))
            else:
                raise TypeError(f"an index tile takes ':' and None, not {part!r}")
        made += rest
        return Index([count for count, _ in made], [factor for _, factor in made], self.constant)

    # ---- arithmetic --------------------------------------------------------------------

    def _aligned(self, ndim):
        fill = ndim - self.ndim
        return (1,) * fill + self.shape, (0,) * fill + self.factors

    def _joined(self, other, sign):
        if isinstance(other, Register):
            raise TypeError("an index tile and a number that is known on the device only")
        if not isinstance(other, Index):
            return Index(self.shape, self.factors, self.constant + sign * operator.index(other))
        ndim = max(self.ndim, other.ndim)
        (mine, ours), (theirs, others) = self._aligned(ndim), other._aligned(ndim)
        if any(a != b and 1 not in (a, b) for a, b in zip(mine, theirs)):
            raise ValueError(f"index tiles of {self.shape} and {other.shape} are of different grids")
        return Index(map(max, mine, theirs), (a + sign * b for a, b in zip(ours, others)),
                     self.constant + sign * other.constant)

    def __add__(self, other):
        return self._joined(other, 1)

    __radd__ = __add__

    def __sub__(self, other):
        return self._joined(other, -1)

    def __neg__(self):
        return self * -1

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, number):
        if isinstance(number, Index):
            raise TypeError("a product of index tiles is not affine")
        number = operator.index(number)
        return Index(self.shape, (factor * number for factor in self.factors), self.constant * number)

    __rmul__ = __mul__

    def _refuse(self, *unused):
        raise TypeError("'//' and '%' of an index tile are not affine; use a grid of more dimensions")

    __floordiv__ = __mod__ = __rfloordiv__ = __rmod__ = __truediv__ = _refuse

    def __ge__(self, other):
        return Mask([self - other])

    def __le__(self, other):
        return Mask([other - self])

    def __gt__(self, other):
        return Mask([self - other - 1])

    def __lt__(self, other):
        return Mask([other - self - 1])

    def __eq__(self, other):
        return (self >= other) & (self <= other)

    def __ne__(self, other):
        raise TypeError("'!=' of index tiles is no box; masks are built from comparisons with '&'")

    __hash__ = None

    # ---- values ------------------------------------------------------------------------

    def limits(self):
        """Least and largest number of the grid."""
        ends = [factor * (count - 1) for count, factor in zip(self.shape, self.factors)]
        return (self.constant + sum(min(end, 0) for end in ends),
                self.constant + sum(max(end, 0) for end in ends))

    def cut(self, spans):
        """The same numbers in a part of the grid."""
        if len(spans) < self.ndim:
            return self
        fill = len(spans) - self.ndim
        start, shape = self.constant, []
        for (first, end), count, factor in zip(spans[fill:], self.shape, self.factors):
            if count == 1:
                shape.append(1)
                continue
            start += first * factor
            shape.append(max(end - first, 0))
        return Index(shape, self.factors, start)

    def __repr__(self):
        return f"<index tile {list(self.shape)}>"


class Mask:
    """The points of a grid where each of some numbers is at least 0."""

    __slots__ = ("parts",)

    def __init__(self, parts):
        self.parts = parts

    def __and__(self, other):
        if isinstance(other, Mask):
            return Mask([*self.parts, *other.parts])
        if isinstance(other, bool):
            return self if other else Mask([Index((), (), -1)])
        return NotImplemented

    __rand__ = __and__

    def __bool__(self):
        raise TypeError("a mask of index tiles is neither true nor false: use it as mask= or pred=")

    def spans(self, shape):
        """([(first, end)] for each dimension of a grid, exact): the smallest box that holds all points
        where the mask holds, and whether it holds in all of the box."""
        spans, exact = [(0, count) for count in shape], True
        for part in self.parts:
            fill = len(shape) - part.ndim
            if fill < 0:
                raise ValueError(f"a mask of {part.ndim} dimensions for a tile of {shape}")
            moving = [dim for dim, (count, factor) in enumerate(zip(part.shape, part.factors))
                      if factor and count > 1]
            low, high = part.limits()
            if high < 0:
                return [(0, 0)] * len(shape), True
            if low >= 0:
                continue
            if len(moving) != 1:
                exact = False
                continue
            dim, factor = moving[0], part.factors[moving[0]]
            first, end = spans[fill + dim]
            if factor > 0:
                first = max(first, -(part.constant // factor))
            else:
                end = min(end, part.constant // -factor + 1)
            spans[fill + dim] = (first, max(first, end))
        return spans, exact


class Parts(list):
    """(extent, Index, dimension) of the tensor that was indexed. fits: all of the grid lies in it."""

    fits = False


class Grid(View):
    """A view by index tiles. It may leave its tensor until a mask has cut it."""

    __slots__ = ("parts",)

    def _with(self, **changes):
        return self.fitted([(0, count) for count in self.shape])._with(**changes)

    def fitted(self, spans):
        """The view in a part of the grid; it lies in its tensor."""
        made = View(self.storage, self.dtype, self.lane, self.start, self.dims, self.reach, self.index, self.spread)
        is_all = all(span == (0, count) for span, (_, count) in zip(spans, self.dims))
        if not is_all:
            made = cut(made, spans)
        if is_all and self.parts.fits or any(end <= first for first, end in spans):
            return made
        for extent, index, dim in self.parts:
            low, high = (index if is_all else index.cut(spans)).limits()
            if low < 0 or high >= extent:
                raise IndexError(f"an index tile from {low} to {high} in dimension {dim} of "
                                 f"'{self.name}', which has {extent} elements")
        self.parts.fits = self.parts.fits or is_all
        return made


def cut(view, spans):
    """A part of a view: (first, end) for each of its dimensions."""
    lane, start, dims = view.lane, view.start, []
    for dim, ((stride, count), (first, end)) in enumerate(zip(view.dims, spans)):
        if view.is_on_chip and dim == 0:
            lane += first * stride
        else:
            start += first * stride
        dims.append((stride, min(end, count) - first if count > 1 else min(end - first, 1)))
    return view._with(lane=lane, start=start, dims=dims)


def arange(*args):
    """nl.arange(n), nl.arange(first, end)."""
    first, end = (0, *args) if len(args) == 1 else args
    if end <= first:
        raise ValueError(f"nl.arange({first}, {end}) is empty")
    return Index((end - first,), (1,), first)


class MultiGrid:
    """What nl.mgrid[0:128, 0:512] gives: an index tile for each dimension, also as .p, .x, .y, .z."""

    __slots__ = ("_tiles",)

    def __init__(self, tiles):
        self._tiles = tiles

    def __iter__(self):
        return iter(self._tiles)

    def __len__(self):
        return len(self._tiles)

    def __getitem__(self, at):
        return self._tiles[at]

    def __getattr__(self, name):
        if name in ("p", "x", "y", "z", "w") and "pxyzw".index(name) < len(self._tiles):
            return self._tiles["pxyzw".index(name)]
        raise AttributeError(f"a grid of {len(self._tiles)} dimensions has no '{name}'")


class _Mgrid:
    def __getitem__(self, key):
        key = key if isinstance(key, tuple) else (key,)
        spans = [(part.start or 0, part.stop) for part in key]
        shape = [end - first for first, end in spans]
        return MultiGrid([Index(shape, [int(at == dim) for at in range(len(shape))], first)
                          for dim, (first, _) in enumerate(spans)])


mgrid = _Mgrid()


# ---- tensors -------------------------------------------------------------------------------------------


def _entry(part):
    """An entry of an index as (Index, the tensor that holds it or None)."""
    if isinstance(part, Index):
        return part, None
    part = part.view() if hasattr(part, "view_of") else part
    if is_tensor(part):
        return Index(part.shape, (0,) * part.ndim, 0), part
    return Index((), (), operator.index(part)), None


def _slice(part, count):
    if isinstance(part, slice):
        first, end, step = part.indices(count)
        if step < 1:
            raise IndexError(f"a slice with the step {step}")
        return Index((max(-(-(end - first) // step), 0),), (step,), first)
    return Index((part.size,), (1,), part.start)  # nl.ds


def _grid(entries):
    """The shape of the grid of all index tiles."""
    ndim = max(index.ndim for index, _ in entries)
    shape = [1] * ndim
    for index, _ in entries:
        for dim, count in enumerate(index._aligned(ndim)[0]):
            if count != 1 and shape[dim] not in (1, count):
                raise ValueError("index tiles of different grids in one index")
            shape[dim] = max(shape[dim], count)
    return shape


_known = {}  # what indices make of parts of tensors: (lane, start, dims, parts)
KNOWN_MOST = 100_000


def _described(key):
    """An index as something that can be looked up; None: a tensor is in it."""
    made = []
    for part in key:
        if isinstance(part, Index):
            made.append((part.shape, part.factors, part.constant))
        elif isinstance(part, slice):
            made.append((part.start, part.stop, part.step))
        elif isinstance(part, int) or part is Ellipsis:
            made.append(part)
        else:
            return None
    return tuple(made)


def indexed(view, key):
    """view[key] with index tiles: a view with the dimensions of their grid. Slices add their own
    dimensions, before and after it as in numpy."""
    described = _described(key) if not view.reach else None
    if described is None:
        return _indexed(view, key)
    place = view.is_on_chip, view.lane, view.start, view.dims, described
    found = _known.get(place)
    if found is None:
        made = _indexed(view, key)
        if len(_known) >= KNOWN_MOST:
            _known.clear()
        _known[place] = made.lane, made.start, made.dims, made.parts
        return made
    made = Grid(view.storage, view.dtype, *found[:3])
    made.parts = found[3]
    return made


def _indexed(view, key):
    key = list(key) if isinstance(key, tuple) else [key]
    if any(part is Ellipsis for part in key):
        at = next(at for at, part in enumerate(key) if part is Ellipsis)
        key[at:at + 1] = [slice(None)] * (view.ndim + 1 - len(key))
    if len(key) > view.ndim:
        raise IndexError(f"{len(key)} indices for {view!r}")
    key += [slice(None)] * (view.ndim - len(key))
    tiles = {dim: _entry(part) for dim, part in enumerate(key) if not isinstance(part, (slice, DynamicSlice))}
    grid = _grid(list(tiles.values()))
    first = min(tiles) if max(tiles) - min(tiles) == len(tiles) - 1 else 0
    slices = {dim: _slice(key[dim], view.shape[dim]) for dim in range(view.ndim) if dim not in tiles}
    before = [dim for dim in slices if dim < first]
    after = [dim for dim in slices if dim >= first]
    ndim = len(before) + len(grid) + len(after)
    spread = {}  # dimension of the tensor: its Index in the whole grid
    for dim, (index, _) in tiles.items():
        shape, factors = index._aligned(len(grid))
        spread[dim] = Index((1,) * len(before) + shape + (1,) * len(after),
                            (0,) * len(before) + factors + (0,) * len(after), index.constant)
    for at, dims in ((0, before), (len(before) + len(grid), after)):
        for offset, dim in enumerate(dims):
            shape, factors = [1] * ndim, [0] * ndim
            shape[at + offset], factors[at + offset] = slices[dim].shape[0], slices[dim].factors[0]
            spread[dim] = Index(shape, factors, slices[dim].constant)
    whole = [max(index.shape[at] for index in spread.values()) for at in range(ndim)]
    return _view(view, spread, whole, {dim: held for dim, (_, held) in tiles.items() if held is not None})


def _view(view, spread, shape, held):
    lane, start = view.lane, view.start
    strides, lanes = [0] * len(shape), [0] * len(shape)
    for dim, index in spread.items():
        stride = view.dims[dim][0]
        if view.is_on_chip and dim == 0:
            lane += index.constant * stride
            lanes = [factor * stride if count > 1 else 0 for factor, count in zip(index.factors, index.shape)]
            continue
        start += index.constant * stride
        for at, factor in enumerate(index.factors):
            strides[at] += factor * stride if index.shape[at] > 1 else 0
    dims = list(zip(strides, shape))
    if view.is_on_chip:
        if any(lanes[1:]) or lanes and strides[0] or 0 in held:
            raise ValueError(f"the partitions of '{view.name}' are along the first dimension of an index, "
                             f"and only there")
        dims = [(lanes[0] if shape[0] > 1 else 1, shape[0]), *dims[1:]]
        if len(dims) == 1:
            dims.append((1, 1))
    made = Grid(view.storage, view.dtype, lane, start, dims,
                (*view.reach, *(view.dims[dim] for dim in held)), (*view.index, *held.values()),
                view.spread or bool(held) and not view.is_on_chip)
    made.parts = Parts((view.shape[dim], index, dim) for dim, index in spread.items())
    return made


GRID_TYPES.add(Index)
