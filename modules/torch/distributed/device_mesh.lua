-- torch/distributed/device_mesh.lua: DeviceMesh: the ranks as an array, with a process group along each dimension.
--
-- A dimension is a list of parts {place, size, stride}: of one dimension of the root mesh, or of several that were
-- flattened. Strides count in the root's list of ranks, so the coordinate of index i is floor(i / stride) % size.

local args = require 'base.args'
local class = require 'base.class'
local engine = require 'torch.distributed.engine'
local errors = require 'base.errors'
local groups = require 'torch.distributed.groups'
local torch = require 'torch'

---The ranks of a run as an array of several dimensions, with a process group along each dimension: for models and data
---that are divided along one and replicated along another. Arguments: device_type ('cpu' or 'cuda'), mesh (an integer
---tensor or nested list of global ranks), {mesh_dim_names = a name for each dimension, backend_override = refused}. All
---ranks must make the same mesh. A rank may be outside of it.
---
---Dimensions are numbered from 0. `mesh.name` and `mesh[{'a', 'b'}]` are the mesh of these dimensions that has this rank.
---Meshes of the same ranks, dimensions, names and device_type are equal.
---PyTorch equivalent: torch.distributed.device_mesh.DeviceMesh.
---
---```lua
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local mesh = dist.DeviceMesh('cpu', {{0}}, {mesh_dim_names = {'replicate', 'shard'}})
---assert(tostring(mesh) == "DeviceMesh((replicate=1, shard=1), 'cpu', stride=(1, 1))")
---assert(mesh.shard:size() == 1 and mesh.replicate:get_local_rank() == 0)
---dist.destroy_process_group()
---```
---@class torch.distributed.DeviceMesh
---@field device_type string 'cpu' or 'cuda'
---@field mesh torch.Tensor the global ranks, int32, in the mesh's shape
---@field mesh_dim_names string[]|nil
---@field ndim integer number of dimensions
---@field shape torch.Size size of each dimension
---@overload fun(device_type: string, mesh: any, options?: {mesh_dim_names: string[]}): torch.distributed.DeviceMesh
local DeviceMesh = class 'DeviceMesh'

local function raise(text, ...) errors.raise('argument', 'DeviceMesh: ' .. text:format(...)) end

