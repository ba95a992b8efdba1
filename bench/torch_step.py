# SPDX-License-Identifier: Apache-2.0
"""A training step in PyTorch with its own allocator or with ours.

    python3 bench/torch_step.py torch
    python3 bench/torch_step.py build/release/libspad_device.so

Prints the median time of a step, the peak of memory in use on the device and the losses, which
have to be the same to the last bit. Needs a CUDA device.
"""
import statistics
import sys
import time

import torch

library = sys.argv[1]
if library != "torch":
    allocator = torch.cuda.memory.CUDAPluggableAllocator(
        library, "spad_torch_alloc", "spad_torch_free")
    torch.cuda.memory.change_current_allocator(allocator)

torch.manual_seed(0)
torch.use_deterministic_algorithms(False)
WIDTH, LAYERS, BATCH, LENGTH, STEPS = 1024, 8, 16, 512, 40


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = torch.nn.LayerNorm(WIDTH)
        self.norm2 = torch.nn.LayerNorm(WIDTH)
        self.mix = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.mix(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (t.view(batch, length, 16, WIDTH // 16).transpose(1, 2) for t in (q, k, v))
        weights = torch.softmax(q @ k.transpose(-1, -2) / 8, dim=-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


model = torch.nn.Sequential(*[Block() for _ in range(LAYERS)]).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
data = torch.randn(BATCH, LENGTH, WIDTH, device="cuda")
losses, times = [], []
for step in range(STEPS):
    torch.cuda.synchronize()
    start = time.perf_counter()
    # lengths differ from step to step, as they do in practice
    x = data[:, : LENGTH - 32 * (step % 4)]
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = (model(x) - x).float().square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss.item())
    torch.cuda.synchronize()
    times.append(time.perf_counter() - start)

free, total = torch.cuda.mem_get_info()
print(f"{library}: step {statistics.median(times[10:]) * 1e3:.2f} ms, "
      f"{(total - free) / 2**20:.0f} MiB of the device taken, "
      f"losses {losses[0]:.9f} {losses[-1]:.9f} sum {sum(losses):.12f}")
