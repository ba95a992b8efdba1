# SPDX-License-Identifier: Apache-2.0
"""spad.tilelang.load: clusters of blocks, and what else a kernel of several blocks or of tcgen05 has."""

import copy
import json

import pytest

import spad
import spad.tilelang as T
from spad.tilelang import _sets as sets
from spad.tilelang import _tree as tilelang_tree
from test_tilelang_load import SYNC, THOROUGH, _installed, at, call, kernel_tree, node, number, shown, sites, tree_of, verdict, without
from tilelang_kernels import MORE

RIGHT = {"two_blocks_sm_100": "proved for all trip counts", "multicast_sm_90": "proved for all trip counts",
         "to_a_block_sm_90": "proved for this shape", "alone_sm_90": "proved for this shape", "sparse_sm_90": "proved for this shape",
         "sparse_sm_80": "proved for all trip counts", "from_tmem_sm_100": "proved for all trip counts", "scaled_sm_100": "proved for this shape"}
WRONG = {"crossed_multicast_sm_90": {"SPAD-MIXED-PHASES"}, "hasty_multicast_sm_90": {"SPAD-MBARRIER-LIFE"},
         "grid_sync_sm_90": {"SPAD-DEADLOCK"}}


def test_every_kernel_has_a_verdict():
    assert RIGHT.keys() | WRONG.keys() == MORE.keys()


@pytest.mark.parametrize("name", sorted(RIGHT))
def test_kernels_that_are_right(name):
    kernel = T.load(tree_of(name))
    check = kernel.check()
    assert check.verdict == RIGHT[name] and not shown(check), check.text()
    assert {row["what"] for row in kernel.approximations} <= {"waits at the end of a warp"}


@pytest.mark.parametrize("name", sorted(RIGHT if THOROUGH else ("alone_sm_90", "to_a_block_sm_90")))
def test_the_plan_has_one_place_for_all_blocks(name):
    kernel = T.load(tree_of(name))
    page = kernel.report()
    assert page.ours.verdict.startswith("proved")
    assert page.data["bytes"]["spad"] <= page.data["bytes"]["tilelang"] == kernel.tilelang_bytes
    assert all(row["spad"] is not None for row in page.data["buffers"])


@pytest.mark.parametrize("name", sorted(WRONG))
def test_kernels_that_are_wrong(name):
    assert shown(verdict(tree_of(name))) == WRONG[name]


@pytest.mark.skipif(not _installed(), reason="tilelang is not installed")
@pytest.mark.parametrize("name", sorted(MORE))
def test_kernels_that_tilelang_lowers_now(name):
    make, arch = MORE[name]
    check = T.load(make(), target=arch).check()
    assert check.verdict == RIGHT.get(name, "wrong") and shown(check) == WRONG.get(name, set())


def test_the_text_of_two_blocks():
    text = T.load(tree_of("two_blocks_sm_100")).source
    assert "tensor a_block0 : shared u8 (32768) at 0" in text and "tensor a_block1 : shared[1] u8 (32768) at 0" in text
    assert "tensor sums_tmem_block1 : tmem[1] u8 (128, 512)" in text and "mbarrier full[2, 2] count 1" in text
    assert "barrier cluster count 256" in text and text.count("sync cluster by 32") == 16
    second = text[text.index("agent block1_warp_0"):text.index("agent block1_warp_1")]
    assert "delivers full[0, ((k) % 2)]" in second and "arrive full[0, ((k) % 2)] by 32" in second and "mma" not in second
    first = text[text.index("agent block0_warp_1"):text.index("agent block0_warp_2")]
    part, = {line.strip() for line in first.splitlines() if "tcgen05 mma" in line and "updates" in line}
    for operand in ("a_block0(", "a_block1(", "b_block0(", "b_block1(", "sums_tmem_block0(0..128, 0..512), sums_tmem_block1(0..128, 0..512)"):
        assert operand in part
    assert "arrive done[0, 0] on tcgen05" in first and "arrive done[1, 0] on tcgen05" in first


