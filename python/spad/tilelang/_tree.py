# SPDX-License-Identifier: Apache-2.0
"""What TileLang lowered, as a tree of plain lists: the one form that the loader reads.

From TVM's objects (`of_prim_func`), or from a JSON file that has such a tree. Numbers are ints, variables are
strs, and everything else is a list whose first entry says what it is:

    expressions  ["+", a, b], ["<", a, b], ["load", buffer, index], ["ramp", base, stride, lanes], ["s", text],
                 ["f"] (a number that is no whole one), ["call", name, ...], ["select", c, a, b]
    statements   ["for", var, begin, extent, "serial", "unroll", "pipelined" ..., body], ["if", c, body, other], ["store", buffer, index, value],
                 ["do", expression], ["let", var, value], ["attr", key, value, body], ["while", c, body]

A body is a list of statements. TVM has no classes for these in a package that is always there, so nodes are told
apart by the names of their classes.
"""

import linecache

from .. import _spad
from . import _jit

_BINARY = {"Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "FloorMod": "%",
           "Min": "min", "Max": "max", "EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=",
           "And": "and", "Or": "or"}
_BITS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "shift_left": "<<", "shift_right": ">>"}
_KINDS = {0: "serial", 1: "parallel", 2: "vectorized", 3: "unroll", 4: "thread"}

_PAIR = "_2cta"  # after the name of a call that is one for two blocks of a cluster

FORMAT = 1  # of the tree; a file with another one is refused


class Placed(str):
    """The first entry of a statement, with the number of its line among the sources of the tree."""

    __slots__ = ("place",)

    def __new__(cls, text, place):
        made = super().__new__(cls, text)
        made.place = place
        return made


WHAT = ("spad.tilelang.load takes a prim_func of TileLang, a function of tilelang.jit with its arguments, a kernel that "
        "tilelang.jit or tilelang.compile made, or a tree of it (dict, or path of a .json file)")


class _Names:
    """Names for TVM's variables, which may share one: the second `i` is `i_1`."""

    def __init__(self):
        self.of = {}
        self.used = {}

    def name(self, var):
        if var not in self.of:
            base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in var.name) or "v"
            base = base if not base[0].isdigit() else "v" + base
            count = self.used.get(base, 0)
            self.used[base] = count + 1
            self.of[var] = base if not count else f"{base}_{count}"
        return self.of[var]


def _dtype_bits(dtype):
    """Bits of an element with all its vector lanes."""
    text = str(dtype)
    lanes = 1
    if "unpacked" in text:
        return 8  # float4_e2m1_unpacked: 4 bits of 8
    base, cross, count = text.rpartition("x")
    if cross and count.isdigit() and base and base[-1].isdigit():
        text, lanes = base, int(count)
    if text in ("bool", "handle", ""):
        return {"bool": 8, "handle": 64, "": 64}[text] * lanes
    try:
        return _spad.dtype_bits(text) * lanes
    except _spad.Error:
        digits = "".join(c for c in text.partition("_")[0] if c.isdigit())
        return int(digits or 32) * lanes


def _flag(annotations, name):
    """Whether a call has an annotation that is not 0."""
    value = annotations.get(name) if annotations else None
    return bool(int(getattr(value, "value", value))) if value is not None else False


