-- base._arrow and its batches as tensors: values that a round trip preserves, and input that is refused.
local lu = require 'luaunit'
local arrow = require 'base._arrow'
local torch = require 'torch'

local data = require('torch._C').data

local path

local function write_text(text)
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
end

local function read_text(of)
  local file = io.open(of or path, 'rb')
  local text = file and file:read '*a'
  if file then file:close() end
  return text
end

local function strings(list, kind)
  local offsets, bytes = {0}, table.concat(list)
  for i, text in ipairs(list) do offsets[i + 1] = offsets[i] + #text end
  local numbers = #bytes > 0 and {bytes:byte(1, -1)} or {}
  return {kind = kind or 'strings', offsets = torch.tensor(offsets, {dtype = 'int64'}),
    bytes = torch.tensor(numbers, {dtype = 'uint8'})}
end

local function texts(column)
  local out, offsets, bytes = {}, column.offsets:tolist(), column.bytes:tolist()
  for i = 1, #offsets - 1 do
    local valid = not column.valid or column.valid[i - 1]:item()
    out[i] = valid and string.char(unpack(bytes, offsets[i] + 1, offsets[i + 1])) or false
  end
  return out
end

local function objects(n, values) return {kind = 'objects', values = values, n = n} end

-- Returns the columns of all batches after they were written as Parquet and read again.
local function through_parquet(names, columns, options)
  local writer = arrow.parquet_writer(path, options)
  writer:write(data.to_arrow(names, columns))
  writer:close()
  local reader = arrow.open_parquet(path)
  local found_names, found = data.from_arrow(reader:read(0):next())
  lu.assertEquals(found_names, names)
  return found, reader
end

local function first_error(fn, ...)
  local ok, err = pcall(fn, ...)
  lu.assertFalse(ok)
  return err.message, err
end

-- Returns the first error of a reader while all its batches are read.
local function reading_error(open, ...)
  return first_error(function(...)
    local cursor = open(...)
    for _ in function() return cursor:next() end do end
  end, ...)
end

local function rows(cursor)
  local out = {}
  for batch in function() return cursor:next() end do
    local names, columns = data.from_arrow(batch)
    for i, name in ipairs(names) do
      local column = columns[i]
      out[name] = out[name] or {}
      local values = type(column) == 'table' and texts(column) or column:tolist()
      for _, value in ipairs(values) do table.insert(out[name], value) end
    end
  end
  return out
end

TestColumns = {}
function TestColumns.setUp() path = os.tmpname() end
function TestColumns.tearDown() os.remove(path) end

function TestColumns.test_numbers_keep_their_dtype()
  local dtypes = {'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float16', 'float32',
    'float64', 'bool'}
  local columns = {}
  for i, dtype in ipairs(dtypes) do columns[i] = torch.tensor{1, 0, 1, 1}:to(dtype) end
  local found, reader = through_parquet(dtypes, columns)
  for i, dtype in ipairs(dtypes) do
    lu.assertEquals(found[i].dtype, dtype)
    lu.assertEquals(found[i]:to('float64'):tolist(), {1, 0, 1, 1})
    lu.assertEquals(reader:schema()[i], {name = dtype, type = dtype})
  end
end

function TestColumns.test_tensors_of_any_shape()
  local x = torch.arange(48, {dtype = 'float32'}):view(2, 3, 4, 2)
  local mask = x:to('int64'):remainder(3):eq(0)
  local found, reader = through_parquet({'x', 'turned', 'mask'}, {x, x:permute(0, 2, 1, 3), mask})
  lu.assertTrue(torch.equal(found[1], x))
  lu.assertTrue(torch.equal(found[2], x:permute(0, 2, 1, 3)))
  lu.assertTrue(torch.equal(found[3], mask))
  lu.assertEquals(reader:schema()[1].type, 'tensor<float32>[3,4,2]')
end

function TestColumns.test_strings_with_nulls()
  local list = {'a', '', 'häß', 'x'}
  local text, binary, image = strings(list), strings(list, 'binary'), strings(list, 'image')
  local valid = torch.tensor{true, true, false, true}
  text.valid, image.valid = valid, valid
  local found, reader = through_parquet({'text', 'binary', 'image'}, {text, binary, image})
  lu.assertEquals(texts(found[1]), {'a', '', false, 'x'})
  lu.assertEquals(texts(found[2]), list)
  lu.assertEquals(texts(found[3]), {'a', '', false, 'x'})
  lu.assertEquals({found[1].kind, found[2].kind, found[3].kind}, {'strings', 'binary', 'image'})
  lu.assertNil(found[2].valid)
  lu.assertEquals(reader:schema()[3].type, 'image')
