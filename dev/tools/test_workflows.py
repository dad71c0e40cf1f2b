"""Checks rules for .github/ that actionlint, zizmor and the schemas lack. Usage: python -m unittest test_workflows, in dev/tools/"""

import fnmatch
import os
import re
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = {path.name: path.read_text() for path in sorted((ROOT / ".github" / "workflows").iterdir())}
ACTION = re.compile(r"uses: (?P<action>[^@\s]+)@(?P<commit>\S+)(?: # (?P<version>\S+))?")


class Actions(unittest.TestCase):
    def uses(self):
        found = [use for text in WORKFLOWS.values() for use in ACTION.finditer(text)]
        self.assertEqual(len(found), sum(text.count("uses:") for text in WORKFLOWS.values()))
        return found

    def test_each_is_a_commit_with_its_version(self):
        for use in self.uses():
            self.assertRegex(use["commit"], r"^[0-9a-f]{40}$", use[0])
            self.assertRegex(use["version"] or "", r"^v\d+\.\d+\.\d+$", use[0])

    def test_each_has_one_commit_everywhere(self):
        commits = {(use["action"], use["commit"], use["version"]) for use in self.uses()}
        self.assertEqual(len(commits), len({action for action, _, _ in commits}), commits)


class Commands(unittest.TestCase):
    def test_every_target_of_make_is_in_the_makefile(self):
        rules = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        asked = [target for text in WORKFLOWS.values() for target in re.findall(r"\bmake ([a-z-]+)(?=\s)", text)]
        self.assertGreater(len(asked), 4)
        self.assertEqual(set(asked) - set(rules), set())

    def test_every_stage_of_make_check_is_in_the_script(self):
        pages = [(ROOT / name).read_text() for name in ("CONTRIBUTING.md", "ARCHITECTURE.md")]
        asked = re.findall(r'make check ONLY="?([a-z -]+)', "\n".join([*WORKFLOWS.values(), *pages]))
        stages = re.findall(r"^stage-([a-z-]+)\(\)", (ROOT / ".ci/run").read_text(), re.MULTILINE)
        self.assertGreater(len(asked), 4)
        self.assertEqual({stage for words in asked for stage in words.split()} - set(stages), set())

    def test_every_file_that_is_run_is_there(self):
        asked = re.findall(r"(?:run: |python3 )((?:\.github|\.ci|dev)/\S+)", "\n".join(WORKFLOWS.values()))
        self.assertIn("dev/release/dist", asked)
        for path in asked:
            self.assertTrue((ROOT / path).is_file(), path)

    def test_workflows_that_start_or_ask_for_others_name_them_right(self):
        asked = re.findall(r"\b([a-z]+\.yml)\b", "\n".join(WORKFLOWS.values()))
        self.assertEqual(set(asked) - set(WORKFLOWS), set())


class Addresses(unittest.TestCase):
    def test_links_to_the_repository_are_those_of_cargo_toml(self):
        package = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
        owner, name = package["repository"].split("/")[-2:]
        self.assertEqual(package["homepage"], f"https://{owner}.github.io/{name}/")
        of_command = [ROOT / "crates/cli/pyproject.toml", ROOT / "crates/cli/Dockerfile", *ROOT.glob("docs/install*.md")]
        files = [*(ROOT / ".github").rglob("*.*"), *of_command, ROOT / "CONTRIBUTING.md"]
        text = "\n".join(path.read_text() for path in files if path.is_file())
        links = re.findall(rf"(?:github\.com|ghcr\.io)/[\w-]+/{name}\b|--repo [\w-]+/{name}\b", text)
        self.assertGreater(len(links), 1)
        for link in links:
            self.assertTrue(link.endswith(f"{owner}/{name}"), link)


class Dependabot(unittest.TestCase):
    def test_each_lock_file_and_each_list_of_pins_is_looked_at(self):
        text = (ROOT / ".github" / "dependabot.yml").read_text()
        entries = re.findall(r"package-ecosystem: (\S+)\n\s+director(?:y: (\S+)|ies: \[(.*)\])", text)
        looked_at = {(kind, folder) for kind, one, many in entries for folder in (one or many).split(", ")}
        kinds = {
            "cargo": "Cargo.lock",
            "npm": "package-lock.json",
            "uv": "requirements*.txt",
            "docker": "Dockerfile",
            "rust-toolchain": "rust-toolchain.toml",
        }
        for kind, name in kinds.items():
            folders = {"/" + "/".join(path.relative_to(ROOT).parts[:-1]) for path in sources(name)}
            self.assertEqual({folder for of, folder in looked_at if of == kind}, folders, kind)


def sources(pattern: str) -> list[Path]:
    """Returns files with that name, without those of builds and fuzzers, whose lock file `make fuzz` writes."""
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = set(folders) - {"target", "fuzz", "node_modules", ".git", ".aws-sam"}
        found += [Path(folder, name) for name in fnmatch.filter(files, pattern)]
    return found


if __name__ == "__main__":
    unittest.main()
