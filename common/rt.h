/*
 * rt.h - everything an app of Rooftop may use, in one include.
 *
 * The order is the order in which a program meets the parts: errors, options, the ladder of
 * rungs, the ranks, memory, devices, halo, timers, ceilings, verification, report, driver.
 */
#ifndef RT_H
#define RT_H

#include "base/error.h"
#include "base/opt.h"
#include "machine/comm.h"
#include "base/mem.h"
#include "base/numbers.h"
#include "machine/device.h"
#include "machine/replay.h"
#include "machine/kokkos.h"
#include "halo/halo.h"
#include "halo/transport.h"
#include "machine/timer.h"
#include "measure/ceiling.h"
#include "judge/verify.h"
#include "base/sha256.h"
#include "judge/digest.h"
#include "machine/energy.h"
#include "base/table.h"
#include "io/json.h"
#include "judge/work.h"
#include "app/ladder.h"
#include "tune/tune.h"
#include "app/app.h"

#endif
