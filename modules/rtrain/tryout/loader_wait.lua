-- rtrain/tryout/loader_wait.lua: LoaderWait: gives a tried-out script --wait seconds for its first batch.

local class = require 'base.class'
local errors = require 'base.errors'
local files = require 'rtrain.tryout.files'
local system = require 'base._system'

local LoaderWait = class('LoaderWait')

LoaderWait.LOOKED_FOR = 'a loop over a DataLoader, or over iter_torch_batches() or iter_batches() of a dataset shard '
  .. '(train.get_dataset_shard), or a step of an optimizer'

---@param asked {folder: string, wait_s: number}
function LoaderWait:init(asked) self._folder, self._wait_s = asked.folder, asked.wait_s end

---Must be called a few times a second. Raises code 'timeout' when the train function has taken too long.
function LoaderWait:tick()
  if self._is_over then return end
  if not self._start_s then
    if files.exists(self._folder, 'started-0') then self._start_s = system.monotonic() end
    return
  end
  if files.exists(self._folder, 'loop-0') then
    self._is_over = true
  elseif system.monotonic() - self._start_s >= self._wait_s then
    self._is_over = true
    errors.raise('timeout', ('no loader within %g s of the train function (--wait): looked for %s'):format(self._wait_s,
      LoaderWait.LOOKED_FOR))
  end
end

---Ends the wait. TimeLimit has the same method.
function LoaderWait:close() self._is_over = true end

return LoaderWait
