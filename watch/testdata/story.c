// story NAME: a workload whose memory is known by construction. At each mark it
// prints "step N" and waits for a byte on standard input, so that who watches has
// all the time it needs. Sizes are MiB, of small pages.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MiB (1L << 20)

static int marks = 1; // the descriptor that steps are written to

static void await(void) {
  char c;
  if (read(0, &c, 1) != 1) _exit(9); // who watches has gone
}

static void say(const char *text) {
  if (write(marks, text, strlen(text)) < 0) _exit(8);
}

static void mark(int step) {
  char line[32];
  snprintf(line, sizeof line, marks == 1 ? "step %d\n" : "%d\n", step);
  say(line);
  await();
}

static char *map(long n, int flags) {
  char *p = mmap(0, n, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) _exit(7);
  return p;
}

static void touch(volatile char *p, long n) {
  for (long i = 0; i < n; i += 4096) p[i] = 1;
}

static char *hold(long n) {
  char *p = map(n, MAP_PRIVATE);
  madvise(p, n, MADV_NOHUGEPAGE);
  touch(p, n);
  return p;
}

static void leak(int steps) {
  for (int i = 0; i < steps; i++) hold(2 * MiB), mark(i);
}

static void sawtooth(void) {
  for (int cycle = 0, step = 0; cycle < 3; cycle++) {
    char *p[4];
    for (int i = 0; i < 4; i++) p[i] = hold(4 * MiB), mark(step++);
    for (int i = 0; i < 4; i++) munmap(p[i], 4 * MiB);
  }
}

static void plateau(void) {
  for (int i = 0; i < 10; i++) {
    if (i < 4) hold(4 * MiB);
    munmap(hold(2 * MiB), 2 * MiB);
    mark(i);
  }
}

static void sharers(void) { // 40 are shared, each of 4 workers writes to 10 of them
  char *p = hold(40 * MiB);
  mark(0);
  int ready[2], go[2];
  if (pipe(ready) || pipe(go)) _exit(6);
  for (int i = 0; i < 4; i++)
    if (!fork()) {
      char c = 0;
      touch(p, 10 * MiB);
      if (write(ready[1], &c, 1) != 1) _exit(6);
      close(go[1]);
      if (read(go[0], &c, 1) != 0) _exit(6); // until the parent closes it
      _exit(0);
    }
  for (int i = 0; i < 4; i++) {
    char c;
    if (read(ready[0], &c, 1) != 1) _exit(6);
  }
  mark(1);
  close(go[1]);
  while (wait(0) > 0) {}
  mark(2);
}

static void shared(void) { // 20 that two processes have mapped, and both have read
  char *p = map(20 * MiB, MAP_SHARED);
  touch(p, 20 * MiB);
  int ready[2], go[2];
  if (pipe(ready) || pipe(go)) _exit(6);
  if (!fork()) {
    char c = 0;
    touch(p, 20 * MiB);
    if (write(ready[1], &c, 1) != 1) _exit(6);
    close(go[1]);
    if (read(go[0], &c, 1) != 0) _exit(6);
    _exit(0);
  }
  char c;
  if (read(ready[0], &c, 1) != 1) _exit(6);
  mark(0);
  close(go[1]);
  wait(0);
}

static void flash(void) { // a child of 60 that is gone at once
  mark(0);
  if (!fork()) hold(60 * MiB), _exit(0);
  wait(0);
  mark(1);
}

static void daemonise(void) { // the first process ends before the second begins to grow
  int ended[2];
  if (pipe(ended)) _exit(6);
  if (fork()) _exit(0);
  setsid();
  if (fork()) _exit(0);
  for (int i = 0; i < 5; i++) hold(4 * MiB), mark(i);
  _exit(3);
}

static void stubborn(void) { // a child in a group of its own that ignores SIGTERM
  if (!fork()) {
    signal(SIGTERM, SIG_IGN);
    setpgid(0, 0);
    hold(8 * MiB);
    mark(getpid());
    for (;;) pause();
  }
  for (;;) pause();
}

static void *holder(void *unused) {
  hold(20 * MiB);
  char path[64], text[64];
  snprintf(path, sizeof path, "/proc/%d/statm", getpid());
  for (;;) { // until the first thread has ended, when this reads 0
    int f = open(path, O_RDONLY), n = f < 0 ? 0 : read(f, text, sizeof text - 1);
    close(f);
    if (n <= 0 || text[0] == '0') break;
    sched_yield();
  }
  mark(0);
  _exit(0);
}

static void deadleader(void) {
  pthread_t t;
  pthread_create(&t, 0, holder, 0);
  pthread_exit(0);
}

static void launcher(char *self, int borrowed) { // 64, that starts a small program
  hold(64 * MiB);
  mark(0);
  pid_t child = borrowed ? vfork() : fork();
  if (!child) {
    mark(1); // between fork and exec
    execl(self, self, "small", (char *)0);
    _exit(1);
  }
  waitpid(child, 0, 0);
}

static void huge(void) {
  long n = 32 * MiB, page = 2 * MiB;
  char *p = map(n + page, MAP_PRIVATE);
  p = (char *)(((long)p + page - 1) & ~(page - 1));
  madvise(p, n, MADV_HUGEPAGE);
  touch(p, n);
  mark(0);
}

static void bar(void) { // a progress bar, on a terminal or not
  for (int i = 1; i <= 3; i++) {
    char line[64];
    snprintf(line, sizeof line, "\r %d0%%|# | %d/10 [%s]", i, i, isatty(1) && isatty(2) ? "terminal" : "pipe");
    say(line);
    await();
  }
  say("\n");
}

static void caught(int s) { _exit(40 + s); }

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  char *fd = getenv("PEAKGATE_STEP_FD"), *file = getenv("PEAKGATE_STEP_FILE");
  if (fd) marks = atoi(fd);
  if (file) marks = open(file, O_WRONLY | O_APPEND);
  if (!strcmp(name, "leak")) leak(argc > 2 ? atoi(argv[2]) : 20);
  else if (!strcmp(name, "sawtooth")) sawtooth();
  else if (!strcmp(name, "plateau")) plateau();
  else if (!strcmp(name, "sharers")) sharers();
  else if (!strcmp(name, "shared")) shared();
  else if (!strcmp(name, "flash")) flash();
  else if (!strcmp(name, "daemon")) daemonise();
  else if (!strcmp(name, "stubborn")) stubborn();
  else if (!strcmp(name, "deadleader")) deadleader();
  else if (!strcmp(name, "fork-launcher")) launcher(argv[0], 0);
  else if (!strcmp(name, "vfork-launcher")) launcher(argv[0], 1);
  else if (!strcmp(name, "small")) mark(2);
  else if (!strcmp(name, "huge")) huge();
  else if (!strcmp(name, "bar")) bar();
  else if (!strcmp(name, "silent")) hold(24 * MiB), await();
  else if (!strcmp(name, "closes")) close(1), close(2), hold(24 * MiB), await();
  else if (!strcmp(name, "lump")) say("step 1\nstep 2\nstep 3\n"), await();
  else if (!strcmp(name, "signal")) signal(SIGUSR1, caught), mark(0), await();
  else if (!strcmp(name, "writes")) { for (;;) say("text\n"); }
  else if (!strcmp(name, "dies")) mark(0), raise(SIGKILL);
  else if (!strcmp(name, "exits")) return atoi(argv[2]);
  else return 2;
  return 0;
}
