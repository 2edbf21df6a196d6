"""One run over two hosts: what its ranks are, what they compute, and what its end is on both."""

import os
import signal

import pytest
from conftest import processes_of, wait_until

TRAIN = """
local files, train = require 'files', require 'rtrain'
local trainer = train.TorchTrainer{
  train_loop_per_worker = function()
    local torch = require 'torch'
    local context = train.get_context()
    BODY
  end,
  scaling_config = train.ScalingConfig{num_workers = 4},
  run_config = train.RunConfig{name = 'nodes', failure_config = train.FailureConfig{FAILURES}},
}
trainer:fit()
"""
# Parameters after some steps, each as its bits.
TRAINING = """
    torch.manual_seed(0)
    local nn = torch.nn
    local model = train.torch.prepare_model(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)))
    local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.01})
    torch.manual_seed(context:get_world_rank())
    for step = 1, 20 do
      local x = torch.randn(32, 8)
      local loss = ((model(x) - x:sum(1, true)):pow(2)):mean()
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
    end
    local bits = {}
    for _, parameter in ipairs(model:parameters()) do
      bits[#bits + 1] = ('%.0f'):format(parameter:detach():view(-1):view(torch.int32):to(torch.float64):sum():item())
    end
    train.report{parameters = table.concat(bits, ' ')}
"""
# Until the file `go` is there.
WAITING = """
    local step = 0
    while not files.exists 'go' do
      step = step + 1
      train.report{step = step}
      os.execute('sleep 0.05')
    end
"""


def script(rtrain, body, failures=""):
    return rtrain.script(TRAIN.replace("BODY", body).replace("FAILURES", failures))


def workers_of(rtrain, attempt=-1):
    return rtrain.json("show", "nodes")["attempts"][attempt]["workers"]


def wait_for_reports(rtrain, job, count=1):
    def has_reports():
        assert job.processes[0].running, job.processes[0].stderr
        found = rtrain("metrics", "nodes", "--json")
        return found.returncode == 0 and found.stdout.count('"index"') >= count
    wait_until(has_reports, message=f"{count} reports")


def test_ranks_are_dense_by_host(rtrain, job):
    body = """
    local sum = torch.full({2}, context:get_world_rank() + 1)
    torch.distributed.all_reduce(sum)
    print(('rank %d of %d: %d of %d on node %d, %d'):format(context:get_world_rank(), context:get_world_size(),
      context:get_local_rank(), context:get_local_world_size(), context:get_node_rank(), sum:sum():item()))
    train.report{sum = sum:sum():item()}
"""
    first, second = job("run", script(rtrain, body)).wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    lines = sorted(line.split("] ")[1] for line in first.stdout.splitlines())
    assert lines == [f"rank {rank} of 4: {rank % 2} of 2 on node {rank // 2}, 20" for rank in range(4)]
    assert [worker["host"] for worker in workers_of(rtrain)] == ["n0", "n0", "n1", "n1"]
    assert second.stdout == "", "what its workers print is shown once, by node 0"


def test_the_parameters_are_those_of_one_machine(rtrain, job):
    path = script(rtrain, TRAINING)
    for result in job("run", path, "--name", "two").wait():
        assert result.returncode == 0, result.stderr
    assert rtrain("run", path, "--name", "one", "--oversubscribe").returncode == 0
    assert rtrain.reports("two") == rtrain.reports("one")


def test_a_script_that_fails_before_fit_ends_every_host(rtrain, job):
    first, second = job("run", rtrain.script("error('before fit')")).wait(30)
    assert (first.returncode, second.returncode) == (1, 1), second.stderr
    assert "before fit" in first.stderr


def test_every_host_ends_with_the_code_of_the_script(rtrain, job):
    assert [result.returncode for result in job("run", rtrain.script("os.exit(7)")).wait(30)] == [7, 7]


def test_an_error_of_a_rank_elsewhere_shows_the_users_line(rtrain, job):
    first, second = job("run", script(rtrain, "if context:get_world_rank() == 3 then error('no luck') end")).wait()
    assert (first.returncode, second.returncode) == (1, 1)
    assert "rank 3 raised an error" in first.stderr and "no luck" in first.stderr and "train.lua" in first.stderr


def test_two_runs_of_one_script(rtrain, job):
    path = script(rtrain, "train.report{rank = context:get_world_rank()}")
    path.write_text(path.read_text() + "trainer.run_config = train.RunConfig{name = 'again'}\ntrainer:fit()\n")
    for result in job("run", path).wait():
        assert result.returncode == 0, result.stderr
    assert [worker["host"] for worker in rtrain.json("show", "again")["attempts"][0]["workers"]] == ["n0", "n0", "n1", "n1"]


def test_a_killed_worker_is_named_and_the_run_goes_on(rtrain, job):
    running = job("run", script(rtrain, WAITING, "max_failures = 1"))
    wait_for_reports(rtrain, running)
    victim = workers_of(rtrain)[3]["pid"]
    os.kill(victim, signal.SIGKILL)  # the hosts have this machine's numbers of processes
    wait_until(lambda: "attempt 2 begins" in running.processes[0].stderr, message="the second attempt")
    (rtrain.folder / "go").touch()
    first, second = running.wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert f"rank 3 (pid {victim}) was killed by signal 9" in first.stderr
    assert rtrain.statuses("nodes") == ["ERRORED", "FINISHED"]


