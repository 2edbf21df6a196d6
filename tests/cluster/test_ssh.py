"""Runs over nodes that ssh alone reaches: own homes, disks, users and host keys, no shared folder (ssh_hosts.py)."""

import json
import os
import pathlib
import re
import stat

import pytest

import ssh_hosts
from conftest import RTRAIN, nightly, wait_until
from ssh_scripts import HELLO, saving
from ssh_user import NODES, SshUser
from test_examples import example, with_images
from test_terminal import OnTerminal


@pytest.fixture
def user(rtrain):
    """Two nodes, the second with another user's name and home."""
    reason = ssh_hosts.missing()
    if reason:
        pytest.skip(reason)
    made = ssh_hosts.SshHosts(rtrain.folder / "hosts", users=["root", "bob"])
    try:
        yield SshUser(rtrain, made)
    finally:
        made.end()


TORCH = {"RTRAIN_LIBTORCH": f"{ssh_hosts.SITE}/torch/lib"}


def hosts_of(run):
    return [worker["host"] for worker in run["attempts"][-1]["workers"]]


def test_a_script_with_its_modules_and_data_trains_on_both_nodes(user):
    result = user.ok("run", user.hello(), "--nodes", "n0,n1", "--with", "data", "--", "a b", "$(id)")
    assert result.stdout == "hello a b,$(id)\n"
    assert "the results are on n0; here `rtrain show nodes` reads them" in result.stderr
    shown = json.loads(user.ok("show", "nodes", "--json").stdout)
    assert shown["environment"]["command"][1:6] == ["run", "train.lua", "--nodes", "n0,n1", "--with"]
    assert hosts_of(user.results("show", "nodes")) == ["n0", "n0", "n1", "n1"]
    assert [rank["word"] for rank in user.results("metrics", "nodes", "--ranks")[0]["ranks"]] == ["one"] * 4


def test_files_are_sent_once_and_changed_ones_again(user):
    def files(number):
        lines = user.on(number, f"cd {NODES}/files && ls -i").split("\n")
        return {name: inode for inode, name in (line.split() for line in lines if line)}

    user.ok("run", user.hello(), "--nodes", "n0,n1:1", "--with", "data")
    assert hosts_of(user.results("show", "nodes")) == ["n0", "n0", "n0", "n1"], "n1 has one place"
    before = files(1)
    (user.folder / "data" / "words.txt").write_text("three\n")
    result = user.ok("run", "train.lua", "--nodes", "n0,n1", "--with", "data", "--name", "again")
    assert "sending 12 bytes to 2 nodes" in result.stderr, "six for each"
    after = files(1)
    assert before.items() <= after.items() and len(after) == len(before) + 1
    assert user.results("metrics", "again")[0]["metrics"]["word"] == "three"
    assert stat.S_IMODE(os.stat(user.hosts.root_of(1) / NODES).st_mode) == 0o700


def processes_text():
    """The command lines and environments of all processes of this machine."""
    out = []
    for name in ("cmdline", "environ"):
        for path in pathlib.Path("/proc").glob(f"[0-9]*/{name}"):
            try:
                out.append(path.read_text(errors="replace"))
            except OSError:
                continue  # it has ended
    return "\n".join(out)


def test_ctrl_c_saves_and_no_command_line_has_the_key(user):
    running = user.start("run", user.script(saving()), "--nodes", "n0,n1")
    user.wait_for_steps(running)
    key = user.on(1, f"cat {user.job()}/key")
    texts = processes_text()
    assert re.fullmatch("[0-9a-f]{64}", key)
    assert "RTRAIN_NODE_RANK" in texts and key not in texts
    user.interrupt(running)
    result = running.wait()
    assert result.returncode == 130, result.stderr
    assert "rtrain run --name nodes --resume auto train.lua --nodes n0,n1\n" in result.stderr, "to go on"
    run = user.results("show", "nodes")
    assert run["status"] == "ABORTED"
    files = user.on(
        0, f"ls rtrain_results/nodes/checkpoints/{user.results('checkpoint', 'ls', 'nodes')[0]['name']}"
    ).split()
    assert files == [f"step-{rank}.lua" for rank in range(4)], "those of n1 too"
    wait_until(
        lambda: "agent" not in user.on(1, "ps ax -o args | grep '[r]train agent' || :"), message="the agent's end"
    )


