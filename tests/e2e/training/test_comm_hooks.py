"""Communication hooks of DistributedDataParallel that are Lua functions, compared with Python's torch over Gloo; errors
in one."""

import importlib.util
import json
import subprocess
import sys
import textwrap

import pytest

from conftest import nightly

pytestmark = nightly

# Name → the hook, options of PowerSGDState, bucket_cap_mb. With 0.008 MB the gradients are split into several buckets.
CASES = {
    "allreduce": ("allreduce_hook", None, 0.008),
    "fp16": ("fp16_compress_hook", None, 0.008),
    "bf16": ("bf16_compress_hook", None, 25),
    "fp16_wrapper": (
        "fp16_compress_wrapper:powerSGD_hook",
        {"matrix_approximation_rank": 1, "start_powerSGD_iter": 2},
        0.008,
    ),
    "bf16_wrapper": ("bf16_compress_wrapper:allreduce_hook", None, 0.008),
    "power": ("powerSGD_hook", {"matrix_approximation_rank": 1, "start_powerSGD_iter": 2}, 0.008),
    "rank_2": (
        "powerSGD_hook",
        {"matrix_approximation_rank": 2, "start_powerSGD_iter": 2, "warm_start": False, "random_seed": 12345},
        25,
    ),
    "rank_3": (
        "powerSGD_hook",
        {
            "matrix_approximation_rank": 3,
            "start_powerSGD_iter": 2,
            "batch_tensors_with_same_shape": True,
            "random_seed": 3,
        },
        25,
    ),
    "no_feedback": (
        "powerSGD_hook",
        {
            "matrix_approximation_rank": 2,
            "start_powerSGD_iter": 3,
            "use_error_feedback": False,
            "orthogonalization_epsilon": 1e-8,
            "min_compression_rate": 0.5,
        },
        0.008,
    ),
    "batched": ("batched_powerSGD_hook", {"matrix_approximation_rank": 1, "start_powerSGD_iter": 2}, 0.008),
    "batched_3": ("batched_powerSGD_hook", {"matrix_approximation_rank": 3, "start_powerSGD_iter": 2}, 25),
}

# In Python a hook waits for its Future: the callbacks of a Future run on Gloo's threads, so with several buckets the
# ranks could call their collectives in different orders.
PYTHON = """
    import json, os, sys
    import torch, torch.distributed as dist, torch.multiprocessing as mp
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    # batched_powerSGD_hook gives it one matrix, which it refuses.
    orthogonalize = powerSGD_hook._orthogonalize
    powerSGD_hook._orthogonalize = lambda m, epsilon=0: orthogonalize(m if m.dim() == 3 else m.unsqueeze(0), epsilon)

    def train(rank, hook, options, cap):
        net = torch.nn.Sequential(torch.nn.Linear(40, 30), torch.nn.Tanh(), torch.nn.Linear(30, 30), torch.nn.Tanh(),
                                  torch.nn.Linear(30, 30), torch.nn.Linear(30, 4)).double()
        with torch.no_grad():
            for k, p in enumerate(net.parameters()):
                p.copy_((torch.arange(p.numel(), dtype=torch.float64) * 0.7 + k).sin().reshape(p.shape) * 0.2)
        model = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=cap)
        state = None if options is None else powerSGD_hook.PowerSGDState(None, **options)
        name, _, inner = hook.partition(":")
        find = lambda n: getattr(default_hooks, n, None) or getattr(powerSGD_hook, n)
        fn = find(name) if inner == "" else find(name)(find(inner))
        def waiting(state, bucket):
            future = fn(state, bucket)
            future.wait()
            return future
        model.register_comm_hook(state, waiting)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for step in range(6):
            x = (torch.arange(320, dtype=torch.float64) * 0.3 + step + 7 * rank).cos().reshape(8, 40)
            optimizer.zero_grad()
            (model(x) ** 2).mean().backward()
            optimizer.step()
        values = torch.cat([p.detach().reshape(-1) for p in net.parameters()]).tolist()
        return {"values": values, "stats": list(state.compression_stats()) if state else [], "iter": state.iter if state else 0}

    def main(rank, cases, folder):
        torch.set_num_threads(1)
        dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2)
        results = {name: train(rank, *case) for name, case in cases.items()}
        if rank == 0:
            with open(f"{folder}/python.json", "w") as file:
                json.dump(results, file)
        dist.destroy_process_group()

    if __name__ == "__main__":
        mp.start_processes(main, (json.loads(sys.argv[1]), sys.argv[2]), nprocs=2, start_method="fork")
"""

