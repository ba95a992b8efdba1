# SPDX-License-Identifier: Apache-2.0
"""spad.cubie against the rules of CuBIE's buffer registry."""

import ctypes
import gc
import random
from array import array

import pytest

import spad
from spad import cubie


class Component:
    precision = "float32"


def rules(entries):
    """The layout rules as plain Python: (shared, persistent, local) of a list of
    (name, size, location, persistent, aliases)."""
    shared, persistent, local, taken = {}, {}, {}, {}
    sizes = {e[0]: e[1] for e in entries}
    kept = {e[0] for e in entries if e[3]}

    def place(entry):
        name, size, location, keeps, _ = entry
        if location == "shared":
            end = max((s.stop for s in shared.values()), default=0)
            shared[name] = slice(end, end + size)
        elif keeps:
            end = max((s.stop for s in persistent.values()), default=0)
            persistent[name] = slice(end, end + size)
        else:
            local[name] = max(size, 1)

    for entry in entries:
        if entry[4] is None:
            place(entry)
    for entry in entries:
        name, size, _, _, target = entry
        if target is None:
            continue
        used = taken.get(target, 0)
        free = target in shared and not {name, target} & kept
        if free and size <= sizes[target] - used:
            start = shared[target].start + used
            shared[name] = slice(start, start + size)
            taken[target] = used + size
        else:
            place(entry)
    return shared, persistent, local


def test_random_groups_follow_the_rules(sequences):
    for seed in range(sequences):
        rng = random.Random(seed)
        group, entries = cubie.BufferGroup(), {}
        for _ in range(rng.randint(1, 12)):
            name = rng.choice("abcdefgh")
            known = [n for n in entries if n != name]
            aliases = rng.choice([None, *known]) if known else None
            facts = (rng.randint(0, 20), rng.choice(["shared", "local"]), rng.random() < 0.4, aliases)
            group.register(name, *facts)
            entries[name] = (name, *facts)
            if rng.random() < 0.3:
                other = rng.choice(list(entries))
                size = rng.randint(0, 20)
                changed = size != entries[other][1]
                assert group.update_buffer(other, size=size) == (True, changed)
                entries[other] = (other, size, *entries[other][2:])
        expected = rules(list(entries.values()))
        assert (group.shared_layout, group.persistent_layout, group.local_sizes) == expected, seed
        assert group.local_buffer_size() == sum(expected[2].values())


def test_a_group():
    group = cubie.BufferGroup()
    group.register("p", 100, "shared")
    group.register("c", 60, "shared", aliases="p")
    group.register("gc", 30, "local", aliases="c")
    group.register("gc2", 40, "local", aliases="c")
    assert group._shared_layout is None and group._alias_consumption == {}
    assert group.shared_layout == {"p": slice(0, 100), "c": slice(0, 60), "gc": slice(0, 30)}
    assert group.local_sizes == {"gc2": 40} and group.shared_buffer_size() == 100
    kept = group._shared_layout
    group.build_layouts()
    assert group._shared_layout is kept
    assert group.update_buffer("p", size=100) == (True, False) and group._shared_layout is kept
    assert group.update_buffer("p", size=200) == (True, True) and group._shared_layout is None
    assert group.update_buffer("nobody", size=1) == (False, False)
    with pytest.raises(TypeError):
        group.update_buffer("p", colour="red")
    with pytest.raises(ValueError):
        group.update_buffer("p", size=-1)
    assert group.entries["p"].size == 200
    group.update_buffer("c", aliases="missing")
    with pytest.raises(KeyError):
        group.build_layouts()


@pytest.mark.parametrize("name, aliases, message", [
    ("", None, "cannot be empty"), ("x", "x", "cannot alias itself"), ("x", "y", "not registered")])
def test_messages(name, aliases, message):
    with pytest.raises(ValueError, match=message):
        cubie.BufferGroup().register(name, 1, "shared", aliases=aliases)


def test_values_of_a_buffer():
    with pytest.raises(ValueError, match="float16, float32, float64"):
        cubie.CUDABuffer("x", 1, "shared", precision="int8")
    for wrong in ({"size": 1.5}, {"name": 3}, {"aliases": 3}, {"persistent": 1}):
        with pytest.raises(TypeError):
            cubie.CUDABuffer(**{"name": "x", "size": 1, "location": "shared", **wrong})
    for wrong in ({"size": -1}, {"location": "moon"}):
        with pytest.raises(ValueError):
            cubie.CUDABuffer(**{"name": "x", "size": 1, "location": "shared", **wrong})
    one = cubie.CUDABuffer("x", 3, "local", precision="float64")
    assert (one.name, one.size, one.location, one.itemsize) == ("x", 3, "local", 8)
    assert cubie.CUDABuffer("x", True, "shared").size == 1
    both = cubie.CUDABuffer("x", 1, "shared", True)
    assert both.is_shared and not both.is_persistent_local and not both.is_local


