-- Two ranks on core 0 whose step waits for a simulated device and for each other, as with DDP. Their JPEG images are
-- decoded in the loop itself, or by ingest workers on core 1, on this node or another one.
local data, torch, train = require 'rtrain.data', require 'torch', require 'rtrain'

local RANK_CORE, INGEST_CORE, CROP = 0, 1, 224

local config = {ingest = 1, step_ms = 100, batches = 60, batch = 20, size = 512, warm_batches = 20, events = '.'}
for _, flag in ipairs(require('rtrain.run.command_flags').get().set) do
  local key, value = flag:match '^([^=]+)=(.*)$'
  if config[key] ~= nil then config[key] = tonumber(value) or value end
end

-- Adds noise to a slope, so that the file is as large as a photograph's.
local function make_jpeg(size)
  local slope = torch.arange(size):view(1, 1, size):expand(3, size, size):to('float32') * (255 / size)
  local image = (slope + torch.randn {3, size, size} * 12):clamp(0, 255):to('uint8')
  return require('vision.io').encode_jpeg(image)
end

local Decode = {}

function Decode:init(jpeg, core)
  self.jpeg, self.io = jpeg, require 'vision.io'
  if core then require('rtrain._ingest').bind {core} end
end

function Decode:call(row)
  local image = self.io.decode_image(self.jpeg)
  local first = math.floor((image:size(1) - CROP) / 2)
  row.image = image:narrow(1, first, CROP):narrow(2, first, CROP):contiguous()
  return row
end

local function train_func(options)
  require('rtrain._ingest').bind {RANK_CORE}
  torch.set_num_threads(1)
  local clock = require 'events'
  local events = clock.open(options.events, train.get_context():get_world_rank())
  local shard = train.get_dataset_shard()
  local taken, stalled_s, asked = 0, 0, clock.now()
  for batch in shard:iter_batches {batch_size = options.batch, prefetch_batches = options.ingest} do
    taken = taken + 1
    if taken > options.warm_batches then stalled_s = stalled_s + clock.now() - asked end
    assert(batch.image:size(0) == options.batch)
    clock.sleep(options.step_ms / 1000)
    train.collective.barrier()
    asked = clock.now()
    if taken == options.warm_batches + options.batches then break end
  end
  events:mark('stall', stalled_s / (stalled_s + options.batches * options.step_ms / 1000))
  train.report {stall = stalled_s, batches = taken}
end

local rows = 2 * config.batch * (config.warm_batches + config.batches)
train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = config,
  scaling_config = train.ScalingConfig {num_workers = 2, placement_strategy = 'STRICT_PACK'},
  datasets = {train = data.range(rows, {override_num_blocks = rows / config.batch}):map(Decode, {
    fn_constructor_args = {make_jpeg(config.size), config.ingest > 0 and INGEST_CORE or nil}})},
  dataset_config = train.DataConfig {ingest_workers = config.ingest},
}:fit()
