# SPDX-License-Identifier: Apache-2.0
"""spad.sweep: the same table from one process, from several and after interruptions; results that are kept; the
files that it takes; the command and its messages."""

import csv
import hashlib
import hmac
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import spad
from spad._sweep import inputs as si
from spad._sweep import pool as sweep_pool, run as sweep_run, store as sweep_store, table as sweep_table, work as sweep_work
from spad._sweep.command import Bar

KERNEL = """\
kernel ring on {target}
param S = 2
param N = 8
tensor a : {far} fp16 [N] (128, 64) input
tensor x : {near} fp16 [N] (128, 64) ring S
for i in 0..N {{
    {copy} load reads a[i] writes x[i]
    {use}  use  reads x[i]
}}
"""
TIMED = KERNEL.format(target="trn2", far="hbm", near="sbuf", copy="dma", use="scalar")
STEPS = KERNEL.format(target="GB300", far="global", near="shared", copy="copy", use="tensor")


PROGRAM = """\
import nki
import nki.isa as nisa
import nki.language as nl
from sizes import WIDTH

@nki.jit
def k(n):
    out = nl.ndarray((128, WIDTH), dtype=nl.float32, buffer=nl.shared_hbm)
    for i in range(n):
        t = nl.ndarray((128, WIDTH), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=t, value=0.0)
        nisa.dma_copy(dst=out, src=t)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "timed.spad").write_text(TIMED)
    (tmp_path / "steps.spad").write_text(STEPS)
    return tmp_path


def table(*inputs, **options):
    return spad.sweep(inputs or ["*.spad"], frame=False, **{"vary": {"S": "1..4"}, **options})


# ---- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, values", [
    ("1..6", [1, 2, 3, 4, 5, 6]), ("64,128", [64, 128]), ("1..3,8", [1, 2, 3, 8]), ("32..256*2", [32, 64, 128, 256]),
    ("0..12+4", [0, 4, 8, 12]), ("-2..0", [-2, -1, 0]), ("3,3", [3]), ("4KiB,0x10", [4096, 16]),
    ("bf16[1,2],f32[3]", ["bf16[1,2]", "f32[3]"]), ("True,007", ["True", "007"]), ("3..50*5", [3, 15]),
])
def test_values(text, values):
    assert si.values_of(text) == values


@pytest.mark.parametrize("text", ["", "1,,2", "6..1", "1..6+0", "1..6*1", "0..8*2", "0..99999999", "1..x", "1..6/2"])
def test_bad_values(text):
    with pytest.raises(spad.ArgumentError):
        si.values_of(text)


def test_values_of_python():
    assert si.check_values({"S": range(1, 3), "T": 5, "U": "1..2", "V": [True, None, 1.5]}) == {
        "S": [1, 2], "T": [5], "U": [1, 2], "V": [True, None, 1.5]}
    with pytest.raises(spad.ArgumentError):
        si.check_values({"S": []})
    with pytest.raises(TypeError):
        si.check_values({"S": [object()]})
    with pytest.raises(TypeError):
        spad.sweep("x.spad", args={"x": [1]})


def test_a_kernel_takes_whole_numbers(folder):
    for values in ("1,two", [1.5], [True], "4 KB"):
        with pytest.raises(spad.ArgumentError, match="takes whole numbers"):
            table("timed.spad", vary={"S": values})
    assert [row["S"] for row in table("timed.spad", vary={"S": ["2", "0x3"]})] == [2, 3]


@pytest.mark.parametrize("name", ["k.cu", "k.cpp", "k.h"])
def test_source_is_recognised(folder, name):
    (folder / name).write_text("__global__ void k();")
    with pytest.raises(spad.ArgumentError, match="source, which spad does not read"):
        table(name)


# ---- rows -----------------------------------------------------------------------------------------


def test_rows(folder):
    made = table(target=["trn2", "GB300"], jobs=2)
    assert [(row["file"], row["target"], row["S"]) for row in made] == [
        (file, chip, depth) for file in ("steps.spad", "timed.spad") for chip in ("trn2", "sm_103") for depth in (1, 2, 3, 4)]
    refused = [row for row in made if row["status"] == "refused"]
    assert len(refused) == 8 and all(row["message"] and row["bytes"] is None for row in refused)
    timed = [row for row in made if row["file"] == "timed.spad" and row["target"] == "trn2"]
    for row in timed:
        kernel = spad.Kernel.parse(TIMED, defines={"S": row["S"]})
        assert row["status"] == "fine" and row["unit"] == "ns"
        assert row["bytes"] == kernel.tune().data["written"]["placed"] if "written" in kernel.tune().data else True
        assert row["bytes"] == row["S"] * 128 * 64 * 2 == row["sbuf bytes"]
        assert row["makespan"] * 1000 == kernel.sim(True).makespan
    assert [row["frontier"] for row in timed] == [
        all(other["bytes"] >= row["bytes"] or other["makespan"] > row["makespan"] for other in timed) for row in timed]


def test_steps_are_not_time(folder):
    made = table("steps.spad")
    assert [(row["makespan"], row["unit"], row["time"]) for row in made][:2] == [(16, "steps", "16 steps"), (9, "steps", "9 steps")]
    assert "steps, not time" in made[0]["costs"]
    rows = list(csv.DictReader(io.StringIO(made.csv())))
    assert all(row["unit"] == "steps" and "steps" in row["time"] for row in rows)
    assert "not time" in made.text() and " us" not in made.text()


def test_a_file_is_not_varied_by_what_it_does_not_have(folder):
    (folder / "timed.spad").write_text(TIMED.replace("param S = 2", "param R = 2").replace("ring S", "ring R"))
    made = table(vary={"S": "1..3", "R": "1..2"})
    assert [(row["file"], row["S"], row["R"]) for row in made] == [
        ("steps.spad", 1, None), ("steps.spad", 2, None), ("steps.spad", 3, None),
        ("timed.spad", None, 1), ("timed.spad", None, 2)]


def test_rings_and_spaces(folder):
    made = table("timed.spad", vary=None, rings={"x": [1, 3]}, space="sbuf")
    assert [(row["ring x"], row["bytes"]) for row in made] == [(1, 16384), (3, 49152)]
    assert made[1]["command"] == "spad plan timed.spad --ring x=3; spad sim timed.spad --ring x=3"
    assert table("timed.spad", space="psum")[0]["bytes"] is None


def test_wrong_deadlocked_and_too_large(folder):
    (folder / "timed.spad").write_text(TIMED.replace("(128, 64)", "(128, 65536)"))
    states = {row["S"]: row["status"] for row in table("timed.spad")}
    assert states == {1: "fine", 2: "does not fit", 3: "does not fit", 4: "does not fit"}
    (folder / "stuck.spad").write_text("kernel d on H100\nmbarrier m count 1\ntensor x : shared f32 (64)\n"
                                       "agent a {\n    init m\n    wait m parity 0\n    simt f writes x\n}\n")
    stuck = table("stuck.spad", vary=None)[0]
    assert stuck["status"] == "deadlock" and stuck["makespan"] is None and "parity 0" in stuck["message"]
    (folder / "wrong.spad").write_text(TIMED.replace("    dma load reads a[i] writes x[i]\n", ""))
    assert {row["status"] for row in table("wrong.spad")} == {"wrong"}
    assert not any(row["frontier"] for row in table("wrong.spad"))


def test_frontier_against_its_definition():
    rng = random.Random(5)
    for _ in range(200):
        count = rng.randrange(1, 12)
        jobs = [{"kind": "kernel", "file": "k", "function": "", "values": {"S": n}, "rings": {}, "args": {}, "target": None,
                 "space": None, "signature": ""} for n in range(count)]
        timed = rng.random() < 0.8
        rows = [sweep_work._row(rng.choice(("fine", "fine", "wrong")), bytes=rng.randrange(6), unit="time" if timed else None,
                                 makespan=rng.randrange(6) if timed else None) for _ in jobs]
        for made in (sweep_table.SweepTable(jobs, rows), sweep_table.SweepTable(jobs[::-1], rows[::-1])):
            good = [row for row in made if row["status"] == "fine"]
            point = lambda row: (row["bytes"], row["makespan"] or 0)
            for row in made:
                beaten = any(point(other) != point(row) and all(a <= b for a, b in zip(point(other), point(row)))
                             for other in good)
                assert row["frontier"] == (row["status"] == "fine" and not beaten)


# ---- the same from all workers, in all orders -----------------------------------------------------


def test_one_process_or_many(folder):
    one = table(jobs=1)
    many = table(jobs=5)
    assert one.rows == many.rows and one.csv() == many.csv() and one.html() == many.html()
    turned = table("timed.spad", "steps.spad", vary={"S": [4, 3, 2, 1]}, jobs=2)
    key = lambda row: (row["file"], row["S"])
    assert sorted(turned.rows, key=key) == sorted(one.rows, key=key)


def test_a_process_that_is_killed(folder, monkeypatch):
    expected = table(jobs=2)
    ask, killed = sweep_pool._Process.ask, []

    def once(self, question):
        if self._process is not None and not killed:
            killed.append(self._process.pid)
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
        return ask(self, question)

    monkeypatch.setattr(sweep_pool._Process, "ask", once)
    assert table(jobs=2).rows == expected.rows and len(killed) == 1


def test_a_combination_that_kills_its_process(folder):
    (folder / "bad.py").write_text(PROGRAM.replace("WIDTH", "512").replace("from sizes import 512", "import os")
                                   + "    print('noise')\n    os.kill(os.getpid(), 9) if n == 2 else None\n    return out\n")
    made = table("bad.py:k", vary={"n": "1..3"}, results="kept")
    assert [row["status"] for row in made] == ["fine", "refused", "fine"] and "SIGKILL" in made[1]["message"]
    assert len(kept_files(folder)) == 2  # the next sweep tries it again


def test_nothing_is_left_running(folder, monkeypatch):
    import threading

    made, start = [], sweep_pool._Process._start
    monkeypatch.setattr(sweep_pool._Process, "_start", lambda self: (start(self), made.append(self._process)))
    before = threading.active_count()
    table(jobs=3)
    table(jobs=3, stop_after=1)
    assert threading.active_count() == before
    assert len(made) >= 2 and all(process.poll() is not None for process in made)


# ---- results that are kept ------------------------------------------------------------------------


def kept_files(folder):
    return sorted((folder / "kept").glob("??/*.json"))


@pytest.fixture
def asked(monkeypatch):
    """The jobs that workers were asked for."""
    jobs, run = [], sweep_pool.Pool.run

    def spy(self, questions):
        jobs.extend(question["job"] for question in questions if question["do"] == "point")
        yield from run(self, questions)

    monkeypatch.setattr(sweep_pool.Pool, "run", spy)
    return jobs


def test_results_are_found(folder, asked):
    first = table(results="kept")
    assert len(asked) == 8 == len(kept_files(folder))
    assert table(results="kept").rows == first.rows and len(asked) == 8
    assert table(results="kept", vary={"S": "3..5"}, jobs=1).done == 6 and len(asked) == 10
    table(results="kept", timeout=50)  # another option
    assert len(asked) == 18
    table(results="kept", fresh=True)
    assert len(asked) == 26
    (folder / "timed.spad").write_text(TIMED + "# more\n")
    table(results="kept")
    assert len(asked) == 30
    assert not list(folder.glob("kept/**/.*.tmp"))


def test_another_build_finds_nothing(folder, asked, monkeypatch):
    table("timed.spad", results="kept")
    monkeypatch.setattr(sweep_store, "build", lambda: [sweep_store.FORMAT, "9.9.9", "0"])
    table("timed.spad", results="kept")
    assert len(asked) == 8


@pytest.mark.parametrize("damage", [b"", b"{", b"null", b"[]", b"{}", None, "row", "name"])
def test_damaged_results_are_made_again(folder, asked, damage):
    first = table("timed.spad", results="kept")
    victim, other = kept_files(folder)[:2]
    content = victim.read_bytes()
    if damage is None:
        victim.write_bytes(content[:len(content) // 2])
    elif damage == "row":
        victim.write_bytes(content.replace(b'"fine"', b'"find"'))
    elif damage == "name":
        victim.write_bytes(other.read_bytes())
    else:
        victim.write_bytes(damage)
    assert table("timed.spad", results="kept").rows == first.rows
    assert len(asked) == 5 and victim.read_bytes() == content


@pytest.fixture
def bounded():
    """A file without end that is read all the same ends in a MemoryError."""
    most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, most[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, most)


def sum_without_key(content, key, row, files):
    text = json.dumps([row, files], sort_keys=True).encode()
    return json.dumps({"key": key, "sum": hashlib.sha256(text).hexdigest(), "row": row, "files": files}).encode()


def code_of_another_key(content, key, row, files):
    text = json.dumps({"row": row, "files": files}).encode()
    return hmac.new(b"", key.encode() + text, "sha256").hexdigest().encode() + b"\n" + text


def code_of_another_row(content, key, row, files):
    return content[:64] + b"\n" + json.dumps({"row": row, "files": files}).encode()


@pytest.mark.parametrize("forged", [sum_without_key, code_of_another_key, code_of_another_row])
@pytest.mark.parametrize("row, files", [
    ({"status": "fine"}, {}), (None, {}), ([], []), ("fine", {"x": 1}), ({"status": "fine"}, {"/dev/zero": "0"}),
    ({"status": "fine", "bytes": "x", "spaces": [1]}, {}), (sweep_work._row("fine", bytes=1), {})])
def test_results_of_somebody_else_are_not_read(folder, asked, bounded, forged, row, files):
    """A folder of results can come with the files of somebody who knows the format, but not the user's key."""
    first = table("timed.spad", results="kept")
    for path in kept_files(folder):
        path.write_bytes(forged(path.read_bytes(), path.stem, row, files))
    assert table("timed.spad", results="kept").rows == first.rows and len(asked) == 8