class _Dump:
    """One pass over a function."""

    def __init__(self, uses=()):
        self.names = _Names()
        self.uses = uses
        self.buffers = {}
        self.pointers = {}
        self.threads = {}
        self.swizzle = None
        self.sources = {}  # (file, line): number

    # ---- expressions ------------------------------------------------------------------------

    def buffer(self, buffer):
        """The name of a buffer: that of the variable of its data."""
        name = self.names.name(buffer.data)
        if name not in self.buffers:
            self.buffers[name] = {"dtype": str(buffer.dtype), "scope": str(buffer.scope()), "alloc": False}
        elif self.buffers[name]["scope"].startswith("local") and _dtype_bits(self.buffers[name]["dtype"]) != _dtype_bits(buffer.dtype):
            self.buffers[name]["views"] = True
        return name

    def expr(self, node):
        if node is None:
            return ["none"]
        kind = type(node).__name__
        if isinstance(node, (bool, int)):
            return int(node)
        if isinstance(node, str):
            return ["s", node]
        if isinstance(node, float):
            return ["f"]
        method = getattr(self, "_" + kind, None)
        if method is not None:
            return method(node)
        if kind in _BINARY:
            return [_BINARY[kind], self.expr(node.a), self.expr(node.b)]
        raise _spad.ArgumentError(f"TVM's {kind} in an expression is not covered by spad.tilelang.load")

    def _Div(self, node):
        return toward_zero("//", self.expr(node.a), self.expr(node.b), str(node.dtype))

    def _Mod(self, node):
        return toward_zero("%", self.expr(node.a), self.expr(node.b), str(node.dtype))

    def _IntImm(self, node):
        return int(node.value)

    def _FloatImm(self, node):
        return ["f"]

    def _StringImm(self, node):
        return ["s", str(node.value)]

    def _Var(self, node):
        return self.names.name(node)

    _SizeVar = _Var

    def _Not(self, node):
        return ["not", self.expr(node.a)]

    def _Cast(self, node):
        return ["cast", str(node.dtype), self.expr(node.value)]

    def _Select(self, node):
        return ["select", self.expr(node.condition), self.expr(node.true_value), self.expr(node.false_value)]

    def _Ramp(self, node):
        return ["ramp", self.expr(node.base), self.expr(node.stride), self.expr(node.lanes)]

    def _Broadcast(self, node):
        return ["wide", self.expr(node.value)]

    def _Shuffle(self, node):
        return ["call", "shuffle", *[self.expr(e) for e in node.vectors]]

    def _Let(self, node):
        return ["call", "let", self.names.name(node.var), self.expr(node.value), self.expr(node.body)]

    def _BufferLoad(self, node):
        return ["load", self.buffer(node.buffer), self.index(node.buffer, node.indices)]

    def _Call(self, node):
        name = getattr(node.op, "name", None) or getattr(node.op, "name_hint", None) or str(node.op)
        name = name.rsplit(".", 1)[-1]
        args = [self.expr(a) for a in node.args]
        if name in _BITS:
            return [_BITS[name], *args]
        if name == "if_then_else":
            return ["select", *args]
        if name == "type_annotation":
            return ["s", str(node.dtype)]
        if _flag(getattr(node, "annotations", None), "use_2cta"):
            name += _PAIR
        return ["call", name, *args]

    def index(self, buffer, indices):
        """One number of elements from the start of the buffer."""
        total = self.expr(indices[0])
        for extent, index in zip(list(buffer.shape)[1:], list(indices)[1:]):
            total, last = ["*", total, self.expr(extent)], self.expr(index)
            if isinstance(last, list) and last[0] == "ramp":
                total = ["ramp", ["+", total, last[1]], *last[2:]]
            else:
                total = ["+", total, last]
        return total

    # ---- statements -------------------------------------------------------------------------

    def body(self, node):
        out = []
        if node is not None:
            self.stmt(node, out)
        return out

    def stmt(self, node, out):
        kind = type(node).__name__
        method = getattr(self, "do_" + kind, None)
        if method is None:
            raise _spad.ArgumentError(f"TVM's {kind} as a statement is not covered by spad.tilelang.load")
        before = len(out)
        method(node, out)
        where = _line_of(node)
        for made in out[before:] if where else ():
            at = where if not self.uses or where[0] in self._files() else self._line_with(made)
            if at is not None and not isinstance(made[0], Placed):
                made[0] = Placed(made[0], self.source(at))

    def source(self, where):
        """The number of a line of the program."""
        return self.sources.setdefault(where, len(self.sources))

    def _files(self):
        return {where[0] for where, _ in self.uses}

    def _line_with(self, statement):
        """The one line of the program with the buffers of a statement that TileLang made for it, or None."""
        known = frozenset().union(*[names for _, names in self.uses])
        mine = {var.name for var, name in self.names.of.items() if name in _texts(statement)} & known
        lines = {where for where, names in self.uses if mine and mine <= names}
        return lines.pop() if len(lines) == 1 else None

    def do_SeqStmt(self, node, out):
        for part in node.seq:
            self.stmt(part, out)

    def do_For(self, node, out):
        kind = _KINDS.get(int(node.kind), "serial")
        if "tl_pipelined_num_stages" in (node.annotations or {}):
            kind = "pipelined"  # by software: some rounds were taken out of the loop
        out.append(["for", self.names.name(node.loop_var), self.expr(node.min), self.expr(node.extent), kind,
                    self.body(node.body)])

    def do_While(self, node, out):
        out.append(["while", self.expr(node.condition), self.body(node.body)])

    def do_IfThenElse(self, node, out):
        out.append(["if", self.expr(node.condition), self.body(node.then_case), self.body(node.else_case)])

    def do_BufferStore(self, node, out):
        out.append(["store", self.buffer(node.buffer), self.index(node.buffer, node.indices), self.expr(node.value)])

    def do_Evaluate(self, node, out):
        out.append(["do", self.expr(node.value)])

    def do_Bind(self, node, out):
        value = self.expr(node.value)
        name = self.names.name(node.var)
        if isinstance(value, list) and value[:2] == ["call", "handle_add_byte_offset"]:
            self.pointers[name] = (value[2], value[3])
            self.buffers.setdefault(name, {"dtype": "uint8", "scope": "shared.dyn", "alloc": False})
            return
        out.append(["let", name, value])

    def do_LetStmt(self, node, out):
        self.do_Bind(node, out)
        self.stmt(node.body, out)

    def do_AllocBuffer(self, node, out):
        name = self.buffer(node.buffer)
        size = 1
        for extent in node.buffer.shape:
            extent = self.expr(extent)
            size = size * extent if isinstance(extent, int) and isinstance(size, int) else None
        self.buffers[name].update(alloc=True, elements=size)
        if hasattr(node, "body"):
            self.stmt(node.body, out)

    def do_DeclBuffer(self, node, out):
        self.buffer(node.buffer)
        if hasattr(node, "body"):
            self.stmt(node.body, out)

    def do_AttrStmt(self, node, out):
        key = str(node.attr_key)
        if key == "thread_extent":
            self.threads[str(node.node.thread_tag)] = (self.names.name(node.node.var), self.expr(node.value))
            self.stmt(node.body, out)
            return
        if key == "threadblock_swizzle_pattern":
            self.swizzle = str(getattr(node.value, "value", node.value))
        if key in ("tl.async_scope", "lexical_alloc_scope", "pragma_unroll_explicit", "storage_alignment",
                   "kWarpSpecializationScope", "pragma_unroll_factor", "thread_block_swizzle", "tl.assume",
                   "threadblock_swizzle_pattern", "assume", "tirx.assume", "tir.assume"):
            self.stmt(node.body, out)
            return
        out.append(["attr", key, self.body(node.body)])

    def do_AssertStmt(self, node, out):
        if hasattr(node, "body"):
            self.stmt(node.body, out)


