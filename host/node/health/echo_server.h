// host/node/health/echo_server.h: answers other hosts of a run that try whether they reach this
// one.
//
// A client sends the key, and then any number of requests: four bytes with a number in network
// order, and that many bytes. It receives as many. Nothing of it is kept. Who sends another key is
// cut off; without one no client has more than a few seconds, and all of them together no more than
// a few hundred of this process's descriptors. With the key a request has two minutes.
//
// Belongs to the loop's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/loop/loop.h"
#include "host/loop/poll.h"
#include "host/loop/timer.h"

namespace rtrain {

inline constexpr size_t kEchoKeyBytes = 32;
inline constexpr size_t kMostEchoBytes = size_t{1} << 20;

// Of a request for that many bytes.
std::string echo_header(size_t bytes);

class EchoServer {
 public:
  // Listens at the address and port, on another port where that is in use. Throws
  // Error(kEnvironment). The key has kEchoKeyBytes.
  EchoServer(Loop& loop, const std::string& address, int port, std::string key);
  ~EchoServer();

  int port() const;

 private:
  class Guest;
  void accept();
  bool make_place();
  void look();

  Loop& loop_;
  std::string key_;
  std::unique_ptr<Poll> listener_;
  std::vector<std::unique_ptr<Guest>> guests_;  // the oldest first
  Timer timer_;
};

}  // namespace rtrain
