"""What outlets are sent: an alert when it is new, more urgent or due again, and when it ended. Real receivers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit import sides
from kit.receiver import Receiver
from kit.shop import Shop, ago
from tidegate.model.health import Alert, Snapshot, TableHealth
from tidegate.monitoring.news import name_of, news_of

pytestmark = [pytest.mark.postgres]


def told(shop: Shop, receiver: Receiver, *tables: str) -> list[tuple[list[str], list[str]]]:
    """Evaluate and send as `tidegate monitor` does. Return the new and the ended conditions of each document."""
    receiver.got.clear()
    project = shop.tidegate()
    assert project.publish(project.monitor(*tables)) == []
    documents = [json.loads(body) for _, _, body in receiver.got]
    return [
        (
            [f"{alert['condition']} {alert['table']}" for alert in document["new"]],
            [f"{alert['condition']} {alert['table']}" for alert in document["ended"]],
        )
        for document in documents
    ]


def later(shop: Shop, **span: float) -> None:
    """Let time pass: move what the ledger and the memory of alerts know back."""
    ago(shop, **span)
    for name, content in sides.ask(shop.target, "SELECT name, content FROM tidegate.notes"):
        note = json.loads(content)
        hours = span.get("hours", 0) + 24 * span.get("days", 0)
        note["sent_at"] = sides.ask(
            shop.target, f"SELECT (timestamptz '{note['sent_at']}' - interval '{hours} hours')::text"
        )[0][0].replace(" ", "T")
        sides.do(shop.target, "UPDATE tidegate.notes SET content = %s WHERE name = %s", json.dumps(note), name)


def stale(shop: Shop, receiver: Receiver, **monitoring: Any) -> None:
    """Load everything, then let three days pass in which nobody ran."""
    shop.settings["monitoring"] = {"webhook": receiver.url, "after_run": False, "proof_age": None, **monitoring}
    shop.run()
    ago(shop, days=3)


NO_LOAD = ["no_load Orders", "no_load currencies", "no_load sales"]


def test_an_alert_is_sent_once_and_when_it_ends(shop: Shop, receiver: Receiver):
    stale(shop, receiver, unmoved=None)
    assert told(shop, receiver) == [(NO_LOAD, [])]
    assert told(shop, receiver) == [], "it still holds, and nothing is new"
    shop.run()
    [(new, ended)] = told(shop, receiver)
    assert (new, sorted(ended)) == ([], NO_LOAD)
    text = json.loads(receiver.got[0][2])["text"].splitlines()
    assert text[0].endswith("3 ended")
    assert text[1].startswith("ended: critical: ")
    assert told(shop, receiver) == [], "its end is told once"


def test_an_alert_is_sent_again_after_the_time(shop: Shop, receiver: Receiver):
    stale(shop, receiver, unmoved=None, repeat="6 hours")
    assert told(shop, receiver) == [(NO_LOAD, [])]
    later(shop, hours=5)
    assert told(shop, receiver) == []
    later(shop, hours=2)
    assert told(shop, receiver) == [(NO_LOAD, [])]


@pytest.mark.thorough
def test_tables_that_were_not_asked_do_not_end(shop: Shop, receiver: Receiver):
    stale(shop, receiver, unmoved=None)
    assert told(shop, receiver) == [(NO_LOAD, [])]
    shop.tidegate().run("sales")
    assert told(shop, receiver, "currencies") == []
    assert told(shop, receiver) == [([], ["no_load sales"])]


@pytest.mark.thorough
def test_a_source_that_is_away_ends_no_alert(shop: Shop, receiver: Receiver):
    """Nobody knows whether the target still differs: only that the source cannot be reached is news."""
    stale(shop, receiver, unmoved=None)
    assert told(shop, receiver) == [(NO_LOAD, [])]
    source, shop.source = shop.source, shop.source.rsplit("/", 1)[0] + "/nowhere"
    [(new, ended)] = told(shop, receiver)
    assert ({name.split()[0] for name in new}, ended) == ({"unreachable"}, [])
    shop.source = source
    [(new, ended)] = told(shop, receiver)
    assert (new, {name.split()[0] for name in ended}) == ([], {"unreachable"})


def test_what_a_receiver_refused_is_sent_again(shop: Shop, receiver: Receiver, tmp_path: Path):
    """Each outlet has its own memory: the program that took the alerts is not started again."""
    kept = tmp_path / "kept"
    program = ["/bin/sh", "-c", f"cat >> {kept}; echo >> {kept}"]
    stale(shop, receiver, unmoved=None, command=program)
    receiver.answer = 503
    project = shop.tidegate()
    assert project.publish(project.monitor()) == ["webhook: the receiver answered 503."]
    receiver.answer = 200
    assert told(shop, receiver) == [(NO_LOAD, [])]
    assert len(kept.read_text().splitlines()) == 1


def test_a_run_uses_the_same_memory(shop: Shop, receiver: Receiver):
    """Verification finds an edited row and tells it at once; the repair tells the end."""
    shop.settings["monitoring"] = {"webhook": receiver.url}
    shop.run()
    assert receiver.got == []
    sides.do(shop.target, "UPDATE sales SET amount = -1 WHERE cob = 20240102 AND id = 4")
    shop.tidegate().verify("sales")
    assert json.loads(receiver.got[-1][2])["new"][0]["condition"] == "differs"
    assert told(shop, receiver) == []
    shop.tidegate().repair("sales")
    document = json.loads(receiver.got[-1][2])
    assert [alert["condition"] for alert in document["ended"]] == ["differs"]


@pytest.mark.thorough
def test_a_lost_memory_is_made_anew(shop: Shop, receiver: Receiver):
    stale(shop, receiver, unmoved=None)
    assert told(shop, receiver) == [(NO_LOAD, [])]
    sides.do(shop.target, "DROP TABLE tidegate.notes")
    assert told(shop, receiver) == [(NO_LOAD, [])]
    assert told(shop, receiver) == []


def test_a_memory_that_cannot_be_used_is_said(shop: Shop, receiver: Receiver):
    stale(shop, receiver, unmoved=None)
    sides.do(shop.target, "CREATE TABLE tidegate.notes (wrong integer)")
    for _ in range(2):
        receiver.got.clear()
        project = shop.tidegate()
        [problem] = project.publish(project.monitor())
        assert problem.startswith("the memory of sent alerts cannot be used, so alerts are sent again: ")
        assert len(json.loads(receiver.got[0][2])["new"]) == 3


def health(*alerts: Alert, at: str = "2026-01-02T06:00:00+00:00") -> Snapshot:
    return Snapshot(at, {}, (TableHealth("sales"),), alerts)


def test_an_alert_that_becomes_more_urgent_is_sent():
    warning = Alert("warning", "unmoved", "sales", "3 days")
    _, memory = news_of(health(warning), "warning", {}, None)
    assert not news_of(health(warning), "warning", memory, None)[0]
    critical = Alert("critical", "unmoved", "sales", "4 days")
    news, changes = news_of(health(critical), "warning", memory, None)
    assert news.alerts == (critical,)
    assert not news_of(health(critical), "warning", changes, None)[0]


def test_an_alert_below_the_limit_is_no_end():
    """An outlet that wants critical alerts hears nothing of one that became a warning: it still holds."""
    critical, warning = (Alert(severity, "differs", "sales", "x") for severity in ("critical", "warning"))
    _, memory = news_of(health(critical), "critical", {}, None)
    news, changes = news_of(health(warning), "critical", memory, None)
    assert not news
    assert changes == {"differs sales": None}, "critical again would be news"


def test_each_event_is_sent_once_and_never_ends():
    first = Alert("info", "by_hand", "sales", "run a", since="2026-01-01T01:00:00")
    second = Alert("info", "by_hand", "sales", "run b", since="2026-01-01T02:00:00")
    news, memory = news_of(health(first), "info", {}, 1)
    assert news.alerts == (first,)
    news, changes = news_of(health(first, second), "info", memory, 1)
    assert news.alerts == (second,)
    news, changes = news_of(health(), "info", {**memory, **changes}, 1)
    assert not news
    assert changes == {name_of(first): None, name_of(second): None}
