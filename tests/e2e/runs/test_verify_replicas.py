"""FailureConfig.verify_replicas: a bit that changes on one rank is found at the next commit, named, and mended."""

import subprocess
import sys

import pytest

from conftest import RTRAIN, SOURCE, sample

FLIPS = SOURCE / "tests" / "soak" / "kills" / "flips.py"

# Each rank reports a hash of its parameters at the end. FLIP runs between the optimizer's step 4 and its commit.
SCRIPT = """
    local torch, train = require 'torch', require 'rtrain'
    train.TorchTrainer{train_loop_per_worker = function()
      local rank = train.get_context():get_world_rank()
      torch.manual_seed(1)
      local layers = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
      local model = train.torch.prepare_model(layers)
      local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.05})
      local state = train.state{model = model, optimizer = optimizer, step = 0}
      local checkpoint = train.get_checkpoint()
      state:load(checkpoint)
      local function flip(tensor, bit)
        tensor:detach():view(-1):view('int32'):narrow(0, 3, 1):bitwise_xor_(2 ^ bit)
      end
      train.elastic(state, function()
        while state.step < 8 do
          optimizer:zero_grad()
          torch.manual_seed(100 * state.step + rank)
          model(torch.randn(4, 6)):pow(2):mean():backward()
          optimizer:step()
          state.step = state.step + 1
          if state.step == 4 and not checkpoint then
            local first = model:parameters()[1]
            FLIP
          end
          state:commit()
          if state.step == 2 then
            train.tempdir(function(dir)
              state:save(dir)
              train.report({step = 2}, {checkpoint = train.Checkpoint.from_directory(dir)})
            end)
          end
        end
      end)
      train.report{hash = (require('torch._C')._hash_tensors(layers:parameters()))}
    end, scaling_config = train.ScalingConfig{num_workers = WORKERS},
    run_config = train.RunConfig{failure_config = train.FailureConfig{LIMITS}}}:fit()
    """


def run(rtrain, workers, flip, limits, script=SCRIPT):
    text = script.replace("WORKERS", str(workers)).replace("FLIP", flip).replace("LIMITS", limits)
    result = rtrain.run(text, "--oversubscribe")
    assert result.returncode == 0, result.stdout + result.stderr
    ranks = rtrain.json("metrics", "last", "--ranks")[-1]["ranks"]
    return [rank["hash"] for rank in ranks], result.stdout + result.stderr


def events(rtrain):
    return [row[0] for row in rtrain.query("SELECT text FROM events")]


@pytest.mark.parametrize(
    "flip, named",
    [
        ("if rank == 1 then flip(first, 7) end", "after commit 4 'model.0.weight' of rank 1"),
        ("if rank == 0 then flip(optimizer.state[first].exp_avg, 30) end", "'optimizer.state[1].exp_avg' of rank 0"),
        (
            "if rank == 2 then for _, p in ipairs(layers:parameters()) do p:detach():mul_(2) end end",
            " and 5 more of rank 2",
        ),
    ],
    ids=["parameter", "optimizer", "all"],
)
def test_the_rank_that_differs_is_named_and_gets_the_state_of_the_others(rtrain, flip, named):
    calm, output = run(rtrain, 3, "", "verify_replicas = 1")
    assert calm[0] == calm[1] == calm[2] and "differs from" not in output
    mended, output = run(rtrain, 3, flip, "verify_replicas = 1")
    assert mended == calm
    (text,) = [text for text in events(rtrain) if "differs from the other ranks" in text]
    assert named in text


