"""Connections from texts. psycopg, which is libpq, is the witness for what a text means."""

from __future__ import annotations

import pickle
import traceback
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from kit.installing import install_database
from tidegate.config.secrets import Variables
from tidegate.config.urls import parse_connection
from tidegate.errors import ConfigError, Unsupported
from tidegate.model.connection import Connection

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)
# What may stand raw in a URL's password: everything but a percent sign, which begins a code.
RAW_IN_URL = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters="%$"), min_size=1)


# MySQL and MariaDB are one kind.
KINDS = [("postgresql", "postgresql", 5432), ("mysql", "mysql", 3306), ("mariadb", "mysql", 3306)]
both_kinds = pytest.mark.parametrize(("scheme", "kind", "port"), KINDS, ids=[scheme for scheme, _, _ in KINDS])
each_scheme = pytest.mark.parametrize("scheme", ["postgresql", "mysql"])


def told(connection: Connection) -> tuple[str, int, str, str, str]:
    return connection.host, connection.port, connection.database, connection.user, connection.password


def socket_option(kind: str, host: str) -> tuple[tuple[str, str], ...]:
    """The adapter of MySQL asks for the socket as an option; its path is the host as well."""
    return (("unix_socket", host),) if kind == "mysql" and host.startswith("/") else ()


@pytest.mark.parametrize(
    ("scheme", "kind", "port"),
    [
        ("postgresql", "postgresql", 5432),
        ("postgres", "postgresql", 5432),
        ("PostgreSQL", "postgresql", 5432),
        ("postgresql+psycopg", "postgresql", 5432),
        ("postgresql+psycopg2", "postgresql", 5432),
        ("jdbc:postgresql", "postgresql", 5432),
        ("mysql", "mysql", 3306),
        ("MySQL", "mysql", 3306),
        ("mysql+pymysql", "mysql", 3306),
        ("mysql+mysqldb", "mysql", 3306),
        ("mysql+mysqlconnector", "mysql", 3306),
        ("mysql+aiomysql", "mysql", 3306),
        ("mariadb", "mysql", 3306),
        ("mariadb+pymysql", "mysql", 3306),
        ("mariadb+mariadbconnector", "mysql", 3306),
        ("jdbc:mysql", "mysql", 3306),
        ("jdbc:mariadb", "mysql", 3306),
        ("JDBC:MariaDB", "mysql", 3306),
    ],
)
def test_a_scheme_tells_the_kind_and_its_own_port(scheme, kind, port):
    connection = parse_connection(f"{scheme}://u:p@h/db")

    assert connection == Connection(kind, "h", port, "db", "u", "p")


OWN = 0


