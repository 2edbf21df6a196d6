#include "host/cli/train/notebook.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/base64.h"
#include "host/base/text/text.h"
#include "host/cli/processes/interrupt.h"
#include "host/cli/processes/leave.h"
#include "host/cli/train/repl_object.h"
#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/plot/painter.h"
#include "host/store/read/open_store.h"
#include "host/store/runs/media_store.h"

namespace rtrain::cli {
namespace {

constexpr size_t kLongestLine = size_t{16} << 20;

std::atomic<bool> is_running{false};

// Returns the next line without its end; nullopt when the other end is closed. It takes no byte of
// the line after it, so that Lua may read answers while a cell runs.
std::optional<std::string> read_line(int socket) {
  std::string line;
  std::vector<char> next(size_t{1} << 16);
  while (line.size() <= kLongestLine) {
    const ssize_t seen = ::recv(socket, next.data(), next.size(), MSG_PEEK);
    if (seen < 0 && errno == EINTR) continue;
    if (seen <= 0) return std::nullopt;
    const void* end = std::memchr(next.data(), '\n', static_cast<size_t>(seen));
    const size_t taken = end == nullptr ? static_cast<size_t>(seen)
                                        : static_cast<const char*>(end) - next.data() + 1;
    if (::recv(socket, next.data(), taken, MSG_WAITALL) != static_cast<ssize_t>(taken)) {
      return std::nullopt;
    }
    line.append(next.data(), taken);
    if (end == nullptr) continue;
    line.pop_back();
    return line;
  }
  throw Error(Code::kUsage, cat("repl --messages: a line has more than ", kLongestLine, " bytes"));
}

std::string text_argument(lua_State* L, int index) {
  size_t size = 0;
  const char* text = luaL_checklstring(L, index, &size);
  return {text, size};
}

void push_text(lua_State* L, const std::string& text) {
  lua_pushlstring(L, text.data(), text.size());
}

// receive(socket) → the next line, nil at the end
int receive(lua_State* L) {
  const auto line = read_line(static_cast<int>(luaL_checkinteger(L, 1)));
  if (!line) return 0;
  push_text(L, *line);
  return 1;
}

// base64(bytes) → text
int base64(lua_State* L) {
  push_text(L, to_base64(text_argument(L, 1)));
  return 1;
}

// svg({title, x_label, width, height, curves = {{name, xs, ys}, …}}) → the picture
int svg(lua_State* L) {
  const Value given = lua::to_value(L, 1, "chart");
  plot::Chart chart{
      .title = given["title"].as_string(), .x_label = given["x_label"].as_string(), .curves = {}};
  for (const Value& item : given["curves"].as_list()) {
    plot::Curve curve{.name = item["name"].as_string(), .points = {}};
    const List& ys = item["ys"].as_list();
    for (size_t i = 0; i < ys.size(); ++i) {
      curve.points.push_back({item["xs"].as_list()[i].as_float(), ys[i].as_float()});
    }
    chart.curves.push_back(std::move(curve));
  }
  plot::drop_unplaceable(chart);
  push_text(L, plot::svg_chart(chart, {.width = static_cast<int>(given["width"].as_int()),
                                       .height = static_cast<int>(given["height"].as_int())}));
  return 1;
}

// media(storage, run) → {kind, name, step, rank, hash, …} of what the run has recorded
int media(lua_State* L) {
  store::OpenRun run = store::open_run(text_argument(L, 1), text_argument(L, 2));
  List out;
  for (const store::MediaRow& row : store::read_media(run.store.database(), run.ref.run_id)) {
    out.push_back(store::describe_media(row));
  }
  lua::push_value(L, out);
  return 1;
}

// media_content(storage, run, hash) → bytes
int media_content(lua_State* L) {
  store::OpenRun run = store::open_run(text_argument(L, 1), text_argument(L, 2));
  push_text(L,
            store::read_media_content(run.store.database(), run.ref.run_id, text_argument(L, 3)));
  return 1;
}

constexpr std::array kServices = {
    lua::method<&receive>("receive"),
    lua::method<&base64>("base64"),
    lua::method<&svg>("svg"),
    lua::method<&media>("media"),
    lua::method<&media_content>("media_content"),
};

int push_services(lua_State* L) {
  lua::push_functions(L, kServices);
  return 1;
}

// Runs what take() has made of a request.
void run_cell(ReplObject& notebook) {
  lua::State& state = notebook.state();
  std::optional<Error> error;
  try {
    is_running = true;
    const Interrupt interrupt(state);
    notebook.run();
  } catch (const Error& e) {
    error = e;
  }
  is_running = false;
  std::fflush(stdout);
  if (!error) {
    notebook.push_method("succeed");
    return lua::protected_call(state, 1, 0);
  }
  notebook.push_method("fail");
  push_text(state, error->message());
  push_text(state, error->traceback());
  push_text(state, std::string(code_name(error->code())));
  lua::protected_call(state, 4, 0);
}

// Ends this process after the other one. A run may still save, as after SIGTERM at any other time.
void end_with_peer(int socket) {
  constexpr auto kGrace = std::chrono::seconds(4);
  pthread_setname_np(pthread_self(), "rtrain-peer");
  struct pollfd peer = {.fd = socket, .events = POLLRDHUP, .revents = 0};
  while (::poll(&peer, 1, -1) < 0 && errno == EINTR) {
  }
  if (is_running) ::kill(::getpid(), SIGTERM);
  std::this_thread::sleep_for(kGrace);
  ::kill(::getpid(), SIGKILL);
}

}  // namespace

void run_notebook(int socket) {
  if (::fcntl(socket, F_SETFD, FD_CLOEXEC) != 0) {
    throw Error(Code::kUsage, cat("repl --messages ", socket, ": ", std::strerror(errno)));
  }
  struct sigaction ignored = {};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGINT, &ignored, nullptr);
  // The kernel has started this process with SIGINT blocked, so that none comes too early.
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
  // What a cell prints is to be seen while it runs.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::thread(end_with_peer, socket).detach();
  ReplObject notebook("rtrain.notebook", Map{{"socket", socket}, {"colour", false}},
                      &push_services);
  lua::State& state = notebook.state();
  while (const auto line = read_line(socket)) {
    notebook.push_method("take");
    push_text(state, *line);
    lua::protected_call(state, 2, 2);
    if (lua_isfunction(state, -2)) run_cell(notebook);
    lua_settop(state, 0);
  }
  leave(0);
}

}  // namespace rtrain::cli
