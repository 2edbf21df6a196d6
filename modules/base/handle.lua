-- base/handle.lua: the handle that registering a hook returns.

---Returns a handle whose method `handle:remove()` removes an entry from its list; it may be called repeatedly.
---@param list table[]
---@param entry table
---@return {remove: fun()}
local function handle(list, entry)
  return {
    remove = function()
      for i, other in ipairs(list) do
        if other == entry then return table.remove(list, i) end
      end
    end,
  }
end

return handle
