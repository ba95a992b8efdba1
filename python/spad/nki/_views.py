# SPDX-License-Identifier: Apache-2.0
"""Tensors of a traced NKI kernel and their views.

A Storage is what nl.ndarray made: a space, a shape, an element type and perhaps a place. A View
is a part of it: a first element and a (stride, count) for each dimension, in elements of the
view's own type. On chip the first dimension runs across lanes and its stride counts lanes; the
others are in a lane. In HBM all dimensions are in one lane. `reach` holds further dimensions
that an index known only on the device may move along: they belong to what an access may touch,
not to its shape.

Kernels take the same parts of equal tensors again and again, so a View is a Storage and a Form. Forms
are shared by all tensors of one space, shape and type, and remember the forms that indices make of them.
"""

import math
import operator

from .. import _spad
from . import _shapes


class Kind:
    """What equal tensors share: a space, a shape, an element type, and their forms."""

    __slots__ = ("space", "dtype", "shape", "is_on_chip", "lanes", "row_bytes", "families", "whole", "text",
                 "free_dims")

    def __init__(self, space, dtype, shape):
        self.space, self.dtype, self.shape = space, dtype, shape
        self.is_on_chip = space != "hbm"
        self.lanes = shape[0] if self.is_on_chip else 1
        self.text = f"{dtype} ({', '.join(map(str, shape))}{', 1' if self.is_on_chip and len(shape) == 1 else ''})"
        self.row_bytes = math.prod(shape[1:] if self.is_on_chip else shape) * item_bytes(dtype)
        self.families = {}
        self.free_dims = dense((shape[1:] if self.is_on_chip else shape) or (1,))  # (stride, count) in a lane
        dims = dense(shape) if not self.is_on_chip else ((1, shape[0]), *dense(shape[1:]))
        self.whole = self.form(dtype, 0, 0, dims, (), False)

    def form(self, dtype, lane, start, dims, reach, spread):
        key = (dtype, dims, reach, spread)
        family = self.families.get(key)
        if family is None:
            family = self.families[key] = Family(self, *key)
        form = family.forms.get((lane, start))
        if form is None:
            form = family.forms[lane, start] = Form(family, lane, start)
        return form

    def forget(self):
        """Frees its forms, which refer to each other."""
        for family in self.families.values():
            for form in family.forms.values():
                form.items.clear()
            family.forms.clear()
        self.families.clear()


class Family:
    """What parts that differ only in where they begin share. `run`: the elements of each in a lane, where they are one
    run and of the size of the tensor's own; else None."""

    __slots__ = ("kind", "dtype", "dims", "reach", "spread", "shape", "size", "run", "forms")

    def __init__(self, kind, dtype, dims, reach, spread):
        self.kind, self.dtype, self.dims, self.reach, self.spread = kind, dtype, dims, reach, spread
        self.shape = tuple([count for _, count in dims])
        self.size = math.prod(self.shape)
        self.run = self._run() if self.size and not reach and not spread else None
        self.forms = {}  # (lane, start): form

    def _run(self):
        dims, run = self.dims, 1
        if item_bytes(self.dtype) != item_bytes(self.kind.dtype):
            return None
        if self.kind.is_on_chip:
            stride, count = dims[0]
            if stride != 1 and count != 1:
                return None
            dims = dims[1:]
        for stride, count in reversed(dims):
            if count != 1:
                if stride != run:
                    return None
                run *= count
        return run


class Form:
    """A part of any tensor of a kind. `items`: index -> form, of those without a value of the device."""

    __slots__ = ("family", "kind", "dtype", "lane", "start", "dims", "reach", "spread", "shape", "size", "items",
                 "region", "ranges")

    def __init__(self, family, lane, start):
        self.family, self.lane, self.start = family, lane, start
        self.kind, self.dtype, self.dims = family.kind, family.dtype, family.dims
        self.reach, self.spread, self.shape, self.size = family.reach, family.spread, family.shape, family.size
        self.items = {}
        self.region = None  # (first lane, end, first byte, end), when it was asked for
        self.ranges = [None, None]  # as text, for an engine and for a DMA (_fast.py), when it was asked for


