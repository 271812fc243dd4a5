/* base/extern_c.h - brackets for declarations of C in headers that C++ includes too. */
#ifndef RT_EXTERN_C_H
#define RT_EXTERN_C_H

#ifdef __cplusplus
#define RT_C_BEGIN extern "C" {
#define RT_C_END   }
#else
#define RT_C_BEGIN
#define RT_C_END
#endif

#endif
