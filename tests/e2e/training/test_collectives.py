"""train.collective: barriers and broadcasts from rank 0 over the control channel, with and without a process group."""

from conftest import wait_until

SCRIPT = """
local files, train = require 'files', require 'rtrain'
local collective = train.collective
train.{trainer}({{
  train_loop_per_worker = function()
    local rank = train.get_context():get_world_rank()
    {body}
  end,
  scaling_config = train.ScalingConfig{{num_workers = {workers}}},
  run_config = train.RunConfig{{name = 'mine'}},
}}):fit()
"""


def run(rtrain, body, workers=3, trainer="DataParallelTrainer", **env):
    rtrain.env.update({name: str(value) for name, value in env.items()})
    return rtrain.run(SCRIPT.format(body=body, workers=workers, trainer=trainer))


def test_broadcast_carries_plain_data_and_functions(rtrain):
    result = run(
        rtrain,
        """
        local value = collective.broadcast_from_rank_zero(rank == 0 and {
          name = 'run', list = {1, 2, 3}, nested = {deep = {true, 2.5}}, twice = function(x) return 2 * x end} or nil)
        train.report {text = value.name .. #value.list .. tostring(value.nested.deep[2]), twice = value.twice(rank)}
        assert(collective.broadcast_from_rank_zero(rank ~= 0) == false)
        assert(collective.broadcast_from_rank_zero(nil) == nil)
        """,
    )
    assert result.returncode == 0, result.stderr
    ranks = rtrain.json("metrics", "mine", "--ranks")[0]["ranks"]
    assert ranks == [{"text": "run32.5", "twice": 2 * rank} for rank in range(3)]


def test_no_process_group_is_needed_and_none_is_formed(rtrain):
    result = run(
        rtrain,
        """
        collective.barrier()
        local torch = require 'torch'
        assert(torch.distributed.is_initialized() and torch.distributed.get_world_size() == 2)
        assert(not require('torch._C').distributed.is_initialized())
        train.torch.prepare_model(torch.nn.Linear(1, 1))
        collective.barrier()
        """,
        workers=2,
        trainer="TorchTrainer",
    )
    assert result.returncode == 0, result.stderr


def test_a_barrier_is_one(rtrain):
    result = run(
        rtrain,
        """
        for i = 1, 20 do
          io.open(('%d-%d'):format(i, rank), 'w'):close()
          collective.barrier()
          for other = 0, 2 do assert(io.open(('%d-%d'):format(i, other)), 'rank ' .. other) end
        end
        """,
    )
    assert result.returncode == 0, result.stderr


# behaviour: collectives and reports in turn
def test_barriers_and_reports_back_to_back(rtrain):
    result = run(
        rtrain,
        """
        for i = 1, 30 do
          if i % 3 == rank then collective.barrier() end
          local got = i % 3 ~= rank and collective.barrier() or nil
          train.report {i = i, rank = rank, got = collective.broadcast_from_rank_zero(('%d of %d'):format(i, rank))}
          if i % 10 == 0 then
            train.tempdir(function(dir)
              train.report({i = -i, rank = rank, got = 'c'}, {checkpoint = train.Checkpoint.from_directory(dir)})
            end)
          end
        end
        """,
    )
    assert result.returncode == 0, result.stderr
    rows = rtrain.json("metrics", "mine", "--ranks")
    assert len(rows) == 33
    for row in rows:
        i = row["metrics"]["i"]
        got = f"{i} of 0" if i > 0 else "c"
        assert row["ranks"] == [{"i": i, "rank": rank, "got": got} for rank in range(3)]


# behaviour: nine of ten ranks arrive: the last is named
def test_a_time_out_lists_the_missing_rank(rtrain):
    result = run(
        rtrain,
        """
        if rank == 2 then
          files.wait_for 'give up'
        else
          -- Both ranks begin the barrier together: otherwise the first one would find two ranks missing.
          files.write('here-' .. rank, '')
          files.wait_for('here-' .. 1 - rank)
          local ok, err = pcall(collective.barrier)
          files.write('give up', '')
          print(ok, err.code, err.message)
        end
        """,
        RTRAIN_COLLECTIVE_TIMEOUT_S=1,
    )
    assert result.returncode == 0, result.stderr
    lines = [line for line in result.stdout.splitlines() if "timeout" in line]
    assert len(lines) == 2
    for line in lines:
        assert "for rank 2 for 1 s" in line and "RTRAIN_COLLECTIVE_TIMEOUT_S" in line and "train.lua:13" in line, line