LUA = """
    local torch, train, json = require 'torch', require 'rtrain', require 'json'
    local hooks = torch.distributed.algorithms.ddp_comm_hooks
    local function find(name) return rawget(hooks.default_hooks, name) or hooks.powerSGD_hook[name] end

    local function train_case(rank, case)
      local net = torch.nn.Sequential(torch.nn.Linear(40, 30), torch.nn.Tanh(), torch.nn.Linear(30, 30), torch.nn.Tanh(),
                                      torch.nn.Linear(30, 30), torch.nn.Linear(30, 4)):double()
      torch.no_grad(function()
        for k, p in ipairs(net:parameters()) do
          p:copy_((torch.arange(p:numel(), {dtype = torch.float64}) * 0.7 + (k - 1)):sin():reshape(p:size()) * 0.2)
        end
      end)
      local model = torch.nn.parallel.DistributedDataParallel(net, {bucket_cap_mb = case[3]})
      local state = case[2] ~= json.null and hooks.powerSGD_hook.PowerSGDState(nil, case[2]) or nil
      local outer, inner = case[1]:match '^(.-):(.+)$'
      model:register_comm_hook(state, outer and find(outer)(find(inner)) or find(case[1]))
      local optimizer = torch.optim.SGD(net:parameters(), {lr = 0.1, momentum = 0.9})
      for step = 0, 5 do
        local x = (torch.arange(320, {dtype = torch.float64}) * 0.3 + step + 7 * rank):cos():reshape(8, 40)
        optimizer:zero_grad()
        model(x):pow(2):mean():backward()
        optimizer:step()
      end
      local flat = {}
      for i, p in ipairs(net:parameters()) do flat[i] = p:detach():reshape(-1) end
      return {values = torch.cat(flat):tolist(), stats = state and {state:compression_stats()} or torch.list{},
              iter = state and state.iter or 0}
    end

    train.TorchTrainer{
      train_loop_per_worker = function(config)
        torch.set_num_threads(1)
        local rank, results = train.get_context():get_world_rank(), {}
        for name, case in pairs(json.decode(config.cases)) do results[name] = case end
        local names = {}
        for name in pairs(results) do names[#names + 1] = name end
        table.sort(names)
        for _, name in ipairs(names) do results[name] = train_case(rank, results[name]) end
        local file = assert(io.open(('%s/lua-%d.json'):format(config.folder, rank), 'w'))
        file:write(json.encode(results))
        file:close()
      end,
      train_loop_config = {cases = arg[1], folder = arg[2]},
      scaling_config = train.ScalingConfig{num_workers = 2},
    }:fit()
"""


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not here: scripts/test --oracle installs it"
)
def test_hooks_have_pytorchs_digits(rtrain):
    cases = json.dumps(CASES)
    program = rtrain.folder / "hooks.py"
    program.write_text(textwrap.dedent(PYTHON))
    python = subprocess.Popen([sys.executable, program, cases, rtrain.folder])
    rtrain.run_ok(LUA, "--", cases, rtrain.folder)
    assert python.wait(timeout=120) == 0
    expected = json.loads((rtrain.folder / "python.json").read_text())
    ranks = [json.loads((rtrain.folder / f"lua-{rank}.json").read_text()) for rank in range(2)]
    assert ranks[0] == ranks[1] and sorted(ranks[0]) == sorted(CASES)
    plain = expected["allreduce"]["values"]
    for name, want in expected.items():
        got = ranks[0][name]
        # The last bit of a sum decides how a number is rounded to 16 bits, so the tolerance is larger there.
        allowed = 1e-5 if "16" in CASES[name][0] else 1e-10
        assert max(abs(a - b) for a, b in zip(got["values"], want["values"], strict=True)) <= allowed, name
        assert got["stats"] == want["stats"] and got["iter"] == want["iter"], name
        # Compressed gradients differ from those of all_reduce, which shows that the hook was called.
        assert (got["values"] == plain) == (name == "allreduce") or name == "allreduce", name


