# SPDX-License-Identifier: Apache-2.0
"""What a free-threaded Python needs: a module that was built for it, and a GIL that may be turned on.

The GIL guards the objects of the C part. Python turns it on when it loads a module that does not say
that it can do without, unless the user forbids that.
"""

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES


def check() -> None:
    """Raises ImportError where the C part could not work; before it is loaded, because the module for
    Python with a GIL would end the process."""
    if getattr(sys.flags, "gil", None) == 0:
        raise ImportError("spad needs the GIL, which -X gil=0 or PYTHON_GIL=0 forbids")
    if not os.path.exists(os.path.join(os.path.dirname(__file__), "_spad" + EXTENSION_SUFFIXES[0])):
        raise ImportError("this spad was built for a Python with the GIL, and this one is "
                          "free-threaded; install it with this one")
