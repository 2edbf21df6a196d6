// host/api/profile_options.h: what a profile of a process is to record.
#pragma once

namespace rtrain::api {

struct ProfileOptions {
  bool cpu = true;
  bool cuda = false;  // kernels and copies; nothing where the process has no device
  bool record_shapes = false;
  bool profile_memory = false;
  bool with_stack = false;  // the Lua line that has called each operator
  bool with_flops = false;
  // Else only the calling thread, on which it then has to be stopped.
  bool all_threads = false;
};

}  // namespace rtrain::api
