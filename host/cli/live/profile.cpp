// rtrain profile RUN: profiles the workers of a live run: Chrome traces of operators, flame graphs
// of stacks, or the memory of tensors.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include "host/base/codec/json.h"
#include "host/base/text/text.h"
#include "host/cli/live/flame_file.h"
#include "host/cli/live/memory_text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/control/control_client.h"
#include "host/profile/memory_report.h"
#include "host/profile/sampled_stacks.h"
#include "host/store/read/rank_timeline.h"

namespace rtrain::cli {
namespace {

constexpr double kMostSeconds = 600;
constexpr double kMostRate = 1000;
constexpr size_t kShownLines = 8;
constexpr double kWorthTelling = 0.05;  // fraction of a rank's time
constexpr int64_t kTimelineSteps = 100;

struct Options : ListingOptions {
  std::string rank = "0";
  double seconds = 5;
  int64_t steps = 0;
  double timeout_s = 60;
  bool record_shapes = false;
  bool flame = false;
  double rate = profile::kSamplesPerS;
  bool idle = false;
  bool memory = false;
  bool timeline = false;
  std::string output;
};

message::RecordProfiles request_of(const Options& options) {
  message::RecordProfiles request{
      .settings = loop::ProfileSettings{.seconds = options.seconds,
                                        .steps = options.steps,
                                        .timeout_s = options.timeout_s,
                                        .record_shapes = options.record_shapes,
                                        .rate = options.flame ? options.rate : 0,
                                        .is_idle_wanted = options.idle,
                                        .is_memory = options.memory}};
  if (options.rank == "all") return request;
  int rank = 0;
  const char* end = options.rank.data() + options.rank.size();
  const auto read = std::from_chars(options.rank.data(), end, rank);
  if (read.ec != std::errc() || read.ptr != end) {
    throw Error(Code::kUsage, cat("--rank ", options.rank, ": expected a number, or 'all'"));
  }
  request.rank = rank;
  return request;
}

std::string percent(double part, double whole) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", whole > 0 ? 100 * part / whole : 0);
  return text.data();
}

std::string recorded(const loop::RankProfile& profile) {
  const std::string note = profile.note.empty() ? "" : cat("; ", profile.note);
  const bool is_memory = profile.path.ends_with(profile::kMemoryReportEnding);
  std::string out = cat("rank ", profile.rank, ": ", profile.events.value_or(0),
                        is_memory        ? " allocations"
                        : profile.cost_s ? " samples"
                                         : " events",
                        " in ", human_duration(profile.seconds.value_or(0)), ", ",
                        profile.reports.value_or(0), " reports", note);
  if (profile.cost_s && profile.cpu_s) {
    out += cat("; sampling took ", percent(*profile.cost_s, *profile.cpu_s),
               " of its processor time (", human_duration(*profile.cost_s), " of ",
               human_duration(*profile.cpu_s), ")");
  }
  return out;
}

void print_profiles(const std::vector<loop::RankProfile>& profiles) {
  for (const loop::RankProfile& profile : profiles) {
    if (!profile.error.empty()) continue;
    std::cout << profile.path << "\n";
    std::cerr << recorded(profile) << "\n";
  }
}

// Prints a table of each rank's memory.
void print_memory_profiles(const std::vector<loop::RankProfile>& profiles) {
  for (const loop::RankProfile& profile : profiles) {
    if (!profile.error.empty()) continue;
    std::cerr << std::flush;
    std::cout << memory_text(read_memory_report(profile.path)) << std::flush;
  }
}

// Throws one error with all ranks that have no profile.
void check_errors(const std::string& run, const std::vector<loop::RankProfile>& profiles) {
  std::vector<std::string> lines;
  for (const loop::RankProfile& profile : profiles) {
    if (profile.error.empty()) continue;
    lines.push_back(cat("rank ", profile.rank, ": ", profile.error));
  }
  if (lines.empty()) return;
  throw Error(Code::kEnvironment, cat("run '", run, "': ", join(lines, "; ")));
}

// Returns the path of the flame graph: -o, else next to the first rank's file.
std::string flame_path(const Options& options, const std::vector<loop::RankProfile>& profiles) {
  if (!options.output.empty()) return options.output;
  constexpr std::string_view kEnding = profile::kSamplesEnding;
  for (const loop::RankProfile& profile : profiles) {
    if (!profile.path.ends_with(kEnding)) continue;
    const std::string stem = profile.path.substr(0, profile.path.size() - kEnding.size());
    return options.rank == "all" ? cat(stem.substr(0, stem.rfind("-rank")), ".svg")
                                 : cat(stem, ".svg");
  }
  return "";
}

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4f", seconds);
  return text.data();
}