@nightly
def test_ctrl_c_at_a_terminal(user):
    """ssh has the terminal: the block below the reports is drawn, and a key is a signal of node 0."""
    user.script(saving())
    program = user.hosts.laptop.command(RTRAIN, folder=user.folder)
    running = OnTerminal(user.rtrain, "run", "train.lua", "--nodes", "n0,n1", has_keys=True, program=program)
    running.read_until(rb"(?s)report 1 .*nodes  RUNNING  attempt 1  4 workers")
    running.write(b"\x03")
    output = running.end()
    assert running.process.returncode == 130, output
    assert user.results("show", "nodes")["status"] == "ABORTED"
    assert b"to go on from its checkpoint: " in output


@nightly
def test_a_kill_of_the_process_on_node_0_is_said(user):
    running = user.start("run", user.script(saving()), "--nodes", "n0,n1")
    user.wait_for_steps(running)
    user.on(0, f"kill -9 $(cat {user.job()}/pid)")
    result = running.wait()
    assert result.returncode == 4
    assert "rtrain: the process of the run on n0 was killed: its memory may have been full" in result.stderr
    assert json.loads(user.ok("show", "nodes", "--json").stdout)["status"] == "LOST", "this machine knows where it is"


@nightly
def test_many_small_files_come_through_one_connection(user):
    names = [f"data/{number}/word.txt" for number in range(300)]
    for number, name in enumerate(names):
        (user.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (user.folder / name).write_text(f"{number}\n")
    calls = user.rtrain.folder / "bin" / "ssh"
    calls.parent.mkdir()
    calls.write_text('#!/bin/sh\necho >>"$0.log"\nexec /usr/bin/ssh "$@"\n')
    calls.chmod(0o755)
    path = f"{calls.parent}:{os.environ['PATH']}"
    user.ok("run", user.hello(), "--nodes", "n0,n1", "--with", "data", PATH=path)
    assert user.on(1, f"cat {user.job()}/work/data/*/word.txt | sort -n | tail -1") == "299\n"
    assert user.on(0, f"ls {user.job()}/work/data | wc -l") == "301\n"
    assert len(pathlib.Path(f"{calls}.log").read_text()) < 30


@nightly
def test_files_below_rtrain_data_are_found_by_that_variable(user):
    (user.rtrain.folder / "images").mkdir()
    (user.rtrain.folder / "images" / "words.txt").write_text("far\n")
    user.rtrain.env["RTRAIN_DATA"] = str(user.rtrain.folder / "images")
    user.hello(HELLO.replace("'data/words.txt'", "os.getenv 'RTRAIN_DATA' .. '/words.txt'"))
    result = user("run", "train.lua", "--nodes", "n0,n1", "--with", "/etc/hostname")
    assert result.returncode == 2 and f"project or $RTRAIN_DATA, {user.rtrain.folder}/images" in result.stderr
    user.ok("run", "train.lua", "--nodes", "n0,n1", "--with", user.rtrain.folder / "images" / "words.txt")
    assert user.results("metrics", "nodes")[0]["metrics"]["word"] == "far"


@nightly
def test_a_run_of_this_machine_takes_the_name_of_a_far_one(user):
    user.ok("run", user.hello(), "--nodes", "n0,n1", "--with", "data")
    user.ok("run", "train.lua", "-n", "1", **TORCH)
    assert json.loads(user.ok("show", "nodes", "--json").stdout)["scaling"]["num_workers"] == 1


@nightly
def test_a_run_goes_on_from_a_checkpoint_that_the_other_node_fetches(user):
    running = user.start("run", user.script(saving()), "--nodes", "n0,n1")
    user.wait_for_steps(running)
    user.interrupt(running)
    assert running.wait().returncode == 130
    last = user.steps()[-1]
    running = user.start("run", "train.lua", "--nodes", "n0,n1", "--resume", "must")
    user.wait_for_steps(running, last + 2)
    for number in range(2):
        user.on(number, f"touch {user.job()}/work/go")
    result = running.wait()
    assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "done"), result.stderr
    assert {rank["first"] for rank in user.results("metrics", "nodes", "--ranks")[-1]["ranks"]} == {last}


@nightly
def test_this_machine_is_the_first_node(user):
    result = user.ok("run", user.hello(), "--nodes", "localhost,n1", "--with", "data", RTRAIN_STORAGE="", **TORCH)
    assert result.stdout == "hello \n" and "the results are on" not in result.stderr
    run = json.loads(user.ok("show", "nodes", "--json", RTRAIN_STORAGE="").stdout)
    assert hosts_of(run) == ["switch", "switch", "n1", "n1"]


def test_the_exit_code_is_that_of_the_script(user):
    result = user("run", user.script("io.stderr:write('oh\\n') os.exit(7)"), "--nodes", "n0,n1")
    assert (result.returncode, result.stdout) == (7, ""), result.stderr
    assert "oh\n" in result.stderr


