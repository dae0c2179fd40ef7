"""Connection texts of SQL Server: ODBC, ADO.NET and JDBC strings and SQLAlchemy URLs, translated to our options.

    instance                    a named instance without a port: the port is then 0, otherwise 1433
    encrypt                     mandatory, optional or strict
    trust_server_certificate    yes or no; likewise multi_subnet_failover
    hostname_in_certificate     the name that the server's certificate is for
    server_certificate          the path of a copy of it
    authentication              windows (which is Kerberos), or a mode of Entra: ActiveDirectoryPassword,
                                ActiveDirectoryServicePrincipal, ActiveDirectoryMSI, ActiveDirectoryDefault or
                                ActiveDirectoryIntegrated; empty is a SQL Server login
    application_intent          ReadOnly or ReadWrite
    login_timeout               whole seconds, 1 or more; likewise query_timeout
    lock_timeout                milliseconds; 0 does not wait
    hold_locks                  yes: without snapshots in the database, rows are read under locks that writers wait for
    packet_size                 bytes
    connect_retry_count         0 or more; connect_retry_interval is in seconds
    server_spn, keytab          what Kerberos needs

Options that are not named get the defaults of `databases/sqlserver`. The client id of a managed identity is the user.
An option that would change the server, the login or the texts, and that Tidegate does not support, is refused by name.
"""

# Facts about the drivers that shape this file
#  * ODBC and JDBC quote a value by {braces}, a `}` inside is doubled, and a quotation mark is a plain character.
#    ADO.NET quotes by " or ', which is doubled inside, and a brace is a plain character. `Driver` is ODBC's only;
#    `Password`, `User ID`, `Data Source` and `Initial Catalog` are not ODBC's. A string with none of them may be
#    either, and both ways to quote count. `Provider` is OLE DB's, which quotes as ADO.NET does.
#  * The port follows a comma, in a URL and for JDBC a colon. Beside a port, all drivers ignore the instance.
#  * JDBC and SqlClient handle an option that is given twice differently: here both values must be equal.
#  * ODBC 17 encrypts only if asked, ODBC 18 and the others always. Without an option the driver's default applies.
#  * SQLAlchemy reads `odbc_connect` as the whole ODBC string, decoded once. pymssql's `timeout` is that of a query.
#  * pyodbc without a user logs in as the user of the process. Here that must be written down.
#  * MySQL and PostgreSQL have ADO.NET strings with the same words; the port or an ODBC driver's name tells them apart.
#  https://learn.microsoft.com/sql/connect/odbc/dsn-connection-string-attribute
#  https://learn.microsoft.com/sql/connect/ado-net/connection-options
#  https://learn.microsoft.com/sql/connect/jdbc/building-the-connection-url

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote_plus

from tidegate.config.secrets import PLACEHOLDER, Filled, refusal
from tidegate.config.urls.url_parts import SplitUrl, UrlKind, decoded, unknown_option
from tidegate.errors import TidegateError, Unsupported