// Returns one letter for each part of the longest step.
std::string phase_bar(const store::PhaseTimes& times, double longest_s) {
  constexpr int kWidth = 40;
  std::string out;
  double end_s = 0;
  const auto add = [&](double part_s, char letter) {
    end_s += part_s;
    const auto columns = longest_s > 0 ? std::lround(end_s / longest_s * kWidth) : 0;
    if (columns > static_cast<long>(out.size())) {
      out.append(static_cast<size_t>(columns) - out.size(), letter);
    }
  };
  add(times.data, 'd');
  add(times.compute, 'c');
  add(times.communication, 'x');
  add(times.wait, '.');
  add(times.checkpoint + times.report + times.other, 'o');
  return out;
}

void print_hottest(const profile::SampledStacks& stacks) {
  std::vector<std::vector<std::string>> rows;
  const double starved_s = stacks.starved_s();
  const double all_s = stacks.seconds() - starved_s;
  if (starved_s > kWorthTelling * stacks.seconds()) {
    std::cerr << stacks.name << ": " << percent(starved_s, stacks.seconds())
              << " of the time its threads were ready and had no processor\n";
  }
  for (const profile::LineTime& line : profile::hottest_lines(stacks)) {
    if (rows.size() == kShownLines) break;
    rows.push_back({percent(line.self_s, all_s), percent(line.total_s, all_s),
                    percent(line.waiting_s, all_s), line.frame.text()});
  }
  if (rows.empty()) return;
  std::cerr << "hottest lines of " << stacks.name << ":\n" << std::flush;
  const Table table = table_of({{.header = "own", .right = true},
                                {.header = "total", .right = true},
                                {.header = "waits", .right = true},
                                {.header = "line", .fills = true}},
                               rows, kAnyWidth);
  for (const std::string& line : table.lines) {
    std::cerr << line << "\n";
  }
}

List hottest_list(const profile::SampledStacks& stacks) {
  List out;
  for (const profile::LineTime& line : profile::hottest_lines(stacks)) {
    out.emplace_back(Map{{"file", line.frame.file},
                         {"line", line.frame.line},
                         {"function", line.frame.name},
                         {"self_s", line.self_s},
                         {"total_s", line.total_s},
                         {"waiting_s", line.waiting_s}});
    if (out.size() == 100) break;
  }
  return out;
}

// The ranks' stacks, and the path of the flame graph.
struct Flames {
  std::vector<profile::SampledStacks> ranks;
  std::string path;  // "": no rank has stacks
};

Flames write_flames(const Options& options, const std::string& run,
                    const std::vector<loop::RankProfile>& profiles) {
  Flames out;
  for (const loop::RankProfile& profile : profiles) {
    if (profile.error.empty()) out.ranks.push_back(read_stacks(profile.path));
  }
  if (out.ranks.empty()) return out;
  out.path = flame_path(options, profiles);
  const std::string title =
      out.ranks.size() == 1 ? cat(run, ", ", out.ranks[0].name) : cat(run, ", all ranks");
  write_flame(out.ranks, title, out.path);
  return out;
}

