#include "host/decide/slow/segments.h"

#include <algorithm>
#include <utility>

namespace rtrain::decide {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

double stopped(const SegmentPart& part) { return part.stopped; }
double step_s(const SegmentPart& part) { return ratio(part.elapsed_s, part.steps); }
double starved(const SegmentPart& part) { return ratio(part.host.starved_s, part.elapsed_s); }
double stolen(const SegmentPart& part) { return ratio(part.host.stolen_s, part.elapsed_s); }
double slowed(const SegmentPart& part) { return part.host.slowed_by.empty() ? 0 : 1; }
double throttled(const SegmentPart& part) {
  return ratio(static_cast<double>(part.host.throttled), static_cast<double>(part.host.periods));
}
double faults(const SegmentPart& part) {
  return ratio(static_cast<double>(part.host.faults), part.steps);
}
double batches(const SegmentPart& part) {
  return ratio(static_cast<double>(part.times.batches), part.steps);
}

void Segments::add(Segment segment) {
  for (const SegmentPart& each : segment) uses_devices_ = uses_devices_ || each.device_waits > 0;
  segments_.push_back(std::move(segment));
  if (segments_.size() > kSize) segments_.pop_front();
}

// The share of its time in which the others wait for the rank, if they are faster: it, or its
// device, is in no collective.
double Segments::busy(const SegmentPart& part) const {
  const double waits = ratio(part.times.communication_s, part.elapsed_s);
  return 1 - (uses_devices_ ? std::max(waits, part.device_waits) : waits) -
         ratio(part.alone_s, part.elapsed_s);
}

// A stopped rank may be stopped in a collective.
double Segments::lost(const Segment& segment, int rank) const {
  std::vector<double> works;
  std::vector<double> stops;
  for (int other = 0; other < static_cast<int>(segment.size()); ++other) {
    if (other == rank) continue;
    works.push_back(busy(part(segment, other)));
    stops.push_back(part(segment, other).stopped);
  }
  const SegmentPart& own = part(segment, rank);
  return std::max(busy(own) - median(std::move(works)), own.stopped - median(std::move(stops)));
}

std::vector<double> Segments::lost(int rank) const {
  std::vector<double> out;
  for (const Segment& segment : segments_) out.push_back(lost(segment, rank));
  return out;
}

double Segments::own(int rank, PartNumber number) const {
  std::vector<double> numbers;
  for (const Segment& segment : segments_) numbers.push_back(number(part(segment, rank)));
  return median(std::move(numbers));
}

double Segments::others(const Segment& segment, int rank, PartNumber number) {
  std::vector<double> numbers;
  for (size_t i = 0; i < segment.size(); ++i) {
    if (static_cast<int>(i) != rank) numbers.push_back(number(segment[i]));
  }
  return median(std::move(numbers));
}

double Segments::others(int rank, PartNumber number) const {
  std::vector<double> out;
  for (const Segment& segment : segments_) out.push_back(others(segment, rank, number));
  return median(std::move(out));
}

double Segments::mean(int rank, PartNumber number) const {
  double sum = 0;
  for (const Segment& segment : segments_) sum += number(part(segment, rank));
  return sum / static_cast<double>(segments_.size());
}

double Segments::mean_of_others(int rank, PartNumber number) const {
  std::vector<double> means;
  for (int other = 0; other < static_cast<int>(segments_.back().size()); ++other) {
    if (other != rank) means.push_back(mean(other, number));
  }
  return median(std::move(means));
}

double Segments::more_when_slow(int rank, double share, PartNumber number) const {
  std::vector<double> out;
  for (const Segment& segment : segments_) {
    if (lost(segment, rank) < share) continue;
    out.push_back(number(part(segment, rank)) - others(segment, rank, number));
  }
  return out.empty() ? 0 : median(std::move(out));
}

}  // namespace rtrain::decide
