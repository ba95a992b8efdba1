#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""module_map.py: draws docs/modules.svg, the modules below src/ with their sizes and what they use.

A module stands above everything that it uses. An arrow that other arrows imply is left out, and so are those to `base`,
which everything uses. The width of a box is the number of its lines.

    tools/module_map.py            writes the picture again
    tools/module_map.py --check    fails if a module or a use is missing in the picture, or if a size has changed by more
                                   than a tenth (a picture that is exact to the line would change with every commit)
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "modules.svg"
EVERYWHERE = "base"
WIDTH, ROW, BOX, GAP, LINES_PER_PIXEL = 760, 84, 40, 14, 60


def table():
    """module -> the modules that it may use, from the table in CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("\n## Modules\n")[1].split("\n## ")[0]
    rows = [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in text.split("\n") if row.startswith("| `")]
    return {name: {used for used in uses.split() if used in {row[0] for row in rows}} for name, _, _, uses in rows}


def lines_of(module):
    return sum(len(path.read_bytes().splitlines()) for path in (ROOT / "src" / module).glob("*.[ch]"))


def implied(uses):
    """module -> everything that it uses, directly or through others. The table goes from the bottom up."""
    below = {}
    for module, used in uses.items():
        below[module] = used.union(*(below[other] for other in used)) if used else set()
    return below


def direct(uses):
    """The uses that no others imply, as pairs."""
    below = implied(uses)
    return sorted(
        (module, used)
        for module, others in uses.items()
        for used in others - {EVERYWHERE}
        if not any(used in below[other] for other in others)
    )


def layers(uses):
    """Modules by the length of the longest chain below them."""
    depth = {}
    for module, used in uses.items():
        depth[module] = 1 + max((depth[other] for other in used), default=-1)
    return [[module for module in uses if depth[module] == level] for level in range(max(depth.values()) + 1)]


def boxes(uses, sizes):
    """module -> (x, y, width) of its box: each layer is a row, or several if one is too narrow."""
    rows = []
    for layer in layers(uses):
        rows.append([])
        for module in layer:
            width = max(sizes[module] / LINES_PER_PIXEL, 7.5 * max(len(module), 12) + 12)
            if rows[-1] and sum(w + GAP for _, w in rows[-1]) + width > WIDTH:
                rows.append([])
            rows[-1].append((module, width))
    placed = {}
    for number, row in enumerate(rows):
        x = (WIDTH - sum(width for _, width in row) - GAP * (len(row) - 1)) / 2
        for module, width in row:
            placed[module] = (x, 20 + (len(rows) - 1 - number) * ROW, width)
            x += width + GAP
    return placed, 20 + len(rows) * ROW


def arrow(upper, lower):
    (x1, y1, w1), (x2, y2, w2) = upper, lower
    start, end = x1 + w1 / 2, x2 + w2 / 2
    bend = (y2 - y1 - BOX) / 2
    return f"M{start:.0f},{y1 + BOX} c0,{bend:.0f} {end - start:.0f},{bend:.0f} {end - start:.0f},{y2 - y1 - BOX:.0f}"


def draw(uses, sizes):
    placed, height = boxes(uses, sizes)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    for module, used in direct(uses):
        parts.append(f'<path data-use="{module} {used}" d="{arrow(placed[module], placed[used])}" fill="none" stroke="#8a99ad"/>')
    for module, (x, y, width) in placed.items():
        middle = x + width / 2
        parts.append(
            f'<g data-module="{module}" data-lines="{sizes[module]}">'
            f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{BOX}" rx="5" fill="#e8f0fb" stroke="#46648c"/>'
            f'<text x="{middle:.0f}" y="{y + 17}" text-anchor="middle" fill="#15233a">{module}</text>'
            f'<text x="{middle:.0f}" y="{y + 33}" text-anchor="middle" fill="#4c5c74" font-size="11">'
            f"{sizes[module] / 1000:.1f}k lines</text></g>"
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def check(uses, sizes):
    """What the picture has wrong, as lines."""
    text = PICTURE.read_text(encoding="utf-8")
    drawn = {name: int(lines) for name, lines in re.findall(r'data-module="([^"]+)" data-lines="(\d+)"', text)}
    arrows = {tuple(pair.split()) for pair in re.findall(r'data-use="([^"]+)"', text)}
    for module in sorted(set(drawn) ^ set(sizes)):
        yield f"{module}: in the picture or in CONTRIBUTING.md, not in both"
    for module, used in sorted(arrows ^ set(direct(uses))):
        yield f"{module} uses {used}: in the picture or in CONTRIBUTING.md, not in both"
    for module in sorted(set(drawn) & set(sizes)):
        if abs(drawn[module] - sizes[module]) > sizes[module] / 10 + 50:
            yield f"{module} has {sizes[module]} lines, in the picture {drawn[module]}"


def main():
    uses = table()
    sizes = {module: lines_of(module) for module in uses}
    if sys.argv[1:] != ["--check"]:
        PICTURE.write_text(draw(uses, sizes), encoding="utf-8")
        return 0
    wrong = list(check(uses, sizes))
    if wrong:
        print("\n".join(wrong), "run tools/module_map.py", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
