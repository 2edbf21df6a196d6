"""The specification that fit() gives the controller: an unknown or missing field, or a wrong type, is an error."""

import pytest

SCRIPT = """
local train = require 'rtrain'
local controller = require 'rtrain._controller'
local open = controller.open
function controller.open(spec)
  %s
  return open(spec)
end
train.DataParallelTrainer {
  train_loop_per_worker = function() train.report {loss = 1} end,
  scaling_config = train.ScalingConfig {num_workers = 0},
}:fit()
"""


def test_what_fit_gives_is_taken_whole(rtrain):
    script = SCRIPT % "for _, name in ipairs {'join', 'validation_config'} do assert(spec[name] == nil) end"
    rtrain.run_ok(script, "--name", "whole", "-q")
    assert rtrain.json("show", "whole")["status"] == "FINISHED"


@pytest.mark.parametrize(
    "change, message",
    [
        ("spec.max_worker = 4", "RunSpec: unknown field 'max_worker': did you mean 'max_workers'?"),
        ("spec.max_workers = nil", "RunSpec: field 'max_workers' is missing"),
        ("spec.is_local = 'yes'", "RunSpec: field 'is_local': expected a boolean, got string"),
        ("spec.resume = 'maybe'", "RunSpec: field 'resume': unknown value 'maybe': valid names: never, auto, must"),
        ("spec.failure_config.max_failure = 1", "field 'failure_config': unknown field 'max_failure'"),
        ("spec.health_config.monitor = nil", "field 'health_config': field 'monitor' is missing"),
    ],
)
def test_a_field_that_is_wrong_is_named_and_no_run_begins(rtrain, change, message):
    result = rtrain("run", rtrain.script(SCRIPT % change))
    assert result.returncode != 0 and message in result.stderr, result.stderr
    assert rtrain("ls", "--names").stdout == ""