def test_a_detached_run_goes_on_and_is_followed_from_here(user):
    result = user.ok("run", user.script(saving()), "--nodes", "n0,n1", "--detach", "--name", "far")
    assert "rtrain logs -f far" in result.stdout
    user.wait_for_steps(None, run="far")
    logs = user.start("logs", "-f", "far")
    wait_until(lambda: "[rank 3] a rank begins after step 0" in logs.stdout, message="a line of rank 3")
    assert "far" in user.ok("show", "far").stdout
    user.ok("stop", "far")
    assert logs.wait().returncode == 0
    assert user.results("show", "far")["status"] == "ABORTED"


@nightly
def test_a_detached_run_is_what_submit_ssh_starts(user):
    shown = user.ok("submit", "ssh", user.hello(), "--hosts", "n0,n1", "--dry-run").stdout
    assert "bob" not in shown and "sha256sum" in shown and "../rtrain agent" in shown
    assert NODES not in user.on(0, "find .cache || :"), "nothing was done"
    script = user.script("require('rtrain').TorchTrainer{train_loop_per_worker = function() end}:fit()")
    user.ok("submit", "ssh", script, "--hosts", "n0,n1", "--name", "far")
    wait_until(lambda: user.results("ls") and user.results("show", "far")["status"] == "FINISHED", message="its end")


# What nodes lack


def test_all_that_nodes_lack_is_said_at_once(user):
    user.hosts.trust([1])  # n0's key is unknown
    user.program(1, "uname", "[ $1 = -m ] && echo aarch64 || exec /usr/bin/uname $1")
    result = user("run", user.hello(), "--nodes", "n0,n1,n9")
    assert (result.returncode, result.stdout) == (4, "")
    assert "3 of 3 nodes cannot take part" in result.stderr
    assert "n0: Host key verification failed." in result.stderr and "`ssh n0` shows it" in result.stderr
    assert re.search(r"n9: ssh: Could not resolve hostname", result.stderr)
    assert "n1: its processor is aarch64, and this rtrain is for x86_64" in result.stderr
    assert user.on(1, f"ls {NODES}/files {NODES}/jobs").split() == [f"{NODES}/files:", f"{NODES}/jobs:"], (
        "nothing was sent"
    )


def test_a_host_key_that_has_changed(user):
    user.hosts.make_host_key(1)
    user.hosts.restart_server(1)
    result = user("run", user.hello(), "--nodes", "n0,n1")
    assert result.returncode == 4
    assert "n1: WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!" in result.stderr
    assert "ssh-keygen -R n1" in result.stderr


def test_a_key_that_the_node_does_not_accept(user):
    (user.hosts.root_of(1) / ".ssh" / "authorized_keys").write_text("")
    result = user("run", user.hello(), "--nodes", "n0,n1")
    assert result.returncode == 4
    assert "1 of 2 nodes cannot take part" in result.stderr
    assert re.search(r"n1: .*Permission denied \(publickey", result.stderr) and "ssh-copy-id n1" in result.stderr


def test_an_older_c_library_is_said_and_not_tried(user):
    user.program(1, "getconf", "echo glibc 2.17")
    result = user("run", user.hello(), "--nodes", "n0,n1")
    assert result.returncode == 4
    assert "n1: its C library is glibc 2.17, and this rtrain needs 2." in result.stderr
    assert user.on(1, f"ls {NODES}/files").strip() == "", "nothing was sent"


def test_a_disk_without_space(user):
    cache = "/home/bob/.cache"
    user.hosts.sh(user.hosts[1], f"mkdir -p {cache} && mount -t tmpfs -o size=8m,mode=777 tmpfs {cache}")
    result = user("run", user.hello(), "--nodes", "n0,n1")
    assert result.returncode == 4
    assert re.search(
        r"n1: its disk has 8\.\d MB free at /home/bob/.cache/rtrain/nodes, and \d+\.\d MB are needed", result.stderr
    )


@nightly
def test_libtorch_that_is_missing(user):
    user.hosts.set_variable(1, "RTRAIN_LIBTORCH", "/nowhere")
    result = user("run", user.hello(), "--nodes", "n0,n1", "--with", "data")
    assert result.returncode == 4
    assert "1 of 2 nodes cannot run rtrain:\n  n1: there is no LibTorch that rtrain can use" in result.stderr


@nightly
def test_a_bundle_brings_libtorch_along(user):
    script = user.hello()
    user.ok("bundle", script, "-o", "job.run", "--with-libtorch", **TORCH)
    for number in range(2):
        user.hosts.set_variable(number, "RTRAIN_LIBTORCH", "")
        user.hosts.sh(user.hosts[number], "umount /opt/python")
    assert user("run", script, "--nodes", "n0,n1", "--with", "data").returncode == 4
    result = user.ok("run", script, "--nodes", "n0,n1", "--with", "data", "--bundle", "job.run", timeout=300)
    assert result.stdout == "hello \n"


