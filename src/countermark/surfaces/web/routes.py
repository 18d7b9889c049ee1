"""The HTTP contract of scenes (seed 3 §5), and what the page needs beside it: history, restore, rename, trash, events.

Every write is the person's own: it goes through the person's way to the store, which alone may force.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from countermark.scene import compare, whole
from countermark.scene.codes import refuse
from countermark.scene.desk import Desk, Found, Wanted
from countermark.scene.dispute import CHOICES
from countermark.scene.search import MOST_HITS
from countermark.surfaces.web import answer
from countermark.surfaces.web.body import read_json
from countermark.surfaces.web.evidence import Evidence
from countermark.surfaces.web.guard import BASE
from countermark.surfaces.web.stream import Hub

API: Final = f"{BASE}/api"
_BESIDE_THE_SCENE: Final = 1 << 20
_SMALL: Final = 64 << 10
_TAG: Final = re.compile(r'(?:W/)?"([0-9a-f]{64})"')
_MOST_REVISION: Final = 2**53 - 1
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

T = TypeVar("T")


class Routes:
    """The endpoints over one desk."""

    def __init__(self, desk: Desk, hub: Hub, evidence: Evidence, about: Mapping[str, Any]) -> None:
        """Serve a desk; `about` holds what `/health` says beside the editor's own reports."""
        self._desk = desk
        self._hub = hub
        self._evidence = evidence
        self._about = about
        self._cap = desk.limits.max_scene_bytes + _BESIDE_THE_SCENE
        self._known: list[Route] = []

    def all(self, report: answer.Report) -> list[Route]:
        """Return the routes, the fallback last."""
        one = f"{API}/scenes/{{name}}"
        table = (
            ("GET", f"{API}/health", self.health),
            ("GET", f"{API}/scenes", self.listing),
            ("POST", f"{API}/scenes", self.create),
            ("GET", one, self.read),
            ("PUT", one, self.save),
            ("POST", f"{one}/rename", self.rename),
            ("POST", f"{one}/trash", self.trash),
            ("GET", f"{one}/history", self.history),
            ("GET", f"{one}/history/{{revision}}", self.version),
            ("POST", f"{one}/restore", self.restore),
            ("GET", f"{API}/library", self.library),
            ("PUT", f"{API}/library", self.put_library),
            ("GET", f"{API}/search", self.search),
            ("GET", f"{API}/trash", self.trashed),
            ("POST", f"{API}/trash/{{entry}}/restore", self.untrash),
            ("GET", f"{one}/diff", self.diff),
            ("POST", f"{one}/merge", self.merge),
            ("POST", f"{API}/editor-status", self.editor_status),
            ("GET", f"{API}/events", self.events),
        )
        wrapped = partial(answer.answering, show=answer.failed, report=report)
        self._known = [Route(path, wrapped(endpoint), methods=[method]) for method, path, endpoint in table]
        return [*self._known, Route(f"{API}/{{rest:path}}", wrapped(self.nothing), methods=[*_METHODS])]

    async def health(self, _: Request) -> Response:
        """Tell of this server, its limits, and what the editor reported."""
        now = {"readOnly": self._desk.read_only, "limits": self._desk.limits.wire(), "editor": self._evidence.wire()}
        return answer.ok({**self._about, **now})

    async def editor_status(self, request: Request) -> Response:
        """Take what the editor reports of its life."""
        self._evidence.report(await read_json(request, _SMALL))
        return answer.ok({})

    async def events(self, _: Request) -> Response:
        """Open a stream of changes."""
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(self._hub.listen(), media_type="text/event-stream", headers=headers)

    async def listing(self, _: Request) -> Response:
        """List the scenes."""
        return answer.ok({"scenes": await _work(self._desk.listing)})

    async def read(self, request: Request) -> Response:
        """Give a whole scene, or say that it is as the caller has it."""
        found = await _work(partial(self._desk.read, _name(request)))
        headers = {"etag": f'"{found.sha256}"', "cache-control": "no-cache"}
        if found.sha256 in _TAG.findall(request.headers.get("if-none-match", "")):
            return Response(status_code=304, headers=headers)
        return answer.ok_with("scene", found.facts(), found.data, headers)

    async def create(self, request: Request) -> Response:
        """Create a scene."""
        body = await read_json(request, self._cap)
        _only(body, "name", "elements", "app_state", "files", "request_id")
        made = await _work(partial(self._desk.create, body.get("name"), _parts(body), _request_id(body)))
        return answer.ok(made, 201, {"location": f"{API}/scenes/{made['name']}"})

    async def save(self, request: Request) -> Response:
        """Save a whole scene over the revision it was read at."""
        body = await read_json(request, self._cap)
        _only(body, "scene", "expected_revision", "request_id", "force")
        sent, force = body.get("scene"), body.get("force", False)
        if not isinstance(sent, dict):
            raise _unfit("/scene", "the whole document")
        if not isinstance(force, bool):
            raise _unfit("/force", "true or false")
        wanted = Wanted(
            revision=None if force and "expected_revision" not in body else _revision(body, "expected_revision"),
            sha256=_if_match(request),
            request_id=_request_id(body),
            payload=body,
            force=force,
        )
        return answer.ok(
            await _work(partial(self._desk.replace, _name(request), partial(whole.replacing, sent=sent), wanted))
        )

    async def rename(self, request: Request) -> Response:
        """Give a scene another name."""
        body = await read_json(request, _SMALL)
        _only(body, "to", "expected_revision", "request_id")
        return answer.ok(await _work(partial(self._desk.rename, _name(request), body.get("to"), _optional(body))))

    async def trash(self, request: Request) -> Response:
        """Put a scene into the trash."""
        body = await read_json(request, _SMALL)
        _only(body, "expected_revision", "request_id")
        return answer.ok(await _work(partial(self._desk.trash, _name(request), _optional(body))))

    async def trashed(self, _: Request) -> Response:
        """List what lies in the trash."""
        return answer.ok({"trashed": await _work(self._desk.trashed)})

    async def untrash(self, request: Request) -> Response:
        """Bring a scene back out of the trash, under its name or another."""
        body = await read_json(request, _SMALL)
        _only(body, "to", "request_id")
        entry = str(request.path_params["entry"])
        done = await _work(partial(self._desk.untrash, entry, body.get("to"), _request_id(body)))
        return answer.ok(done, 201, {"location": f"{API}/scenes/{done['name']}"})

    async def library(self, request: Request) -> Response:
        """Give the person's library, or say that it is as the caller has it."""
        found = await _work(self._desk.library)
        headers = {"etag": f'"{found.revision}"', "cache-control": "no-cache"}
        if headers["etag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        facts = {"revision": found.revision, "itemCount": len(found.items), "byteLength": len(found.data)}
        return answer.ok_with("library", facts, found.data, headers)

    async def put_library(self, request: Request) -> Response:
        """Save the person's library over the revision it was read at."""
        body = await read_json(request, self._cap)
        _only(body, "libraryItems", "expected_revision")
        items, expected = body.get("libraryItems"), body.get("expected_revision")
        return answer.ok(await _work(partial(self._desk.put_library, items, expected)))

    async def search(self, request: Request) -> Response:
        """Tell where a text stands in all scenes."""
        limit = request.query_params.get("limit", str(MOST_HITS))
        if not (limit.isascii() and limit.isdecimal() and 0 < int(limit[:9]) <= MOST_HITS):
            raise _unfit("/limit", f"a whole number, 1 to {MOST_HITS}")
        return answer.ok(await _work(partial(self._desk.search, request.query_params.get("q"), int(limit))))

    async def history(self, request: Request) -> Response:
        """List the revisions of a scene that are kept."""
        name = _name(request)
        return answer.ok({"name": name, "versions": await _work(partial(self._desk.history, name))})

    async def version(self, request: Request) -> Response:
        """Give an earlier revision."""
        name = _name(request)
        found = await _work(partial(self._desk.version, name, _spelled(str(request.path_params["revision"]))))
        return answer.ok_with("scene", {"name": name, **_revision_of(found)}, found.data)

    async def restore(self, request: Request) -> Response:
        """Bring an earlier revision back as the next one."""
        body = await read_json(request, _SMALL)
        _only(body, "revision", "expected_revision", "request_id")
        back = _revision(body, "revision")
        return answer.ok(await _work(partial(self._desk.restore, _name(request), back, _optional(body))))

    async def diff(self, request: Request) -> Response:
        """Say what differs between two revisions: by default between the current one and the one before."""
        name = _name(request)
        asked = [_asked_revision(request, member) for member in ("from", "to")]
        older, newer, found = await _work(partial(compare.revisions, self._desk, name, *asked))
        ends = {"from": _revision_of(older), "to": _revision_of(newer)}
        return answer.ok({"name": name, **ends, **await _work(found.wire)})

    async def merge(self, request: Request) -> Response:
        """Propose what an unsaved scene and the stored one come to; nothing is written."""
        body = await read_json(request, 2 * self._cap)
        _only(body, "scene", "base_revision", "base", "choices")
        sent, base, choices = body.get("scene"), body.get("base"), body.get("choices", {})
        if not isinstance(sent, dict):
            raise _unfit("/scene", "the whole document")
        if base is not None and not isinstance(base, dict):
            raise _unfit("/base", "the document that this began with")
        if not isinstance(choices, dict) or not all(choice in CHOICES for choice in choices.values()):
            raise _unfit("/choices", "an object of mine, theirs or both by the ids of conflicts")
        revision = _revision(body, "base_revision")
        facts, data = await _work(
            partial(compare.proposed, self._desk, _name(request), sent, revision=revision, base=base, choices=choices)
        )
        return answer.ok_with("scene", facts, data)

    async def nothing(self, request: Request) -> Response:
        """Refuse what is no route; a scene's name with a slash in it is no name."""
        path = str(request.url.path)
        if any(route.path_regex.fullmatch(path) for route in self._known):
            raise refuse(
                "invalid_operation",
                f"{request.method} is not what can be done here.",
                next_action="See the reference of the HTTP calls.",
                details={"method": request.method},
            )
        if path.startswith(f"{API}/scenes/"):
            raise refuse(
                "invalid_name",
                "This is no scene's name, or nothing that can be done with a scene.",
                next_action="Use small letters, digits, dots, dashes and underscores.",
            )
        raise refuse("not_found", "There is no such call.", next_action="See the reference of the HTTP calls.")


async def _work(call: Callable[[], T]) -> T:
    """Do what may wait for the disk or a lock outside the loop; a caller that goes away does not cut it short."""
    return await anyio.to_thread.run_sync(call)


def _name(request: Request) -> str:
    return str(request.path_params["name"])


def _only(body: Mapping[str, Any], *names: str) -> None:
    for name in body:
        if name not in names:
            raise _unfit(f"/{name[:100]}", f"one of {', '.join(names)}: there is no such member")


def _unfit(pointer: str, wanted: str) -> Exception:
    return refuse(
        "invalid_operation",
        f"{pointer} must be {wanted}.",
        next_action="Correct the request; nothing was done.",
        details={"pointer": pointer},
    )


def _revision(body: Mapping[str, Any], member: str) -> int:
    value = body.get(member)
    if type(value) is not int or not 0 <= value <= _MOST_REVISION:
        raise _unfit(f"/{member}", "a whole number, zero or more")
    return value


def _spelled(text: str, member: str = "revision") -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < len(str(_MOST_REVISION))):
        raise _unfit(f"/{member}", "a whole number")
    return int(text)


def _asked_revision(request: Request, member: str) -> int | None:
    text = request.query_params.get(member)
    return None if text is None else _spelled(text, member)


def _revision_of(found: Found) -> dict[str, Any]:
    return {"revision": found.revision, "sha256": found.sha256}


def _request_id(body: Mapping[str, Any]) -> str | None:
    value = body.get("request_id")
    if value is not None and not isinstance(value, str):
        raise _unfit("/request_id", "text")
    return value


def _optional(body: Mapping[str, Any]) -> Wanted:
    revision = _revision(body, "expected_revision") if "expected_revision" in body else None
    return Wanted(revision=revision, request_id=_request_id(body), payload=body)


def _parts(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: body[name] for name in ("elements", "app_state", "files") if name in body}


def _if_match(request: Request) -> str | None:
    given = request.headers.get("if-match")
    if given is None or given.strip() == "*":
        return None
    found = _TAG.fullmatch(given.strip())
    if found is None:
        raise _unfit("If-Match", "the entity tag that a read answered with")
    return found[1]
