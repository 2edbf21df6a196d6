#include "host/node/last_moments.h"

#include "host/machine/native_frame.h"

namespace rtrain {

LastMoments read_last_moments(const Crash& crash) {
  LastMoments out{.signal = crash.signal,
                  .thread = std::string(crash.thread.view()),
                  .reason = std::string(crash.reason.view())};
  for (int i = 0; i < crash.num_lua; ++i) {
    out.lua.emplace_back(crash.lua[static_cast<size_t>(i)].view());
  }
  for (int i = 0; i < crash.num_native; ++i) {
    const NativeFrame& frame = crash.native[static_cast<size_t>(i)];
    out.native.push_back(
        native_frame_text(frame.function.view(), frame.module.view(), frame.offset));
  }
  return out;
}

}  // namespace rtrain
