-- rtrain/doctor/graph.lua: the test whether train.graph gives what the same step gives without it.

local row = require 'rtrain.doctor.row'

local graph = {}

local SIZE, CALLS, WARMUP = 64, 6, 2
local TOLERANCE = 1e-5  -- a graph may take another algorithm of cuBLAS

---@param where string 'cuda:0'
---@return table facts
function graph.measure(where)
  local torch, train = require 'torch', require 'rtrain'
  torch.manual_seed(2)
  local weight = torch.randn(SIZE, SIZE):to(where)
  local step = train.graph(function(x) return torch.mm(torch.mm(x, weight), weight) end, {warmup = WARMUP})
  local worst = 0
  for _ = 1, CALLS do
    local x = torch.randn(SIZE, SIZE):to(where)
    local expected = torch.mm(torch.mm(x, weight), weight):cpu()
    worst = math.max(worst, ((step(x):cpu() - expected):abs():max() / expected:abs():max()):item())
  end
  return {state = step.state, reason = step.reason, error = worst}
end

---@param facts (table|false)[] of each device, from device 0 on
---@return rtrain.DoctorRow
function graph.judge(facts)
  local mend = '`rtrain doc train.graph`; train without it meanwhile'
  for number, each in ipairs(facts) do
    local name = ('GPU %d'):format(number - 1)
    local problem = not each and 'the test has not ended'
      or each.error_text
      or each.state ~= 'captured' and ('the step is not captured: %s'):format(each.reason or each.state)
      or not row.is_within(each.error, TOLERANCE) and ('a replay differs by %.3g of the largest number'):format(each.error)
    if problem then return row.failure('graph', ('%s: %s'):format(name, problem), {mend = mend, figures = facts}) end
  end
  return row.ok('graph', ('train.graph gives what the step gives without it, on %s'):format(
    #facts == 1 and '1 device' or #facts .. ' devices'), {figures = facts})
end

return graph
