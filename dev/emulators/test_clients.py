"""Tests that clients of SQS which others wrote work with the local SQS in another network namespace, by its name."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ISOLATED = ["unshare", "--map-root-user", "--net", "--mount"]


def test_sqs_consumer_and_celery_work_with_the_local_sqs_by_name(request, tmp_path):
    if subprocess.run([*ISOLATED, "ip", "link", "set", "lo", "up"]).returncode != 0:
        pytest.skip("this system has no `ip`, or lets no user create namespaces")
    binaries, celery, node = (request.config.getoption(f"--{name}").absolute() for name in ("binaries", "clients", "node"))
    script = HERE.parent.parent / "crates/cli/tests/it/two_namespaces.sh"
    clients = [sys.executable, HERE / "clients.py", celery / "celery", node]
    subprocess.run([*ISOLATED, "sh", script, binaries / "redrive", tmp_path, *clients], cwd=tmp_path, check=True)
