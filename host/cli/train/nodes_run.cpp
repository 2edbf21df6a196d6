#include "host/cli/train/nodes_run.h"

#include <unistd.h>

#include <csignal>
#include <optional>

#include "host/base/codec/record.h"
#include "host/bind/modules.h"
#include "host/cli/parser/script_arguments.h"
#include "host/cli/processes/interrupt.h"
#include "host/cli/train/far_session.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"

namespace rtrain::cli {
namespace {

// The argument of rtrain.nodes.begin; rtrain.nodes.plan describes the fields.
struct NodesRequest {
  static constexpr std::string_view kClass = "NodesRequest";
  std::string nodes;
  std::string script;
  std::vector<std::string> options;
  std::vector<std::string> args;
  std::vector<std::string> command;
  std::vector<std::string> with;
  std::optional<std::string> bundle = {};
  std::optional<std::string> name = {};
  std::optional<std::string> storage = {};
  bool detach = false;
  bool quiet = false;
  bool terminal = false;

  static constexpr RecordFields kFields{
      required("nodes", &NodesRequest::nodes),     required("script", &NodesRequest::script),
      required("options", &NodesRequest::options), required("args", &NodesRequest::args),
      required("command", &NodesRequest::command), required("with", &NodesRequest::with),
      optional("bundle", &NodesRequest::bundle),   optional("name", &NodesRequest::name),
      optional("storage", &NodesRequest::storage), required("detach", &NodesRequest::detach),
      required("quiet", &NodesRequest::quiet),     required("terminal", &NodesRequest::terminal)};
};

std::optional<std::string> if_given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

bool has_terminal() {
  return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
}

}  // namespace

void add_nodes_options(Command& command, NodesOptions& options) {
  const Option nodes =
      command
          .option("--nodes", &options.nodes,
                  "run on these nodes, which ssh reaches; :N limits a node's workers; or a file "
                  "with a node in each line (rtrain doc guide/nodes)")
          .value_name("A,B:N|FILE")
          .offers({.sources = {Source::kFiles}});
  command
      .option("--with", &options.with,
              "--nodes: a file or folder that the script reads, for each node; repeatable")
      .value_name("FILE")
      .repeatable()
      .needs(nodes);
  command
      .option("--bundle", &options.bundle,
              "--nodes: run this file of rtrain bundle --with-libtorch there, in place of rtrain")
      .value_name("FILE")
      .needs(nodes);
  command
      .flag("--detach", &options.detach,
            "--nodes: do not wait: the run goes on without this terminal")
      .needs(nodes);
}

int run_on_nodes(const NodesOptions& options, const RunOptions& run,
                 const std::vector<std::string>& command_line) {
  lua::State state;
  bind::add_host_modules(state);
  RunOptions others = run;
  others.name.clear();
  others.storage.clear();
  const NodesRequest request{.nodes = options.nodes,
                             .script = run.file,
                             .options = words_of(others),
                             .args = unmarked(run.args),
                             .command = command_line,
                             .with = options.with,
                             .bundle = if_given(options.bundle),
                             .name = if_given(run.name),
                             .storage = if_given(run.storage),
                             .detach = options.detach,
                             .quiet = run.quiet,
                             .terminal = has_terminal()};
  {
    // An interrupted transfer ends with its ssh, and goes on the next time.
    const Interrupt interrupt(state, {SIGINT, SIGTERM, SIGHUP});
    lua::push_module_function(state, "rtrain.nodes", "begin");
    lua::push_value(state, to_value(request));
    lua::protected_call(state, 1, 2);
  }
  const Value words = lua::to_value(state, -2, "the command");
  const Value terminal = lua::to_value(state, -1, "whether it gets the terminal");
  lua_pop(state, 2);
  if (words.is_nil()) return 0;
  std::vector<std::string> command;
  for (const Value& word : words.as_list()) command.push_back(word.as_string());
  const int status = run_far_session(command, terminal.as_bool());
  lua::push_module_function(state, "rtrain.nodes", "finish");
  lua::push_value(state, status);
  lua::protected_call(state, 1, 1);
  return static_cast<int>(lua::to_value(state, -1, "the exit code").as_int());
}

}  // namespace rtrain::cli
