# SPDX-License-Identifier: Apache-2.0
"""The order of operations that needs the least memory."""
import pytest

import spad

# two branches from x: a wide one (60) and a narrow one, joined at the end
NODES = [("wide", ["x"], ["w"]), ("thin", ["x"], ["t"]), ("narrow", ["w"], ["n"]), ("join", ["n", "t"], ["y"])]
SIZES = {"x": 10, "w": 60, "t": 20, "n": 5, "y": 5}


def test_an_order_with_a_lower_peak():
    tensors = [(10, None, [0, 1]), (60, 0, [2]), (20, 1, [3]), (5, 2, [3]), (5, 3, [], True)]
    facts = spad.reorder([0] * 4, tensors)
    assert facts["verdict"] == "optimal" and facts["order"] == [0, 2, 1, 3]
    assert (facts["before"], facts["peak"], facts["bound"]) == (90, 75, 75)
    assert facts["nodes"] >= 0 and facts["seconds"] >= 0


def test_plan_puts_nodes_into_a_better_order():
    kept = spad.plan(NODES, SIZES, inputs=["x"], outputs=["y"])
    better = spad.plan(NODES, SIZES, inputs=["x"], outputs=["y"], reorder=True)
    assert kept.reordered is None and kept.result.height == 90
    assert better.reordered["peak"] == 75 == better.result.height
    shuffled = spad.plan(NODES[::-1], SIZES, inputs=["x"], outputs=["y"], reorder=True)
    assert shuffled.reordered["before"] is None and shuffled.result.height == 75


@pytest.mark.parametrize("arguments, words", [
    (([0], [(1, 1, [])]), "there is no operation 1"),
    (([0], [(1, -1, [])]), "there is no operation"),
    (([0], [(1, None, [-1])]), "there is no operation"),
    (([-1], []), "is negative"),
    (([0], [(-1, 0, [])]), "is negative"),
    (([0], [(2 ** 62, 0, []), (2 ** 62, 0, [])]), "64 bits"),
    (([0], [(1, 0, [0])]), "reads a tensor that it writes"),
    (([0, 0], [(1, 0, [1]), (1, 1, [0])]), "circle"),
    (([0, 0], [], [(0, 0)]), "after itself"),
    (([0, 0], [], [(0, 2)]), "there is no operation 2"),
    (([0], [], (), None, -1), "negative"),
])
def test_what_is_refused(arguments, words):
    with pytest.raises(spad.Error, match=words):
        spad.reorder(*arguments)


@pytest.mark.parametrize("arguments", [([0], [1]), ([0], [(1, 0)]), ([0], [(1, 0, 3)]), (["a"], []),
                                       ([0, 0], [], [3]), ([0], [(1, "a", [])]), ([0], [(1, 0, ["a"])]), (1, [])])
def test_what_is_no_graph(arguments):
    with pytest.raises(TypeError):
        spad.reorder(*arguments)


def test_a_size_that_is_missing():
    with pytest.raises(spad.Error, match="no size for 'n'"):
        spad.plan(NODES, {k: v for k, v in SIZES.items() if k != "n"}, inputs=["x"], outputs=["y"], reorder=True)
