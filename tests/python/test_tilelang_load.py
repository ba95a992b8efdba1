# SPDX-License-Identifier: Apache-2.0
"""spad.tilelang.load: kernels that TileLang lowered, from recorded trees and, where it is installed, from its objects."""

import copy
import inspect
import html
import json
import os
import random
import re

import pytest

import spad
import spad.tilelang as T
from spad.tilelang import _jit as tilelang_jit
from spad.tilelang import _sets as sets
from spad.tilelang import _tree as tilelang_tree
from spad.tilelang._walk import Walk
from tilelang_kernels import CASES, TREES


THOROUGH = bool(os.environ.get("SPAD_THOROUGH"))


def tree_of(name):
    return json.loads((TREES / f"{name}.json").read_text())


def shown(check):
    """The codes of errors; and of races of accesses whose bytes depend on data, which leave the verdict unknown."""
    found = {f.code for f in check.findings if f.severity == "error" or f.code == "SPAD-RACE"}
    assert not found or check.verdict in ("wrong", "unknown")
    return found


def noticed(check):
    """The same, and a fence after an init that is missing, which is advice."""
    return shown(check) | {f.code for f in check.findings if f.code == "SPAD-INIT-FENCE"}


# ---- kernels as they are ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(CASES))
def test_recorded_kernels_are_proved_for_all_trip_counts(name):
    kernel = T.load(TREES / f"{name}.json")
    check = kernel.check()
    assert check.verdict == "proved for all trip counts", check.text()
    assert not shown(check)
    assert {row["what"] for row in kernel.approximations} <= {"waits at the end of a warp"}


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_plan_is_not_above_that_of_tilelang(name):
    kernel = T.load(tree_of(name))
    page = kernel.report()
    assert page.data["bytes"]["spad"] <= page.data["bytes"]["tilelang"] == kernel.tilelang_bytes
    assert page.ours.verdict.startswith("proved")
    assert "provably the smallest layout" in page.layout.text()


def test_the_text_of_a_gemm():
    source = T.load(tree_of("gemm_sm_90")).source
    assert "tma load reads A_desc_4096B writes a(((ko) % 3) * 4096..((ko) % 3) * 4096 + 4096)" in source
    assert "wgmma mma reads a(((ko_1) % 3) * 4096..((ko_1) % 3) * 4096 + 4096), b(" in source
    assert "for ko in 0..ko_more + 1 {" in source and "param ko_more = 7" in source
    assert "agent warp_4 of 32 threads registers 240 {" in source
    assert source.count("agent ") == 8


def test_warps_have_their_own_bytes():
    """Strided pieces, not hulls: the four warps of cp.async share no byte, and together they fill a stage."""
    kernel = T.load(tree_of("gemm_sm_80"))
    parts = {}
    for line in kernel.source.splitlines():
        if line.startswith("agent"):
            agent = line.split()[1]
            parts[agent] = []
        elif "cpasync load" in line and " writes a(" in line and "%" not in line and agent:
            parts[agent].append(line.split(" writes ")[1].split(" in ")[0])
    first = [p[0] for p in parts.values()]
    covered = sorted(tuple(int(n) for n in run.strip(" a()").split("..")) for p in first for run in p.split(", "))
    assert len(parts) == 4 and covered[0][0] == 0 and covered[-1][1] == 4096
    assert all(a[1] == b[0] for a, b in zip(covered, covered[1:]))


# ---- bytes of loops that are run ------------------------------------------------------------------------


def small_tree(body):
    """A warp with 64 numbers in shared memory, and a local variable."""
    tree = tree_of("histogram_sm_90")
    tree["buffers"].update(s=dict(dtype="int32", scope="shared.dyn", alloc=True, elements=64, bits=32),
                           v=dict(dtype="int32", scope="local", alloc=True, elements=1, bits=32))
    tree.update(body=body, threads=[32, 1, 1], shared={"s": {"bytes": 256, "dtype": "int32", "align": 16, "at": 0}})
    return tree


STEP = [["store", "s", ["load", "v", 0], 1], ["store", "v", 0, ["+", ["load", "v", 0], 1]]]


def test_a_variable_that_a_loop_changes_has_not_its_first_value():
    kernel = T.load(small_tree([["store", "v", 0, 0], ["for", "i", 0, 8, "serial", STEP]]))
    assert "simt store may writes s\n" in kernel.source and "s(0..4)" not in kernel.source
    assert [row["why"] for row in kernel.approximations] == ["any part of it, because of an index that is data"]
    after = T.load(small_tree([["store", "v", 0, 7], ["for", "i", 0, 8, "serial", STEP], ["store", "v", 0, 3], *STEP]))
    assert "simt store writes s(12..16)\n" in after.source


def test_a_while_loop_without_barriers_is_an_approximation():
    data = ["<", ["load", "X", 0], 5]
    kernel = T.load(small_tree([["while", data, [["store", "s", "tx", 1]]]]))
    assert "simt store may writes s(0..128)" in kernel.source
    assert [(row["what"], row["why"]) for row in kernel.approximations] == [("a while loop", "its accesses may be")]
    kernel = T.load(small_tree([["store", "v", 0, 0], ["while", data, STEP]]))
    assert "simt store may writes s\n" in kernel.source and len(kernel.approximations) == 2
    assert T.load(small_tree([["while", data, [["store", "v", 0, 1]]]])).approximations == []


_VALUES = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b,
           "%": lambda a, b: a % b, "min": min, "max": max, "^": lambda a, b: a ^ b, "<": lambda a, b: a < b,
           ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "and": lambda a, b: a and b, "or": lambda a, b: a or b}


