# SPDX-License-Identifier: Apache-2.0
"""Plans whose lives are vector clocks."""

import pytest

import spad


def chains():
    plan = spad.Plan()
    plan.add((0, 0), (1, 0), 10, "a1")
    plan.add((1, 0), (2, 0), 8, "a2")
    plan.add((0, 0), (0, 1), 7, "b1")
    plan.add([0, 1], [0, 2], 9, "b2")
    return plan


def test_the_largest_antichain_is_the_height():
    result = chains().solve()
    assert (result.height, result.bound, result.verdict) == (19, 19, "optimal")
    assert result.together == (0, 3)
    assert result.together_bytes == 19


def test_plain_times_have_no_such_set():
    plan = spad.Plan()
    plan.add(0, 2, 4)
    result = plan.solve()
    assert result.together == ()
    assert result.together_bytes == 0


@pytest.mark.parametrize("lower, upper, kind, text", [
    ((0,), (1, 2), spad.ArgumentError, "lower has 1 numbers and upper has 2"),
    ((), (), spad.ArgumentError, "a vector clock has 1 to 256 numbers, not 0"),
    ((0, 1), 3, TypeError, "not iterable"),
    (("x",), (1,), TypeError, ""),
    (0, 1, spad.ArgumentError, "has clocks of 0 numbers and the buffers before it of 2"),
])
def test_bad_clocks_are_refused(lower, upper, kind, text):
    plan = chains()
    with pytest.raises(kind, match=text):
        plan.add(lower, upper, 1)
    assert len(plan) == 4
