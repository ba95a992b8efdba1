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
    picture = xml.fromstring(thing._repr_svg_())
    assert picture.tag.endswith("svg") and len(list(picture.iter())) > 10
    assert not [e for e in picture.iter() if e.tag.endswith("script")]
    assert " object at 0x" not in repr(thing)


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
    assert spad.Stack("trn2")._repr_svg_() is None and spad.Block("sm_90")._repr_svg_() is None
    assert spad.Kernel("trn2")._repr_svg_() is None


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
