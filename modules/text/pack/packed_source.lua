-- text/pack/packed_source.lua: blocks of equal length from a file of tokens, as rows of a dataset.

local Block = require 'rtrain.data.blocks.block'
local errors = require 'base.errors'
local once = require 'rtrain.data.blocks.once'
local Source = require 'rtrain.data.sources.source'
local token_file = require 'text.pack.token_file'
local torch = require 'torch'

-- Tokens of a fragment: what a thread reads at once.
local FRAGMENT_TOKENS = 2 ^ 16

-- The label of a token that is not to be predicted.
local IGNORED = -100

---Rows of `length` tokens. Arguments: the path of a token file; length; {tokens, documents}: what the file has.
---@class text.PackedSource: data.Source
---@overload fun(path: string, length: integer, counts: {tokens: integer, documents: integer}): text.PackedSource
local PackedSource = Source:extend('PackedSource')
PackedSource.name = 'Pack'
PackedSource.random_access = true

function PackedSource:init(path, length, counts)
  self._path, self._length, self._counts = path, length, counts
end

-- The file, open in this thread.
local function file_of(self)
  local path, counts = self._path, self._counts
  local file = self._file or token_file.open(path)
  if not file then
    errors.raise('not_found', ('text.pack: %s is not on this node: give the option folder, of a file system that all nodes '
      .. 'have'):format(path))
  end
  if file.tokens:numel() ~= counts.tokens or file.documents:numel() ~= counts.documents then
    errors.raise('user', ('text.pack: %s was written again meanwhile: it has %d tokens and had %d'):format(path,
      file.tokens:numel(), counts.tokens))
  end
  self._file = file
  return file
end

-- It travels as its path.
function PackedSource:__pack()
  return 'text.pack.packed_source', '_unpack', {path = self._path, length = self._length, counts = self._counts}
end

function PackedSource:num_rows() return math.floor(self._counts.tokens / self._length) end

function PackedSource:schema() return self:take(torch.empty({0}, {dtype = 'int64'})):schema() end

function PackedSource:input_files() return {self._path} end

function PackedSource:fragments()
  local out, step, total = {}, math.max(1, math.floor(FRAGMENT_TOKENS / self._length)), self:num_rows()
  for start = 0, total - 1, step do out[#out + 1] = {start = start, rows = math.min(step, total - start)} end
  return out
end

function PackedSource:cut(fragment, skip, count) return {start = fragment.start + skip, rows = count} end

-- For each token of the rows, (n, length), its place in its document, or in its row where the document began before it.
local function positions_of(self, first)
  local n, length = first:size(0), self._length
  local begins = torch.zeros({n, length}, {dtype = 'int64'})
  local documents = file_of(self).documents
  local from = torch.searchsorted(documents, first):tolist()
  local to = torch.searchsorted(documents, first + length):tolist()
  for row, start in ipairs(first:tolist()) do
    local count = to[row] - from[row]
    if count > 0 then
      local places = documents:narrow(0, from[row], count) - start
      begins[row - 1]:index_copy_(0, places, places)
    end
  end
  return torch.arange(length):unsqueeze(0) - begins:cummax(1)
end

---Returns the rows at the given places: input_ids, position_ids and labels, each int64 (n, length).
---@param indices torch.Tensor int64 (n)
---@return data.Block
function PackedSource:take(indices)
  local length, tokens = self._length, file_of(self).tokens
  local first = indices * length
  local ids = torch.empty({first:size(0), length}, {dtype = 'int64'})
  for row, start in ipairs(first:tolist()) do ids[row - 1]:copy_(tokens:narrow(0, start, length)) end
  local positions = positions_of(self, first)
  return Block({'input_ids', 'position_ids', 'labels'}, {ids, positions, ids:masked_fill(positions:eq(0), IGNORED)})
end

function PackedSource:read(fragment)
  return once(self:take(fragment.indices or torch.arange(fragment.start, fragment.start + fragment.rows)))
end

return {PackedSource = PackedSource,
        _unpack = function(state) return PackedSource(state.path, state.length, state.counts) end}
