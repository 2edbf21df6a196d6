-- rtrain/nodes/doctor.lua: `rtrain doctor --nodes`: whether a run could use these nodes, and what mends what stands in its
-- way. It brings rtrain to the nodes, calls `rtrain doctor` on each, and tries the way between them.

local amount = require 'rtrain.nodes.amount'
local errors = require 'base.errors'
local Fleet = require 'rtrain.nodes.fleet'
local nodes = require 'rtrain.nodes'
local ordered = require 'base.ordered'
local plans = require 'rtrain.nodes.plan'
local steps = require 'rtrain.nodes.steps'
local system = require 'base._system'
local torch = require 'torch'

local doctor = {}

local FAILURE, WARNING, OK = 'failure', 'warning', 'ok'
local RANK = {[OK] = 1, [WARNING] = 2, [FAILURE] = 3}

local function check(name, status, finding, mend)
  return ordered.new {{'name', name}, {'status', status}, {'finding', finding}, {'mend', mend ~= '' and mend or nil}}
end

-- Adds the problems to the reports of their nodes. Returns the nodes that have none.
local function add_problems(reports, list, problems, name)
  local left, bad = {}, {}
  for _, each in ipairs(problems) do
    table.insert(reports[each.node], check(name, FAILURE, system.terminal_line(each.problem), each.advice))
    bad[each.node] = true
  end
  for _, node in ipairs(list) do
    if not bad[node] then left[#left + 1] = node end
  end
  return left
end

local function describe(report, facts)
  table.insert(report, check('node', OK, ('%s, %s, %s'):format(facts.host, facts.arch, facts.glibc)))
  table.insert(report, check('space', OK, ('%s free at %s'):format(amount((tonumber(facts.free) or 0) * 1024), facts.folder)))
  if facts.clock then
    table.insert(report, check('clock', WARNING, facts.clock, 'let the nodes keep time with NTP: systemctl status chrony'))
  end
end

-- Adds the checks of `rtrain doctor` there. It fails where a check does, and prints them nevertheless.
local function add_own_checks(reports, plan, fleet)
  local failed = {}
  for _, result in ipairs(fleet:run(steps.ask_rtrain(plan, 'doctor'), {timeout_s = nodes.UNPACK_S})) do
    local text = result.output:match '{.*}'
    if text then
      for _, each in ipairs(system.from_json(text).checks) do
        table.insert(reports[result.node], check(each.name, each.status, each.finding, each.mend))
      end
    else
      failed[#failed + 1] = fleet:failures({result})[1]
    end
  end
  return add_problems(reports, plan.nodes, failed, 'rtrain')
end

-- Asks the nodes, and leaves those out that cannot go on.
local function examine(plan, fleet, reports)
  local facts, problems = nodes.ask_facts(plan, fleet)
  local by_node = {}
  for i, node in ipairs(plan.nodes) do by_node[node] = facts[i] end
  plan.nodes = add_problems(reports, plan.nodes, problems, 'node')
  fleet.nodes, facts = plan.nodes, {}
  for i, node in ipairs(plan.nodes) do
    facts[i] = by_node[node]
    describe(reports[node], facts[i])
  end
  if #plan.nodes == 0 then return end
  nodes.deliver(plan, fleet, facts)
  add_own_checks(reports, plan, fleet)
  local _, ways = nodes.find_ways(plan, fleet, facts)
  add_problems(reports, plan.nodes, ways, 'way')
  if #ways == 0 and #plan.nodes > 1 then
    table.insert(reports[plan.nodes[1]], check('way', OK, ('each of %d other nodes reaches port %d of %s'):format(
      #plan.nodes - 1, plan.port, plan.nodes[1].target)))
  end
end

local function status_of(report)
  local worst = OK
  for _, each in ipairs(report) do
    if RANK[each.status] > RANK[worst] then worst = each.status end
  end
  return worst
end

local function print_text(list, reports)
  for _, node in ipairs(list) do
    io.write(node.target, '\n')
    for _, each in ipairs(reports[node]) do
      io.write(('  %-9s%-18s%s\n'):format(each.status, each.name, each.finding))
      if each.mend then io.write('           → ', each.mend, '\n') end
    end
  end
end

local function print_json(list, reports)
  local out, worst = {}, OK
  for i, node in ipairs(list) do
    local status = status_of(reports[node])
    if RANK[status] > RANK[worst] then worst = status end
    out[i] = ordered.new {{'node', node.target}, {'status', status}, {'checks', torch.list(reports[node])}}
  end
  io.write(system.to_json(ordered.new {{'status', worst}, {'nodes', torch.list(out)}}), '\n')
end

---@param request {nodes: string, json: boolean}
---Errors: 'usage' for a wrong list of nodes; 'environment' where a check fails, after all of them are printed.
function doctor.run(request)
  local plan = plans.of {nodes = request.nodes, options = {}, args = {}, detach = false, quiet = request.json, terminal = false}
  local list, fleet, reports = plan.nodes, Fleet(plan.nodes), {}
  for _, node in ipairs(list) do reports[node] = {} end
  local ok, failure = xpcall(examine, errors.wrap, plan, fleet, reports)
  fleet.nodes = list
  fleet:close()
  if not ok then error(failure, 0) end
  local print = request.json and print_json or print_text
  print(list, reports)
  local failed = {}
  for _, node in ipairs(list) do
    if status_of(reports[node]) == FAILURE then failed[#failed + 1] = node.target end
  end
  if #failed > 0 then errors.raise('environment', 'what fails: ' .. table.concat(failed, ', ')) end
end

return doctor
