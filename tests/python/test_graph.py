# SPDX-License-Identifier: Apache-2.0
"""spad.plan over plain Python: lives from the order of the nodes, in-place candidates, wrong graphs."""

import random

import pytest

import spad

NODES = [("conv", ["x", "w"], ["a"]), ("relu", ["a"], ["b"], ["a"]), ("add", ["b", "x"], ["y"])]
SIZES = {"x": 64, "a": 256, "b": 256, "y": 64}


def test_a_graph():
    arena = spad.plan(NODES, SIZES, inputs=["x"], outputs=["y"], constants=["w"], alignment=64)
    lives = {b.name: (b.first, b.last) for b in arena.buffers}
    assert lives == {"x": (0, 2), "a": (0, 1), "b": (1, 2), "y": (2, 2)}
    assert set(arena.places) == set(SIZES) and arena.proved and arena.pairs == [(2, 1)]
    assert arena.height == 64 + 256 + 64 and arena.places["a"] == arena.places["b"]
    assert "conv" in arena.text() or "relu" in arena.text()


def test_the_same_as_dicts():
    graph = {"nodes": [{"name": n[0], "inputs": n[1], "outputs": n[2]} for n in NODES], "sizes": SIZES,
             "inputs": ["x"], "outputs": ["y"], "constants": ["w"]}
    assert spad.plan(graph).height == 576
    assert spad.plan({}).height == 0 and spad.plan([]).places == {}


def test_values_may_be_any_names():
    arena = spad.plan([("f", [(0, "in")], [7]), ("g", [7], [None])], {(0, "in"): 4, 7: 8, None: 4}, inputs=[(0, "in")])
    assert arena.places.keys() == {"(0, 'in')", "7", "None"}


def test_a_graph_that_does_not_fit():
    arena = spad.plan(NODES, SIZES, ["x"], ["y"], ["w"], capacity=300)
    assert not arena.fits
    with pytest.raises(spad.FitError):
        arena.places


@pytest.mark.parametrize("nodes, words", [
    ([("f", ["b"], ["a"]), ("g", ["a"], ["b"])], "a cycle, or a wrong order"),
    ([("f", ["a"], ["a"])], "a cycle"), ([("f", ["q"], ["a"])], "nothing writes it"),
    ([("f", [], ["a"]), ("g", [], ["a"])], "written by 'f' and by 'g'"), ([("f", [], ["x"])], "is an input"),
    ([("f", ["x"])], "has to be"), (["f"], "has to be"), ([("f", "x", ["a"])], "a list of values"),
    ([("f", 3, ["a"])], "a list of values"), ([("f", [], ["a"], ["x"])], "not an input"),
    ([{"name": "f", "input": []}], "has 'input'"), ([("f", ["x"], ["none"])], "no size for 'none'"),
    ([("f", ["x"], ["minus"])], "size of 'minus'"), ([("f", ["x"], ["huge"])], "2\\^63"),
])
def test_wrong_graphs(nodes, words):
    sizes = {"x": 4, "a": 4, "b": 4, "minus": -1, "huge": 1 << 63}
    with pytest.raises(spad.ArgumentError, match=words):
        spad.plan(nodes, sizes, inputs=["x"])


def test_missing_outputs_and_sizes():
    with pytest.raises(spad.ArgumentError, match="the end reads 'z'"):
        spad.plan(NODES, SIZES, ["x"], ["z"], ["w"])
    with pytest.raises(spad.ArgumentError, match="no size"):
        spad.plan(NODES, None, ["x"], ["y"], ["w"])


def test_random_graphs():
    """Values that live at once share no byte, apart from one that takes its input's."""
    chance = random.Random(5)
    for _ in range(200):
        known, nodes, sizes = ["x"], [], {"x": chance.randrange(1, 50)}
        for step in range(chance.randrange(1, 10)):
            read = chance.sample(known, min(len(known), chance.randrange(1, 3)))
            nodes.append((f"n{step}", read, [f"v{step}"], read if chance.random() < 0.5 else []))
            sizes[f"v{step}"] = chance.randrange(0, 50)
            known.append(f"v{step}")
        arena = spad.plan(nodes, sizes, ["x"], [known[-1]])
        allowed = {frozenset(pair) for pair in arena.pairs}
        offsets = arena.offsets
        for i, a in enumerate(arena.buffers):
            assert offsets[i] + a.size <= arena.height
            for j, b in enumerate(arena.buffers[:i]):
                apart = a.last < b.first or b.last < a.first or not a.size or not b.size
                free = offsets[i] + a.size <= offsets[j] or offsets[j] + b.size <= offsets[i]
                taken = frozenset((i, j)) in allowed and offsets[i] == offsets[j]
                assert apart or free or taken
