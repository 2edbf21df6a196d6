"""Datasets of files that Python wrote: their rows in rtrain, the errors of damaged ones, and rows dealt out to workers."""

import json

from arrow_tables import DUMP, execute

ROWS = """
local data, torch, dump = require 'rtrain.data', require 'torch', dofile 'dump.lua'
local ds = DATASET
local schema, rows = ds:schema(), {}
for i, row in ipairs(ds:take_all()) do
  local values = {}
  for k, name in ipairs(schema.names) do values[k] = row[name] == nil and 'null' or dump.text(row[name]) end
  rows[i] = '[' .. table.concat(values, ',') .. ']'
end
local names = {}
for k, name in ipairs(schema.names) do names[k] = ('[%q, %q]'):format(name, schema.types[k]) end
print(('{"schema": [%s], "count": %d, "rows": [%s]}'):format(table.concat(names, ','), ds:count(), table.concat(rows, ',')))
"""


def read(rtrain, dataset):
    """Returns {column: type} and the rows, in the form of arrow_tables.plain."""
    found = json.loads(execute(rtrain, ROWS.replace("DATASET", dataset)))
    assert found["count"] == len(found["rows"])
    names = [name for name, _ in found["schema"]]
    return dict(found["schema"]), [dict(zip(names, row)) for row in found["rows"]]


def refused(rtrain, dataset):
    """Returns the message with which the dataset is refused, when it is made or read."""
    rtrain.script(DUMP, "dump.lua")
    result = rtrain("exec", rtrain.script(ROWS.replace("DATASET", dataset)))
    assert result.returncode != 0, result.stdout
    return result.stderr


RESUMED = """
local data, torch, train = require 'rtrain.data', require 'torch', require 'rtrain'

local function train_func(config)
  local shard = train.get_dataset_shard 'train'
  if config.step > 1 then shard:load_state(torch.load('state-' .. config.step - 1)) end
  local seen, batches = torch.list {}, 0
  for batch in shard:iter_batches {batch_size = 7} do
    for _, value in ipairs(batch[config.column]:tolist()) do seen[#seen + 1] = value end
    batches = batches + 1
    if batches == config.batches then break end
  end
  if train.get_context():get_world_rank() == 0 then torch.save(shard:state(), 'state-' .. config.step) end
  train.report {seen = seen}
end

for step, workers in ipairs {2, 3, 1} do
  train.TorchTrainer {
    train_loop_per_worker = train_func,
    train_loop_config = {step = step, batches = ({2, 1, -1})[step], column = 'COLUMN'},
    scaling_config = train.ScalingConfig {num_workers = workers},
    run_config = train.RunConfig {name = 'step-' .. step},
    datasets = {train = DATASET},
  }:fit()
end
"""


def seen_by_workers(rtrain, dataset, column):
    """Runs an epoch with two workers for two batches, then with three for one, then with one. Returns the values of each
    of these runs for each of its ranks."""
    rtrain.run_ok(RESUMED.replace("DATASET", dataset).replace("COLUMN", column))
    names = ["step-1", "step-2", "step-3"]
    return [[rank["seen"] for rank in rtrain.json("metrics", name, "--ranks")[-1]["ranks"]] for name in names]


def check_workers(rtrain, dataset, column, rows):
    """Checks that an epoch of the rows 0 … rows - 1, stopped twice, has each row once."""
    first, second, rest = seen_by_workers(rtrain, dataset, column)
    assert first == [list(range(14)), list(range(rows // 2, rows // 2 + 14))]
    assert [len(rank) for rank in second] == [7, 7, 7]
    assert sorted(value for run in (first, second, rest) for rank in run for value in rank) == list(range(rows))