def test_a_copy_to_two_blocks():
    text = T.load(tree_of("multicast_sm_90")).source
    copies = [line for line in text.splitlines() if "a_block0" in line and "tma load" in line]
    assert len(copies) == 1 and "a_block1" in copies[0]
    assert "delivers full[0, ((k) % 2)] by 8192 delivers full[1, ((k) % 2)] by 8192" in copies[0]


_SYNC = ("tvm_storage_sync mbarrier_wait_parity ptx_arrive_barrier ptx_arrive_cluster_barrier mbarrier_expect_tx cluster_sync "
         "ptx_init_barrier_thread_count ptx_fence_barrier_init fence_proxy_async tcgen05_mma_arrive tcgen05_mma_arrive_2cta "
         "warpgroup_arrive warpgroup_commit_batch warpgroup_wait").split()
# What is left out without harm, by the name and how often: fences that a pass puts before every product, also of what TMA wrote, and
# after the initialisation of mbarriers where another fence follows; barriers of threads that mbarriers order as well; of two blocks the
# last one of the cluster, after which both only free what they have waited for.
_HARMLESS = {"two_blocks_sm_100": {"fence_proxy_async": 1, "tvm_storage_sync": 2, "cluster_sync": 1}, "multicast_sm_90": {},
             "to_a_block_sm_90": {"ptx_fence_barrier_init": 1, "tvm_storage_sync": 2},
             "sparse_sm_90": {"ptx_fence_barrier_init": 1, "fence_proxy_async": 1, "tvm_storage_sync": 1},
             "scaled_sm_100": {"tvm_storage_sync": 3, "fence_proxy_async": 1},
             "from_tmem_sm_100": {"ptx_fence_barrier_init": 1, "tvm_storage_sync": 4}}


@pytest.mark.parametrize("name", sorted(_HARMLESS))
def test_each_synchronisation_left_out(name):
    tree, found = tree_of(name), {}
    for path in list(sites(tree["body"], _SYNC))[::1 if THOROUGH else 9]:
        if not shown(verdict(without(tree, path))):
            word = at(tree["body"], path)[1][1]
            found[word] = found.get(word, 0) + 1
    if THOROUGH:
        assert found == _HARMLESS[name]
    assert all(count <= _HARMLESS[name].get(word, 0) for word, count in found.items()), found


def test_the_time_of_a_cluster():
    kernel = T.load(tree_of("two_blocks_sm_100"))
    assert kernel.sim().makespan > 0
    with pytest.raises(T.Unsupported, match="the time of a grid is not known for clusters"):
        kernel.sim(grid=True)


def test_a_block_that_ends_too_early():
    """Without the last barrier of the cluster, the second block may arrive at an mbarrier of the first, which has ended."""
    tree = tree_of("multicast_sm_90")
    last = list(sites(tree["body"], ["cluster_sync"]))[-1]
    assert shown(verdict(without(tree, last))) == {"SPAD-MBARRIER-LIFE"}
    copies = tree_of("to_a_block_sm_90")
    last = list(sites(copies["body"], ["cluster_sync"]))[-1]
    assert "SPAD-FREE-IN-USE" in shown(verdict(without(copies, last)))  # of what the copy still reads


def test_the_wrong_block():
    tree = tree_of("two_blocks_sm_100")
    path, = sites(tree["body"], ["ptx_arrive_cluster_barrier"])
    at(tree["body"], path)[1][3] = 1
    assert shown(verdict(tree))
    at(tree["body"], path)[1][3] = 2
    with pytest.raises(T.Unsupported, match="of block '2' of a cluster of 2"):
        T.load(tree)
    at(tree["body"], path)[1][3] = ["load", "C", 0]
    with pytest.raises(T.Unsupported, match="of a block that is not known"):
        T.load(tree)


