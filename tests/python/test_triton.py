# SPDX-License-Identifier: Apache-2.0
"""spad.triton: recorded TTGIR everywhere; with the package triton also functions, stages and its passes."""

import re
import struct
import subprocess
import sys

import pytest

import spad
import spad.triton as st
from spad import _triton_scratch

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


def test_text_and_file(root):
    text = recorded(root, "matmul_tma_sm90_s3_v39")
    k = st.load(text, sizes={"K": 4096}, placed=False)
    assert k.name == "matmul_tma" and k.target.name == "sm_90" and k.ttgir == text
    assert k.params["K_tiles"] == 64 and k.info["assumed"] == "" and not k.info["unrolled"]
    check = k.check()
    assert check.verdict == "proved for all trip counts" and check.reason == "for every K_tiles"
    assert k.bytes == {"triton": None, "spad": 98328}
    same = st.load(root / "tests" / "ttgir" / "matmul_tma_sm90_s3_v39.ttgir", placed=False)
    assert same.info["assumed"] == "K = 4096" and same.text() == k.text()
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
    of the same partition, and that is proved for all trip counts."""
    k = st.load(recorded(root, "matmul_described_ws_sm90_s2_v36_placed"), sizes={"M": 1024, "N": 1024, "K": 1024})
    assert k.check().verdict == "proved for all trip counts"
    assert k.bytes == {"triton": 98808, "spad": 98608}
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
    with pytest.raises(ValueError, match="no chip of Triton"):
        st.capability("trn2")


def test_bad_input():
    with pytest.raises(spad.TextError, match="no module"):
        st.load("hello\nworld\n", placed=False)
    with pytest.raises(TypeError, match="signature"):
        st.load(test_bad_input)
    with pytest.raises(OSError):
        st.load("nowhere.ttgir")


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
    from spad import _triton_command as command

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
        assert k.check().verdict == "proved for all trip counts", k.explain(k.check())
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
    assert scratch_of(placed) == [16, 16] and placed.check().reason == "for every rows_tiles"
    raw = st.load(recorded(root, "scratch_sm90_v39"), placed=False)
    assert raw.info["scratch"].startswith("3 sized by their layouts, 1 not counted, the first is ttg.convert_layout")
    assert scratch_of(raw) == [8192, 256, 4] == scratch_of(st.load(recorded(root, "scratch_sm90_v36_placed")))[:3]


def test_calls_and_clusters(root):
    k = st.load(recorded(root, "calls_sm90_v39_placed"), sizes={"N": 512, "rows": 4})
    assert k.check().reason == "for every N_tiles, rows_tiles" and len(scratch_of(k)) == 2
    k = st.load(recorded(root, "matmul_tma_cluster2_sm90_s3_v39_placed"), sizes={"K": 512})
    assert k.info["blocks"] == 2 and k.bytes == {"triton": 73752, "spad": 73752} and k.check()


def test_sizes_are_asked_for():
    text = "\n".join(['#a = #ttg.blocked<{}>', '#loc = loc("x")', 'module attributes {"ttg.num-warps" = 4 : i32, '
                      'ttg.shared = 64 : i32, ttg.target = "cuda:90"} {',
                      "    %1 = ttg.convert_layout %0 {allocation.offset = 0 : i32} : tensor<4x8xf32, #a> -> tensor<4x8xf32, #b> loc(#loc)",
                      "    partition0(%m: i32) num_warps(2) {",
                      "      %2 = tt.gather %0[%1] {allocation.offset = 8 : i32, axis = 0 : i32} : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>",
                      "      ttg.warp_return",
                      "    %1 = ttg.convert_layout %7 {allocation.offset = 4 : i32} : tensor<4x8xf32, #a> -> tensor<4x8xf32, #b>",
                      "    %1 = ttg.convert_layout %0 : tensor<4x8xf32, #a> -> tensor<4x8xf32, #c>", "}"])
    asked = []

    def allocate(alone):
        asked.append(alone)
        if "gather" in alone:
            raise RuntimeError("no")
        return alone.replace("module attributes {", "module attributes {ttg.shared = 128 : i32, ")

    sized = _triton_scratch.sized(text, allocate)
    assert sized.count("allocation.size = 128 : i32") == 2 and "gather" in sized and len(asked) == 2
    assert "%a0: tensor<4x8xf32, #a>" in asked[0] and "ttg.shared = 64" not in asked[0] and "#loc" not in asked[0]
    assert "%a0: tensor<4xf32>, %a1: tensor<4xi32>" in asked[1] and '"ttg.num-warps" = 2' in asked[1]
    assert "%r = tt.gather %a0[%a1] {axis = 0 : i32}" in asked[1]
    assert _triton_scratch.sized(sized, allocate) == sized and len(asked) == 2


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
    from spad._triton_grid import registers_of

    assert registers_of(elf_with_registers(218)) == 218
    for bad in (b"", b"\x7fELF", elf_with_registers(218)[:100], bytes(2000)):
        assert registers_of(bad) is None


def test_blocks_that_share_tiles(root):
    from spad import _triton_grid

    def reuse(text, sizes, blocks):
        return _triton_grid.reuse(_triton_grid.places_of(text, sizes, blocks), blocks)

    text = recorded(root, "matmul_sm90_s3_v36")
    sizes = {"M": 4096, "N": 4096, "K": 4096, "stride_am": 4096, "stride_bk": 4096}
    assert reuse(text, sizes, 64) == {"a_ptr": (32, 32), "b_ptr": (2, 1)}  # 32 tiles in a row
    assert reuse(text, {**sizes, "N": 1024}, 64) == {"a_ptr": (8, 8), "b_ptr": (8, 1)}
    tma = recorded(root, "matmul_tma_sm90_s3_v39")
    assert reuse(tma, sizes, 64) == {"a_desc": (32, 32), "b_desc": (2, 1)}
    assert reuse("", {}, 8) == {} and reuse(text, sizes, 0) == {}


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
    from spad._triton_grid import text_of

    text = text_of(MATMUL, 4, 128, {"a_ptr": (16, 1), "b_ptr": (8, 8)}, {}, {})
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
    moved = [line.strip() for line in text_of(inside, 4, 128, {"a_ptr": (16, 1), "b_ptr": (8, 8)}, {}, {}).split("\n")]
    at = moved.index(lines[first])
    assert moved[at:at + 4] == lines[first:first + 4] and moved[at - 2:at] == [line.strip() for line in where]
    # rows of 128 bytes: the memory brings two tiles; threads copy 16 bytes at a time
    assert "tensor a_ptr : global float16 [2] (128, 64) input reused 16 cached 1 of 2 pieces 16" in lines
    assert "tensor b_ptr : global float16 (64, 128) input reused 8 near 8 pieces 16" in lines
    # the result comes from registers
    assert "simt store_buffer reads c_ptr_r adds c_ptr" in lines
    assert "agent warps of 128 threads registers 128 {" in lines


def test_products_that_are_not_divided():
    from spad._triton_grid import text_of

    for old, new in (("reads left, right", "reads left(0..64, ..), right"), ("(64, 128) at", "(8192) at")):
        text = text_of(MATMUL.replace(old, new), 4, None, {}, {}, {})
        assert text.count("wgmma dot_acc") == 1 and "agent" not in text
    other = MATMUL.replace("    simt store_right writes right\n", "")  # not each load goes on to shared memory
    assert "ldg" not in text_of(other, 4, None, {}, {}, {})
    rows = text_of(MATMUL.replace("fence shared", "simt look reads a_ptr"), 4, None, {}, {}, {})
    assert "simt look reads a_ptr[0]" in rows
    spad.Kernel.parse(rows)


def test_what_the_cache_keeps():
    from spad import _grid_cache as cache
    from spad._triton_grid import kept, text_of

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
    # the text: 64 steps of 16 KiB, rows of 128 bytes come in pairs
    rows = {"a_ptr": [0, 0, 1, 1], "b_ptr": [0, 1, 0, 1]}
    assert kept(MATMUL, rows, 2, 4 << 20) == {"a_ptr": 0.0, "b_ptr": 0.5}
    text = text_of(MATMUL, 4, None, {}, {}, {"a_ptr": 0.5, "b_ptr": 0.5})
    assert "[16] (128, 64) input cached 12 of 16" in text and "[16] (64, 128) input cached 8 of 16" in text
    names = {"n": 6, "z": 0}
    assert [cache.number(word, names) for word in ("n * 3 + 2", "7 / 2", "n % 4", "-n", "m", "n / z", "2 +", "1.5")] == \
        [20, 3, 2, None, None, None, None, None]


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
