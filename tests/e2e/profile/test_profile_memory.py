"""`rtrain profile --memory`: which script line holds the memory of tensors, with the exact bytes."""

import json

from conftest import ENDLESS

# Each step keeps one more tensor of 1,000,000 bytes, creates a temporary one, and trains a model that existed before.
LEAKING = """
local torch = require 'torch'
local nn = torch.nn
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function()
    local model = nn.Linear(500, 1000)
    local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.01})
    local kept = {}
    for step = 1, math.huge do
      kept[#kept + 1] = torch.zeros(250, 1000) -- kept
      local x = torch.ones(1000, 500) -- passing
      local loss = model(x):sum()
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
      train.report{kept = #kept}
      os.execute('sleep 0.05')
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'leaking'},
}:fit()
"""


def line_of(rtrain, mark):
    lines = (rtrain.folder / "train.lua").read_text().splitlines()
    return f"train.lua:{1 + next(i for i, text in enumerate(lines) if text.endswith(f'-- {mark}'))}"


def kept(rtrain):
    """Returns the value of the last report."""
    return rtrain.json("metrics", "leaking")[-1]["metrics"]["kept"]


def ended(line, place):
    return line["line"].endswith(place)


def test_the_line_that_leaks_is_named_with_its_exact_bytes(rtrain):
    running = rtrain.started("run", rtrain.script(LEAKING), reports=2)
    before = kept(rtrain)
    result = rtrain("profile", "leaking", "--memory", "--steps", "12", "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    (profile,), (memory,) = document["profiles"], document["memory"]
    assert profile["path"].endswith("-rank0.memory.json") and profile["events"] > 24 and not profile.get("note"), (
        profile
    )
    assert json.load(open(profile["path"])) == memory and memory["rank"] == 0 and memory["names"] is True
    (cpu,) = memory["devices"]
    assert cpu["device"] == "cpu" and cpu["peak_bytes"] >= max(cpu["end_bytes"], cpu["begin_bytes"]) > 0

    # The leaking line has exactly the bytes of its tensors.
    (leaks,) = [line for line in cpu["lines"] if ended(line, line_of(rtrain, "kept"))]
    assert leaks["count"] >= 11 and leaks["bytes"] == 1_000_000 * leaks["count"], leaks
    assert leaks["taken_bytes"] == leaks["bytes"] and leaks["kinds"] == [
        {"kind": "float32 [250, 1000]", "count": leaks["count"], "bytes": leaks["bytes"]}
    ]
    # The line of temporary tensors allocated the same size each time, and holds only those of the current step.
    (passing,) = [line for line in cpu["lines"] if ended(line, line_of(rtrain, "passing"))]
    assert passing["taken_bytes"] == 2_000_000 * passing["taken_count"] and passing["taken_count"] >= 11
    assert passing["bytes"] == 2_000_000 * passing["count"] and passing["count"] <= 2
    assert cpu["num_lines"] == len(cpu["lines"]) and cpu["new_bytes"] == sum(line["bytes"] for line in cpu["lines"])

    # By name: memory that existed before the recording, and new memory.
    by_name = {tensor["name"]: tensor for tensor in cpu["tensors"]}
    weight = by_name["model.weight"]
    assert (
        weight["older"] is True
        and weight["line"] == ""
        and weight["bytes"] == 2_000_000
        and weight["kind"] == "float32 [1000, 500]"
    )
    assert by_name["kept.1"]["older"] is True and by_name["kept.1"]["bytes"] == 1_000_000
    new = [tensor for name, tensor in by_name.items() if name.startswith("kept.") and not tensor["older"]]
    assert new and all(ended(tensor, line_of(rtrain, "kept")) and tensor["bytes"] == 1_000_000 for tensor in new)

    # The curve over time.
    seconds, values = zip(*cpu["curve"])
    assert list(seconds) == sorted(seconds) and max(values) <= cpu["peak_bytes"] and len(values) > 1

    # The text output of both ranks; a second recording measures from its own start.
    text = rtrain("profile", "leaking", "--memory", "--steps", "4", "--rank", "all")
    assert text.returncode == 0, text.stderr
    for part in (
        "rank 0, cpu: tensors have",
        "rank 1, cpu: tensors have",
        line_of(rtrain, "kept"),
        "float32 [250, 1000]",
        "model.weight",
        "(before)",
    ):
        assert part in text.stdout, text.stdout
    assert "allocations in" in text.stderr
    stopped = rtrain("stop", "leaking", "--now")
    assert stopped.returncode == 0, stopped.stderr
    running.wait()
    # The script has allocated at least that many tensors.
    assert leaks["count"] <= kept(rtrain) + 1 - before


# Garbage that nothing else collects: it is small, and no optimizer step triggers a collection.
LITTERING = """
local torch = require 'torch'
local train = require 'rtrain'
local function litter()
  for _ = 1, 20 do
    local ring = {tensor = torch.ones(1000)} -- litter
    ring.self = ring
  end
end
train.TorchTrainer{
  train_loop_per_worker = function()
    local kept = {}
    for step = 1, math.huge do
      litter()
      kept[#kept + 1] = torch.zeros(1000) -- kept
      train.report{step = step}
      os.execute('sleep 0.05')
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = 1},
  run_config = train.RunConfig{name = 'littering'},
}:fit()
"""


def test_garbage_does_not_count(rtrain):
    running = rtrain.started("run", rtrain.script(LITTERING), reports=3)
    result = rtrain("profile", "littering", "--memory", "--steps", "6", "--json")
    assert result.returncode == 0, result.stderr
    ((cpu,),) = [memory["devices"] for memory in json.loads(result.stdout)["memory"]]
    lines = {
        mark: next(line for line in cpu["lines"] if ended(line, line_of(rtrain, mark))) for mark in ("litter", "kept")
    }
    assert lines["litter"]["taken_count"] >= 100 and lines["litter"]["peak_bytes"] > 4000 * 80
    # The loop's last iteration may still be in the stack slots of its function.
    assert lines["litter"]["count"] <= 2 and lines["litter"]["bytes"] == 4000 * lines["litter"]["count"], cpu["lines"]
    assert lines["kept"]["bytes"] == 4000 * lines["kept"]["count"] and lines["kept"]["count"] >= 5
    # Garbage that existed at the start is not counted there, so it does not hide growth.
    assert abs(cpu["reachable_bytes"] - lines["kept"]["bytes"] - cpu["begin_bytes"]) <= 2 * 4000, cpu
    assert abs(cpu["end_bytes"] - cpu["reachable_bytes"]) <= 2 * 4000, cpu
    assert rtrain("stop", "littering", "--now").returncode == 0
    running.wait()


def test_a_rank_that_calls_no_operator_has_no_names(rtrain):
    text = ENDLESS.replace("torch.distributed.barrier()", "if epoch == 1 then torch.ones(2) end")
    running = rtrain.started("run", rtrain.script(text), reports=2)
    result = rtrain("profile", "endless", "--memory", "--steps", "2", "--json")
    (profile,) = json.loads(result.stdout)["profiles"]
    assert "has called no operator" in profile["note"], profile
    (memory,) = json.loads(result.stdout)["memory"]
    assert memory["names"] is False and memory["devices"][0]["lines"] == []
    for wrong in (("--flame",), ("--shapes",), ("--idle",), ("-o", "x.json"), ("--timeline",)):
        refused = rtrain("profile", "endless", "--memory", *wrong)
        assert refused.returncode == 2 and "leave out" in refused.stderr, refused.stderr
    assert rtrain("stop", "endless", "--now").returncode == 0
    running.wait()
    assert not list((rtrain.run_folder("endless") / "profiles").glob("*.partial"))
