# SPDX-License-Identifier: Apache-2.0
"""What notebooks show: every picture is well-formed, and text of the user stays text."""

import threading
import xml.etree.ElementTree as xml

import pytest

import spad
from spad import nki

NASTY = "<script>&\"'"
ROWS = """\
kernel rows on trn2
param N = 8
tensor x   : sbuf bf16 [N] (128, 512) ring 2
tensor in  : hbm bf16 [N] (128, 512) input
tensor out : hbm bf16 [N] (128, 512) output
for i in 0..N {
    dma    load  reads in[i]  writes x[i]
    dma    store reads x[i]   writes out[i]
}
"""


def result():
    plan = spad.Plan(capacity=4096)
    plan.add(0, 3, 1024, name=NASTY)
    plan.add_many([2, 4], [5, 6], [2048, 512])
    return plan.solve()


def too_large():
    plan = spad.Plan(capacity=100)
    plan.add_many([0, 0], [2, 2], [60, 60])
    return plan.solve()


def stack():
    made = spad.Stack("trn2", trace=True)
    with made.scope(2, NASTY):
        made.alloc_stack((128, 512), "bf16", name=NASTY)
    return made


def block():
    made = spad.Block("sm_90")
    made.alloc("shared.dyn", (64,), "float32", name=NASTY)
    made.plan()
    return made


def direct():
    with nki.kernel() as made:
        nki.ndarray((4, nki.par_dim(128), 512), nki.bfloat16, name=NASTY,
                    buffer=nki.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2,)))
    return made


def report():
    made = spad.Report("trn2", NASTY)
    made.add_box(NASTY, 0, 4, 0, 1024, space="sbuf")
    made.add_bar(NASTY, NASTY, 0, 3, wait=NASTY)
    made.add_note(NASTY)
    return made


def log():
    return spad.Log.parse("Thread,Time,Action,Pointer,Size,Stream\n0,0,allocate,0x10,64,0x0\n")


def kernel():
    return spad.Kernel.parse(ROWS)


@pytest.mark.parametrize("make", [
    result, too_large, stack, block, direct, report, log, kernel,
    lambda: stack().trace, lambda: kernel().trace(), lambda: kernel().layout(),
    lambda: kernel().sim(), lambda: kernel().report(),
], ids=["plan", "no plan", "stack", "block", "direct", "report", "log", "kernel", "trace",
        "kernel trace", "layout", "sim", "kernel report"])
def test_svg(make):
    thing = make()
    picture = xml.fromstring(thing._repr_html_())
    assert picture.tag.endswith("svg") and len(list(picture.iter())) > 10
    assert not [e for e in picture.iter() if e.tag.endswith("script")]
    assert " object at 0x" not in repr(thing)


