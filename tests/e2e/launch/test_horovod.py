"""Horovod's API in Lua, `require 'horovod'`, for the train function of a HorovodTrainer."""

import pytest


# behaviour: Horovod's collectives, objects and optimizer
def test_collectives_objects_and_the_optimizer(rtrain):
    rtrain.run_ok("""
        local hvd, torch, train = require 'horovod', require 'torch', require 'rtrain'
        train.HorovodTrainer(function()
          local ok, err = pcall(hvd.rank)
          assert(not ok and tostring(err):find 'call hvd.init%(%) first')
          hvd.init()
          local rank = hvd.rank()
          local found = {size = hvd.size(), local_rank = hvd.local_rank(), cross_size = hvd.cross_size()}
          found.mean = hvd.allreduce(torch.tensor {rank, 1}):tolist()
          found.whole = hvd.allreduce(torch.tensor({rank, 4}, {dtype = torch.int64})):tolist()
          found.half = hvd.allreduce(torch.tensor {rank + 1 / 3}, {compression = hvd.Compression.fp16, op = hvd.Sum}):item()
          found.rows = hvd.allgather(torch.full({rank + 1, 2}, rank)):tolist()
          found.object = hvd.broadcast_object({x = rank}, 1).x
          found.objects = hvd.allgather_object {x = ('y'):rep(rank)}
          local parts, counts = hvd.alltoall(torch.arange(3) + 10 * rank, {1, 2})
          found.parts, found.counts = parts:tolist(), counts:tolist()
          found.scattered = hvd.reducescatter(torch.arange(3) + rank, {op = hvd.Sum}):tolist()

          local model = torch.nn.Linear(2, 1)
          torch.nn.init.constant_(model.weight, rank)
          hvd.broadcast_parameters(model:state_dict(), 1)
          local optimizer = torch.optim.SGD(model:parameters(), {lr = 1 + rank, momentum = 0.9})
          hvd.broadcast_optimizer_state(optimizer, 0)
          local adam = torch.optim.Adam(model:parameters(), {lr = 1 + rank})
          hvd.broadcast_optimizer_state(adam, 1)
          found.adam = {adam.param_groups[1].lr, adam.param_groups[1].betas[2]}
          hvd.DistributedOptimizer(optimizer, {named_parameters = model:named_parameters()})
          for _ = 1, 2 do
            optimizer:zero_grad()
            model(torch.full({1, 2}, rank)):sum():backward()
            optimizer:step()
          end
          found.weight = model.weight:tolist()[1]
          train.report(found)
        end, {scaling_config = {num_workers = 2}, horovod_config = train.horovod.HorovodConfig {timeout_s = 60}}):fit()
        """)
    (row,) = rtrain.json("metrics", "last", "--ranks")
    first, second = row["ranks"]
    for rank, found in enumerate((first, second)):
        assert (found["size"], found["local_rank"], found["cross_size"]) == (2, rank, 1)
        assert (found["mean"], found["whole"], found["half"]) == ([0.5, 1], [0, 4], 1.666015625)
        assert found["rows"] == [[0, 0], [1, 1], [1, 1]] and found["object"] == 1
        assert found["adam"] == [2, 0.999]
        assert found["objects"] == [{"x": ""}, {"x": "y"}]
        # The parameter begins at 1; mean gradient 0.5, lr 1 and momentum give 0.5, then 0.95.
        assert [round(value, 5) for value in found["weight"]] == [-0.45, -0.45]
    assert (first["parts"], first["counts"], first["scattered"]) == ([0, 10], [1, 1], [1, 3])
    assert (second["parts"], second["counts"], second["scattered"]) == ([1, 2, 11, 12], [2, 2], [5])


ELASTIC = """
local files, hvd, torch, train = require 'files', require 'horovod', require 'torch', require 'rtrain'

train.HorovodTrainer({
  train_loop_per_worker = function(config)
    hvd.init()
    torch.manual_seed(5 + hvd.rank())  -- elastic.run gives all ranks rank 0's parameters
    local model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))
    local optimizer = hvd.DistributedOptimizer(torch.optim.Adam(model:parameters(), {lr = 0.01}))
    local state = hvd.elastic[config.class] {model = model, optimizer = optimizer, step = 0, seen = {}}
    local resets = 0
    state:register_reset_callbacks {function() resets = resets + 1 end}
    state:register_reset_callbacks {function() resets = resets + 10 end}
    local run = hvd.elastic.run(function(given, word)
      assert(given == state and word == 'word')
      while state.step < 12 do
        optimizer:zero_grad()
        local batch = torch.randn({4, 4}, {generator = torch.Generator(10 * state.step + hvd.rank())})
        model(batch):pow(2):mean():backward()
        optimizer:step()
        state.step = state.step + 1
        state.seen[#state.seen + 1] = state.step
        if state.step % 3 == 0 then state:commit() else state:check_host_updates() end
        if state.step == config.lost_at and hvd.rank() == config.lost and files.once 'lost-rank' then
          os.execute 'kill -9 $PPID'
        end
      end
      return state.step
    end)
    local steps = run(state, 'word')
    local sum = 0
    for _, param in ipairs(model:parameters()) do sum = sum + param:double():abs():sum():item() end
    train.report {sum = ('%.17g'):format(sum), steps = steps, seen = state.seen, resets = resets}
  end,
  train_loop_config = {lost_at = 0, lost = 1, class = 'TorchState'},
  scaling_config = {num_workers = 2},
}):fit()
"""


# behaviour: hvd.elastic goes on from the last commit when a rank is lost
@pytest.mark.parametrize(
    "lost, lost_at, class_name", [(0, 5, "TorchState"), (1, 2, "TorchState"), (1, 9, "ObjectState")]
)
def test_a_lost_rank_is_replaced_from_the_last_commit(rtrain, lost, lost_at, class_name):
    def trained(*options):
        result = rtrain.run_ok(ELASTIC, "--set", f"class={class_name}", *options)
        assert "warning" not in result.stderr
        (row,) = rtrain.json("metrics", "last", "--ranks")
        return row["ranks"]

    calm = trained()
    assert [each["resets"] for each in calm] == [0, 0]
    healed = trained("--set", f"lost_at={lost_at}", "--set", f"lost={lost}")
    assert [each.pop("resets") for each in healed] == [11 * (rank != lost) for rank in (0, 1)]
    assert healed == [{"sum": calm[0]["sum"], "steps": 12, "seen": list(range(1, 13))}] * 2
    assert rtrain.statuses() == ["HEALED", "FINISHED"]
