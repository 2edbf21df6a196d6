// host/dash/media_answers.h: the answers about what train.log_image and its like recorded.
#pragma once

#include "host/dash/api.h"

namespace rtrain::dash {

// A page of describe_media rows, all or those of one `name`.
HttpReply answer_media(const Api& api, const ApiRequest& request);
// The bytes of one content, by its `hash`: a PNG, JSON (host/store/runs/media_store.h) or plain
// text.
HttpReply answer_media_content(const Api& api, const ApiRequest& request);

}  // namespace rtrain::dash
