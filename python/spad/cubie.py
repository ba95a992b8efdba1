# SPDX-License-Identifier: Apache-2.0
"""Drop-in for cubie.buffer_registry.

    from cubie.buffer_registry import buffer_registry       # before
    from spad.cubie import buffer_registry                  # after

Names, arguments, messages and the attributes that CuBIE's own tests look at are those of CuBIE
0.3.1; layouts are made by the library (docs/registry.md). Where numba is installed, allocators are
device functions; elsewhere they slice what they are given. Beyond CuBIE: layout in bytes, budgets
and block sizes.
"""

import operator
import warnings
from weakref import WeakKeyDictionary

from . import _spad

try:
    from numpy import float32 as _default_precision
except ImportError:
    _default_precision = "float32"

_PRECISIONS = ("float16", "float32", "float64", "int32", "int64")


def _precision_name(precision):
    try:
        name = _spad.dtype_name(precision)
    except (_spad.Error, TypeError):
        name = None
    if name not in _PRECISIONS:
        raise ValueError(f"precision must be one of float16, float32, float64, int32, int64; got "
                         f"{precision!r}")
    return name


class CUDABuffer:
    """A buffer as a component declares it. Sizes are in elements."""

    __slots__ = ("name", "size", "location", "persistent", "aliases", "precision", "_dtype")
    FIELDS = ("name", "size", "location", "persistent", "aliases", "precision")

    def __init__(self, name, size, location, persistent=False, aliases=None,
                 precision=_default_precision):
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, not {name!r}")
        try:
            size = operator.index(size)
        except TypeError:
            raise TypeError(f"size must be a whole number, not {size!r}") from None
        if size < 0:
            raise ValueError(f"size must be at least 0, not {size}")
        if location not in ("shared", "local"):
            raise ValueError(f"location must be 'shared' or 'local', not {location!r}")
        if not isinstance(persistent, bool):
            raise TypeError(f"persistent must be a bool, not {persistent!r}")
        if aliases is not None and not isinstance(aliases, str):
            raise TypeError(f"aliases must be a str or None, not {aliases!r}")
        self._dtype = _precision_name(precision)
        self.name, self.size, self.location = name, size, location
        self.persistent, self.aliases, self.precision = persistent, aliases, precision

    @property
    def is_shared(self):
        return self.location == "shared"

    @property
    def is_persistent_local(self):
        return self.location == "local" and self.persistent

    @property
    def is_local(self):
        return self.location == "local" and not self.persistent

    def build_allocator(self, shared_slice, persistent_slice, local_size, zero=False):
        """A function (shared, persistent) -> array for the buffer."""
        return _build_allocator(self, shared_slice, persistent_slice, local_size, zero)

    def _values(self):
        return {field: getattr(self, field) for field in self.FIELDS}

    def __eq__(self, other):
        if not isinstance(other, CUDABuffer):
            return NotImplemented
        return self._values() == other._values()

    __hash__ = None

    def __repr__(self):
        return "CUDABuffer(" + ", ".join(f"{k}={v!r}" for k, v in self._values().items()) + ")"


# ---- allocators --------------------------------------------------------------------------------


def _cuda():
    """numba.cuda, or None where it is not installed."""
    try:
        from numba import cuda
    except Exception:  # numba fails in many ways on machines without CUDA
        return None
    return cuda


def _build_allocator(buffer, shared_slice, persistent_slice, local_size, zero):
    use_shared, use_persistent = shared_slice is not None, persistent_slice is not None
    shared_part = shared_slice if use_shared else slice(0, 0)
    persistent_part = persistent_slice if use_persistent else slice(0, 0)
    length = local_size if local_size is not None else 1
    precision, elements = buffer.precision, buffer.size
    cuda = _cuda()
    if cuda is None:
        return _plain_allocator(use_shared, use_persistent, shared_part, persistent_part, length,
                                buffer._dtype, elements if zero else 0)

    @cuda.jit(device=True, inline=True)
    def allocate_buffer(shared, persistent):
        if use_shared:
            array = shared[shared_part]
        elif use_persistent:
            array = persistent[persistent_part]
        else:
            array = cuda.local.array(length, precision)
        if zero:
            for i in range(elements):
                array[i] = precision(0)
        return array

    return _named(allocate_buffer, "allocate_buffer")


