"""Temporary logins by IAM: for a provisioned cluster, or for a workgroup of Redshift Serverless.

The package boto3 (the extra `redshift`) asks AWS, with the credentials of the environment, a profile or the machine. A
login is good for 15 minutes at least; it is asked for anew shortly before it ends.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import time

from tidegate.errors import ConfigError, Unreachable, Unsupported
from tidegate.model.connection import Connection

_SECONDS = 900
_KEPT_SECONDS = 600
_HOST = re.compile(
    r"(?P<name>[\w-]+)\.(?P<account>[\w-]+)\.(?P<region>[\w-]+)\.redshift(?P<serverless>-serverless)?\.amazonaws\.com"
)


def temporary_login(place: Connection) -> tuple[str, str]:
    """Return user and password for the next minutes."""
    return _login(place, int(time.monotonic() // _KEPT_SECONDS))


@functools.lru_cache(maxsize=16)
def _login(place: Connection, period: int) -> tuple[str, str]:
    if importlib.util.find_spec("boto3") is None:
        raise Unsupported(
            f"{place.display}: `iam=true` needs the package boto3, which is not installed.",
            "Nothing was opened.",
            "Install it: `pip install 'tidegate[redshift]'`, also on the machines of a cluster.",
        )
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError

    options, host = dict(place.options), _HOST.fullmatch(place.host)
    in_host = host.groupdict() if host else {}
    region = options.get("region") or in_host.get("region")
    workgroup = options.get("workgroup") or (in_host.get("name") if in_host.get("serverless") else None)
    cluster = options.get("cluster") or (in_host.get("name") if not in_host.get("serverless") else None)
    if not workgroup and not cluster:
        raise ConfigError(
            f"{place.display}: `iam=true` needs the name of the cluster or of the workgroup.",
            "Nothing was opened.",
            "Add `cluster=...` or `workgroup=...`, and `region=...`, to the URL.",
        )
    session = boto3.Session(profile_name=options.get("profile") or None, region_name=region)
    endpoint = options.get("iam_endpoint") or None
    try:
        if workgroup:
            client = session.client("redshift-serverless", endpoint_url=endpoint)
            answer = client.get_credentials(workgroupName=workgroup, dbName=place.database, durationSeconds=_SECONDS)
            return str(answer["dbUser"]), str(answer["dbPassword"])
        client = session.client("redshift", endpoint_url=endpoint)
        if not place.user:
            answer = client.get_cluster_credentials_with_iam(
                ClusterIdentifier=cluster, DbName=place.database, DurationSeconds=_SECONDS
            )
        else:
            answer = client.get_cluster_credentials(
                ClusterIdentifier=cluster,
                DbUser=place.user,
                DbName=place.database,
                DurationSeconds=_SECONDS,
                AutoCreate=False,
            )
        return str(answer["DbUser"]), str(answer["DbPassword"])
    except (BotoCoreError, ClientError) as problem:
        raise Unreachable(
            f"No login to {place.display} by IAM: {_first_line(problem)}.",
            "Nothing was read or written.",
            "Check the credentials of this process, the region, and the right redshift:GetClusterCredentials or"
            " redshift-serverless:GetCredentials.",
        ) from None


def _first_line(problem: Exception) -> str:
    return str(problem).strip().split("\n")[0].rstrip(".")
