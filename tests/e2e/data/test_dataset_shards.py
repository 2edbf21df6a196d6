"""Datasets of the trainer: which worker gets which rows in each epoch."""

import pytest

# Each pass over a shard makes one report: the ids that the rank got, batch by batch.
SCRIPT = """
local data, train = require 'rtrain.data', require 'rtrain'

local function numbers(config)
  local ds = data.range(config.rows)
  if config.kind == 'items' then
    local items = {}
    for i = 0, config.rows - 1 do items[i + 1] = {id = i} end
    ds = data.from_items(items)
  end
  if config.shuffle == 'global' then ds = ds:random_shuffle() end
  if config.shuffle == 'materialized' then ds = ds:random_shuffle():materialize() end
  if config.kind == 'filter' then ds = ds:filter(function(row) return row.id % 3 ~= 0 and row.id < 30 end) end
  if config.kind == 'batches' then
    ds = ds:map_batches(function(batch) return {id = batch.id * 2 / 2} end)
  end
  return ds
end

local function train_func(config)
  for epoch = 1, config.epochs do
    local report = {}
    for _, name in ipairs(config.names) do
      local shard = train.get_dataset_shard(name)
      local buffer = config.shuffle == 'local' and 8 or nil
      local batches = torch.list {}
      for batch in shard:iter_torch_batches {batch_size = config.batch_size, local_shuffle_buffer_size = buffer} do
        batches[#batches + 1] = torch.list(batch.id:long():tolist())
      end
      report[name] = batches
    end
    train.report(report)
  end
end

torch = require 'torch'
local config = {rows = 47, epochs = 2, batch_size = 5, kind = 'range', shuffle = 'none', names = {'train'}, split = 'all',
                threads = 1}
for _, flag in ipairs(require('rtrain.run.command_flags').get().set) do
  local key, value = flag:match '^([^=]+)=(.*)$'
  if config[key] ~= nil and key ~= 'names' and key ~= 'split' then config[key] = tonumber(value) or value end
end
train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = config,
  scaling_config = train.ScalingConfig {num_workers = 2},
  datasets = {train = numbers(config), valid = data.range(7)},
  dataset_config = train.DataConfig {datasets_to_split = DATASETS_TO_SPLIT, execution_options = {threads = config.threads}},
}:fit()
"""


def epochs(rtrain, *args, name="train", split="'all'"):
    """Returns epoch → rank → batches of ids."""
    rtrain.run_ok(SCRIPT.replace("DATASETS_TO_SPLIT", split), *args)
    rows = [row["ranks"] for row in rtrain.json("metrics", "last", "--ranks")]
    return [[rank[name] for rank in row] for row in rows]


def flat(batches):
    return [i for batch in batches for i in batch]


def check_equal_steps(ranks, batch_size):
    for batches in ranks:
        assert [len(batch) for batch in batches] == [len(batch) for batch in ranks[0]]
        assert all(len(batch) == batch_size for batch in batches[:-1])


