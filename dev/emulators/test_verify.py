"""Tests that `redrive verify` finds no faults, with workers that are killed."""

import json
import subprocess

from shop import gap


@gap("moto", "messages of a group that were hidden come back in another order", "in another order")
def test_no_message_is_lost_duplicated_or_out_of_order(aws):
    command = [aws.binaries / "redrive", "verify", "--json", "--messages", "300", "--kills", "3"]
    ran = subprocess.run(command, env=aws.environment(), capture_output=True, text=True, timeout=150)
    tally = json.loads(ran.stdout)
    assert (tally["attempted"], tally["acknowledged"], tally["kills"]) == (300, 300, 3)
    assert tally["handled"] + tally["dead_lettered"] == 300
    assert not tally["faults"].pop("out_of_order"), "in another order"
    assert not any(tally["faults"].values()), ran.stdout
