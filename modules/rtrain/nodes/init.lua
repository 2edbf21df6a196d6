-- rtrain/nodes/init.lua: `rtrain run --nodes`: a run on nodes that the system's ssh reaches, without a shared folder.
--
-- The first node of the list is node 0: it runs the script and the controller, and has the results. The others have agents.
-- This process brings the files there, starts all of them, and stays to show node 0's output and to pass signals on. What
-- stands in its way is said before anything starts, for all nodes at once.

local checks = require 'rtrain.nodes.checks'
local delivery = require 'rtrain.nodes.delivery'
local errors = require 'base.errors'
local far_runs = require 'rtrain.nodes.far_runs'
local Fleet = require 'rtrain.nodes.fleet'
local plans = require 'rtrain.nodes.plan'
local read_file = require 'base.read_file'
local remote = require 'rtrain.nodes.remote'
local shell = require 'rtrain.launch.submit.shell'
local steps = require 'rtrain.nodes.steps'
local system = require 'base._system'

local nodes = {}

nodes.UNPACK_S = 600  -- the first call of a bundle unpacks LibTorch
local ANSWER_S = 20

-- The plan and the fleet between `begin` and `finish`.
local current

local function note(plan, text)
  if not plan.is_quiet then io.stderr:write('rtrain: ', text, '\n') end
end

-- Returns what the executable asks of a node.
local function needs_of(program)
  local uname = io.popen 'uname -m'
  local arch = uname:read '*l'
  uname:close()
  return {arch = arch, glibc = checks.needed_glibc(read_file(program) or '')}
end

