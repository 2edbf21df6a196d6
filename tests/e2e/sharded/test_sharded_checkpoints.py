"""Checkpoints of sharded models: saved by all ranks, loaded by any number of them, sharded or whole."""

import json
import os
import shutil
import struct

import pytest

# A model, its optimizer, and what says that two of them have the same bits.
COMMON = """
local tensor_bytes = require 'torch.tensor.tensor_bytes'
local torch = require 'torch'
local train = require 'rtrain'
local dist = torch.distributed
local dcp = dist.checkpoint

-- kind: 'fsdp', 'ddp' or 'whole'.
local function build(kind, seed, width, mesh, optimizer)
  torch.manual_seed(seed)
  local nn = torch.nn
  local input, hidden = width or 7, width or 30
  local model = nn.Sequential(nn.Linear(input, hidden), nn.BatchNorm1d(hidden), nn.Tanh(), nn.Linear(hidden, 2))
  if kind == 'fsdp' then
    for _, layer in ipairs{model[1], model[4], model} do dist.fsdp.fully_shard(layer, {mesh = mesh}) end
  elseif kind == 'ddp' then
    model = train.torch.prepare_model(model)
  end
  local groups = {{params = model:parameters(), weight_decay = 0.1}}
  return model, torch.optim[optimizer or 'AdamW'](groups, {lr = 0.01})
end

local function step(model, optimizer, number)
  local rank = dist.is_initialized() and dist.get_rank() or 0
  local generator = torch.Generator(100 * number + rank)
  optimizer:zero_grad()
  model(torch.randn(6, 7, {generator = generator})):pow(2):mean():backward()
  optimizer:step()
end

-- A number that two different states hardly share. Every rank calls it.
local function print_of(model, optimizer)
  local of_model, of_optimizer = dcp.state_dict.get_state_dict(model, optimizer, {full_state_dict = true})
  local hash = 0
  local function add(value)
    if torch.is_tensor(value) then
      value = tensor_bytes(value:detach():contiguous())
      for k = 1, #value do hash = (hash * 31 + value:byte(k)) % 2 ^ 40 end
    elseif type(value) == 'table' then
      local keys = {}
      for key in next, value do keys[#keys + 1] = tostring(key) end
      table.sort(keys)
      for _, key in ipairs(keys) do
        -- Buffers are each rank's own.
        if not key:find 'running_' then add(value[key] == nil and value[tonumber(key)] or value[key]) end
      end
    end
  end
  add(of_model)
  add(of_optimizer.state)
  assert(#of_optimizer.param_groups == 1 and of_optimizer.param_groups[1].weight_decay == 0.1)
  return hash
end
"""

TRAINER = (
    COMMON
    + """
train.TorchTrainer{
  train_loop_per_worker = function()
    @BODY
  end,
  scaling_config = train.ScalingConfig{num_workers = @WORKERS},
  run_config = train.RunConfig{name = '@NAME'},
  torch_config = train.TorchConfig{backend = '@BACKEND'},
}:fit()
"""
)

BACKENDS = {"shm": "cpu:shm,cuda:nccl", "gloo": "gloo"}


@pytest.fixture(params=["shm", "gloo"])
def backend(request):
    return BACKENDS[request.param]


def run(rtrain, body, workers, name, backend=BACKENDS["shm"]):
    script = TRAINER
    for mark, value in (("@BODY", body), ("@WORKERS", workers), ("@NAME", name), ("@BACKEND", backend)):
        script = script.replace(mark, str(value))
    rtrain.run_ok(script, "--oversubscribe")
    return rtrain.json("metrics", name, "--ranks")[0]["ranks"]


def save(rtrain, folder, workers=4, backend=BACKENDS["shm"], kind="fsdp", call="save", name="saves", optimizer="AdamW"):
    """Trains three steps and saves; returns what says which bits were saved."""
    rows = run(
        rtrain,
        f"""
        local model, optimizer = build('{kind}', 1, nil, nil, '{optimizer}')
        for number = 1, 3 do step(model, optimizer, number) end
        local of_model, of_optimizer = dcp.state_dict.get_state_dict(model, optimizer)
        local saved = {{model = of_model, optimizer = of_optimizer, step = 3}}
        local handle = dcp.{call}(saved, {{checkpoint_id = '{folder}'}})
        local print = print_of(model, optimizer)
        step(model, optimizer, 4)  -- too late to be saved
        if handle then handle:result() end
        train.report{{print = print}}
        """,
        workers,
        name,
        backend,
    )
    return rows[0]["print"]


