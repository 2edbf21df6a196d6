-- torch.distributed.checkpoint in one process: what a checkpoint holds, and what it refuses.

local ffi = require 'ffi'
local json = require 'json'
local lu = require 'luaunit'
local message_of = require('refusal').message_of
local ordered = require 'base.ordered'
local read_file = require 'base.read_file'
local system = require 'base._system'
local torch = require 'torch'

local dcp = torch.distributed.checkpoint
local state_dict = dcp.state_dict

local folder

local function save(state) dcp.save(state, {checkpoint_id = folder}) end
local function load(state)
  dcp.load(state, {checkpoint_id = folder})
  return state
end

-- Returns the message of a load that must fail.
local function refused(state)
  local text, err = message_of(load, state)
  lu.assertEquals(err.code, 'checkpoint')
  return text
end

local function index() return json.decode(read_file(folder .. '/shards.json')) end

local function change_index(fn)
  local content = index()
  fn(content)
  system.write_file(folder .. '/shards.json', json.encode(content))
end

TestCheckpoint = {}

function TestCheckpoint.setUp() folder = system.make_temp 'dcp_' end
function TestCheckpoint.tearDown() system.remove_tree(folder) end

function TestCheckpoint.test_every_kind_of_tensor_comes_back_in_place()
  local base = torch.arange(24, {dtype = 'float32'}):view(4, 6)
  local given = {
    scalar = torch.tensor(2.5), empty = torch.zeros(0, 3), none_wide = torch.zeros(3, 0), turned = base:t(), rows = base[1],
    flags = torch.tensor{true, false}, half = torch.ones(3, {dtype = 'bfloat16'}),
    long = torch.full({1}, 2 ^ 40, {dtype = 'int64'}),
  }
  save{nested = {list = {given}}, plain = 1}
  local target, kept = {}, {}
  for name, tensor in next, given do target[name] = torch.zeros_like(tensor) end
  for name, tensor in next, target do kept[name] = tensor end
  load{nested = {list = {target}}, plain = 0}
  for name, tensor in next, given do
    lu.assertTrue(rawequal(target[name], kept[name]))
    lu.assertTrue(torch.equal(target[name], tensor), name)
  end
end

function TestCheckpoint.test_plain_values_come_back()
  local given = {number = 0.1, whole = 7, text = 'a "b"\n', flag = false, inf = math.huge, none = torch.none,
                 list = {1, 2.5, 'x'}, no_list = {}, int64 = ffi.new('int64_t', 2 ^ 60),
                 groups = {{lr = 0.1, betas = {0.9, 0.999}}, {lr = 0.2}}}
  save(given)
  local found = load{number = 0, whole = 0, text = '', flag = true, inf = 0, none = 0, list = {}, no_list = {}, int64 = 0,
                     groups = {{lr = 0, betas = {}}, {lr = 0}}}
  lu.assertEquals(found.groups, given.groups)
  for _, name in ipairs{'number', 'whole', 'text', 'flag', 'inf', 'int64'} do
    lu.assertEquals(found[name], given[name], name)
  end
  lu.assertTrue(rawequal(found.none, torch.none))
  lu.assertEquals({found.list[1], found.list[2], found.list[3]}, given.list)
  lu.assertEquals(next(found.no_list), nil)
end

function TestCheckpoint.test_the_index_says_where_each_tensor_lies()
  save{model = {['0.weight'] = torch.ones(3, 2)}, step = 7}
  local content = index()
  lu.assertEquals(content.tensors['model.0.weight'],
    {path = {'model', '0.weight'}, dtype = 'float32', shape = {3, 2}, parts = {{0, 0, 3}}})
  lu.assertEquals(content.values.step, {path = {'step'}, value = 7})
  local tensors, metadata = torch.load_safetensors(folder .. '/shards-00000-of-00001.safetensors', {metadata = true})
  lu.assertEquals(tensors['model.0.weight']:tolist(), {{1, 1}, {1, 1}, {1, 1}})
  lu.assertEquals(metadata.rtrain_part, '1 of 1')
end

function TestCheckpoint.test_tied_parameters_are_written_once()
  local weight = torch.ones(1000)
  save{a = weight, b = weight, c = weight:view(10, 100)}
  lu.assertEquals(ordered.keys(torch.load_safetensors(folder .. '/shards-00000-of-00001.safetensors')), {'a', 'c'})
  local found = load{a = torch.zeros(1000), b = torch.zeros(1000), c = torch.zeros(10, 100)}
  for _, name in ipairs{'a', 'b', 'c'} do lu.assertEquals(found[name]:sum():item(), 1000) end
end