def test_results_of_another_user_are_made_again(folder, asked, monkeypatch):
    first = table("timed.spad", results="kept")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    assert table("timed.spad", results="kept").rows == first.rows and len(asked) == 8
    key = folder / "state" / "spad" / "results.key"
    assert key.stat().st_mode & 0o777 == 0o600 and len(key.read_bytes()) == 32
    key.write_bytes(b"short")
    with pytest.raises(OSError, match="is not a key of spad; delete it"):
        table("timed.spad", results="kept")
    monkeypatch.setenv("XDG_STATE_HOME", "here")
    with pytest.raises(OSError, match="cannot keep results without a key in 'here/spad/results.key'"):
        table("timed.spad", results="kept")
    assert not (folder / "here").exists()


@pytest.mark.parametrize("make", [
    lambda path: path.symlink_to("/dev/zero"), os.mkfifo, lambda path: path.mkdir(), lambda path: path.symlink_to(path),
    lambda path: path.write_bytes(b"x" * (sweep_store.ROW_MOST + 1))], ids=["device", "pipe", "folder", "loop", "large"])
def test_what_is_no_file_of_results_is_not_read(folder, asked, bounded, make):
    first = table("timed.spad", results="kept", vary=None)
    victim, = kept_files(folder)
    victim.unlink()
    make(victim)
    store = sweep_store.Store("kept")
    assert store.load(victim.stem) is None and len(asked) == 1
    if not victim.is_dir():
        assert table("timed.spad", results="kept", vary=None).rows == first.rows and not victim.is_symlink()


