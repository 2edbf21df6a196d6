// host/dash/api/media_answers.h: answers about records of train.log_image and similar functions.
#pragma once

#include "host/dash/api/api.h"

namespace rtrain::dash {

// Answers a page of describe_media rows: all rows, or those of one `name`.
HttpReply answer_media(const Api& api, const ApiRequest& request);
// Answers the bytes of one content, by its `hash`: a PNG, a WAV file, also in parts, JSON
// (host/store/runs/media_store.h) or plain text.
HttpReply answer_media_content(const Api& api, const ApiRequest& request);
// Answers the histograms of one `name` and `rank` over the steps: if there are more than 150, that
// many of them in even distances, the first and the last among them.
HttpReply answer_histograms(const Api& api, const ApiRequest& request);

}  // namespace rtrain::dash
