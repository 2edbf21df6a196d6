"""report() with a checkpoint: the upload modes, what stays, and uploads that fail."""

import json

import pytest

from conftest import leftovers
from report_scripts import checkpoints, files_of, script, text_of

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