def value_of(tree, names):
    """An expression, without spad."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return names[tree]
    if tree[0] == "select":
        return value_of(tree[2 if value_of(tree[1], names) else 3], names)
    return _VALUES[tree[0]](value_of(tree[1], names), value_of(tree[2], names))


def random_number(pick, names, depth=0):
    if depth > 2 or pick.random() < 0.3:
        return pick.choice(names) if pick.random() < 0.75 else pick.randint(0, 9)
    op = pick.choice(["+", "-", "*", "//", "%", "min", "max", "^", "select"])
    if op == "select":
        return [op, random_condition(pick, names, depth + 1), *(random_number(pick, names, depth + 1) for _ in "ab")]
    if op in ("//", "%"):
        return [op, random_number(pick, names, depth + 1), pick.choice([2, 3, 4, 7, 8])]
    parts = [random_number(pick, names, depth + 1) for _ in "ab"]
    return [op, *([["%", part, 8] for part in parts] if op == "^" else parts)]


def random_condition(pick, names, depth=0):
    if depth < 2 and pick.random() < 0.2:
        return [pick.choice(["and", "or"]), *(random_condition(pick, names, depth + 1) for _ in "ab")]
    return [pick.choice(["<", ">=", "=="]), *(random_number(pick, names, depth + 1) for _ in "ab")]


def random_body(pick, names, depth=0):
    out = []
    for _ in range(pick.randint(1, 2)):
        kind = pick.random() if depth < 3 else 1
        if kind < 0.35:
            var = f"i{depth}_{pick.randint(0, 99)}"
            out.append(["for", var, pick.choice([0, 0, 1]), pick.randint(1, 4), "serial", random_body(pick, [*names, var], depth + 1)])
        elif kind < 0.6:
            rest = random_body(pick, names, depth + 1) if pick.random() < 0.4 else []
            out.append(["if", random_condition(pick, names), random_body(pick, names, depth + 1), rest])
        else:
            out.append(["store", "s", ["%", random_number(pick, names), 64], 1])
    return out


def places_of(body, names, out):
    """What a thread stores, statement by statement."""
    for row in body:
        if row[0] == "for":
            for i in range(row[2], row[2] + row[3]):
                places_of(row[5], {**names, row[1]: i}, out)
        elif row[0] == "if":
            places_of(row[2] if value_of(row[1], names) else row[3], names, out)
        else:
            out.add(value_of(row[2], names))


def test_random_trees_have_the_bytes_of_a_run():
    exact = 0
    for number in range(600 if THOROUGH else 60):
        body = random_body(random.Random(number), ["tx"])
        kernel, sure, perhaps, wanted = T.load(small_tree(body)), set(), set(), set()
        for thread in range(32):
            places_of(body, {"tx": thread}, wanted)
        for line in kernel.source.splitlines():
            _, writes, parts = line.partition(" writes ")
            for part in (parts.split(", ") if writes else []):
                first, _, last = part.partition("(")[2].rstrip(")").partition("..")
                found = range(int(first) // 4, int(last) // 4) if last else range(64)
                (perhaps if " may writes" in line else sure).update(found)
        assert sure <= wanted <= sure | perhaps, body
        exact += sure == wanted
    assert exact > 40


@pytest.mark.parametrize("op", ["//", "%"])
def test_quotients_of_tvm_are_rounded_toward_zero(op):
    a = ["-", ["*", "x", 3], "y"]
    run = eval("lambda v_x, v_y: " + sets.code(tilelang_tree.toward_zero(op, a, 4)))
    for x in range(-9, 9):
        for y in range(9):
            n = 3 * x - y
            whole = abs(n) // 4 * (1 if n >= 0 else -1)
            assert run(x, y) == (whole if op == "//" else n - whole * 4)
    assert tilelang_tree.toward_zero(op, ["+", "x", ["cast", "int32", 5]], 4) == [op, ["+", "x", ["cast", "int32", 5]], 4]
    assert tilelang_tree.toward_zero(op, a, 4, "float32") == [op, a, 4]
    assert tilelang_tree.toward_zero(op, "x", ["-", "y", 9]) == ["call", "data"]


def test_the_page(tmp_path):
    page = T.load(tree_of("attention_sm_90")).report()
    text = page.text()
    assert "layout of TileLang: proved for all trip counts" in text and "40960     40960" in text
    for ending in ("html", "txt", "json"):
        assert page.save(tmp_path / f"page.{ending}")
    made = (tmp_path / "page.html").read_text()
    assert made.count("<iframe") == 2 and "layout of TileLang" in made
    head = made[:made.index("<h2>")]  # lines that a window can break, and a table: nothing as wide as its longest line
    assert "<pre" not in head and 'name="viewport"' in head and "<tr><th>buffer<th>bytes<th>align<th>TileLang<th>spad<tr><td>" in head
    words = " ".join(html.unescape(re.sub("<[^>]*>", " ", head.partition("</style>")[2])).split())
    assert words == " ".join(text.replace("\n    ", " ").split()), words
    assert json.loads((tmp_path / "page.json").read_text())["bytes"] == {"tilelang": 40960, "spad": 40960}
    with pytest.raises(spad.ArgumentError, match="has to end with"):
        page.save(tmp_path / "page.png")
    assert "40960 B" in repr(page) and "<pre>" in page._repr_html_()


def test_the_page_in_a_browser(tmp_path, root, monkeypatch):
    """Its policy lets the scripts of the reports in its frames run, and nothing else."""
    monkeypatch.syspath_prepend(str(root / "tests" / "report"))
    import browser as driver

    def as_if_forgotten(text, quote=True):
        return text.replace("&", "&amp;").replace('"', "&quot;")

    page = T.load(tree_of("gemm_sm_90")).report()
    monkeypatch.setitem(page._tree, "name", "<img src=x onerror=document.title='run'><script>document.title='run'</script>")
    monkeypatch.setattr("spad.tilelang._page.html.escape", as_if_forgotten)
    page.save(tmp_path / "page.html")
    if driver.find() is None:
        pytest.skip("there is no Chromium")
    window = driver.Browser()
    try:
        window.open(str(tmp_path / "page.html"))
        window.settle()
        assert not window.run("document.title").startswith("run")
        assert window.run("new Promise(done => { const look = left => left === 0 || [...document.querySelectorAll('iframe')].every("
                          "f => f.contentDocument.querySelector('canvas')) ? done(left > 0) : setTimeout(look, 50, left - 1);"
                          "look(200); })")
        assert window.run("getComputedStyle(document.querySelector('table')).borderCollapse") == "collapse"
    finally:
        window.close()


def test_mistakes_of_a_caller():
    tree = tree_of("gemm_sm_90")
    with pytest.raises(spad.ArgumentError, match="there is no device function 'other', only main_kernel"):
        T.load(tree, name="other")
    with pytest.raises(spad.ArgumentError, match="'q' is no axis of the grid"):
        T.load(tree, block={"q": 1})
    with pytest.raises(spad.ArgumentError, match="block z is outside of the grid of 1"):
        T.load(tree, block=(1, 1, 1))
    assert T.load(tree, block=(1, 2)).check()
    with pytest.raises(spad.ArgumentError, match="'Q' is no tensor that is copied from memory: A_desc, B_desc"):
        T.load(tree).sim(grid=True, reused={"Q": 4})
    with pytest.raises(spad.ArgumentError, match="by `spad tilelang`"):
        T.load(__file__)
    for other in ("trn2", "cuda", 90):
        with pytest.raises(spad.ArgumentError, match=f"'{other}' is no GPU"):
            T.load(object(), target=other)

    @T.prim_func
    def recorded(A: T.Tensor((128,), "float16")):
        with T.Kernel(1, threads=128):
            T.alloc_shared((128,), "float16")

    with pytest.raises(TypeError, match="function.record"):
        T.load(recorded)


def test_a_block_of_the_grid():
    assert T.load(tree_of("gemm_sm_90"), block={"x": 3, "y": 3}).check()
    with pytest.raises(spad.ArgumentError, match="block x = 4 is outside of the grid of 4"):
        T.load(tree_of("gemm_sm_90"), block={"x": 4})


# ---- mistakes ---------------------------------------------------------------------------------------

_SYNC = ("tvm_storage_sync mbarrier_wait_parity ptx_arrive_barrier_expect_tx ptx_arrive_barrier ptx_fence_barrier_init "
         "fence_proxy_async ptx_commit_group ptx_wait_group warpgroup_arrive warpgroup_commit_batch warpgroup_wait "
         "ptx_init_barrier_thread_count").split()


def sites(body, names, path=()):
    for number, statement in enumerate(body):
        if statement[0] == "do" and statement[1][0] == "call" and statement[1][1] in names:
            yield (*path, number)
        for inner, part in enumerate(statement):
            if isinstance(part, list) and part and isinstance(part[0], list):
                yield from sites(part, names, (*path, number, inner))


def at(tree, path):
    for step in path:
        tree = tree[step]
    return tree


def without(tree, path):
    made = copy.deepcopy(tree)
    at(made["body"], path[:-1]).pop(path[-1])
    return made


def verdict(tree):
    return T.load(tree).check()


def test_five_mistakes_in_attention():
    tree = tree_of("attention_sm_90")
    barriers = list(sites(tree["body"], ["tvm_storage_sync"]))
    assert "SPAD-RACE" in shown(verdict(without(tree, barriers[-2])))  # before o is written over q
    fence, = sites(tree["body"], ["fence_proxy_async"])
    assert "SPAD-MISSING-FENCE" in shown(verdict(without(tree, fence)))
    waits = list(sites(tree["body"], ["mbarrier_wait_parity"]))
    assert shown(verdict(without(tree, waits[0])))  # the producer no longer waits for an empty slot
    for path in sites(tree["body"], ["warpgroup_wait"]):
        made = copy.deepcopy(tree)
        at(made["body"], path)[1][2] = 1
        assert "SPAD-RACE" in shown(verdict(made))
    for path in waits:
        made = copy.deepcopy(tree)
        call = at(made["body"], path)[1]
        call[3] = ["-", 1, call[3]]
        assert shown(verdict(made)), call


@pytest.mark.parametrize("name,harmless", [("attention_sm_90", 2), ("gemm_sm_80", 0), ("gemm_sm_90", 0),
                                           ("attention_sm_80", 2)])
def test_each_synchronisation_left_out(name, harmless):
    """Harmless are: one of two __syncthreads in a row with no access of other warps between; the one before the first
    copy; and the one before a warp overwrites rows that it alone has read."""
    tree = tree_of(name)
    paths = list(sites(tree["body"], _SYNC))[::1 if THOROUGH else 6]
    survive = [path for path in paths if not noticed(verdict(without(tree, path)))]
    assert len(survive) == harmless if THOROUGH else len(survive) <= harmless
    assert all(at(tree["body"], path)[1][1] == "tvm_storage_sync" for path in survive)


def test_places_that_overlap_are_found():
    tree = tree_of("gemm_sm_90")
    tree["shared"]["b"]["at"] = 4096
    assert shown(verdict(tree))


def test_tensor_memory():
    """TileLang 0.1.15 has no fence between the last wait, which is in the loop, and the load of the sums after it."""
    tree = tree_of("tensor_memory_sm_100")
    check = verdict(tree)
    assert shown(check) == {"SPAD-MISSING-FENCE"} and "tcgen05.fence::after_thread_sync" in check.findings[0].message
    ends = [n for n, s in enumerate(tree["body"]) if s[0] == "for"]
    tree["body"].insert(ends[0] + 1, ["do", ["call", "tcgen05_after_thread_sync"]])
    kernel = T.load(tree)
    assert kernel.check().verdict == "proved for all trip counts"
    assert "alloc total_tmem" in kernel.source and "tensor total_tmem : tmem u8 (128, 512)" in kernel.source
    assert "tcgen05 mma reads a, b writes total_tmem(0..128, 0..512)" in kernel.source
    assert "simt tcgen05_ld reads total, total_tmem(32..64, 0..512)" in kernel.source
    for path in sites(tree["body"], ["tcgen05_mma_arrive", "mbarrier_wait_parity", "fence_proxy_async"]):
        assert shown(verdict(without(tree, path)))


def test_rounds_outside_of_the_loop_have_no_fence():
    """cp.async writes through the generic proxy and wgmma reads through the async one: TileLang 0.1.15 has a fence between
    them in the loop, and none in the rounds after it."""
    tree = tree_of("unfenced_sm_90")
    assert shown(verdict(tree)) == {"SPAD-MISSING-FENCE"}
    for number in reversed([n for n, s in enumerate(tree["body"]) if s == ["do", ["call", "warpgroup_arrive"]]]):
        tree["body"].insert(number + 1, ["do", ["call", "fence_proxy_async"]])
    assert verdict(tree).verdict == "proved for all trip counts"


def test_a_slot_that_is_released_too_early():
    assert shown(verdict(tree_of("hasty_sm_100")))


def test_products_of_what_threads_stored():
    """A proxy fence is missing before the arrival of the threads that store; with one the kernel is right."""
    tree = tree_of("fed_by_threads_sm_90")
    assert shown(verdict(tree)) == {"SPAD-MISSING-FENCE"}
    theirs = T.load(tree).report().text().split("layout of spad")[0]
    assert theirs.count("[SPAD-MISSING-FENCE]") == 1 and "more like it" in theirs  # a line for all warps
    fed, = [path for path in sites(tree["body"], ["ptx_arrive_barrier"]) if "full" in json.dumps(at(tree["body"], path))]
    at(tree["body"], fed[:-1]).insert(fed[-1], ["do", ["call", "fence_proxy_async"]])
    assert verdict(tree).verdict == "proved for all trip counts"


def test_a_while_loop_without_a_barrier_at_its_end():
    """As TileLang 0.1.15 lowers it: the next round stores while others still read."""
    tree = tree_of("while_loop_sm_90")
    assert shown(verdict(tree)) == {"SPAD-RACE"}
    loop, = [s for s in tree["body"] if s[0] == "while"]
    loop[2].append(SYNC)
    assert verdict(tree).verdict == "proved for all trip counts"


def test_two_groups_at_one_barrier():
    """As TileLang 0.1.15 lowers it; with a barrier for each group the kernel is right."""
    tree = tree_of("one_barrier_sm_90")
    assert shown(verdict(tree)) == {"SPAD-MIXED-BARRIER"}
    second = [path for path in sites(tree["body"], ["tvm_storage_sync"]) if at(tree["body"], path)[1][2:] == [["s", "shared"], 3, 128]]
    assert len(second) == 2
    for path in second:
        at(tree["body"], path)[1][3] = 4
    assert verdict(tree).verdict == "proved for all trip counts"


# ---- what is refused ---------------------------------------------------------------------------------


def kernel_tree(body, **more):
    tree = {"format": 1, "name": "k", "arch": "sm_90", "tilelang": "0", "body": body,
            "buffers": {"s": {"dtype": "float32", "scope": "shared.dyn", "alloc": False, "bits": 32, "elements": None},
                        "v": {"dtype": "int32", "scope": "local", "alloc": True, "bits": 32, "elements": 1},
                        "g": {"dtype": "float32", "scope": "global", "alloc": False, "bits": 32, "elements": None}},
            "shared": {"s": {"bytes": 1024, "dtype": "float32", "align": 16, "at": 0}}, "dynamic_bytes": 1024,
            "threads": [64, 1, 1], "grid": [2, 1, 1],
            "bound": {"threadIdx.x": "tx", "blockIdx.x": "bx"}, "hints": {}}
    tree.update(more)
    return tree


SYNC = ["do", ["call", "tvm_storage_sync", ["s", "shared"]]]


def test_what_is_known_of_statements_is_not_taken_for_that_of_others():
    """A list that is gone leaves its identity to the next one."""
    walk = Walk(kernel_tree([]))
    store = ["store", "s", 0, ["load", "s", 1]]
    ordered = [walk.orders([]), walk.orders([SYNC])]  # not in an assertion, which keeps the lists
    fed = [walk._feeds([]), walk._feeds([store])]
    assert ordered == [False, True] and fed == [False, True]


def test_other_objects_are_refused(tmp_path):
    for other in (42, None, [1]):
        with pytest.raises(TypeError, match="takes a prim_func"):
            T.load(other)
    with pytest.raises(TypeError if _installed() else spad.StateError):
        T.load(object())
    with pytest.raises(spad.ArgumentError, match="no tree"):
        T.load({"format": 99, "body": []})
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(TypeError, match="takes a prim_func"):
        T.load(tmp_path / "list.json")
    with pytest.raises(spad.ArgumentError, match="pass its name"):
        T.load(kernel_tree([]), name="other")


def test_files_that_are_no_trees(tmp_path):
    text = (TREES / "gemm_sm_90.json").read_text()
    for number, wrong in enumerate((text[:1000], "", "[" * 100000, text.replace('"format": 1', '"format": 2'))):
        path = tmp_path / f"{number}.json"
        path.write_text(wrong)
        with pytest.raises(spad.ArgumentError):
            T.load(path)
    with open(tmp_path / "large.json", "wb") as file:
        file.truncate(100 << 20)
    with pytest.raises(spad.MachineError, match="larger than 64 MiB"):
        T.load(tmp_path / "large.json")


def test_damaged_trees_are_refused_or_read():
    """A part of a tree is replaced at random: the answer is a kernel or an error of spad's."""
    rng = random.Random(3)
    junk = [None, -1, 0, 1 << 70, "x", "", [], {}, ["load", "a", 0], ["call"], ["for"], 2.5, True, "tx", ["//", 1, 0]]
    refused = 0
    for _ in range(600 if THOROUGH else 150):
        tree = tree_of("gemm_sm_90" if rng.random() < 0.5 else "tensor_memory_sm_100")
        home = tree
        for _ in range(rng.randrange(1, 12)):
            keys = list(home) if isinstance(home, dict) else range(len(home))
            key = rng.choice(list(keys)) if keys else None
            if key is None or not isinstance(home[key], (dict, list)) or not home[key]:
                break
            home = home[key]
        keys = list(home) if isinstance(home, dict) else range(len(home))
        home[rng.choice(list(keys))] = rng.choice(junk)
        try:
            T.load(tree)
        except (spad.Error, TypeError) as error:
            assert isinstance(error, spad.Error) or "prim_func" in str(error), error
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("call", [
    ["call", "ptx_new_instruction", ["call", "tvm_access_ptr", ["s", "float32"], "s", 0, 4, 3]],
    ["call", "ptx_arrive_cluster_barrier", ["load", "s", 0], 0],
    ["call", "tma_load_2cta", "g_desc", ["load", "s", 0], ["call", "tvm_access_ptr", ["s", "float32"], "s", 0, 4, 2], 0],
    ["call", "call_extern", ["s", "mine"], ["call", "tvm_access_ptr", ["s", "float32"], "s", 0, 4, 3]],
    ["call", "tvm_storage_sync", ["s", "global"]],
    ["call", "mbarrier_wait_parity", ["load", "s", 0], 0],
])
def test_unknown_intrinsics_are_named(call):
    with pytest.raises(T.Unsupported) as error:
        T.load(kernel_tree([["do", call]]))
    assert "in 'k'" in str(error.value)