_kinds = {}  # forms do not depend on a trace; forget_forms() frees them
KINDS_MOST, ITEMS_MOST = 4096, 65536  # of them, and of what a form remembers


def kind_of(space, dtype, shape):
    key = (space, dtype, shape)
    kind = _kinds.get(key)
    if kind is None:
        if len(_kinds) >= KINDS_MOST:
            _kinds.clear()  # those of the trace that runs stay with their tensors
        kind = _kinds[key] = Kind(*key)
    return kind


def forget_forms():
    """A new trace starts: the forms of earlier ones are kept by their own tensors only."""
    for kind in _kinds.values():
        kind.forget()
    _kinds.clear()


class Storage:
    """A tensor that the kernel made or was given."""

    is_input = is_output = False
    sums = ()           # parts that matmuls are adding to
    aliases = None      # names for other shapes and types of the same bytes, if it has any
    is_written = False  # under its own name?
    names_written = ()  # the other names that are written
    core = 0            # whose SBUF or PSUM it is

    def __init__(self, name, space, buffer, dtype, shape, address=None, core=0, kind=None):
        self.name, self.buffer, self.address = name, buffer, address
        self.kind = kind_of(space, dtype, shape) if kind is None else kind
        if core:
            self.core = core

    @property
    def space(self):
        return self.kind.space

    @property
    def dtype(self):
        return self.kind.dtype

    @property
    def shape(self):
        return self.kind.shape

    @property
    def is_on_chip(self):
        return self.kind.is_on_chip

    @property
    def is_changed(self):
        """Is it one of the kernel's outputs?"""
        return self.is_output or self.is_input and (self.is_written or bool(self.names_written))

    def write(self, name):
        """It is written under this name."""
        if name == self.name:
            self.is_written = True
        elif name not in self.names_written:
            self.names_written = (*self.names_written, name)

    @property
    def written(self):
        """The names that are written."""
        return {self.name, *self.names_written} if self.is_written else {*self.names_written}

    @property
    def home(self):
        """The memory in the kernel language."""
        return f"{self.space}[{self.core}]" if self.core and self.is_on_chip else self.space

    @property
    def lanes(self):
        return self.kind.lanes

    def row_bytes(self):
        """Bytes in one lane."""
        return self.kind.row_bytes


_sizes = {}


def item_bytes(dtype):
    """Bytes of an element."""
    size = _sizes.get(dtype)
    if size is None:
        size = _sizes[dtype] = _spad.dtype_bytes(str(dtype))
    return size


class Register:
    """A number that is known on the device only. It may be an index; Python cannot branch on it."""

    __slots__ = ("what", "value")

    def __init__(self, what="a register", value=None):
        self.what, self.value = what, value  # the number, where numbers are computed

    def _derived(operation):
        def derived(self, *other):
            numbers = [part.value if isinstance(part, Register) else part for part in (self, *other)]
            return Register(self.what, None if None in numbers else operation(*numbers))

        return derived

    def _turned(operation):
        return lambda a, b: operation(b, a)

    __add__ = __radd__ = _derived(operator.add)
    __sub__, __rsub__ = _derived(operator.sub), _derived(_turned(operator.sub))
    __mul__ = __rmul__ = _derived(operator.mul)
    __floordiv__, __rfloordiv__ = _derived(operator.floordiv), _derived(_turned(operator.floordiv))
    __mod__, __rmod__ = _derived(operator.mod), _derived(_turned(operator.mod))
    __neg__ = _derived(operator.neg)
    del _derived, _turned

    def _refuse(self, *unused):
        raise TypeError(f"{self.what} is known on the device only: Python cannot branch on it or use "
                        f"it as a number")

    __bool__ = __int__ = __index__ = __float__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __repr__(self):
        return f"<{self.what}>"


def _has_number(index):
    """Is an index of the device one that is read from somewhere, or that is known where numbers are computed?"""
    return isinstance(index, View) or isinstance(index, Register) and index.value is not None


GRID_TYPES = set()  # what makes an index one of index tiles (the older dialect)


def is_tensor(thing):
    return isinstance(thing, View)


class DynamicSlice:
    """nl.ds(start, size)."""

    __slots__ = ("start", "size")

    def __init__(self, start, size):
        self.start, self.size = start, size


