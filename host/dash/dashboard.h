// host/dash/dashboard.h: answers all requests to the port: pages, the API and /metrics, if Access
// allows them.
//
// To it a page is a file with name, type and bytes. It looks up a path only among the pages and the
// routes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/dash/api/api.h"
#include "host/dash/server/access.h"
#include "host/dash/server/http_server.h"

namespace rtrain::dash {

struct PageFile {
  std::string path;  // "/app.js"; "/" is the page for addresses with a token
  std::string type;
  std::string bytes;
};

class Dashboard : public HttpService {
 public:
  // `refresh` knows the problems with an object store; null without one.
  Dashboard(std::string storage_path, AccessOptions access, std::vector<PageFile> pages,
            std::shared_ptr<const StoreRefresh> refresh = nullptr);

  std::optional<http::HttpResponse> refuse(http::HttpRequest& request) override;
  bool may_take_long(const http::HttpRequest& request) const override;
  HttpReply answer(const http::HttpRequest& request) override;
  // Ends answers that wait for live runs, because the server's threads are about to be joined.
  void stop() { api_.stop(); }

 private:
  http::HttpResponse metrics() const;

  Access access_;
  Api api_;
  std::map<std::string, PageFile> pages_;  // by path
};

}  // namespace rtrain::dash
