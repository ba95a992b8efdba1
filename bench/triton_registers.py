#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""triton_registers.py: simulated times of Triton kernels that compute in registers (attention, softmax, layer norm),
beside what an H200 measured at 1500 MHz (examples/cuda/h200_triton_registers.csv). No figure was fitted to these.

    PYTHONPATH=build/release/python python3 bench/triton_registers.py [--kernel attention]
"""

import argparse
import csv
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "ttgir"))

import kernels  # noqa: E402
import spad  # noqa: E402
import spad.triton as st  # noqa: E402

FLOATS, INT = "*fp32:16", "i32:16"
BLOCK = 1024  # of layer_norm


def attention(row):
    tiles = {"q_desc": row["BM"], "k_desc": row["BN"], "v_desc": row["BN"], "o_desc": row["BM"]}
    types = {name: f"tensordesc<fp16[{rows}, {row['depth']}]>" for name, rows in tiles.items()}
    kernel = st.load(kernels.attention, {**types, "N": INT, "scale": "fp32"},
                     {"BM": int(row["BM"]), "BN": int(row["BN"]), "D": int(row["depth"]), "SPECIALISE": False},
                     target="H200", num_warps=int(row["warps"]), num_stages=int(row["stages"]),
                     sizes={"N": int(row["length"])})
    return kernel, {"k_desc": (2, 2), "v_desc": (2, 2)}  # keys and values stay in the cache


def softmax(row):
    cols = int(row["length"])
    kernel = st.load(kernels.softmax, {"out_ptr": FLOATS, "in_ptr": FLOATS, "stride": INT, "rows": INT, "cols": INT},
                     {"BLOCK": cols, "STAGES": 2}, target="H200", num_warps=int(row["warps"]),
                     sizes={"rows": int(row["rows"]), "cols": cols, "stride": cols})
    return kernel, {}


def layer_norm(row):
    cols = int(row["length"])
    kernel = st.load(kernels.layer_norm, {"x_ptr": FLOATS, "y_ptr": FLOATS, "w_ptr": FLOATS, "b_ptr": FLOATS,
                                          "stride": INT, "N": INT, "eps": "fp32"}, {"BLOCK": BLOCK},
                     target="H200", num_warps=int(row["warps"]), sizes={"N": cols, "stride": cols})
    return kernel, {"w_ptr": (2, 2), "b_ptr": (2, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chip", default=str(ROOT / "examples" / "chips" / "h200_1500.chip"))
    parser.add_argument("--csv", default=str(ROOT / "examples" / "cuda" / "h200_triton_registers.csv"))
    parser.add_argument("--kernel", help="one of attention, softmax, layer_norm; all without it")
    options = parser.parse_args()
    chip = spad.Target.load(options.chip)
    errors = {}
    print("| kernel | tile | warps, stages | measured, us | simulated, us | off by |")
    print("|---|---|---|---|---|---|")
    with open(options.csv, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if options.kernel not in (None, row["kernel"]):
                continue
            kernel, cached = {"attention": attention, "softmax": softmax, "layer_norm": layer_norm}[row["kernel"]](row)
            sim = kernel.sim(grid=int(row["blocks"]), registers=int(row["registers"]), target=chip, cached=cached)
            time, us = sim.data["grid"]["time_ps"] / 1e6, float(row["us"])
            errors.setdefault(row["kernel"], []).append(time / us - 1)
            tile = f"{row['BM']} x {row['BN']} x {row['depth']}, " if row["BM"] else ""
            print(f"| {row['kernel']} | {tile}{row['length']} | {row['warps']}, {row['stages'] or '-'} | {us:.0f} | "
                  f"{time:.0f} | {100 * (time / us - 1):+.0f} % |", flush=True)
    for name, off in errors.items():
        print(f"\n{name}: off by {100 * sum(map(abs, off)) / len(off):.1f} % on average, at most "
              f"{100 * max(map(abs, off)):.0f} %, {100 * sum(off) / len(off):+.1f} % in sum; {len(off)} rows")


if __name__ == "__main__":
    main()
