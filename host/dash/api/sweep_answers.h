// host/dash/api/sweep_answers.h: the answers about sweeps, whose trials are runs.
#pragma once

#include "host/dash/api/api.h"

namespace rtrain::dash {

// {name, metric, mode} of the sweep `name`. Metric and mode are null if the sweep has none, or does
// not exist.
HttpReply answer_sweep(const Api& api, const ApiRequest& request);

}  // namespace rtrain::dash
