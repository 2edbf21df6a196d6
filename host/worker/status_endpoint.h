// host/worker/status_endpoint.h: a port on loopback at which a program of this rank posts its
// progress, as in a job of Kubeflow (KEP-2779): a POST with a bearer token and a body of JSON.
//
// A thread, "rtrain-status", reads requests and refuses those without the token. Bodies wait until
// the main thread has used them; then the request is answered. At most one body waits on each
// connection, and there are few connections.
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
  // Throws Error(kEnvironment) when there is no free port.
  StatusEndpoint();
  ~StatusEndpoint() override;
  StatusEndpoint(const StatusEndpoint&) = delete;
  StatusEndpoint& operator=(const StatusEndpoint&) = delete;

  std::string url() const;
  // A file with the token, as long as this object exists. It is a memory file, so that it is gone
  // when the process is killed.
  std::string token_path() const;
  // Readable while a body waits.
  int waiting_fd() const { return waiting_fd_.get(); }

  struct Posted {
    int64_t connection = 0;
    std::string body;
  };
  // The next body, or nullopt when none waits. Thread: main, for this and the two functions below.
  std::optional<Posted> take();
  // Answer the request: accept() with 200, refuse() with 400 and the reason.
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
