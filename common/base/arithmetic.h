/* base/arithmetic.h - the kinds of arithmetic that a rung's flops are done in. */
#ifndef RT_ARITHMETIC_H
#define RT_ARITHMETIC_H

/* Names the ceiling that a flop rate is compared with: fused multiply-adds in FP64 or in FP32.
 * RT_MMA16 is the tensor cores' arithmetic on 16-bit values with FP32 sums, for which no ceiling is
 * measured. RT_MIXED is several kinds together, which have no common ceiling. Neither has a share.
 */
typedef enum { RT_FMA64, RT_FMA32, RT_MMA16, RT_MIXED } rt_arithmetic_t;

#endif
