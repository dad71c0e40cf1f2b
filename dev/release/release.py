"""What the release workflow asks of the repository. Usage: release.py notes TAG | publish

notes    what CHANGELOG.md says of this version; the tag has to be v and the version in Cargo.toml
publish  to crates.io, those packages that are not there in this version; needs CARGO_REGISTRY_TOKEN
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def version() -> str:
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def notes(tag: str, version: str, changelog: str) -> str:
    """Returns the text between `## [version] - YYYY-MM-DD` and the next heading of that level, or the links at the end."""
    if tag != f"v{version}":
        raise SystemExit(f"tag {tag} is not the version in Cargo.toml: v{version}")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n"
    found = re.search(heading + r"(.*?)(?=^## |^\[[^\]\n]+\]: |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if not found or not found[1].strip():
        raise SystemExit(f"CHANGELOG.md has no section [{version}] with a date and entries")
    return found[1].strip()


def packages() -> dict[str, Path]:
    """Returns the folders of the packages that are published."""
    command = "cargo metadata --locked --no-deps --format-version 1".split()
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300).stdout
    return {it["name"]: Path(it["manifest_path"]).parent for it in json.loads(output)["packages"] if it["publish"] != []}


def is_published(name: str) -> bool:
    command = f"cargo info --quiet --registry crates-io {name}@{version()}".split()
    with tempfile.TemporaryDirectory() as elsewhere:  # where no package of a workspace can be meant
        answer = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, timeout=300)
    if answer.returncode and "could not find" not in answer.stderr:
        raise SystemExit(answer.stderr)
    return answer.returncode == 0


def publish() -> int:
    missing = [word for name in packages() if not is_published(name) for word in ("--package", name)]
    # CI has compiled the packages. Here, the build script of any dependency could read the token.
    command = ["cargo", "publish", "--locked", "--no-verify", *missing]
    return subprocess.run(command, cwd=ROOT).returncode if missing else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["notes", tag]:
            print(notes(tag, version(), (ROOT / "CHANGELOG.md").read_text()))
        case ["publish"]:
            sys.exit(publish())
        case _:
            sys.exit(__doc__)
