-- base/handle.lua: the handle that registering a hook returns.

---A handle that takes an entry off its list: `handle:remove()`, as often as one likes.
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
