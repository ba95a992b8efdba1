#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""triton_gluon.py: the Gluon tutorials of a checkout of Triton, compiled by the Triton that is installed: verdict, bytes of
shared memory of Triton and ours, and seconds of the processor.

    PYTHONPATH=build/release/python python3 bench/triton_gluon.py triton/python/tutorials/gluon [--only 14] [--findings]

No GPU is needed, but PyTorch is: the functions of the tutorials that launch a kernel are called with tensors that have no
memory, and what they would launch is compiled instead. So tiles, stages, warps and clusters are those of the tutorials.
"""

import argparse
import importlib
import re
import sys
import time
import types

import torch
import triton
from triton._C.libtriton import nvidia
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend
from triton.runtime.jit import JITFunction, create_function_from_signature

import spad
import spad.triton as st

HALF, FLOAT = torch.float16, torch.float32
launched = []


class Driver:
    """What tutorials ask of the GPU: which one it is."""
    chip = 90

    def get_current_target(self):
        return GPUTarget("cuda", self.chip, 32)

    def get_current_device(self):
        return 0


def without_memory(make):
    def made(*arguments, **options):
        options["device"] = "meta"
        return make(*arguments, **options)
    return made


def launch(self, *arguments, grid, warmup, **options):
    """Takes the place of JITFunction.run: keeps the function and how it would be compiled."""
    backend = make_backend(Driver().get_current_target())
    binder = create_function_from_signature(self.signature, self.params, backend)
    bound, specialization, chosen = binder(*arguments, **options)
    chosen, signature, constants, attributes = self._pack_args(backend, options, bound, specialization, chosen)
    launched.append((self, signature, constants, attributes, chosen, dict(bound)))
    return types.SimpleNamespace(asm={"amdgcn": "", "ptx": "", "ttgir": "", "sass": ""})


def prepare():
    """Lets tutorials be imported and called as on a machine with a GPU."""
    JITFunction.run = launch
    triton.runtime.driver.set_active(Driver())
    nvidia.cublas.CublasLt = lambda workspace: None  # of no use here, and without a GPU its end frees memory that is not its own
    torch.cuda.is_available = lambda: True
    torch.cuda.get_device_capability = lambda *_: (Driver.chip // 10, Driver.chip % 10)
    torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(multi_processor_count=8, major=Driver.chip // 10)
    for name in ("empty", "zeros", "ones", "randn", "rand", "randint", "arange", "full", "empty_like"):
        setattr(torch, name, without_memory(getattr(torch, name)))


def tile(*shape, dtype=HALF):
    return torch.empty(shape, dtype=dtype)


def small_cases(t):
    """(chip, name, call) of the tutorials on copies."""
    row, square = tile(1 << 16, dtype=FLOAT), [tile(1024, 1024, dtype=FLOAT) for _ in range(3)]
    yield 80, "01 copy", lambda: t["01-intro"].memcpy(row, row, 2048)
    yield 80, "02 copy, two layouts", lambda: t["02-layouts"].memcpy_2d_inout(square[0], square[1])
    yield 80, "03 copy", lambda: t["03-async-copy"].memcpy_1d_cpasync(row, row)
    plain = t["03-async-copy"].gl.SwizzledSharedLayout(1, 1, 1, order=[1, 0])
    yield 80, "03 add", lambda: t["03-async-copy"].elementwise_add_cpasync(*square, plain)
    yield 80, "03 add, pipelined", lambda: t["03-async-copy"].elementwise_add_pipelined(*square, num_buffers=3)
    yield 90, "04 copy by TMA", lambda: t["04-tma"].memcpy_1d_tma(row, row)
    yield 90, "04 message", lambda: t["04-tma"].tma_message_passing(256)
    yield 90, "04 add by TMA", lambda: t["04-tma"].elementwise_add_tma(*square, num_buffers=3)
    yield 90, "08 add, warp-specialised", lambda: t["08-warp-specialization"].elementwise_add_warp_specialized(*square)


def product_cases(t):
    a, b, c = tile(1024, 1024), tile(1024, 1024), tile(1024, 1024)
    five, six, seven, eight = (t[name] for name in ("05-wgmma", "06-tcgen05", "07-persistence", "08-warp-specialization"))
    yield 90, "05 product", lambda: five.small_mma(tile(64, 64), tile(64, 64), tile(64, 64, dtype=FLOAT),
                                                   tile(64, 64, dtype=FLOAT), 64)
    yield 90, "05 matmul", lambda: five.blocked_matmul(a, b, c, 128, 128, 64, False, 4)
    yield 90, "05 matmul, pipelined", lambda: five.blocked_matmul_pipelined(a, b, c, 128, 128, 64, 4)
    yield 100, "06 tensor memory", lambda: six.tmem_example_kernel[(1, )](tile(64, 64, dtype=FLOAT), tile(64, 64, dtype=FLOAT),
                                                                        64, 64, num_warps=4)
    yield 100, "06 product", lambda: six.small_mma(tile(128, 64), tile(64, 128), tile(128, 128, dtype=FLOAT),
                                                   tile(128, 128, dtype=FLOAT), (128, 128), False, True, 4)
    yield 100, "06 matmul", lambda: six.blocked_matmul(a, b, c, 128, 128, 64, False, 4)
    yield 100, "06 matmul, pipelined", lambda: six.blocked_matmul_pipelined(a, b, c, 128, 128, 64, 4)
    for chip in (90, 100):
        yield chip, "07 matmul, pipelined", lambda: seven.matmul_pipelined(a, b, c, 128, 128, 64, 3, 4)
        yield chip, "07 persistent", lambda: seven.persistent_matmul(a, b, c, 128, 128, 64, 3, 4,
                                                                     seven.PersistentTileScheduler)
        yield chip, "07 persistent, pipelined", lambda: seven.persistent_matmul_pipelined(
            a, b, c, 128, 128, 64, 3, 4, seven.GroupedPersistentTileScheduler(8))
    yield 100, "08 matmul, warp-specialised", lambda: eight.matmul_warp_specialized(
        a, b, c, 128, 256, 64, 3, 4, 4, seven.GroupedPersistentTileScheduler(8))


def late_cases(t):
    nine, ten, eleven = t["09-tma-gather-scatter"], t["10-tcgen05-copy"], t["11-tcgen05-mma-scaled"]
    index = torch.arange(0, 1024, dtype=torch.int32)
    yield 100, "09 gather", lambda: nine.async_gather(tile(1024, 1024), index[:64], 0, 64, 64)
    yield 100, "09 scatter", lambda: nine.async_scatter(tile(1024, 1024), index[:64], 0, tile(64, 64), 64, 64)
    yield 100, "09 matmul, gather and scatter", lambda: nine.matmul_fused_gather_scatter(
        tile(1024, 1024), index, tile(1024, 1024), index)
    yield 100, "10 matmul with a sum", lambda: ten.matmul_accumulate(tile(1024, 1024), tile(1024, 1024),
                                                                    tile(1024, 1024, dtype=FLOAT))
    scales = torch.empty((1024, 32), dtype=torch.uint8)
    packed = eleven.swizzle_scales_packed_block(scales, 32)
    left, right = (torch.empty((1024, 1024), dtype=torch.float8_e4m3fn) for _ in range(2))
    yield 100, "11 product with scales", lambda: eleven.simple_mma_scaled(left, right, scales, scales, 32)
    for kernel in ("mma_scaled_pipelined_kernel", "mma_scaled_warp_specialized_kernel"):
        word = "11 scales, " + ("pipelined" if "pipe" in kernel else "warp-specialised")
        yield 100, word, lambda kernel=kernel: eleven.mma_scaled(left, right, packed, packed, 32, getattr(eleven, kernel))
    for clc in (False, True):
        yield 100, "12 persistent" + (", cluster launch control" if clc else ""), lambda clc=clc: (
            t["12-cluster-launch-control"].run_matmul_kernel(tile(1024, 1024), tile(1024, 1024), tile(1024, 1024), use_clc=clc))
    for chip in (90, 100):
        yield chip, "13 convolution", lambda: t["13-conv-im2col"].conv2d_tma_im2col(tile(4, 16, 16, 128), tile(128, 3, 3, 128),
                                                                                  padding=1)


def cluster_cases(t):
    many = t["14-multicta"]
    for blocks in (2, 4, 8):
        yield 90, f"14 softmax, {blocks} blocks", lambda blocks=blocks: many.multicta_softmax_f32(tile(64, blocks << 14, dtype=FLOAT))
    yield 90, "14 multicast copy, 2 blocks", lambda: many.run_tma_multicast_copy(tile(128, 128), tile(128, 128))
    yield 100, "14 product, 2 blocks", lambda: many.run_two_cta_tcgen05(tile(256, 64), tile(64, 128), tile(256, 128))
    yield 100, "14 products, 4 blocks", lambda: many.tma_tcgen05_example(tile(512, 128), tile(128, 128))
    yield 100, "14 matmul, 1 block", lambda: many.matmul_multicta(tile(1024, 512), tile(512, 1024), block_size_n=128, cga_layout=())
    yield 100, "14 matmul, 2 blocks", lambda: many.matmul_multicta(tile(1024, 512), tile(512, 1024))
    yield 100, "14 matmul, 4 blocks", lambda: many.matmul_multicta(tile(1024, 512), tile(512, 1024), stages=4,
                                                                  cga_layout=((1, 0), (2, 0)))


def sizes_of(text, bound):
    """Numbers of the arguments, by the names of the text; of a descriptor its shape and strides."""
    sizes = {}
    for name, value in bound.items():
        if isinstance(value, int) and not isinstance(value, bool):
            sizes[name] = value
        for word, part in (("shape", "shape"), ("stride", "strides")):
            sizes.update({f"{name}.{word}.{i}": number for i, number in enumerate(getattr(value, part, ()) or ())
                          if hasattr(value, "block_shape")})
    return {name: int(value) for name, value in sizes.items() if re.search(rf"%{re.escape(name)}: i\d", text)}


def judge(name, chip, call):
    """One line of the table, and the findings."""
    launched.clear()
    Driver.chip = chip
    try:
        call()
        function, signature, constants, attributes, options, bound = launched[0]
        source = st._source(function)(function, signature, constants, attributes)
        text = triton.compile(source, target=GPUTarget("cuda", chip, 32), options=options.__dict__).asm["ttgir"]
    except Exception as error:  # whatever a compiler raises
        return [name, f"sm_{chip}", "Triton fails: " + str(error).strip().split("\n")[0][:80], "", "", ""], []
    start = time.process_time()
    try:
        kernel = st.load(text, sizes=sizes_of(text, bound))
        check = kernel.check()
        size = kernel.bytes
    except spad.Error as error:
        return [name, f"sm_{chip}", "not read: " + str(error).split("\n")[0], "", "", ""], []
    verdict = check.verdict
    codes = sorted({f.code for f in check.findings if f.severity == ("error" if verdict == "wrong" else "warning")})
    if codes:
        verdict += (": " if verdict == "wrong" else ", warnings: ") + ", ".join(codes)
    seconds = time.process_time() - start
    words = [f"{finding.place or finding.line}: {finding.message}" for finding in check.findings]
    note = " (run with its sizes)" if kernel.info["unrolled"] else ""
    return [name, f"sm_{chip}", verdict + note, size["triton"], size["spad"], f"{seconds:.1f}"], words


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--findings", action="store_true", help="what was found, after each line")
    given = parser.parse_args()
    prepare()
    sys.path.insert(0, given.folder)
    names = ("01-intro", "02-layouts", "03-async-copy", "04-tma", "05-wgmma", "06-tcgen05", "07-persistence",
             "08-warp-specialization", "09-tma-gather-scatter", "10-tcgen05-copy", "11-tcgen05-mma-scaled",
             "12-cluster-launch-control", "13-conv-im2col", "14-multicta")
    tutorials = {name: importlib.import_module(name) for name in names}
    print("| kernel | chip | verdict | bytes of Triton | ours | seconds |\n|---|---|---|---|---|---|")
    for cases in (small_cases, product_cases, late_cases, cluster_cases):
        for chip, name, call in cases(tutorials):
            if given.only not in name:
                continue
            row, words = judge(name, chip, call)
            print("| " + " | ".join("" if cell is None else str(cell) for cell in row) + " |", flush=True)
            for word in words if given.findings else ():
                print("    " + word)


if __name__ == "__main__":
    main()
