"""What is offered is static, small and the same on every machine, and its names agree. Usage: python -m unittest test_dist, in tools/"""

import io
import json
import os
import re
import struct
import subprocess
import tarfile
import tempfile
import tomllib
import unittest
import zipfile
from pathlib import Path

import dist

ROOT = Path(__file__).parent.parent
MUSL = "x86_64-unknown-linux-musl"
GNU = "x86_64-unknown-linux-gnu"
LOAD, INTERPRETER, NOTE = 1, 3, 4


def install_page() -> Path:
    """What installs a release; it stands beside its place until there is one."""
    waiting = ROOT / "docs" / "install-released.md"
    return waiting if waiting.exists() else ROOT / "docs" / "install.md"


def elf(*segments: int, kind: bytes = b"\x7fELF\x02\x01\x01") -> bytes:
    """An executable with these kinds of segments: https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.pheader.html"""
    header = kind.ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 64, 0, 0, 64, 56, len(segments), 0, 0, 0)
    return header + b"".join(struct.pack("<IIQQQQQQ", segment, 0, 0, 0, 0, 0, 0, 0) for segment in segments)


class Executables(unittest.TestCase):
    def test_one_that_asks_for_a_dynamic_linker_is_not_static(self):
        self.assertTrue(dist.is_static(elf(LOAD, NOTE)))
        self.assertFalse(dist.is_static(elf(LOAD, INTERPRETER)))
        self.assertFalse(dist.is_static(elf(INTERPRETER)))

    def test_what_is_no_executable_of_linux_is_not_static(self):
        for other in (b"", b"#!/bin/sh\n", b"\xcf\xfa\xed\xfe", elf(), elf(LOAD, kind=b"\x7fELF\x02\x02\x01")):
            self.assertFalse(dist.is_static(other), other[:8])

    def test_20_mb_are_allowed_and_no_byte_more(self):
        self.assertEqual(dist.faults(MUSL, elf(LOAD).ljust(20_000_000)), [])
        [wrong] = dist.faults(GNU, b" " * 20_000_001)
        self.assertEqual(wrong, f"the command for {GNU} has 20,000,001 bytes, allowed: 20,000,000")

    def test_only_musl_has_to_be_static(self):
        self.assertEqual(dist.faults(GNU, elf(INTERPRETER)), [])
        self.assertEqual(dist.faults(MUSL, elf(INTERPRETER)), [f"the command for {MUSL} is not static"])

    def test_the_help_is_printed_by_one_that_runs_here(self):
        both = {target: Path(target) for target in dist.STATIC}
        self.assertEqual(dist.runnable(GNU, both), Path(MUSL))
        self.assertEqual(dist.runnable("aarch64-unknown-linux-gnu", both), Path("aarch64-unknown-linux-musl"))
        self.assertEqual(dist.runnable("aarch64-apple-darwin", {"aarch64-apple-darwin": Path("it")}), Path("it"))
        with self.assertRaisesRegex(SystemExit, "add aarch64-unknown-linux-musl"):
            dist.runnable("aarch64-unknown-linux-gnu", {MUSL: Path("it")})


class Targets(unittest.TestCase):
    def test_a_machine_makes_what_it_can(self):
        for host, installed, expected in [
            (GNU, dist.STATIC, dist.STATIC),
            (GNU, [MUSL], [MUSL]),
            (GNU, [], [GNU]),
            ("aarch64-apple-darwin", dist.STATIC, ["aarch64-apple-darwin"]),
        ]:
            self.assertEqual(dist.chosen([], host, installed.__contains__), expected)

    def test_what_is_asked_for_is_made_or_refused(self):
        self.assertEqual(dist.chosen([GNU], GNU, [GNU, MUSL].__contains__), [GNU])
        with self.assertRaisesRegex(SystemExit, f"missing for {MUSL}: rustup target add {MUSL}"):
            dist.chosen([GNU, MUSL], GNU, [GNU].__contains__)


