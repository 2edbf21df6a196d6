#include "host/dash/dashboard.h"

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/random.h"
#include "host/dash/api/openapi.h"
#include "host/dash/api/routes.h"
#include "host/dash/open_metrics.h"
#include "host/dash/page_style.h"
#include "host/machine/leases/resource_report.h"
#include "host/store/read/run_listing.h"

namespace rtrain::dash {
namespace {

// Counts the runs of each status. Final statuses begin at 0, so that an alert rule sees the change
// to 1.
Map count_by_status(std::optional<store::OpenStore> store) {
  Map out;
  for (const char* end : {"FINISHED", "ERRORED", "ABORTED", "PREEMPTED", "LOST"}) out.set(end, 0);
  if (!store) return out;
  const Map found = store::RunListing(store->database()).count_by_status();
  for (const auto& [status, count] : found) out.set(status, count);
  return out;
}

// Returns nil if this user cannot read the leases.
Value resources_or_nil() {
  try {
    return machine::read_resources();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

Dashboard::Dashboard(std::string storage_path, AccessOptions access, std::vector<PageFile> pages,
                     std::shared_ptr<const StoreRefresh> refresh)
    : access_(std::move(access)), api_(std::move(storage_path), std::move(refresh)) {
  pages.push_back({.path = "/openapi.json",
                   .type = http::kJsonType,
                   .bytes = to_json(openapi_document(all_routes()))});
  for (PageFile& page : pages) {
    std::string path = page.path;
    pages_.emplace(std::move(path), std::move(page));
  }
}

std::optional<http::HttpResponse> Dashboard::refuse(http::HttpRequest& request) {
  return access_.refuse(request);
}

bool Dashboard::may_take_long(const http::HttpRequest& request) const {
  return api_.may_take_long(request);
}

HttpReply Dashboard::answer(const http::HttpRequest& request) {
  const bool is_read = !request.is_write();
  if (is_read && request.path == "/metrics") return {metrics()};
  const auto page = pages_.find(request.path);
  if (!is_read || page == pages_.end()) return api_.answer(request);
  http::HttpResponse out{.status = 200, .type = page->second.type, .body = page->second.bytes};
  const auto style = pages_.find("/style.css");
  if (request.path == "/" && style != pages_.end()) {
    out.style_nonce = random_hex(kNonceDigits);
    out.body = with_style(std::move(out.body), style->second.bytes, out.style_nonce);
  }
  if (const auto cookie = access_.cookie_for(request)) {
    out.headers.emplace_back("Set-Cookie", *cookie);
  }
  return {std::move(out)};
}

http::HttpResponse Dashboard::metrics() const {
  try {
    const Map by_status = count_by_status(api_.open_store());
    const List runs = store::LiveRuns(std::nullopt).look(api_.open_store());
    return {.status = 200,
            .type = kOpenMetricsType,
            .body = open_metrics_text(runs, by_status, resources_or_nil())};
  } catch (const std::exception& e) {
    return http::error_response(503, code_name(Code::kEnvironment), e.what());
  }
}

}  // namespace rtrain::dash