def _line_of(node):
    """(file, line) of the program that a statement was made from, or None; TVM's Python objects do not show it."""
    try:
        from tilelang.ir import get_stmt_span
        span = get_stmt_span(node)
    except (ImportError, TypeError, ValueError):
        return None
    return (str(span.source_name.name), int(span.line)) if span is not None else None


def _uses(function):
    """[(file, line), names of buffers] of the statements of a program, in their order."""
    from tvm.tirx import stmt_functor

    found, names = [], set()

    def visit(node):
        kind = type(node).__name__
        if kind in ("BufferLoad", "BufferStore"):
            names.add(str(node.buffer.data.name))
        if kind in ("Evaluate", "BufferStore"):
            where = _line_of(node)
            if where is not None and names:
                found.append((where, frozenset(names)))
            names.clear()

    stmt_functor.post_order_visit(function.body, visit)
    return found


def _texts(tree):
    """All names in a statement or expression, with those of buffers."""
    if isinstance(tree, str):
        return {tree}
    return set().union(*[_texts(part) for part in tree]) if isinstance(tree, list) else set()


def _places(body):
    """The number of the source of each statement, one after another, -1 where there is none."""
    found = []
    for statement in body:
        found.append(getattr(statement[0], "place", -1))
        for inner in bodies(statement):
            found += _places(inner)
    return found


def place(body, places):
    """Gives statements the sources that a tree has for them."""
    def walk(body):
        for statement in body:
            found = next(left, -1)
            if found >= 0:
                statement[0] = Placed(statement[0], found)
            for inner in bodies(statement):
                walk(inner)

    left = iter(places)
    walk(body)
    return body


# ---- quotients ------------------------------------------------------------------------------------------


def _not_negative(tree):
    """Whether an expression is at least 0 by its form: variables are numbers of threads, blocks and rounds."""
    if not isinstance(tree, list):
        return not isinstance(tree, int) or tree >= 0
    if tree[0] == "cast":
        return _not_negative(tree[2])
    return tree[0] in ("+", "*", "//", "%", "&", ">>", "min", "max", "wide") and all(_not_negative(part) for part in tree[1:])