# behaviour: missing ranks are named again and again
def test_missing_ranks_are_warned_about(rtrain):
    rtrain.env["RTRAIN_COLLECTIVE_WARN_INTERVAL_S"] = "0.1"
    running = rtrain.start(
        "run",
        rtrain.script(
            SCRIPT.format(
                workers=3,
                trainer="DataParallelTrainer",
                body="""
        if rank == 1 then files.wait_for 'go on' end
        collective.barrier()
        """,
            )
        ),
    )

    def warnings():
        return [line for line in running.stderr.splitlines() if "train.collective.barrier() at" in line]

    wait_until(lambda: len(warnings()) >= 2, message="the second warning")
    (rtrain.folder / "go on").touch()
    assert running.wait().returncode == 0
    assert all("for rank 1 for" in line and "train.lua:8" in line for line in warnings()[:2]), running.stderr
    assert "train.collective.barrier()" in rtrain("show", "mine").stdout


def test_different_collectives_are_named(rtrain):
    result = run(
        rtrain,
        """
        if rank == 1 then
          collective.broadcast_from_rank_zero('x')
        else
          collective.barrier()
        end
        """,
    )
    assert result.returncode == 1
    assert "called different collectives" in result.stderr
    assert (
        "train.collective.barrier() at" in result.stderr
        and "rank 1 in train.collective.broadcast_from_rank_zero()" in result.stderr
    )


def test_a_rank_that_has_returned_is_not_waited_for(rtrain):
    result = run(rtrain, "if rank ~= 1 then collective.barrier() end")
    assert result.returncode == 1
    assert "for rank 1, which has already returned" in result.stderr


# behaviour: a broadcast that is too large
def test_an_oversized_broadcast_is_refused(rtrain):
    result = run(
        rtrain,
        """
        local ok, err = pcall(collective.broadcast_from_rank_zero, ('x'):rep(300000))
        if rank == 0 then print(ok, err.code, err.message) end
        """,
        workers=1,
    )
    assert result.returncode == 0, result.stderr
    assert "false\targument" in result.stdout and "the limit is 262144" in result.stdout
    assert "torch.distributed.broadcast" in result.stdout


def test_zero_redundancy_and_collectives_with_gradients(rtrain):
    """Tests ZeroRedundancyOptimizer against plain Adam, and gradients of the sum of the ranks' losses, with two
    ranks."""
    result = run(
        rtrain,
        """
  local torch = require 'torch'
  local nn, dist = torch.nn, torch.distributed
  torch.manual_seed(0)
  local a = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(2, 1)) local b = a:deepcopy()
  local o1 = torch.optim.Adam(a:parameters(), {lr = 0.1})
  local o2 = dist.optim.ZeroRedundancyOptimizer(b:parameters(), torch.optim.Adam, {lr = 0.1})
  for step = 1, 4 do
    for _, p in ipairs {{a, o1}, {b, o2}} do p[2]:zero_grad() p[1](torch.ones(2, 3) * step):sum():backward() p[2]:step() end
    if step == 2 then
      o2:consolidate_state_dict(1)
      if rank == 1 then
        local s, t = o2:state_dict(), o1:state_dict()
        for i = 0, 5 do assert(torch.equal(s.state[i].exp_avg, t.state[i].exp_avg)) end
      else assert(not pcall(o2.state_dict, o2)) end
      o2:load_state_dict(o1:state_dict())
    end
  end
  for i, p in ipairs(a:parameters()) do assert(torch.equal(p, b:parameters()[i])) end
  local own = 0 for _, p in ipairs(b:parameters()) do if o2.optim.state[p] then own = own + 1 end end
  assert(own > 0 and own < 6)
  -- gradients of collectives: each rank's loss is rank + 1 times the sum
  local n, w = dist.nn, rank + 1
  local function grad_of(fn)
    local x = torch.full({2}, rank + 1, {requires_grad = true})
    fn(x):backward()
    return x.grad[0]:item()
  end
  assert(grad_of(function(x) return n.all_reduce(x):sum() * w end) == 3)
  assert(grad_of(function(x) return torch.stack(n.all_gather(x)):sum() * w end) == 3)
  assert(grad_of(function(x) return n.broadcast(x, 1):sum() * w end) == (rank == 1 and 3 or 0))
  assert(grad_of(function(x) return n.reduce(x, 1):sum() * w end) == 2)
  assert(grad_of(function(x) return torch.stack(n.gather(x, 1)):sum() * w end) == 2)
  assert(grad_of(function(x) return n.scatter({x, x * 10}, 1):sum() * w end) == (rank == 1 and 21 or 0))
  assert(grad_of(function(x) return n.reduce_scatter(torch.empty(2), {x, x * 10}):sum() * w end) == 21)
  assert(grad_of(function(x)
    return torch.stack(n.all_to_all({torch.empty(2), torch.empty(2)}, {x, x * 10})):sum() * w
  end) == 21)
  assert(grad_of(function(x) return n.all_to_all_single(torch.empty(2), x):sum() * w end) == 1)
    """,
        workers=2,
        trainer="TorchTrainer",
    )
    assert result.returncode == 0, result.stderr