def test_only_regular_files_are_hashed(folder, bounded):
    os.mkfifo(folder / "pipe")
    assert [sweep_work.file_hash(path) for path in ("/dev/zero", "pipe", ".", "nothing")] == [None] * 4
    assert sweep_work.file_hash("timed.spad") == hashlib.sha256(TIMED.encode()).hexdigest()
    store = sweep_store.Store("kept")
    store.save("0" * 64, {}, {str(folder / "pipe"): None})
    assert store.load("0" * 64) is None  # a file that could not be read may have changed


@pytest.mark.parametrize("name", [".", "own", "empty", "git"])
def test_a_folder_of_others_is_not_taken(folder, name):
    """Its files stay as they are: results are kept in folders that a sweep has made."""
    for part in ("own", "empty", "git/.git"):
        (folder / part).mkdir(parents=True)
    for part in (".", "own"):
        (folder / part / ".gitignore").write_text("*.o\n")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(spad.ArgumentError, match="is not a folder that a sweep has made; results need one of their own"):
        table("timed.spad", results=name)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_folder_of_results_is_marked(folder):
    (folder / ".gitignore").write_text("*.o\n")
    table("timed.spad", results="a/kept")
    assert (folder / "a" / "kept" / sweep_store.MARKER).is_file()
    assert (folder / "a" / "kept" / ".gitignore").read_text() == "*\n"
    (folder / "a" / "kept" / ".gitignore").write_text("mine\n")
    table("timed.spad", results="a/kept")
    assert (folder / "a" / "kept" / ".gitignore").read_text() == "mine\n"
    assert (folder / ".gitignore").read_text() == "*.o\n" and [path.name for path in (folder / "a").iterdir()] == ["kept"]