# ---- numbers and conditions --------------------------------------------------------------------------


def test_threads_by_condition():
    """Half of a warp writes, the other half reads: with a barrier between it is right."""
    write = ["if", ["<", "tx", 16], [["store", "s", "tx", ["f"]]], []]
    read = ["if", [">=", "tx", 48], [["store", "v", 0, ["load", "s", ["-", "tx", 48]]]], []]
    good = T.load(kernel_tree([write, SYNC, read]))
    assert "simt store writes s(0..64)" in good.source and "simt store reads s(0..64)" in good.source
    assert good.check().verdict.startswith("proved")
    assert "SPAD-RACE" in shown(T.load(kernel_tree([write, read])).check())


def test_conditions_on_data_may_hold():
    body = [["store", "s", "tx", ["f"]], SYNC,
            ["if", ["<", ["load", "g", "tx"], 3], [["store", "s", "tx", ["f"]]], []]]
    kernel = T.load(kernel_tree(body))
    assert "may writes s(" in kernel.source
    assert kernel.approximations[0]["what"] == "a condition on data"


def test_data_of_a_block_has_one_value():
    """Whether a block has work, asked twice: the second time it is the same."""
    def kernel(place, kind="<"):
        has = [kind, ["load", "g", place], 3]
        return T.load(kernel_tree([["if", has, [["store", "s", "tx", ["f"]]], []], SYNC,
                                   ["if", has, [["store", "h", "tx", ["load", "s", "tx"]]], []]]))

    same = kernel("bx")
    assert "if data == 1 {" in same.source and same.approximations == []
    assert same.check().verdict.startswith("proved")
    assert same.sim().makespan > 0 and "unknown data in 0..2 = 1" in same.source  # the time of a block that has work
    assert kernel("tx").check().verdict == "unknown"