def test_blocks_of_a_multicast():
    tree = tree_of("multicast_sm_90")
    path, = sites(tree["body"], ["tma_load_multicast"])
    at(tree["body"], path)[1][5] = 1
    assert shown(verdict(tree))  # the second block waits for bytes that do not come
    at(tree["body"], path)[1][5] = 7
    with pytest.raises(T.Unsupported, match="to blocks 0x7 of a cluster of 2"):
        T.load(tree)


def test_one_block_where_no_other_matters():
    kernel = T.load(tree_of("alone_sm_90"))
    assert len(kernel.agents) == 5 and "block0" not in kernel.source and "sync cluster by 32" in kernel.source
    tree = tree_of("alone_sm_90")
    tree["body"].insert(0, ["if", ["==", ["call", "block_rank_in_cluster"], 1], [SYNC], []])
    assert "if cluster_rank == 1 {" in T.load(tree).source and "param cluster_rank = 0" in T.load(tree).source


def test_places_in_the_grid():
    """A block is named by the place of its cluster; those beside it belong to the same one."""
    tree = tree_of("two_blocks_sm_100")
    tree["body"].insert(0, ["if", ["<", "bx", 2], [SYNC], []])
    text = T.load(tree, block={"x": 3}).source
    assert "param cluster_x = 1" in text and "if cluster_x * 2 < 2 {" in text and "if cluster_x * 2 + 1 < 2 {" in text


def test_a_barrier_in_two_steps():
    """barrier.cluster.arrive and .wait; what a relaxed arrival has done is not known after the wait."""
    write = ["store", "s", "tx", ["f"]]
    read = ["store", "g", 0, ["load", "s", ["-", 63, "tx"]]]
    both = [["do", ["call", "cluster_arrive"]], ["do", ["call", "cluster_wait"]]]
    assert verdict(kernel_tree([write, *both, read, *both, write], cluster=[2, 1, 1])).verdict.startswith("proved")
    assert shown(verdict(kernel_tree([write, both[1], read], cluster=[2, 1, 1])))
    relaxed = [["do", ["call", "cluster_arrive_relaxed"]], both[1]]
    assert shown(verdict(kernel_tree([write, *relaxed, read], cluster=[2, 1, 1])))


def mbarriers(tree, **sizes):
    for name, count in sizes.items():
        tree["buffers"][name] = {"dtype": "uint64", "scope": "shared.cluster_barrier", "alloc": True, "bits": 64, "elements": count}
    return tree


def test_cluster_launch_control():
    """The answer is written into all blocks, and completes at the mbarrier of each."""
    place = ["call", "tvm_access_ptr", ["s", "uint32"], "s", 0, 4, 2]
    ask = ["if", ["==", ["call", "block_rank_in_cluster"], 0],
           [["do", ["call", "clc_try_cancel_multicast", place, ["call", "tvm_access_ptr", ["s", "uint64"], "m", 0, 1, 3]]]], []]
    first = ["if", ["==", "tx", 0], [["do", ["call", "ptx_init_barrier_thread_count", ["load", "m", 0], 1]]], []]
    more = ["if", ["==", "tx", 0], [["do", ["call", "ptx_arrive_barrier_expect_tx", ["load", "m", 0], 16]], ask], []]
    wait = ["do", ["call", "mbarrier_wait_parity", ["load", "m", 0], 0]]
    meet, fence = ["do", ["call", "cluster_sync"]], ["do", ["call", "ptx_fence_barrier_init"]]
    read = ["store", "g", 0, ["load", "s", 1]]
    tree = mbarriers(kernel_tree([first, fence, meet, more, wait, read], cluster=[2, 1, 1]), m=1)
    kernel = T.load(tree)
    assert "clc try_cancel writes s_block0(0..16), s_block1(0..16) delivers m[0, 0] by 16 delivers m[1, 0] by 16" in kernel.source
    assert kernel.check().verdict == "proved for this shape", kernel.check().text()
    assert shown(verdict(mbarriers(kernel_tree([first, fence, meet, more, read], cluster=[2, 1, 1]), m=1)))
    own = json.loads(json.dumps(tree).replace("clc_try_cancel_multicast", "clc_try_cancel").replace(json.dumps(ask[1]), "1"))
    alone = T.load(own)
    assert "clc try_cancel writes s(0..16) delivers m[0] by 16" in alone.source and alone.check().verdict == "proved for this shape"


