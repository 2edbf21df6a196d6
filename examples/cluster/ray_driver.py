"""Runs rtrain in the bundles of a placement group of Ray. Written by `rtrain submit ray`.

Run it with a Python that has ray, where the script and the folder of results are what they are on the nodes. Which node
a bundle is on, and whether nodes are added for it, is Ray's. Ends with the exit status of the run.
"""

import os
import secrets
import signal
import subprocess
import sys

os.environ.setdefault("RAY_DEDUP_LOGS", "0")  # a run's lines are alike, and all of them count

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

ADDRESS = os.environ.get("RAY_ADDRESS", "auto")
NODES = 2
BUNDLE = {"CPU": 32, "GPU": 4}  # of each node; its GPUs are what the workers there may use
STRATEGY = "STRICT_SPREAD"  # STRICT_SPREAD: each bundle on a node of its own
RUN = ["rtrain", "run", "train.lua"]
AGENT = ["rtrain", "agent"]  # on all nodes but the first
READY_S = 600  # how long nodes may take to be free, or to be added


@ray.remote(max_restarts=0, max_concurrency=4)
class Node:
    """One bundle. Its process is what the launcher has started there."""

    def __init__(self):
        self.process = None

    def address(self):
        return ray.util.get_node_ip_address()

    def run(self, words, variables, folder):
        folder = folder if os.path.isdir(folder) else None
        self.process = subprocess.Popen(words, env={**os.environ, **variables}, cwd=folder)
        return self.process.wait()

    def stop(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)


def nodes_of(group):
    nodes = []
    for index in range(NODES):
        strategy = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=index)
        options = {"num_cpus": BUNDLE["CPU"], "num_gpus": BUNDLE.get("GPU", 0), "scheduling_strategy": strategy}
        nodes.append(Node.options(**options).remote())
    return nodes


def status_of(reference):
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        sys.exit(f"the first node is lost: {error}")


def wait(nodes, pending):
    """The exit status of the first node's process, which is the run's. Ends the others with it."""
    stopped = False

    def stop(*_):
        nonlocal stopped
        stopped = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    while True:
        done, _ = ray.wait(pending[:1], timeout=1)
        if done:
            return status_of(done[0])
        if stopped:  # the run saves a checkpoint, and all processes end with it
            stopped = False
            nodes[0].stop.remote()


def main():
    try:
        ray.init(address=ADDRESS)
    except ConnectionError as error:
        sys.exit(f"there is no Ray cluster at {ADDRESS}: {error}")
    group = placement_group([BUNDLE] * NODES, strategy=STRATEGY)
    try:
        ray.get(group.ready(), timeout=READY_S)
    except ray.exceptions.GetTimeoutError:
        sys.exit(f"{NODES} bundles of {BUNDLE} ({STRATEGY}) are not free after {READY_S} s: Ray has "
                 f"{ray.cluster_resources()}")
    nodes = nodes_of(group)
    variables = {"RTRAIN_LAUNCHER": "ray", "RTRAIN_NNODES": str(NODES), "RTRAIN_JOB_ID": secrets.token_hex(4),
                 "RTRAIN_MASTER_ADDR": ray.get(nodes[0].address.remote()), "RTRAIN_SECRET": secrets.token_hex(32)}
    pending = [node.run.remote(AGENT if rank else RUN, {**variables, "RTRAIN_NODE_RANK": str(rank)}, os.getcwd())
               for rank, node in enumerate(nodes)]
    try:
        status = wait(nodes, pending)
        ray.wait(pending, num_returns=NODES, timeout=60)  # the agents end with the run
    finally:
        remove_placement_group(group)
    sys.exit(status if status >= 0 else 128 - status)


main()
