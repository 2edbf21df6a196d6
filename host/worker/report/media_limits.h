// host/worker/report/media_limits.h: how much a rank may record with train.log_image and its like
// in one attempt. Main thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host/loop/messages/to_controller.h"

namespace rtrain::worker {

class MediaLimits {
 public:
  static constexpr size_t kMaxItemBytes = 1000000;  // fits into a frame
  static constexpr int64_t kMaxItems = 10000;
  static constexpr size_t kMaxBytes = size_t{256} << 20;

  // Counts it. Throws Error(kArgument) where it, or all together, is too much; then it is not
  // counted.
  void add(const message::Media& media);

 private:
  int64_t items_ = 0;
  size_t bytes_ = 0;
};

}  // namespace rtrain::worker
