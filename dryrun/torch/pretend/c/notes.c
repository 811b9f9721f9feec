/* Part of libcuda.so.1: what the process is told, and what is written down. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "pretend.h"

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
enum { NAME = 80 };                   /* bytes of a name; none of a call is as long */
static atomic_long refused, launches;
static char first[NAME];
static __thread char last[NAME];
static __thread long last_status;

/* note writes a line unless this process has. */
static void note(const char *kind, const char *name) {
  static char seen[256][NAME + 16];
  static int n;
  char line[NAME + 16];
  snprintf(line, sizeof line - 1, "%s %s", kind, name);
  size_t len = strlen(line);
  for (size_t i = 0; i < len; i++) if ((unsigned char)line[i] < ' ') line[i] = '?';
  pthread_mutex_lock(&mu);
  static pid_t owner;                 /* a child of fork has notes of its own */
  if (owner != getpid()) { owner = getpid(); n = 0; }
  int known = n == 256;
  for (int i = 0; i < n && !known; i++) known = !strcmp(seen[i], line);
  if (!known) {
    memcpy(seen[n++], line, len + 1);
    const char *dir = getenv("PRETEND_DIR");
    char path[4096];
    int fd = -1;
    if (dir && *dir && snprintf(path, sizeof path, "%s/notes-%ld", dir, (long)owner) < (int)sizeof path)
      fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
      line[len++] = '\n';
      if (write(fd, line, len) < 0) { /* nothing else can be told */ }
      close(fd);
    }
  }
  pthread_mutex_unlock(&mu);
}

long pretend_refuse(const char *call, long status) {
  pthread_mutex_lock(&mu);
  if (!refused) snprintf(first, sizeof first, "%s", call);
  refused++;
  pthread_mutex_unlock(&mu);
  snprintf(last, sizeof last, "%s", call);
  last_status = status;
  note("unsupported", call);
  return status;
}
long pretend_refuse_value(const char *call, long value, long status) {
  char name[NAME];
  snprintf(name, sizeof name, "%s(%ld)", call, value);
  return pretend_refuse(name, status);
}
void pretend_assume(const char *what) { note("assumption", what); }
void pretend_missing(const char *name) { /* a CUDA runtime inside another library asks for all there are */
  static atomic_int n;
  if (*name && atomic_fetch_add(&n, 1) < 16) note("missing", name);
}
const char *pretend_unsupported(void) { return refused ? first : NULL; }
long pretend_unsupported_calls(void) { return refused; }

const char *pretend_error(long status) {
  static __thread char text[NAME + 48];
  if (!status) return "no error";
  if (*last && status == last_status) snprintf(text, sizeof text, "the pretend device does not support %s", last);
  else snprintf(text, sizeof text, "error %ld of the pretend device", status);
  return text;
}

void pretend_launched(void) { atomic_fetch_add(&launches, 1); }
long pretend_launches(void) { return launches; }
