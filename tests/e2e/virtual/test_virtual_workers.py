"""ScalingConfig.virtual_workers: any number of processes ends with the same bits."""

import pytest

from virtual_runs import set_all, text, train


def failed(result, *words):
    assert result.returncode != 0, result.stdout
    for word in words:
        assert word in result.stderr, result.stderr


NETS = ["mlp", "conv", "lstm", "transformer"]


@pytest.mark.parametrize("net", NETS)
def test_parameters_optimizer_state_and_reports_have_the_same_bits(rtrain, net):
    first = train(rtrain, 1, [f"net={net}"])
    assert len(first[0].splitlines()) > 8 and len(first[1]) == 12
    for workers in (2, 3, 5, 8):
        assert train(rtrain, workers, [f"net={net}"]) == first, workers


def test_so_with_a_scaler_an_average_and_an_evaluation(rtrain):
    first = train(rtrain, 1, ["net=conv", "extras=true"])
    assert first[1][-1]["samples"] == 205 and first[1][-1]["scale"] == 16384 and "average.module" in first[0]
    for workers in (3, 8):
        assert train(rtrain, workers, ["net=conv", "extras=true"]) == first, workers


def test_a_batch_may_be_divided_with_no_sync(rtrain):
    script = text().replace(
        "scaler:scale(loss):backward()",
        "model:no_sync(function() model(bx):pow(2):mean():backward() end)\n"
        "torch.nn.functional.cross_entropy(model(bx), by):backward()",
    )
    script = script.replace(
        "cross_entropy(model(bx), by)\n", "cross_entropy(by:float():view{-1, 1}:expand(-1, 4), by)\n", 1
    )
    outs = []
    for workers in (1, 3, 8):
        rtrain.run_ok(script, "-n", str(workers), "--oversubscribe", "--set", "net=lstm")
        outs.append(((rtrain.folder / "out").read_text(), rtrain.reports()))
    assert outs[0] == outs[1] == outs[2]


def test_a_limit_counts_steps(rtrain):
    script = text()
    outs = []
    for workers in (1, 3):
        rtrain.run_ok(script, "-n", str(workers), "--oversubscribe", "--limit-batches", "2")
        outs.append(((rtrain.folder / "out").read_text(), rtrain.reports()))
    assert outs[0] == outs[1] and len(outs[0][1]) == 4


@pytest.mark.parametrize("setting", ["loaders=2", "accumulate=2", "drop_last=true", "samples=203"])
def test_so_with_loader_threads_accumulation_and_uneven_ends(rtrain, setting):
    first = train(rtrain, 1, ["net=conv", setting])
    for workers in (3, 8):
        assert train(rtrain, workers, ["net=conv", setting]) == first, workers


def test_a_backend_has_the_bits_of_another(rtrain):
    first = train(rtrain, 8, ["net=conv"])
    for workers in (1, 3, 8):
        assert train(rtrain, workers, ["net=conv"], backend="gloo") == first, workers


@pytest.mark.parametrize("virtual", [1, 3, 6])
def test_a_number_that_is_no_power_of_two(rtrain, virtual):
    first = train(rtrain, 1, virtual=virtual)
    for workers in range(2, virtual + 1):
        assert train(rtrain, workers, virtual=virtual) == first, workers


def test_a_checkpoint_goes_on_with_another_number(rtrain):
    """It has a whole step, in the middle of an epoch."""

    def last(reports):
        return [{key: value for key, value in each.items() if key != "i"} for each in reports[-4:]]

    straight = train(rtrain, 3, ["net=conv"])
    settings = ["net=conv", "save_every=2"]
    for before, after in ((1, 8), (8, 3), (5, 2)):
        name = f"resumed-{before}-{after}"
        failed(
            rtrain.run(text(name=name), "-n", before, "--oversubscribe", *set_all([*settings, "stop_at=9"])), "stopped"
        )
        resumed = train(rtrain, after, settings, "--resume", "must", name=name)
        assert resumed[0] == straight[0] and resumed[2] == straight[2]
        assert last(resumed[1]) == last(straight[1])


