-- Metrics by their path: rtrain.metrics.at_path, which follows host/base/codec/metric_path.h.
local lu = require 'luaunit'
local at_path = require 'rtrain.metrics.at_path'

TestMetricPath = {}

function TestMetricPath:test_a_metric_in_a_map()
  local metrics = {loss = 1, val = {loss = 2, ['a/b'] = {c = 3}, ok = false}, ['val/loss/x'] = 4}
  lu.assertEquals(at_path(metrics, 'loss'), 1)
  lu.assertEquals(at_path(metrics, 'val/loss'), 2)
  lu.assertEquals(at_path(metrics, 'val/a/b/c'), 3)
  lu.assertEquals(at_path(metrics, 'val/loss/x'), 4)
  lu.assertIs(at_path(metrics, 'val/ok'), false)
  for _, path in ipairs {'', '/', 'los', 'loss/x', 'val/', '/loss', 'val//loss'} do
    lu.assertNil(at_path(metrics, path), path)
  end
end

function TestMetricPath:test_the_very_name_comes_first()
  lu.assertEquals(at_path({a = {b = 1}, ['a/b'] = 2}, 'a/b'), 2)
  lu.assertEquals(at_path({['a/b'] = {c = 1}, a = {['b/c'] = 2}}, 'a/b/c'), 2)
end

os.exit(lu.LuaUnit.run(), true)