_SERVER_AND_LOGIN = ("host", "port", "dbname", "user", "password")
_OPTIONS = (
    *("instance", "encrypt", "trust_server_certificate", "hostname_in_certificate", "server_certificate"),
    *("authentication", "application_intent", "multi_subnet_failover", "login_timeout", "query_timeout"),
    *("lock_timeout", "packet_size", "server_spn", "connect_retry_count", "connect_retry_interval"),
    *("keytab", "hold_locks"),
)
# In lower case, without blanks and underscores: `User ID`, `Trusted_Connection`, `trustServerCertificate`.
_NAMES = {name.replace("_", ""): name for name in _OPTIONS} | {
    **dict.fromkeys(("server", "servername", "datasource", "addr", "address", "networkaddress"), "server"),
    **dict.fromkeys(("port", "portnumber"), "port"),
    **dict.fromkeys(("database", "databasename", "initialcatalog"), "dbname"),
    **dict.fromkeys(("user", "userid", "username", "uid", "msiclientid"), "user"),
    **dict.fromkeys(("password", "pwd"), "password"),
    **dict.fromkeys(("trustedconnection", "integratedsecurity"), "integrated"),
    **dict.fromkeys(("connecttimeout", "connectiontimeout", "timeout"), "login_timeout"),
    "commandtimeout": "query_timeout",
    "instancename": "instance",
}
_TRUTHS = {**dict.fromkeys(("yes", "true", "1"), "yes"), **dict.fromkeys(("no", "false", "0"), "no")}
_SERVICE, _IDENTITY, _DEFAULT = "ActiveDirectoryServicePrincipal", "ActiveDirectoryMSI", "ActiveDirectoryDefault"
_MODES = ("ActiveDirectoryPassword", _SERVICE, _IDENTITY, _DEFAULT, "ActiveDirectoryIntegrated")
_WITHOUT_USER = ("windows", *_MODES[2:])
_WORDS: dict[str, dict[str, str]] = {
    "encrypt": {
        **dict.fromkeys(("mandatory", "yes", "true", "1"), "mandatory"),
        **dict.fromkeys(("optional", "no", "false", "0"), "optional"),
        "strict": "strict",
    },
    "trust_server_certificate": _TRUTHS,
    "multi_subnet_failover": _TRUTHS,
    "hold_locks": _TRUTHS,
    "integrated": _TRUTHS | {"sspi": "yes"},
    "application_intent": {"readonly": "ReadOnly", "readwrite": "ReadWrite"},
    "authentication": {
        "windows": "windows",
        **{mode.lower(): mode for mode in _MODES},
        "activedirectorymanagedidentity": _IDENTITY,
        **dict.fromkeys(("sqlpassword", "notspecified"), ""),
    },
}
_INTERACTIVE_MODES = ("ActiveDirectoryInteractive", "ActiveDirectoryDeviceCode", "ActiveDirectoryDeviceCodeFlow")
_UNSUPPORTED_MODES = ("ActiveDirectoryServicePrincipalCertificate", "ActiveDirectoryWorkloadIdentity")
_YEAR = 31_536_000
_LIMITS = {
    "login_timeout": (1, _YEAR),
    "query_timeout": (1, _YEAR),
    "lock_timeout": (0, 1000 * _YEAR),
    "packet_size": (512, 32_767),
    "connect_retry_count": (0, 255),
    "connect_retry_interval": (1, 60),
}

# `name=value`: these tune a driver, set what our session sets itself, or state a default. They are ignored.
_HARMLESS = re.compile(
    "(driver|provider|app|appname|applicationname|description|workstationid|wsid|persistsecurityinfo|autocommit|ansi"
    # pools and sockets
    "|marsconnection|multipleactiveresultsets|pooling|(max|min)poolsize|poolblockingperiod|connectionlifetime"
    "|loadbalancetimeout|connectionreset|enlist|transactionbinding|async(hronousprocessing)?|keepalive(interval)?"
    "|ipaddresspreference|transparentnetworkipresolution|sockettimeout|cancelquerytimeout|retry(exec|conn)"
    # statements, and how values are shown
    "|quoted(id|identifier)|ansinpw|(odbc)?autotranslate|unicoderesults|longasmax|usefmtonly|typesystemversion"
    "|tdsversion|(client)?charset|concatnullyieldsnull|xopenstates|lastupdatecount|preparemethod|selectmethod"
    "|responsebuffering|maxresultbuffer|delayloadinglobs|send(string|time|temporal).*|datetimeparametertype"
    "|ignoreoffset.*|calcbigdecimalprecision|vectortypesupport|disablestatementpooling|statementpoolingcachesize"
    "|serverpreparedstatementdiscardthreshold|enableprepareonfirst.*|(use)?bulkcopyforbatchinsert.*"
    "|cachebulkcopymetadata|defaulttransactionisolation|servernameasace|usedefault.*|jaasconfigurationname)=.*"
    "|columnencryption(setting)?=disabled|authenticationscheme=(javakerberos|nativeauthentication)"
    "|net(work(library)?)?=dbmssocn|(userinstance|contextconnection|replication|fips|regional)=(false|no|0)",
    re.DOTALL,
)
_REFUSED = (
    ("(file)?dsn", "Write server, database and login instead."),
    ("(current)?language", "Take it out: Tidegate chooses the language of its sessions."),
    ("trust(store|manager).*", "Use hostname_in_certificate, server_certificate or the system's store of authorities."),
    ("accesstoken.*", f"Let the driver ask for it: authentication={_SERVICE}, {_IDENTITY} or {_DEFAULT}."),
    ("failover.*", "Name one server, or the listener of its availability group."),
    ("client(certificate|key).*", f"Use authentication={_SERVICE} with a client id and its secret."),
    ("authenticationscheme|domain(name)?", "Use Kerberos, which Trusted_Connection=yes means, or a login."),
    ("principal", "Take it out: Kerberos logs in as the first principal of the keytab."),
    (
        "columnencryption.*|key(store|vault).*|enclave.*|attestation.*",
        "Take it out: Tidegate cannot decrypt Always Encrypted columns.",
    ),
    ("net(work(library)?)?|contextconnection", "Take it out: Tidegate connects by TCP."),
    ("attachdbfilename|extendedproperties|initialfilename|userinstance", "Name the database of a server."),
)

