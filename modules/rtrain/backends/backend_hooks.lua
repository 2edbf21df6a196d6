-- rtrain/backends/backend_hooks.lua: calls each function of a trainer's Backend when all workers of an attempt have
-- reached it.

local class = require 'base.class'
local errors = require 'base.errors'
local Backend = require 'rtrain.backends.backend'
local WorkerGroup = require 'rtrain.backends.worker_group'

local BackendHooks = class('BackendHooks')

local STAGES = {'on_start', 'on_training_start', 'on_shutdown'}

-- Returns whether the class overrides this function of Backend.
local function has_own(of, name) return class.definition(of[name]) ~= class.definition(Backend[name]) end

---Returns the functions that a backend defines, which are the stages at which workers wait.
---@param config BackendConfig
---@return table<string, boolean>? stages nil when it defines none of them
function BackendHooks.stages(config)
  local of, stages, any = config:backend_cls(), {}, false
  for _, name in ipairs(STAGES) do
    stages[name] = has_own(of, name)
    any = any or stages[name]
  end
  stages.on_start = any  -- Once a worker has passed on_start, on_shutdown must be called.
  return any and stages or nil
end

---@param config BackendConfig
---@param parts {pump: function?, notice: fun(text: string)}
function BackendHooks:init(config, parts)
  self._config, self._parts = config, parts
  self._backend = config:backend_cls()()
end

local function call(self, group, stage)
  return xpcall(self._backend[stage], errors.wrap, self._backend, group, self._config)
end

-- Calls on_shutdown for an attempt whose workers are gone.
local function shut_down(self, group)
  if group.is_shut_down or not group.has_begun then return end
  group.is_shut_down = true
  local ok, problem = call(self, group, 'on_shutdown')
  if not ok then
    self._parts.notice(('on_shutdown of the %s, after attempt %d has failed: %s'):format(class.of(self._backend).__name,
      group.attempt, tostring(problem)))
  end
end

local function run_stage(self, group, stage)
  group.is_busy, group.has_begun = true, true
  if stage == 'on_shutdown' then group.is_shut_down = true end
  local ok, problem = call(self, group, stage)
  group.is_busy, group.has_passed[stage] = false, ok
  group:_answer_all(ok, ok and {go = true} or problem)
  if group._ended then shut_down(self, group) end
end

-- Returns the group of this attempt. A group of an earlier attempt is shut down first: its workers are gone.
local function group_of(self, attempt, num_workers)
  local group = self._group
  if group and group.attempt == attempt then return group end
  if group then self:end_attempt('another attempt has begun') end
  group = WorkerGroup {
    attempt = attempt, num_workers = num_workers, timeout_s = self._config.timeout_s, pump = self._parts.pump}
  group.has_passed = {}
  self._group = group
  return group
end

---Takes a worker's question.
---@param argument {attempt: integer, rank: integer, world_size: integer, value: {stage: string, result: table?}}
---@param answer fun(ok: boolean, value: any)
function BackendHooks:add(argument, answer)
  local group = group_of(self, argument.attempt, argument.world_size)
  group:_take(argument.rank, argument.value.result, answer)
  -- The worker was still running an execute_async function that the stage did not wait for.
  if group.has_passed[argument.value.stage] then return group:_answer(argument.rank, true, {go = true}) end
  if group.is_busy or group._failed then return end
  for rank = 0, group.num_workers - 1 do
    if not group._answers[rank] then return end
  end
  run_stage(self, group, argument.value.stage)
end

---Called when the workers of the attempt are gone.
---@param why string
function BackendHooks:end_attempt(why)
  local group = self._group
  if not group then return end
  group:_end(why)
  if not group.is_busy then shut_down(self, group) end
end

---Runs a stage in local mode, where the calling thread is the worker.
---@param attempt integer
---@param stage string
function BackendHooks:call_here(attempt, stage)
  local group = group_of(self, attempt, 1)
  group.has_begun, group.is_shut_down = true, stage == 'on_shutdown'
  self._backend[stage](self._backend, group, self._config)
end

return BackendHooks
