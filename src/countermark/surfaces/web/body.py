"""Reading what a request brings: JSON alone, and never more than the cap, whatever its length header claims."""

from __future__ import annotations

from typing import Any

import anyio
from starlette.requests import ClientDisconnect, Request

from countermark.kernel.errors import CountermarkError
from countermark.scene import jsontext
from countermark.scene.codes import refuse
from countermark.surfaces.web import patience


async def read_json(request: Request, cap: int) -> dict[str, Any]:
    """Return the object in a request's body.

    Raises `too_large` past `cap` bytes, `invalid_operation` for what is not one strict JSON object, or does not come to
    its end in time.
    """
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = parameters.strip().lower()
    if kind.strip().lower() != "application/json" or charset not in {"", "charset=utf-8"}:
        raise refuse(
            "invalid_operation",
            "The body must be JSON.",
            next_action="Send it with `Content-Type: application/json`.",
            details={"contentType": kind[:100]},
        )
    value = jsontext.unique(await _read(request, cap))
    if not isinstance(value, dict):
        raise refuse("invalid_operation", "The body must be a JSON object.", next_action="Send one object.")
    return value


async def _read(request: Request, cap: int) -> bytes:
    claimed = request.headers.get("content-length", "0")
    if claimed.isdecimal() and int(claimed) > cap:
        raise _too_large(cap)
    data = bytearray()
    try:
        with anyio.fail_after(patience.BODY_SECONDS):
            async for chunk in request.stream():
                data += chunk
                if len(data) > cap:
                    raise _too_large(cap)
    except TimeoutError as late:
        raise refuse(
            "invalid_operation",
            f"The request's body did not come to its end within {patience.BODY_SECONDS:g} s.",
            next_action="Send it again, whole.",
            details={"reason": "timeout"},
        ) from late
    except ClientDisconnect as gone:
        raise refuse(
            "invalid_operation", "The request ended before its body did.", next_action="Send it again, whole."
        ) from gone
    return bytes(data)


def _too_large(cap: int) -> CountermarkError:
    return refuse(
        "too_large",
        f"The request is longer than {cap} bytes.",
        next_action="Remove or shrink pictures, or split the scene.",
        details={"limit": cap},
    )
