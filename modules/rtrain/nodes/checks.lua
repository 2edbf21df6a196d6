-- rtrain/nodes/checks.lua: what a node lacks, from what it has said of itself. Pure functions.

local amount = require 'rtrain.nodes.amount'

local checks = {}

local SPARE_BYTES = 64 * 1024 ^ 2
local CLOCK_LIMIT_S = 5

local function number_of(version)
  local major, minor = version:match '^(%d+)%.(%d+)'
  return major and tonumber(major) * 1000 + tonumber(minor)
end

local function add(out, problem, advice) out[#out + 1] = {problem = problem, advice = advice or ''} end

-- The system that the executable was made for.
local function add_system(out, facts, here)
  if facts.os ~= 'Linux' then return add(out, ('it runs %s, and rtrain is for Linux'):format(facts.os)) end
  if facts.arch ~= here.arch then
    add(out, ('its processor is %s, and this rtrain is for %s'):format(facts.arch, here.arch),
      'leave the node out: all nodes of a run have one kind of processor')
  end
  local glibc = (facts.glibc or ''):match '(%d+%.%d+)%D*$'
  if not glibc then
    add(out, 'it has no GNU C library', 'leave the node out: rtrain and LibTorch need glibc')
  elseif number_of(glibc) < number_of(here.glibc) then
    add(out, ('its C library is glibc %s, and this rtrain needs %s'):format(glibc, here.glibc),
      'a release of rtrain runs with glibc 2.28 and later: this one was built for newer systems')
  end
end

---Returns what keeps a node from taking part.
---@param facts table<string, string> from remote.facts
---@param here {arch: string, glibc: string} what the executable needs
---@param missing_bytes integer of the files that the node does not have yet
---@return {problem: string, advice: string}[] problems
---
---```lua
---local checks = require 'rtrain.nodes.checks'
---local facts = {os = 'Linux', arch = 'aarch64', glibc = 'glibc 2.36', free = '9000000', ['end'] = 'yes'}
---local problems = checks.problems(facts, {arch = 'x86_64', glibc = '2.28'}, 0)
---assert(#problems == 1 and problems[1].problem:find 'its processor is aarch64')
---```
function checks.problems(facts, here, missing_bytes)
  local out = {}
  if facts['end'] ~= 'yes' then
    add(out, 'its shell has not run our commands to their end',
      'the login shell has to start /bin/sh: is it one for logging in?')
    return out
  end
  add_system(out, facts, here)
  if facts.lacks then add(out, ('it has no %s'):format(facts.lacks), "install the node's coreutils") end
  if facts.problem then
    add(out, facts.problem, 'set XDG_CACHE_HOME on that node to a folder that can be written')
    return out
  end
  local free = tonumber(facts.free)
  if free and free * 1024 < missing_bytes + SPARE_BYTES then
    add(out, ('its disk has %s free at %s, and %s are needed'):format(amount(free * 1024), facts.folder,
      amount(missing_bytes + SPARE_BYTES)), 'free some space there, or set XDG_CACHE_HOME on that node to another disk')
  end
  return out
end

---Returns a warning for a node whose clock differs, if it does.
---@param facts table<string, string>
---@param now_s number this machine's time when the node was asked
---@return string? warning
function checks.clock(facts, now_s)
  local ahead = (tonumber(facts.time) or now_s) - now_s
  if math.abs(ahead) <= CLOCK_LIMIT_S then return nil end
  return ('its clock is %d s %s this one: times of its log lines will not fit'):format(math.abs(ahead),
    ahead > 0 and 'ahead of' or 'behind')
end

---Returns the version of glibc that an executable needs: the newest that its symbols name.
---@param bytes string the file
---@return string version '2.28'
function checks.needed_glibc(bytes)
  local newest = 17
  for minor in bytes:gmatch '%zGLIBC_2%.(%d+)%f[%z]' do newest = math.max(newest, tonumber(minor)) end
  return ('2.%d'):format(newest)
end

---Returns what keeps rtrain from running there, from `rtrain env --json`.
---@param env table
---@param first table the same of node 0
---@return {problem: string, advice: string}[] problems
function checks.libraries(env, first)
  local out = {}
  local torch, other = env.libtorch, first.libtorch
  if not torch.found then
    local place = (torch.places or {})[1]
    add(out, 'there is no LibTorch that rtrain can use' .. (place and ('; %s: %s'):format(place.path, place.finding) or ''),
      '`pip install torch` there, in an environment at the path of yours or for the user, or --bundle a file that has LibTorch')
  elseif other.found and torch.version ~= other.version then
    add(out, ('its LibTorch is %s, and that of the first node %s'):format(torch.version, other.version),
      'install the same on all nodes, or --bundle a file with LibTorch inside')
  end
  return out
end

---Returns the addresses at which node 0 may be reached, the likeliest first.
---@param facts table<string, string> of node 0
---@param node SshNode node 0
---@param peer table<string, string> of the node that is to reach it
---@return string[] addresses
function checks.addresses(facts, node, peer)
  local out, seen = {}, {}
  local function try(address)
    if not address or address == '' or address:find ':' or address:find '^127%.' or address == 'localhost' then return end
    if not seen[address] then out[#out + 1] = address end
    seen[address] = true
  end
  local words = {}
  for word in (node.is_local and peer.connection or facts.connection or ''):gmatch '%S+' do words[#words + 1] = word end
  try(node.is_local and words[1] or words[3])
  for address in (facts.addresses or ''):gmatch '%S+' do try(address) end
  try(facts.host)
  try(node.host)
  return out
end

return checks
