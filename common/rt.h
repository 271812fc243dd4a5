/*
 * rt.h - everything an app of Rooftop may use, in one include.
 *
 * The order is the order in which a program meets the parts: errors, options, the ladder of
 * rungs, the ranks, memory, devices, halo, timers, ceilings, verification, report, driver.
 */
#ifndef RT_H
#define RT_H

#include "rt_error.h"
#include "rt_opt.h"
#include "rt_comm.h"
#include "rt_mem.h"
#include "rt_device.h"
#include "rt_replay.h"
#include "rt_kokkos.h"
#include "rt_halo.h"
#include "rt_timer.h"
#include "rt_ceiling.h"
#include "rt_verify.h"
#include "rt_sha256.h"
#include "rt_digest.h"
#include "rt_energy.h"
#include "rt_report.h"
#include "rt_work.h"
#include "rt_ladder.h"
#include "rt_tune.h"
#include "rt_app.h"

#endif
