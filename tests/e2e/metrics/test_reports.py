"""report() in detail: which files become a checkpoint, its name, and failures."""

import re
import time

import pytest

from conftest import leftovers, wait_until
from report_scripts import checkpoints, files_of, script, text_of


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
