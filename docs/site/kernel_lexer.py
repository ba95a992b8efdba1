# SPDX-License-Identifier: Apache-2.0
"""Colours for kernel text: the grammar that editors use (editors/spad.tmLanguage.json) as a lexer of Pygments."""

import json
from pathlib import Path

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text

GRAMMAR = Path(__file__).parents[2] / "editors/spad.tmLanguage.json"
TOKENS = {
    "comment": Comment, "string": String, "keyword.operator": Operator, "keyword": Keyword,
    "entity.name.function": Name.Function, "entity.name.type": Name.Class, "variable": Name.Variable,
    "storage": Keyword.Type, "support": Name.Builtin, "constant.numeric": Number,
}


def token(scope):
    return next(kind for start, kind in TOKENS.items() if scope.startswith(start))


def rule(pattern):
    """A pattern of the grammar. Its groups are apart from each other, so what is between them gets groups, too."""
    if "captures" not in pattern:
        return pattern["match"], token(pattern["name"])
    groups = {int(number): token(capture["name"]) for number, capture in pattern["captures"].items()}

    def parts(lexer, found, context=None):
        at = found.start()
        for number in range(1, found.re.groups + 1):
            if found.start(number) > at:
                yield at, Text, found.string[at:found.start(number)]
            if found[number]:
                yield found.start(number), groups.get(number, Text), found[number]
                at = found.end(number)
        yield at, Text, found.string[at:found.end()]

    return pattern["match"], parts


class KernelLexer(RegexLexer):
    name, aliases = "spad", ["spad"]
    tokens = {"root": [*map(rule, json.loads(GRAMMAR.read_text(encoding="utf-8"))["patterns"]), (r"[\w.]+", Name), (r"(?s).", Text)]}
