# The members that SARIF 2.1.0 asks for; what is printed is the same without Python.
spad check input/overwritten.spad --no-advice --sarif - > "$work/log"
status=$?
if command -v python3 > /dev/null; then
    python3 - "$work/log" << 'END'
import json, sys
log = json.load(open(sys.argv[1]))
assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")
(run,) = log["runs"]
driver = run["tool"]["driver"]
assert driver["name"] == "spad" and driver["version"]
rules = driver["rules"]
assert run["columnKind"] == "unicodeCodePoints" and run["results"]
for result in run["results"]:
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["level"] in ("error", "warning", "note")
    assert result["message"]["text"] and result["occurrenceCount"] >= 1
    for place in result["locations"] + result.get("relatedLocations", []):
        physical = place["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == "input/overwritten.spad"
        region = physical["region"]
        assert region["startLine"] >= 1 and region["endColumn"] > region["startColumn"] >= 1
for rule in rules:
    assert rule["shortDescription"]["text"] and rule["defaultConfiguration"]["level"]
END
fi || echo "not valid"
echo "status $status"
