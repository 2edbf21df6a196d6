-- rtrain/functions/wav.lua: returns the bytes of a WAV file with 16 bits for each sample.

local tensor_bytes = require 'torch.tensor.tensor_bytes'

local BYTES_PER_SAMPLE = 2
local HEADER_BYTES = 36 -- after the size of the file
local PCM = 1

local function little_endian(value, bytes)
  local out = {}
  for i = 1, bytes do
    out[i] = string.char(value % 256)
    value = math.floor(value / 256)
  end
  return table.concat(out)
end

---@param waveform torch.Tensor int16, {channels, samples}, on the CPU
---@param sample_rate integer
---@return string bytes
return function(waveform, sample_rate)
  local channels = waveform.shape[1]
  local frame_bytes = channels * BYTES_PER_SAMPLE
  local samples = tensor_bytes(waveform:t()) -- those of one moment are next to each other
  return table.concat {
    'RIFF', little_endian(HEADER_BYTES + #samples, 4), 'WAVEfmt ', little_endian(16, 4), little_endian(PCM, 2),
    little_endian(channels, 2), little_endian(sample_rate, 4), little_endian(sample_rate * frame_bytes, 4),
    little_endian(frame_bytes, 2), little_endian(8 * BYTES_PER_SAMPLE, 2), 'data', little_endian(#samples, 4), samples,
  }
end