_CLOSING = {"{": "}", '"': '"', "'": "'"}
_QUOTED = {"{": r"\{(?:[^}]|\}\})*\}", '"': r'"(?:[^"]|"")*"', "'": r"'(?:[^']|'')*'"}
_INSTANCE = r"[\w$\#-]*"
_PLACE = re.compile(
    rf"""(?:tcp:\s*)?
        (?P<host>\[[\w.:%-]*\]|[\w.%-]*(?::[\w.%-]*){{2,}}|[\w.%-]*|\(local\))
        (?:\\(?P<instance>{_INSTANCE}))?
        \s*(?:[,:]\s*(?P<port>\w*))?""",
    re.VERBOSE | re.IGNORECASE,
)
_NOT_TCP = re.compile(r"np:|lpc:|admin:|\(localdb\)|\\\\", re.IGNORECASE)
_SERVER_IN_PAIRS = re.compile(r"(?:\A|;)\s*(?:server|data source|addr|address|network address|(?:file)?dsn)\s*=", re.I)
_DRIVER_IN_PAIRS = re.compile(r"(?:\A|;)\s*(?P<word>driver|provider)\s*=(?P<name>[^;]*)", re.I)
_OUR_DRIVERS = re.compile("sql server|sql native|sqlncli|sqlsrv|sqloledb|msoledbsql|mssql|msodbcsql|tds|\x00", re.I)
_WORD_OF_ADO = re.compile(r"(?:\A|;)\s*(?:password|user|user id|initial catalog|data source)\s*=", re.I)
_WORD_OF_OTHERS = re.compile(r"\A(?:host|hostaddr|dbname)\s*=|;\s*port\s*=\s*(?:3306|5432)\s*(?:;|\Z)", re.I)


def is_of_sqlserver(text: str) -> bool:
    """Return whether this is an ODBC or ADO.NET string for SQL Server. libpq's strings have blanks, and `host`."""
    if ";" not in text or not _SERVER_IN_PAIRS.search(text) or _WORD_OF_OTHERS.search(text):
        return False
    driver = _DRIVER_IN_PAIRS.search(text)
    return driver is None or bool(_OUR_DRIVERS.search(driver["name"]))


def parts_of_odbc(filled: Filled) -> dict[str, str]:
    """Return the parts of an ODBC or ADO.NET string."""
    return _parts(_pairs(filled, _quotes_of(filled.text)))


def parts_of_sqlserver_jdbc(rest: str, filled: Filled) -> dict[str, str]:
    """Return the parts of the text after `jdbc:sqlserver://`. This driver decodes no percent codes."""
    server, _, properties = rest.partition(";")
    return _parts([("server", filled.put_in(server)), *_pairs(Filled(properties, filled.values), "{")])


