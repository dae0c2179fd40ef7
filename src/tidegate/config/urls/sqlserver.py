"""SQL Server: ODBC, ADO.NET and JDBC strings and SQLAlchemy URLs, in the few names that our adapter reads.

    instance                    a named instance whose port nobody named: the port is 0 then, and else 1433
    encrypt                     mandatory, optional or strict
    trust_server_certificate    yes or no; likewise multi_subnet_failover
    hostname_in_certificate     the name that the server's certificate is for
    server_certificate          the path of a copy of it
    authentication              windows (which is Kerberos), or a mode of Entra: ActiveDirectoryPassword,
                                ActiveDirectoryServicePrincipal, ActiveDirectoryMSI, ActiveDirectoryDefault or
                                ActiveDirectoryIntegrated; nothing is a login of the server's own
    application_intent          ReadOnly or ReadWrite
    login_timeout               whole seconds, 1 or more; likewise query_timeout
    lock_timeout                milliseconds; 0 does not wait
    packet_size                 bytes
    connect_retry_count         0 or more; connect_retry_interval is in seconds
    server_spn, keytab          what Kerberos needs

An option that nobody named is left out, and the adapter chooses. The client id of a managed identity is the user.
What would change the place, the login or the text and cannot be had here is refused by its name.
"""

# Facts about the drivers that shape this file
#  * ODBC and JDBC quote a value by {braces}, a `}` inside twice, and a quotation mark is a character of the value.
#    ADO.NET quotes by " or ', that mark inside twice, and a brace is a character. `Driver` is a word of ODBC only;
#    `Password`, `User ID`, `Data Source` and `Initial Catalog` are not ODBC's. A string with none of them may be
#    either, and both ways to quote count. `Provider` is OLE DB's, which quotes as ADO.NET does.
#  * The port follows a comma, in a URL and for JDBC a colon. Beside a port, all drivers ignore the instance.
#  * JDBC and SqlClient refuse or overrule what is given twice, each in its way: here it must be the same.
#  * ODBC 17 encrypts only when asked, ODBC 18 and the others always. What is not said is not decided here.
#  * SQLAlchemy reads `odbc_connect` as the whole ODBC string, decoded once. pymssql's `timeout` is that of a query.
#  * pyodbc without a user logs in as the process, in silence. Here that must be said.
#  * MySQL and PostgreSQL have ADO.NET strings with the same words; their port, or an ODBC driver's name, tells.
#  https://learn.microsoft.com/sql/connect/odbc/dsn-connection-string-attribute
#  https://learn.microsoft.com/sql/connect/ado-net/connection-options
#  https://learn.microsoft.com/sql/connect/jdbc/building-the-connection-url

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote_plus

from tidegate.config.secrets import MARK, Filled, refusal
from tidegate.config.urls.splitting import Kind, Reading, decoded, unknown_option
from tidegate.errors import TidegateError, Unsupported

_PLACE_AND_LOGIN = ("host", "port", "dbname", "user", "password")
_OPTIONS = (
    *("instance", "encrypt", "trust_server_certificate", "hostname_in_certificate", "server_certificate"),
    *("authentication", "application_intent", "multi_subnet_failover", "login_timeout", "query_timeout"),
    *("lock_timeout", "packet_size", "server_spn", "connect_retry_count", "connect_retry_interval"),
    "keytab",
)
# In small letters, without blanks and lines: `User ID`, `Trusted_Connection`, `trustServerCertificate`.
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
    "integrated": _TRUTHS | {"sspi": "yes"},
    "application_intent": {"readonly": "ReadOnly", "readwrite": "ReadWrite"},
    "authentication": {
        "windows": "windows",
        **{mode.lower(): mode for mode in _MODES},
        "activedirectorymanagedidentity": _IDENTITY,
        **dict.fromkeys(("sqlpassword", "notspecified"), ""),
    },
}
_MODES_OF_PERSONS = ("ActiveDirectoryInteractive", "ActiveDirectoryDeviceCode", "ActiveDirectoryDeviceCodeFlow")
_MODES_OF_OTHERS = ("ActiveDirectoryServicePrincipalCertificate", "ActiveDirectoryWorkloadIdentity")
_YEAR = 31_536_000
_LIMITS = {
    "login_timeout": (1, _YEAR),
    "query_timeout": (1, _YEAR),
    "lock_timeout": (0, 1000 * _YEAR),
    "packet_size": (512, 32_767),
    "connect_retry_count": (0, 255),
    "connect_retry_interval": (1, 60),
}

