// host/dash/run_actions.h: changes of a run, and questions to a live one: one function for
// each POST of /api/runs. They do what the commands of these names do, through the same code.
// Errors leave them; Api makes answers of these.
#pragma once

#include "host/dash/api.h"

namespace rtrain::dash {

// Its note, its tags, whether it is archived: RunEditor.
HttpReply set_note(const Api& api, const ApiRequest& request);
HttpReply change_tags(const Api& api, const ApiRequest& request);
HttpReply set_archived(const Api& api, const ApiRequest& request);

// Of its controller: ControlClient. They wait for its answer.
HttpReply stop_run(const Api& api, const ApiRequest& request);
HttpReply show_stacks(const Api& api, const ApiRequest& request);
HttpReply record_profiles(const Api& api, const ApiRequest& request);

}  // namespace rtrain::dash
