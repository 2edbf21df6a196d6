#include "host/worker/report/media_limits.h"

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::worker {
namespace {

const char* form_of(std::string_view kind) {
  if (kind == "image") return " as a PNG";
  if (kind == "video") return " as an animated PNG";
  if (kind == "audio") return " as a WAV file";
  return kind == "text" ? "" : " as JSON";
}

const char* advice_on(std::string_view kind) {
  if (kind == "image") return "log a smaller image";
  return kind == "video" ? "log fewer or smaller frames" : "log less of it";
}

}  // namespace

void MediaLimits::add(const message::Media& media) {
  const std::string call = cat("log_", media.kind, ": ");
  if (media.data.size() > kMaxItemBytes) {
    throw Error(Code::kArgument, cat(call, "'", media.name, "' has ", media.data.size(), " bytes",
                                     form_of(media.kind), ", at most ", kMaxItemBytes,
                                     " are allowed: ", advice_on(media.kind)));
  }
  if (items_ == kMaxItems) {
    throw Error(Code::kArgument,
                cat(call, "this rank has logged ", kMaxItems,
                    " images, videos, audio clips, histograms, tables and texts, and no more are "
                    "allowed in one attempt: log them every few steps"));
  }
  if (bytes_ + media.data.size() > kMaxBytes) {
    throw Error(
        Code::kArgument,
        cat(call, "with '", media.name,
            "' the images, videos, audio clips, histograms, tables and texts "
            "of this rank would have more than ",
            kMaxBytes >> 20, " MiB, which is what one attempt may log: log them less often"));
  }
  ++items_;
  bytes_ += media.data.size();
}

}  // namespace rtrain::worker