# `name=value`: these tune a driver, or steer what our session fixes, or say what is so anyway.
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
    ("(file)?dsn", "Write out what it stands for: server, database and login."),
    ("(current)?language", "Take it out: Tidegate chooses the language of its sessions."),
    ("trust(store|manager).*", "Use hostname_in_certificate, server_certificate or the system's store of authorities."),
    ("accesstoken.*", f"Let the driver ask for it: authentication={_SERVICE}, {_IDENTITY} or {_DEFAULT}."),
    ("failover.*", "Name one server, or the listener of its availability group."),
    ("client(certificate|key).*", f"Use authentication={_SERVICE} with a client id and its secret."),
    ("authenticationscheme|domain(name)?", "Use Kerberos, which Trusted_Connection=yes stands for, or a login."),
    ("principal", "Take it out: Kerberos logs in as the first principal of the keytab."),
    ("columnencryption.*|key(store|vault).*|enclave.*|attestation.*", "Columns that are always encrypted stay so."),
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
    """Whether this is an ODBC or ADO.NET string for SQL Server. libpq's pairs have blanks between them, and `host`."""
    if ";" not in text or not _SERVER_IN_PAIRS.search(text) or _WORD_OF_OTHERS.search(text):
        return False
    driver = _DRIVER_IN_PAIRS.search(text)
    return driver is None or bool(_OUR_DRIVERS.search(driver["name"]))


def parts_of_odbc(filled: Filled) -> dict[str, str]:
    """What an ODBC or ADO.NET string says."""
    return _parts(_pairs(filled, _quotes_of(filled.text)))


def parts_of_sqlserver_jdbc(rest: str, filled: Filled) -> dict[str, str]:
    """What follows `jdbc:sqlserver://` says. This driver decodes no percent codes."""
    server, _, properties = rest.partition(";")
    return _parts([("server", filled.put_in(server)), *_pairs(Filled(properties, filled.values), "{")])


def _parts_of_url(url: re.Match[str], reading: Reading, filled: Filled) -> dict[str, str]:
    before = reading.parts(filled)
    pairs = [("server", before.pop("host")), ("database", before.pop("dbname")), *before.items()]
    for pair in filter(None, (reading.right["query"] or "").split("&")):
        name, _, text = pair.partition("=")
        if name.lower() == "odbc_connect":
            pairs += _pairs_of_odbc_connect(text, filled)
        elif (url["driver"] or "").lower() == "pymssql" and name.lower() == "timeout":
            pairs.append(("query_timeout", decoded(text, filled, " ")))
        else:
            pairs.append((unquote_plus(name), decoded(text, filled, " ")))
    return _parts(pairs)


