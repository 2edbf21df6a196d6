#include "host/train/resources/late_reports.h"

#include <utility>

#include "host/base/codec/codec.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/loop/messages/to_controller.h"
#include "host/machine/machine.h"

namespace rtrain::train {

LateReports::LateReports(node::NodeServer& nodes, const RunContext& run,
                         LateReportsDelegate& delegate)
    : nodes_(nodes), run_(run), delegate_(delegate), own_(run.loop) {}

void LateReports::read_own() {
  if (!spools_.emplace(0, Spool{.name = machine::hostname()}).second) return;
  try {
    own_.set_run(run_.run_id);
    for (const store::SpooledReport& each : own_.read()) {
      on_report(0, {.attempt = each.attempt, .rank = each.rank, .report = each.report});
    }
    on_end(0, "");
  } catch (const Error& e) {
    on_end(0, e.message());
  }
}

void LateReports::ask(int node, const std::string& name) {
  spools_[node] = {.name = name, .number = ++num_asked_};
  nodes_.send(node, to_value(message::AskSpool{.run_id = run_.run_id}));
}

void LateReports::on_report(int node, const message::Spooled& spooled) {
  auto report = from_value<Report>(decode(spooled.report));
  if (spooled.attempt < 1 || spooled.rank < 0 || report.index < 0) {
    throw Error(Code::kArgument, cat("report ", report.index, " of rank ", spooled.rank,
                                     " in attempt ", spooled.attempt));
  }
  report.attempt = spooled.attempt;
  report.rank = spooled.rank;
  spools_[node].reports.push_back(std::move(report));
}

// The reports stay on that node's disk until the store has them.
void LateReports::on_end(int node, const std::string& problem) {
  Spool& spool = spools_[node];
  if (!problem.empty()) {
    delegate_.warn(cat("node ", spool.name, " cannot read its spool of reports: ", problem));
  }
  if (spool.reports.empty()) {
    spool.is_stored = problem.empty();
    return;
  }
  const auto on_added = [this, node, name = spool.name, number = spool.number](
                            std::optional<int64_t> added, const std::optional<Error>& error) {
    if (error) {
      return delegate_.warn(
          cat("reports that node ", name, " had on its disk are not stored: ", error->message()));
    }
    if (*added > 0) {
      delegate_.notice(cat("node ", name, " had ", counted(static_cast<size_t>(*added), "report"),
                           " of an earlier attempt on its disk: they are in the store now"));
    }
    // The node may have reconnected meanwhile and have sent more.
    const auto stored = spools_.find(node);
    if (stored != spools_.end() && stored->second.number == number) {
      stored->second.is_stored = true;
    }
  };
  delegate_.add_late_reports(std::exchange(spool.reports, {}), on_added);
}

void LateReports::forget(int below_attempt) {
  for (const auto& [node, spool] : spools_) {
    if (!spool.is_stored) continue;
    if (node == 0) {
      own_.forget(below_attempt);
    } else {
      nodes_.send(node, to_value(message::ForgetSpool{.below_attempt = below_attempt}));
    }
  }
}

}  // namespace rtrain::train
