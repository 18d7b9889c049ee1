"""A fake of the scene server's HTTP interface: enough of it to drive the page, with faults that a test can ask for.

It keeps scenes as files in a folder and revisions in memory. It fences, answers a request id twice, streams events and
sends the real content policy; it has no locks, no recovery and no sessions. Tests of the whole use the real server.
"""

from __future__ import annotations

import hashlib
import json
import queue
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

API: Final = "/dsh-excalidraw/api"
ASSETS: Final = "/dsh-excalidraw/assets/"
TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".woff2": "font/woff2", ".json": "application/json"}
POLICY: Final = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; worker-src 'self' blob:; "
    "media-src 'none'; manifest-src 'self'; frame-src 'none'; frame-ancestors 'none'; object-src 'none'; "
    "base-uri 'none'; form-action 'none'"
)
WORKER_POLICY: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-eval' 'wasm-unsafe-eval'; connect-src 'self' data: blob:"
)


@dataclass
class Version:
    """One kept revision."""

    revision: int
    data: bytes
    by: str
    at: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def scene(self) -> Any:
        return json.loads(self.data)


@dataclass
class FakeServer:
    """The fake; `write` is what an agent would do through another process."""

    folder: Path
    dist: Path
    latin: Path
    port: int = 0
    scenes: dict[str, list[Version]] = field(default_factory=dict)
    requests: dict[str, Version] = field(default_factory=dict)
    # What lies in the trash, by its id there.
    trash: dict[str, tuple[str, list[Version]]] = field(default_factory=dict)
    hearers: list[queue.Queue[tuple[str, dict[str, Any]]]] = field(default_factory=list)
    reports: list[dict[str, Any]] = field(default_factory=list)
    library: list[dict[str, Any]] = field(default_factory=list)
    puts: list[dict[str, Any]] = field(default_factory=list)
    # Faults: (status, code) for every PUT; lose the answers of PUTs that were carried out; no session.
    refuse: tuple[int, str] | None = None
    mute: bool = False
    expired: bool = False
    read_only: bool = False
    server: ThreadingHTTPServer | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def write(self, name: str, scene: Any, by: str = "agent") -> Version:
        with self.lock:
            versions = self.scenes.setdefault(name, [])
            data = json.dumps(scene, indent=2).encode()
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            made = Version(len(versions) + 1, data, by, at)
            versions.append(made)
            (self.folder / f"{name}.excalidraw").write_bytes(data)
            self.tell(
                "scene",
                {"name": name, "change": "changed", "revision": made.revision, "sha256": made.sha256, "updatedBy": by},
            )
            return made

    def tell(self, event: str, data: dict[str, Any]) -> None:
        for hearer in list(self.hearers):
            hearer.put((event, data))

    def remove(self, name: str, to: str | None = None) -> None:
        with self.lock:
            del self.scenes[name]
            (self.folder / f"{name}.excalidraw").unlink()
        change = {"name": name, "change": "removed", "revision": None, "sha256": None}
        self.tell("scene", {**change, **({"to": to} if to else {})})

    @property
    def shelf(self) -> str:
        """The library's revision."""
        return hashlib.sha256(json.dumps(self.library).encode()).hexdigest() if self.library else "absent"

    def start(self) -> None:
        fake = self

        class Handler(_Handler):
            state = fake

        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        if self.server is None:
            return
        self.tell("stop", {})
        self.server.shutdown()
        self.server.server_close()
        self.server = None


