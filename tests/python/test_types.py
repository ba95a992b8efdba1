# SPDX-License-Identifier: Apache-2.0
"""The stubs: mypy --strict accepts them and a program that uses them, and stubtest finds what they
say in the modules themselves. Skipped where there is no mypy."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import spad

CONFIG = """\
[mypy]
strict = True
[mypy-{private}]
ignore_errors = True
[mypy-numba.*,cubie.*,numba_cuda_mlir.*,executorch.*,flatbuffers.*,onnx.*,pandas.*,torch.*,triton.*,tvm.*,dask.*]
ignore_missing_imports = True
"""


def private_modules():
    """Modules without stubs, which are not for users."""
    home = Path(spad.__file__).parent
    files = [path for path in home.rglob("*.py") if not path.with_suffix(".pyi").exists() and path != Path(spad.__file__)]
    return [".".join(("spad", *path.relative_to(home).with_suffix("").parts)) for path in sorted(files)]

# CPython shows the buffer protocol as methods from 3.12 on; the other needs numba.
ALLOWED = """\
spad\\._spad\\..*\\.__buffer__
spad\\._spad\\..*\\.__release_buffer__
spad\\._cubie_device
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Runs a tool of mypy; its output if it fails."""
    pytest.importorskip("mypy", reason="there is no mypy")
    folder = tmp_path_factory.mktemp("types")
    (folder / "mypy.ini").write_text(CONFIG.format(private=",".join(private_modules())), encoding="ascii")
    # what has no stub would be compared with itself
    private = "".join(f"{re.escape(name)}(\\..*)?\n" for name in private_modules())
    (folder / "allowed").write_text(ALLOWED + private, encoding="ascii")
    home = str(Path(spad.__file__).parents[1])
    environment = dict(os.environ)
    if Path(home).name != "site-packages":  # mypy finds an installed package, and refuses its folder there
        environment.update(PYTHONPATH=home, MYPYPATH=home)

    def run(*command):
        done = subprocess.run([sys.executable, "-m", *command], cwd=folder, env=environment,
                              capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]

    return run


def test_stubs_are_strict(mypy):
    mypy("mypy", "--config-file", "mypy.ini", "-p", "spad")


def test_a_typed_program_is_accepted(mypy, root):
    mypy("mypy", "--config-file", "mypy.ini", str(root / "tests/python/typed_use.py"))


def test_stubs_are_those_of_the_modules(mypy):
    mypy("mypy.stubtest", "spad", "--mypy-config-file", "mypy.ini", "--concise",
         "--ignore-disjoint-bases", "--ignore-unused-allowlist", "--allowlist", "allowed")


def test_the_typed_program_runs():
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        import typed_use
    finally:
        del sys.path[0]
    used, total = typed_use.manager()
    assert used == total and typed_use.direct(None) == ((0, 1024), 1)
    assert typed_use.memory() > 1 and typed_use.block() and typed_use.registry() == 256
