// host/loop/messages/fork.h: the messages to the process that workers are forked from
// (host/node/workers/zygote.h), and its answers.
//
// Plain data, one packet each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/codec/record.h"

namespace rtrain::message {

// Asks it to fork a worker. The worker's descriptors come with the message.
struct Fork {
  static constexpr std::string_view kType = "fork";
  int rank = 0;
  std::vector<std::string> env;  // NAME=VALUE, over what the process has
  std::vector<int> cpus;         // the worker may run on these; empty: on those of the process
  std::vector<int> places;       // the worker's number of each descriptor

  static constexpr RecordFields kFields{required("rank", &Fork::rank), required("env", &Fork::env),
                                        required("cpus", &Fork::cpus),
                                        required("places", &Fork::places)};
};

// The worker is a child of the process that sent Fork.
struct Forked {
  static constexpr std::string_view kType = "forked";
  int64_t pid = 0;  // 0: the system refused to fork

  static constexpr RecordFields kFields{required("pid", &Forked::pid)};
};

}  // namespace rtrain::message
