// rtrain repl: executes lines of Lua with rtrain's modules, from a terminal or a pipe. rtrain.repl,
// in Lua, interprets the lines.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/processes/interrupt.h"
#include "host/cli/processes/leave.h"
#include "host/cli/screen/colour.h"
#include "host/cli/screen/line_editor.h"
#include "host/cli/screen/line_history.h"
#include "host/cli/train/notebook.h"
#include "host/cli/train/repl_object.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/python_advice.h"
#include "host/lua/require.h"
#include "host/machine/processes/full_stack.h"
#include "host/store/files/state_folder.h"
#include "host/store/runs/environment.h"

namespace rtrain::cli {
namespace {

constexpr const char* kPrompt = "> ";
constexpr const char* kMorePrompt = ">> ";

// An object of the Lua class rtrain.repl, and the execution of the chunks that it returns.
class Session {
 public:
  bool has_ended() const { return has_ended_; }
  // Whether the lines so far are the beginning of a chunk.
  bool wants_more() const { return wants_more_; }
  // The exit code of the first error; 0 without an error.
  int exit_code() const { return exit_code_; }

  void read(const std::string& line) {
    object_.push_method("read");
    lua_pushlstring(state_, line.data(), line.size());
    run_meaning(2);
  }

  // Ends the input.
  void finish() {
    object_.push_method("finish");
    run_meaning(1);
  }

  // Forgets the chunk's lines after Ctrl-C.
  void drop() {
    object_.push_method("drop");
    lua::protected_call(state_, 1, 0);
    wants_more_ = false;
  }

  LineCompletion complete(const std::string& line) {
    lua::push_module(state_, "rtrain.repl.completion");
    lua_pushlstring(state_, line.data(), line.size());
    lua::protected_call(state_, 1, 1);
    const Value found = lua::to_value(state_, -1, "completion");
    lua_pop(state_, 1);
    LineCompletion out{found["insert"].as_string(), {}};
    if (found["choices"].is_list()) {
      for (const Value& choice : found["choices"].as_list()) {
        out.choices.push_back(choice.as_string());
      }
    }
    return out;
  }

 private:
  // Calls the pushed method and acts on its result.
  void run_meaning(int arguments) {
    try {
      const Interrupt interrupt(state_);
      lua::protected_call(state_, arguments, 3);
      run(lua_tostring(state_, -3));
    } catch (const Error& e) {
      print(e);
      if (exit_code_ == 0) exit_code_ = rtrain::exit_code(e.code());
    }
    lua_settop(state_, 0);
    std::fflush(stdout);
  }

  // Stack: meaning, a text or function, chunk.
  void run(std::string_view meaning) {
    wants_more_ = meaning == "more";
    has_ended_ = meaning == "end";
    if (meaning == "wrong") {
      const std::string text = lua_tostring(state_, -1);
      throw Error(Code::kUser, lua::with_python_advice(state_, text, lua_tostring(state_, -2)));
    }
    if (meaning != "run") return;
    object_.run();
  }

  void print(const Error& error) {
    std::fflush(stdout);
    std::cerr << "rtrain: " << error.message() << "\n";
    object_.push_method("shown_lines");
    lua::push_value(state_, error.message());
    lua::push_value(state_, error.traceback());
    lua::protected_call(state_, 3, 1);
    if (lua_isstring(state_, -1) != 0) std::cerr << lua_tostring(state_, -1) << "\n";
    lua_pop(state_, 1);
  }

  ReplObject object_{"rtrain.repl", Map{{"colour", wants_colour()}}};
  lua::State& state_ = object_.state();
  bool wants_more_ = false;
  bool has_ended_ = false;
  int exit_code_ = 0;
};

// Returns "" if there is no state folder: the history is then only kept for this session.
std::string history_path() {
  try {
    return cat(store::state_folder(), "/repl_history");
  } catch (const Error&) {
    return "";
  }
}

void run_terminal(Session& session) {
  std::cout << "rtrain " << store::rtrain_version()
            << "  ? NAME explains, %help lists what else there is, Ctrl-D ends" << std::endl;
  LineHistory history(history_path());
  LineEditor editor(history.lines(),
                    [&](const std::string& line) { return session.complete(line); });
  while (!session.has_ended()) {
    std::string line;
    const auto outcome = editor.read(session.wants_more() ? kMorePrompt : kPrompt, line);
    if (outcome == LineEditor::Outcome::kLine) {
      history.add(line);
      editor.add_history(line);
      session.read(line);
    } else if (session.wants_more() || outcome == LineEditor::Outcome::kInterrupted) {
      if (outcome == LineEditor::Outcome::kEnd) std::cout << std::endl;
      session.drop();
    } else {
      std::cout << std::endl;
      break;
    }
  }
}

int run_pipe(Session& session) {
  char* buffer = nullptr;
  size_t size = 0;
  ssize_t count = 0;
  // Reads through C's stdin, because the executed lines may read from it too.
  while (!session.has_ended() && (count = ::getline(&buffer, &size, stdin)) >= 0) {
    std::string line(buffer, static_cast<size_t>(count));
    if (line.ends_with('\n')) line.pop_back();
    session.read(line);
  }
  std::free(buffer);
  if (!session.has_ended()) session.finish();
  return session.exit_code();
}

void run_repl(int messages) {
  machine::explain_full_stack();
  if (messages >= 0) return run_notebook(messages);
  Session session;
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) return run_terminal(session);
  if (const int code = run_pipe(session); code != 0) leave(code);
}

}  // namespace

void add_repl(Parser& parser) {
  Command command =
      parser.command("repl", "Type Lua and see what it gives: tensors, modules, training");
  command.footer(
      "torch, nn, F, optim and train are there. An expression's value is shown, and is `_` on the\n"
      "next line. A `local` outside of functions and blocks makes a global, which the next lines\n"
      "see. `? torch.matmul` explains, TAB completes, %help lists what else there is.\n"
      "From a pipe the lines run without prompts, also after an error; the exit code is that of\n"
      "the first one. Lines are kept in $XDG_STATE_HOME/rtrain/repl_history, but for those that\n"
      "begin with a space.");
  auto messages = std::make_shared<int>(-1);
  command
      .option(
          "--messages", messages.get(),
          "for programs: take cells of a notebook from this socket, a descriptor (rtrain-jupyter)")
      .value_name("FD");
  command.action([messages] { run_repl(*messages); });
}

}  // namespace rtrain::cli