def test_sweeps_that_make_a_folder_at_the_same_time(folder, monkeypatch):
    rename = os.rename

    def slow(old, new):
        if not os.path.exists(new):
            rename(shutil.copytree(old, "other"), new)  # another sweep was faster
            os.mkdir(os.path.join(new, "ab"))
        rename(old, new)

    monkeypatch.setattr(sweep_store.os, "rename", slow)
    table("timed.spad", results="kept")
    assert len(kept_files(folder)) == 4 and not list(folder.glob(".spad-*"))


def test_an_imported_file_that_changes(folder, asked):
    (folder / "sizes.py").write_text("WIDTH = 512\n")
    (folder / "prog.py").write_text(PROGRAM + "    return out\n")
    first = table("prog.py:k", vary={"n": [1, 2]}, results="kept")
    assert table("prog.py:k", vary={"n": [1, 2]}, results="kept").rows == first.rows and len(asked) == 2
    (folder / "sizes.py").write_text("WIDTH = 1024\n")
    second = table("prog.py:k", vary={"n": [1, 2]}, results="kept")
    assert len(asked) == 4 and [b["bytes"] / a["bytes"] for a, b in zip(first, second)] == [2, 2]


def test_a_sweep_that_stops_goes_on(folder, asked):
    whole = table()
    del asked[:]
    seen = []
    part = table(results="kept", stop_after=3, progress=lambda done, total: seen.append((done, total)))
    assert part.done == 3 and part.total == 8 and len(asked) == 3 and seen[0] == (0, 8) and seen[-1] == (3, 8)
    assert "3 of 8" in repr(part)
    assert table(results="kept", stop_after="1h").rows == whole.rows and len(asked) == 8
    assert table(results="kept2", stop_after="0.000001s", jobs=1).done == 1


