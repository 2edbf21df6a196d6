-- torch/operators/fft.lua: torch.fft: discrete Fourier transforms.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local fft = {}

---Computes the Fourier transform along a dimension.
---
---```lua
---local torch = require 'torch'
---assert(torch.real(torch.fft.fft(torch.ones(4)))[0]:item() == 4)
---```
---@param input torch.Tensor (…, n) real or complex
---@param n? integer transformed length: input is cut or padded with zeros
---@param dim? integer
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # (…, n) complex
function fft.fft(input, n, dim, norm) end

---Computes the inverse of fft.
---
---```lua
---local torch = require 'torch'
---local x = torch.ones(4)
---assert(torch.allclose(torch.real(torch.fft.ifft(torch.fft.fft(x))), x))
---```
---@param input torch.Tensor (…, n) complex
---@param n? integer transformed length: input is cut or padded with zeros
---@param dim? integer
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # (…, n) complex
function fft.ifft(input, n, dim, norm) end

---Computes fft of real numbers: only the half that determines the rest.
---
---```lua
---local torch = require 'torch'
---assert(torch.fft.rfft(torch.ones(8)).shape[1] == 5)
---```
---@param input torch.Tensor (…, n) real
---@param n? integer transformed length: input is cut or padded with zeros
---@param dim? integer
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # (…, ⌊n / 2⌋ + 1) complex
function fft.rfft(input, n, dim, norm) end

---Computes the inverse of rfft.
---
---```lua
---local torch = require 'torch'
---assert(torch.allclose(torch.fft.irfft(torch.fft.rfft(torch.ones(8))), torch.ones(8)))
---```
---@param input torch.Tensor (…, m) complex
---@param n? integer transformed length: input is cut or padded with zeros
---@param dim? integer
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # (…, n) real, n = 2 · (m - 1) by default
function fft.irfft(input, n, dim, norm) end

---Computes fft of a Hermitian signal, of which one half is given.
---@param input torch.Tensor (…, m) complex
---@param n? integer transformed length: input is cut or padded with zeros
---@param dim? integer
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # (…, n) real
function fft.hfft(input, n, dim, norm) end

---Computes the inverse of hfft.
---@param input torch.Tensor (…, n) real
---@param n? integer transformed length: input is cut or padded with zeros
---@param dim? integer
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # (…, ⌊n / 2⌋ + 1) complex
function fft.ihfft(input, n, dim, norm) end

---Computes fft along the last two dimensions.
---@param input torch.Tensor (…, h, w)
---@param s? integer|integer[] transformed lengths
---@param dim? integer|integer[]
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # (…, h, w) complex
function fft.fft2(input, s, dim, norm) end

---Computes the inverse of fft2.
---@param input torch.Tensor (…, h, w) complex
---@param s? integer|integer[] transformed lengths
---@param dim? integer|integer[]
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # (…, h, w) complex
function fft.ifft2(input, s, dim, norm) end

---Computes rfft along the last two dimensions.
---@param input torch.Tensor (…, h, w) real
---@param s? integer|integer[] transformed lengths
---@param dim? integer|integer[]
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # (…, h, ⌊w / 2⌋ + 1) complex
function fft.rfft2(input, s, dim, norm) end

---Computes the inverse of rfft2.
---@param input torch.Tensor (…, h, m) complex
---@param s? integer|integer[] transformed lengths
---@param dim? integer|integer[]
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # (…, h, w) real
function fft.irfft2(input, s, dim, norm) end

---Computes hfft along the last two dimensions.
---@param input torch.Tensor (…, h, m) complex
---@param s? integer|integer[] transformed lengths
---@param dim? integer|integer[]
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # (…, h, w) real
function fft.hfft2(input, s, dim, norm) end

---Computes the inverse of hfft2.
---@param input torch.Tensor (…, h, w) real
---@param s? integer|integer[] transformed lengths
---@param dim? integer|integer[]
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # (…, h, ⌊w / 2⌋ + 1) complex
function fft.ihfft2(input, s, dim, norm) end

---Computes fft along several dimensions (default: all).
---@param input torch.Tensor any shape
---@param s? integer|integer[] transformed lengths
---@param dim? integer|integer[]
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # complex, of that shape
function fft.fftn(input, s, dim, norm) end

---Computes the inverse of fftn.
---@param input torch.Tensor any shape, complex
---@param s? integer|integer[] transformed lengths
---@param dim? integer|integer[]
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # complex, of that shape
function fft.ifftn(input, s, dim, norm) end

---Computes rfft along several dimensions (default: all).
---@param input torch.Tensor any shape, real
---@param s? integer|integer[] transformed lengths
---@param dim? integer|integer[]
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # complex, the last dimension halved
function fft.rfftn(input, s, dim, norm) end

---Computes the inverse of rfftn.
---@param input torch.Tensor any shape, complex
---@param s? integer|integer[] transformed lengths
---@param dim? integer|integer[]
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # real
function fft.irfftn(input, s, dim, norm) end

---Computes hfft along several dimensions (default: all).
---@param input torch.Tensor any shape, complex
---@param s? integer|integer[] transformed lengths
---@param dim? integer|integer[]
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # real
function fft.hfftn(input, s, dim, norm) end

---Computes the inverse of hfftn.
---@param input torch.Tensor any shape, real
---@param s? integer|integer[] transformed lengths
---@param dim? integer|integer[]
---@param norm? 'backward'|'forward'|'ortho' direction that divides by n; 'ortho': both divide by √n; default 'backward'
---@return torch.Tensor # complex, the last dimension halved
function fft.ihfftn(input, s, dim, norm) end

---Returns the frequencies of the results of fft.
---
---```lua
---local torch = require 'torch'
---assert(torch.fft.fftfreq(4)[1]:item() == 0.25)
---```
---@param n integer
---@param d? number distance between samples
---@return torch.Tensor # (n)
function fft.fftfreq(n, d) end

---Returns the frequencies of the results of rfft.
---
---```lua
---local torch = require 'torch'
---assert(torch.fft.rfftfreq(4)[2]:item() == 0.5)
---```
---@param n integer
---@param d? number distance between samples
---@return torch.Tensor # (⌊n / 2⌋ + 1)
function fft.rfftfreq(n, d) end

---Moves the frequency 0 to the middle.
---
---```lua
---local torch = require 'torch'
---assert(torch.fft.fftshift(torch.fft.fftfreq(4))[2]:item() == 0)
---```
---@param input torch.Tensor any shape
---@param dim? integer|integer[] default: all
---@return torch.Tensor # of the shape of input
function fft.fftshift(input, dim) end

---Computes the inverse of fftshift.
---
---```lua
---local torch = require 'torch'
---local x = torch.fft.fftfreq(5)
---assert(torch.equal(torch.fft.ifftshift(torch.fft.fftshift(x)), x))
---```
---@param input torch.Tensor any shape
---@param dim? integer|integer[] default: all
---@return torch.Tensor # of the shape of input
function fft.ifftshift(input, dim) end

return fft
