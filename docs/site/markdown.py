# SPDX-License-Identifier: Apache-2.0
"""Text of other places as MyST Markdown: directives, and prose in which nothing is markup but `code` and lists."""

import re

CODE = re.compile(r"(``.+?``|`[^`]+`)", re.S)
ITEM = re.compile(r"[-*] |\d+\. ")


def directive(name, argument, body, options=()):
    """A directive around a body, whose own fences are shorter."""
    fence = "`" * max([3, *(len(found) + 1 for found in re.findall(r"^`{3,}", body, re.M))])
    lines = [f"{fence}{{{name}}} {argument}".rstrip(), *(f":{key}: {value}".rstrip() for key, value in options)]
    return "\n".join([*lines, body, fence, ""])


def code(language, text):
    return directive("code-block", language, text)


def escape(text):
    return re.sub(r"([\\*_\[\]<>#|${}~@^`!&])", r"\\\1", text)


def prose(text, link=escape, language="text"):
    """Paragraphs of plain text; what is indented after an empty line is code. `link` writes the text around `code`."""
    blocks = []
    for block in re.split(r"\n[ \t]*\n", text.strip("\n")):
        if block.startswith("    ") and not ITEM.match(block.lstrip()):
            lines = [line[4:] for line in block.split("\n")]
            if blocks and blocks[-1][0] == "code":
                blocks[-1][1].extend(["", *lines])
            else:
                blocks.append(("code", lines))
            continue
        parts = CODE.split(block)
        parts[::2] = [link(part) for part in parts[::2]]
        lines = [line.strip() for line in "".join(parts).split("\n")]
        # a number and a dot at the start of a line is text, unless the paragraph is a list
        if not ITEM.match(lines[0]):
            lines = [re.sub(r"^(\d+)\.|^([-+=])(?=\s|$)", lambda found: found[0][:-1] + "\\" + found[0][-1], line) for line in lines]
        blocks.append(("text", lines))
    return "\n\n".join(code(language, "\n".join(lines)) if kind == "code" else "\n".join(lines) for kind, lines in blocks)
