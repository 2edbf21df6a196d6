// host/train/group/collective_service.h: train.collective over the workers' channels: the board of
// one attempt, with a clock.
//
// Belongs to the control thread.
#pragma once

#include <functional>
#include <string>

#include "host/loop/timer.h"
#include "host/train/group/sync_board.h"

namespace rtrain {

class CollectiveService {
 public:
  struct Outlets {
    std::function<void(int rank, const Value& message)> send;
    std::function<void(const std::string& text)> warn;
    std::function<uint64_t()> copied_bytes;  // of checkpoints: deadlines stop while it grows
  };

  CollectiveService(Loop& loop, int world_size, const SyncSettings& settings, Outlets outlets);

  // The message `sync`. Throws Error(kArgument) for a malformed one.
  void on_message(int rank, const Value& message);
  void on_returned(int rank);

 private:
  void tell(const std::vector<SyncBoard::Answer>& answers);
  void look();

  SyncBoard board_;
  Outlets outlets_;
  uint64_t copied_bytes_ = 0;  // when somebody began to wait, or at the last look
  Timer due_;
};

}  // namespace rtrain
