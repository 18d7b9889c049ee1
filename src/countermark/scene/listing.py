"""The scenes of a folder, without parsing them where what stands beside a file still fits it; nothing is written."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.scene import document, recovery, sidecar
from countermark.scene import name as names
from countermark.scene.evidence import Summary
from countermark.scene.shelf import Shelf, fingerprint
from countermark.scene.sidecar import Record

_LINKED: Final = "This file has other names too (hard links); a save gives only this one the new content."
_KINDS: Final = {"link": "symlink", "folder": "folder", "other": "special-file"}


@dataclass
class Listing:
    """The rows of a folder; what was found out by parsing is remembered as long as the file looks the same."""

    shelf: Shelf
    _known: dict[str, tuple[tuple[int, ...], Summary]] = field(default_factory=dict)
    _beside: dict[str, tuple[tuple[int, ...], Record | None]] = field(default_factory=dict)

    def rows(self) -> list[Summary]:
        """Return one row a file, sorted by name; what cannot be opened is a row with its reason (seed 3 §4.1).

        Raises `permission_denied` when what stands beside the scenes is no folder.
        """
        self.shelf.require_kept()
        with os.scandir(self.shelf.root.fd) as found:
            shown = [one for one in found if one.name.endswith(names.SUFFIX) and not one.name.startswith(".")]
        entries = sorted(shown, key=lambda one: one.name)
        stems = {entry.name.removesuffix(names.SUFFIX) for entry in entries}
        rows: list[Summary] = []
        with suppress(FileNotFoundError):
            folder = os.open(names.KEPT, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=self.shelf.root.fd)
            try:
                return [row for entry in entries if (row := self._row(entry, stems, folder)) is not None]
            finally:
                os.close(folder)
        for entry in entries:
            row = self._row(entry, stems, None)
            if row is not None:
                rows.append(row)
        return rows

    def _row(self, entry: os.DirEntry[str], stems: set[str], folder: int | None) -> Summary | None:
        stem = entry.name.removesuffix(names.SUFFIX)
        shown = stem if stem.isprintable() else ascii(stem)
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:
            return None  # gone since the folder was read
        kind = "link" if entry.is_symlink() else "folder" if entry.is_dir(follow_symlinks=False) else "file"
        if kind == "file" and not entry.is_file(follow_symlinks=False):
            kind = "other"
        fault = names.fault(stem)
        if kind != "file" or fault:
            collides = stem != stem.lower() and stem.lower() in stems
            reason = _KINDS.get(kind) or ("case-collision" if collides else str(fault))
            return Summary(shown, valid=False, byte_length=found.st_size, reason=reason)
        row = self._scene(stem, found, folder)
        return replace(row, warning=_LINKED) if found.st_nlink > 1 else row

    def _scene(self, name: str, found: os.stat_result, folder: int | None) -> Summary:
        record = None if folder is None else self._record(name, folder)
        if record is not None and record.fingerprint == fingerprint(found):
            return _of_record(record)
        look = (*fingerprint(found), found.st_ctime_ns, 0 if record is None else record.revision)
        known = self._known.get(name)
        if known is None or known[0] != look:
            known = look, self._parsed(name, found, record)
            self._known[name] = known
        return known[1]

    def _record(self, name: str, folder: int) -> Record | None:
        file = f"{name}.meta.json"
        try:
            look = fingerprint(os.stat(file, dir_fd=folder, follow_symlinks=False))
            known = self._beside.get(name)
            if known is None or known[0] != look:
                fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
                try:
                    known = look, sidecar.parse(os.read(fd, sidecar.CAP), name)
                finally:
                    os.close(fd)
                self._beside[name] = known
        except OSError:
            return None
        return known[1]

    def _parsed(self, name: str, found: os.stat_result, beside: Record | None) -> Summary:
        at = sidecar.instant(found.st_mtime_ns // 1_000_000)
        last = 0 if beside is None else beside.revision
        row = Summary(name, valid=False, revision=last, byte_length=found.st_size, updated_at=at)
        try:
            recovery.require_exact(self.shelf, name)
            data = self.shelf.root.read(names.scene_file(name), cap=self.shelf.limits.max_scene_bytes)
            sha256 = sha256_hex(data)
            scene = document.load(data, self.shelf.limits)
            match, _ = recovery.recorded(self.shelf, name, sha256)
        except CountermarkError as error:
            reason = "unreadable" if error.code == "io_failed" else error.details.get("reason") or error.code
            with suppress(CountermarkError):  # what a person names to restore it, or to put it away
                row = replace(row, revision=recovery.last_revision(self.shelf, name))
            return replace(row, reason="too-large" if reason in ("too_large", "input_too_large") else str(reason))
        if match is not None:
            return _of_record(match)
        return replace(
            row,
            valid=True,
            sha256=sha256,
            byte_length=len(data),
            element_count=len(scene.elements),
            updated_by="recovery" if beside is not None else "import",
        )


def _of_record(record: Record) -> Summary:
    return Summary(
        record.name,
        valid=True,
        revision=record.revision,
        element_count=record.element_count,
        byte_length=record.byte_length,
        updated_at=record.updated_at,
        updated_by=record.updated_by,
        sha256=record.sha256,
    )
