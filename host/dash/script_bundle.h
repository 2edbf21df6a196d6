// host/dash/script_bundle.h: the modules of web/ as one script, for a page that has no server to
// ask for them. Pure.
//
// Understands only the forms that web/ uses: imports of names from files next to it, one a
// line, and exports of a const or class at the beginning of a line.
#pragma once

#include <span>
#include <string>

#include "host/base/text/named_text.h"

namespace rtrain::dash {

// What `first` imports, and then it, each as a function that is called once. Throws
// Error(kInternal) for an import or export of another form, for a file that is not there, for
// files that import each other and for a text that ends a script element.
std::string bundle_scripts(std::span<const NamedText> files, const std::string& first);

}  // namespace rtrain::dash