def _parts_of_url(url: re.Match[str], split: SplitUrl, filled: Filled) -> dict[str, str]:
    before = split.parts(filled)
    pairs = [("server", before.pop("host")), ("database", before.pop("dbname")), *before.items()]
    for pair in filter(None, (split.right["query"] or "").split("&")):
        name, _, text = pair.partition("=")
        if name.lower() == "odbc_connect":
            pairs += _pairs_of_odbc_connect(text, filled)
        elif (url["driver"] or "").lower() == "pymssql" and name.lower() == "timeout":
            pairs.append(("query_timeout", decoded(text, filled, " ")))
        else:
            pairs.append((unquote_plus(name), decoded(text, filled, " ")))
    return _parts(pairs)


def _pairs_of_odbc_connect(text: str, filled: Filled) -> Iterable[tuple[str, str]]:
    """Yield the pairs of `odbc_connect`. Values of variables are not decoded and may hold a `;`.

    A text that starts with a variable is used as it is."""
    pieces = enumerate(re.split(f"({PLACEHOLDER})", text))
    odbc = Filled("".join(piece if at % 2 else decoded(piece, filled, " ") for at, piece in pieces), filled.values)
    if odbc.text.startswith("\x00"):
        odbc = Filled(odbc.whole())
    return _pairs(odbc, _quotes_of(odbc.text))


def _quotes_of(text: str) -> str:
    driver = _DRIVER_IN_PAIRS.search(text)
    if driver and driver["word"].lower() == "driver":
        return "{"
    return "\"'" if driver or _WORD_OF_ADO.search(text) else "{\"'"


def _pairs(filled: Filled, quotes: str) -> Iterator[tuple[str, str]]:
    """Yield names and values. `quotes` are the characters that can start a quoted value."""
    quoted = "".join(f"{_QUOTED[quote]}|" for quote in quotes)
    pair = re.compile(rf"(?P<name>[^=;]+?)\s*=\s*(?P<value>{quoted}(?![\s{re.escape(quotes)}])[^;]*?)\s*(?:;[\s;]*|\Z)")
    text, position, after_raw_password = filled.text.strip(" \t\r\n;"), 0, False
    while position < len(text):
        found = pair.match(text, position)
        # The text after an unquoted password may be the rest of it, if it has a `;`: so its name must not be shown.
        if found is None or (after_raw_password and not _is_known(found["name"], found["value"])):
            remedy = "Write name=value pairs with `;` between them, and a value that holds a `;` in {braces}"
            raise refusal("is not a connection that Tidegate can read.", f'{remedy}, for ADO.NET in "quotes".')
        name, value, position = found["name"], found["value"], found.end()
        if value and value[0] in quotes:
            closing = _CLOSING[value[0]]
            yield name, filled.put_in(value[1:-1].replace(2 * closing, closing))
            after_raw_password = False
        else:
            yield name, filled.put_in(value)
            after_raw_password = _NAMES.get(_plain(name)) == "password" and not re.fullmatch(PLACEHOLDER, value)