def load(rtrain, folder, workers, kind, name, backend=BACKENDS["shm"], optimizer="AdamW"):
    rows = run(
        rtrain,
        f"""
        local model, optimizer = build('{kind}', 2, nil, nil, '{optimizer}')
        local state = {{step = 0}}
        state.model, state.optimizer = dcp.state_dict.get_state_dict(model, optimizer)
        dcp.load(state, {{checkpoint_id = '{folder}'}})
        dcp.state_dict.set_state_dict(model, optimizer, {{model_state_dict = state.model, optim_state_dict = state.optimizer}})
        local print = print_of(model, optimizer)
        step(model, optimizer, 4)
        train.report{{print = print, step = state.step}}
        """,
        workers,
        name,
        backend,
    )
    assert all(row["step"] == 3 and row["print"] == rows[0]["print"] for row in rows)
    return rows[0]["print"]


@pytest.mark.parametrize("call", ["save", "async_save"])
def test_any_number_of_ranks_loads_the_same_bits(rtrain, backend, call):
    folder = rtrain.folder / "checkpoint"
    saved = save(rtrain, folder, backend=backend, call=call)
    names = [f"shards-{rank:05}-of-00004.safetensors" for rank in range(4)]
    assert set(os.listdir(folder)) == {"shards.json", *names}
    for workers, kind in ((1, "fsdp"), (2, "fsdp"), (3, "fsdp"), (2, "ddp")):
        assert load(rtrain, folder, workers, kind, f"{kind}{workers}", backend) == saved, (workers, kind)


def test_state_of_another_shape_than_the_parameters(rtrain):
    """Adafactor keeps means of rows, which are divided, and of columns, which are whole: also of the matrix of which a
    rank has one row."""
    folder = rtrain.folder / "checkpoint"
    saved = save(rtrain, folder, optimizer="Adafactor")
    for workers, kind in ((1, "fsdp"), (3, "fsdp"), (2, "ddp")):
        assert load(rtrain, folder, workers, kind, f"{kind}{workers}", optimizer="Adafactor") == saved, (workers, kind)
    sharded = fit(rtrain, "sharded", workers=4, steps=2, optimizer="Adafactor")[-1]["print"]
    path = checkpoint_of(rtrain, "sharded")
    whole = fit(rtrain, "whole", workers=2, steps=2, kind="ddp", optimizer="Adafactor")[-1]["print"]
    ordinary = checkpoint_of(rtrain, "whole")
    for name, workers, kind in (("a", 1, "whole"), ("b", 2, "fsdp"), ("c", 6, "fsdp")):
        row = fit(rtrain, "s" + name, workers=workers, steps=2, kind=kind, optimizer="Adafactor", **{"from": path})[-1]
        assert (row["first"], row["loaded"]) == (2, sharded), (workers, kind)
    row = fit(rtrain, "o", workers=3, steps=2, optimizer="Adafactor", **{"from": ordinary})[-1]
    assert (row["first"], row["loaded"]) == (2, whole)


def test_a_whole_models_checkpoint_is_loaded_sharded(rtrain):
    folder = rtrain.folder / "checkpoint"
    saved = save(rtrain, folder, workers=2, kind="ddp")
    assert load(rtrain, folder, 3, "fsdp", "fsdp3") == saved


def test_replicas_write_their_rows_once(rtrain):
    folder = rtrain.folder / "checkpoint"
    body = f"""
        local model, optimizer = build('fsdp', 1, nil, dist.init_device_mesh('cpu', {{2, 2}}))
        for number = 1, 3 do step(model, optimizer, number) end
        local of_model, of_optimizer = dcp.state_dict.get_state_dict(model, optimizer)
        dcp.save({{model = of_model, optimizer = of_optimizer, step = 3}}, {{checkpoint_id = '{folder}'}})
        train.report{{print = print_of(model, optimizer)}}
    """
    saved = run(rtrain, body, 4, "replicas")[0]["print"]
    tensors = json.loads((folder / "shards.json").read_text())["tensors"]
    assert [part[0] for part in tensors["model.0.weight"]["parts"]] == [0, 1]
    # The replicas write what is whole instead.
    assert {part[0] for entry in tensors.values() for part in entry["parts"]} == {0, 1, 2, 3}
    assert load(rtrain, folder, 3, "fsdp", "fsdp3") == saved