def _named(function, name):
    if getattr(function, "__name__", None) != name:
        try:
            function.__name__ = name
        except AttributeError:
            pass
    return function


def _local_array(length, dtype):
    try:
        import numpy
    except ImportError:
        from array import array
        letter = {"float32": "f", "float64": "d", "int32": "i", "int64": "q"}.get(dtype, "f")
        return array(letter, [0] * length)
    return numpy.zeros(length, dtype)


def _plain_allocator(use_shared, use_persistent, shared_part, persistent_part, length, dtype,
                     zeroed):
    def allocate_buffer(shared, persistent):
        if use_shared:
            out = shared[shared_part]
        elif use_persistent:
            out = persistent[persistent_part]
        else:
            out = _local_array(length, dtype)
        for i in range(zeroed):
            out[i] = 0
        return out

    return allocate_buffer


# ---- groups ------------------------------------------------------------------------------------


def _places(component):
    """name -> (region, offset, bytes)"""
    return {name: (row["region"], row["offset"], row["length"])
            for name, row in component.layout(bytes=True).items()}


class BufferGroup:
    """The buffers of one component."""

    def __init__(self, entries=None):
        self.entries = {} if entries is None else entries
        self.children = {}
        self.invalidate_layouts()

    def invalidate_layouts(self):
        """Drops the layouts; they are made again when asked for."""
        self._shared_layout = None
        self._persistent_layout = None
        self._local_sizes = None
        self._alias_consumption = {}

    def build_layouts(self):
        """Lays the buffers out, if that is not done."""
        if self._shared_layout is not None:
            return
        for entry in self.entries.values():
            if entry.aliases is not None and entry.aliases not in self.entries:
                raise KeyError(entry.aliases)
        layouts = {"shared": {}, "persistent": {}, "local": {}}
        consumption = {}
        for name, row in self._component().layout().items():
            offset, length = row["offset"], row["length"]
            layouts[row["region"]][name] = (length if row["region"] == "local"
                                            else slice(offset, offset + length))
            if row["consumed"]:
                consumption[name] = row["consumed"]
        self._shared_layout = layouts["shared"]
        self._persistent_layout = layouts["persistent"]
        self._local_sizes = layouts["local"]
        self._alias_consumption = consumption

    def byte_layout(self):
        """name -> (region, offset, bytes), with sizes and alignments of the element types."""
        return _places(self._component())

    def planned_layout(self, lifetimes, automatic=True):
        """byte_layout with lifetimes: name -> (first step, step after the last one) of buffers
        that hold values for a while. The planner lets shared buffers share bytes wherever
        that is safe; with automatic=False aliases do, and two that are alive together and
        share bytes are a spad.FitError."""
        component = self._component(lifetimes)
        component.set_automatic(automatic)
        return _places(component)

    def _component(self, lifetimes={}):
        """The group as a spad.Component. Aliases are set when all names are there: an entry may
        alias a later one."""
        component = _spad.Registry().add("group")
        for name, entry in self.entries.items():
            begin, end = lifetimes.get(name, (0, 0))
            component.register(name, entry.size, entry.location, entry.persistent, None,
                               entry._dtype, begin, end)
        for name, entry in self.entries.items():
            if entry.aliases is not None:
                component.update(name, aliases=entry.aliases)
        return component

    def register(self, name, size, location, persistent=False, aliases=None,
                 precision=_default_precision):
        """Adds a buffer, or replaces the one of that name in its place."""
        if not name:
            raise ValueError("Buffer name cannot be empty.")
        if aliases == name:
            raise ValueError(f"Buffer '{name}' cannot alias itself.")
        if aliases is not None and aliases not in self.entries:
            raise ValueError(f"Alias target '{aliases}' not registered; register it before "
                             f"'{name}'.")
        self.entries[name] = CUDABuffer(name, size, location, persistent, aliases, precision)
        self.invalidate_layouts()

    def update_buffer(self, name, **values):
        """Sets fields of a buffer: (is it there, did anything change)."""
        old = self.entries.get(name)
        if old is None:
            return False, False
        new = CUDABuffer(**{**old._values(), **values})
        if new == old:
            return True, False
        self.entries[name] = new
        self.invalidate_layouts()
        return True, True

    @property
    def shared_layout(self):
        self.build_layouts()
        return self._shared_layout

    @property
    def persistent_layout(self):
        self.build_layouts()
        return self._persistent_layout

    @property
    def local_sizes(self):
        self.build_layouts()
        return self._local_sizes

    def shared_buffer_size(self):
        """Elements of shared memory."""
        return max((part.stop for part in self.shared_layout.values()), default=0)

    def local_buffer_size(self):
        """Elements of plain local memory."""
        return sum(self.local_sizes.values())

    def persistent_local_buffer_size(self):
        """Elements of local memory that is kept between steps."""
        return max((part.stop for part in self.persistent_layout.values()), default=0)

    def relocatable_names(self):
        """The buffers that are not totals of children."""
        totals = {f"{child}_{part}" for child in self.children for part in ("shared", "persistent")}
        return tuple(name for name in self.entries if name not in totals)

    def nonaliased_elements(self, names):
        """Sum of the sizes of those named buffers that alias nothing."""
        found = (self.entries.get(name) for name in names)
        return sum(entry.size for entry in found if entry is not None and entry.aliases is None)

    def get_allocator(self, name, zero=False):
        """A function (shared, persistent) -> array for a buffer."""
        if name not in self.entries:
            raise KeyError(f"Buffer '{name}' not registered for parent.")
        return self.entries[name].build_allocator(
            self.shared_layout.get(name), self.persistent_layout.get(name),
            self.local_sizes.get(name), zero)


