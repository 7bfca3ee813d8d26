"""B1's peer: ``distributed.LocalCluster`` in a process that has imported it already.

Reads one JSON order a line, ``{"workers": 4, "certificate": {"cert": …, "key": …}}`` (null:
without TLS); answers one line with the milliseconds from the call until the scheduler knows all
workers, and the CPU seconds of it and its children.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import distributed
from distributed.security import Security


def cpu_seconds() -> float:
    """Of this process and of children that have ended."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def measure(workers: int, certificate: dict[str, str] | None) -> dict[str, Any]:
    """One cluster, raised and closed."""
    cpu = cpu_seconds()
    begun = time.perf_counter()
    # Made before: Security.temporary would need the package cryptography and some 10 ms.
    security = (
        None
        if certificate is None
        else Security(
            require_encryption=True,
            tls_ca_file=certificate["cert"],
            tls_client_cert=certificate["cert"],
            tls_client_key=certificate["key"],
            tls_scheduler_cert=certificate["cert"],
            tls_scheduler_key=certificate["key"],
            tls_worker_cert=certificate["cert"],
            tls_worker_key=certificate["key"],
        )
    )
    cluster = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        memory_limit=0,
        dashboard_address="127.0.0.1:0",
        protocol="tcp://" if certificate is None else "tls://",
        security=security,
    )
    try:
        while len(cluster.scheduler.workers) < workers:
            time.sleep(0.002)
        elapsed = time.perf_counter() - begun
    finally:
        cluster.close()
    return {"ms": elapsed * 1000, "cpuSeconds": cpu_seconds() - cpu}


def main() -> None:
    """Serve orders until the input ends."""
    with tempfile.TemporaryDirectory() as folder:
        import dask

        dask.config.set({"temporary-directory": str(Path(folder))})
        print(json.dumps({"ready": distributed.__version__}), flush=True)
        for line in sys.stdin:
            order = json.loads(line)
            print(json.dumps(measure(order["workers"], order["certificate"])), flush=True)


if __name__ == "__main__":
    main()
