"""Somebody writes to the source while one run follows the other. In the end both sides have the same rows."""

from __future__ import annotations

import random
import threading
import time

import pytest

from kit.orders import INSERT_NOW, NOW, Orders, connected
from kit.sides import ask, kind_of

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

SERIAL = {
    "postgresql": "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item varchar(40),"
    " amount numeric(12,2), created_at timestamp, updated_at timestamp)",
    "mysql": "CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY, item varchar(40), amount decimal(12,2),"
    " created_at datetime(6), updated_at datetime(6))",
}
INSERT_NEXT = (
    "INSERT INTO orders (item, amount, updated_at) SELECT 'new', 1, clock.now FROM (SELECT {now} AS now) AS clock"
)
UPDATE_NOW = "UPDATE orders SET amount = amount + 1, updated_at = {now} WHERE id = %s"


class Writers:
    """Threads that write in transactions of random length, each with a connection of its own."""

    def __init__(self, orders: Orders, count: int, *, only_inserts: bool) -> None:
        self._url, self._only_inserts, self._stop = orders.source, only_inserts, threading.Event()
        self._now = NOW[kind_of(orders.source)]
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(count)]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, number: int) -> None:
        chance = random.Random(number)
        with connected(self._url) as connection, connection.cursor() as cursor:
            step = 0
            while not self._stop.is_set():
                for _ in range(chance.randint(1, 3)):
                    step += 1
                    self._write_row(cursor, number * 1_000_000 + step, chance)
                    time.sleep(chance.random() / 10)
                if chance.random() < 0.1:
                    connection.rollback()
                else:
                    connection.commit()

    def _write_row(self, cursor: object, key: int, chance: random.Random) -> None:
        execute = cursor.execute  # type: ignore[attr-defined]
        if self._only_inserts:
            execute(INSERT_NEXT.format(now=self._now))
        elif key % 1_000_000 < 5 or chance.random() < 0.5:
            execute(INSERT_NOW.format(now=self._now), (key,))
        else:
            execute(UPDATE_NOW.format(now=self._now), (key - chance.randint(1, 4),))


def follow(orders: Orders, seconds: float, *, only_inserts: bool = False, writers: int = 3) -> int:
    """Run again and again while somebody writes. Return how many runs there were."""
    runs, end = 0, time.monotonic() + seconds
    with Writers(orders, writers, only_inserts=only_inserts):
        while time.monotonic() < end or runs < 3:
            orders.run()
            runs += 1
    orders.run()
    return runs


@pytest.mark.parametrize("seconds", [2, pytest.param(60, marks=pytest.mark.thorough)])
def test_writers_by_time_lose_nothing(orders: Orders, seconds: int):
    """Without a look-back only the watermark, which waits for open transactions, keeps rows from being lost."""
    orders.settings["look_back"] = 0
    assert follow(orders, seconds) > 2
    orders.assert_equal()


@pytest.mark.parametrize("seconds", [2, pytest.param(60, marks=pytest.mark.thorough)])
def test_writers_by_number_lose_nothing(orders: Orders, seconds: int):
    orders.in_source("DROP TABLE orders")
    orders.in_source(SERIAL[kind_of(orders.source)])
    orders.settings = {"kind": "incremental", "changes": "sequence", "sequence_column": "id", "load": "append"}
    assert follow(orders, seconds, only_inserts=True) > 0
    orders.assert_equal()
    assert ask(orders.target, "SELECT count(*) FROM orders")[0][0] > 0
