# SPDX-License-Identifier: Apache-2.0
"""The quick starts and the NKI guide, typed again: blocks marked "python NAME" are files, and in blocks marked
"console" the lines after "$ " are commands and the others what they print. SPAD_ACCEPT=1 writes what came out into the
pages."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import spad

QUICK_STARTS = ("compiler", "cuda", "nki", "pytorch")
PAGES = (*(f"quickstart/{name}" for name in QUICK_STARTS), "nki-trace")
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)
TIME = re.compile(r"^(time  .*?|  spad  .*?)\d[\d.]* (?:ns|us|ms|s)\b", re.M)


def without_times(text):
    """The planner's own time is another one in every run."""
    return TIME.sub(r"\1TIME", text)


@pytest.fixture
def typed(root, tmp_path):
    """What a command prints, typed at the root of the repository."""
    program = Path(spad.__file__).with_name("spad")
    if not program.exists():
        pytest.skip("the package was built without the command")
    (tmp_path / "examples").symlink_to(root / "examples")
    tools = tmp_path / ".tools"
    tools.mkdir()
    (tools / "spad").symlink_to(program)
    (tools / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tools / "python3").chmod(0o755)
    paths = [str(Path(spad.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "SPAD_PYTHON": sys.executable,
                   "PYTHONPATH": os.pathsep.join(paths), "LC_ALL": "C.UTF-8"}

    def run(command):
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120)
        assert done.returncode in (0, 1), f"{command}: {done.stdout}"
        return done.stdout.replace(f"{tmp_path}/", "")
    run.folder = tmp_path
    return run


@pytest.mark.parametrize("page", PAGES)
def test_page(root, typed, page):
    path = root / "docs" / f"{page}.md"
    text = path.read_text(encoding="utf-8")
    commands = 0

    def again(block):
        nonlocal commands
        language, name, body = block.groups()
        if language == "python" and name:
            (typed.folder / name).write_text(body, encoding="utf-8")
        if language != "console":
            return block[0]
        lines = [line for line in body.splitlines() if line.startswith("$ ")]
        commands += len(lines)
        return "```console\n" + "".join(f"{line}\n{typed(line[2:])}" for line in lines) + "```"

    made = FENCE.sub(again, text)
    assert commands > 0
    if os.environ.get("SPAD_ACCEPT"):
        path.write_text(made, encoding="utf-8")
    else:
        assert without_times(made) == without_times(text)


def test_every_page_is_typed(root):
    pages = {path.stem for path in (root / "docs" / "quickstart").glob("*.md")}
    assert pages == {*QUICK_STARTS, "README"}