@pytest.mark.parametrize("replicas", sample(2, 4, 3))
def test_random_flips_one_after_the_other(rtrain, replicas):
    """tests/soak/kills/flips.py makes any number of them."""
    command = [sys.executable, FLIPS, "--flips", "20", "--replicas", str(replicas), "--seed", str(replicas)]
    result = subprocess.run(command, env={**rtrain.env, "RTRAIN": RTRAIN}, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith(f"seed {replicas}: 20 flips")


def test_it_is_found_when_the_step_is_one_of_every_n(rtrain):
    flip = "if rank == 1 then flip(first, 7) end"
    unseen, _ = run(rtrain, 3, flip, "")
    assert unseen[1] != unseen[0] == unseen[2]
    mended, _ = run(rtrain, 3, flip, "verify_replicas = 4")
    assert len(set(mended)) == 1
    (text,) = [text for text in events(rtrain) if "differs from the other ranks" in text]
    assert "after commit 4 " in text


def test_two_ranks_go_back_to_the_checkpoint(rtrain):
    calm, _ = run(rtrain, 2, "", "verify_replicas = 1")
    mended, output = run(rtrain, 2, "if rank == 1 then flip(first, 0) end", "verify_replicas = 1, max_failures = 1")
    assert mended == calm
    assert "after commit 4 'model.0.weight' of ranks 0 and 1 differ from each other" in output


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("every", sample(1, 2))
def test_of_two_ranks_the_one_that_differs_is_named_when_the_step_is_made_again(rtrain, rank, every):
    """The group begins again at step 2, whose second commit is that of step 4."""
    run(rtrain, 2, f"if rank == {rank} then flip(first, 0) end", f"verify_replicas = {every}, max_failures = 1")
    (text,) = [text for text in events(rtrain) if "were made again" in text]
    assert f"the steps up to commit 2 were made again: rank {rank} had another state" in text
    assert not list(rtrain.storage.glob("*/.suspects"))


def test_a_damaged_rank_gives_its_state_to_no_new_one(rtrain):
    """Rank 0, the first that holds the commit, is damaged in it, and rank 2 dies in it."""
    calm, _ = run(rtrain, 4, "", "verify_replicas = 1")
    flip = """
        local files = require 'files'
        if rank == 0 and files.once 'damaged' then flip(first, 7) end
        files.wait_for 'damaged'
        if rank == 2 and files.once 'lost' then os.execute 'kill -9 $PPID' end
        files.wait_for 'lost'
    """
    mended, _ = run(rtrain, 4, flip, "verify_replicas = 1")
    assert mended == calm
    (text,) = [text for text in events(rtrain) if "differs from the other ranks" in text]
    assert "after a loss the state of rank 0" in text
    assert rtrain.query("SELECT status FROM attempts ORDER BY started_at DESC LIMIT 2") == [("FINISHED",), ("HEALED",)]


def without_elastic(flip, compiled="false"):
    """Returns the script with a plain loop. FLIP runs in a hook of the optimizer, before its steps are compared."""
    first, last = SCRIPT.index("train.elastic("), SCRIPT.index("train.report{hash")
    loop = f"""
      local step = 0
      local function train_step(x)
        optimizer:zero_grad()
        model(x):pow(2):mean():backward()
        optimizer:step()
      end
      if {compiled} then train_step = train.compile(train_step) end
      optimizer:register_step_post_hook(function()
        if step == 4 and not {compiled} then
          local first = model:parameters()[1]
          FLIP
        end
      end)
      while step < 8 do
        step = step + 1
        torch.manual_seed(100 * step + rank)
        train_step(torch.randn(4, 6))
        if step == 6 and {compiled} then
          local first = model:parameters()[1]
          FLIP
        end
      end
      """
    return (SCRIPT[:first] + loop + SCRIPT[last:]).replace("FLIP", flip)


def test_a_loop_without_elastic_compares_after_each_step(rtrain):
    flip = "if rank == 1 then flip(first, 7) end"
    calm, _ = run(rtrain, 3, "", "verify_replicas = 1", without_elastic(""))
    mended, _ = run(rtrain, 3, "", "verify_replicas = 1", without_elastic(flip))
    assert mended == calm and len(set(calm)) == 1
    (text,) = [text for text in events(rtrain) if "differs from the other ranks" in text]
    assert "after step 4 'model.0.weight' of rank 1" in text


def test_so_does_one_whose_step_is_compiled(rtrain):
    flip = "if rank == 1 then flip(first, 7) end"
    mended, _ = run(rtrain, 3, "", "verify_replicas = 1", without_elastic(flip, compiled="true"))
    assert len(set(mended)) == 1
    (text,) = [text for text in events(rtrain) if "differs from the other ranks" in text]
    assert "after step 7 " in text


@pytest.mark.parametrize("script", [SCRIPT, without_elastic("FLIP")], ids=["elastic", "plain"])
def test_auto_compares_as_often_as_costs_little(rtrain, script):
    """At the latest after 1,000 steps."""
    script = script.replace("state.step < 8", "state.step < 1010").replace("step < 8", "step < 1010")
    flip = "if rank == 1 then flip(first, 7) end"
    mended, _ = run(rtrain, 3, flip, "verify_replicas = 'auto'", script)
    assert len(set(mended)) == 1
    assert len([text for text in events(rtrain) if "differs from the other ranks" in text]) == 1


def test_an_optimizer_that_the_ranks_divide_is_left_out(rtrain):
    script = SCRIPT.replace(
        "torch.optim.Adam(model:parameters(), {lr = 0.05})",
        "torch.distributed.optim.ZeroRedundancyOptimizer(model:parameters(), torch.optim.Adam, {lr = 0.05})",
    ).replace("if state.step == 2 then", "if false then")
    text = script.replace("WORKERS", "3").replace("FLIP", "").replace("LIMITS", "verify_replicas = 1")
    result = rtrain.run(text, "--oversubscribe")
    assert result.returncode == 0, result.stdout + result.stderr
    assert not [text for text in events(rtrain) if "differ" in text]
