// rtrain --ingest NUMBER PARENT_PID: produces blocks of rows for a rank
// (modules/rtrain/data/ingest); rtrain --far-ingest NUMBER PARENT_PID: for a rank on another node.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>

#include "host/base/codec/codec.h"
#include "host/bind/modules.h"
#include "host/cli/parser/command.h"
#include "host/cli/processes/leave.h"
#include "host/loop/messages/ingest.h"
#include "host/loop/processes/process.h"
#include "host/loop/processes/worker_descriptors.h"
#include "host/lua/guard.h"
#include "host/lua/libraries/engine_loader.h"
#include "host/lua/require.h"
#include "host/lua/state.h"
#include "host/wire/secret.h"
#include "host/wire/tls_tunnel.h"

namespace rtrain::cli {
namespace {

constexpr size_t kMostOrderBytes = 65536;
constexpr std::chrono::seconds kConnectTime{10};

int report(int number, const Error& error) {
  std::fprintf(stderr, "rtrain: ingest worker %d: %s\n", number, error.what());
  return exit_code(error.code());
}

void serve(int channel_fd) {
  lua::State state;
  bind::add_host_modules(state);
  lua::push_module_function(state, "rtrain.data.ingest.maker", "main");
  lua_pushinteger(state, channel_fd);
  lua::protected_call(state, 1, 0);
}

void serve_near() { serve(loop::kChannelFd); }

message::StartIngest receive_order() {
  std::string bytes(kMostOrderBytes, '\0');
  const ssize_t n = ::recv(loop::kChannelFd, bytes.data(), bytes.size(), 0);
  if (n <= 0) throw Error(Code::kPeerLost, "its node's agent has gone");
  bytes.resize(static_cast<size_t>(n));
  return from_value<message::StartIngest>(decode(bytes));
}

void serve_far() {
  const message::StartIngest order = receive_order();
  const wire::Secret secret(order.secret, "the rank");
  const auto tunnel = wire::TlsTunnel::connect(
      order.address, order.port, secret.derive({.role = "ingest", .run_id = order.run_id}),
      kConnectTime);
  serve(tunnel->take_socket());
}

int run_as(int number, int parent_pid, void (*body)()) {
  struct stat info {};
  if (fstat(loop::kChannelFd, &info) != 0 || !S_ISSOCK(info.st_mode)) {
    std::fputs("rtrain: an ingest worker is started by its rank alone\n", stderr);
    return exit_code(Code::kUsage);
  }
  loop::die_with_parent(parent_pid);
  // A program started by the user's functions must not hold the channel open after this process has
  // ended.
  fcntl(loop::kChannelFd, F_SETFD, FD_CLOEXEC);
  lua::take_engine_file(loop::kEngineFd);
  int code = 0;
  try {
    body();
  } catch (const Error& e) {
    code = report(number, e);
  } catch (const std::exception& e) {
    code = report(number, lua::HostTranslate::from(e));
  }
  leave(code);
}

}  // namespace

int run_ingest(int number, int parent_pid) { return run_as(number, parent_pid, &serve_near); }

int run_far_ingest(int number, int parent_pid) { return run_as(number, parent_pid, &serve_far); }

}  // namespace rtrain::cli
