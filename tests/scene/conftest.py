"""What every test of the scenes leaves behind: nothing that is still open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from countermark.scene.store import Store


@pytest.fixture(autouse=True)
def _stores_are_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the stores that a test dropped as a dead process does; a worker has only so many descriptors."""
    opened: list[Store] = []
    begin = Store.__init__

    def remembered(self: Store, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        opened.append(self)

    monkeypatch.setattr(Store, "__init__", remembered)
    yield
    for store in opened:
        store.close()
