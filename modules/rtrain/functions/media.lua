-- rtrain/functions/media.lua: train.log_image, log_video, log_audio, log_histogram, log_table, log_text: record media of
-- a rank, in addition to numbers.
--
-- In one attempt a rank may log 10,000 media, each of at most 1,000,000 bytes, and 256 MiB together
-- (host/worker/report/media_limits.h); more raises an error.

local args = require 'base.args'
local errors = require 'base.errors'
local list_length = require 'base.list_length'
local number = require 'base.number'
local ordered = require 'base.ordered'
local pixels = require 'rtrain.functions.pixels'
local session = require 'rtrain.session'

local media = {}

local MAX_NAME_BYTES = 256
local MAX_BINS = 512
local MAX_SIDE = 8192
local MIN_FPS, MAX_FPS = 0.1, 60
local MAX_CHANNELS = 8
local MAX_SAMPLE_RATE = 768000

local function fail(format, ...) errors.raise('argument', format:format(...)) end

local function check_name(call, name)
  if type(name) ~= 'string' or name == '' then
    fail('%s: the name: expected a string, got %s', call, name == '' and 'an empty one' or type(name))
  end
  if #name > MAX_NAME_BYTES then fail('%s: the name has %d bytes, at most %d are allowed', call, #name, MAX_NAME_BYTES) end
end

local function is_step(step) return type(step) == 'number' and step % 1 == 0 and math.abs(step) <= 2 ^ 53 end

-- Sends the item. The default step is one more than the last step of its name.
local function record(call, name, step, data)
  local state = session.get(('train.%s()'):format(call))
  if state.virtual and state.virtual:is_further() then return end
  local kind = call:match '^log_(.*)$'
  state.media_steps = state.media_steps or {}
  local key = kind .. ' ' .. name
  if step == nil then step = state.media_steps[key] or 0 end
  if not is_step(step) then fail('%s: step = %s: expected an integer', call, tostring(step)) end
  require('rtrain._worker').log_media(kind, name, step, data)
  state.media_steps[key] = step + 1
end

-- Makes the checks that are common to all functions.
local function begin(call, name, options, allowed)
  session.get(('train.%s()'):format(call))
  check_name(call, name)
  return args.options(options, allowed, call)
end

local function is_tensor(value) return type(value) == 'userdata' and require('torch').is_tensor(value) end

local function shape_text(tensor) return '{' .. table.concat(tensor.shape, ', ') .. '}' end

---Records an image: `rtrain show RUN --media` shows it. PyTorch equivalent: SummaryWriter.add_image.
---
---It is stored as a PNG of at most 1,000,000 bytes, once for all steps with the same pixels. Any rank may log, without
---waiting for other ranks; at a high rate it waits for the disk.
---
---The default of `step` is one more than the last step of that name, from 0 in each attempt; that of `dataformats` is
---'CHW'.
---@param name string at most 256 bytes, such as 'samples/digit'
---@param img_tensor torch.Tensor uint8, bool, or floating point from 0 to 1 (other values are clamped); {c, h, w}
---  with 1 to 4 channels, or {h, w}
---@param options? {step: integer, dataformats: 'CHW'|'HWC'|'HW'}
---Errors: 'argument' for other tensors, and beyond the limits: 10,000 images, videos, audio clips, histograms, tables and
---texts and 256 MiB for each rank in an attempt.
---
---```lua
---local train, torch = require 'rtrain', require 'torch'
---train.TorchTrainer({
---  train_loop_per_worker = function()
---    train.log_image('samples', torch.rand(3, 8, 8), {step = 1})
---    train.report {epoch = 1}
---  end,
---}):fit()
---```
function media.log_image(name, img_tensor, options)
  options = begin('log_image', name, options, {'step', 'dataformats'})
  record('log_image', name, options.step, pixels.png('log_image', img_tensor, options.dataformats))
end

-- Returns the video as {t, c, h, w}: several of the same length are put next to each other.
local function frames_of(video)
  local shape = shape_text(video)
  if video:dim() == 5 then
    video = video:permute(1, 2, 3, 0, 4):flatten(3)
  elseif video:dim() ~= 4 then
    fail('log_video: the tensor has the shape %s: expected {t, c, h, w} or {n, t, c, h, w}', shape)
  end
  local frames, channels, height, width = unpack(video.shape)
  if channels < 1 or channels > 4 then
    fail('log_video: the tensor of shape %s would have %d channels, expected 1 to 4: is it {t, h, w, c}? Permute it', shape,
      channels)
  end
  if frames < 1 then fail('log_video: the tensor of shape %s has no frame', shape) end
  if math.min(height, width) < 1 or math.max(height, width) > MAX_SIDE then
    fail('log_video: the frames have %d x %d pixels, expected 1 to %d on each side', height, width, MAX_SIDE)
  end
  return video
