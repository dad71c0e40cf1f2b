"""Checks the licences of all dependencies against the list in deny.toml. Usage: licenses.py

cargo-deny reads the same file; this is the part of it that needs nothing installed.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def allowed(expression: str, licenses: set[str]) -> bool:
    """Whether an SPDX expression can be satisfied; the old slash means OR."""
    tokens = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))
    python = {"OR": "or", "AND": "and", "(": "(", ")": ")"}
    words = []
    for position, token in enumerate(tokens):
        if token == "WITH" or (position > 0 and tokens[position - 1] == "WITH"):
            continue  # an exception only adds permissions
        words.append(python.get(token, str(token in licenses)))
    return bool(eval(" ".join(words), {"__builtins__": {}}))


def main() -> int:
    policy = tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]
    exceptions = {exception["crate"]: exception["allow"] for exception in policy.get("exceptions", [])}
    command = ["cargo", "metadata", "--format-version", "1", "--all-features", "--locked"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300).stdout
    packages = json.loads(output)["packages"]
    refused = [
        f"{package['name']} {package['version']}: {package['license'] or 'no licence named'}"
        for package in packages
        if not allowed(package["license"] or "none", {*policy["allow"], *exceptions.get(package["name"], [])})
    ]
    for line in refused:
        print(f"licence not in deny.toml: {line}", file=sys.stderr)
    print(f"licences: {len(packages)} packages, {len(refused)} refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