@both_kinds
@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("u:p@h:5433/db", ("h", 5433, "db", "u", "p")),
        # parts that are left out
        ("u@h/db", ("h", OWN, "db", "u", "")),
        ("u:@h/db", ("h", OWN, "db", "u", "")),
        ("h/db", ("h", OWN, "db", "", "")),
        ("h:/db", ("h", OWN, "db", "", "")),
        ("/db", ("localhost", OWN, "db", "", "")),
        ("u:p@/db", ("localhost", OWN, "db", "u", "p")),
        # percent codes, and characters that should have been codes
        ("u%40x:p%40%3A%2F%3F%23%25@h/d%20b", ("h", OWN, "d b", "u@x", "p@:/?#%")),
        ("u:%3B%20%22%27%C3%A9%F0%9F%8C%8A@h/db", ("h", OWN, "db", "u", "; \"'é🌊")),
        ("u:; \"'é🌊@h/db", ("h", OWN, "db", "u", "; \"'é🌊")),
        ("u:p@ss@h/db", ("h", OWN, "db", "u", "p@ss")),
        ("u:p:ss@h/db", ("h", OWN, "db", "u", "p:ss")),
        ("u:p@ss:w@h:5433/db", ("h", 5433, "db", "u", "p@ss:w")),
        ("u:p/ss@h/db", ("h", OWN, "db", "u", "p/ss")),
        ("u:p?ss@h/db", ("h", OWN, "db", "u", "p?ss")),
        ("u:1/2@h/db", ("h", OWN, "db", "u", "1/2")),
        ("u:p@s/w@h/db", ("h", OWN, "db", "u", "p@s/w")),
        ("u:p/@h/db@g/db", ("g", OWN, "db", "u", "p/@h/db")),
        ("u:p#ss@h/db", ("h", OWN, "db", "u", "p#ss")),
        ("u:100%sure@h/db", ("h", OWN, "db", "u", "100%sure")),
        ("u:a+b@h/db", ("h", OWN, "db", "u", "a+b")),
        ("admin@tenant:p@h/db", ("h", OWN, "db", "admin@tenant", "p")),
        # IPv6
        ("u:p@[::1]:5433/db", ("::1", 5433, "db", "u", "p")),
        ("[2001:db8::7]/db", ("2001:db8::7", OWN, "db", "", "")),
        ("[fe80::1%25eth0]/db", ("fe80::1%eth0", OWN, "db", "", "")),
        # the query wins
        ("u:p@h/db?user=v&password=q", ("h", OWN, "db", "v", "q")),
        ("u:p@/db?host=h:5433", ("h", 5433, "db", "u", "p")),
        ("u:p@/db?host=h&port=5433", ("h", 5433, "db", "u", "p")),
    ],
)
def test_a_url_leads_to_its_place_and_login(scheme, kind, port, rest, expected):
    host, given, *others = expected

    connection = parse_connection(f"  {scheme}://{rest}\n")

    assert connection.kind == kind
    assert told(connection) == (host, given or port, *others)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://u:p@h?dbname=db", ("h", 5432, "db", "u", "p")),
        ("postgresql://u:p@h/db?application_name=a@b", ("h", 5432, "db", "u", "p")),
        ("postgresql://u:p@h/db?application_name=a@b/c", ("h", 5432, "db", "u", "p")),
        ("postgresql://h/db?application_name=a@b", ("h", 5432, "db", "", "")),
        # Unix sockets
        ("postgresql://u@%2Fvar%2Frun%2Fpostgresql/db", ("/var/run/postgresql", 5432, "db", "u", "")),
        ("postgresql://u@%2Ftmp:5433/db", ("/tmp", 5433, "db", "u", "")),
        ("postgresql:///db?host=/tmp&port=5433", ("/tmp", 5433, "db", "", "")),
        ("postgresql+psycopg://u:p@/db?host=h:5433", ("h", 5433, "db", "u", "p")),
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
def test_a_text_for_postgresql_leads_to_its_place_and_login(text, expected):
    connection = parse_connection(text)

    assert connection.kind == "postgresql"
    assert told(connection) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mysql://u:p@h?database=db", ("h", 3306, "db", "u", "p")),
        ("mysql+mysqldb://h/?user=u&passwd=p&db=db", ("h", 3306, "db", "u", "p")),
        ("mysql+pymysql://h/db?user=u&password=a+b%2Bc", ("h", 3306, "db", "u", "a b+c")),
        # Unix sockets: files, which say no port
        ("mysql+pymysql://u:p@/db?unix_socket=/run/mysqld.sock", ("/run/mysqld.sock", 3306, "db", "u", "p")),
        ("mysql+pymysql://u:p@localhost/db?unix_socket=/tmp/mysql.sock", ("/tmp/mysql.sock", 3306, "db", "u", "p")),
        ("mysql://u@localhost:3307/db?unix_socket=/tmp/mysql.sock", ("/tmp/mysql.sock", 3306, "db", "u", "")),
        ("mysql://u@[::1]/db?unix_socket=/tmp/mysql.sock", ("/tmp/mysql.sock", 3306, "db", "u", "")),
        ("mysql+mysqldb://u@/db?unix_socket=/cloudsql/one:two:three", ("/cloudsql/one:two:three", 3306, "db", "u", "")),
        ("mysql://u@%2Ftmp%2Fmysql.sock/db", ("/tmp/mysql.sock", 3306, "db", "u", "")),
        ("mysql:///db?socket=%2Ftmp%2Fmy%20sql.sock", ("/tmp/my sql.sock", 3306, "db", "", "")),
        ("mysql:///db?host=/tmp/mysql.sock", ("/tmp/mysql.sock", 3306, "db", "", "")),
        ("jdbc:mariadb://localhost/db?user=u&localSocket=/tmp/mysql.sock", ("/tmp/mysql.sock", 3306, "db", "u", "")),
        # Connector/J reads every `+` as a space, MariaDB Connector/J none
        ("jdbc:mysql://h:3307/db?user=u&password=p", ("h", 3307, "db", "u", "p")),
        ("jdbc:mysql://h/db?user=u&password=p%26q%3D1", ("h", 3306, "db", "u", "p&q=1")),
        ("jdbc:mysql://h/db?user=u&password=a+b%2Bc", ("h", 3306, "db", "u", "a b+c")),
        ("jdbc:mysql://u:a+b%2Bc@h/d+b", ("h", 3306, "d b", "u", "a b+c")),
        ("jdbc:mysql://[::1]/db", ("::1", 3306, "db", "", "")),
        ("jdbc:mysql:///db?USER=u", ("localhost", 3306, "db", "u", "")),
        ("jdbc:mariadb://h/db?user=u&password=a+b/c==", ("h", 3306, "db", "u", "a+b/c==")),
        ("jdbc:mariadb://h/db?user=u&password=p%26q", ("h", 3306, "db", "u", "p&q")),
    ],
)  # fmt: skip
def test_a_text_for_mysql_leads_to_its_place_and_login(text, expected):
    connection = parse_connection(text)

    assert connection.kind == "mysql"
    assert told(connection) == expected
    assert connection.options == socket_option("mysql", connection.host)


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
def test_options_of_postgresql_keep_the_names_that_libpq_knows(text, options):
    assert parse_connection(text).options == options


