# SPDX-License-Identifier: Apache-2.0
"""The body of a TileLang kernel as Python that can be run once.

TileLang reads the source of a kernel, so `if` may test a variable of the kernel, a local name may
be an annotated tensor, and an assignment to an alloc_var writes it. Python does none of that when
the function runs. So the source is rewritten before:

    if test: A else: B    ->  for side in branches(test): if side: A else: B
    a and b, not a        ->  both(lambda: a, lambda: b), negated(a), where an if tests it
    A: T.Tensor(shape)    ->  A = tensor("A", T.Tensor(shape)), where A is a parameter
    v = x                 ->  store(v, x), where v is an alloc_var; and v is read as read(v)
    for i in loop: A      ->  for i in turns(loop, names): A, where A changes names for its next turn

A test that is an ordinary truth value runs one side, as always. One that is a condition of the
kernel runs both, each recorded as its side of the branch. What cannot be said so (a name that is
assigned on one side and used after it; break, continue or return on a side; a Python variable
that one turn of a loop of the kernel leaves to the next) is refused.
"""

import ast
import inspect
import textwrap
import types

HELPERS = ("branches", "both", "negated", "tensor", "store", "read", "turns")
_PREFIX = "_spad_"


def _call(helper, *args):
    return ast.Call(func=ast.Name(_PREFIX + helper, ast.Load()), args=list(args), keywords=[])


def _thunk(node):
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(args=nothing, body=node)


def _stored(nodes):
    """The names that statements assign, not counting those of loops and with blocks."""
    found = set()
    for top in nodes:
        for node in ast.walk(top):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    found |= {n.id for n in ast.walk(target)
                              if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return found


def _loaded(node, skip=()):
    """The names that are read in a tree, but for some subtrees."""
    if node in skip:
        return set()
    found = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else set()
    for child in ast.iter_child_nodes(node):
        found |= _loaded(child, skip)
    return found


def _leaves(nodes):
    """Does a side leave the loop or the function?"""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Break, ast.Continue, ast.Return)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            pending += ast.iter_child_nodes(node)
    return False


def _names(node, kind):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, kind)}


def _read_early(body, known, early):
    """Adds to early the names that statements read before they are known to be assigned, and to
    known those that they assign for sure: not on one side of an if, nor in a loop of no turns."""
    for node in body:
        if isinstance(node, ast.If):
            early |= _names(node.test, ast.Load) - known
            sides = [set(known), set(known)]
            _read_early(node.body, sides[0], early)
            _read_early(node.orelse, sides[1], early)
            known |= sides[0] & sides[1]
        elif isinstance(node, (ast.For, ast.While)):
            head = node.iter if isinstance(node, ast.For) else node.test
            early |= _names(head, ast.Load) - known
            inside = known | (_names(node.target, ast.Store) if isinstance(node, ast.For) else set())
            _read_early(node.body, inside, early)
        elif isinstance(node, ast.With):
            for item in node.items:
                early |= _names(item, ast.Load) - known
                known |= _names(item, ast.Store)
            _read_early(node.body, known, early)
        else:
            early |= _names(node, ast.Load) - known
            if isinstance(node, ast.AugAssign):
                early |= _names(node.target, ast.Store) - known
            known |= _names(node, ast.Store)


def _carried(body):
    """The names that statements assign, and read before: each turn has those of the turn before."""
    early = set()
    _read_early(body, set(), early)
    return early & _stored(body)


def _is_alloc_var(node):
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "alloc_var"