def sizes_of(folder):
    return [os.path.getsize(folder / name) for name in sorted(os.listdir(folder)) if name.endswith(".safetensors")]


def test_ranks_write_about_as_much(rtrain):
    folder = rtrain.folder / "checkpoint"
    body = """
        local state = {}
        for i = 1, 20 do state['x' .. i] = torch.full({1000 * i}, i) end
        dcp.save(state, {checkpoint_id = '%s'})
        train.report{done = 1}
    """
    run(rtrain, body % folder, 3, "whole")
    sizes = sizes_of(folder)
    assert len(sizes) == 3 and max(sizes) < 1.05 * min(sizes)


def test_a_load_reads_only_its_rows(rtrain):
    folder = rtrain.folder / "checkpoint"
    body = """
        local function bytes_read()
          for line in io.lines '/proc/self/io' do
            if line:find '^rchar' then return tonumber(line:match '%%d+') end
          end
        end
        local model, optimizer = build('fsdp', 1, 1500)
        local state = {model = model:state_dict()}
        if %s then
          dcp.save(state, {checkpoint_id = '%s'})
          train.report{bytes = 0}
        else
          dcp.load({}, {checkpoint_id = '%s'})  -- reads the modules' files
          local before = bytes_read()
          dcp.load(state, {checkpoint_id = '%s'})
          train.report{bytes = bytes_read() - before}
        end
    """
    run(rtrain, body % ("true", folder, folder, folder), 4, "saves")
    rows = run(rtrain, body % ("false", folder, folder, folder), 3, "loads")
    total = sum(sizes_of(folder))
    assert total > 9_000_000
    assert sum(row["bytes"] for row in rows) <= 1.02 * total


def execute(rtrain, folder):
    """Loads the checkpoint in a process of its own, into the whole model."""
    script = (
        COMMON
        + """
        local model, optimizer = build('whole', 2)
        local state = {step = 0}
        state.model, state.optimizer = dcp.state_dict.get_state_dict(model, optimizer)
        local before = model[1].weight:clone()
        local ok, err = pcall(dcp.load, state, {checkpoint_id = arg[1]})
        if not ok then
          assert(torch.equal(model[1].weight, before) and state.step == 0, 'the model was changed')
          print(err.code, err.message)
        else
          print 'loaded'
        end
        """
    )
    result = rtrain("exec", rtrain.script(script), folder)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_damage_is_named_and_changes_nothing(rtrain):
    whole = rtrain.folder / "checkpoint"
    save(rtrain, whole)
    assert "loaded" in execute(rtrain, whole)
    part = [f"shards-{rank:05}-of-00004.safetensors" for rank in range(4)]

    def damaged(change, *words):
        folder = rtrain.folder / "damaged"
        shutil.copytree(whole, folder)
        change(folder)
        text = execute(rtrain, folder)
        shutil.rmtree(folder)
        assert text.startswith("checkpoint"), text
        for word in words:
            assert word in text, text

    def rewrite(folder, old, new):
        path = folder / part[1]
        data = path.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        header = data[8 : 8 + size].replace(old, new)
        assert len(header) == size and header != data[8 : 8 + size]
        path.write_bytes(data[:8] + header + data[8 + size :])

    def change_index(folder, fn):
        content = json.loads((folder / "shards.json").read_text())
        fn(content["tensors"]["model.0.weight"])
        (folder / "shards.json").write_text(json.dumps(content))

    damaged(lambda f: os.truncate(f / part[2], 700), part[2])
    damaged(lambda f: os.truncate(f / part[2], os.path.getsize(f / part[2]) - 1), part[2])
    damaged(lambda f: (f / part[3]).unlink(), part[3], "No such file")
    damaged(lambda f: shutil.copy(f / part[0], f / part[1]), part[1], "is part 1 of 4, not part 2 of 4")
    damaged(lambda f: rewrite(f, b"model.0.weight", b"model.0.weihgt"), part[1], "has no tensor 'model.0.weight'")
    damaged(lambda f: rewrite(f, b'"F32"', b'"I32"'), part[1], "is int32", "not float32")
    damaged(lambda f: (f / "shards.json").unlink(), "has no shards.json")
    damaged(lambda f: (f / "shards.json").write_text("{"), "shards.json", "damaged")
    change = change_index
    damaged(lambda f: change(f, lambda t: t["parts"].pop(1)), "'model.0.weight'", "are missing")
    damaged(lambda f: change(f, lambda t: t["parts"].insert(1, t["parts"][1])), "'model.0.weight'", "is there twice")
    damaged(lambda f: change(f, lambda t: t.update(dtype="float64")), "model.0.weight", "float64")


