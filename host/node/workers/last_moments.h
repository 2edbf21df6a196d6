// host/node/workers/last_moments.h: what a worker's page holds of a fatal signal, in words.
#pragma once

#include <string>
#include <vector>

#include "host/base/codec/record.h"
#include "host/pages/progress_page.h"

namespace rtrain {

struct LastMoments {
  int signal = 0;                        // 0: nothing is known
  std::string thread = {};               // in which it came, where that is not the main thread
  std::string reason = {};               // the text of an exception that was not caught
  std::vector<std::string> lua = {};     // the innermost line first
  std::vector<std::string> native = {};  // "at::native::add(…) (libtorch_cpu.so+0x1f20)"

  static constexpr std::tuple kFields{
      required("signal", &LastMoments::signal), optional("thread", &LastMoments::thread),
      optional("reason", &LastMoments::reason), optional("lua", &LastMoments::lua),
      optional("native", &LastMoments::native)};
};

LastMoments read_last_moments(const Crash& crash);

}  // namespace rtrain