def test_names_belong_to_their_parent():
    registry, first, second = cubie.BufferRegistry(), Component(), Component()
    registry.register("x", first, 2, "shared")
    registry.register("x", second, 5, "shared")
    assert [registry.shared_buffer_size(parent) for parent in (first, second)] == [2, 5]


def test_child_allocators_are_of_shared_and_of_persistent_memory(monkeypatch):
    monkeypatch.setattr(cubie, "_device_module", lambda: None)
    registry, parent, child = cubie.BufferRegistry(), Component(), Component()
    registry.register("own", parent, 1, "shared")
    registry.register("state", child, 2, "shared")
    registry.register("kept", child, 3, "local", persistent=True)
    shared, persistent = registry.get_child_allocators(parent, child, "solver")
    memory = (ctypes.c_float * 12)(*range(12))
    assert list(shared(memory, 1)) == [4, 5]  # of the second thread, behind the parent's own
    assert list(persistent(memory, 1)) == [3, 4, 5]


def test_registry():
    registry = cubie.BufferRegistry()
    parent, child = Component(), Component()
    registry.register("state", child, 10, "shared")
    registry.register("kept", child, 4, "local", persistent=True)
    registry.register("plain", child, 3, "local")
    shared, persistent = registry.get_child_allocators(parent, child, "solver")
    assert shared.__name__ == persistent.__name__ == "allocate_buffer"
    entries = registry._groups[parent].entries
    assert (entries["solver_shared"].size, entries["solver_persistent"].size) == (10, 4)
    assert registry.shared_buffer_size(parent) == 10
    assert registry.persistent_local_buffer_size(parent) == 4
    assert registry.declared_local_elements(parent) == 3 + 4
    registry.register("own", parent, 7, "local")
    assert registry.relocatable_buffer_names(parent) == ("own",)
    assert registry.nonaliased_elements(parent, ("own", "nobody")) == 7
    assert registry.update(parent, {"own_location": "shared", "other": 1}) == {"own_location"}
    with pytest.raises(ValueError, match="Invalid location"):
        registry.update(parent, own_location="moon")
    with pytest.raises(KeyError, match="no registered"):
        registry.get_allocator("x", Component())
    with pytest.raises(KeyError, match="not registered"):
        registry.get_allocator("x", parent)
    with pytest.raises(TypeError):
        registry.register("x", 3, 1, "shared")
    registry.clear_own(parent)
    assert parent not in registry._groups and child in registry._groups
    registry.register_child(parent, child)
    registry.register_child(child, parent)
    assert registry.shared_buffer_size(child) == 2 * registry.shared_buffer_size(parent) == 20
    with pytest.raises(RecursionError):
        registry.declared_local_elements(parent)
    registry.clear_parent(parent)
    assert len(registry._groups) == 0
    registry.register("x", Component(), 1, "shared")
    gc.collect()
    assert len(registry._groups) == 0  # components are held weakly


def test_allocators_slice(monkeypatch):
    monkeypatch.setattr(cubie, "_device_module", lambda: None)
    assert not cubie.has_compiler()
    registry = cubie.BufferRegistry(version="0.3.1")
    parent = Component()
    registry.register("a", parent, 2, "shared")
    registry.register("b", parent, 3, "shared")
    registry.register("kept", parent, 2, "local", persistent=True)
    registry.register("plain", parent, 4, "local", precision="float64")
    shared, persistent = array("f", [1, 2, 3, 4, 5]), array("f", [6, 7])
    assert registry.get_allocator("b", parent)(shared, persistent).tolist() == [3, 4, 5]
    assert registry.get_allocator("kept", parent)(shared, persistent).tolist() == [6, 7]
    assert len(registry.get_allocator("plain", parent, zero=True)(shared, persistent)) == 4
    alloc_shared, alloc_persistent = registry.get_toplevel_allocators(parent)
    assert (alloc_shared.__name__, alloc_persistent.__name__) == ("alloc_shared", "alloc_persistent")
    assert len(alloc_shared()) == 5 and len(alloc_shared(3)) == 15 and len(alloc_persistent()) == 2
    b = registry.get_allocator("b", parent)
    two_threads = array("f", range(10))  # thread 1 has the second half
    assert b(two_threads, None, 1).tolist() == [7, 8, 9]
    assert b(two_threads, None, 1, stride=4).tolist() == [6, 7, 8]
    with pytest.raises(IndexError, match=r"\[12, 15\) are outside shared memory of 10"):
        b(two_threads, None, 2)


