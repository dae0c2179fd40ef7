"""Connections from texts. psycopg, which is libpq, is the witness for what a text means."""

from __future__ import annotations

import pickle
import traceback
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tidegate.config.secrets import Variables
from tidegate.config.urls import parse_connection
from tidegate.errors import ConfigError, Unsupported
from tidegate.model.connection import Connection

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)
# What may stand raw in a URL's password: everything but a percent sign, which begins a code.
RAW_IN_URL = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters="%$"), min_size=1)


def told(connection: Connection) -> tuple[str, int, str, str, str]:
    return connection.host, connection.port, connection.database, connection.user, connection.password


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the usual ones
        ("postgresql://u:p@h:5433/db", ("h", 5433, "db", "u", "p")),
        ("postgres://u:p@h/db", ("h", 5432, "db", "u", "p")),
        ("postgresql+psycopg://u:p@h/db", ("h", 5432, "db", "u", "p")),
        ("postgresql+psycopg2://u:p@h/db", ("h", 5432, "db", "u", "p")),
        ("PostgreSQL://u:p@h/db", ("h", 5432, "db", "u", "p")),
        ("  postgresql://u:p@h/db\n", ("h", 5432, "db", "u", "p")),
        # parts that are left out
        ("postgresql://u@h/db", ("h", 5432, "db", "u", "")),
        ("postgresql://u:@h/db", ("h", 5432, "db", "u", "")),
        ("postgresql://h/db", ("h", 5432, "db", "", "")),
        ("postgresql://h:/db", ("h", 5432, "db", "", "")),
        ("postgresql:///db", ("localhost", 5432, "db", "", "")),
        ("postgresql://u:p@/db", ("localhost", 5432, "db", "u", "p")),
        ("postgresql://u:p@h?dbname=db", ("h", 5432, "db", "u", "p")),
        # percent codes, and characters that should have been codes
        ("postgresql://u%40x:p%40%3A%2F%3F%23%25@h/d%20b", ("h", 5432, "d b", "u@x", "p@:/?#%")),
        ("postgresql://u:p@ss@h/db", ("h", 5432, "db", "u", "p@ss")),
        ("postgresql://u:p:ss@h/db", ("h", 5432, "db", "u", "p:ss")),
        ("postgresql://u:p@ss:w@h:5433/db", ("h", 5433, "db", "u", "p@ss:w")),
        ("postgresql://u:p/ss@h/db", ("h", 5432, "db", "u", "p/ss")),
        ("postgresql://u:p?ss@h/db", ("h", 5432, "db", "u", "p?ss")),
        ("postgresql://u:1/2@h/db", ("h", 5432, "db", "u", "1/2")),
        ("postgresql://u:p@s/w@h/db", ("h", 5432, "db", "u", "p@s/w")),
        ("postgresql://u:p/@h/db@g/db", ("g", 5432, "db", "u", "p/@h/db")),
        ("postgresql://u:p#ss@h/db", ("h", 5432, "db", "u", "p#ss")),
        ("postgresql://u:100%sure@h/db", ("h", 5432, "db", "u", "100%sure")),
        ("postgresql://u:a+b@h/db", ("h", 5432, "db", "u", "a+b")),
        ("postgresql://admin@tenant:p@h/db", ("h", 5432, "db", "admin@tenant", "p")),
        ("postgresql://u:p@h/db?application_name=a@b", ("h", 5432, "db", "u", "p")),
        ("postgresql://u:p@h/db?application_name=a@b/c", ("h", 5432, "db", "u", "p")),
        ("postgresql://h/db?application_name=a@b", ("h", 5432, "db", "", "")),
        # IPv6 and Unix sockets
        ("postgresql://u:p@[::1]:5433/db", ("::1", 5433, "db", "u", "p")),
        ("postgresql://[2001:db8::7]/db", ("2001:db8::7", 5432, "db", "", "")),
        ("postgresql://[fe80::1%25eth0]/db", ("fe80::1%eth0", 5432, "db", "", "")),
        ("postgresql://u@%2Fvar%2Frun%2Fpostgresql/db", ("/var/run/postgresql", 5432, "db", "u", "")),
        ("postgresql://u@%2Ftmp:5433/db", ("/tmp", 5433, "db", "u", "")),
        ("postgresql:///db?host=/tmp&port=5433", ("/tmp", 5433, "db", "", "")),
        ("postgresql+psycopg://u:p@/db?host=h:5433", ("h", 5433, "db", "u", "p")),
        # the query wins
        ("postgresql://u:p@h/db?user=v&password=q", ("h", 5432, "db", "v", "q")),
        # JDBC
        ("jdbc:postgresql://h:5433/db?user=u&password=p", ("h", 5433, "db", "u", "p")),
        ("jdbc:postgresql://h/db?user=u&password=p%26q%3D1", ("h", 5432, "db", "u", "p&q=1")),
        ("jdbc:postgresql://h/db?user=u&password=a+b%2Bc", ("h", 5432, "db", "u", "a b+c")),
        ("jdbc:postgresql://[::1]/db", ("::1", 5432, "db", "", "")),
        ("jdbc:postgresql:db?user=u", ("localhost", 5432, "db", "u", "")),
        ("jdbc:postgresql:/db", ("localhost", 5432, "db", "", "")),
        ("jdbc:postgresql://h/db?reWriteBatchedInserts=true&user=u", ("h", 5432, "db", "u", "")),
        # libpq
        ("host=h port=5433 dbname=db user=u password=p", ("h", 5433, "db", "u", "p")),
        ("dbname = db host = '' ", ("localhost", 5432, "db", "", "")),
        (r"host=h dbname='d b' password='it\'s \\'", ("h", 5432, "d b", "", r"it's \ ".strip())),
        (r"dbname=db password=a\ b'c", ("localhost", 5432, "db", "", "a b'c")),
        ("host=/tmp dbname=db", ("/tmp", 5432, "db", "", "")),
        ("host=::1 dbname=db password=a@b:c/d?e", ("::1", 5432, "db", "", "a@b:c/d?e")),
    ],
)
def test_a_text_leads_to_its_connection(text, expected):
    connection = parse_connection(text)

    assert connection.kind == "postgresql"
    assert told(connection) == expected


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("postgresql://h/db", ()),
        (
            "postgresql://h/db?sslmode=require&connect_timeout=10",
            (("sslmode", "require"), ("connect_timeout", "10")),
        ),
        ("host=h dbname=db sslmode=verify-full", (("sslmode", "verify-full"),)),
        ("postgresql://h/db?options=-c%20statement_timeout%3D5", (("options", "-c statement_timeout=5"),)),
        ("postgresql://h/db?options=a+b", (("options", "a+b"),)),
        ("postgresql+psycopg://h/db?options=a+b", (("options", "a b"),)),
        ("postgresql://h/db?ssl=true", (("sslmode", "require"),)),
        ("postgresql+asyncpg://h/db?ssl=verify-ca", (("sslmode", "verify-ca"),)),
        ("jdbc:postgresql://h/db?ssl=true", (("sslmode", "verify-full"),)),
        ("jdbc:postgresql://h/db?ssl=false", ()),
        ("jdbc:postgresql://h/db?ssl=true&sslmode=require", (("sslmode", "require"),)),
        ("jdbc:postgresql://h/db?sslmode=require&ssl=true", (("sslmode", "require"),)),
        (
            "jdbc:postgresql://h/db?connectTimeout=10&ApplicationName=x",
            (("connect_timeout", "10"), ("application_name", "x")),
        ),
        ("jdbc:postgresql://h/db?currentSchema=sales,a%20b", (("options", r"-csearch_path=sales,a\ b"),)),
        (
            "jdbc:postgresql://h/db?options=-cwork_mem%3D64MB&currentSchema=sales",
            (("options", "-cwork_mem=64MB -csearch_path=sales"),),
        ),
        ("jdbc:postgresql://h/db?tcpKeepAlive=true&loggerLevel=OFF", ()),
    ],
)
def test_options_keep_the_names_that_the_driver_knows(text, options):
    assert parse_connection(text).options == options


