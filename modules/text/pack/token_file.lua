-- text/pack/token_file.lua: a safetensors file with the ids of many documents.
--
-- `tokens` are the ids of all documents one after another: uint16 where the vocabulary allows it, else int32. `documents`
-- are the places at which a document begins, int64. Python's safetensors reads it too.

local errors = require 'base.errors'
local ffi = require 'ffi'
local json = require 'json'
local ordered = require 'base.ordered'
local random_hex = require 'base.random_hex'
local system = require 'base._system'
local torch = require 'torch'

local token_file = {}

-- The header is written when the sizes are known, in front of what it describes.
local HEADER_BYTES = 1024

local function checked(path, ok, reason)
  if not ok then errors.raise('environment', ('text.pack: %s: %s'):format(path, reason or 'it cannot be written')) end
  return ok
end

local function little_endian(number)
  local out = {}
  for i = 1, 8 do out[i], number = string.char(number % 256), math.floor(number / 256) end
  return table.concat(out)
end

-- Places at which documents begin, of their lengths.
local function starts_of(lengths)
  if #lengths == 0 then return torch.empty({0}, {dtype = 'int64'}) end
  local counts = torch.frombuffer(table.concat(lengths), {dtype = 'int64'})
  return counts:cumsum(0) - counts
end

local function bytes_of(tensor) return ffi.string(ffi.cast('const char *', tensor:data_ptr()), tensor:numel() * 8) end

local function header_of(id_bytes, token_bytes, padding, documents)
  local at = token_bytes + padding
  local header = ordered.new {
    {'tokens', ordered.new {{'dtype', id_bytes == 2 and 'U16' or 'I32'}, {'shape', {token_bytes / id_bytes}},
                            {'data_offsets', {0, token_bytes}}}},
    -- Numbers of eight bytes stand at a multiple of eight.
    {'padding', ordered.new {{'dtype', 'U8'}, {'shape', {padding}}, {'data_offsets', {token_bytes, at}}}},
    {'documents', ordered.new {{'dtype', 'I64'}, {'shape', {documents}}, {'data_offsets', {at, at + 8 * documents}}}},
  }
  local text = json.encode(header)
  return little_endian(HEADER_BYTES - 8) .. text .. (' '):rep(HEADER_BYTES - 8 - #text)
end

local function write_parts(file, path, parts, id_bytes)
  local token_bytes, lengths = 0, {}
  checked(path, file:write((' '):rep(HEADER_BYTES)))
  for part in parts do
    checked(path, file:write(part.ids))
    token_bytes, lengths[#lengths + 1] = token_bytes + #part.ids, part.lengths
  end
  local starts, padding = starts_of(lengths), -token_bytes % 8
  checked(path, file:write(('\0'):rep(padding), bytes_of(starts)))
  checked(path, file:seek('set', 0))
  checked(path, file:write(header_of(id_bytes, token_bytes, padding, starts:numel())))
end

---Writes the file. It appears complete under its name, or not at all.
---@param path string its folder is made
---@param parts fun(): {ids: string, lengths: string}|nil of some documents, in order: ids as bytes, lengths int64
---@param id_bytes integer 2 or 4
function token_file.write(path, parts, id_bytes)
  system.make_folders(path:match '^(.*)/' or '.')
  local partial = ('%s.%s.partial'):format(path, random_hex(8))
  local file, reason = io.open(partial, 'wb')
  checked(path, file, reason)
  local ok, failure = xpcall(write_parts, errors.wrap, file, path, parts, id_bytes)
  local closed, why = file:close()
  if ok and closed then return checked(path, os.rename(partial, path)) end
  os.remove(partial)
  if not ok then error(failure, 0) end
  checked(path, closed, why)
end

---Reads the file: its values stay there until they are used. nil without a file, or for one that is not complete.
---@param path string
---@return {tokens: torch.Tensor, documents: torch.Tensor}|nil
function token_file.open(path)
  if system.path_kind(path) ~= 'file' then return nil end
  local ok, found = pcall(torch.load_safetensors, path, {mmap = true})
  return ok and found.tokens and found.documents and found or nil
end

return token_file
