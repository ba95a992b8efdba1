#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tilelang_time.py: what the simulator says about a GEMM of TileLang by tile, stages and shape, beside what an H200
measured (examples/cuda/h200_tilelang.csv; h200_tilelang_others.csv and h200_tilelang_last.csv have shapes and tiles that were measured
later). No figure was fitted to these measurements.

    PYTHONPATH=build/release/python python3 bench/tilelang_time.py [--path tma] [--chip FILE] [--csv FILE]
    PYTHONPATH=build/release/python python3 bench/tilelang_time.py sources FOLDER      writes the .cu files; no GPU
    python3 bench/tilelang_time.py measure FOLDER FILE.csv                              runs FOLDER/*.so; needs torch and a GPU

A .cu file has TileLang's own function for the host. To compile it, with the headers of TileLang and of its CUTLASS:

    nvcc -std=c++20 -w --shared -gencode arch=compute_90a,code=sm_90a -Xcompiler -fPIC -I... x.cu -lcuda -o x.so
"""

import argparse
import csv
import ctypes
import glob
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATHS = {"tma": {}, "cp": {"tl.disable_tma_lower": True, "tl.disable_warp_specialized": True}}
TILES = [(128, 128, 64, 128), (128, 256, 64, 256), (64, 128, 64, 128), (128, 128, 32, 128)]
SHAPES = [(4096, 4096, 4096), (8192, 4096, 2048)]
FIELDS = "clock path M N K BM BN BK threads stages registers us".split()


def gemm(m, n, k, bm, bn, bk, threads, stages):
    import tilelang.language as T

    @T.prim_func
    def main(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(n // bn, m // bm, threads=threads) as (bx, by):
            a = T.alloc_shared((bm, bk), "float16")
            b = T.alloc_shared((bk, bn), "float16")
            acc = T.alloc_fragment((bm, bn), "float32")
            T.use_swizzle(10)
            T.clear(acc)
            for i in T.Pipelined(k // bk, num_stages=stages):
                T.copy(A[by * bm, i * bk], a)
                T.copy(B[i * bk, bx * bn], b)
                T.gemm(a, b, acc)
            T.copy(acc, C[by * bm, bx * bn])
    return main


class Written(Exception):
    """The source is there; it is not compiled here."""


def write_sources(folder):
    import tilelang
    from tilelang.jit.adapter.libgen import LibraryGenerator

    tilelang.disable_cache()
    os.makedirs(folder, exist_ok=True)
    sources = []

    def keep(self, timeout=None):
        sources.append(self.lib_code)
        raise Written

    LibraryGenerator.compile_lib = keep
    cases = [(path, *shape, *tile, stages) for shape in SHAPES for path in PATHS for tile in TILES for stages in (1, 2, 3, 4)]
    for case in cases:
        try:
            tilelang.compile(gemm(*case[1:]), target={"kind": "cuda", "arch": "sm_90a"}, execution_backend="cython",
                             pass_configs=PATHS[case[0]])
        except Written:
            Path(folder, "_".join(map(str, case)) + ".cu").write_text(sources.pop(), encoding="utf-8")


def median_us(torch, run):
    times = []
    for _ in range(4):  # short bursts, so that the power limit does not lower the clock
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(8)]
        marks[0].record()
        for mark in marks[1:]:
            run()
            mark.record()
        torch.cuda.synchronize()
        times += [1000 * a.elapsed_time(b) for a, b in zip(marks, marks[1:])]
        time.sleep(0.015)
    return sorted(times[7:])[len(times[7:]) // 2]


def measure(folder, path):
    import torch

    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(FIELDS)
        for name in sorted(glob.glob(os.path.join(folder, "*.so"))):
            word, *numbers = Path(name).stem.split("_")
            m, n, k = map(int, numbers[:3])
            a, b = (torch.randn(size, device="cuda", dtype=torch.float16) for size in ((m, k), (k, n)))
            c = torch.zeros(m, n, device="cuda", dtype=torch.float16)
            library = ctypes.CDLL(name)
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            pointers = [ctypes.c_void_p(x.data_ptr()) for x in (a, b, c)]
            if library.init() != 0 or library.call(*pointers, stream) != 0:
                sys.exit(f"{name} cannot be launched")
            want = a @ b
            if (c - want).abs().max() > 0.02 * want.abs().max():
                sys.exit(f"{name} is wrong")
            took = median_us(torch, lambda: library.call(*pointers, stream))
            out.writerow(["", word, *numbers, "", f"{took:.2f}"])


def compare(options):
    import spad
    import spad.tilelang

    chip = spad.Target.load(options.chip)
    series = {}
    with open(options.csv, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if options.path and row["path"] != options.path:
                continue
            numbers = [int(row[name]) for name in FIELDS[2:10]]
            kernel = spad.tilelang.load(gemm(*numbers), target="sm_90", pass_configs=PATHS[row["path"]])
            registers = int(row["registers"]) if row["registers"] else None
            grid = kernel.sim(grid=True, registers=registers, target=chip).data["grid"]
            series.setdefault((row["path"], *numbers[:-1]), []).append((float(row["us"]), grid["time_ps"] / 1e6))
    print("| copies | shape | tile, threads | stages | measured, TFLOP/s | simulated | ratio to the best, off by | pairs in the wrong order |")
    print("|---|---|---|---|---|---|---|---|")
    errors, ratios, wrong, pairs = [], [], 0, 0
    for (path, m, n, k, bm, bn, bk, threads), rows in series.items():
        best, least = min(us for us, _ in rows), min(us for _, us in rows)
        off = [(least / p) / (best / us) - 1 for us, p in rows]
        apart = [(us, p, us2, p2) for i, (us, p) in enumerate(rows) for us2, p2 in rows[:i] if abs(us / us2 - 1) > 0.03]
        bad = sum((us > us2) != (p > p2) for us, p, us2, p2 in apart)
        errors += [p / us - 1 for us, p in rows]
        ratios += off
        wrong, pairs = wrong + bad, pairs + len(apart)
        work = 2e-6 * m * n * k
        print(f"| {'TMA' if path == 'tma' else '`cp.async`'} | {m} x {n} x {k} | {bm} x {bn} x {bk}, {threads} | 1 to {len(rows)} | "
              f"{', '.join(f'{work / us:.0f}' for us, _ in rows)} | {', '.join(f'{work / p:.0f}' for _, p in rows)} | "
              f"{', '.join(f'{100 * x:+.0f}' for x in off)} % | {bad} of {len(apart)} |", flush=True)
    print(f"\ntimes: off by {100 * sum(map(abs, errors)) / len(errors):.1f} % on average, at most {100 * max(map(abs, errors)):.0f} %; "
          f"within 15 %: {sum(abs(e) <= 0.15 for e in errors)} of {len(errors)}. Ratios to the best of a series: off by "
          f"{100 * sum(map(abs, ratios)) / len(ratios):.1f} %; within 10 %: {sum(abs(r) <= 0.1 for r in ratios)} of {len(ratios)}. "
          f"Pairs of stages in the wrong order, of those more than 3 % apart: {wrong} of {pairs}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="sources FOLDER, or measure FOLDER FILE")
    parser.add_argument("--path", choices=sorted(PATHS))
    parser.add_argument("--chip", default=str(ROOT / "examples" / "chips" / "h200_1500.chip"))
    parser.add_argument("--csv", default=str(ROOT / "examples" / "cuda" / "h200_tilelang.csv"))
    options = parser.parse_args()
    if options.words[:1] == ["sources"] and len(options.words) == 2:
        write_sources(options.words[1])
    elif options.words[:1] == ["measure"] and len(options.words) == 3:
        measure(*options.words[1:])
    elif not options.words:
        compare(options)
    else:
        parser.error("no words, sources FOLDER, or measure FOLDER FILE")


if __name__ == "__main__":
    main()
