/* Part of libcuda.so.1: streams, events, and which streams a graph is captured from. */
#include <pthread.h>
#include <stdlib.h>
#include "pretend.h"

typedef struct stream {
  struct stream *next;
  int priority;
  unsigned long long done, last, capture; /* ordinals of events; id of the capture */
} stream;
typedef struct { stream *on; unsigned long long ordinal, capture; int lag; } event;

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static stream built_in, *streams;     /* built_in: the default stream, legacy and per thread */
static unsigned long long ordinal, device_done, captures;
static int lag = -1;

static void lock(void) {
  pthread_mutex_lock(&mu);
  if (lag >= 0) return;
  const char *s = getenv("PRETEND_EVENT_LAG");
  lag = s ? atoi(s) : 0;
}
static void unlock(void) { pthread_mutex_unlock(&mu); }
static stream *of(void *s) { return (uintptr_t)s <= 2 ? &built_in : s; }

/* A stream stays after it is destroyed: events may point at it. */
void *pretend_stream_new(int priority) {
  stream *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->priority = priority;
  lock();
  s->next = streams;
  streams = s;
  unlock();
  return s;
}
int pretend_stream_priority(void *s) { return of(s)->priority; }
void pretend_stream_done(void *s) { lock(); of(s)->done = of(s)->last; unlock(); }
void pretend_device_done(void) { lock(); device_done = ordinal; unlock(); }
int pretend_stream_busy(void *p) {
  lock();
  stream *s = of(p);
  int busy = lag > 0 && s->last > s->done && s->last > device_done;
  unlock();
  return busy;
}

/* A stream joins the capture of an event that it waits for. */
void pretend_stream_wait(void *s, void *p) {
  event *e = p;
  lock();
  if (e->capture && e->on->capture == e->capture) of(s)->capture = e->capture;
  unlock();
}
unsigned long long pretend_capture_id(void *s) { lock(); unsigned long long id = of(s)->capture; unlock(); return id; }
int pretend_capture_begin(void *p) {
  stream *s = of(p);
  lock();
  int ok = s != &built_in && !s->capture;
  if (ok) s->capture = ++captures;
  unlock();
  return ok ? 0 : -1;
}
int pretend_capture_end(void *p) {
  lock();
  unsigned long long id = of(p)->capture;
  for (stream *s = streams; s && id; s = s->next)
    if (s->capture == id) s->capture = 0;
  unlock();
  return id ? 0 : -1;
}

void *pretend_event_new(void) { return calloc(1, sizeof(event)); }
void pretend_event_free(void *e) { free(e); }
void pretend_event_record(void *p, void *s) {
  event *e = p;
  lock();
  e->on = of(s);
  e->ordinal = e->on->last = ++ordinal;
  e->capture = e->on->capture;
  e->lag = lag;
  unlock();
}
int pretend_event_query(void *p) {
  event *e = p;
  lock();
  int done = !e->ordinal || e->lag <= 0 || e->ordinal <= device_done || e->ordinal <= e->on->done;
  if (!done) e->lag--;
  unlock();
  return done;
}
void pretend_event_done(void *p) { event *e = p; lock(); e->lag = 0; unlock(); }
void pretend_set_event_lag(int n) { lock(); lag = n; unlock(); }