@pytest.mark.parametrize(
    ("text", "error", "happened"),
    [
        ("", ConfigError, "is empty"),
        ("   ", ConfigError, "is empty"),
        ("mydatabase", ConfigError, "is not a connection that Tidegate can read"),
        ("postgresql://u:hunter2@h", ConfigError, "names no database"),
        ("postgresql://u:hunter2@h/", ConfigError, "names no database"),
        ("host=h password=hunter2", ConfigError, "names no database"),
        ("postgresql://u:hunter2@h:http/db", ConfigError, "is not a connection that Tidegate can read"),
        ("postgresql://u:hunter2@h:0/db", ConfigError, "has a port that is not a number from 1 to 65535"),
        ("postgresql://u:hunter2@h:99999/db", ConfigError, "has a port that is not a number from 1 to 65535"),
        ("host=h dbname=db port=http password=hunter2", ConfigError, "has a port that is not a number"),
        ("postgresql://u:hunter2@::1/db", ConfigError, "is not a connection that Tidegate can read"),
        ("postgresql://u:hunter2@h/a/b", ConfigError, "is not a connection that Tidegate can read"),
        ("postgresql://u:hunter2/@h/db?a=b@g/db", ConfigError, "is not a connection that Tidegate can read"),
        ("host=h dbname=db password='hunter2", ConfigError, "is not a connection that Tidegate can read"),
        ("postgresql://u:hunter2%ff@h/db", ConfigError, "has percent-encoded bytes that are not UTF-8"),
        ("postgresql://u:hunter2%00@h/db", ConfigError, "holds a NUL character"),
        ("postgresql://u:hunter2\x00@h/db", ConfigError, "holds a NUL character"),
        ("postgresql://u:hunter2@h1,h2/db", Unsupported, "names several hosts"),
        ("postgresql://u:hunter2@h1:5432,h2:5432/db", Unsupported, "names several hosts"),
        ("host=h1,h2 dbname=db password=hunter2", Unsupported, "names several hosts"),
        (
            "mssql+pyodbc://u:hunter2@h/db",
            Unsupported,
            "is for SQL Server, which is not available yet",
        ),
        ("jdbc:sqlserver://h;password=hunter2", Unsupported, "is for SQL Server"),
        ("mysql://u:hunter2@h/db", Unsupported, "is for MySQL, which is not available yet"),
        ("redshift+psycopg2://u:hunter2@h/db", Unsupported, "is for Amazon Redshift"),
        (
            "mongodb://u:hunter2@h/db",
            ConfigError,
            "starts with `mongodb:`, which is no database that Tidegate knows",
        ),
        ("Driver={ODBC Driver 18};Server=h;Pwd=hunter2", Unsupported, "is an ODBC or ADO.NET string"),
        ("Host=h;Username=u;Password=hunter2", Unsupported, "is an ODBC or ADO.NET string"),
        ("server=h;password=hunter2", Unsupported, "is an ODBC or ADO.NET string"),
        (
            "jdbc:postgresql://h/db?password=hunter2&sslfactory=x",
            Unsupported,
            "asks for the JDBC option `sslfactory`",
        ),
    ],
)
def test_a_text_that_cannot_be_read_is_refused_without_showing_it(text, error, happened):
    with pytest.raises(error) as refusal:
        parse_connection(text, setting="source")

    assert refusal.value.happened.startswith(f"`source` {happened}")
    assert refusal.value.safe == "Nothing was read or written."
    assert refusal.value.remedy
    assert "hunter2" not in "".join(traceback.format_exception(refusal.value))