def test_an_exception_keeps_what_is_there(folder, asked):
    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table(results="kept", jobs=1, progress=stop)
    assert len(kept_files(folder)) == 2
    assert table(results="kept").rows == table().rows and len(asked) == 8 + 6 + 8


# ---- other files ----------------------------------------------------------------------------------


def test_buffers(folder):
    (folder / "b.csv").write_text("id,lower,upper,size\na,0,2,4096\nb,1,3,4096\nc,2,4,4096\n")
    made = table("b.csv", vary={"capacity": "4KiB,8KiB,1MiB"})
    assert [(row["status"], row["bytes"]) for row in made] == [("does not fit", 8192), ("fine", 8192), ("fine", 8192)]
    assert made[2]["unit"] is None and made[2]["makespan"] is None and made[2]["time"] == "" and made[2]["lowest"]
    assert [row["frontier"] for row in made] == [False, True, True]
    chip = table("b.csv", vary=None, target="H100", space="shared")[0]
    assert chip["target"] == "sm_90" and chip["status"] == "fine" and chip["shared bytes"] == 8192
    assert "--space" in table("b.csv", vary=None, target="H100")[0]["message"]


def test_buffers_of_several_memories(folder):
    (folder / "b.csv").write_text("id,lower,upper,size,space\na,0,2,4096,sram\nb,1,3,4096,sram\nc,0,3,512,bank\n")
    made = table("b.csv", vary={"sram": "4KiB,8KiB"})
    assert [(row["status"], row["bytes"], row["sram bytes"], row["bank bytes"]) for row in made] == [
        ("does not fit", 8704, 8192, 512), ("fine", 8704, 8192, 512)]
    assert made[0]["message"] == "too much for sram" and made[1]["command"] == "spad plan b.csv --space sram=8192 --space bank --minimize"
    shown = subprocess.run([sys.executable, "-m", *made[1]["command"].split()], capture_output=True, text=True)
    assert shown.returncode == 0 and "space     bank" in shown.stdout
    with pytest.raises(spad.ArgumentError, match="no parameter 'capacity'"):
        table("b.csv", vary={"capacity": 1})
    (folder / "b.csv").write_text("id;lower;upper;size;space\na;0;2;4096;shared\nb;1;3;100;registers\n")
    assert table("b.csv", vary=None, target="H100")[0]["status"] == "fine"


def test_ttgir(root, folder):
    text = root / "tests" / "ttgir" / "softmax_sm80_s3_v39.ttgir"
    made = table(text, vary={"rows": "128..512*2"})
    assert [row["status"] for row in made] == ["fine"] * 3
    times = [row["makespan"] for row in made]
    assert times == sorted(times) and times[0] < times[2] and made[0]["target"] == "sm_80"
    expected = spad.Kernel.load(text, defines={"rows": 256})
    assert made[1]["makespan"] * 1000 == expected.sim(True).makespan
    with pytest.raises(spad.ArgumentError, match="no parameter 'row'; did you mean 'rows'"):
        table(text, vary={"row": "1"})


def test_trees_of_tilelang(root, folder):
    made = table(root / "tests/python/golden/tilelang/gemm_sm_90.json", vary=None, target=["H100", "A100"])
    assert made[0]["status"] == "fine" and made[0]["makespan"] > 0
    assert made[1]["status"] == "refused" and "lowered it for sm_90" in made[1]["message"]
    (folder / "no.json").write_text("{")
    assert "is no JSON" in table("no.json", vary=None)[0]["message"]


def test_programs(root, folder):
    kernel = f"{root}/tests/python/nki_kernels.py:matmul"
    made = table(kernel, vary={"rhs": "bf16[256,256],bf16[256,512],bf16[99,7]"}, target="trn2")
    assert [row["status"] for row in made] == ["fine", "fine", "refused"]
    import spad.nki.trace as nt

    with nt.installed():
        traced = nt.trace(nt.load(kernel), nt.hbm((256, 128), "bf16"), nt.hbm((256, 512), "bf16"), target="trn2")
    assert made[1]["makespan"] * 1000 == traced.sim(True).makespan
    assert made[1]["command"] == f"spad sweep {kernel} --vary 'rhs=bf16[256,512]' --target trn2"
    given = table(kernel, vary=None, args={"lhsT": "bf16[256,128]", "rhs": "bf16[256,512]"})
    assert given[0]["bytes"] == made[1]["bytes"] and given[0]["makespan"] == made[1]["makespan"]
    wrong = table(f"{root}/tests/python/nki_kernels.py:nothing", vary={"a": 1})
    assert wrong[0]["status"] == "refused" and "has no 'nothing'" in wrong[0]["message"]


