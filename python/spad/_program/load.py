# SPDX-License-Identifier: Apache-2.0
"""Loads a kernel from a Python program, FILE.py:NAME or package.module:NAME, for `spad nki`, `triton`, `tilelang` and `sweep`.

A file is run on its own first: then the __init__ of its package, and what that imports, is not needed. If an import fails, it
is imported as part of its package, with the folder above the package and the root of the repository in sys.path. A file with
relative imports is imported as part of its package first. docs/programs.md describes this for users.
"""

import ast
import contextlib
import functools
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import traceback
import zlib

from .. import _spad
from .user_folder import add_folder

NAMES_MOST = 8  # of a file, in a message
_ROOT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")


class LoadError(_spad.ArgumentError):
    """A place that names no kernel, or a file that cannot be imported in any way."""


# ---- where a file belongs -------------------------------------------------------------------------


def _parents(folder):
    """The folder and all folders above it, innermost first."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _above_package(folder):
    """The folder above the outermost package around a file in `folder`: folders with an __init__.py."""
    return next(path for path in _parents(folder) if not os.path.exists(os.path.join(path, "__init__.py")))


def _repository(folder):
    """The root of the repository around a folder, or None."""
    return next((path for path in _parents(folder) if any(os.path.exists(os.path.join(path, mark)) for mark in _ROOT_MARKS)), None)


def _import_root(folder, relative):
    """The folder from which a file in `folder` is imported as part of a package, or None: it is in no package.

    That is the folder above its packages. A package without an __init__.py is taken to begin below the repository or below the
    current folder, and one with relative imports has at least the name of its folder."""
    above = _above_package(folder)
    if above != folder:
        return above
    here = os.getcwd()
    for root in (_repository(folder), here if folder.startswith(os.path.join(here, "")) else None):
        if root is not None and root != folder:
            return root
    return os.path.dirname(folder) if relative else None


def _has_relative_imports(path):
    with open(path, "rb") as file:
        source = file.read()
    try:
        return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):  # running it gives the message
        return False


# ---- attempts -------------------------------------------------------------------------------------


def _forget_neighbours(folder, known):
    """Removes modules that were found in `folder` itself since `known`: as part of a package they have other names."""
    for name in set(sys.modules) - known:
        base = os.path.join(folder, *name.split("."))
        if getattr(sys.modules[name], "__file__", None) in (base + ".py", os.path.join(base, "__init__.py")):
            del sys.modules[name]


def _run_alone(path):
    """The module of a file under a name of its own. The folder of a file in a package comes last in sys.path: a neighbour
    that is named like an installed package, such as ops/triton/, does not replace that."""
    folder, stem = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    add_folder(folder, last=_above_package(folder) != folder)
    add_folder(os.getcwd(), last=True)
    name, known = f"_spad_program_{zlib.crc32(path.encode()):08x}_{stem}", set(sys.modules)
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        _forget_neighbours(folder, known)
        raise
    return module


def _import_from(root, name, path):
    """The module of a file as part of its package."""
    own = os.path.dirname(path)
    for folder in dict.fromkeys((_repository(own) or root, root)):  # the last one comes first
        add_folder(folder)
    for folder in (own, os.getcwd()):
        add_folder(folder, last=True)
    module = importlib.import_module(name)
    found = getattr(module, "__file__", None)
    if found is None or not os.path.samefile(found, path):
        raise ImportError(f"'{name}' is '{found}', which another package of that name has")
    return module


def _attempts(path):
    """[(how, exceptions after which the next one is tried, function)] of a file."""
    folder, relative = os.path.dirname(path), _has_relative_imports(path)
    alone = "on its own", ImportError, functools.partial(_run_alone, path)
    root = _import_root(folder, relative)
    if root is None:
        return [alone]
    name = os.path.relpath(os.path.splitext(path)[0], root).replace(os.sep, ".")
    package = f"as '{name}' from '{root}'", Exception if relative else ImportError, functools.partial(_import_from, root, name, path)
    return [package, alone] if relative else [alone, package]


def _described(error):
    """file:line: what went wrong, in a line."""
    what = " ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split())
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if "importlib" not in frame.filename and frame.filename != __file__]
    return f"{frames[-1].filename}:{frames[-1].lineno}: {what}" if frames else what


@contextlib.contextmanager
def _path_kept_on_failure():
    before = list(sys.path)
    try:
        yield
    except BaseException:
        sys.path[:] = before
        raise


def _load_file(path):
    """The module of a file. The error of the only attempt is raised as it is; of several, one that names all."""
    if not os.path.isfile(path):
        raise LoadError(f"no file '{path}'")
    failures = []
    for how, passing, attempt in _attempts(os.path.abspath(path)):
        try:
            with _path_kept_on_failure():
                return attempt()
        except passing as error:
            failures.append((how, error))
        except Exception as error:
            failures.append((how, error))
            break
    if len({_described(error) for _, error in failures}) == 1:
        raise failures[0][1]
    tried = "; ".join(f"{how}: {_described(error)}" for how, error in failures)
    raise LoadError(f"'{path}' cannot be imported: {tried}") from failures[-1][1]


# ---- modules by name ------------------------------------------------------------------------------


def _is_module_name(where):
    return not where.endswith(".py") and all(part.isidentifier() for part in where.split("."))


def file_of_module(name):
    """The file of a module that is in the current folder or in sys.path, found without running any of its packages; None: there
    is none."""
    folders, spec = [os.getcwd(), *sys.path], None
    for at in range(1, name.count(".") + 2):
        spec = importlib.machinery.PathFinder.find_spec(".".join(name.split(".")[:at]), folders)
        if spec is None:
            return None
        folders = spec.submodule_search_locations or []
    return spec.origin if spec.has_location else None


def _load_named(name):
    if file_of_module(name) is None:
        raise LoadError(f"no module '{name}' in the current folder or in sys.path; a file ends with .py")
    with _path_kept_on_failure():
        add_folder(os.getcwd())
        try:
            return importlib.import_module(name)
        except Exception as error:
            raise LoadError(f"'{name}' cannot be imported: {_described(error)}") from error


# ---- kernels --------------------------------------------------------------------------------------


def split_place(place):
    """(file or module, name) of FILE.py:NAME or package.module:NAME."""
    where, colon, name = place.rpartition(":")
    if not colon or not name or not where:
        raise LoadError(f"'{place}' is not FILE.py:KERNEL or package.module:KERNEL")
    return where, name


def file_of(place):
    """The file of a place, or None."""
    where = place.rpartition(":")[0]
    return file_of_module(where) if _is_module_name(where) else where or None


def load_module(where):
    """The module FILE.py or package.module. The folders that it was found with stay in sys.path, because functions also import
    when they are called: a caller that goes on restores sys.path."""
    return _load_named(where) if _is_module_name(where) else _load_file(where)


def _listed(names):
    shown = ", ".join(names[:NAMES_MOST]) + (", ..." if len(names) > NAMES_MOST else "")
    return f"; it has {shown or 'no functions'}"


def function_at(place):
    """The function of FILE.py:NAME or package.module:NAME."""
    where, name = split_place(place)
    module = load_module(where)
    found = functools.reduce(lambda made, part: getattr(made, part, None), name.split("."), module)
    if found is None:
        own = sorted(key for key, value in vars(module).items()
                     if callable(value) and getattr(value, "__module__", None) == module.__name__)
        raise LoadError(f"'{where}' has no '{name}'" + (_spad.close_names(name, own) or _listed(own)))
    return found
