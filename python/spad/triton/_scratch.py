# SPDX-License-Identifier: Apache-2.0
"""Sizes of scratch memory that Triton's passes do not print: 3.6 gives ttg.convert_layout and tt.gather an address and no
size, and which size it is depends on where each element of both layouts is. So Triton itself is asked: a function with
this one operation needs as much shared memory as the operation."""

import itertools
import re

_OFFSET = re.compile(r"allocation\.offset = \d+ : i32")
_OPERATION = re.compile(r"%[\w$.-]+ = (ttg\.convert_layout|tt\.gather) ([^{:]*)(\{[^}]*\}) : (.*?)(?: loc\(.*)?$")
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")  # %top_38#1: one of several results
_ALIAS = re.compile(r"#(?!loc)\w+ = ")
_TOTAL = re.compile(r"ttg\.shared = (\d+) : i32")
_PARTITION = re.compile(r"partition\d+\(.*num_warps\((\d+)\)")


def _types(text):
    """The types between the commas and arrows that are outside of brackets."""
    depth, part, parts = 0, "", []
    for number, letter in enumerate(text):
        arrow = letter == ">" and text[number - 1:number] == "-"
        depth += (letter in "<({[") - (letter in ">)}]" and not arrow)
        if depth == 0 and (letter in "," or arrow):
            parts.append(part.rstrip("-").strip())
            part = ""
        else:
            part += letter
    return [part for part in [*parts, part.strip()] if part]


def _alone(match, head, aliases):
    """A module with this operation and nothing else."""
    name, operands, attributes, kinds = match.groups()
    types = _types(kinds.replace("(", "").replace(")", ""))[:-1]
    arguments = ", ".join(f"%a{number}: {kind}" for number, kind in enumerate(types))
    numbers = itertools.count()
    operands = _VALUE.sub(lambda own: f"%a{next(numbers)}", operands)
    kept = _OFFSET.sub("", attributes).replace("{, ", "{").replace(", }", "}").replace("{}", "")
    return "\n".join([*aliases, head, f"  tt.func public @f({arguments}) {{",
                      f"    %r = {name} {operands.strip()} {kept} : {kinds}", "    tt.return", "  }", "}", ""])


def sized(text, allocate):
    """The text, with the size of each such operation that has an address; as it is where it has sizes, or where Triton
    does not take the operation alone. allocate gives a text its addresses."""
    if "allocation.size" in text:
        return text
    lines, warps, known = text.split("\n"), None, {}
    aliases = [line for line in lines if _ALIAS.match(line)]
    head = next((line for line in lines if line.startswith("module")), "module {")
    head = _TOTAL.sub("", head).replace("{, ", "{").replace(", ,", ",")
    for number, line in enumerate(lines):
        partition = _PARTITION.search(line)
        if partition:
            warps = partition[1]
        elif "ttg.warp_return" in line:
            warps = None
        match = _OPERATION.search(line)
        if match is None or not _OFFSET.search(match[3]):
            continue
        own = re.sub(r'"ttg\.num-warps" = \d+', f'"ttg.num-warps" = {warps}', head) if warps else head
        alone = _alone(match, own, aliases)
        if alone not in known:
            try:
                total = _TOTAL.search(allocate(alone))
                known[alone] = int(total[1]) if total else 0
            except Exception:  # whatever Triton raises, the size stays unknown
                known[alone] = 0
        if known[alone]:
            lines[number] = _OFFSET.sub(lambda found: f"{found[0]}, allocation.size = {known[alone]} : i32", line)
    return "\n".join(lines)