function TestCheckpoint.test_what_async_save_writes_is_that_moment()
  local weight, rows = torch.ones(5), torch.arange(10):view(5, 2)
  local handle = dcp.async_save({weight = weight, rows = rows[2], turned = rows:t()}, {checkpoint_id = folder .. '/new'})
  weight:zero_()
  rows:zero_()
  handle:result()
  lu.assertTrue(handle:done())
  local options = {dtype = 'int64'}
  local state = {weight = torch.zeros(5), rows = torch.zeros(2, options), turned = torch.zeros(2, 5, options)}
  dcp.load(state, {checkpoint_id = folder .. '/new'})
  lu.assertEquals({state.weight:sum():item(), state.rows:tolist(), state.turned:sum():item()}, {5, {4, 5}, 45})
end

function TestCheckpoint.test_a_parameter_that_is_loaded_has_changed()
  save{weight = torch.ones(2)}
  local weight = torch.zeros(2)
  local version = weight._version
  load{weight = weight}
  lu.assertTrue(weight._version > version)
end

function TestCheckpoint.test_what_is_not_there_is_named()
  save{weight = torch.ones(2), step = 1}
  lu.assertStrContains(refused{weights = torch.ones(2)}, "has no tensor 'weights'")
  lu.assertStrContains(refused{epoch = 1}, "has no value 'epoch'")
  lu.assertStrContains(message_of(dcp.load, {}, {checkpoint_id = folder .. '/other'}), 'has no shards.json')
  load{step = 0}  -- what the state dict has not is left out
end

function TestCheckpoint.test_another_dtype_or_shape_is_refused_and_nothing_changed()
  save{a = torch.ones(2), b = torch.ones(3, 2)}
  local a = torch.zeros(2)
  lu.assertStrContains(refused{a = a, b = torch.zeros(3, 2, {dtype = 'float64'})}, "tensor 'b' of '" .. folder
    .. "' is float32 [3, 2]: it does not fit into float64 [3, 2]")
  lu.assertStrContains(refused{a = a, b = torch.zeros(2, 3)}, 'it does not fit into float32 [2, 3]')
  lu.assertEquals(a:sum():item(), 0)
end

function TestCheckpoint.test_damage_of_the_index_is_named()
  save{w = torch.ones(4, 2)}
  for text, fn in next, {
    ["tensor 'w': its rows 0 to 0 are missing"] = function(c) c.tensors.w.parts = {{0, 1, 3}} end,
    ["tensor 'w': its rows 3 to 3 are missing"] = function(c) c.tensors.w.parts = {{0, 0, 3}} end,
    ["tensor 'w': its row 2 is there twice"] = function(c) c.tensors.w.parts = {{0, 0, 3}, {0, 2, 2}} end,
    ["tensor 'w': its entry is damaged"] = function(c) c.tensors.w.parts = {{5, 0, 4}} end,
    ["version 9"] = function(c) c.version = 9 end,
    ["another kind of file"] = function(c) c.format = 'x' end,
    ["belongs to another save"] = function(c) c.save = 1 end,
    ["is float32 [4, 2], not float64 [4, 2] as shards.json says"] = function(c) c.tensors.w.dtype = 'float64' end,
  } do
    local before = read_file(folder .. '/shards.json')
    change_index(fn)
    local dtype = index().tensors.w.dtype
    lu.assertStrContains(refused{w = torch.ones(4, 2, {dtype = dtype})}, text)
    system.write_file(folder .. '/shards.json', before)
  end
end

function TestCheckpoint.test_values_that_are_not_data_are_refused()
  lu.assertStrContains(message_of(save, {model = torch.nn.Linear(1, 1)}), 'model is a Linear')
  lu.assertStrContains(message_of(save, {callback = print}), 'callback is a function')
  lu.assertStrContains(message_of(save, {['a.b'] = 1, a = {b = 2}}), "two values have the name 'a.b'")
  lu.assertStrContains(message_of(save, 5), 'expected a state dict')
  lu.assertStrContains(message_of(dcp.save, {}, {}), 'checkpoint_id: expected the path of a folder')
  lu.assertStrContains(message_of(dcp.save, {}, {checkpoint = folder}), "unknown option 'checkpoint'")
  lu.assertStrContains(message_of(function() return dcp.FileSystemWriter end), 'checkpoint_id')
end

TestStateDicts = {setUp = TestCheckpoint.setUp, tearDown = TestCheckpoint.tearDown}

local function trained(seed)
  torch.manual_seed(seed)
  local model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
  local groups = {{params = model[1]:parameters(), lr = 0.1}, {params = model[3]:parameters()}}
  return model, torch.optim.Adam(groups, {lr = 0.01})
