"""dlt: its verified source `pg_replication`, from a slot into PostgreSQL. The source is in the folder `sources`."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import dlt


def _pipeline(job: dict[str, Any]) -> Any:
    return dlt.pipeline(
        "feed", destination=dlt.destinations.postgres(job["target"]), dataset_name="public", pipelines_dir=job["state"]
    )


def first(job: dict[str, Any]) -> dict[str, Any]:
    from pg_replication.helpers import init_replication

    snapshot = init_replication(
        slot_name=job["slot"],
        pub_name=job["publication"],
        schema_name="public",
        table_names="items",
        credentials=job["source"],
        persist_snapshots=True,
    )
    _pipeline(job).run(snapshot)
    return {}


def changes(job: dict[str, Any]) -> dict[str, Any]:
    from pg_replication import replication_resource

    _pipeline(job).run(
        replication_resource(job["slot"], job["publication"], credentials=job["source"], target_batch_size=100_000)
    )
    return {}


if __name__ == "__main__":
    os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
    job = json.loads(sys.argv[1])
    sys.path.insert(0, job["sources"])
    print(json.dumps({"first": first, "changes": changes}[job["step"]](job)))
