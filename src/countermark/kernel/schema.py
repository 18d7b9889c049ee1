"""The nine tables of the ledger, and what SQLite itself is made to refuse."""

from __future__ import annotations

from typing import Final

VERSION: Final = 1

SCHEMA: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE grants (
  id TEXT PRIMARY KEY, parent TEXT REFERENCES grants(id), lineage TEXT NOT NULL, issuer TEXT NOT NULL,
  holder TEXT NOT NULL, effects TEXT NOT NULL, resources TEXT NOT NULL, limits TEXT NOT NULL,
  acceptance TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER, revoked_at INTEGER,
  spent TEXT NOT NULL DEFAULT '{}'
) STRICT;

CREATE TABLE resources (
  name TEXT PRIMARY KEY, revision TEXT NOT NULL, epoch INTEGER NOT NULL, holder TEXT, writes INTEGER NOT NULL,
  last_task TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE tasks (
  id TEXT PRIMARY KEY, key TEXT NOT NULL, derived INTEGER NOT NULL, grant_id TEXT NOT NULL REFERENCES grants(id),
  parent TEXT, supersedes TEXT, adapter TEXT NOT NULL, effect TEXT NOT NULL, kind TEXT NOT NULL, class TEXT NOT NULL,
  plan TEXT NOT NULL, plan_digest TEXT NOT NULL, inputs_digest TEXT NOT NULL, expected TEXT NOT NULL,
  runtime TEXT NOT NULL, epoch INTEGER NOT NULL, state TEXT NOT NULL, code TEXT NOT NULL DEFAULT '',
  executed TEXT NOT NULL DEFAULT 'unknown', runner TEXT NOT NULL, deadline INTEGER, created_at INTEGER NOT NULL,
  ended_at INTEGER, swept INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX tasks_by_key ON tasks(key);
CREATE INDEX tasks_unswept ON tasks(swept) WHERE swept = 0;

CREATE TABLE attempts (
  task TEXT NOT NULL REFERENCES tasks(id), n INTEGER NOT NULL, kind TEXT NOT NULL, epoch INTEGER NOT NULL,
  intent TEXT NOT NULL, result TEXT, handle TEXT, started_at INTEGER NOT NULL, ended_at INTEGER,
  PRIMARY KEY (task, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  seq INTEGER PRIMARY KEY, task TEXT NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_task ON events(task);
CREATE TRIGGER events_are_final BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_stay BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TABLE uses (
  grant_id TEXT NOT NULL REFERENCES grants(id), task TEXT NOT NULL, attempt INTEGER NOT NULL, counter TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount >= 0), PRIMARY KEY (task, attempt, counter)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifacts (
  task TEXT NOT NULL, epoch INTEGER NOT NULL, resource TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
  size INTEGER NOT NULL, media_type TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('staged', 'published', 'orphan', 'quarantined')),
  PRIMARY KEY (task, epoch, resource, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE processes (
  task TEXT NOT NULL, epoch INTEGER NOT NULL, n INTEGER NOT NULL, identity TEXT NOT NULL, argv TEXT NOT NULL,
  ended_at INTEGER, PRIMARY KEY (task, epoch, n)
) STRICT, WITHOUT ROWID;
"""
