# SPDX-License-Identifier: Apache-2.0
"""Reads the PTX of one kernel: a list of instructions, with names that are unique across braces."""

import re
import struct
from dataclasses import dataclass, field

SIZES = {"8": 1, "16": 2, "32": 4, "64": 8}
LABEL = re.compile(r"([\w$]+)\s*:(?!:)")
WORD = r"[%$_A-Za-z][\w$]*(?:\.[xyz])?"


@dataclass
class Instruction:
    op: str
    args: list
    guard: str | None = None
    unless: bool = False
    line: int = 0
    parts: list = field(default_factory=list)


@dataclass
class Kernel:
    name: str
    code: list
    labels: dict
    parameters: list
    shared: dict  # name -> offset
    shared_bytes: int
    dynamic: list  # names of arrays with a size of the launch


def type_bytes(kind):
    return SIZES[re.sub(r"\D", "", kind)] if re.search(r"\d", kind) else 1


def blank_comments(text):
    keep = lambda match: re.sub(r"[^\n]", " ", match.group())  # noqa: E731
    return re.sub(r"//[^\n]*|/\*.*?\*/", keep, text, flags=re.S)


def kernel_text(text, name):
    """The header and the body of a kernel, and the line of its body."""
    head = re.search(r"\.entry\s+" + re.escape(name) + r"\s*\(?", text)
    begin = text.index("{", head.end())
    depth, end = 0, begin
    while True:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
        if not depth:
            return text[head.start():begin], text[begin + 1:end - 1], text.count("\n", 0, begin + 1) + 1


def split(text):
    """The parts between commas outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += {"[": 1, "{": 1, "(": 1, "]": -1, "}": -1, ")": -1}.get(letter, 0)
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def number(word):
    if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", word) or re.fullmatch(r"0[dD][0-9a-fA-F]{16}", word):
        return int(word[2:], 16)
    if re.fullmatch(r"-?\d+\.\d+", word):
        return struct.unpack("<I", struct.pack("<f", float(word)))[0]
    return int(word.rstrip("U"), 0) if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", word) else None


def operand(word, scope):
    """A number, a name, a list of operands, or ("mem", base, offset or list of coordinates)."""
    word = word.strip()
    if word[0] == "{":
        return [operand(part, scope) for part in split(word[1:-1])]
    if word[0] == "[":
        parts = split(word[1:-1])
        if len(parts) > 1:
            return ("mem", operand(parts[0], scope), operand(parts[1], scope))
        base, sign, offset = re.fullmatch(r"(" + WORD + r"|\d+)\s*(?:([+-])\s*(-?\w+))?", parts[0]).groups()
        return ("mem", operand(base, scope), int(offset or "0", 0) * (-1 if sign == "-" else 1))
    value = number(word)
    if value is not None:
        return value
    if "|" in word:
        return [operand(part, scope) for part in word.split("|")]
    if word[0] == "!":
        return ("not", scope(word[1:]))
    return scope(word)


class Reader:
    """Statement after statement. A brace where one begins opens a scope, with registers and labels of its own."""

    def __init__(self, body, first):
        self.code, self.labels, self.shared, self.dynamic, self.bytes = [], {}, {}, [], 0
        self.scopes, self.opened, at = [{}], 0, 0
        while True:
            at += len(body[at:]) - len(body[at:].lstrip())
            if at == len(body):
                return
            label = LABEL.match(body, at)
            if label:
                self.labels[self.name(label[1])] = len(self.code)
                at = label.end()
            elif body[at] == "{":
                self.opened += 1
                self.scopes.append({name: f"{name}#{self.opened}" for name in inner_labels(body, at)})
                at += 1
            elif body[at] == "}":
                self.scopes.pop()
                at += 1
            else:
                end = body.index(";", at)
                self.statement(body[at:end].strip(), first + body.count("\n", 0, at))
                at = end + 1

    def name(self, word):
        return next((scope[word] for scope in reversed(self.scopes) if word in scope), word)

    def statement(self, text, line):
        if text.startswith(".reg"):
            for word in split(text.split(None, 2)[2]):
                if len(self.scopes) > 1:
                    self.scopes[-1][word] = f"{word}#{self.opened}"
        elif re.match(r"(\.extern\s+)?\.shared", text):
            self.variable(text)
        elif text[0] != ".":
            match = re.match(r"(?:@(!?)(\S+)\s+)?(\S+)\s*(.*)", text, re.S)
            op = match[3]
            args = [operand(word, self.name) for word in split(re.sub(r"\s+", " ", match[4]))]
            self.code.append(Instruction(op, args, match[2] and self.name(match[2]), match[1] == "!", line, op.split(".")))

    def variable(self, text):
        align = int((re.search(r"\.align\s+(\d+)", text) or [0, 4])[1])
        kind, name, size = re.search(r"\.([busf]\d+)\s+([\w$]+)\s*(?:\[(\d*)\])?", text).groups()
        self.bytes = -(-self.bytes // align) * align
        self.shared[name] = self.bytes
        if size == "":
            self.dynamic.append((name, align))
        else:
            self.bytes += type_bytes(kind) * int(size or 1)


def inner_labels(body, begin):
    depth, end = 0, begin
    while True:
        depth += {"{": 1, "}": -1}.get(body[end], 0)
        end += 1
        if not depth:
            return LABEL.findall(body, begin, end)


def read_kernel(text, name):
    text = re.sub(r"\.(loc|pragma)\b[^\n]*", lambda match: " " * len(match.group()), blank_comments(text))
    head, body, line = kernel_text(text, name)
    reader = Reader(body, line)
    for match in re.finditer(r"^\s*\.extern\s+\.shared[^;]*;", text[:text.index(".entry " + name)], re.M):
        reader.variable(match.group())
    for array, align in reader.dynamic:
        reader.shared[array] = -(-reader.bytes // align) * align
    parameters = [(match[2], type_bytes(match[1]) * int(match[3] or 1)) for match in
                  re.finditer(r"\.param\s+(?:\.align\s+\d+\s+)?\.([busf]\d+)(?:\s+\.ptr[^,\n]*?)?\s+([\w$]+)(?:\[(\d+)\])?", head)]
    return Kernel(name, reader.code, reader.labels, parameters, reader.shared, reader.bytes, [n for n, _ in reader.dynamic])
