"""What a picture carries: `{version, encoding, compressed, encoded}`, or a bare scene in older ones (research §1.7)."""

from __future__ import annotations

from countermark.scene import jsontext
from countermark.scene.document import KIND
from countermark.scene.exchange.inflate import broken, inflated

MEDIA_TYPE = "application/vnd.excalidraw+json"


def unpacked(text: bytes, cap: int) -> bytes:
    """Return the bytes of the document in a payload's UTF-8 text.

    Raises `invalid_scene`, and `too_large` past `cap` bytes.
    """
    value = jsontext.unique(text)
    if not isinstance(value, dict):
        raise broken("carried scene", "is no object")
    if "encoded" not in value:
        if value.get("type") != KIND:
            raise broken("carried scene", "is neither packed nor a scene")
        return text
    encoded = value["encoded"]
    if value.get("encoding") != "bstring" or not isinstance(encoded, str):
        raise broken("carried scene", "is packed in a way that is not known")
    try:
        data = encoded.encode("latin-1")
    except UnicodeEncodeError as error:
        raise broken("carried scene", "is packed in characters that are no bytes") from error
    return inflated(data, cap) if value.get("compressed") else data
