"""storage_filesystem: the user's Lua functions keep copies of the checkpoints."""

import shutil

SCRIPT = """
local epochs, train = require 'epochs', require 'rtrain'
local calls = io.open('calls', 'a')
local fails = @FAILS@
local function call(text)
  calls:write(text, '\\n')
  calls:flush()
  if fails > 0 then
    fails = fails - 1
    error('the remote is away')
  end
end
train.TorchTrainer{
  train_loop_per_worker = function()
    local start = epochs.of(train.get_checkpoint())
    train.report{start = start}
    for epoch = start + 1, start + 3 do
      epochs.save(epoch, nil, {checkpoint_dir_name = 'e' .. epoch})
    end
  end,
  run_config = train.RunConfig{
    name = 'run', resume = 'auto', checkpoint_config = {num_to_keep = 2},
    storage_filesystem = {
      put = function(path, remote)
        call('put ' .. remote)
        os.execute(('mkdir -p remote/%s && cp -r %s/. remote/%s'):format(remote, path, remote))
      end,
      get = function(remote, path)
        call('get ' .. remote)
        if os.execute(('cp -r remote/%s/. %s'):format(remote, path)) ~= 0 then error('it is not there') end
      end,
      delete = function(remote)
        call('delete ' .. remote)
        os.execute('rm -r remote/' .. remote)
      end,
    },
  },
}:fit()
"""


def script(fails=0):
    return SCRIPT.replace("@FAILS@", str(fails))


def remote(rtrain):
    folder = rtrain.folder / "remote" / "run" / "checkpoints"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def mirrored(rtrain):
    with rtrain.database() as db:
        return [row[0] for row in db.execute("SELECT name FROM checkpoints WHERE mirrored = 1 ORDER BY idx")]


def test_the_copies_are_those_that_are_kept(rtrain):
    rtrain.run_ok(script())
    assert remote(rtrain) == ["e2", "e3"] == mirrored(rtrain)
    for name in remote(rtrain):
        local = rtrain.run_folder("run") / "checkpoints" / name
        copy = rtrain.folder / "remote" / "run" / "checkpoints" / name
        assert (copy / ".rtrain-checkpoint.json").read_bytes() == (local / ".rtrain-checkpoint.json").read_bytes()
    calls = (rtrain.folder / "calls").read_text().split("\n")
    assert "put run/checkpoints/e3" in calls


def test_what_fails_is_named_and_done_at_the_end(rtrain):
    result = rtrain.run_ok(script(fails=1))
    assert (
        "storage_filesystem.put of the checkpoint e1 failed" in result.stderr or "the remote is away" in result.stderr
    )
    assert remote(rtrain) == ["e2", "e3"] == mirrored(rtrain)


def test_a_remote_that_stays_away_does_no_harm(rtrain):
    result = rtrain.run_ok(script(fails=100))
    assert "checkpoint e3 failed" in result.stderr and "the remote is away" in result.stderr
    assert mirrored(rtrain) == []
    rtrain.run_ok(script(), "--resume", "must")
    assert remote(rtrain) == ["e5", "e6"] == mirrored(rtrain)


def test_a_resumed_run_gets_back_what_is_gone(rtrain):
    rtrain.run_ok(script())
    shutil.rmtree(rtrain.run_folder("run") / "checkpoints" / "e3")
    result = rtrain.run_ok(script(), "--resume", "must")
    assert "e3 was brought back" in result.stderr
    assert [row["start"] for row in rtrain.reports("run") if "start" in row] == [0, 3]


def test_a_copy_that_is_gone_or_damaged_is_passed_over(rtrain):
    rtrain.run_ok(script())
    for name in ("e2", "e3"):
        shutil.rmtree(rtrain.run_folder("run") / "checkpoints" / name)
    shutil.rmtree(rtrain.folder / "remote" / "run" / "checkpoints" / "e3")
    (rtrain.folder / "remote" / "run" / "checkpoints" / "e2" / "epoch").write_text("7")
    result = rtrain.run_ok(script(), "--resume", "must")
    assert "checkpoint e3 is missing, and storage_filesystem.get failed" in result.stderr
    assert "e2 is missing" in result.stderr and "epoch is damaged" in result.stderr
    assert [row["start"] for row in rtrain.reports("run", "--all") if "start" in row][-1] == 0


def test_functions_are_checked_where_they_are_written(rtrain):
    for fs, reason in (
        ("{puts = print}", "did you mean 'put'"),
        ("{get = print}", "it needs the function put"),
        ("{put = 1}", "put is not a function"),
        ("'s3://'", "expected a table"),
    ):
        result = rtrain.run(f"require('rtrain').RunConfig{{storage_filesystem = {fs}}}")
        assert result.returncode == 3 and reason in result.stderr, result.stderr
