# SPDX-License-Identifier: Apache-2.0
"""spad.cuda: launches of PTX kernels from Python, and what carries PTX."""

import re

import pytest

import spad
import spad.cuda as sc

RING = {"block": 160, "args": ["f32[8,256]", "f32[128]", 8]}


def path(root, name):
    return root / "tests" / "ptx" / name


def test_kernels(root):
    found = {row["name"]: row for row in sc.kernels(path(root, "reduce.ptx"))}
    assert list(found) == ["sums", "sums_reused", "sums_stuck", "sums_beyond", "sums_some"]
    assert found["sums"]["shared_bytes"] == 512 and not found["sums"]["dynamic_shared"]
    assert found["sums_beyond"]["dynamic_shared"] and found["sums_beyond"]["cluster"] is None
    assert [row["type"] for row in found["sums"]["parameters"]] == ["u64", "u64", "u32"]


def test_verdicts(root):
    kernel = sc.load(path(root, "copies.ptx"), "ring_sum", **RING)
    assert isinstance(kernel, spad.Kernel) and kernel.name == "ring_sum"
    assert kernel.run["warps"] == 5 and kernel.run["ctas"] == 1 and kernel.run["remarks"] == []
    assert kernel.check().verdict.startswith("proved")
    check = sc.check(path(root, "copies.ptx"), "ring_sum_early", **RING)
    assert [finding.code for finding in check.findings if finding.severity == "error"] == ["SPAD-RACE"]


def test_findings_lead_with_the_line_of_cpp(root):
    check = sc.check(path(root, "reduce.ptx"), "sums_beyond", block=128, smem=512, args=["f32[128]", "f32[128]"])
    first = check.findings[0]
    assert (first.code, first.file, first.line, first.column) == ("SPAD-EXECUTION", "reduce.cu", 45, 5)
    assert first.from_input == (341, 2) and "in line 45 of reduce.cu" in repr(first)
    assert check.verdict == "wrong"


def test_loops(root):
    """An argument that decides a trip count is a parameter, named by its position."""
    kernel = sc.load(path(root, "copies.ptx"), "ring_sum", **RING)
    assert kernel.params == {"arg2": 8} and "for i in 0..arg2" in kernel.text()
    assert "launches with 9 and 15 instead of 8" in kernel.run["loops"]
    assert kernel.check().verdict == "proved for all trip counts"
    short = sc.load(path(root, "copies.ptx"), "ring_sum", block=160, args=["f32[8,256]", "f32[128]", 2])
    assert short.run["loops"] == "no loops: no warp repeats anything three times" and not short.params


def test_memory_afterwards(root):
    """Results are there where the launch gives contents, and only what they depend on is known."""
    def memory(*args):
        return sc.load(path(root, "mutants.ptx"), "double_buffer", block=128, args=[*args, 2]).run["memory"]

    numbers = ",".join(str(n) for n in range(256))
    given, result = memory(f"i32[2,128]={numbers}", "i32[128]=zeros")
    words = [int.from_bytes(result["contents"][at:at + 4], "little") for at in range(0, 512, 4)]
    assert words == [3 * (127 - t) + 128 + 127 - t for t in range(128)] and set(result["known"]) == {1}
    assert given["bytes"] == 1024 and len(given["contents"]) == 1024 and given["address"] < result["address"]
    unknown, result = memory("i32[2,128]", "i32[128]=zeros")
    assert unknown["contents"] is None and unknown["known"] is None and unknown["bytes"] == 1024
    assert set(result["known"]) == {0}


def test_what_data_decides(root):
    """Both answers of the one branch, and none where the data is given."""
    def run(wanted, way=0):
        return sc.load(path(root, "reduce.ptx"), "sums_some", block=128, args=["f32[128]", wanted, "f32[128]"], way=way).run

    runs = [run("i32[1]", way) for way in (0, 1)]
    assert [one["choices"] for one in runs] == [1, 1] and runs[0]["events"] != runs[1]["events"]
    assert runs[0]["remarks"][0]["choice"] and runs[0]["remarks"][0]["file"] == "reduce.cu"
    assert run("i32[1]=1")["choices"] == 0


