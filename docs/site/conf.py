# SPDX-License-Identifier: Apache-2.0
# How Sphinx makes the site of the manual (docs/build).
import builtins
import importlib
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import kernel_lexer  # noqa: E402
from pygments.lexers.special import TextLexer  # noqa: E402
from reference import is_of  # noqa: E402
from sphinx.addnodes import pending_xref  # noqa: E402

project = "spad"
author = "the spad authors"
version = release = os.environ.get("SPAD_SITE_VERSION", "")
extensions = ["myst_parser", "sphinx.ext.githubpages", "sidebar"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 6  # the anchors that GitHub gives headings
smartquotes = False  # two dashes are an option
highlight_language = "text"
maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "spad " + version
html_static_path = [str(HERE / "static")]
html_css_files = ["style.css"]
html_js_files = ["sidebar.js"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {"sidebar_hide_name": False, "top_of_page_buttons": []}
pygments_style = "tango"
pygments_dark_style = "native"


def find_types(app, doctree):
    """A type in a signature is one of Python, of the module of the page or of spad; not anything of that name."""
    for node in list(doctree.findall(pending_xref)):
        name, module = node["reftarget"], node.get("py:module")
        if node["refdomain"] != "py" or not module:
            continue
        node.attributes.pop("refspecific", None)
        found = importlib.import_module(module)
        if hasattr(builtins, name):
            node.replace_self(node.children)
        elif not (hasattr(found, name) and is_of(found, name, getattr(found, name))):
            node["py:module"] = "spad"


def setup(app):
    app.add_lexer("spad", kernel_lexer.KernelLexer)
    app.add_lexer("csv", TextLexer)
    app.connect("doctree-read", find_types)