def test_an_arrival_with_bytes_at_another_block():
    arrive = ["do", ["call", "ptx_arrive_barrier_expect_tx", ["load", "m", 0], 0, 1, 1]]
    first = ["if", ["==", "tx", 0], [["do", ["call", "ptx_init_barrier_thread_count", ["load", "m", 0], 2]]], []]
    meet = ["do", ["call", "cluster_sync"]]
    body = [first, ["do", ["call", "ptx_fence_barrier_init"]], meet, ["if", ["==", "tx", 0], [arrive], []], meet]
    text = T.load(mbarriers(kernel_tree(body, cluster=[2, 1, 1]), m=1)).source
    assert text.count("arrive m[1, 0] expect 0") == 2 and "arrive m[0" not in text
    arrive[1][5] = ["<", "tx", 1]
    with pytest.raises(T.Unsupported, match="of some threads only"):
        T.load(mbarriers(kernel_tree(body, cluster=[2, 1, 1]), m=1))


def test_clusters_that_are_none():
    for cluster in ([2, 1], [0, 1, 1], [2, 1, 17], "2", [1, 1, "2"]):
        with pytest.raises(spad.ArgumentError, match="a cluster has 1 to 16 blocks"):
            T.load(kernel_tree([SYNC], cluster=cluster))
    with pytest.raises(T.Unsupported, match="a cluster of 32 blocks"):
        T.load(mbarriers(kernel_tree([["do", ["call", "ptx_arrive_cluster_barrier", ["load", "m", 0], 0]]], cluster=[16, 2, 1]), m=1))


# ---- other kernels -----------------------------------------------------------------------------------


def test_sparse_products():
    """Half of the columns of A, and its numbers in registers, which a fence has to follow."""
    tree = tree_of("sparse_sm_90")
    text = T.load(tree).source
    line = next(line for line in text.splitlines() if "wgmma mma" in line)
    assert "E_local" in line or "e_local" in line, line
    dense = copy.deepcopy(tree)
    for path in sites(dense["body"], ["ptx_wgmma_sp_ss"]):
        one = at(dense["body"], path)[1]
        at(dense["body"], path[:-1])[path[-1]] = ["do", ["call", "ptx_wgmma_ss", *one[2:10], *one[13:]]]
    assert T.load(dense).source != text


def test_tensor_memory_at_columns_that_are_combined():
    text = T.load(tree_of("from_tmem_sm_100")).source
    assert "tcgen05 mma reads part_tmem(0..128, 0..256), b writes sums_tmem(0..128, 0..512)" in text
    tree = tree_of("from_tmem_sm_100")
    path, = sites(tree["body"], ["ptx_tcgen05_mma_ts"])
    at(tree["body"], path)[1][4] = ["load", "A", 0]
    with pytest.raises(T.Unsupported, match="at a column that is data"):
        T.load(tree)


def test_bits_of_two_numbers():
    scope = sets.Scope()
    scope.bind("k", "k", 0, 7)
    assert scope.sum(["|", ["*", "k", 8], 5]).text() == "k * 8 + 5" and scope.sum(["|", 3, ["*", "k", 4]]).text() == "k * 4 + 3"
    assert scope.sum(["|", 0, "k"]).text() == "k" and scope.sum(["|", 12, 10]).const == 14
    with pytest.raises(sets.Opaque):
        scope.sum(["|", ["*", "k", 8], 8])
    scope.bind("n", "n", 0, None)
    with pytest.raises(sets.Opaque):
        scope.sum(["|", "n", 64])


def test_scales():
    text = T.load(tree_of("scaled_sm_100")).source
    assert "tcgen05 cp reads x(" in text and "simt transpose updates x(" in text
    assert "for t_rounds in 0.." in text and "rounds any" not in text


