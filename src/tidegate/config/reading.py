"""Read `tidegate.yml`, or a mapping, into a `Project`. All errors are collected, and each names its line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from tidegate import plugins
from tidegate.config.document import At, Document, Problem, composed, dotted, named, text_of
from tidegate.config.engine import with_engine
from tidegate.config.kinds import KINDS
from tidegate.config.open_tables import AUTO, OpenTables, Pattern, is_pattern, matches, spellings, target_of
from tidegate.config.project import Project
from tidegate.config.secrets import Variables, refusal
from tidegate.config.snapshots import SnapshotSettings
from tidegate.config.stored import STORED, stored_tables
from tidegate.config.tables import ConfiguredTable, setting_names, table_model
from tidegate.config.urls import parse_connection
from tidegate.errors import ConfigError, TidegateError, Unsupported
from tidegate.model.connection import Connection
from tidegate.settings import Settings

Model = TypeVar("Model", bound=Settings)

# How many problems one error lists.
_LISTED = 5
# Former names of settings of a table, with their name now.
_RENAMED = {
    "mark_column": "cursor_column",
    "latest_value": "current_value",
    "outside": "ignore_columns",
    "versions": "history",
}
# Values that were renamed together with their setting.
_RENAMED_VALUES = {"versions: made": "history: generate", "versions: source": "history: source"}
# What a setting must be, by the name that pydantic gives the error.
_WORDS = {
    "missing": "is missing",
    "string_type": "must be a text; numbers, true and false need quotes",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
    "greater_than_equal": "must be {ge:g} or more",
    "less_than_equal": "must be {le:g} or less",
    "literal_error": "must be {expected}",
    "tuple_type": "must be a list, as in [a, b]",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a number",
    "dict_type": "must be a mapping, as in {{name: value}}",
    "model_type": "must be a mapping, as in {{setting: value}}",
    "mapping_type": "must be a mapping, as in {{name: value}}",
}


def load_project(
    path: Path, environ: Mapping[str, str] | None = None, engine: str | Mapping[str, Any] | None = None
) -> Project:
    """Return the project that a YAML file describes. Raises ConfigError or Unsupported with `file:line`. `engine`
    replaces what the file says of it."""
    node, document = composed(text_of(path), path), Document()
    raw = document.value(node) if node else None
    if not isinstance(raw, Mapping):
        found = "holds a single value or a list, not settings" if node else "is empty"
        raise refusal(f"{path}:1: the file {found}.", "Run `tidegate init`, or begin with `source: ...`.")
    if engine is not None:
        raw = with_engine(raw, engine)
    variables = Variables(os.environ if environ is None else environ, path.parent)
    return Build(raw, variables, str(path), document.lines, document.problems).project()


def build_project(settings: Any, folder: Path, environ: Mapping[str, str] | None = None) -> Project:
    """Return the project that a mapping describes. Errors name the setting, and no line."""
    if not isinstance(settings, Mapping):
        raise refusal("The settings are not a mapping.", "Give source, target, lake and tables.")
    return Build(settings, Variables(os.environ if environ is None else environ, folder)).project()


@dataclass
class Build:
    """Builds the project in one pass over the settings. Problems are collected, and raised together at the end."""

    raw: Mapping[str, Any] = field(repr=False)  # it may hold passwords
    variables: Variables = field(repr=False)
    label: str = ""
    lines: Mapping[At, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    databases: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    """By side: what returns the database to connect to, instead of the one that its URL names."""
    has_wrong_tables: bool = False
    """A table has a problem of its own, so that `tables` without it needs no further one."""
    written: dict[str, Any] = field(default_factory=dict, repr=False)
    """The tables as they are written, by name."""
    patterns: tuple[Pattern, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    default_schema: str = ""
    schema_map: Mapping[str, str] = field(default_factory=dict)

    def project(self) -> Project:
        """Return the project. Raises one error for all problems."""
        sides = {side: self._connection(side) for side in ("source", "target")}
        rest = {str(key): value for key, value in self.raw.items() if key not in sides}
        settings = self._expanded(rest, ())
        for key in settings.keys() & Project.filled_in:
            self._unknown((key,), Project.setting_names())
        source = sides["source"]
        self.default_schema = plugins.database(source).default_schema if source is not None else ""
        tables, open_tables = self._tables(settings)
        given = {**settings, **sides, "open_tables": open_tables, "tables": tables}
        if isinstance(given.get("snapshots"), Mapping):
            given["snapshots"] = self._snapshots(given["snapshots"])
        project = self._validated(Project, given, ())
        if project is None or self.problems:
            raise self._failure()
        return project

    def only_tables(self) -> dict[str, ConfiguredTable]:
        """Return the tables alone. Raises one error for all problems."""
        tables, open_tables = self._tables(self._expanded(self.raw, ()))
        if open_tables is not None:
            first = next(iter((*open_tables.named, *(pattern.text for pattern in open_tables.patterns))))
            self._collect(("tables", first), "is a pattern, or has no kind", "Name each table here, with its `kind`.")
        if self.problems:
            raise self._failure()
        assert isinstance(tables, dict)
        return tables

    def _connection(self, *at: str) -> Connection | None:
        given = _find(self.raw, at)
        if given is None or isinstance(given, Connection):
            return given
        if not isinstance(given, str):
            self._collect(at, "must be a URL or a `key=value` text", "Write a URL.")
            return None
        try:
            return parse_connection(given, self.variables, dotted(at), self.databases.get(dotted(at)))
        except TidegateError as refused:
            self._pass_on(at, refused)
            return None

    def _snapshots(self, settings: Mapping[str, Any]) -> SnapshotSettings | None:
        places = {name: self._connection("snapshots", name) for name in ("database", "archive") if name in settings}
        named = {name: place for name, place in places.items() if place is not None}
        rest = {name: value for name, value in settings.items() if name not in places}
        return self._validated(SnapshotSettings, {**rest, **named}, ("snapshots",))

    def _expanded(self, value: Any, at: At) -> Any:
        """Return the value with every `${...}` replaced; None where that is a problem, which is then collected."""
        if isinstance(value, Mapping):
            return {str(key): self._expanded(inner, (*at, str(key))) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._expanded(inner, (*at, position)) for position, inner in enumerate(value)]
        try:
            return self.variables.expand(value, dotted(at)) if isinstance(value, str) else value
        except TidegateError as refused:
            self._pass_on(at, refused)
            return None

    def _tables(self, settings: Mapping[str, Any]) -> tuple[Any, OpenTables | None]:
        """Return the tables that are complete, and what the catalog has to complete."""
        given = settings.get("tables")
        target = self._connection("target") if given == STORED else None
        if target is not None:
            try:
                given = stored_tables(target)
            except TidegateError as refused:
                self._pass_on(("tables",), refused)
                return None, None
        if not isinstance(given, Mapping):
            return given, None
        self.defaults = self._defaults(settings)
        schema_map = settings.get("schema_map")
        self.schema_map = schema_map if isinstance(schema_map, Mapping) else {}
        self.patterns = tuple(self._pattern(name, own) for name, own in given.items() if is_pattern(name))
        self.written = {name: {} if own is None else own for name, own in given.items() if not is_pattern(name)}
        left_out = {name for name, own in self.written.items() if own is False}
        named = tuple(name for name in self.written if name not in left_out and self._is_open(name))
        tables = {name: self._table(name) for name in self.written if name not in left_out and name not in named}
        self.has_wrong_tables = None in tables.values()
        complete = {name: table for name, table in tables.items() if table is not None}
        if not named and not self.patterns:
            return complete, None
        return complete, OpenTables(
            self.patterns,
            named,
            tuple(self.written),
            self.default_schema,
            self._kinds,
            lambda name: self._given(name).get("source_table"),
            self._target,
            self.completed,
        )

    def _pattern(self, text: str, own: Any) -> Pattern:
        if own is not None and own is not False and not isinstance(own, Mapping):
            self._collect(("tables", text), "must be a mapping, or `false`", "Write {...} with settings, or `false`.")
        settings = None if own is False else own if isinstance(own, Mapping) else {}
        self._require_known(settings or {}, ("tables", text), setting_names() - {"source_table"})
        return Pattern(text, settings)

    def _is_open(self, name: str) -> bool:
        """Return whether the catalog has to decide the kind. Settings that no kind has are a problem already now."""
        given = self._given(name)
        if not isinstance(self.written.get(name, {}), Mapping) or given.get("kind") not in (None, AUTO):
            return False
        self._require_known(self.written.get(name, {}), ("tables", name), setting_names())
        return True

    def _require_known(self, settings: Mapping[str, Any], at: At, known: set[str]) -> None:
        for key in settings.keys() - known:
            self._unknown((*at, key), sorted(known))

    def _given(self, name: str) -> dict[str, Any]:
        """Return all that is written for a table: defaults, then patterns in their order, then its own settings."""
        texts = spellings(name, self.default_schema)
        own = self.written.get(name, {})
        given = dict(self.defaults)
        for pattern in self.patterns:
            given |= (pattern.settings or {}) if matches(pattern.text, texts) else {}
        return given | (dict(own) if isinstance(own, Mapping) else {})

    def _target(self, name: str) -> object:
        return target_of(name, self._given(name).get("target_table"), self.schema_map, self.default_schema)

    def _kinds(self, name: str) -> list[str]:
        """Return the kinds whose models have every setting that is written for a table itself."""
        own, found = self.written.get(name, {}), []
        for kind, preset in KINDS.items():
            with suppress(Unsupported):
                model = table_model(kind, own.get("changes"), preset.load_for(own))
                found += [kind] if own.keys() <= {*model.setting_names()} else []
        return found

    def completed(self, name: str, decided: Mapping[str, Any]) -> ConfiguredTable:
        """Return a table with what was decided for it. Raises ConfigError or Unsupported."""
        self.problems = []
        table = self._table(name, decided)
        if table is None:
            raise self._failure()
        return table

    def _defaults(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that every table starts from: the project's batch sizes, then `defaults`."""
        batches = {name: settings[name] for name in ("batch_rows", "batch_bytes") if name in settings}
        given = settings.get("defaults")
        if not isinstance(given, Mapping):
            return batches
        self._require_known(given, ("defaults",), setting_names() - {"source_table"})
        return {**batches, **given}

    def _table(self, name: str, decided: Mapping[str, Any] | None = None) -> ConfiguredTable | None:
        at, own = ("tables", name), self.written.get(name, {})
        if isinstance(own, ConfiguredTable):
            return own
        if not isinstance(own, Mapping):
            self._collect(at, "must be a mapping", "Write {kind: partition, ...}.")
            return None
        given = {**(decided or {}), **self._given(name), "target_table": self._target(name)}
        if given.get("kind") in (None, AUTO) and decided is not None:
            given["kind"] = decided.get("kind")
        model = self._model(given, at)
        if model is None:
            return None
        names = model.setting_names()
        for key in own.keys() & model.filled_in:
            self._unknown((*at, key), names)
        fitting = {key: value for key, value in given.items() if key in own or key in names}
        if decided is not None:
            fitting["decided"] = json.dumps(decided)
        return self._validated(model, {**fitting, "name": name}, at)

    def _model(self, given: Mapping[str, Any], at: At) -> type[ConfiguredTable] | None:
        """Return the model of a table: that of its kind, its change and its load."""
        kind, known, place = given.get("kind"), ", ".join(KINDS), (*at, "kind")
        if kind is None:
            self._collect(place, "is missing", f"Add `kind`, one of: {known}.")
        elif str(kind) not in KINDS:
            self._collect(place, f"is `{kind}`, which is no kind", f"Write one of: {known}.")
        else:
            try:
                return table_model(str(kind), given.get("changes"), KINDS[str(kind)].load_for(given))
            except Unsupported as refused:
                is_known = plugins.is_installed("changes", given.get("changes") or KINDS[str(kind)].change)
                self._pass_on((*at, "load" if is_known and "load" in given else "changes"), refused)
        return None

    def _validated(self, model: type[Model], given: Mapping[str, Any], at: At) -> Model | None:
        try:
            return model.model_validate(given, context={"folder": self.variables.folder})
        except ValidationError as failure:
            errors = failure.errors(include_url=False)
        # A misspelt key is one problem: the key that was meant is not missing as well.
        meant: set[At] = set()
        for error in sorted(errors, key=lambda error: error["type"] != "extra_forbidden"):
            where = (*at, *error["loc"])
            if error["type"] == "extra_forbidden":
                names = _model_at(model, error["loc"][:-1]).setting_names()
                meant.add((*where[:-1], self._unknown(where, names)))
            elif where not in meant and not (self.has_wrong_tables and where == ("tables",)):
                self._wrong(self._origin(where), error)
        return None

    def _unknown(self, at: At, names: list[str]) -> str:
        """Collect the problem of a key that is no setting. Return the setting that was probably meant, or ""."""
        renamed = _RENAMED.get(str(at[-1]), "")
        if renamed in names:
            before, now = self._renamed(at, renamed)
            self._report(Problem(at, f"`{before}` is now called `{now}`.", "Rename it."))
            return renamed
        nearest = nearest_name(str(at[-1]), names)
        place = dotted(at[:-1]) or "the project"
        question = f"Did you mean `{nearest}`?" if nearest else "Take it out."
        aside = f"Settings here: {', '.join(names)}."
        self._report(Problem(at, f"`{at[-1]}` is not a setting of {place}.", question, aside))
        return nearest

    def _renamed(self, at: At, renamed: str) -> tuple[str, str]:
        """Return the old and the new name of a setting, each with its value where the value was renamed too."""
        written = f"{at[-1]}: {_find(self.raw, at)}"
        return (written, _RENAMED_VALUES[written]) if written in _RENAMED_VALUES else (str(at[-1]), renamed)

    def _wrong(self, at: At, error: Any) -> None:
        """Collect the problem of a setting with a wrong type or size. Errors from `wrong` have their own words."""
        kind, context = error["type"], error.get("ctx", {})
        # Only our own words are a template: others may speak of `{target: 3}`.
        words = (_WORDS[kind].format(**context) if kind in _WORDS else error["msg"]).replace("'", "`")
        remedy = f"Add `{at[-1]}`." if kind == "missing" else "Correct the value."
        written = "" if kind in ("missing", "unsupported") else self._written(at)
        happened = context.get("words", words) + written
        unsupported = Unsupported if kind == "unsupported" else ConfigError
        self._collect(at, happened, context.get("remedy", remedy), unsupported)

    def _origin(self, at: At) -> At:
        """Return where a table's setting was written: in the table, in `defaults`, in the project, or as its key."""
        if len(at) < 3 or at[0] != "tables":
            return at
        patterns: list[At] = [("tables", pattern.text, at[2]) for pattern in reversed(self.patterns)]
        candidates: list[At] = [at[:3], *patterns, ("defaults", at[2]), (at[2],)]
        found = next((place for place in candidates if _find(self.raw, place) is not None), None)
        if found is None:
            return at[:2] if at[2] in ("source_table", "target_table") else at
        return (*found, *at[3:])

    def _written(self, at: At) -> str:
        """Return `; it is `value``, as the user wrote it; empty for connections and options, which may hold secrets."""
        value = _find(self.raw, at)
        if (
            at[0] in ("source", "target")
            or at[-1] in ("database", "archive")
            or "options" in at
            or not isinstance(value, (str, int, float))
        ):
            return ""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return f"; it is `{text}`" if len(text) <= 60 else ""

    def _collect(self, at: At, happened: str, remedy: str, error: type[TidegateError] = ConfigError) -> None:
        self._report(Problem(at, f"{named(at)} {happened}.", remedy, error=error))

    def _pass_on(self, at: At, refused: TidegateError) -> None:
        self._report(Problem(at, refused.happened, refused.remedy, error=type(refused)))

    def _report(self, problem: Problem) -> None:
        """Collect a problem, unless a known one has the same path, or a path inside or around it."""
        for known in self.problems:
            shared = min(len(known.at), len(problem.at))
            if known.at[:shared] == problem.at[:shared]:
                return
        self.problems.append(problem)

    def _failure(self) -> TidegateError:
        ordered = sorted(self.problems, key=lambda problem: self._line(problem.at))
        kinds = {problem.error for problem in ordered}
        error = kinds.pop() if len(kinds) == 1 else ConfigError
        sentences = [f"{self._place(problem.at)}{problem.happened}" for problem in ordered]
        if len(ordered) == 1:
            return refusal(sentences[0], f"{ordered[0].remedy} {ordered[0].aside}".strip(), error)
        lines = [f"{words} {problem.remedy}" for words, problem in zip(sentences, ordered, strict=True)]
        more = [f"... and {len(lines) - _LISTED} more."] if len(lines) > _LISTED else []
        return refusal("\n".join(lines[:_LISTED] + more), f"Correct these {len(lines)} places.", error)

    def _place(self, at: At) -> str:
        return f"{self.label}:{self._line(at)}: " if self.label else ""

    def _line(self, at: At) -> int:
        """Return the line of a setting, or of the nearest mapping around it that has one."""
        known = (self.lines[at[:size]] for size in range(len(at), 0, -1) if at[:size] in self.lines)
        return next(known, 1)


def _model_at(model: type[Settings], at: Iterable[str | int]) -> type[Settings]:
    """Return the model of a nested group of settings, such as `values` in a table."""
    for step in at:
        field = model.model_fields.get(str(step))
        # A number is a place in a list of groups, and another name that of a group in a mapping.
        model = model if field is None else _group_in(field.annotation) or model
    return model


def _group_in(annotation: Any) -> type[Settings] | None:
    """Return the group of settings in an annotation such as `Webhook | None` or `tuple[Rule, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _group_in(inner)) is not None), None)


def nearest_name(word: str, names: Iterable[str]) -> str:
    """Return the name that is spelled most like this word; empty when none is."""
    known = {name.lower(): name for name in names}
    return known.get(next(iter(get_close_matches(word.lower(), known, n=1)), ""), "")


def _find(value: Any, at: At) -> Any:
    """Return what is written at this path; None when nothing is."""
    for step in at:
        if isinstance(value, Mapping):
            value = value.get(step)
        else:
            value = value[step] if isinstance(value, list) and isinstance(step, int) else None
    return value