def test_allocators_check_what_they_are_given(monkeypatch):
    """No address is followed, no copy handed out, no slice cut short, no type mixed up."""
    monkeypatch.setattr(cubie, "_device_module", lambda: None)
    registry, parent = cubie.BufferRegistry(version="0.17"), Component()
    registry.register("a", parent, 2, "shared")
    registry.register("b", parent, 3, "shared")
    registry.register("kept", parent, 4, "local", persistent=True)
    a, b, kept = (registry.get_allocator(name, parent) for name in ("a", "b", "kept"))
    memory = array("f", range(16))
    assert [b(memory, thread).tolist() for thread in (0, 1, 2)] == [[2, 3, 4], [7, 8, 9], [12, 13, 14]]
    assert [kept(memory, thread).tolist()[0] for thread in range(4)] == [0, 4, 8, 12]
    for call in (a, b, kept):
        with pytest.raises(IndexError, match="outside"):
            call(memory, 4)
        with pytest.raises(ValueError, match="at least 0, not -1"):
            call(memory, -1)
        with pytest.raises(TypeError, match="two threads, 1 and 2"):
            call(memory, 1, 2)
        for wrong in (1, 4096, memory.buffer_info()[0], None, [0.0] * 16):
            with pytest.raises(TypeError, match="pass the array that holds it"):
                call(wrong, 1)
        with pytest.raises(TypeError, match="array of float64, and slices of buffer"):
            call(array("d", range(16)), 1)
    with pytest.raises(TypeError, match="'kept' is in persistent memory"):
        kept(memory)  # where is its own memory?


def test_allocators_check_arrays_of_numpy(monkeypatch):
    np = pytest.importorskip("numpy")
    monkeypatch.setattr(cubie, "_device_module", lambda: None)
    registry, parent = cubie.BufferRegistry(version="0.17"), Component()
    registry.register("a", parent, 2, "shared")
    a = registry.get_allocator("a", parent)
    block = np.arange(6, dtype=np.float32)
    assert a(block, np.int64(2)).tolist() == [4, 5] and a(block, None, 1).tolist() == [2, 3]
    a(block, 1)[0] = 9
    assert block[2] == 9
    with pytest.raises(TypeError, match="2 dimensions"):
        a(block.reshape(3, 2), 1)
    with pytest.raises(TypeError, match="array of float64"):
        a(block.astype(np.float64), 1)


def test_bytes_and_blocks():
    group = cubie.BufferGroup()
    group.register("a", 3, "shared", precision="float16")
    group.register("b", 2, "shared", precision="float64")
    assert group.byte_layout() == {"a": ("shared", 0, 6), "b": ("shared", 8, 16)}
    assert cubie.shared_per_run(10, "float32")["bytes"] == 44
    assert cubie.limit_blocksize(256, 256 * 320, 320, 65536) == (64, 20480)
    with pytest.warns(UserWarning):
        assert cubie.limit_blocksize(256, 256 * 1200, 1200, 65536) == (32, 38400)
    with pytest.warns(UserWarning, match="less than a warp"):
        assert cubie.limit_blocksize(256, 256 * 4096, 4096, 65536) == (8, 32768)
    with pytest.raises(ValueError):
        cubie.limit_blocksize(256, 256 * 50000, 50000, 65536)
    assert cubie.launch_size(1, "float32", 32, 32)[1] >= 4
    runs, count = cubie.chunk_runs(100, 1000, 0, 501)
    assert runs * count >= 100


