# SPDX-License-Identifier: Apache-2.0
"""What users of the drop-ins write, for mypy --strict (test_types.py): the calls of the manuals,
with their types. It is a program as well, and runs."""

import spad.ascend as A
import spad.nki as nl
import spad.tilelang as T
from spad import cubie
from spad.nki import ModularAllocator, SbufManager, create_auto_alloc_manager


def manager() -> tuple[int, int]:
    sbm = SbufManager(0, nl.tile_size.total_available_sbuf_size, None, use_auto_alloc=False)
    sbm.set_name_prefix("layer0_")
    weights = sbm.alloc_heap((128, 256), nl.bfloat16, name="weights")
    sbm.open_scope(interleave_degree=2, name="rows")
    for _ in nl.affine_range(4):
        sbm.alloc_stack((128, 512), nl.bfloat16, buffer=nl.sbuf, base_partition=0, align=32)
        sbm.increment_section()
    sbm.align_stack_curr_addr(align=64)
    sums: int = sbm.get_used_space() + sbm.get_free_space()
    sbm.close_scope()
    sbm.pop_heap()
    sbm.flush_logs()
    automatic: SbufManager = create_auto_alloc_manager()
    automatic.open_scope()
    assert weights.address is not None
    return sums, sbm.get_total_space()


@nl.jit
def direct(source: object) -> object:
    t = nl.ndarray((4, nl.par_dim(128), 512), dtype=nl.bfloat16,
                   buffer=nl.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2,)))
    u = nl.ndarray((nl.par_dim(128), 512), nl.float32, nl.psum.mod_alloc(base_bank=1))
    for i in nl.affine_range(4):
        t[i] = nl.load(source)
        u[...] = nl.exp(t[i, :, 0:512])
    ModularAllocator().alloc_sbuf_tensor((128, 512), nl.bfloat16, block_dim=[4])
    return t[3].address, u.bank


def memory() -> float:
    buf = A.alloc_buffer((128, 128), "float16", scope="global", alignment=256)
    auto = A.alloc_buffer("auto", "float16")
    A.copy(buf, auto, src_scope="global", dst_scope="global")
    pool = A.memory_pool(max_size=1 << 20, block_size=4096, scope="shared")
    part = pool.allocate(shape=(256, 256), dtype="float16")
    with A.memory_trace(enabled=True), A.stream("compute"):
        A.copy(buf[0:32, 0:32], part[0:32, 0:32])
    pool.free(part)
    with A.allocate(dtype="float32", scope="shared") as temp:
        A.evaluate(temp[0].assign(1.0))
        first = float(temp[0].value)
    assert A.is_aligned(A.address_of(buf), alignment=256)
    allocated: int = A.memory_stats().allocated_bytes
    return first + allocated


def block() -> bool:
    with T.block("sm_100", "gemm") as made:
        a = T.alloc_shared((128, 64), "float16", name="a", stages=3)
        T.alloc_local((8,), "float32")
        T.alloc_fragment((128, 64), "float32")
        T.alloc_var("int32", 0)
        T.alloc_barrier([1, 1], name="ready")
        T.free(T.alloc_tmem((128, 256), "float32"))
        low = T.alloc_reducer((128,), "float32", op="min", replication="all")
        T.fill(low, T.max_value("float32"))
        with T.Parallel():
            T.reducer_update(low, "min")
        T.finalize_reducer(low)
    return made.fits and a.offset is not None


class Step:
    precision = "float32"


def registry() -> int:
    step, solver, home = Step(), Step(), cubie.BufferRegistry()
    home.register(name="stage_k", parent=step, size=24, location="shared", precision="float32")
    home.register("residual", solver, size=10, location="shared", aliases=None, persistent=False)
    home.get_child_allocators(step, solver)
    home.get_toplevel_allocators(step)
    home.get_allocator("stage_k", step)
    threads, _ = cubie.fit_blocksize(home.shared_buffer_bytes(step), budget=98304)
    return threads


if __name__ == "__main__":
    print(manager(), direct(None), memory(), block(), registry())
