-- rtrain/virtual/ranks.lua: VirtualRanks: the virtual ranks of a run, and which one's batch the train function has.
--
-- Of V virtual ranks process p of W computes those from floor(p V / W) on, up to the next process's first one, unless the
-- controller has given a slow process fewer (host/decide/slow/shares.h). A loop over
-- a prepared loader has for each step the batches of all of them, one after the other. What comes once in a step is held
-- back until the last one (torch.distributed.virtual_ranks says by whom).
--
-- Random numbers of a batch depend on the seed of the loop, the step and the virtual rank. The generators of the code
-- around loops are put aside meanwhile.
--
-- A loop that is left by break says nothing. So whoever asks looks whether the train function is still in the lines of the
-- loop.

local class = require 'base.class'
local errors = require 'base.errors'
local random_state = require 'rtrain.session.random_state'
local seeds = require 'base.seed'
local virtual_ranks = require 'torch.distributed.virtual_ranks'
local warnings = require 'base.warnings'

---@class rtrain.VirtualRanks: torch.VirtualRanks
local VirtualRanks = class 'VirtualRanks'

---@param count integer
---@param place fun(): integer, integer, integer[] rank and number of the processes, and how many virtual ranks each computes;
---  none: as equal numbers as possible
---@param may_move boolean|nil whether the processes may get other numbers
function VirtualRanks:init(count, place, may_move)
  self.count, self._place, self._may_move = count, place, may_move
  self._followed = setmetatable({}, {__mode = 'k'})
end

---Returns the first and the last virtual rank of this process.
---@return integer first
---@return integer last
function VirtualRanks:range()
  local rank, size = self._place()
  local shares, first = self:shares(), 0
  if shares then
    for i = 1, rank do first = first + shares[i] end
    return first, first + shares[rank + 1] - 1
  end
  return math.floor(rank * self.count / size), math.floor((rank + 1) * self.count / size) - 1
end

---@return integer[]|nil shares how many each process computes; nil: as equal numbers as possible
function VirtualRanks:shares()
  local _, size, shares = self._place()
  return shares and #shares == size and shares or nil
end

-- Calls fn(changed, read) now, and in each run of a plan of train.compile: tensors that it changes, and that it reads.
local function effect(name, fn, changed, read) require('torch._C').recording.effect(name, fn, changed, read) end

-- Returns whether the train function is in the lines of the loop; true where that is unknown.
local function is_inside(lines)
  if lines == nil then return true end
  for level = 3, 1000 do
    local running = debug.getinfo(level, 'fl')
    if running == nil then return false end
    if running.func == lines.func and running.currentline >= lines.first and running.currentline <= lines.last then
      return true
    end
  end
  return false
end

-- Ends a loop that was left by break. Other processes may have ended the step.
local function leave_loop(self)
  local batch = self._batch
  self:leave()
  if batch and batch.has_forward and not batch.is_last then
    errors.raise('user', ('virtual_workers: the loop was left in the batch of virtual rank %d, and others of its step follow: '
      .. 'break at the beginning of a batch, before the forward pass, where all processes are as far'):format(batch.rank))
  end
end

-- Returns the batch that the loop has.
local function look(self)
  if self._loop and not is_inside(self._loop.lines) then leave_loop(self) end
  return self._batch
end

---@return integer|nil rank the one whose batch the loop has; nil outside of a loop
function VirtualRanks:rank()
  local batch = look(self)
  return batch and batch.rank
end

---@return boolean
function VirtualRanks:is_held()
  if self._batch == nil then return false end
  local batch = look(self)
  return batch ~= nil and not batch.is_last
end

---@return string|nil part 'first', 'middle', 'last' or 'only' of the batches of a step in this process; nil outside of a loop
function VirtualRanks:part()
  local batch = look(self)
  if batch == nil then return nil end
  if batch.is_first then return batch.is_last and 'only' or 'first' end
  return batch.is_last and 'last' or 'middle'
end

