"""Tests that a release has the names and files that pages and cargo-binstall expect. Usage: python -m unittest test_dist, in dev/release/"""

import os
import shutil
import tarfile
import tempfile
import tomllib
import unittest
import zipfile
from pathlib import Path
from unittest import mock

import dist
from release import ROOT, version

# Stands for the programs that compile. It makes a program that prints and writes its name.
COMPILER = """#!/bin/sh
for word; do
  case $last in --target) target=$word ;; --out) out=$word ;; esac
  last=$word
done
case ${0##*/} in
rustc) echo "host: x86_64-unknown-linux-gnu" ;;
maturin) name=redrive; touch "$out/redrive-$target.whl" ;;
cargo) case "$*" in *redrive-local*) name=redrive-local ;; *) name=redrive-layer ;; esac ;;
esac
[ -z "$name" ] && exit
mkdir -p "$CARGO_TARGET_DIR/$target/command"
printf '#!/bin/sh\\n[ $1 = completions ] && echo $2 || { mkdir -p $2; touch $2/redrive.1; }\\n' > "$CARGO_TARGET_DIR/$target/command/$name"
chmod +x "$CARGO_TARGET_DIR/$target/command/$name"
"""


class Release(unittest.TestCase):
    def setUp(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("rustc", "rustup", "maturin", "cargo"):
            (folder / name).write_text(COMPILER)
            (folder / name).chmod(0o755)
        own = {"PATH": f"{folder}:{os.environ['PATH']}", "CARGO_TARGET_DIR": str(folder / "target")}
        self.enterContext(mock.patch.dict(os.environ, own))
        self.dist = folder / "dist"
        self.enterContext(mock.patch.object(dist, "DIST", self.dist))
        dist.main([])

    def test_archives_have_the_names_that_cargo_binstall_expects(self):
        told = tomllib.loads((ROOT / "crates" / "cli" / "Cargo.toml").read_text())["package"]["metadata"]["binstall"]
        for target in dist.STATIC:
            folder, file = told["bin-dir"].replace("{ version }", version()).replace("{ target }", target).split("/")
            self.assertEqual(file, "{ bin }{ binary-ext }")
            self.assertTrue(told["pkg-url"].endswith("/releases/download/v{ version }/redrive-{ version }-{ target }.tar.gz"))
            with tarfile.open(self.dist / f"{folder}.tar.gz") as tar:
                found = {it.name.removeprefix(f"{folder}/"): it for it in tar.getmembers() if it.isfile()}
            texts = {"completions/_redrive", "completions/redrive.bash", "completions/redrive.fish", "man/man1/redrive.1"}
            self.assertEqual(found.keys(), {"redrive", "LICENSE", "README.md"} | texts)
            self.assertEqual((found["redrive"].mode & 0o777, found["redrive"].uid), (0o755, 0))

    def test_the_image_gets_the_executable_that_it_copies(self):
        for target in dist.STATIC:
            name = f"redrive-local-{version()}-{target}"
            with tarfile.open(self.dist / f"{name}.tar.gz") as tar:
                found = {it.name.removeprefix(f"{name}/"): it.mode & 0o777 for it in tar.getmembers() if it.isfile()}
            self.assertEqual(found["redrive-local"], 0o755)
            self.assertEqual(found.keys(), {"redrive-local", "LICENSE"})

    def test_lambda_can_run_the_layers_that_pages_name(self):
        page, template = ((ROOT / path).read_text() for path in ("docs/layer.md", "examples/any/template.yaml"))
        self.assertIn("target/dist/redrive-layer-arm64.zip", template)
        for name in ("redrive-layer-arm64.zip", "redrive-layer-x86_64.zip"):
            self.assertIn(name, page)
            with zipfile.ZipFile(self.dist / name) as files:
                self.assertEqual([(it.filename, it.external_attr >> 16 & 0o777) for it in files.infolist()], [("redrive", 0o755)])

    def test_a_project_has_what_its_links_lead_to(self):
        with zipfile.ZipFile(self.dist / "redrive-template.zip") as files:
            self.assertEqual(files.read("docs/runbook.md"), (ROOT / "docs" / "runbook.md").read_bytes())
            self.assertLessEqual({"Cargo.toml", "CargoLambda.toml", "template.yaml", "src/main.rs", ".gitignore"}, set(files.namelist()))


if __name__ == "__main__":
    unittest.main()