def test_python_reads_the_parts(rtrain):
    torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
    safetensors = pytest.importorskip("safetensors.torch", reason="Python's safetensors is not here")
    folder = rtrain.folder / "checkpoint"
    save(rtrain, folder)
    content = json.loads((folder / "shards.json").read_text())
    files = [safetensors.load_file(folder / f"shards-{rank:05}-of-00004.safetensors") for rank in range(4)]
    for name, entry in content["tensors"].items():
        rows = [files[part[0]][part[3] if len(part) > 3 else name] for part in entry["parts"]]
        whole = rows[0] if len(rows) == 1 else torch.cat(rows)
        assert list(whole.shape) == entry["shape"] and str(whole.dtype) == "torch." + entry["dtype"], name
    assert len(content["tensors"]["model.0.weight"]["parts"]) == 4
    assert content["values"]["step"]["value"] == 3


def test_ranks_with_other_names_are_refused(rtrain):
    body = """
        local state = {[dist.get_rank() == 0 and 'a' or 'b'] = torch.ones(2)}
        local ok, err = pcall(dcp.save, state, {checkpoint_id = '%s'})
        train.report{text = err.message, code = err.code}
    """
    rows = run(rtrain, body % (rtrain.folder / "checkpoint"), 2, "names")
    for row in rows:
        assert row["code"] == "argument" and "rank 1 has other tensors than rank 0" in row["text"]


def test_an_error_of_one_rank_is_one_of_all(rtrain):
    """Rank 1 cannot write its file: a folder has its name."""
    folder = rtrain.folder / "checkpoint"
    (folder / "shards-00001-of-00002.safetensors").mkdir(parents=True)
    body = """
        local ok, err = pcall(dcp.save, {a = torch.ones(2), b = torch.ones(2)}, {checkpoint_id = '%s'})
        assert(not ok)
        train.report{text = err.message, code = err.code}
    """
    first, second = run(rtrain, body % folder, 2, "fails")
    assert first["code"] == "checkpoint" and "rank 1 could not write its part" in first["text"]
    assert "shards-00001-of-00002.safetensors" in second["text"]
    assert not (folder / "shards.json").exists()


# train.state, with a rank that is killed.
STATE = (
    COMMON
    + """
train.TorchTrainer{
  train_loop_per_worker = function(config)
    local model, optimizer = build(config.kind, 1, nil, nil, config.optimizer)
    local scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    local state = train.state{model = model, optimizer = optimizer, scheduler = scheduler, step = 0}
    local checkpoint = config.from ~= '' and train.Checkpoint.from_directory(config.from) or train.get_checkpoint()
    if checkpoint then state:load(checkpoint) end
    local first = state.step
    local loaded = print_of(model, optimizer)
    while state.step < config.steps do
      state.step = state.step + 1
      if state.step == config.kill_at and first == 0 and dist.get_rank() == 1 then os.execute 'kill -9 $PPID' end
      step(model, optimizer, state.step)
      scheduler:step()
      train.tempdir(function(dir)
        state:save(dir, {async = config.async})
        train.report({first = first, loaded = loaded, print = print_of(model, optimizer), lr = scheduler:get_last_lr()[1]},
          {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
    end
    if config.steps == first then train.report{first = first, loaded = loaded} end
  end,
  train_loop_config = {kind = 'fsdp', steps = 5, kill_at = 0, async = false, from = '', optimizer = 'AdamW'},
  scaling_config = train.ScalingConfig{num_workers = 3},
  run_config = train.RunConfig{name = 'calm', failure_config = train.FailureConfig{max_failures = 1}},
}:fit()
"""
)


