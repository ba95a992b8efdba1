#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""triton_table.py: the kernels of tests/ttgir/kernels.py, compiled by the Triton that is installed for three
chips and several stage counts, at sizes of 512: verdict, bytes of shared memory of Triton and ours, and seconds of the processor to check.

    PYTHONPATH=build/release/python python3 bench/triton_table.py [--stages 1..5] [--rows]

Without --rows one line for each kernel and chip.
"""

import argparse
import collections
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "ttgir"))

import kernels  # noqa: E402
import spad  # noqa: E402
import spad.triton as st  # noqa: E402

DESC = "tensordesc<fp16[{}, {}]>"
POINTERS = {"a_ptr": "*fp16:16", "b_ptr": "*fp16:16", "c_ptr": "*fp16:16", "M": "i32:16", "N": "i32:16",
            "K": "i32:16", "stride_am": "i32:16", "stride_bk": "i32:16", "stride_cm": "i32:16"}
TILES = {"a_desc": DESC.format(128, 64), "b_desc": DESC.format(128, 64), "c_desc": DESC.format(128, 128),
         "M": "i32:16", "N": "i32:16", "K": "i32:16"}
HEADS = {"q_desc": DESC.format(128, 64), "k_desc": DESC.format(64, 64), "v_desc": DESC.format(64, 64),
         "o_desc": DESC.format(128, 64), "N": "i32:16", "scale": "fp32"}
ROWS = {"out_ptr": "*fp32:16", "in_ptr": "*fp32:16", "stride": "i32:16", "rows": "i32:16", "cols": "i32:16"}
BLOCK = {"BM": 128, "BN": 128, "BK": 64}


def cases(chip, stage):
    """(name, function, signature, constants)"""
    yield "matmul", kernels.matmul, POINTERS, BLOCK
    yield "softmax", kernels.softmax, ROWS, {"BLOCK": 1024, "STAGES": stage}
    if chip == 80:
        return
    for special in (False, True):
        word = ", warp-specialised" if special else ""
        yield "matmul, TMA" + word, kernels.matmul_tma, TILES, {**BLOCK, "SPECIALISE": special}
        for flat in (False, True):
            yield ("persistent" + (", flattened" if flat else "") + word, kernels.matmul_persistent, TILES,
                   {**BLOCK, "SMS": 8, "SPECIALISE": special, "FLAT": flat})
        yield "attention" + word, kernels.attention, HEADS, {"BM": 128, "BN": 64, "D": 64, "SPECIALISE": special}


def rows(chips, stages):
    for chip in chips:
        for stage in stages:
            for name, function, signature, constants in cases(chip, stage):
                try:
                    text = st.compile(function, signature, constants, chip, num_stages=stage, num_warps=4)
                except Exception:
                    yield chip, stage, name, "Triton fails", None, None, 0.0, False
                    continue
                start = time.process_time()
                try:
                    kernel = st.load(text, sizes={name: 512 for name in ("M", "N", "K", "rows") if name in signature})
                    check = kernel.check()
                except spad.Error as error:
                    yield chip, stage, name, f"not read: {error}", None, None, 0.0, False
                    continue
                spent = time.process_time() - start
                size = kernel.bytes
                verdict = check.verdict
                if verdict == "wrong":
                    verdict += ": " + ", ".join(sorted({f.code for f in check.findings if f.severity == "error"}))
                yield (chip, stage, name, verdict, size["triton"], size["spad"], spent,
                       kernel.info["unrolled"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stages", default="1..5")
    parser.add_argument("--rows", action="store_true")
    options = parser.parse_args()
    first, _, last = options.stages.partition("..")
    found = []
    for row in rows((80, 90, 100), range(int(first), int(last or first) + 1)):
        found.append(row)
        if options.rows:
            print(*row, sep=" | ", flush=True)
    groups = collections.defaultdict(list)
    for row in found:
        groups[row[2], row[0]].append(row)
    print("| kernel | chip | verdicts, by stages | run with sizes | bytes of Triton | ours | seconds |")
    print("|---|---|---|---|---|---|---|")
    for (name, chip), group in groups.items():
        words = collections.Counter(row[3] for row in group)
        text = "; ".join(f"{count} {word}" for word, count in words.items())
        placed = [row for row in group if row[4] is not None and row[5] is not None]
        print(f"| {name} | sm_{chip} | {text} | {sum(row[7] for row in group)} | "
              f"{', '.join(str(row[4]) for row in placed)} | {', '.join(str(row[5]) for row in placed)} | "
              f"{max(row[6] for row in group):.2f} |")
    placed = [row for row in found if row[4] is not None and row[5] is not None]
    print(f"\nbytes: Triton {sum(row[4] for row in placed)}, ours {sum(row[5] for row in placed)}; ours more in "
          f"{sum(row[5] > row[4] for row in placed)} of {len(placed)}, less in "
          f"{sum(row[5] < row[4] for row in placed)}")


if __name__ == "__main__":
    main()
