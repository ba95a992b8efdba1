# SPDX-License-Identifier: Apache-2.0
"""Patterns that leave their tensor, constants in files, and launch grids on the command line."""

import sys
from pathlib import Path

import pytest

import spad.nki.trace as nt
from spad.nki import _command

with nt.installed():
    import nki.isa as nisa
    import nki.language as nl

OLDER = Path(__file__).with_name("nki_older.py")


def command(capsys, *words):
    """(exit status, standard output, standard error) of the command in this process."""
    path = list(sys.path)
    status = _command.main([*map(str, words)])
    sys.path[:] = path
    made = capsys.readouterr()
    return status, made.out, made.err


def reaches_out(x, first, used):
    """A pattern that leaves its tensor, as kernels make for tiles that they then do not use."""
    t = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    part = t.ap([[64, 128], [1, 32]], offset=first)
    if used:
        nisa.dma_copy(dst=out[:, 0:32], src=part)
    nisa.dma_copy(dst=out[:, 32:64], src=part[:, 0:32] if used else t[:, 32:64])
    return out


def test_a_pattern_may_leave_its_tensor_until_it_is_used():
    for first in (48, 64 * 128, -1):
        assert nt.trace(reaches_out, nt.hbm((128, 64), "bf16"), first, False).operations == 2
        with pytest.raises(nt.TraceError, match="elements of 't'|of 't', which has 128 partitions of 64 elements") as caught:
            nt.trace(reaches_out, nt.hbm((128, 64), "bf16"), first, True)
        line = Path(__file__).read_text().split("\n")[caught.value.place[1] - 1]
        assert line.strip() == "nisa.dma_copy(dst=out[:, 0:32], src=part)"
    assert nt.trace(reaches_out, nt.hbm((128, 64), "bf16"), 32, True).operations == 3


def npy(path, shape, described, version=(1, 0), cut=0):
    """An .npy file without numpy: its header, and no numbers."""
    text = repr({"descr": described, "fortran_order": False, "shape": shape}).encode() + b"\n"
    size = len(text).to_bytes(2 if version == (1, 0) else 4, "little")
    made = b"\x93NUMPY" + bytes(version) + size + text
    path.write_bytes(made[:len(made) - cut])
    return str(path)


def from_file(path, dtype=None):
    table = nl.shared_constant(path, dtype=dtype)
    t = nl.ndarray(table.shape, dtype=table.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=table)
    out = nl.ndarray(table.shape, dtype=table.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out


def test_constants_in_files(tmp_path):
    path = tmp_path / "table.npy"
    for version in ((1, 0), (2, 0), (3, 0)):
        k = nt.trace(from_file, npy(path, (128, 64), "<f4", version))
        assert "tensor constant : hbm float32 (128, 64) input" in k.source and k.check()
    assert "tensor constant : hbm bfloat16 (128, 64) input" in nt.trace(from_file, npy(path, (128, 64), "<V2"), "bfloat16").source
    for made, message in ((npy(tmp_path / "a.npy", (128, 64), "<f8"), "no element type of NKI"), (npy(tmp_path / "b.npy", (), "<f4"), "at least one element"),
                          (npy(tmp_path / "c.npy", (4, -1), "<f4"), "at least one element"), (str(tmp_path / "missing.npy"), "No such file"),
                          (str(tmp_path), "Is a directory"), (__file__, "is no .npy file")):
        with pytest.raises(nt.TraceError, match=message) as caught:
            nt.trace(from_file, made)
        assert caught.value.place[0] == __file__
    for cut in range(1, 80):
        with pytest.raises(nt.TraceError, match="table.npy'"):
            nt.trace(from_file, npy(path, (128, 64), "<f4", cut=cut))
    path.write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + b"(" * 100)
    with pytest.raises(nt.TraceError, match="longer than"):
        nt.trace(from_file, str(path))


def test_launch_grids_of_the_command(capsys):
    kernel, arrays = f"{OLDER}:add", ("--arg", "a=bf16[512,512]", "--arg", "b=bf16[512,512]")
    launched = nt.trace(nt.load(f"{OLDER}:launch"), nt.hbm((512, 512), "bf16"), nt.hbm((512, 512), "bf16"))
    status, out, _ = command(capsys, "check", kernel, *arrays, "--grid", "4,2")
    assert status == 0 and launched.summary() in out and launched.operations == 32
    status, out, _ = command(capsys, "check", kernel, *arrays, "--grid", "2xnc2,2", "--lnc", "2")
    assert status == 0 and "add: proved" in out
    status, _, err = command(capsys, "check", kernel, *arrays)  # whose programs have two dimensions
    assert status == 2 and "AssertionError" in err
    for grid in ("0", "4,", "x", "2xnc3", "-1", "", "1" * 20):
        with pytest.raises(SystemExit, match="2"):
            command(capsys, "check", kernel, *arrays, f"--grid={grid}")
        assert "is no grid" in capsys.readouterr().err
    status, _, err = command(capsys, "check", kernel, *arrays, "--grid", "5000")
    assert status == 2 and "at most 4096" in err
