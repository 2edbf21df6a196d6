// host/worker/join_client.h: the connection of a rank above 0 whose process a launcher has started.
// It leads to the process of its node that takes part in the run: that of rank 0, or the node's
// agent.
//
// Thread: main. The messages are in host/loop/messages/join.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/base/codec/record.h"
#include "host/loop/channel/descriptor_message.h"
#include "host/loop/messages/join.h"
#include "host/loop/messages/routes.h"

namespace rtrain::worker {

struct JoinPlace {
  static constexpr std::string_view kClass = "JoinPlace";
  std::string socket;  // its name in the runtime folder
  int rank = 1;        // the launcher's number
  int local_rank = 1;
  bool is_remote = false;  // rank 0 is on another node
  int64_t fit = 1;         // the script's first fit(), second, …
  double timeout_s = 0;

  static constexpr RecordFields kFields{required("socket", &JoinPlace::socket),
                                        required("rank", &JoinPlace::rank),
                                        required("local_rank", &JoinPlace::local_rank),
                                        required("is_remote", &JoinPlace::is_remote),
                                        required("fit", &JoinPlace::fit),
                                        required("timeout_s", &JoinPlace::timeout_s)};
};

class JoinClient {
 public:
  explicit JoinClient(JoinPlace place);
  ~JoinClient();
  JoinClient(const JoinClient&) = delete;
  JoinClient& operator=(const JoinClient&) = delete;

  // The channel of the next attempt, or the end of the run or of the job.
  struct Next {
    int fd = -1;
    message::Ended ended = {};          // of the run, where fd is -1
    std::optional<int> exit_code = {};  // the job is over
  };
  // Waits for the next attempt. Throws kTimeout when the other process does not listen in time,
  // kWorkerLost when it has ended, and the error with which it refuses this rank.
  Next next();

  // The receivers of the other process's messages.
  static const loop::Routes<message::ToJoined, Next> kRoutes;

 private:
  bool connect();
  bool wait(loop::DescriptorMessage& out) const;
  void disconnect();

  JoinPlace place_;
  int fd_ = -1;
  bool is_known_ = false;  // it has answered
};

}  // namespace rtrain::worker