PEM = "ssl_ca=/ca.pem&ssl_cert=/cert.pem&ssl_key=/key.pem"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("mysql://h/db", {}),
        # real ones: DigitalOcean and Aiven, SQLAlchemy's documentation, Spring, SkySQL
        ("mysql://doadmin:p@db.b.db.ondigitalocean.com:25060/db?ssl-mode=REQUIRED", {"ssl_mode": "required"}),
        (
            f"mysql+pymysql://scott:tiger@192.168.0.134/test?{PEM}&ssl_check_hostname=false",
            {"ssl_mode": "verify_ca", "ssl_ca": "/ca.pem", "ssl_cert": "/cert.pem", "ssl_key": "/key.pem"},
        ),
        (
            "jdbc:mysql://h:3306/db?useUnicode=true&characterEncoding=UTF-8&useSSL=false&serverTimezone=Europe/Berlin"
            "&allowPublicKeyRetrieval=true&zeroDateTimeBehavior=convertToNull&rewriteBatchedStatements=true",
            {"ssl_mode": "disabled"},
        ),
        (
            "jdbc:mariadb://h:5001/db?user=u&password=p&sslMode=verify-full&serverSslCert=/skysql_chain.pem",
            {"ssl_mode": "verify_identity", "ssl_ca": "/skysql_chain.pem"},
        ),
        # encryption by its mode
        ("mysql://h/db?ssl_mode=DISABLED", {"ssl_mode": "disabled"}),
        ("mysql+mysqldb://h/db?ssl_mode=PREFERRED", {"ssl_mode": "preferred"}),
        ("mysql://h/db?ssl-mode=VERIFY_CA&ssl-ca=/ca.pem", {"ssl_mode": "verify_ca", "ssl_ca": "/ca.pem"}),
        ("mysql://h/db?sslMode=verify-identity", {"ssl_mode": "verify_identity"}),
        ("jdbc:mysql://h/db?sslMode=REQUIRED", {"ssl_mode": "required"}),
        ("jdbc:mysql://h/db?sslMode=VERIFY_IDENTITY&useSSL=false", {"ssl_mode": "verify_identity"}),
        ("jdbc:mariadb://h/db?sslMode=disable", {"ssl_mode": "disabled"}),
        ("jdbc:mariadb://h/db?sslMode=trust", {"ssl_mode": "required"}),
        ("jdbc:mariadb://h/db?sslmode=VERIFY_CA", {"ssl_mode": "verify_ca"}),
        ("jdbc:mariadb://h/db?sslMode=true", {"ssl_mode": "verify_identity"}),
        # encryption by flags of the Python drivers
        ("mysql://h/db?ssl=true", {"ssl_mode": "required"}),
        ("mysql://h/db?ssl=0", {"ssl_mode": "disabled"}),
        ("mysql+pymysql://h/db?ssl_disabled=True", {"ssl_mode": "disabled"}),
        ("mysql+pymysql://h/db?ssl_disabled=true&ssl_ca=/ca.pem", {"ssl_mode": "disabled", "ssl_ca": "/ca.pem"}),
        ("mysql+pymysql://h/db?ssl_disabled=false", {}),
        ("mysql+pymysql://h/db?ssl_ca=/ca.pem", {"ssl_mode": "verify_identity", "ssl_ca": "/ca.pem"}),
        ("mysql+pymysql://h/db?ssl_ca=/ca.pem&ssl=true", {"ssl_mode": "verify_identity", "ssl_ca": "/ca.pem"}),
        ("mysql+pymysql://h/db?ssl_ca=/ca.pem&ssl_verify_cert=false", {"ssl_mode": "required", "ssl_ca": "/ca.pem"}),
        ("mysql+pymysql://h/db?ssl_cert=/c&ssl_key=/k", {"ssl_mode": "required", "ssl_cert": "/c", "ssl_key": "/k"}),
        ("mysql+pymysql://h/db?ssl_verify_cert=true", {"ssl_mode": "verify_ca"}),
        ("mysql+mysqlconnector://h/db?ssl_verify_cert=true&ssl_verify_identity=true", {"ssl_mode": "verify_identity"}),
        ("mariadb+mariadbconnector://h/db?ssl_verify_cert=1", {"ssl_mode": "verify_identity"}),
        # encryption by flags of the JDBC drivers, which mean different things
        ("jdbc:mysql://h/db?useSSL=true", {"ssl_mode": "preferred"}),
        ("jdbc:mysql://h/db?useSSL=true&requireSSL=true", {"ssl_mode": "required"}),
        ("jdbc:mysql://h/db?requireSSL=true", {"ssl_mode": "required"}),
        ("jdbc:mysql://h/db?useSSL=true&requireSSL=true&verifyServerCertificate=true", {"ssl_mode": "verify_ca"}),
        ("jdbc:mysql://h/db?useSSL=false&requireSSL=true", {"ssl_mode": "disabled"}),
        ("jdbc:mysql://h/db?verifyServerCertificate=false", {}),
        ("jdbc:mariadb://h/db?useSsl=true", {"ssl_mode": "verify_identity"}),
        ("jdbc:mariadb://h/db?useSsl=true&trustServerCertificate=true", {"ssl_mode": "required"}),
        ("jdbc:mariadb://h/db?useSSL=true&disableSslHostnameVerification=true", {"ssl_mode": "verify_ca"}),
        ("jdbc:mariadb://h/db?useSsl=false", {"ssl_mode": "disabled"}),
        ("jdbc:mariadb://h/db?serverSslCert=/ca.pem", {"ssl_mode": "verify_identity", "ssl_ca": "/ca.pem"}),
        # timeouts: seconds, and milliseconds for JDBC
        (
            "mysql+pymysql://h/db?write_timeout=30&read_timeout=20&connect_timeout=10",
            {"connect_timeout": "10", "read_timeout": "20", "write_timeout": "30"},
        ),
        ("mysql+mysqlconnector://h/db?connection_timeout=5", {"connect_timeout": "5"}),
        ("jdbc:mysql://h/db?connectTimeout=10000&socketTimeout=60001", {"connect_timeout": "10", "read_timeout": "61"}),
        ("jdbc:mariadb://h/db?connectTimeout=1&socketTimeout=0", {"connect_timeout": "1"}),
        # what our session fixes, or what tunes a driver
        ("mysql+pymysql://h/db?charset=utf8mb4&binary_prefix=true&local_infile=1", {}),
        ("mysql://h/db?charset=UTF8MB4&collation=utf8mb4_0900_ai_ci&use_unicode=1&autocommit=true", {}),
        ("mysql://h/db?ssl_ca=&connect_timeout=&charset=", {}),
        ("jdbc:mysql://h/db?characterEncoding=utf8&connectionCollation=utf8mb4_bin&characterSetResults=null", {}),
        ("jdbc:mysql://h/db?useServerPrepStmts=true&cachePrepStmts=true&prepStmtCacheSize=250", {}),
        ("jdbc:mysql://h/db?useCompression=true&tcpKeepAlive=true&autoReconnect=true&useCursorFetch=true", {}),
        ("jdbc:mysql://h/db?connectionTimeZone=SERVER&forceConnectionTimeZoneToSession=true", {}),
        ("jdbc:mysql://h/db?tinyInt1isBit=false&yearIsDateType=false&allowLoadLocalInfile=true", {}),
        ("jdbc:mysql://h/db?nullCatalogMeansCurrent=true&preserveInstants=false&logger=Slf4JLogger", {}),
        ("jdbc:mariadb://h/db?allowLocalInfile=false&useBulkStmts=true&timezone=UTC&maxPoolSize=4", {}),
    ],
)  # fmt: skip
def test_options_of_mysql_get_one_name_whatever_driver_they_were_written_for(text, options):
    assert parse_connection(text).options == tuple(options.items())