class _Handler(BaseHTTPRequestHandler):
    state: FakeServer
    protocol_version = "HTTP/1.1"

    def parse_request(self) -> bool:
        # Connections that browsers keep open outlive the listening socket; a stopped server answers on none.
        if self.state.server is None:
            self.close_connection = True
            return False
        return super().parse_request()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        del format, args

    def send(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def answer(self, body: dict[str, Any], status: int = 200) -> None:
        self.send(status, json.dumps({"ok": True, **body}).encode(), "application/json")

    def fail(self, status: int, code: str, **details: Any) -> None:
        error = {"code": code, "message": f"The fake says {code}.", "details": details}
        self.send(status, json.dumps({"error": error}).encode(), "application/json")

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if path.startswith(ASSETS):
            self.asset(path.removeprefix(ASSETS))
        elif path.startswith(API):
            if self.state.expired:
                self.fail(403, "permission_denied", reason="session")
            else:
                self.api_get(path.removeprefix(API))
        elif path == "/favicon.ico":
            self.send(200, b"", "image/x-icon")
        else:
            nonce = secrets.token_urlsafe(12)
            page = (self.state.dist / "index.html").read_text().replace("__COUNTERMARK_NONCE__", nonce)
            policy = POLICY.format(nonce=nonce)
            self.send(200, page.encode(), "text/html; charset=utf-8", {"Content-Security-Policy": policy})

    def asset(self, path: str) -> None:
        file = self.state.dist / path
        if path.startswith("fonts/") and not file.is_file():
            file = self.state.latin / path.removeprefix("fonts/")
        if not file.is_file():
            self.fail(404, "not_found")
            return
        headers = {"Content-Security-Policy": WORKER_POLICY} if path.startswith("worker/") else {}
        self.send(200, file.read_bytes(), TYPES.get(file.suffix, "application/octet-stream"), headers)

    def summary(self, name: str) -> dict[str, Any]:
        made = self.state.scenes[name][-1]
        live = [element for element in made.scene["elements"] if not element.get("isDeleted")]
        return {
            "name": name,
            "revision": made.revision,
            "elementCount": len(live),
            "byteLength": len(made.data),
            "updatedAt": made.at,
            "updatedBy": made.by,
            "sha256": made.sha256,
            "valid": True,
        }

    def api_get(self, path: str) -> None:
        state = self.state
        parts = path.strip("/").split("/")
        if path == "/health":
            facts = {"drawingsDir": str(state.folder), "readOnly": state.read_only, "server": "fake", "version": "0"}
            self.answer({**facts, "editor": {"events": state.reports}})
        elif path == "/events":
            self.events()
        elif path == "/scenes":
            with state.lock:
                self.answer({"scenes": [self.summary(name) for name in sorted(state.scenes)]})
        elif path == "/search":
            self.answer({"hits": self.hits(parse_qs(urlsplit(self.path).query)["q"][0].lower()), "complete": True})
        elif path == "/library":
            self.answer({"revision": state.shelf, "library": {"libraryItems": state.library}})
        elif path == "/trash":
            self.answer({"trashed": self.lying()})
        elif len(parts) < 2 or parts[1] not in state.scenes:
            self.fail(404, "not_found")
        elif len(parts) == 2:
            made = state.scenes[parts[1]][-1]
            self.answer({**self.summary(parts[1]), "scene": made.scene})
        elif len(parts) == 3:
            versions = state.scenes[parts[1]]
            rows = [
                {
                    "revision": version.revision,
                    "sha256": version.sha256,
                    "byteLength": len(version.data),
                    "elementCount": len(version.scene["elements"]),
                    "savedAt": version.at,
                    "savedBy": version.by,
                    "current": version is versions[-1],
                }
                for version in reversed(versions)
            ]
            self.answer({"name": parts[1], "versions": rows})
        else:
            made = state.scenes[parts[1]][int(parts[3]) - 1]
            self.answer({"name": parts[1], "revision": made.revision, "sha256": made.sha256, "scene": made.scene})

    def hits(self, wanted: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for name, versions in sorted(self.state.scenes.items()):
            if wanted in name:
                before, _, after = name.partition(wanted)
                found.append({"scene": name, "where": "name", "before": before, "match": wanted, "after": after})
            for element in versions[-1].scene["elements"]:
                text = element.get("text", "")
                at = text.lower().find(wanted)
                if at >= 0:
                    end = at + len(wanted)
                    parts = {"before": text[:at], "match": text[at:end], "after": text[end:]}
                    found.append({"scene": name, "where": "text", "element": element["id"], **parts})
        return found

    def proposal(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Put together what touched different elements; of what both touched the stored one stays."""
        versions = self.state.scenes[name]
        old, mine, now = (
            {one["id"]: one for one in made["elements"]}
            for made in (versions[body["base_revision"] - 1].scene, body["scene"], versions[-1].scene)
        )
        both = [key for key in mine if mine[key] != old.get(key) != now.get(key) != mine[key]]
        whole = {**now, **{key: one for key, one in mine.items() if one != old.get(key) and key not in both}}
        sides = {"mine": ["was changed"], "theirs": ["was changed"], "choices": ["mine", "theirs"], "chosen": None}
        conflicts = [{"id": key, "name": key, **sides} for key in both]
        scene = {**versions[-1].scene, "elements": list(whole.values())}
        facts = {"revision": versions[-1].revision, "sha256": versions[-1].sha256, "clean": not both}
        return {**facts, "settled": not both, "conflicts": conflicts, "notes": [], "scene": scene}

    def lying(self) -> list[dict[str, Any]]:
        state = self.state
        return [
            {
                "id": identifier,
                "name": name,
                "revision": versions[-1].revision,
                "sha256": versions[-1].sha256,
                "byteLength": len(versions[-1].data),
                "elementCount": len(versions[-1].scene["elements"]),
                "trashedAt": versions[-1].at,
                "trashedBy": "ui",
                "nameFree": name not in state.scenes,
            }
            for identifier, (name, versions) in reversed(state.trash.items())
        ]

    def events(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        hearer: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        with self.state.lock:
            rows = [self.summary(name) for name in self.state.scenes]
            self.state.hearers.append(hearer)
        try:
            self.event("hello", {"server": "fake", "scenes": rows})
            while True:
                event, data = hearer.get()
                if event == "stop":
                    self.event("bye", {})
                    return
                self.event(event, data)
        except OSError:
            return
        finally:
            self.state.hearers.remove(hearer)
            self.close_connection = True

    def event(self, name: str, data: dict[str, Any]) -> None:
        self.wfile.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def body(self) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
        return made

    def evidence(self, made: Version, name: str, *, duplicate: bool = False) -> dict[str, Any]:
        summary = self.summary(name)
        return {**summary, "revision": made.revision, "sha256": made.sha256, "verified": True, "duplicate": duplicate}

    def do_POST(self) -> None:
        state = self.state
        body = self.body()
        parts = unquote(self.path.removeprefix(API)).strip("/").split("/")
        if parts == ["editor-status"]:
            state.reports.append(body)
            self.answer({})
        elif state.expired:
            self.fail(403, "permission_denied", reason="session")
        elif parts == ["scenes"]:
            self.create(body["name"], body["elements"])
        elif parts[0] == "trash":
            self.untrash(parts[1], body)
        elif parts[2] == "merge":
            self.answer(self.proposal(parts[1], body))
        elif parts[2] == "restore":
            old = state.scenes[parts[1]][body["revision"] - 1]
            self.answer(self.evidence(state.write(parts[1], old.scene, "restore"), parts[1]))
        elif parts[2] == "trash":
            state.trash[f"{parts[1]}.t-{len(state.trash)}"] = (parts[1], state.scenes[parts[1]])
            state.remove(parts[1])
            self.answer({"name": parts[1], "trashed": True})
        else:
            scene = state.scenes[parts[1]][-1].scene
            state.remove(parts[1], body["to"])
            state.write(body["to"], scene, "ui")
            self.answer({"name": body["to"]})

    def create(self, name: str, elements: list[dict[str, Any]]) -> None:
        # As the real one: a tool's input is strict, and an element as the editor writes it is none.
        if any("versionNonce" in element for element in elements):
            self.fail(422, "invalid_scene")
            return
        if name in self.state.scenes:
            self.fail(409, "already_exists")
            return
        scene = {"type": "excalidraw", "version": 2, "elements": elements, "appState": {}, "files": {}}
        self.answer(self.evidence(self.state.write(name, scene, "ui"), name), 201)

    def untrash(self, entry: str, body: dict[str, Any]) -> None:
        state = self.state
        name, versions = state.trash[entry]
        name = body.get("to", name)
        if name in state.scenes:
            self.fail(409, "already_exists")
            return
        del state.trash[entry]
        state.scenes[name] = versions
        self.answer(self.evidence(state.write(name, versions[-1].scene, "ui"), name), 201)

    def do_PUT(self) -> None:
        body = self.body()
        if self.path == f"{API}/library":
            self.put_library(body)
        else:
            self.put_scene(unquote(self.path.removeprefix(f"{API}/scenes/")), body)

    def put_library(self, body: dict[str, Any]) -> None:
        if body["expected_revision"] != self.state.shelf:
            self.fail(409, "revision_conflict", currentRevision=self.state.shelf)
            return
        self.state.library = body["libraryItems"]
        self.answer({"revision": self.state.shelf})

    def put_scene(self, name: str, body: dict[str, Any]) -> None:
        state = self.state
        with state.lock:
            state.puts.append(body)
            if state.expired:
                self.fail(403, "permission_denied", reason="session")
                return
            if state.refuse is not None:
                self.fail(*state.refuse)
                return
            if name not in state.scenes:
                self.fail(404, "not_found")
                return
            if body["request_id"] in state.requests:
                self.answer(self.evidence(state.requests[body["request_id"]], name, duplicate=True))
                return
            current = state.scenes[name][-1]
            if body["expected_revision"] != current.revision and not body.get("force"):
                self.fail(409, "revision_conflict", currentRevision=current.revision, currentSha256=current.sha256)
                return
            scene = {**current.scene, **body["scene"]}
            scene["files"] = {**current.scene.get("files", {}), **body["scene"].get("files", {})}
            made = state.write(name, scene, "ui")
            state.requests[body["request_id"]] = made
            if state.mute:
                # Cut off in the middle: a connection that ends without a byte the browser would try again by itself.
                self.close_connection = True
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "4000")
                self.end_headers()
                self.wfile.write(b'{"ok": true')
                return
            self.answer(self.evidence(made, name))


@contextmanager
def running(folder: Path, dist: Path, latin: Path, port: int = 0) -> Iterator[FakeServer]:
    """Serve until the block ends."""
    fake = FakeServer(folder, dist, latin, port)
    fake.start()
    try:
        yield fake
    finally:
        fake.stop()
