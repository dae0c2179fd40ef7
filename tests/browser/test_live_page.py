"""The live page in a real browser, on a real project: what a person sees, on a desk, on a phone, with a keyboard."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from kit.pairs import first_daily
from kit.shop import Shop
from kit.sides import do
from tidegate.runs.listener import Listener
from tidegate.ui import watch as watching
from tidegate.ui.server import LiveServer
from tidegate.ui.watch import Watch

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = pytest.mark.postgres

MANY = 60
TOKEN = "a-token-for-the-tests"


@pytest.fixture(scope="module")
def shop(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A shop with 60 tables, loaded and verified. After that a day came, and somebody deleted rows in the target."""
    names = ("ui_source", "ui_target")
    source, target = (postgres.create_database(name) for name in names)
    shop = Shop(source, target, tmp_path_factory.mktemp("ui")).open()
    tables = dict(shop.configuration()["tables"])
    names_of_more = [f"ref_{number:03}" for number in range(MANY - len(tables))]
    with psycopg.connect(source, autocommit=True) as connection:
        for name in names_of_more:
            create = sql.SQL("CREATE TABLE {} (id integer PRIMARY KEY)").format(sql.Identifier(name))
            connection.execute(create)
            connection.execute(sql.SQL("INSERT INTO {} SELECT generate_series(1, 5)").format(sql.Identifier(name)))
    tables |= {name: {"kind": "static", "allow_deletes": True} for name in names_of_more}
    shop.settings["tables"] = tables
    with shop.tidegate() as tidegate:
        tidegate.run()
        assert tidegate.verify().outcome == "equal"
    do(source, "INSERT INTO sales SELECT 20240104, n, n, NULL, NULL FROM generate_series(1, 10) AS n")
    do(target, "DELETE FROM ref_007 WHERE id < 3")
    yield shop
    for name in names:
        postgres.drop_database(name)


@pytest.fixture(scope="module")
def server(shop: Shop) -> Iterator[LiveServer]:
    with served(shop) as server:
        yield server


@contextmanager
def served(shop: Shop) -> Iterator[LiveServer]:
    server = LiveServer(Watch(shop.tidegate, refresh=600), "127.0.0.1", 0, TOKEN)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield server
    server.close()
    thread.join()


@contextmanager
def page_of(browser: Browser, server: LiveServer, width: int = 1280, scheme: str = "light") -> Iterator[Page]:
    """Open the page, and assert that the browser complained about nothing: neither a script nor the policy."""
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page, complaints = context.new_page(), list[str]()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(server.address)
    page.wait_for_selector("#part-tables > .table")
    yield page
    context.close()
    assert complaints == []


def test_shows_what_needs_attention_first(browser: Browser, server: LiveServer) -> None:
    with page_of(browser, server) as page:
        assert page.url == server.place, "the token does not stay in the address"
        assert page.inner_text("h1") == "Not in sync yet."
        names = page.locator("#part-tables > .table:visible h3").all_inner_texts()
        assert names[:2] == ["ref_007", "sales"]
        assert len(names) == 20
        page.click("text=Show all 60 tables")
        assert page.locator("#part-tables > .table:visible").count() == MANY
        steps = page.locator("#next details")
        assert steps.count() == 2
        steps.filter(has_text="sales").locator("summary").click()
        assert "extract 20240104" in steps.filter(has_text="sales").inner_text()
        row = page.locator("#freshness tr", has_text="sales")
        assert row.locator("td").all_inner_texts()[:2] == ["20240103", "20240104 → behind"]
        assert page.locator("#runs .runs > li").count() == 2


def test_is_used_with_a_keyboard(browser: Browser, server: LiveServer) -> None:
    with page_of(browser, server) as page:
        page.keyboard.press("/")
        page.keyboard.type("sales")
        assert page.locator("#part-tables > .table:visible").count() == 1
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_selector("#part-tables .calendar a.d")
        assert page.locator("#part-tables > .table:visible .calendar a.d").count() == 4
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowRight")
        assert "20240102: proven" in page.inner_text(".tip")
        page.keyboard.press("Enter")
        assert page.evaluate("document.querySelector('tr:target th').textContent") == "20240102"


@pytest.mark.parametrize("scheme", first_daily("light", "dark"))
def test_fits_a_phone_and_the_evening(browser: Browser, server: LiveServer, scheme: str) -> None:
    with page_of(browser, server, width=390, scheme=scheme) as page:
        page.locator("#part-tables > .table summary").first.click()
        page.wait_for_selector("#part-tables .receipts")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        ink, paper = (page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor"))
        assert _brightness(ink) < _brightness(paper) if scheme == "light" else _brightness(ink) > _brightness(paper)
        small = page.evaluate("[...document.querySelectorAll('#part-tables > .table:not([hidden]) > summary')]"
                              ".filter(each => each.getBoundingClientRect().height < 40).length")  # fmt: skip
        assert small == 0, "a finger hits a line of this height"


def _brightness(colour: str) -> int:
    return sum(int(part) for part in colour.partition("(")[2].rstrip(")").split(",")[:3])


def test_shows_a_run_as_it_happens(browser: Browser, shop: Shop, server: LiveServer, monkeypatch) -> None:
    monkeypatch.setattr(watching, "PULSE_SECONDS", 0.1)
    monkeypatch.setattr(watching, "TARGET_SECONDS", 0.1)
    from playwright.sync_api import expect

    expect.set_options(timeout=60_000)  # nothing about speed is asserted
    with page_of(browser, server) as page:
        page.locator("#part-tables > .table summary").first.click()
        page.wait_for_selector("#part-tables .receipts")
        gate = Gate()
        tidegate = shop.tidegate()
        tidegate._listener = gate
        run = threading.Thread(target=tidegate.run)
        run.start()
        try:
            page.wait_for_selector("#now .card >> text=1 of 1 window, 10 of 10 rows")
        finally:
            gate.opens.set()
            run.join()
        expect(page.locator("#runs .runs > li")).to_have_count(3)
        expect(page.locator("#now")).to_be_hidden()
        expect(page.locator("#next details")).to_have_count(0)
        assert page.locator("#t10").get_attribute("open") is not None, "what was open stays open"


class Gate(Listener):
    """Lets a run wait after its first phase, until a test has seen it."""

    def __init__(self) -> None:
        self.opens = threading.Event()

    def phase_ended(self) -> None:
        self.opens.wait(30)