class _Rewriter(ast.NodeTransformer):
    def __init__(self, function):
        self.function, self.sides = function, 0
        self.parameters = {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)}
        self.vars = {node.targets[0].id for node in ast.walk(function)
                     if isinstance(node, ast.Assign) and _is_alloc_var(node.value)
                     and isinstance(node.targets[0], ast.Name)}

    def _test(self, node):
        """A test, with and, or and not as calls."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            return _call("both", *(_thunk(self._test(v)) for v in node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return _call("negated", self._test(node.operand))
        if isinstance(node, ast.Compare) and len(node.ops) > 1:  # a < b < c
            parts, left = [], node.left
            for op, right in zip(node.ops, node.comparators):
                parts.append(_thunk(self.visit(ast.Compare(left, [op], [right]))))
                left = right
            return _call("both", *parts)
        return self.visit(node)

    def visit_If(self, node):
        if _leaves([*node.body, *node.orelse]):
            return self.generic_visit(node)
        self.sides += 1
        side = f"{_PREFIX}side{self.sides}"
        names = sorted((_stored([*node.body, *node.orelse]) - self.vars)
                       & _loaded(self.function, {node}))
        test = self._test(node.test)
        body = [self.visit(n) for n in node.body]
        orelse = [self.visit(n) for n in node.orelse]
        chosen = ast.If(test=ast.Name(side, ast.Load()), body=body, orelse=orelse)
        return ast.For(target=ast.Name(side, ast.Store()),
                       iter=_call("branches", test, ast.Constant(bool(orelse)),
                                  ast.Constant(", ".join(names))),
                       body=[chosen], orelse=[], type_comment=None)

    def visit_For(self, node):
        names = sorted(_carried(node.body) - self.vars)
        self.generic_visit(node)
        if names:
            node.iter = _call("turns", node.iter, ast.Constant(", ".join(names)))
        return node

    def visit_AnnAssign(self, node):
        self.generic_visit(node)
        if node.value is None and getattr(node.target, "id", None) in self.parameters:
            name = node.target.id
            return ast.Assign([node.target], _call("tensor", ast.Constant(name), node.annotation))
        return node

    def visit_Assign(self, node):
        if _is_alloc_var(node.value):
            return node
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in self.vars:
            return ast.Expr(_call("store", ast.Name(target.id, ast.Load()), node.value))
        return node

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and node.target.id in self.vars:
            name = node.target.id
            value = ast.BinOp(_call("read", ast.Name(name, ast.Load())), node.op, node.value)
            return ast.Expr(_call("store", ast.Name(name, ast.Load()), value))
        return node

    def visit_Subscript(self, node):
        if isinstance(node.value, ast.Name) and node.value.id in self.vars:  # v[0] as it is
            node.slice = self.visit(node.slice)
            return node
        return self.generic_visit(node)

    def visit_Attribute(self, node):
        if isinstance(node.value, ast.Name) and node.value.id in self.vars and node.attr in ("shape", "dtype"):
            return node
        return self.generic_visit(node)

    def visit_Name(self, node):
        if node.id in self.vars and isinstance(node.ctx, ast.Load):
            return _call("read", node)
        return node


def _function_node(tree, name):
    return next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name), None)


def _code_of(code, name):
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_name == name:
                return constant
            inner = _code_of(constant, name)
            if inner is not None:
                return inner
    return None


def rewritten(func, helpers):
    """The function with its body rewritten, in the same file and lines; the function itself if its
    source cannot be read. helpers: HELPERS by name."""
    try:
        lines, first = inspect.getsourcelines(func)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return func
    node = _function_node(tree, func.__name__)
    if node is None:
        return func
    rewriter = _Rewriter(node)
    node.body = [rewriter.visit(n) for n in node.body]
    node.decorator_list, node.returns = [], None
    for argument in ast.walk(node.args):  # evaluated before, by the original
        if isinstance(argument, ast.arg):
            argument.annotation = None
    node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
    node.args.kw_defaults = [d and ast.Constant(None) for d in node.args.kw_defaults]
    given = dict(zip(func.__code__.co_freevars, func.__closure__ or ()))
    given |= {_PREFIX + name: types.CellType(helpers[name]) for name in HELPERS}
    around = ast.parse(f"def _spad_around({', '.join(given)}): pass").body[0]
    around.body = [node]
    tree.body = [around]
    ast.increment_lineno(ast.fix_missing_locations(tree), first - 1)
    code = _code_of(compile(tree, func.__code__.co_filename, "exec"), func.__name__)
    made = types.FunctionType(code, func.__globals__, func.__name__, func.__defaults__,
                              tuple(given[name] for name in code.co_freevars))
    made.__kwdefaults__ = func.__kwdefaults__
    made.__annotations__ = func.__annotations__
    return made
