"""Files of a run are readable only for the user, or for the group that shares the store; keys and passwords are not
stored."""

import os
import stat

import pytest

SCRIPT = """
local train = require 'rtrain'
local function write(dir, name, text)
  local file = assert(io.open(dir .. '/' .. name, 'w'))
  file:write(text)
  file:close()
end
train.TorchTrainer{
  train_loop_per_worker = function(config)
    print 'a line of the log'
    train.tempdir(function(dir)
      os.execute('mkdir -m 755 ' .. dir .. '/part')
      write(dir, 'part/moved.pt', 'weights')
      write(dir, 'tool', '#!/bin/sh')
      os.execute('chmod 755 ' .. dir .. '/tool; chmod 444 ' .. dir .. '/part/moved.pt')
      train.report({loss = 1}, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
    os.execute 'mkdir -p -m 755 own/part'
    write('own', 'part/copied.pt', 'weights')
    os.execute 'chmod 444 own/part/copied.pt'
    train.report({loss = 0}, {checkpoint = train.Checkpoint.from_directory 'own'})
  end,
  train_loop_config = {api_key = 'none', model = {HF_TOKEN = 'none', width = 8}, key_size = 64, monkey = 'none'},
  run_config = train.RunConfig{name = 'run'},
}:fit()
"""


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def modes(folder):
    """Returns path below the folder → its permissions."""
    return {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in sorted(folder.rglob("*"))}


def check_modes(storage, file, folder, executable):
    found = modes(storage)
    assert {
        "rtrain.db",
        "run/lock",
        "run/logs/attempt-1/rank-0.log",
        "run/checkpoints/checkpoint_000000/part/moved.pt",
        "run/checkpoints/checkpoint_000001/part/copied.pt",
    } <= set(found)
    for path, mode in found.items():
        wanted = folder if (storage / path).is_dir() else executable if path.endswith("/tool") else file
        assert oct(mode) == oct(wanted), path


@pytest.mark.parametrize("workers", [0, 1])
def test_a_store_is_its_users_alone(rtrain, umask, workers):
    umask(0)
    rtrain.run_ok(SCRIPT, "-n", workers)
    assert stat.S_IMODE(rtrain.storage.stat().st_mode) == 0o700
    check_modes(rtrain.storage, 0o600, 0o700, 0o700)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_group_shares_a_store_in_its_folder(rtrain, umask, workers):
    umask(0o077)
    team = rtrain.folder / "team"
    team.mkdir()
    team.chmod(0o2770)
    rtrain.run_ok(SCRIPT, "-n", workers, "--storage", team / "results")
    assert stat.S_IMODE((team / "results").stat().st_mode) == 0o2770
    check_modes(team / "results", 0o660, 0o2770, 0o770)


def test_a_store_of_an_older_version_is_closed_to_others(rtrain, umask):
    rtrain.run_ok(SCRIPT)
    rtrain.storage.chmod(0o755)
    (rtrain.storage / "rtrain.db").chmod(0o644)
    rtrain.run_ok(SCRIPT, "--name", "second")
    assert stat.S_IMODE((rtrain.storage / "rtrain.db").stat().st_mode) == 0o600
    assert stat.S_IMODE(rtrain.storage.stat().st_mode) == 0o755, "the folder is the user's to open"


def test_secrets_are_masked_in_the_record(rtrain):
    secret = "sk-123456"
    rtrain.run_ok(
        SCRIPT,
        "--set",
        f"api_key={secret}",
        f"--set=model.HF_TOKEN={secret}",
        "--set",
        "monkey=banana",
        "--",
        "--db-password",
        secret,
        f"--token={secret}",
    )
    show = rtrain.json("show", "run")
    assert show["config"] == {
        "api_key": "***",
        "key_size": 64,
        "model": {"HF_TOKEN": "***", "width": 8},
        "monkey": "banana",
    }
    command = show["environment"]["command"]
    assert command[-3:] == ["--db-password", "***", "--token=***"]
    assert "api_key=***" in command and "--set=model.HF_TOKEN=***" in command and "monkey=banana" in command
    for path in rtrain.storage.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path
