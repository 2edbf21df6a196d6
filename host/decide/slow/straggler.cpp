#include "host/decide/slow/straggler.h"

#include <array>
#include <cmath>

#include "host/base/text/text.h"

namespace rtrain::decide {
namespace {

std::string milliseconds(double seconds) {
  constexpr double kFew = 0.01;
  const double ms = seconds * 1000;
  if (seconds >= kFew) return cat(std::llround(ms), " ms");
  return cat(static_cast<double>(std::llround(ms * 10)) / 10, " ms");
}

std::string two_digits(double number) {
  constexpr double kDigits = 100;
  return cat(static_cast<double>(std::llround(number * kDigits)) / kDigits);
}

std::string percent(double share) { return cat(std::llround(share * 100), " %"); }

std::string cost(const Straggler& found) {
  return cat("; the others wait ", milliseconds(found.lost_s), " a step for it");
}

// Of a rank with a device the thread's own times say little.
std::string computes(const Segments& segments, int rank) {
  const auto text = [](double factor) {
    return cat("computes ", two_digits(factor), " × as long as the others");
  };
  if (segments.uses_devices()) {
    const auto busy = [](const SegmentPart& part) { return 1 - part.device_waits; };
    return text(ratio(segments.mean(rank, busy), segments.mean_of_others(rank, busy)));
  }
  const PartNumber compute = time_of(SlowCause::kCompute);
  const double own_s = segments.own(rank, compute);
  const double others_s = segments.others(rank, compute);
  return cat(text(ratio(own_s, others_s)), " (", milliseconds(own_s), " a step, they ",
             milliseconds(others_s), ")");
}

std::string spends(const Segments& segments, int rank, SlowCause phase) {
  const std::string own = milliseconds(segments.own(rank, time_of(phase)));
  const std::string others = milliseconds(segments.others(rank, time_of(phase)));
  switch (phase) {
    case SlowCause::kData:
      return cat("waits ", own, " a step for data, the others ", others);
    case SlowCause::kCheckpoint:
      return cat("spends ", own, " a step on reports and checkpoints, the others ", others);
    case SlowCause::kOther:
      return cat("spends ", own,
                 " a step outside of data, forward, backward and optimizer, the others ", others);
    default:
      return computes(segments, rank);
  }
}

std::string because(const Segments& segments, const Straggler& found) {
  const int rank = found.rank;
  const HostFacts& last = segments.last(rank).host;
  switch (found.cause) {
    case SlowCause::kThrottled:
      return cat(": its cgroup allows it ", two_digits(last.cores), " cores, and stopped it in ",
                 percent(segments.mean(rank, throttled)), " of the periods");
    case SlowCause::kDevice:
      return cat(": its device is slowed down (", last.slowed_by, ")");
    case SlowCause::kCores:
      return cat(": other programs run on its cores, and its threads waited ",
                 milliseconds(segments.mean(rank, starved)), " in each second for one");
    case SlowCause::kStolen:
      return cat(": the host of its virtual machine took ", percent(segments.mean(rank, stolen)),
                 " of a core");
    case SlowCause::kMemory:
      return cat(": its memory is on a disk, from which it reads ",
                 std::llround(segments.mean(rank, faults)), " pages a step");
    default:
      return "";
  }
}

}  // namespace

std::string_view cause_name(SlowCause cause) {
  constexpr std::array<std::string_view, 11> kNames = {
      "data",   "compute", "checkpoint", "other",  "stopped", "throttled",
      "device", "cores",   "stolen",     "memory", "link"};
  return kNames.at(static_cast<size_t>(cause));
}

PartNumber time_of(SlowCause phase) {
  switch (phase) {
    case SlowCause::kData:
      return [](const SegmentPart& part) { return ratio(part.times.data_s, part.steps); };
    case SlowCause::kCheckpoint:
      return [](const SegmentPart& part) { return ratio(part.times.checkpoint_s, part.steps); };
    case SlowCause::kOther:
      return [](const SegmentPart& part) { return ratio(part.times.other_s, part.steps); };
    default:
      return [](const SegmentPart& part) { return ratio(part.times.compute_s, part.steps); };
  }
}

std::string describe(const Segments& segments, const Straggler& found, SlowCause phase) {
  if (found.cause == SlowCause::kStopped) {
    return cat("was stopped by a signal for ", percent(segments.mean(found.rank, stopped)),
               " of the time", cost(found));
  }
  return cat(spends(segments, found.rank, phase), because(segments, found), cost(found));
}

std::string describe_link(const Straggler& found, double own, double others) {
  return cat("has a slow link to the other nodes: its data wait for it ", percent(own),
             " of the time, those of the others ", percent(others), cost(found));
}

}  // namespace rtrain::decide
