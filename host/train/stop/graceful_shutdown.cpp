#include "host/train/stop/graceful_shutdown.h"

#include <algorithm>

#include "host/base/clock.h"
#include "host/base/text/text.h"

namespace rtrain::train {
namespace {

message::ToWorker to_message(const decide::StopOrder& order) {
  if (order.type == decide::StopOrder::Type::kPrepare)
    return message::StopPrepare{.round = order.round};
  return message::StopRelease{.round = order.round, .at = order.at};
}

}  // namespace

GracefulShutdown::GracefulShutdown(loop::Loop& loop, int num_workers,
                                   GracefulShutdownDelegate& delegate, Times times)
    : delegate_(delegate),
      times_(times),
      agreement_(num_workers),
      answers_(loop, [this] { on_no_answer(); }),
      grace_(loop, [this] { delegate_.on_grace_passed(); }),
      return_(loop, [this] { delegate_.on_stop_complete(); }) {}

void GracefulShutdown::start(double grace_s) {
  started_ = true;
  grace_.start(to_ms(grace_s));
  send(agreement_.prepare());
}

void GracefulShutdown::on_calls(int rank, const message::StopCalls& answer) {
  send(agreement_.on_calls(rank, answer.round, answer.calls));
}

void GracefulShutdown::on_seen(const message::StopSeen& seen) {
  first_seen_ = std::min(first_seen_.value_or(seen.index), seen.index);
}

void GracefulShutdown::on_left(int rank) { send(agreement_.on_left(rank)); }

void GracefulShutdown::on_committed(int64_t index) {
  if (!started_) return;
  if (first_seen_) {
    if (index >= *first_seen_) return_.start(times_.finish);
  } else if (!agreement_.is_polled()) {
    delegate_.on_stop_complete();
  }
}

void GracefulShutdown::close() {
  answers_.stop();
  grace_.stop();
  return_.stop();
}

void GracefulShutdown::send(const std::optional<decide::StopOrder>& order) {
  if (!order) return;
  if (order->type == decide::StopOrder::Type::kPrepare) {
    answers_.start(times_.answer);
  } else {
    answers_.stop();
  }
  delegate_.send_all(to_message(*order));
}

void GracefulShutdown::on_no_answer() {
  for (const int rank : agreement_.missing()) {
    delegate_.warn(cat("rank ", rank, " has not answered the request to stop for ",
                       times_.answer.count() / 1000, " s: its process does not run"));
  }
  send(agreement_.on_deadline());
}

}  // namespace rtrain::train