def test_findings_name_lines_of_the_program(folder):
    (folder / "prog.py").write_text(PROGRAM.replace("WIDTH", "512").replace("from sizes import 512\n", "")
                                    .replace("        nisa.memset(dst=t, value=0.0)\n", ""))
    made = table("prog.py:k", vary={"n": [1, 2]})
    assert [row["status"] for row in made] == ["wrong", "wrong"]
    assert all(Path(row["message"].partition(":")[0]).name == "prog.py" and ":10: " in row["message"] for row in made), made[0]["message"]


TRITON = """\
import triton
import triton.language as tl

@triton.jit
def matmul(a, b, c, K, M, BM: tl.constexpr, BK: tl.constexpr):
    m, k = tl.arange(0, BM), tl.arange(0, BK)
    left, right = a + m[:, None] * M + k[None, :], b + k[:, None] * M + m[None, :]
    acc = tl.zeros((BM, BM), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(left), tl.load(right), acc)
        left += BK
        right += BK * M
    tl.store(c + m[:, None] * M + m[None, :], acc)
"""


def test_triton(folder):
    (folder / "prog.py").write_text(TRITON)
    options = {"signature": "a=*fp16:16,b=*fp16:16,c=*fp32:16,K=i32:16,M=i32:16", "args": {"BM": 64, "K": 512}}
    try:
        import triton  # noqa: F401
    except ImportError:
        made = table("prog.py:matmul", vary={"num_stages": "2..3"}, target="A100", **options)
        assert [(row["status"], row["message"]) for row in made] == [("refused", "No module named 'triton'")] * 2
        pytest.skip("there is no Triton")
    made = table("prog.py:matmul", vary={"BK": [32, 64], "num_stages": "2..3"}, target="A100", **options)
    assert [row["status"] for row in made] == ["fine"] * 4 and all(row["unit"] == "ns" for row in made)
    assert made[0]["shared bytes"] < made[1]["shared bytes"] < made[3]["shared bytes"]
    assert made[0]["makespan"] > made[1]["makespan"]


TILELANG = """\
import tilelang
import tilelang.language as T

def gemm(BM=128, BK=32, stages=3):
    @T.prim_func
    def main(A: T.Tensor((512, 512), "float16"), B: T.Tensor((512, 512), "float16"), C: T.Tensor((512, 512), "float16")):
        with T.Kernel(512 // BM, 512 // BM, threads=128) as (bx, by):
            a = T.alloc_shared((BM, BK), "float16")
            b = T.alloc_shared((BK, BM), "float16")
            acc = T.alloc_fragment((BM, BM), "float32")
            T.clear(acc)
            for k in T.Pipelined(512 // BK, num_stages=stages):
                T.copy(A[by * BM, k * BK], a)
                T.copy(B[k * BK, bx * BM], b)
                T.gemm(a, b, acc)
            T.copy(acc, C[by * BM, bx * BM])
    return main

one = gemm()

@tilelang.jit(out_idx=[-1])
def compiled(BM=128, BK=32, stages=3):
    return gemm(BM, BK, stages)
"""


def test_tilelang(folder):
    (folder / "prog.py").write_text(TILELANG)
    try:
        import tilelang  # noqa: F401
    except ImportError:
        made = table("prog.py:gemm", vary={"stages": "2..3"}, target="H100")
        assert [(row["status"], row["message"]) for row in made] == [("refused", "No module named 'tilelang'")] * 2
        pytest.skip("there is no TileLang")
    made = table("prog.py:gemm", "prog.py:one", vary={"stages": "1..3"}, target=["H100", "A100"])
    assert [row["stages"] for row in made] == [1, 2, 3, 1, 2, 3, None, None]
    assert [row["status"] for row in made] == ["fine"] * 8, made.text()
    assert made[0]["shared bytes"] < made[1]["shared bytes"] < made[2]["shared bytes"]
    assert made[0]["makespan"] > made[2]["makespan"] and made[6]["makespan"] == made[2]["makespan"]
    jit = table("prog.py:compiled", vary={"stages": "1..3"}, target="H100")
    assert [row["shared bytes"] for row in jit] == [row["shared bytes"] for row in made[:3]]
    assert [row["makespan"] for row in jit] == [row["makespan"] for row in made[:3]]


