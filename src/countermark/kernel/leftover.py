"""Names of temporary files: recognisable after a crash, and by whom they were made, so that only orphans are swept."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from typing import Final

from countermark.kernel.identity import ProcessIdentity, boot_id, is_gone, own_identity

TEMP_PREFIX: Final = ".cm-"
_NAME: Final = re.compile(r"\.cm-([0-9a-f]{8})-([0-9a-f]{8})-([0-9]+)-([0-9]+)-[0-9]+")
_count = itertools.count()


def temporary_name(maker: ProcessIdentity | None = None) -> str:
    """Return a name that no other call gets, on this machine, in any process, ever."""
    who = maker or own_identity()
    return f"{TEMP_PREFIX}{_short(who.host)}-{_short(who.boot_id)}-{who.pid}-{who.start_time}-{next(_count)}"


def is_orphan(name: str) -> bool:
    """Say whether a name is a temporary one whose maker is proven gone; another host's is never proven."""
    found = _NAME.fullmatch(name)
    if found is None or found[1] != _short(os.uname().nodename):
        return False
    if found[2] != _short(boot_id()):
        return True
    return is_gone(ProcessIdentity(os.uname().nodename, boot_id(), int(found[3]), int(found[4])))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]
