# SPDX-License-Identifier: Apache-2.0
"""Drop-in for cubie.buffer_registry.

    from cubie.buffer_registry import buffer_registry       # before
    from spad.cubie import buffer_registry                  # after

Names, arguments, messages and the attributes that CuBIE's own tests look at are those of CuBIE, by
version: of the one that is installed, of the one that is given (BufferRegistry(version="0.3.1")),
otherwise of 0.17. Up to 0.3 a slice counts the elements of a buffer whatever their type; from 0.4 on
it counts elements of the parent's precision, and a buffer of another type is a view. `precision=`
and `dtype=` are both taken. Where numba or CuBIE's compiler is installed, allocators are device
functions; elsewhere they cut their part out of what they are given. Beyond CuBIE: layouts and sizes
in bytes, lifetimes, budgets and block sizes, by the library (docs/registry.md).
"""

from __future__ import annotations

import functools
import operator
import warnings
from weakref import WeakKeyDictionary
from typing import TYPE_CHECKING

from .. import _spad
from . import _host

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

try:
    from numpy import float32 as _default_precision
except ImportError:
    _default_precision = "float32"

_PRECISIONS = ("float16", "float32", "float64", "int32", "int64")
_UNROLL = (True, None)  # CuBIE's default: unroll, no count
NEWEST = "0.17"


@functools.cache
def _installed_version():
    from importlib.metadata import PackageNotFoundError, version
    try:
        return version("cubie")
    except PackageNotFoundError:
        return NEWEST


def _rules_of(version):
    """(major, minor) of the CuBIE whose rules apply."""
    text = _installed_version() if version is None else version
    try:
        major, minor = (int(part) for part in str(text).split(".")[:2])
    except ValueError:
        raise ValueError(f"{text!r} is no version of CuBIE; write it as '0.3.1'") from None
    return major, minor


def _precision_name(precision):
    try:
        name = _spad.dtype_name(precision)
    except (_spad.Error, TypeError):
        name = None
    if name not in _PRECISIONS:
        raise ValueError(f"precision must be one of float16, float32, float64, int32, int64; got "
                         f"{precision!r}")
    return name


def _one_of(precision, dtype):
    """The element type under its name of 0.3.1 or of 0.4; None: neither is given."""
    if precision is not None and dtype is not None:
        raise TypeError("precision and dtype are two names of one thing; give one of them")
    return dtype if precision is None else precision