class Archives(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.files = {"redrive": self.folder / "executable", "man/man1/redrive.1": self.folder / "page"}
        for path in self.files.values():
            path.write_text(path.name)

    def test_the_bytes_depend_on_names_and_contents_alone(self):
        first = dist.archive("redrive-1.0.0", self.files, 1_000_000)
        os.utime(self.files["redrive"], (5, 5))
        self.files["redrive"].chmod(0o600)
        self.assertEqual(dist.archive("redrive-1.0.0", dict(reversed(self.files.items())), 1_000_000), first)
        self.files["redrive"].write_text("another")
        self.assertNotEqual(dist.archive("redrive-1.0.0", self.files, 1_000_000), first)

    def test_it_unpacks_into_one_folder_of_root(self):
        with tarfile.open(fileobj=io.BytesIO(dist.archive("redrive-1.0.0", self.files, 7))) as tar:
            found = [(it.name, oct(it.mode), it.mtime, it.uid, it.uname) for it in tar.getmembers()]
        self.assertEqual(
            found,
            [
                ("redrive-1.0.0/man/man1/redrive.1", "0o644", 7, 0, "root"),
                ("redrive-1.0.0/redrive", "0o755", 7, 0, "root"),
            ],
        )

    def test_the_sums_are_what_sha256sum_reads(self):
        (self.folder / "SHA256SUMS").write_text(dist.sums(self.folder))
        check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
        done = subprocess.run(check, cwd=self.folder, capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(done.stdout, "executable: OK\npage: OK\n")
        self.assertEqual((self.folder / "SHA256SUMS").read_text(), dist.sums(self.folder), "not of itself")


class Wheels(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.wheel = self.folder / "redrive-1.0.0-py3-none-any.whl"
        with zipfile.ZipFile(self.wheel, "w") as files:
            files.writestr("redrive-1.0.0.data/scripts/redrive", "#!/bin/sh\necho ran\n")
            files.writestr("redrive-1.0.0.dist-info/METADATA", "")
            folder = f"path+{ROOT.resolve().as_uri()}/cli#redrive-cli@1.0.0"
            files.writestr("redrive-1.0.0.dist-info/sboms/redrive-cli.cyclonedx.json", json.dumps({"bom-ref": folder}))

    def test_the_bill_of_materials_names_no_folder_of_this_machine(self):
        bill = dist.components(self.wheel, "1.0.0-1")
        self.assertEqual(bill["bom-ref"], "path+file:///redrive/cli#redrive-cli@1.0.0")
        # https://cyclonedx.org/docs/1.5/json/#serialNumber
        self.assertRegex(bill["serialNumber"], r"^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        self.assertNotEqual(bill["serialNumber"], dist.components(self.wheel, "1.0.1-1")["serialNumber"])

    def test_its_executable_can_be_run(self):
        path = dist.unpack(self.wheel, self.folder / "redrive")
        self.assertEqual(dist.run(path), "ran\n")


class Names(unittest.TestCase):
    def setUp(self):
        self.shared = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
        self.crate = tomllib.loads((ROOT / "cli" / "Cargo.toml").read_text())["package"]
        self.wheel = tomllib.loads((ROOT / "cli" / "pyproject.toml").read_text())["project"]

    def test_the_wheel_says_what_the_crate_says(self):
        for name in ("description", "keywords"):
            self.assertEqual(self.wheel[name], self.crate[name], name)
        self.assertEqual(self.wheel["license"], self.shared["license"])
        expected = {
            "Homepage": self.shared["homepage"],
            "Documentation": self.crate["documentation"],
            "Repository": self.shared["repository"],
            "Changelog": f"{self.shared['repository']}/blob/main/CHANGELOG.md",
        }
        self.assertEqual(self.wheel["urls"], expected)

    def test_the_image_and_its_page_name_this_repository(self):
        repository = self.shared["repository"]
        image = f"ghcr.io/{repository.removeprefix('https://github.com/')}"
        dockerfile = (ROOT / "cli" / "Dockerfile").read_text()
        self.assertIn(f'org.opencontainers.image.source="{repository}"', dockerfile)
        self.assertIn(f"--tag {image} ", dockerfile)
        page = install_page().read_text()
        self.assertIn(f"{image} ", page)
        self.assertIn(f"{repository}/releases", page)

    def test_pages_name_this_version(self):
        found = re.findall(r"(?:version=|redrive[-:@])(\d+\.\d+\.\d+)", install_page().read_text())
        self.assertEqual(set(found), {self.shared["version"]})

    def test_cargo_binstall_finds_the_archive_and_the_executable_in_it(self):
        told = self.crate["metadata"]["binstall"]
        values = {"repo": self.shared["repository"], "version": "1.2.3", "target": MUSL, "bin": "redrive", "binary-ext": ""}

        def expanded(template: str) -> str:
            for name, value in values.items():
                template = template.replace(f"{{ {name} }}", value)
            return template

        name = dist.archive_name("1.2.3", MUSL)
        self.assertEqual(expanded(told["pkg-url"]), f"{self.shared['repository']}/releases/download/v1.2.3/{name}.tar.gz")
        self.assertEqual(expanded(told["bin-dir"]), f"{name}/redrive")


class Layers(unittest.TestCase):
    def test_lambda_can_run_what_is_in_it(self):
        whole = dist.layer(b"program")
        self.assertEqual(whole, dist.layer(b"program"))
        with zipfile.ZipFile(io.BytesIO(whole)) as files:
            [entry] = files.infolist()
            self.assertEqual((entry.filename, entry.external_attr >> 16, files.read(entry)), ("redrive", 0o755, b"program"))

    def test_its_name_has_lambdas_name_of_the_machine(self):
        names = [dist.layer_name(target) for target in dist.STATIC]
        self.assertEqual(names, ["redrive-layer-x86_64.zip", "redrive-layer-arm64.zip"])
        page, template = ((ROOT / path).read_text() for path in ("docs/layer.md", "templates/any/template.yaml"))
        self.assertIn(f"target/dist/{names[1]}", template)
        self.assertTrue(all(name in page for name in names))


class Templates(unittest.TestCase):
    def test_a_project_has_all_files_and_no_links(self):
        folder = ROOT / "templates" / "consumer"
        with zipfile.ZipFile(io.BytesIO(dist.template(folder))) as files:
            names = files.namelist()
            self.assertEqual(files.read("docs/runbook.md"), (ROOT / "docs" / "runbook.md").read_bytes())
        self.assertLessEqual({"Cargo.toml", "CargoLambda.toml", "template.yaml", "src/main.rs", ".gitignore"}, set(names))
        self.assertEqual(dist.template(folder), dist.template(folder))


if __name__ == "__main__":
    unittest.main()
