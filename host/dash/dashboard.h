// host/dash/dashboard.h: all answers of the port: pages, the API and /metrics, to those
// who may ask.
//
// It knows pages as files with names, types and bytes: their content is not its business. A path
// is looked up among those names and routes, and nowhere else.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/dash/access.h"
#include "host/dash/api.h"
#include "host/dash/http_server.h"

namespace rtrain::dash {

struct PageFile {
  std::string path;  // "/app.js"; "/" is the page that addresses with a token lead to
  std::string type;
  std::string bytes;
};

class Dashboard : public HttpService {
 public:
  // Null: nothing is known of problems with an object store.
  Dashboard(std::string storage_path, AccessOptions access, std::vector<PageFile> pages,
            std::shared_ptr<const StoreRefresh> refresh = nullptr);

  std::optional<http::HttpResponse> refuse(http::HttpRequest& request) override;
  bool may_take_long(const http::HttpRequest& request) const override;
  HttpReply answer(const http::HttpRequest& request) override;
  // Ends answers that wait for live runs: the server's threads are joined soon.
  void stop() { api_.stop(); }

 private:
  http::HttpResponse metrics() const;

  Access access_;
  Api api_;
  std::map<std::string, PageFile> pages_;  // by path
};

}  // namespace rtrain::dash
