-- torch/distributed/messages.lua: sends tensors from one rank to another.
--
-- `group` is a result of new_group, nil for all ranks. Ranks in arguments are global ranks, whatever the group. A
-- message is received with the tag that it was sent with, and otherwise in the order of the calls. When send returns,
-- the message has been received, or waits in a buffer of limited size.

local args = require 'base.args'
local engine = require 'torch.distributed.engine'
local errors = require 'base.errors'

local messages = {}
local defined = args.definer(messages)

local function send(name, p, is_async)
  if engine.is_outside(name, p.group) then return nil end
  local dst = engine.rank_of(name, p, 'dst')
  if dst == nil then errors.raise('argument', name .. ": missing argument 'dst'") end
  return engine.joined().send(p.tensor, dst, p.tag, p.group, is_async)
end

local function receive(name, p, is_async)
  if engine.is_outside(name, p.group) then return nil end
  return engine.joined().recv(p.tensor, engine.rank_of(name, p, 'src'), p.tag, p.group, is_async)
end

---Sends a tensor. Arguments: tensor, dst (a rank), group, tag (integer, default 0), group_dst (a rank in the group,
---instead of dst). When it returns, the tensor may be changed again.
---PyTorch equivalent: torch.distributed.send.
defined('send', {'tensor', {'dst'}, {'group'}, {'tag', 0}, {'group_dst'}}, function(p) send('send', p, false) end)

---Receives a tensor, in place. Arguments: tensor (of the sender's shape and dtype), src (a rank; nil: any rank;
---required with NCCL), group, tag (integer, default 0), group_src (a rank in the group, instead of src). Returns the
---sender's rank.
---PyTorch equivalent: torch.distributed.recv.
defined('recv', {'tensor', {'src'}, {'group'}, {'tag', 0}, {'group_src'}}, function(p) return receive('recv', p, false) end)

---As send, without waiting: do not change the tensor until `work:wait()` has returned. Returns the Work.
---PyTorch equivalent: torch.distributed.isend.
defined('isend', {'tensor', {'dst'}, {'group'}, {'tag', 0}, {'group_dst'}}, function(p) return send('isend', p, true) end)

---As recv, without waiting: do not use the tensor until `work:wait()` has returned. Returns the Work; its
---`source_rank()` is the sender's rank.
---PyTorch equivalent: torch.distributed.irecv.
defined('irecv', {'tensor', {'src'}, {'group'}, {'tag', 0}, {'group_src'}}, function(p) return receive('irecv', p, true) end)

---One message of batch_isend_irecv. Arguments: op (dist.isend or dist.irecv), tensor, peer (a rank), group, tag.
---PyTorch equivalent: torch.distributed.P2POp.
defined('P2POp', {'op', 'tensor', 'peer', {'group'}, {'tag', 0}}, function(p)
  if p.op ~= messages.isend and p.op ~= messages.irecv then
    errors.raise('argument', 'P2POp: op is dist.isend or dist.irecv')
  end
  return p
end)

---Begins several messages, to and from any ranks, in any order: over NCCL as one operation. Returns the list of their
---Works; wait for all of them.
---PyTorch equivalent: torch.distributed.batch_isend_irecv.
---@param p2p_op_list table[] results of P2POp
---@return Work[]
function messages.batch_isend_irecv(p2p_op_list)
  local works = {}
  local group = p2p_op_list[1] and p2p_op_list[1].group
  if engine.is_outside('batch_isend_irecv', group) then return works end
  local dist = engine.joined()
  local is_one = #p2p_op_list > 0 and p2p_op_list[1].tensor.is_cuda and dist.get_backend(group) == 'nccl'
  if is_one then dist.start_coalescing(group) end
  for i, each in ipairs(p2p_op_list) do
    works[i] = each.op(each.tensor, each.peer, {group = each.group, tag = each.tag})
  end
  return is_one and {dist.end_coalescing(group)} or works
end

return messages
