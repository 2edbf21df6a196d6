#include "host/train/group/collective_service.h"

#include <algorithm>
#include <utility>

#include "host/base/clock.h"

namespace rtrain::train {
CollectiveService::CollectiveService(loop::Loop& loop, int world_size,
                                     const decide::SyncSettings& settings,
                                     CollectiveServiceDelegate& delegate)
    : board_(world_size, settings), delegate_(delegate), due_(loop, [this] { look(); }) {}

void CollectiveService::on_sync(int rank, message::Sync sync) {
  decide::SyncArrival arrival;
  arrival.rank = rank;
  arrival.id = sync.id;
  arrival.sequence = sync.sequence;
  arrival.world_size = sync.world_size;
  arrival.collective = std::move(sync.collective);
  arrival.caller = std::move(sync.caller);
  arrival.data = std::move(sync.data);
  if (!board_.next_due()) copied_bytes_ = delegate_.copied_bytes();
  tell(board_.arrive(std::move(arrival), monotonic_s()));
}

void CollectiveService::on_returned(int rank) { tell(board_.leave(rank)); }

void CollectiveService::tell(const std::vector<decide::SyncBoard::Answer>& answers) {
  for (const auto& answer : answers) {
    delegate_.send(answer.rank,
                   message::Reply{.id = answer.id, .value = answer.data, .error = answer.error});
  }
  const auto next = board_.next_due();
  if (!next) return due_.stop();
  const double wait_s = std::max(0.0, *next - monotonic_s());
  due_.start(to_ms(wait_s));
}

void CollectiveService::look() {
  const double now = monotonic_s();
  const uint64_t copied = delegate_.copied_bytes();
  const auto due = board_.next_due();
  if (std::exchange(copied_bytes_, copied) != copied || (due && stood_still(*due, now))) {
    board_.postpone(now);
  }
  if (const auto text = board_.warning(now)) delegate_.warn(*text);
  tell(board_.expire(now));
}

}  // namespace rtrain::train
