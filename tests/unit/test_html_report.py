"""The page that a run leaves behind: what it claims, what it never claims, and that nothing breaks it."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tidegate.config.secrets import Redactor
from tidegate.reports import html as page
from tidegate.reports._words import duration, moment, per_second, size
from tidegate.reports.facts import without_secrets

VOID = {"meta", "link", "input"}
HASH, OTHER = "3f2a91c0" * 4, "9b1c77aa" * 4
HOSTILE = "<script>alert(1)</script>\"'&amp;\u202e😀 שלום\x00\ud800"
STATES = (
    "proven", "loaded", "pending", "missing", "differs", "adopted", "removed", "forgotten", "out of scope",
)  # fmt: skip


class Parsed(HTMLParser):
    """A page read with other eyes: refuses tags that do not match, keeps text, ids and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: dict[str, int] = {}
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], "elements that were never closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice in <{tag}>"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def values(self, *names: str) -> list[str]:
        return [value for name, value in self.attributes if name in names]


def value(name: Any, state: str = "proven", **changed: Any) -> dict[str, Any]:
    usual = {
        "value": name, "source_rows": 100_000, "lake_rows": 100_000, "target_rows": 100_000,
        "receipts": {"source": HASH, "lake": HASH, "target": HASH, "ledger": HASH}, "state": state,
        "generation": 1, "loaded_at": "2026-11-15T21:50:11+00:00", "note": "new in source",
    }  # fmt: skip
    return {**usual, **changed}


def table(name: str, values: list[dict[str, Any]], **changed: Any) -> dict[str, Any]:
    rows = dict.fromkeys(("source", "lake", "target"), 100_000 * len(values))
    usual = {
        "name": name,
        "kind": "partition",
        "partition_column": "COBID",
        "status": "in sync",
        "rows": rows,
    }
    return {**usual, "scope": "from 20240102", "values": values, "notes": [], **changed}


def step(number: int, outcome: str = "done", **changed: Any) -> dict[str, Any]:
    usual = {"table": "trades", "step": "load", "value": f"v{number}", "rows": 1000, "seconds": 0.5}
    return {**usual, "why": "new in source", "outcome": outcome, "error": None, **changed}


def run(steps: list[dict[str, Any]], **changed: Any) -> dict[str, Any]:
    usual = {
        "run": "r-20261115-ab12", "verb": "run", "started_at": "2026-11-15T21:50:01+00:00", "seconds": 7.3,
        "outcome": "done", "rows_extracted": 1_000_000, "rows_loaded": 1_000_000, "bytes_extracted": 40_123_456,
        "engine": "local[2]", "timings": {"look": 0.2, "spark start": 4.1, "extract": 1.5, "load": 1.2},
    }  # fmt: skip
    return {**usual, "steps": steps, **changed}


def facts(tables: list[dict[str, Any]], status: str = "equal", proof: str = "hash", **more: Any) -> dict[str, Any]:
    places = {
        "source": "postgresql://demo@127.0.0.1:5439/prod",
        "target": "postgresql://h/uat",
        "lake": "./lake",
    }
    verdict = {"status": status, "text": "target equals source within the declared scope.", "proof": proof}
    when = {"generated_at": "2026-11-15T21:50:11+00:00", "version": "0.1.0"}
    return {
        **when,
        "project": places,
        "verdict": verdict,
        "tables": tables,
        "runs": [],
        "findings": [],
        **more,
    }


def days(count: int) -> list[str]:
    return [f"{2024 + n // 336}{n // 28 % 12 + 1:02}{n % 28 + 1:02}" for n in range(count)]


def healthy(tables: int = 2, values: int = 12) -> dict[str, Any]:
    drawn = [table(f"t{n}", [value(day) for day in days(values)]) for n in range(tables)]
    return facts(drawn, runs=[run([step(n) for n in range(tables * values)])])


