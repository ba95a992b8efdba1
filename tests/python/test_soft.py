# SPDX-License-Identifier: Apache-2.0
"""Soft constraints: what a plan does if it costs no height."""
import pytest

import spad


def three():
    plan = spad.Plan()
    for name, lower, upper, size in (("a", 0, 2, 8), ("b", 2, 4, 4), ("c", 3, 5, 4)):
        plan.add(lower, upper, size, name=name)
    return plan


def test_buffers_stay_where_they_were():
    plan = three()
    result, facts = plan.solve_soft(previous=[0, 4, 0])
    assert list(result.offsets) == [0, 4, 0] and result.height == 8
    assert (facts["cost"], facts["bound"], facts["moved"]) == (0, 0, 0)
    result, facts = plan.solve_soft(previous=[None, 4, (4, 0)], move_cost=3)
    assert (facts["cost"], facts["bound"], facts["moved"], facts["moved_bytes"]) == (7, 7, 1, 4)
    assert plan.check(result) == 8 and facts["limit"] == 8 and facts["constraints"] == 2


def test_bytes_are_not_used_again_soon():
    plan = three()
    assert plan.solve_soft(reuse_steps=1)[1]["cost"] == 1  # b shares bytes with a
    result, facts = plan.solve_soft(reuse_steps=2, slack=4, reuse_cost=5)
    assert facts["cost"] == 5 and facts["shared"] == 1 and facts["limit"] == 12 and result.height <= 12
    assert plan.solve_soft(reuse_steps=2, slack=8)[1]["cost"] == 0
    plan.avoid(0, 1, 7)
    assert plan.solve_soft()[1]["cost"] == 7


def test_what_does_not_fit():
    plan = spad.Plan(capacity=4)
    plan.add(0, 1, 5)
    result, facts = plan.solve_soft(previous=[0], minimize=False, timeout=1)
    assert not result.fits and facts["cost"] is None


def test_what_is_refused():
    plan = three()
    for wrong in ({"slack": -1}, {"reuse_steps": -1}, {"node_limit": -1}):
        with pytest.raises(spad.Error):
            plan.solve_soft(**wrong)
    with pytest.raises(spad.Error):
        plan.avoid(0, 0)
    with pytest.raises(ValueError):
        plan.solve_soft(previous=[0])
    for wrong in (3, ["a", None, None], [(1,), None, None]):
        with pytest.raises(TypeError):
            plan.solve_soft(previous=wrong)