---@return boolean whether another batch of the step came before, which was recorded
function VirtualRanks:is_further()
  local batch = look(self)
  return batch ~= nil and not batch.is_first
end

---Follows plain values that the script changes in each batch: all virtual ranks of a step begin with the same.
---@param object table
---@param get fun(object: table): any copies of the values
---@param set fun(object: table, values: any)
function VirtualRanks:follow(object, get, set) self._followed[object] = {get = get, set = set} end

---Raises code 'unsupported' for a loop inside of another one.
function VirtualRanks:check_loop()
  if self._loop and self._loop.lines and is_inside(self._loop.lines) then
    errors.raise('unsupported', 'virtual_workers: a loop over a prepared loader inside of another one, whose step has not '
      .. 'ended: the virtual ranks of other processes would not be as far. Evaluate between two loops')
  end
  leave_loop(self)
end

---The train function has returned.
function VirtualRanks:end_run() leave_loop(self) end

---Begins a loop.
---@param loop {seed: integer, lines: table|nil} lines: where the loop is in the script, if that is known
function VirtualRanks:enter(loop)
  random_state.begin_aside()
  self._loop = loop
end

---@param loop table
---@return boolean whether it has begun and not ended
function VirtualRanks:is_in(loop) return self._loop == loop end

local function seed_generators(seed)
  require('torch').manual_seed(seed)
  math.randomseed(seed)
end

---Seeds the generators for the making of a batch.
---@param step integer
---@param rank integer
function VirtualRanks:seed_making(step, rank) seed_generators(seeds.of(self._loop.seed, step, rank, 0)) end

-- Keeps what all virtual ranks of a step begin with, or gives it to a further one.
local function equalize(self, batch)
  if batch.is_first and batch.is_last then return end
  for object, values in next, self._followed do
    if batch.is_first then values.kept = values.get(object) else values.set(object, values.kept) end
  end
end

---Begins a batch.
---@param batch {step: integer, rank: integer, is_first: boolean, is_last: boolean} first, last: of the step, in this process
function VirtualRanks:begin(batch)
  if batch.is_first then self._reports, self._later = {}, {} end
  self._batch, self._num_reports, self._num_later = batch, 0, 0
  equalize(self, batch)
  seed_generators(seeds.of(self._loop.seed, batch.step, batch.rank, 1))
end

