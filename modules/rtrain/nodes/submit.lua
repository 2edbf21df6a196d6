-- rtrain/nodes/submit.lua: `rtrain submit ssh`: as `rtrain run --nodes --detach`; --dry-run prints every command.

local checks = require 'rtrain.nodes.checks'
local errors = require 'base.errors'
local nodes = require 'rtrain.nodes'
local plans = require 'rtrain.nodes.plan'
local remote = require 'rtrain.nodes.remote'
local shell = require 'rtrain.launch.submit.shell'
local ssh = require 'rtrain.nodes.ssh'
local steps = require 'rtrain.nodes.steps'

local submit = {name = 'ssh'}

submit.submit_options = {'num_workers', 'name', 'storage', 'set', 'hosts', 'hostfile', 'with', 'bundle'}

local function request_of(spec)
  if (spec.hosts == nil) == (spec.hostfile == nil) then
    errors.raise('usage', 'submit ssh: --hosts A,B:N or --hostfile FILE names the nodes')
  end
  local options = {}
  if spec.num_workers then options = {'--num-workers', tostring(spec.num_workers)} end
  for _, setting in ipairs(spec.set or {}) do options[#options + 1], options[#options + 2] = '--set', setting end
  return {nodes = spec.hosts or spec.hostfile, script = spec.script, options = options, args = spec.args, name = spec.name,
    storage = spec.storage, with = spec.with, bundle = spec.bundle, detach = true, quiet = false, terminal = false}
end

local CONTROLS = '$TMPDIR/rtrain-ssh'  -- a folder of its own, for each start

local function add(lines, title, list)
  lines[#lines + 1] = '# ' .. title
  for _, each in ipairs(list) do
    local line = shell.command(ssh.words(each.node, CONTROLS, each.command))
    if each.input then line = ('gzip -1 <%s | %s'):format(shell.word(each.input), line) end
    if each.text then line = ("%s <<'END OF INPUT'\n%sEND OF INPUT"):format(line, each.text) end
    lines[#lines + 1] = line
  end
  lines[#lines + 1] = ''
end

---Returns every command of a run, in their order. What only the nodes can say stands in capitals.
---@param plan NodesPlan
---@return string text
function submit.text_of(plan)
  local lines, ways, addresses, files = {}, {}, {}, {}
  plan.key = 'KEY'
  for i, node in ipairs(plan.nodes) do
    ways[i], addresses[i] = 'ADDRESS_OF_NODE_0', checks.addresses({}, plan.nodes[1], {})
    for _, file in ipairs(plan.files) do
      files[#files + 1] = {node = node, command = remote.receive(file, 0, true), input = file.path}
    end
  end
  add(lines, 'What the nodes are, and which files they have.', steps.facts(plan))
  add(lines, 'Each file that a node lacks.', files)
  add(lines, "The job's folder.", steps.make(plan))
  add(lines, 'LibTorch has to be there.', steps.ask_rtrain(plan, 'env'))
  add(lines, 'Each node has to reach the first one.', steps.ways(plan, addresses))
  add(lines, 'The key, and what starts.', steps.prepare(plan, ways))
  add(lines, 'All of them.', steps.start(plan))
  return table.concat(lines, '\n')
end

---@param spec SubmitSpec
---@return string text
---Errors: 'usage' for wrong options.
function submit.render(spec) return submit.text_of(plans.of(request_of(spec))) end

---Starts the run, which goes on by itself, and prints how to follow it.
---@param spec SubmitSpec
---Errors: 'environment' for what nodes lack.
function submit.submit(spec) nodes.begin(request_of(spec)) end

return submit
