-- torch/distributed/checkpoint/plan.lua: which rank writes what of a state dict.
--
-- Each rank writes its rows of divided tensors, if it is the first one that has them. Each whole tensor is written by one
-- rank. Ranks send each other numbers alone: their bytes, and where their rows begin.

local errors = require 'base.errors'
local groups = require 'torch.distributed.groups'
local index = require 'torch.distributed.checkpoint.index'
local leaves = require 'torch.distributed.checkpoint.leaves'
local ordered = require 'base.ordered'
local shards = require 'torch.tensor.shards'
local system = require 'base._system'
local torch = require 'torch'

---@class checkpoint.Plan
---@field number integer of the save
---@field tensors table<string, torch.Tensor> what this rank writes
---@field content checkpoint.Index|nil on rank 0

local MODULUS = 2 ^ 31

local function size_of(tensor) return tensor:numel() * tensor:element_size() end

-- Returns whether this rank is the first one that has these rows.
local function is_first(shard) return shard.replicate_group == nil or groups.get_rank(shard.replicate_group) == 0 end

-- Adds a text to a hash of the texts before.
local function hashed(hash, text)
  for k = 1, #text do hash = (hash * 31 + text:byte(k)) % MODULUS end
  return hash
end

---A tensor of a state dict.
---@class checkpoint.Item
---@field name string
---@field tensor torch.Tensor this rank's rows, or the whole tensor
---@field shape integer[] of the whole tensor
---@field shard torch.Shard|nil
---@field same checkpoint.Item|nil the first one with this memory

-- Returns an earlier item with the same memory, as of tied parameters, which is written once.
local function earlier(seen, item)
  local tensor = item.tensor
  if tensor:numel() == 0 then return nil end
  local key = ('%s %s %s %s %s'):format(tostring(tensor:data_ptr()), tensor.dtype, tostring(tensor.shape),
    table.concat(tensor:stride(), ' '), tostring(item.shard ~= nil))
  local first = seen[key]
  seen[key] = first or item
  return first
end