@nightly
def test_a_firewall_before_node_0(user):
    user.hosts[0].drop_ports_but(22)
    result = user("run", user.hello(), "--nodes", "n0,n1", "--with", "data")
    assert result.returncode == 4
    assert "cannot reach the first one:\n  n1: " in result.stderr and "is there a firewall?" in result.stderr


def test_doctor_examines_all_nodes(user):
    result = user("doctor", "--nodes", "n0,n1,n9")
    assert result.returncode == 4
    assert re.search(r"^n0\n  ok +node +n0, x86_64", result.stdout, re.MULTILINE)
    assert re.search(r"^n1\n(  .*\n)+  ok +LibTorch", result.stdout, re.MULTILINE)
    assert re.search(r"ok +way +each of 1 other nodes reaches port \d+ of n0", result.stdout)
    assert "what fails: n9" in result.stderr


# Ways, links, lost nodes


@nightly
def test_a_jump_host(user):
    """n1 is reached through n0 alone."""
    user.hosts.write_config(f"Host inner\n  HostName {user.hosts[1].address}\n  User bob\n  ProxyJump n0\n")
    result = user.ok("run", user.hello(), "--nodes", "n0,inner", "--with", "data")
    assert result.stdout == "hello \n"
    assert hosts_of(user.results("show", "nodes"))[-1] == "n1"


@nightly
def test_a_transfer_that_breaks_goes_on_where_it_was(user):
    user.hosts.hosts.limit(1, 800)
    running = user.start("run", user.hello(), "--nodes", "n0,n1", "--with", "data")
    part = user.hosts.root_of(1) / NODES / "files"
    wait_until(lambda: any(path.stat().st_size > 200_000 for path in part.glob("*.part.*")), message="a part")
    user.interrupt(running)
    assert running.wait().returncode == 130
    user.hosts.hosts.limit(1, None)
    wait_until(lambda: list(part.glob("*.part")) and not list(part.glob("*.part.*")), message="the end of the transfer")
    sizes = [
        path.stat().st_size for number in range(2) for path in (user.hosts.root_of(number) / NODES / "files").iterdir()
    ]
    result = user.ok("run", "train.lua", "--nodes", "n0,n1", "--with", "data")
    sent = float(re.search(r"sending (\d+\.\d) MB", result.stderr).group(1)) * 1e6
    assert len(sizes) == 2 and abs(sent - (2 * os.path.getsize(RTRAIN) - sum(sizes))) < 100_000, "what each node lacks"


@nightly
def test_a_node_that_reboots_is_lost_and_comes_back(user):
    failures = "max_failures = 3, max_preemption_failures = 3, node_timeout_s = 3"
    running = user.start("run", user.script(saving(failures, "{2, 4}")), "--nodes", "n0,n1")
    user.wait_for_steps(running)
    user.hosts.reboot(1)
    wait_until(lambda: hosts_of(user.results("show", "nodes")) == ["n0", "n0"], 60, "the group without n1")
    user.hosts.come_back(1)
    user.on(1, f"nohup sh {user.job()}/start >/dev/null 2>&1 </dev/null &")
    wait_until(lambda: hosts_of(user.results("show", "nodes")) == ["n0", "n0", "n1", "n1"], 60, "the group with n1")
    user.interrupt(running)
    assert running.wait().returncode == 130, running.stderr


@nightly
def test_a_link_of_64_kilobytes_a_second(user):
    user.hosts.hosts.limit(1, 64)
    result = user.ok("run", user.hello(), "--nodes", "n0,n1", "--with", "data", timeout=900)
    assert re.search(r"n1 \d+\.\d MB of \d+\.\d MB", result.stderr), "progress is shown"


def test_mnist_trains_within_two_minutes(user):
    """As a new user: two machines with torch, a script, its images."""
    with_images(user.rtrain, 512, 200)
    user.rtrain.env.pop("RTRAIN_DATA")
    (user.rtrain.folder / "data").rename(user.folder / "data")
    user.script(pathlib.Path(example("mnist_convnet")).read_text().replace("MNIST {", "MNIST {root = 'data/mnist', "))
    nodes = ["--nodes", "n0,n1", "--with", "data"]
    result = user("run", "train.lua", "-n", "4", *nodes, "--set", "epochs=1", timeout=120)
    assert result.returncode == 0, result.stderr
    assert hosts_of(user.results("show", "last")) == ["n0", "n0", "n1", "n1"]
