# SPDX-License-Identifier: Apache-2.0
"""The lines of the program that a kernel was made from: findings and reports show them where its files can be read."""

from __future__ import annotations

import linecache
import os


def read(kernel, module):
    """Gives the kernel the text of its files. Relative names start in the folder of the module. linecache also has the
    cells of notebooks."""
    for file in sorted({line["file"] for line in kernel.sources}):
        text = "".join(linecache.getlines(os.path.join(os.path.dirname(module), file)))
        if text:
            kernel._set_program(file, text)
