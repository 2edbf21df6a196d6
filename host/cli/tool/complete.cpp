// rtrain --complete SOURCE CURRENT [WORD…]: prints the store's candidates for the word being typed.
// For the scripts of `rtrain completion`, not for users. CURRENT is that word, WORD… are the
// command and the words before it. Each line is a candidate, optionally followed by a tab and a
// description.
//
// The user waits for this command, so it reads only the disk, ends after two seconds at the latest,
// and prints no errors.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <optional>
#include <span>

#include "host/base/codec/json.h"
#include "host/base/codec/metric_path.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/store/claim/run_name.h"
#include "host/store/read/checkpoint_rows.h"
#include "host/store/read/listing_columns.h"
#include "host/store/read/open_store.h"
#include "host/store/read/run_listing.h"
#include "host/store/read/user_statement.h"
#include "host/store/runs/storage_folder.h"
#include "host/store/series/series_store.h"

namespace rtrain::cli {
namespace {

constexpr unsigned kMostSeconds = 2;
constexpr int64_t kMostRuns = 1000;
constexpr int64_t kRunsForMetrics = 20;
constexpr int64_t kReportsForMetrics = 100;

struct Request {
  std::string source;
  std::string current;
  std::string command;
  std::vector<std::string> words;  // without options
  std::string storage;
};

Request read_request(const std::vector<std::string>& args) {
  Request out{args[0], args[1], args.size() > 2 ? args[2] : "", {}, ""};
  for (size_t i = 3; i < args.size(); ++i) {
    constexpr std::string_view kStorage = "--storage=";
    if (args[i].starts_with(kStorage)) {
      out.storage = args[i].substr(kStorage.size());
    } else if (args[i] == "--storage" && i + 1 < args.size()) {
      out.storage = args[++i];
    } else if (!args[i].starts_with("-")) {
      out.words.push_back(args[i]);
    }
  }
  return out;
}

// Prints a candidate unless it contains a line break or a terminal control character.
void offer(const std::string& candidate, const std::string& current,
           const std::string& description = "") {
  if (!candidate.starts_with(current) || terminal_line(candidate) != candidate) return;
  std::cout << candidate;
  if (!description.empty()) std::cout << '\t' << terminal_line(description);
  std::cout << '\n';
}

std::vector<store::RunRef> newest_runs(store::OpenStore& store) {
  std::vector<store::RunRef> out;
  const List runs =
      store::RunListing(store.database()).rows({.where = {}, .sort = {}, .limit = kRunsForMetrics});
  for (const Value& run : runs) {
    out.push_back(store.find(run["run_id"].as_string()));
  }
  return out;
}

// Returns the words between the command (with its sub-command) and the word being typed.
std::span<const std::string> arguments(const Request& request) {
  const bool has_two_words = request.command == "checkpoint" && !request.words.empty();
  return std::span(request.words).subspan(has_two_words ? 1 : 0);
}

// Returns the runs named by the words. Ignores other words.
std::vector<store::RunRef> named_runs(store::OpenStore& store, const Request& request) {
  std::vector<store::RunRef> out;
  for (const std::string& word : arguments(request)) {
    try {
      out.push_back(store.find(word));
    } catch (const std::exception&) {
    }
  }
  return out;
}

// Returns the logged metrics and those of the newest reports; reading all reports of a long run
// would take too long.
std::vector<std::string> metric_names(store::OpenStore& store, const store::RunRef& run) {
  std::vector<std::string> out = store::series_keys(store.database(), run.run_id);
  const store::QueryAnswer reports = store::answer_query(
      store.database(),
      cat("SELECT metrics FROM reports WHERE run_id = ", store::in_quotes(run.run_id, '\''),
          " ORDER BY idx DESC LIMIT ", kReportsForMetrics));
  for (const List& row : reports.rows) {
    each_metric_text(row[0].as_string(), [&](std::string_view path, std::string_view value) {
      constexpr std::string_view kNoNumber = "\"{[tf";
      if (kNoNumber.find(value.front()) != std::string_view::npos) return;
      out.push_back(from_json(path).as_string());
    });
  }
  return out;
}

std::vector<std::string> metric_names(store::OpenStore& store,
                                      const std::vector<store::RunRef>& runs) {
  std::vector<std::string> out;
  for (const store::RunRef& run : runs) {
    for (std::string& name : metric_names(store, run)) out.push_back(std::move(name));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void offer_best(store::OpenStore& store, const std::string& current) {
  for (const std::string& name : metric_names(store, newest_runs(store))) {
    const std::string run = cat(store::kBestOf, name);
    offer(run, current);
    if (!current.starts_with(cat(run, ":"))) continue;
    offer(cat(run, ":min"), current);
    offer(cat(run, ":max"), current);
  }
}

void offer_runs(store::OpenStore& store, const Request& request) {
  const std::string& current = request.current;
  if (current.starts_with(store::kBestOf)) return offer_best(store, current);
  store::RunFilter filter{.where = {}, .sort = {}, .limit = kMostRuns};
  // Counts characters as SQLite does: bytes that continue a UTF-8 character do not count.
  const auto length =
      std::count_if(current.begin(), current.end(), [](char c) { return (c & 0xC0) != 0x80; });
  if (length > 0) {
    filter.where = cat("substr(name, 1, ", length, ") = ", store::in_quotes(current, '\''));
  }
  filter.archived = request.command == "edit" || request.command == "rm";
  for (const Value& run : store::RunListing(store.database()).rows(filter)) {
    offer(run["name"].as_string(), current,
          cat(run["status"].as_string(), "  ", human_time(run["started_at"])));
  }
  offer("last", current, "the run that was started last");
  offer(std::string(store::kBestOf), current, "METRIC[:min|max], the best run");
}

// `plot` and `ls --columns` take several, separated by commas; in `ls --sort` a "-" reverses the
// order.
void offer_metrics(store::OpenStore& store, const Request& request) {
  const bool is_list = request.command == "ls";
  std::string front;
  if (is_list || request.command == "plot") {
    front = request.current.substr(0, request.current.rfind(',') + 1);
  }
  if (request.current.starts_with("-")) front = "-";
  std::vector<store::RunRef> runs = named_runs(store, request);
  if (runs.empty()) runs = newest_runs(store);
  for (const std::string& name : metric_names(store, runs)) {
    offer(front + name, request.current);
  }
  if (!is_list) return;
  for (const std::string& name :
       store::ListingColumns(store.database()).config_names(kRunsForMetrics)) {
    offer(front + name, request.current);
  }
}

void offer_tags(store::OpenStore& store, const Request& request) {
  const store::QueryAnswer tags = store::answer_query(
      store.database(),
      "SELECT value, count(*) FROM runs, json_each(tags) GROUP BY value ORDER BY value");
  for (const List& row : tags.rows) {
    const int64_t runs = row[1].as_int();
    offer(row[0].as_string(), request.current, cat(runs, runs == 1 ? " run" : " runs"));
  }
}

void offer_checkpoints(store::OpenStore& store, const Request& request) {
  const std::vector<store::RunRef> runs = named_runs(store, request);
  if (runs.empty()) return;
  offer("best", request.current);
  offer("latest", request.current);
  for (const Value& checkpoint : store::checkpoint_rows(store, runs.front(), false)) {
    offer(checkpoint["name"].as_string(), request.current, human_metrics(checkpoint["metrics"]));
  }
}

void offer_all(const Request& request) {
  std::optional<store::OpenStore> store =
      store::OpenStore::open(store::storage_folder(request.storage));
  if (!store) return;
  if (request.source == "runs") offer_runs(*store, request);
  if (request.source == "metrics") offer_metrics(*store, request);
  if (request.source == "tags") offer_tags(*store, request);
  if (request.source == "checkpoints") offer_checkpoints(*store, request);
}

}  // namespace

int run_complete(const std::vector<std::string>& args) {
  if (args.size() < 2) return 0;
  std::signal(SIGALRM, [](int) { _exit(0); });
  alarm(kMostSeconds);
  try {
    offer_all(read_request(args));
  } catch (const std::exception&) {
  }
  std::cout.flush();
  return 0;
}

}  // namespace rtrain::cli