---Ends the batch, if there is one: the loop goes on.
function VirtualRanks:finish()
  local batch = self._batch
  if batch == nil then return end
  virtual_ranks.each_model(function(model)
    model:_end_virtual()
    if batch.is_last then model:_finish_virtual() end
  end)
  if batch.is_last and self._num_reports ~= #self._reports then
    errors.raise('user', ('virtual_workers: the batch of virtual rank %d had %d calls of train.report, that of another one of '
      .. 'its step %d: report in each batch'):format(batch.rank, self._num_reports, #self._reports))
  end
  self._batch = nil
end

---Ends the loop, if there is one: it has ended, or was left.
function VirtualRanks:leave()
  if self._loop == nil then return end
  if self._batch then
    virtual_ranks.each_model(function(model)
      model:_end_virtual(true)
      model:_finish_virtual()
    end)
  end
  self._loop, self._batch = nil, nil
  random_state.end_aside()
end

---Called before a model's forward. Returns the virtual rank.
---@return integer|nil rank
---Raises code 'unsupported' after an optimizer's step in the same batch.
function VirtualRanks:check_forward()
  local batch = look(self)
  if batch == nil then return nil end
  if batch.has_stepped then
    errors.raise('unsupported', 'virtual_workers: a forward pass after an optimizer\'s step in the same batch: the step is '
      .. 'made once, after the batches of all virtual ranks, and most of them would still have the parameters before it')
  end
  batch.has_forward = true
  return batch.rank
end

local function take_step(self)
  local batch = look(self)
  batch.has_stepped = true
  if batch.is_last then self:share_buffers() end
end

---An optimizer's step comes, or is held back.
function VirtualRanks:note_step()
  local batch = look(self)
  if batch == nil then return end
  local changed = {}
  if batch.is_last then virtual_ranks.each_model(function(model) model:_add_buffers(changed) end) end
  effect('virtual_workers: the step of an optimizer', function() take_step(self) end, changed)
end

---The script calls a collective, in the batch of one virtual rank of each process.
---@param name string
---Raises code 'unsupported' where processes have different numbers of virtual ranks.
function VirtualRanks:note_collective(name)
  if self._is_quiet or look(self) == nil then return end
  local _, size = self._place()
  if self._may_move or self.count % size ~= 0 then
    local also = self._may_move and " and straggler = 'rebalance' moves some" or ''
    errors.raise('unsupported', ('virtual_workers: %s in a loop over batches: %d processes share %d virtual ranks%s, so that '
      .. 'some have more batches in a step than others, and would call it more often. Call it behind the loop'):format(name,
      size, self.count, also))
  end
  warnings.warn(('virtual_workers: %s in a loop over batches is of one virtual rank of each process: its result depends on the '
    .. 'number of processes. Call it behind the loop'):format(name))
end

---The script reads its rank.
function VirtualRanks:note_rank()
  if self._is_quiet or look(self) == nil then return end
  warnings.warn('virtual_workers: the rank, in a loop over batches, is that of the process: what depends on it depends on the '
    .. 'number of processes')
end

---Calls fn, whose collectives are not the script's.
---@param fn fun(...)
---@param ... any arguments
function VirtualRanks:quietly(fn, ...)
  self._is_quiet = true
  local ok, problem = xpcall(fn, errors.wrap, ...)
  self._is_quiet = false
  if not ok then error(problem, 0) end
end

---Gives the models the buffers of virtual rank 0 before they are saved.
---@param share boolean|nil all ranks call it, and get them
function VirtualRanks:share_buffers()
  if not (self._batch and self._batch.has_forward) then return end
  virtual_ranks.each_model(function(model) model:_share_buffers() end)
end

---The same on the process of virtual rank 0 alone.
function VirtualRanks:settle()
  if not (self._batch and self._batch.has_forward) then return end
  virtual_ranks.each_model(function(model) model:_finish_virtual() end)
end

local function keep_later(self, value)
  self._num_later = self._num_later + 1
  local all = self._later[self._num_later] or {}
  self._later[self._num_later] = all
  all[#all + 1] = value
end

---Returns a tensor for a value that is known at the end of the step.
---@return torch.Tensor NaN until then
function VirtualRanks:later()
  local value = require('torch').full({}, 0 / 0)
  effect('virtual_workers: a value comes later', function(changed) keep_later(self, changed[1]) end, {value})
  return value
end

local function fill_kept(self, value)
  self._num_later = self._num_later + 1
  require('torch').no_grad(function()
    for _, each in ipairs(self._later[self._num_later] or {}) do each:fill_(value:item()) end
  end)
end

---Fills the tensors that `later` has returned for the same call.
---@param value torch.Tensor
function VirtualRanks:fill(value)
  if look(self) == nil then return end
  effect('virtual_workers: a value has come', function(_, read) fill_kept(self, read[1]) end, {}, {value})
end

---Takes the metrics of a report. Those of the process's first virtual rank count.
---@param metrics table
---@return table|nil metrics for the report; nil: it is held back
function VirtualRanks:report(metrics)
  local batch = look(self)
  if batch == nil or type(metrics) ~= 'table' then return metrics end
  self._num_reports = self._num_reports + 1
  local number = self._num_reports
  if batch.is_first then
    local copy = {}
    for name, value in next, metrics do copy[name] = value end
    self._reports[number] = setmetatable(copy, getmetatable(metrics))
  elseif self._reports[number] == nil then
    errors.raise('user', ('virtual_workers: the batch of virtual rank %d calls train.report more often than that of the first '
      .. 'one of its step: report in each batch'):format(batch.rank))
  end
  return batch.is_last and self._reports[number] or nil
end

return VirtualRanks
