# SPDX-License-Identifier: Apache-2.0
"""The folder of a user's program in sys.path: behind the standard library, because a file there that is named like
one of its modules must not stand in for it, and before installed packages, as with `python program.py`."""

import os
import sys


def _behind_library():
    """The index in sys.path behind the last folder of the standard library."""
    library = os.path.dirname(os.__file__)
    found = [at for at, path in enumerate(sys.path) if path == library or os.path.basename(path) == "lib-dynload"]
    return found[-1] + 1 if found else len(sys.path)


def add_folder(folder, last=False):
    """Lets programs import from a folder; last: only what no installed package has. spad itself is imported already, so that
    nothing replaces it."""
    sys.path.insert(len(sys.path) if last else _behind_library(), os.path.abspath(folder))
