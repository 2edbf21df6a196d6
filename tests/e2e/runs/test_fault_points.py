"""SIGKILL at each point of host/base/fault.h: the state on the disk stays consistent whatever a process was doing."""

import pytest

from conftest import SOURCE


def listed_points(rtrain):
    result = rtrain("env", "--fault-points")
    assert result.returncode == 0, result.stderr
    points = [line.split()[0] for line in result.stdout.splitlines()]
    if not points:
        pytest.skip("built with -DRTRAIN_FAULT_POINTS=OFF")
    return points


def test_every_fault_point_is_in_a_test(rtrain):
    tests = SOURCE / "tests"
    texts = [
        path.read_text()
        for path in [*tests.rglob("*.py"), *tests.rglob("*_test.cpp"), *tests.rglob("*_test.lua")]
        if path.name != "fault_test.cpp"
    ]
    untested = [point for point in listed_points(rtrain) if not any(point in text for text in texts)]
    assert not untested, f"no test breaks anything at {untested}"


IN_THE_CONTROLLER = [
    "attempt.begin:1",
    "attempt.end:1",
    "channel.read:9",
    "channel.send:5",
    "ckpt.clear:1",
    "ckpt.delete:1",
    "ckpt.drop:1",
    "ckpt.manifest:2",
    "ckpt.merge:4",
    "ckpt.rename:2",
    "ckpt.row:2",
    "ckpt.sync:2",
    "ckpt.sync_parents:2",
    "db.begin:9",
    "db.commit:8",
    "db.committed:8",
    "group.spawn:2",
    "group.start:2",
    "lock.take:1",
    "log.write:1",
    "run.create:1",
    "run.end:1",
]
IN_A_WORKER = [
    "channel.send:8",
    "ckpt.stage:2",
    "ckpt.staged:2",
    "worker.exit:1",
    "worker.reported:3",
    "worker.returned:1",
]


# behaviour: kill between files and commit
def test_the_controller_killed_anywhere_leaves_the_last_checkpoint(saver):
    listed_points(saver.rtrain)
    for point in IN_THE_CONTROLLER:
        saver.clear()
        result = saver.run_with_point(f"{point}:kill:controller", SAVER_PRINT="1")
        assert result.returncode == -9, f"{point}: not reached\n{result.stdout}{result.stderr}"
        saver.check(controller_died=True)


# behaviour: kill between files and commit
@pytest.mark.parametrize("rank", [0, 1])
def test_a_worker_killed_anywhere_leaves_the_last_checkpoint(saver, rank):
    listed_points(saver.rtrain)
    for point in IN_A_WORKER:
        saver.clear()
        result = saver.run_with_point(f"{point}:kill:rank={rank}")
        # A worker that is already allowed to exit does not fail the run.
        assert result.returncode == (0 if point == "worker.exit:1" else 5), f"{point}\n{result.stdout}{result.stderr}"
        saver.check()


def test_a_slow_first_message_is_no_failure(saver):
    listed_points(saver.rtrain)
    result = saver.run_with_point("worker.hello:1:sleep=500:rank=1")
    assert result.returncode == 0, result.stdout + result.stderr
    saver.check()


# behaviour: raise and exit are told apart
def test_a_worker_that_dies_on_its_error_is_lost_and_not_wrong(rtrain):
    listed_points(rtrain)
    script = """
        local train = require 'rtrain'
        local result = train.TorchTrainer{
          train_loop_per_worker = function()
            if train.get_context():get_world_rank() == 1 then error('on purpose') end
            train.report{}
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
        }:fit{raise = false}
        print('code', result.error.code)
        """
    assert "code\tuser" in rtrain.run_ok(script).stdout
    rtrain.env["RTRAIN_FAULT"] = "worker.failed:1:kill"
    assert "code\tworker_lost" in rtrain.run_ok(script).stdout
