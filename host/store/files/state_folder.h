// host/store/files/state_folder.h: the folder of the user, not of a run.
#pragma once

#include <string>

namespace rtrain {

// Where this machine keeps what belongs to the user and to no run: $XDG_STATE_HOME/rtrain, else
// ~/.local/state/rtrain.
std::string state_folder();

}  // namespace rtrain