def test_analysis_names_what_is_missing():
    missing = {"table": "trades", "what": "missing in the target", "values": days(14)}
    shown = Parsed(page.render(facts([table("trades", [])], analysis=[missing]))).text
    assert "trades missing in the target 14 20240101, 20240102" in shown
    assert "and 2 more" in shown
    assert "No table lacks a value" in Parsed(page.render(facts([], analysis=[]))).text
    assert "No table lacks a value" not in Parsed(page.render(facts([]))).text


def hostile() -> dict[str, Any]:
    bad = HOSTILE
    shown = table(bad, [value(bad, bad, note=bad)], kind=bad, partition_column=bad, scope=bad, status=bad)
    shown["notes"] = [bad, f"`{bad}`"]
    broken = run([step(1, bad, table=bad, step=bad, value=bad, why=bad, error=f"{bad}\n{bad}")])
    broken |= {
        "run": bad,
        "verb": bad,
        "outcome": bad,
        "engine": bad,
        "started_at": bad,
        "timings": {bad: 1.0},
    }
    found = {"table": bad, "value": bad, "check": bad, "what": bad, "severity": bad}
    made = facts(
        [shown],
        bad,
        bad,
        runs=[broken],
        findings=[found],
        analysis=[found | {"values": [bad]}],
        generated_at=bad,
        version=bad,
    )
    return {**made, "project": dict.fromkeys(("source", "lake", "target"), bad)}


def every_page() -> dict[str, dict[str, Any]]:
    mixed = [value(name, state) for name, state in zip(days(9), STATES, strict=True)]
    return {
        "nothing": {},
        "healthy": healthy(),
        "hostile": hostile(),
        "mixed": facts([table("m", mixed)], "differs"),
    }


PAGES = [pytest.param(made, id=name) for name, made in every_page().items()]


# What the page claims


@pytest.mark.parametrize(
    ("status", "proof", "headline"),
    [
        ("equal", "hash", "Target equals source."),
        ("equal", "count", "Row counts are equal."),
        ("equal", "sample", "Equal, as far as sampled."),
        ("differs", "hash", "Target differs from source."),
        ("pending", "hash", "Not in sync yet."),
        ("unproven", "hash", "Not proven."),
        ("excellent", "hash", "Not proven."),
        ("", "", "Not proven."),
    ],
)
def test_the_headline_is_no_stronger_than_the_proof(status: str, proof: str, headline: str) -> None:
    made = page.render(facts([table("trades", [value("20240102")])], status, proof))

    assert f"<h1>{headline}</h1>" in made


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (value("20240102", "differs"), "1 value missing or different"),
        (value("20240102", "loaded"), "1 value not proven yet"),
        (value("20240102", target_rows=99_997), "1 value with other rows or receipts in the target"),
        (
            value("20240102", receipts={"source": HASH, "target": OTHER}),
            "1 value with other rows or receipts",
        ),
    ],
)
def test_equal_is_not_claimed_when_a_value_contradicts_it(wrong: dict[str, Any], sentence: str) -> None:
    made = Parsed(page.render(facts([table("trades", [wrong, value("20240103")])])))

    assert "Not proven." in made.text
    assert "The verdict was “equal”, but these facts contradict it" in made.text
    assert sentence in made.text


def test_equal_is_not_claimed_with_an_error_finding() -> None:
    found = {
        "table": "trades",
        "value": "20240102",
        "check": "receipt",
        "what": "3 rows differ",
        "severity": "error",
    }

    made = Parsed(page.render(facts([table("trades", [value("20240102")])], findings=[found])))

    assert "Not proven." in made.text
    assert "1 finding of severity error" in made.text


@pytest.mark.parametrize(
    "kept",
    [
        value("20240102", source_rows=0, note="purged in source, kept"),
        value("whole table", target_rows=100_004, receipts={"source": HASH, "target": OTHER}),
        value("20240102", "out of scope", target_rows=0),
        value("20240102", source_rows=None, receipts={}),
    ],
    ids=["purged", "kept without deletes", "out of scope", "not counted"],
)
def test_extra_rows_and_values_out_of_scope_do_not_refute_equal(kept: dict[str, Any]) -> None:
    assert "<h1>Target equals source.</h1>" in page.render(facts([table("trades", [kept, value("20240103")])]))


