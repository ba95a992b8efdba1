# SPDX-License-Identifier: Apache-2.0
"""spad.triton: recorded TTGIR everywhere; with the package triton also functions, stages and its passes."""

import argparse
import linecache
import re
import struct
import subprocess
import sys
import types

import pytest

import spad
import spad.triton as st
from spad.triton import _function as triton_function, _membar as triton_membar, _scratch as triton_scratch

try:
    import triton as real
except ImportError:
    real = None

needs_triton = pytest.mark.skipif(real is None, reason="the package triton is not installed")
TYPES = {"a_desc": "tensordesc<fp16[128, 64]>", "b_desc": "tensordesc<fp16[128, 64]>",
         "c_desc": "tensordesc<fp16[128, 128]>", "M": "i32:16", "N": "i32:16", "K": "i32:16"}
SIZES = {"BM": 128, "BN": 128, "BK": 64, "SPECIALISE": False}


def recorded(root, name):
    return (root / "tests" / "ttgir" / f"{name}.ttgir").read_text(encoding="utf-8")


def without_lines(kernel):
    return [line for line in kernel.text().splitlines() if not line.startswith("source ")]


def test_text_and_file(root):
    text = recorded(root, "matmul_tma_sm90_s3_v39")
    k = st.load(text, sizes={"K": 4096}, placed=False)
    assert k.name == "matmul_tma" and k.target.name == "sm_90" and k.ttgir == text
    assert k.params["K_tiles"] == 64 and k.info["assumed"] == "" and not k.info["unrolled"]
    check = k.check()
    assert check.verdict == "proved for all trip counts" and check.reason == "for all K_tiles"
    assert k.bytes == {"triton": None, "spad": 98328}
    same = st.load(root / "tests" / "ttgir" / "matmul_tma_sm90_s3_v39.ttgir", placed=False)
    assert same.info["assumed"] == "K = 4096" and without_lines(same) == without_lines(k)
    assert 'source 0 "kernels.py" 36 "        left = a_desc.load([row, k * BK])"' in same.text()  # beside the file
    assert "kernels.py" in k.text() and k.report().html().startswith("<!")


def test_findings_have_the_line_of_python(root):
    k = st.load(recorded(root, "matmul_sm90_s3_v36"), sizes={"K": 256}, placed=False)
    check = k.check()
    assert check.verdict == "wrong" and check.findings[0].code == "SPAD-MISSING-FENCE"
    assert check.findings[0].place == "kernels.py:20"


def test_numbers_where_there_is_no_expression(root):
    k = st.load(recorded(root, "persistent_flat_sm90_s3_v39"), sizes={"M": 512, "N": 512, "K": 256}, placed=False)
    assert k.info["unrolled"] and "line" in k.info["reason"]
    assert k.check().verdict == "proved for this shape"


def test_our_places_take_no_more_bytes(root):
    """Without a GPU or Triton: the texts have its addresses. Scratch memory of tensor maps shares the bytes of a tile
    of the same partition, and that is proved for all trip counts. Triton 3.6 puts four mbarriers at one address."""
    text, sizes = recorded(root, "matmul_described_ws_sm90_s2_v36_placed"), {"M": 1024, "N": 1024, "K": 1024}
    k = st.load(text, sizes=sizes)
    assert {f.code for f in k.check().findings} == {"SPAD-MBARRIER-LIFE"}
    assert k.bytes == {"triton": 98808, "spad": 98608}
    ours = st.load(text.replace("allocation.offset", "spad.offset").replace("ttg.shared =", "spad.shared ="),
                   sizes=sizes, placed=False)
    assert ours.check().verdict == "proved for all trip counts"
    for path in sorted((root / "tests" / "ttgir").glob("*_placed.ttgir")):
        size = st.load(path, sizes={}).bytes
        assert size["spad"] <= size["triton"], path


def test_a_compiled_kernel_is_its_ttgir(root):
    class Compiled:
        asm = {"ttgir": recorded(root, "softmax_sm80_s3_v39")}

    assert st.load(Compiled(), placed=False).name == "softmax"


def test_targets():
    assert [st.capability(word) for word in ("H100", "b200", "sm_80", "cuda:86", "90a", 120)] == [
        90, 100, 80, 86, 90, 120]
    assert [st.capability(word) for word in ("B300", "GB300", "sm_103a")] == [103, 103, 103]
    for word in ("trn2", "sm_95", 95):
        with pytest.raises(ValueError, match=f"unknown chip '{word}'; known chips: sm_70, .*sm_90, sm_100, .*, or a product such as H100"):
            st.capability(word)


def test_bad_input():
    with pytest.raises(spad.TextError, match="no module"):
        st.load("hello\nworld\n", placed=False)
    with pytest.raises(TypeError, match="signature"):
        st.load(test_bad_input)
    with pytest.raises(OSError):
        st.load("nowhere.ttgir")
    with pytest.raises(ValueError, match="'' is no TTGIR, and no path of a file"):
        st.load("")


def test_files_and_sizes_that_are_none(root, tmp_path):
    path = tmp_path / "kernel.ttgir"
    path.write_bytes(b"module \xff")
    with pytest.raises(spad.TextError, match="kernel.ttgir' is no text in UTF-8: invalid start byte at byte 7"):
        st.load(path)
    with pytest.raises(TypeError, match="a whole number is needed for 'K', not '4096'"):
        st.load(recorded(root, "matmul_tma_sm90_s3_v39"), sizes={"K": "4096"}, placed=False)


def compiled(text, stages):
    """As Triton gives a kernel that it compiled."""
    target = types.SimpleNamespace(arch=80)
    return types.SimpleNamespace(asm={"ttgir": text}, metadata=types.SimpleNamespace(num_stages=stages, num_warps=4, target=target))


def test_kernels_side_by_side(root):
    text = recorded(root, "softmax_sm80_s3_v39_placed")
    k2, k3 = (st.load(compiled(text, stages)) for stages in (2, 3))
    assert k3.options == {"stages": 3, "warps": 4, "target": "sm_80"} and st.load(text).options == {}
    rows = st.compare(k2, k3).splitlines()
    assert [row.split("  ")[0] for row in rows] == ["kernel", "stages = 2", "stages = 3"]
    for same in ((k2, k2), (k2,), (k2, st.load(recorded(root, "experts_sm80_s3_v39_placed"), sizes={"K": 256}))):
        assert [row.split()[0] for row in st.compare(*same).splitlines()[1:]] == ["0:", "1:"][:len(same)]
    assert "stages = 3)</title>" in k3.report().html() and "stages" not in st.load(text).report().data["title"]
    for wrong in ([k2, k3], "x"):
        with pytest.raises(TypeError, match=r"compare takes what load gave, one after another: compare\(k3, k4\), not "):
            st.compare(k2, wrong)


