// rtrain profile RUN: what the workers of a live run spend their time on, as Chrome traces.
#include <charconv>
#include <iostream>
#include <memory>
#include <optional>

#include "host/base/text.h"
#include "host/cli/command.h"
#include "host/cli/listing.h"
#include "host/control/control_client.h"

namespace rtrain {
namespace {

constexpr double kMostSeconds = 600;

struct Options : ListingOptions {
  std::string rank = "0";
  double seconds = 5;
  int64_t steps = 0;
  double timeout_s = 60;
  bool record_shapes = false;
};

message::RecordProfiles request_of(const Options& options) {
  message::RecordProfiles request{.seconds = options.seconds,
                                  .steps = options.steps,
                                  .timeout_s = options.timeout_s,
                                  .record_shapes = options.record_shapes};
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

void print_profiles(const std::vector<RankProfile>& profiles) {
  for (const RankProfile& profile : profiles) {
    if (!profile.error.empty()) continue;
    std::cout << profile.path << "\n";
    std::cerr << "rank " << profile.rank << ": " << profile.events.value_or(0) << " events in "
              << human_duration(profile.seconds.value_or(0)) << ", " << profile.reports.value_or(0)
              << " reports" << (profile.note.empty() ? "" : cat("; ", profile.note)) << "\n";
  }
}

// The ranks without a profile, in one error.
void check_errors(const std::string& run, const std::vector<RankProfile>& profiles) {
  std::vector<std::string> lines;
  for (const RankProfile& profile : profiles) {
    if (profile.error.empty()) continue;
    lines.push_back(cat("rank ", profile.rank, ": ", profile.error));
  }
  if (lines.empty()) return;
  throw Error(Code::kEnvironment, cat("run '", run, "': ", join(lines, "; ")));
}

void record_profiles(const Options& options) {
  const message::RecordProfiles request = request_of(options);
  OpenRun run = options.open_run();
  ControlClient controller(run);
  const message::Profiles answer = controller.profiles(request);
  if (options.for_programs()) {
    options.print(describe_answer(run.ref, answer));
  } else {
    print_profiles(answer.profiles);
  }
  check_errors(run.ref.name, answer.profiles);
}

}  // namespace

void add_profile(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.command(
      "profile", "Record what the workers of a live run do, for Perfetto or chrome://tracing");
  add_run_argument(command, *options);
  command.option("--rank", &options->rank, "of this rank (default 0), or of 'all'")
      .offers({.words = {"all"}});
  const Option seconds = command.option("--seconds", &options->seconds, "for so long (default 5)")
                             .within(0.01, kMostSeconds);
  command.option("--steps", &options->steps, "for this many reports instead")
      .at_least(1)
      .excludes(seconds);
  command
      .option("--timeout", &options->timeout_s,
              "seconds after which --steps ends without them (default 60)")
      .within(0.01, kMostSeconds);
  command.flag("--shapes", &options->record_shapes, "with the shapes of the operators' inputs");
  add_listing_options(command, *options);
  command.footer(
      "Writes RUN's folder/profiles/TIME-attempt-N-rankR.json. Keys of --json: name, run_id, "
      "attempt, profiles; of each profile: rank, path, events, seconds, reports, note, or error");
  command.action([options] { record_profiles(*options); });
}

}  // namespace rtrain
