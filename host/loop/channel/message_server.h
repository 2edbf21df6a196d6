// host/loop/channel/message_server.h: answers questions of other processes of this user: packets
// over a socket of the runtime folder.
//
// Neither end has a loop or a thread: the server's caller asks for the next question, a client
// waits for its answer. One value is one packet of at most 160 KiB. A peer whose packet cannot be
// decoded counts as ended. Each object belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "host/base/files/fd.h"
#include "host/base/value.h"
#include "host/machine/leases/runtime_socket.h"

namespace rtrain::loop {

struct Question {
  int64_t peer = 0;            // the same for all questions of one connection
  std::optional<Value> value;  // nothing when the connection has ended
};

class MessageServer {
 public:
  // Throws Error(kEnvironment).
  explicit MessageServer(const std::string& name);

  // Returns the next question, or nothing when none comes within that time.
  std::optional<Question> next(double timeout_s);
  // Answers the peer's question. Does nothing when the peer has gone. Throws Error(kArgument) for a
  // value that is too large for a packet.
  void answer(int64_t peer, const Value& value);

 private:
  void accept_all();
  std::optional<Question> read_one();
  bool wait(double timeout_s);

  machine::RuntimeSocket socket_;
  Fd listener_;
  std::map<int64_t, Fd> peers_;
  int64_t last_peer_ = 0;
};

class MessageClient {
 public:
  // Throws Error(kEnvironment) when no process listens on that socket.
  explicit MessageClient(const std::string& name);

  // Waits for the answer without a time limit. Throws Error(kEnvironment) when the server has
  // ended, Error(kArgument) for a value that is too large for a packet.
  Value ask(const Value& question);

 private:
  std::string name_;
  Fd socket_;
};

}  // namespace rtrain::loop
