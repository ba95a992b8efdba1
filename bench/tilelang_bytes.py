#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tilelang_bytes.py: bytes of shared memory of TileLang's examples, as TileLang lowers them and as spad places the recorded body of the
same function (docs/results/tilelang.md). Nothing of the examples is imported but their functions and the constants they use. No GPU is needed.

    PYTHONPATH=build/release/python python3 bench/tilelang_bytes.py tilelang/examples [--only WORD]    # needs tilelang and torch
"""

import argparse
import ast
import json
import os
import re
import sys
import types
from pathlib import Path

import spad.tilelang as T
from projects import Project
from spad.tilelang import _tree as tree
from spad.tilelang._page import shared_bytes

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from tilelang_examples import on_cpu  # noqa: E402

CHIP = "sm_90"
PLAIN = ("math", "functools", "typing", "itertools", "enum", "operator")
FLASH = {"batch": 8, "heads": 32, "dim": 128, "block_M": 128, "block_N": 128, "num_stages": 2, "threads": 256}
BSHD = {**FLASH, "seq_len": 4096, "is_causal": False}
BHSD = {**FLASH, "seq_q": 4096, "seq_kv": 4096, "is_causal": False}
GQA = {"batch": 8, "heads": 32, "seq_len": 1024, "dim_qk": 192, "dim_v": 128, "is_causal": False, "block_M": 128, "groups": 16}
MHA = {"batch": 8, "heads": 32, "seq_len": 1024, "dim": 64, "is_causal": False, "block_M": 64}
GEMM = {"M": 1024, "N": 1024, "K": 1024, "block_M": 128}
EXAMPLES = [  # (row of the table, file, function, arguments)
    ("`gemm`, 128 x 128 x 32", "gemm/example_gemm.py", "matmul", {**GEMM, "block_N": 128, "block_K": 32}),
    ("`flash_attention`: mha forward bshd", "flash_attention/example_mha_fwd_bshd.py", "flashattn", BSHD),
    ("mha forward bhsd", "flash_attention/example_mha_fwd_bhsd.py", "flashattn", BHSD),
    ("mha forward bshd, causal", "flash_attention/example_mha_fwd_bshd.py", "flashattn", {**BSHD, "is_causal": True}),
    ("gqa forward", "flash_attention/example_gqa_fwd_bshd.py", "flashattn",
     {**BSHD, "groups": 16, "block_M": 64, "block_N": 64, "threads": 128}),
    ("`deepseek_mla`: decode", "deepseek_mla/example_mla_decode.py", "flashattn",
     {"batch": 132, "heads": 128, "kv_head_num": 1, "seqlen_kv": 8192, "dim": 512, "pe_dim": 64, "block_N": 64, "block_H": 64, "num_split": 1,
      "softmax_scale": 576**-0.5}),
    ("`linear_attention`: forward", "linear_attention/example_linear_attn_fwd.py", "tl_fused_chunk_fwd_kernel",
     {"B": 1, "S": 512, "H": 16, "DK": 128, "DV": 128}),
    ("mha backward, forward part", "flash_attention/example_mha_bwd_bshd.py", "flashattn_fwd", {**MHA, "block_N": 64}),
    ("mha backward", "flash_attention/example_mha_bwd_bshd.py", "flashattn_bwd", {**MHA, "block_N": 64}),
    ("`attention_sink`: mha forward", "attention_sink/example_mha_sink_fwd_bhsd.py", "flashattn",
     {key: value for key, value in BHSD.items() if key != "is_causal"}),
    ("`gdn`: wy_fast", "gdn/example_wy_fast.py", "tilelang_recompute_w_u_fwd",
     {"B": 1, "S": 32768, "H": 32, "DK": 128, "DV": 128, "input_dtype": "bfloat16", "output_dtype": "bfloat16", "gate_dtype": "float32",
      "accum_dtype": "float32", "chunk_size": 64, "block_DK": 64, "block_DV": 32, "threads": 128, "num_stages": 3}),
    ("`gemm_splitk`", "gemm_splitk/example_tilelang_gemm_splitk.py", "matmul", {**GEMM, "block_N": 128, "block_K": 32, "split_k": 4}),
    ("`linear_attention`: backward", "linear_attention/example_linear_attn_bwd.py", "tl_fused_chunk_bwd_kernel",
     {"B": 1, "S": 1024, "H": 16, "DK": 128, "DV": 128}),
    ("gqa backward, forward part", "flash_attention/example_gqa_bwd.py", "flashattn_fwd", {**GQA, "block_N": 64}),
    ("gqa backward", "flash_attention/example_gqa_bwd.py", "flashattn_bwd_split", {**GQA, "block_N": 32, "threads": 256, "num_stages": 2}),
    ("mha forward, 64 x 64, 1 stage", "flash_attention/example_mha_fwd_bshd.py", "flashattn",
     {**BSHD, "block_M": 64, "block_N": 64, "num_stages": 1, "threads": 128}),
    ("`gemm`, 128 x 256 x 64", "gemm/example_gemm.py", "matmul", {**GEMM, "block_N": 256, "block_K": 64}),
]


def recorded(node):
    """A function that is the kernel itself is one of spad's jit; one that gives a kernel is called."""
    jit = [decorator for decorator in node.decorator_list if re.match(r"(tilelang\.)?jit\b", ast.unparse(decorator))]
    inner = any("prim_func" in ast.unparse(d) for below in ast.walk(node) if isinstance(below, ast.FunctionDef) for d in below.decorator_list)
    line = node.decorator_list[0].lineno if jit else 0
    node.decorator_list = [] if inner else [ast.parse("\n" * (line - 1) + "T.jit", mode="eval").body for _ in jit]


