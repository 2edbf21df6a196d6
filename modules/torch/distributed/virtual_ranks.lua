-- torch/distributed/virtual_ranks.lua: what torch knows of the virtual ranks of a run: nothing, unless a trainer
-- registers them here.
--
-- A process computes the batches of several virtual ranks one after the other, and the loop's body is called for each.
-- What comes once in a step (an optimizer's step, a scheduler's) is held back until the last one.

local virtual_ranks = {}

---@class torch.VirtualRanks
---@field count integer in all processes
---@field range fun(self: torch.VirtualRanks): integer, integer first and last one of this process
---@field shares fun(self: torch.VirtualRanks): integer[]|nil how many each process computes; nil: as equal numbers as possible
---@field rank fun(self: torch.VirtualRanks): integer|nil the one whose batch the loop has; nil outside of a loop
---@field is_held fun(self: torch.VirtualRanks): boolean whether others of the step follow in this process
---@field part fun(self: torch.VirtualRanks): string|nil which batch of the step it is: 'first', 'middle', 'last' or 'only'
---@field check_forward fun(self: torch.VirtualRanks) raises if a model has changed since the batch began
---@field note_collective fun(self: torch.VirtualRanks, name: string) the script calls a collective
---@field note_rank fun(self: torch.VirtualRanks) the script reads its rank
---@field note_step fun(self: torch.VirtualRanks) an optimizer's step comes, or is held back
---@field later fun(self: torch.VirtualRanks): torch.Tensor NaN until a value of all virtual ranks fills it
---@field fill fun(self: torch.VirtualRanks, value: torch.Tensor)

local ranks

---@param given torch.VirtualRanks|nil nil: none
function virtual_ranks.set(given) ranks = given end

---@return torch.VirtualRanks|nil
function virtual_ranks.get() return ranks end

---Returns whether a call that comes once in a step is left out now.
---@return boolean
function virtual_ranks.is_held() return ranks ~= nil and ranks:is_held() end

---Returns which batch of a step the loop has in this process.
---@return string|nil part 'first', 'middle', 'last' or 'only'; nil outside of such loops
function virtual_ranks.part() return ranks and ranks:part() end

---Returns whether an optimizer's step is left out now.
---@param name string class of the optimizer
---@param closure function|nil of the step
---@return boolean
---Raises code 'unsupported' for a closure.
function virtual_ranks.holds_step(name, closure)
  if ranks == nil then return false end
  if closure ~= nil and ranks:rank() then
    require('base.errors').raise('unsupported', ('virtual_workers: %s:step(closure) computes gradients of one virtual rank '
      .. 'alone: call backward before it, and step() without a function'):format(name))
  end
  ranks:note_step()
  return ranks:is_held()
end

---The script calls a collective.
---@param name string
function virtual_ranks.note_collective(name)
  if ranks then ranks:note_collective(name) end
end

---The script reads its rank.
function virtual_ranks.note_rank()
  if ranks then ranks:note_rank() end
end

---Calls fn with each model of DistributedDataParallel that adds up gradients of virtual ranks, in the order in which
---they were made.
---@param fn fun(model: DistributedDataParallel)
function virtual_ranks.each_model(fn)
  local ddp = ranks and package.loaded['torch.nn.parallel.distributed']
  if not ddp then return end
  for _, model in ipairs(ddp.all_made()) do
    if model:is_virtual() then fn(model) end
  end
end

---The script has zeroed the gradients of these parameters.
---@param params torch.Tensor[]
function virtual_ranks.note_zeroed(params)
  if ranks == nil then return end
  virtual_ranks.each_model(function(model) model:_note_zeroed(params) end)
end

return virtual_ranks
