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
_WARP, _GROUP = 32, 4  # threads of a warp, warps of a warpgroup
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

_SOURCES = re.compile(r"^source .*\n| from \d+$", re.MULTILINE)
_INPUT = re.compile(r"tensor (\w+) : global (\w+) \((\d+)\) input$")
_AGENT = re.compile(r"agent (\w+) of (\d+) threads( registers \d+)? \{$")
_COPY = re.compile(r"(\s*)(cpasync|tma|simt) (\w+) reads (?P<tensor>\w+) writes (.*)$")
_PRODUCT = re.compile(r"\s*wgmma \w+ .* cost \d+ cycles$")
_RESULT = re.compile(r"    simt store reads (\w+\[\d+\])$")


def without_sources(text):
    """The text of a kernel without the lines of its program."""
    return _SOURCES.sub("", text)


def _source(name, known):
    """The tensor of the tree that one of the text stands for: A_desc of A_desc_16384B."""
    word = re.sub(r"_?_\d+B$", "", name)
    return next((source for source in (word, word.rstrip("_")) if source in known), None)


def _bytes_of_blocks(kernel, known):
    """{tensor of the tree: bytes that a block copies of it}."""
    sizes = {}
    for name, bytes_ in _grid_cache.bytes_read(kernel).items():
        source = _source(name, known)
        if source is not None:
            sizes[source] = sizes.get(source, 0) + bytes_
    return sizes


def _alike(line):
    """A line without what differs between the warps of a warpgroup: which of their bytes and registers it is."""
    line = re.sub(r" writes .*?(?= in | delivers |$)", " writes", line) if "cpasync" in line else line
    return re.sub(r"\[\d+\]$|(?<=acc)\[\d+\]|\[\d+\](?= in )", "[]", line)


def _warpgroups(text):
    """The text with each four warps that do the same as one agent: each has a quarter of the tensor cores, so that a
    product takes all of them the same time. Returns it with the agents that were joined."""
    parts = re.split(r"(?m)^(?=agent warp_\d+ of 32 threads)", text)
    out, at, joined = [parts[0]], 1, 0
    while at < len(parts):
        four = parts[at:at + _GROUP]
        number = re.match(r"agent warp_(\d+)", four[0])
        bodies = {"\n".join(map(_alike, part.split("\n")[1:])) for part in four}
        if len(four) == _GROUP and int(number[1]) % _GROUP == 0 and len(bodies) == 1 and "wgmma" in four[0]:
            part = four[0].replace("of 32 threads", "of 128 threads", 1)
            part = re.sub(r"\bby 32\b", "by 128", part)
            out.append(re.sub(r"cost (\d+) cycles", lambda m: f"cost {_GROUP * int(m[1])} cycles", part))
            at, joined = at + _GROUP, joined + 1
        else:
            out.append(parts[at])
            at += 1
    return "".join(out), joined


def _widened(text, joined):
    """Tensors off chip that only joined warps read are of four times the bytes."""
    lone = "".join(re.findall(r"(?ms)^agent warp_\d+ of 32 threads.*?^}", text))

    def wider(match):
        if re.search(rf"\breads {match[1]}\b", lone):
            return match[0]
        return f"tensor {match[1]} : global {match[2]} ({_GROUP * int(match[3])}) input"

    return re.sub(_INPUT.pattern, wider, text, flags=re.MULTILINE) if joined else text


def text_of(text, tree, registers, given, latency):
    """The text of a kernel with what was found out about its grid. given: {tensor: (reused, near, cached)}."""
    text, joined = _warpgroups(text)
    text = _widened(text, joined)
    buffers = {name: facts for name, facts in tree["buffers"].items() if facts["scope"] == "global"}
    copied = set(re.findall(r"^\s*(?:cpasync|simt) \w+ reads (\w+) writes", text, re.MULTILINE))
    rows, out, copied_bytes = {}, [], 0
    each = {match[1]: int(match[3]) for match in map(_INPUT.match, text.split("\n")) if match}
    bytes_, piece = stored(tree["body"], buffers)
    for line, loop in _grid_text.with_loops(text.split("\n")):
        match = _INPUT.match(line)
        source = _source(match[1], given) if match else None
        if source is not None:
            *shared, cached = given[source]
            if cached and cached[0] > 0:
                rows[match[1]] = cached
            line = _grid_text.tensor_line(*match.groups(), "input", shared, rows.get(match[1]), match[1] in copied)
        agent = _AGENT.match(line)
        if agent and bytes_ and not any(part.startswith("tensor results") for part in out):
            out.append(f"tensor results : global u8 ({bytes_ * _WARP * (_GROUP if joined else 1)}) output pieces {piece}")
        if agent and registers is not None and not agent[3]:
            line = f"agent {agent[1]} of {agent[2]} threads registers {registers} {{"
        copy = _COPY.match(line)
        if copy and copy[4] in rows:
            line = f"{copy[1]}{copy[2]} {copy[3]} reads {copy[4]}[{loop or 0} % {rows[copy[4]][1]}] writes {copy[5]}"
        if copy and copy[2] == "cpasync":
            copied_bytes += each.get(copy["tensor"], 0)
        if re.match(r"\s*commit loads$", line):
            if loop and copied_bytes > 0:
                cycles = math.ceil(_CYCLES_A_KIB * copied_bytes / 1024)
                line += f"\n{line[:len(line) - len(line.lstrip())]}simt copies cost {cycles} cycles latency {_STEP_CYCLES} cycles"
            copied_bytes = 0
        if _PRODUCT.match(line) and latency:
            line += f" latency {latency} cycles"
        if bytes_ and _RESULT.match(line):
            line += " writes results"
        out.append(line)
    return "\n".join(out)
