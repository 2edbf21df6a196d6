// host/dash/api/paging.h: a part of a long list. Pure.
#pragma once

#include "host/base/value.h"
#include "host/dash/api/route.h"

namespace rtrain::dash {

inline constexpr int64_t kMostRows = 1000;
inline constexpr int64_t kFewRows = 100;

// The part of a list that a request asks for with `offset` and `limit`. The most that `limit` can
// be is kMostRows.
struct PageChoice {
  int64_t offset = 0;
  int64_t limit = kFewRows;

  explicit PageChoice(const ApiRequest& request);
};

// Returns {name: that part of the rows, total, offset, limit}.
Map page_of(const char* name, List rows, const PageChoice& page);
// Returns the same for rows that are that part already, of `total` rows.
Map page_with(const char* name, List rows, int64_t total, const PageChoice& page);

}  // namespace rtrain::dash