def test_places_of_our_own(root):
    k = st.load(recorded(root, "matmul_described_ws_sm90_s2_v36_placed"), sizes={"M": 1024, "N": 1024, "K": 1024})
    made = k.plan()
    assert made.check().verdict == "proved for all trip counts" and k.check().verdict == "wrong"
    assert max(row["height"] for row in made.layout().spaces if row["space"] == "shared") == k.bytes["spad"]
    wrong = st.load(recorded(root, "matmul_sm90_s3_v36"), sizes={"K": 256}, placed=False)
    assert wrong.plan() is None


LOCATED = '''#smem = #ttg.shared_memory
#loc = loc("/home/a/kernels.py":3:1)
#loc1 = loc("acc"(#loc2))
#loc2 = loc("/home/a/kernels.py":57:5)
#loc3 = loc(callsite(#loc1 at #loc))
#loc4 = loc(#loc4)
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
  tt.func public @f(%p: !tt.ptr<f16>, %n: i32) {
    %v = tt.load %p : !tt.ptr<i1>
    ttg.local_secret %v, !ttg.memdesc<64x64xf16, #smem> WHERE
    tt.return
  } loc(#loc)
} loc(#loc)
'''


@pytest.mark.parametrize("where, line", [
    ("loc(#loc)", 3), ("loc(#loc1)", 57), ("loc(#loc3)", 57), ("loc(#loc4)", None),
    ("loc(#loc9)", None), ("loc(unknown)", None), ("", None)])
def test_refused_kernels_have_a_place(where, line):
    text, source = LOCATED.replace("WHERE", where), line and ("/home/a/kernels.py", line)
    assert spad._spad.Kernel.ttgir_source(text, 10) == source
    body = text.replace("ttg.local_secret", "%x = scf.if %v {\n    } else {\n      tt.nothing loc(#loc)\n    } " + where + "\n//")
    assert spad._spad.Kernel.ttgir_source(body, 10) == source
    assert spad._spad.Kernel.ttgir_source(text, 1) is None and spad._spad.Kernel.ttgir_source("@", 1) is None
    with pytest.raises(spad.TextError) as caught:
        st.load(text, placed=False)
    assert str(caught.value).startswith("<ttgir>:10:5: ") and str(caught.value).endswith(f" (at kernels.py:{line})") == (line is not None)


