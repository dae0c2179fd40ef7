"""Connection texts of MySQL and MariaDB: the options of their many drivers, translated to the few that we use.

    ssl_mode                    disabled, preferred, required, verify_ca or verify_identity
    ssl_ca, ssl_cert, ssl_key   the paths of PEM files
    connect_timeout             whole seconds, 1 or more
    read_timeout                likewise
    write_timeout               likewise
    unix_socket                 the path of its file; it is also the host, so that `protected` applies to it

Options that are not named get the defaults of `databases/mysql`. An option that would change the server, the login or
the character set, and that Tidegate does not support, is refused by its name.
"""

# Facts about the drivers that shape this file
#  * Connector/J decodes every piece of its URL and reads `+` as a space; MariaDB Connector/J decodes nothing. Percent
#    codes are decoded here for both, as in every URL; a `+` means what it means to the driver.
#  * SQLAlchemy with PyMySQL checks certificate and host name once `ssl_ca` is there; other drivers then check less.
#    A missing check would go unnoticed: so here a CA alone means verify_identity.
#  * `ssl_verify_cert` leaves the host name alone, except in MariaDB Connector/Python, where it is checked as well.
#  * `useSSL=true` is `preferred` for Connector/J, and `verify-full` for MariaDB Connector/J.
#  * Connector/J ignores useSSL, requireSSL and verifyServerCertificate where `sslMode` is given.
#  * A Java encoding UTF-8 is utf8mb4 to the server; `charset=utf8` of the other drivers is three bytes at most.
#  https://dev.mysql.com/doc/connector-j/en/connector-j-reference-configuration-properties.html
#  https://mariadb.com/kb/en/about-mariadb-connector-j
#  https://docs.sqlalchemy.org/en/20/dialects/mysql.html#ssl-connections

from __future__ import annotations

import re
from collections.abc import Mapping

from tidegate.config.secrets import Filled, refusal
from tidegate.config.urls.url_parts import SplitUrl, UrlKind, unknown_option
from tidegate.errors import TidegateError, Unsupported
from tidegate.model.connection import is_socket

_FILES = ("ssl_ca", "ssl_cert", "ssl_key")
_TIMEOUTS = ("connect_timeout", "read_timeout", "write_timeout")
_OPTIONS = ("ssl_mode", *_FILES, *_TIMEOUTS, "unix_socket")
_FLAGS = ("ssl", "ssl_disabled", "ssl_verify_cert", "ssl_verify_identity", "ssl_check_hostname")
_JDBC_FLAGS = (
    "usessl",
    "requiressl",
    "verifyservercertificate",
    "trustservercertificate",
    "disablesslhostnameverification",
)

# Names in lower case, with `_` for `-`: MySQL's own clients write `ssl-mode`.
_URL_NAMES = {name: name for name in ("user", "password", "host", "port", *_OPTIONS, *_FLAGS)} | {
    "database": "dbname",
    "db": "dbname",
    "passwd": "password",
    "socket": "unix_socket",
    "sslmode": "ssl_mode",
    "connection_timeout": "connect_timeout",
    "charset": "charset",
    "collation": "charset",
}
_JDBC_NAMES = {name: name for name in ("user", "password", *_JDBC_FLAGS)} | {
    "sslmode": "ssl_mode",
    "serversslcert": "ssl_ca",
    "connecttimeout": "connect_timeout",
    "sockettimeout": "read_timeout",
    "localsocket": "unix_socket",
    "characterencoding": "charset",
    "charactersetresults": "charset",
    "passwordcharacterencoding": "charset",
    "connectioncollation": "charset",
}
_MODES = {
    **dict.fromkeys(("disabled", "disable", "false", "0"), "disabled"),
    **dict.fromkeys(("preferred",), "preferred"),
    **dict.fromkeys(("required", "trust"), "required"),
    **dict.fromkeys(("verify_ca",), "verify_ca"),
    **dict.fromkeys(("verify_identity", "verify_full", "true", "1"), "verify_identity"),
}
_TRUTHS = dict.fromkeys(("true", "yes", "on", "y", "t", "1"), "true")
_TRUTHS |= dict.fromkeys(("false", "no", "off", "n", "f", "0"), "false")
_LONGEST_TIMEOUT = 31_536_000
_THIS_MACHINE = ("localhost", "127.0.0.1", "[::1]")

