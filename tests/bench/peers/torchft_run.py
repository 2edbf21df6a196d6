"""Two replicas under torchft: its lighthouse, and for each replica a torchrun that restarts it when it dies.

torchft_run.py [options of common.py]
"""

import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIGHTHOUSE = ["--min_replicas", "1", "--quorum_tick_ms", "100", "--join_timeout_ms", "10000"]  # as in its README


def start_lighthouse(port):
    program = os.path.join(os.path.dirname(sys.executable), "torchft_lighthouse")
    return subprocess.Popen([program, *LIGHTHOUSE, "--bind", f"127.0.0.1:{port}"])


def start_replica(number, port, arguments):
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "1",
        "--max-restarts",
        "1000",
    ]
    environment = {"TORCHFT_LIGHTHOUSE": f"http://127.0.0.1:{port}", "REPLICA_GROUP_ID": str(number)}
    program = os.path.join(HERE, "torchft_train.py")
    return subprocess.Popen([*command, program, *arguments], env={**os.environ, **environment})


def main():
    port, arguments = sys.argv[1], sys.argv[2:]
    lighthouse = start_lighthouse(port)
    time.sleep(0.2)
    replicas = [start_replica(number, port, arguments) for number in range(2)]
    codes = [replica.wait() for replica in replicas]
    lighthouse.kill()
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
