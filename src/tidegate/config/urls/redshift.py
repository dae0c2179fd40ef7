"""Connection texts of Amazon Redshift: URLs of SQLAlchemy and JDBC.

    redshift://user:password@host:5439/database?iam_role=arn:aws:iam::123456789012:role/load
    jdbc:redshift://host:5439/database;UID=user;PWD=password
    jdbc:redshift:iam://host:5439/database;DbUser=loader

| option         | means                                                                          |
| -------------- | ------------------------------------------------------------------------------ |
| `iam_role`     | the role that COPY reads the bucket with; without it the cluster's default     |
| `iam`          | `true`: log in with temporary credentials of IAM (the extra `redshift`)        |
| `cluster`      | the name of the cluster, where the host does not begin with it                 |
| `workgroup`    | the name of the workgroup of Redshift Serverless, likewise                     |
| `region`       | the region, where the host does not tell it                                    |
| `profile`      | a profile of the AWS configuration of this machine                             |
| `iam_endpoint` | another address of the service that gives credentials                          |

All other options are libpq's (`sslmode`, `connect_timeout`).
"""

from __future__ import annotations

import re

from tidegate.config.secrets import Filled, refusal
from tidegate.config.urls.url_parts import SplitUrl, UrlKind, unknown_option

_OWN = ("iam", "iam_role", "cluster", "workgroup", "region", "profile", "iam_endpoint")
_LIBPQ = ("sslmode", "sslrootcert", "connect_timeout", "application_name", "tcp_user_timeout")
# https://docs.aws.amazon.com/redshift/latest/mgmt/jdbc20-configuration-options.html
_JDBC_NAMES = {
    "uid": "user",
    "user": "user",
    "dbuser": "user",
    "pwd": "password",
    "password": "password",
    "clusterid": "cluster",
    "workgroupname": "workgroup",
    "region": "region",
    "profile": "profile",
    "endpointurl": "iam_endpoint",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "applicationname": "application_name",
    "logintimeout": "connect_timeout",
    "connecttimeout": "connect_timeout",
}
_JDBC_TUNING = re.compile(
    "tcpkeepalive|tcpkeepaliveminutes|defaultrowfetchsize|blockingrowsmode|loglevel|logpath|disableisvalidquery"
    "|enablefetchringbuffer|fetchringbuffersize|sockettimeout|rewritebatchedinserts.*|compression|readonly"
)


def _parts_of_url(url: re.Match[str], split: SplitUrl, filled: Filled) -> dict[str, str]:
    parts = split.parts(filled, " " if url["driver"] else "+")
    for name, value in split.query(filled, " " if url["driver"] else "+"):
        if not url["jdbc"]:
            if name not in (*_OWN, *_LIBPQ):
                raise unknown_option("option", name, f"Known: {', '.join((*_OWN, *_LIBPQ))}.")
            parts[name] = value
        elif name.lower() == "ssl":
            # The driver checks the certificate where `ssl` is on; libpq's `require` does not.
            parts |= {"sslmode": "verify-ca"} if value.lower() in ("", "true") else {"sslmode": "prefer"}
        elif name.lower() in _JDBC_NAMES:
            parts[_JDBC_NAMES[name.lower()]] = value
        elif name.lower() in _OWN:
            parts[name.lower()] = value
        elif not _JDBC_TUNING.fullmatch(name.lower()):
            raise unknown_option("JDBC option", name, f"Take it out, or write {REDSHIFT.example}?name=value.")
    if (url["mode"] or "").lower() == "iam":
        parts["iam"] = "true"
    if parts.get("iam") not in (None, "true", "false"):
        raise refusal("has `iam` with another value than true or false.", "Write `?iam=true`.")
    return parts


def with_question_mark(rest: str) -> str:
    """Return a JDBC address with its options as a query: `/db;UID=a;PWD=b` is `/db?UID=a&PWD=b`."""
    place, separator, options = rest.partition(";")
    if not separator or "?" in place:
        return rest
    return f"{place}?{options.replace(';', '&').rstrip('&')}"


REDSHIFT = UrlKind("redshift", 5439, _parts_of_url)
