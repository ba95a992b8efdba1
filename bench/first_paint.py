#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""first_paint.py PAGE.html, or first_paint.py SPAD COUNT ...: how long headless Chromium takes to open a report, or reports of
COUNT boxes each that are made for it (tests/report/large.py): until the first paint, until everything is drawn, for one more
redraw, as zooming needs it, for the answer to a moving pointer and to a search. The best of three."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "report"))
import browser  # noqa: E402
import large  # noqa: E402

PAINT = ("new Promise(done => new PerformanceObserver(list => { const [entry] = list.getEntriesByName('first-contentful-paint');"
         "if (entry) done(entry.startTime); }).observe({type: 'paint', buffered: true}))")
# Milliseconds from an event until its frame is drawn.
TIMED = ("new Promise(done => { const start = performance.now(); %s;"
         "requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0)); })")
KEY = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'w', bubbles: true}))"
MOVE = ("const canvas = document.querySelector('canvas.map'), r = canvas.getBoundingClientRect();"
        "canvas.dispatchEvent(new PointerEvent('pointermove', {clientX: r.left + r.width / 2, clientY: r.top + r.height / 2, bubbles: true}))")
SEARCH = "const box = document.getElementById('search'); box.value = 'attn.q'; box.dispatchEvent(new Event('input'))"


def measure(window, path):
    rounds = []
    for _ in range(3):
        window.open(path)
        window.settle()
        rounds.append([window.run(PAINT), window.run("spad.drawn"), *(window.run(TIMED % what) for what in (MOVE, SEARCH, KEY))])
    paint, drawn, move, search, redraw = (min(column) for column in zip(*rounds))
    print("first paint %.0f ms, everything drawn %.0f ms, redraw %.0f ms, pointer %.0f ms, search %.0f ms, %.2f MB" %
          (paint, drawn, redraw, move, search, os.path.getsize(path) / 1e6), flush=True)


def main():
    if browser.find() is None:
        sys.exit("no Chromium here")
    window = browser.Browser()
    try:
        if len(sys.argv) == 2:
            return measure(window, sys.argv[1])
        with tempfile.TemporaryDirectory() as folder:
            for count in map(int, sys.argv[2:]):
                table, page = os.path.join(folder, "boxes.csv"), os.path.join(folder, "page.html")
                large.write(table, count)
                subprocess.run([sys.argv[1], "plan", table, "--report", page], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                print("%d boxes: " % count, end="")
                measure(window, page)
    finally:
        window.close()


main()