-- Returns the offsets of a block of the root's ranks, row by row: all combinations of the parts, from each first offset.
local function spread(first, parts)
  for _, part in ipairs(parts) do
    local out = {}
    for _, offset in ipairs(first) do
      for i = 0, part.size - 1 do out[#out + 1] = offset + i * part.stride end
    end
    first = out
  end
  return first
end

local function joined_parts(dims)
  local out = {}
  for _, dim in ipairs(dims) do
    for _, part in ipairs(dim) do out[#out + 1] = part end
  end
  return out
end

local function size_of(dim)
  local out = 1
  for _, part in ipairs(dim) do out = out * part.size end
  return out
end

local function ranks_at(root, offsets)
  local out = {}
  for i, offset in ipairs(offsets) do out[i] = root._ranks[offset + 1] end
  return out
end

-- Returns the coordinate of an index on a dimension.
local function coordinate_of(index, dim)
  local out = 0
  for _, part in ipairs(dim) do out = out * part.size + math.floor(index / part.stride) % part.size end
  return out
end

-- Makes the group of each line of the dimension. Returns this rank's; nil if it is outside of the mesh.
local function make_group(root, dim)
  if size_of(dim) == groups.get_world_size() then return groups.group.WORLD end
  local others, mine = {}, nil
  for _, other in ipairs(joined_parts(root._dims)) do
    local is_own = false
    for _, part in ipairs(dim) do is_own = is_own or part.place == other.place end
    if not is_own then others[#others + 1] = other end
  end
  for _, first in ipairs(spread({0}, others)) do
    local group = groups.new_group{ranks = ranks_at(root, spread({first}, dim))}
    if group ~= engine.NON_GROUP_MEMBER then mine = group end
  end
  return mine
end

local function check_device_type(name, device_type)
  local index = type(device_type) == 'string' and device_type:match '^%a+(:%d+)$'
  if index then
    errors.raise('argument', ("%s: device_type '%s': give the type without the index: '%s'"):format(name, device_type,
      device_type:sub(1, -#index - 1)))
  end
  args.one_of(name .. ': device_type', device_type, {'cpu', 'cuda'})
end

local FIELDS = {device_type = true, mesh = true, mesh_dim_names = true, ndim = true, shape = true}

local function check_names(names, ndim)
  if names == nil then return nil end
  if type(names) ~= 'table' or #names ~= ndim then
    raise('mesh_dim_names: expected a list of %d names, one for each dimension, got %s', ndim,
      type(names) == 'table' and ('%d'):format(#names) or tostring(names))
  end
  local seen = {}
  for i, name in ipairs(names) do
    if type(name) ~= 'string' then raise('mesh_dim_names: name %d is a %s', i, type(name)) end
    if seen[name] then raise("mesh_dim_names: '%s' is given twice", name) end
    if FIELDS[name] or DeviceMesh[name] ~= nil then raise("mesh_dim_names: '%s' is a name of DeviceMesh itself", name) end
    seen[name] = true
  end
  return {unpack(names)}
end

local function check_ranks(ranks)
  local world, seen = groups.get_world_size(), {}
  if #ranks > world then raise('a mesh of %d ranks is larger than the world of %d', #ranks, world) end
  for _, rank in ipairs(ranks) do
    if rank < 0 or rank >= world then raise('there is no rank %d in a world of %d (ranks count from 0)', rank, world) end
    if seen[rank] then raise('rank %d is in the mesh twice', rank) end
    seen[rank] = true
  end
end

-- Sets the dimensions of a root mesh.
local function lay_out(self, sizes)
  local stride = #self._ranks
  self._dims = {}
  for place, size in ipairs(sizes) do
    stride = stride / size
    self._dims[place] = {{place = place, size = size, stride = stride}}
  end
end

local function set_shape(self, names)
  local sizes = {}
  for i, dim in ipairs(self._dims) do sizes[i] = size_of(dim) end
  self.ndim, self.shape, self.mesh_dim_names = #sizes, torch.Size(sizes), names
end

-- Forms the process group of this process if there is none.
local function form_group()
  engine.joined()
  if not groups.is_initialized() then groups.init_process_group() end
end

-- Makes a root mesh; `make_groups` returns the group of each dimension.
local function set_up(self, device_type, mesh, names, make_groups)
  check_device_type('DeviceMesh', device_type)
  local tensor = torch.is_tensor(mesh) and mesh or torch.tensor(mesh)
  if tensor:dim() == 0 or tensor:numel() == 0 then raise 'mesh: expected a tensor or nested list with the ranks' end
  if torch.is_floating_point(tensor) and not torch.equal(tensor, tensor:floor()) then raise 'mesh: ranks are integers' end
  form_group()
  self.device_type, self._ranks, self._flattened = device_type, tensor:flatten():tolist(), {}
  check_ranks(self._ranks)
  lay_out(self, tensor.shape)
  set_shape(self, check_names(names, tensor:dim()))
  local rank = groups.get_rank()
  for i, each in ipairs(self._ranks) do
    if each == rank then self._index = i - 1 end
  end
  self._groups = make_groups(self)
end

local SIGNATURE = args.signature('DeviceMesh', {'device_type', 'mesh', {'mesh_dim_names'}, {'backend_override'}})

local function refuse_backends(name, override)
  if override == nil then return end
  errors.raise('unsupported', name .. ': backend_override is not in this version: the groups have the backend of the '
    .. 'group of all ranks; DeviceMesh.from_group takes groups of another one')
end

function DeviceMesh:init(...)
  local p = SIGNATURE:bind(...)
  refuse_backends('DeviceMesh', p.backend_override)
  set_up(self, p.device_type, p.mesh, p.mesh_dim_names, function()
    local made = {}
    for i, dim in ipairs(self._dims) do made[i] = make_group(self, dim) end
    return made
  end)
end

local function root_of(self) return rawget(self, '_root') or self end

-- Returns a mesh of some dimensions of the root.
local function derived(root, dims, names, made)
  local self = DeviceMesh.__new(DeviceMesh)
  self._root, self._dims, self._groups, self.device_type = root, dims, made, root.device_type
  set_shape(self, names)
  return self
end

-- Returns the ranks of the mesh's part that has this rank.
local function ranks_of(self)
  local root, offset = root_of(self), 0
  if root ~= self then
    if root._index == nil then raise('rank %d is not in the mesh, so no part of it is its own', groups.get_rank()) end
    offset = root._index
    for _, part in ipairs(joined_parts(self._dims)) do
      offset = offset - math.floor(root._index / part.stride) % part.size * part.stride
    end
  end
  return ranks_at(root, spread({offset}, joined_parts(self._dims)))
end

local function position_of(list, name)
  for i, each in ipairs(list) do
    if each == name then return i end
  end
end

-- Returns the names that a mesh answers to.
local function names_of(self)
  local out = {unpack(self.mesh_dim_names or {})}
  for key in next, DeviceMesh do
    if key:sub(1, 1) ~= '_' then out[#out + 1] = key end
  end
  table.sort(out)
  return out
end

local function refuse_name(self, name)
  local names = self.mesh_dim_names and 'they are ' .. table.concat(self.mesh_dim_names, ', ') or 'it has no mesh_dim_names'
  raise("there is no dimension '%s' (%s)%s", tostring(name), names, errors.suggestion(tostring(name), names_of(self)))
end

-- Returns the dimension of a name, and its group.
local function named(self, name)
  local i = position_of(self.mesh_dim_names or {}, name)
  if i then return self._dims[i], self._groups[i] end
  local flat = rawget(self, '_flattened') and self._flattened[name]
  if not flat then refuse_name(self, name) end
  return flat._dims[1], flat._groups[1]
end

local function check_order(dims, names)
  local last = 0
  for _, dim in ipairs(dims) do
    for i, part in ipairs(dim) do
      if part.place == last then raise("the dimensions '%s' overlap", table.concat(names, "', '")) end
      if part.place < last and i == 1 then
        raise("the dimensions '%s' are not in the order of the mesh", table.concat(names, "', '"))
      end
      last = math.max(last, part.place)
    end
  end
end

local function slice(self, names)
  names = type(names) == 'table' and names or {names}
  if #names == 0 then raise 'expected a name, or a list of names' end
  local dims, made = {}, {}
  for i, name in ipairs(names) do dims[i], made[i] = named(self, name) end
  check_order(dims, names)
  if #dims == self.ndim and table.concat(names, '\0') == table.concat(self.mesh_dim_names, '\0') then return self end
  return derived(root_of(self), dims, {unpack(names)}, made)
end

function DeviceMesh.__index(self, key)
  if key == 'mesh' then
    rawset(self, 'mesh', torch.tensor(ranks_of(self), {dtype = 'int32'}):view(self.shape))
    return rawget(self, 'mesh')
  end
  local value = DeviceMesh[key]
  if value ~= nil or FIELDS[key] then return value end
  if type(key) == 'table' or type(key) == 'string' and key:sub(1, 1) ~= '_' then return slice(self, key) end
end

-- Returns the number of the dimension from 1.
local function number_of(self, name, mesh_dim)
  if type(mesh_dim) == 'string' then
    return position_of(self.mesh_dim_names or {}, mesh_dim) or refuse_name(self, mesh_dim)
  end
  if type(mesh_dim) ~= 'number' or mesh_dim % 1 ~= 0 or mesh_dim >= self.ndim or mesh_dim < -self.ndim then
    raise('%s: there is no dimension %s in a mesh of %d (they count from 0)', name, tostring(mesh_dim), self.ndim)
  end
  return mesh_dim % self.ndim + 1
end

-- The dimension may be left out if there is only one.
local function only_dim(self, name, mesh_dim)
  if mesh_dim ~= nil then return mesh_dim end
  if self.ndim > 1 then raise('%s: the mesh has %d dimensions: say which one', name, self.ndim) end
  return 0
end

local function group_of(self, name, mesh_dim)
  mesh_dim = only_dim(self, name, mesh_dim)
  local flat = root_of(self)._flattened[mesh_dim]
  local group = flat and flat._groups[1] or not flat and self._groups[number_of(self, name, mesh_dim)]
  if not group then raise('%s: rank %d is not in the mesh', name, groups.get_rank()) end
  return group
end

---Returns the process group along a dimension that has this rank.
---@param mesh_dim? integer|string number from 0, or name; not needed for one dimension
---@return ProcessGroup
---Errors: 'argument' for an unknown dimension, and on a rank outside of the mesh.
function DeviceMesh:get_group(mesh_dim) return group_of(self, 'get_group', mesh_dim) end

---@return ProcessGroup[] group of each dimension: the first one is dimension 0's
function DeviceMesh:get_all_groups()
  local out = {}
  for i = 1, self.ndim do out[i] = group_of(self, 'get_all_groups', i - 1) end
  return out
end

---Returns this rank's place along a dimension: its rank in that dimension's group.
---@param mesh_dim? integer|string number from 0, or name; not needed for one dimension
---@return integer rank from 0
---Errors: as get_group.
function DeviceMesh:get_local_rank(mesh_dim) return groups.get_rank(group_of(self, 'get_local_rank', mesh_dim)) end

---@return integer rank among all ranks
function DeviceMesh:get_rank() return groups.get_rank() end  -- luacheck: ignore self

---@return integer[]|nil coordinate of this rank from 0, on each dimension: the first one is dimension 0's; nil on a rank
---  outside of the mesh
function DeviceMesh:get_coordinate()
  local index, out = root_of(self)._index, {}
  if index == nil then return nil end
  for i, dim in ipairs(self._dims) do out[i] = coordinate_of(index, dim) end
  return out
end

---@param mesh_dim? integer|string number from 0, or name; default: all
---@return integer number of ranks along the dimension; of all ranks of the mesh
function DeviceMesh:size(mesh_dim)
  if mesh_dim ~= nil then return self.shape[number_of(self, 'size', mesh_dim)] end
  return size_of(joined_parts(self._dims))
end

-- Returns the parts without those of size 1, neighbours joined, so that equal dimensions have equal parts.
local function coalesced(parts)
  local out = {}
  for _, part in ipairs(parts) do
    local last = out[#out]
    if last and last.stride == part.size * part.stride then
      out[#out] = {size = last.size * part.size, stride = part.stride}
    elseif part.size > 1 then
      out[#out + 1] = part
    end
  end
  return #out > 0 and out or {{size = 1, stride = 1}}
end

local function tuple(list) return ('(%s%s)'):format(table.concat(list, ', '), #list == 1 and ',' or '') end

local function stride_text(dim)
  if #dim == 1 then return ('%d'):format(dim[1].stride) end
  local out = {}
  for i, part in ipairs(coalesced(dim)) do out[i] = ('%d'):format(part.stride) end
  return #out == 1 and out[1] or tuple(out)
end

---Makes one dimension of all dimensions of the mesh, with a process group of its own. All ranks of the root mesh call it.
---Afterwards the root has the dimension too: `root.dp_cp`. PyTorch's DeviceMesh._flatten.
---@param mesh_dim_name? string default: the names with '_' between them
---@return torch.distributed.DeviceMesh
---Errors: 'argument' without mesh_dim_names, and for a name that is used already.
function DeviceMesh:_flatten(mesh_dim_name)
  if not self.mesh_dim_names then raise '_flatten: it has no mesh_dim_names' end
  local root, name = root_of(self), mesh_dim_name or table.concat(self.mesh_dim_names, '_')
  if self.ndim == 1 and name == self.mesh_dim_names[1] then return self end
  if position_of(root.mesh_dim_names, name) then raise("_flatten: '%s' is a dimension already", name) end
  local dim, made = joined_parts(self._dims), root._flattened[name]
  if made then
    if stride_text(made._dims[1]) == stride_text(dim) and made:size() == size_of(dim) then return made end
    raise("_flatten: '%s' is another flattened mesh already", name)
  end
  local names = check_names({name}, 1)
  made = derived(root, {dim}, names, {make_group(root, dim)})
  root._flattened[name] = made
  return made
end

---Makes a mesh of groups that exist already, one for each dimension.
---@param group ProcessGroup|ProcessGroup[] a list needs mesh and mesh_dim_names
---@param device_type string 'cpu' or 'cuda'
---@param ... any mesh (an integer tensor or nested list of ranks), {mesh_dim_names = a name for each dimension}
---@return torch.distributed.DeviceMesh
---
---```lua
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local mesh = dist.DeviceMesh.from_group(dist.group.WORLD, 'cpu', {mesh_dim_names = {'data'}})
---assert(mesh:get_group 'data' == dist.group.WORLD and mesh.mesh:tolist()[1] == 0)
---dist.destroy_process_group()
---```
function DeviceMesh.from_group(group, device_type, ...)
  local p = args.signature('DeviceMesh.from_group', {'group', 'device_type', {'mesh'}, {'mesh_dim_names'}}):bind(
    group, device_type, ...)
  local list = type(p.group) == 'userdata' and {p.group} or p.group
  if type(list) ~= 'table' or #list == 0 then raise 'from_group: expected a process group, or a list of them' end
  if #list > 1 and (p.mesh == nil or p.mesh_dim_names == nil) then
    raise 'from_group: several groups need mesh and mesh_dim_names'
  end
  local ranks = groups.get_process_group_ranks(list[1])
  local mesh = torch.is_tensor(p.mesh) and p.mesh or torch.tensor(p.mesh or ranks)
  if mesh:dim() ~= #list then raise('from_group: a mesh of %d dimensions for %d groups', mesh:dim(), #list) end
  if #list == 1 and table.concat(mesh:tolist(), ' ') ~= table.concat(ranks, ' ') then
    raise('from_group: the group has the ranks %s, the mesh %s', table.concat(ranks, ', '), table.concat(mesh:tolist(), ', '))
  end
  local self = DeviceMesh.__new(DeviceMesh)
  set_up(self, p.device_type, mesh, p.mesh_dim_names, function() return {unpack(list)} end)
  return self
end

function DeviceMesh:__tostring()
  local sizes, strides = {}, {}
  for i, dim in ipairs(self._dims) do
    local name = self.mesh_dim_names and self.mesh_dim_names[i]
    sizes[i], strides[i] = ('%s%d'):format(name and name .. '=' or '', self.shape[i]), stride_text(dim)
  end
  return ("DeviceMesh(%s, '%s', stride=%s)"):format(
    self.mesh_dim_names and ('(%s)'):format(table.concat(sizes, ', ')) or tuple(sizes), self.device_type, tuple(strides))
end

function DeviceMesh.__eq(a, b)
  return tostring(a) == tostring(b) and table.concat(root_of(a)._ranks, ' ') == table.concat(root_of(b)._ranks, ' ')
end

local device_mesh = {DeviceMesh = DeviceMesh}

---Makes a mesh of the ranks 0, 1, … of that shape. Arguments: device_type ('cpu' or 'cuda'), mesh_shape (integer[]; as
---many ranks as there are, or fewer), mesh_dim_names (a name for each dimension), backend_override (refused). All ranks
---call it. Returns the DeviceMesh.
---
---Groups are made in the same order on every rank; a dimension of all ranks has the group of all ranks.
---Errors: 'argument' for more ranks than there are, repeated names, and a device_type with an index.
---PyTorch equivalent: torch.distributed.init_device_mesh.
---
---```lua
---local dist = require 'torch.distributed'
---local mesh = dist.init_device_mesh('cpu', {1, 1}, {mesh_dim_names = {'replicate', 'shard'}})
---assert(mesh.ndim == 2 and mesh:size() == 1 and mesh['shard']:get_group() == dist.group.WORLD)
---assert(mesh:get_coordinate()[1] == 0 and mesh[{'replicate', 'shard'}] == mesh)
---dist.destroy_process_group()
---```
args.definer(device_mesh)('init_device_mesh', {'device_type', 'mesh_shape', {'mesh_dim_names'}, {'backend_override'}},
  function(p)
    refuse_backends('init_device_mesh', p.backend_override)
    check_device_type('init_device_mesh', p.device_type)
    if type(p.mesh_shape) ~= 'table' or #p.mesh_shape == 0 then
      errors.raise('argument', 'init_device_mesh: mesh_shape: expected a list of sizes, {2, 4}')
    end
    local count = 1
    for _, size in ipairs(p.mesh_shape) do
      if type(size) ~= 'number' or size % 1 ~= 0 or size < 1 then
        errors.raise('argument', ('init_device_mesh: mesh_shape: a size is an integer above 0, not %s'):format(tostring(size)))
      end
      count = count * size
    end
    return DeviceMesh(p.device_type, torch.arange(count):view(p.mesh_shape), {mesh_dim_names = p.mesh_dim_names})
  end)

return require 'base.namespace'('torch.distributed.device_mesh', {}, device_mesh)
