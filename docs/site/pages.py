#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pages.py ROOT OUT: the pages of the manual in the folder OUT, as the generator of the site wants them. README.md of the
repository is the start page, docs/README.md is overview.md, and all others keep their names. A link that leaves docs/ leads
to a page below source/, which shows that file or lists that folder. The notebook is a page, too."""

import html
import json
import os
import re
import shutil
import sys
from pathlib import Path

from markdown import code, directive
from reference import c_page

FENCE = re.compile(r"^(```|~~~).*?^\1 *$|`[^`\n]*`|^    [^\n]*$", re.M | re.S)
LINK = re.compile(r"(\[[\w/.-]+\.md)?\]\(([^()\s#]*)(#[^()\s]*)?\)")
LANGUAGES = {".c": "c", ".cu": "c++", ".h": "c", ".json": "json", ".py": "python", ".spad": "spad", ".sh": "sh", ".toml": "toml"}
OUTSIDE = "---\norphan: true\nnosearch: true\n---\n"  # not in the navigation, and not found by the search
LARGEST = 200_000


class Manual:
    def __init__(self, root, out):
        self.root, self.out = root, out
        self.pages = {}  # file of the repository: its page
        self.wanted = []  # files and folders outside docs/ that are linked to
        self.navigation = (root / "docs/site/navigation.md").read_text(encoding="utf-8")

    def add(self, file, page):
        self.pages[file] = page

    def target(self, file):
        """The page of a file or folder; what has none yet gets one."""
        if file not in self.pages:
            name = "source/" + file.relative_to(self.root).as_posix()
            self.add(file, name.removesuffix(".md") + ".md")
            self.wanted.append(file)
        return self.pages[file]

    def link(self, file, target):
        """Where the page of a file or folder is, from the page of another one."""
        return os.path.relpath(self.target(target), os.path.dirname(self.pages[file]) or ".")

    def text(self, file, text):
        """A page of Markdown with its links changed."""
        def changed(found):
            name, path, part = found[1] or "", found[2], found[3] or ""
            if not path or ":" in path:
                return found[0]
            # a page that is named by its file has a title here
            return f"{name[:1]}]({self.link(file, (file.parent / path).resolve())}{part})"

        kept = []

        def keep(found):
            kept.append(found[0])
            return f"\0{len(kept) - 1}\0"

        text = LINK.sub(changed, FENCE.sub(keep, text))
        return re.sub("\0(\\d+)\0", lambda found: kept[int(found[1])], text)

    def write(self, file, text):
        path = self.out / self.pages[file]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def source(self, file):
        """A page that shows a file outside docs/, or lists a folder."""
        name = file.relative_to(self.root).as_posix()
        if not file.exists():
            sys.exit(f"a page has a link to {name}, which does not exist")
        head = "" if self.pages[file].removesuffix(".md") in self.navigation else OUTSIDE
        if file.is_dir():
            rows = [f"- [`{part.name}`]({self.link(file, part)})" for part in sorted(file.iterdir())
                    if part.is_file() and part.stat().st_size <= LARGEST and not part.name.startswith(".")]
            return f"{head}# {name}\n\n" + "\n".join(rows) + "\n"
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".md":
            return head + self.text(file, text)
        return f"{head}# {name}\n\n" + code(LANGUAGES.get(file.suffix, "text"), text)


def joined(text):
    return "".join(text)


def output(result):
    """What a cell of a notebook has printed or shown."""
    data = result.get("data", {})
    if "text/html" in data:
        return directive("raw", "html", '<div class="shown">' + joined(data["text/html"]) + "</div>")
    text = joined(result.get("text") or data["text/plain"])
    return directive("raw", "html", f'<pre class="shown">{html.escape(text)}</pre>')


def notebook(path):
    """A notebook as Markdown."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = joined(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else code("python", text))
        parts += [output(result) for result in cell.get("outputs", [])]
    return "\n\n".join(parts) + "\n"


def main(root, out):
    docs = root / "docs"
    manual = Manual(root, out)
    manual.add(root / "README.md", "index.md")
    manual.add(docs / "README.md", "overview.md")
    manual.add(docs / "tour.ipynb", "tour.md")
    for file in sorted(docs.rglob("*.md")):
        name = file.relative_to(docs)
        if file not in manual.pages and name.parts[0] != "site":
            manual.add(file, str(name.with_name("index.md") if name.name == "README.md" else name))
    manual.add(docs, "overview.md")
    manual.add(docs / "modules.svg", "modules.svg")
    for file in sorted((root / "include").rglob("*.h")):
        manual.add(file, f"reference/c/{c_page(file.relative_to(root / 'include'))}.md")
    for folder in ("images", "images/gallery"):
        for file in (docs / folder).iterdir():
            manual.add(file, f"{folder}/{file.name}")
    for file in [file for file in manual.pages if file.suffix == ".md"]:
        manual.write(file, manual.text(file, file.read_text(encoding="utf-8")))
    manual.write(docs / "tour.ipynb", manual.text(docs / "tour.ipynb", notebook(docs / "tour.ipynb")))
    while manual.wanted:
        file = manual.wanted.pop()
        manual.write(file, manual.source(file))
    with open(out / "index.md", "a", encoding="utf-8") as file:
        file.write("\n" + manual.navigation)
    shutil.copytree(docs / "images", out / "images")
    shutil.copy(docs / "modules.svg", out)


main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
