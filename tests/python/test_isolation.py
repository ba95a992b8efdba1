# SPDX-License-Identifier: Apache-2.0
"""A command that starts Python runs nothing that happens to lie in the current folder. There, every module of the
standard library, spad and a few other packages have a file of their name, which notes that it was run."""

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import spad

HOME = Path(spad.__file__).parents[1]
OTHERS = ("numpy", "flatbuffers", "onnx", "torch", "sitecustomize", "usercustomize")
KERNEL = """
import colorsys
import nki.isa as nisa
import nki.language as nl
from beside import rows

def copied(x):
    assert colorsys.rgb_to_hsv(0, 0, 0) == (0, 0, 0)
    out = nl.ndarray((rows, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
PROGRAM = "from beside import rows\nimport colorsys\n\ndef copied(x):\n    pass\n"
FILES = {"model.pickle": pickle.dumps({"segments": []}), "model.pkl": b"\x80", "model.tflite": b"\0\0\0\0TFL3",
         "model.onnx": b"\0", "model.mlir": b"stream.resource.pack", "model.txt": b"BufferAssignment:\n",
         "model.json": b'{"traceEvents": []}', "model.csv": b"Thread,Time,Action,Pointer,Size,Stream\n",
         "k.spad": b"kernel k on sm_90\nparam N = 2\ncounter c\n", "k.py": KERNEL.encode(),
         "p.py": PROGRAM.encode(), "beside.py": b"rows = 128\n"}
DATA = [("plan", name) for name in FILES if name.startswith("model")]
CODE = [("nki", "check", "k.py:copied", "--arg", "x=bf16[128,64]"), ("nki", "check", "k:copied", "--arg", "x=bf16[128,64]"),
        ("triton", "check", "p.py:copied"), ("tilelang", "check", "p.py:copied"),
        ("sweep", "k.py:copied", "--vary", "x=bf16[128,64]", "--results", "out")]
SWEEP = ("sweep", "k.spad", "--vary", "N=1..2", "--results", "out")


def traps(folder, names):
    """Files and packages of these names that note it when they are run, and the file with their notes."""
    note = folder / "was.run"
    code = f"open({str(note)!r}, 'a').write(__name__ + '\\n')\n"
    for name in names:
        (folder / f"{name}.py").write_text(code)
    for part in ("__init__", "__main__", "models", "_sweep"):
        (folder / "spad").mkdir(exist_ok=True)
        (folder / "spad" / f"{part}.py").write_text(code)
    return note


def run(folder, words, **environment):
    program = Path(spad.__file__).with_name("spad")
    if not program.exists():
        pytest.skip("the package was built without the command")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    environment = {**os.environ, "SPAD_PYTHON": sys.executable, "PYTHONPATH": f":{HOME}::", **environment}
    return subprocess.run([str(program), *words], cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=300)


def library():
    return sys.stdlib_module_names - {"__main__"}


@pytest.mark.parametrize("words", [*DATA, SWEEP], ids=lambda words: "-".join(words[:2]))
def test_data_runs_nothing(tmp_path, words):
    note = traps(tmp_path, library() | set(OTHERS))
    done = run(tmp_path, words)
    assert not note.exists(), note.read_text()
    assert done.returncode in (0, 2) and "Traceback" not in done.stderr, done.stderr


def test_no_command_runs_what_lies_beside_a_file(tmp_path):
    """Every command of `spad --help` with every kind of file: also those that are not expected to start Python."""
    note = traps(tmp_path, library() | set(OTHERS))
    shown = run(tmp_path, ["--help"]).stdout
    commands = re.findall(r"^  ([a-z]+) ", shown, re.M)
    assert {"plan", "check", "nki", "sweep", "triton", "tilelang", "replay"} <= set(commands)
    for command in commands:
        for name in ("model.pickle", "model.tflite", "model.json", "k.spad"):
            run(tmp_path, [command, name])
            assert not note.exists(), (command, name, note.read_text())


@pytest.mark.parametrize("words", CODE, ids=lambda words: "-".join(words[:3]))
def test_a_program_finds_its_folder_and_the_library(tmp_path, words):
    note = traps(tmp_path, library())
    done = run(tmp_path, words)
    assert not note.exists(), note.read_text()
    assert "Traceback" not in done.stderr, done.stderr
    if words[0] in ("nki", "sweep"):  # the others need packages that may not be here
        assert done.returncode == 0 and "beside" not in done.stderr, (done.stdout, done.stderr)


def test_a_virtual_environment(tmp_path):
    """Its package is found, without PYTHONPATH and not activated; so is one of the folder from which it was started."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", tmp_path / "venv"], check=True)
    packages, = (tmp_path / "venv" / "lib").glob("python3*/site-packages")
    (packages / "tree.pth").write_text(f"{HOME}\n")
    python = tmp_path / "venv" / "bin" / "python"
    note = traps(tmp_path, library() | set(OTHERS))
    done = run(tmp_path, ("plan", "model.pickle"), SPAD_PYTHON=str(python), PYTHONPATH="")
    assert done.returncode == 0 and not note.exists(), done.stderr
    done = subprocess.run([python, "-P", "-m", "spad", "plan", "model.pickle"], cwd=tmp_path, capture_output=True, text=True,
                          env={name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPAD_PYTHON")})
    assert done.returncode == 0 and not note.exists(), done.stderr


def test_programs_that_python_starts_are_as_they_would_be(tmp_path):
    """What keeps the folder out is not handed on; what the user has set is."""
    (tmp_path / "starts.py").write_text("import os\nprint([os.environ.get('PYTHONSAFEPATH')])\n" + PROGRAM)
    for given, seen in (({}, "[None]"), ({"PYTHONSAFEPATH": "1"}, "['1']")):
        assert seen in run(tmp_path, ("nki", "check", "starts.py:copied", "--arg", "x=bf16[1,1]"), **given).stdout


def test_a_python_without_safe_paths_gets_the_usual_message(tmp_path):
    """One before 3.11 does not know PYTHONSAFEPATH; with -E it does not read it."""
    old = tmp_path / "old"
    old.write_text(f'#!/bin/sh\nexec "{sys.executable}" -E -S "$@"\n')
    old.chmod(0o755)
    note = traps(tmp_path, {"runpy", "json", "struct"})
    done = run(tmp_path, ("plan", "model.pickle"), SPAD_PYTHON=str(old))
    assert done.returncode == 2 and "needs the Python package spad" in done.stderr and not note.exists(), done.stderr