def test_recorded_kernels_and_chips(folder):
    chip = spad.Target("trn2").text().replace("target trn2", "target mine")
    (folder / "mine.chip").write_text(chip)
    made = table("timed.spad", vary={"S": 2}, target=["mine.chip", spad.Target.parse(chip), "trn2"])
    assert [row["target"] for row in made] == ["mine", "mine", "trn2"] and len({row["makespan"] for row in made}) == 1


def test_pandas(folder):
    pandas = pytest.importorskip("pandas", reason="there is no pandas")
    made = spad.sweep("timed.spad", {"S": range(1, 4)})
    assert isinstance(made, pandas.DataFrame) and list(made["S"]) == [1, 2, 3] and made["frontier"].any()


# ---- the command ----------------------------------------------------------------------------------


def command(*words, **more):
    return subprocess.run([sys.executable, "-m", "spad", "sweep", *words], capture_output=True, text=True, **more)


def test_command(folder):
    done = command("*.spad", "--vary", "S=1..3", "-o", "a.html", "-o", "a.csv", "-o", "a.json", "-j", "1")
    assert done.returncode == 0 and "wrote a.html\nwrote a.csv\nwrote a.json\n" in done.stderr
    assert "\x1b" not in done.stderr and "sweep 1" not in done.stderr  # no progress in a pipe
    assert (folder / ".spad-sweep").is_dir()
    again = command("*.spad", "--vary", "S=1..3", "--json")
    assert json.loads(again.stdout) == json.loads((folder / "a.json").read_text()) and "6 of them from" in again.stderr
    assert (folder / "a.csv").read_text() == table(vary={"S": "1..3"}).csv()
    part = command("*.spad", "--vary", "S=1..3", "--results", "other", "--stop-after", "2")
    assert part.returncode == 0 and "2 of 6 combinations; the same command goes on" in part.stderr
    (folder / "timed.spad").write_text("kernel")
    assert command("*.spad", "--vary", "S=1").returncode == 1


def test_manual_page(root):
    """What docs/sweep.md shows is what comes out."""
    binary = Path(spad.__file__).with_name("spad")
    home = str(Path(spad.__file__).parents[1])
    done = subprocess.run([root / "tests" / "check_console", root, binary, root / "docs" / "sweep.md"], capture_output=True,
                          text=True, env={**os.environ, "SPAD_PYTHON": sys.executable, "PYTHONPATH": home})
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_of_a_row(folder, root):
    """It shows the same bytes and time."""
    row = next(row for row in table("timed.spad") if row["S"] == 3)
    plan, sim = row["command"].split("; ")
    assert plan == "spad plan timed.spad -D S=3" and sim == "spad sim timed.spad -D S=3"
    plan, sim = (json.loads(subprocess.run([sys.executable, "-m", *words.split(), "--json"], capture_output=True, text=True,
                                           check=True).stdout) for words in (plan, sim))
    assert sum(space["used"] * 128 for space in plan["layout"]["spaces"] if space["space"] == "sbuf") == row["bytes"]
    assert sim["makespan_ps"] == row["makespan"] * 1000


