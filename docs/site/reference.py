#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reference.py ROOT OUT: the reference pages of the manual's site, as MyST Markdown in the folder OUT: the C API from the
comments in include/spad, the command line from the manual pages that the command prints, and the Python API from the
docstrings of the package spad, which has to be importable.

    c.md, c/HEADER.md             a page for each header
    command.md, command/NAME.md   a page for each command
    python.md, python/MODULE.md   a page for each module
"""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

from markdown import code, directive, escape, prose

PARTS = {"core", "graph", "kernel"}  # of spad itself, which has their public names
PLUGINS = {"pytest_plugin"}  # that another program imports


def page(path, title, *parts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join([f"# {title}", *(part for part in parts if part)]) + "\n", encoding="utf-8")


def plain_text(text):
    """Text without markup, in which pages of the manual are links."""
    parts = re.split(r"docs/([\w/-]+\.md)", text)
    parts[::2] = [escape(part) for part in parts[::2]]
    parts[1::2] = [f"[](/{part})" for part in parts[1::2]]  # its title
    return "".join(parts)


def overview(out, folder, title, text, rows):
    """A page that lists the pages of a folder: (file, name, what it is about)."""
    table = "\n".join(["| | |", "|---|---|",
                       *(f"| [`{name}`]({folder}/{file}.md) | {plain_text(about)} |" for file, name, about in rows)])
    tree = directive("toctree", "", "\n".join(f"{name.removeprefix('spad/')} <{folder}/{file}>" for file, name, _ in rows), [("hidden", "")])
    page(out / f"{folder}.md", title, text, table, tree)


# ---- C -----------------------------------------------------------------------------------

COMMENT = re.compile(r"/\*.*?\*/", re.S)
SECTION = re.compile(r"/\* -{4} (.*?) -+ \*/")
GUARD = re.compile(r"^#(?:ifdef __cplusplus|ifndef SPAD_EXPERIMENTAL)\n.*?\n#endif\n|^#(?:ifndef|define) \w+_H\n|^#include [^\n]*\n",
                   re.M | re.S)


def comment_text(comment):
    """The words of a comment, without its stars."""
    lines = comment.removeprefix("/**").removeprefix("/*").removesuffix("*/").rstrip().split("\n")
    lines = [lines[0].strip(), *(re.sub(r"^ ?\* ?", "", line) for line in lines[1:])]
    return "\n".join(line if line.startswith("    ") else line.strip() for line in lines).strip("\n")


def statement_end(text, at):
    """Where the declaration that begins at `at` ends: at its semicolon, its closing brace, or the end of its line."""
    if text[at] == "#":
        return re.compile(r"(?<!\\)\n|\Z").search(text, at).end()
    depth = 0
    while at < len(text):
        if text.startswith("/*", at):
            at = text.index("*/", at) + 1
        elif text[at] in "{(":
            depth += 1
        elif text[at] in "})":
            depth -= 1
            if depth == 0 and text[at] == "}" and re.match(r"\s*\n\n", text[at + 1:]):
                return at + 1  # a function with its body
        elif text[at] == ";" and depth == 0:
            return at + 1
        at += 1
    raise ValueError("a declaration does not end")


def declarations(text):
    """("section", name) and (declaration, its comment), in the order of the header."""
    at, above = 0, ""
    while found := re.compile(r"\S").search(text, at):
        at = found.start()
        if section := SECTION.match(text, at):
            yield "section", section[1]
            at, above = section.end(), ""
        elif comment := COMMENT.match(text, at):
            at, above = comment.end(), comment_text(comment[0])
            if not re.match(r"\n[^\s/]", text[at:]):
                above = ""
        else:
            end = statement_end(text, at)
            yield text[at:end].rstrip(), above
            at, above = end, ""


def c_form(declaration):
    """The directive of a declaration, its argument, and whether its text is shown as well."""
    flat = re.sub(r"\s+", " ", COMMENT.sub("", declaration)).strip().rstrip(";")
    if flat.startswith("SPAD_API"):
        return "c:function", flat.removeprefix("SPAD_API "), False
    if found := re.match(r"#define (\w+(?:\([^)]*\))?)", flat):
        return "c:macro", found[1], True
    if found := re.match(r"(?:typedef )?(struct|enum|union) (\w+)(?: \{| \w+$|$)", flat):
        return "c:" + found[1], found[2], True
    if flat.startswith("typedef"):
        return "c:type", flat.removeprefix("typedef "), False
    if found := re.match(r"static inline (.*?\)) \{", flat):
        return "c:function", found[1], False
    return None, flat, True


def c_name(form, argument):
    if form == "c:function":
        return re.search(r"(\w+)\s*\(", argument)[1]
    if form == "c:type" and "(" in argument:
        return re.search(r"\(\*(\w+)\)|(\w+)\(", argument)[1]
    return re.findall(r"\w+", argument.partition("(")[0])[-1]


def c_page(header):
    """The name of the page of include/HEADER."""
    return "_".join(header.with_suffix("").parts[1:])


def read_header(path):
    text = path.read_text(encoding="utf-8")
    head = COMMENT.match(text)
    body = GUARD.sub("", GUARD.sub("", text[head.end():]))
    body = re.sub(r"^#endif.*\n?|^#(?:if|else|elif|undef|error).*\n", "", body, flags=re.M)
    words = comment_text(head[0]).partition("\n")[2].strip("\n")
    return words, list(declarations(body))


def c_reference(root, out):
    headers = sorted((root / "include/spad").rglob("*.h"), key=lambda path: (len(path.parts), "experimental" in path.parts, path))
    read = {path: read_header(path) for path in headers}
    known = {}  # a name: (form, the declaration that others refer to: of several the longest)
    for path, (_, items) in read.items():
        for declaration, _ in items:
            if declaration != "section":
                form, argument, _ = c_form(declaration)
                name = form and c_name(form, argument)
                if form and len(declaration) > len(known.get(name, ("", "", ""))[2]):
                    known[name] = (form, path, declaration)

    def link(text):
        parts = re.split(r"(\b(?:spad_|SPAD_)\w+\b)", text)
        parts[::2] = [plain_text(part) for part in parts[::2]]
        roles = [f"{{{known[name][0].replace('function', 'func')}}}" if name in known else "" for name in parts[1::2]]
        parts[1::2] = [f"{role}`{name}`" for role, name in zip(roles, parts[1::2])]
        return "".join(parts)

    rows = []
    for path, (words, items) in read.items():
        name = path.relative_to(root / "include").as_posix()
        file = c_page(path.relative_to(root / "include"))
        words = re.sub(r"^\w+: (\w)", lambda found: found[1].upper(), words)  # of "plan: offsets for ..."
        parts = [prose(words, link), code("c", f"#include <{name}>")]
        for declaration, text in items:
            if declaration == "section":
                parts.append(f"## {text[0].upper()}{text[1:]}")
                continue
            form, argument, shown = c_form(declaration)
            main = form and known[c_name(form, argument)] == (form, path, declaration)
            shown = code("c", declaration) if shown or not main else ""
            body = "\n\n".join(part for part in (prose(text, link), shown) if part)
            parts.append(directive(form, argument, body) if main else body)
        page(out / "c" / f"{file}.md", name, *parts)
        rows.append((file, name, re.split(r"(?<=[.;:]) ", re.sub(r"\s+", " ", words))[0].rstrip(".;:")))
    overview(out, "c", "C API", "From the comments of the headers. [](../api.md) is about all of them.", rows)
    functions = sum(form == "c:function" for form, _, _ in known.values())
    exported = sum(len(re.findall(r"^SPAD_API", path.read_text(encoding="utf-8"), re.M)) for path in headers)
    if functions < exported:
        sys.exit(f"{exported} functions are declared in include/spad, and {functions} were found")


# ---- the command ---------------------------------------------------------------------------


def manual(*words):
    return subprocess.run([sys.executable, "-m", "spad", "man", *words], check=True, capture_output=True, text=True).stdout


def plain(roff):
    return re.sub(r"\\f[BRI]|\\&", "", roff).replace("\\-", "-").replace("\\e", "\\")


def command_page(roff):
    """A manual page as the parts of a page: (what it is, parts)."""
    about, parts = "", []
    for request, line, body in re.findall(r"^\.(\w+) ?(.*)\n((?:(?!\.[A-Za-z]).*\n)*)", roff, re.M):
        body = plain(body).rstrip("\n")
        if request == "SH" and line == "NAME":
            about = body.partition(" - ")[2]
        elif request == "SH" and line not in ("SYNOPSIS", "DESCRIPTION"):
            parts.append(f"## {line.capitalize()}")
            parts.append(prose(body, plain_text))
        elif request == "nf":
            parts.append(code("text", body))
        elif request == "TP":
            term, _, text = body.partition("\n")
            parts.append(directive("option", term, prose(text)) if term.startswith("-") else f"{escape(term)}\n: {prose(text)}")
        elif request == "PP" or (request == "SH" and body):
            parts.append(prose(body, plain_text))
    return about, parts


def command_reference(out):
    whole = manual()
    rows = []
    for name in re.findall(r"^\.BR spad\\-(\w+) ", whole, re.M):
        about, parts = command_page(manual(name))
        page(out / "command" / f"{name}.md", f"spad {name}", escape(about[:1].upper() + about[1:] + "."),
             directive("program", f"spad {name}", ""), *parts)
        rows.append((name, f"spad {name}", about))
    if len(rows) < 10:
        sys.exit("hardly any commands were found in 'spad man'")
    overview(out, "command", "Command line", "As `spad COMMAND --help` and `spad man COMMAND` print it.", rows)


# ---- Python --------------------------------------------------------------------------------


def words(docstring):
    return prose(inspect.cleandoc(docstring or ""), plain_text, "python")


class Text(str):
    """A type as it is written: in a signature it needs no quotes."""

    __repr__ = str.__str__


def type_aliases(folder):
    """The types that the package has names of its own for: {"_Facts": "dict[str, Any]"}."""
    found = {}
    for path in [*folder.glob("*.py"), folder / "_spad.pyi"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
                found[node.target.id] = ast.unparse(node.value).strip("'")
    return found


def stub_signatures(path):
    """The signatures of the C part: {"Plan.add": ["(...) -> int"]}, with one for each overload."""
    found = {}

    def function(node, prefix):
        arguments = ast.unparse(node.args)
        arguments = re.sub(r"^(self|cls)(, /)?(, |$)", "", arguments) if prefix else arguments
        text = f"({arguments})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")
        found.setdefault(prefix + node.name, []).append(text)

    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            function(node, "")
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    function(part, node.name + ".")
    return found


class Python:
    """Entries of the reference for what modules and classes have."""

    def __init__(self, folder):
        self.stubs, self.aliases = stub_signatures(folder / "_spad.pyi"), type_aliases(folder)

    def plain(self, text):
        """A type or a signature without names of the package's own for types, and without addresses of defaults."""
        text = re.sub(r"\b_[A-Z]\w*", lambda name: self.aliases.get(name[0], name[0]), text)
        return re.sub(r"<[^<>]* at 0x\w+>", "...", text)

    def signature(self, thing, stub):
        """The signatures of something that is called: of the stubs, or of its text; none if neither knows."""
        if stub in self.stubs:
            return [self.plain(text) for text in self.stubs[stub]]
        try:
            found = inspect.signature(thing)
        except (ValueError, TypeError):
            return []
        unquoted = [part.replace(annotation=Text(part.annotation)) if isinstance(part.annotation, str) else part
                    for part in found.parameters.values() if part.name not in ("self", "cls")]
        returned = found.return_annotation
        returned = Text(returned) if isinstance(returned, str) else returned
        return [self.plain(str(found.replace(parameters=unquoted, return_annotation=returned)))]

    def entry(self, form, name, signatures, text, options=()):
        """An entry for the first signature; others follow it."""
        first, *rest = signatures or ["()" if form in ("py:function", "py:method") else ""]
        body = "\n\n".join([words(text), *(code("python", name.rpartition(".")[2] + other) for other in rest)])
        return directive(form, name + first, body, options)

    def member(self, owner, name, value):
        stub = f"{owner.__name__}.{name}"
        text = inspect.getdoc(value)
        if isinstance(value, (staticmethod, classmethod)) or type(value).__name__ == "classmethod_descriptor":
            kind = "staticmethod" if isinstance(value, staticmethod) else "classmethod"
            return self.entry("py:method", name, self.signature(getattr(owner, name), stub), text, [(kind, "")])
        if isinstance(value, property) or inspect.isdatadescriptor(value):
            kinds = [found.partition(" -> ")[2] for found in self.stubs.get(stub, [])]
            if not kinds and isinstance(value, property) and value.fget and (kind := value.fget.__annotations__.get("return")):
                kinds = [str(kind)]
            return directive("py:property", name, words(text), [("type", self.plain(kind)) for kind in kinds[:1]])
        if callable(value):
            return self.entry("py:method", name, self.signature(value, stub), text)
        return None

    def members(self, kind):
        """What a class and its hidden bases have, the class first."""
        found = {}
        for owner in kind.__mro__:
            if owner is kind or owner.__name__ == kind.__name__ or owner.__name__.startswith("_"):
                for name, value in vars(owner).items():
                    if not name.startswith("_"):
                        found.setdefault(name, (owner, value))
        return [text for name, (owner, value) in found.items() if (text := self.member(owner, name, value))]

    def thing(self, module, name, value):
        """An entry for something public of a module."""
        if inspect.isclass(value):
            failed = issubclass(value, BaseException)
            made = not failed and (f"{value.__name__}.__new__" in self.stubs or inspect.isfunction(value.__init__))
            call = self.signature(value, f"{value.__name__}.__new__")[:1] if made else []
            call = re.sub(r" -> .*", "", call[0]) if call else ""
            return directive("py:exception" if failed else "py:class", name + call,
                             "\n\n".join([words(inspect.getdoc(value)), *self.members(value)]))
        if callable(value):
            return self.entry("py:function", name, self.signature(value, name), inspect.getdoc(value))
        about = inspect.getdoc(value) if type(value).__module__.startswith("spad") else ""
        return directive("py:data", name, words(about))


