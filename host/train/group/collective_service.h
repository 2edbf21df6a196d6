// host/train/group/collective_service.h: train.collective through the workers' channels: the board
// of one attempt, with deadlines.
//
// Belongs to the control thread.
#pragma once

#include <cstdint>
#include <string>

#include "host/decide/sync_board.h"
#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "host/loop/timer.h"

namespace rtrain::train {

class CollectiveServiceDelegate {
 public:
  virtual ~CollectiveServiceDelegate() = default;
  virtual void send(int rank, message::ToWorker message) = 0;
  virtual void warn(const std::string& text) = 0;
  // Bytes of checkpoints copied so far: deadlines are extended while this grows.
  virtual uint64_t copied_bytes() const = 0;
};

class CollectiveService {
 public:
  CollectiveService(loop::Loop& loop, int world_size, const decide::SyncSettings& settings,
                    CollectiveServiceDelegate& delegate);

  // A rank has called a collective.
  void on_sync(int rank, message::Sync sync);
  void on_returned(int rank);

 private:
  void tell(const std::vector<decide::SyncBoard::Answer>& answers);
  void look();

  decide::SyncBoard board_;
  CollectiveServiceDelegate& delegate_;
  uint64_t copied_bytes_ = 0;  // when the wait began, or at the last check
  loop::Timer due_;
};

}  // namespace rtrain::train
