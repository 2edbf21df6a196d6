"""A train function on GPUs that tests/fake_nvidia plays: which device each rank gets, and that tensors live there."""

from fake_driver import play_gpus


def test_each_rank_has_its_device(rtrain):
    play_gpus(rtrain, 2)
    rtrain.run_ok("""
        local torch = require 'torch'
        local train = require 'rtrain'
        train.TorchTrainer{train_loop_per_worker = function()
          local x = torch.tensor{1, 2, 3}:to(train.torch.get_device())
          train.report{device = tostring(x.device), last = x:cpu()[2]:item(), current = torch.cuda.current_device()}
        end, scaling_config = train.ScalingConfig{num_workers = 2, use_gpu = true}}:fit()
        """)
    ranks = rtrain.json("metrics", "last", "--ranks")[0]["ranks"]
    assert [rank["device"] for rank in ranks] == ["cuda:0", "cuda:1"]
    assert [rank["last"] for rank in ranks] == [3, 3]
    assert [rank["current"] for rank in ranks] == [0, 1]
