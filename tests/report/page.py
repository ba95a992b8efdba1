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
    data = json.loads(element_bytes(text, "data"))
    store = element_bytes(text, "columns")
    for report in data["reports"]:
        report["bars"] = table(report["bars"], store)
        for space in report["spaces"]:
            for name in ("peakBoxes", "live", "boxes"):
                space[name] = table(space[name], store)
    for number, report in enumerate(data["reports"]):
        if report.get("far"):
            assert "source" not in report
            report["source"] = element_bytes(text, f"source{number}").decode()
    return data


def element_bytes(text, name):
    """The content of an element, which is packed if it is long."""
    size, body = re.search(rf'<script type="application/json" id="{name}"(?: data-size="(\d+)")?>(.*?)</script>', text,
                           re.S).groups()
    assert "<" not in body
    if size is None:
        return body.encode()
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    plain = unpacker.decompress(base64.b64decode(body, validate=True))
    assert unpacker.eof and unpacker.unused_data == b"" and len(plain) == int(size)
    return plain


def column(value, count, store):
    """Numbers of seven bits a byte, the lowest first; the lowest bit of all is the sign."""
    if isinstance(value, int):
        return [value] * count
    at, divisor, differences = value
    out, before = [], 0
    for _ in range(count):
        bits = shift = 0
        while True:
            byte = store[at]
            at += 1
            bits |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        number = -1 - (bits >> 1) if bits & 1 else bits >> 1
        before = before + number if differences else number
        out.append(before * divisor)
    return out


def table(raw, store):
    return {key: value if key == "count" else column(value, raw["count"], store) for key, value in raw.items()}


def page_boxes(report, space):
    c = space["boxes"]
    return [{"number": c["number"][i], "name": report["strings"][c["name"][i]], "lane": c["lane"][i],
             "lanes": c["lanes"][i], "byte": None if c["open"][i] & 2 else c["byte"][i], "bytes": c["bytes"][i],
             "begin": c["begin"][i], "end": c["begin"][i] + c["length"][i], "padding": c["padding"][i],
             "mode": MODES[c["mode"][i]], "partner": c["partner"][i], "input": c["input"][i], "line": c["line"][i]}
            for i in range(c["count"])]
