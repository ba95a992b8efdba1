# SPDX-License-Identifier: Apache-2.0
"""What TTGIR does not say about a grid, for spad.triton: registers of a thread, and what machine code makes of a block."""

import math
import struct

from .. import _grid_text

_REGISTERS = 0x2F  # EIATTR_REGCOUNT of .nv.info: symbol, registers


def registers_of(cubin):
    """Registers of a thread of the kernel in a cubin (ELF), or None."""
    try:
        (table,) = struct.unpack_from("<Q", cubin, 0x28)
        size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
        sections = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
        for section in sections:
            start = sections[names][4] + section[0]
            if cubin[start:start + 9] != b".nv.info\0":
                continue
            at, end = section[4], section[4] + section[5]
            while at + 4 <= end:
                form, attribute, length = struct.unpack_from("<BBH", cubin, at)
                if form == 4 and attribute == _REGISTERS:
                    return struct.unpack_from("<II", cubin, at + 4)[1] or None
                at += 4 + (length if form == 4 else 0)
    except (struct.error, IndexError):
        pass
    return None


# ---- a kernel of a grid ------------------------------------------------------------------------------

# Of threads that copy, in a step (examples/cuda/steps.cu): addresses, barriers, the issue of products; and the issue of
# copies, 128 bytes a cycle.
_STEP_CYCLES, _CYCLES_A_KIB = 140, 8
_ROWS, _DEPTH = 64, 32  # of a wgmma: rows of its first factor, bytes of such a row
_WARP = 32


def _runs_on(statement, unit=None):
    """Whether it is an operation of a unit, or of the threads themselves."""
    return statement["kind"] == "operation" and statement["unit"] == unit and (unit or statement["engine"] == "simt")


def _kinds(statement):
    return [access["kind"] for access in statement.get("accesses", ())]


def _is_load(statement):
    return statement["kind"] == "operation" and statement["item"].startswith("load") and _kinds(statement)[:1] == ["read"]


def _is_thread_load(statement):
    """A load of threads into registers."""
    return (_is_load(statement) and _runs_on(statement) and _kinds(statement) == ["read", "write"]
            and not any(access["ranges"] for access in statement["accesses"]) and not statement["accesses"][1]["index"])


def _is_thread_store(statement, edited):
    """A store of threads from registers to memory on chip."""
    return (_runs_on(statement) and statement["item"].startswith("store") and _kinds(statement) == ["write"]
            and not statement["accesses"][0]["ranges"] and not edited.is_off_chip(statement["accesses"][0]["tensor"]))


def _rows_of(edited, cached, moves):
    """{tensor: (tiles in the cache, tiles in a row)}. Of narrow tiles the memory brings the next one where that is the next
    in the row, and not in the rows below."""
    rows = {}
    for name, tensor in edited.tensors.items():
        if not edited.is_off_chip(name):
            continue
        width, hits = tensor["shape"][-1] * _grid_text.element_bytes(tensor), cached.get(name)
        is_input = tensor["input"] and not tensor["output"] and len(tensor["shape"]) > 1
        if hits is None and is_input and moves.get(name, 0) * _grid_text.element_bytes(tensor) in (0, width):
            hits = _grid_text.cached_of(width)
        if hits is not None and hits[0] > 0:
            rows[name] = hits
    return rows


def _factors(tensors, names, result):
    """(whether the first operand is A, whether the first dimension of B is the depth) of a product A (m, k) times B (k, n) or (n, k),
    from the shapes of its operands in either order; a factor in registers is A. None: they are other shapes."""
    shapes = {name: tensors[name]["shape"] for name in (*names, result)}
    if any(len(shape) != 2 for shape in shapes.values()):
        return None
    rows, columns = shapes[result]
    for a, b in sorted(((0, 1), (1, 0)), key=lambda pair: tensors[names[pair[1]]]["space"] == "registers"):
        height, depth = shapes[names[a]]
        if height == rows and shapes[names[b]] in ((depth, columns), (columns, depth)):
            return a == 0, shapes[names[b]] == (depth, columns)
    return None


