"""A real Ray cluster of two nodes on the nodes of hosts.py: a raylet on each, which ends with the node."""

import os
import subprocess
import time

PORT = 6379
DEADLINE_S = 120


def missing():
    """Returns why Ray cannot run here, or None. $RTRAIN_RAY_PYTHON is a Python with Ray installed."""
    python = os.environ.get("RTRAIN_RAY_PYTHON", "")
    return None if os.access(python, os.X_OK) else "Ray is not installed: scripts/test --cluster --oracle installs it"


class RayCluster:
    """The cluster's raylets, with two cores each and the variables `env`."""

    def __init__(self, folder, hosts, env):
        self.python = os.environ["RTRAIN_RAY_PYTHON"]
        self.address = f"{hosts[0].address}:{PORT}"
        self._folder, self._hosts = folder, hosts
        # The path is short because the length of socket paths is limited. Each node has its own folder.
        self.env = {**env, "RAY_TMPDIR": "/srv/disk/ray", "RAY_USAGE_STATS_ENABLED": "0"}
        folder.mkdir()
        hosts.write_names()
        self._start(hosts[0], "--head", f"--port={PORT}", "--include-dashboard=false")
        self._wait(1)
        self._start(hosts[1], f"--address={self.address}")
        self._wait(2)

    def _start(self, host, *args):
        words = [
            self.python,
            "-m",
            "ray.scripts.scripts",
            "start",
            "--block",
            f"--node-ip-address={host.address}",
            "--num-cpus=2",
            "--object-store-memory=80000000",
            *args,
        ]
        with open(self._folder / f"{host.name}.out", "wb") as out:
            subprocess.Popen(host.command(*words), env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def _wait(self, nodes):
        """Waits until this number of nodes is alive."""
        script = (
            f"import ray; ray.init('{self.address}', log_to_driver=False); "
            "print(sum(node['Alive'] for node in ray.nodes()))"
        )
        until = time.monotonic() + DEADLINE_S
        while True:
            done = subprocess.run(
                self._hosts[0].command(self.python, "-c", script), env=self.env, capture_output=True, text=True
            )
            if done.stdout.strip().endswith(str(nodes)):
                return
            if time.monotonic() > until:
                logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in self._folder.glob("*.out"))
                raise AssertionError(f"{nodes} nodes of Ray are not there after {DEADLINE_S} s: {done.stderr}\n{logs}")
            time.sleep(0.2)
