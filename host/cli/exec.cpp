// rtrain exec FILE [args]: runs a Lua file with the modules but without a run.
#include <memory>

#include "host/bind/modules.h"
#include "host/cli/command.h"
#include "host/lua/state.h"

namespace rtrain {

void add_exec(CLI::App& app, CommandResult&) {
  struct Options {
    std::string file;
    std::vector<std::string> args;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("exec", "Run a Lua file with rtrain's modules, without a run");
  command->add_option("FILE", options->file, "Lua file")->required();
  command->add_option("ARGS", options->args, "the script's own arguments (global `arg`)");
  command->prefix_command();
  command->final_callback([options, command] {
    std::vector<std::string> args = options->args;
    for (const std::string& rest : command->remaining()) args.push_back(rest);
    State state;
    add_host_modules(state);
    run_file(state, options->file, args);
  });
}

}  // namespace rtrain
