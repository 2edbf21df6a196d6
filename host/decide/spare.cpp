#include "host/decide/spare.h"

#include <algorithm>

namespace rtrain::decide {
namespace {

// After a heal the ranks work undisturbed for this time.
constexpr double kQuietS = 1;
// A spare that ends by itself, or that its node cannot afford, is made again after this time, which
// doubles each time.
constexpr double kRetryS = 15;
constexpr double kMaxRetryS = 3600;
constexpr int kMaxDoublings = 8;

}  // namespace

void Spare::on_settled(double now_s) {
  is_wanted_ = is_settled_ = true;
  not_before_s_ = std::max(not_before_s_, now_s + kQuietS);
}

void Spare::on_lost() { is_settled_ = is_ordered_ = false; }

Spare::Order Spare::next(double now_s, bool exists) {
  if (!is_wanted_) return exists ? Order::kDrop : Order::kNone;
  if (!is_settled_ || exists) return Order::kNone;
  if (is_ordered_) {
    is_ordered_ = false;
    not_before_s_ = now_s + std::min(kMaxRetryS, kRetryS * (1 << failures_));
    failures_ = std::min(failures_ + 1, kMaxDoublings);
  }
  if (now_s < not_before_s_) return Order::kNone;
  is_ordered_ = true;
  return Order::kMake;
}

bool is_affordable(const SpareCost& cost) {
  return !cost.has_devices && cost.bytes <= cost.available_bytes / 2 &&
         (cost.may_be_nice || cost.idle_cores > 0);
}

}  // namespace rtrain::decide