-- Returns the items, their hash, and the bytes that this rank has to write.
local function items_of(found)
  local items, seen, hash, bytes = {}, {}, 0, 0
  for _, leaf in ipairs(found) do
    if leaves.is_tensor(leaf.value) then
      local tensor, shard = leaf.value, shards.of(leaf.value)
      local item = {name = leaf.name, tensor = tensor, shard = shard}
      item.shape = {unpack(shard and shard.sizes or tensor.shape)}
      item.same = earlier(seen, item)
      items[#items + 1] = item
      hash = hashed(hash, ('%s %s %s %s'):format(item.name, tensor.dtype, table.concat(item.shape, ' '),
        tostring(shard ~= nil)))
      if shard and not item.same and is_first(shard) then bytes = bytes + size_of(tensor) end
    end
  end
  return items, hash, bytes
end

local function check_same(owner, lists)
  for rank, each in ipairs(lists) do
    if each[1] ~= lists[1][1] or each[2] ~= lists[1][2] then
      errors.raise('argument', ('%s: rank %d has other tensors than rank 0: it has %d, rank 0 %d: every rank saves the same '
        .. 'names with the same dtypes and shapes'):format(owner, rank - 1, each[2], lists[1][2]))
    end
  end
end

-- Which whole tensors share memory is what rank 0 says: an optimizer may share steps in another way on another rank.
local function agree_on_same(items, ranks)
  local numbers, place, whole = {}, {}, {}
  for i, item in ipairs(items) do
    place[item] = i
    if not item.shard then
      whole[#whole + 1] = item
      numbers[#whole] = item.same and place[item.same] or 0
    end
  end
  if #whole == 0 then return end
  for i, number in ipairs(ranks:broadcast(numbers)) do whole[i].same = items[number] end
end

-- Returns item → rank that writes it, for whole tensors: the largest first, each to the rank with the least so far.
local function writers_of(items, lists)
  local loads, order, writers, place = {}, {}, {}, {}
  for rank, each in ipairs(lists) do loads[rank] = each[3] end
  for i, item in ipairs(items) do
    place[item] = i
    if not item.shard and not item.same then order[#order + 1] = item end
  end
  table.sort(order, function(a, b)
    local size_a, size_b = size_of(a.tensor), size_of(b.tensor)
    if size_a ~= size_b then return size_a > size_b end
    return place[a] < place[b]
  end)
  for _, item in ipairs(order) do
    local least = 1
    for rank = 2, #loads do
      if loads[rank] < loads[least] then least = rank end
    end
    loads[least] = loads[least] + size_of(item.tensor)
    writers[item] = least - 1
  end
  return writers
end

-- Returns first row, number of rows, and the number of the item with the same memory, of each item that is a shard.
local function own_rows(items)
  local numbers, place = {}, {}
  for i, item in ipairs(items) do
    place[item] = i
    if item.shard then
      local count = is_first(item.shard) and item.shard.count or 0
      numbers[#numbers + 1], numbers[#numbers + 2] = item.shard.begin, count
      numbers[#numbers + 1] = item.same and place[item.same] or i
    end
  end
  return numbers
end

local function part_of(items, i, file, begin, count, same)
  return same ~= i and {file, begin, count, items[same].name} or {file, begin, count}
end

-- Returns the parts of a divided tensor; `at` is its place among the numbers of own_rows.
local function divided_parts(items, i, rows, at)
  local parts = {}
  for rank, numbers in ipairs(rows) do
    if numbers[at + 1] > 0 then
      parts[#parts + 1] = part_of(items, i, rank - 1, numbers[at], numbers[at + 1], numbers[at + 2])
    end
  end
  table.sort(parts, function(a, b) return a[2] < b[2] end)
  return parts
end

local function whole_parts(items, i, writers, place)
  local item = items[i]
  local first = item.same or item
  if index.numel(item.shape) == 0 then return {} end
  return {part_of(items, i, writers[first], 0, index.rows(item.shape), place[first])}
end

local function index_of(found, by_name, items, writers, rows, number)
  local content = {save = number, files = #rows, tensors = ordered.new(), values = ordered.new()}
  local at, place = 1, {}
  for i, item in ipairs(items) do place[item] = i end
  for i, item in ipairs(items) do
    local parts = item.shard and divided_parts(items, i, rows, at) or whole_parts(items, i, writers, place)
    if item.shard then at = at + 3 end
    content.tensors[item.name] = ordered.new{{'path', by_name[item.name].path}, {'dtype', item.tensor.dtype},
      {'shape', torch.list(item.shape)}, {'device', item.tensor.is_cuda and 'cuda' or nil}, {'parts', torch.list(parts)}}
  end
  for _, leaf in ipairs(found) do
    if not leaves.is_tensor(leaf.value) then
      content.values[leaf.name] = ordered.new{{'path', leaf.path}, {'value', leaf.value}}
    end
  end
  return content
end

-- Returns the tensors that this rank writes, by name. A file's tensors share no memory.
local function own_tensors(items, writers, rank)
  local tensors, storages = ordered.new(), {}
  for _, item in ipairs(items) do
    local is_own = writers[item] == rank
    if item.shard then is_own = is_first(item.shard) and item.shard.count > 0 end
    if is_own and not item.same and item.tensor:numel() > 0 then
      local tensor = item.shard and shards.to_local(item.tensor) or item.tensor
      local storage = tostring(require('torch._C')._storage_ptr(tensor))
      tensors[item.name] = storages[storage] and tensor:clone() or tensor
      storages[storage] = true
    end
  end
  return tensors
end

---Decides who writes what. A collective.
---@param owner string the function, for messages
---@param state table
---@param ranks checkpoint.Ranks
---@return checkpoint.Plan
local function make_plan(owner, state, ranks)
  local found, by_name = leaves.of(owner, state)
  local items, hash, bytes = items_of(found)
  local lists = ranks:all_gather{hash, #items, bytes, system.now_ms()}
  check_same(owner, lists)
  agree_on_same(items, ranks)
  local writers, number = writers_of(items, lists), lists[1][4]
  local rows = ranks:gather(own_rows(items))
  local content = rows and index_of(found, by_name, items, writers, rows, number)
  return {number = number, tensors = own_tensors(items, writers, ranks.rank), content = content}
end

return make_plan
