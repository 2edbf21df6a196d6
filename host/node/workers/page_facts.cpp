#include "host/node/workers/page_facts.h"

#include <algorithm>
#include <limits>

#include "host/base/clock.h"
#include "host/base/users_line.h"
#include "host/machine/processes/process_facts.h"

namespace rtrain::node {
namespace {

constexpr uint64_t kLastCalls = 8;

// Limits times to the past, because a rank may have written anything into its page.
double past(double time_s) {
  const double now_s = monotonic_s();
  return time_s >= 0 && time_s <= now_s ? time_s : now_s;
}

decide::CollectiveFacts to_facts(const pages::CollectiveCall& call) {
  return {call.sequence, std::string(call.operation.view()), std::string(call.tensors.view()),
          std::string(call.line.view()), past(call.time_s)};
}

decide::WaitFacts to_facts(const pages::BlockedCall& call) {
  decide::WaitFacts out;
  out.kind = std::min(call.kind, kLastOf<WaitKind>);
  out.operation = call.operation.view();
  out.since_s = past(call.since_s);
  for (int i = 0; i < call.num_frames && i < pages::kPageFrames; ++i) {
    out.frames.emplace_back(call.frames[static_cast<size_t>(i)].view());
  }
  out.line = users_line(out.frames);
  return out;
}

uint64_t count(const std::atomic<uint64_t>& counter) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return std::min(counter.load(std::memory_order_relaxed), kMost);
}

// Nullopt before the train function, and for times that cannot be.
std::optional<decide::TimeFacts> times_of(const pages::ProgressPage& page) {
  if (page.phases.begun.load(std::memory_order_relaxed) == 0) return std::nullopt;
  const double now_s = monotonic_s();
  const auto seconds = read_phases(page.phases, TimeStampCounter::ticks(), now_s);
  const auto of = [&](TrainPhase phase) { return seconds[static_cast<size_t>(phase)]; };
  const decide::TimeFacts out{.steps = count(page.phases.steps),
                              .batches = count(page.batches),
                              .saved_bytes = count(page.bytes),
                              .data_s = of(TrainPhase::kData),
                              .compute_s = of(TrainPhase::kForward) + of(TrainPhase::kBackward) +
                                           of(TrainPhase::kOptimizer),
                              .communication_s = of(TrainPhase::kCommunication),
                              .checkpoint_s = of(TrainPhase::kCheckpoint),
                              .other_s = of(TrainPhase::kOther)};
  for (const double each : seconds) {
    if (!(each >= 0 && each <= now_s)) return std::nullopt;
  }
  return out;
}

decide::LinkFacts to_facts(const pages::LinkCounts& counts) {
  return {.own = std::string(counts.own.view()),
          .peer = std::string(counts.peer.view()),
          .bytes = counts.bytes,
          .looks = counts.looks,
          .waits = counts.waits};
}

// A report waits for those of the other ranks: that is not the rank's own time.
void move_report_waits(const pages::ProgressPage& page, decide::RankFacts& facts) {
  double waited_s = page.report_wait_s.load(std::memory_order_relaxed);
  if (facts.wait && facts.wait->kind == WaitKind::kReport) {
    waited_s += monotonic_s() - facts.wait->since_s;
  }
  decide::TimeFacts& times = *facts.times;
  if (!(waited_s > 0)) return;
  waited_s = std::min(waited_s, times.checkpoint_s);
  times.checkpoint_s -= waited_s;
  times.communication_s += waited_s;
}

}  // namespace

decide::RankFacts read_facts(const pages::ProgressPage& page, int pid) {
  const machine::ProcessFacts process = machine::process_facts(pid);
  decide::RankFacts out;
  out.state = static_cast<unsigned char>(process.state);
  out.cpu_s = process.cpu_s;
  const int program = page.program.load(std::memory_order_acquire);
  if (program > 0 && machine::process_facts(program).state == 'T') out.state = 'T';
  out.progress = pages::progress_of(page);
  out.collectives = page.collectives.load(std::memory_order_acquire);
  out.reports = page.reports.load(std::memory_order_relaxed);
  out.beat_s = past(page.beat_s.load(std::memory_order_relaxed));
  if (const auto busy = page.busy.read()) out.is_busy = busy->until_s > monotonic_s();
  if (const auto blocked = page.blocked.read(); blocked && blocked->depth > 0) {
    out.wait = to_facts(*blocked);
  }
  const uint64_t count = std::min(out.collectives, kLastCalls);
  const uint64_t first = out.collectives - count + 1;
  if (const auto device = page.device.read(); device && device->sequence != 0) {
    out.device = decide::DeviceFacts{device->sequence, past(device->since_s)};
    const auto call = device->sequence < first ? page.call(device->sequence) : std::nullopt;
    if (call) out.calls.push_back(to_facts(*call));
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (const auto call = page.call(first + i)) out.calls.push_back(to_facts(*call));
  }
  for (const auto& cell : page.links) {
    const auto link = cell.read();
    if (link && link->looks > 0) out.links.push_back(to_facts(*link));
  }
  out.times = times_of(page);
  if (out.times) move_report_waits(page, out);
  return out;
}

}  // namespace rtrain::node
