// host/train/control_server.h: the socket through which the commands for live runs (`rtrain stop`)
// reach a run's controller.
//
// One Unix socket for each run in the user's runtime folder, named after the run's id. Requests are
// messages (host/loop/messages/commands.h) whose type is called `op`; {value} or {error} is the
// reply to each. Only processes of the same user are heard. The connection closes
// when the run has ended.
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

namespace rtrain {

class ControlServer {
 public:
  // Gives the value, once, now or later. Nothing happens when who asked is gone.
  using Reply = std::function<void(Value value)>;
  // False for an unknown `op`. Throws Error for a request that makes no sense: that is its reply.
  using Handler = std::function<bool(const std::string& op, Value request, const Reply& reply)>;

  // Gives `send` the reply to a request, {value} or {error}, wherever the request has come from.
  static void answer(const Handler& handler, Value request,
                     std::function<void(const Value& reply)> send);

  // Takes the place of a socket that a dead controller of this run has left, and removes those of
  // other dead controllers. Throws kEnvironment.
  ControlServer(Loop& loop, const std::string& run_id, Handler handler);

 private:
  class Peer;

  void on_connection(int fd);
  void remove_closed();
  void on_request(const std::shared_ptr<Peer>& peer, Value request);

  Loop& loop_;
  Handler handler_;
  std::vector<std::shared_ptr<Peer>> peers_;
  std::unique_ptr<RuntimeListener> listener_;
};

// The file name of the run's socket in the runtime folder.
std::string control_socket_name(const std::string& run_id);

// Connects to a socket of the runtime folder; -1 when no process listens there. `errno` says why.
int connect_control_socket(const std::string& name);

}  // namespace rtrain
