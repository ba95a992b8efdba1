# SPDX-License-Identifier: Apache-2.0
"""Where people work: the GitHub action with its steps run here, the hook of pre-commit, the plugin of pytest, and what commands
about Python programs write for code review."""

import json
import os
import subprocess
import sys

import pytest

import spad

yaml = pytest.importorskip("yaml")
PLUGIN = "from spad.pytest_plugin import *\n"
WRONG = "kernel k on sm_90\ntensor x : shared f32 (64)\nsimt use reads x\n"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "wrong.spad").write_text(WRONG, encoding="utf-8")
    (tmp_path / "right.spad").write_text("kernel right on sm_90\n", encoding="utf-8")
    return tmp_path


def run(words, folder, **more):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, **more}, check=False)


def commands(folder):
    """A folder for PATH with `spad`, and a pip that installs nothing."""
    place = folder / "bin"
    place.mkdir()
    for name, line in (("spad", f'exec "{sys.executable}" -m spad "$@"'), ("python3", 'echo "$@" >>"$PIP"')):
        (place / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        (place / name).chmod(0o755)
    return {"PATH": f"{place}:{os.environ['PATH']}", "PIP": str(folder / "pip"), "RUNNER_TEMP": str(folder),
            "GITHUB_ENV": str(folder / "env"), "GITHUB_STEP_SUMMARY": str(folder / "summary"), "GITHUB_ACTION_PATH": "/the/action"}


@pytest.mark.parametrize("kernels, lines, status, results", (
    ("*.spad", "", "1", 1), ("right.spad", "", "0", 0),
    ("", 'spad check wrong.spad --sarif "$SPAD_SARIF/own.sarif"', "1", 1)))
def test_the_steps_of_the_action(root, project, kernels, lines, status, results):
    action = yaml.safe_load((root / "action.yml").read_text(encoding="utf-8"))
    given = {"KERNELS": kernels, "LINES": lines, "WHEEL": "", **commands(project)}
    for step in action["runs"]["steps"]:
        if "run" in step and step["name"] != "result":
            made = run(["bash", "-e", "-o", "pipefail", "-c", step["run"]], project, **given)
            assert made.returncode == 0, made.stderr
    assert (project / "pip").read_text().split() == ["-m", "pip", "install", "/the/action"]
    assert (project / "env").read_text() == f"SPAD_STATUS={status}\n"
    logs = [json.loads(path.read_text()) for path in (project / "spad").iterdir()]
    assert sum(len(log["runs"][0]["results"]) for log in logs) == results and len(logs) == 1
    final = run(["bash", "-c", action["runs"]["steps"][-1]["run"]], project, SPAD_STATUS=status)
    assert final.returncode == int(status)


def test_the_hook(root, project):
    hook, = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    words = [sys.executable, "-m", *hook["entry"].split()]
    assert run([*words, "wrong.spad"], project).returncode == 1
    assert run([*words, "right.spad"], project).returncode == 0


def test_the_plugin(project):
    (project / "conftest.py").write_text(PLUGIN, encoding="utf-8")
    (project / "test_it.py").write_text(f"WRONG = {WRONG!r}\n\ndef test_wrong(spad):\n    spad.check(WRONG)\n\n"
                                        "def test_right(spad):\n    assert spad.check('kernel right on sm_90\\n')\n\n"
                                        "def test_known(spad):\n    spad.check(WRONG, rules={'SPAD-UNINITIALISED-READ': 'ignore'})\n",
                                        encoding="utf-8")
    made = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"], project)
    assert "1 failed, 2 passed" in made.stdout and "SPAD-UNINITIALISED-READ" in made.stdout


def tilelang(root, folder, *words):
    tree = str(root / "tests/python/golden/tilelang/while_loop_sm_90.json")
    return run([sys.executable, "-m", "spad", "tilelang", "check", tree, *words], folder)


def test_files_of_a_program(root, tmp_path):
    first = tilelang(root, tmp_path, "--sarif", "s.sarif", "--json")
    log = json.loads((tmp_path / "s.sarif").read_text(encoding="utf-8"))
    found, = json.loads(first.stdout)
    marks = [result["partialFingerprints"]["spad/v1"] for result in log["runs"][0]["results"]]
    assert first.returncode == 1 and marks == [finding["fingerprint"] for finding in found["findings"]] and len(set(marks)) == len(marks)
    assert all("docs/findings.md#spad-" in rule["help"]["text"] for rule in log["runs"][0]["tool"]["driver"]["rules"])
    assert tilelang(root, tmp_path, "--write-baseline", "known").returncode == 0
    known = tilelang(root, tmp_path, "--baseline", "known")
    assert known.returncode == 0 and f"wrong, {len(marks)} findings not shown" in known.stdout
    (tmp_path / "known").write_text("12\n", encoding="utf-8")
    assert "no fingerprint" in tilelang(root, tmp_path, "--baseline", "known").stderr


def test_fingerprints_stay_when_lines_and_sizes_change():
    marks = [[finding.fingerprint for finding in spad.check(text)]
             for text in (WRONG, WRONG.replace("tensor", "\n\ntensor"), WRONG.replace("(64)", "(128)"), WRONG.replace(" x", " y"))]
    assert marks[0] == marks[1] == marks[2] != marks[3]


def test_rules_and_comments_hide_and_never_prove():
    assert spad.check(WRONG, rules={"SPAD-UNINITIALISED-READ": "warning"}).counts["warnings"] == 1
    for check in (spad.check(WRONG, rules={"SPAD-UNINITIALISED-READ": "ignore"}),
                  spad.check(WRONG.replace("reads x", "reads x # spad: ignore[SPAD-UNINITIALISED-READ] zeros")),
                  spad.check(WRONG.replace("reads x", "reads x # spad: ignore[RACE, UNINITIALISED-READ] zeros"))):
        assert check and check.verdict == "wrong" and check.counts["hidden"] == 1 and "1 finding not shown" in check.text()
    assert not spad.check(WRONG.replace("reads x", "reads x # spad: ignore[SPAD-RACE]"))
    with pytest.raises(ValueError, match="is no code"):
        spad.check(WRONG, rules={"SPAD-NOTHING": "ignore"})
