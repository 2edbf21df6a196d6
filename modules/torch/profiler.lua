-- torch/profiler.lua: torch.profiler. Each file is read when its first name is used.

return require 'base.namespace'('torch.profiler', {
  files = {
    {'torch.profiler.profile', 'profile', 'supported_activities'},
    {'torch.profiler.schedule', 'schedule', 'ProfilerAction'},
    {'torch.profiler.activity', 'ProfilerActivity'},
    {'torch.profiler.trace_handler', 'tensorboard_trace_handler'},
    {'torch.profiler.record_function', 'record_function'},
  },
  absent = {
    ExecutionTraceObserver = 'it writes graphs for Python tools to run again',
    kineto_available = 'it always is',
    DeviceType = "an event's device_type is a string",
  },
})
