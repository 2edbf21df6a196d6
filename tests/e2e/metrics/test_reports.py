"""report() in detail: which files become a checkpoint, its name, the upload modes, and failures."""

import json
import re
import time

import pytest

from conftest import leftovers, wait_until

PREAMBLE = """
local files, train = require 'files', require 'rtrain'
local write, exists = files.write, files.exists

local function make(dir, files)
  os.execute('mkdir -p ' .. dir)
  for name, text in pairs(files) do write(dir .. '/' .. name, text) end
  return train.Checkpoint.from_directory(dir)
end
"""

FIT = """
train.TorchTrainer{
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig{num_workers = @WORKERS@},
  torch_config = train.TorchConfig{timeout_s = 60},
  run_config = train.RunConfig{name = 'run'},
}:fit()
"""


def script(body, workers=2):
    return (
        PREAMBLE + "local function train_func()\n"
        "  local rank = train.get_context():get_world_rank()\n"
        "  local run = train.get_context():get_storage().experiment_path\n"
        + body
        + "\nend\n"
        + FIT.replace("@WORKERS@", str(workers))
    )


def checkpoints(rtrain):
    """Returns the run's checkpoints (name and files) by the index of their report."""
    return {row["index"]: row for row in rtrain.json("checkpoint", "ls", "run")}


def files_of(rtrain, name):
    return sorted(set(leftovers(rtrain.run_folder("run") / "checkpoints" / name)) - {".rtrain-checkpoint.json"})


def text_of(rtrain, name, file):
    return (rtrain.run_folder("run") / "checkpoints" / name / file).read_text()


# behaviour: checkpoint from rank 0 alone
# behaviour: checkpoint from ranks 1 and 3
# behaviour: none from rank 0, some from others
def test_any_ranks_may_bring_files(rtrain):
    rtrain.run_ok(
        script(
            """
      local function attach(...)
        for _, each in ipairs{...} do
          if each == rank then return {checkpoint = make('part-' .. rank, {['shard-' .. rank] = 'of ' .. rank})} end
        end
      end
      train.report({by = rank, n = 0}, attach(0))
      train.report({by = rank, n = 1}, attach(1, 3))
      train.report({by = rank, n = 2}, attach(1, 2, 3))
    """,
            workers=4,
        )
    )
    rows = checkpoints(rtrain)
    assert [files_of(rtrain, rows[i]["name"]) for i in range(3)] == [
        ["shard-0"],
        ["shard-1", "shard-3"],
        ["shard-1", "shard-2", "shard-3"],
    ]
    assert [rows[i]["metrics"] for i in range(3)] == [{"by": 0, "n": i} for i in range(3)]


# behaviour: names of checkpoints verbatim
# behaviour: a file of all ranks is there once
def test_names_and_files_of_the_ranks_become_one_folder(rtrain):
    result = rtrain.run_ok(
        script("""
      local function report(names, text)
        local checkpoint = make('mine-' .. rank, {common = text})
        train.report({}, {checkpoint = checkpoint, checkpoint_dir_name = names[rank + 1]})
      end
      report({'Step 1.5 (best)', 'Step 1.5 (best)'}, 'equal')
      report({'from rank 0', 'from rank 1'}, 'equal')
      report({nil, 'only rank 1 has one'}, 'of rank ' .. rank)
      -- Rank 0 may name files that other ranks save.
      train.report({}, {checkpoint_dir_name = rank == 0 and 'named by 0' or nil,
                        checkpoint = rank == 1 and make('mine-1', {}) or nil})
    """)
    )
    rows = checkpoints(rtrain)
    assert [rows[i]["name"] for i in range(4)] == [
        "Step 1.5 (best)",
        "from rank 0",
        "only rank 1 has one",
        "named by 0",
    ]
    assert files_of(rtrain, "from rank 0") == ["common"]
    assert text_of(rtrain, "only rank 1 has one", "common") == "of rank 0"
    warnings = [line for line in result.stderr.splitlines() if "differs from a lower rank" in line]
    assert len(warnings) == 1 and "only rank 1 has one" in warnings[0] and "common" in warnings[0]