def test_many_boxes_are_a_light_picture():
    """However many there are: below 100 kB, and titles for the pointer."""
    many = spad.Report("sm_90", "many")
    for k in range(100000):
        many.add_box(f"layers.{k % 64}.x{k}", k // 100, k // 100 + 3, 64 * (k * 37 % 3000), 64, space="shared")
    text = many._repr_html_()
    picture = xml.fromstring(text)
    titles = [e.text for e in picture.iter() if e.tag.endswith("title")]
    assert len(text) < 100000 and len(titles) > 100
    assert all("small boxes" in t or " B at " in t for t in titles), titles[:3]
    assert "100,000 boxes" in text and text == many.light()
    few = report()._repr_html_()
    assert "small boxes" not in few and len(few) < 100000


def test_what_is_in_place_is_no_conflict():
    plan = spad.Plan()
    plan.add_many([0, 2, 4], [3, 5, 8], [100, 100, 60], names=["a", "b", "c"])
    plan.in_place(1, 0)
    plan.in_place(2, 1)
    result = plan.solve()
    assert (result.verdict, result.height) == ("optimal", 100)
    assert result.report().stats("memory")["conflicts"] == 0
    plan.add(0, 8, 40, name="d")
    assert plan.solve().report().stats("memory")["conflicts"] == 0


@pytest.mark.parametrize("made", [
    lambda: spad.Stack("trn2", trace=True), lambda: nki.SbufManager(0, 212984)])
def test_a_refused_tensor_is_in_the_report(made):
    manager = made()
    before = manager.report()
    with pytest.raises(Exception):
        manager.alloc_heap((128, 200000), "bfloat16", name="refused_one")
    report = manager.report()
    assert len(report) == len(before) + 1 and report.stats("sbuf")["peak_bytes"] == 400000
    assert "SPAD-DOES-NOT-FIT" in report.text() and "refused_one" in report.text()
    with manager.attempt() as outcome:  # what was tried and undone is not part of the result
        manager.alloc_heap((128, 200000), "bfloat16", name="refused_one")
    assert not outcome
    manager.alloc_heap((128, 2), "bfloat16", name="small")
    assert "refused_one" not in manager.report().text()


def test_a_notebook_shows_it_with_hover(root, tmp_path, monkeypatch):
    """In a browser: every point of a map that has boxes is in something with a title, shades are seen, and
    the style is that of the picture alone."""
    monkeypatch.syspath_prepend(str(root / "tests" / "report"))
    import browser
    if browser.find() is None:
        pytest.skip("no Chromium here")
    many = spad.Report("sm_90", "many")
    for k in range(20000):
        many.add_box(f"x{k}", k // 20, k // 20 + 9, 64 * (k * 37 % 3000), 64 * (1 + k % 3), space="shared")
    page = tmp_path / "cell.html"
    page.write_text("<!DOCTYPE html><body style='margin:0'><div>%s</div><svg width='90' height='30'><text id='other' "
                    "class='t' y='20' style=''>x</text></svg>" % many._repr_html_(), encoding="utf-8")
    window = browser.Browser()
    try:
        for width in (1000, 390):
            window.open(str(page), width, 900)
            window.settle()
            assert window.faults() == []
            frame = window.run("(r => [r.left, r.top, r.width, r.height])(document.querySelector('.spad-light rect.f').getBoundingClientRect())")
            titles = window.run("Array.from({length: 40}, (_, k) => document.elementFromPoint(%f + Math.min(%f, innerWidth - %f) * (k + 0.5) / 41, %f))"
                                ".map(n => (n.querySelector('title') || {}).textContent)" % (frame[0], frame[2], frame[0], frame[1] + frame[3] / 2))
            assert all(title and (" small boxes" in title or " B at " in title) for title in titles), titles
            rows = window.picture(frame[0] + 5, frame[1] + 5, 200, 200)
            assert len({colour for row in rows for colour in row}) >= 4
            assert window.run("getComputedStyle(document.getElementById('other')).fontWeight") == "400"
    finally:
        window.close()


def test_html():
    wrong = spad.check(ROWS.replace("reads x[i]", "reads x[7 - i]"))
    finding = wrong.findings[0]
    finding.message += NASTY
    for thing in (wrong, finding, kernel().check(), kernel().tune()):
        page = xml.fromstring(f"<div>{thing._repr_html_().replace('<br>', '<br/>')}</div>")
        assert not list(page.iter("script")) and len("".join(page.itertext())) > 20
    assert NASTY in "".join(xml.fromstring(
        finding._repr_html_().replace("<br>", "<br/>")).itertext())


def test_what_does_not_fit_is_drawn_above_the_limit():
    stats = too_large().report().stats("memory")
    assert stats["usable"] == 100 and stats["top"] == 120


def test_nothing_to_show_is_no_picture():
    assert spad.Stack("trn2")._repr_html_() is None and spad.Block("sm_90")._repr_html_() is None
    assert spad.Kernel("trn2")._repr_html_() is None


def test_writing_a_picture_lets_others_run():
    big = spad.Report("trn2")
    for i in range(20000):
        big.add_box(f"b{i}", i, i + 40, (i * 977) % 200000, 64)
    ticks, refused, done = [], [], threading.Event()
    thread = threading.Thread(target=lambda: (big.html(), done.set()))
    thread.start()
    while not done.wait(0.001):
        ticks.append(1)
        try:
            big.add_box("late", 0, 1, 0, 1)
        except RuntimeError:
            refused.append(1)
    thread.join()
    assert len(ticks) > 3 and refused
