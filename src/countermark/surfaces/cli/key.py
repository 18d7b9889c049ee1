"""`countermark key show | rotate | trust`: who signs here, and whose signatures count here."""

from __future__ import annotations

from pathlib import Path

import click

from countermark.kernel import beneath, key
from countermark.kernel.errors import CountermarkError
from countermark.kernel.review import UNPROVEN
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.terminal import columns, short


@command(example="key show > mybrand.pub")
def show(call: Call) -> Answer:
    """Show the public key that others verify with.

    Give it to whoever verifies your receipts, by another way than the receipts. With --json all keys are listed.
    """
    with call.open() as workspace:
        own = workspace.keys.own()
        current = workspace.keys.current_id()
        trusted = [one for one in workspace.keys.trusted() if one.name != key.OWN_NAME]
        public = workspace.keys.public(current)
    data = {
        "current": current,
        "publicKey": public,
        "own": [
            {"keyid": one.keyid, "publicKey": one.public_key, "state": one.state, "exposed": one.exposed} for one in own
        ],
        "trusted": [{"name": one.name, "keyid": one.keyid, "publicKey": one.public_key} for one in trusted],
    }
    # The key alone goes to standard output, so that it can be sent into a file; the rest is said beside it.
    if not call.json:
        rows: list[tuple[str, str, str]] = [("key", short(one.keyid), one.state) for one in own]
        rows += [("trusts", short(one.keyid), one.name) for one in trusted]
        click.echo("\n".join(columns(rows)), err=True)
    return Answer(data, public.splitlines())


@command(example="key rotate", dry_run=True)
def rotate(call: Call) -> Answer:
    """Sign with a new key from now on.

    Receipts that were signed before stay valid: the public half of the old key is kept.
    """
    with call.open() as workspace:
        before = workspace.keys.current_id()
        if call.dry_run:
            return Answer({"before": before}, [f"Would make a new key and retire {short(before)}."])
        made = workspace.keys.rotate()
        body = {"keyid": made.keyid, "before": before, "by": UNPROVEN}
        workspace.ledger.apply(lambda tx: tx.event("", "key_rotated", body))
    lines = [
        f"Key {short(made.keyid)} signs from now on; {short(before)} signs no more.",
        "Give the new public key to whoever verifies: `countermark key show`.",
        f"recorded as: {UNPROVEN}",
    ]
    return Answer({**body, "publicKey": made.public_key}, lines)


@command(example="key trust studio.pub --name 'Studio North'", dry_run=True)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Whose key it is.")
def trust(call: Call, file: Path, name: str) -> Answer:
    """Trust somebody's public key under a name.

    Make sure it is theirs: get it from them, not from the folder it signed.
    """
    text = beneath.open_argument(str(file), key.MAX_BYTES).decode("utf-8", "replace")
    wanted = key.trusted_key(text, name)
    if wanted.name == key.OWN_NAME:
        raise CountermarkError(
            "input_invalid", f"{name!r} is the name of this workspace's own keys.", next_action="Choose another name."
        )
    with call.open() as workspace:
        body = {"keyid": wanted.keyid, "name": wanted.name, "by": UNPROVEN}
        if call.dry_run:
            return Answer(body, [f"Would trust key {short(wanted.keyid)} as {name}."])
        workspace.keys.trust(text, name)
        workspace.ledger.apply(lambda tx: tx.event("", "key_trusted", body))
    return Answer(
        body, [f"Receipts signed with key {short(wanted.keyid)} count as {name}'s.", f"recorded as: {UNPROVEN}"]
    )
