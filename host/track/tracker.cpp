#include "host/track/tracker.h"

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/track/http_tracker.h"
#include "host/track/mlflow_tracker.h"
#include "host/track/tensorboard_tracker.h"
#include "host/track/wandb_tracker.h"

namespace rtrain::track {

std::unique_ptr<Tracker> make_tracker(const Value& options) {
  const std::string& kind = options["kind"].as_string();
  if (kind == "tensorboard") return std::make_unique<TensorBoardTracker>(options);
  if (kind == "mlflow") return std::make_unique<MlflowTracker>(options);
  if (kind == "http") return std::make_unique<HttpTracker>(options);
  if (kind == "wandb") return std::make_unique<WandbTracker>(options);
  throw Error(Code::kArgument, cat("there is no tracker '", kind, "'"));
}

}  // namespace rtrain::track
