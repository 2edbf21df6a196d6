-- rtrain.doc: names, pages, their text, and the declarations for editors.
local lu = require 'luaunit'
local catalog = require 'rtrain.doc.catalog'
local descriptions = require 'rtrain.doc.descriptions'
local comment = require 'rtrain.doc.comment'
local doc = require 'rtrain.doc'
local layout = require 'rtrain.doc.layout'
local lookup = require 'rtrain.doc.lookup'
local members = require 'rtrain.doc.members'
local operator = require 'rtrain.doc.operator'
local page = require 'rtrain.doc.page'
local source = require 'rtrain.doc.source'
local torch = require 'torch'

local message_of = require('refusal').message_of

TestNames = {}

function TestNames:test_a_name_may_be_written_in_many_ways()
  for path, ways in next, {
    ['torch.nn.Linear'] = {'torch.nn.Linear', 'nn.Linear', 'Linear', 'nn.Linear()'},
    ['torch.Tensor.view'] = {'x:view', 'Tensor.view', 'torch.Tensor.view', 'Tensor:view', 'x.view', 'view'},
    ['torch.nn.functional.relu'] = {'F.relu', 'nn.functional.relu', 'torch.nn.functional.relu'},
    ['rtrain.report'] = {'train.report', 'ray.train.report', 'rtrain.report', 'report'},
    ['rtrain.ScalingConfig'] = {'ScalingConfig', 'train.ScalingConfig', 'ray.train.ScalingConfig'},
    ['torch.optim.AdamW'] = {'torch.optim.AdamW', 'optim.AdamW', 'AdamW'},
    ['torch.utils.data.DataLoader'] = {'DataLoader', 'data.DataLoader', 'torch.utils.data.DataLoader'},
    ['vision.transforms.Compose'] = {'Compose', 'transforms.Compose', 'torchvision.transforms.Compose'},
    ['vision.models.resnet18'] = {'resnet18', 'models.resnet18', 'vision.models.resnet18'},
    ['torch.nn.Module.state_dict'] = {'nn.Module.state_dict', 'nn.Module:state_dict', 'Module:state_dict'},
    ['torch.matmul'] = {'torch.matmul'}, ['torch.linalg.svd'] = {'torch.linalg.svd'},
    ['torch.Tensor.repeat_'] = {'x:repeat_'}, ['torch.Tensor.shape'] = {'x.shape'}, ['torch.float32'] = {'torch.float32'},
  } do
    for _, way in ipairs(ways) do lu.assertEquals(lookup(way).path, path, way) end
  end
end

function TestNames:test_methods_of_a_base_class()
  lu.assertEquals(doc.describe('nn.Linear.parameters').signatures, {'nn.Linear:parameters({recurse}) → torch.Tensor[]'})
end

function TestNames:test_fields()
  lu.assertEquals(doc.describe('nn.Linear.weight').text, {'(out_features, in_features)'})
  lu.assertEquals(doc.describe('nn.BatchNorm2d.running_mean').type, 'torch.Tensor|nil')
  lu.assertEquals(doc.describe('ScalingConfig.use_gpu').type, 'boolean')
end

function TestNames:test_unknown_names_get_the_nearest()
  for name, says in next, {
    ['nn.Liner'] = "torch.nn has no 'Liner': did you mean 'Linear'?",
    ['torch.matmal'] = "torch has no 'matmal': did you mean 'matmul'?",
    ['x:vew'] = "torch.Tensor has no 'vew': did you mean 'view'?",
    ['train.reprot'] = "rtrain has no 'reprot': did you mean 'report'?",
    ['ScalingConfg'] = "nothing is called 'ScalingConfg': did you mean 'ScalingConfig'?",
    ['nn.Module.parmeters'] = "torch.nn.Module has no 'parmeters': did you mean 'parameters'?",
    ['torch.linalg.sdv'] = "torch.linalg has no 'sdv': did you mean 'svd'?",
    ['F.rellu'] = "torch.nn.functional has no 'rellu': did you mean 'relu'?",
    ['zzzzzz.qqqqq'] = "nothing is called 'zzzzzz.qqqqq'",
  } do
    local text, err = message_of(doc.describe, name)
    lu.assertStrContains(text, says)
    lu.assertEquals(err.code, 'not_found')
  end
  lu.assertEquals(select(2, message_of(doc.describe, '..')).code, 'usage')
end

TestPages = {}

local function parameter(name, wanted)
  for _, param in ipairs(doc.describe(name).parameters) do
    if param.name == wanted then return param end
  end
end

