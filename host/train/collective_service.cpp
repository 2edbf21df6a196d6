#include "host/train/collective_service.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "host/base/clock.h"
#include "host/loop/message.h"

namespace rtrain {
namespace {

double seconds_from_environment(const char* name, double otherwise) {
  const char* set = std::getenv(name);
  const double seconds = set == nullptr ? 0 : std::strtod(set, nullptr);
  return seconds > 0 ? seconds : otherwise;
}

}  // namespace

SyncSettings sync_settings(double timeout_s) {
  const SyncSettings defaults;
  return {seconds_from_environment("RTRAIN_COLLECTIVE_TIMEOUT_S", timeout_s),
          seconds_from_environment("RTRAIN_COLLECTIVE_WARN_INTERVAL_S", defaults.warn_interval_s)};
}

CollectiveService::CollectiveService(Loop& loop, int world_size, const SyncSettings& settings,
                                     Outlets outlets)
    : board_(world_size, settings), outlets_(std::move(outlets)), due_(loop, [this] { look(); }) {}

void CollectiveService::on_message(int rank, const Value& message) {
  SyncArrival arrival;
  arrival.rank = rank;
  arrival.id = message["id"].as_int();
  arrival.sequence = message["sequence"].as_int();
  arrival.world_size = static_cast<int>(message["world_size"].as_int());
  arrival.collective = message["collective"].as_string();
  arrival.caller = message["caller"].string_or("");
  arrival.data = message["data"].string_or("");
  tell(board_.arrive(std::move(arrival), monotonic_s()));
}

void CollectiveService::on_returned(int rank) { tell(board_.leave(rank)); }

void CollectiveService::tell(const std::vector<SyncBoard::Answer>& answers) {
  for (const auto& answer : answers) {
    const Value value = answer.error
                            ? Value(Map{{"error", error_to_value(*answer.error, monotonic_s())}})
                            : Value(Map{{"data", answer.data}});
    outlets_.send(answer.rank, Map{{"type", "reply"}, {"id", answer.id}, {"value", value}});
  }
  const auto next = board_.next_due();
  if (!next) return due_.stop();
  const double wait_s = std::max(0.0, *next - monotonic_s());
  due_.start(std::chrono::milliseconds(static_cast<int64_t>(std::ceil(wait_s * 1000))));
}

void CollectiveService::look() {
  const double now = monotonic_s();
  if (const auto text = board_.warning(now)) outlets_.warn(*text);
  tell(board_.expire(now));
}

}  // namespace rtrain
