// librtrain_isolated.so: the first library of a namespace with a C library of its own
// (host/lua/libraries/isolated_library.h), whose functions come before that C library's.
//
// All C libraries of a process share the stacks of threads that have ended. Who makes a thread
// takes such a stack and frees what the dead thread had in it: thread-local storage, which the
// dynamic linker has allocated with the process's malloc. In a second C library that free is
// another one and aborts ("free(): invalid pointer"). So while a thread is made, free gives to the
// process's malloc what came from there.
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

// The C library's own, of this namespace.
extern void __libc_free(void* memory);

typedef int CreateThread(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

static int (*give_back_outside)(void* memory);
static CreateThread* create_thread;
static __thread int is_creating;

// `give_back`: frees what the process's malloc has given, and returns 1; else 0.
EXPORT void rtrain_isolated_begin(int (*give_back)(void* memory)) {
  create_thread = (CreateThread*)dlsym(RTLD_NEXT, "pthread_create");
  give_back_outside = give_back;
}

EXPORT void free(void* memory) {
  if (is_creating && memory != NULL && give_back_outside(memory)) return;
  __libc_free(memory);
}

EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                          void* argument) {
  is_creating = 1;
  const int result = create_thread(thread, attributes, run, argument);
  is_creating = 0;
  return result;
}