@pytest.mark.parametrize(
    ("text", "error", "happened"),
    [
        ("", ConfigError, "is empty"),
        ("   ", ConfigError, "is empty"),
        ("mydatabase", ConfigError, "is not a connection that Tidegate can read"),
        ("host=h password=hunter2", ConfigError, "names no database"),
        ("host=h dbname=db port=http password=hunter2", ConfigError, "has a port that is not a number"),
        ("host=h dbname=db password='hunter2", ConfigError, "is not a connection that Tidegate can read"),
        ("host=h1,h2 dbname=db password=hunter2", Unsupported, "names several hosts"),
        (
            "jdbc:redshift://h/db?password=hunter2&Plugin_Name=okta",
            Unsupported,
            "asks for the JDBC option `Plugin_Name`",
        ),
        ("redshift://u:hunter2@h/db?options=-c", Unsupported, "asks for the option `options`"),
        ("redshift://u:hunter2@h/db?iam=yes", ConfigError, "has `iam` with another value"),
        ("jdbc:redshift:iam://cluster:us-west-2/db", ConfigError, "is not a connection that Tidegate can read"),
        (
            "mongodb://u:hunter2@h/db",
            ConfigError,
            "starts with `mongodb:`, which is not a database that Tidegate knows",
        ),
        ("Driver={ODBC Driver 18};Server=h;Pwd=hunter2", Unsupported, "is an ODBC or ADO.NET string"),
        ("Host=h;Username=u;Password=hunter2", Unsupported, "is an ODBC or ADO.NET string"),
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


UNREADABLE = "is not a connection that Tidegate can read"
PORT = "has a port that is not a number from 1 to 65535"


@both_kinds
@pytest.mark.parametrize(
    ("rest", "error", "happened"),
    [
        ("u:hunter2@h", ConfigError, "names no database"),
        ("u:hunter2@h/", ConfigError, "names no database"),
        ("u:hunter2@h:http/db", ConfigError, UNREADABLE),
        ("u:hunter2@::1/db", ConfigError, UNREADABLE),
        ("u:hunter2@h/a/b", ConfigError, UNREADABLE),
        ("u:hunter2/@h/db?a=b@g/db", ConfigError, UNREADABLE),
        ("u:hunter2@h:0/db", ConfigError, PORT),
        ("u:hunter2@h:99999/db", ConfigError, PORT),
        ("u:hunter2%ff@h/db", ConfigError, "has percent-encoded bytes that are not UTF-8"),
        ("u:hunter2%00@h/db", ConfigError, "holds a NUL character"),
        ("u:hunter2\x00@h/db", ConfigError, "holds a NUL character"),
        ("u:hunter2@h1,h2/db", Unsupported, "names several hosts"),
        ("u:hunter2@h1:5432,h2:5432/db", Unsupported, "names several hosts"),
    ],
)
def test_a_url_that_cannot_be_read_is_refused_and_the_remedy_is_of_its_kind(scheme, kind, port, rest, error, happened):
    with pytest.raises(error) as refusal:
        parse_connection(f"{scheme}://{rest}", setting="source")

    assert refusal.value.happened.startswith(f"`source` {happened}")
    if happened in (UNREADABLE, PORT, "names no database"):
        assert f" {kind}://user:password@host:{port}/database" in refusal.value.remedy
    assert "hunter2" not in "".join(traceback.format_exception(refusal.value))


MYSQL_SHAPE = "mysql://user:password@host:3306/database"
ALL_SHAPES = f"Write postgresql://user:password@host:5432/database, {MYSQL_SHAPE} or sqlserver://user:password@host"
TAKE_OUT = (
    "Take it out, or use one of ssl_mode, ssl_ca, ssl_cert, ssl_key, connect_timeout, read_timeout, write_timeout"
)
TAKE_OUT_OF_JDBC = f"Take it out, or write {MYSQL_SHAPE}?name=value with one of ssl_mode, ssl_ca,"
EXPORT = f"Export PEM files, and write {MYSQL_SHAPE}?name=value with ssl_ca, ssl_cert and ssl_key."
CORRECT = "Correct the value, or take it out."
HIDDEN_WORD = Variables({"WORD": "hunter2"})


def refused(text, error, happened, remedy):
    with pytest.raises(error) as refusal:
        parse_connection(text, HIDDEN_WORD, setting="source")

    assert refusal.value.happened.startswith(f"`source` {happened}")
    assert refusal.value.safe == "Nothing was read or written."
    assert refusal.value.remedy.startswith(remedy)
    assert "hunter2" not in "".join(traceback.format_exception(refusal.value))


@pytest.mark.parametrize(
    ("text", "option", "remedy"),
    [
        ("mysql+pymysql://h/db?read_default_file=~/.my.cnf", "option `read_default_file`", TAKE_OUT),
        ("mysql+pymysql://h/db?init_command=SET%20x", "option `init_command`", TAKE_OUT),
        ("mysql+pymysql://h/db?ssl_key_password=hunter2", "option `ssl_key_password`", TAKE_OUT),
        ("mysql://h/db?ssl_capath=/ca", "option `ssl_capath`", TAKE_OUT),
        ("mysql://h/db?sslaccept=strict", "option `sslaccept`", TAKE_OUT),
        ("mysql://h/db?password=p&hunter2 =1", "option with a strange name", TAKE_OUT),
        ("mysql://h/db?${WORD}=1", "option with a strange name", TAKE_OUT),
        ("jdbc:mysql://h/db?dnsSrv=true", "JDBC option `dnsSrv`", TAKE_OUT_OF_JDBC),
        ("jdbc:mysql://h/db?socketFactory=x", "JDBC option `socketFactory`", TAKE_OUT_OF_JDBC),
        ("jdbc:mysql://h/db?socksProxyHost=x", "JDBC option `socksProxyHost`", TAKE_OUT_OF_JDBC),
        ("jdbc:mysql://h/db?sessionVariables=sql_mode=''", "JDBC option `sessionVariables`", TAKE_OUT_OF_JDBC),
        ("jdbc:mariadb://h/db?credentialType=AWS-IAM", "JDBC option `credentialType`", TAKE_OUT_OF_JDBC),
        ("jdbc:mysql://h/db?trustCertificateKeyStoreUrl=file:/x", "JDBC option `trustCertificateKeyStoreUrl`", EXPORT),
        ("jdbc:mysql://h/db?clientCertificateKeyStoreType=JKS", "JDBC option `clientCertificateKeyStoreType`", EXPORT),
        ("jdbc:mariadb://h/db?trustStore=/x", "JDBC option `trustStore`", EXPORT),
        ("jdbc:mariadb://h/db?keyStorePassword=hunter2", "JDBC option `keyStorePassword`", EXPORT),
    ],
)
def test_an_option_that_nothing_here_answers_to_is_refused_by_name(text, option, remedy):
    refused(text, Unsupported, f"asks for the {option}, which Tidegate does not support.", remedy)


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("mysql+pymysql://h/db?charset=utf8", "charset"),
        ("mysql://h/db?charset=latin1&charset=utf8mb4", "charset"),
        ("mysql://h/db?collation=utf8_bin", "collation"),
        ("jdbc:mysql://h/db?characterEncoding=ISO-8859-1&characterSetResults=UTF-8", "characterEncoding"),
        ("jdbc:mysql://h/db?connectionCollation=latin1_swedish_ci", "connectionCollation"),
    ],
)
def test_a_character_set_that_loses_characters_is_refused(text, option):
    refused(text, Unsupported, f"has a `{option}` other than utf8mb4", "Take it out: Tidegate uses utf8mb4.")


