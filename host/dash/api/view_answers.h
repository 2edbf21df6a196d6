// host/dash/api/view_answers.h: answers about saved views. They throw errors, which Api turns into
// answers.
#pragma once

#include "host/dash/api/api.h"

namespace rtrain::dash {

HttpReply answer_views(const Api& api, const ApiRequest& request);
// Saves a view under its name, or removes it if there is no address.
HttpReply set_view(const Api& api, const ApiRequest& request);

}  // namespace rtrain::dash
