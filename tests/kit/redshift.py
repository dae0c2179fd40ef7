"""A double of Amazon Redshift for the tests: PostgreSQL behind a server that speaks its protocol.

No Redshift can be run outside of AWS. The double does three things, and only these are proved by it:

 * It executes COPY ... FROM a manifest by itself: files from the S3 server of the tests, Parquet by position and count,
   and refuses what the documentation says that the real COPY refuses.
 * It refuses statements that Redshift does not know (`REFUSED`, each with its source).
 * It renders the rest for PostgreSQL: names in lower case, identity columns, keys that are declared and not enforced,
   serialisable transactions whose conflicts are error 1023.

What it does not show: speed, the planner, real compression and encodings, blanks at the end of texts, lengths of texts
in bytes outside of COPY, IAM.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
from psycopg import conninfo
from psycopg import pq as libpq

USER, PASSWORD = "loader", "a password"
ROLE = "arn:aws:iam::123456789012:role/copy"
_DOCS = "https://docs.aws.amazon.com/redshift/latest/dg"
_FEATURES = f"{_DOCS}/c_unsupported-postgresql-features.html"
_TYPES = f"{_DOCS}/c_unsupported-postgresql-datatypes.html"
_FUNCTIONS = f"{_DOCS}/c_unsupported-postgresql-functions.html"
_ALTER = f"{_DOCS}/r_ALTER_TABLE.html"
_COLUMNAR = f"{_DOCS}/copy-usage_notes-copy-from-columnar.html"
_SSL, _GSS, _CANCEL = 80877103, 80877104, 80877102


@dataclass(frozen=True)
class Refused:
    """A statement that Redshift does not run. `code` is matched against the statement without texts and names."""

    code: str
    message: str
    source: str
    state: str = "0A000"
    only_in_transaction: bool = False

    def matches(self, code: str, *, in_transaction: bool) -> bool:
        is_time = in_transaction or not self.only_in_transaction
        return is_time and bool(re.search(self.code, " ".join(code.split()), re.IGNORECASE))


REFUSED = (
    Refused(r"\bFOR (UPDATE|SHARE)\b", 'syntax error at or near "FOR"', f"{_DOCS}/r_SELECT_synopsis.html", "42601"),
    Refused(r"\bON CONFLICT\b", 'syntax error at or near "ON"', f"{_DOCS}/r_INSERT_30.html", "42601"),
    Refused(r"\bRETURNING\b", 'syntax error at or near "RETURNING"', f"{_DOCS}/r_INSERT_30.html", "42601"),
    Refused(r"\bSAVEPOINT\b", "SAVEPOINT is not supported", f"{_DOCS}/c_unsupported-postgresql-features.html"),
    Refused(r"\bpg_(try_)?advisory_", "Specified types or functions not supported on Redshift tables", _FUNCTIONS),
    Refused(
        r"\b(hashtextextended|unnest|array|array_agg|string_agg|to_regclass)\s*\(",
        "function is not supported",
        _FUNCTIONS,
    ),
    Refused(
        r"\bLATERAL\b|\bORDINALITY\b", 'syntax error at or near "LATERAL"', f"{_DOCS}/r_FROM_clause30.html", "42601"
    ),
    Refused(r"^\s*CREATE (UNIQUE )?INDEX\b", "SQL command not supported on Redshift tables", _FEATURES),
    Refused(r"^\s*DO\b", 'syntax error at or near "DO"', _FEATURES, "42601"),
    Refused(
        r"^\s*COPY\b.*\bFROM STDIN\b", "COPY FROM STDIN is not supported", f"{_DOCS}/c_redshift-and-postgres-sql.html"
    ),
    Refused(r"^\s*DELETE FROM\s+\S+\s+AS\b", 'syntax error at or near "AS"', f"{_DOCS}/r_DELETE.html", "42601"),
    Refused(r"^\s*(SET|START|BEGIN).*\bREPEATABLE READ\b", "isolation level is not supported", f"{_DOCS}/r_BEGIN.html"),
    Refused(
        r"^\s*ALTER TABLE .*\bALTER COLUMN\b.*\bTYPE\b",
        "ALTER TABLE ALTER COLUMN cannot run inside a transaction block",
        _ALTER,
        "25001",
        only_in_transaction=True,
    ),
    Refused(
        r"^\s*ALTER TABLE .*\bTYPE\s+(?!character varying|varchar)",
        "cannot alter the type of this column: only VARCHAR can be altered",
        _ALTER,
    ),
    Refused(
        r"^\s*ALTER TABLE .*\bADD COLUMN\b.*\b(IDENTITY|PRIMARY KEY|UNIQUE)\b", "ADD COLUMN does not support it", _ALTER
    ),
    Refused(r"\bGENERATED ALWAYS\b", 'syntax error at or near "ALWAYS"', f"{_DOCS}/r_CREATE_TABLE_NEW.html", "42601"),
    Refused(
        r"\bpg_temp\b", "temporary tables cannot specify a schema name", f"{_DOCS}/r_CREATE_TABLE_NEW.html", "42P16"
    ),
    Refused(
        r"\b(bytea|jsonb?|uuid|xml|hstore|serial|bigserial|inet|cidr|tsvector|bit varying)\b(?!\s*\.)",
        "type is not supported",
        _TYPES,
    ),
    Refused(
        r"\bAS text\b", "the double refuses it: TEXT is VARCHAR(256) and would cut", f"{_DOCS}/r_Character_types.html"
    ),
    Refused(
        r"\bnumeric\((39|[4-9]\d|\d{3,})\b",
        "NUMERIC precision must be between 1 and 38",
        f"{_DOCS}/r_Numeric_types201.html",
    ),
    Refused(
        r"\b(character varying|varchar)\((6553[6-9]|655[4-9]\d|65[6-9]\d\d|6[6-9]\d{3}|[7-9]\d{4}|\d{6,})\)",
        "length for type varchar cannot exceed 65535",
        f"{_DOCS}/r_Character_types.html",
        "42601",
    ),
    Refused(r"\bMERGE\b.*\bWHEN MATCHED AND\b", 'syntax error at or near "AND"', f"{_DOCS}/r_MERGE.html", "42601"),
    Refused(
        r"\bMERGE\b.*\bWHEN MATCHED\b.*\bWHEN MATCHED\b",
        "MERGE takes one WHEN MATCHED",
        f"{_DOCS}/r_MERGE.html",
        "42601",
    ),
)
"""What Redshift refuses, and where its documentation says so."""

# What COPY takes for a column of a Parquet file, by Arrow's name of the type. Times of day are not among them.
_COPIED = {
    "int16": ("smallint", "integer", "bigint"),
    "int32": ("integer", "bigint"),
    "int64": ("bigint",),
    "bool": ("boolean",),
    "float": ("real", "double precision"),
    "double": ("double precision",),
    "date32[day]": ("date",),
    "string": ("character varying", "character"),
    "binary": ("binary varying",),
}
_ENCODINGS = {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"}
_COMPRESSIONS = {"UNCOMPRESSED", "SNAPPY", "GZIP"}

_PREPARE = """
CREATE SCHEMA IF NOT EXISTS redshift_double;
CREATE SEQUENCE IF NOT EXISTS redshift_double.numbers;
CREATE TABLE IF NOT EXISTS redshift_double.keys (oid serial, conrelid oid, contype text, definition text);
CREATE OR REPLACE FUNCTION public."identity"(number bigint) RETURNS bigint LANGUAGE sql AS 'SELECT number';
CREATE OR REPLACE FUNCTION redshift_double.definition(wanted int) RETURNS text LANGUAGE sql
  AS 'SELECT definition FROM redshift_double.keys WHERE oid = wanted';
DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_type WHERE typname = 'binary varying') THEN
    CREATE DOMAIN public."binary varying" AS bytea;
  END IF;
END $$;
GRANT USAGE ON SCHEMA redshift_double TO PUBLIC
"""
_TOKENS = re.compile(r"""('(?:[^']|'')*')|("(?:[^"]|"")*")|(--[^\n]*)""")
_COPY = re.compile(
    r"""^\s*COPY\s+(?P<table>\S+)\s+FROM\s+(?P<manifest>\S+)\s+IAM_ROLE\s+(?P<role>default|\S+)
        \s+FORMAT\s+AS\s+PARQUET\s+MANIFEST\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
_TABLE_KEY = re.compile(r",\s*((?:PRIMARY KEY|UNIQUE)\s*\([^()]*\))", re.IGNORECASE)
_RENDERED = (
    (
        re.compile(r"\s+DISTSTYLE\s+\w+|\s+DISTKEY\s*\([^()]*\)|\s+(COMPOUND\s+|INTERLEAVED\s+)?SORTKEY\s*\([^()]*\)"),
        "",
    ),
    (
        re.compile(r"\bIDENTITY\s*\(\s*1\s*,\s*1\s*\)"),
        "DEFAULT public.\"identity\"(nextval('redshift_double.numbers'))",
    ),
    (re.compile(r"\bbinary varying\(\d+\)"), 'public."binary varying"'),
    (re.compile(r"\b(GETDATE\(\)|SYSDATE\b)"), "(clock_timestamp() AT TIME ZONE 'UTC')"),
    (re.compile(r"\bpg_constraint\b"), "redshift_double.keys"),
    (re.compile(r"\bPG_GET_CONSTRAINTDEF\b"), "redshift_double.definition"),
    (re.compile(r"\bSET enable_case_sensitive_identifier\b"), "SET redshift.enable_case_sensitive_identifier"),
)


class Answer(Exception):
    """An error that the double answers."""

    def __init__(self, state: str, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.state, self.message, self.detail = state, message, detail


@dataclass
class Cut:
    """Where a connection is lost: at a statement that begins with `word`, before or after the server has it."""

    word: str
    purpose: str = "load"
    reaches_server: bool = True


@dataclass
class RedshiftDouble:
    """A running double in front of one database of PostgreSQL.

    Args:
        backend: the URL of the database.
        s3: the settings of the S3 server from which COPY reads.
    """

    backend: str
    s3: Mapping[str, str]
    statements: list[str] = field(default_factory=list)
    """What was sent, in order, without settings."""
    conversations: list[list[str]] = field(default_factory=list)
    """The same by connection."""
    violations: list[str] = field(default_factory=list)
    """For each word, the next statement that begins with it ends with error 1023."""
    cuts: list[Cut] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)
    """The addresses of the files that COPY read."""

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        database = conninfo.conninfo_to_dict(self.backend)["dbname"]
        port = self._listener.getsockname()[1]
        return f"redshift://{USER}:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{port}/{database}?iam_role={ROLE}"

    def __enter__(self) -> RedshiftDouble:
        link = connect(self.backend)
        answer = link.exec_(_PREPARE.encode())
        assert answer.status == libpq.ExecStatus.COMMAND_OK, answer.error_message
        link.finish()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._open.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError), contextlib.closing(client):
            _Served(self, client).run()

    def take(self, kind: str, text: str, purpose: str = "") -> Any:
        """Return what is to happen at this statement, once."""
        with self._lock:
            if kind == "violation":
                found: Any = next((word for word in self.violations if text.startswith(word)), None)
                if found is not None:
                    self.violations.remove(found)
                return found
            cut = next((c for c in self.cuts if text.startswith(c.word) and f"tidegate {c.purpose}" in purpose), None)
            if cut is not None:
                self.cuts.remove(cut)
            return cut


def connect(url: str) -> Any:
    link = libpq.PGconn.connect(url.encode())
    if link.status != libpq.ConnStatus.OK:
        raise ConnectionError(link.error_message.decode())
    return link


class _Served:
    """One connection of a client, with one connection to PostgreSQL behind it."""

    def __init__(self, double: RedshiftDouble, client: socket.socket) -> None:
        self.double, self.client = double, client
        self.status = b"I"
        self.purpose = ""
        self.said: list[str] = []
        double.conversations.append(self.said)

    def run(self) -> None:
        parameters = self._startup()
        if parameters is None:
            return
        self.purpose = parameters.get("application_name", "")
        self._send(b"R", struct.pack("!i", 3))
        kind, body = self._message()
        if kind != b"p" or body.rstrip(b"\0").decode() != PASSWORD or parameters.get("user") != USER:
            self._error(Answer("28000", f'password authentication failed for user "{parameters.get("user")}"'))
            return
        self.link = connect(self.double.backend)
        self.link.exec_(b"SET default_transaction_isolation = 'serializable'")
        self.backend = socket.socket(fileno=os.dup(self.link.socket))
        self.backend.setblocking(True)
        self._send(b"R", struct.pack("!i", 0))
        for name, value in {"server_version": "8.0.2", "client_encoding": "UNICODE"}.items():
            self._send(b"S", name.encode() + b"\0" + value.encode() + b"\0")
        self._ready()
        try:
            while True:
                kind, body = self._message()
                if kind == b"X":
                    return
                if kind != b"Q":
                    self._error(Answer("0A000", "the double takes simple queries only"))
                    self._ready()
                    continue
                self._statement(body.rstrip(b"\0").decode())
        finally:
            self.backend.close()
            self.link.finish()

    def _startup(self) -> dict[str, str] | None:
        while True:
            size, code = struct.unpack("!ii", self._exactly(8))
            rest = self._exactly(size - 8)
            if code in (_SSL, _GSS):
                self.client.sendall(b"N")
            elif code == _CANCEL:
                return None
            else:
                texts = rest.decode().split("\0")
                return dict(zip(texts[::2], texts[1::2], strict=False))

    def _statement(self, text: str) -> None:
        if not text.startswith(("SET ", "SELECT 1 FROM pg_class")):
            self.double.statements.append(text)
            self.said.append(text)
        cut = self.double.take("cut", text, self.purpose)
        if cut is not None:
            if cut.reaches_server:
                self.link.exec_(text.encode())
            raise EOFError
        try:
            if self.double.take("violation", text):
                self._abort()
                raise _violation()
            code, texts = folded(text)
            self._refuse(code, text)
            copy = _COPY.match(code)
            if copy:
                parts = {name: _restored(value, texts) for name, value in copy.groupdict().items()}
                rows = self._copy(parts["table"], parts["manifest"].strip("'"), parts["role"].strip("'"))
                self._send(b"C", b"COPY %d\0" % rows)
                self._ready()
                return
            if re.match(r"\s*COPY\b", code):
                raise Answer("42601", 'syntax error at or near "COPY"')
            key = _TABLE_KEY.findall(code) if re.match(r"\s*CREATE (TEMP )?TABLE\b", code) else []
            for pattern, replacement in ((_TABLE_KEY, ""), *_RENDERED) if key else _RENDERED:
                code = pattern.sub(replacement, code)
            namespace = "(SELECT CAST(system_identifier AS varchar) FROM pg_control_system())"
            code = re.sub(r"\bCURRENT_NAMESPACE\b", namespace, code)
            if self._relay(_restored(code, texts)) and key:
                self._declare(_restored(re.search(r"TABLE (?:IF NOT EXISTS )?(\S+)", code)[1], texts), key, texts)  # type: ignore[index]
        except Answer as problem:
            if self.status == b"T":
                self._abort()
            self._error(problem)
        self._ready()

    def _refuse(self, code: str, text: str) -> None:
        for refused in REFUSED:
            if refused.matches(code, in_transaction=self.status != b"I"):
                raise Answer(refused.state, refused.message, refused.source)
        for name in re.findall(r'"((?:[^"]|"")*)"', text):
            if len(name.encode()) > 127:
                raise Answer("42622", "identifier is too long", f"{_DOCS}/r_names.html")

    def _abort(self) -> None:
        """Leave the transaction as failed, as after an error of the server."""
        if self.status == b"T":
            self.link.exec_(b"SELECT 1/0")
            self.status = b"E"

    def _declare(self, table: str, keys: list[str], texts: list[str]) -> None:
        for key in keys:
            kind = b"p" if key.upper().startswith("PRIMARY") else b"u"
            self.link.exec_params(
                b"INSERT INTO redshift_double.keys (conrelid, contype, definition)"
                b" VALUES (CAST($1 AS regclass), CAST($2 AS text), CAST($3 AS text))",
                [table.encode(), kind, _restored(key, texts).encode()],
            )

    def _relay(self, text: str) -> bool:
        """Let PostgreSQL run a statement, and pass its answer on. Return whether it went well."""
        body = text.encode() + b"\0"
        self.backend.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)
        went_well, pieces = True, bytearray()
        while True:
            header = _exactly(self.backend, 5)
            [size] = struct.unpack("!i", header[1:])
            content = _exactly(self.backend, size - 4)
            kind = header[:1]
            if kind == b"Z":
                self.status = content
                self.client.sendall(pieces)
                return went_well
            if kind == b"E":
                went_well = False
                content = _as_redshift(content)
            if kind not in (b"S", b"N"):
                pieces += kind + struct.pack("!i", len(content) + 4) + content
            if len(pieces) > 1 << 20:
                self.client.sendall(pieces)
                pieces = bytearray()

    # COPY

    def _copy(self, table: str, manifest: str, role: str) -> int:
        if role not in (ROLE, "default"):
            raise Answer(
                "42501", "Not authorized to get credentials of role", f"{_DOCS}/copy-parameters-authorization.html"
            )
        columns = self._columns(table)
        rows = 0
        for entry in json.loads(self._object(manifest))["entries"]:
            rows += self._copy_file(table, columns, entry)
        self.status = b"T" if self.link.transaction_status == libpq.TransactionStatus.INTRANS else self.status
        return rows

    def _columns(self, table: str) -> list[tuple[str, str]]:
        answer = self.link.exec_params(
            b"SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
            b" WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            [table.encode()],
        )
        found = [
            (answer.get_value(row, 0).decode(), answer.get_value(row, 1).decode()) for row in range(answer.ntuples)
        ]
        if not found:
            raise Answer("42P01", f"Cannot COPY into nonexistent table {table}")
        return found

    def _copy_file(self, table: str, columns: list[tuple[str, str]], entry: Mapping[str, Any]) -> int:
        url = entry["url"]
        length = (entry.get("meta") or {}).get("content_length")
        if length is None:
            raise Answer("XX000", "S3 Query Exception (Fetch)", "content_length is required for Parquet")
        content = self._object(url)
        if length != len(content):
            raise Answer("XX000", "Spectrum Scan Error", f"the manifest says {length} bytes of {url}")
        self.double.copied.append(url)
        file = pq.ParquetFile(io.BytesIO(content))
        _require_known(file.metadata, url)
        schema = file.schema_arrow
        if len(schema) != len(columns):
            raise Answer("XX000", "Spectrum Scan Error", f"file has {len(schema)} columns, table has {len(columns)}")
        for held, (name, declared) in zip(schema, columns, strict=True):
            _require_type(held, name, declared, url)
        rows = file.read()
        for cells, (name, declared) in zip(rows.columns, columns, strict=True):
            _require_length(cells, name, declared)
        self._put(table, rows)
        return int(rows.num_rows)

    def _put(self, table: str, rows: pa.Table) -> None:
        columns = []
        for cells in rows.columns:
            kind = cells.type
            if pa.types.is_binary(kind):
                hexed = [None if value is None else "\\x" + value.hex() for value in cells.to_pylist()]
                cells = pa.chunked_array([pa.array(hexed, pa.string())])
            elif pa.types.is_timestamp(kind):
                cells = cells.cast(pa.timestamp("us"))
            columns.append(cells)
        named = pa.table(columns, names=[f"c{number}" for number in range(len(columns))])
        sink = io.BytesIO()
        options = pcsv.WriteOptions(include_header=False, quoting_style="all_valid")
        pcsv.write_csv(named, sink, options)
        answer = self.link.exec_(f"COPY {table} FROM STDIN (FORMAT csv)".encode())
        if answer.status != libpq.ExecStatus.COPY_IN:
            raise Answer("XX000", answer.error_message.decode())
        content = memoryview(sink.getvalue())
        for start in range(0, len(content), 1 << 20):
            self.link.put_copy_data(content[start : start + (1 << 20)])
        self.link.put_copy_end()
        while (answer := self.link.get_result()) is not None:
            if answer.status != libpq.ExecStatus.COMMAND_OK:
                message = answer.error_message.decode()
                self.link.get_result()
                raise Answer("XX000", "Load into table failed. Check the 'stl_load_errors' system table.", message)

    def _object(self, url: str) -> bytes:
        import obstore
        from obstore.store import from_url

        bucket, _, path = url.removeprefix("s3://").partition("/")
        options: Any = {"allow_http": True}
        try:
            store = from_url(f"s3://{bucket}", config=dict(self.double.s3), client_options=options)
            return bytes(obstore.get(store, path).bytes())
        except FileNotFoundError:
            raise Answer("XX000", "The specified S3 prefix does not exist", url) from None

    # Messages

    def _message(self) -> tuple[bytes, bytes]:
        header = self._exactly(5)
        [size] = struct.unpack("!i", header[1:])
        return header[:1], self._exactly(size - 4)

    def _exactly(self, size: int) -> bytes:
        return _exactly(self.client, size)

    def _send(self, kind: bytes, body: bytes) -> None:
        self.client.sendall(kind + struct.pack("!i", len(body) + 4) + body)

    def _ready(self) -> None:
        self._send(b"Z", self.status)

    def _error(self, problem: Answer) -> None:
        self._send(b"E", _fields(problem))


def _exactly(link: socket.socket, size: int) -> bytes:
    pieces = bytearray()
    while len(pieces) < size:
        piece = link.recv(size - len(pieces))
        if not piece:
            raise EOFError
        pieces += piece
    return bytes(pieces)


def _fields(problem: Answer) -> bytes:
    given = {"S": "ERROR", "C": problem.state, "M": problem.message, "D": problem.detail}
    return b"".join(name.encode() + text.encode() + b"\0" for name, text in given.items() if text) + b"\0"


def _violation() -> Answer:
    return Answer("XX000", "1023", "Serializable isolation violation on table - 100234, transactions forming the cycle")


def _as_redshift(content: bytes) -> bytes:
    """Return PostgreSQL's error; a conflict of serialisable transactions as error 1023."""
    fields = {part[:1]: part[1:] for part in content.split(b"\0") if part}
    return _fields(_violation()) if fields.get(b"C") == b"40001" else content


def folded(text: str) -> tuple[str, list[str]]:
    """Return the statement with a number in place of each text and name, and these. Names are folded."""
    texts: list[str] = []

    def numbered(found: re.Match[str]) -> str:
        kept = found[0].lower() if found[2] else "" if found[3] else found[0]
        if found[1] and "\\" in found[1]:
            raise Answer("42601", "the double refuses a backslash in a text: its meaning depends on settings")
        texts.append(kept)
        return f"\x01{len(texts) - 1}\x02"

    return _TOKENS.sub(numbered, text), texts


def _restored(code: str, texts: list[str]) -> str:
    return re.sub("\x01([0-9]+)\x02", lambda found: texts[int(found[1])], code)


def _require_known(metadata: pq.FileMetaData, url: str) -> None:
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.compression not in _COMPRESSIONS or not _ENCODINGS.issuperset(chunk.encodings):
                raise Answer("XX000", "Spectrum Scan Error", f"unknown encoding or compression in {url}")


def _require_type(held: pa.Field, name: str, declared: str, url: str) -> None:
    base = re.sub(r"\(.*\)", "", declared).strip('"')
    kind = held.type
    if pa.types.is_decimal(kind):
        fits = declared == f"numeric({kind.precision},{kind.scale})"
    elif pa.types.is_timestamp(kind):
        fits = base == "timestamp without time zone"
    else:
        fits = base in _COPIED.get(str(kind), ())
    if not fits:
        detail = f"File '{url}' has an incompatible Parquet schema for column '{held.name}'. Column type: {declared}"
        raise Answer("XX000", "Spectrum Scan Error", f"{detail} ({name}), Parquet schema: {kind}")


def _require_length(cells: pa.ChunkedArray, name: str, declared: str) -> None:
    size = re.fullmatch(r"character varying\((\d+)\)", declared)
    measure: Callable[[Any], Any] = pc.binary_length  # type: ignore[attr-defined]
    if size and len(cells) and (pc.max(measure(cells)).as_py() or 0) > int(size[1]):  # type: ignore[attr-defined]
        detail = f"The length of the data column {name} is longer than the length defined in the table."
        raise Answer("XX000", "Spectrum Scan Error", detail)