@pytest.mark.parametrize("state", [*STATES, "quarantined", ""])
def test_every_state_is_shown_in_words_and_with_a_sign(state: str) -> None:
    made = page.render(facts([table("trades", [value("20240102", state)])], "unproven"))

    word = state or "unknown"
    assert any(title.startswith(f"20240102: {word}\n100,000 rows") for title in Parsed(made).values("title"))
    assert re.search(rf'<b class="badge \w+">\S {word}</b>', made)


def test_numbers_are_readable_and_rates_are_computed() -> None:
    made = Parsed(page.render(healthy()))

    assert "2,400,000" in made.text
    assert "1,000,000 rows, 136,986/s" in made.text
    assert "40.1 MB" in made.text
    assert "2026-11-15 21:50:11" in made.text


def test_a_run_without_spark_says_so() -> None:
    assert "nothing to move, no Spark" in Parsed(page.render(facts([], runs=[run([], engine=None)]))).text


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("local[2]", "rows moved by Spark (local[2])"),
        ("process", "rows moved by threads of this process (engine: process)"),
    ],
)
def test_run_says_what_moved_its_rows(engine: str, words: str) -> None:
    assert words in Parsed(page.render(facts([], runs=[run([], engine=engine)]))).text


def test_receipts_show_each_hash_once_with_its_places() -> None:
    changed = value("20240102", "differs", receipts={"source": HASH, "lake": HASH, "target": OTHER, "ledger": HASH})

    made = page.render(facts([table("trades", [changed, value("20240103")])], "differs"))

    assert f'<code title="{HASH}">3f2a91c0</code> <small>source, lake, ledger</small>' in made
    assert f'<code title="{OTHER}">9b1c77aa</code> <small>target</small>' in made
    assert f'<code title="{HASH}">3f2a91c0</code> <small>all</small>' in made


def test_failed_steps_are_shown_however_many_steps_there_are() -> None:
    steps = [step(n) for n in range(500)] + [step(500, "failed", error="trades: no room.\nNothing was written.")]

    made = Parsed(page.render(facts([], runs=[run(steps, outcome="failed")])))

    assert "trades: no room. Nothing was written." in made.text
    assert "301 more steps not shown: 301 done." in made.text


def test_the_newest_run_and_the_worst_finding_come_first() -> None:
    old, new = run([], run="r-old", started_at="2026-11-14T05:00:00+00:00"), run([], run="r-new")
    found = [{"what": what, "severity": what} for what in ("note", "warning", "error")]

    made = page.render(facts([], runs=[old, new], findings=found))

    assert made.index("r-new") < made.index("r-old")
    assert made.index("<p>error") < made.index("<p>warning") < made.index("<p>note")


# The calendar


@pytest.mark.parametrize(
    ("values", "layout"),
    [
        ([20240102, 20240103, 20240104], "months"),
        (["2024-01-02", "2024-01-03", "2024-01-04"], "months"),
        (["2024-01-02 00:00:00", "2024-01-03T00:00:00Z", "2024-01-04T00:00:00.5+01:00"], "months"),
        (["20240102", "20240103", "20240104", "99991231", "99991230", "99991229"], "months"),
        (["20240102", "20240103", "20240104", None], "months"),
        ([202401, 202402], "years"),
        (["2024-01", "2024-02"], "years"),
        (["20240131", "20240229", "20240331"], "strip"),
        (["2024-01-02T01:00", "2024-01-02T02:00", "2024-01-02T03:00"], "strip"),
        (["EMEA", "APAC", "20240102"], "strip"),
        (["20241302", "20240230", "202413"], "strip"),
        (["٢٠٢٤٠١٠٢"], "strip"),
    ],
)
def test_dense_dates_are_drawn_as_a_calendar(values: list[Any], layout: str) -> None:
    made = page.render(facts([table("trades", [value(name) for name in values])]))

    shown = [name for name in ("months", "years", "strip") if f'<div class="{name}">' in made]
    assert shown[0] == layout
    assert Parsed(made).count["a"] == len(values)


