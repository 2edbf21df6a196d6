-- torch/distributed/objects.lua: collectives of plain values: nil, booleans, numbers, strings, tensors, and tables of
-- these.
--
-- Values travel as bytes. First the ranks exchange the sizes. A rank whose value cannot be sent gives a negative size, and
-- then the reason in place of the value: all ranks raise it, so none waits for the others.

local args = require 'base.args'
local buffer = require 'string.buffer'
local bytes_of = require 'torch.tensor.tensor_bytes'
local closure = require 'base._closure'
local collectives = require 'torch.distributed.collectives'
local engine = require 'torch.distributed.engine'
local errors = require 'base.errors'
local ffi = require 'ffi'
local groups = require 'torch.distributed.groups'
local list_length = require 'base.list_length'
local messages = require 'torch.distributed.messages'
local torch = require 'torch'

local objects = {}
local defined = args.definer(objects)

-- The first byte says what follows: LuaJIT's own form of a value, a hundred times faster, or that of a train function.
local TREE, GRAPH = 't', 'g'

local SENDABLE = 'nil, booleans, numbers, strings, tensors and tables of these can be sent'

local function key_text(key)
  if type(key) == 'string' and key:match '^[%a_][%w_]*$' then return '.' .. key end
  return ('[%s]'):format(type(key) == 'string' and ('%q'):format(key) or tostring(key))
end

local function is_packable(value)
  local meta = debug.getmetatable(value)
  return type(meta) == 'table' and rawget(meta, '__pack') ~= nil
end

-- Returns what a value is, if its type is not one that can be sent; nil for a table.
local function foreign_type(value)
  local kind = type(value)
  if kind == 'function' then return 'a function' end
  if kind == 'thread' then return 'a coroutine' end
  if kind == 'cdata' then return not (ffi.istype('int64_t', value) or ffi.istype('uint64_t', value)) and 'FFI data' or nil end
  if kind ~= 'userdata' or value == torch.none or is_packable(value) then return nil end
  return io.type(value) and 'an open file' or 'a userdata'
end

local PLAIN = {['nil'] = true, boolean = true, number = true, string = true}

