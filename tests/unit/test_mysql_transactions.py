"""Which transactions the InnoDB monitor shows as writers, in the words of MariaDB and of MySQL."""

from __future__ import annotations

from tidegate.databases.mysql.transactions import writers

HEAD = """
=====================================
------------
TRANSACTIONS
------------
Trx id counter 24
LIST OF TRANSACTIONS FOR EACH SESSION:
"""
FOOT = """
--------
FILE I/O
--------
undo log entries 9, tables in use 1, locked 1
---TRANSACTION 99, ACTIVE 1 sec
"""


def monitor(*blocks: str) -> str:
    return HEAD + "\n".join(blocks) + FOOT


def test_transaction_that_wrote_is_a_writer():
    mariadb = """---TRANSACTION 21, ACTIVE 3 sec
1 lock struct(s), heap size 1128, 0 row lock(s), undo log entries 1
MariaDB thread id 7, OS thread handle 140137805240000, query id 33 127.0.0.1 anna """
    mysql = """---TRANSACTION 1799, ACTIVE 12 sec
2 lock struct(s), heap size 1128, 1 row lock(s), undo log entries 20
MySQL thread id 10, OS thread handle 1401, query id 55 localhost 127.0.0.1 ben"""
    found = writers(monitor(mariadb, mysql))
    assert found is not None
    assert [(one.transaction, one.thread, one.who, one.age) for one in found] == [
        ("21", 7, "127.0.0.1 anna", 4),
        ("1799", 10, "localhost 127.0.0.1 ben", 13),
    ]


def test_statement_that_holds_a_table_for_writing_is_a_writer():
    waiting = """---TRANSACTION 25, ACTIVE 2 sec inserting
mysql tables in use 1, locked 1
LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)
MariaDB thread id 8, OS thread handle 1401, query id 40 127.0.0.1 carl Update
insert into t values (2)"""
    reading = """---TRANSACTION 421, ACTIVE 2 sec fetching rows
mysql tables in use 1, locked 0
0 lock struct(s), heap size 1128, 0 row lock(s)
MariaDB thread id 9, OS thread handle 1401, query id 41 127.0.0.1 dora Sending data
select * from t"""
    found = writers(monitor(waiting, reading))
    assert found is not None and [one.thread for one in found] == [8]


def test_prepared_transaction_without_a_session_is_a_writer():
    prepared = """---TRANSACTION 30, ACTIVE (PREPARED) 70 sec recovered trx
0 lock struct(s), heap size 1128, 0 row lock(s), undo log entries 1"""
    [one] = writers(monitor(prepared)) or []
    assert (one.thread, one.who, one.age) == (0, "a prepared transaction", 71)


def test_sessions_without_a_transaction_do_not_count():
    idle = """---TRANSACTION (0x7f74606f4b80), not started
0 lock struct(s), heap size 1128, 0 row lock(s)"""
    assert writers(monitor(idle)) == []


def test_text_that_was_cut_tells_nothing():
    assert writers(monitor("... truncated...")) is None
    assert writers("no list of transactions") is None


def test_waiting_transaction_hides_no_other():
    """The monitor writes lines of hyphens behind a transaction that waits for a lock, as at the end of the list."""
    waiting = """---TRANSACTION 25, ACTIVE 2 sec starting index read
mysql tables in use 1, locked 1
LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)
MariaDB thread id 8, OS thread handle 1401, query id 40 127.0.0.1 carl Updating
UPDATE t SET a = 1
------- TRX HAS BEEN WAITING 1200 us FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 7 page no 3 n bits 8 index PRIMARY of table `s`.`t` trx id 25 lock_mode X locks rec but not gap
------------------"""
    wrote = """---TRANSACTION 21, ACTIVE 3 sec
1 lock struct(s), heap size 1128, 0 row lock(s), undo log entries 1
MariaDB thread id 7, OS thread handle 140137805240000, query id 33 127.0.0.1 anna """
    found = writers(monitor(waiting, wrote))
    assert found is not None and [one.thread for one in found] == [8, 7]


def test_list_without_an_end_is_no_evidence():
    assert writers(HEAD + "---TRANSACTION 21, ACTIVE 3 sec") is None
