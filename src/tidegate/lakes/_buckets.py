"""The settings of a bucket, in the words of the libraries that write tables there."""

from __future__ import annotations

from tidegate.errors import Unsupported
from tidegate.storage.objects import Bucket

_ICEBERG = {
    "endpoint": "s3.endpoint",
    "region": "s3.region",
    "access_key_id": "s3.access-key-id",
    "secret_access_key": "s3.secret-access-key",
    "session_token": "s3.session-token",
    "server_side_encryption": "s3.server-side-encryption",
    "sse_kms_key_id": "s3.sse-kms-key-id",
}
_SPELLED = {"virtual_hosted_style_request": "s3.force-virtual-addressing"}


def iceberg_settings(bucket: Bucket) -> dict[str, str]:
    """Return the properties with which pyiceberg opens files of a bucket. Raises Unsupported."""
    _require_s3(bucket, "iceberg")
    if "root_certificate" in dict(bucket.client):
        raise Unsupported(
            f"The warehouse {bucket.url} asks for a certificate authority of its own (`ca_file`), which pyiceberg takes"
            " from the system alone.",
            "Nothing was opened.",
            "Add the certificate to the system's, or set SSL_CERT_FILE.",
        )
    words = {**_ICEBERG, **_SPELLED}
    return {words[name]: value for name, value in bucket.options if name in words}


def delta_settings(bucket: Bucket) -> dict[str, str]:
    """Return the options with which delta-rs opens a table in a bucket: its store is the one that we use."""
    _require_s3(bucket, "delta")
    words = {"server_side_encryption": "aws_server_side_encryption", "sse_kms_key_id": "aws_sse_kms_key_id"}
    options = {words.get(name, f"aws_{name}"): value for name, value in bucket.options}
    # A commit is a PUT on condition: without one, somebody else's commit could be overwritten.
    return {**options, **dict(bucket.client), "aws_conditional_put": "etag"}


def _require_s3(bucket: Bucket, kind: str) -> None:
    if not bucket.url.startswith(("s3://", "s3a://")):
        raise Unsupported(
            f"A lake of the format `{kind}` is kept in S3 or in what speaks its protocol, not at {bucket.url}.",
            "Nothing was opened.",
            "Use `format: parquet` there, or a bucket of S3.",
        )
