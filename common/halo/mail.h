/*
 * halo/mail.h - sums of a few doubles over the GPUs of one host, inside a kernel (halo/mail.cuh).
 */
#ifndef RT_MAIL_H
#define RT_MAIL_H

#include "base/extern_c.h"

RT_C_BEGIN

/* What a kernel sees; device memory. */
typedef struct rt_mail rt_mail_t;

/* Returns NULL where this does not work. The first call finds out, by trying. Collective. */
rt_mail_t *rt_mail_get(void);
/* Returns one line on why rt_mail_get gave NULL, "" if it did not. */
const char *rt_mail_why_not(void);
/* Frees the boxes, before the GPU is released. Collective. */
void rt_mail_stop(void);

RT_C_END
#endif