@pytest.mark.parametrize("threads", [16, 48, 127])
def test_blocks_whose_last_warp_is_not_full(root, threads):
    """__syncthreads counts warps: one with few threads is 32 of a barrier's."""
    kernel = sc.load(path(root, "reduce.ptx"), "sums_some", block=threads, args=["f32[128]", "i32[1]=1", "f32[128]"])
    assert kernel.check().verdict.startswith("proved") and "barrier0 by 32" in kernel.text()
    assert f"barrier barrier0 count {-(-threads // 32) * 32}" in kernel.text()


def test_arguments(root):
    numpy = pytest.importorskip("numpy")
    source = path(root, "copies.ptx")
    arrays = [numpy.zeros((8, 256), numpy.float32), numpy.zeros(128, numpy.float32), 8]
    assert sc.load(source, "ring_sum", block=160, args=arrays).run == sc.load(source, "ring_sum", **RING).run
    assert sc.load(source, "store", block=128, args=[None, 0.5]).run["warps"] == 4
    for wrong in ({"args": ["f32[0]", 1.5]}, {"args": [1]}, {"args": [1, 2, 3]}, {"grid": (1, 2, 3, 4), "args": [None, 1]}):
        with pytest.raises((ValueError, spad.Error)):
            sc.load(source, "store", block=128, **wrong)


def test_objects_that_carry_ptx(root):
    text = path(root, "copies.ptx").read_text()

    class Compiled:
        asm = {"ptx": text}

    class Dispatcher:
        def __init__(self, texts):
            self.texts = texts

        def inspect_asm(self):
            return self.texts

    for source in (text, Compiled(), Dispatcher(text), Dispatcher({("float32",): text})):
        assert len(sc.kernels(source)) == 4
    with pytest.raises(ValueError, match="2 signatures"):
        sc.kernels(Dispatcher({1: text, 2: text}))


def test_images(root):
    """Fatbins and objects of nvcc: the text for the newest architecture, or for the one that is named."""
    images = root / "fuzz" / "corpus" / "ptx_image"
    launch = {"block": 64, "args": ["f32[64]", 2.5]}
    for name in ("plain.fatbin", "lz4.fatbin", "zstd.fatbin"):
        kernel = sc.load(images / name, "scale", **launch)
        assert kernel.check().verdict.startswith("proved") and ".target sm_90a" in kernel.source
    assert ".target sm_80" in sc.load(images / "plain.fatbin", arch="sm_80", **launch).source
    assert [row["plain_name"] for row in sc.kernels(images / "two.o")] == ["scale", "fill::clear"]
    assert [row["target"] for row in sc.kernels(images / "plain.fatbin")] == ["sm_80", "sm_90a"]
    assert sc.load(images / "two.o", "fill::*", block=32, args=["i32[32]"]).run["warps"] == 1
    for wrong, why in (("code.fatbin", "machine code for sm_90a"), ("cut.cubin", "a cubin")):
        for function in (sc.load, sc.kernels):
            with pytest.raises(spad.Error, match=why):
                function(images / wrong)


def test_launch_files(root, tmp_path):
    """What is given in the call replaces what the file says."""
    launches = root / "tests" / "cli" / "input" / "launches"
    kernel = sc.load(launches / "ring.toml")
    run = sc.load(path(root, "copies.ptx"), "ring_sum", **RING).run
    assert kernel.run == {**run, "loops": run["loops"].replace("'arg2'", "'tiles'")}
    check = kernel.check()
    assert "as many rows as tiles" in str(check.reason)
    assert sc.check(launches / "ring.toml", "ring_sum_early").verdict == "wrong"
    assert sc.load(launches / "sums.toml").run["choices"] == 0
    assert sc.load(launches / "ring.toml", args=["f32[2,256]", "f32[128]", 2]).run["instructions"] < kernel.run["instructions"]
    kernel.report().save(tmp_path / "ring.html")
    assert "ring_sum" in (tmp_path / "ring.html").read_text()
    faulty = tmp_path / "faulty.toml"
    faulty.write_text(f'version = 1\nmodule = "{path(root, "copies.ptx")}"\ngrid = 0\n')
    with pytest.raises(spad.TextError, match="faulty.toml:3:8"):
        sc.load(faulty)