# `HOOK` is the hook's body; the last parameters are reported.
ONE = """
    local torch, train = require 'torch', require 'rtrain'
    local dist = torch.distributed
    train.TorchTrainer{
      train_loop_per_worker = function()
        local rank = train.get_context():get_world_rank()
        local net = torch.nn.Linear(2, 1, {bias = false})
        local model = train.torch.prepare_model(net)
        model:register_comm_hook('state', function(state, bucket)
          HOOK
        end)
        model(torch.full({1, 2}, rank + 1)):sum():backward()
        train.report{grad = net.weight.grad:tolist()}
      end,
      scaling_config = train.ScalingConfig{num_workers = 2},
      run_config = train.RunConfig{name = 'run'},
    }:fit()
"""


def hook_line(text):
    return next(i for i, line in enumerate(text.splitlines(), 1) if "register_comm_hook" in line)


def failing(rtrain, body):
    text = textwrap.dedent(ONE).strip().replace("HOOK", body)
    result = rtrain.run(text)
    assert result.returncode == 1, result.stdout + result.stderr
    return result.stderr, hook_line(text)


def test_a_hook_sees_its_bucket_and_may_return_a_tensor(rtrain):
    rtrain.run_ok(
        textwrap.dedent(ONE).replace(
            "HOOK",
            """
          assert(state == 'state' and bucket:index() == 0 and bucket:is_last())
          assert(#bucket:gradients() == 1 and #bucket:parameters() == 1 and bucket:parameters()[1].shape[2] == 2)
          assert(bucket:gradients()[1]:tolist()[1][1] == rank + 1 and bucket:buffer():numel() == 2)
          return dist.all_reduce(bucket:buffer()) * 10
        """,
        )
    )
    assert rtrain.reports("run")[0]["grad"] == [[30, 30]]


@pytest.mark.parametrize(
    "body, words",
    [
        ("error('no ' .. nil)", ["attempt to concatenate"]),
        (
            (
                "return dist.all_reduce(bucket:buffer(), {async_op = true}):get_future():then_(function(fut) "
                "return fut:value() + {} end)"
            ),
            ["attempt to perform arithmetic"],
        ),
        ("return 3", ["bucket 0: expected a Future of a Tensor, or a Tensor, got 3"]),
        ("dist.barrier()", ["bucket 0: expected", "got nil"]),
        ("return dist.all_reduce(bucket:buffer(), {async_op = true})", ["got a Work: return work:get_future()"]),
        (
            "return dist.all_reduce(bucket:buffer(), {async_op = true}):get_future()",
            ["got a list of tensors", "return fut:value()[1]"],
        ),
        (
            "return bucket:buffer():reshape(2, 1)",
            ["expected a Tensor as bucket:buffer() was, [2] on cpu, got [2, 1] on cpu"],
        ),
        ("return torch.futures.Future()", ["nothing completes its Future"]),
        ("coroutine.yield()", ["yield across C-call boundary"]),
        ("model(torch.ones(1, 2))", ["the forward of a DistributedDataParallel model inside of a communication hook"]),
        ("torch.ones({1}, {requires_grad = true}):sum():backward()", ["backward inside of a communication hook"]),
        ("dist.destroy_process_group()", ["destroy_process_group inside of a communication hook"]),
        (
            "bucket:set_buffer(torch.ones(3)) bucket:gradients()",
            ["buffer holds 3 elements in 1 dimensions, and its parameters 2"],
        ),
    ],
)
def test_what_goes_wrong_in_a_hook_is_told(rtrain, body, words):
    text, line = failing(rtrain, body)
    for word in words:
        assert word in text, text
    # The error names the line where the hook begins, or the line inside it.
    assert f"train.lua:{line}" in text or f"train.lua:{line + 1}" in text, text
