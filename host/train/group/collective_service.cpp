#include "host/train/group/collective_service.h"

#include <algorithm>
#include <utility>

#include "host/base/clock.h"
#include "host/loop/message.h"

namespace rtrain {
CollectiveService::CollectiveService(Loop& loop, int world_size, const SyncSettings& settings,
                                     CollectiveServiceDelegate& delegate)
    : board_(world_size, settings), delegate_(delegate), due_(loop, [this] { look(); }) {}

void CollectiveService::on_message(int rank, const Value& message) {
  SyncArrival arrival;
  arrival.rank = rank;
  arrival.id = message["id"].as_int();
  arrival.sequence = message["sequence"].as_int();
  arrival.world_size = static_cast<int>(message["world_size"].as_int());
  arrival.collective = message["collective"].as_string();
  arrival.caller = message["caller"].string_or("");
  arrival.data = message["data"].string_or("");
  if (!board_.next_due()) copied_bytes_ = delegate_.copied_bytes();
  tell(board_.arrive(std::move(arrival), monotonic_s()));
}

void CollectiveService::on_returned(int rank) { tell(board_.leave(rank)); }

void CollectiveService::tell(const std::vector<SyncBoard::Answer>& answers) {
  for (const auto& answer : answers) {
    const Value value = answer.error
                            ? Value(Map{{"error", error_to_value(*answer.error, monotonic_s())}})
                            : Value(Map{{"data", answer.data}});
    delegate_.send(answer.rank, Map{{"type", "reply"}, {"id", answer.id}, {"value", value}});
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

}  // namespace rtrain
