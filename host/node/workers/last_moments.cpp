#include "host/node/workers/last_moments.h"

#include <algorithm>

#include "host/machine/processes/native_frame.h"

namespace rtrain::node {
namespace {

// The fault that ended the worker may have overwritten its page too, so nothing in it is trusted.
template <class Frames>
size_t count_in(const Frames& frames, int count) {
  return std::min(frames.size(), static_cast<size_t>(std::max(0, count)));
}

}  // namespace

LastMoments read_last_moments(const pages::Crash& crash) {
  LastMoments out{.signal = crash.signal,
                  .thread = std::string(crash.thread.view()),
                  .reason = std::string(crash.reason.view())};
  for (size_t i = 0; i < count_in(crash.lua, crash.num_lua); ++i) {
    out.lua.emplace_back(crash.lua[i].view());
  }
  for (size_t i = 0; i < count_in(crash.native, crash.num_native); ++i) {
    const pages::NativeFrame& frame = crash.native[i];
    out.native.push_back(
        machine::native_frame_text(frame.function.view(), frame.module.view(), frame.offset));
  }
  return out;
}

}  // namespace rtrain::node
