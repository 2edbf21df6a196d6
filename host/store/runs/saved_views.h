// host/store/runs/saved_views.h: views of the dashboard's pages that have a name, next to the runs.
//
// Each is a file in the folder .views of the storage: {name, address, saved_at}. A file is replaced
// by one rename, so that several writers leave one of their views. A file that cannot be read is
// left out.
#pragma once

#include <string>

#include "host/base/value.h"

namespace rtrain::store {

// [{name, address, saved_at}], by name.
List read_views(const std::string& storage_path);

// Replaces the view of that name. `address`: what the browser has behind "#/". Throws
// Error(kUsage) for a name or an address that is empty or too long, and above 1,000 views.
void save_view(const std::string& storage_path, const std::string& name,
               const std::string& address);

// Returns false if there is no such view.
bool remove_view(const std::string& storage_path, const std::string& name);

}  // namespace rtrain::store
