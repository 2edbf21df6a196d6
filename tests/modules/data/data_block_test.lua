-- Blocks: rows in columns.
local lu = require 'luaunit'
local torch = require 'torch'
local Block = require 'rtrain.data.blocks.block'
local column = require 'rtrain.data.columns.column'
local Masked = require 'rtrain.data.columns.masked'
local Objects = require 'rtrain.data.columns.objects'
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

function TestBlock:test_copied_rows_are_of_no_other_block()
  local whole = sample()
  local turned = Block({'t', 'none'}, {torch.arange(8):view{2, 4}:t(), torch.zeros(4, 0)})
  local part, other = whole:copied_rows(1, 2), turned:copied_rows(2, 2)
  lu.assertEquals({part:row(0).name, part:row(1).any}, {'bc', {2, 3}})
  lu.assertEquals(part:column('point'):tolist(), {{2, 3}, {4, 5}})
  lu.assertEquals(other:column('t'):tolist(), {{2, 6}, {3, 7}})
  lu.assertEquals(other:column('none'):size(), {2, 0})
  lu.assertEquals({part:owns 'id', part:owns 'name', whole:owns 'id'}, {true, false, false})
  local batch = part:to_batch{copies = true}
  batch.id:zero_()
  batch.point:zero_()
  lu.assertEquals(whole:column('id'):tolist(), {0, 1, 2, 3})
  lu.assertEquals(whole:row(1).point:tolist(), {2, 3})
  lu.assertTrue(Block.concat{part, whole:copied_rows(0, 1)}:owns 'id')
  lu.assertFalse(Block.concat{part, whole:narrow(0, 1)}:owns 'id')
  lu.assertEquals(whole:copied_rows(4, 0):num_rows(), 0)
  lu.assertStrContains(message_of(part.copied_rows, part, 1, 2), 'rows 1 … 2 of a block of 2 rows')
  lu.assertStrContains(message_of(require('torch._C').data.copy_rows, {torch.arange(4)}, 3, 2), 'start (3) + length (2)')
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
  -- Tensors of different sizes are not concatenated.
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
  local small = Block.from_rows(rows, like):column 'small'
  lu.assertEquals({column.type_of(small), column.values(small)}, {'uint8', {7, nil}})
end

function TestBlock:test_absent_values_are_null()
  local block = Block.from_rows{{a = 1, s = 'x'}, {}, {a = 3, s = torch.none}}
  lu.assertEquals(tostring(block:row(1).a), tostring(0 / 0))
  lu.assertEquals(block:column('s'):values(), {'x', nil, nil})
  lu.assertEquals(block:to_batch().s, {'x', torch.none, torch.none})
end

local function described(of) return {column.type_of(of), column.values(of)} end

function TestBlock:test_integers_and_booleans_keep_their_type_with_null()
  local large = 9007199254740993LL
  local block = Block.from_rows({{a = 1, b = true, c = large, d = 0.5}, {}, {a = 3, b = false, c = 1LL, d = 1}}, nil,
    {default_dtype = 'number'})
  lu.assertEquals(described(block:column 'a'), {'int64', {1, nil, 3}})
  lu.assertEquals(described(block:column 'b'), {'bool', {true, nil, false}})
  lu.assertEquals(described(block:column 'c'), {'int64', {large, nil, 1}})
  lu.assertEquals(block:column('d').dtype, 'float64')
  lu.assertEquals(Block.from_rows{{c = large}, {}}:column('c').data.dtype, 'int64')
  lu.assertEquals(described(Block.from_rows{{c = large}, {c = 5}}:column 'c'), {'int64', {large, 5}})
  lu.assertEquals(Block.from_rows{{c = large}, {c = 0.5}}:column('c').dtype, 'float32')
  local again = Block.from_rows(block:rows(), block)
  for _, name in ipairs{'a', 'b', 'c'} do
    lu.assertEquals(described(again:column(name)), described(block:column(name)))
    lu.assertEquals(described(Block.from_batch(block:to_batch(), block):column(name)), described(block:column(name)))
    lu.assertEquals(described(Block.unpack(block:pack()):column(name)), described(block:column(name)))
  end
  lu.assertEquals(block:narrow(0, 1):to_batch().a:tolist(), {1})
  lu.assertEquals(block:to_batch().a, {1, torch.none, 3})
  lu.assertEquals(block:to_batch{nan = true}.a:isnan():tolist(), {false, true, false})
  local wide = Block.from_rows(block:rows(), block, {dtypes = {a = 'float', b = 'int8'}})
  lu.assertEquals(wide:column('a'):isnan():tolist(), {false, true, false})
  lu.assertEquals(described(wide:column 'b'), {'int8', {1, nil, 0}})