void print_document(const Options& options, const store::RunRef& run,
                    const message::Profiles& answer, const Flames& flames) {
  Map document = control::describe_answer(run, answer);
  if (options.flame) {
    document.set("flame", flames.path.empty() ? Value() : Value(flames.path));
    List ranks;
    for (const profile::SampledStacks& rank : flames.ranks) {
      ranks.emplace_back(Map{{"name", rank.name}, {"lines", hottest_list(rank)}});
    }
    document.set("hottest", std::move(ranks));
  }
  if (options.memory) {
    List ranks;
    for (const loop::RankProfile& profile : answer.profiles) {
      if (profile.error.empty()) ranks.push_back(read_memory_report(profile.path));
    }
    document.set("memory", std::move(ranks));
  }
  options.print(document);
}

// Prints the phases of the ranks' last steps, from the store, one rank per line.
void print_timeline(const store::RankTimeline& timeline) {
  std::cout << "steps " << timeline.from_step + 1 << " to " << timeline.to_step << " of attempt "
            << timeline.attempt << "; seconds in each step\n";
  std::vector<std::vector<std::string>> rows;
  double longest_s = 0;
  for (const store::RankTimes& rank : timeline.ranks) {
    longest_s = std::max(longest_s, rank.per_step.total());
  }
  for (const store::RankTimes& rank : timeline.ranks) {
    const store::PhaseTimes& times = rank.per_step;
    rows.push_back(
        {cat(rank.rank), seconds_text(times.total()), seconds_text(times.compute),
         seconds_text(times.communication), seconds_text(times.data), seconds_text(times.wait),
         seconds_text(times.checkpoint + times.report + times.other), phase_bar(times, longest_s)});
  }
  print_table({{.header = "rank", .right = true, .key = true},
               {.header = "step", .right = true},
               {.header = "compute", .right = true},
               {.header = "communication", .right = true},
               {.header = "data", .right = true},
               {.header = "wait", .right = true},
               {.header = "other", .right = true},
               {.header = "c compute, x communication, d data, . wait, o other"}},
              rows);
  if (!timeline.straggler) {
    const double in_turn_s = store::waits_in_turn_s(timeline);
    if (in_turn_s > 0) {
      std::cout << "the ranks are late in turn: each waits " << seconds_text(in_turn_s)
                << " s for the others in each step\n";
    } else if (timeline.ranks.size() > 1) {
      std::cout << "no rank keeps the others waiting for long\n";
    }
    return;
  }
  const store::SlowRank& slow = *timeline.straggler;
  std::cout << "rank " << slow.rank << " is the slowest: the others wait "
            << seconds_text(slow.waited_s) << " s for it in each step";
  if (!slow.phase.empty()) {
    std::cout << "; it spends " << seconds_text(slow.own_s) << " s on "
              << (slow.phase == "other" ? "things outside of training" : slow.phase)
              << ", the others " << seconds_text(slow.others_s) << " s";
  }
  std::cout << "\n";
}

void show_timeline(const Options& options) {
  store::OpenRun run = options.open_run();
  const int64_t steps = options.steps > 0 ? options.steps : kTimelineSteps;
  const store::RankTimeline timeline = store::read_timeline(run.store.database(), run.ref, steps);
  if (!options.output.empty()) {
    write_output(options.output, to_json(store::to_trace(timeline)) + "\n");
    std::cerr << "wrote " << options.output << "\n";
  }
  if (!options.for_programs()) return print_timeline(timeline);
  Map document{{"name", run.ref.name}, {"run_id", run.ref.run_id}};
  const Value fields = store::to_value(timeline);
  for (const auto& [key, value] : fields.as_map()) document.set(key, value);
  options.print(document);
}

