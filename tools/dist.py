"""Makes what a release offers, in target/dist: wheels, archives, a list of what is in them, Lambda layers, a project's template, SHA256SUMS.

Each target is compiled once, by maturin: the archive has the executable of the wheel. On Linux zig links, and compiles the C of
ring: static against musl where Rust's standard library for it is installed or can be, else against glibc 2.17.
Usage: dist.py [TARGET...], where a target is a triple of Rust. `make dist` calls it.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import uuid
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "target" / "dist"
LARGEST = 20_000_000
STATIC = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]
# What pip may install it on. The first is every Linux with glibc 2.17 or newer, which runs a static executable as well.
LINUX = ["manylinux2014"]
MUSL = ["manylinux2014", "musllinux_1_1"]
SHELLS = {"bash": "redrive.bash", "zsh": "_redrive", "fish": "redrive.fish"}
INTERPRETER = 3  # PT_INTERP: the dynamic linker that an executable asks for


def main(asked: list[str]) -> int:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    host = next(line.split()[1] for line in run("rustc", "-vV").splitlines() if line.startswith("host:"))
    targets = chosen(asked, host, has_library)
    moment = os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct").strip()
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        wheels = {target: build(target, work / target, moment) for target in targets}
        executables = {target: unpack(wheel, work / target / "redrive") for target, wheel in wheels.items()}
        if wrong := [line for target, path in executables.items() for line in faults(target, path.read_bytes())]:
            print("\n".join(wrong), file=sys.stderr)
            return 1
        texts = help_texts(runnable(host, executables), work)
        for target, path in executables.items():
            name = archive_name(version, target)
            files = {"redrive": path, "LICENSE": ROOT / "LICENSE", "README.md": ROOT / "cli" / "README.md", **texts}
            (DIST / f"{name}.tar.gz").write_bytes(archive(name, files, int(moment)))
            shutil.copy(wheels[target], DIST)
        layers = {target: build_layer(target, moment) for target in targets if "-linux-" in target}
        if wrong := [line for target, path in layers.items() for line in faults(target, path.read_bytes(), "the layer")]:
            print("\n".join(wrong), file=sys.stderr)
            return 1
        for target, path in layers.items():
            (DIST / layer_name(target)).write_bytes(layer(path.read_bytes()))
        bill = components(next(iter(wheels.values())), f"{version}-{moment}")
        if missing := sorted(linked(targets) - {(it["name"], it["version"]) for it in bill["components"]}):
            print(f"the bill of materials lacks {missing}", file=sys.stderr)
            return 1
        (DIST / f"redrive-{version}.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")
        (DIST / "redrive-template.zip").write_bytes(template(ROOT / "templates" / "consumer"))
        (DIST / "SHA256SUMS").write_text(sums(DIST))
        for target, path in executables.items():
            print(f"{path.stat().st_size:>12,} bytes  the command for {target}")
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size:>12,} bytes  {path.relative_to(ROOT)}")
    return 0


def run(*command: str | Path, **options) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, timeout=3600, **options).stdout


def chosen(asked: list[str], host: str, has_library: Callable[[str], bool]) -> list[str]:
    """What was asked for, else what the machine can make: static executables on Linux, or its own."""
    if absent := [target for target in asked if not has_library(target)]:
        raise SystemExit(f"Rust's standard library is missing for {', '.join(absent)}: rustup target add {' '.join(absent)}")
    return asked or [target for target in STATIC if "-linux-" in host and has_library(target)] or [host]


def has_library(target: str) -> bool:
    """Whether Rust's standard library is there; rustup fetches it if it can."""
    if shutil.which("rustup"):
        command = ["rustup", "target", "add", target]
        if subprocess.run(command, capture_output=True, timeout=300, check=False).returncode:
            print(f"rustup cannot add {target}", file=sys.stderr)
    return (Path(run("rustc", "--print", "sysroot").strip()) / "lib" / "rustlib" / target / "lib").is_dir()


def environment(moment: str) -> dict[str, str]:
    """Executables name no folder of this machine."""
    home = os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo")
    same = [f"--remap-path-prefix={home}=cargo", f"--remap-path-prefix={ROOT.resolve()}=redrive"]
    return os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(same),
        "SOURCE_DATE_EPOCH": moment,
    }


def build_layer(target: str, moment: str) -> Path:
    """The executable of the Lambda layer for a target."""
    oldest = "" if target.endswith("-musl") else ".2.17"
    command = ["cargo", "zigbuild", "--locked", "--profile", "command", "--package", "redrive-layer", "--target", f"{target}{oldest}"]
    run(*command, env=environment(moment))
    return Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / target / "command" / "redrive-layer"


def layer_name(target: str) -> str:
    """By Lambda's name of the machine."""
    machine = target.split("-")[0].replace("aarch64", "arm64")
    return f"redrive-layer-{machine}.zip"