def toward_zero(op, a, b, dtype="int32"):
    """A quotient or rest that is rounded toward 0, as TVM's Div and Mod are, by those that are rounded down."""
    if not dtype.startswith("int") or (_not_negative(a) and _not_negative(b)):
        return [op, a, b]
    if not _not_negative(b):
        return ["call", "data"]
    return ["select", ["<", a, 0], ["-", 0, [op, ["-", 0, a], b]], [op, a, b]]


# ---- trees from elsewhere -------------------------------------------------------------------------------

_ARITY = {**{op: 2 for op in (*_BINARY.values(), *_BITS.values())}, "not": 1, "select": 3, "ramp": 3, "wide": 1, "cast": 2, "load": 2,
          "s": 1, "f": 0, "none": 0}
STATEMENTS = {"for": "vee-b", "if": "ebb", "store": "vee", "do": "e", "let": "ve", "attr": "-b", "while": "eb"}
_FIELDS = {"name": str, "arch": str, "body": list, "buffers": dict, "shared": dict, "threads": list, "grid": list, "bound": dict,
           "dynamic_bytes": int}
DEPTH_MOST = 200


def bodies(statement):
    """The lists of statements in a statement, but for empty ones."""
    return [part for kind, part in zip(STATEMENTS[statement[0]], statement[1:]) if kind == "b" and part]


def validate(tree):
    """Raises an ArgumentError where a tree is not one that `of_function` could have made."""
    if tree.get("format") != FORMAT:
        raise _spad.ArgumentError(f"this is no tree of a TileLang kernel that this version reads: format {tree.get('format')!r}, not "
                                  f"{FORMAT}")
    for name, kind in _FIELDS.items():
        if not isinstance(tree.get(name), kind):
            raise _bad(f"'{name}' is missing or of another kind")
    if len(tree["threads"]) != 3 or len(tree["grid"]) != 3 or not all(isinstance(v, str) for v in tree["bound"].values()):
        raise _bad("threads, grid and bound have to name three axes")
    if any(isinstance(n, int) and not 0 < n <= 1024 for n in tree["threads"]):
        raise _bad("a block has 1 to 1024 threads")
    if not isinstance(tree.get("sizes", []), list) or not all(isinstance(n, str) and n.isidentifier() for n in tree.get("sizes", [])):
        raise _bad("sizes are a list of names")
    cluster = tree.get("cluster", [1, 1, 1])
    if not isinstance(cluster, list) or len(cluster) != 3 or not all(_is_size(n) and n <= 16 for n in cluster):
        raise _bad("a cluster has 1 to 16 blocks on each of three axes")
    for name, facts in tree["buffers"].items():
        if not isinstance(facts, dict) or not isinstance(facts.get("scope"), str) or not _is_size(facts.get("bits")):
            raise _bad(f"buffer '{name}' has no scope or size")
        if facts.get("elements") is not None and not _is_size(facts["elements"]):
            raise _bad(f"buffer '{name}' has an unknown number of elements")
    for name, facts in tree["shared"].items():
        if name not in tree["buffers"] or not isinstance(facts, dict) or not _is_size(facts.get("bytes")) or not _is_size(
                facts.get("align")) or not (facts.get("at") is None or isinstance(facts["at"], int) and facts["at"] >= 0):
            raise _bad(f"shared buffer '{name}' has no size, alignment or place")
    sources, places = tree.get("sources", []), tree.get("places", [])
    if not isinstance(sources, list) or not all(
            isinstance(s, list) and list(map(type, s)) == [str, int, str] and 0 < s[1] < 1 << 31 for s in sources):
        raise _bad("sources are a list of files, lines and their texts")
    if not isinstance(places, list) or not all(type(n) is int and -1 <= n < len(sources) for n in places):
        raise _bad("places are a list of numbers of sources")
    first = tree.get("first", {})
    if not isinstance(first, dict) or not all(type(n) is int and 0 <= n < len(sources) for n in first.values()):
        raise _bad("first uses are numbers of sources")
    _valid_body(tree["body"], 0)


def _bad(why):
    return _spad.ArgumentError(f"this is no tree of a TileLang kernel: {why}")