def test_a_month_keeps_its_shape() -> None:
    made = page.render(facts([table("trades", [value(day) for day in ("20240227", "20240228", "20240229")])]))

    assert "<h4>Feb 2024</h4>" in made
    assert '<i class="c4" aria-hidden="true">1</i>' in made, "the first of February 2024 was a Thursday"
    assert ">29</a></div>" in made


@pytest.mark.parametrize(
    ("changed", "classes"),
    [
        ({}, "d h3"),
        ({"target_rows": 0, "state": "missing"}, "d h3 x-missing t0"),
        ({"target_rows": 99_997, "state": "differs"}, "d h3 x-differs t2"),
        ({"receipts": {"source": HASH, "target": OTHER}, "state": "differs"}, "d h3 x-differs t2"),
        ({"source_rows": None}, "d h3 s9"),
        ({"source_rows": 0}, "d h3 s0"),
        ({"lake_rows": 0, "target_rows": 0, "state": "pending"}, "d h3 x-pending l0 t0"),
    ],
)
def test_each_place_has_a_bar_of_its_own(changed: dict[str, Any], classes: str) -> None:
    made = page.render(facts([table("trades", [value("EMEA", **changed)])], "unproven"))

    assert f'<a class="{classes}" href="#t0v0"' in made


# Nothing breaks it


@pytest.mark.parametrize("made", PAGES)
def test_page_is_well_formed_and_its_links_work(made: dict[str, Any]) -> None:
    parsed = Parsed(page.render(made))

    assert len(parsed.ids) == len(set(parsed.ids))
    for link in parsed.values("href"):
        assert link.startswith("data:") or link[1:] in parsed.ids


@pytest.mark.parametrize("made", PAGES)
def test_the_page_asks_the_network_for_nothing(made: dict[str, Any]) -> None:
    text = page.render(made)

    assert Parsed(text).values("src", "srcset", "action", "poster") == []
    assert not re.search(r"https?://|@import|url\(|\bfetch\(|XMLHttpRequest", text)
    assert "default-src &#x27;none&#x27;" in text


@pytest.mark.parametrize("made", PAGES)
def test_the_same_facts_give_the_same_page(made: dict[str, Any]) -> None:
    assert page.render(made) == page.render(made)


def test_hostile_text_is_shown_and_never_run() -> None:
    text = page.render(hostile())
    parsed = Parsed(text)

    assert "<script>alert" not in text
    assert parsed.count["script"] == 1
    assert "<script>alert(1)</script>\"'&amp;\u202e😀 שלום��" in parsed.text
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    text.encode("utf-8")


def test_only_our_own_script_is_allowed_to_run() -> None:
    text = page.render(hostile())
    script = text[text.index("<script>") + len("<script>") : text.index("</script>", text.index("<script>"))]

    allowed = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src &#x27;sha256-{allowed}&#x27;" in text


@pytest.mark.parametrize(
    ("shown", "hidden"),
    [
        ("postgresql://demo:topsecret@h/prod", "postgresql://demo:***@h/prod"),
        ("Driver=x;UID=sa;PWD={top;secret};", "Driver=x;UID=sa;PWD=***;"),
        ("Driver=x;PWD={top}};secret};UID=sa", "Driver=x;PWD=***;UID=sa"),
        ("Driver=x;PWD={}}top;secret}}};UID=sa", "Driver=x;PWD=***;UID=sa"),
        ('User ID=sa;Password="top;""secret";Encrypt=yes', "User ID=sa;Password=***;Encrypt=yes"),
        ("Password = 'top ''secret';Encrypt=yes", "Password = ***;Encrypt=yes"),
        ("UID=sa;PWD={top;secret", "UID=sa;PWD=***"),
        ("jdbc:sqlserver://h;password=topsecret;x=1", "jdbc:sqlserver://h;password=***;x=1"),
    ],
)
def test_unknown_password_in_the_facts_is_hidden(shown: str, hidden: str) -> None:
    made = facts([], runs=[run([step(1, "failed", error=shown)])])
    made["project"]["source"] = shown

    text = page.render(made)

    assert "secret" not in text
    assert text.count(hidden) == 2


