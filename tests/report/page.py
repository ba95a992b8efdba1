# SPDX-License-Identifier: Apache-2.0
"""The data of a page, decoded without its JavaScript."""
import json

MODES = ["auto", "at", "mod", "func", "stack", "heap", "pool", "alias"]


def page_data(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    start = text.index('id="data">') + len('id="data">')
    data = text[start:text.index("</script>", start)]
    assert "<" not in data
    return json.loads(data)


def column(value, count):
    if isinstance(value, int):
        return [value] * count
    out, at = [], 0
    for step in value:
        difference, times = step if isinstance(step, list) else (step, 1)
        for _ in range(times):
            at += difference
            out.append(at)
    assert len(out) == count
    return out


def page_boxes(report, space):
    raw = space["boxes"]
    c = {key: column(value, raw["count"]) for key, value in raw.items() if key != "count"}
    return [{"number": c["number"][i], "name": report["strings"][c["name"][i]], "lane": c["lane"][i],
             "lanes": c["lanes"][i], "byte": None if c["open"][i] & 2 else c["byte"][i], "bytes": c["bytes"][i],
             "begin": c["begin"][i], "end": c["begin"][i] + c["length"][i], "padding": c["padding"][i],
             "mode": MODES[c["mode"][i]], "partner": c["partner"][i], "line": c["line"][i]}
            for i in range(raw["count"])]