end

function TestColumns.test_integers_and_booleans_with_null()
  local valid = torch.tensor {true, false, true}
  local given = {}
  for i, dtype in ipairs{'uint8', 'int64', 'uint64', 'bool'} do
    given[i] = {kind = 'masked', values = torch.tensor({1, 1, 0}, {dtype = dtype}), valid = valid}
  end
  local found, reader = through_parquet({'a', 'b', 'c', 'd'}, given)
  for i, column in ipairs(found) do
    lu.assertEquals({column.kind, column.values.dtype}, {'masked', given[i].values.dtype})
    lu.assertEquals({column.values:to('int64'):tolist(), column.valid:tolist()}, {{1, 0, 0}, {true, false, true}})
  end
  lu.assertEquals(reader:schema()[3].type, 'uint64')
  given = {kind = 'masked', values = torch.ones(2, 2), valid = valid}
  lu.assertStrContains(first_error(data.to_arrow, {'x'}, {given}), "'x': values: expected a tensor of one dimension")
  given = {kind = 'masked', values = torch.ones(2), valid = valid}
  lu.assertStrContains(first_error(data.to_arrow, {'x'}, {given}), "'x': valid has 3 rows, the column 2")
end

function TestColumns.test_values_of_lua()
  local found, reader = through_parquet({'list', 'table', 'mixed', 'flag', 'text', 'nothing', 'raw'}, {
    objects(3, {{1, 2}, nil, {}}),
    objects(3, {{b = 'x', a = {1.5}}, {a = {}}, {b = 'y', c = true}}),
    objects(3, {1, 2.5, nil}),
    objects(3, {true, nil, false}),
    objects(3, {'a', nil, 'ä'}),
    objects(3, {}),
    objects(3, {'\255', 'a', nil}),
  })
  lu.assertEquals(found[1].values, {{1, 2}, nil, {}})
  lu.assertEquals(found[2].values, {{b = 'x', a = {1.5}}, {a = {}}, {b = 'y', c = true}})
  lu.assertEquals(found[3].dtype, 'float64')
  lu.assertEquals(found[3]:isnan():tolist(), {false, false, true})
  lu.assertEquals({found[4].kind, found[4].values:tolist(), found[4].valid:tolist()},
    {'masked', {true, false, false}, {true, false, true}})
  lu.assertEquals(texts(found[5]), {'a', false, 'ä'})
  lu.assertEquals({found[6].n, found[6].values}, {3, {}})
  lu.assertEquals(texts(found[7]), {'\255', 'a', false})
  lu.assertEquals(reader:schema()[2].type, 'struct<a: list<float64>, b: string, c: bool>')
end

function TestColumns.test_int64_beyond_2_to_the_53()
  local big = torch.tensor({2LL ^ 62LL + 1LL, -1LL}, {dtype = 'int64'})
  local found = through_parquet({'big', 'list'}, {big, objects(2, {{9007199254740993LL}, {1}})})
  lu.assertTrue(torch.equal(found[1], big))
  lu.assertTrue(found[2].values[1][1] == 9007199254740993LL)
end

function TestColumns.test_no_rows()
  local found = through_parquet({'x', 's'}, {torch.zeros(3), strings{'a', 'b', 'c'}})
  lu.assertEquals(found[1]:numel(), 3)
  local writer = arrow.ipc_writer(path)
  writer:write(data.to_arrow({'x', 's', 'l'}, {torch.zeros(0), strings{}, objects(0, {})}))
  writer:close()
  local _, columns = data.from_arrow(arrow.open_ipc(path):next())
  lu.assertEquals({columns[1]:numel(), columns[2].offsets:tolist(), columns[3].n}, {0, {0}, 0})
end