def _parts(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    settings: dict[str, str] = {}
    for name, text in pairs:
        for option, value in _meaning(name, text).items():
            if value and settings.setdefault(option, value) != value:
                raise refusal(
                    f"has two values for `{name}` or for another name of the same option.", "Keep one of them."
                )
    if "port" in settings:
        settings.pop("instance", "")
    _check_login(settings)
    options = {name: settings[name] for name in _OPTIONS if name in settings}
    return {name: settings.get(name, "") for name in _SERVER_AND_LOGIN} | options


def _check_login(settings: Mapping[str, str]) -> None:
    mode = settings.get("authentication", "")
    if mode == "windows" and ("user" in settings or "password" in settings):
        happened = "asks for a Windows login, but has a user or a password."
        raise refusal(happened, "Keep one of them: Trusted_Connection=yes, or user and password.")
    if "user" not in settings and mode not in _WITHOUT_USER:
        without = f"Trusted_Connection=yes, or authentication={_IDENTITY} or {_DEFAULT}"
        raise refusal("has no login.", f"Add a user: {SQLSERVER.example}. To log in without a user, use {without}.")


def _meaning(name: str, text: str) -> dict[str, str]:
    """Return the meaning of one pair under our names. An empty value means nothing."""
    if _is_harmless(name, text):
        return {}
    option = _NAMES.get(_plain(name))
    if option is None:
        usual = f"Take it out, or use one of {', '.join(_OPTIONS)}."
        remedy = next((remedy for refused, remedy in _REFUSED if re.fullmatch(refused, _plain(name))), usual)
        raise unknown_option("option", name.replace(" ", ""), remedy)
    if option == "server":
        return _place(text.strip())
    value = _checked(option, name, text) if text else ""
    if option == "integrated":
        return {"authentication": "windows" if value == "yes" else ""}
    return {option: value}


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()


def _is_harmless(name: str, text: str) -> bool:
    return _HARMLESS.fullmatch(f"{_plain(name)}={text.lower()}") is not None


def _is_known(name: str, text: str) -> bool:
    refused = (re.fullmatch(names, _plain(name)) for names, _ in _REFUSED)
    return _plain(name) in _NAMES or _is_harmless(name, text) or any(refused)


def _place(text: str) -> dict[str, str]:
    remedy = r"Write host, host,port or host\instance; in a URL host:port or host%5Cinstance, and [ ] around IPv6."
    other = _NOT_TCP.match(text)
    if other:
        happened = (
            f"names its server by `{other[0].lower()}`, which is not TCP and which this version does not support."
        )
        raise refusal(happened, remedy, Unsupported)
    place = _PLACE.fullmatch(text)
    if place is None:
        raise refusal("has a server whose name Tidegate cannot read.", remedy)
    host = "localhost" if place["host"].lower() in (".", "(local)") else place["host"].strip("[]")
    return {"host": host, "instance": place["instance"] or "", "port": place["port"] or ""}


def _checked(option: str, name: str, text: str) -> str:
    """Return the value in our words; empty if it changes nothing. Errors show `name`."""
    if option in _WORDS:
        return _word(option, name, _plain(text))
    if option in _LIMITS:
        return _number(name, text.strip(), *_LIMITS[option])
    if option == "instance" and not re.fullmatch(_INSTANCE, text):
        raise _wrong(name, "not the name of an instance")
    if option == "server_certificate" and text.startswith("-----"):
        raise _wrong(name, "not the path of a file")
    return text


def _word(option: str, name: str, word: str) -> str:
    words = _WORDS[option]
    for mode in _INTERACTIVE_MODES + _UNSUPPORTED_MODES:
        if option == "authentication" and word == mode.lower():
            interactive = "a job cannot use: it asks a person"
            reason = interactive if mode in _INTERACTIVE_MODES else "the driver does not have"
            remedy = f"Use {_SERVICE}, {_IDENTITY} or {_DEFAULT}."
            raise refusal(f"asks for {mode}, which {reason}.", remedy, Unsupported)
    if word not in words:
        raise _wrong(name, f"none of {', '.join(dict.fromkeys(filter(None, words.values())))}")
    return words[word]


def _number(name: str, text: str, least: int, most: int) -> str:
    """Return a whole number; empty for -1, and for 0 below `least`: both mean the driver's default."""
    if text == "-1" or (least and re.fullmatch("0+", text)):
        return ""
    if not re.fullmatch("[0-9]{1,12}", text) or not least <= int(text) <= most:
        raise _wrong(name, f"not a whole number from {least} to {most}")
    return str(int(text))


def _wrong(name: str, what: str) -> TidegateError:
    return refusal(f"has a `{name}` that is {what}.", "Correct the value, or take it out.")


SQLSERVER = UrlKind("sqlserver", 1433, _parts_of_url)