def counted(body, first=0, bound=6, **more):
    loop = ["while", ["<", ["load", "v", 0], bound], body]
    return kernel_tree([["store", "v", 0, first], loop], **more)


def test_while_loops_that_count():
    write, read = ["store", "s", "tx", ["f"]], ["store", "g", 0, ["load", "s", ["-", 63, "tx"]]]
    step = ["store", "v", 0, ["+", ["load", "v", 0], 2]]
    text = T.load(counted([SYNC, write, SYNC, read, step])).source
    assert "for v_rounds in 0..3 {" in text and "any" not in text
    many = T.load(counted([SYNC, write, SYNC, read, step], "bx", grid=[16, 1, 1]), block={"x": 3})
    assert "for v_rounds in 0..max(((block_x * (-1) + 7) / 2), 0) {" in many.source and many.check().verdict.startswith("proved")
    twice = T.load(counted([SYNC, write, SYNC, read, ["store", "v", 0, ["*", ["load", "v", 0], 2]]], 1))
    assert twice.source.count("simt store writes s") == 2 * 3  # 1, 2 and 4 are below 6, for each of two warps
    assert {"what": "a while loop", "why": "its rounds are those of this block", "agents": ["warp_0", "warp_1"]} in twice.approximations
    data = T.load(counted([SYNC, write, SYNC, read, ["store", "v", 0, ["load", "g", 0]]], 1))
    assert "param rounds = 4 any" in data.source
    back = T.load(counted([SYNC, write, SYNC, read, ["store", "v", 0, ["-", ["load", "v", 0], 1]]], 1))
    assert "param rounds = 4 any" in back.source  # it does not end


def test_a_parity_of_the_last_round():
    """A wait in the last round alone has the parity of that round: another number of rounds would be another program."""
    def rounds(wait):
        arrive = ["if", ["==", "tx", 0], [["do", ["call", "ptx_arrive_barrier", ["load", "m", 0]]]], []]
        first = ["if", ["==", "tx", 0], [["do", ["call", "ptx_init_barrier_thread_count", ["load", "m", 0], 1]]], []]
        last = ["if", ["==", "k", 5], [["do", ["call", "mbarrier_wait_parity", ["load", "m", 0], wait]]], []]
        return T.load(mbarriers(kernel_tree([first, SYNC, ["for", "k", 0, 6, "serial", [SYNC, arrive, SYNC, last]]]), m=1)).source

    assert "for k in 0..6 {" in rounds(1) and "for k in 0..k_more + 1 {" in rounds(["&", "k", 1])


def test_a_barrier_of_the_grid():
    """All threads of the block meet there, whatever other blocks do."""
    write, read = ["store", "s", "tx", ["f"]], ["store", "g", 0, ["load", "s", ["-", 63, "tx"]]]
    meet = ["do", ["call", "sync_grid"]]
    assert verdict(kernel_tree([write, meet, read])).verdict.startswith("proved")
    assert "SPAD-DEADLOCK" in shown(verdict(kernel_tree([write, ["if", ["<", "tx", 32], [meet], []]])))


def test_calls_of_two_blocks_as_objects():
    dump = tilelang_tree._Dump()
    one = call("tcgen05_mma_arrive", number(0))
    one.annotations = {"use_2cta": number(1)}
    assert dump.expr(one) == ["call", "tcgen05_mma_arrive_2cta", 0]
    one.annotations = {"use_2cta": number(0)}
    assert dump.expr(one) == ["call", "tcgen05_mma_arrive", 0]
    function = node("PrimFunc", body=node("Evaluate", value=number(0)), attrs={"cluster_dims": [number(2), number(1), number(1)]})
    for extent in function.attrs["cluster_dims"]:
        type(extent).__int__ = lambda self: self.value
    assert tilelang_tree.of_function("k", function)["cluster"] == [2, 1, 1]
    assert tilelang_tree._dtype_bits("custom[float4_e2m1_unpacked]") == 8