def test_integers_of_arrays_are_contents(root):
    """An array of integers decides the branch; one that is too large, or not on the host, does not."""
    numpy = pytest.importorskip("numpy")

    def choices(wanted):
        return sc.load(path(root, "reduce.ptx"), "sums_some", block=128, args=["f32[128]", wanted, "f32[128]"]).run["choices"]

    class OnDevice:
        shape, dtype, nbytes = (1,), numpy.dtype("int32"), 4

        def get(self):  # as cupy.ndarray
            raise AssertionError("a copy from the device")

        tobytes = get

    assert choices(numpy.array([1], numpy.int32)) == 0
    assert choices(numpy.zeros(40000, numpy.int32)) == 1
    assert choices(OnDevice()) == 1


def test_objects_of_numba_and_cupy(root, monkeypatch):
    """Stand-ins of what numba-cuda 0.30 and CuPy 14 have: arrays are several parameters, and source is compiled."""
    numpy = pytest.importorskip("numpy")
    text = path(root, "copies.ptx").read_text()
    array = numpy.zeros((4, 8), numpy.float32)
    assert sc._numba_words(array) == ["0", "0", "32", "4", "float32[4,8]", "4", "8", "32", "4"]
    assert sc._numba_words(2.5) == ["2.5"]
    assert len(sc.kernels((text, "none"))) == 4  # compile_ptx
    compiled = []

    def compile_source(file, flags):
        compiled.append((open(file, encoding="utf-8").read(), flags))
        return text

    class RawKernel:
        code, options, name = "__global__ void k();", ("-std=c++17",), "ring_sum"

    class RawModule:
        code, options, file_path = None, (), str(path(root, "reduce.ptx"))

    monkeypatch.setattr(sc, "compile", compile_source)
    assert sc.load(RawKernel(), **RING).name == "ring_sum"
    assert compiled == [("__global__ void k();", ["-arch=sm_90a", "-std=c++17"])]
    assert len(sc.kernels(RawModule())) == 5


def test_a_kernel_that_numba_has_not_compiled():
    """Asking for its texts would need a GPU."""
    pytest.importorskip("numba.cuda")

    class Lazy:
        overloads = {}

        def inspect_asm(self):
            raise AssertionError("needs a GPU")

    with pytest.raises(ValueError, match="pass numbers and arrays"):
        sc.load(Lazy(), args=["f32[64]"])


def test_faults(root, tmp_path, monkeypatch):
    with pytest.raises(spad.TextError, match="away"):
        sc.kernels(".version 9.0\n.target sm_80\n.address_size 64\n.entry k() { bra away; }\n")
    with pytest.raises(spad.Error, match="5 kernels match"):
        sc.load(path(root, "reduce.ptx"))
    monkeypatch.setenv("NVCC", "/no/nvcc")
    with pytest.raises((OSError, ValueError)):
        sc.kernels(path(root, "reduce.cu"))


HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"


def kernel_of(body):
    return f"{HEAD}.visible .entry k(.param .u64 p) {{\n{body}\n}}\n"


@pytest.mark.parametrize("launch, message", [
    ({"block": 1025}, "at most 1024 threads"), ({"block": 160, "grid": 3, "cluster": 2}, "no multiple of clusters of 2"),
    ({"block": 160, "grid": 17, "cluster": 17}, "at most 16 blocks"), ({"block": 160, "args": [1]}, "has no argument"),
    ({"block": 160, "args": [1, 2, 3, 4]}, "none is left for it"),
    ({"block": 160, "smem": 300000}, r"takes 302080 bytes of shared memory, 2080 of them static; sm_90 has 232448: give a smaller --smem"),
])
def test_wrong_launches(root, launch, message):
    with pytest.raises(spad.Error, match=message):
        sc.load(path(root, "copies.ptx"), "ring_sum", **{**RING, **launch})


