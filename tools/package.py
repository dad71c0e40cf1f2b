"""Packs what is published as crates.io would get it, and compiles what was packed. Usage: package.py [--each]

Compiled together, in a workspace of their own, the packages share the dependencies that clippy has checked before. --each
compiles every package by itself, as `cargo publish` does: that takes 19 minutes of CPU time.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import book
from release import ROOT, metadata, packages, version

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
WORKSPACE = TARGET / "packed"
# Cargo unites the features of dev-dependencies only if something needs them, as clippy did for all targets.
EXAMPLE = '[package]\nname = "packed"\nedition = "2024"\n\n[[example]]\nname = "packed"\npath = "packed.rs"\n\n[dev-dependencies]\n'


def cargo(*words: str, cwd: Path = ROOT) -> None:
    subprocess.run(["cargo", *words, "--locked"], cwd=cwd, check=True, timeout=3600)


def pack(names: list[str], verify: list[str]) -> None:
    cargo("package", "--quiet", "--allow-dirty", *verify, *(word for name in names for word in ("-p", name)))


def unpack(names: list[str]) -> None:
    shutil.rmtree(WORKSPACE, ignore_errors=True)
    for name in names:
        shutil.unpack_archive(TARGET / "package" / f"{name}-{version()}.crate", WORKSPACE, "gztar")
        (WORKSPACE / f"{name}-{version()}").rename(WORKSPACE / name)


def problems(names: list[str]):
    """What crates.io would show wrongly or not at all."""
    for name in names:
        folder = WORKSPACE / name
        if not (folder / "LICENSE").is_file():
            yield f"{name}: has no LICENSE"
        readme = re.search(r'^readme = "(.+)"$', (folder / "Cargo.toml").read_text(), re.MULTILINE)
        if not readme:
            yield f"{name}: has no README"
            continue
        for link in book.links((folder / readme[1]).read_text()):
            if not link.startswith("https://"):
                yield f"{name}: {readme[1]} links to {link}, which is not there on crates.io"


def beside() -> str:
    """What the members need that are not published: it enables features of dependencies, too."""
    needs: dict[str, tuple[str, set[str]]] = {}
    for member in metadata():
        for needed in member["dependencies"] if member["publish"] == [] else []:
            if needed["source"]:
                _, features = needs.setdefault(needed["name"], (needed["req"], set()))
                features.update(needed["features"], ["default"] if needed["uses_default_features"] else [])
    return "".join(
        f'{name} = {{ version = "{requirement}", default-features = false, features = {sorted(features)} }}\n'
        for name, (requirement, features) in needs.items()
    )


def workspace(names: list[str]) -> str:
    """The manifest around the packages: they depend on each other, and are compiled by the profiles of this repository."""
    profiles = re.findall(r"^\[profile\..*?(?=^\[|\Z)", (ROOT / "Cargo.toml").read_text(), re.MULTILINE | re.DOTALL)
    members = "".join(f'"{name}", ' for name in names)
    patches = "".join(f'{name} = {{ path = "{name}" }}\n' for name in names)
    return f"{EXAMPLE}{beside()}\n[workspace]\nmembers = [{members}]\n\n[patch.crates-io]\n{patches}\n{''.join(profiles)}"


def compile_together(names: list[str]) -> None:
    (WORKSPACE / "Cargo.toml").write_text(workspace(names))
    (WORKSPACE / "packed.rs").write_text("fn main() {}\n")
    # The same versions, without what only other members need.
    shutil.copyfile(ROOT / "Cargo.lock", WORKSPACE / "Cargo.lock")
    subprocess.run("cargo update --workspace --offline --quiet".split(), cwd=WORKSPACE, check=True, timeout=300)
    words = ["--workspace", "--lib", "--bins", "--example", "packed"]
    cargo("check", "--quiet", *words, "--target-dir", str(TARGET), cwd=WORKSPACE)


def main() -> int:
    names, each = packages(), sys.argv[1:] == ["--each"]
    pack(names, [] if each else ["--no-verify"])
    unpack(names)
    found = list(problems(names))
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    if not found and not each:
        compile_together(names)
    sizes = ", ".join(f"{name} {(TARGET / 'package' / f'{name}-{version()}.crate').stat().st_size // 1000} kB" for name in names)
    print(f"{len(names)} packages: {sizes}; {len(found)} problems")
    return min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
