// host/dash/run_answers.h: the answers about runs: one function for each route of /api/runs.
// Errors leave them; Api makes answers of these.
#pragma once

#include "host/dash/api.h"

namespace rtrain {

HttpReply answer_runs(const Api& api, const ApiRequest& request);
HttpReply answer_run(const Api& api, const ApiRequest& request);
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

// What changes a run: its note, its tags, whether it is archived.
HttpReply set_note(const Api& api, const ApiRequest& request);
HttpReply change_tags(const Api& api, const ApiRequest& request);
HttpReply set_archived(const Api& api, const ApiRequest& request);

}  // namespace rtrain
