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

template <>
struct rtrain::lua::Class<rtrain::loop::Program> {
  using Slot = std::unique_ptr<rtrain::loop::Program>;
  static constexpr const char* kName = "rtrain.Program";
};

template <>
struct rtrain::lua::Class<rtrain::worker::StatusEndpoint> {
  using Slot = std::unique_ptr<rtrain::worker::StatusEndpoint>;
  static constexpr const char* kName = "rtrain.StatusEndpoint";
};

namespace rtrain::bind {
namespace {

int start_program(lua_State* L) {
  const auto options = from_value<loop::ProgramOptions>(lua::to_value(L, 1, "options"));
  lua::push<loop::Program>(L, std::make_unique<loop::Program>(options));
  return 1;
}

int program_pid(lua_State* L) {
  lua_pushinteger(L, lua::check<loop::Program>(L, 1)->pid());
  return 1;
}

int next_line(lua_State* L) {
  std::string line;
  const int other_fd = luaL_optint(L, 3, -1);
  switch (lua::check<loop::Program>(L, 1)->next(luaL_checknumber(L, 2), line, other_fd)) {
    case loop::Program::Event::kNothing:
      lua::push_value(L, "nothing");
      return 1;
    case loop::Program::Event::kEnded:
      lua::push_value(L, "ended");
      return 1;
    case loop::Program::Event::kLine:
      break;
  }
  lua::push_value(L, "line");
  lua::push_value(L, line);
  return 2;
}

int write_line(lua_State* L) {
  size_t length = 0;
  const char* const line = luaL_checklstring(L, 2, &length);
  lua::check<loop::Program>(L, 1)->write({line, length});
  return 0;
}

int send_to_program(lua_State* L) {
  lua::check<loop::Program>(L, 1)->send(luaL_checkint(L, 2));
  return 0;
}

int finish_program(lua_State* L) {
  const loop::ExitStatus status = lua::check<loop::Program>(L, 1)->end(luaL_checknumber(L, 2));
  lua::push_value(L, loop::to_text(status));
  const bool has_exited = status.is_known && status.signal == 0;
  lua::push_value(L, has_exited ? Value(status.exit_code) : Value());
  return 2;
}

int last_words(lua_State* L) {
  lua::push_value(L, lua::check<loop::Program>(L, 1)->last_words());
  return 1;
}

// The kernel chooses the port, but does not reserve it.
int free_port(lua_State* L) {
  const Fd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof address;
  auto* const at = reinterpret_cast<sockaddr*>(&address);
  if (::bind(probe.get(), at, length) != 0 || getsockname(probe.get(), at, &length) != 0) {
    throw loop::SpawnError("cannot find a free port", errno);
  }
  lua_pushinteger(L, ntohs(address.sin_port));
  return 1;
}

int serve_status(lua_State* L) {
  lua::push<worker::StatusEndpoint>(L, std::make_unique<worker::StatusEndpoint>());
  return 1;
}

int url_of_status(lua_State* L) {
  lua::push_value(L, lua::check<worker::StatusEndpoint>(L, 1)->url());
  return 1;
}

int token_of_status(lua_State* L) {
  lua::push_value(L, lua::check<worker::StatusEndpoint>(L, 1)->token_path());
  return 1;
}

int fd_of_status(lua_State* L) {
  lua_pushinteger(L, lua::check<worker::StatusEndpoint>(L, 1)->waiting_fd());
  return 1;
}

int take_status(lua_State* L) {
  const auto posted = lua::check<worker::StatusEndpoint>(L, 1)->take();
  if (!posted) return 0;
  lua_pushinteger(L, posted->connection);
  lua::push_value(L, posted->body);
  return 2;
}

int accept_status(lua_State* L) {
  lua::check<worker::StatusEndpoint>(L, 1)->accept(luaL_checkinteger(L, 2));
  return 0;
}

int refuse_status(lua_State* L) {
  lua::check<worker::StatusEndpoint>(L, 1)->refuse(luaL_checkinteger(L, 2), luaL_checkstring(L, 3));
  return 0;
}

int python_folder(lua_State* L) {
  lua::push_value(
      L, bundle::unpack_once(cat(machine::runtime_folder(), "/python"), lua::embedded_python()));
  return 1;
}

}  // namespace

int open_program(lua_State* L) {
  static constexpr std::array kMethods = {
      lua::method<&program_pid>("pid"),       lua::method<&next_line>("next"),
      lua::method<&write_line>("write"),      lua::method<&send_to_program>("send"),
      lua::method<&finish_program>("finish"), lua::method<&last_words>("last_words"),
  };
  lua::register_class<loop::Program>(L, kMethods);
  static constexpr std::array kOfStatus = {
      lua::method<&url_of_status>("url"),       lua::method<&token_of_status>("token_path"),
      lua::method<&fd_of_status>("waiting_fd"), lua::method<&take_status>("take"),
      lua::method<&accept_status>("accept"),    lua::method<&refuse_status>("refuse"),
  };
  lua::register_class<worker::StatusEndpoint>(L, kOfStatus);
  static constexpr std::array kFunctions = {
      lua::method<&start_program>("start"),
      lua::method<&free_port>("free_port"),
      lua::method<&serve_status>("serve_status"),
      lua::method<&python_folder>("python_folder"),
  };
  lua::push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain::bind
