// host/store/runs/annotation_store.h: annotations that train.annotate has written.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "host/base/value.h"
#include "host/store/claim/run_claim.h"

namespace rtrain::store {

struct AnnotationRow {
  int64_t attempt = 0;
  int64_t rank = 0;
  int64_t time_ms = 0;
  std::string severity;  // info, warning, error
  std::string text;
};

// One transaction, fenced.
void add_annotations(RunClaim& claim, std::span<const AnnotationRow> rows);

// {time, attempt, rank, severity, text}, in order of arrival.
List read_annotations(Database& database, const std::string& run_id);

}  // namespace rtrain::store
