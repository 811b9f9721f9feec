/* What libcuda.so.1, which owns all state of the pretend devices, gives to the other
 * libraries. Names and numbers of CUDA are facts of its public headers (cuda.h,
 * driver_types.h); CUDA is the release times 1000, as in CUDART_VERSION. */
#ifndef PRETEND_H
#define PRETEND_H
#include <stddef.h>
#include <stdint.h>

#define UNUSED __attribute__((unused))

/* Notes: see doc.go. refuse gives the status back, so that the caller can return it. */
long pretend_refuse(const char *call, long status);
long pretend_refuse_value(const char *call, long value, long status); /* of one value of an enum */
void pretend_assume(const char *what);
void pretend_missing(const char *name);       /* asked for by name and not there */
const char *pretend_error(long status);       /* a text for an error status of any library */
void pretend_launched(void);                  /* a kernel was accepted */
long pretend_launches(void);

/* Devices. An int is 0 where all is well and -1 where it is not. */
int pretend_count(void);
int pretend_current(void);
int pretend_set_current(int device);
int pretend_active(int device);               /* 1 once the process used it */
int pretend_capability(void);                 /* 90 for 9.0 */
const char *pretend_name(void);
int pretend_links(void);                     /* 1: cards of this kind are linked to each other */
int pretend_attribute(int *value, int attribute, int device); /* CUdevice_attribute */
void pretend_uuid(char *uuid, int device);    /* 16 bytes */

/* Memory. */
void *pretend_alloc(int device, size_t bytes);/* NULL: out of memory */
int pretend_free(void *p);
void pretend_meminfo(int device, size_t *free_bytes, size_t *total_bytes);
int pretend_device_of(const void *p);         /* -1: not of a device */
void pretend_copy(void *to, const void *from, size_t bytes);
void pretend_set(void *p, int value, size_t bytes);

void *pretend_symbol(const char *name);       /* of this library; NULL: none */

/* Streams and events. */
void *pretend_stream_new(int priority);
int pretend_stream_priority(void *stream);
void pretend_stream_done(void *stream);       /* all that is recorded on it has happened */
void pretend_device_done(void);
int pretend_stream_busy(void *stream);
void pretend_stream_wait(void *stream, void *event);
unsigned long long pretend_capture_id(void *stream); /* 0: no graph is captured */
int pretend_capture_begin(void *stream);
int pretend_capture_end(void *stream);
void *pretend_event_new(void);
void pretend_event_free(void *event);
void pretend_event_record(void *event, void *stream);
int pretend_event_query(void *event);         /* 1: it has happened */
void pretend_event_done(void *event);
#endif
