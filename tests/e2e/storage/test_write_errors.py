"""A command or script that writes to a full or failing disk gets an error with the file's name, and the old file stays.

test_fault_storage.py and test_fault_sweep.py test the store, checkpoints and logs of a run.
"""

import shutil

import pytest

from conftest import ALL, Rtrain, leftovers, nightly

pytestmark = nightly

TRAINED = """
local torch, train = require 'torch', require 'rtrain'
local function build_model() return torch.nn.Linear(3, 1) end
train.TorchTrainer {
  train_loop_per_worker = function()
    local model = build_model()
    local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.1})
    train.log_image('noise', torch.zeros({3, 90, 90}, {dtype = 'uint8'}):random_(0, 255), {step = 1})
    train.log_text('words', ('word '):rep(3000), {step = 1})
    for i = 1, 3 do
      model(torch.ones(2, 3)):sum():backward()
      optimizer:step()
      train.tempdir(function(dir)
        torch.save({model = model:state_dict()}, dir .. '/model.pt')
        train.report({loss = 1 / i}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
    end
  end,
  run_config = train.RunConfig {name = 'run'},
}:fit()
"""

# The calls that fail: by day one of them for each writer, all of them by night.
CALLS = ["write|pwrite|copy_file_range", "rename", "fsync|fdatasync"]

LUA = {
    "x.pt": "torch.save({x = torch.zeros(5000)}, path)",
    "x.safetensors": "torch.save_safetensors({x = torch.zeros(5000)}, path)",
    "async.pt": "require('rtrain').async_save({x = torch.zeros(5000)}, path):result()",
    "x.png": "vision.io.write_png(torch.zeros({3, 80, 80}, {dtype = 'uint8'}):random_(0, 255), path)",
    "parquet/": "data.range(5000):write_parquet(path)",
    "csv/": "data.range(5000):write_csv(path)",
    "json/": "data.range(5000):write_json(path)",
    "numpy/": "data.range(5000):write_numpy(path, {column = 'id'})",
}

COMMANDS = {
    "x.csv": ("export", "run", "-o"),
    "x.jsonl": ("export", "run", "--format", "json", "-o"),
    "x.parquet": ("export", "run", "--format", "parquet", "-o"),
    "x.html": ("export", "run", "--html", "-o"),
    "events/": ("export", "run", "--format", "tensorboard", "-o"),
    "x.svg": ("plot", "run", "loss", "-o"),
    "plot.png": ("plot", "run", "loss", "-o"),
    "checkpoint/": ("checkpoints", "export", "run", "-o"),
    "model.safetensors": ("checkpoints", "export", "run", "--safetensors", "-o"),
    "media/": ("show", "run", "--media", "-o"),
    "predict.jsonl": ("predict", "run", "in.csv", "-o"),
    "predict.csv": ("predict", "run", "in.csv", "-o"),
    "predict.parquet": ("predict", "run", "in.csv", "-o"),
    "man/": ("man", "-o"),
    "stubs/": ("doc", "--stubs"),
    "trace.json": ("profile", "run", "--timeline", "-o"),
    "bundled": ("bundle", "train.lua", "-o"),
    "project/": ("init", "blank"),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    rtrain = Rtrain(tmp_path_factory.mktemp("results"))
    rtrain.run_ok(TRAINED, "-q")
    shutil.rmtree(rtrain.runtime)
    return rtrain.storage


def write(rtrain, name, path):
    """Runs the writer of that name."""
    if name in COMMANDS:
        rtrain.script(TRAINED)
        (rtrain.folder / "in.csv").write_text("a,b,c\n" + "".join(f"{i},{i / 7},{i / 3}\n" for i in range(9000)))
        return rtrain(*COMMANDS[name], path)
    head = "local torch, data, vision = require 'torch', require 'rtrain.data', require 'vision' local path = arg[1]\n"
    return rtrain("exec", rtrain.script(head + LUA[name], "write.lua"), path)


def check_refused(result, reason, path, name):
    told = result.stdout + result.stderr
    assert result.returncode == 4, told
    assert reason in result.stderr and str(path) in result.stderr, told
    assert "bug of rtrain" not in told
    if name in LUA:
        assert "write.lua:2" in result.stderr, told


# fault: disk full for what a script or a command writes
@pytest.mark.parametrize("name", [*LUA, *COMMANDS])
def test_a_full_disk(trained, small_disk, name):
    rtrain, disk = trained, small_disk("64k")
    path = disk / name.rstrip("/")
    if not name.endswith("/"):
        path.write_text("old")
    with open(disk / "filler", "wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4096))
    check_refused(write(rtrain, name, path), "No space left on device", path, name)
    left = [each for each in leftovers(disk) if each != "filler"]
    if name.endswith("/"):
        assert [each for each in left if (disk / each).is_file()] == []
    else:
        assert left == [name] and path.read_text() == "old"


# fault: the disk fails under what a script or a command writes
@pytest.mark.parametrize("name", [*LUA, *COMMANDS])
def test_a_disk_that_fails(trained, name):
    rtrain, folder = trained, trained.folder / "broken"
    folder.mkdir()
    path = folder / name.rstrip("/")
    if not name.endswith("/"):
        path.write_text("old")
    for call in CALLS if ALL else [CALLS[[*LUA, *COMMANDS].index(name) % len(CALLS)]]:
        log = rtrain.folder / "faults"
        log.unlink(missing_ok=True)
        rtrain.fail_calls(f"{call}:1+:EIO:path=/broken/", RTRAIN_FAULTIO_LOG=str(log))
        result = write(rtrain, name, path)
        if not log.exists():
            assert result.returncode == 0, result.stderr  # this writer does not make that call
            if name.endswith("/"):
                shutil.rmtree(path)
            else:
                path.write_text("old")
            continue
        check_refused(result, "Input/output error", path, name)
        if name.endswith("/"):
            assert [each for each in leftovers(folder) if (folder / each).is_file()] == [], call
            shutil.rmtree(path, ignore_errors=True)
        else:
            assert leftovers(folder) == [name] and path.read_text() == "old", call


SWEPT = """
local train = require 'rtrain'
train.TorchTrainer({
  train_loop_per_worker = function(config)
    for step = 1, 2 do train.report {loss = config.lr + step} end
  end,
  train_loop_config = {lr = 1},
}):fit()
"""


# fault: the disk fails under the journal of a sweep
@pytest.mark.parametrize("rule", ["open:1", "fsync|fdatasync:1+", "fsync|fdatasync:2+"])
def test_a_sweep_whose_journal_fails_goes_on_later(rtrain, rule):
    sweep = ["sweep", rtrain.script(SWEPT), "--grid", "lr=1,2,3", "--metric", "loss", "--jobs", "1", "--name", "swept"]
    before = dict(rtrain.env)
    rtrain.fail_calls(f"{rule}:EIO:path=journal.jsonl")
    result = rtrain(*sweep)
    journal = rtrain.storage / ".sweeps/swept/journal.jsonl"
    check_refused(result, "Input/output error", journal, "swept")
    rtrain.wait_for_processes()
    rtrain.env = before
    result = rtrain(*sweep, "--resume", "auto")
    assert result.returncode == 0, result.stderr
    runs = sorted((run["name"], run["status"], run["metrics"]["loss"]) for run in rtrain.json("ls"))
    assert runs == [(f"swept-00{i}", "FINISHED", i + 3) for i in range(3)]
