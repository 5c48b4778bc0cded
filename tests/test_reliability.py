"""Every promise of the page "What you can rely on" names tests that exist."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "doc" / "reliability.rst"


def test_named_tests_exist():
    named = re.findall(r"``([\w/]+\.py)::(\w+)``", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 40
    for path, name in named:
        tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
        assert name in {getattr(node, "name", None) for node in tree.body}, (path, name)