# behaviour: rows of a split dataset
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_rank_gets_rows_by_world_size(rtrain, workers):
    for ranks in epochs(rtrain, "-n", workers):
        assert [len(flat(batches)) for batches in ranks] == [47 // workers] * workers
        assert sorted(sum(map(flat, ranks), [])) == list(range(47 // workers * workers))
        check_equal_steps(ranks, 5)


# behaviour: rows of a split dataset
def test_an_unknown_name_is_an_error(rtrain):
    result = rtrain.run("""
        local data, train = require 'rtrain.data', require 'rtrain'
        train.TorchTrainer {
          train_loop_per_worker = function() train.get_dataset_shard('trian') end,
          datasets = {train = data.range(4), valid = data.range(4)},
        }:fit()
        """)
    assert result.returncode == 1
    assert "there is no dataset 'trian': did you mean 'train'?" in result.stderr
    assert "the trainer has: train, valid" in result.stderr


def test_without_datasets_it_says_what_to_do(rtrain):
    result = rtrain.run("""
        local train = require 'rtrain'
        train.TorchTrainer(function() train.get_dataset_shard('train') end):fit()
        """)
    assert result.returncode == 1
    assert "the trainer has no datasets: TorchTrainer {datasets = {train = dataset}, …}" in result.stderr


@pytest.mark.parametrize(
    "split, parts",
    [("'all'", {"train": 23, "valid": 3}), ("{'train'}", {"train": 23, "valid": 7}), ("{}", {"train": 47, "valid": 7})],
)
# behaviour: `datasets_to_split`
def test_split_all_only_train_or_none(rtrain, split, parts):
    script = SCRIPT.replace("names = {'train'}", "names = {'train', 'valid'}").replace("DATASETS_TO_SPLIT", split)
    rtrain.run_ok(script)
    for row in rtrain.json("metrics", "last", "--ranks"):
        for name, rows in parts.items():
            assert [len(flat(rank[name])) for rank in row["ranks"]] == [rows, rows]


# behaviour: `datasets_to_split` of a wrong type
@pytest.mark.parametrize("split", ["5", "true", "'train'", "{1}", "{train = true}"])
def test_a_wrong_type_of_datasets_to_split_is_refused(rtrain, split):
    result = rtrain.run(SCRIPT.replace("DATASETS_TO_SPLIT", split))
    assert result.returncode == 3
    assert "DataConfig.datasets_to_split" in result.stderr and "'all' or a list of names" in result.stderr


# behaviour: shuffle in each epoch
def test_a_shuffle_differs_from_epoch_to_epoch_unless_materialized(rtrain):
    first, second = epochs(rtrain, "--set", "shuffle=global")
    for ranks in (first, second):
        assert len(set(sum(map(flat, ranks), []))) == 46
    assert first != second
    first, second = epochs(rtrain, "--set", "shuffle=materialized")
    assert first == second
    assert flat(first[0]) != sorted(flat(first[0]))


# behaviour: equal steps with local shuffle
@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("kind", ["items", "filter", "batches"])
def test_equal_steps_with_a_local_shuffle(rtrain, kind, workers):
    first, second = epochs(rtrain, "-n", workers, "--set", f"kind={kind}", "--set", "shuffle=local")
    for ranks in (first, second):
        check_equal_steps(ranks, 5)
        seen = sum(map(flat, ranks), [])
        assert len(seen) == len(set(seen)) > 0
        assert any(flat(batches) != sorted(flat(batches)) for batches in ranks)
    assert first != second


def test_threads_do_not_change_the_order(rtrain):
    for kind in ("filter", "batches"):
        assert epochs(rtrain, "--set", f"kind={kind}", "--set", "shuffle=local", "--set", "threads=0")[0] and epochs(
            rtrain, "--set", f"kind={kind}", "--set", "threads=0"
        ) == epochs(rtrain, "--set", f"kind={kind}", "--set", "threads=3")


RESUME = """
local data, torch, train = require 'rtrain.data', require 'torch', require 'rtrain'

local function train_func(config)
  local shard = train.get_dataset_shard 'train'
  local file = io.open(config.state)
  if file then
    file:close()
    shard:load_state(torch.load(config.state).shard)
  end
  local seen, batches = torch.list {}, 0
  for batch in shard:iter_torch_batches {batch_size = 4, local_shuffle_buffer_size = 6} do
    for _, id in ipairs(batch.id:long():tolist()) do seen[#seen + 1] = id end
    batches = batches + 1
    if batches == config.batches then break end
  end
  if train.get_context():get_world_rank() == 0 then torch.save({shard = shard:state()}, config.next_state) end
  train.report {seen = seen}
end

local numbers = data.range(60):random_shuffle()
train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {state = 'none', next_state = 'next', batches = 0},
  datasets = {train = PLAN},
}:fit()
"""


EVEN = "filter(function(row) return row.id % 2 == 0 end)"


@pytest.mark.parametrize(
    "plan, rows",
    [
        ("numbers", 60),
        (f"numbers:{EVEN}", 30),
        (f"data.range(60):{EVEN}:random_shuffle()", 30),
        (f"data.range(60):flat_map(function(row) return {{row}} end):sort('id', true):{EVEN}", 30),
    ],
)
def test_a_run_goes_on_with_another_number_of_workers(rtrain, plan, rows):
    seen = []
    for step, workers in enumerate([2, 3, 1]):
        rtrain.run_ok(
            RESUME.replace("PLAN", plan),
            "-n",
            workers,
            "--set",
            f"state=state-{step}",
            "--set",
            f"next_state=state-{step + 1}",
            "--set",
            f"batches={[2, 1, -1][step]}",
        )
        for rank in rtrain.json("metrics", "last", "--ranks")[-1]["ranks"]:
            seen += rank["seen"]
    assert sorted(seen) == list(range(0, 60, 60 // rows))


def test_a_restart_goes_on_with_the_state_in_its_checkpoint(rtrain):
    rtrain.run_ok("""
        local data, torch, train = require 'rtrain.data', require 'torch', require 'rtrain'
        train.TorchTrainer {
          train_loop_per_worker = function()
            local shard, steps = train.get_dataset_shard 'train', 0
            local checkpoint = train.get_checkpoint()
            if checkpoint then
              checkpoint:with_directory(function(dir) shard:load_state(torch.load(dir .. '/state.pt').shard) end)
            end
            for batch in shard:iter_batches {batch_size = 4, local_shuffle_buffer_size = 10} do
              steps = steps + 1
              if steps == 4 and not checkpoint then error('half way') end
              local ids = torch.list(batch.id:tolist())
              train.tempdir(function(dir)
                torch.save({shard = shard:state()}, dir .. '/state.pt')
                train.report({ids = ids}, {checkpoint = train.Checkpoint.from_directory(dir)})
              end)
            end
          end,
          scaling_config = train.ScalingConfig {num_workers = 2},
          run_config = train.RunConfig {failure_config = train.FailureConfig {max_failures = 1}},
          datasets = {train = data.range(48):random_shuffle()},
        }:fit()
        """)
    rows = rtrain.json("metrics", "last", "--ranks")
    assert len(rows) == 6
    assert sorted(i for row in rows for rank in row["ranks"] for i in rank["ids"]) == list(range(48))


def test_a_function_makes_the_dataset_at_each_start_of_the_group(rtrain):
    rtrain.run_ok("""
        local data, train = require 'rtrain.data', require 'rtrain'
        train.TorchTrainer {
          train_loop_per_worker = function()
            local rows = 0
            for batch in train.get_dataset_shard():iter_batches() do rows = rows + #batch.id end
            train.report {rows = rows}
          end,
          scaling_config = train.ScalingConfig {num_workers = 2},
          datasets = {train = function() return data.range(10) end},
        }:fit()
        """)
    assert rtrain.reports() == [{"rows": 5}]


def test_workers_take_the_data_context_of_the_script(rtrain):
    rtrain.run_ok("""
        local data, train = require 'rtrain.data', require 'rtrain'
        data.DataContext.get_current().memory_bytes = 3 * 2 ^ 20
        train.TorchTrainer {
          train_loop_per_worker = function()
            train.get_dataset_shard()
            train.report {bytes = data.DataContext.get_current().memory_bytes}
          end,
          datasets = {train = data.range(10)},
        }:fit()
        """)
    assert rtrain.reports() == [{"bytes": 3 * 2**20}]


def test_what_is_no_dataset_is_refused(rtrain):
    for value in ("{1, 2}", "5", "torch.ones(2)"):
        result = rtrain.run(f"""
            local torch, train = require 'torch', require 'rtrain'
            train.TorchTrainer(print, {{datasets = {{train = {value}}}}})
            """)
        assert result.returncode == 3, result.stderr
        assert "datasets.train is" in result.stderr and "expected a dataset of rtrain.data" in result.stderr
    result = rtrain.run("""
        local data, train = require 'rtrain.data', require 'rtrain'
        train.TorchTrainer {
          train_loop_per_worker = print, datasets = {train = data.range(3)},
          dataset_config = train.DataConfig {datasets_to_split = {'trian'}},
        }
        """)
    assert result.returncode == 3
    assert "datasets_to_split names 'trian', which datasets has not: did you mean 'train'?" in result.stderr


def test_abandoned_loops_and_errors_leave_nothing_behind(rtrain):
    result = rtrain.run("""
        local data, train = require 'rtrain.data', require 'rtrain'
        train.TorchTrainer {
          train_loop_per_worker = function()
            for _ = 1, 3 do
              for _ in train.get_dataset_shard('slow'):iter_batches {batch_size = 1} do break end
            end
            for _ in train.get_dataset_shard('broken'):iter_rows() do end
          end,
          scaling_config = train.ScalingConfig {num_workers = 2},
          datasets = {
            slow = data.range(1000000):map(function(row) return row end),
            broken = data.range(10):map(function(row)
              if row.id == 7 then error('a bad row') end
              return row
            end),
          },
        }:fit()
        """)
    assert result.returncode == 1
    assert "a bad row" in result.stderr and "train.lua:13" in result.stderr
    assert "row 7" in result.stderr


@pytest.mark.parametrize(
    "rank_1, code, text",
    [
        ("error('no more')", 1, "no more"),
        (
            "return",
            6,
            "dataset 'train': rank 1 has not asked for more batches of loop 1 within 2 s (TorchConfig.timeout_s)",
        ),
    ],
)
def test_a_rank_that_stays_away_is_named(rtrain, rank_1, code, text):
    result = rtrain.run(
        """
        local data, train = require 'rtrain.data', require 'rtrain'
        train.TorchTrainer {
          train_loop_per_worker = function()
            local steps = 0
            train.collective.barrier()  -- so that timeout_s does not cover the start of the workers
            for _ in train.get_dataset_shard('train'):iter_batches {batch_size = 1} do
              steps = steps + 1
              if steps == 3 and train.get_context():get_world_rank() == 1 then RANK_1 end
            end
          end,
          scaling_config = train.ScalingConfig {num_workers = 2},
          torch_config = train.TorchConfig {timeout_s = 2},
          datasets = {train = data.range(1000):filter(function(row) return row.id % 2 == 0 end)},
        }:fit()
        """.replace("RANK_1", rank_1)
    )
    assert result.returncode == code, result.stderr
    assert text in result.stderr


def test_workers_without_a_process_group_agree_too(rtrain):
    rtrain.run_ok("""
        local data, train = require 'rtrain.data', require 'rtrain'
        train.DataParallelTrainer {
          train_loop_per_worker = function()
            local rows = 0
            for row in train.get_dataset_shard('train'):iter_rows() do rows = rows + 1 end
            train.report {rows = rows}
          end,
          scaling_config = train.ScalingConfig {num_workers = 2},
          datasets = {train = data.range(100):flat_map(function(row) return row.id < 5 and {row, row, row} or {} end)},
        }:fit()
        """)
    ranks = rtrain.json("metrics", "last", "--ranks")[0]["ranks"]
    assert ranks[0] == ranks[1] and ranks[0]["rows"] in (3, 6)


def test_functions_are_sent_to_loader_threads_between_the_first_steps(rtrain):
    """Rank 0 watches its first two steps. What it remembers of them is not a part of a module."""
    rtrain.run_ok("""
        local torch, train, data = require 'torch', require 'rtrain', require 'rtrain.data'
        train.TorchTrainer {
          train_loop_per_worker = function()
            local model = train.torch.prepare_model(torch.nn.Linear(1, 1))
            local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.1})
            local shard = train.get_dataset_shard()
            local state = train.state {model = model, optimizer = optimizer, shard = shard, epoch = 0}
            train.elastic(state, function()
              while state.epoch < 3 do
                for batch in shard:iter_torch_batches {batch_size = 4} do
                  optimizer:zero_grad()
                  model(batch.x:view{-1, 1}:float()):sum():backward()
                  optimizer:step()
                  train.report {rows = batch.x:numel()}
                  state:commit()
                end
                state.epoch = state.epoch + 1
              end
            end)
          end,
          datasets = {train = data.range(8):map(function(row) return {x = row.id} end)},
          scaling_config = train.ScalingConfig {num_workers = 2},
        }:fit()
        """)
    assert [report["rows"] for report in rtrain.reports()] == [4, 4, 4]
