/*
 * tune/tune.h - launch parameters of rungs, chosen by measuring them inside the application.
 *
 * A rung has parameters, each with a list of named values; the app says which values cannot go
 * together. The search sets up, verifies and times the whole application with one choice after the
 * other (CRESTA D3.5.2, section 4: what is best alone may be worse than the default inside), and
 * writes the best to a tuning file, for the device and the point (n, elements, ...) it was found
 * at. Later runs read it; a point that is not in it uses the nearest one and says so.
 *
 * The tuning file is text, one line an entry (here broken), and each line ends with the CRC-32 of
 * what stands before " crc=":
 *
 *   rooftop-tuning 1 crc=d5ae3fe9
 *   format=1 program=nekbone version=0.1.0 device=NVIDIA%20H200 threads=0 ranks=1
 *       point=n:10,elements:512 rung=packed choice=elements:4,unroll:yes measured=inside
 *       seconds=1.44e-05 date=2025-01-31T12:00:00Z crc=0123abcd
 *   entries=1 crc=...
 *
 * device: the GPU of a rung that runs on one, and threads 0; else the processor's model and the
 * threads of a rank. point: the app's coordinates. choice: every parameter of the rung by name, "-"
 * for a rung that has none: its time still says which rung is the fastest. measured: inside the
 * application, seconds of a unit; or isolated (--isolated), seconds of a call of the kernel. Blanks
 * and % are written %20 and %25, in names and values so are , and :.
 *
 * A file of another format, or one with any damage, is not used at all; nor is an entry whose rung,
 * parameters or values this program does not have, or whose values it refuses for its problem.
 * Either is said, and the defaults are in force.
 */
#ifndef RT_TUNE_H
#define RT_TUNE_H

#include "app/ladder.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rt_run;

/* What is in force for a rung of this run: an index of a value for each parameter. Without tuning
 * the initial values, or if the app refuses these for its problem, the allowed ones that differ in
 * the fewest parameters. Never NULL, and valid as long as the run; what it points to changes when
 * the run is configured again or the tuner tries the next choice, so a solver that is made anew
 * reads it anew. Not collective. */
const int *rt_tune_choice(const struct rt_run *run, const rt_rung_t *rung);

#ifdef __cplusplus
}
#endif
#endif
