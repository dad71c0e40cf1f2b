"""Each fault put into template.yaml is found. Usage: python -m unittest test_check_template, in tools/"""

import re
import unittest
from functools import partial
from pathlib import Path

import template_rules
from check_template import lint, make, translate, yaml_parse

ROOT = Path(__file__).parent.parent
TEMPLATE = (ROOT / "template.yaml").read_text()
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()

# What linters find in the translated template: the text, what it becomes, and a word of what is said.
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
# What each of our own rules finds.
RULED = {
    template_rules.the_mapping_takes_partial_responses: [
        ("FunctionResponseTypes: [ReportBatchItemFailures]", "Enabled: true", "FunctionResponseTypes is None"),
    ],
    template_rules.the_visibility_timeout_follows_every_function_timeout: [
        ('"30": { Seconds: 480 }', '"30": { Seconds: 479 }', "timeout 30: visibility timeout 479 is below 480"),
        ("REDRIVE_VISIBILITY_TIMEOUT: !Find", "VISIBILITY_TIMEOUT: !Find", "timeout 3: the function has 3 and None"),
    ],
    template_rules.queues_and_function_agree: [
        ("REDRIVE_MAX_RECEIVE_COUNT: !Ref MaxReceiveCount", "REDRIVE_MAX_RECEIVE_COUNT: 5", "is 5, not 20"),
        ("maxReceiveCount: !Ref MaxReceiveCount", "maxReceiveCount: 5", "the redrive policy is"),
        ("MessageRetentionPeriod: 1209600", "MessageRetentionPeriod: 604800", "dead letters expire"),
        ("redrivePermission: byQueue", "redrivePermission: denyAll", "does not allow its source"),
        ('- !Sub "arn:${AWS::Partition}:sqs:', '- !Sub "arn:${AWS::Partition}:sns:', "does not allow its source"),
    ],
    template_rules.stacks_do_not_collide: [
        ('!Sub "${AWS::StackName}-orders-dead"]', "!Sub orders-dead]", "two stacks have AWS::SQS::Queue orders-dead"),
        ("-orders-dead.fifo", "-orders-dead", "standard and FIFO have AWS::SQS::Queue stack-orders-dead"),
        ('"${AWS::StackName}-${AWS::Region}"', '"${AWS::StackName}-all"', "two regions have AWS::CloudWatch::Dashboard"),
        ("RetentionInDays: 30", "LogGroupName: orders", "two stacks have AWS::Logs::LogGroup orders"),
    ],
    template_rules.alarms_lead_to_their_runbook_entry: [
        ("#deadlettered", "#dead", "does not end with its entry, #deadlettered"),
        ("-QueueAge", "-Age", "the runbook has no entry #age"),
    ],
    template_rules.alarms_tell_the_address_if_there_is_one: [
        ("AlarmActions: !If [HasNotificationEmail, [!Ref AlarmTopic], !Ref AWS::NoValue]", "", "has AlarmActions None"),
        ("    Condition: HasNotificationEmail", "", "there must be a topic with an address and none without"),
    ],
    template_rules.parameters_say_what_they_take: [
        ("    MaxValue: 1000000\n", "", "parameter ErrorThreshold has no range"),
        ("    Description: Processor the function", "    #", "parameter Architecture has no description"),
    ],
    template_rules.permissions_are_the_least: [
        ("sqs:ChangeMessageVisibility", "sqs:*", "the role may"),
        ('Condition: { StringEquals: { "cloudwatch:namespace": Redrive } }', "", "the role may"),
    ],
    template_rules.the_dead_letter_alarm_goes_off_at_the_first: [
        ("Threshold: 1\n", "Threshold: 2\n", "DeadLetterAlarm has Threshold 2, not 1"),
        ("Condition: AlarmsOnDeadLetters\n", "\n", "DeadLetterAlarm is not switched off"),
        ("    Condition: HasMetrics\n", "", "WorkerErrorsAlarm is there without its metric"),
    ],
    template_rules.letters_outlive_the_stack: [
        ("    DeletionPolicy: Retain\n", "", "DeadLetterQueue has DeletionPolicy None"),
    ],
    template_rules.outputs_are_those_that_are_read: [
        ("  DeadLetterQueueUrl:\n", "  DeadLetters:\n", "there is no output DeadLetterQueueUrl"),
    ],
    template_rules.the_dashboard_can_be_drawn: [
        ('"x": 16, "y": 12, "width": 8', '"x": 16, "y": 12, "width": 9', "is wider than the dashboard"),
    ],
}


def changed(old: str, new: str) -> dict:
    if old not in TEMPLATE:
        raise ValueError(f"template.yaml no longer says {old!r}")
    return yaml_parse(TEMPLATE.replace(old, new))


class Faults(unittest.TestCase):
    def test_our_template_keeps_every_rule(self) -> None:
        self.assertEqual(template_rules.broken(partial(make, yaml_parse(TEMPLATE)), RUNBOOK), [])

    def test_linters_see_wrong_values_in_the_translated_template(self) -> None:
        for old, new, code in LINTED:
            with self.subTest(new):
                found = lint(translate(changed(old, new), {}))
                self.assertTrue(any(wrong.startswith(code) for wrong in found), found)

    def test_rules_find_what_linters_let_pass(self) -> None:
        for rule, faults in RULED.items():
            for old, new, said in faults:
                with self.subTest(new or old):
                    found = list(rule(partial(make, changed(old, new)), RUNBOOK))
                    self.assertTrue(any(said in wrong for wrong in found), found)

    def test_every_rule_can_be_broken(self) -> None:
        self.assertEqual(set(RULED), set(template_rules.RULES))

    def test_an_alarm_without_a_section_is_found(self) -> None:
        runbook = RUNBOOK.replace("## Throttles", "## Throttled")
        found = template_rules.alarms_lead_to_their_runbook_entry(partial(make, yaml_parse(TEMPLATE)), runbook)
        expected = ["the runbook links to #throttles, which it does not have", "the runbook has no entry #throttles"]
        self.assertEqual(list(found), expected)

    def test_the_template_for_existing_projects_is_valid(self) -> None:
        page = (ROOT / "docs" / "existing-project.md").read_text()
        [template] = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        found = lint(translate(yaml_parse(template), {}))
        # SAM's own policies name actions that IAM does not know, which is a warning.
        self.assertEqual([wrong for wrong in found if not wrong.startswith("W3037")], [])


if __name__ == "__main__":
    unittest.main()