MODES = """
      local function checkpoint_for(mode, i)
        local dir = mode == 'NO_UPLOAD' and run .. '/checkpoint_' .. i or ('local-%d-%d'):format(rank, i)
        return make(dir, {['shard-' .. rank] = mode .. i})
      end
      local modes = {'SYNC', 'ASYNC', 'NO_UPLOAD'}
      local i = 0
      for _, mine in ipairs(modes) do
        for _, other in ipairs(modes) do
          local mode = rank == 0 and mine or other
          train.report({i = i}, {
            checkpoint = checkpoint_for(mode, i),
            checkpoint_dir_name = 'checkpoint_' .. i,
            checkpoint_upload_mode = mode,
          })
          i = i + 1
        end
      end
      train.report{i = i}
"""


# behaviour: all pairs of upload modes
def test_all_pairs_of_upload_modes_register_in_order(rtrain):
    rtrain.run_ok(script(MODES))
    rows = checkpoints(rtrain)
    assert sorted(rows) == list(range(9))
    modes = ["SYNC", "ASYNC", "NO_UPLOAD"]
    for i, (mine, other) in enumerate((a, b) for a in modes for b in modes):
        assert rows[i]["name"] == f"checkpoint_{i}" and rows[i]["metrics"] == {"i": i}
        assert files_of(rtrain, f"checkpoint_{i}") == ["shard-0", "shard-1"]
        assert text_of(rtrain, f"checkpoint_{i}", "shard-0") == f"{mine}{i}"
        assert text_of(rtrain, f"checkpoint_{i}", "shard-1") == f"{other}{i}"
    assert [row["metrics"]["i"] for row in rtrain.json("metrics", "run")] == list(range(10))
    created = [rows[i]["created_at"] for i in range(9)]
    assert created == sorted(created)
    assert leftovers(rtrain.run_folder("run") / "staging") == []


# behaviour: SYNC leaves the source folder
# behaviour: `get_checkpoint` after each mode
# behaviour: `delete_local_checkpoint_after_upload`
def test_what_stays_and_what_get_checkpoint_says(rtrain):
    """Tests the source folder after each mode and delete flag, and get_checkpoint() after each report."""
    rtrain.run_ok(
        script(
            """
      local seen = {}
      local function latest() return train.get_checkpoint() and train.get_checkpoint().path:match('[^/]*$') or 'none' end
      local function try(mode, delete)
        local name = mode .. tostring(delete)
        local dir = mode == 'NO_UPLOAD' and run .. '/' .. name or name
        local before = latest()
        train.report({}, {checkpoint = make(dir, {file = name}), checkpoint_dir_name = name, checkpoint_upload_mode = mode,
                          delete_local_checkpoint_after_upload = delete})
        seen[#seen + 1] = {name = name, dir = dir, before = before, after = latest()}
      end
      for _, mode in ipairs{'SYNC', 'ASYNC', 'NO_UPLOAD'} do
        for _, delete in ipairs{'default', true, false} do
          if delete == 'default' then delete = nil end
          try(train.CheckpointUploadMode[mode], delete)
        end
      end
      for _, each in ipairs(seen) do each.stays = exists(each.dir .. '/file') end
      return seen
    """,
            workers=1,
        )
    )
    with rtrain.database() as db:
        seen = json.loads(db.execute("SELECT return_value FROM runs").fetchone()[0])
    stays = {each["name"]: each["stays"] for each in seen}
    assert [stays["SYNC" + flag] for flag in ("nil", "true", "false")] == [True, False, True]
    assert [stays["ASYNC" + flag] for flag in ("nil", "true", "false")] == [False, False, True]
    # The files were moved to the registered folder, whatever the flag is.
    for flag in ("nil", "true", "false"):
        assert text_of(rtrain, "NO_UPLOAD" + flag, "file") == "NO_UPLOAD" + flag
    names = [each["name"] for each in seen]
    for each in seen:
        if "ASYNC" not in each["name"]:
            assert each["after"] == each["name"]
        elif each["before"] != "none":
            assert names.index(each["after"]) >= names.index(each["before"]), "never older than before"
    assert len(checkpoints(rtrain)) == 9


