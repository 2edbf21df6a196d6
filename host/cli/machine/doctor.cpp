// rtrain doctor: checks everything that rtrain needs on this machine and says how to fix problems.
// rtrain self-check: only those checks that depend on nothing but the machine.
#include <algorithm>
#include <iostream>
#include <memory>

#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/bind/modules.h"
#include "host/cli/machine/doctor_check.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/colour.h"
#include "host/cli/screen/layout.h"
#include "host/cli/screen/listing.h"
#include "host/cli/train/run_options.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"

namespace rtrain::cli {
namespace {

struct DoctorOptions {
  std::string nodes;
  bool json = false;
  bool train = false;
  std::string gpus;
  std::string report;
};

size_t count_of(const std::vector<Check>& checks, CheckStatus status) {
  return static_cast<size_t>(
      std::ranges::count_if(checks, [&](const Check& check) { return check.status == status; }));
}

std::string painted(const Check& check) {
  constexpr size_t kWidth = 9;
  std::string name(status_name(check.status));
  const std::string blank(kWidth - name.size(), ' ');
  if (!wants_colour()) return name + blank;
  const char* colour = check.status == CheckStatus::kOk        ? "32"
                       : check.status == CheckStatus::kWarning ? "33"
                                                               : "31";
  return cat("\x1b[", colour, "m", name, "\x1b[0m", blank);
}

// Prints each check as soon as it is done, because some take a second.
class DoctorReport {
 public:
  enum class Shown { kNothing, kLacks, kAll };

  explicit DoctorReport(Shown shown) : shown_(shown) {}

  void add(const std::vector<Check>& checks) {
    constexpr size_t kNameWidth = 18;
    constexpr size_t kIndent = 9;
    for (const Check& check : checks) {
      checks_.push_back(check);
      const bool is_lack = check.status != CheckStatus::kOk;
      if (shown_ == Shown::kNothing || (shown_ == Shown::kLacks && !is_lack)) continue;
      std::cout << painted(check) << check.name << std::string(kNameWidth - check.name.size(), ' ')
                << check.finding << "\n";
      const std::string indent(kIndent, ' ');
      for (const std::string& line : check.table) std::cout << indent << line << "\n";
      if (!check.mend.empty()) std::cout << indent << "→ " << check.mend << "\n";
      std::cout << std::flush;
    }
  }

  const std::vector<Check>& checks() const { return checks_; }

