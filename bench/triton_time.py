#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""triton_time.py: what the simulator says about a matmul of Triton by tile, stages and shape, beside what an H200
measured (examples/cuda/h200_triton.csv, made with the same kernel). No figure was fitted to these measurements. The
sets: first and second are the shapes that the model was made with, other are shapes and tiles that were measured later, last those
that were measured when the model was complete.

    PYTHONPATH=build/release/python python3 bench/triton_time.py [--set first] [--clock 1500] [--chip FILE]
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

HALF, INT = "*fp16:16", "i32:16"
SIGNATURE = {"a_ptr": HALF, "b_ptr": HALF, "c_ptr": HALF, "M": INT, "N": INT, "K": INT, "stride_am": INT,
             "stride_bk": INT, "stride_cm": INT}
ONES = {"stride_ak": 1, "stride_bn": 1, "stride_cn": 1}
CACHE = 30 << 20  # of each half of the L2 cache


def predicted(row, chip):
    m, n, k, bm, bn, bk = (int(row[name]) for name in ("M", "N", "K", "BM", "BN", "BK"))
    kernel = st.load(kernels.matmul_grouped, SIGNATURE, {"BM": bm, "BN": bn, "BK": bk, "GROUP": int(row["group"]), **ONES},
                     target="H200", num_stages=int(row["stages"]), num_warps=int(row["warps"]),
                     sizes={"M": m, "N": n, "K": k, "stride_am": k, "stride_bk": n, "stride_cm": n})
    cached = {"a_ptr": (2, 2), "b_ptr": (2, 2)} if 2 * (m + n) * k <= CACHE else {}
    sim = kernel.sim(grid=(m // bm * (n // bn),), target=chip, cached=cached)
    return sim.data["grid"]["time_ps"] / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clock", default="1500")
    parser.add_argument("--chip", default=str(ROOT / "examples" / "chips" / "h200_1500.chip"))
    parser.add_argument("--csv", default=str(ROOT / "examples" / "cuda" / "h200_triton.csv"))
    parser.add_argument("--set", action="append", help="first, second, other, last; all without it")
    options = parser.parse_args()
    chip = spad.Target.load(options.chip)
    series = {}
    with open(options.csv, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["clock"] == options.clock and (not options.set or row["set"] in options.set):
                key = tuple(row[name] for name in ("M", "N", "K", "BM", "BN", "BK", "warps", "group"))
                series.setdefault(key, []).append((int(row["stages"]), float(row["us"]), predicted(row, chip), row))
    print("| shape | tile, warps | stages | measured, TFLOP/s | simulated | ratio to the best, off by | pairs in the wrong order |")
    print("|---|---|---|---|---|---|---|")
    errors, ratios, wrong, pairs = [], [], 0, 0
    for key, rows in series.items():
        work = 2e-6 * int(key[0]) * int(key[1]) * int(key[2])
        best, least = min(m for _, m, _, _ in rows), min(p for _, _, p, _ in rows)
        off = [(best / m) and (least / p) / (best / m) - 1 for _, m, p, _ in rows]
        bad = seen = 0
        for i, (_, m, p, _) in enumerate(rows):
            for _, other_m, other_p, _ in rows[:i]:
                if abs(m / other_m - 1) > 0.03:
                    seen += 1
                    bad += (m > other_m) != (p > other_p)
        errors += [p / m - 1 for _, m, p, _ in rows]
        ratios += off
        wrong, pairs = wrong + bad, pairs + seen
        print(f"| {' x '.join(key[:3])} | {' x '.join(key[3:6])}, {key[6]}{'' if key[7] == '8' else ', group ' + key[7]} | "
              f"{rows[0][0]} to {rows[-1][0]} | {', '.join(f'{work / m:.0f}' for _, m, _, _ in rows)} | "
              f"{', '.join(f'{work / p:.0f}' for _, _, p, _ in rows)} | "
              f"{', '.join(f'{100 * x:+.0f}' for x in off)} % | {bad} of {seen} |", flush=True)
    print(f"\ntimes: off by {100 * sum(map(abs, errors)) / len(errors):.1f} % on average, at most "
          f"{100 * max(map(abs, errors)):.0f} %; within 15 %: {sum(abs(e) <= 0.15 for e in errors)} of {len(errors)}. "
          f"Ratios to the best of a series: off by {100 * sum(map(abs, ratios)) / len(ratios):.1f} %, at most "
          f"{100 * max(map(abs, ratios)):.0f} %; within 10 %: {sum(abs(r) <= 0.1 for r in ratios)} of {len(ratios)}. "
          f"Pairs of stages in the wrong order, of those more than 3 % apart: {wrong} of {pairs}")


if __name__ == "__main__":
    main()
