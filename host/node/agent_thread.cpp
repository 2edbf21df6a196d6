#include "host/node/agent_thread.h"

#include <pthread.h>

namespace rtrain::node {

// The launcher has already divided the devices among its processes.
AgentThread::AgentThread(const JobSpec& spec)
    : agent_(spec, {}, -1), thread_([this] { agent_.serve(); }) {
  pthread_setname_np(thread_.native_handle(), "rtrain-agent");
}

AgentThread::~AgentThread() {
  agent_.leave();
  thread_.join();
}

}  // namespace rtrain::node