@pytest.mark.parametrize(
    ("text", "happened"),
    [
        ("mysql://h/db?ssl-mode=require", "`ssl-mode` that is none of disabled, preferred, required, verify_ca"),
        ("mysql://h/db?ssl=%7B%22rejectUnauthorized%22:true%7D", "`ssl` that is neither true nor false"),
        ("jdbc:mysql://h/db?useSSL=maybe", "`useSSL` that is neither true nor false"),
        ("mysql://h/db?connect_timeout=soon", "`connect_timeout` that is not a whole number of seconds"),
        ("mysql://h/db?read_timeout=-1", "`read_timeout` that is not a whole number of seconds"),
        (
            "mysql://h/db?read_timeout=31536001",
            "`read_timeout` that is not a whole number of seconds, one year at most",
        ),
        ("jdbc:mysql://h/db?connectTimeout=1.5", "`connectTimeout` that is not a whole number of milliseconds"),
        ("jdbc:mariadb://h/db?serverSslCert=-----BEGIN CERT", "`serverSslCert` that is not the path of a PEM file"),
        ("jdbc:mariadb://h/db?serverSslCert=classpath:ca.pem", "`serverSslCert` that is not the path of a PEM file"),
    ],
)
def test_a_value_that_an_option_does_not_have_is_refused(text, happened):
    refused(text, ConfigError, f"has a {happened}", CORRECT)


