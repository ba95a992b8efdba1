#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""first_paint.py PAGE.html: how long headless Chromium takes to open a report: until its scripts
have drawn everything, until the first paint, and for one more redraw, as zooming needs it."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "report"))
import browser  # noqa: E402

if browser.find() is None:
    sys.exit("no Chromium here")
window = browser.Browser()
try:
    best = None
    for _ in range(3):
        window.open(sys.argv[1])
        window.settle()
        paint = window.run(
            "new Promise(done => new PerformanceObserver(list => { const [entry] = list.getEntriesByName('first-contentful-paint');"
            "if (entry) done(entry.startTime); }).observe({type: 'paint', buffered: true}))")
        drawn = window.run("spad.drawn")
        redraw = window.run(
            "new Promise(done => { const start = performance.now(); document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'w', bubbles: true}));"
            "requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0)); })")
        if best is None or paint < best[0]:
            best = (paint, drawn, redraw)
    print("first paint %.0f ms, everything drawn %.0f ms, redraw %.0f ms, %.2f MB" %
          (*best, os.path.getsize(sys.argv[1]) / 1e6))
finally:
    window.close()