# These tune a driver, or set what our session sets itself (time zone, sql_mode, transactions): they are ignored.
_URL_TUNING = re.compile(
    "use_unicode|binary_prefix|autocommit|compress|(allow_)?local_infile|max_allowed_packet|program_name|use_pure"
    "|buffered|raise_on_warnings|get_warnings|consume_results|pool_(name|size|reset_session|reset_connection)"
)
_JDBC_TUNING = re.compile(
    # statements, batches, caches
    "rewriteBatchedStatements|useServerPrepStmts|(cache|emulateUnsupported|useStreamLengthsIn)P(rep)?Stmts"
    "|prepStmtCache(Size|SqlLimit)|cache(CallableStmts|ResultSetMetadata|ServerConfiguration|DefaultTimeZone|Codecs)"
    "|callableStmtCacheSize|metadataCacheSize|useCursorFetch|defaultFetchSize|useBulkStmts(ForInserts)?"
    "|disablePipeline|usePipelineAuth|continueBatchOnError|allowMultiQueries|enableQueryTimeouts|dontTrackOpenResources"
    "|holdResultsOpenOverStatementClose|useLocal(Session|Transaction)State|elideSetAutoCommits|alwaysSendSetIsolation"
    "|autocommit|transactionIsolation|useAffectedRows|maintainTimeStats"
    # network, pools, new attempts
    "|useCompression|tcp.*|useReadAheadInput|useUnbufferedInput|maxAllowedPacket|blobSendChunkSize|connectionAttributes"
    "|autoReconnect(ForPools)?|maxReconnects|initialTimeout|failOverReadOnly|retriesAllDown|permitMysqlScheme"
    "|pool|poolName|(min|max)PoolSize|maxIdleTime|poolValidMinDelay|registerJmxPool|useResetConnection"
    # how values, times and names are shown
    "|serverTimezone|connectionTimeZone|timezone|useTimezone|forceConnectionTimeZoneToSession|preserveInstants"
    "|useLegacyDatetimeCode|useJDBCCompliantTimezoneShift|zeroDateTimeBehavior|tinyInt1isBit|transformedBitIsBoolean"
    "|yearIsDateType|noDatetimeStringSync|sendFractionalSeconds(ForTime)?|treat(UtilDate|MysqlDatetime)AsTimestamp"
    "|jdbcCompliantTruncation|blobsAreStrings|functionsNeverReturnBlobs|emptyStringsConvertToZero|useUnicode"
    "|null(Catalog|Database)MeansCurrent|databaseTerm|useCatalogTerm|useInformationSchema|useMysqlMetadata"
    "|useOldAliasMetadataBehavior|noAccessToProcedureBodies|getProceduresReturnsFunctions|uuidAsString"
    # logs
    "|logger|logSlowQueries|autoSlowLog|slowQueryThreshold(Millis|Nanos)|profileSQL|profilerEventHandler|traceProtocol"
    "|gatherPerfMetrics|useUsageAdvisor|dumpQueriesOnException|include.*DeadlockExceptions|maxQuerySizeToLog|paranoid"
    # what our adapter decides, or the server answers
    "|allow(Load)?LocalInfile(InPath)?|allowUrlInLocalInfile|allowPublicKeyRetrieval|createDatabaseIfNotExist",
    re.IGNORECASE,
)
_JAVA_STORES = re.compile("(clientCertificate|trustCertificate)?(key|trust)Store.*|keyPassword", re.IGNORECASE)
# Words of MySQL's drivers that libpq does not know.
_WORDS = re.compile(
    "db|database|passwd|unix_socket|socket|charset|read_timeout|write_timeout"
    "|ssl_(ca|capath|cert|key|cipher|mode|disabled|verify_cert|verify_identity|check_hostname)"
)


def word_of_mysql(parts: Mapping[str, str]) -> str:
    """Return the name or the port that shows that a `key=value` text is meant for MySQL, or an empty text."""
    port = f"port={MYSQL.port}" if parts.get("port") == str(MYSQL.port) else ""
    return next(filter(_WORDS.fullmatch, parts), port)


def _parts_of_url(url: re.Match[str], split: SplitUrl, filled: Filled) -> dict[str, str]:
    jdbc = url["scheme"].lower() if url["jdbc"] else ""
    plus_before_query, plus_in_query = {"": ("+", " "), "mysql": (" ", " "), "mariadb": ("+", "+")}[jdbc]
    settings = split.parts(filled, plus_before_query)
    if "(" in settings["host"] and not is_socket(settings["host"]):
        raise refusal("describes its host in parentheses.", f"Write {MYSQL.example}.", Unsupported)
    for name, text in split.query(filled, plus_in_query):
        option = _name_of_jdbc(name) if jdbc else _name_of_url(name)
        value = _checked(option, name, text, bool(jdbc)) if option and text else ""
        if value:
            settings[option] = value
    if (url["driver"] or "").lower() == "mariadbconnector" and settings.get("ssl_verify_cert") == "true":
        settings.setdefault("ssl_verify_identity", "true")
    settings["ssl_mode"] = settings.get("ssl_mode") or _mode(settings, jdbc)
    settings |= _socket(settings)
    names = ("user", "password", "host", "port", "dbname")
    return {name: settings[name] for name in names} | {name: settings[name] for name in _OPTIONS if settings.get(name)}


def _name_of_url(name: str) -> str:
    """Return our name of an option; empty if it is ignored. Raises Unsupported for unknown options."""
    plain = name.lower().replace("-", "_")
    if plain in _URL_NAMES or _URL_TUNING.fullmatch(plain):
        return _URL_NAMES.get(plain, "")
    raise unknown_option("option", name, f"Take it out, or use one of {', '.join(_OPTIONS)}.")