-- Returns the keys of a table at which something is not plain, in an order of its own.
local function suspects(value)
  local out = {}
  for key, each in next, value do
    if not PLAIN[type(each)] or not PLAIN[type(key)] then out[#out + 1] = key end
  end
  table.sort(out, function(a, b) return tostring(a) < tostring(b) end)
  return out
end

-- Returns the first value that cannot be sent, as "obj.layers[2] is a function"; nil if there is none. `seen.is_graph` says
-- whether there is more than numbers, strings, booleans and tables that are used once.
local function obstacle(value, path, seen)
  local what = foreign_type(value)
  if what then return ('%s is %s'):format(path, what) end
  if type(value) ~= 'table' or seen[value] then
    seen.is_graph = seen.is_graph or not PLAIN[type(value)]
    return nil
  end
  seen[value], seen.is_graph = true, seen.is_graph or getmetatable(value) ~= nil
  for _, key in ipairs(suspects(value)) do
    local found = obstacle(key, path .. ' (a key)', seen) or obstacle(rawget(value, key), path .. key_text(key), seen)
    if found then return found end
  end
end

-- Returns the bytes of a value, or nil and the reason why it cannot be sent.
local function encode(path, value)
  local seen, ok, result = {}, false, nil
  local found = obstacle(value, path, seen)
  if found then return nil, ('%s: only %s'):format(found, SENDABLE) end
  if not seen.is_graph then ok, result = pcall(buffer.encode, value) end
  if ok then return TREE .. result end
  ok, result = pcall(closure.dump, {value = value})
  if ok then return GRAPH .. result end
  return nil, type(result) == 'table' and result.message or tostring(result)
end

local function decode(bytes)
  local rest = bytes:sub(2)
  if bytes:sub(1, 1) == TREE then return buffer.decode(rest) end
  return closure.load(rest).value
end

local function refuse(name, rank, reason) errors.raise('argument', ('%s: rank %d: %s'):format(name, rank, reason)) end

local function bytes_tensor(bytes, device) return torch.frombuffer(bytes, {dtype = 'uint8'}):to(device or 'cpu') end

local function sizes_tensor(sizes, device) return torch.tensor(sizes, {dtype = 'int64', device = device or 'cpu'}) end

local function padded(bytes, size)
  local out = torch.zeros({size}, {dtype = 'uint8'})
  out:narrow(0, 0, #bytes):copy_(bytes_tensor(bytes))
  return out
end

local function check_list(name, parameter, list)
  if type(list) == 'table' and getmetatable(list) == nil then return list end
  errors.raise('argument', ('%s: %s: expected a list, got %s'):format(name, parameter,
    type(list) == 'table' and 'an object' or type(list)))
end

-- Sends bytes, or the reason, from rank src to all, who raise a reason. `bytes` and `reason` are nil on the other ranks.
local function broadcast_bytes(name, p, src, bytes, reason)
  local options, is_src = {src = src, group = p.group}, engine.joined().get_rank() == src
  local sent = bytes or reason
  local size = collectives.broadcast(sizes_tensor({is_src and (bytes and #sent or -#sent) or 0}, p.device), options):item()
  local row = is_src and bytes_tensor(sent, p.device)
    or torch.empty({math.abs(size)}, {dtype = 'uint8', device = p.device or 'cpu'})
  local got = bytes_of(collectives.broadcast(row, options):to 'cpu')
  if size < 0 then refuse(name, src, got) end
  return got
end

-- Exchanges the sizes of the bytes of all ranks. If a rank has none, all ranks raise its reason.
local function all_sizes(name, p, bytes, reason)
  local sizes, longest = collectives.all_gather(sizes_tensor{bytes and #bytes or -1}, {group = p.group}), 0
  for i, each in ipairs(sizes) do
    sizes[i] = each:item()
    if sizes[i] < 0 then
      local rank = p.group and groups.get_global_rank(p.group, i - 1) or i - 1
      broadcast_bytes(name, p, rank, nil, reason)
    end
    longest = math.max(longest, sizes[i])
  end
  return sizes, longest
end

local function put_all(list, rows, sizes)
  for i, size in ipairs(sizes) do list[i] = decode(bytes_of(rows[i - 1]:narrow(0, 0, size))) end
  return list
end

local ALL_GATHER = args.signature('all_gather_object', {'object_list', {'obj'}, {'group'}})

---Gathers a value of each rank on every rank. A table as `obj` is always the value, also one with names only.
---@param object_list table the list to fill: object_list[1] is rank 0's value; a nil stays nil
---@param obj any nil, a boolean, number, string, tensor, or a table of these. Each rank gets a copy
---@param ... any group
---@return table object_list
---Errors: 'argument' on all ranks for a value that cannot be sent (a function, a userdata), with its rank and place.
---PyTorch equivalent: torch.distributed.all_gather_object.
---
---```lua
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local list = dist.all_gather_object({}, {name = 'first', losses = {0.5, 0.25}})
---assert(list[1].name == 'first' and list[1].losses[2] == 0.25)
---dist.destroy_process_group()
---```
function objects.all_gather_object(object_list, obj, ...)
  local name, p = 'all_gather_object'
  if obj == nil and args.is_keywords(object_list) and object_list.object_list then
    p = ALL_GATHER:bind(object_list)
  else
    p = ALL_GATHER:bind(object_list, true, ...)
    p.obj = obj
  end
  check_list(name, 'object_list', p.object_list)
  if engine.is_outside(name, p.group) then return nil end
  local bytes, reason = encode('obj', p.obj)
  local sizes, longest = all_sizes(name, p, bytes, reason)
  local rows = torch.empty({#sizes, longest}, {dtype = 'uint8'})
  collectives.all_gather_into_tensor(rows:view(-1), padded(bytes, longest), {group = p.group})
  return put_all(p.object_list, rows, sizes)
end

local GATHER = args.signature('gather_object', {{'obj'}, {'object_gather_list'}, {'dst'}, {'group'}, {'group_dst'}})

---Gathers a value of each rank on rank dst. The first argument is always the value, also a table with names only.
---@param obj any as in all_gather_object
---@param object_gather_list? table on rank dst: the list to fill; default: a new one
---@param ... any dst (default 0), group, group_dst (a rank in the group, instead of dst)
---@return table|nil list on rank dst: list[1] is rank 0's value; nil on the other ranks
---Errors: as all_gather_object.
---PyTorch equivalent: torch.distributed.gather_object.
---
---```lua
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---assert(dist.gather_object({loss = 0.5}, {dst = 0})[1].loss == 0.5)
---dist.destroy_process_group()
---```
function objects.gather_object(obj, object_gather_list, ...)
  local name, p = 'gather_object'
  if args.is_keywords(object_gather_list) then
    p = GATHER:bind(true, object_gather_list)
  else
    p = GATHER:bind(true, true, ...)
    p.object_gather_list = object_gather_list
  end
  if engine.is_outside(name, p.group) then return nil end
  local dst = engine.rank_of(name, p, 'dst') or 0
  local is_dst = engine.joined().get_rank() == dst
  if is_dst then check_list(name, 'object_gather_list', p.object_gather_list or {}) end
  local bytes, reason = encode('obj', obj)
  local sizes, longest = all_sizes(name, p, bytes, reason)
  local rows = is_dst and torch.empty({#sizes, longest}, {dtype = 'uint8'})
  local list = rows and rows:unbind(0) or nil
  collectives.gather(padded(bytes, longest), list, {dst = dst, group = p.group})
  if rows then return put_all(p.object_gather_list or {}, rows, sizes) end
end

-- Puts the entries of one list in the place of those of another.
local function replace(list, entries)
  for key in next, list do list[key] = nil end
  for key, value in next, entries do list[key] = value end
  return list
end

-- Returns the bytes of rank src's list, or nil and why it cannot be sent.
local function encode_list(list)
  local field
  for key in next, list do
    if type(key) ~= 'number' and (field == nil or key_text(key) < field) then field = key_text(key) end
  end
  if field then return nil, ('object_list%s: expected a list without names'):format(field) end
  return encode('object_list', list)
end

---Gives every rank the values of rank src's list. Arguments: object_list (on rank src: the values, as in
---all_gather_object; on the other ranks: the list to fill, {} too), src (default 0), group, device (over which device's
---transport they travel; default: the CPU's), group_src. Returns object_list, which afterwards has the entries of rank
---src's, and nil where that has nil.
---Errors: as all_gather_object.
---PyTorch equivalent: torch.distributed.broadcast_object_list.
---
---```lua
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local list = dist.broadcast_object_list({'run', {epoch = 3}}, {src = 0})
---assert(list[1] == 'run' and list[2].epoch == 3)
---dist.destroy_process_group()
---```
defined('broadcast_object_list', {'object_list', {'src'}, {'group'}, {'device'}, {'group_src'}}, function(p)
  local name = 'broadcast_object_list'
  check_list(name, 'object_list', p.object_list)
  if engine.is_outside(name, p.group) then return nil end
  local src, bytes, reason = engine.rank_of(name, p, 'src') or 0, nil, nil
  local is_src = engine.joined().get_rank() == src
  if is_src then bytes, reason = encode_list(p.object_list) end
  local got = broadcast_bytes(name, p, src, bytes, reason)
  return is_src and p.object_list or replace(p.object_list, decode(got))
end)

-- Returns the bytes of each rank's value, or nil and why they cannot be sent.
local function encode_each(list, count)
  if type(list) ~= 'table' or getmetatable(list) ~= nil then
    return nil, ('scatter_object_input_list: expected a list with a value for each rank, got %s'):format(type(list))
  end
  local ok, length = pcall(list_length, 'scatter_object_input_list', list)
  if not ok then return nil, length.message .. ' (torch.none may stand for a nil)' end
  if length ~= count then
    return nil, ('scatter_object_input_list: %d values for %d ranks: give one for each rank'):format(length, count)
  end
  local out = {}
  for i, value in ipairs(list) do
    local bytes, reason = encode(('scatter_object_input_list[%d]'):format(i), value)
    if not bytes then return nil, reason end
    out[i] = bytes
  end
  return out
end

---Gives each rank its value of rank src's list. Arguments: scatter_object_output_list (its first entry becomes this rank's
---value), scatter_object_input_list (on rank src: a value for each rank, torch.none where there is none; not used on the
---other ranks), src (default 0), group, group_src. Returns scatter_object_output_list.
---Errors: as all_gather_object; a wrong list of rank src is an error on all ranks.
---PyTorch equivalent: torch.distributed.scatter_object_list.
---
---```lua
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---assert(dist.scatter_object_list({}, {{shard = 'a'}})[1].shard == 'a')
---dist.destroy_process_group()
---```
defined('scatter_object_list', {'scatter_object_output_list', {'scatter_object_input_list'}, {'src'}, {'group'},
                                {'group_src'}}, function(p)
  local name = 'scatter_object_list'
  check_list(name, 'scatter_object_output_list', p.scatter_object_output_list)
  if engine.is_outside(name, p.group) then return nil end
  local src, count = engine.rank_of(name, p, 'src') or 0, groups.get_world_size(p.group)
  local texts, sizes, reason
  if engine.joined().get_rank() == src then
    texts, reason = encode_each(p.scatter_object_input_list, count)
    sizes = {}
    for i, text in ipairs(texts or {}) do sizes[i] = #text end
  end
  sizes = decode(broadcast_bytes(name, p, src, texts and encode('sizes', sizes), reason))
  local longest, rows = math.max(unpack(sizes)), nil
  if texts then
    rows = {}
    for i, text in ipairs(texts) do rows[i] = padded(text, longest) end
  end
  local own = torch.empty({longest}, {dtype = 'uint8'})
  collectives.scatter(own, rows, {src = src, group = p.group})
  p.scatter_object_output_list[1] = decode(bytes_of(own:narrow(0, 0, sizes[groups.get_rank(p.group) + 1])))
  return p.scatter_object_output_list
end)

---Sends the values of a list to one rank. Arguments: object_list (values as in all_gather_object), dst (a rank), group,
---device (as in broadcast_object_list), group_dst. Errors: 'argument' on both ranks for a value that cannot be sent.
---PyTorch equivalent: torch.distributed.send_object_list.
defined('send_object_list', {'object_list', {'dst'}, {'group'}, {'device'}, {'group_dst'}}, function(p)
  local name = 'send_object_list'
  check_list(name, 'object_list', p.object_list)
  if engine.is_outside(name, p.group) then return nil end
  local bytes, reason = encode_list(p.object_list)
  local sent, to = bytes or reason, {dst = p.dst, group = p.group, group_dst = p.group_dst}
  messages.send(sizes_tensor({bytes and #sent or -#sent}, p.device), to)
  messages.send(bytes_tensor(sent, p.device), to)
  if reason then refuse(name, engine.joined().get_rank(), reason) end
end)

---Receives the values that a rank sends with send_object_list. Arguments: object_list (the list to fill), src (a rank; nil:
---any rank), group, device, group_src. Returns the sender's rank.
---PyTorch equivalent: torch.distributed.recv_object_list.
defined('recv_object_list', {'object_list', {'src'}, {'group'}, {'device'}, {'group_src'}}, function(p)
  local name = 'recv_object_list'
  check_list(name, 'object_list', p.object_list)
  if engine.is_outside(name, p.group) then return nil end
  local size = sizes_tensor({0}, p.device)
  local src = messages.recv(size, {src = p.src, group = p.group, group_src = p.group_src})
  local row = torch.empty({math.abs(size:item())}, {dtype = 'uint8', device = p.device or 'cpu'})
  messages.recv(row, {src = src, group = p.group})
  local got = bytes_of(row:to 'cpu')
  if size:item() < 0 then refuse(name, src, got) end
  replace(p.object_list, decode(got))
  return src
end)

return objects
