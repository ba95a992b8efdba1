# SPDX-License-Identifier: Apache-2.0
"""python -m spad: the command, which is beside this file; `nki` (docs/nki-trace.md), `triton` (docs/triton.md), `tilelang`
(docs/tilelang-load.md), `cuda reproduce` (docs/cuda-reproduce.md), `sweep` (docs/sweep.md) and the files of other
compilers (docs/compilers.md) are in Python."""

import os
import sys
from pathlib import Path


def main() -> None:
    if sys.argv[1:2] == ["nki"]:
        from .nki._command import main as nki_main

        sys.exit(nki_main(sys.argv[2:]))
    if sys.argv[1:2] == ["triton"]:
        from .triton._command import main as triton_main

        sys.exit(triton_main(sys.argv[2:]))
    if sys.argv[1:2] == ["tilelang"]:
        from .tilelang._command import main as tilelang_main

        sys.exit(tilelang_main(sys.argv[2:]))
    if sys.argv[1:2] == ["sweep"] and not {"-h", "--help"} & set(sys.argv):  # which the command prints
        from ._sweep.command import main as sweep_main

        sys.exit(sweep_main(sys.argv[2:]))
    if sys.argv[1:3] == ["cuda", "reproduce"]:
        from ._reproduce import main as reproduce_main

        sys.exit(reproduce_main(sys.argv[3:]))
    if sys.argv[1:2] == ["model"]:  # `spad plan MODEL` of the command runs this
        from ._files import limit_memory
        from .models import MEMORY_MOST
        from .models import main as model_main

        limit_memory(MEMORY_MOST)
        sys.exit(model_main(sys.argv[2:]))
    command = Path(__file__).with_name("spad")
    if not command.exists():
        sys.exit("spad: the package was built without the command")
    sys.stdout.flush()
    os.environ.setdefault("SPAD_PYTHON", sys.executable)  # the command may need Python again
    os.execv(command, ["spad", *sys.argv[1:]])


if __name__ == "__main__":
    main()
