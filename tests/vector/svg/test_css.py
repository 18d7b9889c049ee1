"""Inline declarations and the naming of rules."""

from __future__ import annotations

import pytest

from countermark.vector.svg.css import declarations


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("fill:red;stroke : blue", {"fill": "red", "stroke": "blue"}),
        (" FILL:red ;; ", {"fill": "red"}),
        ("fill:red;fill:blue", {"fill": "blue"}),
        ("fill:red !important;fill:blue", {"fill": "red"}),
        ("fill:red!IMPORTANT;fill:blue ! important", {"fill": "blue"}),
        ("/* a;b */fill:/* x */red", {"fill": "red"}),
        ("fill:url('#a;b');stroke:none", {"fill": "url('#a;b')", "stroke": "none"}),
        ("font-family:'a;b',c;fill:red", {"font-family": "'a;b',c", "fill": "red"}),
        ("", {}),
        ("nonsense", {}),
    ],
)
def test_declarations_are_read(text: str, found: dict[str, str]) -> None:
    assert declarations(text) == found
