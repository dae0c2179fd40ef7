"""`${...}` in, `***` out."""

from __future__ import annotations

import html
import json
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.config.secrets import Redactor, Variables, redact
from tidegate.errors import ConfigError
from tidegate.model.connection import Connection

ENVIRON = {"NAME": "value", "EMPTY": "", "ODD": "a${NAME}b", "_x1": "low"}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("plain", "plain"),
        ("", ""),
        ("${NAME}", "value"),
        ("a${NAME}b${NAME}", "avaluebvalue"),
        ("${_x1}", "low"),
        ("${EMPTY}", ""),
        ("${EMPTY:-other}", "other"),
        ("${MISSING:-other}", "other"),
        ("${MISSING:-}", ""),
        ("${MISSING:-a:b/c@d}", "a:b/c@d"),
        ("${NAME:-other}", "value"),
        ("${ODD}", "a${NAME}b"),
        ("$${NAME}", "${NAME}"),
        ("$$${NAME}", "$${NAME}"),
        ("$NAME", "$NAME"),
        ("SELECT $$text$$", "SELECT $$text$$"),
        ("100$", "100$"),
        ("{NAME}", "{NAME}"),
    ],
)
def test_a_text_with_variables(text, expanded):
    assert Variables(ENVIRON).expand(text, "lake") == expanded


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"hunter2", "hunter2"),
        (b"hunter2\n", "hunter2"),
        (b"hunter2\r\n", "hunter2"),
        (b"hunter2\n\n", "hunter2\n"),
        (b" hunter2 ", " hunter2 "),
        (b"", ""),
        ("schlüssel".encode(), "schlüssel"),
    ],
)
def test_a_file_is_read_less_one_newline(tmp_path, content, value):
    (tmp_path / "pw").write_bytes(content)
    variables = Variables(ENVIRON, tmp_path)

    assert variables.expand(f"<${{file:{tmp_path}/pw}}>", "source") == f"<{value}>"
    assert variables.expand("<${file:pw}>", "source") == f"<{value}>"


@pytest.mark.parametrize(
    ("text", "happened", "remedy"),
    [
        (
            "a${MISSING}b",
            "`source` needs the environment variable MISSING, which is not set.",
            "Export MISSING, or write `${MISSING:-default}`. A `.env` file is not read.",
        ),
        ("${file:nowhere}", "`source` needs the file nowhere, which cannot be read: No such file", ""),
        ("${file:latin}", "`source` needs the file latin, which cannot be read: it is not UTF-8 text.", ""),
        ("${file:nul}", "`source` holds a NUL character", ""),
        ("${NAME", "`source` holds a `${` that does not name a variable or a file.", "Write `${NAME}`"),
        ("${}", "`source` holds a `${` that does not name a variable or a file.", ""),
        ("${1NAME}", "`source` holds a `${` that does not name a variable or a file.", ""),
        ("${NAME:?no}", "`source` holds a `${` that does not name a variable or a file.", ""),
        ("${NAME:-${OTHER}}", "`source` holds a `${` that does not name a variable or a file.", ""),
        ("${NA ME}", "`source` holds a `${` that does not name a variable or a file.", ""),
        ("a\x00b", "`source` holds a NUL character", "Take it out."),
    ],
)
def test_what_cannot_be_looked_up_is_named(tmp_path, text, happened, remedy):
    (tmp_path / "latin").write_bytes(b"schl\xfcssel")
    (tmp_path / "nul").write_bytes(b"a\x00b")

    with pytest.raises(ConfigError) as refusal:
        Variables(ENVIRON, tmp_path).expand(text, "source")

    assert refusal.value.happened.startswith(happened)
    assert refusal.value.safe == "Nothing was read or written."
    assert refusal.value.remedy.startswith(remedy)


def test_a_dot_env_file_is_not_read(tmp_path):
    (tmp_path / ".env").write_text("MISSING=value\n")

    with pytest.raises(ConfigError, match="MISSING, which is not set"):
        Variables({}, tmp_path).expand("${MISSING}", "source")


def test_the_real_environment_is_the_default(monkeypatch):
    monkeypatch.setenv("TIDEGATE_TEST", "value")

    assert Variables().expand("${TIDEGATE_TEST}", "source") == "value"
    assert "value" not in repr(Variables())


@pytest.mark.parametrize(
    ("secrets", "text", "redacted"),
    [
        ([], "nothing to hide", "nothing to hide"),
        (["hunter2"], "password=hunter2 for u", "password=*** for u"),
        (["hunter2"], "xhunter2x hunter2", "x***x ***"),
        (["hunter2"], "Hunter2 is another word", "Hunter2 is another word"),
        (["p@ss"], "postgresql://u:p@ss@h and u:p%40ss@h", "postgresql://u:***@h and u:***@h"),
        (["a/b+c d"], "a%2fb%2Bc%20d a/b%2Bc+d", "*** ***"),
        (["it's"], r"it's it\'s it''s it&#x27;s", "*** *** *** ***"),
        (["a\\b<c"], r"a\b<c a\\b<c a\b&lt;c", "*** *** ***"),
        (["schlüssel"], r"schlüssel schl%C3%BCssel schl\u00fcssel", "*** *** ***"),
        (["hunter", "hunter2"], "hunter2 hunter", "*** ***"),
        ([""], "an empty secret hides nothing", "an empty secret hides nothing"),
        (["a"], "a bad day, password=a", "*** bad day, password=***"),
        (["abc"], "abcd abc", "abcd ***"),
        (["abcd"], "abcde abcd", "***e ***"),
        (["a.c*"], "abcc a.c*", "abcc ***"),
    ],
)
def test_secrets_are_hidden_in_every_spelling(secrets, text, redacted):
    assert redact(text, secrets) == redacted


@given(
    secret=st.text(st.characters(exclude_categories=["Cs"]), min_size=4),
    around=st.sampled_from([("", ""), ("x", "x"), ("=", ";"), ("%3D", "%26")]),
)
def test_no_encoding_of_a_secret_gets_through(secret, around):
    spellings = [
        secret,
        quote(secret, safe=""),
        quote(secret, safe="").lower() if secret.isascii() and secret.islower() else quote(secret),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        html.escape(secret),
        secret.replace("\\", "\\\\").replace("'", "\\'"),
    ]
    before, after = around

    for spelling in spellings:
        assert redact(f"{before}{spelling}{after}", [secret]) == f"{before}***{after}"


def test_a_redactor_knows_the_secrets_of_connections():
    source = Connection("postgresql", "prod", 5432, "db", "u", "hunter2", (("sslpassword", "key pass"),))
    target = Connection("postgresql", "uat", 5432, "db", "u", "other@1")
    redactor = Redactor.of(source, target, also=["third"])

    assert redactor.redact("hunter2 key%20pass other%401 third u db") == "*** *** *** *** u db"
    assert "hunter2" not in repr(redactor)


def test_password_inside_a_public_word_is_hidden_as_a_word():
    redactor = Redactor.of(Connection("postgresql", "h", 5432, "db", "postgres", "postgres"))

    assert redactor.redact("postgresql://h: password postgres") == "postgresql://h: password ***"


def test_relative_files_start_at_the_folder():
    with pytest.raises(ConfigError, match="~/pw"):
        Variables({}, Path("/nowhere")).expand("${file:~/pw}", "source")
