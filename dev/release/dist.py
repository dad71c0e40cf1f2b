"""Makes what a release offers, in target/dist: wheels, archives of the command and of the local SQS, Lambda layers, a project's template.

maturin compiles the command once for each target: the archive has the executable of the wheel. On Linux zig links, static
against musl or, if asked for, against glibc 2.17.
Usage: dist.py [TARGET...], where a target is a triple of Rust. `dev/release/dist` calls it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "target" / "dist"
STATIC = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]
# Platforms on which pip may install it. The first is every Linux with glibc 2.17 or newer, which also runs a static executable.
LINUX = ["manylinux2014"]
MUSL = ["manylinux2014", "musllinux_1_1"]
SHELLS = {"bash": "redrive.bash", "zsh": "_redrive", "fish": "redrive.fish"}


def main(asked: list[str]) -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    host = next(line.split()[1] for line in run("rustc", "-vV").splitlines() if line.startswith("host:"))
    targets = asked or (STATIC if "-linux-" in host else [host])
    if shutil.which("rustup"):
        run("rustup", "target", "add", *targets)
    # A command that runs on this machine prints completions and manual pages.
    native = next(target for target in targets if target.split("-")[0] == host.split("-")[0])
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        archives = {target: Path(folder, f"redrive-{version}-{target}") for target in targets}
        for target, archive in archives.items():
            archive.mkdir()
            shutil.copy(command(target), archive)
            shutil.copy(ROOT / "LICENSE", archive)
            shutil.copy(ROOT / "crates" / "cli" / "README.md", archive)
        for archive in archives.values():
            add_help(archives[native] / "redrive", archive)
            pack(DIST / archive.name, "gztar", archive.parent, archive.name)
        for target in targets:
            if "-linux-" in target:
                machine = target.split("-")[0].replace("aarch64", "arm64")
                content = Path(folder, f"layer-{machine}")
                content.mkdir()
                shutil.copy(layer(target), content / "redrive")
                pack(DIST / f"redrive-layer-{machine}", "zip", content)
            if target.endswith("-musl"):
                alone = Path(folder, f"redrive-local-{version}-{target}")
                alone.mkdir()
                shutil.copy(local(target), alone)
                shutil.copy(ROOT / "LICENSE", alone)
                pack(DIST / alone.name, "gztar", alone.parent, alone.name)
    pack(DIST / "redrive-template", "zip", ROOT / "examples" / "project")


def run(*words: str | Path, **options) -> str:
    return subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, timeout=3600, **options).stdout


def command(target: str) -> Path:
    """Builds the command for a target, and puts its wheel into target/dist."""
    tags = MUSL if target.endswith("-musl") else LINUX
    linux = ["--zig", *(word for tag in tags for word in ("--compatibility", tag))] if "-linux-" in target else []
    run("maturin", "build", *options(target), "--manifest-path", "crates/cli/Cargo.toml", "--out", DIST, *linux, env=environment(target))
    return built(target, "redrive")


def layer(target: str) -> Path:
    oldest = "" if target.endswith("-musl") else ".2.17"
    run("cargo", "zigbuild", *options(f"{target}{oldest}"), "--package", "redrive-layer", env=environment(target))
    return built(target, "redrive-layer")


def local(target: str) -> Path:
    """Builds the executable of the image that serves SQS."""
    what = ("--package", "redrive-local", "--features", "command", "--bin", "redrive-local")
    run("cargo", "zigbuild", *options(target), *what, env=environment(target))
    return built(target, "redrive-local")


def options(target: str) -> list[str]:
    return ["--locked", "--profile", "command", "--target", target]


def environment(target: str) -> dict[str, str]:
    """Returns the environment with maturin and zig, which are beside this Python."""
    static = {"CARGO_ENCODED_RUSTFLAGS": "-Ctarget-feature=+crt-static"} if target.endswith("-musl") else {}
    return os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"} | static


def built(target: str, name: str) -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / target / "command" / name


def add_help(redrive: Path, archive: Path) -> None:
    run(redrive, "man", archive / "man" / "man1")
    (archive / "completions").mkdir()
    for shell, name in SHELLS.items():
        (archive / "completions" / name).write_text(run(redrive, "completions", shell))


def pack(name: Path, kind: str, *folders: Path | str) -> None:
    """Packs folders, with the targets of links, under the owner root."""
    shutil.make_archive(str(name), kind, *folders, owner="root", group="root")


if __name__ == "__main__":
    main(sys.argv[1:])
