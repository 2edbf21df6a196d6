// host/loop/turn_end.h: calls a function before the loop waits again, so that work that many
// callbacks of one turn ask for is done once. Belongs to the loop's thread.
#pragma once

#include "host/loop/handle.h"

namespace rtrain::loop {

class TurnEnd {
 public:
  TurnEnd(Loop& loop, std::function<void()> on_end);

  // Asks for one call; asking again before that call changes nothing. If another TurnEnd's function
  // asks, the loop makes one more turn without waiting.
  void ask();

 private:
  Handle<uv_prepare_t> handle_;
  Handle<uv_idle_t> busy_;  // the loop does not wait while it is active
};

}  // namespace rtrain::loop
