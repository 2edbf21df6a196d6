// rtrain watch [RUN]: live view of the runs that are not over, with their ranks and devices.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <thread>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/text/counted.h"
#include "host/base/text/shell_word.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/cli/screen/live_screen.h"
#include "host/store/read/live_runs.h"

namespace rtrain::cli {
namespace {

struct Options : ListingOptions {
  double interval_s = 1;
};

std::string rate_text(const Value& per_s) {
  if (per_s.is_nil()) return "";
  const double rate = per_s.as_float();
  if (rate >= 1) return cat(human_number(rate), "/s");
  return rate > 0 ? cat("one in ", human_duration(1 / rate)) : "";
}

// Puts metrics that show the progress first.
Map in_reading_order(const Map& metrics) {
  Map out;
  for (const char* name : {"epoch", "step"}) {
    if (const Value* value = metrics.find(name)) out.set(name, *value);
  }
  for (const auto& [name, value] : metrics) {
    if (!value.is_map() && !value.is_list()) out.set(name, value);
  }
  return out;
}

// Returns the metrics of the last report and the newest logged values.
std::string newest_text(const Value& run) {
  Map all = run["metrics"].as_map();
  for (const auto& [name, value] : run["logged"].as_map()) {
    const std::string& key = std::get<std::string>(name);
    if (all.find(key) == nullptr) all.set(key, value);
  }
  return human_metrics(in_reading_order(all));
}

std::string percent_text(const Value& percent) {
  return percent.is_nil() ? "" : cat(std::llround(percent.as_float()), " %");
}

std::string size_text(const Value& bytes) {
  return bytes.is_nil() ? "" : human_size(static_cast<int64_t>(bytes.as_float()));
}

// Returns "20 ms a step" for a rank that slows the others down.
std::string lost_text(const Value& lost_s) {
  const bool is_slow = !lost_s.is_nil() && lost_s.as_float() > 0;
  return is_slow ? cat(std::llround(lost_s.as_float() * 1000), " ms a step") : "";
}

void add_lines(std::vector<std::string>& out, const std::vector<Column>& columns,
               const std::vector<std::vector<std::string>>& rows, size_t width) {
  for (std::string& line : table_of(columns, rows, width).lines) out.push_back(std::move(line));
}

void add_runs(std::vector<std::string>& out, const List& runs, size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& run : runs) {
    const int64_t attempt = run["attempt"].as_int();
    rows.push_back({run["name"].as_string(),
                    cat(run["status"].as_string(), attempt > 1 ? cat(" attempt ", attempt) : ""),
                    human_duration(run["duration_s"].as_float()), cat(run["reports"].as_int()),
                    rate_text(run["reports_per_s"]), newest_text(run)});
  }
  add_lines(out,
            {{.header = "NAME", .key = true},
             {"STATUS"},
             {"TIME", true},
             {"REPORTS", true},
             {"RATE", true},
             {.header = "NEWEST", .fills = true}},
            rows, width);
}

// Returns the metrics of a rank that differ from rank 0's, which are shown above.
std::string own_metrics(const Value& rank, const Value& run) {
  if (rank["metrics"] == run["metrics"]) return "";
  return human_metrics(in_reading_order(rank["metrics"].as_map()));
}

std::vector<std::string> rank_row(const Value& rank, const Value& run) {
  const Value none{Map{}};
  const Value& gpu = rank["gpu"].is_nil() ? none : rank["gpu"];
  const Value& watts = gpu["power_w"];
  return {run["name"].as_string(),
          cat(rank["rank"].as_int()),
          rank["host"].as_string(),
          cat(rank["pid"].as_int()),
          rank["device"].as_string(),
          percent_text(rank["cpu_percent"]),
          size_text(rank["memory_bytes"]),
          percent_text(gpu["utilization_percent"]),
          size_text(gpu["memory_used_bytes"]),
          watts.is_nil() ? "" : cat(std::llround(watts.as_float()), " W"),
          lost_text(rank["lost_s"]),
          own_metrics(rank, run)};
}

// Adds the table without its empty columns.
void add_filled(std::vector<std::string>& out, const std::vector<Column>& columns,
                const std::vector<std::vector<std::string>>& rows, size_t width) {
  std::vector<Column> shown;
  std::vector<std::vector<std::string>> cells(rows.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto is_filled = [i](const auto& row) { return !row[i].empty(); };
    if (std::none_of(rows.begin(), rows.end(), is_filled)) continue;
    shown.push_back(columns[i]);
    for (size_t row = 0; row < rows.size(); ++row) cells[row].push_back(rows[row][i]);
  }
  add_lines(out, shown, cells, width);
}

void add_ranks(std::vector<std::string>& out, const List& runs, size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& run : runs) {
    if (store::is_over(run)) continue;
    for (const Value& rank : run["ranks"].as_list()) rows.push_back(rank_row(rank, run));
  }
  if (rows.empty()) return;
  out.emplace_back();
  add_filled(out,
             {{.header = "RUN", .key = true},
              {.header = "RANK", .right = true, .key = true},
              {"HOST"},
              {"PID", true},
              {"DEVICE"},
              {"CPU", true},
              {"MEMORY", true},
              {"GPU", true},
              {"GPU MEMORY", true},
              {"POWER", true},
              {"COSTS OTHERS", true},
              {.header = "METRICS", .fills = true}},
             rows, width);
}