def _instructions(edited, statement, texts):
    """The instructions of a product of two tiles, one line each: threads wait where too many are under way."""
    whole = [edited.with_accesses(statement, texts)]
    found = statement["accesses"]
    if not _runs_on(statement, "wgmma") or _kinds(statement) not in (["read", "read", "write"], ["read", "read", "update"]):
        return whole
    names = [access["tensor"] for access in found]
    factors = _factors(edited.tensors, names[:2], names[2])
    if factors is None or statement["group"] is None or any(access["ranges"] for access in found):
        return whole
    in_order, deep_rows = factors
    first = edited.tensors[names[0 if in_order else 1]]
    (rows, depth), size = first["shape"], _grid_text.element_bytes(first)
    rows_each, each = min(_ROWS, rows), max(_DEPTH // max(size, 1), 1)
    lines = []
    for k in range(0, depth, each):
        part = f"{k}..{min(k + each, depth)}"
        for m in range(0, rows, rows_each):
            block = f"{m}..{min(m + rows_each, rows)}"
            parts = [(block, part), (part, "..") if deep_rows else ("..", part)]
            ranges = [*(parts if in_order else reversed(parts)), (block, "..")]
            lines.append(edited.with_accesses(statement, {
                n: _grid_text.access_text(access, None, ranges[n]) for n, access in enumerate(found)}))
    return lines


def _access_texts(edited, statement, rows):
    """The accesses of an operation that change: which threads make them does not count for the time, and of tensors whose
    tiles are partly in the cache it is said which tile it is."""
    texts = {}
    for number, access in enumerate(statement["accesses"]):
        hits = rows.get(access["tensor"])
        if hits is None:
            index = None
        elif number == 0 and _is_load(statement) and _kinds(statement)[1:2] == ["write"]:
            index = (f"({_grid_text.tile_number(statement)}) % {hits[1]}",)
        else:
            index = ("0",)
        if index or access["spread"]:
            texts[number] = _grid_text.access_text(access, index)
    return texts


def _through_registers(edited, rows):
    """Loads into registers that go on to shared memory do not wait for each other: those in a row are issued first, and
    what follows waits for all. Tensors that are declared among them are declared before. True where there are some."""
    found, run = False, []
    for statement in [*edited.statements, None]:
        if statement is not None and _meets_alone(edited, statement):
            continue
        shared = statement is not None and statement["kind"] == "tensor" and edited.tensors[statement["item"]]["space"] == "shared"
        if statement is not None and (shared or _is_thread_load(statement) or _is_thread_store(statement, edited)):
            if run and run[-1]["parent"] != statement["parent"]:
                found = _issue_first(edited, run, rows) or found
                run = []
            run.append(statement)
        else:
            found = _issue_first(edited, run, rows) or found
            run = []
    return found


def _issue_first(edited, run, rows):
    loads = [statement for statement in run if _is_thread_load(statement)]
    stores = [statement for statement in run if _is_thread_store(statement, edited)]
    if not loads or len(loads) != len(stores):
        return False
    for statement in run:
        edited.replace(statement)
        if statement["kind"] == "tensor":
            edited.add(run[0], edited.line(statement).strip(), before=True)
    for load, store in zip(loads, stores):
        read = _access_texts(edited, load, rows).get(0, _grid_text.access_text(load["accesses"][0]))
        source = "" if load["source"] is None else f" from {load['source']}"
        edited.add(run[-1], f"ldg {load['item']} reads {read} writes {_grid_text.access_text(store['accesses'][0])} in lds{source}")
    edited.add(run[-1], "commit lds")
    edited.add(run[-1], "wait lds pending 0")
    return True


def _with_threads(edited):
    """Time of threads in loops that copy by cp.async: what they need for a step, where they have waited for copies, and the issue of
    these."""
    copies = 0
    for statement in edited.statements:
        if statement["loop"] is not None and statement["kind"] == "wait" and statement["item"] == "loads":
            edited.add(statement, f"simt step cost 1 cycles latency {_STEP_CYCLES} cycles")
        if statement["loop"] is not None and _runs_on(statement, "cp") and _is_load(statement) and _kinds(statement)[1:] == ["write"]:
            tensor = edited.tensors[statement["accesses"][1]["tensor"]]
            copies += tensor["bytes"] * tensor["lanes"]
        if statement["kind"] == "commit" and statement["item"] == "loads" and copies > 0:
            edited.add(statement, f"simt copies cost {math.ceil(_CYCLES_A_KIB * copies / 1024)} cycles latency 1 cycles")
            copies = 0


def _meets_alone(edited, statement):
    """Whether it is a barrier of the warps of one program: where threads meet is not for time."""
    return statement["kind"] == "sync" and statement["amount"] in (None, "1") and edited.barriers[statement["item"]] == 1


def _store_from_registers(edited, statement):
    """What threads store to memory off chip comes from registers: the name of those, or None."""
    if not _runs_on(statement) or not statement["item"].startswith("store") or _kinds(statement) not in (["write"], ["add"]):
        return None
    access = statement["accesses"][0]
    if not edited.is_off_chip(access["tensor"]) or access["index"] or access["ranges"]:
        return None
    return access["tensor"] + "_r"


def text_of(kernel, warps, registers, shares, cached, moves):
    """The text of a kernel from TTGIR with what was found out about its grid, and with what machine code makes of
    products and of loads. moves: elements from a tile to the next one of a block. Where it has no agents and the registers of a thread are known, the program becomes one, so
    that they limit how many blocks a unit has."""
    edited = _grid_text.Edited(kernel)
    rows, tiles = _rows_of(edited, cached, moves), {}
    pieces = {statement["accesses"][0]["tensor"] for statement in edited.statements
              if _is_load(statement) and (_runs_on(statement) or _runs_on(statement, "cp"))}
    for name, tensor in edited.tensors.items():
        if edited.is_off_chip(name):
            edited.replace(tensor, _grid_text.tensor_line(tensor, shares.get(name, (1, 1)), rows.get(name), name in pieces))
    for statement in edited.statements:
        if _meets_alone(edited, statement):
            edited.replace(statement)
        if statement["kind"] != "operation":
            continue
        texts, stored = _access_texts(edited, statement, rows), _store_from_registers(edited, statement)
        if stored is not None:
            access = statement["accesses"][0]
            tiles[stored] = edited.tensors[access["tensor"]]
            verb = "adds" if access["kind"] == "add" else "writes"
            source = "" if statement["source"] is None else f" from {statement['source']}"
            whole = texts.get(0, access["tensor"])
            edited.replace(statement, f"simt {statement['item']} reads {stored} {verb} {whole}{source}")
        elif texts or _runs_on(statement, "wgmma"):
            edited.replace(statement, *_instructions(edited, statement, texts))
    found = _through_registers(edited, rows)
    _with_threads(edited)
    return _as_agent(edited, tiles, found, warps, registers)


def _as_agent(edited, tiles, found, warps, registers):
    """The text, with a unit for loads through registers and with the registers that are stored; its program is an agent."""
    declared = [*edited.rows.units, *edited.rows.syncs, *edited.tensors.values()]
    body = next((statement for statement in edited.statements if statement["kind"] != "tensor"), None)
    if found:
        first = min(declared, key=lambda row: row["line"])
        edited.add(first, "unit ldg on simt free", before=True)
        edited.add(first, "group lds", before=True)
    if body is None:
        return edited.text()
    for name, tensor in sorted(tiles.items()):
        edited.add(body, f"tensor {name} : registers {tensor['dtype']} ({', '.join(map(str, tensor['shape']))}) input", before=True)
    if registers is None or len(edited.rows.agents) > 1:
        return edited.text()
    edited.add(body, f"agent warps of {_WARP * warps} threads registers {registers} {{", before=True)
    return edited.text().rstrip("\n") + "\n}\n"