def test_loops_without_rounds_in_some_blocks():
    """The first block of a causal attention has one round, and rounds are taken out of its loop."""
    body = [["store", "s", "tx", ["f"]], ["for", "k", 0, ["-", "bx", 1], "serial", [SYNC]], ["store", "s", "tx", ["f"]]]
    for block in (0, 1):
        kernel = T.load(kernel_tree(body), block=(block,))
        assert "for k in 0..max(block_x - 1, 0) {" in kernel.source and kernel.check().verdict.startswith("proved")


def test_what_both_sides_of_a_condition_store_is_written():
    """Data decides what a thread stores, and not where: zeros outside of a sequence."""
    read = ["store", "g", "tx", ["load", "s", "tx"]]

    def stores(name, index):
        return [["for", name, 0, 2, "unroll", [["store", "s", index, ["f"]]]]]

    def kernel(second):
        place = ["+", ["*", "i", 64], "tx"]
        return T.load(kernel_tree([["if", ["<", ["load", "g", "tx"], 3], stores("i", place), second], SYNC, read]))

    same = kernel(stores("j", ["+", ["*", "j", 64], "tx"]))
    assert same.check().verdict.startswith("proved") and same.approximations == []
    for other in ([], stores("j", ["+", ["*", "j", 64], ["-", 63, "tx"]]), stores("j", ["*", "j", 64])):
        found = kernel(other)
        assert not found.check().verdict.startswith("proved") and found.approximations[0]["what"] == "a condition on data"
    call = ["do", ["call", "atomic_add_elem_op", ["call", "address_of", ["load", "s", "tx"]], 1, 0]]
    assert kernel([*stores("j", ["+", ["*", "j", 64], "tx"]), call]).approximations[0]["what"] == "a condition on data"


def test_one_of_two_numbers():
    scope = sets.Scope()
    scope.bind("b", "b", 0, 9)
    scope.bind("k", "k", 0, 5)
    by_two = ["select", ["<", "b", 2], ["+", "b", 2], ["-", "b", 1]]
    assert scope.sum(by_two).text() == "b + max(0, min(1, b * (-1) + 2)) * 3 - 1"
    assert scope.sum(["select", ["not", [">=", "b", 2]], 4, 1]).text() == "max(0, min(1, b - 1)) * (-3) + 4"
    assert scope.sum(["select", ["<", "b", 10], "b", 0]).text() == "b" and scope.sum(["select", ["cast", "bool", [">", "b", 9]], "b", 7]).text() == "7"
    assert scope.condition(["!=", ["select", ["<", "b", "k"], 1, 0], 0]) == [["b < k"]]
    assert scope.condition(["select", ["<", "b", "k"], 0, 1]) == [["b >= k"]]
    assert scope.condition(["==", ["and", ["<", "b", "k"], ["<", "b", 3]], 0]) == [["b >= k"], ["b >= 3"]]
    assert scope.condition(["<", by_two, "k"]) == [["b + max(0, min(1, b * (-1) + 2)) * 3 - 1 < k"]]
    assert scope.sum(["|", 0, "b"]).text() == "b" and scope.sum(["|", 5, 2]).text() == "7"
    for opaque in (["|", "b", 1], ["select", ["<", "b", "k"], "b", "k"], ["select", ["and", ["<", "b", 2], ["<", "k", 2]], 1, 2]):
        with pytest.raises(sets.Opaque):
            scope.sum(opaque)


def test_one_unknown_for_the_loops_of_producers_and_consumers():
    """The block mask is read by both; their loops have variables of their own, which were one in the program."""
    def loop(var, inner):
        return ["for", var, 0, 4, "serial", [["if", ["!=", ["load", "g", var], 0], [inner], []]]]

    meet = ["do", ["call", "tvm_storage_sync", ["s", "shared"], 3, 64]]
    body = [["if", ["<", "tx", 32], [loop("k", meet)], [loop("k_1", meet)]], ["store", "s", "tx", ["f"]]]
    kernel = T.load(kernel_tree(body, hints={"k_1": "k"}))
    assert kernel.source.count(" any") == 1 and kernel.source.count("in 0..data_n {") == 2
    assert kernel.check().verdict == "proved for all trip counts"
    # what is stored and read by the same condition, without synchronisation in it, is as certain
    for steps in body[0][2:]:
        steps[0][5] += [["if", steps[0][5][0][1], [["store", "s", "tx", ["f"]], ["store", "h", 0, ["load", "s", "tx"]]], []]]
    kernel = T.load(kernel_tree(body, hints={"k_1": "k"}))
    assert "may" not in kernel.source and kernel.check().verdict.startswith("proved")


def test_a_loop_whose_variable_is_a_parity():
    """Two rounds: TileLang writes `k` for `k % 2`, so the loop has its two rounds and no others."""
    bar = ["load", "b", 0]
    body = [["if", ["call", "tl_shuffle_elect", 0], [["do", ["call", "ptx_init_barrier_thread_count", bar, 64]]], []],
            ["do", ["call", "ptx_fence_barrier_init"]], SYNC,
            ["for", "k", 0, 2, "serial", [["do", ["call", "ptx_arrive_barrier", bar]], ["do", ["call", "mbarrier_wait_parity", bar, "k"]],
                                          ["store", "s", "tx", ["f"]]]]]
    tree = kernel_tree(body)
    tree["buffers"]["b"] = {"dtype": "uint64", "scope": "shared.barrier", "alloc": True, "bits": 64, "elements": 1}
    kernel = T.load(tree)
    assert "for k in 0..2 {" in kernel.source and kernel.check().verdict.startswith("proved")
    at(tree["body"], (3, 5, 1))[1][3] = ["^", "k", 1]
    assert "parity k * (-1) + 1" in T.load(tree).source or "parity 1 - k" in T.load(tree).source