def test_async_returns_while_the_files_are_still_uploaded(rtrain):
    """While the upload of report 0 is delayed, metrics are still stored, but the checkpoint does not exist yet."""
    rtrain.env["RTRAIN_FAULT"] = "ckpt.stage:1:sleep=2000"
    rtrain.run_ok(
        script(
            """
      train.tempdir(function(dir)
        write(dir .. '/file', 'x')
        train.report({n = 0}, {checkpoint = train.Checkpoint.from_directory(dir), checkpoint_upload_mode = 'ASYNC'})
      end)
      assert(train.get_checkpoint() == nil, 'report() waited for the upload')
      for n = 1, 200 do train.report{n = n} end
      assert(train.get_checkpoint() == nil, 'report() without a checkpoint waited for the upload')
      write('reported', '')
    """,
            workers=1,
        )
    )
    rows = checkpoints(rtrain)
    assert files_of(rtrain, rows[0]["name"]) == ["file"], "flushed before the worker counted as finished"
    assert len(rtrain.json("metrics", "run")) == 201


def test_a_report_with_a_checkpoint_waits_for_the_upload_before(rtrain):
    rtrain.env["RTRAIN_FAULT"] = "ckpt.stage:1:sleep=1000"
    rtrain.run_ok(
        script(
            """
      for n = 0, 2 do
        train.report({n = n, seen = train.get_checkpoint() ~= nil},
          {checkpoint = make('mine' .. n, {file = tostring(n)}), checkpoint_upload_mode = 'ASYNC'})
      end
    """,
            workers=1,
        )
    )
    rows = checkpoints(rtrain)
    assert [text_of(rtrain, rows[n]["name"], "file") for n in range(3)] == ["0", "1", "2"]


# behaviour: an error of an asynchronous upload
@pytest.mark.parametrize("mode, where", [("ASYNC", "rank 1"), ("SYNC", "train.lua")])
def test_an_upload_that_fails_is_the_error_of_its_rank(rtrain, mode, where):
    rtrain.env["RTRAIN_FAULT"] = "ckpt.stage:2:errno=ENOSPC:rank=1"
    result = rtrain.run(
        script(
            """
      for n = 0, 1 do
        train.report({n = n}, {checkpoint = make('mine-' .. rank .. n, {['f' .. rank] = 'x'}),
          checkpoint_upload_mode = '@MODE@'})
      end
      while '@MODE@' == 'ASYNC' do os.execute('sleep 0.05') end  -- the failure ends it
    """.replace("@MODE@", mode)
        )
    )
    assert result.returncode != 0
    assert "No space left on device" in result.stderr and where in result.stderr
    (attempt,) = rtrain.json("show", "run")["attempts"]
    assert attempt["error"]["rank"] == 1, attempt["error"]
    assert list(checkpoints(rtrain)) == [0], "half a checkpoint is none"
    assert leftovers(rtrain.run_folder("run") / "staging") == []


def test_a_failed_sync_upload_may_be_caught_and_gone_past(rtrain):
    rtrain.env["RTRAIN_FAULT"] = "ckpt.stage:1:errno=ENOSPC:rank=1"
    rtrain.run_ok(
        script("""
      local errors = {}
      for n = 0, 1 do
        local ok, err = pcall(train.report, {n = n}, {checkpoint = make('m' .. rank .. n, {['f' .. rank] = 'x'})})
        errors[#errors + 1] = ok and 'ok' or err.code
      end
      train.report{errors = errors}
    """)
    )
    assert list(checkpoints(rtrain)) == [1]
    (last,) = [row for row in rtrain.json("metrics", "run", "--ranks") if row["index"] == 2]
    assert [metrics["errors"] for metrics in last["ranks"]] == [["peer_lost", "ok"], ["environment", "ok"]]


