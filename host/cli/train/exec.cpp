// rtrain exec FILE [args], rtrain exec -e CODE [args]: runs Lua with the modules but without a run.
#include <memory>
#include <optional>

#include "host/base/error.h"
#include "host/bind/modules.h"
#include "host/cli/parser/command.h"
#include "host/cli/parser/script_arguments.h"
#include "host/cli/processes/leave.h"
#include "host/lua/state.h"
#include "host/machine/processes/full_stack.h"

namespace rtrain::cli {
namespace {

struct ExecOptions {
  std::optional<std::string> code;
  std::string file;
  std::vector<std::string> args;
};

void run_exec(ExecOptions options) {
  machine::explain_full_stack();
  lua::State state;
  bind::add_host_modules(state);
  replace_os_exit(state, /*may_close=*/true);
  if (!options.code) {
    if (options.file.empty()) throw Error(Code::kUsage, "exec: expected a FILE or -e CODE");
    return lua::run_file(state, options.file, unmarked(options.args));
  }
  // With -e CODE the first argument belongs to the script.
  if (!options.file.empty()) options.args.insert(options.args.begin(), options.file);
  lua::run_code(state, *options.code, unmarked(options.args));
}

}  // namespace

void add_exec(Parser& parser) {
  auto options = std::make_shared<ExecOptions>();
  Command command =
      parser.command("exec", "Run a Lua file, or code, with rtrain's modules, without a run");
  command.option("-e", &options->code, "the code itself, in place of a file").value_name("CODE");
  command.argument("FILE", &options->file, "Lua file");
  command.argument("ARGS", &options->args,
                   "the script's own arguments (`...` and the global `arg`)");
  // Words after the file belong to the script, even if they look like options.
  command.leave_the_rest();
  command.action([options] { run_exec(*options); });
}

}  // namespace rtrain::cli
