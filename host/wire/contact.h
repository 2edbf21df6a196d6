// host/wire/contact.h: where a server is, as a value and as a file that only the user can read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/wire/secret.h"

namespace rtrain::wire {

struct WireContact {
  std::vector<std::string> hosts;  // names or addresses, tried in this order
  int port = 0;
  int more_ports = 0;  // the server may listen at one of that many following ports
  Secret secret = Secret::none();
  // Another one may take its place, as long as the client has time: what listens there now may be a
  // stranger.
  bool may_change = false;
};

// A contact on disk, with what tells one start of a job from another.
struct ContactFile {
  WireContact contact;
  std::string start;  // which start of the job has written it
  std::string host;   // the name of the node that did
  std::string nonce;  // random

  // It appears complete or not at all, for the user alone; missing folders are made. Throws
  // Error(kEnvironment).
  void write(const std::string& path) const;
  // Nothing when there is no such file. Throws Error(kEnvironment) for a file of another user, one
  // that others can read, and one that is damaged.
  static std::optional<ContactFile> read(const std::string& path);
};

}  // namespace rtrain::wire
