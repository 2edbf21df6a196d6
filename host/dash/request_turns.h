// host/dash/request_turns.h: requests that wait for a thread. Those of one viewer come in their
// order; viewers take turns, and one alone never has all threads. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "host/http/http_request.h"

namespace rtrain::dash {

struct WaitingRequest {
  std::string viewer;
  int64_t connection = 0;
  http::HttpRequest request;
};

class RequestTurns {
 public:
  // How many of one viewer are answered at the same time.
  explicit RequestTurns(size_t most_of_one) : most_of_one_(most_of_one) {}

  void add(WaitingRequest request);
  // Whose turn it is; it is under way until end(). Nothing: no request waits that may have another
  // one under way.
  std::optional<WaitingRequest> next();
  void end(const std::string& viewer);

 private:
  struct Viewer {
    std::deque<WaitingRequest> waiting;
    size_t under_way = 0;
  };

  size_t most_of_one_;
  std::map<std::string, Viewer> viewers_;  // who waits, or has one under way
  std::string last_;                       // whose turn it was
};

}  // namespace rtrain::dash
