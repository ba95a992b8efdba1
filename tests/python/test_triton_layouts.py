# SPDX-License-Identifier: Apache-2.0
"""Which warp has which element of a tensor: what spad reads in a layout is what Triton's own conversion to a
linear layout says, for random layouts of all kinds that are read. Runs where Triton 3.9 is installed."""

import random
import re

import pytest

import spad

gluon_ir = pytest.importorskip("triton._C.libtriton", reason="there is no Triton").__dict__.get("gluon_ir")
if gluon_ir is None or not hasattr(gluon_ir.GluonOpBuilder, "to_linear_layout"):
    pytest.skip("this Triton has no to_linear_layout", allow_module_level=True)

from triton._C.libtriton import ir  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402

CASES = 150


def show(value):
    return "[" + ", ".join(show(v) if isinstance(v, list) else str(v) for v in value) + "]"


def linear_text(layout):
    return (f"#ttg.linear<{{register = {show(layout.reg_bases)}, lane = {show(layout.lane_bases)}, "
            f"warp = {show(layout.warp_bases)}, block = {show(layout.block_bases)}}}>")


class Maker:
    """Random layouts, each as text and as Triton's object."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.context = ir.context()
        ir.load_dialects(self.context)
        self.builder = gluon_ir.GluonOpBuilder(self.context)

    def linear(self, layout, shape):
        return self.builder.to_linear_layout(layout._to_ir(self.builder), shape)

    def divided(self, bits, rank):
        out = [1] * rank
        for _ in range(bits):
            out[self.random.randrange(rank)] *= 2
        return out

    def mma(self, warp_bits):
        if warp_bits >= 2 and self.random.randrange(2):
            warps = self.divided(warp_bits - 2, 2)
            version, warps, shape = 3, [4 * warps[0], warps[1]], [16, self.random.choice([8, 32, 128]), 16]
        else:
            version, warps, shape = 2, self.divided(warp_bits, 2), [16, 8]
        text = (f"#ttg.nvidia_mma<{{versionMajor = {version}, versionMinor = 0, warpsPerCTA = {show(warps)}, "
                f"instrShape = {show(shape)}}}>")
        return text, gl.NVMMADistributedLayout([version, 0], warps, shape), version

    def make(self, rank, warp_bits, depth=0):
        kind = self.random.randrange(6)
        if kind == 0 and depth < 2:
            dim = self.random.randrange(rank + 1)
            text, layout = self.make(rank + 1, warp_bits, depth + 1)
            return f"#ttg.slice<{{dim = {dim}, parent = {text}}}>", gl.SliceLayout(dim, layout)
        if kind == 1 and rank == 2:
            return self.mma(warp_bits)[:2]
        if kind == 2 and rank == 2:
            text, parent, version = self.mma(warp_bits)
            which = self.random.randrange(2) if version == 2 else 0
            return (f"#ttg.dot_op<{{opIdx = {which}, parent = {text}, kWidth = 2}}>",
                    gl.DotOperandLayout(which, parent, 2))
        if kind == 3 and depth < 2:  # for a tensor of another shape: it is cut off, or goes on in registers
            layout = self.make(rank, warp_bits, 2)[1]
            made = self.linear(layout, self.divided(self.random.randrange(12), rank))
            return linear_text(made), made
        size, lanes = self.divided(self.random.randrange(6), rank), self.divided(5, rank)
        warps, order = self.divided(warp_bits, rank), list(range(rank))
        self.random.shuffle(order)
        return (f"#ttg.blocked<{{sizePerThread = {show(size)}, threadsPerWarp = {show(lanes)}, warpsPerCTA = "
                f"{show(warps)}, order = {show(order)}}}>", gl.BlockedLayout(size, lanes, warps, order))


def warps_of(layout, rank):
    """By element, the warps that have it: one by one, over all registers, lanes and warps."""
    def moved(a, b):
        return tuple(x ^ y for x, y in zip(a, b))

    own = {(0,) * rank}
    for base in layout.reg_bases + layout.lane_bases:
        own |= {moved(element, base) for element in own}
    out = {}
    for warp in range(1 << len(layout.warp_bases)):
        at = (0,) * rank
        for i, base in enumerate(layout.warp_bases):
            at = moved(at, base) if warp >> i & 1 else at
        for element in own:
            out.setdefault(moved(at, element), set()).add(warp)
    return out


def read_spreads(shape, warps, layouts):
    """What the kernel says of a load by each of them."""
    extents, order = "x".join(map(str, shape)), show(list(range(len(shape)))[::-1])
    memory = f"!ttg.memdesc<{extents}xi8, #tile, #smem, mutable>"
    lines = [f"#tile = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = {order}}}>",
             "#smem = #ttg.shared_memory", *(f"#l{i} = {text}" for i, text in enumerate(layouts)),
             f'module attributes {{"ttg.num-warps" = {warps} : i32, ttg.shared = 200000 : i32, spad.barriers, '
             'ttg.target = "cuda:90"} {', "  tt.func public @f(%x: i32) {",
             f"    %t = ttg.local_alloc {{allocation.offset = 0 : i32}} : () -> {memory}",
             *(f"    %v{i} = ttg.local_load %t : {memory} -> tensor<{extents}xi8, #l{i}>"
               for i in range(len(layouts))), "    tt.return", "  }", "}"]
    text = spad.Kernel.read_ttgir("\n".join(lines) + "\n").text()
    return re.findall(r"load_v\d+ reads t spread (\w+)", text)


@pytest.mark.parametrize("seed", range(4))
def test_layouts_are_those_of_triton(seed):
    maker = Maker(seed)
    for _ in range(CASES):
        rank, warp_bits = maker.random.randrange(1, 4), maker.random.randrange(1, 6)
        shape = maker.divided(maker.random.randrange(14), rank)
        texts, owners = [], []
        for text, layout in (maker.make(rank, warp_bits) for _ in range(3)):
            linear = maker.linear(layout, shape)
            texts += [text, linear_text(linear)]
            owners += [warps_of(linear, rank)] * 2
        words = read_spreads(shape, 1 << warp_bits, texts)
        assert len(words) == len(texts)
        for i, word in enumerate(words):
            repeats = any(len(warps) > 1 for warps in owners[i].values())
            assert (word == "all") == repeats and word != "unknown", (shape, texts[i], word)
            for k in range(i):
                if "all" not in (word, words[k]):
                    assert (word == words[k]) == (owners[i] == owners[k]), (shape, texts[i], texts[k])
