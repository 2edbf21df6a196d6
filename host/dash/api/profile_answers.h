// host/dash/api/profile_answers.h: the answers with a rank's newest profile, as pages show it. For
// the files of `rtrain profile` see host/dash/api/file_answers.h.
#pragma once

#include "host/dash/api/api.h"

namespace rtrain::dash {

// {name, run_id, profile}: the rank's newest memory profile, or null.
HttpReply answer_memory(const Api& api, const ApiRequest& request);
// {name, run_id, flame}: {file, title, seconds, boxes} of the newest samples of the rank's stacks
// (host/plot/flame_graph.h), or null.
HttpReply answer_flame(const Api& api, const ApiRequest& request);
// The SVG file that `rtrain profile --flame` writes, as a download.
HttpReply answer_flame_file(const Api& api, const ApiRequest& request);

}  // namespace rtrain::dash