end

function TestBlock:test_a_copy_of_a_column_with_null_is_its_own()
  local block = Block({'a'}, {Masked.of(torch.arange(2))})
  block:copy():to_batch().a:add_(5)
  lu.assertEquals(block:column('a'):values(), {0, 1})
end

function TestBlock:test_a_column_without_a_value_joins_others()
  local function of(values, count) return Block({'x'}, {Objects(values, count)}) end
  local function joined(other)
    local first = Block.concat{of({}, 2), Block({'x'}, {other})}:column 'x'
    local last = Block.concat{Block({'x'}, {other}), of({}, 2)}:column 'x'
    lu.assertEquals({column.type_of(first), column.len(first)}, {column.type_of(last), column.len(last)})
    return described(first)
  end
  lu.assertEquals(joined(torch.tensor({3, 4}, {dtype = 'uint64'})), {'uint64', {nil, nil, 3, 4}})
  lu.assertEquals(joined(torch.tensor{true}), {'bool', {nil, nil, true}})
  lu.assertEquals(joined(Masked.nulls(1, 'int8')), {'int8', {nil, nil, nil}})
  lu.assertEquals(joined(Strings.from_list{'a'}), {'string', {nil, nil, 'a'}})
  lu.assertEquals(joined(Objects({{1}}, 1)), {'object', {nil, nil, {1}}})
  local floats = Block.concat{of({}, 1), Block({'x'}, {torch.tensor{0.5}}), Block({'x'}, {Masked.nulls(1, 'int8')})}:column 'x'
  lu.assertEquals({floats.dtype, floats:isnan():tolist()}, {'float32', {true, false, true}})
  lu.assertEquals(Block.concat{of({}, 1), of({}, 1)}:column('x'):is_null(), true)
end

function TestBlock:test_blocks_of_several_dtypes_join_without_rounding()
  local function joined(...)
    local blocks = {}
    for i, of in ipairs{...} do blocks[i] = Block({'x'}, {of}) end
    return described(Block.concat(blocks):column 'x')
  end
  local function of(dtype, ...) return torch.tensor({...}, {dtype = dtype}) end
  local large = 9007199254740993LL
  lu.assertEquals(joined(of('int32', 7), of('int64', large)), {'int64', {7, large}})
  lu.assertEquals(joined(of('uint64', 7), of('int64', -1)), {'int64', {7, -1}})
  lu.assertEquals(joined(of('uint16', 7), of('uint32', 8), of('bool', true)), {'int64', {7, 8, 1}})
  lu.assertEquals(joined(of('int64', 2 ^ 60), of('float64', 0.5)), {'float64', {2 ^ 60, 0.5}})
  lu.assertEquals(joined(torch.ones({1, 2}, {dtype = 'int64'}), torch.ones(1, 2))[1], 'tensor<float32>[2]')
  local said = "column 'x' is int64 in some blocks and of other dtypes in others, and 9007199254740993 has no exact float64"
  lu.assertStrContains(message_of(joined, of('float64', 0.5), of('int64', 1, large)), said)
  lu.assertStrContains(message_of(joined, of('float64', 0.5), Masked.of(of('int64', 1, large))), said)
  lu.assertStrContains(message_of(joined, of('float32', 0.5), of('int32', 16777217)), '16777217 has no exact float32')
  lu.assertStrContains(message_of(joined, of('int64', 1), of('uint64', 18446744073709551615ULL)),
    "column 'x' is uint64 in some blocks and of other dtypes in others, and 18446744073709551615 has no exact int64")
end

-- A column without any value does not appear in rows.
function TestBlock:test_a_column_without_a_value_stays_where_its_rows_do()
  local empty = {Masked.nulls(2, 'int64'), Strings.from_list({}, 2)}
  local like = Block({'a', 'x', 's', 'b'}, {torch.arange(2), empty[1], empty[2], torch.arange(2)})
  local rows = like:rows()
  lu.assertEquals(Block.from_rows(rows, like, {keeps = true}):schema(), like:schema())
  lu.assertEquals(Block.from_rows(rows, like):names(), {'a', 'b'})
  lu.assertEquals(Block.from_rows(rows, like, {dtypes = {x = 'int16'}}):schema()[2], {name = 'x', type = 'int16'})
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
