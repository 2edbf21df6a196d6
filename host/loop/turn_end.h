// host/loop/turn_end.h: calls a function before the loop waits again: work that many callbacks of
// one turn ask for is done once. Belongs to the loop's thread.
#pragma once

#include "host/loop/handle.h"

namespace rtrain {

class TurnEnd {
 public:
  TurnEnd(Loop& loop, std::function<void()> on_end);

  // Asks for one call; asking again before it changes nothing.
  void ask();

 private:
  Handle<uv_prepare_t> handle_;
};

}  // namespace rtrain