def dense(shape):
    """(stride, count) of each dimension of a shape in row-major order."""
    dims, stride = [], 1
    for count in reversed(shape):
        dims.append((stride, count))
        stride *= count
    return tuple(reversed(dims))


class View:
    """A part of a tensor, as kernels see it (NkiTensor)."""

    __slots__ = ("storage", "form", "index")

    def __init__(self, storage, dtype, lane, start, dims, reach=(), index=(), spread=False):
        """reach: dimensions that a dynamic index moves along; index: the tensors and registers that hold such
        indices; spread: dimension 0 is replaced by an index for each partition."""
        self.storage, self.index = storage, tuple(index)
        self.form = storage.kind.form(dtype, lane, start, tuple(dims), tuple(reach), spread)

    @classmethod
    def _of(cls, storage, form):
        made = _new(cls)
        made.storage, made.form, made.index = storage, form, ()
        return made

    @classmethod
    def whole(cls, storage):
        return cls._of(storage, storage.kind.whole)

    dtype = property(lambda self: self.form.dtype)
    lane = property(lambda self: self.form.lane)
    start = property(lambda self: self.form.start)
    dims = property(lambda self: self.form.dims)
    reach = property(lambda self: self.form.reach)
    spread = property(lambda self: self.form.spread)

    def _with(self, dtype=None, lane=None, start=None, dims=None, reach=None, index=None, spread=None):
        return View(self.storage,
                    self.dtype if dtype is None else dtype,
                    self.lane if lane is None else lane,
                    self.start if start is None else start,
                    self.dims if dims is None else dims,
                    self.reach if reach is None else reach,
                    self.index if index is None else index,
                    self.spread if spread is None else spread)

    # ---- what a kernel asks ------------------------------------------------------------

    @property
    def is_on_chip(self):
        return self.form.kind.is_on_chip

    @property
    def shape(self):
        return self.form.shape

    @property
    def ndim(self):
        return len(self.form.dims)

    @property
    def size(self):
        return self.form.size

    @property
    def name(self):
        return self.storage.name

    @property
    def buffer(self):
        return self.storage.buffer

    @property
    def address(self):
        return self.storage.address

    @property
    def itemsize(self):
        return item_bytes(self.dtype)

    def _row(self):
        """Elements of this type in a lane."""
        return self.storage.row_bytes() // item_bytes(self.dtype)

    @property
    def strides(self):
        own = tuple(stride for stride, _ in self.dims)
        return (own[0] * self._row(), *own[1:]) if self.is_on_chip else own

    @property
    def offset(self):
        return self.lane * self._row() + self.start if self.is_on_chip else self.start

    def get_pattern(self):
        return [[stride, count] for stride, count in zip(self.strides, self.shape)]

    def is_indirect(self):
        return bool(self.reach)

    def is_contiguous(self):
        inner = self.dims[1:] if self.is_on_chip else self.dims
        expected = dense([count for _, count in inner])
        return all(count == 1 or stride == want
                   for (stride, count), (want, _) in zip(inner, expected))

    def __len__(self):
        return self.dims[0][1]

    __iter__ = None  # a view has an index for every dimension, so Python would not stop

    def __repr__(self):
        return f"<{self.storage.space} tensor '{self.name}' {self.dtype}{list(self.shape)}>"

    # ---- one dimension at a time -------------------------------------------------------

    def _dim(self, dim):
        if not -self.ndim <= dim < self.ndim:
            raise IndexError(f"dimension {dim} of '{self.name}', which has {self.ndim}")
        return dim % self.ndim

    def _moved(self, dim, first):
        """lane and start, `first` steps along a dimension."""
        stride = self.dims[dim][0]
        if self.is_on_chip and dim == 0:
            return self.lane + first * stride, self.start
        return self.lane, self.start + first * stride

    def slice(self, dim, start, end, step=1):
        dim = self._dim(dim)
        stride, count = self.dims[dim]
        if step < 1 or not 0 <= start <= end <= count:
            raise IndexError(f"[{start}:{end}:{step}] of dimension {dim} of '{self.name}', which has "
                             f"{count} elements")
        lane, first = self._moved(dim, start)
        dims = list(self.dims)
        dims[dim] = (stride * step, -(-(end - start) // step))
        return self._with(lane=lane, start=first, dims=dims)

    def _any_of(self, dim, size, index):
        """`size` elements from a position along a dimension that is known on the device only."""
        stride, count = self.dims[dim]
        if self.is_on_chip and dim == 0:
            raise TypeError(f"the partition of '{self.name}' depends on a value of the device")
        if size > count:
            raise IndexError(f"{size} elements of dimension {dim} of '{self.name}', which has {count}")
        dims = list(self.dims)
        dims[dim] = (stride, size)
        return self._with(dims=dims, reach=(*self.reach, (stride, count - size + 1)),
                          index=self.index + ((index,) if _has_number(index) else ()))

    def select(self, dim, index):
        dim = self._dim(dim)
        if isinstance(index, (View, Register)):
            return self._any_of(dim, 1, index)._without(dim)
        count = self.dims[dim][1]
        if not -count <= index < count:
            raise IndexError(f"index {index} of dimension {dim} of '{self.name}', which has {count} "
                             f"elements")
        index %= count
        return self.slice(dim, index, index + 1)._without(dim)

    def _without(self, dim):
        """Removes a dimension of one element, unless a tensor needs it: on chip the lanes and one more
        remain, in HBM one."""
        least = 2 if self.is_on_chip else 1
        if self.ndim <= least or self.is_on_chip and dim == 0:
            return self
        return self._with(dims=self.dims[:dim] + self.dims[dim + 1:])

    def expand_dim(self, dim):
        if not 0 <= dim <= self.ndim or self.is_on_chip and dim == 0:
            raise IndexError(f"no dimension can be added at {dim} of {self!r}")
        return self._with(dims=(*self.dims[:dim], (1, 1), *self.dims[dim:]))

    def squeeze_dim(self, dim):
        dim = self._dim(dim)
        if self.dims[dim][1] != 1 or self.is_on_chip and dim == 0:
            raise ValueError(f"dimension {dim} of {self!r} cannot be removed")
        return self._with(dims=self.dims[:dim] + self.dims[dim + 1:])

    def broadcast(self, dim, size):
        dim = self._dim(dim)
        if self.dims[dim][1] != 1:
            raise ValueError(f"dimension {dim} of {self!r} cannot be repeated: it has more than one "
                             f"element")
        dims = list(self.dims)
        dims[dim] = (0, size)
        return self._with(dims=dims)

    def broadcast_to(self, shape):
        if len(shape) < self.ndim:
            raise ValueError(f"{self!r} cannot be repeated to {tuple(shape)}")
        made = self
        if len(shape) > self.ndim:
            at = 1 if self.is_on_chip else 0
            made = self._with(dims=(*self.dims[:at], *(((0, 1),) * (len(shape) - self.ndim)),
                                    *self.dims[at:]))
        for dim, (have, want) in enumerate(zip(made.shape, shape)):
            if have != want:
                made = made.broadcast(dim, want)
        return made

    def permute(self, dims):
        if sorted(dims) != list(range(self.ndim)) or self.is_on_chip and dims[0] != 0:
            raise ValueError(f"{tuple(dims)} is no order of the dimensions of {self!r}")
        return self._with(dims=[self.dims[dim] for dim in dims])

    # ---- shapes ------------------------------------------------------------------------

    def reshape_dim(self, dim, shape):
        dim = self._dim(dim)
        stride, count = self.dims[dim]
        shape = _shapes.inferred(shape, count, self)
        if self.is_on_chip and dim == 0 and len(shape) > 1:
            raise ValueError(f"the partitions of {self!r} cannot be split")
        split = [(inner * stride, size) for inner, size in dense(shape)]
        return self._with(dims=(*self.dims[:dim], *split, *self.dims[dim + 1:]))

    def flatten_dims(self, start_dim, end_dim):
        first, last = self._dim(start_dim), self._dim(end_dim)
        merged = self.dims[first]
        for stride, count in self.dims[first + 1:last + 1]:
            merged = _shapes.joined(merged, (stride, count), self)
        if self.is_on_chip and first == 0 and last > 0:
            raise ValueError(f"the partitions of {self!r} cannot be joined with other dimensions")
        return self._with(dims=(*self.dims[:first], merged, *self.dims[last + 1:]))

    def reshape(self, *counts, shape=None):
        if shape is None:
            shape = counts[0] if len(counts) == 1 and not isinstance(counts[0], int) else counts
        shape = _shapes.inferred(shape, self.size, self)
        if not self.is_on_chip:
            return self._with(dims=_shapes.reshaped(self.dims, shape, self))
        if not shape or shape[0] != self.dims[0][1]:
            raise ValueError(f"{self!r} has {self.dims[0][1]} partitions, so it cannot take the shape "
                             f"{shape}")
        return self._with(dims=(self.dims[0], *_shapes.reshaped(self.dims[1:], shape[1:], self)))

    def rearrange(self, src_pattern, dst_pattern, fixed_sizes=None):
        sizes = dict(fixed_sizes or {})
        names, made = [], self
        for at in range(len(src_pattern) - 1, -1, -1):
            group = src_pattern[at] if isinstance(src_pattern[at], (tuple, list)) else (src_pattern[at],)
            if len(group) > 1:
                made = made.reshape_dim(at, tuple(sizes.get(name, -1) for name in group))
            names[:0] = group
        wanted = [name for part in dst_pattern
                  for name in (part if isinstance(part, (tuple, list)) else (part,))]
        if sorted(wanted) != sorted(names):
            raise ValueError(f"{dst_pattern} does not have the names of {src_pattern}")
        made = made.permute(tuple(names.index(name) for name in wanted))
        for at, part in enumerate(dst_pattern):
            if isinstance(part, (tuple, list)) and len(part) > 1:
                made = made.flatten_dims(at, at + len(part) - 1)
        return made

    def view(self, dtype):
        old, new = item_bytes(self.dtype), item_bytes(dtype)
        if old == new:
            return self._with(dtype=dtype)
        if self.reach:
            raise ValueError(f"{self!r} has a dynamic index, so its type cannot change")
        *outer, (stride, count) = self.dims
        if self.is_on_chip and not outer:
            raise ValueError(f"{self!r} has one element in a lane")
        if stride != 1 and count != 1:
            raise ValueError(f"the last dimension of {self!r} is not contiguous")
        places = [self.start, count] + [step for step, many in outer[self.is_on_chip:] if many > 1]
        if any(place * old % new for place in places):
            raise ValueError(f"{self!r} cannot be seen as {dtype}: its places are no multiple of {new} B")
        scaled = [(step * old // new, many) for step, many in outer]
        if self.is_on_chip:
            scaled[0] = outer[0]
        return self._with(dtype=dtype, start=self.start * old // new,
                          dims=(*scaled, (1, count * old // new)))

    reinterpret_cast = view

    # ---- access patterns ---------------------------------------------------------------

    def ap(self, pattern, offset=None, scalar_offset=None, vector_offset=None, indirect_dim=0,
           dtype=None):
        if scalar_offset is None and vector_offset is None and not self.index and not self.reach:
            items, key = self.form.items, (_PATTERN, dtype, offset, *map(tuple, pattern))
            found = items.get(key)
            if found is not None:
                return View._of(self.storage, found)
            made = self._patterned(pattern, offset, None, None, 0, dtype)
            if len(items) < ITEMS_MOST and {int}.issuperset(type(number) for part in pattern for number in part):
                items[key] = made.form
            return made
        return self._patterned(pattern, offset, scalar_offset, vector_offset, indirect_dim, dtype)

    def _patterned(self, pattern, offset, scalar_offset, vector_offset, indirect_dim, dtype):
        made = self if dtype is None else self._retyped(dtype)
        row = made._row()
        dims = [(int(stride), int(count)) for stride, count in pattern]
        base = made.offset + (0 if offset is None else offset)
        if made.is_on_chip:
            lane, start = divmod(base, row)
            stride, count = dims[0]
            if count > 1 and stride % row:
                raise ValueError(f"the partition stride {stride} is no multiple of the {row} elements "
                                 f"that '{self.name}' has in a partition")
            dims[0] = (stride // row if count > 1 else 1, count)
        else:
            lane, start = 0, base
        view = View(made.storage, made.dtype, lane, start, dims)
        moving = scalar_offset if scalar_offset is not None else vector_offset
        if moving is not None:
            view = view._moving(made, moving, indirect_dim, vector_offset is not None)
        return view  # which may leave its tensor until it is used

    def _retyped(self, dtype):
        """This storage with another type, for a pattern that counts in it."""
        old, new = item_bytes(self.dtype), item_bytes(dtype)
        if self.start * old % new:
            raise ValueError(f"{self!r} cannot be seen as {dtype}: it starts at byte {self.start * old}")
        return self._with(dtype=dtype, start=self.start * old // new)

    def _moving(self, shaped, moving, dim, for_each):
        """With an offset that is known on the device only, along a dimension of `shaped`."""
        if self.is_on_chip and dim == 0:
            raise TypeError(f"the partition of '{self.name}' depends on a value of the device")
        stride = shaped.dims[shaped._dim(dim)][0]
        fixed = self.dims[1:] if for_each else self.dims
        free = fixed[1:] if self.is_on_chip and not for_each else fixed
        last = self.start + sum((count - 1) * max(step, 0) for step, count in free)
        reach = max((self._row() - 1 - last) // stride + 1, 1) if stride else 1
        return self._with(reach=((stride, reach),), spread=for_each,
                          index=(moving,) if _has_number(moving) else ())

    def vector_select(self, dim, vector_offset):
        if self._dim(dim) != 0 or self.is_on_chip:
            raise ValueError("vector_select is along dimension 0 of a tensor in HBM")
        return self._with(dims=((0, vector_offset.shape[0]), *self.dims[1:]), reach=(self.dims[0],),
                          index=(vector_offset,), spread=True)

    def indirect(self, index, num_elem=None):
        count = index.size if num_elem is None else num_elem
        return self._with(dims=(self.dims[0], (0, count)), reach=self.dims[1:], index=(index,))

    def must_fit(self):
        """Refuses an access by a pattern that leaves its tensor."""
        low, high = self.extent()
        last = self.lane + (self.dims[0][1] - 1) * self.dims[0][0] if self.is_on_chip else 0
        if low < 0 or high > self._row() or self.lane < 0 or last >= self.storage.lanes:
            where = f"partitions {self.lane} to {last}, " if self.is_on_chip else ""
            raise IndexError(f"{where}elements {low} to {high - 1} of '{self.name}', which has "
                             + (f"{self.storage.lanes} partitions of " if self.is_on_chip else "")
                             + f"{self._row()} elements")

    def free_dims(self):
        """The (stride, count) that an access runs over in a lane, with all that it may touch."""
        own = self.dims[1:] if self.is_on_chip or self.spread else self.dims
        return [(stride, count) for stride, count in (*own, *self.reach) if count != 1]

    def extent(self):
        """First element in a lane and the one after the last."""
        dims = self.free_dims()
        low = self.start + sum((count - 1) * stride for stride, count in dims if stride < 0)
        high = self.start + sum((count - 1) * stride for stride, count in dims if stride > 0)
        return low, high + 1

    # ---- indices -----------------------------------------------------------------------

    def __getitem__(self, key):
        if not self.index:
            found = self._sliced(key if key.__class__ is tuple else (key,))
            if found is None:
                return self._looked_up(key)
            made = _new(View)
            made.storage, made.form, made.index = self.storage, found, ()
            return made
        return self._taken(key)

    def _looked_up(self, key):
        """As _taken() gives it. Forms are kept by their indices."""
        parts, items = _key(key), self.form.items
        try:
            found = items.get(parts) if parts is not None else None
        except TypeError:  # an end of a slice that has no hash
            parts = found = None
        if found is not None:
            return View._of(self.storage, found)
        made = self._taken(key)
        if parts is not None and not made.index and len(items) < ITEMS_MOST:
            items[parts] = made.form
        return made

    def _sliced(self, key):
        """The form of an index of whole numbers and ranges of them, as _taken() gives it; None: there is something
        else in it, or it is outside."""
        form = self.form
        lane, start, rest, is_on_chip = form.lane, form.start, form.dims, form.kind.is_on_chip
        if len(key) > len(rest):
            return None
        dims, single = [], []
        for part, (stride, count) in zip(key, rest):
            kind = part.__class__
            if kind is slice:
                first, end, step = part.start, part.stop, part.step
                if first is end is step is None:
                    dims.append((stride, count))
                    continue
                first, end = 0 if first is None else first, count if end is None else end
                step = 1 if step is None else step
                if not first.__class__ is end.__class__ is step.__class__ is int:
                    return None
                first, end = first + count if first < 0 else first, end + count if end < 0 else end
                if step < 1 or not 0 <= first <= end <= count:
                    return None
            elif kind is DynamicSlice:
                first, end, step = part.start, part.size, 1
                if not first.__class__ is end.__class__ is int:
                    return None
                end += first
                if not 0 <= first <= end <= count:
                    return None
            elif kind is int:
                if not -count <= part < count:
                    return None
                first, step = part % count, 1
                end = first + 1
                if len(dims) or not is_on_chip:
                    single.append(len(dims))
            else:
                return None
            if is_on_chip and not dims:
                lane += first * stride
            else:
                start += first * stride
            dims.append((stride, end - first) if step == 1 else (stride * step, -(-(end - first) // step)))
        dims += rest[len(dims):]
        for dim in reversed(single):
            if len(dims) > 1 + is_on_chip:
                del dims[dim]
        return form.kind.form(form.dtype, lane, start, tuple(dims), form.reach, form.spread)

    def _taken(self, key):
        key = list(key) if isinstance(key, tuple) else [key]
        if not GRID_TYPES.isdisjoint(map(type, key)):
            return by_index_tiles(self, tuple(key))
        if any(part is Ellipsis for part in key):
            at = next(at for at, part in enumerate(key) if part is Ellipsis)
            fill = self.ndim - sum(part is not None and part is not Ellipsis for part in key)
            key[at:at + 1] = [slice(None)] * fill
        if sum(part is not None for part in key) > self.ndim:
            raise IndexError(f"{len(key)} indices for {self!r}")
        made, dim, dropped = self, 0, []
        for part in key:
            if part is None:
                made = made.expand_dim(dim)
                dim += 1
                continue
            made, drop = made._indexed(dim, part)
            if drop:
                dropped.append(dim)
            dim += 1
        for dim in reversed(dropped):
            made = made._without(dim)
        return made

    def _indexed(self, dim, part):
        """The view after one index, and whether the dimension goes."""
        count = self.dims[dim][1]
        if isinstance(part, slice):
            if any(isinstance(end, (Register, View)) for end in (part.start, part.stop)):
                raise TypeError("a slice with an end that is known on the device only: use nl.ds")
            start, end = (at if at is None or at >= 0 else at + count for at in (part.start, part.stop))
            return self.slice(dim, 0 if start is None else start, count if end is None else end,
                              1 if part.step is None else part.step), False
        if isinstance(part, DynamicSlice):
            if isinstance(part.start, (Register, View)):
                return self._any_of(dim, part.size, part.start), False
            return self.slice(dim, part.start, part.start + part.size), False
        if isinstance(part, (Register, View)):
            return self._any_of(dim, 1, part), True
        if not hasattr(part, "__index__"):
            raise TypeError(f"an index of '{self.name}' is {part!r}")
        part = part.__index__()
        if not -count <= part < count:
            raise IndexError(f"index {part} of dimension {dim} of '{self.name}', which has {count} "
                             f"elements")
        return self.slice(dim, part % count, part % count + 1), True


def _key(key):
    """An index as something that can be looked up: numbers and slices. None: there are other things."""
    if key.__class__ is not tuple:
        key = (key,)
    parts = []
    for part in key:
        kind = part.__class__
        if kind is int:
            parts.append(part)
        elif kind is slice:
            parts += (_SLICE, part.start, part.stop, part.step)
        elif kind is DynamicSlice and part.start.__class__ is int and part.size.__class__ is int:
            parts += (_DYNAMIC, part.start, part.size)
        elif part is None or part is Ellipsis:
            parts.append(part)
        else:
            return None
    return tuple(parts)


View.__name__ = View.__qualname__ = "NkiTensor"  # as errors of Python name it

_SLICE, _DYNAMIC, _PATTERN = "s", "d", "p"
_new = object.__new__


def by_index_tiles(view, key):
    from ._index import indexed  # which needs the views
    return indexed(view, key)
