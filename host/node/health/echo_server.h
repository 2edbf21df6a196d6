// host/node/health/echo_server.h: answers other nodes of a run that check whether they can reach
// this one.
//
// A client sends the key, then any number of requests: four bytes with a number in network order,
// followed by that many bytes, which are sent back and not kept. A client with a wrong key is
// disconnected. Without a key a client has a few seconds, and all such clients together have at
// most a few hundred of this process's descriptors. With the key a request may take two minutes.
//
// Belongs to the loop's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/loop/loop.h"
#include "host/loop/poll.h"
#include "host/loop/timer.h"
#include "host/machine/processes/open_files.h"

namespace rtrain::node {

inline constexpr size_t kEchoKeyBytes = 32;
inline constexpr size_t kMostEchoBytes = size_t{1} << 20;

// The header of a request for that many bytes.
std::string echo_header(size_t bytes);

class EchoServer {
 public:
  // Listens at the address and port, or on another port if that one is in use. Throws
  // Error(kEnvironment). The key has kEchoKeyBytes bytes.
  EchoServer(loop::Loop& loop, const std::string& address, int port, std::string key);
  ~EchoServer();

  int port() const;

 private:
  class Guest;
  void accept();
  bool make_place();
  void look();

  loop::Loop& loop_;
  std::string key_;
  std::unique_ptr<machine::FileReserve> files_;  // for strangers
  std::unique_ptr<loop::Poll> listener_;
  std::vector<std::unique_ptr<Guest>> guests_;  // oldest first
  loop::Timer timer_;
};

}  // namespace rtrain::node
