"""What a caller asks for: the plan, its inputs and its budget, as frozen values with seed 1's wire names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from countermark.kernel.canon import canonical, digest, sha256_hex


@dataclass(frozen=True, slots=True)
class InputRef:
    """One input by name, version and content digest, never by path alone (seed 1 §10).

    `version` is the revision token the caller saw; `digest` is the hexadecimal SHA-256 of the bytes in the store.
    """

    name: str
    version: str
    digest: str

    def wire(self) -> dict[str, str]:
        """Return the wire form."""
        return {"name": self.name, "version": self.version, "digest": self.digest}


@dataclass(frozen=True, slots=True)
class RuntimeIdentity:
    """What does the work: version, digest of its installed files, mode, digest of its capability snapshot."""

    name: str
    version: str
    digest: str
    mode: str = "in-process"
    capabilities: str = ""

    def wire(self) -> dict[str, str]:
        """Return the wire form."""
        return {
            "name": self.name,
            "version": self.version,
            "digest": self.digest,
            "mode": self.mode,
            "capabilities": self.capabilities,
        }

    @classmethod
    def read(cls, wire: Mapping[str, str]) -> RuntimeIdentity:
        """Return the identity of a wire form this class wrote."""
        return cls(wire["name"], wire["version"], wire["digest"], wire["mode"], wire["capabilities"])


@dataclass(frozen=True, slots=True)
class Plan:
    """One effect a caller wants, parsed once at a surface and trusted inside.

    `effect` is the word a grant must cover (`vector.write`); `operation` says which of the domain's operations it is;
    `resources` are the names written, in sorted order; `payload` is the domain's own plan, JSON values only. `budget`
    maps counter names (`attempts`, `bytes`, `seconds`, or a domain's own) to the most this plan may use. `parent` names
    the task that hands this work on. `runtime`, when given, pins the identity the plan was made for; another one at run
    time is `capability_schema_mismatch`. A deadline is no part of a plan: a repeat with a later one is the same plan.
    """

    adapter: str
    effect: str
    operation: str
    resources: tuple[str, ...]
    payload: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[InputRef, ...] = ()
    budget: Mapping[str, int] = field(default_factory=dict)
    parent: str | None = None
    runtime: RuntimeIdentity | None = None

    def wire(self) -> dict[str, Any]:
        """Return the wire form, all members present."""
        return {
            "adapter": self.adapter,
            "effect": self.effect,
            "operation": self.operation,
            "resources": list(self.resources),
            "payload": self.payload,
            "inputRefs": [ref.wire() for ref in self.inputs],
            "budget": dict(self.budget),
            "parentTask": self.parent,
            "runtimeIdentity": self.runtime.wire() if self.runtime else None,
        }

    @classmethod
    def read(cls, text: str) -> Plan:
        """Return the plan of a wire text this class wrote."""
        wire = json.loads(text)
        return cls(
            adapter=wire["adapter"],
            effect=wire["effect"],
            operation=wire["operation"],
            resources=tuple(wire["resources"]),
            payload=wire["payload"],
            inputs=tuple(InputRef(**ref) for ref in wire["inputRefs"]),
            budget=wire["budget"],
            parent=wire["parentTask"],
            runtime=RuntimeIdentity.read(wire["runtimeIdentity"]) if wire["runtimeIdentity"] else None,
        )

    def text(self) -> bytes:
        """Return the canonical bytes of the wire form."""
        return canonical(self.wire())

    def inputs_digest(self) -> str:
        """Return the digest of all inputs: names, versions and contents."""
        return digest([ref.wire() for ref in self.inputs])


def plan_digest(text: bytes) -> str:
    """Return the digest of a plan's canonical bytes: the identity that a key is bound to."""
    return sha256_hex(text)
