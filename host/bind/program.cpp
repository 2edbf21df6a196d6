#include "host/bind/program.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>

#include "host/base/files/fd.h"
#include "host/base/text/text.h"
#include "host/bundle/unpacked_files.h"
#include "host/loop/processes/program.h"
#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/lua/embed.h"
#include "host/machine/leases/runtime_folder.h"
#include "host/worker/status_endpoint.h"

namespace rtrain {
template <>
struct Class<Program> {
  using Slot = std::unique_ptr<Program>;
  static constexpr const char* kName = "rtrain.Program";
};

template <>
struct Class<StatusEndpoint> {
  using Slot = std::unique_ptr<StatusEndpoint>;
  static constexpr const char* kName = "rtrain.StatusEndpoint";
};

namespace {

int start_program(lua_State* L) {
  const auto options = from_value<ProgramOptions>(to_value(L, 1, "options"));
  push<Program>(L, std::make_unique<Program>(options));
  return 1;
}

int program_pid(lua_State* L) {
  lua_pushinteger(L, check<Program>(L, 1)->pid());
  return 1;
}

int next_line(lua_State* L) {
  std::string line;
  const int other_fd = luaL_optint(L, 3, -1);
  switch (check<Program>(L, 1)->next(luaL_checknumber(L, 2), line, other_fd)) {
    case Program::Event::kNothing:
      push_value(L, "nothing");
      return 1;
    case Program::Event::kEnded:
      push_value(L, "ended");
      return 1;
    case Program::Event::kLine:
      break;
  }
  push_value(L, "line");
  push_value(L, line);
  return 2;
}

int write_line(lua_State* L) {
  size_t length = 0;
  const char* const line = luaL_checklstring(L, 2, &length);
  check<Program>(L, 1)->write({line, length});
  return 0;
}

int send_to_program(lua_State* L) {
  check<Program>(L, 1)->send(luaL_checkint(L, 2));
  return 0;
}

int finish_program(lua_State* L) {
  const ExitStatus status = check<Program>(L, 1)->end(luaL_checknumber(L, 2));
  push_value(L, to_text(status));
  const bool has_exited = status.is_known && status.signal == 0;
  push_value(L, has_exited ? Value(status.exit_code) : Value());
  return 2;
}

int last_words(lua_State* L) {
  push_value(L, check<Program>(L, 1)->last_words());
  return 1;
}

// The kernel chooses the port, but does not reserve it.
int free_port(lua_State* L) {
  const Fd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof address;
  auto* const at = reinterpret_cast<sockaddr*>(&address);
  if (bind(probe.get(), at, length) != 0 || getsockname(probe.get(), at, &length) != 0) {
    throw SpawnError("cannot find a free port", errno);
  }
  lua_pushinteger(L, ntohs(address.sin_port));
  return 1;
}

int serve_status(lua_State* L) {
  push<StatusEndpoint>(L, std::make_unique<StatusEndpoint>());
  return 1;
}

int url_of_status(lua_State* L) {
  push_value(L, check<StatusEndpoint>(L, 1)->url());
  return 1;
}

int token_of_status(lua_State* L) {
  push_value(L, check<StatusEndpoint>(L, 1)->token_path());
  return 1;
}

int fd_of_status(lua_State* L) {
  lua_pushinteger(L, check<StatusEndpoint>(L, 1)->waiting_fd());
  return 1;
}

int take_status(lua_State* L) {
  const auto posted = check<StatusEndpoint>(L, 1)->take();
  if (!posted) return 0;
  lua_pushinteger(L, posted->connection);
  push_value(L, posted->body);
  return 2;
}

int accept_status(lua_State* L) {
  check<StatusEndpoint>(L, 1)->accept(luaL_checkinteger(L, 2));
  return 0;
}

int refuse_status(lua_State* L) {
  check<StatusEndpoint>(L, 1)->refuse(luaL_checkinteger(L, 2), luaL_checkstring(L, 3));
  return 0;
}

int python_folder(lua_State* L) {
  push_value(L, unpack_once(cat(runtime_folder(), "/python"), embedded_python()));
  return 1;
}

}  // namespace

int open_program(lua_State* L) {
  static constexpr std::array kMethods = {
      method<&program_pid>("pid"),       method<&next_line>("next"),
      method<&write_line>("write"),      method<&send_to_program>("send"),
      method<&finish_program>("finish"), method<&last_words>("last_words"),
  };
  register_class<Program>(L, kMethods);
  static constexpr std::array kOfStatus = {
      method<&url_of_status>("url"),       method<&token_of_status>("token_path"),
      method<&fd_of_status>("waiting_fd"), method<&take_status>("take"),
      method<&accept_status>("accept"),    method<&refuse_status>("refuse"),
  };
  register_class<StatusEndpoint>(L, kOfStatus);
  static constexpr std::array kFunctions = {
      method<&start_program>("start"),
      method<&free_port>("free_port"),
      method<&serve_status>("serve_status"),
      method<&python_folder>("python_folder"),
  };
  push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain
