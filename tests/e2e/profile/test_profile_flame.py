"""`rtrain profile --flame`: a sampling profiler, whose hottest line must agree with a counter in the program."""

import json
import math
import os
import signal
import xml.etree.ElementTree

import pytest

from conftest import ENDLESS, nightly, processes_of, sample, wait_until

pytestmark = nightly

# A train function with lines of known cost. Each step runs LINES once and adds up their processor time, which is the
# counter, while the profile is taken. The first of two tasks costs several times as much as the second.
COUNTED = """
local torch = require 'torch'
local train = require 'rtrain'
SETUP
local function first(n) return FIRST end -- first
local function second(n) return SECOND end -- second
train.TorchTrainer{
  train_loop_per_worker = function()
    BEGIN
    local spent = {first = 0, second = 0}
    for step = 1, math.huge do
      local start = os.clock()
      first(FIRST_N)
      local middle = os.clock()
      second(SECOND_N)
      spent.first, spent.second = spent.first + middle - start, spent.second + os.clock() - middle
      if step % 20 == 0 then train.report(spent) end
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = 1},
  run_config = train.RunConfig{name = 'counted'},
}:fit()
"""
PROGRAMS = {
    "interpreted": {
        "SETUP": "local function loop(n) local s = 0; for i = 1, n do s = s + i % 7 end; return s end -- loop",
        "FIRST": "(loop(n))",
        "SECOND": "(loop(n))",
        "FIRST_N": "300000",
        "SECOND_N": "60000",
        "BEGIN": "jit.off()",
    },
    "compiled": {
        "SETUP": "",
        "BEGIN": "",
        "FIRST_N": "1200000",
        "SECOND_N": "200000",
        "FIRST": "(function(s) for i = 1, n do s = s + math.sqrt(i) end return s end)(0)",
        "SECOND": "(function(s) for i = 1, n do s = s + math.sqrt(i) end return s end)(0)",
    },
    "native": {
        "SETUP": "local x = torch.ones(256, 256)",
        "BEGIN": "torch.set_num_threads(1)",
        "FIRST_N": "20",
        "SECOND_N": "4",
        "FIRST": "(function() for _ = 1, n do x:mm(x) end end)()",
        "SECOND": "(function() for _ = 1, n do x:mm(x) end end)()",
    },
}


def program(name):
    text = COUNTED
    for word in ("FIRST_N", "SECOND_N", "SETUP", "BEGIN", "FIRST", "SECOND"):
        text = text.replace(word, PROGRAMS[name][word])
    return text


def line_of(rtrain, mark):
    lines = (rtrain.folder / "train.lua").read_text().splitlines()
    return 1 + next(i for i, text in enumerate(lines) if text.endswith(f"-- {mark}"))


def end(rtrain, run):
    stopped = rtrain("stop", run, "--now")
    assert stopped.returncode == 0, stopped.stderr


def counters(rtrain):
    """Returns the counters of the program's last report."""
    return rtrain.json("metrics", "counted")[-1]["metrics"]


def add_times(document, times):
    """Adds the seconds of each script line to [own, total]. Waits are left out, as a counter of processor time excludes
    them."""
    for line in document["hottest"][0]["lines"]:
        if not line["file"].endswith("train.lua"):
            continue
        own, total = times.get(line["line"], (0, 0))
        times[line["line"]] = (own + line["self_s"] - line["waiting_s"], total + line["total_s"])


# Some of the samples are of other threads and do not count. With the rest the test fails by chance less than once in a
# million runs: a sixth of the time is the second line's.
ENOUGH, COUNTING = 100, 60


