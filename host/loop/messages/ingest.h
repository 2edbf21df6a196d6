// host/loop/messages/ingest.h: what a rank asks for that wants an ingest worker on another node of
// its job; from there on it goes to the agent of that node.
#pragma once

#include <cstdint>
#include <string>

#include "host/base/codec/record.h"

namespace rtrain::message {

// Start one, which connects to that address and port with the secret. Answered by the name of its
// node; empty: there is none without ranks.
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
