# SPDX-License-Identifier: Apache-2.0
"""The data of a page, decoded without its JavaScript."""
import base64
import hashlib
import json
import re
import zlib

MODES = ["auto", "at", "mod", "func", "stack", "heap", "pool", "alias"]


def check_policy(text):
    """The content security policy names the one script and the one style by their digests."""
    policy = dict(part.strip().split(" ", 1) for part in
                  re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].split(";"))
    for kind in ("script", "style"):
        element, = re.findall(f"<{kind}>(.*?)</{kind}>", text, re.S)
        digest = base64.b64encode(hashlib.sha256(element.encode()).digest()).decode()
        assert policy.pop(f"{kind}-src") == f"'sha256-{digest}'", f"the digest of the {kind}"
    assert policy == dict.fromkeys(("default-src", "base-uri", "form-action"), "'none'"), policy


def page_data(path):
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    check_policy(text)
    data = json.loads(element_text(text, "data"))
    for number, report in enumerate(data["reports"]):
        if report.get("far"):
            assert "source" not in report
            report["source"] = element_text(text, f"source{number}")
    return data


def element_text(text, name):
    """The text of an element, which is packed if it is long."""
    size, body = re.search(rf'<script type="application/json" id="{name}"(?: data-size="(\d+)")?>(.*?)</script>', text,
                           re.S).groups()
    assert "<" not in body
    if size is None:
        return body
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    plain = unpacker.decompress(base64.b64decode(body, validate=True))
    assert unpacker.eof and unpacker.unused_data == b"" and len(plain) == int(size)
    return plain.decode()


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