@pytest.mark.parametrize(
    ("text", "error", "happened", "remedy"),
    [
        ("mysql://h/db?unix_socket=/s", ConfigError, "names both a host and a Unix socket", "Keep one of them: mysql:"),
        ("mysql:///db?unix_socket=my.sock", ConfigError, "has a Unix socket that is not an absolute path", "Write the"),
        ("mysql://%40abstract/db", ConfigError, "has a Unix socket that is not an absolute path", "Write the path"),
        ("jdbc:mysql://address=(host=h)(port=1)/db", Unsupported, "describes its host in parentheses", "Write mysql:"),
        ("jdbc:mysql://(host=h,port=3306)/db", Unsupported, "describes its host in parentheses", "Write mysql:"),
        ("jdbc:mysql://u:hunter2@h1,h2:3307/db", Unsupported, "names several hosts", "Name one of them."),
        ("mysqlx://u:hunter2@h/db", ConfigError, "starts with `mysqlx:`, which is not a database that", ALL_SHAPES),
        ("Driver={MySQL ODBC};Server=h;Pwd=hunter2", Unsupported, "is an ODBC or ADO.NET string", ALL_SHAPES),
        ("mysql:host=h;dbname=db;password=hunter2", ConfigError, UNREADABLE, ALL_SHAPES),
        ("u:hunter2@tcp(h:3306)/db", ConfigError, UNREADABLE, ALL_SHAPES),
    ],
)
def test_a_place_that_is_not_one_server_is_refused(text, error, happened, remedy):
    refused(text, error, happened, remedy)


@pytest.mark.parametrize(
    ("scheme", "choice"),
    [
        ("jdbc:mysql:replication", "replication"),
        ("jdbc:mysql:LoadBalance", "loadbalance"),
        ("jdbc:mariadb:load-balance-read", "load-balance-read"),
        ("jdbc:mysql+srv", "srv"),
        ("mysql+srv", "srv"),
    ],
)
def test_a_driver_that_would_choose_among_servers_is_refused(scheme, choice):
    happened = f"leaves the choice among several servers to `{choice}`, which this version does not support."
    refused(f"{scheme}://u:hunter2@h/db", Unsupported, happened, f"Name one of them: {MYSQL_SHAPE}.")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("host=h user=u passwd=hunter2 db=db", "passwd"),
        ("host=h user=u password=hunter2 database=db", "database"),
        ("dbname=db unix_socket=/tmp/mysql.sock", "unix_socket"),
        ("host=h dbname=db ssl_ca=/ca.pem", "ssl_ca"),
        ("host=h port=3306 dbname=db password=hunter2", "port=3306"),
    ],
)
def test_pairs_with_words_of_mysql_are_refused_since_pairs_are_for_postgresql(text, word):
    happened = f"has `{word}`, which belongs to MySQL; a `key=value` text is for PostgreSQL."
    refused(text, Unsupported, happened, ALL_SHAPES)


ROLE = "arn:aws:iam::123456789012:role/load"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (f"redshift://u:p@h:5439/db?iam_role={ROLE}", {"iam_role": ROLE}),
        ("redshift+psycopg2://u:p@h/db?sslmode=verify-full", {"sslmode": "verify-full"}),
        ("jdbc:redshift://h:5439/db?user=u&password=p", {}),
        ("jdbc:redshift://h:5439/db;UID=u;PWD=p;ssl=true;TCPKeepAlive=TRUE", {"sslmode": "verify-ca"}),
        (f"jdbc:redshift:iam://h/db;DbUser=u;PWD=p;iam_role={ROLE}", {"iam_role": ROLE, "iam": "true"}),
        (
            "jdbc:redshift:iam://h/db?DbUser=u&PWD=p&ClusterID=c&Region=r",
            {"cluster": "c", "region": "r", "iam": "true"},
        ),
    ],
)
def test_urls_of_redshift_lead_to_one_connection(text, options):
    expected = Connection("redshift", "h", 5439, "db", "u", "p", tuple(options.items()))
    assert parse_connection(text) == expected
    assert "p@" not in str(parse_connection(text))


def test_libpq_keeps_its_own_names_that_look_like_those_of_mysql():
    connection = parse_connection("host=h dbname=db ssl_min_protocol_version=TLSv1.3")

    assert connection.options == (("ssl_min_protocol_version", "TLSv1.3"),)


SPECIAL = "p@:/?#%41'\\ ${X}&=+"


@each_scheme
@pytest.mark.parametrize(
    "template",
    [
        "{scheme}://u:${{PW}}@h:5433/db",
        "{scheme}+driver://u:${{PW}}@h:5433/db",
        "{scheme}://${{USER}}:${{PW}}@${{HOST}}:${{PORT}}/${{DB}}",
        "{scheme}://u:${{PW}}@${{HOST_AND_PORT}}/db",
        "{scheme}://h:5433/db?user=u&password=${{PW}}",
        "jdbc:{scheme}://h:5433/db?user=u&password=${{PW}}",
        "${{WHOLE_URL}}",
        " ${{WHOLE_URL}}",
        "${{BASE_URL}}/db",
        "${{MISSING:-{scheme}://u:p%40%3A%2F%3F%23%2541%27%5C%20%24%7BX%7D%26%3D+@h:5433/db}}",
    ],
)
def test_a_variable_inside_a_url_is_taken_as_it_is_and_a_whole_url_is_decoded(scheme, template):
    base = f"{scheme}://u:{quote(SPECIAL, safe='')}@h:5433"
    environ = {"PW": SPECIAL, "USER": "u", "HOST": "h", "PORT": "5433", "DB": "db", "HOST_AND_PORT": "h:5433"}
    environ |= {"WHOLE_URL": f"{base}/db\n", "BASE_URL": base}

    connection = parse_connection(template.format(scheme=scheme), Variables(environ))

    assert connection.kind == scheme
    assert told(connection) == ("h", 5433, "db", "u", SPECIAL)


