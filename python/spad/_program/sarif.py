# SPDX-License-Identifier: Apache-2.0
"""One SARIF log of several checks: code-review tools take one run of a tool."""

import json
import os
from urllib.parse import quote

_LEVELS = {"error": "error", "warning": "warning", "advice": "note"}


def _own(finding):
    """A finding of a trace, which no library has written: as it writes one."""
    region = {"startLine": finding.line} if finding.line else {}
    place = {"physicalLocation": {"artifactLocation": {"uri": finding.file}, "region": region}}
    return {"ruleId": finding.code, "level": _LEVELS[finding.severity], "message": {"text": finding.message},
            "locations": [place] if finding.file and finding.line else []}


def _relative(value):
    """The log with files below the current folder named from there, as code-review tools want it."""
    if isinstance(value, list):
        return [_relative(item) for item in value]
    if not isinstance(value, dict):
        return value
    folder = quote(os.getcwd()).rstrip("/") + "/"
    return {key: item.removeprefix(folder) if key == "uri" else _relative(item) for key, item in value.items()}


def joined(checks):
    """The text of the log; findings of a trace are in it."""
    logs = [json.loads(check.sarif()) for check in checks]
    run, rules = logs[0]["runs"][0], {}
    results = [result for log in logs for result in log["runs"][0]["results"]]
    for log in logs:
        rules.update({rule["id"]: rule for rule in log["runs"][0]["tool"]["driver"]["rules"]})
    for check in checks:
        for finding in getattr(check, "own", ()):
            rules.setdefault(finding.code, {"id": finding.code})
            results.append(_own(finding))
    order = {code: number for number, code in enumerate(rules)}
    for result in results:
        result["ruleIndex"] = order[result["ruleId"]]
    run["tool"]["driver"]["rules"], run["results"] = list(rules.values()), results
    return json.dumps(_relative(logs[0]), indent=2) + "\n"
