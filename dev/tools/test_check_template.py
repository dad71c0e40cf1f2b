"""Tests that the linters find each wrong value in template.yaml and examples/deploy/worker.yaml. Usage: python -m unittest test_check_template, in dev/tools/"""

import unittest
from pathlib import Path

from check_template import lint

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = (ROOT / "template.yaml").read_text()
WORKER = (ROOT / "examples" / "deploy" / "worker.yaml").read_text()

# Faults that linters find in the translated template: the text, its replacement, and a word of the finding.
LINTED = [
    ("BatchSize: !Ref BatchSize", "BatchSize: 20000", "E3034"),
    ("MaximumConcurrency: !Ref MaximumConcurrency", "MaximumConcurrency: 1", "E3034"),
    ("[ReportBatchItemFailures]", "[ReportItemFailures]", "E3030"),
    ("Runtime: provided.al2023", "Runtime: provided.al2024", "E3030"),
    ("Timeout: !Ref FunctionTimeout", "Timeout: 901", "E3717"),
    ("MessageRetentionPeriod: 1209600", "MessageRetentionPeriod: 1209601", "E3034"),
    ("TreatMissingData: notBreaching", "TreatMissingData: fine", "E3030"),
    ("!GetAtt DeadLetterQueue.Arn", "!GetAtt DeadQueue.Arn", "E1010"),
]

LINTED_OF_WORKER = [
    ("ecs:service:DesiredCount", "ecs:service:TaskCount", "E3030"),
    ("NetworkMode: awsvpc", "NetworkMode: bridge", "E3048"),
    ("MinimumHealthyPercent: 100", "MinimumHealthyPercent: all", "E3012"),
    ("Expression: visible", "Expresion: visible", "E3002"),
    ("!GetAtt OrdersExecutionRole.Arn", "!GetAtt ExecutionRole.Arn", "E1010"),
]

class Faults(unittest.TestCase):
    def test_linters_see_wrong_values_in_the_translated_template(self) -> None:
        of_worker = [(WORKER, *fault) for fault in LINTED_OF_WORKER]
        for template, old, new, code in [(TEMPLATE, *fault) for fault in LINTED] + of_worker:
            with self.subTest(new):
                self.assertIn(old, template)
                found = lint(template.replace(old, new))
                self.assertTrue(any(wrong.startswith(code) for wrong in found), found)

    def test_the_template_for_existing_projects_is_valid(self) -> None:
        template = (ROOT / "examples/deploy/function.yaml").read_text()
        # SAM's own policies name actions that IAM does not know, which is a warning.
        self.assertEqual([wrong for wrong in lint(template) if not wrong.startswith("W3037")], [])


if __name__ == "__main__":
    unittest.main()
