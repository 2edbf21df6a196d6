"""One file is a complete deployment: the executable alone, next to a Python environment with torch, trains on the GPU."""

import pathlib
import shutil
import subprocess

from conftest import RTRAIN

TRAIN = """
local torch, train = require 'torch', require 'rtrain'

local function step()
  local device = train.torch.get_device()
  local model = train.torch.prepare_model(torch.nn.Linear(8, 1))
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = 0.1})
  local x = torch.randn(64, 8, {device = device})
  local y = x:sum(1, true)
  for _ = 1, 200 do
    optimizer:zero_grad()
    local loss = torch.nn.functional.mse_loss(model(x), y)
    loss:backward()
    optimizer:step()
    LOSS = loss
  end
  train.report{loss = LOSS:item(), device = LOSS.device}
end

train.TorchTrainer{train_loop_per_worker = step, scaling_config = train.ScalingConfig{use_gpu = true}}:fit()
"""


def test_the_executable_alone_next_to_a_python_environment_trains_on_the_gpu(rtrain):
    libtorch = pathlib.Path(rtrain.json("env")["libtorch"]["path"])
    packages = rtrain.folder / "environment" / "lib" / "python3.12" / "site-packages"
    packages.parent.mkdir(parents=True)
    packages.symlink_to(libtorch.parent.parent)
    empty = rtrain.folder / "empty"
    empty.mkdir()
    executable = shutil.copy(RTRAIN, empty / "rtrain")
    (empty / "train.lua").write_text(TRAIN)
    variables = {
        "HOME": str(rtrain.folder),
        "PATH": "/usr/bin:/bin",
        "VIRTUAL_ENV": str(rtrain.folder / "environment"),
        "RTRAIN_STORAGE": rtrain.env["RTRAIN_STORAGE"],
        "RTRAIN_RUNTIME_DIR": rtrain.env["RTRAIN_RUNTIME_DIR"],
    }
    result = subprocess.run(
        [executable, "run", "train.lua"], env=variables, cwd=empty, capture_output=True, text=True, timeout=100
    )
    assert result.returncode == 0, result.stdout + result.stderr
    (report,) = rtrain.reports()
    assert report["device"] == "cuda:0" and report["loss"] < 0.1
    assert sorted(path.name for path in empty.iterdir()) == ["rtrain", "train.lua"]
