#include "host/store/read/rank_timeline.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/base/time_reader.h"
#include "host/store/series/series_store.h"

namespace rtrain::store {
namespace {

// The fraction of a step below which no rank is called slow.
constexpr double kWorthNaming = 0.1;

struct Phase {
  const char* name;
  double PhaseTimes::*time;
};
constexpr std::array<Phase, 7> kPhases = {{{"data", &PhaseTimes::data},
                                           {"compute", &PhaseTimes::compute},
                                           {"communication", &PhaseTimes::communication},
                                           {"wait", &PhaseTimes::wait},
                                           {"checkpoint", &PhaseTimes::checkpoint},
                                           {"report", &PhaseTimes::report},
                                           {"other", &PhaseTimes::other}}};
// The phase that each series adds to.
constexpr std::array<std::pair<const char*, double PhaseTimes::*>, 9> kSeries = {
    {{"time/data_s", &PhaseTimes::data},
     {"time/forward_s", &PhaseTimes::compute},
     {"time/backward_s", &PhaseTimes::compute},
     {"time/optimizer_s", &PhaseTimes::compute},
     {"time/communication_s", &PhaseTimes::communication},
     {"time/checkpoint_s", &PhaseTimes::checkpoint},
     {"time/wait_s", &PhaseTimes::wait},
     {"time/report_s", &PhaseTimes::report},
     {"time/other_s", &PhaseTimes::other}}};

PhaseTimes between(const PhaseTimes& before, const PhaseTimes& after) {
  PhaseTimes out;
  for (const Phase& phase : kPhases) {
    out.*phase.time = std::max(0.0, after.*phase.time - before.*phase.time);
  }
  return out;
}

void scale(PhaseTimes& times, double factor) {
  for (const Phase& phase : kPhases) times.*phase.time *= factor;
}

// The records between the steps, and the last one before `from`. Of several at one step, the last.
std::vector<TimeRecord> of_steps(const std::vector<TimeRecord>& records, int64_t from, int64_t to) {
  std::vector<TimeRecord> out;
  for (const TimeRecord& record : records) {
    if (record.step > to) break;
    if (!out.empty() && (record.step <= from || record.step == out.back().step)) out.pop_back();
    out.push_back(record);
  }
  return out;
}

RankTimes times_of(int64_t rank, const std::vector<TimeRecord>& records) {
  RankTimes out{.rank = rank, .steps = 0, .per_step = {}, .intervals = {}};
  for (size_t i = 1; i < records.size(); ++i) {
    out.intervals.push_back({.from_step = records[i - 1].step,
                             .to_step = records[i].step,
                             .time_ms = records[i].time_ms,
                             .times = between(records[i - 1].times, records[i].times)});
  }
  if (records.size() < 2) return out;
  out.steps = records.back().step - records.front().step;
  out.per_step = between(records.front().times, records.back().times);
  scale(out.per_step, 1.0 / static_cast<double>(out.steps));
  return out;
}

void tell_waits(std::vector<RankTimes>& ranks) {
  constexpr double kMost = std::numeric_limits<double>::infinity();
  PhaseTimes least{.communication = kMost, .report = kMost};
  for (const RankTimes& rank : ranks) {
    least.communication = std::min(least.communication, rank.per_step.communication);
    least.report = std::min(least.report, rank.per_step.report);
  }
  const auto split_waits = [&](PhaseTimes& times, double steps) {
    for (double PhaseTimes::*time : {&PhaseTimes::communication, &PhaseTimes::report}) {
      const double excess = std::max(0.0, times.*time - least.*time * steps);
      times.*time -= excess;
      times.wait += excess;
    }
  };
  for (RankTimes& rank : ranks) {
    split_waits(rank.per_step, 1);
    for (TimeInterval& interval : rank.intervals) {
      split_waits(interval.times, static_cast<double>(interval.to_step - interval.from_step));
    }
  }
}

double mean_of_others(const std::vector<RankTimes>& ranks, const RankTimes& rank,
                      double PhaseTimes::*time) {
  double sum = 0;
  for (const RankTimes& other : ranks) sum += other.rank == rank.rank ? 0 : other.per_step.*time;
  return sum / static_cast<double>(ranks.size() - 1);
}

std::optional<SlowRank> find_straggler(const std::vector<RankTimes>& ranks) {
  if (ranks.size() < 2) return std::nullopt;
  const RankTimes& slow = *std::ranges::min_element(
      ranks, {}, [](const RankTimes& rank) { return rank.per_step.wait; });
  SlowRank out{.rank = slow.rank,
               .waited_s = mean_of_others(ranks, slow, &PhaseTimes::wait) - slow.per_step.wait};
  if (out.waited_s < kWorthNaming * slow.per_step.total()) return std::nullopt;
  double most = 0;
  for (const Phase& phase : kPhases) {
    const double own = slow.per_step.*phase.time;
    const double others = mean_of_others(ranks, slow, phase.time);
    if (own - others <= most) continue;
    most = own - others;
    out.phase = phase.name;
    out.own_s = own;
    out.others_s = others;
  }
  return out;
}

void set_times(Map& map, const PhaseTimes& times) {
  for (const Phase& phase : kPhases) map.set(cat(phase.name, "_s"), times.*phase.time);
}

}  // namespace

RankTimeline make_timeline(const std::map<int64_t, std::vector<TimeRecord>>& records,
                           int64_t steps) {
  RankTimeline out;
  int64_t end = std::numeric_limits<int64_t>::max();
  for (const auto& [rank, list] : records) {
    end = std::min(end, list.empty() ? 0 : list.back().step);
  }
  if (records.empty() || end <= 0) return out;
  out.to_step = end;
  out.from_step = std::max<int64_t>(0, end - steps);
  for (const auto& [rank, list] : records) {
    RankTimes times = times_of(rank, of_steps(list, out.from_step, end));
    if (times.steps == 0) return {};
    out.ranks.push_back(std::move(times));
  }
  tell_waits(out.ranks);
  out.straggler = find_straggler(out.ranks);
  return out;
}

double waits_in_turn_s(const RankTimeline& timeline) {
  if (timeline.straggler || timeline.ranks.empty()) return 0;
  const PhaseTimes& least = std::ranges::min_element(timeline.ranks, {}, [](const RankTimes& rank) {
                              return rank.per_step.wait;
                            })->per_step;
  return least.wait >= kWorthNaming * least.total() ? least.wait : 0;
}

RankTimeline read_timeline(Database& database, const RunRef& run, int64_t steps) {
  const std::vector<std::string> names = series_keys(database, run.run_id);
  int64_t newest = 0;
  std::map<std::pair<int64_t, int64_t>, std::vector<TimeRecord>> found;  // by attempt and rank
  for (const auto& [key, time] : kSeries) {
    if (std::ranges::find(names, key) == names.end()) continue;
    std::map<std::pair<int64_t, int64_t>, size_t> places;
    for (const Value& point : read_series(database, run.run_id, key, true)) {
      const std::pair of{point["attempt"].as_int(), point["rank"].as_int()};
      newest = std::max(newest, of.first);
      std::vector<TimeRecord>& records = found[of];
      const size_t place = places[of]++;
      // Every record has a point in each of the series.
      if (place >= records.size()) records.resize(place + 1);
      records[place].step = point["step"].as_int();
      records[place].time_ms = read_time(point["time"].as_string()).value_or(0);
      records[place].times.*time += point["value"].as_float();
    }
  }
  std::map<int64_t, std::vector<TimeRecord>> records;
  for (auto& [of, list] : found) {
    if (of.first != newest) continue;
    // Adds a record for the beginning of the train function, with zero times.
    list.insert(list.begin(), TimeRecord{.step = 0, .time_ms = list.front().time_ms, .times = {}});
    records.emplace(of.second, std::move(list));
  }
  RankTimeline out = make_timeline(records, steps);
  out.attempt = newest;
  if (out.ranks.empty()) {
    throw Error(Code::kUsage, cat("run '", run.name,
                                  "' has recorded no step of an optimizer on every rank: there is "
                                  "nothing to lay side by side"));
  }
  return out;
}

Value to_value(const RankTimeline& timeline) {
  List ranks;
  for (const RankTimes& rank : timeline.ranks) {
    Map entry{{"rank", rank.rank}, {"steps", rank.steps}, {"step_s", rank.per_step.total()}};
    set_times(entry, rank.per_step);
    List intervals;
    for (const TimeInterval& interval : rank.intervals) {
      Map part{{"from_step", interval.from_step},
               {"to_step", interval.to_step},
               {"time", time_text(interval.time_ms)}};
      set_times(part, interval.times);
      intervals.emplace_back(std::move(part));
    }
    entry.set("intervals", std::move(intervals));
    ranks.emplace_back(std::move(entry));
  }
  Value straggler;
  if (const auto& slow = timeline.straggler) {
    straggler = Map{{"rank", slow->rank},
                    {"waited_s", slow->waited_s},
                    {"phase", slow->phase},
                    {"own_s", slow->own_s},
                    {"others_s", slow->others_s}};
  }
  return Map{{"attempt", timeline.attempt},
             {"from_step", timeline.from_step},
             {"to_step", timeline.to_step},
             {"ranks", std::move(ranks)},
             {"straggler", std::move(straggler)}};
}

Value to_trace(const RankTimeline& timeline) {
  List events;
  for (const RankTimes& rank : timeline.ranks) {
    events.emplace_back(Map{{"ph", "M"},
                            {"name", "process_name"},
                            {"pid", rank.rank},
                            {"args", Map{{"name", cat("rank ", rank.rank)}}}});
    for (const TimeInterval& interval : rank.intervals) {
      double at_us = static_cast<double>(interval.time_ms) * 1000 - interval.times.total() * 1e6;
      for (const Phase& phase : kPhases) {
        const double spent_us = interval.times.*phase.time * 1e6;
        if (spent_us <= 0) continue;
        events.emplace_back(
            Map{{"ph", "X"},
                {"name", phase.name},
                {"cat", "phase"},
                {"pid", rank.rank},
                {"tid", 0},
                {"ts", at_us},
                {"dur", spent_us},
                {"args", Map{{"from_step", interval.from_step}, {"to_step", interval.to_step}}}});
        at_us += spent_us;
      }
    }
  }
  return Map{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
}

}  // namespace rtrain::store
