// host/dash/file_answers.h: the answers that are files of a run, whole or in part: logs and traces.
//
// A file is one of those that the run's folders list: no part of a request becomes a path.
#pragma once

#include "host/dash/api.h"

namespace rtrain::dash {

// The output of one rank in an attempt, as far as its log keeps it.
HttpReply answer_log_file(const Api& api, const ApiRequest& request);
// A page of {name, bytes, time}: the files of `rtrain profile`, the newest first.
HttpReply answer_traces(const Api& api, const ApiRequest& request);
// One of them by its `name`, to be saved.
HttpReply answer_trace_file(const Api& api, const ApiRequest& request);

}  // namespace rtrain::dash
