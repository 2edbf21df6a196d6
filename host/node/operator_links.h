// host/node/operator_links.h: commands for a live run (`rtrain stop`) from other nodes, through the
// port of its job.
//
// Belongs to the loop's thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "host/base/value.h"
#include "host/wire/link.h"

namespace rtrain::node {

inline constexpr std::string_view kOperatorRole = "operator";

class OperatorLinks {
 public:
  // Any thread may call it. Does nothing if the command has disconnected.
  using Reply = std::function<void(const Value& reply)>;
  using OnRequest = std::function<void(Value request, Reply reply)>;

  OperatorLinks(loop::Loop& loop, OnRequest on_request);
  ~OperatorLinks();

  // The file with the address and the secret, in the run's folder.
  static std::string contact_path(const std::string& run_path);

  // The link with that name; created if it is new.
  wire::Link& link(const std::string& name);
  // The run has ended: closes the links.
  void finish();

 private:
  class Peer;
  loop::Loop& loop_;
  OnRequest on_request_;
  std::list<std::shared_ptr<Peer>> peers_;
};

}  // namespace rtrain::node
