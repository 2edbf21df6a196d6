"""The part of Ray that the driver of `rtrain submit ray` uses: actors are objects of this process, calls are threads.

Each request is appended to $FAKE_RAY_LOG as a line of JSON.
"""

import concurrent.futures
import json
import os
import sys
import types

_pool = concurrent.futures.ThreadPoolExecutor(32)


def _log(**what):
    with open(os.environ["FAKE_RAY_LOG"], "a") as log:
        log.write(json.dumps(what) + "\n")


def init(address):
    if address == "nowhere":
        raise ConnectionError("nobody answers")
    _log(address=address)


class _Actor:
    def __init__(self, cls):
        self._object = cls()

    def __getattr__(self, name):
        method = getattr(self._object, name)
        return types.SimpleNamespace(remote=lambda *args: _pool.submit(method, *args))


def remote(**_):
    def decorate(cls):
        def options(**given):
            _log(cpus=given["num_cpus"], gpus=given["num_gpus"], bundle=given["scheduling_strategy"].index)
            return types.SimpleNamespace(remote=lambda: _Actor(cls))

        return types.SimpleNamespace(options=options)

    return decorate


def get(future, timeout=None):
    try:
        return future.result(timeout)
    except concurrent.futures.TimeoutError:
        raise exceptions.GetTimeoutError() from None


def wait(futures, num_returns=1, timeout=None):
    when = concurrent.futures.FIRST_COMPLETED if num_returns < len(futures) else concurrent.futures.ALL_COMPLETED
    done = concurrent.futures.wait(futures, timeout, when).done
    return list(done), [future for future in futures if future not in done]


def cluster_resources():
    return {"CPU": 1.0}


class _Group:
    def ready(self):
        return concurrent.futures.Future() if os.environ.get("FAKE_RAY_IS_FULL") else _pool.submit(lambda: None)


def _placement_group(bundles, strategy):
    _log(bundles=bundles, strategy=strategy)
    return _Group()


def _module(name, **names):
    module = types.ModuleType(name)
    module.__dict__.update(names)
    sys.modules[name] = module
    return module


class _Strategy:
    def __init__(self, group, placement_group_bundle_index):
        self.index = placement_group_bundle_index


__path__ = []
exceptions = _module(
    "ray.exceptions",
    GetTimeoutError=type("GetTimeoutError", (Exception,), {}),
    RayError=type("RayError", (Exception,), {}),
)
util = _module("ray.util", get_node_ip_address=lambda: "10.9.8.7")
_module(
    "ray.util.placement_group",
    placement_group=_placement_group,
    remove_placement_group=lambda group: _log(removed=True),
)
_module("ray.util.scheduling_strategies", PlacementGroupSchedulingStrategy=_Strategy)