# behaviour: a custom upload function
def test_what_the_upload_function_returns_is_registered(rtrain):
    rtrain.run_ok(
        script("""
      local function upload(checkpoint, name)
        local target = run .. '/uploaded-' .. name
        os.execute(('mkdir -p %q && cp %q/* %q'):format(target, checkpoint.path, target))
        write(target .. '/by-' .. rank, name)
        return train.Checkpoint.from_directory(target)
      end
      for n, mode in ipairs{'SYNC', 'ASYNC', 'SYNC'} do
        train.report({n = n}, {
          checkpoint = make('mine-' .. rank .. n, {['shard-' .. rank] = mode}), checkpoint_upload_mode = mode,
          checkpoint_upload_fn = upload, checkpoint_dir_name = n > 1 and 'given ' .. n .. ' by ' .. rank or nil})
      end
    """)
    )
    rows = checkpoints(rtrain)
    assert [rows[i]["name"] for i in range(3)] == ["checkpoint_000000", "given 2 by 0", "given 3 by 0"]
    for i in range(3):
        assert files_of(rtrain, rows[i]["name"]) == ["by-0", "by-1", "shard-0", "shard-1"]
        assert text_of(rtrain, rows[i]["name"], "by-1") == rows[i]["name"], "the agreed name on every rank"
    assert (rtrain.folder / "mine-01").exists() and not (rtrain.folder / "mine-02").exists(), "deleted in ASYNC only"


WRONG = [
    ("checkpoint_upload_fn = function() end", ["checkpoint_upload_fn must return a Checkpoint", "nil"]),
    ("checkpoint_upload_fn = function() error('no network') end", ["no network"]),
    ("checkpoint_upload_fn = function(c) return c end", ["outside the run's folder", "/mine", "/storage/run"]),
    ("checkpoint_upload_fn = 7", ["checkpoint_upload_fn is a number"]),
    ("checkpoint_upload_mode = 'NO_UPLOAD'", ["outside the run's folder", "/mine", "/storage/run"]),
    ("checkpoint_upload_mode = 'NOUPLOAD'", ["did you mean 'NO_UPLOAD'"]),
    ("checkpoint_upload_mode = train.CheckpointUploadMode.ASNC", ["did you mean 'ASYNC'"]),
    ("checkpoint_upload_nod = 'SYNC'", ["did you mean 'checkpoint_upload_mode'"]),
    ("delete_local_checkpoint_after_upload = 'yes'", ["delete_local_checkpoint_after_upload is a string"]),
    ("checkpoint_dir_name = 'a/b'", ["a/b"]),
]


# behaviour: an upload function that returns nothing
# behaviour: a checkpoint outside of the run's folder
# behaviour: validation without a checkpoint
def test_wrong_reports_are_refused_with_the_rule(rtrain):
    """One run makes all the mistakes; report() raises each at the user's line, and the last error is not caught."""
    tries = "\n".join(
        f"try(function() train.report({{}}, {{checkpoint = make('mine', {{f = 'x'}}), {option}}}) end)"
        for option, _ in WRONG
    )
    result = rtrain.run(
        script(
            """
      local errors = {}
      local function try(fn)
        local ok, err = pcall(fn)
        errors[#errors + 1] = ok and 'no error' or tostring(err)
      end
      @TRIES@
      try(function() train.report({}, {validation = true}) end)
      try(function() train.report({}, {checkpoint = 'mine'}) end)
      try(function()
        train.report({}, {checkpoint = train.Checkpoint(run), delete_local_checkpoint_after_upload = true})
      end)
      train.report{errors = errors}
      train.report({}, {checkpoint = make('mine', {}), checkpoint_upload_mode = 'NO_UPLOAD'})
    """.replace("@TRIES@", tries),
            workers=1,
        )
    )
    assert result.returncode == 1
    assert "train.lua" in result.stderr and "outside the run's folder" in result.stderr
    errors = rtrain.json("metrics", "run")[-1]["metrics"]["errors"]
    expected = [words for _, words in WRONG] + [
        ["validation without a checkpoint"],
        ["not a Checkpoint"],
        ["take files of the run with it"],
    ]
    assert len(errors) == len(expected)
    for error, words in zip(errors, expected):
        for word in words:
            assert word in error, error
    assert checkpoints(rtrain) == {}


# behaviour: tensors among the metrics
def test_tensors_in_metrics_are_converted_or_refused_by_name(rtrain):
    rtrain.run_ok(
        script(
            """
      local torch = require 'torch'
      train.report{loss = torch.tensor(0.5), deep = {n = torch.tensor(3)}}
      local ok, err = pcall(train.report, {ok = 1, deep = {loss = torch.zeros{2, 2}}})
      train.report{error = tostring(err)}
    """,
            workers=1,
        )
    )
    first, second = rtrain.reports("run")
    assert first == {"loss": 0.5, "deep": {"n": 3}}
    assert "metrics.deep.loss" in second["error"] and "{2, 2}" in second["error"]


