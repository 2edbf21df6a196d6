// host/loop/messages/join.h: messages between the processes that a launcher (torchrun, Slurm, …)
// has started as ranks and the one of them on their node that knows the run
// (host/node/join_server.h).
//
// Plain data, one packet each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "host/base/codec/record.h"

namespace rtrain::message {

// A process names its rank. The messages below answer it.
struct Join {
  static constexpr std::string_view kType = "join";
  int rank = 0;  // as the launcher counts
  int local_rank = 0;
  int64_t fit = 1;  // the script's first fit(), second, …
  std::string build_id;
  int64_t pid = 0;

  static constexpr RecordFields kFields{
      required("rank", &Join::rank), required("local_rank", &Join::local_rank),
      required("fit", &Join::fit), required("build_id", &Join::build_id),
      required("pid", &Join::pid)};
};

// An attempt begins. The descriptor of the rank's end of its channel comes with the message.
struct Endpoint {
  static constexpr std::string_view kType = "endpoint";

  static constexpr RecordFields<> kFields{};
};

// The process cannot belong to this run, or the run cannot continue with it.
struct Refused {
  static constexpr std::string_view kType = "refused";
  Error error{Code::kInternal, ""};

  static constexpr RecordFields kFields{required("error", &Refused::error)};
};

// The run is over. Its other results are in the store.
struct Ended {
  static constexpr std::string_view kType = "ended";
  std::string path = {};
  std::optional<Error> error = {};

  static constexpr RecordFields kFields{optional("path", &Ended::path),
                                        optional("error", &Ended::error)};
};

// The process of rank 0 has ended with that code, and so the job has ended.
struct JobOver {
  static constexpr std::string_view kType = "job_over";
  int code = 0;

  static constexpr RecordFields kFields{required("code", &JobOver::code)};
};

using ToJoined = std::variant<Endpoint, Refused, Ended, JobOver>;

}  // namespace rtrain::message