def is_of(module, name, value):
    if hasattr(module, "__all__"):
        return name in module.__all__ and not inspect.ismodule(value)
    home = getattr(value, "__module__", None) or ""
    return not name.startswith("_") and home.startswith(module.__name__) and not inspect.ismodule(value)


def python_reference(out):
    import spad

    python = Python(Path(spad.__file__).parent)
    rows = []
    submodules = [f"spad.{found.name}" for found in pkgutil.iter_modules(spad.__path__)
                  if not found.name.startswith("_") and found.name not in PARTS | PLUGINS]
    for name in ["spad", *submodules]:
        module = importlib.import_module(name)
        public = {key: value for key, value in vars(module).items() if is_of(module, key, value)}
        kinds = {
            "Classes": lambda value: inspect.isclass(value) and not issubclass(value, BaseException),
            "Functions": lambda value: callable(value) and not inspect.isclass(value),
            "Exceptions": lambda value: inspect.isclass(value) and issubclass(value, BaseException),
            "Data": lambda value: not callable(value),
        }
        parts = [words(inspect.getdoc(module)), directive("py:currentmodule", name, "")]
        for title, holds in kinds.items():
            if keys := [key for key, value in public.items() if holds(value)]:
                parts += [f"## {title}", *(python.thing(module, key, public[key]) for key in sorted(keys, key=str.lower))]
        page(out / "python" / f"{name}.md", name, *parts)
        about = inspect.getdoc(module).partition("\n\n")[0]
        rows.append((name, name, re.sub(r"\s+", " ", about).rstrip(".")))
    overview(out, "python", "Python API", "From the docstrings of the package. [](../python.md) is the tutorial.", rows)


if __name__ == "__main__":
    root, out = Path(sys.argv[1]), Path(sys.argv[2])
    c_reference(root, out)
    command_reference(out)
    python_reference(out)
