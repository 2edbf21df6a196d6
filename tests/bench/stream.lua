-- Trains on a Parquet data set that is larger than the memory limit. Prints "name<TAB>number" lines.
--
--   stream.lua make FOLDER GIGABYTES [IMAGES]   float images (3, 32, 32), random or from Parquet files with images
--   stream.lua train|scan FOLDER                one epoch of batches of 128
local clock = require 'events'
local data = require 'rtrain.data'
local torch = require 'torch'

local ROW_BYTES = 3 * 32 * 32 * 4 + 8
local FILE_ROWS = 16384

local function as_float(batch)
  return {image = batch.image:permute(0, 3, 1, 2):to('float32') / 255, label = batch.label}
end

local function drawn(batch)
  local rows = batch.id:size(0)
  local generator = torch.Generator(batch.id[0]:item())
  return {image = torch.rand({rows, 3, 32, 32}, {generator = generator}), label = batch.id:remainder(10)}
end

local function make(folder, gigabytes, images)
  local rows = math.floor(gigabytes * 1e9 / ROW_BYTES)
  local options = {min_rows_per_file = FILE_ROWS, row_group_size = 4096, compression = 'none',
                   use_dictionary = false}
  if not images then
    return data.range(rows):map_batches(drawn, {batch_size = 1024}):write_parquet(folder, options)
  end
  local paths, per_pass = {}, data.read_parquet(images):count()
  for i = 1, math.ceil(rows / per_pass) do paths[i] = images end
  data.read_parquet(paths):limit(rows):map_batches(as_float):write_parquet(folder, options)
end

local function resident(field)
  return tonumber(io.open('/proc/self/status'):read('*a'):match(field .. ':%s*(%d+) kB')) / 1024
end

local function step_of(mode)
  if mode == 'scan' then return function() end end
  torch.manual_seed(0)
  local nn = torch.nn
  local model = nn.Sequential(nn.Conv2d(3, 16, 5, {stride = 2}), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 14 * 14, 10))
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.01})
  return function(batch)
    optimizer:zero_grad()
    nn.functional.cross_entropy(model(batch.image), batch.label):backward()
    optimizer:step()
  end
end

local function run(mode, folder)
  local ds, step = data.read_parquet(folder), step_of(mode)
  local start, rows = clock.now(), 0
  for batch in ds:iter_torch_batches{batch_size = 128} do
    step(batch)
    rows = rows + batch.label:size(0)
  end
  local seconds = clock.now() - start
  assert(rows == ds:count())
  io.write(('%s_peak\t%.1f\n%s_speed\t%.1f\n'):format(mode, resident 'VmHWM', mode, rows * ROW_BYTES / 1e6 / seconds))
end

if arg[1] == 'make' then
  make(arg[2], tonumber(arg[3]), arg[4])
else
  run(arg[1], arg[2])
end
