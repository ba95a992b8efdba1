# SPDX-License-Identifier: Apache-2.0
"""Arena bytes of torchvision models in ExecuTorch: its greedy algorithm, and spad.

    python bench/compilers/executorch_models.py [--run] MODEL...

Prints a row of docs/results/compilers.md for each model; --run also runs the program in ExecuTorch's runtime
and compares it with PyTorch. Random weights, 1 x 3 x 224 x 224 (inception_v3: 299).
"""

import sys
import time


def main():
    import torch
    import torchvision
    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.exir.passes import MemoryPlanningPass
    from spad.executorch import Planner

    words = [word for word in sys.argv[1:] if word != "--run"]
    for name in words or ["resnet18", "mobilenet_v2"]:
        torch.manual_seed(0)
        side = 299 if name == "inception_v3" else 224
        model = torchvision.models.get_model(name, weights=None).eval()
        inputs = (torch.rand(1, 3, side, side),)
        planner = Planner()
        program = to_edge(torch.export.export(model, inputs)).to_executorch(
            ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(memory_planning_algo=planner)))
        arena = planner.models[-1].arenas[0]
        note = ""
        if "--run" in sys.argv:
            from executorch.runtime import Runtime

            method = Runtime.get().load_program(program.buffer).load_method("forward")
            started = time.time()
            found = method.execute(inputs)[0]
            seconds, wanted = time.time() - started, model(*inputs)
            error = ((found - wanted).abs().max() / wanted.abs().max()).item()
            note = f" | {error:.1e} of the largest output ({seconds:.0f} s)"
        print(f"| {name} | {arena.their_bytes} | {arena.height} | {arena.saving()} | {arena.verdict()} | "
              f"{arena.result.nanoseconds / 1e6:.2f} ms{note}", flush=True)


if __name__ == "__main__":
    main()