end

---Records a video: `rtrain show RUN --media -o FOLDER` writes it, `rtrain dash` plays it. PyTorch equivalent:
---SummaryWriter.add_video; W&B equivalent: wandb.Video.
---
---It is stored as an animated PNG of at most 1,000,000 bytes, without loss; browsers play it, and other programs show its
---first frame. The default of `step` is one more than the last step of that name, from 0 in each attempt; that of `fps`, in
---frames a second, is 4.
---@param name string at most 256 bytes, such as 'episodes/cartpole'
---@param vid_tensor torch.Tensor uint8, bool, or floating point from 0 to 1 (other values are clamped); {t, c, h, w} with 1
---  to 4 channels, or {n, t, c, h, w}: n videos next to each other
---@param options? {step: integer, fps: number} fps from 0.1 to 60
---Errors: those of log_image.
---
---```lua
---local train, torch = require 'rtrain', require 'torch'
---train.TorchTrainer({
---  train_loop_per_worker = function()
---    train.log_video('noise', torch.rand(10, 3, 8, 8), {step = 1, fps = 5})
---    train.report {epoch = 1}
---  end,
---}):fit()
---```
function media.log_video(name, vid_tensor, options)
  options = begin('log_video', name, options, {'step', 'fps'})
  local fps = options.fps or 4
  if not number.of(fps) or not (fps >= MIN_FPS and fps <= MAX_FPS) then
    fail('log_video: fps = %s: expected a number from %s to %s', tostring(fps), MIN_FPS, MAX_FPS)
  end
  if not is_tensor(vid_tensor) then fail('log_video: expected a tensor, got %s', type(vid_tensor)) end
  local frames = pixels.of('log_video', frames_of(vid_tensor:detach():cpu()))
  local png = require('torch._C').data.encode_apng(frames, fps, pixels.PNG_LEVEL)
  record('log_video', name, options.step, require 'torch.tensor.tensor_bytes'(png))
end

-- Returns the waveform as {channels, samples}.
local function channels_of(waveform)
  local shape = shape_text(waveform)
  if waveform:dim() == 1 then waveform = waveform:unsqueeze(0) end
  if waveform:dim() ~= 2 then
    fail('log_audio: the tensor has the shape %s: expected {samples} or {channels, samples}', shape)
  end
  local channels, samples = waveform.shape[1], waveform.shape[2]
  if channels < 1 or channels > MAX_CHANNELS then
    fail('log_audio: the tensor of shape %s would have %d channels, expected 1 to %d: is it {samples, channels}? Log its :t()',
      shape, channels, MAX_CHANNELS)
  end
  if samples < 1 then fail('log_audio: the tensor of shape %s has no samples', shape) end
  return waveform
end

-- Returns samples of 16 bits; floating-point values are from -1 to 1.
local function samples_of(waveform)
  if waveform.dtype == 'int16' then return waveform end
  if not waveform:is_floating_point() then
    fail('log_audio: the dtype is %s: expected int16, or floating point from -1 to 1', tostring(waveform.dtype))
  end
  return waveform:float():nan_to_num(0):clamp(-1, 1):mul(32767):round():to('int16')
end

