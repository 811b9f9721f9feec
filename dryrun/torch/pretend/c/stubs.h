/* What becomes of a call that the wheel wants and no source defines; the table of families
 * says which. A definition in a source goes before. */
#include "pretend.h"
#define STUB __attribute__((weak)) long
#define ACCEPTED(f) STUB f(void) { return 0; }
#define COMPUTE(f) STUB f(void) { pretend_launched(); return 0; }
#define ABSENT(f, status) STUB f(void) { return status; }
#define REFUSED(f, status) STUB f(void) { return pretend_refuse(#f, status); }
