# SPDX-License-Identifier: Apache-2.0
"""Runs the Python of the manual pages, each page from top to bottom."""

import importlib
import os
import re
import shutil
import subprocess
import sys

import pytest

import spad.ascend
import spad.tilelang
from spad import cubie, nki

PAGES = ("python.md", "python-devices.md", "nki.md", "nki-trace.md", "nki-reference.md", "tilelang.md",
         "tilelang-load.md", "tilelang-reference.md", "triton.md", "triton-reference.md", "planner.md", "ascend.md",
         "cubie.md", "compilers.md", "sweep.md")
BLOCK = re.compile(r"^```python *(\w*)\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"^```python (\w+\.py)\n(.*?)^```$", re.M | re.S)


def blocks(root, page):
    text = (root / "docs" / page).read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start(2))
        yield found[1], "\n" * line + found[2]


def write_files(root, page, folder):
    """The files that a page shows, in a folder, which is returned; without any, the repository is."""
    found = FILE.findall((root / "docs" / page).read_text(encoding="utf-8"))
    for name, text in found:
        (folder / name).write_text(text, encoding="utf-8")
    return folder if found else root


@pytest.mark.parametrize("page", PAGES)
def test_page(root, page, tmp_path, monkeypatch):
    monkeypatch.chdir(write_files(root, page, tmp_path))  # other pages name files of the repository
    path = root / "docs" / page
    names = {"__name__": "docs"}
    count = 0
    try:
        for needs, code in blocks(root, page):
            if needs:
                continue
            exec(compile(code, str(path), "exec"), names)
            count += 1
    finally:
        nki.set_behaviour("library")
        nki.set_target(None)
        cubie.buffer_registry.reset()
        spad.ascend.use()
    assert count >= 2


def test_tilelang_finding(root, monkeypatch):
    monkeypatch.chdir(root)
    page = (root / "docs" / "tilelang-load.md").read_text(encoding="utf-8")
    shown = re.search(r"^```text\n(<main_kernel>.*?)^```$", page, re.M | re.S)[1]
    kernel = spad.tilelang.load("tests/python/golden/tilelang/while_loop_sm_90.json")
    assert kernel.check().text().startswith(shown)


def test_dask(root, monkeypatch):
    pytest.importorskip("dask.distributed", reason="there is no Dask")
    monkeypatch.chdir(root)
    names = {"__name__": "docs"}
    code = [code for needs, code in blocks(root, "sweep.md") if needs == "dask"]
    for part in code:
        exec(compile(part, "docs/sweep.md", "exec"), names)
    assert len(code) == 1 and [row["status"] for row in names["rows"]] == ["fine"] * 5


def test_executorch(root):
    pytest.importorskip("executorch.exir", reason="there is no ExecuTorch")
    import torch
    from executorch.exir import to_edge

    inputs = (torch.rand(4, 8),)
    names = {"__name__": "docs"}
    code = [code for needs, code in blocks(root, "compilers.md") if needs == "executorch"]
    for part in code:
        names["edge_program"] = to_edge(torch.export.export(torch.nn.Linear(8, 8), inputs))
        exec(compile(part, "docs/compilers.md", "exec"), names)
    assert len(code) == 2 and names["planner"].models


def test_tvm(root):
    tvm = pytest.importorskip("tvm", reason="there is no TVM")
    import test_tvm

    names = {"__name__": "docs", "tvm": tvm, "module": test_tvm.network(tvm, 48)[0]}
    code = [code for needs, code in blocks(root, "compilers.md") if needs == "tvm"]
    exec(compile(code[0], "docs/compilers.md", "exec"), names)
    assert len(code) == 1 and names["planner"].models


def test_flatbuffers(root, tmp_path, monkeypatch):
    pytest.importorskip("flatbuffers", reason="there is no flatbuffers")
    import tflite_models

    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.tflite").write_bytes(tflite_models.chain().build())
    names = {"__name__": "docs"}
    code = [code for needs, code in blocks(root, "compilers.md") if needs == "flatbuffers"]
    exec(compile(code[0], "docs/compilers.md", "exec"), names)
    assert len(code) == 1 and (tmp_path / "planned.tflite").read_bytes() == names["planned"]


def test_numpy(root):
    np = pytest.importorskip("numpy")
    if tuple(int(n) for n in re.findall(r"\d+", np.__version__)[:2]) < (2, 1):
        pytest.skip(f"numpy {np.__version__} takes whatever DLPack gives for read-only")
    names = {"__name__": "docs"}
    for needs, code in blocks(root, "python-devices.md"):
        if needs in ("", "numpy"):
            exec(compile(code, "docs/python-devices.md", "exec"), names)
    assert names["np"] is np


def test_torch(root):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no CUDA device here")
    code = [code for needs, code in blocks(root, "python-devices.md") if needs == "torch"]
    done = subprocess.run([sys.executable, "-c", code[0]], capture_output=True, text=True)
    assert len(code) == 1 and done.returncode == 0, done.stderr


@pytest.mark.parametrize("package, module", [("cute", "cutlass"), ("numba", "numba.cuda"), ("cupy", "cupy"),
                                             ("nvrtc", "cuda.bindings.nvrtc")])
def test_sources_of_cuda(root, tmp_path, monkeypatch, package, module):
    """Each recipe finds the race of the same kernel, at its line."""
    try:
        importlib.import_module(module)
    except ImportError as error:  # also of one that is there and does not load
        pytest.skip(f"there is no {module}: {error}")
    if package == "cupy" and shutil.which("nvcc") is None and not os.path.exists("/usr/local/cuda/bin/nvcc"):
        pytest.skip("there is no nvcc")
    monkeypatch.syspath_prepend(write_files(root, "cuda-sources.md", tmp_path))
    names = {"__name__": "docs"}
    code, = [code for needs, code in blocks(root, "cuda-sources.md") if needs == package]
    exec(compile(code, str(root / "docs" / "cuda-sources.md"), "exec"), names)
    race, = names["check"].findings
    source = names.get("source", code if package == "numba" else (tmp_path / "reverse.py").read_text())
    source = source.decode() if isinstance(source, bytes) else source
    assert race.code == "SPAD-RACE" and "row[127 - " in source.split("\n")[race.line - 1]