def test_lifetimes():
    group = cubie.BufferGroup()
    group.register("a", 100, "shared")
    group.register("b", 100, "shared")
    group.register("c", 50, "shared", aliases="a")
    lives = {"a": (0, 2), "b": (2, 4), "c": (3, 4)}
    planned = group.planned_layout(lives)
    assert planned["a"][1] == planned["b"][1] == 0 or planned["a"][1] == planned["c"][1] == 0
    assert max(offset + length for _, offset, length in planned.values()) == 600
    assert group.planned_layout(lives, automatic=False)["c"] == ("shared", 0, 200)
    with pytest.raises(spad.FitError) as caught:
        group.planned_layout({**lives, "c": (1, 4)}, automatic=False)
    assert {caught.value.subject, caught.value.other} == {"a", "c"}


def test_parent_elements():
    """Slices from 0.4 on: elements of the parent's precision, wide types aligned, views."""
    wide = cubie.CUDABuffer("w", 3, "shared", dtype="float64", parent_dtype="float32")
    assert (wide.itemsize, wide.parent_itemsize, wide.needs_view) == (8, 4, True)
    assert wide.parent_elements == 6 and [wide.aligned_offset(i) for i in (0, 1, 2)] == [0, 2, 2]
    narrow = cubie.CUDABuffer("n", 3, "shared", dtype="int32", parent_dtype="float64")
    assert narrow.parent_elements == 2 and narrow.aligned_offset(1) == 1
    assert wide.precision == wide.dtype == "float64"
    with pytest.raises(TypeError, match="two names"):
        cubie.CUDABuffer("n", 3, "shared", dtype="int32", precision="float32")

    def mixed(version):
        group = cubie.BufferGroup(version=version)
        group.register("a", 3, "shared", precision="float32")
        group.register("b", 2, "shared", dtype="float64")
        return group.shared_layout

    assert mixed("0.3.1") == {"a": slice(0, 3), "b": slice(3, 5)}
    assert mixed("0.4.0") == mixed("0.17.0") == {"a": slice(0, 3), "b": slice(4, 8)}
    with pytest.raises(ValueError, match="no version"):
        cubie.BufferRegistry(version="new")


def test_a_parent_of_another_precision():
    class Double:
        precision = "float64"

    registry, parent = cubie.BufferRegistry(version="0.17"), Double()
    registry.register("counts", parent, 3, "shared", dtype="int32")
    registry.register("state", parent, 4, "shared")
    entries = registry._groups[parent].entries
    assert entries["state"].dtype == entries["counts"].parent_dtype == "float64"
    assert registry._groups[parent].shared_layout == {"counts": slice(0, 2), "state": slice(2, 6)}
    assert registry.nonaliased_elements(parent, ("counts",)) == 2
    parent.precision = "float32"
    registry.register("more", parent, 1, "shared")
    assert registry._groups[parent].shared_layout["state"] == slice(4, 12)  # still float64


def test_allocators_write_into_an_array_of_python(monkeypatch):
    monkeypatch.setattr(cubie, "_device_module", lambda: None)
    registry, parent = cubie.BufferRegistry(), Component()
    registry.register("a", parent, 3, "shared")
    registry.register("b", parent, 2, "shared")
    block = array("f", [0] * 20)
    registry.get_allocator("b", parent)(block, None, 2)[0] = 1.0
    assert block.index(1.0) == 2 * 5 + 3 and sum(block) == 1.0


@pytest.mark.parametrize("second", [2.0, "2", ctypes.c_void_p(8), object()])
def test_what_is_neither_memory_nor_a_thread_is_refused(monkeypatch, second):
    """It was passed over, and the slice was that of thread 0."""
    monkeypatch.setattr(cubie, "_device_module", lambda: None)
    registry, parent = cubie.BufferRegistry(), Component()
    registry.register("a", parent, 2, "shared")
    registry.register("kept", parent, 2, "local", persistent=True)
    for name in ("a", "kept"):
        with pytest.raises(TypeError):
            registry.get_allocator(name, parent)((ctypes.c_float * 8)(), second)


def test_allocators_are_views_of_their_type(monkeypatch):
    np = pytest.importorskip("numpy")
    monkeypatch.setattr(cubie, "_device_module", lambda: None)
    registry, parent = cubie.BufferRegistry(version="0.17"), Component()
    registry.register("a", parent, 1, "shared")
    registry.register("wide", parent, 2, "shared", dtype=np.float64)
    registry.register("half", parent, 3, "local", dtype=np.float16)
    shared = np.zeros(12, np.float32)
    wide = registry.get_allocator("wide", parent)(shared, None, 1)
    assert wide.dtype == np.float64 and wide.shape == (2,)
    wide[:] = 1.0
    assert shared[:8].sum() == 0 and shared[8:12].any()
    assert registry.get_allocator("half", parent)(shared).dtype == np.float16


