# SPDX-License-Identifier: Apache-2.0
"""A U-Net of 8 convolutions and its training step through JAX: what XLA and IREE need for it, and spad.

    python bench/compilers/jax_models.py FOLDER

Writes XLA's dumps and IREE's slices to the folder and prints rows of docs/results/compilers.md. Needs jax, and
iree-compile of the package iree-base-compiler for the rows of IREE.
"""

import glob
import os
import shutil
import subprocess
import sys

WIDTHS = [(3, 16), (16, 32), (32, 64), (64, 64), (64, 32), (64, 16), (32, 16), (16, 2)]
SIDE = 64


def network():
    import jax
    from jax import lax
    from jax import numpy as np

    def conv(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def pool(x):
        return lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def grow(x):
        return np.repeat(np.repeat(x, 2, 1), 2, 2)

    def unet(weights, x):
        a = jax.nn.relu(conv(x, weights[0]))
        b = jax.nn.relu(conv(pool(a), weights[1]))
        c = jax.nn.relu(conv(pool(b), weights[2]))
        c = jax.nn.relu(conv(c, weights[3]))
        d = jax.nn.relu(conv(grow(c), weights[4]))
        d = jax.nn.relu(conv(np.concatenate([d, b], 3), weights[5]))
        e = jax.nn.relu(conv(np.concatenate([grow(d), a], 3), weights[6]))
        return conv(e, weights[7])

    def loss(weights, x, y):
        return ((unet(weights, x) - y) ** 2).mean()

    weights = [jax.random.normal(jax.random.key(i), (3, 3, *w)) for i, w in enumerate(WIDTHS)]
    x, y = np.ones((1, SIDE, SIDE, 3)), np.ones((1, SIDE, SIDE, 2))
    return {"unet": (jax.jit(unet), (weights, x)), "train": (jax.jit(jax.grad(loss)), (weights, x, y))}


def iree(text, path):
    program = shutil.which("iree-compile") or os.path.join(os.path.dirname(sys.executable), "iree-compile")
    words = "--iree-input-type=stablehlo --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu " \
        "--iree-llvmcpu-target-cpu=generic --mlir-print-ir-before=iree-stream-layout-slices " \
        "--mlir-print-ir-after=iree-stream-layout-slices --mlir-elide-elementsattrs-if-larger=16"
    with open(path, "wb") as slices:
        subprocess.run([program, "-", "-o", os.devnull, *words.split()], input=text.encode(), stderr=slices, check=True)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "jax"
    os.makedirs(folder, exist_ok=True)
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={folder}"
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from spad import models

    for name, (function, words) in network().items():
        lowered = function.lower(*words)
        before = set(glob.glob(f"{folder}/*buffer-assignment.txt"))
        lowered.compile()
        files = sorted(set(glob.glob(f"{folder}/*buffer-assignment.txt")) - before)
        iree(lowered.as_text(), f"{folder}/{name}.slices.mlir")
        for file in [*files, f"{folder}/{name}.slices.mlir"]:
            model = models.load(file).solve()
            for arena in model.arenas:
                print(f"| {model.kind} {name} {arena.name} | {arena.their_bytes} | {arena.height} | {arena.saving()} | "
                      f"{arena.verdict()} | {arena.result.nanoseconds / 1e6:.2f} ms | `spad plan {file}`", flush=True)


if __name__ == "__main__":
    main()
