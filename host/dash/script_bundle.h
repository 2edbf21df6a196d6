// host/dash/script_bundle.h: joins the modules of web/ into one script, so that a page asks for
// one file. Pure.
//
// It understands only the forms that web/ uses: imports of names by relative paths, one a line,
// and exports of a const or class at the beginning of a line. Lines that begin with // and blocks
// from /** to */ are left out, also where they stand within a template.
#pragma once

#include <span>
#include <string>

#include "host/base/text/named_text.h"

namespace rtrain::dash {

// Returns the modules that `first` imports, followed by `first`, each as a function that is called
// once. Throws Error(kInternal) for an import or export of another form, for a missing file, for a
// cycle of imports and for a text that ends a script element.
std::string bundle_scripts(std::span<const NamedText> files, const std::string& first);

}  // namespace rtrain::dash