def test_toplevel_sizes_are_the_kernels(monkeypatch):
    monkeypatch.setattr(cubie, "_device_module", lambda: None)

    class Kernel:
        precision = "float64"
        persistent_local_elements = 7
        shared_memory_elements = 5

    shared, persistent = cubie.BufferRegistry().get_toplevel_allocators(Kernel())
    assert len(persistent()) == 7 and len(shared(4)) == 20
    assert memoryview(persistent()).format == "d"


def test_a_child_of_another_precision_keeps_its_bytes():
    class Double:
        precision = "float64"

    for version in ("0.3.1", "0.17"):
        registry, parent, child = cubie.BufferRegistry(version=version), Component(), Double()
        registry.register("x", child, 10, "shared", precision="float64")
        registry.register("kept", child, 3, "local", persistent=True, precision="float64")
        registry.register("own", parent, 1, "shared")
        registry.register_child(parent, child, "solver")
        places = registry._groups[parent].byte_layout()
        assert places["solver_shared"] == ("shared", 8, 80), version
        assert places["solver_persistent"] == ("persistent", 0, 24), version
    assert registry._groups[parent].shared_layout["solver_shared"] == slice(2, 22)


def test_sizes_in_bytes():
    class Double:
        precision = "float64"

    registry, parent = cubie.BufferRegistry(), Double()
    registry.register("a", parent, 10, "shared")
    registry.register("b", parent, 3, "local", persistent=True)
    registry.register("c", parent, 5, "local", dtype="int32")
    registry.register("d", parent, 0, "local")
    assert registry.shared_buffer_size(parent) == 10 and registry.shared_buffer_bytes(parent) == 80
    assert registry.persistent_local_buffer_bytes(parent) == 24
    assert registry.local_buffer_size(parent) == 6
    assert registry.local_buffer_bytes(parent) == 5 * 4 + 8
    assert registry.shared_buffer_bytes(Component()) == 0


def test_an_alias_never_overlaps_persistent_storage():
    for version in ("0.3.1", "0.17"):
        group = cubie.BufferGroup(version=version)
        group.register("kept", 10, "shared", persistent=True)
        group.register("over", 5, "shared", aliases="kept")
        group.register("plain", 8, "shared")
        group.register("inside", 4, "shared", persistent=True, aliases="plain")
        assert group.shared_layout == {"kept": slice(0, 10), "plain": slice(10, 18),
                                       "over": slice(18, 23), "inside": slice(23, 27)}, version
        assert group.byte_layout()["over"] == ("shared", 72, 20)
        assert group.protected_shared_ranges() == ((0, 10), (23, 27))


def test_children_may_alias():
    registry = cubie.BufferRegistry(version="0.17")
    parent, first, second, third = (Component() for _ in range(4))
    registry.register("work", first, 20, "shared")
    registry.register("kept", first, 4, "shared", persistent=True)
    registry.register("x", second, 8, "shared")
    registry.register("y", third, 16, "shared")
    registry.register_child(parent, first, "first")
    registry.get_child_allocators(parent, second, "second", aliases="first_shared")
    registry.register_child(parent, third, "third", aliases="first_shared")
    group = registry._groups[parent]
    assert group.entries["first_shared"].protected == ((20, 24),)
    assert group.shared_layout["second_shared"] == slice(0, 8)
    assert group.shared_layout["third_shared"] == slice(24, 40)  # not over the kept 4
    assert registry.declared_elements(parent) == 20 + 4 + 8 + 16


def test_a_location_of_none():
    parent = Component()
    registry = cubie.BufferRegistry(version="0.17")
    registry.register("x", parent, 1, "shared")
    assert registry.update(parent, {"x_location": None}) == {"x_location"}
    assert registry._groups[parent].entries["x"].location == "shared"
    old = cubie.BufferRegistry(version="0.3.1")
    old.register("x", parent, 1, "shared")
    with pytest.raises(ValueError, match="Invalid location"):
        old.update(parent, {"x_location": None})