SPECIAL = "p@:/?#%41'\\ ${X}&=+"


@pytest.mark.parametrize(
    "template",
    [
        "postgresql://u:${PW}@h:5433/db",
        "postgresql+psycopg://u:${PW}@h:5433/db",
        "postgresql://${USER}:${PW}@${HOST}:${PORT}/${DB}",
        "postgresql://u:${PW}@${HOST_AND_PORT}/db",
        "postgresql://h:5433/db?user=u&password=${PW}",
        "jdbc:postgresql://h:5433/db?user=u&password=${PW}",
        "host=h port=5433 dbname=db user=u password=${PW}",
        "host=h port=5433 dbname=db user=u password='${PW}'",
        "${WHOLE_URL}",
        " ${WHOLE_URL}",
        "${WHOLE_PAIRS}",
        "${BASE_URL}/db",
        "${MISSING:-postgresql://u:p%40%3A%2F%3F%23%2541%27%5C%20%24%7BX%7D%26%3D+@h:5433/db}",
    ],
)
def test_a_variable_inside_a_url_is_taken_as_it_is_and_a_whole_url_is_decoded(template):
    base = f"postgresql://u:{quote(SPECIAL, safe='')}@h:5433"
    pairs = make_conninfo(host="h", port=5433, dbname="db", user="u", password=SPECIAL)
    environ = {"PW": SPECIAL, "USER": "u", "HOST": "h", "PORT": "5433", "DB": "db", "HOST_AND_PORT": "h:5433"}
    environ |= {"WHOLE_URL": f"{base}/db\n", "WHOLE_PAIRS": pairs, "BASE_URL": base}

    connection = parse_connection(template, Variables(environ))

    assert told(connection) == ("h", 5433, "db", "u", SPECIAL)


