// rtrain logs RUN: what the workers printed: <run>/logs/attempt-N/rank-R.log.
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/cli/command.h"
#include "host/cli/line_pattern.h"
#include "host/cli/listing.h"
#include "host/store/file.h"
#include "host/store/log_reader.h"

namespace rtrain {
namespace {

struct Options : ListingOptions {
  int64_t rank = -1;
  int64_t attempt = -1;
  bool follow = false;
  std::string pattern;
  bool times = false;
};

// The number in "attempt-12" or "rank-3.log"; nothing for other names.
std::optional<int64_t> number_in(std::string_view name, std::string_view prefix,
                                 std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  int64_t number = 0;
  const auto [end, status] = std::from_chars(name.begin(), name.end(), number);
  if (status != std::errc() || end != name.end()) return std::nullopt;
  return number;
}

struct Line {
  int64_t attempt;
  int64_t rank;
  LogLine log;
};

// The log files of a run, in the order of attempts and ranks.
class Logs {
 public:
  Logs(const RunRef& run, const Options& options)
      : folder_(run.path + "/logs"), options_(options), pattern_(options.pattern) {}

  // Opens what is there and not yet open.
  void find() {
    for (const auto& [attempt, folder] : attempts()) {
      for (const std::string& name : folder_entries(folder)) {
        const auto rank = number_in(name, "rank-", ".log");
        if (!rank || (options_.rank >= 0 && *rank != options_.rank)) continue;
        const auto [place, is_new] = files_.try_emplace({attempt, *rank}, cat(folder, "/", name));
        if (!is_new || !place->second.lost_lines()) continue;
        std::cerr << "rtrain: rank " << *rank
                  << " has printed more than its log keeps (RunConfig.log_bytes): its first lines "
                     "are gone\n";
      }
    }
  }

  // In the order of their times; of lines of one time, or without, those of the first attempt and
  // rank first.
  template <class Use>
  void each_new_line(bool at_end, const Use& use) {
    std::set<Next> next;
    for (auto& [key, file] : files_) add_next(next, key, file, at_end);
    while (!next.empty()) {
      const Next first = *next.begin();
      next.erase(next.begin());
      use(Line{first.key.first, first.key.second, first.line});
      add_next(next, first.key, files_.at(first.key), at_end);
    }
  }

 private:
  using Key = std::pair<int64_t, int64_t>;  // attempt and rank

  // What a file has next.
  struct Next {
    Key key;
    LogLine line;
    bool operator<(const Next& other) const {
      return std::tie(line.time_ms, key) < std::tie(other.line.time_ms, other.key);
    }
  };

  void add_next(std::set<Next>& next, const Key& key, LogReader& file, bool at_end) const {
    while (const auto line = file.next(at_end)) {
      if (!pattern_.matches(line->text)) continue;
      next.insert({key, *line});
      return;
    }
  }

  // All attempts when following, else the one asked for or the last.
  std::map<int64_t, std::string> attempts() const {
    std::map<int64_t, std::string> found;
    for (const std::string& name : folder_entries(folder_)) {
      const auto attempt = number_in(name, "attempt-", "");
      if (!attempt || (options_.attempt >= 0 && *attempt != options_.attempt)) continue;
      found[*attempt] = cat(folder_, "/", name);
    }
    if (!options_.follow && found.size() > 1) found.erase(found.begin(), std::prev(found.end()));
    return found;
  }

  std::string folder_;
  const Options& options_;
  LinePattern pattern_;
  std::map<Key, LogReader> files_;
};

// "0, 1", of the maps' entries of that name.
std::string numbers(const List& rows, std::string_view name) {
  std::vector<std::string> out;
  for (const Value& row : rows) out.push_back(cat(row[name].as_int()));
  return join(out, ", ");
}

bool has_number(const List& rows, std::string_view name, int64_t number) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Value& row) { return row[name].as_int() == number; });
}