def lowered(node):
    node.decorator_list = [decorator for decorator in node.decorator_list if "autotune" not in ast.unparse(decorator)]


def theirs(folder, file, name, arguments):
    import tilelang
    import tilelang.language
    import torch

    known = {"tilelang": tilelang, "T": tilelang.language, "torch": torch}
    function = Project(folder, PLAIN, known, lowered).function(file, name)
    (only,) = tree.of_prim_func(function, CHIP, None, arguments)
    return T.load(only).tilelang_bytes


def ours(folder, file, name, arguments):
    layout = types.SimpleNamespace(make_swizzled_layout=lambda buffer: buffer)
    stand_in = types.SimpleNamespace(cdiv=T.ceildiv, layout=layout)
    torch = types.SimpleNamespace(Tensor=None, float32="float32", float16="float16", bfloat16="bfloat16", dtype=None)
    function = Project(folder, PLAIN, {"T": T, "tilelang": stand_in, "torch": torch}, recorded).function(file, name)
    kernel = function.record(CHIP, **arguments) if hasattr(function, "record") else function(**arguments).record(CHIP)
    layout = kernel.layout()
    verdict = kernel.check(layout=layout).verdict
    lowest = all(space["verdict"] == "optimal" for space in layout.data["spaces"] if space["space"] == "shared")
    return shared_bytes(layout), verdict, lowest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("examples", type=Path)
    parser.add_argument("--only", default="", help="rows with this word")
    options = parser.parse_args()
    import torch

    os.environ["TILELANG_DEFAULT_TARGET"] = json.dumps({"kind": "cuda", "arch": CHIP})
    on_cpu(torch, CHIP)
    sums, notes = [0, 0, 0], []
    print("| example | theirs | ours |\n|---|---|---|")
    for title, file, name, arguments in EXAMPLES:
        if options.only not in title:
            continue
        own, verdict, lowest = ours(options.examples, file, name, arguments)
        other = theirs(options.examples, file, name, arguments)
        print(f"| {title} | {other} | {own} |", flush=True)
        sums = [sums[0] + other, sums[1] + own, sums[2] + 1]
        if not verdict.startswith("proved") or not lowest:
            notes.append(f"{title}: {verdict}" + ("" if lowest else ", a lower layout may exist"))
    print(f"| all {sums[2]} | {sums[0]} | {sums[1]} |", *notes, sep="\n")


if __name__ == "__main__":
    main()
