# SPDX-License-Identifier: Apache-2.0
"""The navigation at the side of each page. Sphinx's own resolves all headings of all pages for every page, which takes six
sevenths of the time of a build; this one has titles only, and opens the branch of the page that is shown."""

from html import escape

from sphinx.addnodes import toctree


def trees(env, page):
    """The trees of a page: (caption, [(title, page)])."""
    return [(tree["caption"], [(title or env.titles[name].astext(), name) for title, name in tree["entries"]])
            for tree in env.get_doctree(page).findall(toctree)]


class Sidebar:
    def __init__(self, env):
        self.top = trees(env, env.config.root_doc)
        inner = {name for _, entries in self.top for _, name in entries if env.toctree_includes.get(name)}
        self.below = {name: [entry for _, entries in trees(env, name) for entry in entries] for name in inner}

    def item(self, page, link, level, title, name):
        below = self.below.get(name, [])
        here = page == name or page in [child for _, child in below]
        inner = "<ul>" + "".join(self.item(page, link, level + 1, *entry) for entry in below) + "</ul>" if below and here else ""
        current = " current" if here else ""
        return (f'<li class="toctree-l{level}{current}"><a class="reference internal{current}" href="{link(name)}">{escape(title)}</a>'
                f"{inner}</li>")

    def html(self, page, link):
        return "".join(f'<p class="caption" role="heading"><span class="caption-text">{escape(caption)}</span></p><ul>'
                       + "".join(self.item(page, link, 1, *entry) for entry in entries) + "</ul>" for caption, entries in self.top)


def setup(app):
    def context(app, page, template, context, doctree):
        if not hasattr(app.env, "spad_sidebar"):
            app.env.spad_sidebar = Sidebar(app.env)
        context["toctree"] = lambda **_: app.env.spad_sidebar.html(page, context["pathto"])

    app.connect("html-page-context", context, priority=400)  # before the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
