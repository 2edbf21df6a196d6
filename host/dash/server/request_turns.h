// host/dash/server/request_turns.h: requests that wait for a thread. A viewer's requests keep their
// order. Viewers take turns, and one viewer alone never gets all threads. Pure.
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
  // `most_of_one`: how many requests of one viewer may be in progress at a time.
  explicit RequestTurns(size_t most_of_one) : most_of_one_(most_of_one) {}

  void add(WaitingRequest request);
  // Returns the next request, which is in progress until end(). Nothing if no request waits, or all
  // waiting viewers have the most in progress.
  std::optional<WaitingRequest> next();
  void end(const std::string& viewer);

 private:
  struct Viewer {
    std::deque<WaitingRequest> waiting;
    size_t under_way = 0;
  };

  size_t most_of_one_;
  std::map<std::string, Viewer> viewers_;  // viewers with a waiting request, or one in progress
  std::string last_;                       // the viewer who had the last turn
};

}  // namespace rtrain::dash
