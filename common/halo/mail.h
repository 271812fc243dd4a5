/*
 * halo/mail.h - sums of a few doubles over the GPUs of one host, from within a kernel (halo/mail.cuh).
 */
#ifndef RT_MAIL_H
#define RT_MAIL_H

#ifdef __cplusplus
extern "C" {
#endif

/* What a kernel sees; device memory. */
typedef struct rt_mail rt_mail_t;

/* NULL where it cannot be done. Collective; the first call finds out, by doing it. */
rt_mail_t *rt_mail_get(void);
/* One line: why rt_mail_get gave NULL, "" if it did not. */
const char *rt_mail_why_not(void);
/* Collective; before the GPU is given back. */
void rt_mail_stop(void);

#ifdef __cplusplus
}
#endif
#endif
