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

namespace rtrain::node {
namespace {

constexpr std::chrono::milliseconds kPause{200};
constexpr std::chrono::milliseconds kLook{500};
// After this time a new connection is made, because the kernel doubles its wait before each
// retransmission.
constexpr double kReconnectS = 2;
constexpr size_t kPacketBytes = 64;
constexpr size_t kAnswers = 20;

}  // namespace

struct LinkWatch::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  loop::Loop* loop;  // null after the stop, when the loop may be destroyed
  EchoAddress peer;
  OnState on_state;  // used only on the loop's thread

  // Used only by the watching thread.
  std::optional<EchoClient> client;
  std::deque<bool> answers;  // whether packets were retransmitted for it
  double asked_s = 0;

  bool wait(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex);
    return !changed.wait_for(lock, time, [this] { return loop == nullptr; });
  }
  bool ask(const std::shared_ptr<Shared>& self);
  bool ask_once(const std::shared_ptr<Shared>& self);
  bool tell(const std::shared_ptr<Shared>& self, double silent_s);
};

// Returns false after the stop.
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

// A lost connection, or one that cannot be made yet, counts as waiting.
bool LinkWatch::Shared::ask(const std::shared_ptr<Shared>& self) {
  asked_s = monotonic_s();
  while (true) {
    try {
      return ask_once(self);
    } catch (const Error& e) {
      client.reset();
      // Without a descriptor for the connection nothing is known about the link.
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

LinkWatch::LinkWatch(loop::Loop& loop, const EchoAddress& peer, OnState on_state)
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

}  // namespace rtrain::node
