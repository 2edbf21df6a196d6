// host/dash/api/run_answers.h: answers about runs: one function for each route of /api/runs. They
// throw errors, which Api turns into answers.
#pragma once

#include "host/dash/api/api.h"

namespace rtrain::dash {

// Answers the nodes of one run, or of a page of runs, the newest first.
HttpReply answer_nodes(const Api& api, const ApiRequest& request);
HttpReply answer_run(const Api& api, const ApiRequest& request);
HttpReply answer_hangs(const Api& api, const ApiRequest& request);
HttpReply answer_memory(const Api& api, const ApiRequest& request);
HttpReply answer_metrics(const Api& api, const ApiRequest& request);
HttpReply answer_curves(const Api& api, const ApiRequest& request);
HttpReply answer_curve(const Api& api, const ApiRequest& request);
HttpReply answer_checkpoints(const Api& api, const ApiRequest& request);
HttpReply answer_sources(const Api& api, const ApiRequest& request);
HttpReply answer_logs(const Api& api, const ApiRequest& request);
HttpReply answer_compare(const Api& api, const ApiRequest& request);

HttpReply stream_runs(const Api& api, const ApiRequest& request);
HttpReply stream_run(const Api& api, const ApiRequest& request);
HttpReply stream_logs(const Api& api, const ApiRequest& request);

}  // namespace rtrain::dash
