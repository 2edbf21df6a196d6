#include "host/dash/api/view_answers.h"

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/runs/saved_views.h"

namespace rtrain::dash {

HttpReply answer_views(const Api& api, const ApiRequest&) {
  return json_reply(Map{{"views", store::read_views(api.storage_path())}});
}

HttpReply set_view(const Api& api, const ApiRequest& request) {
  const Value body = request.body();
  const std::string& name = body["name"].as_string();
  if (!body["address"].is_nil()) {
    store::save_view(api.storage_path(), name, body["address"].as_string());
  } else if (!store::remove_view(api.storage_path(), name)) {
    throw Error(Code::kNotFound, cat("no view '", name, "'"));
  }
  return answer_views(api, request);
}

}  // namespace rtrain::dash
