# SPDX-License-Identifier: Apache-2.0
"""Several memories at once."""
import pytest

import spad

MEMORIES = [("sram", 100, 0), ("dram", None, 1)]


def test_a_buffer_that_waits_is_spilled():
    facts = spad.tiers(MEMORIES, [("x", 60, [0, 9]), ("y", 90, [3, 4])])
    assert (facts["verdict"], facts["cost"], facts["bound"], facts["moved"]) == ("optimal", 120, 120, 120)
    assert [(s["buffer"], s["memory"], s["lower"], s["upper"]) for s in facts["stays"]] == [
        (0, 0, 0, 1), (0, 1, 1, 9), (0, 0, 9, 10), (1, 0, 3, 5)]


def test_a_constant_has_a_home():
    facts = spad.tiers(MEMORIES, [("w", 60, [0, 9], None, 1, False, True, 16), ("y", 90, [3, 4])], timeout=5)
    assert facts["cost"] == 120 and facts["nodes"] > 0 and facts["seconds"] >= 0


def test_what_fits_nowhere():
    facts = spad.tiers(MEMORIES, [("x", 101, [0], 1)])
    assert facts["verdict"] == "infeasible" and facts["cost"] is None and facts["stays"] == []


@pytest.mark.parametrize("memories, buffers, words", [
    ([("a", -1, 0)], [], "negative"),
    (MEMORIES, [("x", -1, [0])], "negative"),
    (MEMORIES, [("x", 1, [])], "without uses"),
    (MEMORIES, [("x", 1, [2, 1])], "not after"),
    (MEMORIES, [("x", 1, [0], 8)], "there are 2"),
    (MEMORIES, [("x", 1, [0], None, 2)], "there are 2"),
    (MEMORIES, [("x", 1, [0], None, None, True)], "needs a home"),
    (MEMORIES, [("x", 2 ** 62, [0])], "64 bits"),
])
def test_what_is_refused(memories, buffers, words):
    with pytest.raises(spad.Error, match=words):
        spad.tiers(memories, buffers)


@pytest.mark.parametrize("memories, buffers, fault", [
    ([1], [], TypeError), (1, [], TypeError), ([("a", "b", 0)], [], TypeError), (MEMORIES, [1], TypeError),
    (MEMORIES, [("x", 1)], TypeError), (MEMORIES, [("x", 1, 2)], TypeError), (MEMORIES, [("x", 1, ["a"])], TypeError),
    (MEMORIES, [("x", 1, [0], -1)], ValueError), (MEMORIES, [("x", 1, [0], None, -2)], ValueError),
])
def test_what_is_no_problem(memories, buffers, fault):
    with pytest.raises(fault):
        spad.tiers(memories, buffers)
