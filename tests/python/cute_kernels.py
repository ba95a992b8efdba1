# SPDX-License-Identifier: Apache-2.0
"""Kernels in the CuTe DSL for test_cute.py, right and with faults. tests/ptx/cute_*.ptx is what version 4.8 makes of
them, and `PYTHONPATH=build/release/python python3 tests/python/cute_kernels.py` makes it again."""

import pathlib

import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync

ROWS, COLUMNS, TILE = 4, 128, 32


@cute.kernel
def reverse(src: cute.Tensor, dst: cute.Tensor, waits: cutlass.Constexpr):
    """Reverses a row for each block, through shared memory."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    row = cutlass.memory.SmemAllocator().allocate_tensor(src.element_type, cute.make_layout(COLUMNS))
    row[thread] = src[block, thread]
    if cutlass.const_expr(waits):
        cute.arch.sync_threads()
    dst[block, thread] = row[COLUMNS - 1 - thread]


@cute.jit
def launch_reverse(src: cute.Tensor, dst: cute.Tensor, waits: cutlass.Constexpr):
    reverse(src, dst, waits).launch(grid=[cute.size(src, mode=[0]), 1, 1], block=[COLUMNS, 1, 1])


@cute.kernel
def copy_tiles(atom: cute.CopyAtom, src: cute.Tensor, dst: cute.Tensor, count: cutlass.Int32, waits: cutlass.Constexpr):
    """Loads tiles with TMA into two buffers, one ahead, and stores them with all threads."""
    thread, _, _ = cute.arch.thread_idx()
    memory = cutlass.memory.SmemAllocator()
    layout = cute.make_layout((TILE, TILE, 2), stride=(TILE, 1, TILE * TILE))
    tiles = memory.allocate_tensor(cutlass.Float16, layout, byte_alignment=128)
    full = memory.allocate_array(cutlass.Int64, 2)
    if thread == 0:
        for stage in cutlass.range_constexpr(2):
            cute.arch.mbarrier_init(full + stage, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    shared, parts = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(tiles, 0, 2),
                                          cute.group_modes(cute.local_tile(src, (TILE, TILE), (None, 0)), 0, 2))
    for tile in cutlass.range(count + 1):
        if tile < count:
            if cute.arch.warp_idx() == 0:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(full + tile % 2, TILE * TILE * 2)
                cute.copy(atom, parts[None, tile], shared[None, tile % 2], tma_bar_ptr=full + tile % 2)
        if tile > 0:
            stage = (tile - 1) % 2
            cute.arch.mbarrier_wait(full + stage, (tile - 1) // 2 % 2)
            for row in cutlass.range_constexpr(TILE // 4):
                at = row * 4 + thread // TILE
                dst[(tile - 1) * TILE + at, thread % TILE] = tiles[at, thread % TILE, stage]
            if cutlass.const_expr(waits):
                cute.arch.sync_threads()


@cute.jit
def launch_copy(src: cute.Tensor, dst: cute.Tensor, waits: cutlass.Constexpr, stream):
    layout = cute.make_layout((TILE, TILE), stride=(TILE, 1))
    atom, tensor = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), src, layout, (TILE, TILE))
    tiles = cute.size(src, mode=[0]) // TILE
    copy_tiles(atom, tensor, dst, tiles, waits).launch(grid=[1, 1, 1], block=[128, 1, 1], stream=stream)


@cute.jit
def add_one(numbers: cute.Tensor):
    """Runs on the host alone."""
    for i in cutlass.range(cute.size(numbers)):
        numbers[i] = numbers[i] + 1


def arguments(launch, waits):
    """Arguments of a function above."""
    from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_stream
    kind, shape = (cutlass.Float32, (ROWS, COLUMNS)) if launch is launch_reverse else (cutlass.Float16, (6 * TILE, TILE))
    tensors = [make_fake_compact_tensor(kind, shape, stride_order=(1, 0), assumed_align=16) for _ in range(2)]
    return [*tensors, waits] + ([make_fake_stream()] if launch is launch_copy else [])


def record():
    import spad.cute
    folder = pathlib.Path(__file__).resolve().parents[1] / "ptx"
    for name, function, waits in (("reverse", launch_reverse, True), ("reverse_early", launch_reverse, False),
                                  ("copy", launch_copy, True), ("copy_lapped", launch_copy, False)):
        launch, = spad.cute.launches(function, *arguments(function, waits))
        launch.ptx = launch.ptx.replace(__file__, "../python/cute_kernels.py")
        launch.save(folder / f"cute_{name}")


if __name__ == "__main__":
    record()