def test_an_agent_that_is_killed_takes_its_workers_along(rtrain, job):
    running = job("run", script(rtrain, WAITING, "node_timeout_s = 2"))
    wait_for_reports(rtrain, running)
    running.processes[1].kill()
    result = running.processes[0].wait()
    assert result.returncode == 5, result.stderr
    assert "host n1 has not been heard of for 2 s (node_timeout_s)" in result.stderr
    assert workers_of(rtrain)[3]["host"] == "n1"
    assert not processes_of(rtrain.storage)


def test_a_controller_that_is_killed_leaves_nothing(rtrain, job):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "3"
    running = job("run", script(rtrain, WAITING, "node_timeout_s = 2"))
    wait_for_reports(rtrain, running)
    running.processes[0].kill()
    result = running.processes[1].wait(30)
    assert result.returncode == 5
    assert "not been heard of for 2 s (node_timeout_s), nor for another 3 s (RTRAIN_JOIN_TIMEOUT_S)" in result.stderr
    wait_until(lambda: not processes_of(rtrain.storage), message="the end of all processes")


def test_a_link_that_is_down_for_a_moment_loses_nothing(rtrain, job, hosts):
    running = job("run", script(rtrain, WAITING, "node_timeout_s = 20"))
    wait_for_reports(rtrain, running, 3)
    hosts[1].set_link("down")
    before = len(rtrain.reports("nodes"))
    wait_until(lambda: len(rtrain.reports("nodes")) > before + 20, message="reports of rank 0 meanwhile")
    hosts[1].set_link("up")
    (rtrain.folder / "go").touch()
    first, second = running.wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    rows = rtrain.json("metrics", "nodes", "--ranks")
    steps = [row["ranks"][3]["step"] for row in rows if len(row["ranks"]) > 3 and row["ranks"][3]]
    assert steps == list(range(1, len(steps) + 1)) and len(steps) > 3, "every report of rank 3, once"
    assert len(rtrain.statuses("nodes")) == 1


def test_a_storage_that_hosts_do_not_share_is_refused(rtrain, job):
    path = script(rtrain, "train.report{step = 1}")
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "3"
    first, second = job("run", path, "--storage", "/srv/disk/results").wait()
    assert (first.returncode, second.returncode) == (4, 4), first.stderr
    assert "host n1 does not see /srv/disk/results/nodes of host n0" in first.stderr


def test_a_host_that_does_not_come_is_named(rtrain, job):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "1"
    result = job("run", script(rtrain, "train.report{step = 1}"), nodes=[0]).wait(30)[0]
    assert result.returncode == 4, result.stderr
    assert "after 1 s (RTRAIN_JOIN_TIMEOUT_S): node 1 (n1) has not come" in result.stderr


def test_a_host_whose_controller_does_not_come_says_where_it_looked(rtrain, job):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "1"
    running = job("run", script(rtrain, "train.report{step = 1}"), nodes=[1])
    result = running.wait(30)[0]
    assert result.returncode == 6, result.stderr
    assert f"on host n1 the file {running.rendezvous} is not there" in result.stderr


def test_an_elastic_run_goes_on_without_a_host(rtrain, job):
    path = script(rtrain, WAITING, "node_timeout_s = 2, max_failures = 1")
    path.write_text(path.read_text().replace("num_workers = 4", "num_workers = {2, 4}"))
    running = job("run", path)
    wait_for_reports(rtrain, running)
    running.processes[1].kill()
    wait_until(lambda: "attempt 2 begins" in running.processes[0].stderr, message="the second attempt")
    (rtrain.folder / "go").touch()
    result = running.processes[0].wait()
    assert result.returncode == 0, result.stderr
    assert [worker["host"] for worker in workers_of(rtrain)] == ["n0", "n0"]


def test_stacks_of_all_hosts(rtrain, job, hosts):
    running = job("run", script(rtrain, WAITING))
    wait_for_reports(rtrain, running)
    runtime = rtrain.temporary[0]
    rtrain.env["RTRAIN_RUNTIME_DIR"] = runtime
    result = rtrain("stack", "nodes")
    (rtrain.folder / "go").touch()
    assert [each.returncode for each in running.wait()] == [0, 0]
    assert all(f"rank {rank} (pid" in result.stdout for rank in range(4)), result.stdout + result.stderr


@pytest.mark.parametrize("whom", [0, 1], ids=["the controller", "an agent"])
def test_a_signal_ends_the_run_in_order(rtrain, job, whom):
    body = "repeat train.report{step = 1} os.execute('sleep 0.05') until train.stop_requested()"
    running = job("run", script(rtrain, body))
    wait_for_reports(rtrain, running)
    running.processes[whom].send(signal.SIGTERM)
    first, second = running.wait()
    assert (first.returncode, second.returncode) == (143, 143), first.stderr + second.stderr
    assert rtrain.json("show", "nodes")["status"] == "ABORTED"