@pytest.mark.parametrize(
    "template",
    [
        "host=h port=5433 dbname=db user=u password=${PW}",
        "host=h port=5433 dbname=db user=u password='${PW}'",
        "${WHOLE_PAIRS}",
    ],
)
def test_a_variable_inside_pairs_is_taken_as_it_is(template):
    pairs = make_conninfo(host="h", port=5433, dbname="db", user="u", password=SPECIAL)

    connection = parse_connection(template, Variables({"PW": SPECIAL, "WHOLE_PAIRS": pairs}))

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


@pytest.mark.parametrize("scheme", ["mysql", "mariadb", "mysql+pymysql"])
@given(user=ANY_TEXT, password=ANY_TEXT, database=ANY_TEXT)
def test_any_login_survives_a_url_of_mysql(scheme, user, password, database):
    url = f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@h:3307/{quote(database, safe='')}"

    assert parse_connection(url) == Connection("mysql", "h", 3307, database, user, password)


# MariaDB Connector/J is the one that does not read `+` as a space.
@pytest.mark.parametrize(("scheme", "encode"), [("postgresql", quote_plus), ("mysql", quote_plus), ("mariadb", quote)])
@given(user=ANY_TEXT, password=ANY_TEXT, database=ANY_TEXT)
def test_any_login_survives_a_jdbc_url(scheme, encode, user, password, database):
    query = f"user={encode(user)}&password={encode(password)}"
    url = f"jdbc:{scheme}://h:5433/{quote(database, safe='')}?{query}"

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
        "mysql+pymysql://u:${PW}@h:5433/db",
        "mariadb://h:5433/db?user=u&password=${PW}",
        "jdbc:mysql://u:${PW}@h:5433/db",
        "jdbc:mariadb://h:5433/db?user=u&password=${PW}",
        "host=h port=5433 dbname=db user=u password=${PW}",
    ):
        assert told(parse_connection(template, Variables(environ))) == ("h", 5433, "db", "u", password)


@each_scheme
@given(password=RAW_IN_URL.filter(lambda text: not set("/?") & set(text)))
def test_a_raw_password_without_slash_and_question_mark_ends_at_the_last_at_sign(scheme, password):
    assert parse_connection(f"{scheme}://u:{password}@h/db").password == password


@each_scheme
@given(password=RAW_IN_URL)
def test_a_raw_password_is_cut_only_where_the_url_reads_plainly_without_it(scheme, password):
    try:
        connection = parse_connection(f"{scheme}://u:{password}@h/db")
    except (ConfigError, Unsupported):
        return

    plain_reading = password.partition("/")[0].partition("?")[0]
    assert connection.password == password or "@" in plain_reading or not connection.password


@each_scheme
@given(user=ANY_TEXT, database=ANY_TEXT, host=st.sampled_from(["h", "::1", "/tmp", "10.0.0.1", "/a b/c:d@e+f?&#.sock"]))
def test_the_display_form_leads_back_to_the_same_place(scheme, user, database, host):
    # A socket of MySQL has no port of its own.
    port = 3306 if scheme == "mysql" and host.startswith("/") else 5433
    connection = Connection(scheme, host, port, database, user, "hunter2", (("connect_timeout", "5"),))

    again = parse_connection(connection.display.replace("${", "$${"))

    assert again == Connection(scheme, host, port, database, user, options=socket_option(scheme, host))
    assert again.same_database_as(connection)


def test_no_text_form_of_a_connection_holds_a_secret():
    options = (("sslpassword", "hunter3"), ("sslmode", "require"), ("password", "hunter4"))
    connection = Connection("postgresql", "h", 5432, "db", "u", "hunter2", options)

    assert repr(connection) == "Connection('postgresql://u@h:5432/db')"
    assert str(connection) == f"{connection}" == connection.display == "postgresql://u@h:5432/db"
    assert connection.secrets == ("hunter2", "hunter3", "hunter4")
    assert pickle.loads(pickle.dumps(connection)) == connection


