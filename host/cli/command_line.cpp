#include "host/cli/command_line.h"

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "host/base/error.h"
#include "host/cli/command.h"

namespace rtrain {
namespace {

void print_error(const Error& error) {
  std::cerr << "rtrain: " << error.message() << "\n";
  if (error.code() == Code::kUser && !error.traceback().empty())
    std::cerr << error.traceback() << "\n";
}

}  // namespace

int run_command_line(int argc, char** argv) {
  // Not for users, so the parser and its help do not know it.
  if (argc == 4 && std::string_view(argv[1]) == "--worker") return run_worker(std::atoi(argv[3]));
  CLI::App app("Distributed training scripted in Lua", "rtrain");
  app.require_subcommand(1);
  app.set_version_flag("--version", "rtrain " RTRAIN_VERSION);
  CommandResult result;
  add_exec(app, result);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : exit_code(Code::kUsage);
  } catch (const Error& e) {
    print_error(e);
    return exit_code(e.code());
  }
  return result.exit_code;
}

}  // namespace rtrain