def test_ctrl_c(folder):
    (folder / "timed.spad").write_text(TIMED.replace("param N = 8", "param N = 1000"))
    words = ["timed.spad", "--vary", "S=1..4", "--vary", "N=1000..1009", "-j", "1", "-o", "a.csv", "--results", "kept"]
    run = subprocess.Popen([sys.executable, "-m", "spad", "sweep", *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                           text=True, start_new_session=True)
    while run.poll() is None and not kept_files(folder):
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    _, messages = run.communicate()
    assert run.returncode == 130, messages
    assert " of 40 combinations; the same command goes on" in messages and "Traceback" not in messages
    rows = (folder / "a.csv").read_text().splitlines()
    assert 2 <= len(rows) <= 40 and len(rows) == len(kept_files(folder)) + 1
    assert not list(folder.glob("kept/**/.*.tmp"))
    done = command(*words)
    assert done.returncode == 0 and f"{len(rows) - 1} of them from kept" in done.stderr
    assert set(rows) <= set((folder / "a.csv").read_text().splitlines())


ERRORS = (
    "", "'nothing/*.spad' --vary S=1..2", "prog.py --vary S=1", "image.spad", "timed.spad --vary S", "timed.spad --vary S=",
    "timed.spad --vary S=4..1", "timed.spad --vary S=1..9*1", "timed.spad --vary S=1,,2", "timed.spad --vary S=1 --vary S=2",
    "timed.spad --vary SS=1..2", "timed.spad --vary depth=1..2", "'*d.spad' steps.spad --vary BM=64,128", "timed.spad --target H10",
    "timed.spad --target trn2,", "timed.spad --target mine.chip", "timed.spad --varry S=1", "timed.spad --vary", "timed.spad -j 0",
    "timed.spad -j x", "timed.spad --timeout soon", "timed.spad --stop-after soon", "timed.spad --stop-after 1.5",
    "timed.spad -o sweep.txt", "timed.spad -o no/sweep.html", "timed.spad --results timed.spad", "timed.spad --results timed.spad/kept",
    "timed.spad --arg n=1", "timed.spad --ring x", "timed.spad --ring y=2", "timed.spad --vary S=0..1",
)


def test_messages(folder, root):
    """tests/python/golden/sweep_messages.txt; SPAD_ACCEPT=1 writes it."""
    (folder / "prog.py").write_text("import nki\n")
    (folder / "image.spad").write_bytes(b"\x89PNG\xff\xfe")
    import contextlib
    import shlex

    from spad._sweep.command import main

    shown = []
    for words in ERRORS:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(shlex.split(words))
        shown.append(f"$ spad sweep {words}\n{out.getvalue()}{err.getvalue()}status {status}\n")
    golden = root / "tests" / "python" / "golden" / "sweep_messages.txt"
    if os.environ.get("SPAD_ACCEPT") == "1":
        golden.write_text("\n".join(shown), encoding="ascii")
    assert "\n".join(shown) == golden.read_text(encoding="ascii")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("spad._sweep.command.time.monotonic", lambda: now[0])
    screen = Terminal()
    bar = Bar(screen)
    for done in range(9):
        bar(done, 8)
        now[0] += 0.5
    bar.clear()
    shown = screen.getvalue()
    assert shown.startswith("\r\x1b[Ksweep 2 of 8 [#######.....................] 1 s, about 3 s left")
    assert shown.count("\r") == 8 and shown.endswith("\r\x1b[K")
    bar = Bar(io.StringIO())
    now[0] += 5
    bar(1, 2)
    bar.clear()


# ---- the page -------------------------------------------------------------------------------------


def test_page_holds_any_text(folder):
    (folder / "timed.spad").write_text("kernel </script><b>")
    page = table().html()
    assert page.count("</script>") == 2 and "/*DATA*/" not in page and "</script><b>" not in page
    data = page.partition('id="data">')[2].partition("</script>")[0]
    assert len(json.loads(data)["rows"]) == 5


def test_page_has_a_policy(folder, root, monkeypatch):
    """What a text of the user gets into the page does not run: only the page's own style and script do."""
    monkeypatch.syspath_prepend(str(root / "tests" / "report"))
    from page import check_policy

    check_policy(table().html())


def test_page_in_a_browser(folder, root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "tests" / "report"))
    import browser as driver

    if driver.find() is None:
        pytest.skip("there is no Chromium")
    made = table(target=["trn2", "GB300"], output="a.html")
    window = driver.Browser()
    try:
        for width, dark in ((1400, False), (390, True)):
            window.open(str(folder / "a.html"), width, 900, dark)
            window.settle()
            assert window.faults() == []
            assert window.run("document.documentElement.scrollWidth <= innerWidth")
            assert window.run("performance.getEntriesByType('resource').length") == 0
            assert window.run("document.querySelectorAll('.kernel').length") == 2
            fine = [row for row in made if row["status"] == "fine"]
            assert window.run("document.querySelectorAll('.point').length") == len(fine)
            assert window.run("document.querySelectorAll('.point:not(.dim)').length") == len(made.frontier())
            assert window.run("document.querySelectorAll('#rows tr').length") == 16
            assert "not time" in window.run("document.querySelector('.chart').textContent")
            x, y = window.run("(() => { const p = document.querySelector('.kernel:nth-child(2) .point:not(.dim)'); p.scrollIntoView({block: 'center'});"
                              " const b = p.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
            window.hover(x, y)
            assert "S = " in window.run("document.getElementById('tip').textContent")
            window.click(x, y)
            assert window.run("document.querySelector('.card code').textContent").startswith("spad plan timed.spad -D S=")
            window.run("document.querySelectorAll('#heads button')[names.indexOf('bytes')].click()")
            sizes = window.run("[...document.querySelectorAll('#rows tr')].map(r => get(data.rows[r.dataset.row], 'bytes'))")
            assert sizes == sorted(sizes[:8]) + [None] * 8
            window.run("document.getElementById('only').click()")
            assert window.run("document.querySelectorAll('#rows tr').length") == len(made.frontier())
            assert window.run("csvText()") == made.csv()
    finally:
        window.close()