# ---- the registry ------------------------------------------------------------------------------


class BufferRegistry:
    """Groups by component; components are held weakly."""

    def __init__(self):
        self._groups = WeakKeyDictionary()

    def register(self, name, parent, size, location, persistent=False, aliases=None,
                 precision=_default_precision):
        """Registers a buffer of a component."""
        group = self._groups.get(parent)
        fresh = BufferGroup() if group is None else group
        fresh.register(name, size, location, persistent, aliases, precision)
        if group is None:
            self._groups[parent] = fresh

    def update_buffer(self, name, parent, **values):
        """Sets fields of a buffer: (is it there, did anything change)."""
        group = self._groups.get(parent)
        return (False, False) if group is None else group.update_buffer(name, **values)

    def clear_layout(self, parent):
        """Drops the layouts of a component."""
        group = self._groups.get(parent)
        if group is not None:
            group.invalidate_layouts()

    def clear_own(self, parent):
        """Drops the group of a component, not those of its children."""
        self._groups.pop(parent, None)

    def clear_parent(self, parent):
        """Drops the group of a component and of all its descendants."""
        waiting = [parent]
        while waiting:
            group = self._groups.pop(waiting.pop(), None)
            if group is not None:
                waiting.extend(group.children.values())

    def reset(self):
        """Drops everything."""
        self._groups.clear()

    def update(self, parent, updates_dict=None, silent=False, **values):
        """Moves buffers: {name}_location = "shared" or "local". Returns the keys that named a
        buffer."""
        settings = {**(updates_dict or {}), **values}
        group = self._groups.get(parent)
        recognised = set()
        if group is None:
            return recognised
        for key, value in settings.items():
            if not key.endswith("_location"):
                continue
            if value not in ("shared", "local"):
                raise ValueError(f"Invalid location '{value}' for '{key}': it must be 'shared' or "
                                 "'local'.")
            if group.update_buffer(key[: -len("_location")], location=value)[0]:
                recognised.add(key)
        return recognised

    def shared_buffer_size(self, parent):
        """Elements of shared memory of a component and of the children it has registered."""
        group = self._groups.get(parent)
        return 0 if group is None else group.shared_buffer_size()

    def local_buffer_size(self, parent):
        """Elements of plain local memory."""
        group = self._groups.get(parent)
        return 0 if group is None else group.local_buffer_size()

    def persistent_local_buffer_size(self, parent):
        """Elements of local memory that is kept between steps."""
        group = self._groups.get(parent)
        return 0 if group is None else group.persistent_local_buffer_size()

    def relocatable_buffer_names(self, parent):
        """The buffers that are not totals of children."""
        group = self._groups.get(parent)
        return () if group is None else group.relocatable_names()

    def nonaliased_elements(self, parent, names):
        """Sum of the sizes of those named buffers that alias nothing."""
        group = self._groups.get(parent)
        return 0 if group is None else group.nonaliased_elements(names)

    def declared_local_elements(self, parent):
        """Plain local of a component and its descendants, and its own persistent total."""
        group = self._groups.get(parent)
        if group is None:
            return 0
        total = group.persistent_local_buffer_size()
        waiting = [(group, (id(group),))]
        while waiting:
            current, path = waiting.pop()
            total += current.local_buffer_size()
            for child in current.children.values():
                below = self._groups.get(child)
                if below is None:
                    continue
                if id(below) in path:
                    raise RecursionError("a component is its own descendant")
                waiting.append((below, (*path, id(below))))
        return total

    def get_allocator(self, name, parent, zero=False):
        """A function (shared, persistent) -> array for a buffer."""
        group = self._groups.get(parent)
        if group is None:
            raise KeyError(f"Parent {parent} has no registered buffers.")
        return group.get_allocator(name, zero)

    def register_child(self, parent, child, name=None):
        """Registers the totals that the child has now as two buffers of the parent."""
        base = f"child_{id(child)}" if name is None else name
        names = f"{base}_shared", f"{base}_persistent"
        precision = parent.precision
        self.register(names[0], parent, self.shared_buffer_size(child), "shared",
                      precision=precision)
        self.register(names[1], parent, self.persistent_local_buffer_size(child), "local",
                      persistent=True, precision=precision)
        self._groups[parent].children[base] = child
        return names

    def get_child_allocators(self, parent, child, name=None):
        """register_child, and the allocators of the two buffers."""
        shared, persistent = self.register_child(parent, child, name)
        return self.get_allocator(shared, parent), self.get_allocator(persistent, parent)

    def get_toplevel_allocators(self, kernel):
        """The memories that a kernel starts with: (alloc_shared, alloc_persistent)."""
        length = max(1, self.persistent_local_buffer_size(kernel))
        precision = getattr(kernel, "precision", _default_precision)
        cuda = _cuda()
        if cuda is None:
            def alloc_shared():
                return _local_array(0, "float32")

            def alloc_persistent():
                return _local_array(length, _precision_name(precision))

            return alloc_shared, alloc_persistent

        from numba import float32

        @cuda.jit(device=True, inline=True)
        def alloc_shared():
            return cuda.shared.array(0, dtype=float32)

        @cuda.jit(device=True, inline=True)
        def alloc_persistent():
            return cuda.local.array(length, dtype=precision)

        return _named(alloc_shared, "alloc_shared"), _named(alloc_persistent, "alloc_persistent")


