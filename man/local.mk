# Man pages: the --help of each program, and the sections in man/*.h2m: program.h2m of all apps, rooftop.h2m of the suite.
# In a git clone help2man makes them. A release ships them (dist-hook) and makes none, so there a change of --help does
# not change the page.
rt_pages = man/alya-rhs.1 man/fun3d-mcpi.1 man/gfnn-wave.1 man/nekbone.1 man/rooftop.1
EXTRA_DIST += man/make-page man/program.h2m man/rooftop.h2m

if HAVE_MAN
man1_MANS = $(rt_pages)
endif

if MAKE_MAN
CLEANFILES += $(rt_pages)
man/alya-rhs.1: apps/alya-rhs/alya-rhs
man/fun3d-mcpi.1: apps/fun3d-mcpi/fun3d-mcpi
man/gfnn-wave.1: apps/gfnn-wave/gfnn-wave
man/nekbone.1: apps/nekbone/nekbone
man/rooftop.1: $(srcdir)/tools/rooftop $(dist_suite_DATA) build.h
$(rt_pages): man/make-page man/program.h2m man/rooftop.h2m
$(rt_pages): man/%.1:
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)HELP2MAN='$(HELP2MAN)' PYTHON="$${PYTHON:-python3}" $(SHELL) $(srcdir)/man/make-page $(srcdir) \
		$(filter %/$*,$^) >$@.tmp && mv -f $@.tmp $@
endif

rt_dist_man: $(man1_MANS)
	@if test -z '$(man1_MANS)'; then \
	    echo "dist: this tarball has no man pages, because help2man is missing (apt install help2man)"; \
	else \
	    for p in $(man1_MANS); do \
	        if test -f $$p; then d=; else d=$(srcdir)/; fi; \
	        cp -f -p $$d$$p '$(distdir)/man/' || exit 1; \
	    done; \
	fi
.PHONY: rt_dist_man
