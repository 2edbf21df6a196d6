-- Gradient-boosted trees with the module xgboost. Prints "name<TAB>number" lines. Twin of peers/trees.py: change both.
--
--   trees.lua make FOLDER GIGABYTES     writes Parquet files: 28 float features and a label
--   trees.lua train FILE ROUNDS         trains from a NumPy file of features and label
--   trees.lua stream FOLDER ROUNDS      trains from the Parquet files, with the bins in files
local clock = require 'events'
local data = require 'rtrain.data'
local torch = require 'torch'
local xgboost = require 'xgboost'

local FEATURES, FILE_ROWS, THREADS = 28, 250000, 2
local PARAMS = {objective = 'binary:logistic', max_depth = 6, eta = 0.1, nthread = THREADS, seed = 1, verbosity = 0}

local function drawn(batch)
  local rows = batch.id:size(0)
  local x = torch.randn({rows, FEATURES}, {generator = torch.Generator(batch.id[0]:item())})
  local out = {label = (x:select(1, 0) * 2 + x:select(1, 1) * x:select(1, 2)):gt(0):to 'float32'}
  for i = 0, FEATURES - 1 do out[('f%02d'):format(i)] = x:select(1, i) end
  return out
end

local function resident()
  return tonumber(io.open('/proc/self/status'):read('*a'):match 'VmHWM:%s*(%d+) kB') / 1024
end

local modes = {}

function modes.make(folder, gigabytes)
  local rows = math.floor(gigabytes * 1e9 / (FEATURES * 4 + 4) / FILE_ROWS + 0.5) * FILE_ROWS
  data.range(rows):map_batches(drawn, {batch_size = 25000}):write_parquet(folder, {
    min_rows_per_file = FILE_ROWS, row_group_size = 25000, compression = 'none', use_dictionary = false})
end

function modes.train(file, rounds)
  torch.set_num_threads(THREADS)
  local rows = data.read_numpy(file)
  local all = rows:take_batch(rows:count()).data
  local x, y = all:narrow(1, 0, FEATURES):contiguous(), all:select(1, FEATURES):contiguous()
  local start = clock.now()
  local dtrain = xgboost.QuantileDMatrix(x, y, {nthread = THREADS})
  local made = clock.now()
  local booster = xgboost.train(PARAMS, dtrain, {num_boost_round = tonumber(rounds)})
  local trained = clock.now()
  booster:predict(xgboost.DMatrix(x, {nthread = THREADS}))
  local finish = clock.now()
  io.write(('matrix\t%.6f\nrounds\t%.6f\npredict\t%.6f\nall\t%.6f\n'):format(made - start, trained - made, finish - trained,
    finish - start))
end

function modes.stream(folder, rounds)
  torch.set_num_threads(THREADS)
  local start, ds = clock.now(), data.read_parquet(folder)
  local cache = folder .. '/../trees-cache'
  local dtrain = xgboost.ExtMemQuantileDMatrix(ds, {label = 'label', cache_prefix = cache, nthread = THREADS})
  local made = clock.now()
  xgboost.train(PARAMS, dtrain, {num_boost_round = tonumber(rounds)})
  local megabytes = dtrain:num_row() * (FEATURES + 1) * 4 / 1e6
  io.write(('peak\t%.1f\nspeed\t%.1f\nround\t%.6f\n'):format(resident(), megabytes / (made - start),
    (clock.now() - made) / tonumber(rounds)))
end

modes[arg[1]](arg[2], arg[3])