class CUDABuffer:
    """A buffer as a component declares it. Sizes are in elements of its own type; parent_dtype is
    the type of the memory it is cut from, and protected are the parts of it, [begin, end) in
    elements of that type, that hold persistent storage of a child."""

    FIELDS: tuple[str, ...] = ("name", "size", "location", "persistent", "aliases", "dtype", "parent_dtype",
              "protected")
    __slots__ = (*FIELDS, "_dtype", "_parent", "_total", "_typed")

    def __init__(self, name: str, size: int, location: str, persistent: bool = False, aliases: str | None = None,
                 dtype: Any = None, parent_dtype: Any = None, protected: tuple[tuple[int, int], ...] = (), *,
                 precision: Any = None) -> None:
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
        if not isinstance(protected, tuple):
            raise TypeError(f"protected must be a tuple of (begin, end), not {protected!r}")
        dtype = _one_of(precision, dtype)
        self.dtype: Any = _default_precision if dtype is None else dtype
        self.parent_dtype: Any = _default_precision if parent_dtype is None else parent_dtype
        self._dtype, self._parent = _precision_name(self.dtype), _precision_name(self.parent_dtype)
        self.name, self.size, self.location = name, size, location
        self.persistent, self.aliases, self.protected = persistent, aliases, protected
        self._total = None  # of a child's totals: (bytes, alignment) as the child needs them
        self._typed = True  # from 0.4 on: slices count elements of parent_dtype

    @property
    def precision(self) -> Any:
        """dtype, as it was called up to 0.3."""
        return self.dtype

    @property
    def is_shared(self) -> bool:
        return self.location == "shared"

    @property
    def is_persistent_local(self) -> bool:
        return self.location == "local" and self.persistent

    @property
    def is_local(self) -> bool:
        return self.location == "local" and not self.persistent

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return _spad.dtype_bytes(self._dtype)

    @property
    def parent_itemsize(self) -> int:
        """Bytes of an element of the memory it is cut from."""
        return _spad.dtype_bytes(self._parent)

    @property
    def needs_view(self) -> bool:
        """Is its type another one than that of the memory it is cut from?"""
        return self._dtype != self._parent

    @property
    def parent_elements(self) -> int:
        """Elements of that memory that cover it."""
        return -(-self.size * self.itemsize // self.parent_itemsize)

    def aligned_offset(self, offset: int) -> int:
        """The first place from an offset on, in elements of that memory, where it may begin."""
        ratio = max(1, self.itemsize // self.parent_itemsize)
        return -(-offset // ratio) * ratio

    def build_allocator(self, shared_slice: slice | None, persistent_slice: slice | None, local_size: int | None,
                        zero: bool = False, unroll: tuple[bool, int | None] = _UNROLL,
                        stride: int = 0) -> Callable[..., Any]:
        """A function (shared, persistent) -> array for the buffer. stride: off the GPU, elements
        from the memory of one thread to the memory of the next."""
        return _build_allocator(self, shared_slice, persistent_slice, local_size, zero, unroll,
                                stride)

    def _holds_persistent(self):
        return self.persistent or bool(self.protected)

    def _values(self):
        return {field: getattr(self, field) for field in self.FIELDS}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CUDABuffer):
            return NotImplemented
        return self._values() == other._values()

    __hash__: None = None

    def __repr__(self):
        return "CUDABuffer(" + ", ".join(f"{k}={v!r}" for k, v in self._values().items()) + ")"


# ---- allocators --------------------------------------------------------------------------------


def _device_module():
    """The module that makes device functions, or None where there is no compiler for them."""
    try:
        from . import _device
    except Exception:  # numba fails in many ways on machines without CUDA
        return None
    return _device


def has_compiler() -> bool:
    """Are allocators device functions here? Otherwise they cut their part out of arrays."""
    return _device_module() is not None


def _build_allocator(buffer, shared_slice, persistent_slice, local_size, zero, unroll, stride):
    region, part = "local", slice(0, 0)
    if shared_slice is not None:
        region, part = "shared", shared_slice
    elif persistent_slice is not None:
        region, part = "persistent", persistent_slice
    length = local_size if local_size is not None else 1
    zeroed = buffer.size if zero else 0
    device = _device_module()
    if device is not None:
        return device.build_allocator(region, part, length, buffer._dtype, buffer.needs_view,
                                      zeroed, unroll)
    return _host.build_allocator(region, part, length, buffer, zeroed, stride)


# ---- groups ------------------------------------------------------------------------------------


def _places(component):
    """name -> (region, offset, bytes)"""
    return {name: (row["region"], row["offset"], row["length"])
            for name, row in component.layout(bytes=True).items()}


class _Layout:
    """Slices in elements of the parent, by CuBIE's rules: what aliases nothing in the order of
    registration, then the aliases. An alias goes inside a target in shared memory where it has
    room after earlier ones; it never overlaps persistent storage, of either side or of a child."""

    def __init__(self, entries):
        self.entries = entries
        self.regions = {"shared": {}, "persistent": {}}
        self.ends = {"shared": 0, "persistent": 0}
        self.local, self.consumed = {}, {}
        for entry in entries.values():
            if entry.aliases is None:
                self._append(entry)
        for entry in entries.values():
            if entry.aliases is not None and not self._inside(entry, entries[entry.aliases]):
                self._append(entry)

    def _append(self, entry):
        if entry.is_local:
            self.local[entry.name] = max(entry.size, 1)
            return
        region = "shared" if entry.is_shared else "persistent"
        start = entry.aligned_offset(self.ends[region])
        self.ends[region] = start + entry.parent_elements
        self.regions[region][entry.name] = slice(start, self.ends[region])

    def _inside(self, entry, target):
        window = self.regions["shared"].get(target.name)
        if window is None or entry._holds_persistent() or target.persistent:
            return False
        start = entry.aligned_offset(window.start + self.consumed.get(target.name, 0))
        stop = start + entry.parent_elements
        kept = any(start < window.start + end and window.start + begin < stop and begin < end
                   for begin, end in target.protected)
        if stop > window.stop or kept:
            return False
        self.regions["shared"][entry.name] = slice(start, stop)
        self.consumed[target.name] = stop - window.start
        return True


class BufferGroup:
    """The buffers of one component. parent_dtype: the type of its memory, in elements of which
    slices are counted from CuBIE 0.4 on."""

    def __init__(self, entries: dict[str, CUDABuffer] | None = None, parent_dtype: Any = None, *,
                 version: str | None = None) -> None:
        self.entries: dict[str, CUDABuffer] = {} if entries is None else entries
        self.parent_dtype: Any = _default_precision if parent_dtype is None else parent_dtype
        self.children: dict[str, object] = {}
        self._typed = _rules_of(version) >= (0, 4)
        self.invalidate_layouts()

    def invalidate_layouts(self) -> None:
        """Drops the layouts; they are made again when asked for."""
        self._shared_layout = None
        self._persistent_layout = None
        self._local_sizes = None
        self._alias_consumption = {}

    def set_parent_dtype(self, dtype: Any) -> None:
        """Sets the type of the memory of the component; layouts change with it."""
        if _precision_name(dtype) == _precision_name(self.parent_dtype):
            return
        self.parent_dtype = dtype
        if self._typed:
            for name, entry in self.entries.items():
                self._put(name, {**entry._values(), "parent_dtype": dtype}, entry._total)
        self.invalidate_layouts()

    def _put(self, name, values, total=None):
        """Makes an entry. Before 0.4 every buffer counts as one of its memory's own type."""
        made = CUDABuffer(**values)
        if not self._typed and made.needs_view:
            made = CUDABuffer(**{**values, "parent_dtype": made.dtype})
        made._total, made._typed = total, self._typed
        self.entries[name] = made

    def build_layouts(self) -> None:
        """Lays the buffers out, if that is not done."""
        if self._shared_layout is not None:
            return
        for entry in self.entries.values():
            if entry.aliases is not None and entry.aliases not in self.entries:
                raise KeyError(entry.aliases)
        layout = _Layout(self.entries)
        self._shared_layout = layout.regions["shared"]
        self._persistent_layout = layout.regions["persistent"]
        self._local_sizes = layout.local
        self._alias_consumption = layout.consumed

    def protected_shared_ranges(self) -> tuple[tuple[int, int], ...]:
        """The parts of the shared memory of the component, (begin, end), that hold persistent
        storage, its own or that of children."""
        found = []
        for name, window in self.shared_layout.items():
            entry = self.entries[name]
            if entry.persistent and window.stop > window.start:
                found.append((window.start, window.stop))
            found.extend((window.start + begin, window.start + end)
                         for begin, end in entry.protected)
        return tuple(found)

    def byte_layout(self) -> dict[str, tuple[str, int, int]]:
        """name -> (region, offset, bytes), with sizes and alignments of the element types; a
        child takes the bytes and the alignment that it needs itself."""
        return _places(self._component())

    def planned_layout(self, lifetimes: Mapping[str, tuple[int, int]],
                       automatic: bool = True) -> dict[str, tuple[str, int, int]]:
        """byte_layout with lifetimes: name -> (first step, step after the last one) of buffers
        that hold values for a while. The planner lets shared buffers share bytes wherever
        that is safe; with automatic=False aliases do, and two that are alive together and
        share bytes are a spad.FitError."""
        component = self._component(lifetimes)
        component.set_automatic(automatic)
        return _places(component)

    def _byte_totals(self):
        """(bytes, alignment) of the shared and of the persistent memory."""
        component = self._component()
        return tuple((component.size(region, bytes=True), component.alignment(region, bytes=True))
                     for region in ("shared", "persistent"))

    def _component(self, lifetimes={}):
        """The group as a spad.Component. Aliases are set when all names are there: an entry may
        alias a later one. Totals go in as that many elements of the size of their alignment, and
        what holds persistent storage of a child as persistent."""
        component = _spad.Registry().add("group")
        for name, entry in self.entries.items():
            begin, end = lifetimes.get(name, (0, 0))
            size, dtype = entry.size, entry._dtype
            if entry._total is not None:
                total, align = entry._total
                dtype = {8: "float64", 4: "float32"}.get(align, "float16")
                size = -(-total // _spad.dtype_bytes(dtype))
            component.register(name, size, entry.location, entry._holds_persistent(), None,
                               dtype, begin, end)
        for name, entry in self.entries.items():
            if entry.aliases is not None:
                component.update(name, aliases=entry.aliases)
        return component

    def register(self, name: str, size: int, location: str, persistent: bool = False, aliases: str | None = None,
                 dtype: Any = None, protected: Sequence[tuple[int, int]] = (), *, precision: Any = None) -> None:
        """Adds a buffer, or replaces the one of that name in its place. Without a type it has
        that of the parent."""
        if not name:
            raise ValueError("Buffer name cannot be empty.")
        if aliases == name:
            raise ValueError(f"Buffer '{name}' cannot alias itself.")
        if aliases is not None and aliases not in self.entries:
            raise ValueError(f"Alias target '{aliases}' not registered; register it before "
                             f"'{name}'.")
        dtype = _one_of(precision, dtype)
        if dtype is None:
            dtype = self.parent_dtype if self._typed else _default_precision
        self._put(name, dict(name=name, size=size, location=location, persistent=persistent,
                             aliases=aliases, dtype=dtype, parent_dtype=self.parent_dtype,
                             protected=tuple(protected)))
        self.invalidate_layouts()

    def update_buffer(self, name: str, **values: Any) -> tuple[bool, bool]:
        """Sets fields of a buffer: (is it there, did anything change)."""
        old = self.entries.get(name)
        if old is None:
            return False, False
        if "precision" in values:
            values["dtype"] = _one_of(values.pop("precision"), values.get("dtype"))
        settings = {**old._values(), **values}
        if CUDABuffer(**settings) == old:
            return True, False
        self._put(name, settings, old._total if settings["size"] == old.size else None)
        self.invalidate_layouts()
        return True, True

    @property
    def shared_layout(self) -> dict[str, slice]:
        self.build_layouts()
        return self._shared_layout

    @property
    def persistent_layout(self) -> dict[str, slice]:
        self.build_layouts()
        return self._persistent_layout

    @property
    def local_sizes(self) -> dict[str, int]:
        self.build_layouts()
        return self._local_sizes

    def shared_buffer_size(self) -> int:
        """Elements of shared memory."""
        return max((part.stop for part in self.shared_layout.values()), default=0)

    def local_buffer_size(self) -> int:
        """Elements of plain local memory."""
        return sum(self.local_sizes.values())

    def persistent_local_buffer_size(self) -> int:
        """Elements of local memory that is kept between steps."""
        return max((part.stop for part in self.persistent_layout.values()), default=0)

    def shared_buffer_bytes(self) -> int:
        """Bytes of shared memory: what the allocators cut their slices from."""
        return self.shared_buffer_size() * self._parent_itemsize()

    def local_buffer_bytes(self) -> int:
        """Bytes of plain local memory: each array has its own type."""
        return sum(length * self.entries[name].itemsize
                   for name, length in self.local_sizes.items())

    def persistent_local_buffer_bytes(self) -> int:
        """Bytes of local memory that is kept between steps."""
        return self.persistent_local_buffer_size() * self._parent_itemsize()

    def _parent_itemsize(self):
        return _spad.dtype_bytes(_precision_name(self.parent_dtype))

    def relocatable_names(self) -> tuple[str, ...]:
        """The buffers that are not totals of children."""
        totals = {f"{child}_{part}" for child in self.children for part in ("shared", "persistent")}
        return tuple(name for name in self.entries if name not in totals)

    def nonaliased_elements(self, names: Sequence[str]) -> int:
        """Sum of the sizes of those named buffers that alias nothing."""
        found = (self.entries.get(name) for name in names)
        return sum(entry.parent_elements for entry in found
                   if entry is not None and entry.aliases is None)

    def get_allocator(self, name: str, zero: bool = False,
                      unroll: tuple[bool, int | None] = _UNROLL) -> Callable[..., Any]:
        """A function (shared, persistent) -> array for a buffer. Off the GPU it also takes the
        number of a thread, last or, as the manual has it, after a single base: each thread has
        its own copy of the region, one after the other."""
        if name not in self.entries:
            raise KeyError(f"Buffer '{name}' not registered for parent.")
        total = (self.shared_buffer_size() if name in self.shared_layout
                 else self.persistent_local_buffer_size())
        return self.entries[name].build_allocator(
            self.shared_layout.get(name), self.persistent_layout.get(name),
            self.local_sizes.get(name), zero, unroll, total)


# ---- the registry ------------------------------------------------------------------------------


class BufferRegistry:
    """Groups by component; components are held weakly."""

    def __init__(self, *, version: str | None = None) -> None:
        self._groups = WeakKeyDictionary()
        self._version = version
        if version is not None:
            _rules_of(version)

    def register(self, name: str, parent: object, size: int, location: str, persistent: bool = False,
                 aliases: str | None = None, dtype: Any = None, protected: Sequence[tuple[int, int]] = (), *,
                 precision: Any = None) -> None:
        """Registers a buffer of a component, whose `precision` is the type of its memory."""
        group = self._groups.get(parent)
        fresh = BufferGroup(version=self._version) if group is None else group
        dtype = _one_of(precision, dtype)
        fresh.set_parent_dtype(getattr(parent, "precision", fresh.parent_dtype))
        fresh.register(name, size, location, persistent, aliases, dtype, protected)
        if group is None:
            self._groups[parent] = fresh

    def update_buffer(self, name: str, parent: object, **values: Any) -> tuple[bool, bool]:
        """Sets fields of a buffer: (is it there, did anything change)."""
        group = self._groups.get(parent)
        return (False, False) if group is None else group.update_buffer(name, **values)

    def clear_layout(self, parent: object) -> None:
        """Drops the layouts of a component."""
        group = self._groups.get(parent)
        if group is not None:
            group.invalidate_layouts()

    def clear_own(self, parent: object) -> None:
        """Drops the group of a component, not those of its children."""
        self._groups.pop(parent, None)

    def clear_parent(self, parent: object) -> None:
        """Drops the group of a component and of all its descendants."""
        waiting = [parent]
        while waiting:
            group = self._groups.pop(waiting.pop(), None)
            if group is not None:
                waiting.extend(group.children.values())

    def reset(self) -> None:
        """Drops everything."""
        self._groups.clear()

    def update(self, parent: object, updates_dict: Mapping[str, Any] | None = None, silent: bool = False,
               **values: Any) -> set[str]:
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
            if value is None and _rules_of(self._version) >= (0, 14):
                recognised.add(key)  # the location stays as it was registered
                continue
            if value not in ("shared", "local"):
                raise ValueError(f"Invalid location '{value}' for '{key}': it must be 'shared' or "
                                 "'local'.")
            if group.update_buffer(key[: -len("_location")], location=value)[0]:
                recognised.add(key)
        return recognised

    def shared_buffer_size(self, parent: object) -> int:
        """Elements of shared memory of a component and of the children it has registered."""
        group = self._groups.get(parent)
        return 0 if group is None else group.shared_buffer_size()

    def local_buffer_size(self, parent: object) -> int:
        """Elements of plain local memory."""
        group = self._groups.get(parent)
        return 0 if group is None else group.local_buffer_size()

    def persistent_local_buffer_size(self, parent: object) -> int:
        """Elements of local memory that is kept between steps."""
        group = self._groups.get(parent)
        return 0 if group is None else group.persistent_local_buffer_size()

    def shared_buffer_bytes(self, parent: object) -> int:
        """Bytes of shared memory of a component and of the children it has registered."""
        group = self._groups.get(parent)
        return 0 if group is None else group.shared_buffer_bytes()

    def local_buffer_bytes(self, parent: object) -> int:
        """Bytes of plain local memory."""
        group = self._groups.get(parent)
        return 0 if group is None else group.local_buffer_bytes()

    def persistent_local_buffer_bytes(self, parent: object) -> int:
        """Bytes of local memory that is kept between steps."""
        group = self._groups.get(parent)
        return 0 if group is None else group.persistent_local_buffer_bytes()

    def relocatable_buffer_names(self, parent: object) -> tuple[str, ...]:
        """The buffers that are not totals of children."""
        group = self._groups.get(parent)
        return () if group is None else group.relocatable_names()

    def nonaliased_elements(self, parent: object, names: Sequence[str]) -> int:
        """Sum of the sizes of those named buffers that alias nothing."""
        group = self._groups.get(parent)
        return 0 if group is None else group.nonaliased_elements(names)

    def declared_local_elements(self, parent: object) -> int:
        """Plain local of a component and its descendants, and its own persistent total."""
        group = self._groups.get(parent)
        if group is None:
            return 0
        return group.persistent_local_buffer_size() + sum(
            below.local_buffer_size() for below in self._family(group))

    def declared_elements(self, parent: object) -> int:
        """Elements per thread if every buffer of a component and its descendants were local,
        aliases included."""
        group = self._groups.get(parent)
        if group is None:
            return 0
        return sum(max(below.entries[name].size, 1)
                   for below in self._family(group) for name in below.relocatable_names())

    def _family(self, group):
        """A group and those of its descendants, each as often as it is recorded."""
        waiting = [(group, (id(group),))]
        while waiting:
            current, path = waiting.pop()
            yield current
            for child in current.children.values():
                below = self._groups.get(child)
                if below is None:
                    continue
                if id(below) in path:
                    raise RecursionError("a component is its own descendant")
                waiting.append((below, (*path, id(below))))

    def get_allocator(self, name: str, parent: object, zero: bool = False) -> Callable[..., Any]:
        """A function (shared, persistent) -> array for a buffer."""
        group = self._groups.get(parent)
        if group is None:
            raise KeyError(f"Parent {parent} has no registered buffers.")
        settings = getattr(getattr(parent, "compile_settings", None), "unroll", None)
        return group.get_allocator(name, zero, getattr(settings, "unroll_other_small", _UNROLL))

    def register_child(self, parent: object, child: object, name: str | None = None,
                       aliases: str | None = None) -> tuple[str, str]:
        """Registers the totals that the child has now as two buffers of the parent. aliases: a
        shared buffer of the parent that the child's shared memory may overlap; the parts of it
        that hold persistent storage never do."""
        base = f"child_{id(child)}" if name is None else name
        names = f"{base}_shared", f"{base}_persistent"
        below = self._groups.get(child)
        sizes, totals, protected = (0, 0), (None, None), ()
        precision = getattr(parent, "precision", _default_precision)
        if below is not None:
            sizes = below.shared_buffer_size(), below.persistent_local_buffer_size()
            totals, protected = below._byte_totals(), below.protected_shared_ranges()
            if below._typed:
                precision = below.parent_dtype
        protected = _in_elements_of(parent, precision, protected)
        self.register(names[0], parent, sizes[0], "shared", False, aliases, precision, protected)
        self.register(names[1], parent, sizes[1], "local", True, None, precision)
        group = self._groups[parent]
        for name, total in zip(names, totals):
            group.entries[name]._total = total
        group.children[base] = child
        return names

    def get_child_allocators(self, parent: object, child: object, name: str | None = None,
                             aliases: str | None = None) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """register_child, and the allocators of the two buffers."""
        shared, persistent = self.register_child(parent, child, name, aliases)
        return self.get_allocator(shared, parent), self.get_allocator(persistent, parent)

    def get_toplevel_allocators(self, kernel: object) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The memories that a kernel starts with: (alloc_shared, alloc_persistent). Their sizes
        are what the kernel says (persistent_local_elements, shared_memory_elements); one that
        says nothing gets those of its buffers. Off the GPU alloc_shared takes the number of
        threads."""
        persistent = getattr(kernel, "persistent_local_elements", None)
        if persistent is None:
            persistent = self.persistent_local_buffer_size(kernel)
        length = max(1, persistent)
        precision = _precision_name(getattr(kernel, "precision", _default_precision))
        device = _device_module()
        if device is not None:
            return device.build_toplevel(length, precision)
        shared = getattr(kernel, "shared_memory_elements", None)
        if shared is None:
            shared = self.shared_buffer_size(kernel)

        def alloc_shared(threads=1):
            return _host.local_array(threads * shared, precision)

        def alloc_persistent():
            return _host.local_array(length, precision)

        return alloc_shared, alloc_persistent


def _in_elements_of(parent, precision, ranges):
    """Ranges in elements of one type as ranges in elements of a parent, rounded outwards."""
    item = _spad.dtype_bytes(_precision_name(precision))
    own = _spad.dtype_bytes(_precision_name(getattr(parent, "precision", precision)))
    return tuple((begin * item // own, -(-end * item // own)) for begin, end in ranges)


buffer_registry = BufferRegistry()


# ---- budgets and block sizes ---------------------------------------------------------------------


def shared_per_run(elements: int, precision: Any = _default_precision) -> dict[str, int]:
    """Shared memory of one run: elements, pad, bytes, stride_words, short_bytes."""
    return _spad.run_shared(elements, _precision_name(precision))


def limit_blocksize(blocksize: int, dynamic_sharedmem: int, bytes_per_run: int, runs: int,
                    limit: int = 49152) -> tuple[int, int]:
    """(threads, dynamic bytes) of a block that fits, halved as CuBIE does; warns where it does.
    ValueError: a single run does not fit."""
    try:
        threads, shared, flags = _spad.launch_limit(blocksize, dynamic_sharedmem, bytes_per_run,
                                                    runs, limit)
    except _spad.FitError as error:
        raise ValueError(str(error)) from error
    if flags & 2:
        warnings.warn(f"shared memory allows {threads} threads per block, less than a warp",
                      stacklevel=2)
    elif flags & 1:
        warnings.warn(f"a block takes {shared} B of shared memory: fewer blocks run side by side",
                      stacklevel=2)
    return threads, shared


def launch_size(elements: int, precision: Any = _default_precision, blocksize: int = 256, runs: int = 65536,
                limit: int = 49152) -> tuple[int, int]:
    """(threads, dynamic bytes) from the elements per run."""
    try:
        return _spad.launch_fit(elements, _precision_name(precision), blocksize, runs, limit)[:2]
    except _spad.FitError as error:
        raise ValueError(str(error)) from error


def chunk_runs(runs: int, chunkable: int, unchunkable: int, available: int, free_bytes: int = 0) -> tuple[int, int]:
    """(runs per chunk, chunks) so that the arrays of a batch fit in memory."""
    try:
        return _spad.chunks(runs, chunkable, unchunkable, available, free_bytes)[:2]
    except _spad.FitError as error:
        raise ValueError(str(error)) from error


def fit_blocksize(bytes_per_run: int, budget: int = 49152, blocksize: int = 256, runs: int = 65536) -> tuple[int, int]:
    """(threads, dynamic bytes) of the largest block within a budget of shared memory, in whole
    warps as long as one fits. ValueError: a single run does not fit."""
    try:
        return _spad.launch_fit_budget(blocksize, bytes_per_run, runs, budget)[:2]
    except (_spad.FitError, _spad.ArgumentError) as error:
        raise ValueError(str(error)) from error
