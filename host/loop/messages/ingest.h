// host/loop/messages/ingest.h: a rank's request for an ingest worker on another node of its job.
// The controller forwards it to that node's agent.
#pragma once

#include <cstdint>
#include <string>

#include "host/base/codec/record.h"

namespace rtrain::message {

// Asks for an ingest worker that connects to that address and port with the secret. The answer is
// the name of its node; empty when every node has ranks.
struct StartIngest {
  static constexpr std::string_view kType = "start_ingest";
  int64_t id = 0;
  int rank = 0;
  int number = 0;
  int threads = 1;
  std::string run_id;
  std::string address;
  int port = 0;
  std::string secret;  // for this one connection

  static constexpr RecordFields kFields{
      required("id", &StartIngest::id),         required("rank", &StartIngest::rank),
      required("number", &StartIngest::number), required("threads", &StartIngest::threads),
      required("run_id", &StartIngest::run_id), required("address", &StartIngest::address),
      required("port", &StartIngest::port),     required("secret", &StartIngest::secret)};
};

}  // namespace rtrain::message