@pytest.mark.parametrize("body, message", [
    (".local .b8 s[1000000000]; st.local.b8 [s], 1; ret;", "needs 1000000000 bytes of local memory for each thread; a thread has 524288 at most"),
    (".shared .b8 s[1000000000]; st.shared.b8 [s], 1; ret;", "needs 1000000000 bytes of shared memory"),
    (".shared .b8 s[1000000][1000000][1000000]; ret;", "'s' is too large"),
    ("{" * 100000 + "}" * 100000 + " ret;", "nested too deeply; at most 128 levels"),
    ("call f; ret;\n}\n.func f() { call f; ret;", "'f' is not declared"),
])
def test_bodies_that_are_refused(body, message):
    with pytest.raises(spad.Error, match=message):
        sc.load(kernel_of(body), block=64, args=[None])


def test_recursion_has_a_place(tmp_path):
    source = tmp_path / "deep.ptx"
    source.write_text(HEAD + ".func f() { call f; ret; }\n.visible .entry k(.param .u64 p) { call f; ret; }\n")
    with pytest.raises(spad.Error, match="calls are nested too deeply") as caught:
        sc.load(source, block=64, args=[None])
    assert "deep.ptx" in str(caught.value)


@pytest.mark.parametrize("body, message", [
    (".reg .b32 %r<3>; .shared .b32 s[4]; mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 2; st.shared.u32 [%r1], 1; ret;",
     r"outside of the shared memory of the block: .* \(block 0, warp 0, thread 4\)"),
    (".reg .b32 %r<3>; .reg .pred %p; mov.u32 %r1, %tid.x; setp.ne.u32 %p, %r1, 40; @%p exit; trap;",
     r"the program traps: .*\(block 0, warp 1, thread 40\)"),
    ("L: bra L;", r"the program never ends: this loop has no end, and its threads were ended"),
    (".shared .b64 s; mbarrier.init.shared.b64 [s], 0; ret;", "an mbarrier that counts 0 arrivals: use 1 to 1048575"),
    (".shared .b64 s; mbarrier.init.shared.b64 [s], 2000000; ret;", "an mbarrier that counts 2000000 arrivals"),
    (".reg .b32 %r<1000000000>; trap;", "the program traps"),
])
def test_faults_of_the_run(body, message):
    remarks = sc.load(kernel_of(body), block=64, args=[None]).run["remarks"]
    assert [remark for remark in remarks if remark["wrong"] and re.search(message, remark["message"]) and remark["line"] == 5]


def test_an_end_before_the_last_arrival(root):
    """A block of a cluster must not end while another one may still arrive at its mbarriers."""
    text = path(root, "mutants.ptx").read_text()
    begin, end = text.index(".entry multicast_ring"), text.index(".entry ping_pong")
    last = text.rindex("barrier.cluster.arrive", begin, end)
    launch = {"grid": 2, "block": 64, "args": ["i32[6,64]", "i32[64]", 6]}
    assert sc.check(text, "multicast_ring", **launch).verdict.startswith("proved")
    early = text[:last] + re.sub(r"barrier\.cluster\.\S+;", "", text[last:end]) + text[end:]
    assert {finding.code for finding in sc.check(early, "multicast_ring", **launch).findings
            if finding.severity == "error"} == {"SPAD-MBARRIER-LIFE"}


def test_truncated_at_every_line(root):
    """Each is a module, or a fault with a place; one that lacks the end of a kernel is always a fault."""
    lines = path(root, "peers.ptx").read_text().split("\n")
    ends = [n for n, line in enumerate(lines) if line == "}"]
    for n in range(1, len(lines)):
        text = "\n".join(lines[:n]) + "\n"
        try:
            kernels = sc.kernels(text)
        except spad.Error as error:
            assert str(error)
        else:
            assert len(kernels) == sum(1 for end in ends if end < n)