 private:
  Shown shown_;
  std::vector<Check> checks_;
};

// Prints the document if requested, and throws if a check has failed.
void finish(const DoctorReport& report, bool json) {
  if (json) print_json(to_json(report.checks(), false));
  std::vector<std::string> failed;
  for (const Check& check : report.checks()) {
    if (check.status == CheckStatus::kFailure) failed.push_back(check.name);
  }
  if (!failed.empty()) throw Error(Code::kEnvironment, cat("what fails: ", join(failed, ", ")));
}

// Checks that do not depend on the user's folders and on other processes.
void run_self_check(bool json) {
  DoctorReport report(json ? DoctorReport::Shown::kNothing : DoctorReport::Shown::kLacks);
  report.add(check_libraries());
  report.add(check_machine());
  finish(report, json);
  if (json) return;
  const size_t warnings = count_of(report.checks(), CheckStatus::kWarning);
  std::cout << "this machine has what training needs: " << counted(report.checks().size(), "check")
            << (warnings == 0 ? "" : cat(", ", counted(warnings, "warning")))
            << "; rtrain doctor shows each\n";
}

// Calls rtrain.nodes.doctor, in Lua.
void examine_nodes(const DoctorOptions& options) {
  lua::State state;
  bind::add_host_modules(state);
  lua::push_module_function(state, "rtrain.nodes.doctor", "run");
  lua::push_value(state, Map{{"nodes", options.nodes}, {"json", options.json}});
  lua::protected_call(state, 1, 0);
}

void run_doctor(const DoctorOptions& options) {
  if (!options.nodes.empty()) return examine_nodes(options);
  DoctorReport report(options.json ? DoctorReport::Shown::kNothing : DoctorReport::Shown::kAll);
  report.add(check_libraries());
  report.add(check_machine());
  report.add(check_folders());
  report.add(check_network());
  if (options.train) report.add({check_training()});
  if (!options.gpus.empty()) {
    check_gpus(options.gpus, [&](const Check& check) { report.add({check}); });
  }
  if (!options.report.empty()) write_report(options.report, report.checks());
  finish(report, options.json);
  if (options.json) return;
  const size_t warnings = count_of(report.checks(), CheckStatus::kWarning);
  std::cout << "\nnothing fails" << (warnings == 0 ? "" : cat(", ", counted(warnings, "warning")))
            << (options.train ? "" : "; rtrain doctor --train also trains with two ranks") << "\n";
}

}  // namespace

Value to_json(const std::vector<Check>& checks, bool with_logs) {
  const bool fails = count_of(checks, CheckStatus::kFailure) > 0;
  const bool warns = count_of(checks, CheckStatus::kWarning) > 0;
  List rows;
  for (const Check& check : checks) {
    Map row{{"name", check.name},
            {"status", std::string(status_name(check.status))},
            {"finding", check.finding},
            {"mend", check.mend.empty() ? Value() : Value(check.mend)},
            {"figures", check.figures}};
    if (with_logs) {
      row.set("table", List(check.table.begin(), check.table.end()));
      row.set("log", check.log);
    }
    rows.push_back(std::move(row));
  }
  const CheckStatus worst = fails   ? CheckStatus::kFailure
                            : warns ? CheckStatus::kWarning
                                    : CheckStatus::kOk;
  return Map{{"status", std::string(status_name(worst))}, {"checks", std::move(rows)}};
}

Check check_training() {
  constexpr double kTimeoutS = 120;
  const std::string name = "training";
  const OwnRuns runs;
  const OwnOutput output = runs.run("require('rtrain.doctor.self_test')()", kTimeoutS);
  if (output.has_ended && output.exit_code == 0) {
    return {name, CheckStatus::kOk, last_words(output.text)};
  }
  return {name, CheckStatus::kFailure,
          output.has_ended ? cat("the self-test ends with code ", output.exit_code, ": ",
                                 last_words(output.text))
                           : "the self-test of two ranks does not end within 120 s",
          "mend what fails above; else `rtrain init blank hello` makes a script that shows more"};
}

void add_self_check(Parser& parser) {
  auto json = std::make_shared<bool>(false);
  Command command = parser.old_command("self-check", "doctor");
  command.flag("--json", json.get(), "one JSON document");
  command.footer(
      "The checks of rtrain doctor that are about libraries and the machine, without your "
      "folders,\n"
      "your network and a training: each warning and failure, with what mends it. The exit code is "
      "4\nwhere something fails, else 0. Keys of --json: as rtrain doctor");
  command.action([json] { run_self_check(*json); });
}

void add_doctor(Parser& parser) {
  auto options = std::make_shared<DoctorOptions>();
  Command command = parser.command(
      "doctor", "Check each thing that rtrain needs here, and say what mends what fails");
  command.flag("--json", &options->json, "one JSON document");
  const Option train = command.flag(
      "--train", &options->train, "also train with two ranks, which report and save a checkpoint");
  command
      .option("--gpus", &options->gpus,
              "also all or N GPUs: each one, the links between them, a graph, the loss of a "
              "worker, a checkpoint; two minutes at most")
      .needs(train)
      .check(gpus_error)
      .value_name("all|N")
      .offers({.words = {"all"}});
  const Option report =
      command
          .option("--report", &options->report,
                  "write all of it, with versions and devices, to a file for an issue: JSON, "
                  "without secrets")
          .value_name("FILE");
  command
      .option("--nodes", &options->nodes,
              "check these nodes, which ssh reaches, and the way between them (rtrain run --nodes)")
      .value_name("A,B:N|FILE")
      .offers({.sources = {Source::kFiles}})
      .excludes(train)
      .excludes(report);
  command.footer(
      "Each line is ok, a warning or a failure. The exit code is 4 where something fails, else 0.\n"
      "Nothing is left behind, but for rtrain itself in ~/.cache/rtrain/nodes of --nodes. Keys of\n"
      "--json: status, checks (name, status, finding, mend, figures); with --nodes status, nodes\n"
      "(node, status, checks)");
  command.action([options] { run_doctor(*options); });
}

}  // namespace rtrain::cli
