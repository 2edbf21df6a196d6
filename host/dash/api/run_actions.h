// host/dash/api/run_actions.h: changes of a run, and questions to a live run: one function for each
// POST of /api/runs. They use the same code as the commands of the same names. They throw errors,
// which Api turns into answers.
#pragma once

#include "host/dash/api/api.h"

namespace rtrain::dash {

// These change the run's note, its name, its tags, and whether it is archived, through RunEditor.
HttpReply set_note(const Api& api, const ApiRequest& request);
HttpReply set_name(const Api& api, const ApiRequest& request);
HttpReply change_tags(const Api& api, const ApiRequest& request);
HttpReply set_archived(const Api& api, const ApiRequest& request);

// These ask the run's controller through ControlClient, and wait for its answer.
HttpReply stop_run(const Api& api, const ApiRequest& request);
HttpReply show_stacks(const Api& api, const ApiRequest& request);
HttpReply record_profiles(const Api& api, const ApiRequest& request);

}  // namespace rtrain::dash
