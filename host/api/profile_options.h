// host/api/profile_options.h: the options of a profile of a process, as in torch.profiler.
#pragma once

namespace rtrain::api {

struct ProfileOptions {
  bool cpu = true;
  bool cuda = false;  // kernels and copies; ignored where the process has no GPU
  bool record_shapes = false;
  bool profile_memory = false;
  bool with_stack = false;  // the Lua line that has called each operator
  bool with_flops = false;
  // All threads; otherwise only the calling thread, which then must also stop the profile.
  bool all_threads = false;
};

}  // namespace rtrain::api
