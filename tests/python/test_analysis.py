# SPDX-License-Identifier: Apache-2.0
"""spad.analyse: everything about a kernel, each part once."""

import gc

import pytest

import spad

ROWS = """kernel rows on trn2
param N = 16
tensor in  : hbm  bf16 [N] (128, 512) input
tensor x   : sbuf bf16 [N] (128, {width}) ring 2
tensor out : hbm  bf16 [N] (128, 512) output
for i in 0..N {{
    dma    load  writes x[i]
    scalar exp   updates x[i]
    dma    store reads x[i] writes out[i]
}}
"""
RIGHT = ROWS.format(width=512)
TOO_WIDE = ROWS.format(width=131072)
NO_BANK = "kernel wide on trn2\ntensor p : psum f32 (128, 1024)\ntensor engine writes p\n"


def test_an_analysis_has_all_parts():
    made = spad.analyse(RIGHT)
    assert made and made.is_fine and made.faults == {} and made.changes == []
    assert made.layout.fits
    assert made.check.verdict == "proved for all trip counts"
    assert made.sim.makespan == spad.sim(RIGHT, layout=True).makespan
    assert made.notes == [("verdict", "proved for all N >= 1")]
    assert made.text().startswith("rows on trn2 (N = 16): fits, proved for all trip counts\n")
    assert set(made.data) == {"layout", "check", "engines", "occupancy"}
    assert repr(made) == "<spad.Analysis of rows: fine>"


def test_parts_outlive_the_analysis():
    made = spad.analyse(RIGHT)
    parts = made.layout, made.check, made.sim
    del made
    gc.collect()
    layout, check, sim = parts
    assert layout.fits and check.verdict.startswith("proved") and sim.makespan > 0
    assert layout.report(check, sim).html().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("part", ["layout", "check", "sim"])
def test_a_part_that_is_left_out_is_none(part):
    made = spad.analyse(RIGHT, skip=[part])
    assert getattr(made, part) is None
    assert made.is_fine and made.faults == {}
    assert made.report().svg().startswith("<svg")


def test_what_does_not_fit_says_why_and_what_would():
    made = spad.analyse(TOO_WIDE)
    assert not made
    codes = [code for code, _ in made.notes]
    assert codes == ["does-not-fit", "too-small", "peak", "verdict"]
    assert any(change["kind"] == "spill" for change in made.changes)
    page = made.report().html()
    for _, text in made.notes[:1]:
        assert text in page


def test_the_report_of_a_layout_has_the_same_notes():
    layout = spad.layout(TOO_WIDE)
    notes = layout.report().html()
    assert "live peak of sbuf: 524,288 B" in notes
    assert "is moved to another memory" in notes


def test_a_part_that_fails_leaves_the_others():
    made = spad.analyse(NO_BANK)
    assert made.layout is None and "layout" in made.faults
    assert not made.check and not made
    assert spad.check(NO_BANK, layout=True).counts["errors"] > 0


def test_parts_of_the_caller_are_used():
    kernel = spad.Kernel.parse(RIGHT)
    layout = kernel.layout()
    made = kernel.analyse(layout=layout, check=kernel.check(layout), sim=kernel.sim(layout))
    assert made.layout is layout
    with pytest.raises(spad.ArgumentError, match="make both from one kernel"):
        spad.analyse(TOO_WIDE, layout=layout)


@pytest.mark.parametrize("skip", [["plan"], [1], 3, "check"])
def test_skip_takes_names_of_parts(skip):
    with pytest.raises((spad.ArgumentError, TypeError)):
        spad.analyse(RIGHT, skip=skip)


def test_a_plan_that_does_not_fit_is_explained_in_its_report():
    plan = spad.Plan(capacity=100)
    plan.add_many(lower=[0, 2], upper=[4, 6], size=[60, 50])
    result = plan.solve()
    result.explain()
    notes = result.report().html()
    assert "infeasible: height 110 B" in notes
    assert "why: at time 2 110 B are live" in notes
    assert "smallest capacity known to work: 110 B" in notes


def test_one_number_for_one_fact():
    """Alone or as parts of an analysis: the same findings and the same time. Advice about banks and waits for shared bytes
    depend on places."""
    text = """kernel k on trn2
tensor a   : sbuf bf16 (128, 128) input
tensor b   : sbuf bf16 (128, 128) input
tensor in  : hbm bf16 [2] (128, 512) input
tensor out : hbm bf16 [2] (128, 512) output
tensor x   : sbuf bf16 [2] (128, 512) ring 2
tensor p   : psum f32 (128, 128)
tensor q   : psum f32 (128, 128)
tensor r   : sbuf f32 (128, 128) output
tensor mm reads a, b writes p
tensor mm reads a, b writes q
tensor mm reads a, b updates p
vector v reads p, q writes r
dma load  reads in[0] writes x[0]
dma store reads x[0] writes out[0]
dma load  reads in[1] writes x[1]
dma store reads x[1] writes out[1]
"""
    kernel = spad.Kernel.parse(text)
    whole = spad.analyse(kernel)
    check, sim = spad.check(kernel), spad.sim(kernel)
    assert check.counts["advice"] == whole.check.counts["advice"]
    assert [f.code for f in check.findings] == [f.code for f in whole.check.findings]
    assert (check.verdict, check.reason) == (whole.check.verdict, whole.check.reason)
    assert sim.makespan == whole.sim.makespan
    apart = spad.check(kernel, layout=False), spad.sim(kernel, layout=False)
    assert apart[0].counts["advice"] < check.counts["advice"] and apart[1].makespan < sim.makespan
