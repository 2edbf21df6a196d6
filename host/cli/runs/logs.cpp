// rtrain logs RUN: the output of the workers: <run>/logs/attempt-N/rank-R.log.
#include <poll.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/line_pattern.h"
#include "host/cli/screen/listing.h"
#include "host/store/claim/run_lock.h"
#include "host/store/read/attempt_rows.h"
#include "host/store/read/logs/newest_lines.h"
#include "host/store/read/logs/run_logs.h"

namespace rtrain::cli {
namespace {

struct Options : ListingOptions {
  int64_t rank = -1;
  int64_t attempt = -1;
  bool follow = false;
  int64_t tail = 0;  // 0: all lines
  std::string pattern;
  bool times = false;
};

// Returns the numbers in the entries of that name, such as "0, 1".
std::string numbers(const List& rows, std::string_view name) {
  std::vector<std::string> out;
  for (const Value& row : rows) out.push_back(cat(row[name].as_int()));
  return join(out, ", ");
}

bool has_number(const List& rows, std::string_view name, int64_t number) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Value& row) { return row[name].as_int() == number; });
}

// Throws for an attempt or a rank that the run does not have.
void check_asked(store::OpenRun& run, const Options& options) {
  const List attempts = store::attempt_rows(run.store.database(), run.ref.run_id);
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
  // There are no workers yet, because they are being started.
  if (workers.empty() || has_number(workers, "rank", options.rank)) return;
  throw Error(Code::kUsage,
              cat("attempt ", attempt["attempt"].as_int(), " of the run '", run.ref.name,
                  "' has no rank ", options.rank, ", its ranks: ", numbers(workers, "rank")));
}

void print_line(const store::RunLogLine& line) {
  std::cout << "[rank " << line.rank << "] " << line.log.text << "\n";
}

void print_timed_line(const store::RunLogLine& line) {
  constexpr size_t kClockAt = 11;  // 2026-11-21T14:03:05.123Z
  constexpr size_t kClockSize = 12;
  const int64_t time_ms = line.log.time_ms;
  std::cout << (time_ms == 0 ? std::string(kClockSize, '-')
                             : time_text(time_ms).substr(kClockAt, kClockSize))
            << " ";
  print_line(line);
}

void print_json_line(const store::RunLogLine& line) {
  std::cout << to_json(store::describe_log_line(line)) << "\n";
}

// Opens the existing logs.
void find_logs(store::RunLogs& logs) {
  for (const int64_t rank : logs.find()) {
    std::cerr << "rtrain: rank " << rank
              << " has printed more than its log keeps (RunConfig.log_bytes): its first lines are "
                 "gone\n";
  }
}

store::LogChoice choice_of(const Options& options) {
  store::LogChoice out{.rank = options.rank,
                       .attempt = options.attempt,
                       .all_attempts = options.follow,
                       .last_lines = options.tail};
  if (options.pattern.empty()) return out;
  auto pattern = std::make_shared<LinePattern>(options.pattern);
  out.matches = [pattern](std::string_view line) { return pattern->matches(line); };
  return out;
}

using PrintLine = std::function<void(const store::RunLogLine&)>;

// Prints new lines. With `tail`, prints only the last lines of the existing ones.
void print_new_lines(store::RunLogs& logs, bool at_end, int64_t tail, const PrintLine& print) {
  find_logs(logs);
  if (tail == 0) {
    logs.each_new_line(at_end, print);
    return;
  }
  store::NewestLines newest(static_cast<size_t>(tail));
  logs.each_new_line(at_end, [&](const store::RunLogLine& line) { newest.add(line); });
  newest.take(print);
}

void follow(store::RunLogs& logs, const store::OpenRun& run, int64_t tail, const PrintLine& print) {
  constexpr int kPauseMs = 100;
  bool live = true;
  while (live) {
    // Checked before reading, so that lines written before the end are still read.
    live = store::RunLock::is_held(run.ref.path);
    print_new_lines(logs, !live, std::exchange(tail, 0), print);
    std::cout.flush();
    if (live) ::poll(nullptr, 0, kPauseMs);
  }
}

// Prints a JSON list with one line of text for each item, because a log may not fit into memory.
void print_as_json(store::RunLogs& logs, int64_t tail) {
  const char* separator = "\n  ";
  std::cout << "[";
  print_new_lines(logs, true, tail, [&](const store::RunLogLine& line) {
    std::cout << separator << to_json(store::describe_log_line(line));
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
  command.option("--tail", &options->tail, "the last N lines alone").value_name("N").at_least(1);
  command.old_option("-n", &options->tail, "--tail").at_least(1);
  command.flag("-t,--times", &options->times, "with the time (UTC) at which it was printed");
  command.flag("-f,--follow", &options->follow, "until the run ends");
  command.footer(
      "Lines of all ranks in the order in which they were printed.\n"
      "Keys of --json, for each line: attempt, rank, time (of runs that have it), line");
  add_listing_options(command, *options);
  command.action([options] {
    if (options->follow && options->json == "true") {
      throw Error(Code::kUsage, "logs --follow: one JSON document has an end: say --json=lines");
    }
    store::OpenRun run = options->open_run();
    check_asked(run, *options);
    store::RunLogs logs(run.ref, choice_of(*options));
    const PrintLine print = options->for_programs() ? print_json_line
                            : options->times        ? print_timed_line
                                                    : print_line;
    if (options->follow) return follow(logs, run, options->tail, print);
    if (options->json == "true") return print_as_json(logs, options->tail);
    print_new_lines(logs, true, options->tail, print);
  });
}

}  // namespace rtrain::cli
