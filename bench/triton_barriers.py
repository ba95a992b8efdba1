#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""triton_barriers.py: the kernels of tests/ttgir/kernels.py, compiled by the Triton that is installed for three chips with 1 to 3
stages, 4 and 8 warps; then each barrier between warps is left out in turn, at sizes of 256: is it reported?

    PYTHONPATH=build/release/python python3 bench/triton_barriers.py [--chips 80,90,100] [--rows]

Without --rows one line for each operation that comes after the barrier, and what is said."""

import argparse
import collections
import itertools
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "ttgir"))

import kernels  # noqa: E402
import spad.triton as st  # noqa: E402
from triton_table import BLOCK, HEADS, POINTERS, ROWS, TILES  # noqa: E402

FLOATS = {"x_ptr": "*fp32:16", "y_ptr": "*fp32:16"}
SIZES = ("M", "N", "K", "rows", "stride_am", "stride_bk", "stride_cm", "stride", "cols")


def cases(chip):
    """(name, function, signature, constants, options)"""
    for stages, warps in itertools.product((1, 2, 3), (4, 8)):
        options = {"num_stages": stages, "num_warps": warps}
        yield "matmul", kernels.matmul, POINTERS, BLOCK, options
        yield "softmax", kernels.softmax, ROWS, {"BLOCK": 1024, "STAGES": stages}, options
        for special in (False, True) if chip > 80 else ():
            yield "matmul, TMA", kernels.matmul_tma, TILES, {**BLOCK, "SPECIALISE": special}, options
            yield ("persistent", kernels.matmul_persistent, TILES,
                   {**BLOCK, "SMS": 8, "SPECIALISE": special, "FLAT": False}, options)
            yield "attention", kernels.attention, HEADS, {"BM": 128, "BN": 64, "D": 64, "SPECIALISE": special}, options
    for warps in (4, 8):
        options = {"num_warps": warps}
        yield ("layer_norm", kernels.layer_norm, {**FLOATS, "w_ptr": "*fp32:16", "b_ptr": "*fp32:16", "stride": "i32:16",
                                                  "N": "i32:16", "eps": "fp32"}, {"BLOCK": 1024}, options)
        yield ("scratch", kernels.scratch, {**FLOATS, "i_ptr": "*i32:16", "lock_ptr": "*i32:16"}, {"B": 64}, options)
        yield ("calls", kernels.calls, {"p": "*fp32:16", "out": "*fp32:16", "N": "i32:16", "rows": "i32:16"},
               {"BLOCK": 1024}, options)
        for axis, kind in itertools.product((0, 1), range(5)):
            signature = {**FLOATS, "y_ptr": "*i32:16"} if kind == 2 else FLOATS
            yield "along", kernels.along, signature, {"M": 64, "N": 64, "AXIS": axis, "KIND": kind}, options


def verdict(text):
    """What is said of a text: reported, for another trip count, a warning, or nothing."""
    kernel = st.load(text, sizes={name: 256 for name in SIZES if re.search(rf"%{name}: i32", text)})
    check = kernel.check()
    said = [f for f in check.findings if f.code == "SPAD-MISSING-SYNC"]
    if any(f.severity == "error" for f in said):
        return "reported"
    if said and not all(f.message.startswith("with ") for f in said):
        return "warning"
    return "for another trip count" if said or "in another thread" in check.reason else "nothing"


def follower(lines, number):
    """The operation after a barrier."""
    line = next((line.strip() for line in lines[number + 1:] if line.strip()), "")
    return re.split(r"[ (]", re.sub(r"^%\S+ = ", "", line))[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chips", default="80,90,100")
    parser.add_argument("--rows", action="store_true")
    given = parser.parse_args()
    count, texts, without = collections.Counter(), 0, 0
    for chip in map(int, given.chips.split(",")):
        for name, function, signature, constants, options in cases(chip):
            try:
                kernel = st.load(function, signature, constants, target=chip, **options)
            except Exception as error:  # Triton fails
                print(f"{name} for {chip}, {options}: {type(error).__name__}", file=sys.stderr)
                continue
            if not kernel.info["barriers"]:
                without += 1
                continue
            texts += 1
            lines = kernel.ttgir.split("\n")
            if verdict(kernel.ttgir) != "nothing":
                print(f"{name} for {chip}, {options}: a barrier is missing")
            for number, line in enumerate(lines):
                if "ttg.barrier local" not in line:
                    continue
                said = verdict("\n".join(lines[:number] + lines[number + 1:]))
                count[said, follower(lines, number)] += 1
                if given.rows:
                    print(f"{name} for {chip}, {options}, line {number + 1}, before {follower(lines, number)}: {said}")
    print(f"{texts} texts with {sum(count.values())} barriers; {without} texts without")
    for (said, after), many in sorted(count.items()):
        print(f"{many:5} {said:24} {after}")


if __name__ == "__main__":
    main()
