-- rtrain/config/backend.lua: BackendConfig: which Backend prepares the workers of a DataParallelTrainer.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local schema = require 'rtrain.config.schema'
local system = require 'base._system'

---How the workers of a DataParallelTrainer are set up. The method `backend_cls` of a subclass returns its Backend,
---whose functions run in the script and execute functions on the workers. The fields of a subclass are those for which
---the class has a default. Ray equivalent: ray.train.backend.BackendConfig.
---
---```lua
---local train = require 'rtrain'
---local RingBackend = train.Backend:extend 'RingBackend'
---function RingBackend:on_start(worker_group, backend_config)
---  local addresses = worker_group:execute(function() return 'host-of-' .. train.get_context():get_world_rank() end)
---  worker_group:execute(function(all, port) _G.RING = {all, port} end, addresses, backend_config.port)
---end
---local RingConfig = train.BackendConfig:extend 'RingConfig'
---RingConfig.port = 29500
---function RingConfig:backend_cls() return RingBackend end
---local result = train.DataParallelTrainer({
---  train_loop_per_worker = function() train.report {next = RING[1][2], port = RING[2]} end,
---  backend_config = RingConfig {port = 4000},
---  scaling_config = train.ScalingConfig {num_workers = 2},
---}):fit()
---assert(result.metrics.next == 'host-of-1' and result.metrics.port == 4000)
---```
---@class BackendConfig
---@overload fun(fields?: table): BackendConfig
---@field timeout_s number seconds that a function may take on the workers (default 1800)
---@field initialization_hook? fun() run on every worker before the train function and after Backend:on_start
local BackendConfig = class('BackendConfig')
BackendConfig.timeout_s = system.default_timeout_s

local OWN = {'initialization_hook', 'timeout_s'}

-- Returns the names of the fields: those for which the class or a base class has a default.
local function names_of(of)
  local names, seen = {unpack(OWN)}, {timeout_s = true, __index = true}
  while of ~= BackendConfig do
    for name, value in next, of do
      if type(name) == 'string' and name:sub(1, 1) ~= '_' and type(value) ~= 'function' and not seen[name] then
        seen[name] = true
        names[#names + 1] = name
      end
    end
    of = rawget(of, '__base')
  end
  table.sort(names)
  return names
end

---@param fields? table
---Raises code 'config' for an unknown field or a wrong value.
function BackendConfig:init(fields)
  local of = class.of(self)
  for name, value in next, args.options(fields, names_of(of), of.__name, 'config') do self[name] = value end
  local problem = schema.positive(self.timeout_s)
  if problem then errors.raise('config', ('%s.timeout_s = %s: %s'):format(of.__name, schema.show(self.timeout_s), problem)) end
  problem = self.initialization_hook ~= nil and schema.callback(self.initialization_hook)
  if problem then
    errors.raise('config', ('%s.initialization_hook = %s: %s'):format(of.__name, schema.show(self.initialization_hook),
      problem))
  end
end

---@return table class a subclass of train.Backend; the default does nothing
function BackendConfig:backend_cls() return require 'rtrain.backends.backend' end  -- luacheck: no self

return BackendConfig