std::vector<std::string> page_of(const List& runs, size_t width) {
  constexpr size_t kClockAt = 11;
  constexpr size_t kClockSize = 8;
  const auto live = std::count_if(runs.begin(), runs.end(),
                                  [](const Value& run) { return !store::is_over(run); });
  std::vector<std::string> out{cat(time_text(now_ms()).substr(kClockAt, kClockSize), " UTC  ",
                                   counted(static_cast<size_t>(live), "run"),
                                   live == 1 ? " goes on" : " go on", "  (q ends this)")};
  if (runs.empty()) return out;
  out.emplace_back();
  add_runs(out, runs, width);
  add_ranks(out, runs, width);
  return out;
}

bool is_end(const List& runs, const Options& options) {
  return !options.run.empty() && std::all_of(runs.begin(), runs.end(), store::is_over);
}

// Prints what stays on the screen at the end.
void print_end(const List& runs, const Options& options) {
  std::vector<std::string> lines;
  if (!runs.empty()) add_runs(lines, runs, options.width());
  for (const std::string& line : lines) std::cout << line << "\n";
  if (!options.run.empty()) {
    for (const Value& run : runs) {
      std::cout << "rtrain show " << shell_word(run["name"].as_string()) << "\n";
    }
  }
}

void watch_on_terminal(store::LiveRuns& live, const Options& options) {
  List runs;
  int signal = 0;
  {
    LiveScreen screen;
    auto event = LiveScreen::Event::kTime;
    while (event == LiveScreen::Event::kTime || event == LiveScreen::Event::kResize) {
      if (event == LiveScreen::Event::kTime)
        runs = live.look(store::OpenStore::open(options.storage_path()));
      screen.draw(page_of(runs, options.wide ? kAnyWidth : screen.size().columns - 1));
      if (is_end(runs, options)) break;
      event = screen.wait(options.interval_s);
    }
    signal = screen.interrupted_by();
  }
  print_end(runs, options);
  std::cout.flush();
  if (signal != 0) ::raise(signal);
}

// Returns the part of a line whose change is worth printing, without values that change all the
// time.
std::string change_of(const Value& run) {
  return cat(run["status"].as_string(), " ", run["attempt"].as_int(), " ", run["reports"].as_int(),
             " ", to_json(run["logged"]));
}

void print_change(const Value& run) {
  const std::string rate = rate_text(run["reports_per_s"]);
  const std::string newest = newest_text(run);
  std::cout << time_text(now_ms()) << "  " << run["name"].as_string() << "  "
            << run["status"].as_string() << "  attempt " << run["attempt"].as_int() << "  "
            << counted(static_cast<size_t>(run["reports"].as_int()), "report")
            << (rate.empty() ? "" : "  " + rate) << (newest.empty() ? "" : "  " + newest) << "\n";
}

void watch_as_lines(store::LiveRuns& live, const Options& options) {
  std::map<std::string, std::string> shown;  // by run id
  for (;;) {
    const List runs = live.look(store::OpenStore::open(options.storage_path()));
    for (const Value& run : runs) {
      std::string& last = shown[run["run_id"].as_string()];
      std::string now = change_of(run);
      if (now == last) continue;
      last = std::move(now);
      if (options.for_programs()) {
        std::cout << to_json(run) << "\n";
      } else {
        print_change(run);
      }
    }
    std::cout.flush();
    if (is_end(runs, options) || !std::cout) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_s));
  }
}

void watch(const Options& options) {
  std::optional<std::string> run_id;
  if (!options.run.empty()) run_id = options.open_run().ref.run_id;
  store::LiveRuns live(run_id);
  if (::isatty(STDOUT_FILENO) == 1 && !options.for_programs()) {
    return watch_on_terminal(live, options);
  }
  watch_as_lines(live, options);
}

}  // namespace

void add_watch(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.command("watch", "Show the runs that go on, as they change");
  command.argument("RUN", &options->run,
                   cat("only this one, until it ends: ", kRunHelp, "; else all that go on"));
  command.option("--interval", &options->interval_s, "seconds between two looks (default 1)")
      .value_name("S")
      .within(0.05, 3600);
  add_listing_options(command, *options);
  add_wide_option(command, *options);
  command.footer(
      "On a terminal a table that is drawn again and again; q or Ctrl-C ends it. Elsewhere a line\n"
      "for each change. With RUN it ends by itself when the run does.\n"
      "--json and --json=lines print a document as a line for each change: the keys of\n"
      "`rtrain ls`, attempt (the last one's number), reports (their number), reports_per_s (of\n"
      "the last few), logged (the newest values of train.log, and their step), last_checkpoint\n"
      "(its name), ranks (rank, pid, host, device, gpu, lost_s: how long the others wait in each\n"
      "step for a slow rank, metrics of its last report, cpu_percent of a core and memory_bytes,\n"
      "where it runs on this node)");
  command.action([options] { watch(*options); });
}

}  // namespace rtrain::cli
