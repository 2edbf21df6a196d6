-- torch/profiler/activity.lua: the activities that a profile can record.

---@class ProfilerActivity
---@field CPU string operators, and ranges of torch.profiler.record_function
---@field CUDA string kernels and copies of the devices, and the calls that launch them
return {ProfilerActivity = require 'base.namespace'('torch.profiler.ProfilerActivity', {}, {CPU = 'CPU', CUDA = 'CUDA'})}
