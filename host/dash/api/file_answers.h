// host/dash/api/file_answers.h: answers that are files of a run, or parts of them: logs and traces.
//
// The file must be in the list of the run's folder: no part of a request becomes a path.
#pragma once

#include "host/dash/api/api.h"

namespace rtrain::dash {

// Answers the output of one rank in an attempt, as far as its log keeps it.
HttpReply answer_log_file(const Api& api, const ApiRequest& request);
// Answers a page of {name, bytes, time}: the files of `rtrain profile`, the newest first.
HttpReply answer_traces(const Api& api, const ApiRequest& request);
// Answers one of these files by its `name`, for download.
HttpReply answer_trace_file(const Api& api, const ApiRequest& request);

}  // namespace rtrain::dash
