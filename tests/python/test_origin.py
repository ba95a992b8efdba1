# SPDX-License-Identifier: Apache-2.0
"""An object knows what it was made from: a result of a plan that changed is refused."""

import pytest

import spad

CSV = "id,lower,upper,size\na,0,2,10\nb,1,3,20\n"


# ---- results of a plan ------------------------------------------------------------------


def solved(capacity=None):
    plan = spad.Plan(capacity=capacity)
    plan.source = CSV
    plan.read_csv(CSV)
    return plan, plan.solve()


USES = {
    "emit": lambda r: spad.emit(r, "c"),
    "csv": lambda r: r.csv(CSV),
    "report": lambda r: r.report(),
    "add_plan": lambda r: spad.Report("trn2").add_plan(r, "sbuf"),
    "picture": lambda r: r._repr_svg_(),
    "text": lambda r: r.text(),
    "json": lambda r: r.json(),
    "check": lambda r: r.plan.check(r),
}

CHANGES = {
    "add": (lambda p: p.add(0, 1, 4), "(buffers: 2 then, 3 now)"),
    "add_many": (lambda p: p.add_many([0, 1], [2, 3], [4, 4]), "(buffers: 2 then, 4 now)"),
    "read_csv": (lambda p: p.read_csv("id,lower,upper,size\nc,0,1,1\n"),
                 "(buffers: 2 then, 3 now)"),
    "alias": (lambda p: p.alias(0, 1), "before its buffers, rules or capacity changed"),
    "apart": (lambda p: p.apart(0, 1), "before its buffers, rules or capacity changed"),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_result_is_refused_after_its_plan_changed(use, change):
    plan, result = solved()
    USES[use](result)
    apply, words = CHANGES[change]
    apply(plan)
    with pytest.raises(spad.StateError) as caught:
        USES[use](result)
    assert caught.value.code == "SPAD-STALE"
    assert words in str(caught.value) and "solve again" in str(caught.value)
    USES[use](plan.solve())


def test_the_message_of_a_stale_result():
    plan, result = solved()
    plan.add(0, 1, 4)
    with pytest.raises(spad.StateError, match="^" + (
            r"this result was made from another plan, or from this one before it changed "
            r"\(buffers: 2 then, 3 now\): solve again") + "$") as caught:
        spad.emit(result, "c")
    assert caught.value.needed == 3 and caught.value.available == 2
    assert list(result.offsets) == [0, 10] or list(result.offsets) == [20, 0]  # its own data stay
    assert "optimal" in repr(result)


def test_a_trace_that_is_added_makes_results_stale():
    stack = spad.Stack("trn2", trace=True)
    stack.open_scope()
    stack.alloc((128, 16), "uint8", name="t")
    plan = spad.Plan("trn2", "sbuf")
    plan.add(0, 1, 4, name="a", lanes=128)
    result = plan.solve()
    plan.add_trace(stack.trace, "sbuf")
    with pytest.raises(spad.StateError, match="buffers: 1 then, 2 now"):
        result.report()


def test_explain_of_a_stale_result():
    plan, result = solved(capacity=20)
    assert "fits if" in result.explain() and "fits if" in result.text()
    plan.add(0, 3, 1)
    for use in (result.explain, result.text, result.json):
        with pytest.raises(spad.StateError, match="solve again"):
            use()


def test_a_stale_result_without_places():
    plan = spad.Plan()
    plan.add(0, 2, 10, offset=0)
    plan.add(0, 2, 10, offset=4)
    result = plan.solve()
    assert result.offsets is None
    assert len(result.report()) == 0
    with pytest.raises(spad.ArgumentError, match="has no places"):
        spad.emit(result, "c")
    plan.add(0, 1, 1)
    for use in (result.report, lambda: spad.emit(result, "c"), lambda: plan.check(result)):
        with pytest.raises(spad.StateError, match="solve again"):
            use()


def test_what_is_refused_changes_nothing():
    plan, result = solved()
    for refused in (lambda: plan.add(3, 3, 1), lambda: plan.alias(0, 0),
                    lambda: plan.read_csv("id,lower,upper,size\nc,0,1,1\nd,0,0,1\n")):
        with pytest.raises(spad.Error):
            refused()
        assert plan.check(result) == result.height
        result.csv(CSV)


def test_results_of_equal_plans_are_interchangeable_and_of_others_not():
    plan, result = solved()
    equal, _ = solved()
    assert equal.check(result) == result.height
    other = spad.Plan()
    other.read_csv(CSV.replace("20", "21"))
    with pytest.raises(spad.StateError, match="another plan"):
        other.check(result)
