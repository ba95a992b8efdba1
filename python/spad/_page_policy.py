# SPDX-License-Identifier: Apache-2.0
"""The content security policy of an HTML page: the page loads nothing, and only its own style and script run, which
are named by their digests. Text of the user that got out of its quotes would do nothing. As in src/report/html.c."""

import base64
import hashlib
import re


def policy(template, reports=()):
    """The policy of a page, from its markup without any text of the user. Frames inherit the policy of their page, so
    it also allows what the policies of the reports in its frames allow."""
    parts = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    for kind in ("style", "script"):
        digests = [base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
                   for content in re.findall(f"<{kind}>(.*?)</{kind}>", template, re.S)]
        for report in reports:
            digests += re.search(f"{kind}-src 'sha256-([^';\"]*)'", report).groups()
        if digests:
            parts.append(f"{kind}-src " + " ".join(f"'sha256-{digest}'" for digest in dict.fromkeys(digests)))
    return "; ".join(parts)