@pytest.mark.parametrize("name", sample(*PROGRAMS))
def test_the_hottest_line_is_the_one_that_a_counter_names(rtrain, name):
    running = rtrain.started("run", rtrain.script(program(name)), reports=2)
    before = counters(rtrain)
    times, samples = {}, 0
    while samples < ENOUGH:  # the number of samples depends on the processor time that the machine gives the program
        document = json.loads(
            rtrain("profile", "counted", "--flame", "--steps", "40", "--timeout", "100", "--json").stdout
        )
        (profile,) = document["profiles"]
        assert profile["events"] > 0 and 0 < profile["cost_s"] < profile["cpu_s"], profile
        samples += profile["events"]
        add_times(document, times)
    wait_until(lambda: counters(rtrain)["first"] > before["first"], message="a report")
    after = counters(rtrain)
    end(rtrain, "counted")
    running.wait()
    counted = {task: after[task] - before[task] for task in ("first", "second")}
    assert counted["first"] > counted["second"], counted
    first, second = (times.get(line_of(rtrain, task), (0, 0))[1] for task in ("first", "second"))
    # The shares agree within five standard deviations of a sample.
    share = counted["second"] / (counted["first"] + counted["second"])
    assert abs(second / (first + second) - share) < 5 * math.sqrt(share * (1 - share) / COUNTING), (times, counted)
    assert first > second, times
    hottest = max(times, key=lambda line: times[line][0])
    assert hottest == line_of(rtrain, "loop" if name == "interpreted" else "first"), times


def stacks_of(path):
    """Returns by thread: the names of each stack's frames, the outermost first, and its seconds."""
    document = json.loads(path.read_text())
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    out = {}
    for profile in document["profiles"]:
        assert profile["type"] == "sampled" and profile["unit"] == "seconds"
        assert len(profile["samples"]) == len(profile["weights"])
        assert abs(sum(profile["weights"]) - profile["endValue"] + profile["startValue"]) < 1e-6
        stacks = [
            ([frames[i] for i in sample], weight) for sample, weight in zip(profile["samples"], profile["weights"])
        ]
        out.setdefault(profile["name"], []).extend(stacks)
    return out


LOADED = """
local torch = require 'torch'
local train = require 'rtrain'
local Slow = torch.utils.data.Dataset:extend("Slow")
function Slow:len() return 64 end
function Slow:get(index)
  local s = 0
  for i = 1, 200000 do s = s + math.sqrt(i) end -- loading
  return torch.full({4}, s)
end
train.TorchTrainer{
  train_loop_per_worker = function()
    local loader = torch.utils.data.DataLoader(Slow(), {batch_size = 8, num_workers = 2})
    for epoch = 1, math.huge do
      for batch in loader do batch:sum() end -- waiting
      train.report{epoch = epoch}
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'loaded'},
}:fit()
"""


def test_all_threads_with_lua_lines_and_native_functions(rtrain):
    running = rtrain.started("run", rtrain.script(LOADED), reports=1)
    # The loader runs for some hundredths of a second in each step, so a loaded machine takes few samples of it.
    result = rtrain("profile", "loaded", "--flame", "--steps", "60", "--rank", "1")
    assert result.returncode == 0, result.stderr
    svg, stacks = [rtrain.folder / line for line in result.stdout.splitlines()]
    assert svg.name.endswith("-rank1.svg") and stacks.name.endswith("-rank1.speedscope.json")
    threads = stacks_of(stacks)
    loading, waiting = line_of(rtrain, "loading"), line_of(rtrain, "waiting")
    in_loader = [stack for stack, _ in threads["rtrain-loader"]]
    assert any(any(f"train.lua:{loading}" in frame for frame in stack) for stack in in_loader), in_loader
    # The main thread waits for batches on that line, inside native code.
    in_main = [stack for stack, _ in threads["main"]]
    waits = [stack for stack in in_main if stack[-1] == "(waiting)"]
    assert any(any(f"train.lua:{waiting}" in frame for frame in stack) for stack in waits), in_main
    assert "hottest lines of rank 1" in result.stderr and f"train.lua:{loading}" in result.stderr

    # The SVG is a single file that includes its script.
    tree = xml.etree.ElementTree.parse(svg)
    titles = [title.text for title in tree.iter("{http://www.w3.org/2000/svg}title")]
    assert any(f"train.lua:{loading}" in title and "%" in title for title in titles)
    assert any(title.startswith("rtrain-loader (") for title in titles)
    text = svg.read_text()
    assert "<script>" in text and "http://www.w3.org/2000/svg" in text and text.count("http") == 1

    # With all ranks there is one file of each kind.
    for name in ("both.svg", "both.json", "both.folded"):
        result = rtrain(
            "profile", "loaded", "--flame", "--duration", "0.3", "--rank", "all", "-o", rtrain.folder / name
        )
        assert result.returncode == 0 and result.stdout.splitlines()[0].endswith(name), result.stderr
    both = stacks_of(rtrain.folder / "both.json")
    assert {"rank 0: main", "rank 1: main"} <= set(both)
    folded = (rtrain.folder / "both.folded").read_text().splitlines()
    assert all(line.rsplit(" ", 1)[1].isdigit() and ";" in line for line in folded) and folded

    # Sleeping threads are left out by default; running threads are shown where they run.
    assert not any(
        stack[-1] == "(waiting)" for name, stacks in both.items() if not name.endswith(": main") for stack, _ in stacks
    )
    result = rtrain("profile", "loaded", "--flame", "--duration", "0.3", "--idle", "-o", rtrain.folder / "idle.json")
    assert result.returncode == 0, result.stderr
    control = stacks_of(rtrain.folder / "idle.json")["rtrain-control"]
    assert any(stack[-1] == "(waiting)" for stack, _ in control), control
    end(rtrain, "loaded")
    assert running.wait().returncode != 70


