"""The server of the live page: whom it lets in, what it sends, and that nothing can be changed through it."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tidegate.errors import ConfigError
from tidegate.ops.activity import OpenRun, open_runs
from tidegate.state.lock import Holder
from tidegate.ui.server import MOST_READERS, LiveServer
from tidegate.ui.watch import Watch
from unit.test_html_report import HOSTILE, Parsed, facts, run, step, table, value

TOKEN = "a-token-for-the-tests"
COOKIE = "tidegate-{}=" + TOKEN


def never() -> Any:
    raise ConfigError("No project is opened in these tests.")


@pytest.fixture
def watch() -> Watch:
    watch = Watch(never, refresh=600)
    watch._show(raw=facts([table("trades", [value("20240102")]), table(HOSTILE, [value(HOSTILE, "missing")])]))
    return watch


@pytest.fixture
def server(watch: Watch) -> Iterator[LiveServer]:
    server = LiveServer(watch, "127.0.0.1", 0, TOKEN, ["ui.example"])
    thread = threading.Thread(target=server._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.close()
    thread.join()


def ask(server: LiveServer, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    sent = {"Authorization": f"Bearer {TOKEN}", **{name.replace("_", "-"): each for name, each in headers.items()}}
    connection.request(method, path, headers={name: each for name, each in sent.items() if each})
    answer = connection.getresponse()
    if answer.headers.get_content_type() != "text/event-stream":
        answer.text = answer.read().decode()  # type: ignore[attr-defined]
        connection.close()
    return answer


PAGES = ("/", "/parts/tables", "/table?name=trades", "/facts.json", "/events", "/live.js", "/nothing")


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("token", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer é"])
def test_nothing_is_shown_without_the_token(server, path, token):
    answer = ask(server, path, Authorization=token.encode().decode("latin-1"))
    assert answer.status == 401
    assert "trades" not in answer.text


@pytest.mark.parametrize("path", [*PAGES, f"/?token={TOKEN}"])
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "[::", "a@evil.example", "ui.example.", ""])
def test_other_names_are_refused(server, path, host):
    """A web site that points its own name to this machine must not be able to read the page through a browser."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", host)
    connection.putheader("Authorization", f"Bearer {TOKEN}")
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 421
    assert b"trades" not in answer.read()
    connection.close()


@pytest.mark.parametrize("host", ["127.0.0.1:{}", "localhost:{}", "LOCALHOST", "[::1]:{}", "ui.example:443"])
def test_its_own_names_are_served(server, host):
    assert ask(server, "/parts/tables", Host=host.format(server.port)).status == 200


def test_the_token_of_the_address_becomes_a_cookie(server):
    answer = ask(server, server.address.removeprefix(server.place[:-1]), Authorization="")
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert cookie == f"{COOKIE.format(server.port)}; HttpOnly; SameSite=Lax; Path=/"
    assert ask(server, "/parts/tables", Authorization="", Cookie=cookie.partition(";")[0]).status == 200
    other = COOKIE.format(server.port + 1)
    assert ask(server, "/parts/tables", Authorization="", Cookie=other).status == 401
    assert ask(server, "/?token=wrong", Authorization="").status == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_but_reading_is_possible(server, method):
    assert ask(server, "/", method).status == 501


def test_every_answer_has_a_strict_policy(server):
    for path in (*PAGES, "/page.css", "/icon.svg"):
        for answer in (ask(server, path), ask(server, path, Authorization="")):
            policy = answer.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'; ")
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Cache-Control"] == "no-store"


def test_pages_need_no_inline_style_or_script(server, watch):
    """The policy would forbid it in a browser, silently for whoever does not open its console."""
    watch._show(raw=facts([table("trades", [value(HOSTILE)])], runs=[run([step(1)])]))
    texts = [ask(server, path).text for path in ("/", "/table?name=trades")] + list(watch.shown.parts.values())
    for text in texts:
        read = Parsed(text)
        assert not [name for name, _ in read.attributes if name == "style" or name.startswith("on")]
        assert "style" not in read.count
    assert '<script src="/live.js" defer></script>' in texts[0]


def test_names_and_values_are_escaped(server):
    listed = Parsed(ask(server, "/parts/tables").text)
    assert "script" not in listed.count
    assert listed.count["details"] == 2
    shown = ask(server, f"/table?name={http.client.parse_headers.__name__}")
    assert shown.status == 404


def test_a_table_is_sent_on_demand(server):
    assert "20240102" not in ask(server, "/parts/tables").text
    answer = ask(server, "/table?name=trades")
    assert "20240102" in Parsed(answer.text).text


def test_head_has_no_body(server):
    answer = ask(server, "/", "HEAD")
    assert (answer.status, answer.text) == (200, "")


def test_facts_are_there_for_programs(server):
    told = json.loads(ask(server, "/facts.json").text)
    assert next(each["name"] for each in told["tables"]) == "trades"