def _name_of_jdbc(name: str) -> str:
    """Return our name of a JDBC option; empty if it is ignored. MariaDB Connector/J ignores case."""
    plain = name.lower()
    if plain in _JDBC_NAMES or _JDBC_TUNING.fullmatch(plain):
        return _JDBC_NAMES.get(plain, "")
    written = f"write {MYSQL.example}?name=value"
    if _JAVA_STORES.fullmatch(plain):
        raise unknown_option("JDBC option", name, f"Export PEM files, and {written} with ssl_ca, ssl_cert and ssl_key.")
    remedy = f"Take it out, or {written} with one of {', '.join(_OPTIONS)}."
    raise unknown_option("JDBC option", name, remedy)


def _checked(option: str, name: str, text: str, jdbc: bool) -> str:
    """Return the value in our words; empty if it changes nothing. Errors show `name`."""
    if option == "charset":
        return _without_charset(name, text.lower(), jdbc)
    if option == "ssl_mode":
        mode = _MODES.get(text.lower().replace("-", "_"))
        if mode is None:
            raise _wrong(name, "none of disabled, preferred, required, verify_ca and verify_identity")
        return mode
    if option in _FLAGS + _JDBC_FLAGS:
        if text.lower() not in _TRUTHS:
            raise _wrong(name, "neither true nor false")
        return _TRUTHS[text.lower()]
    if option in _TIMEOUTS:
        return _seconds(name, text, jdbc)
    if option in _FILES and re.match(r"-----|\w{2,}:", text):
        raise _wrong(name, "not the path of a PEM file")
    return text


def _without_charset(name: str, text: str, jdbc: bool) -> str:
    if not re.fullmatch("utf8mb4(_.*)?" + ("|utf-?8|null" if jdbc else ""), text):
        happened = f"has a `{name}` other than utf8mb4, in which characters would be lost."
        raise refusal(happened, "Take it out: Tidegate uses utf8mb4.", Unsupported)
    return ""


def _seconds(name: str, text: str, jdbc: bool) -> str:
    """Return whole seconds, rounded up from JDBC's milliseconds; empty for zero, which means no limit."""
    seconds = -1
    if re.fullmatch("[0-9]{1,12}", text):
        seconds = -(-int(text) // 1000) if jdbc else int(text)
    if not 0 <= seconds <= _LONGEST_TIMEOUT:
        unit = "milliseconds" if jdbc else "seconds"
        raise _wrong(name, f"not a whole number of {unit}, one year at most")
    return str(seconds) if seconds else ""


def _wrong(name: str, what: str) -> TidegateError:
    return refusal(f"has a `{name}` that is {what}.", "Correct the value, or take it out.")


def _mode(settings: Mapping[str, str], jdbc: str) -> str:
    """Return the `ssl_mode` that the drivers' older flags mean; empty if no flag is about encryption."""
    mode = _mode_of_jdbc_flags(settings, jdbc) if jdbc else _mode_of_flags(settings)
    if mode or not any(name in settings for name in _FILES):
        return mode
    # A CA is named in order to be checked. A client certificate needs TLS.
    if "ssl_ca" not in settings or settings.get("ssl_verify_cert") == "false":
        return "required"
    lenient = "false" in (settings.get("ssl_check_hostname"), settings.get("ssl_verify_identity"))
    return "verify_ca" if lenient else "verify_identity"


def _mode_of_flags(settings: Mapping[str, str]) -> str:
    is_on = {name: settings.get(name) == "true" for name in _FLAGS}
    if is_on["ssl_disabled"]:
        return "disabled"
    if is_on["ssl_verify_identity"] or is_on["ssl_check_hostname"]:
        return "verify_identity"
    if is_on["ssl_verify_cert"]:
        return "verify_ca"
    if "ssl" in settings and "ssl_ca" not in settings:
        return "required" if is_on["ssl"] else "disabled"
    return ""


def _mode_of_jdbc_flags(settings: Mapping[str, str], jdbc: str) -> str:
    is_on = {name: settings.get(name) == "true" for name in _JDBC_FLAGS}
    if settings.get("usessl") == "false":
        return "disabled"
    if is_on["verifyservercertificate"]:
        return "verify_ca"
    if is_on["requiressl"]:
        return "required"
    if not is_on["usessl"]:
        return ""
    if jdbc == "mysql":
        return "preferred"
    if is_on["trustservercertificate"]:
        return "required"
    return "verify_ca" if is_on["disablesslhostnameverification"] else "verify_identity"


def _socket(settings: Mapping[str, str]) -> dict[str, str]:
    """Return host, port and option of a Unix socket, or nothing without one. A socket has no port."""
    host, socket = settings["host"], settings.get("unix_socket", "")
    if socket and host not in ("", socket, *_THIS_MACHINE):
        happened = "names both a host and a Unix socket."
        raise refusal(happened, f"Keep one of them: {MYSQL.example}, or mysql://user@/database?unix_socket=/path.")
    socket = socket or (host if is_socket(host) else "")
    if socket and not socket.startswith("/"):
        raise refusal("has a Unix socket that is not an absolute path.", "Write the path of its file, from `/` on.")
    return {"host": socket, "port": "", "unix_socket": socket} if socket else {}


MYSQL = UrlKind("mysql", 3306, _parts_of_url)