KILL = "os.execute('kill -9 $PPID')"


# behaviour: death before a report
# behaviour: what has arrived counts before the failure
def test_a_rank_that_dies_before_it_reports(rtrain):
    """The other rank does not hang, nothing of the report is registered, and earlier complete reports are."""
    started = time.monotonic()
    result = rtrain.run(
        script(
            """
      train.report({n = 0}, {checkpoint = make('a' .. rank, {['f' .. rank] = 'x'})})
      train.report{n = 1}
      train.collective.barrier()
      if rank == 1 then @KILL@ end
      train.report({n = 2}, {checkpoint = make('b' .. rank, {['f' .. rank] = 'x'})})
    """.replace("@KILL@", KILL)
        )
    )
    assert result.returncode == 5 and time.monotonic() - started < 55, "not the report's deadline"
    assert list(checkpoints(rtrain)) == [0]
    assert [row["metrics"]["n"] for row in rtrain.json("metrics", "run")][:2] == [0, 1]
    assert leftovers(rtrain.run_folder("run") / "staging") == []


# behaviour: death after a report is staged
# fault: death between two ranks' shards
@pytest.mark.parametrize("point", ["ckpt.stage", "ckpt.staged"])
def test_a_rank_that_dies_before_its_files_are_delivered(rtrain, point):
    rtrain.env["RTRAIN_FAULT"] = f"{point}:2:kill:rank=1"
    result = rtrain.run(
        script("""
      for n = 0, 1 do
        train.report({n = n}, {checkpoint = make('m' .. rank .. n, {['f' .. rank] = 'x'})})
      end
    """)
    )
    assert result.returncode == 5
    assert list(checkpoints(rtrain)) == [0]
    folder = rtrain.run_folder("run")
    assert [path.name for path in (folder / "checkpoints").iterdir()] == ["checkpoint_000000"]
    assert leftovers(folder / "staging") == [], "the half of rank 0 is gone"


# behaviour: collectives and reports in turn
def test_collectives_and_reports_do_not_mix_up(rtrain):
    rtrain.run_ok(
        script("""
      for n = 0, 20 do
        train.collective.barrier()
        local checkpoint = n % 5 == 0 and make('m' .. rank, {['f' .. rank] = tostring(n)}) or nil
        train.report({n = n}, {checkpoint = checkpoint, checkpoint_upload_mode = n % 2 == 0 and 'ASYNC' or 'SYNC',
                               delete_local_checkpoint_after_upload = false})
        assert(train.collective.broadcast_from_rank_zero(rank == 0 and 'n' .. n or 'x') == 'n' .. n)
        if n % 5 == 0 then train.report{again = n} end
      end
    """)
    )
    assert sorted(row["metrics"]["n"] for row in checkpoints(rtrain).values()) == [0, 5, 10, 15, 20]


# behaviour: not finished before its reports are in
# fault: asynchronous save at the end
@pytest.mark.parametrize("mode", ["SYNC", "ASYNC", "NO_UPLOAD"])
def test_uploads_are_flushed_when_the_function_returns(rtrain, mode):
    """Also the upload of a rank that has returned while the other rank has not begun its last report."""
    rtrain.env["RTRAIN_FAULT"] = "ckpt.stage:1:sleep=800:rank=0"
    rtrain.run_ok(
        script(
            """
      if rank == 1 then os.execute('sleep 0.3') end
      local dir = ('@MODE@' == 'NO_UPLOAD' and run .. '/' or '') .. 'm' .. rank
      train.report({n = 0}, {checkpoint = make(dir, {['f' .. rank] = 'x'}), checkpoint_upload_mode = '@MODE@',
                             checkpoint_dir_name = 'last'})
    """.replace("@MODE@", mode)
        )
    )
    assert files_of(rtrain, "last") == ["f0", "f1"]
    assert leftovers(rtrain.run_folder("run") / "staging") == []


