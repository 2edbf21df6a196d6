#include "tests/sim/worlds/spares_world.h"

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

using Order = decide::Spare::Order;

constexpr int kMostEvents = 300;
constexpr double kLookS = 1;
constexpr double kQuietS = 1;
constexpr double kRetryS = 15;
constexpr double kLongestS = 3600 + 2 * kLookS;  // without a spare that is wanted

}  // namespace

void SparesWorld::live() {
  const int num_events = 1 + draws_.below(kMostEvents);
  const double often = 0.01 * draws_.below(30);  // how often something happens
  settle();
  for (int i = 0; i < num_events; ++i) {
    if (draws_.chance(often)) is_settled_ ? lose() : settle();
    if (draws_.chance(often)) end_spare();
    if (draws_.chance(0.005)) {
      tell([&] { return "spare.on_over();"; });
      spare_.on_over();
      is_over_ = true;
      mark("over");
    }
    if (draws_.chance(0.01)) now_s_ += kLongestS;  // the controller stood still, or nothing happens
    look();
  }
}

void SparesWorld::look() {
  now_s_ += kLookS;
  if (!is_settled_) return;  // the controller does not ask
  tell([&] { return cat("spare.next(", now_s_, ", ", exists_ ? "true" : "false", ");"); });
  const Order order = spare_.next(now_s_, exists_);
  demand_right(order);
  if (order == Order::kDrop) exists_ = false;
  if (order != Order::kMake) return;
  last_made_s_ = now_s_;
  exists_ = !draws_.chance(0.2);  // else its node cannot afford it
  mark(exists_ ? "made" : "not afforded");
}

void SparesWorld::demand_right(Order order) {
  if (is_over_) {
    demand(order == (exists_ ? Order::kDrop : Order::kNone), "a spare outlives the group");
    return;
  }
  demand(order != Order::kDrop, "a spare is ended that is wanted");
  if (exists_) {
    demand(order == Order::kNone, "a second spare is made");
    without_since_s_ = now_s_;
  }
  if (order == Order::kMake) {
    demand(now_s_ >= settled_s_ + kQuietS, "a spare is made while the ranks come back");
    demand(last_made_s_ < 0 || now_s_ >= last_made_s_ + kRetryS, "spares are made again and again");
    without_since_s_ = now_s_;
  }
  demand(now_s_ <= without_since_s_ + 2 * kLongestS, "no spare is made any more");
}

void SparesWorld::lose() {
  tell([&] { return "spare.on_lost();"; });
  spare_.on_lost();
  is_settled_ = false;
  if (draws_.chance(0.2)) {
    tell([&] { return "spare.on_dropped();"; });
    spare_.on_dropped();
    exists_ = false;
    mark("resized");
  } else if (exists_ && draws_.chance(0.8)) {
    exists_ = false;  // it takes the lost rank's place
    mark("used");
  }
}

void SparesWorld::settle() {
  if (is_over_) return;
  tell([&] { return cat("spare.on_settled(", now_s_, ");"); });
  spare_.on_settled(now_s_);
  is_settled_ = true;
  settled_s_ = without_since_s_ = now_s_;
  last_made_s_ = -1;
}

void SparesWorld::end_spare() {
  if (!exists_) return;
  exists_ = false;
  mark("ended by itself");
}

}  // namespace rtrain::sim