def test_an_index_that_is_data_is_any_part_of_the_buffer():
    scatter, read = ["store", "s", ["load", "g", "bx"], ["f"]], ["store", "g", "tx", ["load", "s", "tx"]]
    tree = kernel_tree([scatter, SYNC, read], threads=[32, 1, 1])
    kernel = T.load(tree)
    assert [row["why"] for row in kernel.approximations] == ["any part of it, because of an index that is data"]
    assert "may writes s\n" in kernel.source
    assert kernel.check().verdict == "unknown"  # what was not written has no value
    tree["body"].insert(0, ["store", "s", "tx", ["f"]])
    assert T.load(tree).check().verdict.startswith("proved")


def test_atomics_are_in_any_order():
    """A histogram in shared memory: all warps add to bins that data chooses, between two barriers."""
    tree = tree_of("histogram_sm_90")
    kernel = T.load(tree)
    assert kernel.source.count("may adds counts") == 8
    assert kernel.check().verdict == "proved for this shape"
    assert kernel.tilelang_bytes == 256 and kernel.report().data["bytes"] == {"tilelang": 256, "spad": 256}
    assert kernel.report().data["buffers"][0]["tilelang"] == 0
    barriers = list(sites(tree["body"], ["tvm_storage_sync"]))
    assert len(barriers) == 2
    for path in barriers:
        assert "SPAD-RACE" in shown(verdict(without(tree, path)))  # with the stores before, and the reads after


