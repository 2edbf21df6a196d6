-- torch/profiler/profile.lua: torch.profiler.profile: records the activities of a part of a program.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local key_averages = require 'torch.profiler.key_averages'
local schedules = require 'torch.profiler.schedule'

local action = schedules.ProfilerAction

local NAMES = {'activities', 'schedule', 'on_trace_ready', 'record_shapes', 'profile_memory', 'with_stack', 'with_flops',
               'experimental_config'}
local REFUSED = {
  with_modules = 'LibTorch knows the modules of TorchScript models alone',
  execution_trace_observer = 'it writes graphs for Python tools to run again',
  acc_events = 'each cycle has events of its own: add up what on_trace_ready sees',
  custom_trace_id_callback = 'add_metadata() says whose trace it is',
  post_processing_timeout_s = 'events are put in order in one pass',
  use_cuda = 'PyTorch gave it up: activities = {torch.profiler.ProfilerActivity.CUDA}',
}

local function engine() return require('torch._C').profiler end

---Returns the activities that can be recorded in this process. PyTorch equivalent: torch.profiler.supported_activities.
---@return string[] activities of torch.profiler.ProfilerActivity: CPU, and CUDA if there is a device
local function supported_activities()
  return require('torch.cuda').is_available() and {'CPU', 'CUDA'} or {'CPU'}
end

local function activity_set(activities)
  local set = {}
  for _, name in ipairs(activities or supported_activities()) do
    set[args.one_of('torch.profiler.profile: activities', name, {'CPU', 'CUDA'})] = true
  end
  if not next(set) then errors.raise('argument', 'torch.profiler.profile: activities is empty: nothing would be recorded') end
  return set
end

local function check_options(options)
  if type(options) == 'table' then
    for name, reason in next, REFUSED do
      if options[name] then errors.raise('unsupported', ('torch.profiler.profile: %s: %s'):format(name, reason)) end
    end
  end
  options = args.options(options, NAMES, 'torch.profiler.profile')
  for _, name in ipairs{'schedule', 'on_trace_ready'} do
    local given = options[name]
    if given ~= nil and type(given) ~= 'function' then
      errors.raise('argument', ('torch.profiler.profile: %s: expected a function, got %s'):format(name, type(given)))
    end
  end
  return options
end

---@class torch.profiler.profile
---@field step_num integer calls of step() so far
local Profile = class('torch.profiler.profile')

function Profile:init(options)
  options = check_options(options)
  local activities = activity_set(options.activities)
  local experimental = args.options(options.experimental_config, {'profile_all_threads'}, 'experimental_config')
  self._recording = {
    cpu = activities.CPU, cuda = activities.CUDA, record_shapes = options.record_shapes, with_stack = options.with_stack,
    profile_memory = options.profile_memory, with_flops = options.with_flops,
    all_threads = experimental.profile_all_threads,
  }
  self._schedule = options.schedule or function() return action.RECORD end
  self._records_steps = options.schedule ~= nil
  self._on_trace_ready = options.on_trace_ready
  self._metadata = {}
  self.step_num = 0
  self._action = self:_next_action()
end

function Profile:_next_action()
  return args.one_of('torch.profiler.profile: an action of the schedule', self._schedule(self.step_num),
    {action.NONE, action.WARMUP, action.RECORD, action.RECORD_AND_SAVE})
end

function Profile:_prepare()
  engine().prepare(self._recording)
  self._is_prepared = true
end

function Profile:_begin()
  if not self._is_prepared then self:_prepare() end
  engine().start()
  self._is_prepared, self._is_recording = false, true
  for _, pair in ipairs(self._metadata) do engine().add_metadata(pair[1], pair[2]) end
end

function Profile:_end()
  self._is_recording = false
  self._result = engine().stop()
end

-- Changes Kineto's state between a step of one action and a step of the next; nil comes after the last step.
function Profile:_change(before, after)
  local saves = self._is_recording and (before == action.RECORD_AND_SAVE or after == nil)
  if saves or self._is_recording and (after == action.NONE or after == action.WARMUP) then self:_end() end
  if saves and self._on_trace_ready then self._on_trace_ready(self) end
  local records = after == action.RECORD or after == action.RECORD_AND_SAVE
  if records and not self._is_recording then
    self:_begin()
  elseif after == action.WARMUP and not self._is_prepared then
    self:_prepare()
  elseif not records and after ~= action.WARMUP and self._is_prepared then
    engine().drop()
    self._is_prepared = false
  end
end

function Profile:_begin_step()
  if self._records_steps then self._step = engine().begin_range('ProfilerStep#' .. self.step_num) end
end

function Profile:_end_step()
  if self._step then self._step:release() end
  self._step = nil
end

---Begins to record, or to follow the schedule.
function Profile:start()
  if self._is_started then errors.raise('argument', 'torch.profiler.profile: start() was called before') end
  self:_change(action.NONE, self._action)
  self._is_started = true
  self:_begin_step()
end

---Ends the recording, and calls `on_trace_ready`.
function Profile:stop()
  if not self._is_started then errors.raise('argument', 'torch.profiler.profile: stop() before start()') end
  self._is_started = false
  self:_end_step()
  self:_change(self._action, nil)
end

---Tells the schedule that a step of the loop has ended. With a schedule each step is a range 'ProfilerStep#n'.
function Profile:step()
  if not self._is_started then errors.raise('argument', 'torch.profiler.profile: step() before start()') end
  self:_end_step()
  local before = self._action
  self.step_num = self.step_num + 1
  self._action = self:_next_action()
  self:_change(before, self._action)
  self:_begin_step()
end

