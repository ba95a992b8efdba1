#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""triton_tutorials.py: the tutorials 01 to 11 of a checkout of Triton, compiled by the Triton that is
installed for three chips and several stage counts: verdict, bytes of shared memory of Triton and ours, a simulated
block, and seconds of the processor. Blocks of attention are number 5 of the grid: in a causal one number 0 has no rounds of the first loop.

    PYTHONPATH=build/release/python python3 bench/triton_tutorials.py triton/python/tutorials [--stages 2..4] [--rows]

A tutorial runs on a GPU when it is imported. So only its @triton.jit functions are taken, each at its own line of a
copy in a temporary folder. Without --rows one line for each kernel and chip.
"""

import argparse
import ast
import collections
import importlib.util
import re
import sys
import tempfile
import time
from pathlib import Path

import spad
import spad.triton as st

HALF, FLOAT, INT = "*fp16:16", "*fp32:16", "i32:16"
STRIDES = {"stride_am": INT, "stride_bk": INT, "stride_cm": INT}
POINTERS = {"a_ptr": HALF, "b_ptr": HALF, "c_ptr": HALF, "M": INT, "N": INT, "K": INT}
TILES = {"a_desc": "tensordesc<fp16[128, 64]>", "b_desc": "tensordesc<fp16[128, 64]>",
         "c_desc": "tensordesc<fp16[128, 128]>", "M": INT, "N": INT, "K": INT}
HALVES = {**TILES, "c_desc": "tensordesc<fp16[128, 64]>"}
ONES = {"stride_ak": 1, "stride_bn": 1, "stride_cn": 1}
BLOCK = {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8}
QUERY, KEYS = "tensordesc<fp16[128, 64]>", "tensordesc<fp16[64, 64]>"
HEADS = {"sm_scale": "fp32", "M": FLOAT, "Z": "i32", "H": INT, "desc_q": QUERY, "desc_k": KEYS, "desc_v": KEYS,
         "desc_o": QUERY, "N_CTX": INT}
BACK = {"Q": HALF, "K": HALF, "V": HALF, "sm_scale": "fp32", "DO": HALF, "DQ": HALF, "DK": HALF, "DV": HALF,
        "M": FLOAT, "D": FLOAT, "stride_z": INT, "stride_h": INT, "stride_tok": INT, "H": INT, "N_CTX": INT}
GROUPS = {"group_a_ptrs": "*i64:16", "group_b_ptrs": "*i64:16", "group_c_ptrs": "*i64:16", "group_gemm_sizes": "*i32:16",
          "g_lds": "*i32:16", "group_size": "i32"}
SMALL = {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64}
VECTOR = {"x_ptr": FLOAT, "y_ptr": FLOAT, "output_ptr": FLOAT, "n_elements": "i32"}
NORM = {"X": HALF, "Y": HALF, "W": HALF, "B": HALF, "Mean": FLOAT, "Rstd": FLOAT, "stride": INT, "N": "i32", "eps": "fp32"}
NORM_BACK = {"DX": HALF, "DY": HALF, "DW": HALF, "DB": HALF, "X": HALF, "W": HALF, "Mean": FLOAT, "Rstd": FLOAT,
             "Lock": "*i32:16", "stride": INT, "N": "i32"}
NORM_SUM = {"DW": HALF, "DB": HALF, "FINAL_DW": HALF, "FINAL_DB": HALF, "M": "i32", "N": "i32"}
SIZES = {"M": 1024, "N": 1024, "K": 1024, "n_rows": 1024, "N_CTX": 1024, "H": 16, "Z": 1}


def is_jit(decorator):
    return ast.unparse(decorator).startswith("triton.jit")


def functions(path, folder):
    """A module with the @triton.jit functions of a tutorial, at their lines."""
    lines = path.read_text(encoding="utf-8").split("\n")
    kept = [""] * len(lines)
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) and re.search(r"^import triton$|triton\.language", ast.unparse(node)):
            kept[node.lineno - 1] = lines[node.lineno - 1]
        if isinstance(node, ast.FunctionDef) and any(map(is_jit, node.decorator_list)):
            kept[node.lineno - 1:node.end_lineno] = lines[node.lineno - 1:node.end_lineno]
            kept[node.lineno - 2] = "@triton.jit"
    copy = Path(folder) / path.name
    copy.write_text("\n".join(kept), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), copy)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def plain_cases(modules, stage):
    """Those without products, or without stages of their own, that all chips have."""
    norm = modules["05"]
    yield "01 vector add", modules["01"].add_kernel, VECTOR, {"BLOCK_SIZE": 1024}
    yield ("04 dropout", modules["04"]._dropout,
           {"x_ptr": FLOAT, "x_keep_ptr": "*i32:16", "output_ptr": FLOAT, "n_elements": "i32", "p": "fp32"},
           {"BLOCK_SIZE": 1024})
    yield ("04 seeded dropout", modules["04"]._seeded_dropout,
           {"x_ptr": FLOAT, "output_ptr": FLOAT, "n_elements": "i32", "p": "fp32", "seed": "i32"}, {"BLOCK_SIZE": 1024})
    yield "05 layer norm", norm._layer_norm_fwd_fused, NORM, {"BLOCK_SIZE": 1024}
    yield ("05 layer norm, backward", norm._layer_norm_bwd_dx_fused, NORM_BACK,
           {"GROUP_SIZE_M": 64, "BLOCK_SIZE_N": 1024})
    yield ("05 layer norm, weights", norm._layer_norm_bwd_dwdb, NORM_SUM, {"BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 128})
    yield ("07 extern functions", modules["07"].asin_kernel,
           {"x_ptr": FLOAT, "y_ptr": FLOAT, "n_elements": "i32"}, {"BLOCK_SIZE": 1024})
    yield "08 grouped", modules["08"].grouped_matmul_kernel, GROUPS, {**SMALL, "NUM_SM": 8}
    yield ("11 dependent launch", modules["11"].add_kernel, VECTOR, {"BLOCK_SIZE": 1024, "USE_GDC": False})


def scaled_cases(module, stage):
    """The block-scaled product of mxfp8 and of nvfp4."""
    for name, kind, per_byte, vector in (("mxfp8", "fp8e4nv", 1, 32), ("nvfp4", "u8", 2, 16)):
        deep = 128 if per_byte == 1 else 256
        scale = "u8" if vector == 32 else "fp8e4nv"
        parts = deep // vector // 4
        yield (f"10 block-scaled, {name}", module.block_scaled_matmul_kernel,
               {"a_desc": f"tensordesc<{kind}[128, {deep // per_byte}]>", "b_desc": f"tensordesc<{kind}[256, {deep // per_byte}]>",
                "a_scale_desc": f"tensordesc<{scale}[1, 1, {parts}, 2, 256]>",
                "b_scale_desc": f"tensordesc<{scale}[1, 2, {parts}, 2, 256]>", "c_desc": "tensordesc<fp16[128, 256]>"},
               {"M": 1024, "N": 1024, "K": 1024, "output_type": 1, "ELEM_PER_BYTE_A": per_byte,
                "ELEM_PER_BYTE_B": per_byte, "VEC_SIZE": vector, "BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": deep,
                "rep_m": 1, "rep_n": 2, "rep_k": parts, "NUM_STAGES": stage, "disallow_acc_multi_buffer": True})


def cases(modules, chip, stage):
    """(name, function, signature, constants)"""
    softmax, matmul, attention, persistent = (modules[number] for number in ("02", "03", "06", "09"))
    yield from plain_cases(modules, stage)
    yield ("02 softmax", softmax.softmax_kernel,
           {"output_ptr": FLOAT, "input_ptr": FLOAT, "input_row_stride": INT, "output_row_stride": INT,
            "n_rows": INT, "n_cols": "i32"}, {"BLOCK_SIZE": 1024, "num_stages": stage})
    yield ("03 matmul", matmul.matmul_kernel, {**POINTERS, **STRIDES}, {**BLOCK, **ONES, "ACTIVATION": ""})
    yield ("06 attention, backward", attention._attn_bwd, BACK,
           {"stride_d": 1, "BLOCK_M1": 32, "BLOCK_N1": 128, "BLOCK_M2": 128, "BLOCK_N2": 32,
            "BLK_SLICE_FACTOR": 2, "HEAD_DIM": 64, "CAUSAL": True})
    yield "09 matmul", persistent.matmul_kernel, {**POINTERS, **STRIDES}, {**BLOCK, **ONES}
    yield ("09 persistent", persistent.matmul_kernel_persistent, {**POINTERS, **STRIDES},
           {**BLOCK, **ONES, "NUM_SMS": 8})
    if chip == 80:
        return
    yield ("08 grouped, TMA", modules["08"].grouped_matmul_tma_kernel, GROUPS,
           {**SMALL, "NUM_SM": 8, "FP8": False})
    if chip == 100:
        yield from scaled_cases(modules["10"], stage)
    for special in (False, True):
        word = ", warp-specialised" if special else ""
        for causal in (False, True):
            yield ("06 attention" + (", causal" if causal else "") + word, attention._attn_fwd, HEADS,
                   {"HEAD_DIM": 64, "BLOCK_M": 128, "BLOCK_N": 64, "FP8_OUTPUT": False,
                    "STAGE": 3 if causal else 1, "warp_specialize": special, "IS_HOPPER": chip == 90})
        yield ("09 TMA" + word, persistent.matmul_kernel_tma, TILES,
               {**BLOCK, "FP8_OUTPUT": False, "WARP_SPECIALIZE": special})
        for half in (False, True):
            yield ("09 TMA persistent" + (", result in halves" if half else "") + word,
                   persistent.matmul_kernel_tma_persistent, HALVES if half else TILES,
                   {**BLOCK, "FP8_OUTPUT": False, "EPILOGUE_SUBTILE": half, "NUM_SMS": 8,
                    "WARP_SPECIALIZE": special})
        yield ("09 descriptors, persistent" + word, persistent.matmul_kernel_descriptor_persistent, POINTERS,
               {**BLOCK, "EPILOGUE_SUBTILE": False, "NUM_SMS": 8, "WARP_SPECIALIZE": special, "FLATTEN": chip != 90})


Row = collections.namedtuple("Row", "chip stage name verdict theirs ours block seconds unrolled")


def judge(chip, stage, name, text, signature):
    start = time.process_time()
    try:
        sizes = {key: value for key, value in SIZES.items() if str(signature.get(key, "")).startswith("i32")}
        kernel = st.load(text, sizes={**sizes, "program_id": 5} if "N_CTX" in signature else sizes)
        check = kernel.check()
    except spad.Error as error:
        return Row(chip, stage, name, "not read: " + str(error).split("\n")[0], None, None, "", 0.0, False)
    size, verdict = kernel.bytes, check.verdict
    if verdict == "wrong":
        verdict += ": " + ", ".join(sorted({f.code for f in check.findings if f.severity == "error"}))
    try:
        sim = kernel.sim()
        block = f"{sim.makespan / 1e6:.1f}" if sim.unit == "time" else "-"
    except spad.Error:
        block = "-"
    return Row(chip, stage, name, verdict, size["triton"], size["spad"], block, time.process_time() - start,
               kernel.info["unrolled"])


def rows(modules, chips, stages, only=""):
    for chip in chips:
        for stage in stages:
            for name, function, signature, constants in cases(modules, chip, stage):
                if only not in name:
                    continue
                known = {key: value for key, value in constants.items() if key in function.arg_names}
                try:
                    text = st.compile(function, signature, known, chip, num_stages=stage, num_warps=4)
                except Exception:
                    yield Row(chip, stage, name, "Triton fails", None, None, "", 0.0, False)
                    continue
                yield judge(chip, stage, name, text, signature)


def show(found):
    groups = collections.defaultdict(list)
    for row in found:
        groups[row.name, row.chip].append(row)
    print("| kernel | chip | verdicts, by stages | run with sizes | bytes of Triton | ours | a block, us | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for (name, chip), group in groups.items():
        words = collections.Counter(row.verdict for row in group)
        placed = [row for row in group if row.theirs is not None]
        print(f"| {name} | sm_{chip} | {'; '.join(f'{count} {word}' for word, count in words.items())} | "
              f"{sum(row.unrolled for row in group)} | {', '.join(str(row.theirs) for row in placed)} | "
              f"{', '.join(str(row.ours) for row in placed)} | {', '.join(row.block for row in placed)} | "
              f"{max(row.seconds for row in group):.2f} |")
    placed = [row for row in found if row.theirs is not None]
    print(f"\nbytes: Triton {sum(row.theirs for row in placed)}, ours {sum(row.ours for row in placed)}; ours more in "
          f"{sum(row.ours > row.theirs for row in placed)} of {len(placed)}, less in "
          f"{sum(row.ours < row.theirs for row in placed)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stages", default="2..4")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--only", default="", help="kernels whose name has this word")
    options = parser.parse_args()
    first, _, last = options.stages.partition("..")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        modules = {path.name[:2]: functions(path, folder) for path in sorted(options.folder.glob("[01][0-9]-*.py"))}
        for row in rows(modules, (80, 90, 100), range(int(first), int(last or first) + 1), options.only):
            found.append(row)
            if options.rows:
                print(*row, sep=" | ", flush=True)
    show(found)


if __name__ == "__main__":
    main()
