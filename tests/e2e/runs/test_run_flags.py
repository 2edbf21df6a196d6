"""rtrain run --seed, --deterministic, --limit-batches, --overfit: their effect on a script that does not read
them."""

import pytest

# Reports the random numbers of the script and of each rank, and the sums of the batches in three epochs.
SCRIPT = """
    local torch = require 'torch'
    local data = torch.utils.data
    local train = require 'rtrain'
    local drawn = torch.rand(1):item()
    local set = data.TensorDataset(torch.arange(40))
    train.TorchTrainer{
      train_loop_per_worker = function(config)
        local loader = train.torch.prepare_data_loader(data.DataLoader(set, {batch_size = 4, shuffle = true,
                                                                             num_workers = config.threads}))
        local shard = train.get_dataset_shard 'train'
        for epoch = 0, 2 do
          if config.set_epoch then loader.sampler:set_epoch(epoch) end
          local batches, rows = torch.list{}, torch.list{}
          for x in loader do
            batches[#batches + 1] = x:sum():item()
            x:zero_()
          end
          for batch in shard:iter_torch_batches{batch_size = 2} do rows[#rows + 1] = batch.id:sum():item() end
          train.report{epoch = epoch, batches = batches, rows = rows, length = #loader, script = drawn, seed = config.seed,
                       torch = torch.rand(1):item(), lua = math.random(), config = config.lr,
                       deterministic = not torch.backends.cudnn.benchmark}
        end
      end,
      train_loop_config = {seed = 1, threads = 0, lr = 0.5, set_epoch = false},
      scaling_config = train.ScalingConfig{num_workers = 1},
      datasets = {train = require('rtrain.data').range(20):random_shuffle()},
    }:fit()
    """


@pytest.fixture
def reports(rtrain):
    script = rtrain.script(SCRIPT)

    def run(*args):
        result = rtrain("run", script, *args)
        assert result.returncode == 0, result.stderr
        return rtrain.reports()

    return run


def test_a_seed_makes_two_runs_alike(reports):
    first, second, other = reports("--seed", "5"), reports("--seed", "5"), reports("--seed", "6")
    assert first == second
    for name in ("script", "torch", "lua", "batches"):
        assert first[0][name] != other[0][name], name
    assert first[0]["seed"] == 5, "the configuration has one"
    assert reports("--seed", "5", "--set", "seed=7")[0]["seed"] == 7


def test_a_seed_has_64_bits(reports):
    large = 2**53 + 1
    first, second, neighbour = (reports("--seed", str(seed)) for seed in (large, large, large - 1))
    assert first == second and first[0]["seed"] == large
    assert first[0]["torch"] != neighbour[0]["torch"], "a double has no 2^53 + 1"


def test_a_seed_of_more_bits_is_refused(rtrain):
    result = rtrain("run", rtrain.script(SCRIPT), "--seed", str(2**63))
    assert result.returncode == 2 and str(2**63) in result.stderr, result.stderr


def test_without_a_seed_two_runs_differ(reports):
    assert reports()[0]["torch"] != reports()[0]["torch"]


def test_ranks_are_seeded_alike(rtrain):
    rtrain("run", rtrain.script(SCRIPT), "--seed", "5", "-n", "2")
    rows = rtrain.json("metrics", "last", "--ranks")
    first, second = rows[0]["ranks"]
    assert first["torch"] == second["torch"] and first["lua"] == second["lua"] and first["batches"] != second["batches"]


def test_deterministic_is_enable_reproducibility(rtrain, reports):
    first, second = reports("--deterministic"), reports("--deterministic")
    assert first[0]["torch"] == second[0]["torch"] and first[0]["seed"] == 1
    assert reports("--deterministic", "--seed", "9")[0]["torch"] != first[0]["torch"]


@pytest.mark.parametrize("threads", ["0", "2"])
@pytest.mark.parametrize("workers", ["0", "1", "2"])
def test_a_limit_ends_every_loop(rtrain, reports, workers, threads):
    epochs = ["--set", "set_epoch=true"] if workers == "2" else []
    rows = reports("--limit-batches", "2", "-n", workers, "--set", f"threads={threads}", *epochs)
    for row in rows:
        assert len(row["batches"]) == len(row["rows"]) == row["length"] == 2
    assert len({tuple(row["batches"]) for row in rows}) > 1, "each epoch has an order of its own"
    assert len(reports("--limit-batches", "100")[0]["batches"]) == 10


@pytest.mark.parametrize("workers", ["0", "1", "2"])
def test_overfit_gives_the_same_batches_in_every_epoch(reports, workers):
    first, *others = reports("--overfit", "3", "-n", workers, "--set", "set_epoch=true" if workers == "2" else "lr=1")
    assert len(first["batches"]) == len(first["rows"]) == first["length"] == 3
    for row in others:
        assert row["batches"] == first["batches"] and row["rows"] == first["rows"], "whatever was done to a batch"


def test_a_model_learns_two_batches_by_heart(rtrain):
    assert rtrain("init", "blank", "hello").returncode == 0
    rtrain.folder = rtrain.folder / "hello"
    result = rtrain("run", "train.lua", "--overfit", "2", "--set", "epochs=40")
    assert result.returncode == 0, result.stderr
    rows = rtrain.reports()
    assert rows[-1]["loss"] < rows[0]["loss"] / 2


@pytest.mark.parametrize(
    "args", [["--limit-batches", "0"], ["--overfit", "x"], ["--seed", "-1"], ["--overfit", "1", "--limit-batches", "1"]]
)
def test_values_that_are_refused(rtrain, args):
    assert rtrain("run", rtrain.script(SCRIPT), *args).returncode == 2