def _is_size(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40


def _valid_body(body, depth):
    if not isinstance(body, list) or depth > DEPTH_MOST:
        raise _bad("statements are a list, and not too deep")
    for statement in body:
        form = STATEMENTS.get(statement[0]) if isinstance(statement, list) and statement and isinstance(statement[0], str) else None
        if form is None or len(statement) != len(form) + 1:
            raise _bad(f"{str(statement)[:60]} is no statement")
        for kind, part in zip(form, statement[1:]):
            if kind == "b":
                _valid_body(part, depth + 1)
            elif kind == "e":
                _valid_expression(part, depth + 1)
            elif not isinstance(part, str) or kind == "v" and not part.isidentifier():  # names become Python's
                raise _bad(f"{str(statement)[:60]} has no name where it needs one")


def _valid_expression(tree, depth):
    if isinstance(tree, str) and tree.isidentifier() or isinstance(tree, int) and not isinstance(tree, bool):
        return
    if not isinstance(tree, list) or not tree or depth > DEPTH_MOST or not isinstance(tree[0], str):
        raise _bad(f"{str(tree)[:60]} is no expression")
    if tree[0] == "call":
        fits = len(tree) >= 2 and isinstance(tree[1], str)
    else:
        fits = _ARITY.get(tree[0]) == len(tree) - 1
    if not fits or tree[0] in ("s", "cast", "load") and not isinstance(tree[1], str):
        raise _bad(f"{str(tree)[:60]} is no expression")
    for part in tree[2:] if tree[0] in ("call", "cast", "load", "s") else tree[1:]:
        _valid_expression(part, depth + 1)


def _sizes(function):
    """{name: (bytes, elements)} of what a function allocates in shared memory, before it is merged."""
    dump = _Dump()
    dump.body(function.body)
    found = {}
    for var, name in dump.names.of.items():
        facts = dump.buffers.get(name)
        if facts and facts["alloc"] and facts["scope"] in ("shared", "shared.dyn"):
            bits = _dtype_bits(facts["dtype"])
            found[var] = {"bytes": -(-facts["elements"] * bits // 8) if facts.get("elements") else None,
                          "dtype": facts["dtype"]}
    return found


def _shared(dump, sizes, aligns):
    """{name: bytes, align, at} of the buffers in shared memory: sizes of the module before merging, offsets after it."""
    shared = {}
    by_name = {var.name: facts for var, facts in sizes.items()}
    for var, name in dump.names.of.items():
        if name not in dump.buffers or dump.buffers[name]["scope"] not in ("shared", "shared.dyn"):
            continue
        facts = sizes.get(var) or by_name.get(var.name)
        if name in dump.pointers:
            at = dump.pointers[name][1]
            if facts is None or not isinstance(at, int):
                raise _spad.ArgumentError(f"shared buffer '{name}' has no size or offset that is a number; "
                                          "spad.tilelang.load needs both")
            shared[name] = {**facts, "align": int(aligns.get(var.name, 16)), "at": at}
            dump.buffers[name]["dtype"] = facts["dtype"]
        elif dump.buffers[name]["alloc"] and not _is_arena(dump, name):
            if facts is None:
                bits = _dtype_bits(dump.buffers[name]["dtype"])
                count = dump.buffers[name].get("elements")
                facts = {"bytes": -(-count * bits // 8) if count else None, "dtype": dump.buffers[name]["dtype"]}
            if facts["bytes"] is None:
                raise _spad.ArgumentError(f"shared buffer '{name}' has a size that is no number")
            shared[name] = {**facts, "align": int(aligns.get(var.name, 16)), "at": None}
    dynamic = [facts for name, facts in shared.items() if dump.buffers[name]["scope"] == "shared.dyn"]
    if len(dynamic) == 1 and dynamic[0]["at"] is None:
        dynamic[0]["at"] = 0  # one alone is not merged: it is where dynamic memory starts
    return shared


def _is_arena(dump, name):
    return any(base == name for base, _ in dump.pointers.values())


def of_function(name, function, before=None, uses=()):
    """The tree of one device function; before: the same one before its shared buffers were merged; uses: the lines of the program."""
    dump = _Dump(uses)
    body = dump.body(function.body)
    attrs = function.attrs or {}
    aligns = {str(k): int(v) for k, v in dict(attrs.get("tl.smem_alignment_map", {})).items()}
    shared = _shared(dump, _sizes(before) if before is not None else {}, aligns)
    sizes = [dump.names.name(p) for p in getattr(function, "params", ()) if str(p.dtype).startswith(("int", "uint"))]
    arenas = [n for n in dump.buffers if dump.buffers[n]["alloc"] and _is_arena(dump, n)]
    dynamic = attrs.get("dyn_shared_memory_buf", None)
    for facts in dump.buffers.values():
        facts["bits"] = _dtype_bits(facts["dtype"])
        facts.setdefault("elements", None)
    extent = {tag: value for tag, (_, value) in dump.threads.items()}
    cluster = [int(n) for n in attrs.get("cluster_dims", None) or (1, 1, 1)]
    return {"format": FORMAT, "name": name, "body": body,
            "buffers": {n: f for n, f in dump.buffers.items() if n not in arenas},
            "shared": shared, "dynamic_bytes": int(dynamic) if dynamic is not None else 0,
            "threads": [extent.get("threadIdx." + a, 1) for a in "xyz"],
            "grid": [extent.get("blockIdx." + a, 1) for a in "xyz"],
            "bound": {tag: var for tag, (var, _) in dump.threads.items()},
            "hints": {name: var.name for var, name in dump.names.of.items() if name != var.name},
            **({"cluster": cluster} if cluster != [1, 1, 1] else {}),
            **({"swizzle": dump.swizzle} if dump.swizzle else {}), **({"sizes": sizes} if sizes else {}),
            **_lines(dump, body)}


def _lines(dump, body):
    """Lines of the program: those of the statements, and where each buffer in registers is used first."""
    first = {}
    for var, name in dump.names.of.items():
        used = [where for where, names in dump.uses if var.name in names]
        if used and dump.buffers.get(name, {}).get("scope", "").startswith("local"):
            first[name] = dump.source(used[0])
    return {"sources": _sources(dump), "places": _places(body), "first": first} if dump.sources else {}


def _sources(dump):
    """[file, line, text] of the lines of the program."""
    return [[file, line, " ".join(linecache.getline(file, line).split())] for file, line in dump.sources]


def lower(function, arch, pass_configs=None):
    """Lowers a prim_func of TileLang for a chip and gives its device functions, each as (name, function before
    merging, function at the end)."""
    import tilelang
    import tilelang.transform
    from tvm import transform
    from tvm.target import Target

    plain = tilelang.transform.MergeSharedMemoryAllocations
    before = {}

    def wrapped(*args, **options):
        inner = plain(*args, **options)

        @transform.module_pass(opt_level=0)
        def seen(module, context):
            before.update((var.name_hint, function) for var, function in module.functions.items())
            return inner(module)

        return seen

    target = Target({"kind": "cuda", "arch": arch})
    tilelang.transform.MergeSharedMemoryAllocations = wrapped
    try:
        with target, transform.PassContext(opt_level=3, config=dict(pass_configs or {})):
            made = _lower_only(tilelang, function, target)
    finally:
        tilelang.transform.MergeSharedMemoryAllocations = plain
    return [(var.name_hint, before.get(var.name_hint), made[var]) for var in made.functions]


def _lower_only(tilelang, function, target):
    """The device module, without source code where this TileLang has a call for it."""
    try:
        from tilelang.backend.module import create_backend_context
        from tilelang.engine.lower import lower_to_host_device_ir
    except ImportError:
        return tilelang.lower(function, target=target).device_mod
    return lower_to_host_device_ir(function, create_backend_context(target, None, "auto"))[1]


def of_prim_func(function, arch, pass_configs=None, arguments=None):
    """The trees of all device functions that a prim_func gives, or a function or a compiled kernel of tilelang.jit."""
    try:
        import tilelang
        from tvm.target import Target
    except ImportError as error:
        raise _spad.StateError(f"TileLang cannot be imported ({error}): pip install tilelang, or load a recorded "
                               "tree") from error
    with Target({"kind": "cuda", "arch": arch}):
        made, pass_configs = _jit.prim_func_of(function, arguments, pass_configs)
    if type(made).__name__ != "PrimFunc":
        name = getattr(function, "__name__", None)
        raise TypeError(WHAT + (f", not {made!r}" if made is function else f"; '{name}' gives {made!r}"))
    uses = _uses(made)
    trees = [of_function(name, after, before, uses) for name, before, after in lower(made, arch, pass_configs)]
    for tree in trees:
        tree.update(arch=arch, tilelang=tilelang.__version__)
    return trees