void check_options(const Options& options) {
  if (options.timeline) {
    if (options.flame || options.record_shapes || options.idle || options.memory) {
      throw Error(Code::kUsage,
                  "--timeline is of what the run has recorded: leave out --flame, --memory, "
                  "--shapes, --idle");
    }
    if (!options.output.empty() && !options.output.ends_with(".json")) {
      throw Error(Code::kUsage, cat("-o ", options.output,
                                    ": expected a name that ends in .json (a trace for Perfetto)"));
    }
    return;
  }
  if (options.memory) {
    if (!options.flame && !options.record_shapes && !options.idle && options.output.empty()) return;
    throw Error(Code::kUsage,
                "--memory is a profile of its own: leave out --flame, --shapes, --idle and -o");
  }
  if (!options.output.empty()) check_flame_path(options.output);
  if (options.flame) {
    if (options.record_shapes) {
      throw Error(Code::kUsage, "--shapes is of a trace of operators: leave out --flame");
    }
    return;
  }
  if (options.output.empty() && !options.idle) return;
  throw Error(Code::kUsage, cat(options.idle ? "--idle" : "-o", " is of stacks: add --flame"));
}

void record_profiles(const Options& options) {
  check_options(options);
  if (options.timeline) return show_timeline(options);
  const message::RecordProfiles request = request_of(options);
  store::OpenRun run = options.open_run();
  control::ControlClient controller(run);
  const message::Profiles answer = controller.profiles(request);
  Flames flames;
  if (options.flame) flames = write_flames(options, run.ref.name, answer.profiles);
  if (options.for_programs()) {
    print_document(options, run.ref, answer, flames);
  } else {
    if (!flames.path.empty()) std::cout << flames.path << "\n";
    print_profiles(answer.profiles);
    for (const profile::SampledStacks& rank : flames.ranks) print_hottest(rank);
    if (options.memory) print_memory_profiles(answer.profiles);
  }
  check_errors(run.ref.name, answer.profiles);
}

}  // namespace

void add_profile(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.command("profile",
                                   "Record what the workers of a live run do: a trace for "
                                   "Perfetto, a flame graph, their memory");
  add_run_argument(command, *options);
  command.option("--rank", &options->rank, "of this rank (default 0), or of 'all'")
      .offers({.words = {"all"}});
  const Option seconds =
      command.option("--seconds,--duration", &options->seconds, "for so long (default 5)")
          .within(0.01, kMostSeconds);
  command
      .option("--steps", &options->steps,
              "for this many reports instead; of --timeline: the last N steps (default 100)")
      .at_least(1)
      .excludes(seconds);
  command
      .option("--timeout", &options->timeout_s,
              "seconds after which --steps ends without them (default 60)")
      .within(0.01, kMostSeconds);
  command.flag("--shapes", &options->record_shapes, "with the shapes of the operators' inputs");
  command.flag("--flame", &options->flame,
               "samples of the stacks instead, Lua lines and native functions of all threads: a "
               "flame graph and a file for speedscope.app");
  command
      .option(
          "--rate", &options->rate,
          "of --flame: samples of each second that a thread runs (default 100); fewer where they "
          "would take more than 0.5 % of the rank's processor time")
      .within(1, kMostRate);
  command.flag("--idle", &options->idle,
               "of --flame: also threads that wait; the main thread is always shown");
  command.flag(
      "--memory", &options->memory,
      "who has the memory of tensors instead: by the line that made them and by name, with "
      "the peak and the growth");
  command.flag("--timeline", &options->timeline,
               "what the ranks have spent their last steps on, side by side, and which one the "
               "others wait for; also of a run that is over");
  command
      .option("-o,--output", &options->output,
              "of --flame: where to write it; .svg, .json for speedscope.app, .folded for "
              "flamegraph.pl; of --timeline: a trace for Perfetto, .json")
      .value_name("FILE");
  add_listing_options(command, *options);
  command.footer(
      "Writes RUN's folder/profiles/TIME-attempt-N-rankR.json, with --flame .speedscope.json and "
      ".svg, with --memory .memory.json. Keys of --json: name, run_id, attempt, profiles; of each "
      "profile: rank, path, events, "
      "seconds, reports, note, or error; with --flame also cost_s, cpu_s of each, and flame, "
      "hottest; with --memory also memory, the ranks' files; with --timeline instead: name, "
      "run_id, attempt, from_step, to_step, ranks, "
      "straggler");
  command.action([options] { record_profiles(*options); });
}

}  // namespace rtrain::cli