def test_several_stages_are_told_apart(root, monkeypatch, capsys):
    from spad.triton import _command as triton_command

    kernel = st.load(recorded(root, "softmax_sm80_s3_v39"), placed=False)
    monkeypatch.setattr(triton_command, "function_at", lambda word: word)
    monkeypatch.setattr(triton_command.st, "load", lambda *given, **options: kernel)
    assert triton_command.main(["check", "a.py:k", "--stages", "2..3"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "stages" in line] == ["with 2 stages:", "with 3 stages:"]


def test_without_triton(root, monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    k = st.load(recorded(root, "softmax_sm80_s3_v39"))
    assert "pip install triton" in k.unplaced and k.check()
    with pytest.raises(ImportError, match="pip install triton"):
        st.compile(None, {})


def test_compare(root):
    kernels = [st.load(recorded(root, name), placed=False) for name in ("matmul_sm80_s3_v36", "softmax_sm80_s3_v39")]
    lines = st.compare(*kernels).splitlines()
    assert len(lines) == 3 and lines[0].split()[0] == "kernel"
    assert re.search(r"0: matmul +proved for all trip counts +- +65536 +[0-9.]+ us$", lines[1])


def test_command_words():
    from spad.triton import _command as command

    assert command.pairs("a=tensordesc<fp16[1, 2]>, K=i32:16") == {"a": "tensordesc<fp16[1, 2]>", "K": "i32:16"}
    assert command.values("A=1,B=True,C='x'") == {"A": 1, "B": True, "C": "x"}
    assert command.stages("2..4") == [2, 3, 4] and command.stages("3") == [3]
    for bad in (lambda: command.pairs("a"), lambda: command.values("a=b c"), lambda: command.stages("x")):
        with pytest.raises(Exception, match="'"):
            bad()
    assert command.main(["report", "a.py:k"]) == 2 and command.main(["check", "nowhere.py:k"]) == 2


@needs_triton
def test_stages_of_a_function(root):
    sys.path.insert(0, str(root / "tests" / "ttgir"))
    import kernels

    made = [st.load(kernels.matmul_tma, TYPES, SIZES, target="H100", num_stages=s, num_warps=4, sizes={"K": 4096})
            for s in (2, 3, 4)]
    for k in made:
        assert k.unplaced is None and k.info["placed"]
        assert k.check().verdict == "proved for all trip counts", k.check().text()
        assert k.bytes["spad"] <= k.bytes["triton"]
    assert made[0].bytes["spad"] < made[1].bytes["spad"] < made[2].bytes["spad"]
    with pytest.raises(ValueError, match="no argument of the kernel"):
        st.compile(kernels.matmul_tma, {"Q": "i32"})
    with pytest.raises(ValueError, match="has no type"):
        st.compile(kernels.matmul_tma, {"M": "i32"})


@needs_triton
def test_the_command(root, tmp_path):
    words = ["--signature", ",".join(f"{n}={t}" for n, t in TYPES.items()), "--constexprs",
             ",".join(f"{n}={v}" for n, v in SIZES.items()), "--stages", "2..3", "-D", "K=1024"]
    place = f"{root}/tests/ttgir/kernels.py:matmul_tma"
    run = subprocess.run([sys.executable, "-m", "spad", "triton", "report", place, *words, "-o",
                          str(tmp_path / "a.html")], capture_output=True, text=True, check=True)
    assert (tmp_path / "a_2.html").exists() and (tmp_path / "a_3.html").exists()
    assert "proved for all trip counts" in run.stdout


def elf_with_registers(number):
    """A file with the sections of machine code that matter: names, and .nv.info with the registers of a kernel."""
    names = b"\0.nv.info\0.shstrtab\0"
    info = struct.pack("<BBHI", 3, 1, 0, 0)[:4] + struct.pack("<BBHII", 4, 0x2F, 8, 1, number)
    table = 64 + len(names) + len(info)
    head = bytearray(64)
    struct.pack_into("<Q", head, 0x28, table)
    struct.pack_into("<HHH", head, 0x3A, 64, 3, 1)
    sections = [(0, 0, 0), (10, 64, len(names)), (1, 64 + len(names), len(info))]
    rows = b"".join(struct.pack("<IIQQQQIIQQ", name, 0, 0, 0, at, size, 0, 0, 0, 0) for name, at, size in sections)
    return bytes(head) + names + info + rows


def scratch_of(kernel):
    """Bytes of each scratch buffer, in the order of the text."""
    return [int(size) for size in re.findall(r"tensor \w+_scratch\w* : shared uint8 \((\d+)\)", kernel.text())]


def test_scratch_is_counted(root):
    placed = st.load(recorded(root, "softmax_sm80_s3_v39_placed"), sizes={"rows": 512})
    assert placed.bytes == {"triton": 8208, "spad": 8208} and placed.info["scratch"] == ""
    assert scratch_of(placed) == [16, 16] and placed.check().reason == "for all rows_tiles"
    raw = st.load(recorded(root, "scratch_sm90_v39"), placed=False)
    assert raw.info["scratch"].startswith("3 sized by their layouts, 1 not counted, the first is ttg.convert_layout")
    assert scratch_of(raw) == [8192, 256, 4] == scratch_of(st.load(recorded(root, "scratch_sm90_v36_placed")))[:3]


def test_barriers_between_warps(root):
    text = recorded(root, "softmax_sm80_s3_v39_placed")
    k = st.load(text, sizes={"rows": 512})
    assert k.info["barriers"] and "sync meet" in k.text() and "spread all" in k.text()
    lines = text.split("\n")
    first, second, last = (i for i, line in enumerate(lines) if "ttg.barrier local" in line)
    for gone, reported in ((first, True), (second, True), (last, False)):
        k = st.load("\n".join(lines[:gone] + lines[gone + 1:]), sizes={"rows": 512})
        assert any(f.code == "SPAD-MISSING-SYNC" for f in k.check().findings) == reported
    assert not st.load(recorded(root, "scratch_sm90_v36_placed")).info["barriers"]


def test_calls_and_clusters(root):
    k = st.load(recorded(root, "calls_sm90_v39_placed"), sizes={"N": 512, "rows": 4})
    assert k.check().reason == "for all N_tiles, rows_tiles" and len(scratch_of(k)) == 2
    k = st.load(recorded(root, "matmul_tma_cluster2_sm90_s3_v39_placed"), sizes={"K": 512})
    assert k.info["blocks"] == 2 and k.bytes == {"triton": 73752, "spad": 73752} and k.check()


def test_blocks_that_touch_each_other(root):
    text = recorded(root, "gluon_pair_ws_cluster2_sm100_s2_v39_placed")
    k = st.load(text, sizes={"tiles": 6})
    assert k.info["together"] and k.info["blocks"] == 2
    assert k.check().verdict == "proved for this shape" and k.check().reason.startswith("for all tiles_tiles >= 1")
    assert k.bytes == {"triton": 81964, "spad": 49192}
    places = {row["name"]: row for row in k.tensors if row["space"].startswith("shared")}
    assert places["a_block0"]["space"] == "shared" and places["a_block1"]["space"] == "shared[1]"
    assert k.sim().makespan > 0
    with pytest.raises(spad.ArgumentError, match="clusters whose blocks share memory"):
        k.sim(grid=8)
    wrong = st.load(text.replace("ttng.fence_mbarrier_init_release_cluster", "", 1), sizes={"tiles": 6})
    assert "SPAD-MBARRIER-LIFE" in {finding.code for finding in wrong.check().findings}
    alone = st.load(recorded(root, "matmul_tma_cluster2_sm90_s3_v39_placed"), sizes={"K": 512})
    assert not alone.info["together"]


def test_types_of_descriptors():
    function = triton_function.Unwrapped(Jit(Parameter("a"), Parameter("n")))
    given = {"a": ("fp16", (128, 64), 1.5), "n": "i32:16"}
    types, constants, attributes = triton_function.signature(function, given, {})
    assert types == {"a": "tensordesc<fp16[128, 64],1.5>", "n": "i32"} and not constants
    assert attributes == {(1,): [["tt.divisibility", 16]]}
    with pytest.raises(ValueError, match="element type, shape, layout"):
        triton_function.signature(function, {"a": ("fp16", [128, 64]), "n": "i32"}, {})


@needs_triton
def test_functions_of_gluon(root):
    if tuple(map(int, real.__version__.split(".")[:2])) < (3, 9):
        pytest.skip("clusters of Gluon need Triton 3.9")
    sys.path.insert(0, str(root / "tests" / "ttgir"))
    import gluon_kernels

    for name, function, signature, constants, chip, blocks in gluon_kernels.cases():
        k = st.load(function, signature, constants, target=chip, num_ctas=blocks, num_warps=4, placed=name.endswith("placed"),
                    sizes={"tiles": 4} if "tiles" in signature else None)
        assert k.info["together"] and k.info["blocks"] == blocks
        assert k.check().verdict.startswith("proved"), k.explain(k.check())
        assert k.name == function.__name__


def test_sizes_are_asked_for():
    text = "\n".join(['#a = #ttg.blocked<{}>', '#loc = loc("x")', 'module attributes {"ttg.num-warps" = 4 : i32, '
                      'ttg.shared = 64 : i32, ttg.target = "cuda:90"} {',
                      "    %1 = ttg.convert_layout %0 {allocation.offset = 0 : i32} : tensor<4x8xf32, #a> -> tensor<4x8xf32, #b> loc(#loc)",
                      "    partition0(%m: i32) num_warps(2) {",
                      "      %2 = tt.gather %a1#0[%a0.x] {allocation.offset = 8 : i32, axis = 0 : i32} : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>",
                      "      ttg.warp_return",
                      "    %1 = ttg.convert_layout %top_38#1 {allocation.offset = 4 : i32} : tensor<4x8xf32, #a> -> tensor<4x8xf32, #b>",
                      "    %1 = ttg.convert_layout %0 : tensor<4x8xf32, #a> -> tensor<4x8xf32, #c>", "}"])
    asked = []

    def allocate(alone):
        asked.append(alone)
        if "gather" in alone:
            raise RuntimeError("no")
        return alone.replace("module attributes {", "module attributes {ttg.shared = 128 : i32, ")

    sized = triton_scratch.sized(text, allocate)
    assert sized.count("allocation.size = 128 : i32") == 2 and "gather" in sized and len(asked) == 2
    assert "%a0: tensor<4x8xf32, #a>" in asked[0] and "ttg.shared = 64" not in asked[0] and "#loc" not in asked[0]
    assert "%a0: tensor<4xf32>, %a1: tensor<4xi32>" in asked[1] and '"ttg.num-warps" = 2' in asked[1]
    assert "%r = tt.gather %a0[%a1] {axis = 0 : i32}" in asked[1]
    assert triton_scratch.sized(sized, allocate) == sized and len(asked) == 2


MEMBAR = """#smem = #ttg.shared_memory
#loc = loc("x.py":1:0)
module attributes {"ttg.num-warps" = WARPS : i32, ttg.shared = 64 : i32, ttg.target = "cuda:90"} {
  tt.func public @f(%x: tensor<4xf32>, %4: !ttg.memdesc<1xi64>, %true: i1) {
    %0 = ttg.local_alloc %x {allocation.offset = 0 : i32} : (tensor<4xf32>) -> !ttg.memdesc<4xf32> loc(#loc)
    %1 = ttg.local_load %0 : !ttg.memdesc<4xf32> -> tensor<4xf32> loc(#loc)
    %2 = ttg.async_wait %1 {num = 0 : i32} loc(#loc)
    %3 = "tt.reduce"(%1) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      tt.reduce.return %a : f32 loc(#loc)
    }) {allocation.offset = 16 : i32} : (tensor<4xf32>) -> f32 loc(callsite("y"("x.py":2:0) at #loc))
    ttng.barrier_expect %4, 64, %true : !ttg.memdesc<1xi64> loc(#loc)
    ttng.arrive_barrier %4, 1 {a = 2 : i32} : !ttg.memdesc<1xi64> loc(#loc)
    tt.return
  }
}
"""


def converted(*rows):
    """What a conversion prints: instructions with the line of their operation."""
    locations = sorted({number for _, number in rows})
    return "\n".join([*(f'#loc{number} = loc("k.ttgir":{number}:4)' for number in locations), "llvm.func @f() {",
                      *(f"    {word} loc(#loc{number})" for word, number in rows), "}"])


def test_barriers_of_a_conversion():
    found = triton_membar.meetings(converted(
        ("llvm.extractvalue %0[0]", 6), ("llvm.store %1, %2", 5), ("nvvm.barrier0", 6), ("%3 = llvm.load %2", 6),
        ("llvm.inline_asm \"cp.async.wait\"", 7), ("nvvm.barrier0", 7), ("nvvm.barrier0", 8), ("llvm.store %1, %2", 8),
        ("nvvm.barrier0", 8), ("%3 = llvm.load %2", 8), ("llvm.inline_asm \"expect\"", 12), ("nvvm.barrier0", 13),
        ("llvm.inline_asm \"arrive\"", 13)))
    assert found == [(6, True, False, False), (7, False, False, True), (8, True, True, False), (13, True, False, False)]
    assert triton_membar.meetings('llvm.store %1 loc("k":5:1)\nnvvm.barrier0 loc("k":5:1)') == [(5, False, False, True)]
    text = spad._spad.Kernel.ttgir_barriers(MEMBAR.replace("WARPS", "4"), found)
    lines = [line.strip() for line in text.split("\n")]
    places = [number for number, line in enumerate(lines) if line == "ttg.barrier local"]
    # before the load, after the wait and before the reduction, and before the arrival
    assert [lines[number + 1].split(" ")[0] for number in places] == ["%1", "%3", "ttng.arrive_barrier"]
    assert lines[places[1] - 1].startswith("%2 = ttg.async_wait")
    assert "ttng.barrier_expect %4, 64, %true {spad.alone} : " in text and text.count("spad.alone") == 1
    with pytest.raises(triton_membar.Unclear, match="without a location"):
        triton_membar.meetings("nvvm.barrier0")
    for rows in ([(1, True)], [1], None):
        with pytest.raises(TypeError):
            spad._spad.Kernel.ttgir_barriers(MEMBAR, rows)


@needs_triton
@pytest.mark.parametrize("rows, cols, warps", [(1, 512, 4), (64, 64, 4), (8, 32, 8), (32, 2, 2)])
def test_scratch_is_what_triton_needs(root, rows, cols, warps):
    sys.path.insert(0, str(root / "tests" / "ttgir"))
    import kernels

    for axis in (0, 1):
        for kind in range(5):
            sizes = {"M": rows, "N": cols, "AXIS": axis, "KIND": kind}
            text = st.compile(kernels.along, {"x_ptr": "*fp32:16", "y_ptr": "*fp32:16"}, sizes, "sm_90",
                              num_warps=warps)
            placed = st.load(text, target="sm_90")
            most = max([*scratch_of(placed), 0])
            assert placed.unplaced is None and placed.bytes["triton"] == most == placed.bytes["spad"], sizes
            moved = re.findall(r"convert_layout .*allocation\.size = (\d+)", placed.ttgir)
            alone = max([*scratch_of(st.load(text, placed=False)), *map(int, moved), 0])
            assert alone == most or (alone > most and not real.__version__.startswith("3.6")), sizes


def test_registers_of_machine_code():
    from spad.triton._grid import registers_of

    assert registers_of(elf_with_registers(218)) == 218
    for bad in (b"", b"\x7fELF", elf_with_registers(218)[:100], bytes(2000)):
        assert registers_of(bad) is None


CHECKED = """kernel k on sm_90
unit wgmma on tensor same proxy
group mmas
barrier meet count 1
tensor a_ptr : global float16 (64, 64) input
tensor tile_r : registers float16 (64, 64) persistent
tensor acc_r : registers float32 (64, 64) persistent
for i in 0..4 {
    simt load_left reads a_ptr writes tile_r
    sync meet by 1
    tensor left : shared float16 (64, 64) at 0 align 1024
    simt store_left writes left spread map1
    fence shared
    sync meet by 1
    wgmma dot_acc reads left spread together, left spread together writes acc_r in mmas
    commit mmas
    wait mmas pending 0
}
"""


def test_what_only_the_check_needs_changes_no_time():
    """Which threads access what, and where they meet, is in the kernels with Triton's places alone."""
    from spad.triton._grid import text_of

    plain = CHECKED.replace("    sync meet by 1\n", "").replace(" spread map1", "").replace(" spread together", "")
    text = text_of(spad.Kernel.parse(CHECKED), 4, None, {}, {}, {})
    assert text == text_of(spad.Kernel.parse(plain), 4, None, {}, {}, {})
    assert text.count("wgmma dot_acc reads") == 4  # instructions of 32 bytes of depth
    assert "ldg load_left reads a_ptr" in text


def tiles_of(text, blocks, sizes, fact=("reused", "near")):
    return {tile["name"]: tuple(tile[word] for word in fact) for tile in spad._spad.Kernel.ttgir_tiles(text, blocks, sizes)}


GRID_SIZES = {"M": 4096, "N": 4096, "K": 4096, "stride_am": 4096, "stride_bk": 4096}


def test_blocks_that_share_tiles(root):
    text = recorded(root, "matmul_sm90_s3_v36")
    assert tiles_of(text, 64, GRID_SIZES) == {"a_ptr": (32, 32), "b_ptr": (2, 1)}  # 32 tiles in a row
    assert tiles_of(text, 64, {**GRID_SIZES, "N": 1024}) == {"a_ptr": (8, 8), "b_ptr": (8, 1)}
    assert tiles_of(text, 1, GRID_SIZES) == {"a_ptr": (1, 1), "b_ptr": (1, 1)}
    tma = recorded(root, "matmul_tma_sm90_s3_v39")
    assert tiles_of(tma, 64, GRID_SIZES) == {"a_desc": (32, 32), "b_desc": (2, 1)}
    for blocks in (0, 4097):
        with pytest.raises(spad.ArgumentError, match=f"{blocks} blocks: 1 to 4096"):
            tiles_of(text, blocks, GRID_SIZES)
    with pytest.raises(spad.Error, match="no module"):
        tiles_of("", 8, {})


def test_time_of_a_grid(root):
    k = st.load(recorded(root, "matmul_sm90_s3_v36"), sizes={"M": 4096, "N": 4096, "K": 4096}, placed=False)
    alone = k.sim(grid=1024, reused={"a_ptr": 1, "b_ptr": 1}).data["grid"]["time_ps"]
    shared = k.sim(grid=(32, 32)).data["grid"]["time_ps"]
    assert shared < alone  # tiles of neighbours come from the cache
    assert k.registers is None and k.sim().data.get("grid") is None
    small = st.load(recorded(root, "softmax_sm80_s3_v39"), placed=False)
    assert small.sim(grid=10000).data["grid"]["per_unit"] > 4
    limited = small.sim(grid=10000, registers=255).data["grid"]  # 65536 of a unit: two blocks of 128 threads
    assert limited["per_unit"] == 2 and limited["limit"] == "registers"
    hits = k.sim(grid=1024, cached={"a_ptr": (2, 2), "b_ptr": (2, 2)}).data["grid"]["time_ps"]
    assert hits <= shared
    agents = st.load(recorded(root, "matmul_tma_ws_sm100_s3_v39"), sizes={"K": 4096}, placed=False)
    assert agents.sim(grid=64, registers=64).data["grid"]["blocks"] == 64
    # values that data decides are declared before the agent that registers make of the program
    experts = st.load(recorded(root, "experts_sm80_s3_v39_placed"), placed=False)
    assert experts.unknowns and experts.sim(grid=64, registers=128).data["grid"]["limit"] == "registers"
    # the buffer of results has the bytes of a ring: a block takes 65724 bytes and what is reserved, not 98304 and more
    placed = st.load(recorded(root, "matmul_tma_ws_sm100_s2_v39_placed"), sizes={"K": 4096}, placed=False)
    assert placed.sim(grid=4096).data["grid"]["per_unit"] == 3


MATMUL = """kernel m on sm_90
param K_tiles = 64
unit wgmma on tensor same proxy
group mmas
tensor a_ptr : global float16 (128, 64) input
tensor b_ptr : global float16 (64, 128) input
tensor c_ptr : global float16 (128, 128) persistent
tensor left : shared float16 (128, 64) at 0 align 1024
tensor right : shared float16 (64, 128) at 16384 align 1024
tensor tile_r : registers float16 (128, 64) persistent
tensor tile_r_2 : registers float16 (64, 128) persistent
tensor acc_r : registers float32 (128, 128) persistent
for i in 0..K_tiles {
    simt load_left reads a_ptr writes tile_r
    simt store_left writes left
    simt load_right reads b_ptr writes tile_r_2
    simt store_right writes right
    fence shared
    wgmma dot_acc reads left, right writes acc_r in mmas
    commit mmas
    wait mmas pending 0
}
simt store_buffer adds c_ptr
"""


def test_what_machine_code_makes_of_a_grid():
    from spad.triton._grid import text_of


    text = text_of(spad.Kernel.parse(MATMUL), 4, 128, {"a_ptr": (16, 1), "b_ptr": (8, 8)}, {}, {})
    lines = [line.strip() for line in text.split("\n")]
    spad.Kernel.parse(text)
    # products one instruction at a time: 64 rows, 32 bytes deep
    products = [line for line in lines if line.startswith("wgmma ")]
    assert len(products) == 8 and len(set(products)) == 8
    assert products[3] == "wgmma dot_acc reads left(64..128, 16..32), right(16..32, ..) writes acc_r(64..128, ..) in mmas"
    # loads through registers do not wait for each other
    first = lines.index("ldg load_left reads a_ptr[(i) % 2] writes left in lds")
    assert lines[first + 1:first + 4] == ["ldg load_right reads b_ptr writes right in lds", "commit lds", "wait lds pending 0"]
    # nor where their tensors live in the loop only
    where = ("tensor left : shared float16 (128, 64) at 0 align 1024\n", "tensor right : shared float16 (64, 128) at 16384 align 1024\n")
    inside = MATMUL.replace("".join(where), "")
    for name, line in zip(("left", "right"), where):
        inside = inside.replace(f"    simt store_{name}", f"    {line}    simt store_{name}")
    moved = [line.strip() for line in text_of(spad.Kernel.parse(inside), 4, 128, {"a_ptr": (16, 1), "b_ptr": (8, 8)}, {}, {}).split("\n")]
    at = moved.index(lines[first])
    assert moved[at:at + 4] == lines[first:first + 4] and moved[at - 2:at] == [line.strip() for line in where]
    # rows of 128 bytes: the memory brings two tiles; threads copy 16 bytes at a time
    assert "tensor a_ptr : global float16 [2] (128, 64) input reused 16 cached 1 of 2 pieces 16" in lines
    assert "tensor b_ptr : global float16 (64, 128) input reused 8 near 8 pieces 16" in lines
    # the result comes from registers
    assert "simt store_buffer reads c_ptr_r adds c_ptr" in lines
    assert "agent warps of 128 threads registers 128 {" in lines


ATTENTION = """
kernel attention on sm_90
uncounted "3 operations (exp)"
unit wgmma on tensor same proxy fence wgmma
group mmas
tensor v : shared float16 (64, 128)
tensor p : registers float16 (64, 64) input
tensor acc : registers float32 (64, 128) persistent
fence wgmma
wgmma dot_acc reads v, p writes acc in mmas
commit mmas
wait mmas pending 0
"""


def products(text):
    from spad.triton._grid import text_of

    made = text_of(spad.Kernel.parse(text), 4, 128, {}, {}, {})
    assert 'uncounted "3 operations (exp)"' in made
    spad.Kernel.parse(made).sim()
    return [line.strip() for line in made.split("\n") if line.startswith("wgmma ")]


def test_factors_in_registers():
    """The first factor of a product is in registers, and TTGIR's memory operand, the second factor, is named before it."""
    found = products(ATTENTION)
    assert len(found) == 4  # a depth of 64, 16 elements each; the tile of 128 columns is not the depth
    assert found[3] == "wgmma dot_acc reads v(48..64, ..), p(0..64, 48..64) writes acc(0..64, ..) in mmas"
    turned = ATTENTION.replace("v : shared float16 (64, 128)", "v : shared float16 (128, 64)")
    assert products(turned)[3] == "wgmma dot_acc reads v(.., 48..64), p(0..64, 48..64) writes acc(0..64, ..) in mmas"
    square = ATTENTION.replace("128", "64").replace("v : shared float16 (64, 64)", "v : shared float16 (64, 64)")
    assert products(square)[3] == "wgmma dot_acc reads v(48..64, ..), p(0..64, 48..64) writes acc(0..64, ..) in mmas"
    tall = ATTENTION.replace("p : registers float16 (64, 64)", "p : registers float16 (128, 64)").replace("float32 (64, 128)", "float32 (128, 128)")
    assert len(products(tall)) == 8 and products(tall)[1] == "wgmma dot_acc reads v(0..16, ..), p(64..128, 0..16) writes acc(64..128, ..) in mmas"
    own = ATTENTION.replace("reads v, p", "reads v, v").replace("float32 (64, 128)", "float32 (64, 64)")  # x times x transposed
    assert products(own)[7] == "wgmma dot_acc reads v(0..64, 112..128), v(.., 112..128) writes acc(0..64, ..) in mmas"
    assert len(products(ATTENTION.replace("p : registers float16 (64, 64)", "p : registers float16 (64, 32)"))) == 1  # no depth that both have


def test_work_of_unknown_cost_is_named(root):
    text = recorded(root, "attention_sm90_s3_v39").replace("= math.exp2", "= tt.elementwise_inline_asm \"\"")
    k = st.load(text, sizes={"N": 1024}, placed=False)
    work = "2 element-wise operations of threads (tt.elementwise_inline_asm)"
    for sim in (k.sim(), k.sim(grid=64)):
        assert sim.uncounted == work and sim.badge.endswith(f"not counted: {work}") and sim.data["uncounted"] == work
        assert "not counted: 2 element-wise operations of threads\n" in sim.text()
    assert f"not counted: {work}" in k.report().html() and f"not counted: {work}" in k.report().data["time"]["badge"]
    assert st.load(recorded(root, "attention_sm90_s3_v39"), sizes={"N": 1024}, placed=False).sim().uncounted is None
    assert st.compare(k).splitlines()[-1].startswith("not counted in the time of 0: attention: 2 element-wise")
    tune = k.tune()
    assert tune.uncounted == work and f"not counted: {work}" in tune.text()
    loads = st.load(recorded(root, "gluon_gathered_cluster2_sm90_v39_placed"), placed=False)
    assert loads.sim().uncounted is None and "not counted" not in loads.sim().text()


def test_products_that_are_not_divided():
    from spad.triton._grid import text_of


    for old, new in (("reads left, right", "reads left(0..64, ..), right"), ("(64, 128) at", "(8192) at")):
        text = text_of(spad.Kernel.parse(MATMUL.replace(old, new)), 4, None, {}, {}, {})
        assert text.count("wgmma dot_acc") == 1 and "agent" not in text
    other = MATMUL.replace("    simt store_right writes right\n", "")  # not each load goes on to shared memory
    assert "ldg" not in text_of(spad.Kernel.parse(other), 4, None, {}, {}, {})
    rows = text_of(spad.Kernel.parse(MATMUL.replace("fence shared", "simt look reads a_ptr")), 4, None, {}, {}, {})
    assert "simt look reads a_ptr[0]" in rows
    spad.Kernel.parse(rows)


def test_what_the_cache_keeps():
    from spad import _grid_cache as cache

    # four blocks a wave, in two columns: all read b, and each wave has an a of its own
    places = {"a": [0, 0, 0, 0, 1, 1, 1, 1], "b": [0, 1, 0, 1, 0, 1, 0, 1]}
    sizes = {"a": 100, "b": 50}
    # between two uses of b: a half of 200 bytes of the wave before, and of this one
    assert cache.kept(places, sizes, 4, 200) == {"a": 0.0, "b": 0.5}  # the first wave has none of it
    assert cache.kept(places, sizes, 4, 199) == {"a": 0.0, "b": 0.0}
    # two blocks a wave: the second and the last one have the a of the wave before
    assert cache.kept(places, sizes, 2, 200) == {"a": 0.5, "b": 0.75}
    # what other waves read lies between, too
    far = {"a": [0, 1, 2, 0]}
    assert cache.kept(far, {"a": 10}, 1, 29) == {"a": 0.0} and cache.kept(far, {"a": 10}, 1, 30) == {"a": 0.25}
    assert cache.kept({}, {}, 4, 100) == {} and cache.kept({"a": []}, {}, 4, 100) == {}
    assert cache.joined(0, None) is None and cache.joined(0, (1, 2)) == (1, 2) and cache.joined(1, None) == (1, 1)
    assert cache.joined(0.5, (1, 2)) == (12, 16) and cache.joined(0.01, None) is None


def test_the_next_tile_of_a_block(root):
    """The memory brings the next tile where it is in the same rows, and not where it is in the rows below."""
    from spad.triton._grid import text_of

    for name in ("matmul_sm90_s3_v36", "matmul_sm90_s1_w8_v39_placed"):
        assert tiles_of(recorded(root, name), 1, GRID_SIZES, ("step",)) == {"a_ptr": (64,), "b_ptr": (64 * 4096,)}, name
    narrow = MATMUL.replace("b_ptr : global float16 (64, 128)", "b_ptr : global float16 (64, 64)")
    assert narrow != MATMUL
    assert "b_ptr : global float16 (64, 64) input pieces 16" in text_of(spad.Kernel.parse(narrow), 4, None, {}, {}, {"b_ptr": 64 * 4096})
    assert "b_ptr : global float16 [2] (64, 64) input cached 1 of 2" in text_of(spad.Kernel.parse(narrow), 4, None, {}, {}, {"b_ptr": 64})


QUOTIENTS = """module attributes {"ttg.num-warps" = 1 : i32, ttg.target = "cuda:90"} {
  tt.func public @f(%x: !tt.ptr<f16>, %n: i32) {
    %c3 = arith.constant 3 : i32
    %c2 = arith.constant 2 : i32
    %pid = tt.get_program_id x : i32
    %below = arith.subi %pid, %c3 : i32
    %part = arith.OPERATION %below, %c2 : i32
    %p = tt.addptr %x, %part : !tt.ptr<f16>, i32
    %v = tt.load %p : !tt.ptr<f16>
    tt.return
  }
}
"""


@pytest.mark.parametrize("operation, places", [
    ("divsi", [-1, -1, 0, 0, 0, 1, 1, 2]),  # to 0, and not down
    ("floordivsi", [-2, -1, -1, 0, 0, 1, 1, 2]), ("remsi", [-1, 0, -1, 0, 1, 0, 1, 0])])
def test_quotients_round_to_zero(operation, places):
    from spad import _grid_text

    for count in range(1, len(places) + 1):
        found = tiles_of(QUOTIENTS.replace("OPERATION", operation), count, {})
        assert found == {"x": _grid_text.sharing(places[:count])}


def test_threads_take_time(root):
    """Of a step that copies, and of the copies: 8 cycles a KiB of what is issued before a commit."""
    from spad.triton._grid import text_of


    k = st.load(recorded(root, "matmul_sm90_s3_v36"), sizes={"M": 4096, "N": 4096, "K": 4096}, placed=False)
    lines = [line.strip() for line in text_of(k, 4, None, {}, {}, {}).split("\n")]
    step = lines.index("simt step cost 1 cycles latency 140 cycles")
    assert lines[step - 1].startswith("wait loads pending") and lines.count(lines[step]) == 1
    assert lines.count("simt copies cost 128 cycles latency 1 cycles") == 2


def test_blocks_of_a_unit_are_of_a_wave():
    from spad import _grid_cache as cache

    class Sim:
        def __init__(self, text):
            self.text, self.data = text, {"grid": {"per_unit": 2}}

    asked = []
    assert cache.simulated(lambda wave: asked.append(wave) or f"of {wave}", Sim, 10).text == "of 20" and asked == [10, 20]
    assert cache.simulated(lambda wave: "the same", Sim, 10).text == "the same"


def test_more_stages_are_not_slower(root):
    """Loads of a stage ahead hide their latency; blocks of a unit share its engines."""
    chip = spad.Target.load(root / "examples/chips/h200_1500.chip")
    k = st.load(recorded(root, "matmul_sm90_s3_v36"), sizes={"M": 4096, "N": 4096, "K": 4096}, placed=False)
    grids = [k.sim(grid=1024, registers=registers, target=chip).data["grid"] for registers in (255, 168)]
    assert [grid["per_unit"] for grid in grids] == [2, 2] or grids[0]["per_unit"] < grids[1]["per_unit"]
    alone = k.sim(grid=132, registers=255, target=chip).data["grid"]
    assert grids[0]["wave_ps"] > alone["wave_ps"]  # two blocks take longer than one
    assert grids[0]["wave_ps"] < 2 * alone["wave_ps"]  # and less than twice as long


class Parameter:
    def __init__(self, name, is_constexpr=False, **default):
        self.name, self.is_constexpr, self.has_default = name, is_constexpr, bool(default)
        self.default = default.get("default")


class Jit:
    """What @triton.jit makes of a function, as far as a signature needs it."""

    def __init__(self, *params):
        self.params, self.arg_names, self.fn = list(params), [p.name for p in params], len


class Config:
    def __init__(self, warps, **kwargs):
        self.kwargs, self.num_warps, self.num_stages = kwargs, warps, 2


class Wrapper:
    def __init__(self, fn, **more):
        self.fn, self.arg_names = fn, fn.arg_names
        self.__dict__.update(more)


KERNEL = Jit(Parameter("x_ptr"), Parameter("n"), Parameter("BLOCK", True), Parameter("bias", default=None),
             Parameter("WIDE", True, default=4))


def test_a_signature_has_what_wrappers_and_defaults_give():
    plain = triton_function.Unwrapped(KERNEL)
    types, constants, attributes = triton_function.signature(plain, {"x_ptr": "*fp16:16", "n": "i32"}, {"BLOCK": 8})
    assert types == {"x_ptr": "*fp16", "n": "i32", "BLOCK": "constexpr", "bias": "constexpr", "WIDE": "constexpr"}
    assert constants == {(2,): 8, (3,): None, (4,): 4} and attributes == {(0,): [["tt.divisibility", 16]]}
    tuned = triton_function.Unwrapped(Wrapper(Wrapper(KERNEL, values={"WIDE": lambda known: known["BLOCK"] // 2}),
                                               configs=[Config(8, BLOCK=16), Config(4, BLOCK=32)]))
    assert tuned.function is KERNEL and tuned.config(1) == ({"BLOCK": 32}, {"num_warps": 4, "num_stages": 2})
    assert tuned.config(None) == ({}, {}) and len(tuned.configs) == 2
    given = {"x_ptr": "*fp16", "n": "i32"}
    assert triton_function.signature(tuned, given, {"BLOCK": 16})[1][(4,)] == 8
    with pytest.raises(ValueError, match="'BLOCK' has no type.*config=0 to 1 takes one"):
        triton_function.signature(tuned, given, {})
    with pytest.raises(ValueError, match="config=2: the function has 2"):
        tuned.config(2)
    asks = triton_function.Unwrapped(Wrapper(KERNEL, values={"BLOCK": lambda known: known["x_ptr"].numel()}))
    with pytest.raises(ValueError, match="'BLOCK' has no type.*a heuristic of the function decides it"):
        triton_function.signature(asks, given, {})
    one = triton_function.Unwrapped(Wrapper(KERNEL, configs=[Config(8, BLOCK=16)]))
    assert one.config(None)[0] == {"BLOCK": 16}


@pytest.mark.parametrize("types, message", [
    ({"x_ptr": "*float16"}, "no type of Triton: '[*]fp16'"), ({"x_ptr": "float16*"}, "no type of Triton: '[*]fp16'"),
    ({"x_ptr": "fp16*"}, "'fp16[*]', .* no type of Triton: '[*]fp16'"), ({"n": "int"}, "no type of Triton: 'i32'"), ({"n": "i33"}, "no type of Triton: 'i32', "),
    ({"x_ptr": "*fp16:many"}, "after ':' is a number"), ({"n": 32}, "the type of argument 'n' is 32"),
    ({"q": "i32"}, "'q' is no argument of the kernel: x_ptr, n, BLOCK")])
def test_wrong_types_are_named(types, message):
    wrapped = triton_function.Unwrapped(KERNEL)
    with pytest.raises((TypeError, ValueError), match=message):
        triton_function.signature(wrapped, {"x_ptr": "*fp16", "n": "i32", **types}, {"BLOCK": 8})


def test_what_is_no_kernel_is_named():
    with pytest.raises(TypeError, match="'len' is no function of Triton: it needs @triton.jit"):
        triton_function.Unwrapped(len)
    with pytest.raises(TypeError, match="a signature is"):
        triton_function.signature(triton_function.Unwrapped(KERNEL), ["i32"], {})
    with pytest.raises(TypeError, match="'num_stage' is no option of this Triton: num_stages, num_warps"):
        triton_function.check_options({"num_stage": 3}, {"num_warps": 0, "num_stages": 0})
    with pytest.raises(TypeError, match="None is no function of Triton, no compiled kernel"):
        st.load(None)
    with pytest.raises(spad.Error, match="is this TTGIR, as Triton prints it"):
        st.load("; ModuleID = 'x'\ndefine void @f() {\n}\n")
    assert [st.capability(word) for word in ("L40S", "GH200", "RTX A6000")] == [89, 90, 86]


def test_the_command_shows_each_answer(root):
    from spad.triton import _command as triton_command

    k = st.load(recorded(root, "experts_sm90_s3_v39_placed"), sizes={"K": 256})
    for command, word in (("check", "proved for all K_tiles"), ("plan", "shared"), ("sim", "makespan"),
                          ("text", "kernel experts"), ("ttgir", "tt.func")):
        text, status = triton_command._show(command, k)
        assert word in text and status == 0, command
    with pytest.raises(argparse.ArgumentTypeError, match="a 'word' in quotes"):
        triton_command.constants("BLOCK=abc")
    assert triton_command.constants("BLOCK=64,ACT=None") == {"BLOCK": 64, "ACT": None}


def test_returns_and_what_data_decides(root, capsys):
    from spad.triton import _command as triton_command

    text = recorded(root, "experts_sm80_s3_v39_placed")
    k = st.load(text, sizes={"K": 256})
    assert "unknown decided" in k.text() and k.info["approximated"] == "the return in line 67 is not taken"
    assert "for all 2 ways that unknown values can be" in k.check().reason and k.bytes["spad"] <= k.bytes["triton"]
    assert not k.info["skipped"]
    none = st.load(text, sizes={"K": 256, "M": 64, "program_id": 3})
    assert none.info["skipped"].startswith("the program returns in line")
    triton_command._tell(none)
    assert "with these sizes and this program_id, the program returns in line" in capsys.readouterr().err


def test_the_compiler_is_named_where_the_user_could_not_write_it(root, monkeypatch):
    text = (root / "tests/ttgir/dot_and_sum_sm90_s3_v39.ttgir").read_text(encoding="utf-8")
    monkeypatch.setitem(sys.modules, "triton", types.SimpleNamespace(__version__="3.9.0+git12"))
    for name, named in (("ASTSource", 'compiler "Triton 3.9.0"'), ("GluonASTSource", None)):
        kernel = compiled(text, 3)
        kernel.src = type(name, (), {})()
        made = st.load(kernel, sizes={"N": 512, "K": 512}, placed=False)
        assert (named or 'compiler "Triton"') in made.text()  # without the name, its text shows that Triton made it
    check = st.load(text, sizes={"N": 512, "K": 512}, placed=False).check()
    fault = check.findings[0]
    assert fault.severity == "compiler" and fault.compiler_fault["wrong_results"] and not check
    assert check.counts["errors"] == 0 and check.counts["compiler_faults"] == 1 and check.verdict == "wrong"


@pytest.mark.parametrize("policy, passes", ((None, True), ("warning", True), ("error", False), ("ignore", True)))
def test_faults_of_the_compiler_fail_as_asked(root, policy, passes):
    kernel = st.load(root / "tests/ttgir/matmul_sm90_s3_v36.ttgir", sizes={"K": 512}, placed=False)
    check = kernel.check(compiler_faults=policy)
    assert bool(check) == passes and check.verdict == "wrong"
    assert {finding.hidden for finding in check} == {"rule" if policy == "ignore" else None}
    assert kernel.check(baseline=[finding.fingerprint for finding in check], compiler_faults="error")


def test_a_fence_that_the_user_of_gluon_forgot_is_no_fault_of_a_compiler(root):
    """Copy and commit are expressions of their own there."""
    text = (root / "tests/ttgir/matmul_sm90_s3_v36.ttgir").read_text(encoding="utf-8")
    apart = re.sub(r"(ttg\.async_commit_group .*) loc\(#loc\d+\)", r'\1 loc("kernels.py":3:5)', text)
    check = st.load(apart, sizes={"K": 512}, placed=False).check()
    assert check.counts["compiler_faults"] == 0 and check.counts["errors"] > 0


def test_comments_in_the_program_hide_findings(root, tmp_path):
    text = (root / "tests/ttgir/matmul_sm90_s3_v36.ttgir").read_text(encoding="utf-8")
    lines = (root / "tests/ttgir/kernels.py").read_text(encoding="utf-8").splitlines()
    (tmp_path / "k.ttgir").write_text(text, encoding="utf-8")
    for comment, hidden in (("", 0), ("  # spad: ignore[SPAD-MISSING-FENCE] harmless", 2)):
        lines[19] = "        acc = tl.dot(left, right, acc)" + comment
        (tmp_path / "kernels.py").write_text("\n".join(lines), encoding="utf-8")
        check = st.load(tmp_path / "k.ttgir", sizes={"K": 512}, placed=False).check()
        assert check.counts["hidden"] == hidden and check.verdict == "wrong"
        assert {finding.why for finding in check} == {"harmless" if hidden else None}
        linecache.clearcache()