def fit(rtrain, name, workers=3, **config):
    options = [part for key, value in config.items() for part in ("--set", f"{key}={json.dumps(value).strip(chr(34))}")]
    result = rtrain("run", rtrain.script(STATE), "--oversubscribe", "--name", name, "-n", workers, *options)
    assert result.returncode == 0, result.stdout + result.stderr
    return [row["metrics"] for row in rtrain.json("metrics", name)]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_killed_run_ends_as_a_calm_one(rtrain, is_async):
    calm = fit(rtrain, "calm")
    killed = fit(rtrain, "killed", kill_at=4, **{"async": is_async})
    assert [row["print"] for row in killed] == [row["print"] for row in calm]
    assert killed[-1]["first"] == 3 and calm[-1]["first"] == 0
    assert killed[-1]["lr"] == calm[-1]["lr"] != 0.01


def checkpoint_of(rtrain, name):
    return rtrain.json("checkpoint", "ls", name)[-1]["path"]


def test_train_state_loads_into_other_numbers_and_kinds(rtrain):
    sharded = fit(rtrain, "sharded", workers=4, steps=2)[-1]["print"]
    path = checkpoint_of(rtrain, "sharded")
    assert {"shards.json", "train_state.pt", "train_state-rank-3.pt"} <= set(os.listdir(path))
    whole = fit(rtrain, "whole", workers=2, steps=2, kind="ddp")[-1]["print"]
    ordinary = checkpoint_of(rtrain, "whole")
    assert "shards.json" not in os.listdir(ordinary)
    for name, workers, kind in (("a", 1, "whole"), ("b", 2, "fsdp"), ("c", 3, "ddp"), ("d", 6, "fsdp")):
        row = fit(rtrain, "s" + name, workers=workers, steps=2, kind=kind, **{"from": path})[-1]
        assert (row["first"], row["loaded"]) == (2, sharded), (workers, kind)
        row = fit(rtrain, "o" + name, workers=workers, steps=2, kind=kind, **{"from": ordinary})[-1]
        assert (row["first"], row["loaded"]) == (2, whole), (workers, kind)


def test_export_makes_one_file(rtrain):
    fit(rtrain, "sharded", workers=3, steps=2)
    path = checkpoint_of(rtrain, "sharded")
    out = rtrain.folder / "model.safetensors"
    result = rtrain("checkpoint", "export", "sharded", "latest", "--safetensors", "-o", out)
    assert result.returncode == 0, result.stderr
    assert "of shards.json, model" in result.stderr
    script = """
        local torch = require 'torch'
        local one = torch.load_safetensors(arg[1])
        local all = require('rtrain').Checkpoint.from_directory(arg[2]):load().model
        local count = 0
        for name, tensor in require('base.ordered').items(one) do
          assert(torch.equal(tensor, all[name]), name)
          count = count + 1
        end
        print(count)
    """
    assert rtrain("exec", rtrain.script(script), out, path).stdout.split() == ["9"]


def test_export_takes_no_memory_for_the_model(rtrain):
    body = """
        local state = {model = {}}
        for i = 1, 4 do state.model['x' .. i] = torch.full({@MIB, 2 ^ 16}, i) end
        train.tempdir(function(dir)
          dcp.save(state, {checkpoint_id = dir})
          train.report({done = 1}, {checkpoint = train.Checkpoint.from_directory(dir)})
        end)
    """
    peaks = []
    for name, rows in (("small", 1), ("large", 100)):
        run(rtrain, body.replace("@MIB", str(rows)), 2, name)
        process = rtrain.popen("checkpoint", "export", name, "latest", "--safetensors", "-o", rtrain.folder / name)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.communicate()
        assert process.returncode == 0
        assert os.path.getsize(rtrain.folder / name) >= rows << 20
        peaks.append(usage.ru_maxrss << 10)
    assert peaks[1] - peaks[0] < 30 << 20