function TestPages:test_signatures()
  for name, signatures in next, {
    ['nn.Linear'] = {'nn.Linear(in_features, out_features, {bias = true, device, dtype}) → nn.Linear'},
    ['torch.matmul'] = {'torch.matmul(input, other, {out}) → torch.Tensor', 'x:matmul(other) → torch.Tensor'},
    ['torch.float32'] = {"torch.float32 = 'float32'"}, ['torch.inf'] = {'torch.inf = inf'},
    ['x:matmul'] = {'x:matmul(other) → torch.Tensor'},
    ['torch.cumsum'] = {'torch.cumsum(input, dim, {dtype, out}) → torch.Tensor', 'x:cumsum(dim, {dtype}) → torch.Tensor'},
    ['x:where'] = {'x:where() → torch.Tensor[]', 'x:where(condition, other) → torch.Tensor'},
    ['torch.linalg.qr'] = {"torch.linalg.qr(A, mode = 'reduced', {out}) → Q, R"},
    ['torch.slice'] = {'torch.slice(start?, stop?, step?) → userdata'},  -- rtrain's own function, not the operator
    ['F.relu'] = {'F.relu(input, {inplace = false}) → torch.Tensor'},
    ['F.max_pool1d'] = {'F.max_pool1d(input, kernel_size, {stride, padding = 0, dilation = 1, ceil_mode = false, '
      .. 'return_indices = false}) → torch.Tensor'},
    ['x:to'] = {'x:to(target?, {dtype, device, copy, non_blocking, memory_format}) → torch.Tensor'},
    ['train.get_checkpoint'] = {'train.get_checkpoint() → checkpoint'},
    ['nn.ConvTranspose2d'] = {'nn.ConvTranspose2d(in_channels, out_channels, kernel_size, {stride = 1, padding = 0, '
      .. "output_padding = 0, groups = 1, bias = true, dilation = 1, padding_mode = 'zeros', device, dtype}) → "
      .. 'nn.ConvTranspose2d'},
  } do
    lu.assertEquals(torch.list{unpack(doc.describe(name).signatures)}, signatures, name)
  end
end

function TestPages:test_parameters_have_types_defaults_and_words()
  lu.assertEquals(parameter('nn.Conv2d', 'stride'), {name = 'stride', type = 'integer|integer[]', default = '1'})
  lu.assertStrContains(parameter('ScalingConfig', 'placement_strategy').text, 'one to each node in turn')
  lu.assertEquals(parameter('torch.zeros', 'requires_grad').default, 'false')
  lu.assertEquals(parameter('torch.mm', 'mat2').text, '(k, m)')
  lu.assertEquals(parameter('nn.BatchNorm2d', 'momentum').text, "false: cumulative mean, Python's None")
  lu.assertEquals(parameter('torch.max', 'other').type, 'torch.Tensor')
  lu.assertEquals(parameter('torch.add', 'other').type, 'torch.Tensor|number')
end