def test_secrets_are_hidden_in_the_facts_in_every_spelling() -> None:
    spellings = ["{to}}p secret&}", "to%7Dp+secret%26", "to}p secret&"]
    made = facts([table(name, [value(1, note=name)], notes=[name]) for name in spellings])

    hidden = without_secrets(made, Redactor(["to}p secret&"]).redact)

    assert page.render(hidden).count("secret") == 0
    assert [table["notes"] for table in hidden["tables"]] == [["{***}"], ["***"], ["***"]]
    assert hidden["tables"][0]["rows"] == made["tables"][0]["rows"]


@pytest.mark.parametrize("absent", [{}, None, [], "", 7, [None], {"x": 1}])
@pytest.mark.parametrize("part", ["project", "verdict", "tables", "runs", "findings", "generated_at", "version"])
def test_a_part_may_be_absent_empty_or_odd(part: str, absent: Any) -> None:
    Parsed(page.render({**healthy(), part: absent}))


def test_fields_may_be_absent_or_odd() -> None:
    odd = {
        "source_rows": "many",
        "lake_rows": float("nan"),
        "target_rows": 1e400,
        "receipts": 3,
        "generation": "x",
    }
    bare = {"values": [{}, odd], "rows": {"source": None}, "notes": None}
    ran = {"seconds": -1, "timings": {"extract": None, "load": "x", "prove": -2}, "steps": [{}]}

    made = Parsed(page.render({"tables": [bare, {}], "runs": [{}, ran], "findings": [{}]}))

    assert "(no name)" in made.text


def test_empty_project_says_what_to_do_first() -> None:
    made = Parsed(page.render({}))

    assert "Not proven." in made.text
    assert "No tables yet. tidegate init proposes them from the source." in made.text


@pytest.mark.parametrize(("tables", "values", "limit"), [(2, 12, 150_000), (20, 300, 3_000_000)])
def test_the_page_stays_small(tables: int, values: int, limit: int) -> None:
    assert len(page.render(healthy(tables, values)).encode()) < limit


# Writing it


def test_a_page_replaces_the_old_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "reports" / "page.html"

    assert page.write({}, path) == path
    page.write(healthy(), path)

    assert path.read_text("utf-8") == page.render(healthy())
    assert [left.name for left in path.parent.iterdir()] == ["page.html"]


def test_failed_write_of_the_page_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "page.html").mkdir()

    with pytest.raises(OSError, match=r"page\.html"):
        page.write({}, tmp_path / "page.html")

    assert [left.name for left in tmp_path.iterdir()] == ["page.html"]


# Words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"),
        (0, "0 ms"),
        (0.84, "840 ms"),
        (0.9999, "1.0 s"),
        (7.31, "7.3 s"),
        (59.96, "1 min"),
        (725, "12 min 5 s"),
        (8040, "2 h 14 min"),
        (97_200, "1 d 3 h"),
        (86_399.7, "1 d"),
    ],
)
def test_durations(seconds: float | None, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (None, "–"),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (40_123_456, "40.1 MB"),
        (5 * 10**15, "5,000.0 TB"),
    ],
)
def test_sizes(count: int | None, words: str) -> None:
    assert size(count) == words


