/* base/opt_slot.h - an option and where it is read into: opt_value.c for opt.c, and private. */
#ifndef RT_OPT_SLOT_H
#define RT_OPT_SLOT_H

#include "base/opt.h"
#include "base/text.h"

/* An option and the set that it is in. */
typedef struct {
    const rt_opt_t *option;
    const rt_opt_set_t *set;
} rt_opt_slot_t;

/* Reads the text into the member. Returns false, leaves the member as it is and gives a short
 * reason if it cannot; the caller prefixes where the value came from. */
bool rt_opt_read(rt_opt_slot_t slot, const char *text, rt_text_t *why);
/* Sets the member to its default. */
void rt_opt_reset(rt_opt_slot_t slot);
/* Notes that the user gave the option; returns whether that was noted. */
void rt_opt_note_given(rt_opt_slot_t slot);
bool rt_opt_was_given(rt_opt_slot_t slot);
/* Returns a copy of the text that lives as long as the program. */
const char *rt_opt_keep(const char *text);
/* Write the range of a number ("1 to 15"), "" if it excludes nothing that a user would ask for, and
 * the choices ("auto, staged or none"). */
void rt_opt_range(const rt_opt_t *o, rt_text_t *words);
void rt_opt_choices(const rt_opt_t *o, rt_text_t *words);

#endif
