-- rtrain/state/rows.lua: the rows of sharded parameters with the optimizers' state of them: they are taken apart and put
-- together, for a group of another size.
--
-- What is the same on all ranks, such as the options of optimizers, is `common`.

local ordered = require 'base.ordered'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'
local tree = require 'torch.func.tree'

local rows = {}

---Returns the sharded parameters of modules, in an order that all ranks share.
---@param modules table ordered, by name
---@return torch.Tensor[]
function rows.params(modules)
  local params, seen = {}, {}
  for _, module in ordered.items(modules) do
    for _, param in ipairs(module:parameters()) do
      if shards.of(param) and not seen[param] then
        seen[param] = true
        params[#params + 1] = param
      end
    end
  end
  return params
end

local function has_shape(tensor, shape)
  if #tensor.shape ~= #shape then return false end
  for i = 1, #shape do
    if tensor.shape[i] ~= shape[i] then return false end
  end
  return true
end

-- What optimizers keep for each element has the shape of the rows.
local function narrowed(value, shape, begin, count)
  return tree.map(value, function(tensor) return has_shape(tensor, shape) and tensor:narrow(0, begin, count) or tensor end)
end

---Rows that follow each other, of one parameter.
---@class rtrain.Rows
---@field begin integer the first one, from 0
---@field rows torch.Tensor
---@field states table the state that each optimizer has of them; false: none

---Returns whether a rank that is to have some rows needs those of another one. Where it is to have none, it takes what
---optimizers keep for the whole parameter, such as the number of steps, from the first rank.
---@param wanted {begin: integer, count: integer}
---@param other {begin: integer, count: integer}
---@return boolean
function rows.are_needed(wanted, other)
  if wanted.count == 0 then return other.begin == 0 end
  return math.max(wanted.begin, other.begin) < math.min(wanted.begin + wanted.count, other.begin + other.count)
end

---Returns those of a parameter's rows that lie in a range.
---@param own rtrain.Rows
---@param wanted {begin: integer, count: integer}
---@return rtrain.Rows
function rows.within(own, wanted)
  local shape = {unpack(own.rows.shape)}
  local first = math.min(math.max(wanted.begin, own.begin), own.begin + shape[1])
  local last = math.max(first, math.min(wanted.begin + wanted.count, own.begin + shape[1]))
  local offset = first - own.begin
  return {begin = wanted.count == 0 and wanted.begin or first, rows = own.rows:narrow(0, offset, last - first),
          states = narrowed(own.states, shape, offset, last - first)}
end

-- Returns one state out of those of consecutive rows.
local function joined_state(pieces, i)
  local leaves = {}
  for k, piece in ipairs(pieces) do leaves[k] = tree.leaves(piece.states[i]) end
  local place = 0
  return tree.map(pieces[1].states[i], function(tensor)
    place = place + 1
    if not has_shape(tensor, pieces[1].rows.shape) then return tensor end
    local list = {}
    for k in ipairs(pieces) do list[k] = leaves[k][place] end
    return torch.cat(list)
  end)
end

---Joins rows that follow each other.
---@param pieces rtrain.Rows[] at least one
---@return rtrain.Rows
function rows.join(pieces)
  table.sort(pieces, function(a, b) return a.begin < b.begin end)
  local list, states = {}, {}
  for k, piece in ipairs(pieces) do list[k] = piece.rows end
  for i, state in ipairs(pieces[1].states) do states[i] = state and joined_state(pieces, i) end
  return {begin = pieces[1].begin, rows = torch.cat(list), states = states}
end

---Returns the rows that this rank has of a parameter; they share its memory.
---@param param torch.Tensor
---@param optimizers optim.Optimizer[]
---@return rtrain.Rows
function rows.of(param, optimizers)
  local states, unmarked = {}, require('torch._C').distributed.unmarked
  for i, optimizer in ipairs(optimizers) do states[i] = tree.map(rawget(optimizer.state, param) or false, unmarked) end
  return {begin = shards.of(param).begin, rows = unmarked(param), states = states}
end

---Gives a parameter rows, and optimizers the state of them. The number of rows may be another one than before.
---@param param torch.Tensor
---@param optimizers optim.Optimizer[]
---@param given rtrain.Rows
function rows.set(param, optimizers, given)
  local shard = shards.of(param)
  torch.no_grad(function()
    if param:size(0) == given.rows:size(0) then
      param:copy_(given.rows)
    else
      param.grad = nil
      param.data = given.rows:to{dtype = param.dtype, device = param.device, copy = true}
    end
  end)
  shard.begin, shard.count, shard.with_columns = given.begin, given.rows:size(0), nil
  shards.add(param, shard)
  for i, optimizer in ipairs(optimizers) do
    optimizer.state[param], optimizer._plans = given.states[i] or nil, {}
  end
end

---Returns the range of a parameter's rows that a rank has.
---@param param torch.Tensor
---@param rank integer
---@param world_size integer
---@return {begin: integer, count: integer}
function rows.range(param, rank, world_size)
  local begin, count = require('torch._C').distributed.shard_rows(shards.of(param).sizes[1], rank, world_size)
  return {begin = begin, count = count}
end

local function dicts_of(parts_of_kind)
  local dicts = ordered.new()
  for name, part in ordered.items(parts_of_kind) do dicts[name] = part:state_dict() end
  return dicts
end

local function without_shards(state)
  local rest = ordered.new()
  for key, value in ordered.items(state) do
    if not (torch.is_tensor(value) and shards.of(value)) then rest[key] = value end
  end
  return rest
end

local function drop_states_of_shards(optimizer, state)
  local number = 0
  for _, group in ipairs(optimizer.param_groups) do
    for _, param in ipairs(group.params) do
      if shards.of(param) then state[number] = nil end
      number = number + 1
    end
  end
end

---Returns the state dicts of modules and optimizers without what is of sharded parameters.
---@param modules table ordered, by name
---@param optimizers table ordered, by name
---@return {modules: table, optimizers: table} common
function rows.common(modules, optimizers)
  local common = {modules = dicts_of(modules), optimizers = dicts_of(optimizers)}
  if not shards.has_replaced() then return common end
  for name, state in ordered.items(common.modules) do common.modules[name] = without_shards(state) end
  for name, optimizer in ordered.items(optimizers) do drop_states_of_shards(optimizer, common.optimizers[name].state) end
  return common
end

---@param modules table ordered, by name
---@param optimizers table ordered, by name
---@param common {modules: table, optimizers: table} a result of `common`
function rows.set_common(modules, optimizers, common)
  local options = {strict = not shards.has_replaced()}
  for name, model in ordered.items(modules) do model:load_state_dict(common.modules[name], options) end
  for name, optimizer in ordered.items(optimizers) do optimizer:load_state_dict(common.optimizers[name]) end
end

local function file_of(rank) return ('/train_rows-rank-%d.pt'):format(rank) end

---Writes this rank's rows, without asking another rank.
---@param modules table ordered, by name
---@param optimizers table ordered, by name
---@param dir string
---@param rank integer
function rows.save(modules, optimizers, dir, rank)
  local list, params = {}, {}
  for _, optimizer in ordered.items(optimizers) do list[#list + 1] = optimizer end
  for i, param in ipairs(rows.params(modules)) do params[i] = rows.of(param, list) end
  torch.save({params = params, common = rank == 0 and rows.common(modules, optimizers) or nil}, dir .. file_of(rank))
end

---@param dir string
---@return boolean whether a folder has what all ranks have saved
function rows.are_in(dir)
  local file = io.open(dir .. file_of(0), 'rb')
  if file then file:close() end
  return file ~= nil
end

---Loads what the ranks of a group of any size have saved.
---@param modules table ordered, by name
---@param optimizers table ordered, by name
---@param dir string
---@param place {size: integer, rank: integer, num_saved: integer} of this rank; how many ranks have saved
function rows.load(modules, optimizers, dir, place)
  local list, pieces, params = {}, {}, rows.params(modules)
  for _, optimizer in ordered.items(optimizers) do list[#list + 1] = optimizer end
  for i in ipairs(params) do pieces[i] = {} end
  for saved_by = 0, place.num_saved - 1 do
    local saved = torch.load(dir .. file_of(saved_by), {mmap = true})
    if saved_by == 0 then rows.set_common(modules, optimizers, saved.common) end
    for i, param in ipairs(params) do
      local wanted, other = rows.range(param, place.rank, place.size), rows.range(param, saved_by, place.num_saved)
      if rows.are_needed(wanted, other) then table.insert(pieces[i], rows.within(saved.params[i], wanted)) end
    end
  end
  for i, param in ipairs(params) do rows.set(param, list, rows.join(pieces[i])) end
end

return rows
