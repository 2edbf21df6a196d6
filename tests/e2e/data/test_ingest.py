"""Datasets that separate processes read: DataConfig.ingest_workers."""

import os
import pathlib
import signal

import pytest

from conftest import sample, wait_until

# Each batch is a report: its ids, and the sum of the random numbers that the user's function drew for its rows.
SCRIPT = """
local data, torch, train = require 'rtrain.data', require 'torch', require 'rtrain'
local worker = require 'torch.utils.data.worker'
local DEADLY = 'MARKER'

local function noisy(row)
  row.noise = torch.rand({8}, {generator = worker.generator()})
  if DEADLY ~= '' and (row.id == 17 or row.id == 40) and not io.open(DEADLY .. row.id) then
    io.open(DEADLY .. row.id, 'w'):close()
    os.execute 'sleep 600 & kill -9 $PPID'  -- the sleep outlives the ingest process
  end
  return row
end

local function train_func()
  local shard = train.get_dataset_shard()
  local checkpoint = train.get_checkpoint()
  if checkpoint then
    checkpoint:with_directory(function(dir) shard:load_state(torch.load(dir .. '/state.pt')) end)
  end
  for epoch = 1, 2 do
    for batch in shard:iter_batches {batch_size = 4} do
      local row = {ids = torch.list(batch.id:tolist()), noise = batch.noise:double():sum():item()}
      train.tempdir(function(dir)
        torch.save(shard:state(), dir .. '/state.pt')
        train.report(row, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
      BODY
    end
  end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {name = 'ingest', failure_config = train.FailureConfig {max_failures = 2}},
  datasets = {train = data.range(64, {override_num_blocks = 8}):map(noisy)PLAN},
  dataset_config = train.DataConfig {ingest_workers = WORKERS},
}:fit()
"""

SHUFFLED = ":random_shuffle {seed = 1}:map_batches(function(batch) return batch end)"


def script(workers, plan="", marker="", body=""):
    return SCRIPT.replace("PLAN", plan).replace("WORKERS", str(workers)).replace("MARKER", marker).replace("BODY", body)


def batches(rtrain, name="ingest"):
    """Returns the batches of both ranks, in the order of the reports."""
    return [row["ranks"] for row in rtrain.json("metrics", name, "--ranks")]


def seeded(text):
    """The seed of the random numbers comes from the default generator, or from the system."""
    return text.replace("local DEADLY", "torch.manual_seed(5)\nlocal DEADLY")


PLANS = sample(
    pytest.param("", id="map"),
    pytest.param(":filter(function(row) return row.id % 3 > 0 end)", id="filter"),
    pytest.param(SHUFFLED, id="shuffle"),
)


@pytest.fixture(params=PLANS)
def plan(request):
    return request.param


def expected(rtrain, plan):
    rtrain.run_ok(seeded(script(0, plan)).replace("'ingest'", "'plain'"))
    return batches(rtrain, "plain")


