// host/worker/status_endpoint.h: a port of loopback at which a program of this rank says how far it
// is, as one in a job of Kubeflow does (KEP-2779): a POST with a bearer token and a body of JSON.
//
// A thread, "rtrain-status", reads requests and refuses those without the token. Bodies wait for
// the main thread, which makes what they say its own before they are answered. One waits at most on
// each connection, of which there are few.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "host/base/files/fd.h"
#include "host/http/http_port.h"
#include "host/loop/loop.h"

namespace rtrain::worker {

class StatusEndpoint : private http::HttpPortDelegate {
 public:
  // Throws Error(kEnvironment) when no port can be had.
  StatusEndpoint();
  ~StatusEndpoint() override;
  StatusEndpoint(const StatusEndpoint&) = delete;
  StatusEndpoint& operator=(const StatusEndpoint&) = delete;

  std::string url() const;
  // A file with the token, as long as this object is there: a memory file, of which a kill leaves
  // nothing behind.
  std::string token_path() const;
  // Readable while a body waits.
  int waiting_fd() const { return waiting_fd_.get(); }

  struct Posted {
    int64_t connection = 0;
    std::string body;
  };
  // For the main thread, as the two below. Nothing while none waits.
  std::optional<Posted> take();
  // 200, or 400 with what is wrong with it.
  void accept(int64_t connection);
  void refuse(int64_t connection, const std::string& why);

 private:
  void on_request(http::HttpConnection& connection, http::HttpRequest request) override;
  void on_closed(int64_t number) override;
  void answer(int64_t connection, http::HttpResponse response);

  std::string token_;
  Fd token_file_;
  Fd waiting_fd_;
  loop::Loop loop_;
  std::optional<http::HttpPort> port_;  // the thread's
  std::string address_;
  std::mutex mutex_;
  std::deque<Posted> posted_;
  std::thread thread_;
};

}  // namespace rtrain::worker
