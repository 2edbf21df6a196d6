// host/dash/api/list_answers.h: answers about lists of runs, of their groups, tags and columns.
// They throw errors, which Api turns into answers.
#pragma once

#include "host/dash/api/api.h"

namespace rtrain::dash {

HttpReply answer_runs(const Api& api, const ApiRequest& request);
HttpReply answer_groups(const Api& api, const ApiRequest& request);
HttpReply answer_columns(const Api& api, const ApiRequest& request);
HttpReply answer_tags(const Api& api, const ApiRequest& request);

}  // namespace rtrain::dash