local function add_problems(out, node, found)
  for _, each in ipairs(found) do out[#out + 1] = {node = node, problem = each.problem, advice = each.advice} end
end

---Asks all nodes what they are and have.
---@param plan NodesPlan
---@param fleet Fleet
---@return table<string, string>[] facts by node; clock: a warning
---@return {node: SshNode, problem: string, advice: string}[] problems of nodes that cannot take part
function nodes.ask_facts(plan, fleet)
  local before_s = system.now_ms() / 1000
  local results, facts = fleet:run(steps.facts(plan)), {}
  local now_s, need, problems = (before_s + system.now_ms() / 1000) / 2, needs_of(plan.executable), fleet:failures(results)
  for i, node in ipairs(plan.nodes) do
    facts[i] = remote.parse_facts(results[i].output)
    if results[i].status == 0 then
      local _, bytes = delivery.missing(plan.files, facts[i])
      add_problems(problems, node, checks.problems(facts[i], need, bytes))
      facts[i].clock = checks.clock(facts[i], now_s)
    end
  end
  return facts, problems
end

---Asks rtrain on each node which libraries it finds.
---@param plan NodesPlan
---@param fleet table of rtrain.nodes.fleet
---@return {node: SshNode, problem: string, advice: string}[] problems
function nodes.library_problems(plan, fleet)
  local results = fleet:run(steps.ask_rtrain(plan, 'env'), {timeout_s = nodes.UNPACK_S})
  local problems, first = fleet:failures(results), nil
  for i, node in ipairs(plan.nodes) do
    local text = results[i].status == 0 and results[i].output:match '{.*}'
    local env = text and system.from_json(text)
    first = first or env
    if env then add_problems(problems, node, checks.libraries(env, first)) end
  end
  return problems
end

---Finds the address at which each other node reaches node 0.
---@param plan NodesPlan
---@param fleet table of rtrain.nodes.fleet
---@param facts table[] of each node
---@return table<integer, string> ways by node from the second
---@return {node: SshNode, problem: string, advice: string}[] problems
function nodes.find_ways(plan, fleet, facts)
  local addresses, ways = {}, {}
  for i in ipairs(plan.nodes) do addresses[i] = checks.addresses(facts[1], plan.nodes[1], facts[i]) end
  local results = fleet:run(steps.ways(plan, addresses))
  local problems = fleet:failures(results)
  for _, each in ipairs(problems) do
    each.advice = ('each node has to reach %s at port %d: is there a firewall? RTRAIN_MASTER_PORT chooses another port'):format(
      plan.nodes[1].target, plan.port)
  end
  for i = 2, #plan.nodes do ways[i] = results[i].output:match 'reached (%S+)' end
  return ways, problems
end

---Brings the files to the nodes, and makes the job's folder.
---@param plan NodesPlan
---@param fleet table of rtrain.nodes.fleet
---@param facts table[] of each node
function nodes.deliver(plan, fleet, facts)
  delivery.send(fleet, plan.files, facts, plan.is_quiet)
  fleet:need(steps.make(plan), 'could not make the folder of the job')
end

local function prepare(plan, fleet)
  local facts, problems = nodes.ask_facts(plan, fleet)
  fleet:refuse(problems, 'cannot take part')
  for i, node in ipairs(plan.nodes) do
    if facts[i].clock then note(plan, ('%s: %s'):format(node.target, facts[i].clock)) end
  end
  nodes.deliver(plan, fleet, facts)
  fleet:refuse(nodes.library_problems(plan, fleet), 'cannot run rtrain')
  local ways
  ways, problems = nodes.find_ways(plan, fleet, facts)
  fleet:refuse(problems, 'cannot reach the first one')
  fleet:need(steps.prepare(plan, ways), 'could not be prepared')
  fleet:need(steps.start(plan), 'could not be started')
  if plan.name then far_runs.add(plan.name, plan) end
end

local FOLLOW = [[
the run %s goes on on %s
  output         rtrain logs -f %s
  its state      rtrain show %s
  save, and end  rtrain stop %s
]]

---Brings a run to its nodes and starts all but what this process waits for.
---@param request NodesRequest
---@return string[]? words the command that runs the script on node 0; nil if it goes on by itself
---@return boolean? terminal whether the command gets this process's terminal
---Errors: 'usage' for wrong options, 'environment' for what nodes lack, for all of them at once.
function nodes.begin(request)
  local plan = plans.of(request)
  local fleet = Fleet(plan.nodes)
  local ok, failure = xpcall(prepare, errors.wrap, plan, fleet)
  if not ok then
    fleet:close()
    error(failure, 0)
  end
  local first = plan.nodes[1]
  if plan.is_detached then
    fleet:close()
    local word = shell.word(plan.name)
    io.write(FOLLOW:format(plan.name, first.target, word, word, word))
    return nil
  end
  current = {plan = plan, fleet = fleet}
  local mode = request.terminal and 'terminal' or 'attached'
  return fleet:words(first, remote.start_here(plan.job, mode), {terminal = request.terminal}), request.terminal
end

-- Shows the last lines that agents have printed: why a run has failed may be there.
local function show_agents(plan, fleet)
  for _, result in ipairs(fleet:run(steps.last_lines(plan))) do
    for line in result.output:gmatch '[^\n]+' do
      note(plan, ('%s: %s'):format(result.node.target, system.terminal_line(line)))
    end
  end
end

-- Remembers where the job's runs are. Returns their names, and the answer of node 0.
local function remember_runs(plan, fleet)
  local answer = fleet:run({{node = plan.nodes[1], command = remote.runs(plan.job)}}, {timeout_s = ANSWER_S})[1]
  local names = {}
  for name in (answer.status == 0 and answer.output or ''):gmatch '[^\n]+' do
    if system.run_name_problem(name) == nil then
      names[#names + 1] = name
      far_runs.add(name, plan)
    end
  end
  return names, answer
end

local LOST = 255  -- ssh's own exit status, also for a process that a signal has killed

-- Returns why ssh has ended without the run's exit code. `answer`: of node 0, afterwards.
local function why_lost(answer, first)
  if answer.status == 0 then
    return ('the process of the run on %s was killed: its memory may have been full (ssh %s dmesg)'):format(first.target,
      shell.word(first.target))
  end
  return ('the connection to %s was lost: the run there is asked to save and to end. --detach lets a run go on without this '
    .. 'terminal'):format(first.target)
end

---Ends what `begin` has begun.
---@param status integer exit status of the command
---@return integer code the run's exit code
---Errors: 'environment' if the connection was lost.
function nodes.finish(status)
  local plan, fleet, first = current.plan, current.fleet, current.plan.nodes[1]
  if status ~= 0 then show_agents(plan, fleet) end
  if first.is_local then
    fleet:close()
    return status
  end
  local names, answer = remember_runs(plan, fleet)
  fleet:close()
  if status == LOST then errors.raise('environment', why_lost(answer, first)) end
  if #names > 0 then
    note(plan, ('the results are on %s; here `rtrain show %s` reads them'):format(first.target, shell.word(names[#names])))
  end
  return status
end

return nodes