buffer_registry = BufferRegistry()


# ---- budgets and block sizes ---------------------------------------------------------------------


def shared_per_run(elements, precision=_default_precision):
    """Shared memory of one run: elements, pad, bytes, stride_words, short_bytes."""
    return _spad.run_shared(elements, _precision_name(precision))


def limit_blocksize(blocksize, dynamic_sharedmem, bytes_per_run, runs, limit=49152):
    """(threads, dynamic bytes) of a block that fits, halved as CuBIE does; warns where it does.
    ValueError: a single run does not fit."""
    try:
        threads, shared, told = _spad.launch_limit(blocksize, dynamic_sharedmem, bytes_per_run,
                                                   runs, limit)
    except _spad.FitError as error:
        raise ValueError(str(error)) from error
    if told & 2:
        warnings.warn(f"shared memory allows {threads} threads per block, less than a warp",
                      stacklevel=2)
    elif told & 1:
        warnings.warn(f"a block takes {shared} B of shared memory: fewer blocks run side by side",
                      stacklevel=2)
    return threads, shared


def launch_size(elements, precision=_default_precision, blocksize=256, runs=65536, limit=49152):
    """(threads, dynamic bytes) from the elements per run."""
    try:
        return _spad.launch_fit(elements, _precision_name(precision), blocksize, runs, limit)[:2]
    except _spad.FitError as error:
        raise ValueError(str(error)) from error


def chunk_runs(runs, chunkable, unchunkable, available, free_bytes=0):
    """(runs per chunk, chunks) so that the arrays of a batch fit in memory."""
    try:
        return _spad.chunks(runs, chunkable, unchunkable, available, free_bytes)[:2]
    except _spad.FitError as error:
        raise ValueError(str(error)) from error
