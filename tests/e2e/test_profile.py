"""torch.profiler against Python's, and `rtrain profile`: what a live run does, as a Chrome trace."""

import json

import pytest

PROGRAM = """
local torch = require 'torch'
local prof
torch.profiler.profile({record_shapes = true, profile_memory = true, with_flops = true}, function(p)
  prof = p
  local x = torch.ones(16, 8, {requires_grad = true})
  local w = torch.ones(8, 4, {requires_grad = true})
  local one = torch.ones{}
  for _ = 1, 3 do
    torch.profiler.record_function('forward', function() return x:mm(w):relu():sum() end):backward(one)
  end
end)
for _, event in ipairs(prof:key_averages{group_by_input_shape = true}) do
  print(('%s|%d|%s|%d'):format(event.key, event.count, event.input_shapes, event.flops))
end
"""


def python_events():
    torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
    with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
            with_flops=True) as prof:
        x = torch.ones(16, 8, requires_grad=True)
        w = torch.ones(8, 4, requires_grad=True)
        one = torch.ones(())
        for _ in range(3):
            with torch.profiler.record_function("forward"):
                loss = x.mm(w).relu().sum()
            loss.backward(one)
    return {(event.key, event.count, str(event.input_shapes), event.flops)
            for event in prof.key_averages(group_by_input_shape=True) if event.key != "[memory]"}


def test_key_averages_are_pythons(rtrain):
    expected = python_events()
    result = rtrain("exec", rtrain.script(PROGRAM, "profiled.lua"))
    assert result.returncode == 0, result.stderr
    rows = [line.split("|") for line in result.stdout.splitlines()]
    seen = {(key, int(count), shapes, int(flops)) for key, count, shapes, flops in rows if key != "[memory]"}
    assert seen == expected
