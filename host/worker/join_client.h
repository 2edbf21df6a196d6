// host/worker/join_client.h: the process of a rank above 0 of a job that another launcher has
// started: its connection to rank 0's process, which is the controller.
//
// What is said: host/loop/messages/join.h.
#pragma once

#include <chrono>
#include <string>

#include "host/loop/descriptor_message.h"
#include "host/loop/messages/join.h"
#include "host/loop/messages/routes.h"

namespace rtrain {

struct JoinPlace {
  std::string socket;  // its name in the runtime folder
  int rank = 1;
  int64_t fit = 1;  // the script's first fit(), second, …
  std::chrono::milliseconds timeout{60000};
};

class JoinClient {
 public:
  explicit JoinClient(JoinPlace place);
  ~JoinClient();
  JoinClient(const JoinClient&) = delete;
  JoinClient& operator=(const JoinClient&) = delete;

  // The next attempt's channel, or the end of the run.
  struct Next {
    int fd = -1;
    message::Ended ended = {};  // without a channel
  };
  // Throws kTimeout when rank 0 is not there in time, kWorkerLost when it has gone, and what it
  // refuses.
  Next next();

  // Who receives what rank 0's process says.
  static const Routes<message::ToJoined, Next> kRoutes;

 private:
  bool connect();
  bool wait(DescriptorMessage& out) const;
  void disconnect();

  JoinPlace place_;
  int fd_ = -1;
  bool is_known_ = false;  // rank 0 has answered
};

}  // namespace rtrain
