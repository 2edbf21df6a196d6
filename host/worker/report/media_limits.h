// host/worker/report/media_limits.h: limits what a rank records with train.log_image and similar
// functions in one attempt. Thread: main.
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

  // Counts an item. Throws Error(kArgument), and does not count it, where it is too large or the
  // attempt's limit is reached.
  void add(const message::Media& media);

 private:
  int64_t items_ = 0;
  size_t bytes_ = 0;
};

}  // namespace rtrain::worker