function TestColumns.test_a_column_outlives_batch_reader_and_file()
  local writer = arrow.parquet_writer(path)
  writer:write(data.to_arrow({'x'}, {torch.arange(1000)}))
  writer:close()
  local before = arrow.bytes_allocated()
  local _, columns = data.from_arrow(arrow.open_parquet(path):read(0):next())
  local x = columns[1]
  columns = nil -- luacheck: ignore
  collectgarbage()
  collectgarbage()
  os.remove(path)
  lu.assertTrue(torch.equal(x, torch.arange(1000)))
  lu.assertTrue(arrow.bytes_allocated() - before >= 8000)
  x:release()
  x = nil -- luacheck: ignore
  collectgarbage()
  lu.assertEquals(arrow.bytes_allocated(), before)
end

function TestColumns.test_what_cannot_be_written_is_refused()
  for _, case in ipairs{
    {torch.tensor(1), 'a tensor without dimensions has no rows'},
    {torch.zeros(2, {dtype = 'complex64'}), 'Arrow has no type for complex64'},
    {3, "expected a tensor or a table with 'kind', got 3"},
    {{kind = 'text'}, "kind 'text': expected 'strings'"},
    {{kind = 'strings'}, 'offsets: expected a int64 tensor of one dimension, got nil'},
    {{kind = 'strings', offsets = torch.tensor({0, 3}, {dtype = 'int64'}), bytes = torch.zeros(2, {dtype = 'uint8'})},
      'offsets[1] is 3: offsets rise from 0 to the 2 bytes there are'},
    {{kind = 'strings', offsets = torch.tensor({1, 0}, {dtype = 'int64'}), bytes = torch.zeros(2, {dtype = 'uint8'})},
      'offsets[1] is 0'},
    {objects(2, {1, 'a'}), 'a string where others are of type integer'},
    {objects(1, {print}), 'row 0'},
  } do
    local message = first_error(data.to_arrow, {'col'}, {case[1]})
    lu.assertStrContains(message, "column 'col'")
    lu.assertStrContains(message, case[2])
  end
  lu.assertStrContains(first_error(data.to_arrow, {'a', 'b'}, {torch.zeros(2), torch.zeros(3)}),
    "column 'b' has 3 rows, 'a' 2")
  lu.assertStrContains(first_error(data.from_arrow, 3), 'expected rtrain.ArrowBatch')
end

TestWriters = {}
TestWriters.setUp, TestWriters.tearDown = TestColumns.setUp, TestColumns.tearDown

local function batch(names, columns) return data.to_arrow(names, columns) end

function TestWriters.test_a_file_appears_only_when_it_is_complete()
  os.remove(path)
  local writer = arrow.parquet_writer(path)
  writer:write(batch({'x'}, {torch.zeros(3)}))
  lu.assertNil(read_text())
  writer:release()
  lu.assertNil(read_text())
  writer = arrow.ipc_writer(path, {sync = false})
  writer:write(batch({'x'}, {torch.zeros(3)}))
  writer:close()
  lu.assertStrContains(read_text(), 'ARROW1')
  lu.assertStrContains(first_error(writer.close, writer), 'it was closed')
end

function TestWriters.test_batches_have_to_fit_the_first_one()
  local writer = arrow.parquet_writer(path)
  writer:write(batch({'x', 'y'}, {torch.zeros(2), objects(2, {})}))
  writer:write(batch({'x', 'y'}, {torch.ones(2, {dtype = 'int32'}), objects(2, {})}))
  local message = first_error(writer.write, writer, batch({'x', 'z'}, {torch.zeros(2), torch.zeros(2)}))
  lu.assertStrContains(message, 'a batch has the columns x, z, the first one had x, y')
  message = first_error(writer.write, writer, batch({'x', 'y'}, {strings{'a', 'b'}, objects(2, {})}))
  lu.assertStrContains(message, "column 'x': its values are of type string, in the first batch they were of type float32")
  writer:write(batch({'x', 'y'}, {torch.full({2}, 2), objects(2, {})}))
  writer:close()
  local _, columns = data.from_arrow(arrow.open_parquet(path):read(0):next())
  lu.assertEquals(columns[1]:tolist(), {0, 0, 1, 1, 2, 2})
end

