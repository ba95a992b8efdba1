# SPDX-License-Identifier: Apache-2.0
"""Arena bytes of ONNX models: placing the largest first, with outputs in place, and with views.

    python bench/compilers/onnx_models.py [--keep FOLDER] MODEL...

Prints a row of docs/results/compilers.md for each model: one of torchvision, 1 x 3 x 224 x 224 (inception_v3: 299),
or unet or csp below. --keep writes the .onnx files. Needs torch, torchvision, onnx, onnxscript. Random weights.
"""

import io
import sys

import torch
from torch import nn


def block(a, b, stride=1):
    return nn.Sequential(nn.Conv2d(a, b, 3, stride, 1), nn.BatchNorm2d(b), nn.ReLU())


class UNet(nn.Module):
    """Four levels; each level of the decoder has a concatenation with what the encoder left. 3 x 256 x 256."""

    side = 256

    def __init__(self):
        super().__init__()
        widths = [32, 64, 128, 256]
        self.down = nn.ModuleList(nn.Sequential(block(a, b), block(b, b)) for a, b in zip([3, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths, widths[1:]))
        self.join = nn.ModuleList(nn.Sequential(block(2 * a, a), block(a, a)) for a in widths[:-1])
        self.last = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        kept = []
        for level in self.down:
            x = level(nn.functional.max_pool2d(x, 2) if kept else x)
            kept.append(x)
        kept.pop()
        for up, join in zip(reversed(self.up), reversed(self.join)):
            x = join(torch.cat([up(x), kept.pop()], 1))
        return self.last(x)


class Csp(nn.Module):
    """Blocks as in object detectors: half of the channels go through a few convolutions, and all that these gave
    is concatenated. 3 x 320 x 320."""

    side = 320

    class Part(nn.Module):
        def __init__(self, a, b, count):
            super().__init__()
            self.first, self.last = nn.Conv2d(a, b, 1), nn.Conv2d(b // 2 * (2 + count), b, 1)
            self.inner = nn.ModuleList(block(b // 2, b // 2) for _ in range(count))

        def forward(self, x):
            parts = list(self.first(x).chunk(2, 1))
            for layer in self.inner:
                parts.append(layer(parts[-1]))
            return self.last(torch.cat(parts, 1))

    def __init__(self):
        super().__init__()
        widths = [16, 32, 64, 128]
        self.parts = nn.Sequential(block(3, 16, 2), *(nn.Sequential(block(a, b, 2), Csp.Part(b, b, 3))
                                                      for a, b in zip(widths, widths[1:])))

    def forward(self, x):
        return self.parts(x)


OWN = {"unet": UNet, "csp": Csp}


def export(name):
    torch.manual_seed(0)
    if name in OWN:
        model, side = OWN[name](), OWN[name].side
    else:
        import torchvision

        more = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
        model, side = torchvision.models.get_model(name, weights=None, **more), 299 if name == "inception_v3" else 224
    content = io.BytesIO()
    torch.onnx.export(model.eval(), (torch.rand(1, 3, side, side),), content, dynamo=True, verbose=False)
    return content.getvalue()


def main():
    from spad import models

    words, folder = sys.argv[1:], None
    if "--keep" in words:
        at = words.index("--keep")
        folder = words[at + 1]
        del words[at:at + 2]
    for name in words or ["squeezenet1_1", "unet"]:
        content = export(name)
        if folder:
            with open(f"{folder}/{name}.onnx", "wb") as file:
                file.write(content)
        arena = models.read(content, f"{name}.onnx").arenas[0]
        arena.solve()
        copied = sum(arena.buffers[part].size for part, _, _ in arena.kept_views)
        before = arena.height if arena.without_views is None else arena.without_views
        print(f"| {name} | {arena.their_bytes} | {before} | {arena.height} | {arena.saving()} | {arena.verdict()} | "
              f"{copied} | {arena.result.nanoseconds / 1e6:.2f} ms |", flush=True)


if __name__ == "__main__":
    main()
