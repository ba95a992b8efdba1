# SPDX-License-Identifier: Apache-2.0
"""Wrong usage of `spad triton` and `spad tilelang`: a message in one line, status 2, and nothing on the standard output."""

import types

import pytest

import spad
import spad.triton as st
from spad.tilelang import _command as tilelang_command
from spad.triton import _command as triton_command
from tilelang_kernels import TREES

COMMANDS = pytest.mark.parametrize("name, main", [("spad triton", triton_command.main), ("spad tilelang", tilelang_command.main)])
TREE = TREES / "gemm_sm_90.json"


def said(capsys, main, *words):
    """What a command says that ends with status 2; options that cannot be read end the process."""
    try:
        status = main([str(word) for word in words])
    except SystemExit as error:
        status = error.code
    out, text = capsys.readouterr()
    assert status == 2 and out == "" and "Traceback" not in text, (status, out, text)
    return text


@COMMANDS
@pytest.mark.parametrize("text, expected", [
    ("raise KeyError('seven')", "{path}:1: KeyError: 'seven'"),
    ("raise ValueError('of the program')", "{path}:1: ValueError: of the program"),
    ("def inner():\n    assert False\ninner()", "{path}:2: AssertionError"),
    ("import sys\nsys.exit(3)", "{path}:2: SystemExit: 3"),
    ("x = = 3", "{path}:1: SyntaxError: invalid syntax"),
    ("import nothing_of_that_name", "{path}:1: ModuleNotFoundError: No module named 'nothing_of_that_name'"),
    ("open('/nowhere/file')", "{path}:1: FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/file'"),
    ("def other(): pass", "'{path}' has no 'kernel'; it has other")])
def test_programs_that_fail(capsys, tmp_path, name, main, text, expected):
    path = tmp_path / "program.py"
    path.write_text(text)
    assert said(capsys, main, "check", f"{path}:kernel") == f"{name}: {expected.format(path=path)}\n"


@COMMANDS
def test_words_that_name_no_function(capsys, tmp_path, name, main):
    path = tmp_path / "program.py"
    path.write_text("")
    for word, expected in ((path, f"'{path}' is not FILE.py:KERNEL or package.module:KERNEL"), (f"{path}:", f"'{path}:' is not FILE.py:KERNEL or package.module:KERNEL"),
                           (f"{tmp_path}/none.py:kernel", f"no file '{tmp_path}/none.py'"), (f"{tmp_path}:kernel", f"no file '{tmp_path}'")):
        assert said(capsys, main, "check", word) == f"{name}: {expected}\n"


def test_texts_of_triton_have_another_command(capsys):
    assert said(capsys, triton_command.main, "check", "a.ttgir") == (
        "spad triton: 'a.ttgir' is TTGIR, which `spad check a.ttgir` takes, as do plan, sim and tune\n")


@COMMANDS
def test_options_that_cannot_be_read(capsys, name, main):
    for word, expected in (("n", "'n' is not NAME=VALUE"), ("n='x'", "the size 'n' is 'x', and no whole number of 64 bits"),
                           ("n=x", "the size 'n' is x, and no whole number of 64 bits"),
                           ("n=1.5", "the size 'n' is 1.5, and no whole number of 64 bits"),
                           (f"n={1 << 63}", f"the size 'n' is {1 << 63}, and no whole number of 64 bits")):
        assert said(capsys, main, "check", "program.py:kernel", "-D", word).endswith(f"{name}: error: argument -D: {expected}\n")


def test_ranges(capsys):
    for text, expected in (("5..3", "'5..3' has no values: 3 is less than 5"), ("x", "'x' is no number of stages: 3, or 1..5"),
                           ("-2", "'-2' is no number of stages: 3, or 1..5"), ("", "'' is no number of stages: 3, or 1..5"),
                           ("1..99999999999", "'1..99999999999' has more than 1000000 values")):
        assert said(capsys, triton_command.main, "check", "program.py:kernel", f"--stages={text}").endswith(f"argument --stages: {expected}\n")
    for text, expected in (("n=5..3", "'5..3' has no values: 3 is less than 5"), ("n", "'n' is not NAME=VALUE,VALUE or NAME=FIRST..LAST"),
                           ("n=1..99999999999", "'1..99999999999' has more than 1000000 values")):
        assert said(capsys, tilelang_command.main, "check", "program.py:kernel", "--vary", text).endswith(f"argument --vary: {expected}\n")
    assert tilelang_command.ways("n=1 .. 3") == ("n", [1, 2, 3]) and triton_command.stages("0") == [0]


@COMMANDS
def test_files_that_are_not_asked_for(capsys, tmp_path, name, main):
    for words, expected in ((("report", "a.py:k"), "a report needs a file: -o FILE.html"), (("report", "a.py:k", "-o", ""), "a report needs a file: -o FILE.html"),
                            (("report", "a.py:k", "-o", tmp_path), f"'{tmp_path}' is a directory: -o is a file"),
                            (("report", "a.py:k", "-o", "/"), "'/' is a directory: -o is a file")):
        assert said(capsys, main, *words) == f"{name}: {expected}\n"
    files = {"spad triton": "report, text and ttgir", "spad tilelang": "report and tree"}[name]
    for command in ("check", "plan", "sim", "compare"):
        assert said(capsys, main, command, "a.py:k", "-o", "a.html") == f"{name}: {command} writes no file: -o is for {files}\n"


