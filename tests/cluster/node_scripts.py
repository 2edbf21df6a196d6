"""Scripts for runs over several nodes, and what their workers report."""

import json

from conftest import wait_until

TRAIN = """
local files, train = require 'files', require 'rtrain'
local trainer = train.TorchTrainer{
  train_loop_per_worker = function()
    local torch = require 'torch'
    local context = train.get_context()
    BODY
  end,
  scaling_config = train.ScalingConfig{num_workers = 4}, TORCH
  run_config = train.RunConfig{name = 'nodes', failure_config = train.FailureConfig{FAILURES}},
}
trainer:fit()
"""
# The parameters after some steps, as bit patterns.
TRAINING = """
    torch.manual_seed(0)
    local nn = torch.nn
    local model = train.torch.prepare_model(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)))
    local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.01})
    torch.manual_seed(context:get_world_rank())
    for step = 1, 20 do
      local x = torch.randn(32, 8)
      local loss = ((model(x) - x:sum(1, true)):pow(2)):mean()
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
    end
    local bits = {}
    for _, parameter in ipairs(model:parameters()) do
      bits[#bits + 1] = ('%.0f'):format(parameter:detach():view(-1):view(torch.int32):to(torch.float64):sum():item())
    end
    train.report{parameters = table.concat(bits, ' ')}
"""
# Shared memory, the default on one node, adds in another order.
GLOO = "torch_config = train.TorchConfig{backend = 'gloo'},"
# Makes steps until the file `go` exists.
WAITING = """
    local step = 0
    while not files.exists 'go' do
      step = step + 1
      train.report{step = step}
      os.execute('sleep 0.05')
    end
"""


def script(rtrain, body, failures="", torch=""):
    return rtrain.script(TRAIN.replace("BODY", body).replace("FAILURES", failures).replace("TORCH", torch))


def workers_of(rtrain, attempt=-1):
    return rtrain.json("show", "nodes")["attempts"][attempt]["workers"]


def wait_for_reports(rtrain, job, count=1, ranks=4):
    """Waits until all ranks have made at least `count` reports."""

    def has_reports():
        assert job.processes[0].running, job.processes[0].stderr
        found = rtrain("metrics", "nodes", "--ranks", "--json")
        rows = json.loads(found.stdout) if found.returncode == 0 else []
        return sum(len(row["ranks"]) == ranks and all(row["ranks"]) for row in rows) >= count

    wait_until(has_reports, message=f"{count} reports")
