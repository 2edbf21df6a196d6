// host/wire/name_lookup.h: the addresses of a host's name, asked of the system without blocking the
// loop. Belongs to the loop's thread.
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
  // The addresses with that port, or none and the system's reason.
  using OnDone =
      std::function<void(std::vector<SocketAddress> addresses, const std::string& error)>;

  // `done` is called once, later; not after the object is gone.
  NameLookup(loop::Loop& loop, const std::string& host, int port, OnDone done);
  ~NameLookup();
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

 private:
  struct Request;
  std::shared_ptr<Request> request_;
};

}  // namespace rtrain::wire
