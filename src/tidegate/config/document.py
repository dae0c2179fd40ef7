"""Read a YAML document into plain values, with the line of every setting.

YAML here has texts, `true`, `false` and `null`, nothing else: `2024-01-01`, `00123`, `no` and `on` stay texts. The
models turn a text into a number where a setting is a number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tidegate.config.secrets import refusal
from tidegate.errors import ConfigError, TidegateError

At = tuple[str | int, ...]
"""The path of a setting."""

_TAGS = ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "merge", "value")
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, and the path of the setting that it concerns."""

    at: At
    happened: str
    remedy: str
    aside: str = ""
    """A further sentence, for an error that has only this problem."""
    error: type[TidegateError] = ConfigError


@dataclass
class Document:
    """Turns YAML nodes into values, and keeps the line of every setting."""

    lines: dict[At, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    outer: list[yaml.Node] = field(default_factory=list)

    def value(self, node: yaml.Node, at: At = ()) -> Any:
        self.lines.setdefault(at, node.start_mark.line + 1)
        if node.tag.removeprefix("tag:yaml.org,2002:") not in _TAGS:
            return self._problem(at, f"has the tag {node.tag}", "Take the tag out.")
        if any(node is other for other in self.outer):
            return self._problem(at, "refers to itself", "Write it out without `*`.")
        if isinstance(node, yaml.ScalarNode):
            return node.value if node.style else _CONSTANTS.get(node.value.lower(), node.value)
        self.outer.append(node)
        found = self._mapping(node, at) if isinstance(node, yaml.MappingNode) else self._list(node, at)
        self.outer.pop()
        return found

    def _list(self, node: Any, at: At) -> list[Any]:
        return [self.value(item, (*at, position)) for position, item in enumerate(node.value)]

    def _mapping(self, node: yaml.MappingNode, at: At) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        # `<<: *other` first: a key of the mapping itself wins, so the line to keep is the line of that key.
        for key, child in sorted(node.value, key=lambda pair: not _merges(pair[0])):
            place = (*at, str(key.value))
            if _merges(key):
                merged.update(self._merged(child, at))
            elif not isinstance(key, yaml.ScalarNode):
                self._problem(at, "has a key that is not a text", "Write a name before the colon.")
            elif key.value in own:
                first, self.lines[place] = self.lines[place], key.start_mark.line + 1
                self._problem(place, f"is there twice, first on line {first}", "Keep one of them.")
            else:
                self.lines[place] = key.start_mark.line + 1
                own[key.value] = self.value(child, place)
        return merged | own

    def _merged(self, child: yaml.Node, at: At) -> dict[str, Any]:
        # The first of several mappings wins. https://yaml.org/type/merge.html
        nodes = reversed(child.value) if isinstance(child, yaml.SequenceNode) else [child]
        found = [self.value(node, at) for node in nodes]
        if not all(isinstance(mapping, dict) for mapping in found):
            self._problem(at, "has a `<<` that does not refer to a mapping", "Write `<<: *name`.")
            return {}
        return {key: value for mapping in found for key, value in mapping.items()}

    def _problem(self, at: At, happened: str, remedy: str) -> None:
        self.problems.append(Problem(at, f"{named(at)} {happened}.", remedy))


def text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        remedy = "Run `tidegate init` to write it, or go to the folder that has it."
        raise refusal(f"{path} does not exist.", remedy) from None
    except OSError as problem:
        happened = f"{path} cannot be read: {problem.strerror}."
        raise refusal(happened, "Name a file that you may read.") from None
    except UnicodeDecodeError as problem:
        line = problem.object[: problem.start].count(b"\n") + 1
        raise refusal(f"{path}:{line}: the file is not UTF-8 text.", "Save it as UTF-8.") from None


def composed(text: str, path: Path) -> yaml.Node | None:
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=_LOADER)
        return node
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 1
        words = ", ".join(filter(None, (problem.context, problem.problem)))
    except yaml.reader.ReaderError as problem:
        line, words = text[: problem.position].count("\n") + 1, "a control character"
    # libyaml may point at the line after the last.
    place = f"{path}:{min(line, text.count(chr(10)) + 1)}"
    hint = "Texts with `{`, `: ` or ` #` need quotes; tabs do not indent."
    raise refusal(f"{place}: this is not YAML: {words}.", f"Look at this line and the one above. {hint}")


def _merges(key: yaml.Node) -> bool:
    return key.tag == "tag:yaml.org,2002:merge"


def dotted(at: At) -> str:
    return ".".join(map(str, at))


def named(at: At) -> str:
    return f"`{dotted(at)}`" if at else "The file"
