#include "host/cli/command_line.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <string_view>

#include "host/base/error.h"
#include "host/base/fault.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/parser/script_arguments.h"
#include "host/cli/processes/leave.h"
#include "host/cli/runs/far_command.h"
#include "host/cli/screen/terminal_stream.h"
#include "host/cli/tool/licenses.h"
#include "host/loop/processes/group_guard.h"
#include "host/loop/processes/output_tee.h"
#include "host/loop/processes/worker_descriptors.h"
#include "host/lua/libraries/engine_loader.h"
#include "host/machine/processes/process_start.h"

namespace rtrain::cli {
namespace {

// For a wrong configuration or name the error's own line is enough; the traceback would not
// help.
bool has_frames_to_show(const Error& error) {
  return !error.traceback().empty() && error.code() != Code::kConfig &&
         error.code() != Code::kUsage;
}

void print_error(const Error& error) {
  std::cerr << "rtrain: " << error.message() << "\n";
  if (has_frames_to_show(error)) std::cerr << error.traceback() << "\n";
}

// Runs rtrain's helper processes. Users do not start them, so the parser and its help omit them.
std::optional<int> run_helper(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (argc == 4 && mode == "--worker") {
    const int parent_pid = std::atoi(argv[3]);
    if (argv[2] == std::string_view(loop::kZygoteRank)) return run_zygote(parent_pid, argv[2]);
    set_fault_process(std::atoi(argv[2]));
    return run_worker(std::atoi(argv[2]), parent_pid);
  }
  if (argc == 4 && mode == "--ingest") return run_ingest(std::atoi(argv[2]), std::atoi(argv[3]));
  if (argc == 4 && mode == "--far-ingest") {
    return run_far_ingest(std::atoi(argv[2]), std::atoi(argv[3]));
  }
  if (argc == 4 && mode == "--guard") return loop::run_group_guard(argv[2], argv[3]);
  if (argc == 4 && mode == "--tee") return loop::run_output_tee(argv[2], std::atoll(argv[3]));
  if (mode == "--complete") return run_complete({argv + 2, argv + argc});
  return std::nullopt;
}

// Returns 0, or the exit code for incomplete output: a listing cut off by a full disk is an error.
int code_of_output() {
  errno = 0;
  std::cout.flush();
  const bool arrived = std::fflush(stdout) == 0 && std::cout.good() && std::ferror(stdout) == 0;
  if (arrived) return 0;
  const std::string reason = errno != 0 ? cat(": ", std::string_view(std::strerror(errno))) : "";
  print_error(Error(Code::kEnvironment, cat("cannot write to the standard output", reason)));
  return exit_code(Code::kEnvironment);
}

void add_commands(Parser& parser, const std::vector<std::string>& command_line) {
  parser.group("Train");
  add_init(parser);
  add_check(parser);
  add_run(parser, command_line);
  add_launch(parser, command_line);
  add_sweep(parser, command_line);
  add_submit(parser);
  add_exec(parser);
  add_repl(parser);
  add_bundle(parser);
  parser.group("Results");
  add_ls(parser);
  add_show(parser);
  add_metrics(parser);
  add_diff(parser);
  add_plot(parser);
  add_logs(parser);
  add_sql(parser);
  add_export(parser);
  add_import(parser);
  add_edit(parser);
  add_rm(parser);
  add_gc(parser);
  parser.group("Checkpoints");
  add_checkpoint(parser);
  add_predict(parser);
  parser.group("Live runs");
  add_watch(parser);
  add_dash(parser);
  add_stop(parser);
  add_stack(parser);
  add_profile(parser);
  add_resources(parser);
  parser.group("Help");
  add_doctor(parser);
  add_env(parser);
  add_doc(parser);
  add_peek(parser);
  add_completion(parser);
  add_agent(parser);
  add_reach(parser);
  add_man(parser);
  add_lr_find(parser);
  add_estimate(parser);
  add_checkpoints(parser);
  add_data(parser);
  add_tag(parser);
  add_note(parser);
  add_rename(parser);
  add_archive(parser);
  add_repair(parser);
  add_cache(parser);
  add_self_check(parser);
}

int run_command(int argc, char** argv) {
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
  const std::vector<std::string> command_line(argv, argv + argc);
  Parser parser("rtrain", "Distributed training scripted in Lua", "rtrain " RTRAIN_VERSION,
                licenses_text);
  add_commands(parser, command_line);
  parser.footer(
      "Begin with:\n"
      "  rtrain init mnist hello && cd hello   a folder with a script that runs as it is\n"
      "  rtrain run train.lua -n 2             train it, with two workers\n"
      "  rtrain ls                             what has been trained\n"
      "  rtrain doc                            functions, guides; rtrain doc WORDS searches in "
      "them");
  if (argc == 1) {
    std::cerr << parser.help();
    return exit_code(Code::kUsage);
  }
  std::string command;
  try {
    become_far_command(command_line);
    command = parser.parse(mark_script_arguments(command_line));
  } catch (const Error& e) {
    print_error(e);
    return exit_code(e.code());
  } catch (const std::exception& e) {
    const Error error = error_of(e);
    print_error(error);
    return exit_code(error.code());
  }
  // The run is in the store, even if lines about it could not be printed.
  return command == "run" || command == "sweep" ? 0 : code_of_output();
}

}  // namespace

int run_command_line(int argc, char** argv) {
  machine::begin_process();
  const int code = run_command(argc, argv);
  const std::string_view command = argc > 1 ? argv[1] : "";
  // Skips LibTorch's destructors, which would take a third of a short script's time.
  if ((command == "exec" || command == "repl") && lua::engine_loaded()) leave(code);
  return code;
}

}  // namespace rtrain::cli
