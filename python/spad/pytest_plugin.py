# SPDX-License-Identifier: Apache-2.0
"""The fixture `spad` of pytest: a test that checks a kernel, and fails with its findings.

    def test_matmul(spad):
        spad.check_triton(matmul, {"a_ptr": "*fp16:16", "K": "i32:16"}, {"BK": 64})
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any
    from .core import Check


class Checker:
    """Checks kernels; a check that does not pass fails the test with its text. Options are those of spad.check."""

    def check(self, kernel: Any, **options: Any) -> Check:
        """A Kernel, a text of one, or what has check(), as spad.nki.trace, spad.triton.load and spad.tilelang.load give it."""
        from . import core
        made = core.check(kernel, **options) if isinstance(kernel, str) else kernel.check(**options)
        if not made:
            pytest.fail(made.text(), pytrace=False)
        return made

    def check_nki(self, kernel: Any, *arguments: Any, check: Mapping[str, Any] | None = None, **options: Any) -> Check:
        """A kernel of NKI with its arguments, as spad.nki.trace takes them; check: options of the check."""
        from .nki import trace
        return self.check(trace.trace(kernel, *arguments, **options), **dict(check or {}))

    def check_triton(self, kernel: Any, *arguments: Any, check: Mapping[str, Any] | None = None, **options: Any) -> Check:
        """A kernel of Triton, as spad.triton.load takes it."""
        from . import triton
        return self.check(triton.load(kernel, *arguments, **options), **dict(check or {}))

    def check_tilelang(self, kernel: Any, *arguments: Any, check: Mapping[str, Any] | None = None, **options: Any) -> Check:
        """A kernel of TileLang, as spad.tilelang.load takes it."""
        from . import tilelang
        return self.check(tilelang.load(kernel, *arguments, **options), **dict(check or {}))


@pytest.fixture(name="spad", scope="session")
def checker() -> Checker:
    """Checks kernels, and fails with their findings."""
    return Checker()
