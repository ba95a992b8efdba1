# SPDX-License-Identifier: Apache-2.0
"""Slices of buffers, and outputs in the places of their inputs."""
import pytest

import spad


def test_a_concatenation_is_made_of_slices():
    plan = spad.Plan()
    x = plan.add(0, 3, 10)
    y = plan.add(1, 3, 6)
    both = plan.add(2, 5, 16)
    assert plan.solve().height == 32
    plan.slice(x, both, 0)
    plan.slice(y, both, 10)
    result = plan.solve()
    assert (result.verdict, result.height) == ("optimal", 16)
    assert plan.check(result) == 16


def test_a_chain_in_place_takes_the_bytes_of_one():
    plan = spad.Plan()
    numbers = [plan.add(i, i + 2, 100) for i in range(50)]
    for output, given in zip(numbers[1:], numbers):
        plan.in_place(output, given)
    result = plan.solve()
    assert (result.verdict, result.height) == ("optimal", 100)


def test_a_slice_that_is_not_inside_is_refused():
    plan = spad.Plan()
    plan.add(0, 1, 4)
    plan.add(0, 1, 4)
    with pytest.raises(spad.Error, match="is not inside"):
        plan.slice(0, 1, 2)
    with pytest.raises(spad.Error, match="not a pair"):
        plan.in_place(0, 7)