@given(user=ANY_TEXT, password=ANY_TEXT, database=ANY_TEXT)
def test_any_login_survives_a_url_as_libpq_reads_it(user, password, database):
    url = f"postgresql://{quote(user, safe='')}:{quote(password, safe='')}@h:5433/{quote(database, safe='')}"

    assert told(parse_connection(url)) == ("h", 5433, database, user, password)
    assert conninfo_to_dict(url) == {
        "host": "h",
        "port": "5433",
        "dbname": database,
        "user": user,
        "password": password,
    }


@given(user=ANY_TEXT, password=ANY_TEXT, database=ANY_TEXT)
def test_any_login_survives_a_jdbc_url(user, password, database):
    query = f"user={quote_plus(user)}&password={quote_plus(password)}"
    url = f"jdbc:postgresql://h:5433/{quote(database, safe='')}?{query}"

    assert told(parse_connection(url)) == ("h", 5433, database, user, password)


@given(user=ANY_TEXT, password=ANY_TEXT, database=ANY_TEXT)
def test_any_login_survives_the_pairs_that_libpq_writes(user, password, database):
    pairs = make_conninfo(host="h", port=5433, dbname=database, user=user, password=password)

    assert told(parse_connection(pairs.replace("${", "$${"))) == ("h", 5433, database, user, password)


@given(st.text(st.sampled_from("ab='\\ \t\n1"), max_size=12))
def test_pairs_mean_what_libpq_says_or_are_refused(rest):
    text = f"dbname=db application_name={rest}".strip()
    try:
        witness = conninfo_to_dict(text)
    except Exception:
        return
    try:
        connection = parse_connection(text)
    except ConfigError:
        return

    seen = {name: value for name, value in witness.items() if value}
    assert {"dbname": "db"} | {name: value for name, value in connection.options if value} == seen


@given(password=ANY_TEXT)
def test_any_password_survives_as_a_variable(password):
    environ = {"PW": password}

    for template in (
        "postgresql://u:${PW}@h:5433/db",
        "jdbc:postgresql://h:5433/db?user=u&password=${PW}",
        "host=h port=5433 dbname=db user=u password=${PW}",
    ):
        assert told(parse_connection(template, Variables(environ))) == ("h", 5433, "db", "u", password)