ALERT = {"severity": "critical", "condition": "no_load", "table": "trades", "text": "no load since Monday",
         "remedy": "Look at `tidegate history`.", "since": "2026-11-15T21:50:11+00:00"}  # fmt: skip
KEPT = {"customer_filter": "ACME", "in_table": 2, "without_archive": 1, "archives": 3, "rows": 900,
        "bytes": 2_000_000, "ratio": 4.2, "oldest": "2026-11-01T06:00:00+00:00",
        "newest": "2026-11-15T06:00:00+00:00", "sizes": [600_000, 700_000, 700_000]}  # fmt: skip


def test_parts_show_what_monitoring_and_snapshots_say(watch):
    assert (watch.shown.parts["alerts"], watch.shown.parts["snapshots"]) == ("", ""), "parts without content are hidden"
    watch._show(raw=facts([table("trades", [])], alerts=[ALERT], snapshots=[KEPT]))
    alerts, kept = (Parsed(watch.shown.parts[name]).text for name in ("alerts", "snapshots"))
    assert "critical" in alerts
    assert "trades no load since Monday Look at tidegate history . no_load since 2026-11-15 21:50:11" in alerts
    assert "ACME 2, 1 not archived 3 900 2.0 MB 4.20 to 1" in kept
    assert "<polyline" in watch.shown.parts["snapshots"]


def test_parts_show_watermarks_and_the_next_run(watch):
    fresh = {"loaded_to": "2026-11-14", "source_has": "2026-11-15", "late": 7, "held_by": ["ann since 05:58"]}
    shown = table("orders", [], freshness=fresh, next=[f"extract {day}" for day in range(30)])
    watch._show(raw=facts([shown, table("trades", [])]))
    text = Parsed(watch.shown.parts["freshness"]).text
    assert "orders 2026-11-14 2026-11-15 → behind" in text
    assert "7 open: ann since 05:58" in text
    steps = Parsed(watch.shown.parts["next"]).text
    assert "30 steps for 1 table." in steps
    assert "extract 19 and 10 more steps" in steps


def test_a_run_of_another_machine_is_told_as_not_ended(watch):
    away = {"run": "r-9", "holder": "r-9 (etl on far)", "since": "2026-11-15T21:50:11+00:00", "tables": list("abcdefg")}
    watch._show(open_runs=[away])
    text = Parsed(watch.shown.parts["now"]).text
    assert "not ended" in text
    assert "a, b, c, d, e and 2 more" in text


def test_only_runs_without_a_report_are_open():
    held = [Holder("a", "r-3", "ann", "06:00"), Holder("b", "r-3", "ann", "05:59"), Holder("c", "r-2", "bob", "05:00"),
            Holder("d", "r-0", "eve", "01:00")]  # fmt: skip
    assert open_runs(held, ["r-2", "r-1"]) == (OpenRun("r-3", "ann", "05:59", ("a", "b")),)
    assert [run.run for run in open_runs(held, [])] == ["r-0", "r-2", "r-3"]


def tags_of(events: http.client.HTTPResponse) -> dict[str, str]:
    """Return the tags of the next event."""
    lines = iter(events.readline, b"")
    data = next(line for line in lines if line.startswith(b"data: "))
    tags: dict[str, str] = json.loads(data.removeprefix(b"data: "))
    return tags


def test_events_name_the_parts_that_changed(server, watch):
    events = ask(server, "/events")
    first = tags_of(events)
    watch._show(under_way=[{"run": "r-1", "verb": "run", "phases": [{"name": "load", "windows": 3, "done": 1}]}])
    second = tags_of(events)
    assert {name for name in first if first[name] != second[name]} == {"now"}
    assert "1 of 3 windows" in ask(server, "/parts/now").text
    watch._show(problem="The newest look has failed.")
    third = tags_of(events)
    assert {name for name in second if second[name] != third[name]} == {"problem"}
    events.close()


def test_the_same_look_is_no_event(server, watch):
    events = ask(server, "/events")
    before = watch.shown
    tags_of(events)
    watch._show(under_way=[])
    assert watch.shown is before
    events.close()


def test_too_many_browsers_are_refused(server):
    watching = [ask(server, "/events") for _ in range(MOST_READERS)]
    assert ask(server, "/events").status == 503
    assert ask(server, "/parts/tables").status == 200
    for events in watching:
        events.close()


def test_a_look_that_fails_is_told_and_the_old_facts_stay(watch):
    assert "No project is opened" in watch._looked()["problem"]
    watch._show(**watch._looked())
    assert "No project is opened" in watch.shown.parts["problem"]
    assert "trades" in watch.shown.parts["tables"]


def test_a_port_that_is_taken_is_an_error(server):
    with pytest.raises(ConfigError, match=f"127.0.0.1, port {server.port}"):
        LiveServer(Watch(never, refresh=600), "127.0.0.1", server.port, TOKEN)
