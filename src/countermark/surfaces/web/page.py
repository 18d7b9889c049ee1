"""The pages that are not the editor: what is the matter, in a person's words, and the one thing to do next.

Plain HTML without a script, light or dark as the reader's system is, readable at 360 px and with a screen reader.
"""

from __future__ import annotations

from html import escape
from typing import Final, NamedTuple

from starlette.responses import HTMLResponse

from countermark.kernel.errors import CountermarkError
from countermark.scene.codes import as_scene_error
from countermark.surfaces.web import policy

_STYLE: Final = """
:root { color-scheme: light dark; --ground: #fafaf8; --ink: #1c1c1a; --soft: #5c5c57; --line: #dcdcd6; --card: #ffffff;
  --mark: #4b45a8 }
@media (prefers-color-scheme: dark) { :root { --ground: #161616; --ink: #ececea; --soft: #a9a9a3; --line: #34342f;
  --card: #1f1f1e; --mark: #a8a5ff } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.25rem; background: var(--ground);
  color: var(--ink); font: 1rem/1.55 system-ui, sans-serif }
main { max-width: 34rem; width: 100%; background: var(--card); border: 1px solid var(--line); border-radius: .75rem;
  padding: 2rem 2rem 1.5rem }
h1 { margin: 0 0 .75rem; font-size: 1.35rem; line-height: 1.3 }
p { margin: 0 0 1rem; overflow-wrap: anywhere }
pre { margin: 0 0 1rem; padding: .75rem 1rem; border: 1px solid var(--line); border-radius: .5rem; overflow-x: auto;
  font: .9rem/1.5 ui-monospace, monospace; background: var(--ground) }
a { color: var(--mark) }
footer { border-top: 1px solid var(--line); padding-top: .75rem; color: var(--soft); font-size: .85rem }
"""


class Said(NamedTuple):
    """What a page says: a heading, paragraphs, lines for the terminal, and where a link leads."""

    title: str
    paragraphs: tuple[str, ...]
    terminal: tuple[str, ...] = ()
    link: tuple[str, str] | None = None
    code: str = ""


NOT_BUILT: Final = Said(
    "The editor's page is not installed",
    (
        (
            "The scenes in this folder are safe and served: the agent's tools and `countermark scene` work. "
            "Only the drawing page is missing, because it is a package that has to be built."
        ),
        "In a checkout of Countermark, this builds and installs it; then load this page again:",
    ),
    ("make editor",),
    code="editor not built",
)

EXPIRED: Final = Said(
    "This session has ended",
    (
        (
            "The page opens only with a start address that works once. This browser has no session with the server "
            "that runs now: the server was started again, or the address was used already."
        ),
        "A fresh start address stands in the terminal where the server runs. If it does not run any more, start it:",
    ),
    ("countermark serve DIR",),
    code="no session",
)

NOT_FOUND: Final = Said(
    "There is nothing at this address",
    ("A scene's address is /s/ and its name: small letters, digits, dots, dashes and underscores.",),
    link=("/", "See all scenes"),
    code="not found",
)

WRONG_PLACE: Final = Said(
    "This address is not the server's own",
    ("It answers on its loopback address only, so that no other site can reach your scenes through a browser.",),
    code="refused",
)


def failure(error: CountermarkError) -> Said:
    """Return what a page says of an error."""
    ours = as_scene_error(error)
    if ours.code == "permission_denied":
        return EXPIRED if ours.details.get("reason") == "session" else WRONG_PLACE
    if ours.code in {"not_found", "invalid_name"}:
        return NOT_FOUND
    return Said(
        "The server could not do this",
        (ours.sentence, ours.next_action, "Your files are as they were."),
        link=("/", "See all scenes"),
        code=ours.code,
    )


def answer(said: Said, status: int) -> HTMLResponse:
    """Return a page as a response."""
    return HTMLResponse(_html(said), status, headers={"content-security-policy": policy.STATIC_PAGE})


def _html(said: Said) -> str:
    body = "".join(f"<p>{_prose(text)}</p>\n" for text in said.paragraphs)
    if said.terminal:
        body += f'<pre tabindex="0" aria-label="In the terminal">{escape(chr(10).join(said.terminal))}</pre>\n'
    if said.link is not None:
        body += f'<p><a href="{escape(said.link[0])}">{escape(said.link[1])}</a></p>\n'
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(said.title)} · Countermark</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(said.title)}</h1>\n{body}<footer>Countermark · {escape(said.code)}</footer>\n</main>\n"
        "</body>\n</html>\n"
    )


def _prose(text: str) -> str:
    """Return a sentence as HTML; what stands between backticks is code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))
