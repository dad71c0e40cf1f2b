"""What the release workflow asks of the repository. Usage: release.py flip | check TAG | notes TAG | publish

flip     before the first release: pages, README and the project template install from registries from then on
check    the tag is v and the version in Cargo.toml, and CHANGELOG.md has a section for it
notes    that section, without its heading
publish  to crates.io, those packages that are not there in this version; needs CARGO_REGISTRY_TOKEN
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def version() -> str:
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def section(changelog: str, version: str) -> str | None:
    """What stands between `## [version] - YYYY-MM-DD` and the next heading of that level, or the links at the end."""
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n"
    found = re.search(heading + r"(.*?)(?=^## |^\[[^\]\n]+\]: |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found and found[1].strip() or None


def check(tag: str, version: str, changelog: str) -> str:
    if tag != f"v{version}":
        raise SystemExit(f"tag {tag} is not the version in Cargo.toml: v{version}")
    if not (notes := section(changelog, version)):
        raise SystemExit(f"CHANGELOG.md has no section [{version}] with a date and entries")
    return notes


def flip(root: Path) -> None:
    """Pages include how to install a release, and depend on published packages in place of a clone."""
    released = root / "docs/install-released.md"
    if not released.exists():
        raise SystemExit("docs/install-released.md is gone: this was done before")
    released.replace(root / "docs/install.md")
    number = ".".join(version().split(".")[:2])
    for path in [root / "README.md", *root.glob("docs/*.md"), root / "templates/consumer/CargoLambda.toml"]:
        # In the template's help the quotes are escaped.
        path.write_text(re.sub(r'\{ path = (\\?")\.\./redrive[^"]*" \}', rf"\g<1>{number}\1", path.read_text()))
    print("README.md still says that nothing is released: change its status")


def metadata() -> list[dict]:
    command = ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300).stdout
    return json.loads(output)["packages"]


def packages() -> list[str]:
    return sorted(it["name"] for it in metadata() if it["publish"] != [])


def is_published(name: str, version: str) -> bool:
    command = f"cargo info --quiet --registry crates-io {name}@{version}".split()
    with tempfile.TemporaryDirectory() as elsewhere:  # where no package of a workspace can be meant
        answer = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, timeout=300)
    if answer.returncode and "could not find" not in answer.stderr:
        raise SystemExit(answer.stderr)
    return answer.returncode == 0


def publish() -> int:
    there = {name: is_published(name, version()) for name in packages()}
    for name in (name for name, is_there in there.items() if is_there):
        print(f"skipped: {name} {version()} is on crates.io")
    missing = [word for name, is_there in there.items() if not is_there for word in ("--package", name)]
    if not missing:
        return 0
    # `make package` has compiled them. Here the build script of any dependency could read the token.
    return subprocess.run(["cargo", "publish", "--locked", "--no-verify", *missing], cwd=ROOT).returncode


def main() -> int:
    match sys.argv[1:]:
        case ["check", tag]:
            check(tag, version(), (ROOT / "CHANGELOG.md").read_text())
        case ["notes", tag]:
            print(check(tag, version(), (ROOT / "CHANGELOG.md").read_text()))
        case ["flip"]:
            flip(ROOT)
        case ["publish"]:
            return publish()
        case _:
            raise SystemExit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
