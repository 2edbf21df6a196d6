// host/node/workers/last_moments.h: describes a fatal signal from the data in a worker's page.
#pragma once

#include <string>
#include <vector>

#include "host/base/codec/record.h"
#include "host/pages/progress_page.h"

namespace rtrain::node {

struct LastMoments {
  int signal = 0;                        // 0: unknown
  std::string thread = {};               // that got the signal, if not the main thread
  std::string reason = {};               // text of an uncaught exception
  std::vector<std::string> lua = {};     // innermost line first
  std::vector<std::string> native = {};  // "at::native::add(…) (libtorch_cpu.so+0x1f20)"

  static constexpr RecordFields kFields{
      required("signal", &LastMoments::signal), optional("thread", &LastMoments::thread),
      optional("reason", &LastMoments::reason), optional("lua", &LastMoments::lua),
      optional("native", &LastMoments::native)};
};

LastMoments read_last_moments(const pages::Crash& crash);

}  // namespace rtrain::node
