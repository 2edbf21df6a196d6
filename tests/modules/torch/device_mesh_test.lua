-- Device meshes of one rank; tests/e2e/training/test_device_mesh.py has several.
local lu = require 'luaunit'
local dist = require 'torch.distributed'
local torch = require 'torch'

TestDeviceMesh = {}

function TestDeviceMesh:setUp() dist.init_process_group('gloo', {rank = 0, world_size = 1}) end

function TestDeviceMesh:tearDown() dist.destroy_process_group() end

local NAMES = {mesh_dim_names = {'replicate', 'shard'}}

function TestDeviceMesh:test_what_it_says_of_itself()
  local mesh = dist.init_device_mesh('cpu', {1, 1}, NAMES)
  lu.assertEquals({mesh.device_type, mesh.ndim, mesh:size(), mesh:size(0), mesh:size 'shard'}, {'cpu', 2, 1, 1, 1})
  lu.assertEquals({mesh.shape[1], mesh.shape[2]}, {1, 1})
  lu.assertEquals({mesh.mesh.dtype, mesh.mesh:tolist()}, {'int32', {{0}}})
  lu.assertEquals(mesh.mesh_dim_names, {'replicate', 'shard'})
  lu.assertEquals({mesh:get_rank(), mesh:get_coordinate(), mesh:get_local_rank(-1)}, {0, {0, 0}, 0})
  lu.assertEquals(#mesh:get_all_groups(), 2)
  lu.assertEquals(tostring(mesh), "DeviceMesh((replicate=1, shard=1), 'cpu', stride=(1, 1))")
  lu.assertEquals(tostring(dist.init_device_mesh('cpu', {1})), "DeviceMesh((1,), 'cpu', stride=(1,))")
  lu.assertNil(dist.init_device_mesh('cpu', {1}).mesh_dim_names)
  lu.assertTrue(require('base.class').is(mesh, dist.device_mesh.DeviceMesh))
end

function TestDeviceMesh:test_a_dimension_of_all_ranks_has_the_group_of_all_ranks()
  local mesh = dist.init_device_mesh('cpu', {1, 1}, NAMES)
  for _, group in ipairs(mesh:get_all_groups()) do lu.assertTrue(group == dist.group.WORLD) end
end

function TestDeviceMesh:test_parts_by_name()
  local mesh = dist.init_device_mesh('cpu', {1, 1}, NAMES)
  lu.assertEquals({mesh.shard.ndim, mesh.shard.mesh:tolist(), mesh['shard']:get_local_rank()}, {1, {0}, 0})
  lu.assertTrue(mesh[{'replicate', 'shard'}] == mesh and mesh.shard == mesh[{'shard'}])
  lu.assertFalse(mesh.shard == mesh.replicate)
  local flat = mesh:_flatten()
  lu.assertTrue(mesh:_flatten() == flat and mesh.replicate_shard == flat and mesh.shard:_flatten() == mesh.shard)
  lu.assertTrue(mesh:get_group 'replicate_shard' == flat:get_group())
end

function TestDeviceMesh:test_meshes_of_tensors_and_groups()
  local mesh = dist.DeviceMesh('cpu', torch.tensor{{0}}, NAMES)
  lu.assertTrue(mesh == dist.init_device_mesh('cpu', {1, 1}, NAMES))
  lu.assertFalse(mesh == dist.init_device_mesh('cpu', {1, 1}))
  lu.assertFalse(mesh == dist.init_device_mesh('cuda', {1, 1}, NAMES))
  local group = dist.new_group{0}
  local made = dist.DeviceMesh.from_group({group, dist.group.WORLD}, 'cpu', {{0}}, NAMES)
  lu.assertTrue(made == mesh and made:get_group(0) == group)
  lu.assertEquals(dist.DeviceMesh.from_group(group, 'cpu').mesh:tolist(), {0})
end

function TestDeviceMesh:test_wrong_arguments()
  local init, from_group = dist.init_device_mesh, dist.DeviceMesh.from_group
  local function refused(text, fn, ...) lu.assertErrorMsgContains(text, fn, ...) end
  refused('a mesh of 8 ranks is larger than the world of 1', init, 'cpu', {2, 4})
  refused('mesh_shape: expected a list of sizes', init, 'cpu', 4)
  refused('a size is an integer above 0, not 0', init, 'cpu', {1, 0})
  refused("device_type 'cuda:0': give the type without the index: 'cuda'", init, 'cuda:0', {1})
  refused("device_type cannot be 'cpus': did you mean 'cpu'?", init, 'cpus', {1})
  refused('expected a list of 2 names, one for each dimension, got 1', init, 'cpu', {1, 1}, {mesh_dim_names = {'a'}})
  refused("'a' is given twice", init, 'cpu', {1, 1}, {mesh_dim_names = {'a', 'a'}})
  refused("'size' is a name of DeviceMesh itself", init, 'cpu', {1}, {mesh_dim_names = {'size'}})
  refused('backend_override is not in this version', init, 'cpu', {1}, {backend_override = {}, mesh_dim_names = {'a'}})
  refused('there is no rank 1 in a world of 1', dist.DeviceMesh, 'cpu', {1})
  refused('ranks are integers', dist.DeviceMesh, 'cpu', {0.5})
  refused('expected a process group', from_group, 3, 'cpu')
  refused('several groups need mesh and mesh_dim_names', from_group, {dist.group.WORLD, dist.group.WORLD}, 'cpu')
  refused('a mesh of 2 dimensions for 1 groups', from_group, dist.group.WORLD, 'cpu', {{0}})
  refused('the group has the ranks 0, the mesh 1', from_group, dist.group.WORLD, 'cpu', {1})
end

function TestDeviceMesh:test_wrong_dimensions()
  local mesh = dist.init_device_mesh('cpu', {1, 1}, NAMES)
  local function refused(text, fn) lu.assertErrorMsgContains(text, fn) end
  refused("no dimension 'shards' (they are replicate, shard): did you mean 'shard'?", function() return mesh.shards end)
  refused('they are replicate, shard', function() return mesh[{'shard', 'data'}] end)
  refused("'shard', 'replicate' are not in the order of the mesh", function() return mesh[{'shard', 'replicate'}] end)
  refused("'shard', 'shard' overlap", function() return mesh[{'shard', 'shard'}] end)
  refused("there is no dimension 'shard'", function() return mesh.replicate.shard end)
  refused('it has no mesh_dim_names', function() return dist.init_device_mesh('cpu', {1}).shard end)
  refused("there is no dimension 'get_groups' (they are replicate, shard): did you mean 'get_group'?", function()
    mesh:get_groups()
  end)
  refused('get_group: the mesh has 2 dimensions: say which one', function() return mesh:get_group() end)
  refused('get_group: there is no dimension 2 in a mesh of 2 (they count from 0)', function() return mesh:get_group(2) end)
  refused("did you mean 'shard'?", function() return mesh:get_local_rank 'shar' end)
  refused("'shard' is a dimension already", function() return mesh:_flatten 'shard' end)
end

function TestDeviceMesh:test_a_process_without_a_group_forms_it()
  dist.destroy_process_group()
  local mesh = dist.init_device_mesh('cpu', {1}, {mesh_dim_names = {'data'}})
  lu.assertEquals(dist.all_reduce(torch.tensor{3}, {group = mesh:get_group()}):item(), 3)
end

os.exit(lu.LuaUnit.run(), true)
