# SPDX-License-Identifier: Apache-2.0
"""Triton kernels of tests/ttgir/kernels.py, compiled once: their TTGIR and their PTX are both in tests/routes.

    PYTHONPATH=build/release/python python3 tests/python/triton_routes.py

compiles them again with the Triton that is installed (3.6 made those that are there) and writes these files."""

import os
import pathlib
import re
import sys
from dataclasses import dataclass

FOLDER = pathlib.Path(os.environ.get("SPAD_ROOT") or pathlib.Path(__file__).resolve().parents[2]) / "tests" / "routes"

POINTERS = {"a_ptr": "*fp16:16", "b_ptr": "*fp16:16", "c_ptr": "*fp16:16", "M": "i32:16", "N": "i32:16", "K": "i32:16",
            "stride_am": "i32:16", "stride_bk": "i32:16", "stride_cm": "i32:16"}
MAPS = {"a_desc": "tensordesc<fp16[128, 64]>", "b_desc": "tensordesc<fp16[128, 64]>", "c_desc": "tensordesc<fp16[128, 128]>",
        "M": "i32:16", "N": "i32:16", "K": "i32:16"}
ATTENTION = {"q_desc": "tensordesc<fp16[128, 64]>", "k_desc": "tensordesc<fp16[64, 64]>", "v_desc": "tensordesc<fp16[64, 64]>",
             "o_desc": "tensordesc<fp16[128, 64]>", "N": "i32:16", "scale": "fp32"}
TILE = {"BM": 128, "BN": 128, "BK": 64}


def described(rows, columns, box):
    """What Triton passes for a tensor descriptor: the map, the shape and the strides."""
    return [f"tensormap:f16[{rows},{columns}],box[{box},64],swizzle128", rows, columns, columns, 1]


POINTER_ARGUMENTS = ["f16[512,512]"] * 3 + [512] * 6
MAP_ARGUMENTS = described(512, 512, 128) * 3 + [512, 512, 512]
ATTENTION_ARGUMENTS = described(512, 64, 128) + described(512, 64, 64) * 2 + described(512, 64, 128) + [512, 0]


@dataclass
class Route:
    """A kernel, how Triton compiled it, and a launch of its PTX: threads, bytes of shared memory, arguments."""
    name: str
    function: str
    types: dict
    constants: dict
    chip: int
    options: dict
    threads: int
    smem: int
    args: list


ROUTES = [
    Route("matmul_sm80_s3", "matmul", POINTERS, TILE, 80, {"num_stages": 3, "num_warps": 8}, 256, 65536, POINTER_ARGUMENTS),
    Route("matmul_sm90_s3", "matmul", POINTERS, TILE, 90, {"num_stages": 3, "num_warps": 8}, 256, 98304, POINTER_ARGUMENTS),
    Route("matmul_tma_sm90_s3", "matmul_tma", MAPS, {**TILE, "SPECIALISE": False}, 90, {"num_stages": 3, "num_warps": 8},
          256, 98328, MAP_ARGUMENTS),
    Route("matmul_tma_sm100_s3", "matmul_tma", MAPS, {**TILE, "SPECIALISE": False}, 100, {"num_stages": 3, "num_warps": 4},
          128, 98352, MAP_ARGUMENTS),
    Route("matmul_tma_ws_sm100_s2", "matmul_tma", MAPS, {**TILE, "SPECIALISE": True}, 100, {"num_stages": 2, "num_warps": 4},
          256, 65724, MAP_ARGUMENTS),
    Route("persistent_sm90_s3", "matmul_persistent", MAPS, {**TILE, "SMS": 132, "SPECIALISE": False, "FLAT": False}, 90,
          {"num_stages": 3, "num_warps": 8}, 256, 131096, MAP_ARGUMENTS),
    Route("attention_sm90_s3", "attention", ATTENTION, {"BM": 128, "BN": 64, "D": 64, "SPECIALISE": False}, 90,
          {"num_stages": 3, "num_warps": 8}, 256, 65592, ATTENTION_ARGUMENTS),
    Route("softmax_sm80_s3", "softmax", {"out_ptr": "*fp32:16", "in_ptr": "*fp32:16", "stride": "i32:16", "rows": "i32",
                                         "cols": "i32"}, {"BLOCK": 1024, "STAGES": 3}, 80, {"num_warps": 4},
          128, 8208, ["f32[64,1024]", "f32[64,1024]", 1024, 64, 1000]),
    Route("layer_norm_sm80", "layer_norm", {"x_ptr": "*fp16:16", "y_ptr": "*fp16:16", "w_ptr": "*fp16:16", "b_ptr": "*fp16:16",
                                            "stride": "i32:16", "N": "i32:16", "eps": "fp32"}, {"BLOCK": 1024}, 80,
          {"num_warps": 4}, 128, 16, ["f16[4,2048]", "f16[4,2048]", "f16[2048]", "f16[2048]", 2048, 2048, 0]),
    Route("along_sm90", "along", {"x_ptr": "*fp32:16", "y_ptr": "*fp32:16"}, {"M": 64, "N": 64, "AXIS": 0, "KIND": 0}, 90,
          {"num_warps": 4}, 128, 1024, ["f32[64,64]", "f32[64,64]"]),
]
SCRATCH = ["f32[1]", "f32[1]"]  # two pointers that Triton adds to every kernel


def compiled(route):
    """{"ttgir": text, "ptx": text, "smem": bytes, "threads": number} by the Triton that is installed."""
    import spad.triton as st
    sys.path.insert(0, str(FOLDER.parent / "ttgir"))
    import kernels
    made = st._compiled(getattr(kernels, route.function), route.types, route.constants, route.chip, dict(route.options))
    def with_short_paths(text):
        return re.sub(r'"[^"\n]*/triton/', '"triton/', text.replace(folder + "/", "").replace(folder, "."))

    folder = str(FOLDER.parent / "ttgir")
    return {"ttgir": with_short_paths(made.asm["ttgir"]), "ptx": with_short_paths(made.asm["ptx"].split("\t.section\t.debug")[0]),
            "smem": made.metadata.shared, "threads": made.metadata.num_warps * 32}


def main():
    for route in ROUTES:
        made = compiled(route)
        assert (made["threads"], made["smem"]) == (route.threads, route.smem), (route.name, made["threads"], made["smem"])
        for kind in ("ttgir", "ptx"):
            (FOLDER / f"{route.name}.{kind}").write_text(made[kind], encoding="utf-8")


if __name__ == "__main__":
    main()