def test_blocks_fit_a_budget():
    assert cubie.fit_blocksize(320) == (128, 40960)  # 153 would fit, in warps it is 128
    assert cubie.fit_blocksize(320, budget=98304) == (256, 81920)
    assert cubie.fit_blocksize(4096, budget=49152) == (12, 49152)  # less than a warp
    assert cubie.fit_blocksize(320, runs=10) == (128, 3200) and cubie.fit_blocksize(0) == (256, 0)
    with pytest.raises(ValueError, match="50000 bytes of shared memory and a block has 49152"):
        cubie.fit_blocksize(50000)
    with pytest.raises(ValueError, match="at least"):
        cubie.fit_blocksize(4, blocksize=0)


def test_device_functions_see_the_cuda_of_their_module(monkeypatch):
    """numba's simulator exchanges the global `cuda` of a function while a kernel runs; a name of
    a closure would keep the one of the host."""
    class Cuda:
        def jit(self, **options):
            return lambda function: function

    class Local:
        @staticmethod
        def array(length, dtype):
            return [dtype] * length

    import sys
    import types
    host, running = Cuda(), Cuda()
    running.local = running.shared = Local
    numba = types.ModuleType("numba")
    numba.cuda = host
    numpy, support = types.ModuleType("numpy"), types.ModuleType("numba.np.numpy_support")
    for name in ("float32", "float64"):
        setattr(numpy, name, type(name, (float,), {}))
    numpy.dtype = support.from_dtype = lambda name: name
    monkeypatch.setitem(sys.modules, "numba", numba)
    monkeypatch.setitem(sys.modules, "numba.np", types.ModuleType("numba.np"))
    monkeypatch.setitem(sys.modules, "numba.np.numpy_support", support)
    monkeypatch.setitem(sys.modules, "numpy", numpy)
    monkeypatch.delitem(sys.modules, "spad.cubie._device", raising=False)
    monkeypatch.delattr(spad.cubie, "_device", raising=False)
    try:
        registry, parent = cubie.BufferRegistry(), Component()
        registry.register("plain", parent, 4, "local")
        allocate = registry.get_allocator("plain", parent, zero=True)
        tops = registry.get_toplevel_allocators(parent)
        with pytest.raises(AttributeError):
            allocate(None, None)  # the host has no cuda.local
        for function in (allocate, *tops):
            assert "cuda" not in function.__code__.co_freevars
            monkeypatch.setitem(function.__globals__, "cuda", running)
        assert allocate(None, None) == [0.0] * 4 and len(tops[1]()) == 1 and tops[0]() == []
    finally:  # the module that was made with these must not stay; monkeypatch would put it back
        sys.modules.pop("spad.cubie._device", None)
        vars(spad.cubie).pop("_device", None)


def test_the_compiler_of_a_test_is_gone():
    import sys
    if getattr(spad.cubie, "_device", None) or "spad.cubie._device" in sys.modules:
        assert "numba" in sys.modules or "cubie" in sys.modules


def test_numba_allocators():
    pytest.importorskip("numba")
    registry = cubie.BufferRegistry()
    parent = Component()
    registry.register("a", parent, 2, "shared")
    assert callable(registry.get_allocator("a", parent))
    assert [f.__name__ for f in registry.get_toplevel_allocators(parent)] == [
        "alloc_shared", "alloc_persistent"]


KERNEL = """
import numpy as np
from numba import cuda
from spad import cubie

class Component:
    precision = np.float32
    persistent_local_elements = 6

registry, kernel = cubie.BufferRegistry(), Component()
registry.register("a", kernel, 1, "shared")
registry.register("wide", kernel, 2, "shared", dtype=np.float64)
registry.register("kept", kernel, 6, "local", persistent=True)
registry.register("plain", kernel, 3, "local")
top_shared, top_persistent = registry.get_toplevel_allocators(kernel)
wide, kept, plain = (registry.get_allocator(n, kernel, zero=True) for n in ("wide", "kept", "plain"))

@cuda.jit
def run(out):
    shared, persistent = top_shared(), top_persistent()
    w, k, p = wide(shared, persistent), kept(shared, persistent), plain(shared, persistent)
    w[1] = 2.5
    k[5] = 1.5
    p[2] = 1.0
    out[0] = w[0] + w[1] + k[0] + k[5] + p[0] + p[2]

out = np.zeros(1)
run[1, 1, 0, registry.shared_buffer_bytes(kernel)](out)
assert out[0] == 5.0, out
"""


def test_allocators_run_in_the_simulator():
    pytest.importorskip("numba")
    import os
    import subprocess
    import sys
    done = subprocess.run([sys.executable, "-c", KERNEL], capture_output=True, text=True,
                          env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"})
    assert done.returncode == 0, done.stderr
