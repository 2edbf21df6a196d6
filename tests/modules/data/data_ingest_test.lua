-- Ingest workers: processes that produce blocks instead of threads.
local data = require 'rtrain.data'
local lu = require 'luaunit'
local message_of = require('refusal').message_of
local numbers = require('lists').numbers
local Pool = require 'rtrain.data.ingest.pool'
local torch = require 'torch'

local pool

TestIngest = {}

function TestIngest.setUp() pool = Pool {workers = 2, threads = 1} end

function TestIngest.tearDown() pool:close() end

-- Returns the rows as text, bit for bit.
local function text_of(ds, options)
  local out = {}
  options.seed = 3
  for block in ds:execute(options) do
    for _, row in ipairs(block:rows()) do
      local fields = {}
      for _, name in ipairs(block:names()) do
        local value = row[name]
        if torch.is_tensor(value) then value = value.dtype .. table.concat(value:flatten():tolist(), ',') end
        fields[#fields + 1] = ('%s=%s'):format(name, type(value) == 'number' and ('%.17g'):format(value) or tostring(value))
      end
      out[#out + 1] = table.concat(fields, ' ')
    end
  end
  return table.concat(out, '\n')
end

local function noisy(ds)
  local worker = require 'torch.utils.data.worker'
  return ds:map(function(row)
    row.noise = torch.rand({3}, {generator = worker.generator()})
    row.text = ('row %d'):format(row.id)
    if row.id % 3 == 0 then row.maybe = row.id end
    row.image = torch.full({20, 30, 3}, row.id % 256, {dtype = 'uint8'})
    return row
  end)
end

function TestIngest.test_rows_and_order_are_those_of_threads()
  local plain = data.range(300, {override_num_blocks = 7})
  for _, ds in ipairs {
    noisy(plain), noisy(plain:random_shuffle {seed = 1}), noisy(plain):filter(function(row) return row.id % 2 == 0 end),
    noisy(data.from_items {{id = 1}, {id = 2}}), noisy(plain):sort('id', true):map_batches(function(b) return b end),
    noisy(plain):mix(noisy(data.range(50)), {weights = {3, 1}}),
  } do
    local wanted = text_of(ds, {threads = 2})
    lu.assertEquals(text_of(ds, {threads = 1, ingest = pool}), wanted)
    lu.assertEquals(text_of(ds, {threads = 1, ingest = pool, slices = {}}), '')
  end
end

-- A paused loop does not block another loop on the same workers, and few of its blocks are buffered meanwhile.
function TestIngest.test_what_waits_is_bounded()
  local path = os.tmpname()
  local function made()
    local count = 0
    for _ in io.lines(path) do count = count + 1 end
    return count
  end
  local big = data.range(64, {override_num_blocks = 4}):map_batches(function(batch)
    local file = assert(io.open(path, 'a'))
    file:write 'x\n'
    file:close()
    return {x = torch.zeros({batch.id:size(0), 2 ^ 18}, {dtype = 'uint8'})}
  end, {batch_size = 1})
  local first = big:execute {threads = 1, ingest = pool, memory_bytes = 2 ^ 20, seed = 1}
  lu.assertEquals(first:next():num_rows(), 1)
  local other = data.range(400, {override_num_blocks = 40}):map_batches(function(batch) return batch end, {batch_size = 2})
  lu.assertEquals(#text_of(other, {threads = 1, ingest = pool}), #text_of(other, {threads = 0}))
  -- 1 MiB holds 4 of these blocks; each worker may exceed its half by one block, and one block was taken.
  lu.assertTrue(made() <= 7, made())
  local rest = 0
  for block in first do rest = rest + block:num_rows() end
  lu.assertEquals({rest, made()}, {63, 64})
  os.remove(path)
end

function TestIngest.test_an_error_names_the_line_the_row_and_the_worker()
  local ds = data.range(10, {override_num_blocks = 1}):map(function(row)
    if row.id == 7 then error 'no seven' end
    return row
  end)
  local execution = ds:execute {threads = 1, ingest = pool}
  local message = message_of(function()
    while execution:next() do lu.assertNotNil(execution) end
  end)
  lu.assertStrMatches(message, '.*rtrain%.data ingest worker [01].*: map: row 7: .*data_ingest_test%.lua:%d+: no seven.*')
  -- The workers still work afterwards.
  lu.assertEquals(#text_of(data.range(3):map(function(row) return row end), {threads = 1, ingest = pool}), 14)
  lu.assertStrContains(message_of(function()
    text_of(data.range(3):map(function() return torch.rand({1}) end), {threads = 1, ingest = pool})
  end), 'default generator')
end

-- A worker kills itself once in the middle of a fragment, and another worker does so each time.
function TestIngest.test_a_dead_worker_is_started_again()
  local path = os.tmpname()
  os.remove(path)
  local function deadly(ds, is_once)
    return ds:map(function(row)
      if row.id == 90 then
        local file = io.open(path)
        if file == nil or not is_once then
          if file == nil then io.open(path, 'w'):close() end
          os.execute 'kill -9 $PPID'
        end
      end
      return row
    end)
  end
  local plain = noisy(data.range(200, {override_num_blocks = 3}))
  local context = data.DataContext.get_current()
  context.target_max_block_size = 2 ^ 12
  local wanted = text_of(plain, {threads = 0})
  lu.assertEquals(text_of(deadly(plain, true), {threads = 1, ingest = pool}), wanted)
  lu.assertNotNil(io.open(path))
  lu.assertStrMatches(message_of(function() text_of(deadly(plain, false), {threads = 1, ingest = pool}) end),
    '.*ingest worker [01] %(process %d+%) killed by signal 9 %(SIGKILL%).*3 times in a row without a result.*')
  os.remove(path)
end

function TestIngest.test_a_function_that_does_not_return_is_named()
  local impatient = Pool {workers = 1, threads = 1, timeout_s = 0.5}
  local ds = data.range(4):map(function(row)
    while row do row.id = row.id + 1 end
    return row
  end)
  lu.assertStrMatches(message_of(function() text_of(ds, {threads = 1, ingest = impatient}) end),
    '.*ingest worker 0: .* took longer than 0%.5 s: look for a wait in the functions of the dataset.*')
  impatient:close()
end

function TestIngest.test_an_abandoned_loop_leaves_the_workers_to_the_next()
  local ds = data.range(1000, {override_num_blocks = 50}):map(function(row) return row end)
  for _ = 1, 5 do
    local execution = ds:execute {threads = 1, ingest = pool}
    execution:next()
    execution:close()
  end
  local ids = {}
  for block in ds:execute {threads = 1, ingest = pool} do
    for _, row in ipairs(block:rows()) do ids[#ids + 1] = row.id end
  end
  lu.assertEquals(ids, numbers(1000))
  pool:close()
  lu.assertStrContains(message_of(function() ds:execute({threads = 1, ingest = pool}):next() end), 'has ended')
end

TestScaling = {}

function TestScaling.test_the_number_follows_the_stall_and_does_not_swing()
  local scaling = require 'rtrain.data.ingest.scaling'(4)
  local function decide(waited_s, busy_s, windows)
    local active
    for _ = 1, windows or 1 do active = scaling:decide {elapsed_s = 1, waited_s = waited_s, busy_s = busy_s} end
    return active
  end
  lu.assertEquals(scaling.active, 1)
  lu.assertEquals({decide(0.04, 1), decide(0.06, 1), decide(0.5, 2), decide(0.5, 4)}, {1, 2, 4, 4})
  -- Three workers cannot do 2.2 s of work per second with a reserve; two can do 1.3 s.
  lu.assertEquals(decide(0, 2.2, 20), 4)
  lu.assertEquals({decide(0, 2, 4), decide(0, 2)}, {4, 3})
  lu.assertEquals({decide(0, 1.3, 4), decide(0.02, 1.3), decide(0, 1.3, 4), decide(0, 1.3)}, {3, 3, 3, 2})
  lu.assertEquals({decide(0, 0.1, 5), decide(0, 0, 50)}, {1, 1})
  lu.assertEquals(decide(0.2, 1), 2)
end

-- A loop that first waits for its rows all the time, and later hardly takes any.
function TestScaling.test_processes_come_and_go()
  local monotonic = require('base._system').monotonic
  local function spin(seconds)
    local start = monotonic()
    while monotonic() - start < seconds do lu.assertNotNil(start) end
  end
  pool = Pool {workers = 2, threads = 1}
  local ds = data.range(10 ^ 6, {override_num_blocks = 10 ^ 5}):map_batches(function(batch)
    local start = monotonic()
    while monotonic() - start < 0.01 do start = start + 0 end
    return batch
  end)
  local execution = ds:execute {threads = 1, ingest = pool}
  local deadline = monotonic() + 60
  while pool:num_active() < 2 and monotonic() < deadline do execution:next() end
  lu.assertEquals(pool:num_active(), 2)
  while pool:num_active() > 1 and monotonic() < deadline do
    execution:next()
    spin(0.05)
  end
  lu.assertEquals(pool:num_active(), 1)
  lu.assertEquals(execution:next():num_rows(), 10)
  execution:close()
  pool:close()
end

-- Between nodes messages are a stream of bytes.
TestStream = {}

function TestStream.setUp()
  local ffi = require 'ffi'
  ffi.cdef 'int socketpair(int domain, int type, int protocol, int fds[2]);'
  local AF_UNIX, SOCK_STREAM = 1, 1
  local fds = ffi.new 'int[2]'
  assert(ffi.C.socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0)
  local Channel = require('torch._C').data.Channel
  TestStream.near, TestStream.far = Channel(fds[0]), Channel(fds[1])
end

function TestStream.test_messages_arrive_whole_and_in_order()
  local image = torch.arange(9600):view(3, 40, 80)
  local sent = {{kind = 'stage', stage = 1}, {kind = 'result', value = {image = image, name = ('n'):rep(3000)}}, {last = true}}
  for _, message in ipairs(sent) do TestStream.near:send(message, 60) end
  local what, first = TestStream.far:receive(60)
  lu.assertEquals({what, first}, {'message', sent[1]})
  local _, second = TestStream.far:receive(60)
  lu.assertTrue(torch.equal(second.value.image, image))
  lu.assertEquals(second.value.name, sent[2].value.name)
  lu.assertEquals({TestStream.far:receive(60)}, {'message', {last = true}})
  lu.assertEquals({TestStream.far:receive(0)}, {'timeout'})
end

function TestStream.test_what_was_sent_is_received_before_the_end()
  for i = 1, 3 do TestStream.near:send({number = i, value = torch.full({1000000}, i)}, 60) end
  TestStream.near:release()
  for i = 1, 3 do
    local what, message = TestStream.far:receive(60)
    lu.assertEquals({what, message.number, message.value:sum():item()}, {'message', i, 1000000 * i})
  end
  lu.assertEquals({TestStream.far:receive(60)}, {'closed'})
  lu.assertNil(TestStream.far:send({late = true}, 60))
end

os.exit(lu.LuaUnit.run(), true)
