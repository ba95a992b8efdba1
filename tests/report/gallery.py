# SPDX-License-Identifier: Apache-2.0
"""docs/gallery.md as data: sections with a command, and most of them with a picture of a page."""
import os
import re
import shlex
import subprocess


def sections(root):
    """(title, words of the command, picture or None, what stands after '#') of each section."""
    with open(os.path.join(root, "docs", "gallery.md"), encoding="utf-8") as file:
        text = file.read()
    out = []
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        command, = re.findall(r"^```sh\n(spad .*)\n```$", part, re.M)
        picture = re.search(r"^!\[[^\]]+\]\((images/gallery/\w+\.png)\)$", part, re.M)
        link = re.search(r"^`page\.html(?:#([^`]*))?`$", part, re.M)
        assert bool(picture) == bool(link) == ("--report page.html" in command), part
        out.append((part.split("\n")[0], shlex.split(command)[1:], picture and os.path.join("docs", picture[1]), link and (link[1] or "")))
    return out


def make_page(spad, words, folder):
    """Runs a command of the gallery in a folder; the path of its page, where it makes one."""
    done = subprocess.run([spad, *words], cwd=folder, capture_output=True)
    assert done.returncode in (0, 1), (words, done.stderr.decode(errors="replace"))
    assert "--report" in words or done.stdout, words
    return os.path.join(folder, "page.html")
