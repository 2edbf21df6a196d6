// host/node/agent_thread.h: the agent of a node whose ranks the launcher has started: the thread
// "rtrain-agent" of the first of these processes.
#pragma once

#include <thread>

#include "host/node/agent.h"

namespace rtrain::node {

class AgentThread {
 public:
  // Throws Error(kEnvironment).
  explicit AgentThread(const JobSpec& spec);
  // Waits until node 0 has learnt that this process ends, for a few seconds at most.
  ~AgentThread();
  AgentThread(const AgentThread&) = delete;
  AgentThread& operator=(const AgentThread&) = delete;

 private:
  Agent agent_;
  std::thread thread_;
};

}  // namespace rtrain::node