-- Every name that a module lists has a docstring; in-place functions have a note that refers to the others.
function TestPages:test_every_public_name_has_words()
  local missing = {}
  for _, module in ipairs(catalog.modules()) do
    for _, name in ipairs(catalog.names(module.value)) do
      local found = members.find(module, name)
      local silent = found.kind ~= 'module' and found.kind ~= 'value' and not found.entry
      if silent and not page.of(found).notes then missing[#missing + 1] = found.path end
    end
  end
  lu.assertEquals(missing, {})
end

-- The inputs of a layer are documented at its forward, or at the forward of a base class.
function TestPages:test_how_a_layer_is_called()
  local forward = doc.describe('nn.MultiheadAttention').forward
  lu.assertStrContains(forward.signature, 'forward(query, key, value')
  lu.assertStrContains(forward.parameters[1].text, 'N, E')
  lu.assertEquals(forward.returns[1].name, 'output')
  lu.assertNotNil(doc.describe('nn.LSTM').forward)
  lu.assertNil(doc.describe('nn.Linear').forward)
  lu.assertStrContains(layout.text(doc.describe 'nn.MultiheadAttention', 80), '\nCall\n  forward(query, key, value')
end

function TestPages:test_results()
  local returns = doc.describe('torch.topk').returns
  lu.assertEquals({returns[1].name, returns[2].name, returns[2].text}, {'values', 'indices', 'int64'})
end

function TestPages:test_modules_list_their_names()
  local names = {}
  for _, item in ipairs(doc.describe('torch.nn').names) do names[item.name] = item end
  lu.assertEquals(names.Linear.kind, 'class')
  lu.assertStrContains(names.Linear.text, 'W')
  lu.assertEquals(names.functional.kind, 'module')
  for _, module in ipairs(catalog.modules()) do
    for _, name in ipairs(catalog.names(module.value)) do lu.assertNotNil(members.find(module, name), name) end
  end
end

-- Every page can be shown, and is plain data.
function TestPages:test_every_page()
  local count = 0
  local function see(thing)
    local shown = page.of(thing)
    count = count + 1
    lu.assertTrue(#layout.text(shown, 80) > 0)
    for _, param in ipairs(shown.parameters) do
      lu.assertEquals({type(param.name), type(param.type)}, {'string', 'string'}, thing.path)
    end
  end
  for _, module in ipairs(catalog.modules()) do
    see(module)
    for _, name in ipairs(catalog.names(module.value)) do
      local found = members.find(module, name)
      see(found)
      for _, method in ipairs(found.kind == 'class' and found.value and members.methods(found) or {}) do see(method) end
    end
  end
  lu.assertTrue(count > 500)
end

TestOperators = {}

-- Operator → the first LibTorch version that has it.
local NEWER = {['linalg.matrix_sqrth'] = 2.14, ['linalg.polar'] = 2.14}
local LIBTORCH = tonumber(require('rtrain._host').env().libtorch.engine)

-- The docstrings in modules/torch/operators match the schemas of existing operators.
function TestOperators:test_descriptions_fit_the_schemas()
  local wrong, count = {}, 0
  for owner, prefix in next, {torch = '', Tensor = '', linalg = 'linalg_', fft = 'fft_', special = 'special_'} do
    for _, name in ipairs(descriptions.names(owner)) do
      local calls, known = operator.calls(prefix .. name), {}
      for _, call in ipairs(calls) do
        for _, param in ipairs(call.params) do known[param.name] = true end
      end
      count = count + 1
      local entry = descriptions.find(owner, name)
      local exists = owner == 'Tensor' and torch.zeros(1)[name] or owner == 'torch' and torch[name] or #calls > 0
      local is_expected = LIBTORCH >= (NEWER[owner .. '.' .. name] or 0)
      if not exists and is_expected then wrong[#wrong + 1] = owner .. '.' .. name .. ' does not exist' end
      local is_engine = owner == 'Tensor' or type(rawget(require 'torch._C', name)) == 'function'
      for _, param in ipairs(#calls > 0 and not is_engine and entry.doc.params or {}) do
        if not known[param.name] then wrong[#wrong + 1] = ('%s.%s has no %s'):format(owner, name, param.name) end
      end
    end
  end
  lu.assertEquals(wrong, {})
  lu.assertTrue(count >= 150, tostring(count))
end

-- Functions of torch._C for internal use: users have torch.autograd, torch.Generator, torch.cuda, vision.datasets.
local INTERNAL = {}
for name in ([[
  op op_names op_signatures op_overload tensor_members apply_function backward cuda_is_available detect_anomaly generator
  grad is_anomaly_enabled memory_stats read_idx reset_peak_memory_stats saved_tensors_hooks set_detect_anomaly step_boundary
  disable_saved_tensors_hooks unpack_generator unpack_storage unpack_tensor with_device
  async_save watch_losses take_losses num_steps set_row_products queue_callback current_graph_task_id
  after_backward before_backward]]):gmatch '%S+' do INTERNAL[name] = true end

function TestOperators:test_functions_of_the_engine_are_described()
  local missing = {}
  for name, value in next, require 'torch._C' do
    local public = type(value) == 'function' and not INTERNAL[name] and not name:match '^_'
    local lua = public and rawget(torch, name)
    local is_lua = type(lua) == 'function' and debug.getinfo(lua, 'S').what ~= 'C'
    if public and not is_lua and not descriptions.find('torch', name) then missing[#missing + 1] = name end
  end
  table.sort(missing)
  lu.assertEquals(missing, {})
end

function TestOperators:test_methods_and_attributes_of_the_engine_are_described()
  local methods, attributes = require('torch._C').tensor_members()
  local fields, missing = {}, {}
  for _, field in ipairs(lookup('torch.Tensor').entry.doc.fields) do fields[field.name] = true end
  for _, name in ipairs(methods) do
    local known = descriptions.find('Tensor', name) or descriptions.find('torch', name)
    if not known then missing[#missing + 1] = name end
  end
  for _, name in ipairs(attributes) do
    if not fields[name] and not name:match '^_' then missing[#missing + 1] = name end
  end
  lu.assertEquals(missing, {})
end

TestText = {}

local function width_of(line) return select(2, line:gsub('[^\128-\191]', '')) end

function TestText:test_lines_fit_the_width()
  for _, name in ipairs{'torch.max', 'nn.Conv2d', 'train.report', 'torch.nn', 'torch.Tensor', 'vision.models.ResNet'} do
    for _, width in ipairs{60, 80, 100} do
      local shown = doc.describe(name)
      shown.examples = {}
      for line in layout.text(shown, width):gmatch '[^\n]+' do lu.assertTrue(width_of(line) <= width, line) end
    end
  end
end

function TestText:test_a_page()
  lu.assertEquals(layout.text(doc.describe 'torch.mm', 80), [[
torch.mm(input, mat2, {out}) → torch.Tensor
torch.mm(input, mat2, out_dtype, {out}) → torch.Tensor
x:mm(mat2) → torch.Tensor
x:mm(mat2, out_dtype) → torch.Tensor
operator; require 'torch'

Computes the product of two matrices.

Parameters
  input      Tensor: (n, k)
  mat2       Tensor: (k, m)
  out        Tensor
  out_dtype  torch.dtype: of the result

Returns
  Tensor  (n, m)

Example
  local torch = require 'torch'
  assert(torch.mm(torch.ones(2, 3), torch.ones(3, 4))[0][0]:item() == 3)
]])
end

function TestText:test_colour_only_where_it_is_asked_for()
  local shown = doc.describe 'torch.mm'
  lu.assertNil(layout.text(shown, 80, false):find '\27')
  lu.assertStrContains(layout.text(shown, 80, true), '\27[1mParameters\27[0m')
end

-- Functions that a loop defines share one comment, which names them.
function TestPages:test_functions_of_one_comment()
  for _, name in ipairs{'F.lp_pool1d', 'F.lp_pool3d', 'F.adaptive_max_pool2d_with_indices'} do
    lu.assertTrue(#doc.describe(name).text > 0, name)
  end
  lu.assertStrContains(doc.describe('F.max_pool2d').text[1], 'The largest value of each window')
end

TestComments = {}

function TestComments:test_the_sentence_of_arguments()
  local notes, rest = require('rtrain.doc.arguments').take{
    "Sums. Arguments: x (N, C), {dim = 0 (which one), mask (L, S) or (N, L, S), "
    .. "mode = 'a' | 'b', size, a number or {h, w}, betas = {0.9, 0.99}}. Done; see y."}
  local said = {}
  for i, note in ipairs(notes) do said[i] = ('%s|%s|%s'):format(note.name, note.value or '', note.text) end
  lu.assertEquals(said, {'x||(N, C)', 'dim|0|which one', 'mask||(L, S) or (N, L, S)', "mode|'a'|'a' | 'b'",
    'size||', 'a||number or {h, w}', 'betas|{0.9, 0.99}|'})
  lu.assertEquals(rest, {'Sums. Done; see y.'})
  notes = require('rtrain.doc.arguments').take({'Arguments: size, a number or {h, w}.'}, {size = true})
  lu.assertEquals({#notes, notes[1].text}, {1, 'a number or {h, w}'})
end

function TestComments:test_types()
  for text, type in next, {
    ['integer the count'] = 'integer', ["'a'|'b' which"] = "'a'|'b'", ['fun(x: any, ...): string, integer rest'] =
      'fun(x: any, ...): string, integer', ['{a: integer, b?: string[]} rest'] = '{a: integer, b?: string[]}',
    ['table<string, torch.Tensor> map'] = 'table<string, torch.Tensor>', ['(string|table)[] x'] = '(string|table)[]',
    ['Checkpoint?'] = 'Checkpoint?', ['nil|fun(x: torch.Tensor): torch.Tensor'] = 'nil|fun(x: torch.Tensor): torch.Tensor',
  } do
    lu.assertEquals((comment.split_type(text)), type)
  end
end

function TestComments:test_every_tag_of_the_library_has_a_type()
  local wrong = {}
  for _, module in ipairs(source.modules()) do
    for _, entry in ipairs(source.entries(module)) do
      for _, list in ipairs{entry.doc.params, entry.doc.fields, entry.doc.returns} do
        for _, item in ipairs(list) do
          if item.type == 'any' and item.text:match '^[%a_][%w_.]*[|%[]' then
            wrong[#wrong + 1] = ('%s:%d: %s'):format(module, entry.line, item.name or '')
          end
        end
      end
      for _, overload in ipairs(entry.doc.overloads) do
        if not comment.members(overload) then wrong[#wrong + 1] = ('%s:%d: %s'):format(module, entry.line, overload) end
      end
    end
  end
  lu.assertEquals(wrong, {})
end

os.exit(lu.LuaUnit.run(), true)
