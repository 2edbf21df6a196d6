// host/engine/data/images/no_stderr.cpp: where libjpeg and libpng would print, if our own functions
// did not take the place of those that print (packaging/cmake/Dependencies.cmake says why it has
// this name).
#include <cstdio>

extern "C" {
extern FILE* rtrain_no_stderr;
FILE* rtrain_no_stderr = nullptr;
}
