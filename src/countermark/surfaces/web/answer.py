"""How the server answers: JSON of the domain's own words, and every error in the seed's one form (seed 3 §5, §6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from countermark.kernel.errors import CountermarkError
from countermark.scene.codes import as_scene_error, as_seed, refuse

JSON: Final = "application/json"

Endpoint = Callable[[Request], Awaitable[Response]]
Report = Callable[[Exception], None]


def ok(data: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a successful answer."""
    return Response(orjson.dumps({"ok": True, **data}), status, headers, JSON)


def ok_with(
    member: str, data: Mapping[str, Any], document: bytes, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a successful answer with a document spliced in byte for byte, as its last member."""
    head = orjson.dumps({"ok": True, **data})
    return Response(head[:-1] + b',"%s":' % member.encode() + document + b"}", 200, headers, JSON)


def failed(error: CountermarkError) -> Response:
    """Return the answer to a refusal or failure, with the status of its code."""
    ours = as_scene_error(error)
    return Response(orjson.dumps({"error": as_seed(ours)}), ours.status, None, JSON)


def defect() -> CountermarkError:
    """Return what a caller is told of an error that is ours."""
    return refuse(
        "io_error",
        "Countermark itself is at fault; what was done before stands.",
        next_action="Look at the scene again; the trace is in the log that the terminal names.",
        details={"reason": "defect"},
    )


def answering(endpoint: Endpoint, show: Callable[[CountermarkError], Response], report: Report) -> Endpoint:
    """Return an endpoint whose errors are answers; a defect is reported and told as one."""

    @wraps(endpoint)
    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except CountermarkError as error:
            return show(error)
        except Exception as error:  # noqa: BLE001 - the one place where a defect becomes an answer
            report(error)
            return show(defect())

    return answered