function TestWriters.test_csv()
  local writer = arrow.csv_writer(path, {delimiter = ';'})
  local text = strings{'a;b', 'say "x"', 'two\nlines'}
  text.valid = torch.tensor{true, true, true}
  writer:write(batch({'n', 'f', 'b', 's'}, {torch.arange(3), torch.tensor({0.5, 1, 1e300}, {dtype = 'float64'}),
    torch.tensor{true, false, true}, text}))
  writer:close()
  lu.assertEquals(read_text(), '"n";"f";"b";"s"\n0;0.5;true;"a;b"\n1;1;false;"say ""x"""\n2;1e+300;true;"two\nlines"\n')
  local cursor = arrow.open_csv(path, {delimiter = ';'})
  lu.assertEquals(rows(cursor), {n = {0, 1, 2}, f = {0.5, 1, 1e300}, b = {true, false, true},
    s = {'a;b', 'say "x"', 'two\nlines'}})
  writer = arrow.csv_writer(path)
  local message = first_error(writer.write, writer, batch({'x'}, {torch.zeros(2, 3)}))
  lu.assertStrContains(message, "column 'x': CSV has no place for tensor<float32>[3]")
end

function TestWriters.test_options_are_checked()
  for _, case in ipairs{
    {'parquet_writer', {compression = 'zst'}, "unknown value 'zst': did you mean 'zstd'"},
    {'parquet_writer', {compresion = 'zstd'}, "unknown option 'compresion': did you mean 'compression'"},
    {'parquet_writer', {row_group_size = 0}, 'row_group_size has to be at least 1, not 0'},
    {'csv_writer', {delimiter = '::'}, 'delimiter has to be one character'},
    {'csv_writer', {quoting = 'never'}, "unknown value 'never'"},
    {'ipc_writer', {stream = 1}, "option 'stream' must be"},
  } do
    local message, err = first_error(arrow[case[1]], path, case[2])
    lu.assertStrContains(message, case[3])
    lu.assertEquals(err.code, 'argument')
  end
  lu.assertEquals(select(2, first_error(arrow.parquet_writer, '/no/such/folder/x')).code, 'environment')
end

TestText = {}
TestText.setUp, TestText.tearDown = TestColumns.setUp, TestColumns.tearDown

function TestText.test_csv_types_and_options()
  write_text 'a comment\nid,price,ok,name,when\n1,0.5,true,x,2020-01-02\n2,NA,false,,2020-01-03\n'
  local cursor = arrow.open_csv(path, {skip_rows = 1})
  local types = {}
  for i, column in ipairs(cursor:schema()) do types[i] = column.type end
  lu.assertEquals(types, {'int64', 'float64', 'bool', 'string', 'date32'})
  local found = rows(cursor)
  lu.assertEquals({found.id, found.ok, found.name, found.when}, {{1, 2}, {true, false}, {'x', ''}, {18263, 18264}})
  lu.assertTrue(found.price[1] == 0.5 and found.price[2] ~= found.price[2])
  cursor = arrow.open_csv(path, {skip_rows = 1, columns = {'name', 'id'}, column_types = {id = 'float32'},
    null_values = {'x'}, strings_can_be_null = true})
  lu.assertEquals({cursor:schema()[1].name, cursor:schema()[2].type}, {'name', 'float32'})
  lu.assertEquals(rows(cursor), {name = {false, ''}, id = {1, 2}})
  write_text "1|'a|b'\r\n2|c\r\n"
  cursor = arrow.open_csv(path, {header = false, delimiter = '|', quote = "'", column_names = {'n', 's'}})
  lu.assertEquals(rows(cursor), {n = {1, 2}, s = {'a|b', 'c'}})
  lu.assertStrContains(reading_error(arrow.open_csv, path, {header = false, delimiter = '|', quote = false}),
    'line 2: Expected 3 columns, got 2')
end

