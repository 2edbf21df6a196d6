-- Blocks: rows in columns.
local lu = require 'luaunit'
local torch = require 'torch'
local Block = require 'rtrain.data.block'
local Objects = require 'rtrain.data.objects'
local Strings = require 'torch.utils.data.strings'

local message_of = require('refusal').message_of

local function sample()
  return Block({'id', 'name', 'point', 'any'}, {
    torch.arange(4), Strings.from_list({'a', 'bc', nil, ''}, 4), torch.arange(8, {dtype = 'float32'}):view{4, 2},
    Objects({{1}, nil, {2, 3}, {}}, 4)})
end

TestBlock = {}

function TestBlock:test_rows_have_plain_values()
  local row = sample():row(1)
  lu.assertEquals({row.id, row.name, row.point:tolist(), row.any}, {1, 'bc', {2, 3}, nil})
  lu.assertNil(sample():row(2).name)
  local rows = sample():rows()
  lu.assertEquals(#rows, 4)
  lu.assertEquals(rows[4].name, '')
  lu.assertEquals(rows[3].any, {2, 3})
  lu.assertStrContains(message_of(sample().row, sample(), 4), 'row 4 is not one of 0 … 3')
end

function TestBlock:test_narrow_and_take()
  local part = sample():narrow(1, 2)
  lu.assertEquals(part:num_rows(), 2)
  lu.assertEquals(part:row(0).name, 'bc')
  lu.assertEquals(part:column('point'):tolist(), {{2, 3}, {4, 5}})
  lu.assertEquals(part:row(1).any, {2, 3})
  local taken = part:take(torch.tensor({1, 0, 1}, {dtype = 'int64'}))
  lu.assertEquals(taken:column('id'):tolist(), {2, 1, 2})
  lu.assertEquals({taken:row(0).name, taken:row(1).name}, {nil, 'bc'})
  lu.assertStrContains(message_of(part.narrow, part, 1, 2), 'rows 1 … 2 of a block of 2 rows')
  lu.assertStrContains(message_of(part.take, part, torch.tensor({2}, {dtype = 'int64'})), 'not one of 0 … 1')
end

function TestBlock:test_columns()
  local block = sample():select{'name', 'id'}
  lu.assertEquals(block:names(), {'name', 'id'})
  lu.assertEquals(block:with('id', torch.zeros(4)):names(), {'name', 'id'})
  lu.assertEquals(block:with('new', torch.zeros(4)):names(), {'name', 'id', 'new'})
  lu.assertEquals(sample():drop{'name', 'any'}:names(), {'id', 'point'})
  lu.assertStrContains(message_of(block.column, block, 'nam'), "did you mean 'name'?")
  lu.assertStrContains(message_of(block.with, block, 'x', torch.zeros(3)), "'x' has 3 rows, others have 4")
  lu.assertEquals(sample():drop{'id', 'name', 'point', 'any'}:num_rows(), 4)
end

function TestBlock:test_concat()
  local whole = sample()
  local joined = Block.concat{whole:narrow(2, 2), whole:narrow(0, 2)}
  lu.assertEquals(joined:column('id'):tolist(), {2, 3, 0, 1})
  lu.assertEquals(joined:column('name'):values(), {nil, '', 'a', 'bc'})
  lu.assertEquals(joined:row(2).any, {1})
  lu.assertStrContains(message_of(Block.concat, {whole, whole:drop{'id'}}), 'different columns')
  -- Tensors of different sizes stay apart.
  local small, large = Block({'x'}, {torch.ones{1, 2}}), Block({'x'}, {torch.ones{1, 3}})
  lu.assertEquals(Block.concat{small, large}:row(1).x:size(), {3})
end

function TestBlock:test_rows_become_columns()
  local block = Block.from_rows{{a = 1, b = 'x', c = true}, {a = 2.5, b = 'y', c = false}}
  lu.assertEquals(block:names(), {'a', 'b', 'c'})
  lu.assertEquals(block:column('a').dtype, 'float32')
  lu.assertEquals(block:column('c').dtype, 'bool')
  lu.assertEquals(block:column('b'):values(), {'x', 'y'})
  lu.assertEquals(Block.from_rows{{n = 3LL}, {n = 4LL}}:column('n').dtype, 'int64')
  local whole = Block.from_rows({{n = 1, x = 1}, {n = 2, x = 0.5}}, nil, {default_dtype = 'number'})
  lu.assertEquals({whole:column('n').dtype, whole:column('x').dtype}, {'int64', 'float64'})
end

function TestBlock:test_rows_keep_the_dtypes_they_came_from()
  local like = Block({'small', 'point'}, {torch.ones({2}, {dtype = 'uint8'}), torch.ones{2, 3}})
  local rows = like:rows()
  rows[1].small, rows[1].extra = 7, 1
  rows[2].extra = 2
  local block = Block.from_rows(rows, like)
  lu.assertEquals(block:names(), {'small', 'point', 'extra'})
  lu.assertEquals(block:column('small').dtype, 'uint8')
  lu.assertEquals(block:column('extra').dtype, 'float32')
  rows[2].small = 0.5
  local message = message_of(Block.from_rows, rows, like)
  lu.assertStrContains(message, "column 'small' holds uint8, and row 1 gives 0.5")
  lu.assertEquals(Block.from_rows(rows, like, {dtypes = {small = 'float64'}}):column('small').dtype, 'float64')
  rows[2].small = 300
  lu.assertStrContains(message_of(Block.from_rows, rows, like), "column 'small': tensor: 300 does not fit the dtype uint8")
  rows[2].small = nil
  lu.assertStrContains(message_of(Block.from_rows, rows, like), 'row 1 has no value')
end

function TestBlock:test_absent_values_are_null()
  local block = Block.from_rows{{a = 1, s = 'x'}, {}, {a = 3, s = torch.none}}
  lu.assertEquals(tostring(block:row(1).a), tostring(0 / 0))
  lu.assertEquals(block:column('s'):values(), {'x', nil, nil})
  lu.assertEquals(block:to_batch().s, {'x', torch.none, torch.none})
end

function TestBlock:test_rows_of_other_kinds_are_refused()
  lu.assertStrContains(message_of(Block.from_rows, {{a = 1}, 5}), 'row 1 is a number')
  lu.assertStrContains(message_of(Block.from_rows, {{a = print}}), "column 'a': a function cannot be a value")
  lu.assertStrContains(message_of(Block.from_rows, {{5}}), 'a column is named by a string, got number 1')
end

function TestBlock:test_tensors_are_stacked_or_stay_apart()
  local block = Block.from_rows{{x = torch.ones(2), y = torch.ones(1)}, {x = torch.zeros(2), y = torch.ones(2)}}
  lu.assertEquals(block:column('x'):size(), {2, 2})
  lu.assertEquals(block:schema()[2].type, 'object')
  local scalars = Block.from_rows{{x = torch.tensor(3, {dtype = 'int32'})}}
  lu.assertEquals(scalars:column('x').dtype, 'int32')
end

function TestBlock:test_batches()
  local block = Block.from_batch({b = torch.ones{2, 2}, a = {'x', 'y'}, n = {1, 2}}, nil)
  lu.assertEquals(block:names(), {'a', 'b', 'n'})
  lu.assertEquals(block:num_rows(), 2)
  local batch = sample():to_batch()
  lu.assertEquals(batch.id:tolist(), {0, 1, 2, 3})
  lu.assertEquals(Block.from_batch(batch, sample()):names(), sample():names())
  lu.assertStrContains(message_of(Block.from_batch, {a = torch.ones(2), b = {1}}), 'has 1 rows, others have 2')
  lu.assertStrContains(message_of(Block.from_batch, {a = 5}), "column 'a' is a number")
end

function TestBlock:test_pack_and_unpack()
  local back = Block.unpack(sample():narrow(1, 3):pack())
  lu.assertEquals(back:names(), sample():names())
  for i = 0, 2 do
    local row, want = back:row(i), sample():row(i + 1)
    lu.assertEquals({row.id, row.name or '-', row.point:tolist(), row.any or '-'},
      {want.id, want.name or '-', want.point:tolist(), want.any or '-'})
  end
end

function TestBlock:test_sizes()
  local block = Block({'x'}, {torch.zeros({100}, {dtype = 'float64'})})
  lu.assertEquals(block:size_bytes(), 800)
  lu.assertEquals(block:narrow(0, 50):size_bytes(), 400)
  local words = Strings.from_list({('x'):rep(1000), 'y'}, 2)
  lu.assertTrue(words:narrow(1, 1):size_bytes() < 100)
end

function TestBlock:test_empty_blocks()
  local block = sample():narrow(0, 0)
  lu.assertEquals(block:rows(), {})
  lu.assertEquals(Block.concat{block, sample()}:num_rows(), 4)
  lu.assertEquals(Block.from_rows({}, sample()):names(), sample():names())
  lu.assertEquals(block:take(torch.empty({0}, {dtype = 'int64'})):num_rows(), 0)
end

os.exit(lu.LuaUnit.run(), true)
