// rtrain stop RUN: ends a live run with a graceful shutdown, or at once.
#include <iostream>
#include <memory>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/control/control_client.h"
#include "host/store/read/run_document.h"

namespace rtrain::cli {
namespace {

// In addition to the grace period: time for the current commit and the run's last rows.
constexpr std::chrono::seconds kEnd{60};

struct Options : ListingOptions {
  bool now = false;
};

void stop_run(const Options& options) {
  store::OpenRun run = options.open_run();
  control::ControlClient controller(run);
  const double grace_s = controller.stop(options.now, "rtrain stop").grace_s;
  if (!options.for_programs() && grace_s > 0) {
    std::cerr << "run " << run.ref.name << " stops at its next checkpoint, at the latest in "
              << human_duration(grace_s) << "\n";
  }
  if (!controller.wait_for_end(to_ms(grace_s) + kEnd)) {
    throw Error(Code::kTimeout,
                cat("run '", run.ref.name, "' (pid ", controller.pid(), ") has not ended ",
                    human_duration(grace_s), " + ", kEnd.count(),
                    " s after the request: `rtrain stop --now` kills it"));
  }
  const Value document = store::read_run(run.store, run.ref);
  if (options.for_programs()) {
    return options.print(Map{{"name", run.ref.name},
                             {"run_id", run.ref.run_id},
                             {"pid", controller.pid()},
                             {"status", document["status"]}});
  }
  std::cout << "run " << run.ref.name << " " << document["status"].as_string() << "\n";
}

}  // namespace

void add_stop(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.command("stop", "Stop a live run at its next checkpoint");
  add_run_argument(command, *options);
  command.flag("--now", &options->now, "kill its workers, without another checkpoint");
  add_listing_options(command, *options);
  command.footer("Keys of --json: name, run_id, pid, status");
  command.action([options] { stop_run(*options); });
}

}  // namespace rtrain::cli