def layer(executable: bytes) -> bytes:
    """What Lambda unpacks into /opt."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as files:
        # Of the oldest date that the format has.
        entry = zipfile.ZipInfo("redrive")
        entry.external_attr, entry.compress_type = 0o755 << 16, zipfile.ZIP_DEFLATED
        files.writestr(entry, executable)
    return whole.getvalue()


def build(target: str, out: Path, moment: str) -> Path:
    """The wheel of a target."""
    tags = MUSL if target.endswith("-musl") else LINUX
    linux = ["--zig", *(word for tag in tags for word in ("--compatibility", tag))] if "-linux-" in target else []
    command = ["maturin", "build", "--locked", "--profile", "command", "--manifest-path", "cli/Cargo.toml"]
    run(*command, "--target", target, "--out", out, *linux, env=environment(moment))
    [wheel] = out.glob("*.whl")
    return wheel


def unpack(wheel: Path, path: Path) -> Path:
    with zipfile.ZipFile(wheel) as files:
        [name] = [name for name in files.namelist() if name.endswith(".data/scripts/redrive")]
        path.write_bytes(files.read(name))
    path.chmod(0o755)
    return path


def faults(target: str, executable: bytes, what: str = "the command") -> list[str]:
    """What keeps it from being offered."""
    wrong = []
    if len(executable) > LARGEST:
        wrong.append(f"{what} for {target} has {len(executable):,} bytes, allowed: {LARGEST:,}")
    if target.endswith("-musl") and not is_static(executable):
        wrong.append(f"{what} for {target} is not static")
    return wrong


def is_static(executable: bytes) -> bool:
    """Of an ELF file of 64 bits, little endian: whether it runs without a dynamic linker."""
    if executable[:6] != b"\x7fELF\x02\x01":
        return False
    [begin] = struct.unpack_from("<Q", executable, 32)
    size, count = struct.unpack_from("<HH", executable, 54)
    kinds = [struct.unpack_from("<I", executable, begin + index * size)[0] for index in range(count)]
    return count > 0 and INTERPRETER not in kinds


def runnable(host: str, executables: dict[str, Path]) -> Path:
    """One that this machine can run."""
    machine, _, system = host.split("-")[:3]
    for target, path in executables.items():
        if target.startswith(f"{machine}-") and f"-{system}" in target:
            return path
    raise SystemExit(f"none of {', '.join(executables)} runs here, to print completions: add {machine}-unknown-{system}-musl")


def help_texts(redrive: Path, work: Path) -> dict[str, Path]:
    """Completions and manual pages, by their names in the archive."""
    run(redrive, "man", work / "man")
    texts = {f"man/man1/{page.name}": page for page in sorted((work / "man").iterdir())}
    for shell, name in SHELLS.items():
        path = work / name
        path.write_text(run(redrive, "completions", shell))
        texts[f"completions/{name}"] = path
    return texts


def archive_name(version: str, target: str) -> str:
    """Which cli/Cargo.toml tells `cargo binstall`."""
    return f"redrive-{version}-{target}"


def archive(folder: str, files: dict[str, Path], moment: int) -> bytes:
    """A .tar.gz whose bytes depend on nothing but its arguments."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, path in sorted(files.items()):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mtime = path.stat().st_size, moment
            entry.mode = 0o755 if name == "redrive" else 0o644
            entry.uname = entry.gname = "root"
            with path.open("rb") as content:
                tar.addfile(entry, content)
    return gzip.compress(plain.getvalue(), mtime=0)


def template(folder: Path) -> bytes:
    """The template of a project as `cargo lambda new` downloads it, with what its links lead to."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as files:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                # Of the oldest date that the format has.
                files.writestr(zipfile.ZipInfo(str(path.relative_to(folder))), path.read_bytes())
    return whole.getvalue()


def components(wheel: Path, release: str) -> dict:
    """The bill of materials that maturin put into the wheel, without the folder in which it was made.

    With a fixed time, maturin gives it no serial number, without which GitHub takes it for no CycloneDX.
    """
    with zipfile.ZipFile(wheel) as files:
        [name] = [name for name in files.namelist() if "/sboms/" in name]
        bill = json.loads(files.read(name).decode().replace(ROOT.resolve().as_uri(), "file:///redrive"))
    return bill | {"serialNumber": uuid.uuid5(uuid.NAMESPACE_DNS, f"{release}.redrive").urn}


def linked(targets: list[str]) -> set[tuple[str, str]]:
    """Names and versions of the crates that are compiled into the command."""
    tree = ["cargo", "tree", "--locked", "--package", "redrive-cli", "--edges", "normal", "--prefix", "none"]
    lines = [line for target in targets for line in run(*tree, "--target", target).splitlines() if line]
    crates = {(line.split()[0], line.split()[1].removeprefix("v")) for line in lines}
    return {crate for crate in crates if crate[0] != "redrive-cli"}


def sums(folder: Path) -> str:
    """As `sha256sum --check` reads it."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())]
    return "".join(line for line in lines if not line.endswith("  SHA256SUMS\n"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
