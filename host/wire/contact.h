// host/wire/contact.h: a server's address, as a value and as a file that only the user can read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/wire/secret.h"

namespace rtrain::wire {

struct WireContact {
  std::vector<std::string> hosts;  // names or addresses, tried in this order
  int port = 0;
  int more_ports = 0;  // the server may listen at one of this many next ports
  Secret secret = Secret::none();
  // Another server may take its place while the client still has time: the process that listens
  // there now may be a stranger.
  bool may_change = false;
};

// A contact on disk, with values that distinguish one start of a job from another.
struct ContactFile {
  WireContact contact;
  std::string start;  // the start of the job that has written it
  std::string host;   // the name of the node that has written it
  std::string nonce;  // random

  // Writes the file, which appears complete or not at all, and which only the user can read.
  // Creates missing folders. Throws Error(kEnvironment).
  void write(const std::string& path) const;
  // Reads the file; nullopt when there is none. Throws Error(kEnvironment) for a file of another
  // user, one that others can read, and one that is damaged.
  static std::optional<ContactFile> read(const std::string& path);
};

}  // namespace rtrain::wire
