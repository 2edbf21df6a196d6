// rtrain logs RUN: what the workers printed: <run>/logs/attempt-N/rank-R.log.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iostream>
#include <map>
#include <memory>

#include "host/base/text.h"
#include "host/cli/command.h"
#include "host/cli/listing.h"
#include "host/store/file.h"

namespace rtrain {
namespace {

struct Options : ListingOptions {
  int64_t rank = -1;
  int64_t attempt = -1;
  bool follow = false;
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

// One worker's log, read line by line as it grows.
class LogFile {
 public:
  LogFile(int64_t attempt, int64_t rank, const std::string& path)
      : attempt_(attempt), rank_(rank), file_(path, O_RDONLY) {}

  int64_t attempt() const { return attempt_; }
  int64_t rank() const { return rank_; }

  // The lines written since the last call; with at_end also the last one without its newline.
  std::vector<std::string> new_lines(bool at_end) {
    std::array<char, 65536> buffer;
    ssize_t got = 0;
    while ((got = ::read(file_.fd(), buffer.data(), buffer.size())) > 0) {
      rest_.append(buffer.data(), static_cast<size_t>(got));
    }
    if (got < 0) throw file_error("read", file_.path());
    std::vector<std::string> lines = split(rest_, '\n');
    rest_ = std::move(lines.back());
    lines.pop_back();
    if (at_end && !rest_.empty()) lines.push_back(std::exchange(rest_, {}));
    return lines;
  }

 private:
  int64_t attempt_;
  int64_t rank_;
  OpenFile file_;
  std::string rest_;
};

// The log files of a run, in the order of attempts and ranks.
class Logs {
 public:
  Logs(const RunRef& run, const Options& options)
      : folder_(run.path + "/logs"), options_(options) {}

  // Opens what is there and not yet open.
  void find() {
    for (const auto& [attempt, folder] : attempts()) {
      for (const std::string& name : folder_entries(folder)) {
        const auto rank = number_in(name, "rank-", ".log");
        if (!rank || (options_.rank >= 0 && *rank != options_.rank)) continue;
        files_.try_emplace({attempt, *rank}, attempt, *rank, cat(folder, "/", name));
      }
    }
  }

  template <class Use>
  void each_new_line(bool at_end, const Use& use) {
    for (auto& [key, file] : files_) {
      for (const std::string& line : file.new_lines(at_end)) use(file, line);
    }
  }

 private:
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
  std::map<std::pair<int64_t, int64_t>, LogFile> files_;
};

void print_line(const LogFile& file, const std::string& line) {
  std::cout << "[rank " << file.rank() << "] " << line << "\n";
}

void follow(Logs& logs, const OpenRun& run) {
  constexpr int kPauseMs = 100;
  bool live = true;
  while (live) {
    // Asked before reading, so that what was written before the end is still read.
    live = run.reader.is_live(run.ref);
    logs.find();
    logs.each_new_line(!live, print_line);
    std::cout.flush();
    if (live) ::poll(nullptr, 0, kPauseMs);
  }
}

Value lines_as_json(Logs& logs) {
  List out;
  logs.each_new_line(true, [&out](const LogFile& file, const std::string& line) {
    out.push_back(Map{{"attempt", file.attempt()}, {"rank", file.rank()}, {"line", line}});
  });
  return out;
}

}  // namespace

void add_logs(CLI::App& app, CommandResult&) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("logs", "Show what the workers of a run printed");
  add_run_argument(*command, *options);
  command->add_option("--rank", options->rank, "of this rank alone")->check(CLI::NonNegativeNumber);
  command->add_option("--attempt", options->attempt, "of this attempt (else the last)")
      ->check(CLI::NonNegativeNumber);
  auto* follow_flag = command->add_flag("-f,--follow", options->follow, "go on until the run ends");
  add_listing_options(*command, *options);
  command->footer("Keys of --json, for each line: attempt, rank, line");
  command->get_option("--json")->excludes(follow_flag);
  command->final_callback([options] {
    const OpenRun run = options->open_run();
    Logs logs(run.ref, *options);
    if (options->follow) return follow(logs, run);
    logs.find();
    if (options->json) return print_json(lines_as_json(logs));
    logs.each_new_line(true, print_line);
  });
}

}  // namespace rtrain