@pytest.fixture
def one_kernel(root, monkeypatch):
    """`spad triton` with a function that is compiled already."""
    kernel = st.load((root / "tests" / "ttgir" / "softmax_sm80_s3_v39_placed.ttgir").read_text())
    monkeypatch.setattr(triton_command, "function_at", lambda place: None)
    monkeypatch.setattr(triton_command.st, "load", lambda *given, **options: kernel)


def test_reports_that_cannot_be_written(capsys, tmp_path, one_kernel):
    (tmp_path / "file").write_text("")
    for main, kernel, name in ((triton_command.main, "a.py:k", "spad triton"), (tilelang_command.main, TREE, "spad tilelang")):
        for path, expected in ((tmp_path / "none" / "a.html", f"'{tmp_path}/none/a.html': No such file or directory"),
                               (tmp_path / "file" / "a.html", f"'{tmp_path}/file/a.html': Not a directory"),
                               (tmp_path / "a.doc", f"'{tmp_path}/a.doc' has to end with one of .html, ")):
            text = said(capsys, main, "report", kernel, "-o", path)
            assert text.startswith(f"{name}: {expected}") and text.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_texts_are_written(capsys, tmp_path, one_kernel):
    for command, first in (("text", "kernel softmax on "), ("ttgir", "#blocked = #ttg.blocked")):
        assert triton_command.main([command, "a.py:k"]) == 0
        printed = capsys.readouterr().out
        assert first in printed
        path = tmp_path / f"a.{command}"
        assert triton_command.main([command, "a.py:k", "-o", str(path)]) == 0
        assert capsys.readouterr().out == f"{path}\n" and path.read_text() == printed
        assert triton_command.main([command, "a.py:k", "--stages", "2..3", "-o", str(path)]) == 0
        assert capsys.readouterr().out == f"{tmp_path}/a_2.{command}\n{tmp_path}/a_3.{command}\n"
        assert (tmp_path / f"a_3.{command}").read_text() == printed


def test_kernels_that_cannot_be_shown(capsys, monkeypatch, one_kernel):
    def refused(*given, **options):
        raise spad.ArgumentError("no time without costs")

    monkeypatch.setattr(st.TritonKernel, "sim", refused)
    assert said(capsys, triton_command.main, "sim", "a.py:k") == "spad triton: no time without costs\n"


def test_targets_of_trees(capsys):
    assert said(capsys, tilelang_command.main, "check", TREE, "--target", "sm_80") == "spad tilelang: a tree has the target that it was lowered for\n"


def test_errors_of_the_compiler_have_the_line_of_the_kernel():
    def failed(source, line, message, cause=None):
        error = RuntimeError("a picture\nof the source")
        error.src, error.node, error.error_message, error.__cause__ = source, types.SimpleNamespace(lineno=line), message, cause
        return error

    inner = failed("def inner(x):\n    tl.arange(0, x)\n", 2, "no power of 2", ValueError("no power of 2"))
    outer = failed("def outer():\n    inner(3)\n", 2, None, inner)
    assert triton_command._told(outer, "a.py") == "no power of 2: tl.arange(0, x)"
    outer.__notes__ = ["Triton 3.9.0 failed to compile 'outer' for sm_90"]
    assert triton_command._told(outer, "a.py") == "Triton 3.9.0 failed to compile 'outer' for sm_90: no power of 2: tl.arange(0, x)"
    assert triton_command._told(failed("a\n", 1, None), "a.py") == "RuntimeError: a"
    assert triton_command._told(AssertionError("num_warps must be a power of 2"), "a.py") == "AssertionError: num_warps must be a power of 2"


KERNELS = """
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)

@triton.jit
def undefined(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + nothing, 1)

def plain(x):
    pass
"""


def test_kernels_that_triton_refuses(capsys, tmp_path):
    triton = pytest.importorskip("triton")
    path = tmp_path / "program.py"
    path.write_text(KERNELS)
    types_of_add = ("--signature", "x_ptr=*fp32:16,y_ptr=*fp32:16,n=i32:16")
    failed = f"Triton {triton.__version__} failed to compile '%s' for sm_90: "
    for words, expected in (
            (("add", *types_of_add, "--constexprs", "BLOCK=1000"), failed % "add" + "arange's range must be a power of 2: i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)"),
            (("undefined", "--signature", "x_ptr=*fp32", "--constexprs", "BLOCK=8"), failed % "undefined" + "NameError('nothing is not defined'): tl.store(x_ptr + nothing, 1)"),
            (("add", *types_of_add, "--constexprs", "BLOCK=1024", "--warps", "3"), failed % "add" + "AssertionError: num_warps must be a power of 2"),
            (("add", *types_of_add, "--constexprs", "BLOCK=1024", "--target", ""), "unknown chip ''; known chips: sm_70, "),
            (("plain", *types_of_add), "'plain' is no function of Triton: it needs @triton.jit"),
            (("add", "--signature", "x_ptr=tensordesc<zz>"), "'tensordesc<zz>', the type of argument 'x_ptr', is no type of Triton: ")):
        text = said(capsys, triton_command.main, "check", f"{path}:{words[0]}", *words[1:])
        assert text.startswith(f"spad triton: {expected}") and text.count("\n") == 1


def test_programs_that_end_when_they_are_called(capsys, tmp_path):
    pytest.importorskip("tilelang")
    path = tmp_path / "program.py"
    path.write_text("def kernel():\n    raise SystemExit(4)\n")
    assert said(capsys, tilelang_command.main, "check", f"{path}:kernel") == f"spad tilelang: {path}:2: SystemExit: 4\n"
    assert "'' is no GPU that TileLang lowers for" in said(capsys, tilelang_command.main, "check", f"{path}:kernel", "--target", "")
