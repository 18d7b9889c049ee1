"""What a browser may do with what we answer: one content policy for each kind of answer.

The page runs its own scripts and the one inline script that names the asset path; nothing frames it, nothing is framed
by it, and nothing is fetched from elsewhere. `'wasm-unsafe-eval'` is for the font subsetting of an image export; only
the worker that does it may also evaluate text, under a policy of its own.
"""

from __future__ import annotations

from typing import Final

_PAGE: Final = (
    "default-src 'none'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self' data: blob:",
    "worker-src 'self' blob:",
    "manifest-src 'self'",
    "media-src 'none'",
    "frame-src 'none'",
    "frame-ancestors 'none'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
)

DATA: Final = "default-src 'none'; frame-ancestors 'none'; sandbox"
"""For what is never a document of ours: JSON, styles, fonts, pictures. An SVG opened by itself stays a dead picture."""

WORKER: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-eval' 'wasm-unsafe-eval'; connect-src 'self' data: blob:; "
    "frame-ancestors 'none'"
)
"""For the worker that subsets fonts, and nothing else."""

STATIC_PAGE: Final = "; ".join((*_PAGE, "script-src 'none'"))
"""For pages without any script."""

ALWAYS: Final = (
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
)
"""On every answer."""


def page(nonce: str) -> str:
    """Return the policy of the editor's page, whose one inline script bears the nonce."""
    return "; ".join((*_PAGE, f"script-src 'self' 'wasm-unsafe-eval' 'nonce-{nonce}'"))
