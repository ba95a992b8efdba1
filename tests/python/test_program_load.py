# SPDX-License-Identifier: Apache-2.0
"""Where kernels in Python programs are found: in files on their own, in packages, and in modules by name, for each command."""

import sys

import pytest

import spad
import spad.nki.trace as nt
from spad._program import load as loader
from spad._sweep import inputs as sweep_inputs, work as sweep_work
from spad.tilelang import _command as tilelang_command
from spad.triton import _command as triton_command
from spad.nki import _command as nki_command

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def copy(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=out, src=t)
    return out
"""
MISSING = "raise ImportError('the package needs torch')\n"


@pytest.fixture(autouse=True)
def same_modules(monkeypatch, tmp_path):
    """What a test loads is gone after it, and the current folder has nothing to import."""
    before, path = dict(sys.modules), list(sys.path)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    yield
    sys.path[:] = path
    for name in set(sys.modules) - set(before):
        del sys.modules[name]


def written(root, files):
    """A tree of files {path: text} under a folder, which is the root of a repository."""
    for name, text in {"pyproject.toml": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def in_package(kernel, init=MISSING, **others):
    return {"models/__init__.py": init, "models/ops/__init__.py": "", "models/ops/copy.py": kernel,
            **{f"models/{name}.py": text for name, text in others.items()}}


RELATIVE = "from ..helpers import VALUE\ndef kernel():\n    return VALUE\n"
ABSOLUTE = "from models.helpers import VALUE\ndef kernel():\n    return VALUE\n"
NEIGHBOUR = "import helpers\ndef kernel():\n    return helpers.VALUE\n"
LATE = "def kernel():\n    from ..helpers import VALUE\n    return VALUE\n"
FROM_ROOT = "from tools.shared import VALUE\ndef kernel():\n    return VALUE\n"
OPTIONAL = "try:\n    from ..helpers import VALUE\nexcept ImportError:\n    VALUE = 0\ndef kernel():\n    return VALUE\n"


@pytest.mark.parametrize("files", [
    in_package("VALUE = 3\ndef kernel():\n    return VALUE\n"),  # a package that cannot be imported
    in_package(RELATIVE, "", helpers="VALUE = 3\n"),
    in_package(ABSOLUTE, "", helpers="VALUE = 3\n"),
    in_package(LATE, "", helpers="VALUE = 3\n"),
    in_package(OPTIONAL, "", helpers="VALUE = 3\n"),
    {**in_package(NEIGHBOUR), "models/ops/helpers.py": "VALUE = 3\n"},
    {**in_package(FROM_ROOT, ""), "tools/shared.py": "VALUE = 3\n"},
    {**in_package(RELATIVE, ""), "models/__init__.py": "from .helpers import VALUE\n", "models/helpers.py": "VALUE = 3\n"},
    {"models/ops/copy.py": RELATIVE, "models/helpers.py": "VALUE = 3\n"},  # no __init__.py: below the root of the repository
    {"models/ops/copy.py": ABSOLUTE, "models/helpers.py": "VALUE = 3\n"},
    {"models/ops/copy.py": RELATIVE.replace("..", "."), "models/ops/helpers.py": "VALUE = 3\n", "models/ops/setup.py": ""}],
    ids=["alone", "relative", "absolute", "late", "optional", "neighbour", "root", "init", "no_init", "no_init_absolute", "at_root"])
def test_files_are_found(tmp_path, files):
    root = written(tmp_path, files)
    assert loader.function_at(f"{root}/models/ops/copy.py:kernel")() == 3


def test_an_init_runs_only_where_the_file_needs_its_package(tmp_path):
    root = written(tmp_path, in_package("VALUE = 1\ndef kernel(): pass\n", "raise SystemExit('the package was imported')\n"))
    loader.function_at(f"{root}/models/ops/copy.py:kernel")
    assert not any(name.partition(".")[0] == "models" for name in sys.modules)


def test_a_package_without_its_dependencies(tmp_path):
    """Relative imports that are not needed: where the package cannot be imported, the file alone does."""
    root = written(tmp_path, in_package("def kernel():\n    return 3\ndef benchmark():\n    from . import slow\n"))
    assert loader.function_at(f"{root}/models/ops/copy.py:kernel")() == 3


def test_folders_without_a_repository(tmp_path, monkeypatch):
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "copy.py").write_text("from .helpers import VALUE\ndef kernel():\n    return VALUE\n")
    (tmp_path / "ops" / "helpers.py").write_text("VALUE = 3\n")
    assert loader.function_at(f"{tmp_path}/ops/copy.py:kernel")() == 3
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "copy.py").write_text("from lib.helpers import VALUE\ndef kernel():\n    return VALUE\n")
    (tmp_path / "lib" / "helpers.py").write_text("VALUE = 4\n")
    monkeypatch.chdir(tmp_path)
    assert loader.function_at("lib/copy.py:kernel")() == 4


def test_neighbours_do_not_replace_installed_packages(tmp_path):
    """models/ops/pytest/ is a part of the package, and `import pytest` in it is the installed one."""
    root = written(tmp_path, {**in_package("import pytest\ndef kernel():\n    return pytest.raises\n"), "models/ops/pytest/__init__.py": ""})
    assert loader.function_at(f"{root}/models/ops/copy.py:kernel")() is pytest.raises


def test_neighbours_have_one_name(tmp_path):
    """What the first attempt has imported from beside the file is imported again by the second one, as part of the package."""
    kernel = "import helpers\nfrom models.ops.helpers import Shape\nfrom models.more import SHAPE\ndef kernel():\n    return isinstance(SHAPE, Shape)\n"
    root = written(tmp_path, {**in_package(kernel, ""), "models/ops/helpers.py": "class Shape: pass\n",
                              "models/more.py": "from models.ops.helpers import Shape\nSHAPE = Shape()\n"})
    assert loader.function_at(f"{root}/models/ops/copy.py:kernel")() is True


def test_files_of_one_name(tmp_path):
    for folder in ("a", "b"):
        written(tmp_path / folder, {"copy.py": f"import dataclasses\n@dataclasses.dataclass\nclass Tile:\n    x: 'int' = 0\ndef kernel():\n    return '{folder}'\n"})
    first, second = (loader.function_at(f"{tmp_path}/{folder}/copy.py:kernel") for folder in ("a", "b"))
    assert (first(), second()) == ("a", "b") and first.__module__ != second.__module__
    assert all(function.__module__ in sys.modules for function in (first, second))


def message(place):
    with pytest.raises(loader.LoadError) as caught:
        loader.function_at(place)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_all_attempts_are_named(tmp_path):
    root = written(tmp_path, in_package("from ..nothing import VALUE\n"))
    path = f"{root}/models/ops/copy.py"
    before = list(sys.path)
    assert message(f"{path}:kernel") == (
        f"'{path}' cannot be imported: as 'models.ops.copy' from '{root}': {root}/models/__init__.py:1: ImportError: the package needs torch; "
        f"on its own: {path}:1: ImportError: attempted relative import with no known parent package")
    written(root, in_package("import models.nothing\n", ""))
    assert message(f"{path}:kernel") == (
        f"'{path}' cannot be imported: on its own: {path}:1: ModuleNotFoundError: No module named 'models'; "
        f"as 'models.ops.copy' from '{root}': {path}:1: ModuleNotFoundError: No module named 'models.nothing'")
    assert sys.path == before


@pytest.mark.parametrize("text, kind", [("import nothing_of_that_name\n", ModuleNotFoundError), ("raise KeyError('seven')\n", KeyError),
                                        ("x = = 3\n", SyntaxError), ("import sys\nsys.exit(3)\n", SystemExit)])
def test_an_error_of_the_program_is_raised_once(tmp_path, text, kind):
    """Each attempt would fail in the same way, or the program ran and failed: its own error is the message."""
    root = written(tmp_path, in_package(text, ""))
    with pytest.raises(kind):
        loader.function_at(f"{root}/models/ops/copy.py:kernel")


def test_another_package_of_that_name(tmp_path):
    first = written(tmp_path / "first", in_package(RELATIVE, "", helpers="VALUE = 1\n"))
    second = written(tmp_path / "second", in_package(RELATIVE, "", helpers="VALUE = 2\n"))
    assert loader.function_at(f"{first}/models/ops/copy.py:kernel")() == 1
    assert f"ImportError: 'models.ops.copy' is '{first}/models/ops/copy.py'" in message(f"{second}/models/ops/copy.py:kernel")


def test_modules_by_name(tmp_path, monkeypatch):
    root = written(tmp_path, in_package(RELATIVE, "", helpers="VALUE = 3\n"))
    assert message("models.ops.copy:kernel") == "no module 'models.ops.copy' in the current folder or in sys.path; a file ends with .py"
    monkeypatch.chdir(root)
    assert loader.function_at("models.ops.copy:kernel")() == 3
    assert message("models.ops.none:kernel").startswith("no module 'models.ops.none' ")
    assert message("models.ops.copy:kernels") == "'models.ops.copy' has no 'kernels'; did you mean 'kernel'?"
    assert message("models.ops.copy:other") == "'models.ops.copy' has no 'other'; it has kernel"
    assert message("models.helpers:other") == "'models.helpers' has no 'other'; it has no functions"
    (root / "models" / "broken.py").write_text("\nraise KeyError('seven')\n")
    assert message("models.broken:kernel") == f"'models.broken' cannot be imported: {root}/models/broken.py:2: KeyError: 'seven'"
    for word in ("models.ops.copy", ":kernel", "models.ops.copy:"):
        assert message(word) == f"'{word}' is not FILE.py:KERNEL or package.module:KERNEL"


# ---- the commands ---------------------------------------------------------------------------------


def command(main, *words):
    """(status, what the kernel was loaded from)."""
    return main(["text", *map(str, words)])


def test_nki(tmp_path, monkeypatch, capsys):
    root = written(tmp_path, in_package(KERNEL))
    given = ("--arg", "x=bf16[128,64]")
    assert command(nki_command.main, f"{root}/models/ops/copy.py:copy", *given) == 0
    alone = capsys.readouterr().out
    written(root, in_package(KERNEL.replace("x.shape", "SHAPE") + "\nfrom ..helpers import SHAPE\n", "", helpers="SHAPE = (128, 64)\n"))
    assert command(nki_command.main, f"{root}/models/ops/copy.py:copy", *given) == 0
    assert capsys.readouterr().out == alone
    monkeypatch.chdir(root)
    assert command(nki_command.main, "models.ops.copy:copy", *given) == 0
    assert capsys.readouterr().out == alone
    assert command(nki_command.main, "models.ops.none:copy", *given) == 2
    assert capsys.readouterr().err.startswith("spad nki: no module 'models.ops.none' in the current folder")


def test_nki_keeps_the_path_of_its_caller(tmp_path):
    root, before = written(tmp_path, in_package(KERNEL)), list(sys.path)
    assert nt.trace(nt.load(f"{root}/models/ops/copy.py:copy"), nt.hbm((128, 64), "bf16")).operations == 2
    assert sys.path == before
    written(root, in_package("from ..nothing import VALUE\n"))
    with pytest.raises(nt.TraceError, match="on its own: .*; as 'models.ops.copy' from|as 'models.ops.copy' from .*; on its own: "):
        nt.load(f"{root}/models/ops/copy.py:copy")
    assert sys.path == before


OTHER_COMMANDS = pytest.mark.parametrize("name, module, library", [
    ("spad triton", triton_command, "st"), ("spad tilelang", tilelang_command, "tilelang")])


class Shown(Exception):
    """The function that a command has found."""


@OTHER_COMMANDS
def test_triton_and_tilelang(tmp_path, monkeypatch, capsys, name, module, library):
    def load(function, *given, **options):
        raise Shown(function())

    monkeypatch.setattr(getattr(module, library), "load", load)
    root = written(tmp_path, in_package(RELATIVE, "", helpers="VALUE = 'found'\n"))
    for place in (f"{root}/models/ops/copy.py:kernel", "models.ops.copy:kernel"):
        monkeypatch.chdir(root)
        assert command(module.main, place) == 2
        assert capsys.readouterr().err == f"{name}: Shown: found\n"
    written(root, in_package(RELATIVE))
    for part in [part for part in sys.modules if part.partition(".")[0] == "models"]:
        del sys.modules[part]
    assert command(module.main, f"{root}/models/ops/copy.py:kernel") == 2
    text = capsys.readouterr().err
    assert text.startswith(f"{name}: '{root}/models/ops/copy.py' cannot be imported: as 'models.ops.copy' from '{root}': ") and text.count("\n") == 1
    assert command(module.main, "models.ops.none:kernel") == 2
    assert capsys.readouterr().err.startswith(f"{name}: no module 'models.ops.none' in the current folder")


def test_sweep(tmp_path, monkeypatch):
    root = written(tmp_path, in_package(KERNEL.replace("x.shape", "SHAPE") + "\nfrom ..helpers import SHAPE\n", "", helpers="SHAPE = (128, 64)\n"))
    monkeypatch.chdir(root)
    for word in (f"{root}/models/ops/copy.py:copy", "models.ops.copy:copy"):
        (job,) = sweep_inputs.open_inputs(word)
        assert (job["kind"], job["function"]) == ("nki", "copy") and job["file"].endswith("models/ops/copy.py")
        made = sweep_work.read({**job, "args": {"x": "bf16[128,64]"}, "values": {}, "target": None})
        assert made["made"]["faults"] == [] and "kernel copy" in made["made"]["text"]
    with pytest.raises(spad.ArgumentError, match="no file matches 'models.ops.none:copy'"):
        sweep_inputs.open_inputs("models.ops.none:copy")
