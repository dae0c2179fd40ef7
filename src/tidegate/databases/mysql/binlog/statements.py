"""What a statement in the binary log means for a table.

Facts that shape this file
 * With `binlog_format = ROW`, statements are the borders of transactions and DDL. Anything else is a statement that
   changed rows without telling which: a session may have chosen so.
 * TRUNCATE, DROP, RENAME and DDL of partitions take rows away without a row event. ALTER may fill a column of all rows.
 * CREATE TABLE changes nothing of a table that is there already; without it the table was dropped or renamed before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

_TOKEN = re.compile(
    r"""\s+|--[^\n]*(?:\n|$)|\#[^\n]*(?:\n|$)
    |/\*(?![!M])(?:[^*]|\*(?!/))*\*/          # a comment; those with ! or M are code
    |(?P<code>/\*M?!\d*|\*/)
    |`(?P<quoted>(?:[^`]|``)*)`
    |"(?P<ansi>(?:[^"\\]|""|\\.)*)"
    |'(?P<text>(?:[^'\\]|''|\\.)*)'
    |(?P<word>[\w$@\u0080-\uffff]+)
    |(?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_BORDERS = {"begin", "start", "commit", "rollback", "savepoint", "release", "xa"}
_NEUTRAL = {"grant", "revoke", "set", "flush", "analyze", "optimize", "repair", "check", "install", "uninstall"}
_NEUTRAL |= {"use", "reset", "purge", "lock", "unlock", "cache", "change", "import", "kill", "shutdown"}
_DDL = {"create", "alter", "drop", "rename", "truncate"}
_BEFORE_NAMES = {"if", "not", "exists", "table", "online", "offline", "ignore", "or", "replace", "wait", "nowait"}


class Effect(Enum):
    """What a statement does to rows."""

    NONE = "none"
    BEGIN = "begin"
    COMMIT = "commit"
    ROLLBACK = "rollback"
    PARTIAL_ROLLBACK = "partial rollback"
    XA_COMMIT = "commit of a prepared transaction"
    XA_ROLLBACK = "rollback of a prepared transaction"
    ALTER = "alter"
    """The columns of tables changed, and possibly values in all rows."""
    TRUNCATE = "truncate"
    """All rows of a table went."""
    RELOAD = "reload"
    """Rows came or went without a row event."""
    UNKNOWN = "unknown"
    """Rows changed, and nobody can tell which."""


@dataclass(frozen=True)
class Meaning:
    """The effect of a statement, and the tables that it names: pairs of schema and table. `*` is every table."""

    effect: Effect
    tables: tuple[tuple[str, str], ...] = ()
    transaction: str = ""
    """The name of an XA transaction."""


def meaning(schema: str, text: str) -> Meaning:
    """Return what a statement does. `schema` is its default database."""
    tokens = list(_tokens(text))
    words = [token.lower() for token, is_name in tokens[:4] if not is_name] + [""] * 4
    verb = words[0]
    if verb == "set" and words[1] == "statement":
        later = re.split(r"\bFOR\b", text, maxsplit=1, flags=re.IGNORECASE)
        return meaning(schema, later[1]) if len(later) > 1 else Meaning(Effect.UNKNOWN)
    if verb in _BORDERS:
        return _border(words, text)
    if verb in _DDL:
        return _ddl(schema, verb, tokens)
    return Meaning(Effect.NONE if verb in _NEUTRAL or not tokens else Effect.UNKNOWN)


def _border(words: list[str], text: str) -> Meaning:
    match words[:2]:
        case ["xa", "commit"]:
            # In one phase, the rows stand in this very transaction.
            if re.search(r"ONE\s+PHASE\s*$", text, re.IGNORECASE):
                return Meaning(Effect.COMMIT)
            return Meaning(Effect.XA_COMMIT, transaction=_xa_name(text))
        case ["xa", "rollback"]:
            return Meaning(Effect.XA_ROLLBACK, transaction=_xa_name(text))
        case ["begin" | "start", _] | ["xa", "start" | "begin"]:
            return Meaning(Effect.BEGIN)
        case ["commit", _]:
            return Meaning(Effect.COMMIT)
        case ["rollback", "to"]:
            return Meaning(Effect.PARTIAL_ROLLBACK)
        case ["rollback", _]:
            return Meaning(Effect.ROLLBACK)
    return Meaning(Effect.NONE)


def _xa_name(text: str) -> str:
    """Return the name as the server writes it: three parts, in hexadecimal digits."""
    return "".join(text.split(None, 2)[2:]).replace(" ", "").lower()


def _ddl(schema: str, verb: str, tokens: list[tuple[str, bool]]) -> Meaning:
    words = [token.lower() if not is_name else "" for token, is_name in tokens]
    what = next((word for word in words[1:8] if word in _OBJECTS), "")
    if verb == "truncate":
        return Meaning(Effect.TRUNCATE, tuple(_names(schema, tokens[1:]))[:1])
    if what in ("database", "schema"):
        gone = [token for token, is_name in tokens[2:] if is_name or token.lower() not in _BEFORE_NAMES][:1]
        return Meaning(Effect.RELOAD, tuple((name, "*") for name in gone)) if verb == "drop" else Meaning(Effect.NONE)
    if what != "table" or "temporary" in words[1:4]:
        return Meaning(Effect.NONE)
    if verb == "create":
        replaces = words[1:3] == ["or", "replace"]
        return Meaning(Effect.RELOAD, tuple(_names(schema, tokens[1:]))[:1]) if replaces else Meaning(Effect.NONE)
    if verb in ("drop", "rename"):
        return Meaning(Effect.RELOAD, tuple(_names(schema, tokens[1:])))
    return _alter(schema, tokens, words)


_OBJECTS = {"table", "tables", "database", "schema", "view", "index", "trigger", "procedure", "function", "event"}
_OBJECTS |= {"user", "role", "server", "sequence", "package", "tablespace", "logfile", "instance", "resource"}


def _alter(schema: str, tokens: list[tuple[str, bool]], words: list[str]) -> Meaning:
    named = list(_names(schema, tokens[1:]))[:1]
    for place, word in enumerate(words):
        follows = words[place + 1] if place + 1 < len(words) else ""
        if word == "rename" and follows not in ("column", "index", "key", "constraint"):
            named += list(_names(schema, tokens[place + (2 if follows in ("to", "as") else 1) :]))[:1]
        if word == "with" and follows == "table":
            named += list(_names(schema, tokens[place + 2 :]))[:1]
    if len(named) > 1 or {"partition", "partitioning", "tablespace"} & set(words):
        return Meaning(Effect.RELOAD, tuple(named))
    return Meaning(Effect.NONE) if _is_harmless(words) else Meaning(Effect.ALTER, tuple(named))


_INDEX_WORDS = {"index", "key", "unique", "primary", "fulltext", "spatial", "constraint", "foreign", "check"}
_CHANGES_COLUMNS = {"column", "modify", "change", "convert", "order", "period", "versioning"}


def _is_harmless(words: list[str]) -> bool:
    """Return whether an ALTER leaves columns and values alone: it adds or drops indexes and constraints."""
    added = [follows for word, follows in pairwise(words) if word in ("add", "drop")]
    return bool(added) and not _CHANGES_COLUMNS & set(words) and all(word in _INDEX_WORDS for word in added)


def _names(schema: str, tokens: list[tuple[str, bool]]) -> Iterator[tuple[str, str]]:
    """Yield the names of tables of a list: with or without a schema, after words that may come before."""
    parts: list[str] = []
    after_dot = False
    for token, is_name in tokens:
        if not is_name and not parts and token.lower() in _BEFORE_NAMES:
            continue
        if not is_name and token == ".":
            after_dot = True
        elif not is_name and (token == "," or token.lower() in ("to", "restrict", "cascade")):
            if parts:
                yield _pair(schema, parts)
            parts = []
        elif after_dot or not parts:
            parts.append(token)
            after_dot = False
        else:
            break
    if parts:
        yield _pair(schema, parts)


def _pair(schema: str, parts: list[str]) -> tuple[str, str]:
    return (parts[0], parts[1]) if len(parts) > 1 else (schema, parts[0])


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the words and marks of a statement, and whether each is a quoted name. Comments and texts are left out."""
    for found in _TOKEN.finditer(text):
        if found["quoted"] is not None:
            yield found["quoted"].replace("``", "`"), True
        elif found["ansi"] is not None:
            yield found["ansi"].replace('""', '"'), True
        elif found["word"] is not None:
            yield found["word"], False
        elif found["mark"] is not None:
            yield found["mark"], False
