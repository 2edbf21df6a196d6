"""Tables that are partly lists lose nothing on their way: all of their fields arrive, or an error names the value."""

import re

import pytest

from conftest import Rtrain

BOTH = "a table with both list items and named fields"
VALUES = [
    ("{nil, 2, x = 1}", BOTH),
    ("{1, nil, nil, 4, a = 1, b = 2}", BOTH),
    ("{1, x = 2}", BOTH),
    ("{[0] = 1, [2] = 3}", "item 1 of the list is nil"),
    ("{[0] = 1, [2] = 3, [3] = 4}", "item 1 of the list is nil"),
    ("{[0] = 1}", "it has an item 0, and a list begins with item 1"),
    ("{[-1] = 1}", "it has an item -1, and a list begins with item 1"),
    ("{[1.5] = 1}", "it has an item 1.5, and a list begins with item 1"),
]

# Prints `PLACE: what came of the value`, on rank 1 where two ranks are asked.
SCRIPT = """
local train = require 'rtrain'
local VALUES = {%s}
local scaling = train.ScalingConfig {num_workers = 2}

local function is_same(a, b)
  if type(a) ~= 'table' or type(b) ~= 'table' then return a == b end
  for key, value in pairs(a) do if not is_same(value, b[key]) then return false end end
  for key in pairs(b) do if a[key] == nil then return false end end
  return true
end

local function came(place, i, fn, ...)
  local ok, got = pcall(fn, ...)
  local text = not ok and tostring(got):match '[^\\n]*' or is_same(got, VALUES[i]) and 'whole' or 'something is lost'
  print(('%%s %%d: %%s'):format(place, i - 1, text))
end

local function fit(fields)
  fields.train_loop_per_worker = fields.train_loop_per_worker or function() end
  return train.DataParallelTrainer(fields):fit()
end

for i, value in ipairs(VALUES) do
  came('train_loop_config', i, fit, {train_loop_config = {deep = {v = value}}})
  came('metadata of a run', i, function()
    local told = fit {metadata = {v = value}, train_loop_per_worker = function()
      return is_same(train.get_context():get_metadata().v, value)
    end}
    return told.return_value and value
  end)
end

fit {scaling_config = scaling, train_loop_per_worker = function()
  local rank = train.get_context():get_world_rank()
  for i, value in ipairs(VALUES) do
    local sent = train.collective.broadcast_from_rank_zero(rank == 0 and value or nil)
    if rank == 1 then
      came('broadcast', i, function() return sent end)
      came('metrics', i, train.report, {deep = {v = value}})
      came('whole metrics', i, train.report, value)
      train.tempdir(function(folder)
        local checkpoint = train.Checkpoint.from_directory(folder)
        came('metadata of a checkpoint', i, function()
          checkpoint:set_metadata {v = value}
          return checkpoint:get_metadata().v
        end)
      end)
    end
  end
end}

print(fit {train_loop_per_worker = function() return {v = VALUES[1]} end})
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What the script printed: place and number of the value → what came of it."""
    rtrain = Rtrain(tmp_path_factory.mktemp("mixed"))
    result = rtrain("run", rtrain.script(SCRIPT % ", ".join(value for value, _ in VALUES)), "-q")
    assert f"the return value of the train function.v: {BOTH}" in result.stderr
    lines = [line.removeprefix("[rank 1] ").split(": ", 1) for line in result.stdout.splitlines()]
    return {place: re.sub(r"^\S*train.lua:\d+: ", "", text) for place, text in lines}


@pytest.mark.parametrize("number", range(len(VALUES)))
@pytest.mark.parametrize(
    "place, name",
    [
        ("train_loop_config", "spec.train_loop_config.deep.v"),
        ("metrics", "metrics.deep.v"),
        ("metadata of a checkpoint", "metadata.v"),
    ],
)
def test_an_error_names_the_value(said, number, place, name):
    assert said[f"{place} {number}"] == f"{name}: {VALUES[number][1]}"


@pytest.mark.parametrize("number", range(len(VALUES)))
@pytest.mark.parametrize("place", ["broadcast", "metadata of a run"])
def test_it_arrives_whole(said, number, place):
    assert said[f"{place} {number}"] == "whole"


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_metrics_are_names(said, number):
    value, reason = VALUES[number]
    is_list = value.startswith("{1")
    expected = "report: the metrics are a list, whose first item is 1" if is_list else f"metrics: {reason}"
    assert said[f"whole metrics {number}"].startswith(expected)
