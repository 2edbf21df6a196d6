// rtrain profile RUN: what the workers of a live run spend their time on, as Chrome traces.
#include <charconv>
#include <iostream>
#include <memory>
#include <optional>

#include "host/base/text.h"
#include "host/cli/command.h"
#include "host/cli/control_client.h"
#include "host/cli/listing.h"
#include "host/train/watch/profile_request.h"

namespace rtrain {
namespace {

// Beyond the controller's own deadline.
constexpr double kAnswerS = 10;
constexpr double kMostSeconds = 600;

struct Options : ListingOptions {
  std::string rank = "0";
  double seconds = 5;
  int64_t steps = 0;
  double timeout_s = 60;
  bool record_shapes = false;
};

Map request_of(const Options& options) {
  Map request{{"op", "profile"},
              {"seconds", options.seconds},
              {"steps", options.steps},
              {"timeout_s", options.timeout_s},
              {"record_shapes", options.record_shapes}};
  if (options.rank == "all") return request;
  int rank = 0;
  const char* end = options.rank.data() + options.rank.size();
  const auto read = std::from_chars(options.rank.data(), end, rank);
  if (read.ec != std::errc() || read.ptr != end) {
    throw Error(Code::kUsage, cat("--rank ", options.rank, ": expected a number, or 'all'"));
  }
  request.set("rank", rank);
  return request;
}

void print_profiles(const List& profiles) {
  for (const Value& profile : profiles) {
    if (!profile["error"].is_nil()) continue;
    std::cout << profile["path"].as_string() << "\n";
    std::cerr << "rank " << profile["rank"].as_int() << ": " << profile["events"].as_int()
              << " events in " << human_duration(profile["seconds"].as_float()) << ", "
              << profile["reports"].as_int() << " reports"
              << (profile["note"].is_nil() ? "" : cat("; ", profile["note"].as_string())) << "\n";
  }
}

// The ranks without a profile, in one error.
void check_errors(const std::string& run, const List& profiles) {
  std::vector<std::string> lines;
  for (const Value& profile : profiles) {
    if (profile["error"].is_nil()) continue;
    lines.push_back(cat("rank ", profile["rank"].as_int(), ": ", profile["error"].as_string()));
  }
  if (lines.empty()) return;
  throw Error(Code::kEnvironment, cat("run '", run, "': ", join(lines, "; ")));
}

void record_profiles(const Options& options) {
  const Map request = request_of(options);
  OpenRun run = options.open_run();
  ControlClient controller(run);
  const double recorded_s = options.steps > 0 ? options.timeout_s : options.seconds;
  const auto timeout = std::chrono::duration<double>(profile_deadline_s(recorded_s) + kAnswerS);
  const Value answer =
      controller.ask(request, std::chrono::ceil<std::chrono::milliseconds>(timeout));
  const List& profiles = answer["profiles"].as_list();
  if (options.json) {
    print_json(Map{{"name", run.ref.name},
                   {"run_id", run.ref.run_id},
                   {"attempt", answer["attempt"]},
                   {"profiles", profiles}});
  } else {
    print_profiles(profiles);
  }
  check_errors(run.ref.name, profiles);
}

}  // namespace

void add_profile(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.command(
      "profile", "Record what the workers of a live run do, for Perfetto or chrome://tracing");
  add_run_argument(command, *options);
  command.option("--rank", &options->rank, "of this rank (default 0), or of 'all'");
  const Option seconds = command.option("--seconds", &options->seconds, "for so long (default 5)")
                             .within(0.01, kMostSeconds);
  command.option("--steps", &options->steps, "for so many reports instead")
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