---Records audio: `rtrain show RUN --media -o FOLDER` writes it, `rtrain dash` plays it. PyTorch equivalent:
---SummaryWriter.add_audio; W&B equivalent: wandb.Audio.
---
---It is stored as a WAV file with 16 bits for each sample, of at most 1,000,000 bytes: 22 s of one channel at 22,050 samples
---a second. The default of `step` is one more than the last step of that name, from 0 in each attempt; that of
---`sample_rate`, in samples a second, is 44100.
---@param name string at most 256 bytes, such as 'samples/voice'
---@param snd_tensor torch.Tensor floating point from -1 to 1 (other values are clamped, NaN is 0), or int16; {samples}, or
---  {channels, samples} with 1 to 8 channels
---@param options? {step: integer, sample_rate: integer}
---Errors: those of log_image.
---
---```lua
---local train, torch = require 'rtrain', require 'torch'
---train.TorchTrainer({
---  train_loop_per_worker = function()
---    local seconds = torch.arange(8000) / 8000
---    train.log_audio('tone', (2 * math.pi * 440 * seconds):sin(), {step = 1, sample_rate = 8000})
---    train.report {epoch = 1}
---  end,
---}):fit()
---```
function media.log_audio(name, snd_tensor, options)
  options = begin('log_audio', name, options, {'step', 'sample_rate'})
  local rate = options.sample_rate or 44100
  if type(rate) ~= 'number' or rate % 1 ~= 0 or rate < 1 or rate > MAX_SAMPLE_RATE then
    fail('log_audio: sample_rate = %s: expected an integer from 1 to %d', tostring(rate), MAX_SAMPLE_RATE)
  end
  if not is_tensor(snd_tensor) then fail('log_audio: expected a tensor, got %s', type(snd_tensor)) end
  local samples = samples_of(channels_of(snd_tensor:detach():cpu()))
  record('log_audio', name, options.step, require 'rtrain.functions.wav'(samples, rate))
end

---Records a text, for example the output of a model: `rtrain show RUN --media` prints it. PyTorch equivalent:
---SummaryWriter.add_text.
---@param name string at most 256 bytes
---@param text string UTF-8, at most 1,000,000 bytes
---@param options? {step: integer} default one more than the step before of that name, from 0 in each attempt
---Errors: those of log_image.
---
---```lua
---local train = require 'rtrain'
---train.TorchTrainer({
---  train_loop_per_worker = function()
---    train.log_text('sample', 'once upon a time', {step = 1})
---    train.report {epoch = 1}
---  end,
---}):fit()
---```
function media.log_text(name, text, options)
  options = begin('log_text', name, options, {'step'})
  if type(text) ~= 'string' then fail('log_text: expected a string, got %s', type(text)) end
  record('log_text', name, options.step, text)
end

local function flat_values(values)
  local torch = require 'torch'
  if is_tensor(values) then
    if values:is_complex() then fail('log_histogram: the tensor is complex: log its :abs() or its parts') end
    return values:detach():cpu():flatten():double()
  end
  if type(values) ~= 'table' then fail('log_histogram: expected a tensor or a list of numbers, got %s', type(values)) end
  for i, value in ipairs(values) do
    if not number.of(value) then fail('log_histogram: value %d is a %s: expected a number', i, type(value)) end
  end
  if #values == 0 then return torch.zeros({0}, {dtype = 'float64'}) end
  return torch.tensor(values, {dtype = 'float64'})
end

-- Returns the histogram as plain data: `edges` has one more element than `counts`.
local function histogram_of(values, bins)
  local torch = require 'torch'
  local finite = values:masked_select(values:isfinite())
  local num = finite:numel()
  if num == 0 then fail('log_histogram: there is no finite number among the %d values', values:numel()) end
  local min, max = finite:min():item(), finite:max():item()
  local low, high = min, max
  if low == high then low, high = low - 0.5, high + 0.5 end
  local width = (high - low) / bins
  local edges = {}
  for i = 0, bins do edges[i + 1] = i == bins and high or low + i * width end
  return ordered.new {
    {'edges', edges}, {'counts', torch.histc(finite, bins, low, high):tolist()}, {'num', num}, {'min', min}, {'max', max},
    {'sum', finite:sum():item()}, {'sum_squares', finite:square():sum():item()}, {'nonfinite', values:numel() - num},
  }
end

---Records the distribution of numbers, such as weights or gradients: `rtrain show RUN --media` draws it. PyTorch
---equivalent: SummaryWriter.add_histogram.
---
---Stores bins of the same width from the smallest to the largest number, and their counts. NaN and the infinities are
---counted separately.
---
---The default of `step` is one more than the last step of that name, from 0 in each attempt; `bins` is 64, at most 512.
---@param name string at most 256 bytes
---@param values torch.Tensor|number[] of any shape
---@param options? {step: integer, bins: integer}
---Errors: those of log_image; 'argument' if no number is finite.
---
---```lua
---local train, torch = require 'rtrain', require 'torch'
---train.TorchTrainer({
---  train_loop_per_worker = function()
---    train.log_histogram('fc.weight', torch.randn(100), {step = 1, bins = 10})
---    train.report {epoch = 1}
---  end,
---}):fit()
---```
function media.log_histogram(name, values, options)
  options = begin('log_histogram', name, options, {'step', 'bins'})
  local bins = options.bins or 64
  if type(bins) ~= 'number' or bins % 1 ~= 0 or bins < 1 or bins > MAX_BINS then
    fail('log_histogram: bins = %s: expected an integer from 1 to %d', tostring(bins), MAX_BINS)
  end
  record('log_histogram', name, options.step, histogram_of(flat_values(values), bins))