@pytest.mark.parametrize(
    ("iso", "words"),
    [
        ("2026-11-15T21:50:11+00:00", "2026-11-15 21:50:11"),
        ("2026-11-15T23:50:11.250000+02:00", "2026-11-15 21:50:11"),
        ("2026-11-15T21:50:11Z", "2026-11-15 21:50:11"),
        ("2026-11-15T21:50:11", "2026-11-15 21:50:11"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        ("yesterday", "yesterday"),
        ("", ""),
    ],
)
def test_moments(iso: str, words: str) -> None:
    assert moment(iso) == words


@pytest.mark.parametrize(("rows", "seconds", "words"), [(1_000_000, 7.3, "136,986"), (0, 7.3, "–"), (5, 0, "–")])
def test_rates(rows: int, seconds: float, words: str) -> None:
    assert per_second(rows, seconds) == words


# Tables without values


def whole(name: str, state: str = "proven", **changed: Any) -> dict[str, Any]:
    return {**value(name, state), "whole": True, "contained": False, **changed}


def versions(**changed: Any) -> dict[str, Any]:
    batch = {"batch": "2026-11-16-08-01-22", "state": "proven", "after": "2026-10-17", "upto": "2026-11-16", "rows": 7}
    all_versions = whole("all versions", lake_rows=None, receipts={"source": HASH, "target": OTHER}, contained=True)
    return table("customers", [all_versions], kind="scd2", watermark="2026-11-16", batches=[batch], **changed)


def test_target_that_may_have_more_rows_is_equal() -> None:
    more = whole("all rows", target_rows=100_001, receipts={"source": HASH, "lake": HASH, "target": OTHER})
    against = page.render(facts([table("codes", [more], kind="static")]))
    assert "Not proven." in against or "≠" in against

    made = page.render(facts([table("codes", [{**more, "contained": True}], kind="static")]))

    assert "<h1>Target equals source.</h1>" in made
    assert "1 of 1 value agree" in made
    assert 'class="calendar' not in made


def test_batches_are_shown_with_their_cursor_values() -> None:
    made = Parsed(page.render(facts([versions(), table("trades", [value("20240102")])])))

    assert "Batches files of versions, with their first and last cursor value" in made.text
    assert "2026-11-16-08-01-22 2026-10-17 2026-11-16 7" in made.text
    assert "loaded up to 2026-11-16" in made.text
    assert "Target equals source." in made.text
    assert "1 of 1 value agree" in made.text
    assert "in 1 value and 1 whole table" in made.text


def test_batches_of_odd_facts_break_nothing() -> None:
    odd = {"batch": HOSTILE, "state": HOSTILE, "after": None, "rows": "many"}
    made = Parsed(page.render(facts([{**versions(), "batches": [odd, None], "watermark": HOSTILE}])))
    assert "no file" in made.text


def load(minute: int, **changed: Any) -> dict[str, Any]:
    usual = {"at": f"2026-11-16T08:{minute:02}:00+00:00", "rows": 1000, "seconds": 0.5}
    return {**usual, "watermark": f"2026-11-16 08:{minute:02}:00.123456", **changed}


def test_loads_are_drawn_over_time() -> None:
    """Watermark and throughput always; late rows, duplicates and gaps where there were any."""
    loads = [load(1), load(2, late=3, rows=4000), load(4, gaps=1)]
    made = Parsed(page.render(facts([versions(over_time=loads)])))
    assert "Over time 3 loads, 2026-11-16 08:01 to 2026-11-16 08:04" in made.text
    assert "watermark from 2026-11-16 08:01:00.123456 to 2026-11-16 08:04:00.123456" in made.text
    assert "rows per second 2,000 at last, 8,000 at most" in made.text
    assert "late 0 at last, 3 at most" in made.text and "gaps 1 at last" in made.text
    assert "duplicates" not in made.text
    assert made.values("points") == ["0,40 120,26.67 240,0"]


def test_one_load_is_no_chart() -> None:
    assert "Over time" not in Parsed(page.render(facts([versions(over_time=[load(1)])]))).text


def test_loads_of_odd_facts_break_nothing() -> None:
    odd = {"at": None, "rows": "many", "seconds": "nan", "watermark": HOSTILE, "late": -1}
    made = Parsed(page.render(facts([versions(over_time=[odd, None, {**odd, "watermark": "inf"}, load(2)])])))
    assert "Over time 3 loads" in made.text