def ingest_processes():
    """Returns pid → parent's pid."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"--ingest" in (entry / "cmdline").read_bytes().split(b"\0"):
                found[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    return found


def of_run(rtrain):
    ranks = rtrain.pids("ingest")
    return sorted(pid for pid, parent in ingest_processes().items() if parent in ranks)


def test_batches_are_the_same_and_dead_ingest_workers_cost_only_time(rtrain, plan):
    wanted = expected(rtrain, plan)
    result = rtrain.run_ok(seeded(script(2, plan, marker=f"{rtrain.folder}/dead-")))
    assert batches(rtrain) == wanted
    assert (rtrain.folder / "dead-17").exists() and (rtrain.folder / "dead-40").exists()
    assert "killed by signal 9 (SIGKILL): it is started again" in result.stdout + result.stderr
    assert rtrain.statuses() == ["FINISHED"]


def test_a_run_goes_on_exactly_after_the_death_of_a_rank(rtrain, plan):
    wanted = expected(rtrain, plan)
    body = f"""
      if train.get_context():get_world_rank() == 1 and batch.id[0]:item() % 2 == 0 and not io.open '{rtrain.folder}/died' then
        io.open('{rtrain.folder}/died', 'w'):close()
        os.execute 'kill -9 $PPID'
      end"""
    rtrain.run_ok(seeded(script(1, plan, body=body)))
    assert (rtrain.folder / "died").exists()
    assert rtrain.statuses() == ["ERRORED", "FINISHED"]
    assert batches(rtrain) == wanted


@pytest.mark.parametrize("victim", ["controller", "rank"])
def test_nothing_is_left_behind_by_a_kill(rtrain, victim):
    waiting = f"while not io.open '{rtrain.folder}/go' do os.execute 'sleep 0.01' end"
    running = rtrain.started("run", rtrain.script(script(2, body=waiting)))
    assert len(wait_until(lambda: of_run(rtrain), message="ingest workers")) in (1, 2, 3, 4)
    before = of_run(rtrain)
    if victim == "controller":
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        rtrain.wait_for_processes()
    else:
        os.kill(rtrain.pids("ingest")[0], signal.SIGKILL)
        (rtrain.folder / "go").touch()
        assert running.wait().returncode == 0
    assert not set(before) & set(ingest_processes())


def test_an_error_in_a_function_names_its_line_and_the_ingest_worker(rtrain):
    result = rtrain.run(script(1).replace("return row\nend", "return row.id.x\nend", 1))
    assert result.returncode != 0
    assert "train.lua:11: attempt to index field 'id' (a number value)" in result.stderr
    assert "rtrain.data ingest worker 0" in result.stderr and "map: row" in result.stderr


def test_the_prints_of_ingest_workers_are_their_ranks(rtrain):
    text = script(1).replace("  return row\nend", "  if row.id == 5 then print('five') end\n  return row\nend", 1)
    rtrain.run_ok(text)
    logs = rtrain("logs", "ingest").stdout
    assert logs.count("five") == 2


@pytest.mark.parametrize(
    "field, text",
    [
        ("ingest_workers = -1", "ingest_workers"),
        ("ingest_workers = 'two'", "ingest_workers"),
        ("ingest_worker = 2", "did you mean 'ingest_workers'?"),
        ("ingest_resources = {GPU = 1}", "an ingest worker has no GPU"),
        ("ingest_resources = {CPUs = 1}", "did you mean 'CPU'?"),
        ("ingest_resources = {CPU = 0}", "CPU"),
        ("ingest_resources = 2", "expected a table such as {CPU = 1}"),
    ],
)
def test_bad_options_are_refused(rtrain, field, text):
    result = rtrain.run(f"require('rtrain').DataConfig {{{field}}}")
    assert result.returncode == 3, result.stderr
    assert text in result.stderr


def test_ingest_workers_have_cores_of_their_own(rtrain):
    if len(os.sched_getaffinity(0)) < 3:
        pytest.skip("needs three cores")
    rtrain.run_ok(
        """
        local data, train = require 'rtrain.data', require 'rtrain'
        local function cores()
          for line in io.lines '/proc/self/status' do
            local list = line:match '^Cpus_allowed_list:%s*(.*)$'
            if list then return list end
          end
        end
        train.TorchTrainer {
          train_loop_per_worker = function()
            local seen = {}
            for row in train.get_dataset_shard():iter_rows() do seen[row.cores] = true end
            train.report {own = cores(), ingest = torch.list(require('base.ordered').keys_of(seen))}
          end,
          scaling_config = train.ScalingConfig {num_workers = 1, resources_per_worker = {CPU = 1}},
          datasets = {train = data.range(20, {override_num_blocks = 8}):map(function(row) return {cores = cores()} end)},
          dataset_config = train.DataConfig {ingest_workers = 2},
        }:fit()
        """.replace("local data", "torch = require 'torch'\n        local data", 1)
    )
    report = rtrain.reports()[-1]
    assert report["own"].isdigit()
    assert 1 <= len(report["ingest"]) <= 2
    assert all(cores.isdigit() and cores != report["own"] for cores in report["ingest"])


def test_local_mode_has_ingest_workers_too(rtrain):
    text = seeded(script(2)).replace("{num_workers = 2}", "{num_workers = 0}")
    rtrain.run_ok(text.replace("ingest_workers = 2", "ingest_workers = 0").replace("'ingest'", "'plain'"))
    rtrain.run_ok(text.replace("}:fit()", "}:fit()\nassert(io.open('over', 'w')):close()"))
    assert batches(rtrain) == batches(rtrain, "plain")
    assert (rtrain.folder / "over").exists()


@pytest.mark.parametrize("workers", [0, 2])
def test_the_record_tells_where_the_time_of_the_loops_went(rtrain, workers):
    rtrain.run_ok(script(workers))
    rows = rtrain.json("show", "ingest")["attempts"][0]["workers"]
    for row in rows:
        times = row["data"]["train"]
        assert set(times) - {"ingest_workers"} == {
            "wait_s",
            "ranks_s",
            "batching_s",
            "collate_s",
            "body_s",
            "stall_percent",
            "operators",
        }
        assert all(each.keys() == {"operator", "rows", "bytes", "time_s", "wait_s"} for each in times["operators"])
        assert times["wait_s"] > 0 and times["body_s"] > 0 and 0 < times["stall_percent"] < 100
        assert times.get("ingest_workers") == (1 if workers else None)
    # 2 epochs of 32 rows for each rank, in batches of 4, are 16 batches.
    points = rtrain.json("metrics", "ingest", "--series", "data/train/wait_s")
    assert [max(point["step"] for point in points if point["rank"] == rank) for rank in (0, 1)] == [16, 16]
    shown = rtrain("show", "ingest", "--wide").stdout
    assert "rank 1 dataset train: data stall " in shown and "waiting for rows" in shown
    assert ("1 ingest worker\n" in shown) == (workers > 0)
