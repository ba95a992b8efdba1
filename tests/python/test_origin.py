# SPDX-License-Identifier: Apache-2.0
"""An object knows what it was made from: a result of a plan that changed, and objects of different
kernels, are refused with a message that says which they are."""

import pytest

import spad
from spad import _spad

CSV = "id,lower,upper,size\na,0,2,10\nb,1,3,20\n"

ROWS = """kernel rows on trn2
param N = 8
tensor x : sbuf bf16 [N] (128, 64) ring 2
tensor y : hbm bf16 [N] (128, 64) output
for i in 0..N {
    dma load writes x[i]
    dma store reads x[i] writes y[i]
}
"""

ONE = """kernel one on trn2
tensor z : sbuf bf16 (128, 8)
vector fill writes z
"""

# Waits for barriers and runs on agents that `one` does not have.
AGENTS = """kernel agents on sm_90
tensor s : shared f32 (1, 64)
mbarrier full count 1
agent producer {
    simt fill writes s
    arrive full
}
agent consumer {
    wait full parity 0
    simt use reads s
}
"""


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
    "picture": lambda r: r._repr_html_(),
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
    "slice": (lambda p: p.slice(0, 1, 0), "before its buffers, rules or capacity changed"),
    "in_place": (lambda p: p.in_place(0, 1), "before its buffers, rules or capacity changed"),
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
    assert len(result.report()) == 2  # the pins, which clash
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


# ---- objects of different kernels -----------------------------------------------------------


def kernels():
    return {"rows": spad.Kernel.parse(ROWS), "one": spad.Kernel.parse(ONE),
            "params": spad.Kernel.parse(ROWS, defines={"N": 16}),
            "rings": spad.Kernel.parse(ROWS, rings={"x": 3}),
            "target": spad.Kernel.parse(ROWS.replace("trn2", "trn1")),
            "agents": spad.Kernel.parse(AGENTS)}


LABELS = {"rows": "'rows' (N = 8) on trn2", "one": "'one' on trn2",
          "params": "'rows' (N = 16) on trn2", "rings": "'rows' (N = 8) on trn2",
          "target": "'rows' (N = 8) on trn1", "agents": "'agents' on sm_90"}

PAIRS = {
    "layout.report(sim)": ("layout", "simulation", lambda a, b: a.layout().report(sim=b.sim())),
    "layout.report(check)": ("layout", "check", lambda a, b: a.layout().report(check=b.check())),
    "sim.report(layout)": ("layout", "simulation", lambda a, b: b.sim().report(a.layout())),
    "add_findings": ("report", "check", lambda a, b: drawn(a).add_findings(b.check()._c)),
    "add_layout": ("report", "layout", lambda a, b: drawn(a).add_layout(b.layout())),
    "add_buffers": ("report", "layout", lambda a, b: drawn(a).add_buffers(b.layout())),
    "check(layout)": ("kernel", "layout", lambda a, b: a.check(b.layout())),
    "sim(layout)": ("kernel", "layout", lambda a, b: a.sim(b.layout())),
    "walk(layout)": ("kernel", "layout", lambda a, b: list(a.walk(layout=b.layout()))),
}


def of(word, label, before=None):
    if label == before:
        return f"the {word} is of another kernel of that name and target"
    return f"the {word} is {'' if word == 'kernel' else 'of kernel '}{label}"


def drawn(kernel):
    report = spad.Report(kernel.target)
    report.add_layout(kernel.layout())
    return report


@pytest.mark.parametrize("first, second", [
    ("rows", "one"), ("one", "rows"), ("rows", "params"), ("params", "rows"), ("rows", "rings"),
    ("rows", "target"), ("one", "agents"), ("agents", "one")])
@pytest.mark.parametrize("pair", PAIRS)
def test_objects_of_different_kernels_are_refused(pair, first, second):
    made = kernels()
    one, other, call = PAIRS[pair]
    with pytest.raises(spad.ArgumentError) as caught:
        call(made[first], made[second])
    assert caught.value.code == "SPAD-ARGUMENT"
    assert str(caught.value) == (
        f"{of(one, LABELS[first])}, but {of(other, LABELS[second], LABELS[first])}: "
        "make both from one kernel")


def test_the_message_about_two_kernels():
    made = kernels()
    with pytest.raises(spad.ArgumentError, match="^" + (
            r"the layout is of kernel 'one' on trn2, but the simulation is of kernel "
            r"'rows' \(N = 8\) on trn2: make both from one kernel") + "$") as caught:
        made["one"].layout().report(sim=made["rows"].sim())
    assert caught.value.subject == "one" and caught.value.other == "rows"
    # equal in all that the message shows
    with pytest.raises(spad.ArgumentError, match="another kernel of that name and target"):
        made["rows"].layout().report(sim=made["rings"].sim())


@pytest.mark.parametrize("name", ["rows", "one", "rings", "target", "agents"])
@pytest.mark.parametrize("pair", PAIRS)
def test_objects_of_equal_kernels_belong_together(pair, name):
    PAIRS[pair][2](kernels()[name], kernels()[name])


def test_a_kernel_that_stands_on_other_lines_is_another_one():
    moved = spad.Kernel.parse("# a comment\n" + ROWS)
    with pytest.raises(spad.ArgumentError, match="make both from one kernel"):
        spad.Kernel.parse(ROWS).layout().report(check=moved.check())


def test_what_the_tuner_chose():
    kernel = spad.Kernel.parse(ROWS)
    tuned = kernel.tune()
    made = _spad.layout(tuned.chosen)
    made.report(check=spad.check(tuned.chosen), sim=_spad.sim(tuned.chosen))
    if tuned.depths["x"] != 2:
        with pytest.raises(spad.ArgumentError, match="make both from one kernel"):
            made.report(sim=kernel.sim())


def test_the_faults_of_a_text_belong_to_no_kernel():
    faults = spad.check_text("kernel k on trn2\ntensor x : sbuff bf16 (128, 4)\n")
    spad.Report("trn2").add_findings(faults._c)
    with pytest.raises(spad.ArgumentError, match="the check belongs to a text that cannot be read"):
        drawn(kernels()["one"]).add_findings(faults._c)


def test_a_refused_object_leaves_the_report_as_it_was():
    made = kernels()
    report = drawn(made["one"])
    before = report.write("json")
    for refused in (lambda: report.add_layout(made["rows"].layout()),
                    lambda: report.add_buffers(made["rows"].layout()),
                    lambda: report.add_layout(made["one"].layout(), made["rows"].sim()),
                    lambda: report.add_findings(made["rows"].check()._c)):
        with pytest.raises(spad.ArgumentError):
            refused()
        assert report.write("json") == before
