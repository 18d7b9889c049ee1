"""What an SVG is made of, element by element, read with expat: the scope in which it may be a raster (research 1.6).

Every image is named with its place, its own and its ancestors' transforms, and what its reference holds. A filter alone
is no evidence of a raster.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final
from urllib.parse import unquote_to_bytes
from xml.parsers import expat

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError, Ending, register

COUNTED: Final = ("path", "text", "image", "filter", "mask", "clipPath")
SVG_MAX: Final = 16 << 20
DATA_MAX: Final = 24 << 20
_RASTER: Final = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8"}

register(Ending.FAILED, "loss_svg_too_large")
register(Ending.FAILED, "loss_svg_image_data_too_large")
register(Ending.FAILED, "loss_svg_image_data_invalid")
register(Ending.FAILED, "loss_svg_image_signature_mismatch")

Json = dict[str, Any]


def disclosure(svg: bytes) -> Json:
    """Return counts of elements, and every image with its place; raise `loss_svg_…` for one that cannot be told."""
    if len(svg) > SVG_MAX:
        raise _refused("loss_svg_too_large", f"The SVG has {len(svg)} bytes; it is looked into up to {SVG_MAX}.")
    reader = _Reader()
    parser = expat.ParserCreate("utf-8", namespace_separator=" ")
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    try:
        parser.Parse(svg, True)  # noqa: FBT003 - expat's own signature
    except expat.ExpatError as error:
        raise _refused("artifact_invalid", f"The SVG is not well-formed: {error}.") from error
    return {
        "counts": {name: reader.counts.get(name, 0) for name in COUNTED},
        "vectorOnly": not reader.images and not reader.counts.get("foreignObject"),
        "losslessVectorClaimAllowed": False,
        "completePaintBounds": False,
        "rasterizationScope": reader.images,
    }


class _Reader:
    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.images: list[Json] = []
        self._above: list[tuple[str, str]] = []
        self._children: list[dict[str, int]] = [{}]
        self._path: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        self.counts[tag] = self.counts.get(tag, 0) + 1
        place = self._children[-1][tag] = self._children[-1].get(tag, 0) + 1
        self._path.append(f"{tag}[{place}]")
        self._children.append({})
        if tag in {"image", "feImage"}:
            self.images.append(self._image(tag, attributes))
        self._above.append((tag, attributes.get("transform", "")))

    def end(self, _name: str) -> None:
        self._above.pop()
        self._path.pop()
        self._children.pop()

    def _image(self, tag: str, attributes: dict[str, str]) -> Json:
        plain = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        reference = plain.get("href", "")
        return {
            "element": "/" + "/".join(self._path),
            "tag": tag,
            "id": plain.get("id", ""),
            "box": [plain.get(side, "") for side in ("x", "y", "width", "height")],
            "transforms": [transform for _, transform in self._above if transform] + [plain.get("transform", "")],
            "ancestors": [name for name, _ in self._above],
            "referenceSha256": sha256_hex(reference.encode("utf-8")),
            **_payload(reference),
        }


def _payload(reference: str) -> Json:
    """Return what a reference holds: media type, digest and size of its bytes, and its class."""
    if not reference.startswith("data:"):
        kind = "embedded-vector-reference" if reference.startswith("#") else "unresolved-reference"
        return {"mediaType": "", "payloadSha256": "", "bytes": 0, "class": kind}
    if len(reference) > DATA_MAX:
        raise _refused("loss_svg_image_data_too_large", f"An image's data has {len(reference)} characters.")
    head, _, body = reference[5:].partition(",")
    media = head.partition(";")[0].strip().lower()
    try:
        data = (
            base64.b64decode("".join(unquote_to_bytes(body).decode("ascii").split()), validate=True)
            if head.lower().endswith(";base64")
            else unquote_to_bytes(body)
        )
    except (binascii.Error, ValueError) as error:
        raise _refused("loss_svg_image_data_invalid", f"An image's data cannot be decoded: {error}.") from error
    if media in _RASTER and not data.startswith(_RASTER[media]):
        raise _refused("loss_svg_image_signature_mismatch", f"An image says that it is {media}, and it is not.")
    vector = "embedded-vector-reference" if media == "image/svg+xml" else "embedded-unknown"
    kind = "embedded-raster" if media in _RASTER else vector
    return {"mediaType": media, "payloadSha256": sha256_hex(data), "bytes": len(data), "class": kind}


def _refused(code: str, sentence: str) -> CountermarkError:
    return CountermarkError(code, sentence, next_action="Look at the image in the drawing, and place it again.")