# fault: asynchronous save at the end
def test_a_failure_leaves_no_half_of_an_async_upload(rtrain):
    rtrain.env["RTRAIN_FAULT"] = "ckpt.stage:1:sleep=60000"
    result = rtrain.run(
        script(
            """
      train.report({}, {checkpoint = make('mine', {f = 'x'}), checkpoint_upload_mode = 'ASYNC'})
      error('after the report')
    """,
            workers=1,
        )
    )
    assert result.returncode == 1 and "after the report" in result.stderr
    assert checkpoints(rtrain) == {}
    assert leftovers(rtrain.run_folder("run") / "staging") == []
    assert (rtrain.folder / "mine" / "f").exists(), "deleted only after the upload"


def test_unequal_counts_name_ranks_counts_and_lines(rtrain):
    result = rtrain.run(
        script("""
      train.report{}
      train.report{}  -- rank 0's last report
      if rank == 1 then train.report({}, {checkpoint = make('mine', {})}) end
    """)
    )
    assert result.returncode == 1
    lines = (rtrain.folder / "train.lua").read_text().splitlines()
    last = next(i for i, line in enumerate(lines, 1) if "rank 0's last" in line)
    waits = next(i for i, line in enumerate(lines, 1) if "if rank == 1" in line)
    assert re.search(rf"rank 1 waits in report\(\) number 2 at \S*train.lua:{waits} ", result.stderr)
    assert re.search(
        rf"rank 0 has already returned .* after 2 reports, the last at \S*train.lua:{last}:", result.stderr
    )


def test_ranks_that_are_behind_are_named_while_a_checkpoint_waits(rtrain):
    rtrain.env["RTRAIN_REPORT_WARN_INTERVAL_S"] = "0.2"
    running = rtrain.start(
        "run",
        rtrain.script(
            script("""
      if rank == 1 then files.wait_for 'go' end
      train.report({}, {checkpoint = make('mine-' .. rank, {})})
    """)
        ),
    )
    wait_until(lambda: "behind: rank 1 (0 reports)" in running.stderr, message="the notice")
    (rtrain.folder / "go").touch()
    assert running.wait().returncode == 0
    assert list(checkpoints(rtrain)) == [0]


@pytest.mark.parametrize(
    "waits",
    [
        "torch.distributed.all_reduce(torch.ones(1))",
        "train.report({n = 1}, {checkpoint = train.Checkpoint.from_directory(folder)})",
    ],
    ids=["collective", "report"],
)
def test_deadlines_stop_while_a_checkpoint_is_on_its_way(rtrain, waits):
    """Rank 0 copies its files for longer than timeout_s; rank 1 waits for it all that time."""
    log = rtrain.folder / "copied"
    rtrain.fail_calls("copy_file_range:1+:sleep=150:rank=0", RTRAIN_FAULTIO_LOG=str(log))
    result = rtrain.run_ok(
        """
        local torch = require 'torch'
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            local rank = train.get_context():get_world_rank()
            local folder = 'files-' .. rank
            os.execute('mkdir ' .. folder)
            for i = 1, rank == 0 and 30 or 1 do
              local file = io.open(folder .. '/' .. i, 'w')
              file:write('x')
              file:close()
            end
            torch.distributed.barrier()
            if rank == 0 then
              train.report({n = 1}, {checkpoint = train.Checkpoint.from_directory(folder)})
              if @REPORTS@ then return end
            elseif not @REPORTS@ then
              train.report{n = 1}
              -- Gloo's deadline cannot be extended: rank 1 begins when rank 0 copies its third file.
              repeat until os.execute('sleep 0.02; ls storage/slow/staging/*/rank-0/11 >log 2>&1') == 0
            end
            @WAITS@
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
          torch_config = train.TorchConfig{timeout_s = 3},
          run_config = train.RunConfig{name = 'slow'},
        }:fit()
        """.replace("@WAITS@", waits).replace("@REPORTS@", str(waits.startswith("train.report")).lower())
    )
    assert 0.15 * len(log.read_text().splitlines()) > 4, "the upload was no longer than timeout_s"
    assert len(list((rtrain.run_folder("slow") / "checkpoints" / "checkpoint_000000").iterdir())) > 30, result.stderr
