#include "tests/sim/worlds/spool_world.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostSteps = 500;
constexpr int64_t kMostAhead = 12;  // unacknowledged reports that a rank may make
constexpr size_t kMemory = 1 << 20;

}  // namespace

SpoolWorld::SpoolWorld(Draws& draws) : draws_(draws) { begin_attempt(); }

void SpoolWorld::live() {
  const int num_steps = 1 + draws_.below(kMostSteps);
  for (int i = 0; i < num_steps; ++i) step_on();
  end_attempt(draws_.chance(0.5));
}

void SpoolWorld::step_on() {
  switch (draws_.below(16)) {
    case 0:
      is_connected_ = false;
      tell([] { return "the connection breaks"; });
      coming_.resize(static_cast<size_t>(draws_.below(static_cast<int>(coming_.size()) + 1)));
      return;
    case 1:
      if (!draws_.chance(0.2)) return;
      return end_attempt(draws_.chance(0.5));
    case 2:
    case 3:
      return connect();
    case 4:
    case 5:
      return write();
    case 6:
    case 7:
      return acknowledge();
    case 8:
    case 9:
    case 10:
      return carry();
    default:
      return report();
  }
}

// The rank makes no report while many are unacknowledged.
void SpoolWorld::report() {
  if (num_reports_ - acknowledged_ >= kMostAhead) return;
  const int64_t index = num_reports_++;
  const uint64_t bytes = 1 + static_cast<uint64_t>(draws_.below(1 << 17));
  const decide::SpoolTurns::Place place = turns_.next(acknowledged_);
  tell([&] {
    return cat("turns.next(", acknowledged_, ") is file ", place.file, " at ", place.at,
               "; turns.add(place, ", index, ", ", bytes, ");");
  });
  std::vector<Record>& file = files_.at(place.file);
  if (place.is_begun_again) {
    mark("a file was begun again");
    for (const Record& record : file)
      demand(record.index < acknowledged_, "a report is cut off that the controller may not have");
    const std::vector<Record>& other = files_.at(1 - place.file);
    demand(!other.empty() && other.back().at + other.back().bytes >= decide::SpoolTurns::kTurnBytes,
           "a file is begun again before the other one is long");
    file.clear();
  }
  demand(place.at == (file.empty() ? 0 : file.back().at + file.back().bytes),
         "a report is written over another one, or leaves a gap");
  file.push_back({index, place.at, bytes});
  turns_.add(place, index, bytes);
  agent_->queue().add(std::to_string(index));
  check_spool();
}

// The spool may hold the unacknowledged reports, one turn of acknowledged ones, and one more
// report.
void SpoolWorld::check_spool() const {
  for (const std::vector<Record>& file : files_) {
    if (file.empty()) continue;
    const uint64_t bytes = file.back().at + file.back().bytes;
    const uint64_t most =
        decide::SpoolTurns::kTurnBytes + (kMostAhead + 1) * 2 * (uint64_t{1} << 17);
    demand(bytes <= most, "a spool grows without end");
  }
}

void SpoolWorld::connect() {
  if (is_connected_) return;
  tell([] { return "the agent connects"; });
  coming_.clear();
  demand(!controller_->accept(agent_->position()), "the two ends do not fit");
  demand(!agent_->accept(controller_->position()), "the two ends do not fit");
  controller_->begin_connection();
  agent_->begin_connection();
  is_connected_ = true;
}

// Sends some of the waiting frames and receives some of the frames in flight.
void SpoolWorld::carry() {
  if (!is_connected_) return;
  for (int i = draws_.below(4); i > 0 && agent_->queue().has_unsent(); --i) {
    coming_.push_back(agent_->queue().next()->substr(4));
    agent_->queue().advance();
  }
  for (int i = draws_.below(4); i > 0 && !coming_.empty(); --i) {
    const wire::WireFrame frame = wire::WireFrame::parse(coming_.front());
    controller_->on_data(frame.number);
    const int64_t index = std::stoll(std::string(frame.payload));
    demand(index == num_received_++, "a report comes twice, or one is missing before it");
    unwritten_.push_back(index);
    coming_.pop_front();
  }
  if (draws_.chance(0.5)) agent_->on_ack(controller_->received());
}

// Does the work of the io thread.
void SpoolWorld::write() {
  if (unwritten_.empty()) return;
  stored_.insert(unwritten_.front());
  unwritten_.pop_front();
}

// The agent has died together with its ranks, or the controller has. The controller of the next
// attempt asks the node for its spool.
void SpoolWorld::end_attempt(bool is_controller) {
  tell([&] { return is_controller ? "the controller ends" : "the agent ends"; });
  mark(is_controller ? "a controller ended" : "an agent ended");
  std::set<int64_t> lost;  // acknowledged by a controller that died before it wrote them
  for (const int64_t index : unwritten_) {
    if (is_controller && index < sent_) lost.insert(index);
    if (!is_controller) stored_.insert(index);
  }
  for (const std::vector<Record>& file : files_) {
    for (const Record& record : file) stored_.insert(record.index);
  }
  for (int64_t index = 0; index < num_reports_; ++index)
    demand(stored_.contains(index) || lost.contains(index),
           "a report is in no store, and no spool");
  begin_attempt();
}

void SpoolWorld::begin_attempt() {
  turns_ = {};
  files_ = {};
  num_reports_ = acknowledged_ = sent_ = num_received_ = 0;
  agent_ = std::make_unique<wire::LinkSequence>(kMemory, [] {});
  controller_ = std::make_unique<wire::LinkSequence>(kMemory, [] {});
  coming_.clear();
  is_connected_ = false;
  unwritten_.clear();
  stored_.clear();
  acknowledgements_.clear();
}

// Acknowledges all received reports, written or not (see report_flow.h).
void SpoolWorld::acknowledge() {
  if (draws_.chance(0.5)) {
    sent_ = num_received_;
    return acknowledgements_.push_back(sent_);
  }
  if (acknowledgements_.empty()) return;
  acknowledged_ = std::max(acknowledged_, acknowledgements_.front());
  acknowledgements_.pop_front();
}

}  // namespace rtrain::sim