def _pairs_of_odbc_connect(text: str, filled: Filled) -> Iterable[tuple[str, str]]:
    """Decoded around its variables, whose values may hold a `;`; one that begins with a variable is that as it is."""
    pieces = enumerate(re.split(f"({MARK})", text))
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
    """Names and values; `quotes` are the characters with which a quoted value may begin."""
    quoted = "".join(f"{_QUOTED[quote]}|" for quote in quotes)
    pair = re.compile(rf"(?P<name>[^=;]+?)\s*=\s*(?P<value>{quoted}(?![\s{re.escape(quotes)}])[^;]*?)\s*(?:;[\s;]*|\Z)")
    text, position, after_raw_password = filled.text.strip(" \t\r\n;"), 0, False
    while position < len(text):
        found = pair.match(text, position)
        # What follows a raw password may be the rest of it, if that has a `;`: such a name must not be shown.
        if found is None or (after_raw_password and not _is_known(found["name"], found["value"])):
            remedy = "Write name=value pairs with `;` between them; a value that holds a `;` in {braces}"
            raise refusal("is not a connection that Tidegate can read.", f'{remedy}, for ADO.NET in "quotes".')
        name, value, position = found["name"], found["value"], found.end()
        if value and value[0] in quotes:
            closing = _CLOSING[value[0]]
            yield name, filled.put_in(value[1:-1].replace(2 * closing, closing))
            after_raw_password = False
        else:
            yield name, filled.put_in(value)
            after_raw_password = _NAMES.get(_plain(name)) == "password" and not re.fullmatch(MARK, value)


def _parts(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    said: dict[str, str] = {}
    for name, text in pairs:
        for option, value in _meaning(name, text).items():
            if value and said.setdefault(option, value) != value:
                raise refusal(f"has two values for `{name}`, or for what is another name of it.", "Keep one of them.")
    if "port" in said:
        said.pop("instance", "")
    _check_login(said)
    options = {name: said[name] for name in _OPTIONS if name in said}
    return {name: said.get(name, "") for name in _PLACE_AND_LOGIN} | options


def _check_login(said: Mapping[str, str]) -> None:
    mode = said.get("authentication", "")
    if mode == "windows" and ("user" in said or "password" in said):
        happened = "asks for the login of Windows, and has a user or a password as well."
        raise refusal(happened, "Keep one of them: Trusted_Connection=yes, or user and password.")
    if "user" not in said and mode not in _WITHOUT_USER:
        without = f"Trusted_Connection=yes, or authentication={_IDENTITY} or {_DEFAULT}"
        raise refusal("has no login.", f"Add a user: {SQLSERVER.shape}. To log in without one, say how: {without}.")


def _meaning(name: str, text: str) -> dict[str, str]:
    """What one pair says, in our names; an empty value says nothing."""
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
        happened = f"names its server by `{other[0].lower()}`, which is not TCP and which this version does not take."
        raise refusal(happened, remedy, Unsupported)
    place = _PLACE.fullmatch(text)
    if place is None:
        raise refusal("has a server whose name Tidegate cannot read.", remedy)
    host = "localhost" if place["host"].lower() in (".", "(local)") else place["host"].strip("[]")
    return {"host": host, "instance": place["instance"] or "", "port": place["port"] or ""}


def _checked(option: str, name: str, text: str) -> str:
    """The value in our words; empty when it says nothing. Errors speak of `name`."""
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
    for mode in _MODES_OF_PERSONS + _MODES_OF_OTHERS:
        if option == "authentication" and word == mode.lower():
            for_persons = "a job cannot use: somebody would have to answer"
            reason = for_persons if mode in _MODES_OF_PERSONS else "the driver does not have"
            remedy = f"Use {_SERVICE}, {_IDENTITY} or {_DEFAULT}."
            raise refusal(f"asks for {mode}, which {reason}.", remedy, Unsupported)
    if word not in words:
        raise _wrong(name, f"none of {', '.join(dict.fromkeys(filter(None, words.values())))}")
    return words[word]


def _number(name: str, text: str, least: int, most: int) -> str:
    """A whole number. Empty for -1, and for a 0 below the least: both leave it to the driver."""
    if text == "-1" or (least and re.fullmatch("0+", text)):
        return ""
    if not re.fullmatch("[0-9]{1,12}", text) or not least <= int(text) <= most:
        raise _wrong(name, f"not a whole number from {least} to {most}")
    return str(int(text))


def _wrong(name: str, what: str) -> TidegateError:
    return refusal(f"has a `{name}` that is {what}.", "Correct the value, or take it out.")


SQLSERVER = Kind("sqlserver", 1433, _parts_of_url)
