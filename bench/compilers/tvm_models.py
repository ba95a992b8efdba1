# SPDX-License-Identifier: Apache-2.0
"""Storage bytes of networks in TVM's Relax: its StaticPlanBlockMemory, and spad.

    python bench/compilers/tvm_models.py

Builds the layers of SqueezeNet 1.1 and of ResNet-18 (1 x 3 x 224 x 224), fuses operators as TVM does, and
prints a row of docs/results/compilers.md for each.
"""

import tvm
from tvm import relax

import spad.tvm
from spad.tvm import Planner


class Builder:
    """A Relax function: layers are methods, weights are parameters."""

    def __init__(self, shape):
        self.block, self.params = relax.BlockBuilder(), []
        self.x = self.param(shape)

    def param(self, shape):
        self.params.append(relax.Var(f"p{len(self.params)}", relax.TensorType(shape, "float32")))
        return self.params[-1]

    def conv(self, x, outside, size, stride=1, padding=0, relu=True):
        inside = int(x.ty.shape[1])
        y = relax.op.nn.conv2d(x, self.param((outside, inside, size, size)), strides=stride, padding=padding)
        y = self.block.emit(relax.op.add(self.block.emit(y), self.param((1, outside, 1, 1))))
        return self.block.emit(relax.op.nn.relu(y)) if relu else y

    def pool(self, x):
        return self.block.emit(relax.op.nn.max_pool2d(x, (3, 3), strides=2, padding=0, ceil_mode=True))


def squeezenet(b):
    def fire(x, squeeze, expand):
        s = b.conv(x, squeeze, 1)
        return b.block.emit(relax.op.concat([b.conv(s, expand, 1), b.conv(s, expand, 3, padding=1)], axis=1))

    x = b.pool(b.conv(b.x, 64, 3, 2))
    x = b.pool(fire(fire(x, 16, 64), 16, 64))
    x = b.pool(fire(fire(x, 32, 128), 32, 128))
    x = fire(fire(fire(fire(x, 48, 192), 48, 192), 64, 256), 64, 256)
    return b.conv(x, 1000, 1)


def resnet18(b):
    x = b.pool(b.conv(b.x, 64, 7, 2, 3))
    for width, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        y = b.conv(b.conv(x, width, 3, stride, 1), width, 3, 1, 1, relu=False)
        if stride == 2 or int(x.ty.shape[1]) != width:
            x = b.conv(x, width, 1, stride, relu=False)
        x = b.block.emit(relax.op.nn.relu(b.block.emit(relax.op.add(x, y))))
    return x


def made(layers, shape=(1, 3, 224, 224)):
    b = Builder(shape)
    with b.block.function("main"):
        with b.block.dataflow():
            out = b.block.emit_output(layers(b))
        b.block.emit_func_output(out, b.params)
    return b.block.get()


PASSES = ("LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR", "RewriteDataflowReshape",
          "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite")


def main():
    for layers in (squeezenet, resnet18):
        planner = Planner()
        passes = [getattr(relax.transform, name)() for name in PASSES]
        tvm.transform.Sequential([*passes, spad.tvm.plan_memory(planner)])(made(layers))
        for model in planner.models:
            for arena in model.arenas:
                print(f"| {layers.__name__} | {arena.their_bytes} | {arena.height} | {arena.saving()} | "
                      f"{arena.verdict()} | {arena.result.nanoseconds / 1e6:.2f} ms {model.notes}")


if __name__ == "__main__":
    main()
