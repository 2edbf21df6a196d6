// host/train/control_server.h: the socket through which commands for live runs (`rtrain stop`)
// reach a run's controller.
//
// One Unix socket per run in the user's runtime folder, named after the run's id. Requests are
// messages (host/loop/messages/commands.h) whose type is in the field `op`; each gets the reply
// {value} or {error}. Only processes of the same user may connect. Connections are closed when the
// run has ended.
//
// Belongs to the control thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/loop/channel/channel.h"
#include "host/loop/runtime_listener.h"

namespace rtrain::train {

class ControlServer {
 public:
  // Sends the value, once, now or later. Does nothing if the command has disconnected.
  using Reply = std::function<void(Value value)>;
  // Returns false for an unknown `op`. Throws Error for an invalid request; the error is the reply.
  using Handler = std::function<bool(const std::string& op, Value request, const Reply& reply)>;

  // Passes the reply to a request, {value} or {error}, to `send`, wherever the request came from.
  static void answer(const Handler& handler, Value request,
                     std::function<void(const Value& reply)> send);

  // Replaces a socket left by a dead controller of this run, and removes those of other dead
  // controllers. Throws kEnvironment.
  ControlServer(loop::Loop& loop, const std::string& run_id, Handler handler);

 private:
  class Peer;

  void on_connection(int fd);
  void remove_closed();
  void on_request(const std::shared_ptr<Peer>& peer, Value request);

  loop::Loop& loop_;
  Handler handler_;
  std::vector<std::shared_ptr<Peer>> peers_;
  std::unique_ptr<loop::RuntimeListener> listener_;
};

// The file name of a run's socket in the runtime folder.
std::string control_socket_name(const std::string& run_id);

// Connects to a socket in the runtime folder. Returns -1 and sets errno if no process listens
// there.
int connect_control_socket(const std::string& name);

}  // namespace rtrain::train