end

local function step(model, optimizer)
  optimizer:zero_grad()
  model(torch.ones(2, 3) * torch.tensor{{1}, {2}}):pow(2):sum():backward()
  optimizer:step()
end

function TestStateDicts.test_an_optimizer_goes_on_by_names()
  local model, optimizer = trained(1)
  step(model, optimizer)
  save{state_dict.get_state_dict(model, optimizer)}
  step(model, optimizer)

  local other, new = trained(2)
  local state = {state_dict.get_state_dict(other, new)}
  lu.assertEquals(ordered.keys(state[2].state), {'0.weight', '0.bias', '2.weight', '2.bias'})
  load(state)
  state_dict.set_state_dict(other, new, {model_state_dict = state[1], optim_state_dict = state[2]})
  step(other, new)
  for name, param in model:named_parameters() do
    lu.assertTrue(torch.equal(param, other:get_parameter(name)), name)
  end
end

function TestStateDicts.test_the_step_that_makes_state_changes_nothing()
  local model, optimizer = trained(1)
  local before = model[1].weight:clone()
  state_dict.get_optimizer_state_dict(model, optimizer)
  lu.assertTrue(torch.equal(model[1].weight, before))
  lu.assertEquals({optimizer.param_groups[1].lr, optimizer.param_groups[2].lr}, {0.1, 0.01})
  lu.assertNil(model[1].weight.grad)
end

function TestStateDicts.test_a_new_optimizers_empty_state_is_refused()
  local model, optimizer = trained(1)
  step(model, optimizer)
  save{optimizer = optimizer:state_dict()}
  local _, new = trained(2)
  lu.assertStrContains(refused{optimizer = new:state_dict()}, "'optimizer.state' is empty")
end

function TestStateDicts.test_a_foreign_parameter_is_refused()
  local model, optimizer = trained(1)
  lu.assertStrContains(message_of(state_dict.get_optimizer_state_dict, trained(2), optimizer), "not one of the model's")
  lu.assertStrContains(message_of(state_dict.get_model_state_dict, 5), 'expected a module')
  lu.assertStrContains(message_of(state_dict.get_optimizer_state_dict, model, {1}), 'expected an optimizer')
end

TestExport = {setUp = TestCheckpoint.setUp, tearDown = TestCheckpoint.tearDown}

local function exported(part)
  local to_safetensors = require('rtrain.results.checkpoint_export').to_safetensors
  local files = {}
  for i, name in ipairs(system.list_folder(folder)) do files[i] = name end
  local output = os.tmpname()
  local written = to_safetensors{folder = folder, files = files, output = output, metadata = {a = 'b'}, part = part}
  local tensors = torch.load_safetensors(output)
  os.remove(output)
  return tensors, written
end

function TestExport.test_a_model_is_one_file()
  local model, optimizer = trained(1)
  local of_model, of_optimizer = state_dict.get_state_dict(model, optimizer)
  save{model = of_model, optimizer = of_optimizer, epoch = 3}
  local tensors, written = exported()
  lu.assertEquals({written.file, written.part, written.tensors}, {'shards.json', 'model', 7 + 2})
  for name, tensor in ordered.items(of_model) do lu.assertTrue(torch.equal(tensors[name], tensor), name) end
  local of_state = exported 'optimizer'
  lu.assertEquals(of_state['state.0.weight.exp_avg'].shape[1], 4)
end

function TestExport.test_tensors_that_share_memory_are_written_each()
  local x = torch.arange(6, {dtype = 'float32'}):view(2, 3)
  torch.save({model = {a = x, b = x:t(), c = x[1]}}, folder .. '/state.pt')
  local tensors = exported()
  lu.assertEquals({tensors.a:tolist(), tensors.b:tolist(), tensors.c:tolist()},
    {{{0, 1, 2}, {3, 4, 5}}, {{0, 3}, {1, 4}, {2, 5}}, {3, 4, 5}})
end

function TestExport.test_a_sparse_tensor_is_refused()
  torch.save({model = {a = torch.eye(3):to_sparse()}}, folder .. '/state.pt')
  lu.assertStrContains(message_of(exported), 'safetensors holds dense tensors only')
end

function TestExport.test_checkpoint_load_reads_all()
  save{model = {weight = torch.ones(2, 2)}, epoch = 3, lr = {0.1}}
  local state = require('rtrain').Checkpoint.from_directory(folder):load()
  lu.assertEquals({state.epoch, state.model.weight:sum():item(), state.lr[1]}, {3, 4, 0.1})
end

os.exit(lu.LuaUnit.run(), true)
