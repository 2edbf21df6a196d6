-- torch/functions/spectrogram.lua: torch.stft: the short-time Fourier transform.

local args = require 'base.args'
local aten = require 'torch.functions.aten'

local spectrogram = {}

local stft = args.signature('stft', {'input', 'n_fft', {'hop_length'}, {'win_length'}, {'window'}, {'center', true},
  {'pad_mode', 'reflect'}, {'normalized', false}, {'onesided'}, {'return_complex'}, {'align_to_window'}})

---Computes Fourier transforms (…, frequencies, frames) of overlapping windows of a signal (…, length). PyTorch
---equivalent: torch.stft.
---Arguments: input, n_fft, hop_length = n_fft / 4, win_length = n_fft, window = ones, center = true, pad_mode = 'reflect',
---normalized = false, onesided = true for real input, return_complex (required for real input), align_to_window.
---@param ... any
---@return torch.Tensor complex, or with return_complex = false real with a last dimension of 2
---
---```lua
---local torch = require 'torch'
---local x, window = torch.ones(16), torch.hann_window(8)
---local spectrum = torch.stft(x, 8, {window = window, return_complex = true})
---assert(spectrum.shape == torch.Size{5, 9})
---assert(torch.allclose(torch.istft(spectrum, 8, {window = window}), x, {atol = 1e-6}))
---```
function spectrogram.stft(...)
  local p = stft:bind(...)
  -- `center` chooses the overload that pads.
  return aten.stft(p.input, p.n_fft, {hop_length = p.hop_length, win_length = p.win_length, window = p.window,
    center = p.center, pad_mode = p.pad_mode, normalized = p.normalized, onesided = p.onesided,
    return_complex = p.return_complex, align_to_window = p.align_to_window})
end

return spectrogram
