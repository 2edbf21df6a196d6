#include "host/wire/name_lookup.h"

#include <netdb.h>

#include <utility>

#include "host/base/text/text.h"

namespace rtrain::wire {

struct NameLookup::Request {
  uv_getaddrinfo_t uv{};
  loop::Loop* loop;
  int port;
  OnDone done;                    // empty once no caller waits
  std::shared_ptr<Request> self;  // set while libuv uses the request

  void finish(const addrinfo* found, int status) {
    const OnDone callback = std::exchange(done, nullptr);
    if (!callback) return;
    std::vector<SocketAddress> addresses;
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
      addresses.emplace_back(each->ai_addr, each->ai_addrlen).set_port(port);
    }
    loop->guard([&] { callback(std::move(addresses), status == 0 ? "" : uv_strerror(status)); });
  }

  static void call(uv_getaddrinfo_t* uv, int status, addrinfo* found) {
    const std::unique_ptr<addrinfo, decltype(&uv_freeaddrinfo)> list(found, uv_freeaddrinfo);
    const auto request = std::move(static_cast<Request*>(uv->data)->self);
    request->finish(found, status);
  }
};

NameLookup::NameLookup(loop::Loop& loop, const std::string& host, int port, OnDone done)
    : request_(new Request{.loop = &loop, .port = port, .done = std::move(done), .self = {}}) {
  request_->uv.data = request_.get();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  const int status =
      uv_getaddrinfo(loop.get(), &request_->uv, Request::call, host.c_str(), nullptr, &hints);
  if (status == 0) {
    request_->self = request_;
    return;
  }
  // libuv has refused the request at once: the name is too long, for example.
  loop.post([request = request_, status] { request->finish(nullptr, status); });
}

NameLookup::~NameLookup() {
  request_->done = nullptr;
  if (request_->self) uv_cancel(reinterpret_cast<uv_req_t*>(&request_->uv));
}

}  // namespace rtrain::wire
