/*
 * rt.h - what every app of Rooftop uses, in one include. Readers of files (io/, mesh/), sorting and the
 * Hilbert curve have headers of their own.
 *
 * The order is that of the folders: a folder includes only folders above it.
 */
#ifndef RT_H
#define RT_H

#include "base/arithmetic.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/numbers.h"
#include "base/opt.h"
#include "base/sha256.h"
#include "base/table.h"
#include "base/text.h"
#include "io/json.h"
#include "machine/comm.h"
#include "machine/device.h"
#include "machine/energy.h"
#include "machine/kokkos.h"
#include "machine/replay.h"
#include "machine/timer.h"
#include "halo/halo.h"
#include "halo/transport.h"
#include "measure/ceiling.h"
#include "measure/plausible.h"
#include "judge/digest.h"
#include "judge/verify.h"
#include "judge/work.h"
#include "app/app.h"
#include "app/context.h"
#include "app/ladder.h"
#include "tune/tune.h"
#include "driver/driver.h"

#endif
