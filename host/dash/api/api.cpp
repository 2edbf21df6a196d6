#include "host/dash/api/api.h"

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/dash/api/routes.h"

namespace rtrain::dash {
namespace {

int status_of(Code code) {
  switch (code) {
    case Code::kUsage:
    case Code::kArgument:
    case Code::kConfig:
      return 400;
    case Code::kNotFound:
      return 404;
    case Code::kEnvironment:
      return 503;
    default:
      return 500;
  }
}

}  // namespace

store::OpenRun Api::open_run(const std::string& run) const {
  try {
    return store::open_run(storage_path_, run);
  } catch (const Error& e) {
    const auto known = problems();
    if (const auto found = known.find(run); found != known.end()) {
      throw Error(Code::kNotFound, cat("run '", run, "': ", found->second));
    }
    if (e.code() != Code::kUsage) throw;
    throw Error(Code::kNotFound, e.message());
  }
}

bool Api::may_take_long(const http::HttpRequest& request) const {
  const Route* route = find_route(all_routes(), request);
  return route != nullptr && route->may_take_long;
}

HttpReply Api::answer(const http::HttpRequest& request) const {
  try {
    return call_route(all_routes(), *this, request);
  } catch (const Error& e) {
    return {http::error_response(status_of(e.code()), code_name(e.code()), e.message())};
  } catch (const std::exception& e) {
    return {http::error_response(500, code_name(Code::kInternal), e.what())};
  }
}

}  // namespace rtrain::dash
