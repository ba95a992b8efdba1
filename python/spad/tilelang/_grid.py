# SPDX-License-Identifier: Apache-2.0
"""What the text of a lowered kernel does not say about its grid, found out for spad.tilelang from the tree: which blocks
share a tile, which tiles the cache has, and what is stored at the end."""

import math
import re

from .. import _grid_cache
from .. import _grid_text

# Of threads for a step that copies (examples/cuda/together.cu): what the copies themselves take, which blocks do one after
# the other, and addresses, barriers and fences, which they do side by side.
_CYCLES_A_KIB, _STEP_CYCLES = 4.2, 211
_WARP, _GROUP, _WARPS = 32, 4, 32  # threads of a warp, warps of a warpgroup, most warps of a block
_SWIZZLE = re.compile(r"rasterization2D(Row|Column)\W+(\d+)")
_BINARY = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b,
           "%": lambda a, b: a % b, "min": min, "max": max, "^": lambda a, b: a ^ b, "&": lambda a, b: a & b}


# ---- blocks -----------------------------------------------------------------------------------------


def block_of(number, grid, swizzle):
    """(x, y, z) of a block by its number, after TileLang's order of blocks (threadblock_swizzle.h)."""
    x, y, z = grid
    layer, flat = number // (x * y), number % (x * y)
    match = _SWIZZLE.search(swizzle or "")
    if match is None:
        return flat % x, flat // x, layer
    across, along = (x, y) if match[1] == "Row" else (y, x)
    panel = int(match[2])
    index, offset = flat // (panel * across), flat % (panel * across)
    panels = -(-x * y // (panel * across))
    width = panel if index + 1 < panels else (x * y - index * panel * across) // across
    first = across - 1 - offset // width if index % 2 else offset // width
    second = offset % width + index * panel
    return (first, second, layer) if match[1] == "Row" else (second, first, layer)


def _value(node, values):
    """The number of an expression, with 0 for what is not given; None: no number."""
    if isinstance(node, int):
        return node
    if isinstance(node, str):
        return values.get(node, 0)
    if isinstance(node, list) and len(node) == 3 and node[0] in _BINARY:
        left, right = _value(node[1], values), _value(node[2], values)
        if left is None or right is None or (node[0] in ("//", "%") and right == 0):
            return None
        return _BINARY[node[0]](left, right)
    if isinstance(node, list) and node and node[0] in ("ramp", "cast"):
        return _value(node[1 if node[0] == "ramp" else 2], values)
    return None


def _loads(node, on_chip, loops, found):
    """{tensor off chip: [(places, loops around)]} of its copies. Places are expressions, the first one of neighbouring
    elements; loops that are unrolled belong to one copy."""
    if not isinstance(node, list) or not node:
        return
    if node[0] == "for" and isinstance(node[1], str) and node[4] != "unroll":
        loops = [*loops, node[1]]
    if node[0] == "call" and node[1] == "tma_load" and isinstance(node[2], str):
        found.setdefault(node[2], []).append((node[5:-1], loops))
    elif node[0] == "call" and node[1] == "tvm_access_ptr" and len(node) > 4 and node[3] not in on_chip:
        found.setdefault(node[3], []).append(([node[4]], loops))
    elif node[0] == "load" and node[1] not in on_chip:
        found.setdefault(node[1], []).append(([node[2]], loops))
    for part in node[1:] if isinstance(node[0], str) else node:
        _loads(part, on_chip, loops, found)


def _seen(tree, places, blocks):
    """Where each of the first blocks of a grid copies from; None: not known."""
    axes = [tree["bound"].get("blockIdx." + axis) for axis in "xyz"]
    seen = []
    for number in range(blocks):
        values = dict(zip(axes, block_of(number, tree["grid"], tree.get("swizzle"))))
        seen.append(tuple(_value(place, values) for place in places))
        if None in seen[-1]:
            return None
    return seen


def _spread(tree, name, places, loops, seen):
    """(reused, near, cached) of the copies of one tensor among the first blocks of a grid."""
    bits = tree["buffers"].get(name, {}).get("bits") or 16
    cached = None
    for loop in reversed(loops):
        step = [_value(place, {loop: 1}) - _value(place, {}) for place in places]
        if any(step):
            cached = _grid_text.cached_of(step[0] * bits // 8) if not any(step[1:]) else None
            break
    return *_grid_text.sharing(seen), cached


def shares(tree, units, kernel, wave, room):
    """{tensor: (reused, near, cached)} of what is copied from memory, as far as the places are arithmetic. kernel:
    of the tree, wave: blocks at a time, room: bytes of the cache."""
    grid = tree["grid"]
    if not all(isinstance(extent, int) for extent in grid):
        return {}
    found, made, seen = {}, {}, {}
    on_chip = {name for name, facts in tree["buffers"].items() if facts["scope"] != "global"} | set(tree["shared"])
    _loads(tree["body"], on_chip, [], found)
    blocks = grid[0] * grid[1] * grid[2]
    for name, copies in found.items():
        places, loops = max(copies, key=lambda copy: len(copy[1]))
        rows = _seen(tree, places, min(units * _grid_cache.WAVES, blocks))
        if rows is not None:
            made[name] = _spread(tree, name, places, loops, rows[:units])
            seen[name] = rows
    sizes = _bytes_of_blocks(kernel, made)
    kept = _grid_cache.kept({name: rows for name, rows in seen.items() if name in sizes}, sizes, wave, room)
    return {name: (*row[:2], _grid_cache.joined(kept.get(name, 0), row[2])) for name, row in made.items()}


def stored(node, buffers, times=1):
    """(bytes that a thread stores to memory, the bytes of one store), of the statements of a tree."""
    total, piece = 0, 0
    if not isinstance(node, list) or not node:
        return total, piece
    if node[0] == "for" and isinstance(node[3], int):
        times *= node[3]
    if node[0] == "store" and node[1] in buffers:
        lanes = node[2][3] if isinstance(node[2], list) and node[2][0] == "ramp" and isinstance(node[2][3], int) else 1
        piece = lanes * buffers[node[1]]["bits"] // 8
        return times * piece, piece
    for part in node[1:] if isinstance(node[0], str) else node:
        more, size = stored(part, buffers, times)
        total, piece = total + more, max(piece, size)
    return total, piece


# ---- the text ---------------------------------------------------------------------------------------


def sources_of(kernel):
    """{tensor of the kernel: tensor of the tree that it is of}."""
    return {name: source for (source, _), name in kernel._writer.walk.globals.items()}


def _bytes_of_blocks(kernel, known):
    """{tensor of the tree: bytes that a block copies of it}."""
    sizes, sources = {}, sources_of(kernel)
    for name, bytes_ in _grid_cache.bytes_read(kernel).items():
        source = sources.get(name)
        if source in known:
            sizes[source] = sizes.get(source, 0) + bytes_
    return sizes


def _alike(edited, statement):
    """A statement without what differs between the warps of a warpgroup: which of their bytes and registers it is."""
    texts = {}
    for number, access in enumerate(statement.get("accesses", ())):
        in_registers = edited.tensors[access["tensor"]]["space"] == "registers"
        copied = statement["unit"] == "cpasync" and access["kind"] == "write"
        texts[number] = _grid_text.access_text(access, () if in_registers else None, () if copied else None)
    return edited.depth(statement), edited.with_accesses(statement, texts)


def _warpgroups(edited):
    """The first of each four warps that do the same: they are one agent, since each has a quarter of the tensor cores, so that a
    product takes all of them the same time. The others are left out."""
    bodies = {}
    for statement in edited.statements:
        if statement["agent"] and statement["kind"] != "agent":
            bodies.setdefault(statement["agent"], []).append(statement)
    warps = [agent for agent in edited.rows.agents if agent["threads"] == _WARP and agent["name"] in bodies]
    joined, firsts = [], {f"warp_{number}" for number in range(0, _WARPS, _GROUP)}
    for at, agent in enumerate(warps):
        four = [bodies[warp["name"]] for warp in warps[at:at + _GROUP]]
        if agent["name"] not in firsts or len(four) < _GROUP:
            continue
        same = {tuple(_alike(edited, statement) for statement in body) for body in four}
        if len(same) == 1 and any(statement["unit"] == "wgmma" for statement in four[0]):
            joined.append(agent["name"])
            for warp in warps[at + 1:at + _GROUP]:
                edited.leave_out(warp)
    return joined


def _inputs(edited, joined):
    """{tensor: bytes} of what is copied from memory. Those of joined warps alone are of four times the bytes."""
    left = {statement["agent"] for statement in edited.statements} - {None, ""}
    lone = {access["tensor"] for statement in edited.statements if statement["agent"] in left and statement["agent"] not in joined
            and not edited.is_left_out(statement) for access in statement.get("accesses", ()) if access["kind"] == "read"}
    return {name: tensor["shape"][0] * (1 if name in lone or not joined else _GROUP) for name, tensor in edited.tensors.items()
            if edited.is_off_chip(name) and tensor["input"] and not tensor["output"] and len(tensor["shape"]) == 1}


def _is_copy(statement):
    return (statement["kind"] == "operation" and (statement["unit"] in ("cpasync", "tma") or statement["engine"] == "simt")
            and [access["kind"] for access in statement["accesses"][:2]] == ["read", "write"])


def _operation(edited, statement, rows, is_joined, latency, results):
    """The text of an operation of a grid."""
    texts, found = {}, statement["accesses"]
    if _is_copy(statement) and found[0]["tensor"] in rows:
        texts[0] = _grid_text.access_text(found[0], (f"{statement['loop'] or 0} % {rows[found[0]['tensor']][1]}",))
    text = edited.with_accesses(statement, texts)
    if statement["unit"] == "wgmma" and statement["cost"] is not None:
        if is_joined:
            text = text.replace(f" cost {statement['cost']} cycles", f" cost {_GROUP * int(statement['cost'])} cycles")
        text += f" latency {latency} cycles" if latency else ""
    is_result = (statement["engine"] == "simt" and statement["item"] == "store" and [access["kind"] for access in found] == ["read"]
                 and found[0]["index"] and edited.statements[statement["parent"]]["kind"] == "agent")
    return text + (" writes results" if results and is_result else "")


def text_of(kernel, tree, registers, given, latency, sources):
    """The text of a kernel with what was found out about its grid. given: {tensor: (reused, near, cached)} of the tree, sources: its
    tensor for one of the kernel."""
    edited = _grid_text.Edited(kernel)
    joined = _warpgroups(edited)
    sizes = _inputs(edited, joined)
    copied = {statement["accesses"][0]["tensor"] for statement in edited.statements
              if _is_copy(statement) and statement["unit"] != "tma"}
    rows = {}
    for name, size in sizes.items():
        if sources.get(name) in given:
            *shared, cached = given[sources[name]]
            rows.update({name: cached} if cached and cached[0] > 0 else {})
            edited.replace(edited.tensors[name],
                           _grid_text.tensor_line(edited.tensors[name], shared, rows.get(name), name in copied, (size,)))
        elif size != edited.tensors[name]["shape"][0]:
            edited.replace(edited.tensors[name], _grid_text.tensor_line(edited.tensors[name], shape=(size,)))
    results, piece = stored(tree["body"], {name: facts for name, facts in tree["buffers"].items() if facts["scope"] == "global"})
    copied_bytes = 0
    for statement in edited.statements:
        is_joined = statement["agent"] in joined
        if statement["kind"] == "operation":
            if statement["unit"] == "cpasync" and not edited.is_left_out(statement):
                copied_bytes += sizes.get(statement["accesses"][0]["tensor"], 0)
            edited.replace(statement, _operation(edited, statement, rows, is_joined, latency, results))
        elif is_joined and statement["kind"] in ("sync", "arrive") and statement["amount"] == str(_WARP):
            edited.replace(statement, edited.plain(statement).replace(f" by {_WARP}", f" by {_GROUP * _WARP}", 1))
        elif statement["kind"] == "commit" and statement["item"] == "loads":
            if statement["loop"] and copied_bytes > 0:
                cycles = math.ceil(_CYCLES_A_KIB * copied_bytes / 1024)
                edited.add(statement, f"simt copies cost {cycles} cycles latency {_STEP_CYCLES} cycles")
            copied_bytes = 0
    agents = edited.rows.agents[1:]
    for agent in agents:
        own = agent["registers"] or registers
        threads = agent["threads"] * (_GROUP if agent["name"] in joined else 1)
        if not edited.is_left_out(agent):
            edited.replace(agent, f"agent {agent['name']} of {threads} threads{f' registers {own}' if own else ''} {{")
    if results and agents:
        size = results * _WARP * (_GROUP if joined else 1)
        edited.add(agents[0], f"tensor results : global u8 ({size}) output pieces {piece}", before=True)
    return edited.text()
