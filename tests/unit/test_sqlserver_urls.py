"""Connections to SQL Server from ODBC, ADO.NET and JDBC strings and from SQLAlchemy URLs."""

from __future__ import annotations

import traceback
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.config.project import Project
from tidegate.config.secrets import Redactor, Variables
from tidegate.config.urls import parse_connection
from tidegate.errors import ConfigError, TidegateError, Unsupported
from tidegate.model.connection import Connection

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)
# More of what means something in one of the forms.
NASTY_TEXT = st.text(st.sampled_from(";{}\"'@%=/\\?&#+:$ ,a1é"), min_size=1)

DRIVER = "Driver={ODBC Driver 18 for SQL Server}"
SHAPE = "sqlserver://user:password@host:1433/database"


def server(*options: tuple[str, str], host: str = "h", port: int = 1433, user: str = "u", password: str = "p"):
    return Connection("sqlserver", host, port, "db", user, password, options)


# One quoting rule per form, as its documentation has it, on every value and only where it is needed.


def in_braces(text: str) -> str:
    return "{" + text.replace("}", "}}") + "}"


def in_braces_if_needed(text: str) -> str:
    return in_braces(text) if text != text.strip() or set(text) & set("[]{}(),;?*=!@") else text


def in_quotes(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def in_single_quotes(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def in_quotes_if_needed(text: str) -> str:
    if text == text.strip() and not set(text) & set(";\"'") and not text.startswith("="):
        return text
    return in_single_quotes(text) if '"' in text and "'" not in text else in_quotes(text)


def odbc(user: str, password: str, database: str, value=in_braces) -> str:
    return f"{DRIVER};Server=tcp:h,1433;Database={value(database)};UID={value(user)};PWD={value(password)};Encrypt=yes"


def ado(user: str, password: str, database: str, value=in_quotes) -> str:
    login = f"User ID={value(user)};Password={value(password)}"
    return f"Server=tcp:h,1433;Initial Catalog={value(database)};{login};Encrypt=True;"


def jdbc(user: str, password: str, database: str, value=in_braces) -> str:
    login = f"user={value(user)};password={value(password)}"
    return f"jdbc:sqlserver://h:1433;databaseName={value(database)};{login};encrypt=true"


def sqlalchemy(user: str, password: str, database: str) -> str:
    login = f"{quote(user, safe='')}:{quote(password, safe='')}"
    return f"mssql+pyodbc://{login}@h:1433/{quote(database, safe='')}?driver=ODBC+Driver+18+for+SQL+Server&Encrypt=yes"


def sqlalchemy_with_odbc(user: str, password: str, database: str) -> str:
    return f"mssql+pyodbc:///?odbc_connect={quote_plus(odbc(user, password, database))}"


FORMS = {
    "odbc": odbc,
    "odbc, braces where needed": lambda *texts: odbc(*texts, in_braces_if_needed),
    "odbc without a driver": lambda *texts: odbc(*texts).removeprefix(f"{DRIVER};"),
    "ado": ado,
    "ado, single quotes": lambda *texts: ado(*texts, in_single_quotes),
    "ado, quotes where needed": lambda *texts: ado(*texts, in_quotes_if_needed),
    "jdbc": jdbc,
    "jdbc, braces where needed": lambda *texts: jdbc(*texts, in_braces_if_needed),
    "sqlalchemy": sqlalchemy,
    "odbc_connect": sqlalchemy_with_odbc,
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def plainly(text: str) -> str:
    """The text for a configuration, where `${` would begin a variable."""
    return text.replace("${", "$${")


AZURE = Connection(
    "sqlserver",
    "contoso.database.windows.net",
    1433,
    "sales",
    "etl@contoso",
    "p;x}y",
    (("encrypt", "mandatory"), ("trust_server_certificate", "no"), ("login_timeout", "30")),
)
AZURE_ODBC = (
    "Driver={ODBC Driver 18 for SQL Server};Server=tcp:contoso.database.windows.net,1433;Database=sales;"
    "Uid=etl@contoso;Pwd={p;x}}y};Encrypt=yes;TrustServerCertificate=no;Connection Timeout=30;"
)


@pytest.mark.parametrize(
    "text",
    [
        # ODBC, as the Azure portal shows it
        AZURE_ODBC,
        "DRIVER={ODBC Driver 17 for SQL Server};SERVER=contoso.database.windows.net;DATABASE=sales;UID=etl@contoso;"
        "PWD={p;x}}y};Encrypt=Mandatory;TrustServerCertificate=NO;LoginTimeout=30",
        "Driver=/opt/microsoft/msodbcsql18/lib64/libmsodbcsql-18.3.so.2.1;Server=contoso.database.windows.net,1433;"
        "Database=sales;UID=etl@contoso;PWD={p;x}}y};Encrypt=1;TrustServerCertificate=0;timeout=30;"
        "MARS_Connection=yes;APP=etl;WSID=laptop;QuotedId=Yes;LongAsMax=yes",
        "  server = contoso.database.windows.net , 1433 ; database = sales ; uid = etl@contoso ; pwd = {p;x}}y} ;\n"
        "  encrypt = true ; trustservercertificate = false ; connect timeout = 30 ;;  ",
        "Driver=FreeTDS;Server=contoso.database.windows.net;Port=1433;Database=sales;UID=etl@contoso;PWD={p;x}}y};"
        "TDS_Version=7.4;ClientCharset=UTF-8;Encrypt=yes;TrustServerCertificate=no;Timeout=30",
        # ADO.NET, as the Azure portal shows it, and in its other words
        "Server=tcp:contoso.database.windows.net,1433;Initial Catalog=sales;Persist Security Info=False;"
        'User ID=etl@contoso;Password="p;x}y";MultipleActiveResultSets=False;Encrypt=True;'
        "TrustServerCertificate=False;Connection Timeout=30;",
        "Data Source=contoso.database.windows.net;Database=sales;User=etl@contoso;PWD='p;x}y';Encrypt=Mandatory;"
        "Trust Server Certificate=no;Connect Timeout=30;Application Name=etl;Pooling=true;Max Pool Size=100;"
        "Min Pool Size=0;Workstation ID=laptop;Integrated Security=false;Authentication=Sql Password",
        "Addr=contoso.database.windows.net,1433;Initial Catalog=sales;UID=etl@contoso;Password='p;x}y';Encrypt=yes;"
        "TrustServerCertificate=0;Timeout=30;Enlist=false;Type System Version=SQL Server 2012;Replication=False",
        "Network Address=tcp:contoso.database.windows.net,1433;Database=sales;User Id=etl@contoso;"
        'Password="p;x}y";Encrypt=1;Trust Server Certificate=False;Connection Timeout=030',
        "Provider=MSOLEDBSQL;Data Source=contoso.database.windows.net,1433;Initial Catalog=sales;"
        "User ID=etl@contoso;Password='p;x}y';Encrypt=yes;TrustServerCertificate=no;Connect Timeout=30",
        "Password='p;x}y';User ID=etl@contoso;Encrypt=true;Connect Timeout=30;TrustServerCertificate=false;"
        "Database=sales;Address=contoso.database.windows.net",
        # SQLAlchemy
        "mssql+pyodbc://etl%40contoso:p%3Bx%7Dy@contoso.database.windows.net:1433/sales"
        "?driver=ODBC+Driver+18+for+SQL+Server&Encrypt=yes&TrustServerCertificate=no&Connection+Timeout=30",
        "mssql+mssqlpython://etl@contoso:p;x}y@contoso.database.windows.net/sales"
        "?encrypt=yes&trustservercertificate=no&login_timeout=30",
        "mssql+pymssql://etl%40contoso:p%3Bx%7Dy@contoso.database.windows.net:1433/sales"
        "?charset=utf8&tds_version=7.4&login_timeout=30&encrypt=true&trust_server_certificate=no",
        "mssql+aioodbc://etl%40contoso:p%3Bx%7Dy@contoso.database.windows.net,1433/sales"
        "?driver=ODBC Driver 18 for SQL Server&Encrypt=yes&TrustServerCertificate=no&timeout=30",
        "mssql://contoso.database.windows.net/sales?UID=etl@contoso&PWD=p;x}y&encrypt=mandatory"
        "&trust_server_certificate=0&timeout=30",
        "sqlserver://etl%40contoso:p%3Bx%7Dy@contoso.database.windows.net?database=sales&encrypt=true"
        "&TrustServerCertificate=false&connection+timeout=30&app+name=etl",
        "MSSQL+PyODBC:///?autocommit=true&ODBC_Connect=" + quote_plus(AZURE_ODBC),
        "mssql+pyodbc://?odbc_connect=" + quote(AZURE_ODBC),
        "mssql+mssqlpython:///?odbc_connect=" + AZURE_ODBC.replace("+", "%2B"),
        # JDBC, as the Azure portal shows it, and with properties only
        "jdbc:sqlserver://contoso.database.windows.net:1433;database=sales;user=etl@contoso;password={p;x}}y};"
        "encrypt=true;trustServerCertificate=false;loginTimeout=30;",
        "jdbc:sqlserver://contoso.database.windows.net;databaseName=sales;userName=etl@contoso;password={p;x}}y} ;"
        "encrypt=true;trustServerCertificate=false;loginTimeout=30;queryTimeout=-1;lockTimeout=-1;packetSize=-1;"
        "applicationName=etl;sendStringParametersAsUnicode=true;responseBuffering=adaptive;selectMethod=direct",
        "jdbc:sqlserver://;serverName=contoso.database.windows.net;portNumber=1433;DatabaseName=sales;"
        "USER=etl@contoso;Password={p;x}}y};Encrypt=TRUE;TrustServerCertificate=False;LoginTimeout=30;"
        "integratedSecurity=false;authentication=NotSpecified;columnEncryptionSetting=Disabled",
    ],
)
def test_every_form_leads_to_the_same_connection(text):
    assert parse_connection(text) == AZURE


PASSWORDS = [
    "p;x}y", "}", "}}", "{", "{a}", "{a", "a}", "{;}", '"', '"a"', '""', "'", "it's", "'a'", "a\"b'c", "p@ss", "@",
    "100%", "%41", "%zz", "a=b", "=", "==a", " a", "a ", " ", "a b", "a/b", "a?b&c#d", "\\", "a\\b", "DOMAIN\\x", "a+b",
    ",1433",
    "pässwörd", "密码", "🌊;}", "${X}", "$${X}", "$", ":", "a:b@c/d", "a;PWD=b", "Server=x;", "\ttab\n",
]  # fmt: skip


@each_form
@pytest.mark.parametrize("password", PASSWORDS)
def test_a_password_survives_every_form(form, password):
    connection = parse_connection(plainly(form("u", password, "db")))

    assert connection == server(("encrypt", "mandatory"), password=password)


@each_form
@given(texts=st.tuples(*[ANY_TEXT | NASTY_TEXT] * 3))
def test_any_login_and_database_survive_every_form(form, texts):
    user, password, database = texts

    connection = parse_connection(plainly(form(user, password, database)))

    options = (("encrypt", "mandatory"),)
    assert connection == Connection("sqlserver", "h", 1433, database, user, password, options)


@given(password=ANY_TEXT | NASTY_TEXT)
def test_any_password_survives_as_a_variable(password):
    for template in (
        "Driver={ODBC Driver 18 for SQL Server};Server=h;Database=db;UID=u;PWD=${PW}",
        "Driver={ODBC Driver 18 for SQL Server};Server=h;Database=db;UID=u;PWD={${PW}}",
        "Server=h;Initial Catalog=db;User ID=u;Password=${PW};Encrypt=",
        'Server=h;Initial Catalog=db;User ID=u;Password="${PW}"',
        "mssql+pyodbc://u:${PW}@h/db",
        "sqlserver://h/db?user=u&password=${PW}",
        "mssql+pyodbc:///?odbc_connect=Server%3Dh%3BDatabase%3Ddb%3BUID%3Du%3BPWD%3D${PW}%3BEncrypt%3D",
        "jdbc:sqlserver://h;databaseName=db;user=u;password=${PW};",
        "jdbc:sqlserver://h;databaseName=db;user=u;password={${PW}}",
    ):
        assert parse_connection(template, Variables({"PW": password})) == server(password=password)


@pytest.mark.parametrize(
    "template",
    [
        "${WHOLE}",
        "  ${WHOLE}",
        "Server=${PLACE};Database=${DB};UID=${USER};PWD=${PW}",
        "Server=tcp:${HOST},${PORT};Database=db;UID=u;PWD=${PW}",
        "${DRIVER};Server=h,1444;Database=db;UID=u;PWD={p;}",
        "Driver=${DRIVER_NAME};Server=h,1444;Database=db;UID=u;PWD={p;}",
        "mssql+pyodbc://${USER}:${PW}@${HOST}:${PORT}/${DB}",
        "mssql+pyodbc://u:${PW}@${PLACE}/db",
        "mssql+pyodbc:///?odbc_connect=${WHOLE}",
        "jdbc:sqlserver://${HOST}:${PORT};databaseName=db;user=u;password=${PW}",
    ],
)
def test_a_variable_may_hold_any_part(template):
    environ = {"WHOLE": "Server=h,1444;Database=db;UID=u;PWD={p;}\n", "PLACE": "h,1444", "HOST": "h", "PORT": "1444"}
    environ |= {"DB": "db", "USER": "u", "PW": "p;", "DRIVER": DRIVER, "DRIVER_NAME": "{ODBC Driver 18 for SQL Server}"}

    assert parse_connection(template, Variables(environ)) == server(port=1444, password="p;")


@pytest.mark.parametrize(
    ("written", "host", "port", "instance"),
    [
        ("h", "h", 1433, ""),
        ("h,1444", "h", 1444, ""),
        ("h, 1444", "h", 1444, ""),
        ("h:1444", "h", 1444, ""),
        ("tcp:h", "h", 1433, ""),
        ("TCP:h,1444", "h", 1444, ""),
        (r"h\SQL2019", "h", 0, "SQL2019"),
        (r"tcp:h\INST$1", "h", 0, "INST$1"),
        # the port wins, as in every driver
        (r"h\SQL2019,1444", "h", 1444, ""),
        (r"h\SQL2019:1444", "h", 1444, ""),
        ("h\\", "h", 1433, ""),
        (".", "localhost", 1433, ""),
        (r".\SQLEXPRESS", "localhost", 0, "SQLEXPRESS"),
        ("(local)", "localhost", 1433, ""),
        (r"(LOCAL)\SQLEXPRESS", "localhost", 0, "SQLEXPRESS"),
        ("", "localhost", 1433, ""),
        ("10.0.0.7,1444", "10.0.0.7", 1444, ""),
        ("::1", "::1", 1433, ""),
        ("tcp:::1,1444", "::1", 1444, ""),
        ("[2001:db8::7],1444", "2001:db8::7", 1444, ""),
        ("[2001:db8::7]:1444", "2001:db8::7", 1444, ""),
        (r"2001:db8::7\INST", "2001:db8::7", 0, "INST"),
        ("fe80::1%eth0", "fe80::1%eth0", 1433, ""),
        ("sql_01.corp.example.com.", "sql_01.corp.example.com.", 1433, ""),
    ],
)
def test_a_server_is_a_host_with_a_port_or_an_instance(written, host, port, instance):
    expected = server(*([("instance", instance)] if instance else []), host=host, port=port)

    assert parse_connection(f"Server={written};Database=db;UID=u;PWD=p") == expected
    assert parse_connection(f"Data Source={written};Initial Catalog=db;User ID=u;Password=p") == expected
    assert parse_connection(f"jdbc:sqlserver://;serverName={written};databaseName=db;user=u;password=p") == expected
    assert parse_connection(f"jdbc:sqlserver://{written};databaseName=db;user=u;password=p") == expected
    assert parse_connection(f"mssql+pyodbc://u:p@{quote(written, safe='')}/db") == expected


@pytest.mark.parametrize(
    ("text", "host", "port", "instance"),
    [
        ("mssql+pyodbc://u:p@h:1444/db", "h", 1444, ""),
        ("mssql+pyodbc://u:p@h%5CSQL2019/db", "h", 0, "SQL2019"),
        ("mssql+pyodbc://u:p@h\\SQL2019/db", "h", 0, "SQL2019"),
        ("mssql+pyodbc://u:p@h%5CSQL2019:1444/db", "h", 1444, ""),
        ("mssql+pymssql://u:p@[::1]:1444/db", "::1", 1444, ""),
        ("sqlserver://u:p@[2001:db8::7]/db", "2001:db8::7", 1433, ""),
        ("sqlserver://u:p@h/db?instance=SQL2019", "h", 0, "SQL2019"),
        ("mssql://u:p@/db", "localhost", 1433, ""),
        (r"jdbc:sqlserver://h\SQL2019:1444;database=db;user=u;password=p", "h", 1444, ""),
        ("jdbc:sqlserver://h;instanceName=SQL2019;database=db;user=u;password=p", "h", 0, "SQL2019"),
        ("jdbc:sqlserver://h;instanceName=SQL2019;port=1444;database=db;user=u;password=p", "h", 1444, ""),
        ("jdbc:sqlserver://;server=::1;port=1444;database=db;user=u;password=p", "::1", 1444, ""),
        ("jdbc:sqlserver://h:1444;serverName=h;portNumber=1444;database=db;user=u;password=p", "h", 1444, ""),
        ("Server=h,1444;Port=1444;Database=db;UID=u;PWD=p", "h", 1444, ""),
    ],
)
def test_a_server_may_be_told_in_pieces(text, host, port, instance):
    expected = server(*([("instance", instance)] if instance else []), host=host, port=port)

    assert parse_connection(text) == expected


LOGIN = "Server=h;Database=db;UID=u;PWD=p"
NO_LOGIN = "Server=h;Database=db"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (LOGIN + ";", {}),
        # encryption: what is not said is not decided here
        *((f"{LOGIN};Encrypt={word}", {"encrypt": "mandatory"}) for word in ("yes", "True", "1", "Mandatory")),
        *((f"{LOGIN};Encrypt={word}", {"encrypt": "optional"}) for word in ("no", "FALSE", "0", "optional")),
        (f"{LOGIN};Encrypt=Strict", {"encrypt": "strict"}),
        (
            f"{LOGIN};TrustServerCertificate=yes;Encrypt=strict",
            {"encrypt": "strict", "trust_server_certificate": "yes"},
        ),
        (f"{LOGIN};Trust Server Certificate=True", {"trust_server_certificate": "yes"}),
        (f"{LOGIN};TrustServerCertificate=no", {"trust_server_certificate": "no"}),
        (
            f"{LOGIN};HostnameInCertificate=*.example.com;ServerCertificate=/etc/sql.cer",
            {"hostname_in_certificate": "*.example.com", "server_certificate": "/etc/sql.cer"},
        ),
        (
            "jdbc:sqlserver://h;database=db;user=u;password=p;encrypt=strict;hostNameInCertificate=sql.example.com",
            {"encrypt": "strict", "hostname_in_certificate": "sql.example.com"},
        ),
        # availability groups
        (
            f"{LOGIN};ApplicationIntent=ReadOnly;MultiSubnetFailover=Yes",
            {"application_intent": "ReadOnly", "multi_subnet_failover": "yes"},
        ),
        (
            f"{LOGIN};Application Intent=readwrite;Multi Subnet Failover=False",
            {"application_intent": "ReadWrite", "multi_subnet_failover": "no"},
        ),
        (
            "jdbc:sqlserver://h;database=db;user=u;password=p;applicationIntent=readonly;multiSubnetFailover=true",
            {"application_intent": "ReadOnly", "multi_subnet_failover": "yes"},
        ),
        # numbers; 0 and -1 are the drivers' words for `as you like`, except where 0 says something
        (f"{LOGIN};Connect Timeout=15;Command Timeout=600", {"login_timeout": "15", "query_timeout": "600"}),
        (f"{LOGIN};Connect Timeout=0;Command Timeout=0;Packet Size=0", {}),
        (
            "jdbc:sqlserver://h;database=db;user=u;password=p;loginTimeout=5;queryTimeout=60;lockTimeout=0",
            {"login_timeout": "5", "query_timeout": "60", "lock_timeout": "0"},
        ),
        ("mssql+pyodbc://u:p@h/db?timeout=7", {"login_timeout": "7"}),
        ("mssql+pymssql://u:p@h/db?timeout=7&login_timeout=8", {"login_timeout": "8", "query_timeout": "7"}),
        (
            f"{LOGIN};Packet Size=8192;ConnectRetryCount=0;Connect Retry Interval=10",
            {"packet_size": "8192", "connect_retry_count": "0", "connect_retry_interval": "10"},
        ),
        (
            "jdbc:sqlserver://h;database=db;user=u;password=p;packetSize=4096;connectRetryCount=3",
            {"packet_size": "4096", "connect_retry_count": "3"},
        ),
        # our own names, in any form
        (
            "sqlserver://u:p@h/db?trust_server_certificate=yes&multi_subnet_failover=no&query_timeout=5&lock_timeout=6",
            {
                "trust_server_certificate": "yes",
                "multi_subnet_failover": "no",
                "query_timeout": "5",
                "lock_timeout": "6",
            },
        ),
        # said twice in the same words, or said to be nothing
        (f"{LOGIN};Encrypt=yes;ENCRYPT=True;Initial Catalog=db;Server=h", {"encrypt": "mandatory"}),
        (f"{LOGIN};Encrypt=;ServerSPN=;Authentication=;Trusted_Connection=", {}),
        # what does not concern us
        (f"{LOGIN};Network Library=dbmssocn;Column Encryption Setting=Disabled;User Instance=False;Regional=No", {}),
        (f"{LOGIN};Pool Blocking Period=Auto;Load Balance Timeout=0;Asynchronous Processing=true;KeepAlive=30", {}),
        ("jdbc:sqlserver://h;database=db;user=u;password=p;workstationID=w;sendTimeAsDatetime=false", {}),
        ("jdbc:sqlserver://h;database=db;user=u;password=p;useBulkCopyForBatchInsert=true;socketTimeout=0", {}),
        ("mssql+pyodbc://u:p@h/db?driver=FreeTDS&odbc_autotranslate=No&LongAsMax=yes&MARS_Connection=no", {}),
    ],
)
def test_options_get_one_name_and_one_spelling(text, options):
    assert parse_connection(text) == server(*options.items())


WINDOWS = {"authentication": "windows"}
KERBEROS = {
    "authentication": "windows",
    "server_spn": "MSSQLSvc/h:1433",
    "keytab": "/etc/etl.keytab",
}


@pytest.mark.parametrize(
    ("text", "user", "password", "options"),
    [
        # Windows, which is Kerberos here
        (f"{DRIVER};{NO_LOGIN};Trusted_Connection=yes", "", "", WINDOWS),
        (f"{NO_LOGIN};Trusted_Connection=True;UID=;PWD=;", "", "", WINDOWS),
        *((f"{NO_LOGIN};Integrated Security={word}", "", "", WINDOWS) for word in ("true", "SSPI", "sspi", "yes")),
        ("mssql+pyodbc://@h/db?trusted_connection=yes&driver=SQL+Server+Native+Client+11.0", "", "", WINDOWS),
        ("mssql+pyodbc://h/db?Trusted_Connection=yes", "", "", WINDOWS),
        ("jdbc:sqlserver://h;databaseName=db;integratedSecurity=true", "", "", WINDOWS),
        ("jdbc:sqlserver://h;database=db;integratedSecurity=true;authenticationScheme=JavaKerberos", "", "", WINDOWS),
        (
            f"{NO_LOGIN};Trusted_Connection=yes;Server SPN=MSSQLSvc/h:1433;Keytab=/etc/etl.keytab",
            *("", "", KERBEROS),
        ),
        (
            "jdbc:sqlserver://h;database=db;integratedSecurity=true;serverSpn={MSSQLSvc/h:1433};"
            "keytab=/etc/etl.keytab;useDefaultJaasConfig=true",
            *("", "", KERBEROS),
        ),
        # a login of the server's own
        (f"{LOGIN};Trusted_Connection=no", "u", "p", {}),
        (f"{LOGIN};Integrated Security=false;Authentication=SqlPassword", "u", "p", {}),
        ("sqlserver://u@h/db", "u", "", {}),
        # Entra
        (f"{LOGIN};Authentication=ActiveDirectoryPassword", "u", "p", {"authentication": "ActiveDirectoryPassword"}),
        (f"{LOGIN};Authentication=Active Directory Password", "u", "p", {"authentication": "ActiveDirectoryPassword"}),
        (
            f'{LOGIN};Authentication="Active Directory Service Principal"',
            *("u", "p", {"authentication": "ActiveDirectoryServicePrincipal"}),
        ),
        (
            "jdbc:sqlserver://h;database=db;user=u;password=p;authentication=activedirectoryserviceprincipal",
            *("u", "p", {"authentication": "ActiveDirectoryServicePrincipal"}),
        ),
        (f"{NO_LOGIN};Authentication=ActiveDirectoryMsi", "", "", {"authentication": "ActiveDirectoryMSI"}),
        (f"{NO_LOGIN};Authentication=ActiveDirectoryMsi;UID=id", "id", "", {"authentication": "ActiveDirectoryMSI"}),
        (
            f"{NO_LOGIN};Authentication=Active Directory Managed Identity;User ID=id",
            *("id", "", {"authentication": "ActiveDirectoryMSI"}),
        ),
        (
            "jdbc:sqlserver://h;database=db;authentication=ActiveDirectoryManagedIdentity;msiClientId=id",
            *("id", "", {"authentication": "ActiveDirectoryMSI"}),
        ),
        (
            "jdbc:sqlserver://h;database=db;authentication=ActiveDirectoryMSI",
            *("", "", {"authentication": "ActiveDirectoryMSI"}),
        ),
        ("mssql://h/db?authentication=ActiveDirectoryDefault", "", "", {"authentication": "ActiveDirectoryDefault"}),
        (f"{NO_LOGIN};Authentication=Active Directory Default", "", "", {"authentication": "ActiveDirectoryDefault"}),
        (
            f"{NO_LOGIN};Authentication=ActiveDirectoryIntegrated",
            *("", "", {"authentication": "ActiveDirectoryIntegrated"}),
        ),
    ],
)  # fmt: skip
def test_a_login_is_a_user_or_a_mode(text, user, password, options):
    connection = parse_connection(text)

    assert (connection.user, connection.password) == (user, password)
    assert dict(connection.options) == options


# What is refused


HIDDEN_WORD = Variables({"WORD": "hunter2"})


def refused(text: str) -> TidegateError:
    with pytest.raises((ConfigError, Unsupported)) as refusal:
        parse_connection(text, HIDDEN_WORD, setting="source")
    assert refusal.value.safe == "Nothing was read or written."
    assert "hunter2" not in "".join(traceback.format_exception(refusal.value))
    return refusal.value


SECRET = "Server=h;Database=db;UID=u;PWD=hunter2"
JDBC = "jdbc:sqlserver://h;database=db;user=u;password=hunter2"
STORE = "Use hostname_in_certificate, server_certificate or the system's store of authorities."
TOKEN = (
    "Let the driver ask for it: authentication=ActiveDirectoryServicePrincipal, ActiveDirectoryMSI or "
    "ActiveDirectoryDefault."
)
CERTIFICATE = "Use authentication=ActiveDirectoryServicePrincipal with a client id and its secret."
PARTNER = "Name one server, or the listener of its availability group."
LANGUAGE = "Take it out: Tidegate chooses the language of its sessions."
DSN = "Write server, database and login instead."
ENCRYPTED = "Take it out: Tidegate cannot decrypt Always Encrypted columns."
KERBEROS_ONLY = "Use Kerberos, which Trusted_Connection=yes means, or a login."
PRINCIPAL = "Take it out: Kerberos logs in as the first principal of the keytab."
FILE = "Name the database of a server."
USUAL = "Take it out, or use one of instance, encrypt, trust_server_certificate, hostname_in_certificate"


@pytest.mark.parametrize(
    ("text", "option", "remedy"),
    [
        ("DSN=prod;UID=u;PWD=hunter2", "DSN", DSN),
        (f"{SECRET};FileDSN=/etc/prod.dsn", "FileDSN", DSN),
        ("mssql+pyodbc://u:hunter2@/db?dsn=prod", "dsn", DSN),
        (f"{SECRET};Language=German", "Language", LANGUAGE),
        (f"{SECRET};Current Language=German", "CurrentLanguage", LANGUAGE),
        (f"{SECRET};Failover Partner=g", "FailoverPartner", PARTNER),
        (f"{SECRET};Failover_Partner=g", "Failover_Partner", PARTNER),
        (f"{JDBC};failoverPartner=g", "failoverPartner", PARTNER),
        (f"{JDBC};trustStore=/etc/store.jks", "trustStore", STORE),
        (f"{JDBC};trustStorePassword=hunter2", "trustStorePassword", STORE),
        (f"{JDBC};trustStoreType=JKS", "trustStoreType", STORE),
        (f"{JDBC};trustManagerClass=x.Y", "trustManagerClass", STORE),
        (f"{JDBC};accessToken=hunter2", "accessToken", TOKEN),
        (f"{SECRET};Access Token=hunter2", "AccessToken", TOKEN),
        (f"{JDBC};clientCertificate=/x.pfx", "clientCertificate", CERTIFICATE),
        (f"{JDBC};clientKeyPassword=hunter2", "clientKeyPassword", CERTIFICATE),
        (f"{JDBC};authenticationScheme=NTLM", "authenticationScheme", KERBEROS_ONLY),
        (f"{JDBC};domain=CORP", "domain", KERBEROS_ONLY),
        (f"{NO_LOGIN};Trusted_Connection=yes;Keytab=/etc/etl.keytab;Principal=e@X", "Principal", PRINCIPAL),
        ("jdbc:sqlserver://h;database=db;integratedSecurity=true;principal=e@X", "principal", PRINCIPAL),
        (f"{SECRET};ColumnEncryption=Enabled", "ColumnEncryption", ENCRYPTED),
        (f"{JDBC};keyStoreSecret=hunter2", "keyStoreSecret", ENCRYPTED),
        (f"{SECRET};AttachDbFilename=C:\\db.mdf", "AttachDbFilename", FILE),
        (f"{SECRET};User Instance=true", "UserInstance", FILE),
        (f"{SECRET};Encrypt=yes;Snapshots=3", "Snapshots", USUAL),
        (f"{SECRET};Network Library=dbnmpntw", "NetworkLibrary", "Take it out: Tidegate connects by TCP."),
        (f"{JDBC};encrypt=true;socketFactoryClass=x.Y", "socketFactoryClass", USUAL),
        ("mssql+pyodbc://u:hunter2@h/db?sslmode=require", "sslmode", USUAL),
    ],
)
def test_a_keyword_that_nothing_here_answers_to_is_refused_by_name(text, option, remedy):
    refusal = refused(text)

    assert isinstance(refusal, Unsupported)
    assert refusal.happened == f"`source` asks for the option `{option}`, which Tidegate does not support."
    assert refusal.remedy.startswith(remedy)


@pytest.mark.parametrize(
    "text",
    [
        f"{SECRET};Encrypt=yes;${{WORD}}=1",
        "sqlserver://u:p@h/db?password=p&hunter2 §=1",
    ],
)
def test_a_name_that_cannot_be_a_keyword_is_not_shown(text):
    happened = "`source` asks for the option with a strange name, which Tidegate does not support."

    assert refused(text).happened == happened


QUOTING = (
    'Write name=value pairs with `;` between them, and a value that holds a `;` in {braces}, for ADO.NET in "quotes".'
)


@pytest.mark.parametrize(
    "text",
    [
        # a password that should have been quoted: what follows is not shown, whatever it looks like
        "Server=h;Database=db;UID=u;PWD=a;hunter2",
        "Server=h;Database=db;UID=u;PWD=a;hunter2=b",
        "Server=h;Database=db;UID=u;PWD=a;hunter2=b;Encrypt=yes",
        "jdbc:sqlserver://h;database=db;user=u;password=a;hunter2=b",
        # quotes that do not close, or close too early
        f"{DRIVER};Server=h;Database=db;UID=u;PWD={{hunter2",
        f"{DRIVER};Server=h;Database=db;UID=u;PWD={{a}}hunter2}}",
        f"{DRIVER};Server=h;Database=db;UID=u;PWD={{hunter2}}}}",
        'Server=h;Database=db;User ID=u;Password="hunter2',
        'Server=h;Database=db;User ID=u;Password="a"hunter2"',
        "Server=h;Database=db;User ID=u;Password='hunter2;Encrypt=yes",
        "jdbc:sqlserver://h;database=db;user=u;password={hunter2",
        "Server=h;=hunter2",
        "mssql+pyodbc:///?odbc_connect=hunter2",
    ],
)
def test_pairs_that_cannot_be_split_are_refused_without_showing_them(text):
    refusal = refused(text)

    assert isinstance(refusal, ConfigError)
    assert refusal.happened == "`source` is not a connection that Tidegate can read."
    assert refusal.remedy == QUOTING


@pytest.mark.parametrize(
    ("server_name", "word"),
    [
        (r"np:\\h\pipe\sql\query", "np:"),
        ("NP:h", "np:"),
        ("lpc:h", "lpc:"),
        ("admin:h", "admin:"),
        (r"\\.\pipe\sql\query", r"\\"),
        (r"(localdb)\MSSQLLocalDB", "(localdb)"),
        (r"(LocalDB)\v11.0", "(localdb)"),
    ],
)
@pytest.mark.parametrize(
    "template",
    [
        f"{DRIVER};Server={{}};Database=db;UID=u;PWD=hunter2".replace("{ODBC Driver 18 for SQL Server}", "SQL Server"),
        "Data Source={};Initial Catalog=db;User ID=u;Password=hunter2",
        "jdbc:sqlserver://;serverName={};database=db;user=u;password=hunter2",
    ],
)
def test_a_server_that_is_not_reached_by_tcp_is_refused(template, server_name, word):
    refusal = refused(template.format(server_name))

    assert isinstance(refusal, Unsupported)
    happened = f"`source` names its server by `{word}`, which is not TCP and which this version does not support."
    assert refusal.happened == happened
    assert refusal.remedy.startswith(r"Write host, host,port or host\instance; in a URL host:port or host%5Cinstance")


UNREADABLE_SERVER = "has a server whose name Tidegate cannot read."
PORT = "has a port that is not a number from 1 to 65535."
CORRECT = "Correct the value, or take it out."
KEEP = "Keep one of them."
NO_USER = (
    f"Add a user: {SHAPE}. To log in without a user, use Trusted_Connection=yes, or "
    "authentication=ActiveDirectoryMSI or ActiveDirectoryDefault."
)
BOTH_LOGINS = "asks for a Windows login, but has a user or a password."
ONE_LOGIN = "Keep one of them: Trusted_Connection=yes, or user and password."


def two_values(name: str) -> str:
    return f"has two values for `{name}` or for another name of the same option."


@pytest.mark.parametrize(
    ("text", "happened", "remedy"),
    [
        # the place
        ("Server=h;UID=u;PWD=hunter2", "names no database.", f"Add it: {SHAPE}."),
        ("mssql+pyodbc://u:hunter2@data_source", "names no database.", f"Add it: {SHAPE}."),
        ("jdbc:sqlserver://h;user=u;password=hunter2", "names no database.", f"Add it: {SHAPE}."),
        ("Server=h,http;Database=db;UID=u;PWD=hunter2", PORT, f"Write {SHAPE}."),
        ("Server=h,0;Database=db;UID=u;PWD=hunter2", PORT, f"Write {SHAPE}."),
        ("Server=h,65536;Database=db;UID=u;PWD=hunter2", PORT, f"Write {SHAPE}."),
        ("jdbc:sqlserver://h:http;database=db;user=u;password=hunter2", PORT, f"Write {SHAPE}."),
        ("sqlserver://u:hunter2@h:0/db", PORT, f"Write {SHAPE}."),
        ("Server=h/db;Database=db;UID=u;PWD=hunter2", UNREADABLE_SERVER, "Write host, host,port"),
        ("Server=h,1433,2;Database=db;UID=u;PWD=hunter2", UNREADABLE_SERVER, "Write host, host,port"),
        ("jdbc:sqlserver://u:hunter2@h;database=db", UNREADABLE_SERVER, "Write host, host,port"),
        ("jdbc:sqlserver://h:1433/db?password=hunter2", UNREADABLE_SERVER, "Write host, host,port"),
        ("sqlserver://h;database=db;password=hunter2/x", UNREADABLE_SERVER, "Write host, host,port"),
        (f"{SECRET};Instance Name=a;b", "is not a connection that Tidegate can read.", QUOTING),
        (f"{SECRET};Instance Name=a/b", "has a `Instance Name` that is not the name of an instance.", CORRECT),
        # twice
        ("Server=h;Database=db;Initial Catalog=other;UID=u;PWD=hunter2", two_values("Initial Catalog"), KEEP),
        ("Server=h;Data Source=g;Database=db;UID=u;PWD=hunter2", two_values("Data Source"), KEEP),
        ("Server=h,1433;Port=1444;Database=db;UID=u;PWD=hunter2", two_values("Port"), KEEP),
        (f"{SECRET};Password=p", two_values("Password"), KEEP),
        (f"{SECRET};User ID=v", two_values("User ID"), KEEP),
        (f"{SECRET};Encrypt=yes;encrypt=strict", two_values("encrypt"), KEEP),
        ("mssql+pyodbc://u:hunter2@h/db?database=other", two_values("database"), KEEP),
        ("sqlserver://u:hunter2@h/inst?database=db", two_values("database"), KEEP),
        (f"mssql+pyodbc://v@h/db?odbc_connect={quote_plus(SECRET)}", two_values("UID"), KEEP),
        (f"{JDBC};databaseName=other", two_values("databaseName"), KEEP),
        (r"jdbc:sqlserver://h\a;instanceName=b;database=db;user=u;password=hunter2", two_values("instanceName"), KEEP),
        (
            "Server=h;Database=db;Trusted_Connection=yes;Authentication=ActiveDirectoryIntegrated",
            *(two_values("Authentication"), KEEP),
        ),
        (f"{JDBC};authentication=ActiveDirectoryMSI;msiClientId=v", two_values("msiClientId"), KEEP),
        # the login
        (f"{DRIVER};Server=h;Database=db", "has no login.", NO_USER),
        ("Server=h;Database=db;PWD=hunter2", "has no login.", NO_USER),
        ("Server=h;Database=db;Authentication=ActiveDirectoryPassword;PWD=hunter2", "has no login.", NO_USER),
        ("Server=h;Database=db;Authentication=SqlPassword", "has no login.", NO_USER),
        ("mssql+pyodbc://h/db", "has no login.", NO_USER),
        ("jdbc:sqlserver://h;database=db;integratedSecurity=false", "has no login.", NO_USER),
        (f"{SECRET};Trusted_Connection=yes", BOTH_LOGINS, ONE_LOGIN),
        ("Server=h;Database=db;PWD=hunter2;Integrated Security=SSPI", BOTH_LOGINS, ONE_LOGIN),
        (f"{JDBC};integratedSecurity=true", BOTH_LOGINS, ONE_LOGIN),
        # values
        (f"{SECRET};Encrypt=maybe", "has a `Encrypt` that is none of mandatory, optional, strict.", CORRECT),
        (f"{SECRET};Trust Server Certificate=x", "has a `Trust Server Certificate` that is none of yes, no.", CORRECT),
        (f"{SECRET};MultiSubnetFailover=x", "has a `MultiSubnetFailover` that is none of yes, no.", CORRECT),
        (f"{SECRET};Integrated Security=x", "has a `Integrated Security` that is none of yes, no.", CORRECT),
        (f"{JDBC};applicationIntent=x", "has a `applicationIntent` that is none of ReadOnly, ReadWrite.", CORRECT),
        (f"{SECRET};Authentication=Kerberos", "has a `Authentication` that is none of windows, Active", CORRECT),
        (f"{SECRET};Connect Timeout=soon", "has a `Connect Timeout` that is not a whole number from 1 to", CORRECT),
        (f"{JDBC};queryTimeout=-2", "has a `queryTimeout` that is not a whole number from 1 to 31536000.", CORRECT),
        (f"{JDBC};lockTimeout=1.5", "has a `lockTimeout` that is not a whole number from 0 to", CORRECT),
        (f"{SECRET};Packet Size=100", "has a `Packet Size` that is not a whole number from 512 to 32767.", CORRECT),
        (f"{SECRET};ConnectRetryCount=256", "has a `ConnectRetryCount` that is not a whole number", CORRECT),
        (f"{SECRET};ConnectRetryInterval=61", "has a `ConnectRetryInterval` that is not a whole number", CORRECT),
        (f"{SECRET};ServerCertificate=-----B", "has a `ServerCertificate` that is not the path of a file.", CORRECT),
        ("mssql://u:hunter2%00@h/db", "holds a NUL character (%00)", "Take it out."),
        ("mssql+pyodbc:///?odbc_connect=PWD%3Dhunter2%000%00", "holds a NUL character (%00)", "Take it out."),
        ("mssql+pyodbc:///?odbc_connect=PWD%3Dhunter2%ff", "has percent-encoded bytes that are not UTF-8.", "Encode"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(text, happened, remedy):
    refusal = refused(text)

    assert isinstance(refusal, ConfigError)
    assert refusal.happened.startswith(f"`source` {happened}")
    assert refusal.remedy.startswith(remedy)


USABLE_MODES = "Use ActiveDirectoryServicePrincipal, ActiveDirectoryMSI or ActiveDirectoryDefault."


@pytest.mark.parametrize(
    ("written", "mode", "reason"),
    [
        ("ActiveDirectoryInteractive", "ActiveDirectoryInteractive", "a job cannot use: it asks a person"),
        (
            "Active Directory Interactive",
            *("ActiveDirectoryInteractive", "a job cannot use: it asks a person"),
        ),
        ("ActiveDirectoryDeviceCode", "ActiveDirectoryDeviceCode", "a job cannot use: it asks a person"),
        (
            "Active Directory Device Code Flow",
            *("ActiveDirectoryDeviceCodeFlow", "a job cannot use: it asks a person"),
        ),
        (
            "ActiveDirectoryServicePrincipalCertificate",
            *("ActiveDirectoryServicePrincipalCertificate", "the driver does not have"),
        ),
        ("Active Directory Workload Identity", "ActiveDirectoryWorkloadIdentity", "the driver does not have"),
    ],
)
def test_a_mode_that_no_job_can_use_is_refused(written, mode, reason):
    for text in (f"{SECRET};Authentication={written}", f"{JDBC};authentication={written}"):
        refusal = refused(text)

        assert isinstance(refusal, Unsupported)
        assert refusal.happened == f"`source` asks for {mode}, which {reason}."
        assert refusal.remedy == USABLE_MODES


# Pairs of others


@pytest.mark.parametrize(
    "text",
    [
        "Driver={MySQL ODBC 8.0 Unicode Driver};Server=h;Database=db;UID=u;PWD=hunter2",
        "Driver={PostgreSQL Unicode};Server=h;Port=5432;Database=db;UID=u;PWD=hunter2",
        "Server=h;Port=3306;Database=db;Uid=u;Pwd=hunter2",
        "Server=h;Port=5432;Database=db;User Id=u;Password=hunter2;",
        "Host=h;Username=u;Password=hunter2;Database=db",
        "Provider=Microsoft.ACE.OLEDB.12.0;Data Source=C:\\db.accdb;Password=hunter2",
        "Driver={ODBC Driver 18 for SQL Server};Database=db;UID=u;PWD=hunter2",
        "Server=h",
    ],
)
def test_an_odbc_or_ado_string_of_another_database_is_refused(text):
    refusal = refused(text)

    assert isinstance(refusal, Unsupported)
    happened = (
        "`source` is an ODBC or ADO.NET string for another database than SQL Server, which Tidegate does not read."
    )
    assert refusal.happened == happened
    assert refusal.remedy.endswith(f"{SHAPE}.")


@pytest.mark.parametrize(
    ("text", "password"),
    [
        ("host=h dbname=db user=u password=a;b", "a;b"),
        ("host=h dbname=db user=u password='a;Server=b;c'", "a;Server=b;c"),
        ("dbname=db host=h user=u password=a;server=b", "a;server=b"),
    ],
)
def test_pairs_of_libpq_stay_pairs_of_libpq(text, password):
    assert parse_connection(text) == Connection("postgresql", "h", 5432, "db", "u", password)


# What is shown, and what is the same place


@pytest.mark.parametrize(
    ("text", "display"),
    [
        (LOGIN, "sqlserver://u@h:1433/db"),
        (r"Server=h\SQL2019;Database=db;UID=u;PWD=p", "sqlserver://u@h%5CSQL2019/db"),
        (r"Server=h\SQL2019,1444;Database=db;UID=u;PWD=p", "sqlserver://u@h:1444/db"),
        ("Server=::1;Database=my db;UID=u@x;PWD=p", "sqlserver://u%40x@[::1]:1433/my%20db"),
        (r"Server=::1\INST;Database=db;UID=u;PWD=p", "sqlserver://u@%3A%3A1%5CINST/db"),
        (f"{NO_LOGIN};Trusted_Connection=yes", "sqlserver://h:1433/db?authentication=windows"),
        (
            f"{NO_LOGIN};Authentication=ActiveDirectoryMSI;Encrypt=strict",
            "sqlserver://h:1433/db?authentication=ActiveDirectoryMSI",
        ),
        (f"{NO_LOGIN};Authentication=ActiveDirectoryMSI;UID=id", "sqlserver://id@h:1433/db"),
    ],
)
def test_the_display_form_holds_no_secret_and_leads_back(text, display):
    connection = parse_connection(text)

    assert connection.display == str(connection) == display
    assert parse_connection(display).same_database_as(connection)
    assert parse_connection(display).display == display


@given(
    user=ANY_TEXT,
    database=ANY_TEXT,
    host=st.sampled_from(["h", "::1", "10.0.0.1", "fe80::1%eth0"]),
    instance=st.sampled_from(["", "SQL2019", "a$b_c#1"]),
)
def test_any_display_form_leads_back_to_the_same_place(user, database, host, instance):
    options = (("instance", instance),) if instance else ()
    place = ("sqlserver", host, 0 if instance else 1444, database, user)
    connection = Connection(*place, "hunter2", (*options, ("encrypt", "strict")))

    again = parse_connection(plainly(connection.display))

    assert again == Connection(*place, options=options)
    assert again.same_database_as(connection)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("u@h/db", "v:p@H.:1433/DB", True),
        ("u@h/db", "u@h:1444/db", False),
        ("u@h/db", "u@h/other", False),
        ("u@localhost/db", "u@127.0.0.1/db", True),
        ("u@h%5Ca/db", "u@H%5CA/db", True),
        ("u@h%5Ca/db", "u@h%5Cb/db", False),
        ("u@h%5Ca/db", "u@g%5Ca/db", False),
        ("u@h%5Ca/db", "u@h%5Ca/other", False),
        # whose port this is, nobody knows
        ("u@h%5Ca/db", "u@h:1444/db", True),
        ("u@h%5Ca/db", "u@h/db", True),
        ("u@h%5Ca/db", "u@g:1444/db", False),
        ("u@.%5Ca/db", "u@[::1]:1444/db", True),
        ("u@h%5Ca:1444/db", "u@h%5Cb:1444/db", True),
    ],
)
def test_the_same_place(one, other, same):
    first, second = parse_connection(f"sqlserver://{one}"), parse_connection(f"mssql+pyodbc://{other}")

    assert first.same_database_as(second) is same
    assert second.same_database_as(first) is same


def test_the_same_place_in_other_forms():
    connection = parse_connection("sqlserver://u@h/db")

    for text in (LOGIN, odbc("u", "p", "db"), ado("u", "p", "db"), jdbc("u", "p", "db")):
        assert parse_connection(text).same_database_as(connection)
    assert not parse_connection("mysql://u@h:1433/db").same_database_as(connection)


def test_an_instance_is_a_name_that_can_be_protected():
    settings = {"source": "postgresql://h/db", "tables": {"t": {"partition_by": "d"}}, "lake": "lake"}
    target = r"Server=h\PROD;Database=db;UID=u;PWD=hunter2"

    with pytest.raises(ConfigError) as refusal:
        Project.from_mapping({**settings, "protected": [r"*\prod"], "target": target})

    assert "sqlserver://u@h%5CPROD/db" in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


# Secrets


@each_form
@pytest.mark.parametrize(
    "password", ["hunter2;}x", "hunter2\"'x", "a}}{{hunter2", "hunter2 %@=é\\", "it''s }hunter2\""]
)
def test_a_password_is_hidden_in_whatever_form_it_is_written(form, password):
    text = form("u", password, "db")
    connection = parse_connection(plainly(text))

    assert connection.secrets == (password,)
    shown = Redactor.of(connection).redact(f"The driver was given {text}.")
    assert "hunter2" not in shown
    assert shown.count("***") == 1


@pytest.mark.parametrize("extra", ["Snapshots=3", "Encrypt=maybe", "Server=g", "hunter2"])
@pytest.mark.parametrize("side", ["source", "target"])
def test_no_error_about_a_configuration_shows_its_connection(side, extra):
    text = f"{DRIVER};Server=h;Database=db;UID=u;PWD=hunter2;{extra}"
    settings = {"source": "postgresql://h/db", "target": "postgresql://g/db", "lake": "lake"}
    settings |= {"tables": {"t": {"partition_by": "d"}}, side: text}

    with pytest.raises(TidegateError) as refusal:
        Project.from_mapping(settings)

    assert side in str(refusal.value)
    assert "hunter2" not in "".join(traceback.format_exception(refusal.value))
