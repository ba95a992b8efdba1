# SPDX-License-Identifier: Apache-2.0
"""spad.cubie against the rules of CuBIE's buffer registry."""

import gc
import random

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
        if target in shared and size <= sizes[target] - used:
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
    assert cubie.CUDABuffer("x", True, "shared").size == 1
    both = cubie.CUDABuffer("x", 1, "shared", True)
    assert both.is_shared and not both.is_persistent_local and not both.is_local


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
    monkeypatch.setattr(cubie, "_cuda", lambda: None)
    registry = cubie.BufferRegistry()
    parent = Component()
    registry.register("a", parent, 2, "shared")
    registry.register("b", parent, 3, "shared")
    registry.register("kept", parent, 2, "local", persistent=True)
    registry.register("plain", parent, 4, "local", precision="float64")
    shared, persistent = [1, 2, 3, 4, 5], [6, 7]
    assert registry.get_allocator("b", parent)(shared, persistent) == [3, 4, 5]
    assert registry.get_allocator("kept", parent)(shared, persistent) == [6, 7]
    assert len(registry.get_allocator("plain", parent, zero=True)(shared, persistent)) == 4
    alloc_shared, alloc_persistent = registry.get_toplevel_allocators(parent)
    assert (alloc_shared.__name__, alloc_persistent.__name__) == ("alloc_shared", "alloc_persistent")
    assert len(alloc_shared()) == 0 and len(alloc_persistent()) == 2


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


def test_numba_allocators():
    pytest.importorskip("numba")
    registry = cubie.BufferRegistry()
    parent = Component()
    registry.register("a", parent, 2, "shared")
    assert callable(registry.get_allocator("a", parent))
    assert [f.__name__ for f in registry.get_toplevel_allocators(parent)] == [
        "alloc_shared", "alloc_persistent"]