@given(password=RAW_IN_URL.filter(lambda text: not set("/?") & set(text)))
def test_a_raw_password_without_slash_and_question_mark_ends_at_the_last_at_sign(password):
    assert parse_connection(f"postgresql://u:{password}@h/db").password == password


@given(password=RAW_IN_URL)
def test_a_raw_password_is_cut_only_where_the_url_reads_plainly_without_it(password):
    try:
        connection = parse_connection(f"postgresql://u:{password}@h/db")
    except (ConfigError, Unsupported):
        return

    plain_reading = password.partition("/")[0].partition("?")[0]
    assert connection.password == password or "@" in plain_reading or not connection.password


@given(user=ANY_TEXT, database=ANY_TEXT, host=st.sampled_from(["h", "::1", "/tmp", "10.0.0.1"]))
def test_the_display_form_leads_back_to_the_same_place(user, database, host):
    connection = Connection("postgresql", host, 5433, database, user, "hunter2", (("sslmode", "require"),))

    again = parse_connection(connection.display.replace("${", "$${"))

    assert told(again) == (host, 5433, database, user, "")


def test_no_text_form_of_a_connection_holds_a_secret():
    options = (("sslpassword", "hunter3"), ("sslmode", "require"), ("password", "hunter4"))
    connection = Connection("postgresql", "h", 5432, "db", "u", "hunter2", options)

    assert repr(connection) == "Connection('postgresql://u@h:5432/db')"
    assert str(connection) == f"{connection}" == connection.display == "postgresql://u@h:5432/db"
    assert connection.secrets == ("hunter2", "hunter3", "hunter4")
    assert pickle.loads(pickle.dumps(connection)) == connection


@pytest.mark.parametrize(
    ("host", "display"),
    [
        ("h", "postgresql://u@h:5432/db"),
        ("::1", "postgresql://u@[::1]:5432/db"),
        ("/var/run/postgresql", "postgresql://u@/db?host=/var/run/postgresql&port=5432"),
    ],
)
def test_display(host, display):
    assert Connection("postgresql", host, 5432, "db", "u").display == display


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("postgresql://a:b@h/db", "postgresql://c:d@h:5432/db", True),
        ("postgresql://h/db", "host=H. dbname=db sslmode=require", True),
        ("postgresql://h/db", "jdbc:postgresql://h:5432/DB", True),
        ("postgresql://h/db", "postgresql://h/other", False),
        ("postgresql://h/db", "postgresql://h:5433/db", False),
        ("postgresql://h/db", "postgresql://g/db", False),
        ("postgresql://localhost/db", "postgresql://127.0.0.1/db", True),
        ("postgresql://localhost/db", "postgresql://[::1]/db", True),
        ("postgresql://127.0.0.1/db", "postgresql://[0:0:0:0:0:0:0:1]/db", True),
        ("postgresql://127.0.0.1/db", "postgresql://127.0.1.1/db", True),
        ("postgresql://127.0.0.1/db", "postgresql://[::ffff:127.0.0.1]/db", True),
        ("postgresql://localhost/db", "postgresql://0.0.0.0/db", True),
        ("postgresql:///db", "postgresql://localhost/db", True),
        ("postgresql://localhost/db", "host=/tmp dbname=db", True),
        ("host=/tmp/ dbname=db", "host=/tmp dbname=db", True),
        ("host=/tmp dbname=db", "host=/var/run/postgresql dbname=db", False),
        ("postgresql://[2001:db8::7]/db", "postgresql://[2001:0db8:0::7]/db", True),
        ("host=h hostaddr=10.0.0.1 dbname=db", "postgresql://10.0.0.1/db", True),
        ("postgresql://10.0.0.1/db", "postgresql://10.0.0.2/db", False),
    ],
)
def test_the_same_place(one, other, same):
    assert parse_connection(one).same_place_as(parse_connection(other)) is same
    assert parse_connection(other).same_place_as(parse_connection(one)) is same
