// host/engine/data/images/no_stderr.cpp: replaces the functions with which libjpeg
// and libpng would print (packaging/cmake/Dependencies.cmake explains the file's
// name).
#include <cstdio>

extern "C" {
extern FILE* rtrain_no_stderr;
FILE* rtrain_no_stderr = nullptr;
}
