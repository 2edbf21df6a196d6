// host/wire/name_lookup.h: resolves the name of a host without blocking the loop. Thread: the
// loop's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/loop/loop.h"
#include "host/wire/socket_address.h"

namespace rtrain::wire {

class NameLookup {
 public:
  // Gets the addresses, with the given port; or none, and the system's error.
  using OnDone =
      std::function<void(std::vector<SocketAddress> addresses, const std::string& error)>;

  // Calls `done` once, after the constructor; not after the object's end.
  NameLookup(loop::Loop& loop, const std::string& host, int port, OnDone done);
  ~NameLookup();
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

 private:
  struct Request;
  std::shared_ptr<Request> request_;
};

}  // namespace rtrain::wire
