#include "host/cli/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <string_view>

#include "host/base/error.h"
#include "host/base/fault.h"
#include "host/base/process_start.h"
#include "host/base/text.h"
#include "host/cli/command.h"
#include "host/cli/script_arguments.h"
#include "host/cli/terminal_stream.h"
#include "host/cli/unknown_name.h"
#include "host/loop/group_guard.h"
#include "host/loop/output_tee.h"

namespace rtrain {
namespace {

// A wrong configuration or name is told by its line alone: how the script came there explains
// nothing.
bool has_frames_to_show(const Error& error) {
  return !error.traceback().empty() && error.code() != Code::kConfig &&
         error.code() != Code::kUsage;
}

void print_error(const Error& error) {
  std::cerr << "rtrain: " << error.message() << "\n";
  if (has_frames_to_show(error)) std::cerr << error.traceback() << "\n";
}

// Processes of rtrain's own: not for users, so the parser and its help do not know them.
std::optional<int> run_helper(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (argc == 4 && mode == "--worker") {
    set_fault_process(std::atoi(argv[2]));
    return run_worker(std::atoi(argv[2]), std::atoi(argv[3]));
  }
  if (argc == 4 && mode == "--guard") return run_group_guard(argv[2], argv[3]);
  if (argc == 4 && mode == "--tee") return run_output_tee(argv[2], std::atoll(argv[3]));
  return std::nullopt;
}

// The command's exit code, or that of output which did not arrive: a listing that a full disk has
// cut off is none.
int code_of_output(int code) {
  errno = 0;
  std::cout.flush();
  const bool arrived = std::fflush(stdout) == 0 && std::cout.good() && std::ferror(stdout) == 0;
  if (arrived) return code;
  const std::string reason = errno != 0 ? cat(": ", std::string_view(std::strerror(errno))) : "";
  print_error(Error(Code::kEnvironment, cat("cannot write to the standard output", reason)));
  return code != 0 ? code : exit_code(Code::kEnvironment);
}

void add_commands(CLI::App& app, CommandResult& result) {
  add_run(app, result);
  add_exec(app, result);
  add_ls(app, result);
  add_show(app, result);
  add_metrics(app, result);
  add_checkpoints(app, result);
  add_logs(app, result);
  add_sql(app, result);
  add_stop(app, result);
  add_stack(app, result);
  add_profile(app, result);
  add_repair(app, result);
  add_resources(app, result);
  add_env(app, result);
  add_doc(app, result);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  begin_process();
  try {
    const char* faults = std::getenv("RTRAIN_FAULT");
    set_fault_plan(faults == nullptr ? "" : faults);
  } catch (const Error& e) {
    print_error(e);
    return exit_code(e.code());
  }
  if (const auto code = run_helper(argc, argv)) return *code;
  const TerminalStream out(std::cout, STDOUT_FILENO);
  const TerminalStream err(std::cerr, STDERR_FILENO);
  CLI::App app("Distributed training scripted in Lua", "rtrain");
  app.require_subcommand(1);
  app.get_formatter()->label("REQUIRED", "");
  app.set_version_flag("--version", "rtrain " RTRAIN_VERSION);
  CommandResult result;
  result.command.assign(argv, argv + argc);
  add_commands(app, result);
  if (argc == 1) {
    std::cerr << app.help();
    return exit_code(Code::kUsage);
  }
  try {
    std::vector<std::string> args = mark_script_arguments(result.command);
    std::reverse(args.begin(), args.end());  // as CLI11 wants them
    app.parse(std::move(args));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return code_of_output(app.exit(e));
    const std::vector<std::string> args(argv + 1, argv + argc);
    std::cerr << "rtrain: " << explain_parse_error(app, args, e) << "\n"
              << "Run `rtrain --help` or `rtrain COMMAND --help`.\n";
    return exit_code(Code::kUsage);
  } catch (const Error& e) {
    print_error(e);
    return exit_code(e.code());
  }
  // A run is in the store, whatever became of the lines about it.
  return app.got_subcommand("run") ? result.exit_code : code_of_output(result.exit_code);
}

}  // namespace rtrain