function Profile:_finished(name)
  if not self._result then
    errors.raise('argument', ('torch.profiler.profile: %s(): nothing was recorded yet: it comes behind stop(), or in '
      .. 'on_trace_ready'):format(name))
  end
  return self._result
end

---Writes the last recording as a Chrome trace, which Perfetto (https://ui.perfetto.dev) and chrome://tracing can open.
---It can be called once: LibTorch does not keep the trace.
---@param path string
function Profile:export_chrome_trace(path)
  local result = self:_finished 'export_chrome_trace'
  if type(path) == 'string' and path:find '%.gz$' then
    errors.raise('unsupported', ("export_chrome_trace: '%s': write a .json file and compress it with gzip"):format(path))
  end
  result:save(path)
end

---Returns the sums of all events of one name, in the order of their first events. Memory is the memory that the
---allocator takes for a tensor, which is slightly more than its bytes.
---@param options? {group_by_input_shape: boolean, group_by_stack_n: integer} also groups by the shapes of the inputs
---  (record_shapes), and by that many Lua lines (with_stack: there is one)
---@return torch.profiler.EventList averages
---
---```lua
---local torch = require 'torch'
---local prof
---torch.profiler.profile({record_shapes = true}, function(p)
---  prof = p
---  torch.ones(2, 3):matmul(torch.ones(3, 4))
---end)
---local product = prof:key_averages():find 'aten::matmul'
---assert(product.count == 1 and product.cpu_time_total >= product.self_cpu_time_total)
---assert(prof:key_averages():table{sort_by = 'cpu_time_total', row_limit = 5}:find 'aten::mm')
---```
function Profile:key_averages(options)
  options = args.options(options, {'group_by_input_shape', 'group_by_stack_n'}, 'key_averages')
  local stack_n = options.group_by_stack_n or 0
  if type(stack_n) ~= 'number' or stack_n < 0 then
    errors.raise('argument', ('key_averages: group_by_stack_n: expected a number from 0, got %s'):format(tostring(stack_n)))
  end
  local list = self:_finished('key_averages'):key_averages(options.group_by_input_shape == true, stack_n)
  return key_averages.new(list, self._recording)
end

---Returns every event in the order of their beginnings: the fields of torch.profiler.FunctionEventAvg for one call,
---`thread`, and `time_range` with `start` and `end_` in microseconds from the beginning of the recording.
---@return torch.profiler.EventList events
function Profile:events() return key_averages.new(self:_finished('events'):events(), self._recording) end

---Adds a text to the trace, under a name. LibTorch does not escape it, so double quotes become single quotes.
---@param key string
---@param value string
function Profile:add_metadata(key, value)
  self:add_metadata_json(key, '"' .. tostring(value):gsub('"', "'"):gsub('%c', ' ') .. '"')
end

---Adds a JSON value to the present recording's trace, under a name.
---@param key string
---@param value string
function Profile:add_metadata_json(key, value)
  if not self._is_recording then
    errors.raise('argument', 'add_metadata: nothing is being recorded: preset_metadata_json() is for later')
  end
  engine().add_metadata(key, value)
end

---Adds a JSON value to each later trace.
---@param key string
---@param value string
function Profile:preset_metadata_json(key, value) self._metadata[#self._metadata + 1] = {key, value} end

for name, reason in next, {
  export_stacks = "with_stack knows one line of each operator: key_averages{group_by_stack_n = 1}",
  export_memory_timeline = 'PyTorch gave it up: profile_memory shows memory in the trace',
  toggle_collection_dynamic = 'a schedule says which steps are recorded',
  set_custom_trace_id_callback = 'add_metadata() says whose trace it is',
  get_trace_id = 'add_metadata() says whose trace it is',
} do
  Profile[name] = function() errors.raise('unsupported', ('torch.profiler.profile: %s(): %s'):format(name, reason)) end
end

local function stop_and_return(prof, ok, ...)
  if prof._is_started then prof:stop() end
  if not ok then error((...), 0) end
  return ...
end

---Records the calls of fn: operators with their times, also on the device; with `record_shapes` the shapes of their
---inputs, with `profile_memory` the memory they allocate and free, with `with_stack` the Lua line that has called each,
---with `with_flops` the operations of products and convolutions. It records only this thread, unless
---`experimental_config = {profile_all_threads = true}`. Without fn, `prof:start()` and `prof:stop()` begin and end the
---recording. PyTorch equivalent: torch.profiler.profile.
---@param options? table `activities`: of torch.profiler.ProfilerActivity, default: all available; `schedule`: a step's
---  action, such as torch.profiler.schedule{…}; `on_trace_ready`: called with the profile when a recording has ended;
---  `record_shapes`, `profile_memory`, `with_stack`, `with_flops`: booleans; `experimental_config`
---@param fn? fun(prof: torch.profiler.profile): ...
---@return any ... the results of fn; without fn the torch.profiler.profile
---
---```lua
---local torch = require 'torch'
---local traces = 0
---torch.profiler.profile({
---  schedule = torch.profiler.schedule{wait = 1, warmup = 1, active = 2, repeat_ = 1},
---  on_trace_ready = function(prof) traces = traces + prof:key_averages():find('aten::add_').count end,
---}, function(prof)
---  local x = torch.zeros(3)
---  for _ = 1, 6 do
---    x:add_(1)
---    prof:step()
---  end
---end)
---assert(traces == 2)
---```
local function profile(options, fn)
  if type(options) == 'function' then options, fn = nil, options end
  local prof = Profile(options)
  if fn == nil then return prof end
  prof:start()
  return stop_and_return(prof, xpcall(fn, errors.wrap, prof))
end

return {profile = profile, supported_activities = supported_activities}
