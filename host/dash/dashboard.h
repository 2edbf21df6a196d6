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

namespace rtrain {

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

  std::optional<HttpResponse> refuse(HttpRequest& request) override;
  bool may_take_long(const HttpRequest& request) const override;
  HttpReply answer(const HttpRequest& request) override;
  // Ends answers that wait for live runs: the server's threads are joined soon.
  void stop() { api_.stop(); }

 private:
  HttpResponse metrics() const;

  Access access_;
  Api api_;
  std::map<std::string, PageFile> pages_;  // by path
};

}  // namespace rtrain
