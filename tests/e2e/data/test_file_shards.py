"""Datasets of the trainer that read files, or spill to them: which worker gets which rows."""

import csv
import textwrap


def test_a_shuffle_larger_than_the_memory_goes_through_files(rtrain):
    rtrain.run_ok("""
        local data, torch, train = require 'rtrain.data', require 'torch', require 'rtrain'
        local rows = data.range(20000):map_batches(function(batch)
          return {id = batch.id, wide = batch.id:unsqueeze(1):expand({#batch.id, 50}):contiguous()}
        end)
        train.TorchTrainer {
          train_loop_per_worker = function()
            local sum, count, first = 0, 0, nil
            for batch in train.get_dataset_shard('train'):iter_torch_batches {batch_size = 100} do
              assert(torch.equal(batch.id, batch.wide:select(1, 49)))
              first = first or batch.id[0]:item()
              sum, count = sum + batch.id:sum():item(), count + #batch.id
            end
            train.report {sum = sum, count = count, first = first}
          end,
          scaling_config = train.ScalingConfig {num_workers = 2},
          datasets = {train = rows:random_shuffle {seed = 1}},
          dataset_config = train.DataConfig {execution_options = {memory_bytes = 2 ^ 20}},
        }:fit()
        """)
    ranks = rtrain.json("metrics", "last", "--ranks")[0]["ranks"]
    assert [rank["count"] for rank in ranks] == [10000, 10000]
    assert sum(rank["sum"] for rank in ranks) == 20000 * 19999 // 2
    assert ranks[0]["first"] > 0


FILES = """
local data, torch, train = require 'rtrain.data', require 'torch', require 'rtrain'

local function ids_of(shard)
  local ids = torch.list {}
  for batch in shard:iter_torch_batches {batch_size = 4} do
    for _, id in ipairs(batch.id:tolist()) do ids[#ids + 1] = id end
  end
  return ids
end

local function train_func(config)
  for epoch = 1, 2 do
    train.report {a = ids_of(train.get_dataset_shard 'a'), b = ids_of(train.get_dataset_shard 'b')}
  end
end

DATASETS
train.TorchTrainer {
  train_loop_per_worker = train_func, scaling_config = train.ScalingConfig {num_workers = 3},
  datasets = {a = a, b = b}, dataset_config = train.DataConfig {datasets_to_split = SPLIT},
}:fit()
"""


def file_epochs(rtrain, datasets, split="'all'"):
    """Returns epoch → name → rank → ids."""
    rtrain.run_ok(FILES.replace("DATASETS", textwrap.dedent(datasets)).replace("SPLIT", split))
    rows = [row["ranks"] for row in rtrain.json("metrics", "last", "--ranks")]
    return [{name: [rank[name] for rank in row] for name in "ab"} for row in rows]


def write_csv(path, first, last):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "name"])
        writer.writerows([i, f"number {i}"] for i in range(first, last))


def test_rows_of_files_are_dealt_out(rtrain):
    write_csv(rtrain.folder / "1.csv", 0, 20)
    write_csv(rtrain.folder / "2.csv", 20, 31)
    for epoch in file_epochs(
        rtrain,
        """
        local a = data.read_csv {'1.csv', '2.csv'}
        a:sort('id', true):write_parquet('parquet', {row_group_size = 7})
        local b = data.read_parquet 'parquet'
        """,
    ):
        assert epoch["a"] == [list(range(first, first + 10)) for first in (0, 10, 20)]
        assert epoch["b"] == [list(range(first, first - 10, -1)) for first in (30, 20, 10)]


def test_a_filter_that_goes_by_the_order_of_the_rows_leaves_all_workers_as_many(rtrain):
    write_csv(rtrain.folder / "1.csv", 0, 600)
    for epoch in file_epochs(
        rtrain,
        """
        local function is_early(row) return row.id < 200 end
        local a = data.read_csv('1.csv'):filter(is_early)
        data.read_csv('1.csv'):write_parquet('parquet', {row_group_size = 7})
        local b = data.read_parquet('parquet'):filter(is_early)
        """,
    ):
        for ranks in epoch.values():
            assert len({len(ids) for ids in ranks}) == 1
            seen = sum(ranks, [])
            assert len(seen) == len(set(seen)) >= 150
            assert max(seen) < 200


# behaviour: shuffle of files
def test_files_are_shuffled_by_seed_and_epoch(rtrain):
    for i in range(8):
        write_csv(rtrain.folder / f"{i}.csv", 4 * i, 4 * i + 4)
    paths = "{'0.csv', '1.csv', '2.csv', '3.csv', '4.csv', '5.csv', '6.csv', '7.csv'}"
    first, second = file_epochs(
        rtrain,
        f"""
        local function shuffled() return data.read_csv({paths}, {{shuffle = data.FileShuffleConfig {{seed = 42}}}}) end
        local a, b = shuffled(), shuffled()
        """,
        split="{}",
    )
    assert first["a"] == first["b"] and second["a"] == second["b"]
    assert first["a"][0] == first["a"][1] != sorted(first["a"][0])
    assert first["a"] != second["a"]
    first, second = file_epochs(
        rtrain,
        f"""
        local fixed = data.FileShuffleConfig {{seed = 42, reseed_after_execution = false}}
        local a = data.read_csv({paths}, {{shuffle = fixed}})
        local b = data.read_csv({paths}, {{shuffle = 'files'}})
        """,
        split="{'b'}",
    )
    assert first["a"] == second["a"]
    assert first["b"] != second["b"]
    assert sorted(sum(first["b"], [])) != sum(first["b"], [])
    assert len(set(sum(first["b"], []))) == 30
