-- PORTING.md has an entry for every public name of Ray Train, and `rtrain doc` explains every rtrain name in it.

local lu = require 'luaunit'
local doc = require 'rtrain.doc'

local function read(path)
  local file = assert(io.open(path))
  local text = file:read '*a'
  file:close()
  return text
end

local PORTING = read '../../modules/rtrain/PORTING.md'
local WITHOUT_BLOCKS = PORTING:gsub('\n```.-\n```', '\n')

-- Returns the texts between backquotes.
local function spans_in(text)
  local spans = {}
  for span in text:gmatch '`([^`]+)`' do spans[#spans + 1] = span end
  return spans
end

local function has_word(text, word) return text:find('%f[%w_]' .. word .. '%f[^%w_]') ~= nil end

TestPorting = {}

function TestPorting:test_every_name_of_ray_train_is_there()
  local told = ' ' .. table.concat(spans_in(WITHOUT_BLOCKS), ' ') .. ' '
  local missing, count = {}, 0
  for line in read('ray_train_names.txt'):gmatch '[^\n]+' do
    if line:sub(1, 1) ~= '#' then
      count = count + 1
      if not has_word(told, line:match '[^.]+$') then missing[#missing + 1] = line end
    end
  end
  lu.assertTrue(count > 100)
  lu.assertEquals(missing, {})
end

-- First parts of rtrain's names, and names of objects in its scripts.
local KNOWN = {}
for name in ('train torch nn F optim data vision T require trainer result checkpoint shard dataset loader model net optimizer '
             .. 'scheduler scaler loss context x'):gmatch '%w+' do
  KNOWN[name] = true
end

local FILES = {lua = true, py = true, pt = true, png = true, csv = true}

-- Names that the page shows as refused, and names that its own scripts define.
local NOT_OURS = {}
for name in ([[train.reprot torch.linalg.inverse torch.from_numpy nn.LazyLinear torch.NAME x.T:matmul
               result.metrics.loss result.metrics.steps result.checkpoint.path model.module:load_state_dict
               model.module:state_dict loader.sampler:set_epoch torch.sparse.FloatTensor
               nn.attention.SDPBackend.MATH]]):gmatch '%S+' do
  NOT_OURS[name] = true
end

-- Returns the Lua code of the page: its blocks, and the second column of its tables.
local function lua_texts()
  local texts = {}
  for block in PORTING:gmatch '\n```lua\n(.-)\n```' do texts[#texts + 1] = block:gsub('%-%-[^\n]*', '') end
  for row in WITHOUT_BLOCKS:gmatch '\n|[^|\n]*|([^|\n]*)|' do
    for _, span in ipairs(spans_in(row)) do texts[#texts + 1] = span end
  end
  return texts
end

local function add_names(names, text)
  for name in text:gmatch '%f[%w_][%a_][%w_]*[.:][%w_.:]*[%w_]' do
    local is_file = name:match '%.%l+$' and FILES[name:match '%l+$']
    if KNOWN[name:match '^[%w_]+'] and not NOT_OURS[name] and not is_file and not name:find '__' then names[name] = true end
  end
end

-- Keyword arguments, variables and private names, which have no page.
local NO_NAMES = {}
for name in ([[TORCH_NCCL_ASYNC_ERROR_HANDLING include_paths file_extensions ignore_missing_paths fn_args fn_kwargs
               fn_constructor_args compute num_cpus concurrency workers local_shuffle_buffer_size src_key_padding_mask
               torch.cuda.memory._record_memory_history _dump_snapshot scaler True ray.train files
               self.a self.b]]):gmatch '%S+' do
  NO_NAMES[name] = true
end

-- Adds Python's names that rtrain shares: the rows that say 'the same'.
local function add_shared_names(names)
  for python, ours in WITHOUT_BLOCKS:gmatch '\n|([^|\n]*)|([^|\n]*)|' do
    for _, span in ipairs(ours:match 'the same' and spans_in(python) or {}) do
      for name in span:gsub('%b()', ' '):gsub('%b{}', ' '):gmatch '[%a_][%w_.]*' do
        if not NO_NAMES[name] then names[name] = true end
      end
    end
  end
end

local function explain(name)
  local ok, page = pcall(doc.describe, name)
  -- `data` can be one of two modules.
  if not ok and name:match '^data%.' then ok, page = pcall(doc.describe, 'rtrain.' .. name) end
  if not ok then ok, page = pcall(doc.describe, 'rtrain.data.Dataset.' .. name) end
  if not ok then return 'not found' end
  if #page.text + #page.signatures + #page.names + #page.fields == 0 then return 'an empty page' end
end

function TestPorting:test_doc_explains_every_name()
  local names, count, unknown = {}, 0, {}
  for _, text in ipairs(lua_texts()) do add_names(names, text) end
  add_shared_names(names)
  for name in pairs(names) do
    count = count + 1
    local problem = explain(name)
    if problem then unknown[#unknown + 1] = name .. ': ' .. problem end
  end
  table.sort(unknown)
  lu.assertTrue(count > 200, count .. ' names')
  lu.assertEquals(unknown, {})
end

function TestPorting:test_doc_explains_what_is_called_had_by_require_or_returned()
  local loop = doc.describe 'train.loop'
  lu.assertStrContains(loop.signatures[1], 'train.loop({model, training_step, optimizer, train_dataloader')
  lu.assertStrContains(loop.text[1], 'Trains a model')
  local fields = {}
  for _, param in ipairs(loop.parameters) do fields[param.name] = param.text end
  lu.assertStrContains(fields.max_epochs, 'ends the loop')
  lu.assertEquals(#loop.examples, 1)
  lu.assertEquals(loop.names[1].name, 'Callback')
  lu.assertEquals(doc.describe('base.class').name, 'base.class')
  lu.assertEquals(doc.describe('class.is').require, 'base.class')
  lu.assertEquals(doc.describe('train.CheckpointUploadMode.ASYNC').kind, 'field')
  lu.assertStrContains(doc.describe('train.state.save').signatures[1], 'TrainState:save(dir, {async})')
  lu.assertEquals(doc.describe('TrainContext').methods[1].name, 'get_world_size')
end

function TestPorting:test_doc_says_what_becomes_of_the_train_functions_result()
  for _, param in ipairs(doc.describe('train.TorchTrainer').parameters) do
    if param.name == 'train_loop_per_worker' then lu.assertStrContains(param.text, 'result.return_value') end
  end
end

function TestPorting:test_a_member_that_is_not_there_is_refused_in_order()
  for _, name in ipairs {'state.sav', 'list:slice', 'stack:insert', 'train.report.x'} do
    local ok, problem = pcall(doc.describe, name)
    lu.assertFalse(ok)
    lu.assertEquals(problem.code, 'not_found', name)
  end
end

os.exit(lu.LuaUnit.run(), true)
