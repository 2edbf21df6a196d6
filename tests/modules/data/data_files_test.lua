-- rtrain.data: functions that read and write files.
local data = require 'rtrain.data'
local lu = require 'luaunit'
local system = require 'base._system'
local torch = require 'torch'

local context = data.DataContext.get_current()
local folder

local message_of = require('refusal').message_of

local function write_text(name, text)
  local path = folder .. '/' .. name
  system.make_folders((path:gsub('/[^/]*$', '')))
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
  return path
end

local function column(ds, name)
  local out = {}
  for i, row in ipairs(ds:take_all()) do out[i] = row[name] end
  return out
end

-- Returns the rows of an epoch.
local function epoch(ds, n, options)
  options = options or {}
  options.epoch = n
  local out = {}
  for block in ds:execute(options) do
    for _, row in ipairs(block:rows()) do out[#out + 1] = row end
  end
  return out
end

local function ids(rows)
  local out = {}
  for i, row in ipairs(rows) do out[i] = row.id end
  return out
end

local numbers = require('lists').numbers

local FileTest = {}
function FileTest.setUp()
  folder = system.make_temp('rtrain-data-test-')
  context.num_threads = 2
end
function FileTest.tearDown() system.remove_tree(folder) end

TestPaths = {setUp = FileTest.setUp, tearDown = FileTest.tearDown}

function TestPaths.test_folders_lists_and_patterns()
  for _, name in ipairs{'b.txt', 'a.txt', 'deep/c.txt', 'deep/er/d.txt', '.hidden.txt', '_skipped/e.txt', 'x.log'} do
    write_text('in/' .. name, name .. '\n')
  end
  local function read(paths, options) return column(data.read_text(paths, options), 'text') end
  lu.assertEquals(read(folder .. '/in', {file_extensions = {'txt'}}), {'a.txt', 'b.txt', 'deep/c.txt', 'deep/er/d.txt'})
  lu.assertEquals(read(folder .. '/in/*.txt'), {'a.txt', 'b.txt'})
  lu.assertEquals(read(folder .. '/in/**/*.txt'), {'a.txt', 'b.txt', 'deep/c.txt', 'deep/er/d.txt'})
  lu.assertEquals(read(folder .. '/in/[bx].*'), {'b.txt', 'x.log'})
  lu.assertEquals(read{folder .. '/in/x.log', folder .. '/in/a.txt'}, {'x.log', 'a.txt'})
  lu.assertEquals(read({folder .. '/in/none', folder .. '/in/a.txt'}, {ignore_missing_paths = true}), {'a.txt'})
  local row = data.read_text(folder .. '/in/a.txt', {include_paths = true}):take(1)[1]
  lu.assertEquals(row, {text = 'a.txt', path = folder .. '/in/a.txt'})
  lu.assertEquals(#data.read_text(folder .. '/in/*.txt'):input_files(), 2)
end

function TestPaths.test_patterns_are_those_of_python()
  for i = 0, 11 do write_text(('in/part-%d.csv'):format(i), 'a\n1\n') end
  for _, name in ipairs{'in/a.csv', 'in/é.csv', 'in/[x].csv', 'in/.h.csv', 'in/_s.csv', 'in/-.csv', 'in/z/a.csv'} do
    write_text(name, 'a\n1\n')
  end
  local function count(pattern) return #data.read_csv(folder .. '/in/' .. pattern):input_files() end
  for pattern, right in next, {
    ['part-[0-9].csv'] = 10, ['part-[0-4].csv'] = 5, ['part-[0-9]*.csv'] = 12, ['part-[!0-8].csv'] = 1, ['[a-z]*.csv'] = 13,
    ['?.csv'] = 3, ['[é].csv'] = 1, ['[a-]*.csv'] = 2, ['[[]x].csv'] = 1, ['[x].csv'] = 1, ['[]x[]*.csv'] = 1, ['.*.csv'] = 1,
    ['_*.csv'] = 1, ['**/*.csv'] = 17, ['*/a.csv'] = 1, ['**/a.csv'] = 2, ['**'] = 17,
  } do lu.assertEquals({pattern, count(pattern)}, {pattern, right}) end
  lu.assertStrContains(message_of(count, 'part-[9-0].csv'), 'no file matches')
end

function TestPaths.test_a_link_to_a_folder_that_is_read_anyway_is_left_out()
  write_text('in/a/1.csv', 'a\n1\n')
  write_text('in/b/2.csv', 'a\n2\n')
  write_text('in/.pool/3.csv', 'a\n3\n')
  write_text('out/4.csv', 'a\n4\n')
  for _, link in ipairs{'in/up', 'in/a/b', 'in/b/a', 'in/pool', 'in/out', 'out/back'} do
    local target = ({up = 'in', b = 'in/b', a = 'in/a', pool = 'in/.pool', out = 'out', back = 'in'})[link:match '[^/]+$']
    os.execute(("ln -s '%s/%s' '%s/%s'"):format(folder, target, folder, link))
  end
  lu.assertEquals(column(data.read_csv(folder .. '/in'), 'a'), {1, 2, 4, 3})
  lu.assertEquals(column(data.read_csv(folder .. '/in/**/*.csv'), 'a'), {1, 2, 4, 3})
  lu.assertEquals(column(data.read_csv(folder .. '/in/*/1.csv'), 'a'), {1})
  lu.assertEquals(column(data.read_csv(folder .. '/in/up/a'), 'a'), {1, 2})
end

function TestPaths.test_what_is_missing_is_told_at_the_call()
  local text, err = message_of(data.read_parquet, folder .. '/none')
  lu.assertEquals(err.code, 'not_found')
  lu.assertStrContains(text, "read_parquet: no such file or folder: '" .. folder .. "/none'")
  lu.assertStrContains(message_of(data.read_csv, folder), 'no files with the extension csv, tsv in the folder')
  lu.assertStrContains(message_of(data.read_text, folder .. '/*.x'), 'no file matches')
  lu.assertStrContains(message_of(data.read_text, 'http://host/x'), 'expected a path, or a URI that begins with file://, s3://')
  lu.assertStrContains(message_of(data.read_numpy, 's3://bucket/x'), 'only files of this machine')
  lu.assertStrContains(message_of(data.read_text, 5), 'a path is a string, got a number')
  lu.assertStrContains(message_of(data.read_text, folder, {include_path = true}), "did you mean 'include_paths'?")
  lu.assertStrContains(message_of(data.read_text, write_text('a', 'x'), {shuffle = 'rows'}), "shuffle is 'files'")
  lu.assertStrContains(message_of(data.read_text, write_text('a', 'x'), {encoding = 'latin-1'}), 'UTF-8')
end

TestText = {setUp = FileTest.setUp, tearDown = FileTest.tearDown}

function TestText.test_lines()
  local path = write_text('a.txt', 'one\r\n\n  \ntwo')
  lu.assertEquals(column(data.read_text(path), 'text'), {'one', 'two'})
  lu.assertEquals(column(data.read_text(path, {drop_empty_lines = false}), 'text'), {'one', '', '  ', 'two'})
  lu.assertEquals(data.read_text(path):count(), 2)
  local long = {}
  for i = 1, 3e5 do long[i] = 'line ' .. i end
  local ds = data.read_text(write_text('long.txt', table.concat(long, '\n')))
  lu.assertEquals(ds:count(), 3e5)
  lu.assertEquals(column(ds, 'text'), long)
  lu.assertEquals(column(ds:split_at_indices{299998}[2], 'text'), {'line 299999', 'line 300000'})
end

function TestText.test_csv()
  local path = write_text('a.csv', 'id,name,x\n1,"a,b",0.5\n2,c,\n')
  local ds = data.read_csv(path)
  lu.assertEquals(ds:schema().types, {'int64', 'string', 'float64'})
  lu.assertEquals(column(ds, 'name'), {'a,b', 'c'})
  lu.assertEquals(ds:count(), 2)
  lu.assertEquals(ds:sum('x'), 0.5)
  lu.assertEquals(column(ds:select_columns{'name'}, 'name'), {'a,b', 'c'})
  local typed = data.read_csv(path, {column_types = {id = 'float32'}})
  lu.assertEquals(typed:schema().types[1], 'float32')
  local plain = data.read_csv(write_text('b.csv', '1;2\n3;4\n'), {delimiter = ';', header = false})
  lu.assertEquals(plain:columns(), {'f0', 'f1'})
  local broken = data.read_csv(write_text('c.csv', 'a,b\n1,2\n3\n'))
  lu.assertStrContains(message_of(broken.take_all, broken), folder .. '/c.csv')
end

function TestText.test_json()
  local lines = write_text('a.jsonl', '{"id": 1, "tags": ["x", "y"], "at": {"u": 1.5}}\n{"id": 2, "tags": [], "at": null}\n')
  local rows = data.read_json(lines):take_all()
  lu.assertEquals({rows[1].id, rows[1].tags, rows[1].at}, {1, {'x', 'y'}, {u = 1.5}})
  lu.assertEquals({rows[2].id, rows[2].tags, rows[2].at}, {2, {}, nil})
  local array = write_text('b.json', '\n[{"id": 1,\n "s": "a],[{\\"b"}, \n{"id": 2, "s": ""}]\n')
  local ds = data.read_json(array)
  lu.assertEquals(ds:count(), 2)
  lu.assertEquals(column(ds, 's'), {'a],[{"b', ''})
  local open = write_text('c.json', '[{"id": 1}, {"id"')
  lu.assertStrContains(message_of(function() return data.read_json(open):take_all() end), 'the JSON array has no end')
  local broken = write_text('d.json', '{"id": 1}\n{"id": }\n')
  lu.assertStrContains(message_of(function() return data.read_json(broken):take_all() end), folder .. '/d.json')
end

TestParquet = {setUp = FileTest.setUp, tearDown = FileTest.tearDown}

-- Writes a file for each part, with 5 rows in a row group.
local function write_parts(count, rows)
  for i = 1, count do
    local first = (i - 1) * rows
    data.range(rows):map(function(row)
      return {id = row.id + first, name = 'row ' .. row.id + first, even = row.id % 2 == 0, pair = torch.full({2}, row.id),
              list = {row.id}}
    end, {dtypes = {id = 'int64'}}):write_parquet(('%s/parts/%d'):format(folder, i), {row_group_size = 5})
  end
  return folder .. '/parts'
end

function TestParquet.test_a_round_trip()
  local ds = data.read_parquet(write_parts(2, 12))
  lu.assertEquals(ds:count(), 24)
  local types = {}
  for _, entry in ipairs(ds:schema()) do types[entry.name] = entry.type end
  lu.assertEquals(types, {id = 'int64', name = 'string', even = 'bool', pair = 'tensor<float32>[2]', list = 'list<int64>'})
  local rows = ds:take_all()
  lu.assertEquals(ids(rows), numbers(24))
  lu.assertEquals({rows[14].name, rows[14].even, rows[14].pair:tolist(), rows[14].list}, {'row 13', false, {1, 1}, {1}})
  lu.assertEquals(#ds:execute():next():rows(), 5)
  lu.assertEquals(ds:select_columns{'name', 'id'}:columns(), {'name', 'id'})
  lu.assertEquals(data.read_parquet(folder .. '/parts', {columns = {'id'}}):columns(), {'id'})
  lu.assertTrue(ds:size_bytes() > 0)
  -- Rows are read by number, without a pass over the other rows.
  local parts = ds:split_at_indices{3, 17}
  lu.assertEquals(ids(parts[2]:take_all()), {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
  local train, test = ds:map(function(row) return {id = row.id} end):train_test_split(0.25)
  lu.assertEquals({#train:take_all(), ids(test:take_all())}, {18, {18, 19, 20, 21, 22, 23}})
end

function TestParquet.test_errors_name_file_row_group_and_row()
  local ds = data.read_parquet(write_parts(1, 12))
  for _, threads in ipairs{0, 2} do
    context.num_threads = threads
    local failing = ds:map(function(row)
      if row.id == 8 then error('bad row') end
      return row
    end)
    local text = message_of(failing.take_all, failing)
    lu.assertStrContains(text, '.parquet, row group 1: map: row 3: ')
    lu.assertStrContains(text, 'bad row')
  end
  lu.assertStrContains(message_of(data.read_parquet, folder .. '/parts', {columns = {'nam'}}), "did you mean 'name'?")
  lu.assertStrContains(message_of(data.read_parquet, folder .. '/parts', {columns = {}}), 'an empty one')
  local path = write_text('broken.parquet', 'PAR1 no parquet PAR1')
  lu.assertStrContains(message_of(data.read_parquet, path), path)
end

-- behaviour: shuffle of files
function TestParquet.test_file_shuffles()
  local paths = write_parts(8, 3)
  local function order(shuffle, n) return ids(epoch(data.read_parquet(paths, {shuffle = shuffle}), n, {seed = 5})) end
  local config = data.FileShuffleConfig{seed = 42}
  lu.assertEquals(order(config, 0), order(data.FileShuffleConfig{seed = 42}, 0))
  lu.assertNotEquals(order(config, 0), order(config, 1))
  lu.assertEquals(order(config, 1), order(config, 1))
  local fixed = data.FileShuffleConfig{seed = 42, reseed_after_execution = false}
  lu.assertEquals(order(fixed, 0), order(fixed, 1))
  lu.assertNotEquals(order('files', 0), order('files', 1))
  local all = order(config, 3)
  lu.assertNotEquals(all, numbers(24))
  table.sort(all)
  lu.assertEquals(all, numbers(24))
end

function TestParquet.test_writing_leaves_nothing_behind_when_it_fails()
  local ds = data.range(40, {override_num_blocks = 4}):map(function(row)
    if row.id == 35 then error('late') end
    return row
  end)
  for _, write in ipairs{'write_parquet', 'write_csv', 'write_json'} do
    lu.assertStrContains(message_of(ds[write], ds, folder .. '/out', {min_rows_per_file = 10}), 'late')
    lu.assertEquals(system.list_folder(folder .. '/out'), {})
  end
end

function TestParquet.test_files_and_modes()
  local ds = data.range(40, {override_num_blocks = 4})
  ds:write_parquet(folder .. '/out', {min_rows_per_file = 20})
  lu.assertEquals(#system.list_folder(folder .. '/out'), 2)
  ds:write_parquet(folder .. '/out')
  lu.assertEquals(data.read_parquet(folder .. '/out'):count(), 80)
  ds:write_parquet(folder .. '/out', {mode = 'ignore'})
  lu.assertEquals(data.read_parquet(folder .. '/out'):count(), 80)
  lu.assertStrContains(message_of(ds.write_parquet, ds, folder .. '/out', {mode = 'error'}), 'exists already')
  lu.assertStrContains(message_of(ds.write_parquet, ds, folder .. '/out', {compression = 'zip'}), 'zip')
  lu.assertStrContains(message_of(ds.write_parquet, ds, write_text('file', '')), 'is not a folder')
end

TestOthers = {setUp = FileTest.setUp, tearDown = FileTest.tearDown}

function TestOthers.test_csv_json_and_numpy_round_trips()
  local ds = data.from_items{{id = 1, s = 'a "b"\n', x = 0.1}, {id = 2, s = 'c', x = 1e300}}
  ds:write_csv(folder .. '/csv')
  lu.assertEquals(data.read_csv(folder .. '/csv'):take_all(), ds:take_all())
  ds:write_json(folder .. '/json')
  lu.assertEquals(data.read_json(folder .. '/json'):take_all(), ds:take_all())
  for _, dtype in ipairs{'bool', 'uint8', 'int16', 'float16', 'float32', 'float64'} do
    local tensor = torch.arange(12):view{3, 4}:to(dtype)
    data.from_tensors{x = tensor}:write_numpy(folder .. '/' .. dtype, {column = 'x'})
    local found = data.read_numpy(folder .. '/' .. dtype):take_batch(3).data
    lu.assertTrue(torch.equal(found, tensor))
    lu.assertEquals(found.dtype, dtype)
  end
end

function TestOthers.test_images()
  local io = require 'vision.io'
  for i = 0, 1 do system.make_folders(folder .. '/images/' .. i) end
  for i = 1, 40 do
    io.write_png(torch.full({3, 8, 8}, i, {dtype = 'uint8'}), ('%s/images/%d/%03d.png'):format(folder, i % 2, i))
  end
  local ds = data.read_images(folder .. '/images', {include_paths = true})
  lu.assertEquals(ds:count(), 40)
  local seen = {}
  for _, row in ipairs(ds:take_all()) do
    lu.assertEquals(row.image:size(), {8, 8, 3})
    lu.assertEquals(tonumber(row.path:match '(%d+)%.png$'), row.image:max():item())
    seen[row.image:min():item()] = true
  end
  lu.assertEquals(#seen, 40)
  lu.assertEquals(data.read_images(folder .. '/images', {size = {4, 6}, mode = 'L'}):take(1)[1].image:size(), {4, 6, 1})
  write_text('images/broken.png', 'no image')
  local broken = data.read_images(folder .. '/images')
  lu.assertStrContains(message_of(broken.materialize, broken), folder .. '/images/broken.png')
  lu.assertStrContains(message_of(data.read_images, folder .. '/images', {size = {4}}), 'size is {height, width}')
  lu.assertStrContains(message_of(data.read_images, folder .. '/images', {mode = 'CMYK'}), 'mode')
end

function TestOthers.test_binary_files()
  write_text('bin/a', '\0\255')
  write_text('bin/b', '')
  local ds = data.read_binary_files(folder .. '/bin')
  lu.assertEquals(column(ds, 'bytes'), {'\0\255', ''})
  lu.assertEquals(ds:schema().types, {'binary'})
end

function TestOthers.test_idx()
  local images = write_text('images', '\0\0\8\3' .. '\0\0\0\2' .. '\0\0\0\1' .. '\0\0\0\2' .. '\1\2\3\4')
  local labels = write_text('labels', '\0\0\8\1' .. '\0\0\0\2' .. '\7\9')
  local ds = data.read_idx{image = images, label = labels}
  lu.assertEquals(ds:columns(), {'image', 'label'})
  lu.assertEquals(ds:take(2)[2].image:tolist(), {{3, 4}})
  lu.assertEquals(column(ds:random_shuffle{seed = 1}:sort('label'), 'label'), {7, 9})
  lu.assertEquals(data.read_idx(labels):columns(), {'data'})
  local more = write_text('more', '\0\0\8\1' .. '\0\0\0\1' .. '\7')
  local bad = data.read_idx{image = images, label = more}
  lu.assertStrContains(message_of(bad.count, bad), 'has 2 rows')
end

os.exit(lu.LuaUnit.run(), true)
