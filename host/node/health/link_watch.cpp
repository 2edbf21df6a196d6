#include "host/node/health/link_watch.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/node/health/echo_client.h"

namespace rtrain {
namespace {

constexpr std::chrono::milliseconds kPause{200};
constexpr std::chrono::milliseconds kLook{500};
// Then another connection is made: the kernel waits longer and longer until it tries again.
constexpr double kReconnectS = 2;
constexpr size_t kPacketBytes = 64;
constexpr size_t kAnswers = 20;

}  // namespace

struct LinkWatch::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  Loop* loop;  // null once it is stopped: then it may be gone
  EchoAddress peer;
  OnState on_state;  // the loop's thread alone

  // The thread's alone.
  std::optional<EchoClient> client;
  std::deque<bool> answers;  // whether a packet was sent again
  double asked_s = 0;

  bool wait(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex);
    return !changed.wait_for(lock, time, [this] { return loop == nullptr; });
  }
  bool ask(const std::shared_ptr<Shared>& self);
  bool ask_once(const std::shared_ptr<Shared>& self);
  bool tell(const std::shared_ptr<Shared>& self, double silent_s);
};

// False once it is stopped.
bool LinkWatch::Shared::tell(const std::shared_ptr<Shared>& self, double silent_s) {
  LinkState state{.num_answers = static_cast<int>(answers.size()), .silent_s = silent_s};
  for (const bool is_slow : answers) state.num_slow += is_slow ? 1 : 0;
  const std::lock_guard lock(mutex);
  if (loop == nullptr) return false;
  loop->post([self, state] {
    if (self->loop != nullptr) self->on_state(state);
  });
  return true;
}

// A connection that was lost, or cannot be had yet, is part of the wait.
bool LinkWatch::Shared::ask(const std::shared_ptr<Shared>& self) {
  asked_s = monotonic_s();
  while (true) {
    try {
      return ask_once(self);
    } catch (const Error& e) {
      client.reset();
      // Without a descriptor of its own it knows nothing of the link.
      if (e.code() == Code::kEnvironment) asked_s = monotonic_s();
    }
    if (!tell(self, monotonic_s() - asked_s) || !wait(kLook)) return false;
  }
}

bool LinkWatch::Shared::ask_once(const std::shared_ptr<Shared>& self) {
  if (!client) client.emplace(peer, kLook);
  const uint32_t before = client->num_sent_again();
  client->send(kPacketBytes, kLook);
  const double sent_s = monotonic_s();
  while (!client->receive(kLook)) {
    if (!tell(self, monotonic_s() - asked_s)) return false;
    if (monotonic_s() - sent_s > kReconnectS) throw Error(Code::kPeerLost, "no answer");
  }
  answers.push_back(client->num_sent_again() > before);
  if (answers.size() > kAnswers) answers.pop_front();
  return tell(self, 0);
}

LinkWatch::LinkWatch(Loop& loop, const EchoAddress& peer, OnState on_state)
    : shared_(std::make_shared<Shared>()) {
  shared_->loop = &loop;
  shared_->peer = peer;
  shared_->on_state = std::move(on_state);
  std::thread([shared = shared_] {
    pthread_setname_np(pthread_self(), "rtrain-link");
    while (shared->ask(shared) && shared->wait(kPause)) {
    }
  }).detach();
}

LinkWatch::~LinkWatch() {
  const std::lock_guard lock(shared_->mutex);
  shared_->loop = nullptr;
  shared_->changed.notify_all();
}

}  // namespace rtrain