def test_as_many_processes_end_where_plain_workers_do(rtrain):
    """The tree adds in another order than DistributedDataParallel's mean, so up to rounding."""

    def numbers(out):
        return [float.fromhex(word) for line in out.splitlines() for word in line.split()[1:]]

    plain = train(rtrain, 3, ["net=plain"], virtual="nil")[0]
    virtual = train(rtrain, 3, ["net=plain"], virtual=3)[0]
    assert len(numbers(plain)) == len(numbers(virtual)) > 2000
    assert max(abs(a - b) for a, b in zip(numbers(plain), numbers(virtual))) < 1e-4


def test_the_run_keeps_the_number(rtrain):
    rtrain.run_ok(BODY.replace("BODY", STEP).replace("WORKERS", "2"), "--oversubscribe")
    assert rtrain.json("show", "last")["scaling"]["virtual_workers"] == 3


def test_fewer_virtual_workers_than_workers_are_refused(rtrain):
    failed(
        rtrain.run(text(virtual=2), "-n", "3"),
        "virtual_workers = 2 with num_workers = 3",
        "did you mean virtual_workers = 3?",
    )


BODY = """
local torch, train = require 'torch', require 'rtrain'
local data = torch.utils.data
local F = torch.nn.functional
train.TorchTrainer {
  train_loop_per_worker = function()
    local net = torch.nn.Linear(2, 1)
    local model = train.torch.prepare_model(net)
    local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.1})
    local set = data.TensorDataset(torch.randn(24, 2))
    local loader = train.torch.prepare_data_loader(data.DataLoader(set, {batch_size = 2}))
    local other = train.torch.prepare_data_loader(data.DataLoader(set, {batch_size = 2}))
    for x in loader do
      BODY
    end
  end,
  scaling_config = train.ScalingConfig {num_workers = WORKERS, virtual_workers = 3},
}:fit()
"""

STEP = "optimizer:zero_grad() model(x):sum():backward() optimizer:step()"

REFUSED = {
    "for y in other do end": "inside of another one",
    f"{STEP} model(x)": "after an optimizer's step in the same batch",
    "model:no_sync(function() model(x):sum():backward() end)": "had a forward pass with gradients and no backward pass",
    "model(x):sum():backward() model(x):sum():backward()": "after its backward pass",
    "optimizer:step(function() return model(x):sum() end)": "SGD:step(closure)",
    f"{STEP} torch.distributed.all_reduce(x)": "all_reduce in a loop over batches",
    f"{STEP} break": "break at the beginning of a batch",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_would_depend_on_the_number_of_processes_is_refused_at_its_line(rtrain, body):
    result = rtrain.run(BODY.replace("BODY", body).replace("WORKERS", "2"), "--oversubscribe")
    failed(result, REFUSED[body])
    assert "break" in body or "train.lua:1" in result.stderr


def test_a_collective_where_all_have_as_many_batches_is_warned_about(rtrain):
    body = f"{STEP} torch.distributed.all_reduce(x) train.get_context():get_world_rank()"
    result = rtrain.run_ok(BODY.replace("BODY", body).replace("WORKERS", "3"), "--oversubscribe")
    assert "all_reduce in a loop over batches is of one virtual rank" in result.stderr
    assert "the rank, in a loop over batches, is that of the process" in result.stderr


OPTIONS = {
    "train.torch.prepare_model(net, {parallel_strategy = 'fsdp'})": "another parallel_strategy than ddp",
    "train.torch.prepare_model(net, {parallel_strategy_kwargs = {find_unused_parameters = true}})": "find_unused_parameters",
    "train.torch.prepare_model(net, {parallel_strategy_kwargs = {broadcast_buffers = false}})": "broadcast_buffers",
    "train.torch.prepare_model(net):register_comm_hook('bf16_compress')": "register_comm_hook with virtual_workers",
    "train.torch.prepare_data_loader(data.DataLoader(set), {add_dist_sampler = false})": "add_dist_sampler",
}


@pytest.mark.parametrize("call", OPTIONS)
def test_options_that_virtual_workers_do_not_have(rtrain, call):
    failed(rtrain.run(BODY.replace("BODY", call).replace("WORKERS", "1")), OPTIONS[call])