COROUTINES = """
local torch = require 'torch'
local train = require 'rtrain'
local function rows()
  for i = 1, 1e9 do
    if i % 2000000 == 0 then coroutine.yield(i) end -- in the coroutine
  end
end
train.TorchTrainer{
  train_loop_per_worker = function()
    torch.ones(2)
    local count = 0
    debug.sethook(function() count = count + 1 end, '', 1000000)
    for row in coroutine.wrap(rows) do
      pcall(error, 'on its way')
      pcall(torch.ones, 'wrong')
      train.report{row = row, count = count}
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = 1},
  run_config = train.RunConfig{name = 'coroutines'},
}:fit()
"""


def test_coroutines_errors_and_hooks_of_the_script_are_left_as_they_are(rtrain):
    running = rtrain.started("run", rtrain.script(COROUTINES), reports=2)
    result = rtrain("profile", "coroutines", "--flame", "--steps", "3", "--rate", "1000")
    assert result.returncode == 0, result.stderr
    stack = rtrain("stack", "coroutines")
    line = line_of(rtrain, "in the coroutine")
    assert f"train.lua:{line}" in result.stderr or f"train.lua:{line - 1}" in result.stderr, result.stderr
    assert stack.returncode == 0
    rtrain.wait_for_reports(running, 6)
    counts = [row["metrics"]["count"] for row in rtrain.json("metrics", "coroutines")]
    end(rtrain, "coroutines")
    running.wait()
    assert all(later >= earlier for earlier, later in zip(counts, counts[1:]))


def test_what_cannot_be_sampled_is_said(rtrain):
    running = rtrain.started("run", rtrain.script(ENDLESS), reports=1)
    wrong = rtrain("profile", "endless", "--flame", "-o", "picture.png")
    assert wrong.returncode == 2 and ".folded" in wrong.stderr
    assert "add --flame" in rtrain("profile", "endless", "--idle").stderr
    assert "leave out --flame" in rtrain("profile", "endless", "--flame", "--shapes").stderr
    late = rtrain("profile", "endless", "--flame", "--steps", "100000", "--timeout", "0.2")
    assert late.returncode == 0 and "of 100000 reports in 0.2 s (--timeout)" in late.stderr
    pid = rtrain.pids("endless")[1]
    os.kill(pid, signal.SIGSTOP)
    stopped = rtrain("profile", "endless", "--flame", "--rank", "all")
    os.kill(pid, signal.SIGCONT)
    assert stopped.returncode == 2 and f"rank 1 (pid {pid}) is stopped (SIGSTOP)" in stopped.stderr
    end(rtrain, "endless")
    running.wait()
    assert not list((rtrain.run_folder("endless") / "profiles").glob("*.partial"))
    wait_until(lambda: not processes_of(rtrain.storage), message="the end of all processes")


def test_a_run_that_makes_no_tensor_is_sampled_too(rtrain):
    text = ENDLESS.replace("torch.distributed.barrier()", "local s = 0; for i = 1, 1e6 do s = s + i end")
    running = rtrain.started("run", rtrain.script(text), reports=1)
    result = rtrain("profile", "endless", "--flame", "--steps", "2", "--json")
    document = json.loads(result.stdout)
    assert document["profiles"][0]["events"] > 0 and document["flame"].endswith(".svg")
    end(rtrain, "endless")
    running.wait()