function TestText.test_csv_of_many_blocks()
  local lines = {'id,text'}
  for i = 1, 2000 do lines[i + 1] = ('%d,"row %d\nof ""many"""'):format(i, i) end
  write_text('\239\187\191' .. table.concat(lines, '\n'))
  local found = rows(arrow.open_csv(path, {block_bytes = 100}))
  lu.assertEquals({#found.id, found.id[2000], found.text[1234]}, {2000, 2000, 'row 1234\nof "many"'})
end

function TestText.test_csv_errors_name_the_line()
  for _, case in ipairs{
    {'a,b\n1,2\n3\n', 'line 3: Expected 2 columns, got 1: 3'},
    {'a,b\n1,2\n\n\n"3\n",4,5\n', 'line 5: Expected 2 columns, got 3'},
    {'a,b\n"' .. ('x\n'):rep(1000) .. '"\n', 'line 2: Expected 2 columns, got 1: "x…'},
    {'a,a\n1,2\n', "line 1: two columns are called 'a'"},
  } do
    write_text(case[1])
    local message = reading_error(arrow.open_csv, path)
    lu.assertStrContains(message, ("cannot read '%s'"):format(path))
    lu.assertStrContains(message, case[2])
  end
  local lines = {'a,b'}
  for i = 1, 500 do lines[#lines + 1] = i .. ',"x\ny"' end
  lines[400] = '3.5,z'
  write_text(table.concat(lines, '\n'))
  local message = reading_error(arrow.open_csv, path, {block_bytes = 64})
  lu.assertStrContains(message, "line 798: column 'a': CSV conversion error to int64: invalid value '3.5'")
  lu.assertStrContains(message, "column_types = {['a'] = 'string'}")
  lu.assertStrContains(first_error(arrow.open_csv, path, {columns = {'c'}}), "has no column 'c'")
  lu.assertStrContains(first_error(arrow.open_csv, path, {column_types = {a = 'int46'}}),
    "column_types.a: unknown type 'int46': did you mean 'int")
  lu.assertEquals(select(2, first_error(arrow.open_csv, '/no/such/file')).code, 'not_found')
  lu.assertStrContains(first_error(arrow.open_csv, '/tmp'), 'it is a folder')
end

function TestText.test_json_types()
  write_text '{"a": 1, "b": [], "c": null}\n{"a": 2.5, "b": [1], "c": "x"}\n'
  local cursor = arrow.open_json(path, {block_bytes = 1, column_types = {a = 'float32', b = 'list<float64>', c = 'string'}})
  local types = {}
  for _, column in ipairs(cursor:schema()) do types[column.name] = column.type end
  lu.assertEquals(types, {a = 'float32', b = 'list<float64>', c = 'string'})
  local read = 0
  for part in function() return cursor:next() end do read = read + part:num_rows() end
  lu.assertEquals(read, 2)
  lu.assertStrContains(reading_error(arrow.open_json, path, {block_bytes = 1}), 'line 2: ')
end

function TestText.test_json_errors_name_the_line()
  local lines = {}
  for i = 1, 300 do lines[i] = ('{"a": %d}'):format(i) end
  for line, text in next, {[150] = '{"a": }', [250] = '{"a": "x"}', [299] = '{"a": 1, "b": 2}', [7] = '[1]'} do
    local copy = {unpack(lines)}
    copy[line] = text
    write_text(table.concat(copy, '\n'))
    lu.assertStrContains(reading_error(arrow.open_json, path, {block_bytes = 512}), ('line %d: '):format(line))
  end
  for text, line in next, {['null\n{"a": 1}'] = 1, ['{"a": 1}\n{"a": 2} {"a": 3}'] = 2, ['{"a": "}"}\n\n{"a":\n1}'] = 3} do
    write_text(text)
    lu.assertStrContains(reading_error(arrow.open_json, path), ('line %d: it is not one JSON object'):format(line))
  end
  write_text '\n \n'
  local empty = arrow.open_json(path)
  lu.assertEquals({empty:schema(), empty:next()}, {{}})
  write_text ''
  empty = arrow.open_csv(path, {columns = {'c'}})
  lu.assertEquals({empty:schema(), empty:next()}, {{}})
end

TestDamage = {}
TestDamage.setUp, TestDamage.tearDown = TestColumns.setUp, TestColumns.tearDown

function TestDamage.test_a_damaged_page_names_row_group_and_column()
  local writer = arrow.parquet_writer(path, {compression = 'zstd', row_group_size = 500, use_dictionary = false})
  writer:write(batch({'x', 'y'}, {torch.rand(1000), torch.rand(1000)}))
  writer:close()
  local bytes = read_text()
  -- The first column of the second row group begins after the middle of the file.
  local at = math.floor(#bytes * 0.55)
  write_text(bytes:sub(1, at) .. ('\0'):rep(200) .. bytes:sub(at + 201))
  local reader = arrow.open_parquet(path)
  lu.assertEquals(#rows(reader:read(0)).x, 500)
  local message, err = reading_error(reader.read, reader, 1)
  lu.assertStrContains(message, ("cannot read '%s', row group 1, column 'x': "):format(path))
  lu.assertEquals(err.code, 'argument')
end

os.exit(lu.LuaUnit.run(), true)
