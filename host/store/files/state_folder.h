// host/store/files/state_folder.h: the user's state folder, which belongs to no run.
#pragma once

#include <string>

namespace rtrain::store {

// The folder for data of the user on this machine: $XDG_STATE_HOME/rtrain, else
// ~/.local/state/rtrain.
std::string state_folder();

}  // namespace rtrain::store