end

local function cell_of(value, row, column)
  local kind = type(value)
  if kind == 'number' or kind == 'string' or kind == 'boolean' then return value end
  if is_tensor(value) and value:dim() == 0 then return value:item() end
  fail("log_table: row %d, column '%s' is a %s: expected a number, string or boolean", row, column, kind)
end

local function rows_of(columns, rows)
  local out = {}
  for i = 1, list_length('log_table: rows', rows) do
    local row = rows[i]
    if type(row) ~= 'table' or #row > #columns then
      fail('log_table: row %d: expected a list of %d cells, got %s', i, #columns,
        type(row) == 'table' and #row .. ' cells' or type(row))
    end
    out[i] = {}
    for j, column in ipairs(columns) do out[i][j] = cell_of(row[j], i, column) end
  end
  return out
end

local function named_columns(given)
  local names, lists, num_rows = {}, {}, nil
  for _, name in ipairs(ordered.keys_of(given)) do
    if type(name) ~= 'string' then fail('log_table: the column %s: expected a name', tostring(name)) end
    local values = given[name]
    if is_tensor(values) then values = values:tolist() end
    if type(values) ~= 'table' then fail("log_table: the column '%s' is a %s: expected a list", name, type(values)) end
    if num_rows and num_rows ~= #values then
      fail("log_table: the column '%s' has %d rows, '%s' has %d", name, #values, names[1], num_rows)
    end
    names[#names + 1], lists[#lists + 1], num_rows = name, values, #values
  end
  local rows = {}
  for i = 1, num_rows or 0 do
    rows[i] = {}
    for j, values in ipairs(lists) do rows[i][j] = values[i] end
  end
  return names, rows
end

-- Parses {columns = names, rows = lists} (W&B calls the rows `data`), or {name = list, …}.
local function table_parts(given)
  local rows = rawget(given, 'rows') or rawget(given, 'data')
  local columns = rawget(given, 'columns')
  if type(columns) ~= 'table' or type(rows) ~= 'table' then return named_columns(given) end
  args.options(given, {'columns', 'rows', 'data'}, 'log_table')
  for i, column in ipairs(columns) do
    if type(column) ~= 'string' then fail('log_table: columns[%d] is a %s: expected a name', i, type(column)) end
  end
  return columns, rows
end

---Records a table: `rtrain show RUN --media` prints it. W&B equivalent: wandb.Table.
---@param name string at most 256 bytes
---@param table table {columns = {'digit', 'said'}, rows = {{7, 9}, {1, 1}}}, with W&B's name `data` for the rows too,
---  or a table of columns {digit = {7, 1}, said = {9, 1}}, sorted by name; cells are numbers, strings and booleans
---@param options? {step: integer} default one more than the step before of that name, from 0 in each attempt
---Errors: those of log_image; 'argument' for a cell of another type, with its row and column.
---
---```lua
---local train = require 'rtrain'
---train.TorchTrainer({
---  train_loop_per_worker = function()
---    train.log_table('wrong', {columns = {'digit', 'said'}, rows = {{7, 9}, {1, 4}}}, {step = 1})
---    train.log_table('wrong', {digit = {7, 1}, said = {9, 4}})
---    train.report {epoch = 1}
---  end,
---}):fit()
---```
function media.log_table(name, table, options)
  options = begin('log_table', name, options, {'step'})
  if type(table) ~= 'table' then fail('log_table: expected a table, got %s', type(table)) end
  local columns, rows = table_parts(table)
  if #columns == 0 then fail('log_table: the table has no column') end
  rows = rows_of(columns, rows)
  if #rows == 0 then rows = require('torch').list {} end
  record('log_table', name, options.step, ordered.new {{'columns', columns}, {'rows', rows}})
end

return media
