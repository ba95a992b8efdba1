# SPDX-License-Identifier: Apache-2.0
"""What TTGIR does not say about a grid, found out for spad.triton: registers of a thread from machine code, and how
many blocks share a tile from the arithmetic of pointers."""

import math
import re
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


# ---- which bytes a block begins with ----------------------------------------------------------------

def _quotient(a, b):
    """arith.divsi, which rounds to 0."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_BINARY = {"addi": lambda a, b: a + b, "subi": lambda a, b: a - b, "muli": lambda a, b: a * b,
           "divsi": _quotient, "remsi": lambda a, b: a - b * _quotient(a, b), "minsi": min, "maxsi": max,
           "divui": lambda a, b: a // b, "remui": lambda a, b: a % b}
_SAME = ("tt.splat", "tt.expand_dims", "tt.broadcast", "ttg.convert_layout", "arith.extsi", "arith.extui",
         "arith.trunci", "tt.trans", "tt.reshape")
_OPERATION = re.compile(r"\s*(?:(%[\w-]+)(?::\d+)? = )?\"?([\w.]+)\"?(.*)")
_CONSTANT = re.compile(r" (?:dense<)?(-?\d+)>? : ")
_ROUNDS = re.compile(r"(%[\w-]+) = (%[\w-]+)")


def _value(word, rest, names, values, program):
    """The first element of the result of an operation: a number, or a pointer as (argument, elements); None: other."""
    if word == "arith.constant":
        number = _CONSTANT.match(rest)
        return int(number[1]) if number else None
    if word == "tt.get_program_id":
        return program if rest.split()[:1] == ["x"] else 0
    if word == "tt.make_range":
        return int(re.search(r"start = (\d+)", rest)[1])
    operands = [values.get(name) for name in names]
    if not operands or any(operand is None for operand in operands[:2]):
        return None
    if word == "tt.addptr" and isinstance(operands[0], tuple) and isinstance(operands[1], int):
        return operands[0][0], operands[0][1] + operands[1]
    if word in _SAME:
        return operands[0]
    if word.startswith("arith.") and word[6:] in _BINARY and all(isinstance(o, int) for o in operands[:2]):
        return _BINARY[word[6:]](*operands[:2]) if operands[1] != 0 or word[6:9] not in ("div", "rem") else None
    return None


def _operations(text):
    """(result, word, rest, names) of each line of the text that is an operation; its function as ("", "tt.func", line, ())."""
    found = []
    for line in text.split("\n"):
        match = _OPERATION.match(line)
        if "tt.func" in line:
            found.append(("", "tt.func", line, ()))
        elif match is not None:
            found.append((*match.groups(), re.findall(r"%[\w-]+", match[3])))
    return found


def _first_loads(operations, sizes, program, moves=None):
    """{argument: where its first load begins} of one block. Into moves: {argument: elements from there to its next load}."""
    values, found, rounds = {}, {}, []
    for result, word, rest, names in operations:
        if word == "tt.func":
            for name, kind in re.findall(r"%(\w+): (\S+)", rest):
                pointer = kind.startswith(("!tt.ptr", "!tt.tensordesc"))
                values["%" + name] = (name, 0) if pointer else int(sizes.get(name, 4096))
        elif word == "scf.for":
            rounds = [(inner, values.get(outer)) for inner, outer in _ROUNDS.findall(rest)]
            values.update(rounds)
        elif word == "scf.yield" and moves is not None:
            for (_, before), after in zip(rounds[1:], map(values.get, names)):
                if isinstance(before, tuple) and isinstance(after, tuple) and before[0] == after[0]:
                    moves.setdefault(before[0], after[1] - before[1])
        elif word in ("tt.load", "ttg.async_copy_global_to_local") and isinstance(values.get(names[0]), tuple):
            name, place = values[names[0]]
            if moves is not None and isinstance(found.get(name), int) and place != found[name]:
                moves.setdefault(name, place - found[name])
            found.setdefault(name, place)
        elif word == "ttng.async_tma_copy_global_to_local" and isinstance(values.get(names[0]), tuple):
            corner = re.search(r"\[([^\]]*)\]", rest)
            at = tuple(values.get(name) for name in re.findall(r"%[\w-]+", corner[1])) if corner else (None,)
            if None not in at:
                found.setdefault(values[names[0]][0], at)
        elif result is not None:
            values[result] = _value(word, rest, names, values, program)
    return found


def places_of(text, sizes, blocks):
    """{argument: where each of the first blocks of a grid begins to load}. Arguments whose places are no arithmetic of sizes
    and of the program are left out."""
    operations = _operations(text)
    loads = [_first_loads(operations, sizes, program) for program in range(blocks)]
    places = {name: [load.get(name) for load in loads] for name in (loads[0] if loads else ())}
    return {name: rows for name, rows in places.items() if None not in rows}


def moves_of(text, sizes):
    """{argument: how many elements after a tile the next one of a block begins}, of what is loaded by pointers."""
    moves = {}
    _first_loads(_operations(text), sizes, 0, moves)
    return moves


def reuse(places, blocks):
    """{argument: (reused, near)} among the first blocks of a grid, one on each unit: how many use the same tile, and how
    many of them are neighbours."""
    return {name: _grid_text.sharing(rows[:blocks]) for name, rows in places.items()}


# ---- a kernel of a grid ------------------------------------------------------------------------------

_GLOBAL = re.compile(r"tensor (\w+) : global (\w+) \(([\d, ]*)\) (input|output|persistent)")
_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


def _clauses(match, shares, cached, pieces, rows, moves):
    """Clauses of a tensor off chip: reused, near, cached and pieces; tiles in a row go into rows. Of narrow tiles the memory
    brings the next one where that is the next in the row, and not in the rows below."""
    name, kind, dims, role = match.groups()
    width = int(dims.split(",")[-1] or 0) * _BYTES.get(kind, 1)
    hits = cached.get(name)
    if hits is None and role == "input" and "," in dims and moves.get(name, 0) * _BYTES.get(kind, 1) in (0, width):
        hits = _grid_text.cached_of(width)
    if hits is not None and hits[0] > 0:
        rows[name] = hits
    return _grid_text.tensor_line(name, kind, dims, role, shares.get(name, (1, 1)), rows.get(name), name in pieces)


_TENSOR = re.compile(r"\s*tensor (\w+) : (\w+) (\w+) (?:\[[^\]]*\] )?\(([\d, ]+)\)")
_CHECKED = re.compile(r" spread \w+|^\s*sync meet by 1\n", re.MULTILINE)  # what threads access, and where they meet: not for time
_PRODUCT = re.compile(r"(\s*)(wgmma \w+) reads (\w+)(\[[^\]]*\])?, (\w+)(\[[^\]]*\])? (writes|updates) (\w+) (in \w+.*)")
_THREAD_LOAD = re.compile(r"(\s*)simt (load\w* reads \w+(?:\[[^\]]*\])?) writes \w+( from \d+)?$")
_THREAD_STORE = re.compile(r"\s*simt store\w* writes (\w+(?:\[[^\]]*\])?)(?: from \d+)?$")
_SHARED = re.compile(r"\s*tensor \w+ : shared ")
_GLOBAL_STORE = re.compile(r"(\s*simt store\w*) (adds|writes) (\w+_ptr)(?=$| from)")
# Of threads that copy, in a step (examples/cuda/steps.cu): addresses, barriers, the issue of products; and the issue of
# copies, 128 bytes a cycle.
_STEP_CYCLES, _CYCLES_A_KIB = 140, 8
_ROWS, _DEPTH = 64, 32  # of a wgmma: rows of its first factor, bytes of such a row


def _factors(names, result, shapes):
    """(whether the first operand is A, whether the first dimension of B is the depth) of a product A (m, k) times B (k, n) or (n, k),
    from the shapes of its operands in either order; a factor in registers is A. None: they are other shapes."""
    if any(len(shapes.get(name, ((), ""))[0]) != 2 for name in (*names, result)):
        return None
    rows, columns = shapes[result][0]
    for a, b in sorted(((0, 1), (1, 0)), key=lambda pair: shapes[names[pair[1]]][2] == "registers"):
        height, depth = shapes[names[a]][0]
        if height == rows and shapes[names[b]][0] in ((depth, columns), (columns, depth)):
            return a == 0, shapes[names[b]][0] == (depth, columns)
    return None


def _instructions(line, shapes):
    """The instructions of a product of two tiles, one line each: threads wait where too many are under way. shapes: {tensor:
    (dimensions, element type, memory)}."""
    match = _PRODUCT.match(line)
    if match is None:
        return [line]
    space, word, left, left_at, right, right_at, verb, result, rest = match.groups()
    factors = _factors((left, right), result, shapes)
    if factors is None:
        return [line]
    in_order, deep_rows = factors
    (rows, depth), kind, _ = shapes[left if in_order else right]
    rows_each, each = min(_ROWS, rows), max(_DEPTH // _BYTES.get(kind, 1), 1)
    lines = []
    for k in range(0, depth, each):
        part = f"{k}..{min(k + each, depth)}"
        for m in range(0, rows, rows_each):
            block = f"{m}..{min(m + rows_each, rows)}"
            parts = f"({block}, {part})", f"({part}, ..)" if deep_rows else f"(.., {part})"
            of_left, of_right = parts if in_order else parts[::-1]
            lines.append(f"{space}{word} reads {left}{left_at or ''}{of_left}, {right}{right_at or ''}{of_right} "
                         f"{verb} {result}({block}, ..) {rest}")
    return lines


def _through_registers(lines):
    """Loads into registers that go on to shared memory do not wait for each other: those in a row are issued first, and
    what follows waits for all. Tensors that are declared among them are declared before. True where there are some."""
    out, at, found = [], 0, False
    parts = _THREAD_LOAD, _THREAD_STORE, _SHARED
    while at < len(lines):
        end = at
        while end < len(lines) and any(part.match(lines[end]) for part in parts):
            end += 1
        loads = [match for match in map(_THREAD_LOAD.match, lines[at:end]) if match]
        stores = [match for match in map(_THREAD_STORE.match, lines[at:end]) if match]
        if not loads or len(loads) != len(stores):
            end = max(end, at + 1)
            out += lines[at:end]
        else:
            found = True
            out += filter(_SHARED.match, lines[at:end])
            out += [f"{load[1]}ldg {load[2]} writes {store[1]} in lds{load[3] or ''}" for load, store in zip(loads, stores)]
            out += [f"{loads[0][1]}commit lds", f"{loads[0][1]}wait lds pending 0"]
        at = end
    return out, found


_COPY = re.compile(r"(\s*\w+ load\w* reads )(\w+)( writes \w+)(?:\[([^\]]*)\])?( .*)?$")
_RING = re.compile(r"(.*) % \d+$")


def _numbered(lines, rows):
    """Loads of a tensor of which some tiles are in the cache say which tile it is, from the stage that it goes to or
    from the loop around it."""
    out = []
    for line, loop in _grid_text.with_loops(lines):
        match = _COPY.match(line)
        if match and match[2] in rows:
            ring = _RING.match(match[4] or "")
            number = ring[1] if ring else match[4] or loop or "0"
            stage = f"[{match[4]}]" if match[4] else ""
            line = f"{match[1]}{match[2]}[({number}) % {rows[match[2]][1]}]{match[3]}{stage}{match[5] or ''}"
        elif not line.startswith("tensor "):
            for name in rows:
                line = re.sub(rf"\b{name}\b", f"{name}[0]", line)
        out.append(line)
    return out


_WAIT = re.compile(r"(\s*)wait loads pending")
_BY_THREADS = re.compile(r"\s*cp load\w* reads .* writes (\w+)")


def _with_threads(lines, shapes):
    """Time of threads in loops that copy by cp.async: what they need for a step, where they have waited for copies, and the issue of
    these."""
    out, copies = [], 0
    for line, loop in _grid_text.with_loops(lines):
        out.append(line)
        wait, copy = _WAIT.match(line), _BY_THREADS.match(line)
        if loop and wait:
            out.append(f"{wait[1]}simt step cost 1 cycles latency {_STEP_CYCLES} cycles")
        if loop and copy and copy[1] in shapes:
            dims, kind, _ = shapes[copy[1]]
            copies += math.prod(dims) * _BYTES.get(kind, 1)
        if re.match(r"\s*commit loads$", line) and copies > 0:
            cycles = math.ceil(_CYCLES_A_KIB * copies / 1024)
            out.append(f"{line[:len(line) - len(line.lstrip())]}simt copies cost {cycles} cycles latency 1 cycles")
            copies = 0
    return out


def text_of(text, warps, registers, shares, cached, moves):
    """The text of a kernel from TTGIR with what was found out about its grid, and with what machine code makes of
    products and of loads. moves: of moves_of(). Where it has no agents and the registers of a thread are known, the program becomes one, so
    that they limit how many blocks a unit has."""
    rows = {}
    text = _CHECKED.sub("", text)
    pieces = set(re.findall(r"^\s*(?:cp|simt) load\w* reads (\w+)", text, re.MULTILINE))
    lines = [_GLOBAL.sub(lambda match: _clauses(match, shares, cached, pieces, rows, moves), line) for line in text.split("\n")]
    stored = [match for match in map(_GLOBAL_STORE.match, lines) if match]
    tensors = [match.groups() for match in map(_TENSOR.match, lines) if match]
    shapes = {name: (tuple(map(int, dims.split(","))), kind, memory) for name, memory, kind, dims in tensors}
    lines = [_GLOBAL_STORE.sub(r"\1 reads \3_r \2 \3", line) for line in lines]
    lines = [part for line in _numbered(lines, rows) for part in _instructions(line, shapes)]
    lines, found = _through_registers(lines)
    lines = _with_threads(lines, shapes)
    words = ("kernel", "assume", "uncounted", "param", "unit", "group", "mbarrier", "barrier", "counter", "source", "tensor", "grid", "threads", "region", "")
    body = next((i for i, line in enumerate(lines) if line.split(" ")[0] not in words), len(lines))
    if found:
        at = next((i for i, line in enumerate(lines) if line.startswith(("unit ", "group ", "tensor "))), body)
        lines[at:at] = ["unit ldg on simt free", "group lds"]
        body += 2
    for name in sorted({match[3] for match in stored}):
        dims, kind, _ = shapes[name]
        lines.insert(body, f"tensor {name}_r : registers {kind} ({', '.join(map(str, dims))}) input")
        body += 1
    if registers is None or any(line.startswith("agent ") for line in lines):
        return "\n".join(lines)
    agent = [f"agent warps of {32 * warps} threads registers {registers} {{", *lines[body:], "}"]
    return "\n".join(lines[:body] + agent) + "\n"
