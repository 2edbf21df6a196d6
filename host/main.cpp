#include "host/cli/command_line.h"

int main(int argc, char** argv) { return rtrain::cli::run_command_line(argc, argv); }