// Refuses an attempt or a rank that the run does not have.
void check_asked(OpenRun& run, const Options& options) {
  const List attempts = run.reader.run(run.ref)["attempts"].as_list();
  if (options.attempt >= 0 && !has_number(attempts, "attempt", options.attempt)) {
    throw Error(Code::kUsage, cat("the run '", run.ref.name, "' has no attempt ", options.attempt,
                                  ", its attempts: ", numbers(attempts, "attempt")));
  }
  if (options.rank < 0 || attempts.empty()) return;
  const auto is_asked = [&](const Value& attempt) {
    return attempt["attempt"].as_int() == options.attempt;
  };
  const auto found = std::find_if(attempts.begin(), attempts.end(), is_asked);
  const Value& attempt = found == attempts.end() ? attempts.back() : *found;
  const List& workers = attempt["workers"].as_list();
  // None yet: they are being started.
  if (workers.empty() || has_number(workers, "rank", options.rank)) return;
  throw Error(Code::kUsage,
              cat("attempt ", attempt["attempt"].as_int(), " of the run '", run.ref.name,
                  "' has no rank ", options.rank, ", its ranks: ", numbers(workers, "rank")));
}

Map item_of(const Line& line) {
  Map out{{"attempt", line.attempt}, {"rank", line.rank}};
  if (line.log.time_ms != 0) out.set("time", time_text(line.log.time_ms));
  out.set("line", line.log.text);
  return out;
}

void print_line(const Line& line) {
  std::cout << "[rank " << line.rank << "] " << line.log.text << "\n";
}

void print_timed_line(const Line& line) {
  constexpr size_t kClockAt = 11;  // 2026-11-21T14:03:05.123Z
  constexpr size_t kClockSize = 12;
  const int64_t time_ms = line.log.time_ms;
  std::cout << (time_ms == 0 ? std::string(kClockSize, '-')
                             : time_text(time_ms).substr(kClockAt, kClockSize))
            << " ";
  print_line(line);
}

void print_json_line(const Line& line) { std::cout << to_json(item_of(line)) << "\n"; }

using PrintLine = void (*)(const Line&);

void follow(Logs& logs, const OpenRun& run, PrintLine print) {
  constexpr int kPauseMs = 100;
  bool live = true;
  while (live) {
    // Asked before reading, so that what was written before the end is still read.
    live = run.reader.is_live(run.ref);
    logs.find();
    logs.each_new_line(!live, print);
    std::cout.flush();
    if (live) ::poll(nullptr, 0, kPauseMs);
  }
}

// A list with one line of text for each item: a log need not fit into memory.
void print_as_json(Logs& logs) {
  const char* separator = "\n  ";
  std::cout << "[";
  logs.each_new_line(true, [&](const Line& line) {
    std::cout << separator << to_json(item_of(line));
    separator = ",\n  ";
  });
  std::cout << "\n]\n";
}

}  // namespace

void add_logs(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.command("logs", "Show what the workers of a run printed");
  add_run_argument(command, *options);
  command.option("--rank", &options->rank, "of this rank alone").at_least(0);
  command.option("--attempt", &options->attempt, "of this attempt (else the last)").at_least(0);
  command.option("--grep", &options->pattern, "lines that match, as for grep -E")
      .value_name("PATTERN");
  command.flag("-t,--times", &options->times, "with the time (UTC) at which it was printed");
  const Option follow_flag =
      command.flag("-f,--follow", &options->follow, "go on until the run ends");
  command.footer(
      "Lines of all ranks in the order in which they were printed.\n"
      "Keys of --json, for each line: attempt, rank, time (of runs that have it), line");
  add_listing_options(command, *options).excludes(follow_flag);
  command.action([options] {
    OpenRun run = options->open_run();
    check_asked(run, *options);
    Logs logs(run.ref, *options);
    const PrintLine print = options->for_programs() ? print_json_line
                            : options->times        ? print_timed_line
                                                    : print_line;
    if (options->follow) return follow(logs, run, print);
    logs.find();
    if (options->json) return print_as_json(logs);
    logs.each_new_line(true, print);
  });
}

}  // namespace rtrain
