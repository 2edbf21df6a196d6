#include "host/dash/server/request_turns.h"

#include <utility>

namespace rtrain::dash {

void RequestTurns::add(WaitingRequest request) {
  auto& waiting = viewers_[request.viewer].waiting;
  waiting.push_back(std::move(request));
}

std::optional<WaitingRequest> RequestTurns::next() {
  auto at = viewers_.upper_bound(last_);
  for (size_t i = 0; i < viewers_.size(); ++i, ++at) {
    if (at == viewers_.end()) at = viewers_.begin();
    Viewer& viewer = at->second;
    if (viewer.waiting.empty() || viewer.under_way >= most_of_one_) continue;
    last_ = at->first;
    ++viewer.under_way;
    WaitingRequest out = std::move(viewer.waiting.front());
    viewer.waiting.pop_front();
    return out;
  }
  return std::nullopt;
}

void RequestTurns::end(const std::string& viewer) {
  const auto found = viewers_.find(viewer);
  if (--found->second.under_way == 0 && found->second.waiting.empty()) viewers_.erase(found);
}

}  // namespace rtrain::dash