def bytewise(count, threads):
    """Every byte of a buffer stored by a thread of its own, in rounds of which the last is not full."""
    place = ["+", ["*", "i", threads], "tx"]
    inside = ["if", ["<", place, count], [["store", "s", place, ["f"]]], []]
    tree = kernel_tree([["for", "i", 0, -(-count // threads), "serial", [inside]], SYNC, ["store", "g", "tx", ["load", "s", "tx"]]],
                       threads=[threads, 1, 1], dynamic_bytes=count)
    tree["buffers"]["s"] = {**tree["buffers"]["s"], "dtype": "int8", "bits": 8}
    tree["shared"]["s"].update(bytes=count, dtype="int8")
    return tree


def test_many_small_pieces():
    kernel = T.load(bytewise(100001, 64))
    assert kernel.approximations == [] and kernel.check().verdict.startswith("proved")


def test_a_place_that_a_condition_keeps_inside():
    """A loop that is too long to be run here: its last round is cut off by a condition, and not by the bounds of the loop."""
    kernel = T.load(bytewise(140001, 32))
    assert "any part of it, because of a place that a condition keeps inside of it" in [row["why"] for row in kernel.approximations]
    assert kernel.check().verdict == "unknown"


def test_dynamic_sizes():
    """On sm_80 the depth decides which copies are under way; on sm_90 any number of rounds is proved."""
    tree = tree_of("dynamic_sm_80")
    assert tree["sizes"] == ["deep", "rows"]
    kernel = T.load(tree)
    assert kernel.check().verdict == "proved for this shape" and kernel.report().data["bytes"] == {"tilelang": 24576, "spad": 24576}
    assert [row["what"] for row in kernel.approximations] == ["the dynamic size 'deep'"]
    assert "1024 is assumed, pass sizes={'deep': N}" in kernel.approximations[0]["why"] and kernel.tree == tree
    for deep in (1, 32, 64, 96, 97, 4096):
        kernel = T.load(tree, sizes={"deep": deep, "rows": 100})
        assert kernel.check().verdict == "proved for this shape", deep
        assert kernel.approximations == [] and "grid 2\n" in kernel.source and "laps" not in kernel.source
    other = T.load(tree_of("dynamic_sm_90"))
    assert other.check().verdict == "proved for all trip counts"
    assert "pass sizes={'deep': N}" in other.approximations[0]["why"]
    assert T.load(tree_of("dynamic_sm_90"), sizes={"deep": 512}).check().verdict == "proved for this shape"


def test_a_barrier_of_a_dynamic_kernel_that_is_left_out():
    tree = tree_of("dynamic_sm_80")
    found = [shown(T.load(without(tree, path), sizes={"deep": 256}).check()) for path in sites(tree["body"], ["ptx_wait_group"])]
    assert found and all("SPAD-RACE" in codes for codes in found)


def test_sizes_that_are_not_known():
    with pytest.raises(spad.ArgumentError, match="'k' is no dynamic size of 'main_kernel': it has deep, rows"):
        T.load(tree_of("dynamic_sm_80"), sizes={"k": 64})
    with pytest.raises(spad.ArgumentError, match="'k' is no dynamic size of 'main_kernel': it has none"):
        T.load(tree_of("gemm_sm_80"), sizes={"k": 64})
    for value in (-1, 1.5, True, "64", 1 << 40):
        with pytest.raises(spad.ArgumentError, match="the size 'deep' is a number from 0"):
            T.load(tree_of("dynamic_sm_80"), sizes={"deep": value})
    with pytest.raises(spad.ArgumentError, match="sizes are a list of names"):
        T.load({**tree_of("gemm_sm_80"), "sizes": ["a b"]})


def test_numbers_of_sizes():
    from spad.tilelang._sizes import _folded

    for tree, value in ((["//", ["+", "k", 31], 32], 4), ([">>", "k", 5], 3), (["min", 2, ["-", "k", 1]], 2), (["<", 0, "k"], 1),
                        (["cast", "int64", "k"], 100), (["%", "k", 0], ["%", 100, 0]), (["<<", "k", 99], ["<<", 100, 99]),
                        (["load", "k", "k"], ["load", "k", 100]), (["+", "k", "tx"], ["+", 100, "tx"]), (["f"], ["f"])):
        assert _folded(tree, {"k": 100}) == value


def test_one_buffer_alone_is_counted_once():
    tree = kernel_tree([["store", "s", "tx", ["f"]]])
    tree["shared"]["s"]["at"] = None  # as it is in trees of older versions
    assert T.load(tree).tilelang_bytes == 1024
    tree["shared"]["t"] = {"bytes": 256, "dtype": "float32", "align": 16, "at": None}
    tree["buffers"]["t"] = {**tree["buffers"]["s"], "scope": "shared"}
    assert T.load(tree).tilelang_bytes == 1280


def test_an_atomic_store_needs_nothing_before_it():
    place = ["call", "address_of", ["load", "s", "tx"]]
    kernel = T.load(kernel_tree([["do", ["call", "atomic_store_elem_op", place, 1, 0]], SYNC,
                                 ["do", ["call", "atomic_max_elem_op", place, ["load", "g", "tx"], 0]]]))
    assert "simt atomic_store writes s(0..128)" in kernel.source and "simt atomic_add adds s(0..128)" in kernel.source
    assert kernel.check().verdict.startswith("proved")


def test_a_condition_on_data_around_a_barrier_is_unknown():
    body = [["if", ["<", ["load", "g", 0], 3], [SYNC], []], ["store", "s", "tx", ["f"]]]
    kernel = T.load(kernel_tree(body))
    assert "unknown data" in kernel.source and "if data == 1 {" in kernel.source


def test_a_loop_that_reads_what_it_writes_stays_a_loop():
    """A warp that copies within shared memory: `t` lies four bytes after `s`, so each round reads what the one before wrote."""
    tree = kernel_tree([["store", "s", "tx", ["f"]], SYNC, ["if", ["<", "tx", 1], [["for", "i", 0, 16, "serial", [
        ["store", "t", "i", ["load", "s", "i"]]]]], []]])
    tree["buffers"]["t"] = tree["buffers"]["s"]
    tree["shared"]["t"] = {"bytes": 256, "dtype": "float32", "align": 16, "at": 16}
    assert "SPAD-LIFETIME" in "".join(shown(T.load(tree).check()))
    tree["shared"]["t"]["at"] = 1024
    assert not shown(T.load(tree).check())


def test_a_variable_that_some_threads_set_is_data():
    body = [["store", "v", 0, 0], ["if", ["<", "tx", 16], [["store", "v", 0, 1]], []],
            ["store", "s", ["+", "tx", ["load", "v", 0]], ["f"]]]
    assert "any part of it" in T.load(kernel_tree(body)).approximations[0]["why"]


def test_counters_become_cursors():
    ring = ["%", ["load", "v", 0], 3]
    body = [["store", "v", 0, 0], ["for", "i", 0, 8, "serial", [
        ["store", "s", ["+", "tx", ["*", ring, 64]], ["f"]], SYNC,
        ["store", "v", 0, ["+", ["load", "v", 0], 1]]]]]
    kernel = T.load(kernel_tree(body))
    assert "cursor v_s3, v_p3 mod 3" in kernel.source and "advance v_s3" in kernel.source
    assert "writes s(v_s3 * 256..v_s3 * 256 + 128)" in kernel.source


def scan_tree(name, sizes, *, fill=True):
    both = [["call", "tvm_access_ptr", ["s", "float32"], "s", 0, 256, mask] for mask in (1, 2)]
    scan = ["do", ["call", "call_extern", ["s", f"tl::{name}::run"], *both, *sizes]]
    rows = ["for", "i", 0, 4, "unroll", [["store", "s", ["+", ["*", "i", 64], "tx"], ["f"]]]]
    return kernel_tree([*([rows, SYNC] if fill else []), scan, SYNC, ["store", "g", "tx", ["load", "s", "tx"]]])


def test_sums_along_a_line():
    """Lines by turns among the two warps: rows of 64 elements, columns of 4, and one line of 256 for the first warp."""
    lines = {"CumSum2D<64, 1, false>": ((4, 64, 64, 64), ["s(0..256), s(512..768)", "s(256..512), s(768..1024)"]),
             "CumMax1D<64, true>": ((256,), ["s\n"]),
             "CumSum2D<64, 0, false>": ((4, 64, 64, 64), ["s(0..4), s(8..12)", "s(4..8), s(12..16)"])}
    for name, (sizes, parts) in lines.items():
        kernel = T.load(scan_tree(name, sizes))
        assert [part for part in parts if f"simt scan updates {part}" in kernel.source] == parts, kernel.source
        assert kernel.source.count("simt scan") == len(parts) and kernel.approximations == []
        assert kernel.check().verdict.startswith("proved")
        assert "SPAD-UNINITIALISED-READ" in shown(T.load(scan_tree(name, sizes, fill=False)).check())
    with pytest.raises(T.Unsupported, match="CumSum3D"):
        T.load(scan_tree("CumSum3D<64, 1, false>", (4, 64, 64, 64)))


def test_reductions_across_warps_synchronise():
    value = ["call", "call_extern", ["s", "tl::AllReduce<tl::SumOp, 64, 1, 0, tl::NamedBarrier<64>>::run"], ["f"],
             ["call", "tvm_access_ptr", ["s", "float32"], "s", 0, 64, 3]]
    kernel = T.load(kernel_tree([["store", "v", 0, value]]))
    assert "sync bar_1 by 32" in kernel.source and "sync bar_2 by 32" in kernel.source
    assert kernel.check().verdict.startswith("proved")


def test_sums():
    scope = sets.Scope()
    scope.bind("k", "k", 0, 31)
    assert scope.sum(["%", ["+", ["*", "k", 6], 4], 3]).text() == "1"
    assert scope.sum(["//", ["+", ["*", "k", 6], 4], 3]).text() == "k * 2 + 1"
    assert scope.sum(["^", ["%", "k", 2], 1]).text() == "((k) % 2) * (-1) + 1"
    assert scope.sum([">>", ["<<", "k", 5], 3]).text() == "k * 4"
    assert scope.sum(["&", "k", 31]).text() == "k"
    assert scope.condition(["<", "k", 32]) == [[]] and scope.condition(["==", "k", 40]) == []
    assert scope.condition(["not", ["or", ["<", "k", 3], [">", "k", 5]]]) == [["k >= 3", "k <= 5"]]
    for wrong in (["*", "k", "k"], ["^", "k", 2], ["load", "s", 0], ["//", 4, "k"], "other"):
        with pytest.raises(sets.Opaque):
            scope.sum(wrong)


def test_runs_and_pieces():
    scope = sets.Scope()
    scope.bind("k", "k", 0, 31)
    index = ["+", ["*", ["%", ["+", "k", ["//", "thread__x", 16]], 3], 1024], ["*", ["%", "thread__x", 16], 8]]
    made = sets.Footprint(scope, index, 4, set(("thread__x",)), [], [], 16)
    groups = made.runs([(n, 0, 0) for n in range(32)])
    assert sorted(total.text() for total, _ in groups) == ["((k + 1) % 3) * 2048", "((k) % 3) * 2048"]
    runs = groups[0][1]
    assert runs[0] == (0, 8) and len(runs) == 16
    assert sets.pieces(runs) == [(0, 8, 16, 16)]
    assert sets.pieces([(0, 4), (8, 12), (20, 24)]) == [(0, 4, 8, 2), (20, 4, 4, 1)]


def random_index(rng, depth=3):
    """An index with threads, a loop that is run, and one that stays a loop."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["thread__x", "i", "k", rng.randrange(9)])
    kind = rng.choice(["+", "+", "*", "//", "%", "%", "-", "^"])
    left = random_index(rng, depth - 1)
    if kind in ("+", "-"):
        return [kind, left, random_index(rng, depth - 1)]
    if kind == "^":
        return ["^", ["%", left, 2], 1]
    return [kind, left, rng.randrange(1, 9)]


def test_bytes_of_random_indices():
    """The runs of a footprint are the bytes that the index gives, thread by thread and round by round."""
    rng = random.Random(7)
    done = 0
    for _ in range(400):
        index, size = random_index(rng, 4), rng.randrange(1, 5)
        scope = sets.Scope()
        scope.bind("k", "k", 0, 7)
        guard = ["<", ["%", ["+", "thread__x", "i"], 3], 2]
        try:
            made = sets.Footprint(scope, index, size, {"thread__x", "i"}, [("i", 0, 4)], [guard], 16)
            groups = made.runs([(n, 0, 0) for n in range(8)])
        except sets.Opaque:
            continue
        done += 1
        run = eval("lambda v_thread__x, v_i, v_k: " + sets.code(index))
        for k in range(8):
            wanted = {2 * run(x, i, k) + b for x in range(8) for i in range(4) if (x + i) % 3 < 2 for b in range(2 * size)}
            found = set()
            for total, runs in groups:
                at = eval(total.text().replace("/", "//"), {"k": k, "min": min, "max": max})
                for low, high in runs:
                    found.update(range(at + low, at + high))
            assert found == wanted, index
    assert done > 300


# ---- TVM's objects -------------------------------------------------------------------------------------


def node(name, /, **fields):
    """An object of a class with that name, as those of TVM."""
    made = type(name, (), {})()
    made.__dict__.update(fields)
    return made


def number(value):
    return node("IntImm", value=value)


def buffer(name, dtype, scope, *shape):
    return node("Buffer", data=node("Var", name=name), dtype=dtype, shape=[number(n) for n in shape], scope=lambda: scope)


def call(name, *args, dtype="int32"):
    return node("Call", op=node("Op", name="tl." + name), args=list(args), dtype=dtype)


def bound(tag, name, extent, body):
    axis = node("IterVar", thread_tag=tag, var=node("Var", name=name))
    return axis.var, node("AttrStmt", attr_key="thread_extent", node=axis, value=number(extent), body=body)


def small_function():
    """Every thread stores into a shared buffer that was merged into an arena, in a loop with a barrier."""
    arena, first = buffer("arena", "uint8", "shared.dyn", 512), buffer("a b", "float16", "shared.dyn", 4, 32)
    local = buffer("x", "float32", "local", 2)
    loop = node("Var", name="i")
    seq = node("SeqStmt", seq=[])
    thread, body = bound("threadIdx.x", "tx", 32, seq)
    again = node("Var", name="i")
    seq.seq += [
        node("AllocBuffer", buffer=arena), node("Bind", var=first.data, value=call("handle_add_byte_offset", arena.data, number(64))),
        node("AllocBuffer", buffer=local), node("DeclBuffer", buffer=local),
        node("For", loop_var=loop, min=number(0), extent=number(4), kind=0, annotations={}, body=node("SeqStmt", seq=[
            node("BufferStore", buffer=first, indices=[loop, thread], value=node("Cast", dtype="float16", value=node("FloatImm"))),
            node("Evaluate", value=call("tvm_storage_sync", node("StringImm", value="shared")))])),
        node("For", loop_var=again, min=number(0), extent=number(2), kind=3, annotations={"tl_pipelined_num_stages": 2},
             body=node("IfThenElse", condition=node("LT", a=thread, b=number(8)), else_case=None, then_case=node(
                 "BufferStore", buffer=local, indices=[again], value=node("BufferLoad", buffer=first, indices=[
                     again, node("Ramp", base=number(0), stride=number(1), lanes=number(2))])))),
        node("AttrStmt", attr_key="unheard", body=node("While", condition=node("Not", a=node("EQ", a=again, b=number(1))),
                                                      body=node("Evaluate", value=number(0))))]
    return node("PrimFunc", body=body, attrs={"dyn_shared_memory_buf": 320, "tl.smem_alignment_map": {"a b": 64}}), first


def test_a_tree_of_objects():
    function, first = small_function()
    before = node("PrimFunc", body=node("AllocBuffer", buffer=first), attrs={})
    tree = tilelang_tree.of_function("k", function, before)
    assert tree["shared"] == {"a_b": {"bytes": 256, "dtype": "float16", "align": 64, "at": 64}}
    assert tree["threads"] == [32, 1, 1] and tree["dynamic_bytes"] == 320 and tree["hints"]["i_1"] == "i"
    assert tree["body"][0] == ["for", "i", 0, 4, "serial", [
        ["store", "a_b", ["+", ["*", "i", 32], "tx"], ["cast", "float16", ["f"]]],
        ["do", ["call", "tvm_storage_sync", ["s", "shared"]]]]]
    assert tree["body"][1][4] == "pipelined" and tree["body"][1][5][0][0] == "if"
    assert tree["body"][2] == ["attr", "unheard", [["while", ["not", ["==", "i_1", 1]], [["do", 0]]]]]
    tree.update(arch="sm_90", tilelang="0")
    del tree["body"][2]
    kernel = T.load(tree)
    assert kernel.check().verdict.startswith("proved"), kernel.source + kernel.check().text()
    function.body = node("Prefetch")
    with pytest.raises(spad.ArgumentError, match="TVM's Prefetch as a statement"):
        tilelang_tree.of_function("k", function)
    function.body = node("Evaluate", value=node("Any", a=1))
    with pytest.raises(spad.ArgumentError, match="TVM's Any in an expression"):
        tilelang_tree.of_function("k", function)


class Jit:
    """What tilelang.jit makes of a function, as far as load() looks at it."""

    def __init__(self, function, tensors=(), target=None):
        self.func, self.signature, self.target = function, inspect.signature(function), target
        self.func.tensor_args = {name: None for name in tensors}
        self.pass_configs = {"tl.some": 1}

    def get_tir(self, *args, **kwargs):
        return self.func(*args, **kwargs)


def test_functions_of_jit():
    class PrimFunc:
        pass

    def gemm(M, stages=2):
        if M == 3:
            raise TypeError("3 is no size")
        return (PrimFunc, M, stages)

    def eager(A, B, **extents):
        return extents

    jit = Jit(gemm, target="cuda -arch=sm_80")
    tuned = type("AutoTuneImpl", (), {"jit_impl": jit})()
    compiled = type("JITKernel", (), {"prim_func": PrimFunc, "pass_configs": {"a": 2}})()
    assert tilelang_jit.prim_func_of(jit, {"M": 5}) == ((PrimFunc, 5, 2), {"tl.some": 1})
    assert tilelang_jit.prim_func_of(tuned, (5, 4), {"own": 1}) == ((PrimFunc, 5, 4), {"own": 1})
    assert tilelang_jit.prim_func_of(compiled) == (PrimFunc, {"a": 2})
    assert tilelang_jit.prim_func_of(lambda n: compiled, [1]) == (PrimFunc, {"a": 2})
    with pytest.raises(spad.ArgumentError, match=r"'gemm' of tilelang.jit needs arguments, as load\(gemm, .*: M, stages \("):
        tilelang_jit.prim_func_of(jit)
    with pytest.raises(TypeError, match="3 is no size"):
        tilelang_jit.prim_func_of(jit, {"M": 3})
    with pytest.raises(spad.ArgumentError, match="extents of its tensors by their names"):
        tilelang_jit.prim_func_of(Jit(eager, ("A", "B")), {"M": 3})
    with pytest.raises(spad.ArgumentError, match="has none"):
        tilelang_jit.prim_func_of(PrimFunc(), {"M": 3})
    assert tilelang_jit.names(tuned) == ["M", "stages"] and tilelang_jit.names(gemm) == ["M", "stages"]
    assert tilelang_jit.names(Jit(eager, ("A", "B"))) is None and tilelang_jit.names(PrimFunc()) == []
    chip = type("Target", (), {"arch": "sm_90a"})()
    assert [tilelang_jit.arch_of(f) for f in (jit, tuned, compiled, Jit(eager, target=chip))] == [
        "sm_80", "sm_80", "sm_90", "sm_90"]


# ---- with TileLang -----------------------------------------------------------------------------------


def _installed():
    try:
        import tilelang  # noqa: F401
    except Exception:
        return False
    return True


@pytest.mark.skipif(not _installed(), reason="tilelang is not installed")
@pytest.mark.parametrize("name", sorted(CASES))
def test_kernels_that_tilelang_lowers_now(name):
    make, arch = CASES[name]
    kernel = T.load(make(), target=arch)
    assert kernel.check().verdict == "proved for all trip counts"
    assert kernel.report().data["bytes"]["spad"] <= kernel.tilelang_bytes


@pytest.mark.skipif(not _installed(), reason="tilelang is not installed")
def test_a_compiled_kernel_and_other_names():
    make, arch = CASES["gemm_sm_90"]
    chip = type("Target", (), {"arch": arch})()
    compiled = type("JITKernel", (), {"prim_func": make(), "pass_configs": {"tl.disable_shared_memory_reuse": True},
                                      "target": chip})()
    kernel = T.load(compiled)
    assert kernel.target.name == arch
    assert kernel.check().verdict == "proved for all trip counts"
    assert kernel.tilelang_bytes == 32768 and kernel.report().data["bytes"]["spad"] == 24576  # no reuse, and ours
    with pytest.raises(spad.ArgumentError, match="pass its name"):
        T.load(make(), target=arch, name="other")


# ---- the time of a grid ----------------------------------------------------------------------------


def test_the_order_of_blocks():
    from spad.tilelang._grid import block_of

    assert [block_of(n, [3, 2, 2], None) for n in (0, 1, 3, 6)] == [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    row = 'T.tvm_tuple("rasterization2DRow", 2)'
    order = [block_of(n, [3, 5, 1], row)[:2] for n in range(15)]
    assert order[:6] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert order[6:8] == [(2, 2), (2, 3)]  # back again
    assert order[12:] == [(0, 4), (1, 4), (2, 4)]  # what is left is narrower
    column = row.replace("Row", "Column")
    assert [block_of(n, [5, 3, 1], column)[:2] for n in range(15)] == [(y, x) for x, y in order]
    assert len(set(order)) == 15


@pytest.mark.parametrize("name", ["gemm_sm_80", "gemm_sm_90"])
def test_what_blocks_share(name):
    from spad.tilelang._grid import shares

    tree, kernel = tree_of(name), T.load(TREES / f"{name}.json")
    found = shares(tree, 16, kernel, 16, 0)
    blocks = tree["grid"][0] * tree["grid"][1]
    assert len(found) == 2  # A by rows of the grid, B by its columns
    assert sorted(reused for reused, _, _ in found.values()) == sorted((tree["grid"][0], tree["grid"][1]))[:2] or blocks < 16
    assert shares({**tree, "grid": [["x"], 1, 1]}, 16, kernel, 16, 0) == {}
    # a cache that has room for all of A and B keeps what the first wave brought
    more = shares({**tree, "grid": [8, 8, 1]}, 4, kernel, 4, 1 << 30)
    none = shares({**tree, "grid": [8, 8, 1]}, 4, kernel, 4, 0)
    parts = [[row[2][0] / row[2][1] if row[2] else 0 for row in rows.values()] for rows in (none, more)]
    assert all(before < now for before, now in zip(*parts)) and max(parts[1]) > 0.8


def test_the_time_of_a_grid(root):
    chip = spad.Target.load(root / "examples/chips/h200_1500.chip")
    kernel = T.load(TREES / "gemm_sm_90.json")
    plain = kernel.sim().data["grid"]
    sim = kernel.sim(grid=True, target=chip)
    grid = sim.data["grid"]
    assert grid["blocks"] == plain["blocks"] and sim.data["unknown"] == 0
    alone = kernel.sim(grid=True, target=chip, reused={"A_desc": 1, "B_desc": (1, 1)}, cached={"A_desc": (0, 1)})
    assert alone.data["grid"]["time_ps"] >= grid["time_ps"]


WARP = """agent warp_{w} of 32 threads registers 240 {{
    for k in 0..8 {{
        sync bar_0 by 32
        cpasync load reads A_4096B writes a({start}..{end}) in loads
        commit loads
        wait loads pending 0
        wgmma mma reads a updates acc[{w}] in mmas cost 128 cycles
        commit mmas
        wait mmas pending 0
    }}
    simt store reads acc[{w}]
}}
"""
WARPGROUP = """kernel k on sm_90
grid 4
unit cpasync on copy free
unit wgmma on tensor same proxy
group loads
group mmas
barrier bar_0 count 128
tensor a : shared u8 (16384)
tensor acc : registers u8 [4] (512) input
tensor A_4096B : global u8 (4096) input
""" + "".join(WARP.format(w=w, start=4096 * w, end=4096 * w + 4096) for w in range(4))
STORES = {"body": [["for", "i", 0, 64, "unroll", [["store", "C", ["ramp", "i", 1, 2], ["load", "acc", "i"]]]]],
          "buffers": {"C": {"scope": "global", "bits": 16}}}


def test_a_warpgroup_is_one_agent():
    from spad.tilelang._grid import text_of

    text = text_of(spad.Kernel.parse(WARPGROUP), STORES, None, {"A": (2, 2, (1, 2))}, 54, {"A_4096B": "A"})
    spad.Kernel.parse(text)
    assert text.count("agent ") == 1 and "agent warp_0 of 128 threads registers 240 {" in text
    assert "sync bar_0 by 128" in text and "cost 512 cycles latency 54 cycles" in text
    assert "tensor A_4096B : global uint8 [2] (16384) input reused 2 near 2 cached 1 of 2 pieces 16" in text
    assert "cpasync load reads A_4096B[k % 2] writes a(0..4096) in loads" in text
    assert "tensor results : global u8 (32768) output pieces 4" in text  # 64 stores of 4 bytes, 128 threads
    assert "    simt store reads acc[0] writes results" in text and "simt copies cost 68 cycles latency 211 cycles" in text
    # warps that differ stay agents of their own
    other = text_of(spad.Kernel.parse(WARPGROUP.replace("wait mmas pending 0", "wait mmas pending 1", 1)), STORES, None, {}, None, {})
    assert other.count("agent ") == 4 and "tensor A_4096B : global uint8 (4096) input\n" in other
    assert "cost 128 cycles\n" in other


def test_copies_of_threads_take_time():
    from spad.tilelang import _grid as grid

    kernel = T.load(TREES / "gemm_sm_80.json")
    text = grid.text_of(kernel, kernel.tree, 168, grid.shares(kernel.tree, 132, kernel, 132, 30 << 20), 54, grid.sources_of(kernel))
    assert "pieces 16" in text and "registers 168" in text
    spad.Kernel.parse(text)


@pytest.mark.skipif(not _installed(), reason="tilelang is not installed")
def test_functions_that_tilelang_compiles():
    from tilelang_kernels import jit_functions

    lazy, eager, tuned = jit_functions()
    for function, arguments in ((lazy, {"M": 512, "BK": 32}), (lazy, (512, 32)), (tuned, {"M": 512}),
                                (eager, {"M": 512, "N": 512, "K": 512})):
        kernel = T.load(function, target="sm_90", arguments=arguments)
        assert kernel.check().verdict == "proved for all trip counts" and kernel.tilelang_bytes == 49152
    with pytest.raises(spad.ArgumentError, match="'lazy' of tilelang.jit needs arguments"):
        T.load(lazy)
    with pytest.raises(spad.ArgumentError, match="extents of its tensors"):
        T.load(eager)


# ---- the command -----------------------------------------------------------------------------------


def test_compare():
    kernels = [T.load(TREES / f"{name}.json") for name in ("gemm_sm_90", "hasty_sm_100")]
    lines = T.compare(*kernels, names={kernels[0]: "three stages"}).splitlines()
    assert lines[0].split() == ["kernel", "verdict", "tilelang", "B", "spad", "B", "time"]
    assert lines[1].startswith("three stages") and "24576" in lines[1] and lines[1].endswith("us")
    assert lines[3:] == ["not counted in the time of 1: main_kernel: 1 element-wise operation of threads in loops (cast)"]
    assert lines[2].startswith("1: main_kernel") and lines[2].split()[2:5] == ["wrong", "65540", "-"]


def test_values_of_an_argument():
    from spad.tilelang._command import ways

    assert ways("stages=1..3") == ("stages", [1, 2, 3]) and ways("dtype='a','b'") == ("dtype", ["a", "b"])
    assert ways("tile=(64, 32),(128, 64)") == ("tile", [(64, 32), (128, 64)])
    for bad in ("stages", "=1", "stages=", "stages=a b", "a b=1"):
        with pytest.raises(Exception, match="'"):
            ways(bad)


def command(capsys, *words):
    from spad.tilelang._command import main

    status = main([str(word) for word in words])
    return (status, *capsys.readouterr())


def test_commands_about_a_tree(capsys, tmp_path):
    gemm, wrong = TREES / "gemm_sm_90.json", TREES / "one_barrier_sm_90.json"
    status, out, _ = command(capsys, "check", gemm)
    assert status == 0 and out.endswith("\nmain_kernel: proved for all trip counts, 3 pieces of advice: for all ko_more\n")
    status, out, _ = command(capsys, "check", wrong)
    assert status == 1 and "SPAD-MIXED-BARRIER" in out
    assert "layout of spad: proved" in command(capsys, "plan", gemm)[1]
    assert command(capsys, "text", gemm)[1] == T.load(gemm).text()
    assert json.loads(command(capsys, "tree", gemm)[1]) == tree_of("gemm_sm_90")
    assert "us" in command(capsys, "sim", gemm)[1] and "24576" in command(capsys, "compare", gemm)[1]
    assert command(capsys, "tree", gemm, "-o", tmp_path / "a.json")[0] == 0
    assert json.loads((tmp_path / "a.json").read_text()) == tree_of("gemm_sm_90")
    assert command(capsys, "report", gemm, "-o", tmp_path / "a.html")[0] == 0 and (tmp_path / "a.html").exists()
    status, out, said = command(capsys, "check", TREES / "dynamic_sm_80.json")
    assert status == 0 and "1024 is assumed" in said
    assert command(capsys, "check", TREES / "dynamic_sm_80.json", "-D", "deep=64")[2] == ""


def test_wrong_usage_of_the_command(capsys):
    gemm = TREES / "gemm_sm_90.json"
    for words, why in ((("report", gemm), "needs a file"), (("check", "nowhere.json"), "No such file"),
                       (("check", gemm, "--arg", "a=1"), "a tree has no arguments"), (("check", "nowhere.py:k"), "no file 'nowhere.py'"),
                       (("check", gemm, "-D", "k=1"), "no dynamic size"), (("check", f"{__file__}:nothing"), "has no 'nothing'")):
        status, out, said = command(capsys, *words)
        assert status == 2 and why in said and out == "", words


@pytest.mark.skipif(not _installed(), reason="tilelang is not installed")
def test_the_command_lowers_a_function(capsys, tmp_path):
    place = f"{TREES.parent.parent}/tilelang_kernels.py:gemm"
    status, out, _ = command(capsys, "report", place, "--vary", "stages=1..2", "--arg", "block=64", "--target", "H100", "-o", tmp_path / "a.html")
    assert status == 0 and "stages = 2" in out and (tmp_path / "a_2.html").exists()
    assert command(capsys, "check", place, "--arg", "nothing=1")[0] == 2
