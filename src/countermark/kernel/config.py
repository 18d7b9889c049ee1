"""Settings: a task's own parameters, then the project's file, then the user's, then defaults (seed 1 §12)."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError

PROJECT_FILE: Final = "countermark.toml"
_CAP: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set.

    `grant` is the grant used when a call names none; `min_free_mib` is the space that must stay free on the disk;
    `engine_seconds` is the deadline of an engine run; `max_input_mib` bounds an input file.
    """

    grant: str = "default"
    min_free_mib: int = 64
    engine_seconds: int = 120
    max_input_mib: int = 64


def load(project: bytes | None, user: bytes | None, task: Mapping[str, Any] | None = None) -> Settings:
    """Return the settings in force; raise `config_invalid` naming the file and the setting that is wrong."""
    settings = Settings()
    for where, data in (("the user's config.toml", user), (PROJECT_FILE, project)):
        if data is not None:
            settings = _over(settings, _table(where, data).get("settings", {}), where)
    return _over(settings, dict(task or {}), "the call")


def user_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where the user's own settings are, whether or not the file exists."""
    base = environ.get("XDG_CONFIG_HOME") or f"{environ.get('HOME', '~')}/.config"
    return Path(base) / "countermark" / "config.toml"


def read_user(environ: Mapping[str, str] = os.environ) -> bytes | None:
    """Return the user's settings file, or None."""
    path = user_file(environ)
    return path.read_bytes()[:_CAP] if path.is_file() else None


def workspace_id(project: bytes) -> str:
    """Return the workspace's identity from its project file; a file without one is known by its content."""
    table = _table(PROJECT_FILE, project).get("workspace", {})
    return str(table.get("id") or sha256_hex(project)[:16])


def secrets(project: bytes) -> dict[str, str]:
    """Return the references of the project file's `[secrets]` table by name; they name values, they hold none."""
    table = _table(PROJECT_FILE, project).get("secrets", {})
    if not isinstance(table, dict) or not all(isinstance(reference, str) for reference in table.values()):
        raise _wrong(PROJECT_FILE, "secrets", "a table of references, each `env:NAME`, `file:PATH` or `keyring:NAME`")
    return dict(table)


def _table(where: str, data: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CountermarkError(
            "config_invalid", f"{where} could not be read: {error}.", next_action="Correct that line and try again."
        ) from error


def _over(settings: Settings, values: Any, where: str) -> Settings:
    kinds = {field.name: type(getattr(settings, field.name)) for field in fields(settings)}
    if not isinstance(values, dict):
        raise _wrong(where, "settings", "a table")
    for name, value in values.items():
        if name not in kinds:
            raise CountermarkError(
                "config_invalid",
                f"{where} sets {name}, which is no setting.",
                next_action=f"Use one of: {', '.join(kinds)}.",
            )
        if type(value) is not kinds[name] or (isinstance(value, int) and value < 0):
            raise _wrong(where, name, "text" if kinds[name] is str else "a whole number, zero or more")
    return replace(settings, **values)


def _wrong(where: str, name: str, wanted: str) -> CountermarkError:
    return CountermarkError(
        "config_invalid", f"{where}: {name} must be {wanted}.", next_action="Correct that setting and try again."
    )
