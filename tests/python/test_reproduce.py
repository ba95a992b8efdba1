# SPDX-License-Identifier: Apache-2.0
"""spad cuda reproduce: changed PTX and a launcher, as far as they go without a GPU."""

import json
import re
import shutil
import subprocess
import sys

import pytest

import spad._reproduce as reproduce
import spad.cuda as sc
from spad._reproduce.change import Site, crowded, delayed_everywhere, late

LAUNCH = """version = 1
module = "copies.ptx"
kernel = "{kernel}"
block = {block}
args = {args}
"""
RING = {"kernel": "ring_sum_early", "block": 160, "args": '["in=f32[8,256]", "2=8", "1=f32[128]"]'}


@pytest.fixture
def folder(root, tmp_path, monkeypatch):
    """Of the race in ring_sum_early: a bulk copy into a tile that warps still read."""
    monkeypatch.setenv("PTXAS", str(tmp_path / "none"))
    shutil.copy(root / "tests" / "ptx" / "copies.ptx", tmp_path)
    (tmp_path / "early.toml").write_text(LAUNCH.format(**RING))
    assert reproduce.main([str(tmp_path / "early.toml"), "-o", str(tmp_path / "out")]) == 0
    return tmp_path / "out"


def check(path, **launch):
    return sc.check(path, "ring_sum_early", block=160, args=["f32[8,256]", "f32[128]", 8], **launch)


def test_the_warps_of_the_finding_are_late(folder):
    """One variant for the read that the copy has to wait for, one for the copy; nothing else changes."""
    plain = (folder / "plain.ptx").read_text().split("\n")
    for name, warp, instruction in (("late0", 1, "ld.shared.f32"), ("late1", 0, "cp.async.bulk.shared")):
        changed = [line for line in (folder / f"{name}.ptx").read_text().split("\n") if line not in plain]
        assert len(changed) == 2 and "spad_delay" in changed[0]
        assert f"sub.u32 %sa, %sa, {warp}; setp.lt.u32 %sp, %sa, 1;" in changed[1] and "nanosleep" in changed[1]
        assert changed[1].split("} ")[1].strip().startswith(instruction)


def test_changed_kernels_are_still_the_same(folder):
    """spad reads them, and sees the same race: a delay orders nothing, and touches no shared memory."""
    expected = [finding.code for finding in check(folder / "plain.ptx").findings]
    assert expected == ["SPAD-RACE"]
    for name in json.loads((folder / "launch.json").read_text())["variants"]:
        assert [finding.code for finding in check(folder / f"{name}.ptx").findings] == expected, name


def test_delays_everywhere(folder):
    """Before each access and synchronisation of this kernel, and of no other one."""
    plain, delayed = ((folder / name).read_text() for name in ("plain.ptx", "random.ptx"))
    body = plain[plain.index(".entry ring_sum_early"):]
    body = body[:body.index(".entry", 10)]
    count = len(re.findall(r"^\s*\{?\s*(?:@\S+\s+)?(?:ld\.(?!param)|st\.|bar|mbarrier|fence|cp\.)", body, re.MULTILINE))
    assert delayed.count("nanosleep") == count > 10
    changed = delayed_everywhere(plain, "ring_sum")
    assert changed[changed.index(".entry ring_sum_early"):] == plain[plain.index(".entry ring_sum_early"):]


def test_a_guard_belongs_to_its_instruction():
    ptx = ".target sm_80\n.address_size 64\n\t@%p1 st.shared.u32 [%r1], %r2;\n"
    changed = late(ptx, Site(3, 7, 0, 4, 4, "")).split("\n")
    assert changed[-2].startswith("\t{ .reg .pred %sp;") and changed[-2].endswith("} @%p1 st.shared.u32 [%r1], %r2;")
    assert "%cluster_ctarank" not in changed[-2]
    assert crowded(ptx, Site(3, 7, 0, 4, 4, "")) is None
    store = ptx.replace("st.shared.u32 [%r1], %r2;", "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 64;")
    assert crowded(store, Site(3, 7, 0, 0, 1, "")).count("@%p1 cp.async.bulk.global") == 13


def run(folder, *options, **environment):
    return subprocess.run([sys.executable, folder / "run.py", "--dry-run", "--runs", "20", "--out", folder / "results.jsonl",
                           *options], capture_output=True, text=True, check=True, env=environment).stdout


def test_launcher(folder):
    """Everything but the launches. The variants that follow a hang run in a process of their own."""
    assert "late1           0 of     20 runs differ, 1 results\n" in run(folder)
    records = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert [record["variant"] for record in records] == ["plain", "random", "late0", "late1"]
    assert all(list(record["results"].values()) == [20] for record in records)
    assert run(folder, SPAD_DRY_HANG="1").count("then a launch that did not end") == 4


def test_arguments_become_memory(root, tmp_path):
    kernel = {"name": "k", "required_threads": None, "cluster": None, "parameters": [
        {"type": kind, "bytes": size, "align": align} for kind, size, align in
        (("u32", 4, 4), ("u64", 8, 8), ("b8", 128, 64), ("f32", 4, 4))]}
    words = ["n=-1", "t=i32[3]=1,2,-1", "m=tensormap:bf16[64,32],box[8,16],swizzle32", "x=0.5"]
    launch = reproduce.launch_of(f"version = 1\nmodule = \"k.ptx\"\nblock = [32, 2]\nargs = {json.dumps(words)}\n", kernel)
    data = bytes.fromhex(launch["parameters"])
    first, second = launch["memory"]
    assert launch["offsets"] == [0, 8, 64, 192] and launch["block"] == [32, 2, 1] and launch["cluster"] == [1, 1, 1]
    assert data[:4] == b"\xff" * 4 and data[8:16] == first["address"].to_bytes(8, "little") and data[192:] == b"\0\0\0\x3f"
    assert (first["bytes"], first["contents"]) == (12, "0100000002000000ffffffff") and second["bytes"] == 64 * 32 * 2
    assert launch["maps"] == [{"parameter": 64, "type": 9, "size": [32, 64], "stride": [64], "box": [16, 8],
                               "address": second["address"], "swizzle": 1}]
    recorded = reproduce.launch_of((root / "tests" / "ptx" / "cute_copy.toml").read_text(),
                                   sc.kernels(root / "tests" / "ptx" / "cute_copy.ptx")[0])
    assert recorded["maps"][0]["stride"] == [64] and recorded["maps"][0]["address"] == 0x700000000000


def test_refusals(tmp_path, capsys, root):
    def said(text, *options):
        (tmp_path / "x.toml").write_text(text)
        assert reproduce.main([str(tmp_path / "x.toml"), "-o", str(tmp_path / "out"), *options]) == 2
        return capsys.readouterr().err
    shutil.copy(root / "tests" / "ptx" / "copies.ptx", tmp_path)
    assert "there is no finding 2: the check has 1 errors and warnings" in said(LAUNCH.format(**RING), "--finding", "2")
    assert "give it as PTX" in said(LAUNCH.format(**RING).replace("copies.ptx", "copies.cu"))
    with pytest.raises(ValueError, match="is not one kernel"):
        reproduce._entry(tmp_path / "copies.ptx", "ring*")
    with pytest.raises(ValueError, match="'q7' is no type"):
        reproduce.tensor_map("q7[8,8],box[8,8]", reproduce._Memory())
