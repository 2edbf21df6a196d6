#include "tests/soak/scale/sim_worker.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "host/base/clock.h"
#include "host/loop/channel/channel.h"
#include "host/loop/processes/process.h"
#include "host/loop/processes/worker_descriptors.h"
#include "host/loop/timer.h"
#include "host/machine/processes/build_id.h"

namespace rtrain {
namespace {

constexpr double kReportsS = 0.1;
constexpr std::chrono::milliseconds kTick{5};

void raise_to(std::atomic<int64_t>& value, int64_t to) {
  for (int64_t now = value; now < to && !value.compare_exchange_weak(now, to);) {
  }
}

}  // namespace

SimWorker::SimWorker(int rank, int pid, Send send)
    : rank_(rank), pid_(pid), send_(std::move(send)), board_(SimBoard::of_this_process()) {
  send_(message::Hello{.version = loop::kProtocolVersion,
                       .build_id = std::string(machine::build_id()),
                       .pid = pid_});
}

bool SimWorker::receive(Value message) {
  const std::string& type = message["type"].as_string();
  if (type == loop::WorkerContext::kType)
    begin(from_value<loop::WorkerContext>(std::move(message)));
  if (type == message::Reply::kType && std::exchange(is_waiting_, false)) {
    raise_to(board_.last_release_ns, now_ns());
    ++board_.num_released;
  }
  return type == message::Exit::kType;
}

void SimWorker::begin(loop::WorkerContext context) {
  context_ = std::move(context);
  for (const char* phase : {"engine_loaded", "group_ready", "running"}) {
    send_(message::Phase{.name = phase});
  }
  has_begun_ = true;
  // Spreads the reports of the ranks over time.
  report_due_s_ = monotonic_s() + kReportsS * (rank_ % 100) / 100;
}

void SimWorker::tick() {
  if (!has_begun_ || has_returned_) return;
  ++progress_;
  if (board_.reports && monotonic_s() >= report_due_s_) report();
  if (board_.barrier > num_barriers_ && !is_waiting_) {
    is_waiting_ = true;
    raise_to(board_.last_arrival_ns, now_ns());
    send_(message::Sync{.id = ++num_barriers_,
                        .sequence = num_barriers_,
                        .world_size = context_.world_size,
                        .collective = "train.collective.barrier()"});
  }
  if (board_.leave) {
    has_returned_ = true;
    send_(message::Returned{});
  }
}

void SimWorker::report() {
  report_due_s_ = std::max(report_due_s_ + kReportsS, monotonic_s() - kReportsS);
  Report report;
  report.index = context_.first_index + num_reports_;
  report.time_ms = now_ms();
  report.metrics =
      Map{{"step", num_reports_}, {"loss", 1.0 / static_cast<double>(num_reports_ + 1)}};
  report.asks_progress = num_reports_ % 256 == 255;
  ++num_reports_;
  if (context_.attempt == 1) ++board_.num_reports;
  send_(std::move(report));
}

decide::RankFacts SimWorker::facts() const {
  return {.progress = progress_,
          .reports = static_cast<uint64_t>(num_reports_),
          .beat_s = monotonic_s()};
}

int run_sim_worker(int rank, int parent_pid) {
  loop::die_with_parent(parent_pid);
  loop::Loop loop;
  SimWorker* worker = nullptr;
  loop::Channel channel(
      loop, loop::kChannelFd,
      [&](Value message) {
        if (worker->receive(std::move(message))) ::_exit(0);
      },
      [](const std::string&) { ::_exit(1); });
  SimWorker own(rank, ::getpid(),
                [&](message::ToController message) { channel.send(to_value(std::move(message))); });
  worker = &own;
  loop::Timer timer(loop, [&] {
    own.tick();
    timer.start(kTick);
  });
  timer.start(kTick);
  loop.run();
  return 0;
}

}  // namespace rtrain