@pytest.mark.parametrize(
    ("kind", "host", "display"),
    [
        ("postgresql", "h", "postgresql://u@h:5432/db"),
        ("postgresql", "::1", "postgresql://u@[::1]:5432/db"),
        ("postgresql", "/var/run/postgresql", "postgresql://u@/db?host=/var/run/postgresql&port=5432"),
        ("mysql", "h", "mysql://u@h:5432/db"),
        ("mysql", "::1", "mysql://u@[::1]:5432/db"),
        ("mysql", "/run/mysqld/mysqld.sock", "mysql://u@/db?unix_socket=/run/mysqld/mysqld.sock"),
    ],
)
def test_display(kind, host, display):
    assert Connection(kind, host, 5432, "db", "u").display == display


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("postgresql://a:b@h/db", "postgresql://c:d@h:5432/db", True),
        ("postgresql://h/db", "host=H. dbname=db sslmode=require", True),
        ("postgresql://h/db", "jdbc:postgresql://h:5432/DB", True),
        ("postgresql://localhost/db", "host=/tmp dbname=db", True),
        ("host=/tmp/ dbname=db", "host=/tmp dbname=db", True),
        ("host=/tmp dbname=db", "host=/var/run/postgresql dbname=db", False),
        ("host=/tmp dbname=db", "host=/tmp dbname=db port=5433", False),
        ("host=h hostaddr=10.0.0.1 dbname=db", "postgresql://10.0.0.1/db", True),
        # MySQL and MariaDB are one kind, PostgreSQL is another
        ("mysql://a:b@h/db", "mariadb://c:d@h:3306/db", True),
        ("mysql+pymysql://h/db?ssl=true", "jdbc:mariadb://H./DB", True),
        ("mysql://h:5432/db", "postgresql://h:5432/db", False),
        ("mysql:///db?unix_socket=/tmp", "host=/tmp dbname=db", False),
        # a MySQL socket is a file, and may be that of any port
        ("mysql://localhost/db", "mysql:///db?unix_socket=/tmp/mysql.sock", True),
        ("mysql://127.0.0.1:3307/db", "mysql:///db?unix_socket=/tmp/mysql.sock", True),
        ("mysql://127.0.0.1:3307/other", "mysql:///db?unix_socket=/tmp/mysql.sock", False),
        ("mysql://h/db", "mysql:///db?unix_socket=/tmp/mysql.sock", False),
        ("mysql:///db?unix_socket=/tmp//mysql.sock", "jdbc:mariadb:///db?localSocket=/tmp/mysql.sock", True),
        ("mysql:///db?unix_socket=/tmp/one.sock", "mysql:///db?unix_socket=/tmp/other.sock", False),
    ],
)
def test_the_same_place(one, other, same):
    assert parse_connection(one).same_database_as(parse_connection(other)) is same
    assert parse_connection(other).same_database_as(parse_connection(one)) is same


@each_scheme
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("h/db", "h/other", False),
        ("h/db", "h:5433/db", False),
        ("h/db", "g/db", False),
        ("localhost/db", "127.0.0.1/db", True),
        ("localhost/db", "[::1]/db", True),
        ("127.0.0.1/db", "[0:0:0:0:0:0:0:1]/db", True),
        ("127.0.0.1/db", "127.0.1.1/db", True),
        ("127.0.0.1/db", "[::ffff:127.0.0.1]/db", True),
        ("localhost/db", "0.0.0.0/db", True),
        ("/db", "localhost/db", True),
        ("[2001:db8::7]/db", "[2001:0db8:0::7]/db", True),
        ("10.0.0.1/db", "10.0.0.2/db", False),
    ],
)
def test_one_server_has_several_names(scheme, one, other, same):
    first, second = parse_connection(f"{scheme}://{one}"), parse_connection(f"{scheme}://{other}")

    assert first.same_database_as(second) is same
    assert second.same_database_as(first) is same


# Databases that an installed package adds


@pytest.fixture
def added(tmp_path, monkeypatch):
    """A package that adds the database `filebase`; nothing of it is imported to read a URL."""
    install_database(tmp_path, "filebase", "no_such_module:Filebase")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("filebase://u:p%40@h:99/db", Connection("filebase", "h", 99, "db", "u", "p@")),
        ("FileBase://h/db", Connection("filebase", "h", 0, "db")),
        ("filebase+driver://[::1]/db", Connection("filebase", "::1", 0, "db")),
        ("filebase:///path/to/file.db", Connection("filebase", "localhost", 0, "path/to/file.db")),
        ("filebase:////path/a%20b.db", Connection("filebase", "localhost", 0, "/path/a b.db")),
        ("filebase://u:p@/a/b.db", Connection("filebase", "localhost", 0, "a/b.db", "u", "p")),
        (
            "filebase:///db?mode=a/b&Other=%26+c",
            Connection("filebase", "localhost", 0, "db", options=(("mode", "a/b"), ("Other", "&+c"))),
        ),
    ],
)
def test_the_url_of_a_database_that_a_package_adds_is_taken_as_it_is(text, expected):
    connection = parse_connection(text)

    assert connection == expected
    assert parse_connection(connection.display).same_database_as(connection)


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize(
    ("text", "happened"),
    [
        ("filebase://u:hunter2@h", "names no database"),
        ("filebase://u:hunter2@h:65536/db", PORT),
        ("filebase://u:hunt/er2@h/db", UNREADABLE),
        ("jdbc:filebase://h/db?password=hunter2", UNREADABLE),
    ],
)
def test_a_url_for_a_package_that_cannot_be_read_is_refused_with_its_own_shape(text, happened):
    with pytest.raises(ConfigError) as refusal:
        parse_connection(text, setting="source")

    assert refusal.value.happened.startswith(f"`source` {happened}")
    assert "filebase://user:password@host/database" in refusal.value.remedy
    assert "hunter2" not in str(refusal.value)


def test_what_is_built_in_asks_no_package(monkeypatch):
    monkeypatch.setattr("tidegate.config.urls.entry_points", None)

    assert parse_connection("postgresql://h/db").kind == "postgresql"
    assert parse_connection("mariadb://h/db").kind == "mysql"
    assert parse_connection("mssql://u@h/db").kind == "sqlserver"
