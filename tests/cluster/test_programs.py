"""rtrain launch over two nodes: the programs find each other, and continue when one of them is killed."""

import signal

PROGRAM = """
import json, os, signal, socket, tempfile
from rtrain import train

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
assert not [name for name in os.environ if name.startswith("SLURM_")]
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(place) as server:
        seen = sorted(server.accept()[0].makefile().readline() for _ in range(size - 1))
else:
    while True:
        try:
            with socket.create_connection(place) as peer:
                peer.sendall(f"rank {rank} on node {os.environ['GROUP_RANK']}\\n".encode())
            break
        except ConnectionRefusedError:
            pass
    seen = []
if rank == 3 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    os.kill(os.getpid(), signal.SIGKILL)
with tempfile.TemporaryDirectory(dir=".") as folder:
    open(f"{folder}/state-{rank}", "w").close()
    train.report({"seen": "".join(seen)}, checkpoint=train.Checkpoint(folder))
"""


def test_programs_of_two_nodes_find_each_other_and_go_on_after_a_kill(rtrain, job):
    script = rtrain.script(PROGRAM, "train.py")
    for result in job("launch", "-n", "4", "--max-failures", "1", "--name", "nodes", script).wait():
        assert result.returncode == 0, result.stderr
    assert rtrain.statuses("nodes") == ["ERRORED", "FINISHED"]
    assert rtrain.reports("nodes")[-1]["seen"] == "rank 1 on node 0\nrank 2 on node 1\nrank 3 on node 1\n"
    folder = rtrain.run_folder("nodes") / "checkpoints" / "checkpoint_000000"
    assert {path.name for path in folder.iterdir()} >= {f"state-{rank}" for rank in range(4)}


def test_a_stop_reaches_the_programs_of_all_nodes(rtrain, job):
    script = rtrain.script(
        """
        echo '{"call": "report", "metrics": {"step": 1}}' >&3
        trap 'echo "saving in rank $RANK"; exit 0' TERM
        while true; do sleep 0.05; done
        """,
        "train.sh",
    )
    started = job("launch", "-n", "4", "--name", "nodes", "sh", script)
    rtrain.wait_for_reports(started.processes[0], 1)
    started.processes[0].send(signal.SIGTERM)
    results = started.wait()
    assert results[0].returncode == 143, results[0].stderr
    text = rtrain("logs", "nodes").stdout
    assert [f"saving in rank {rank}" in text for rank in range(4)] == [True] * 4, text
