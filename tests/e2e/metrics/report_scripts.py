"""Scripts that report checkpoints, and the checkpoints that they leave."""

from conftest import leftovers

PREAMBLE = """
local files, train = require 'files', require 'rtrain'
local write, exists = files.write, files.exists

local function make(dir, files)
  os.execute('mkdir -p ' .. dir)
  for name, text in pairs(files) do write(dir .. '/' .. name, text) end
  return train.Checkpoint.from_directory(dir)
end
"""

FIT = """
train.TorchTrainer{
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig{num_workers = @WORKERS@},
  torch_config = train.TorchConfig{timeout_s = 60},
  run_config = train.RunConfig{name = 'run'},
}:fit()
"""


def script(body, workers=2):
    return (
        PREAMBLE + "local function train_func()\n"
        "  local rank = train.get_context():get_world_rank()\n"
        "  local run = train.get_context():get_storage().experiment_path\n"
        + body
        + "\nend\n"
        + FIT.replace("@WORKERS@", str(workers))
    )


def checkpoints(rtrain):
    """Returns the run's checkpoints (name and files) by the index of their report."""
    return {row["index"]: row for row in rtrain.json("checkpoint", "ls", "run")}


def files_of(rtrain, name):
    return sorted(set(leftovers(rtrain.run_folder("run") / "checkpoints" / name)) - {".rtrain-checkpoint.json"})


def text_of(rtrain, name, file):
    return (rtrain.run_folder("run") / "checkpoints" / name / file).read_text()
