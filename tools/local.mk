# The suite: tools/rooftop and its package, with the documents that it reads, and the manifest of the source.
dist_bin_SCRIPTS = tools/rooftop
rt_python = PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(srcdir)/tools $${PYTHON:-python3}

suitedir = $(pkgdatadir)/rooftop_suite
dist_suite_DATA = $(wildcard $(srcdir)/tools/rooftop_suite/*.py)
templatedir = $(suitedir)/template
dist_template_DATA = $(wildcard $(srcdir)/tools/rooftop_suite/template/*)
measuredir = $(suitedir)/measure
dist_measure_DATA = $(wildcard $(srcdir)/tools/rooftop_suite/measure/*.py)
resultsdir = $(suitedir)/results
dist_results_DATA = $(wildcard $(srcdir)/tools/rooftop_suite/results/*.py)
pagesdir = $(suitedir)/pages
dist_pages_DATA = $(wildcard $(srcdir)/tools/rooftop_suite/pages/*.py $(srcdir)/tools/rooftop_suite/pages/*.html)
coursedir = $(suitedir)/course
dist_course_DATA = $(wildcard $(srcdir)/tools/rooftop_suite/course/*.py)
suitedocsdir = $(pkgdatadir)/docs
dist_suitedocs_DATA = docs/result-schema.json
lessonsdir = $(pkgdatadir)/docs/lessons
dist_lessons_DATA = $(wildcard $(srcdir)/docs/lessons/*.md)
drawingsdir = $(lessonsdir)/drawings
dist_drawings_DATA = $(wildcard $(srcdir)/docs/lessons/drawings/*.svg)
EXTRA_DIST += $(wildcard $(srcdir)/docs/lessons/exercises/*/*.md) # they need the source tree anyway
machinesdir = $(pkgdatadir)/inputs/machines
dist_machines_DATA = $(wildcard $(srcdir)/inputs/machines/*.json)
EXTRA_DIST += inputs/record.json # the steps of rooftop record
papersdir = $(pkgdatadir)/inputs/papers
dist_papers_DATA = $(wildcard $(srcdir)/inputs/papers/*.json)

EXTRA_DIST += tools/gpu-record tools/mypy.ini tools/version-gen $(filter-out %/__pycache__,$(wildcard $(srcdir)/tools/train-gfnn/*))

# bash-completion finds a command by its name: one file, and links with the names of the programs.
completiondir = $(datadir)/bash-completion/completions
rt_completion = $(DESTDIR)$(completiondir)
EXTRA_DIST += tools/completion/rooftop.bash

# Without Python the programs are installed too; whether the source was changed is then unknown.
install-data-hook:
	$(MKDIR_P) '$(rt_completion)'
	$(INSTALL_DATA) $(srcdir)/tools/completion/rooftop.bash '$(rt_completion)/rooftop'
	for p in $(bin_PROGRAMS); do ln -sf rooftop '$(rt_completion)'/`basename $$p` || exit 1; done
	$(SHELL) $(srcdir)/tools/version-gen $(srcdir) >'$(DESTDIR)$(pkgdatadir)/VERSION'
	$(rt_python) -m rooftop_suite.measure.source judge >'$(DESTDIR)$(pkgdatadir)/source.json' || \
		rm -f '$(DESTDIR)$(pkgdatadir)/source.json'

uninstall-hook:
	for p in $(bin_PROGRAMS) rooftop; do rm -f '$(rt_completion)'/`basename $$p`; done
	rm -rf '$(DESTDIR)$(pkgdatadir)/VERSION' '$(DESTDIR)$(pkgdatadir)/source.json' \
		'$(DESTDIR)$(suitedir)'
	-find '$(DESTDIR)$(pkgdatadir)' '$(DESTDIR)$(docdir)' -depth -type d -empty -delete

# A release has its version and a manifest of its files: docs/vendor.md, "Source".
dist-hook: rt_dist_version rt_dist_man
	$(rt_python) -m rooftop_suite.measure.source manifest '$(distdir)' >'$(distdir)/source.sha256'

# The configure that goes into a release must be of this source, not of an earlier commit. (make coverage takes a
# distdir of another name: no release.)
rt_dist_version:
	@v=`$(SHELL) $(srcdir)/tools/version-gen $(srcdir)`; \
	if test "$$v" != '$(PACKAGE_VERSION)' && test '$(distdir)' = '$(PACKAGE)-$(VERSION)'; then \
	    echo "dist: the source is now $$v, configure was made at $(PACKAGE_VERSION): run ./bootstrap and configure again"; \
	    exit 1; \
	fi; \
	rm -f '$(distdir)/.tarball-version' && echo "$$v" >'$(distdir)/.tarball-version'

# The type hints of the suite and of train-gfnn.
check-types:
	@if $(rt_python) -c 'import mypy' 2>/dev/null; then \
	    cd $(srcdir)/tools && $${PYTHON:-python3} -m mypy --cache-dir=/dev/null --config-file mypy.ini rooftop_suite && \
	    cd train-gfnn && MYPYPATH=.. $${PYTHON:-python3} -m mypy --cache-dir=/dev/null --config-file ../mypy.ini *.py; \
	else \
	    echo "check-types: SKIPPED, mypy is missing (pip install mypy)"; \
	fi

# The figures and the pictures of the pages, from the records in docs/reference; rooftop record makes one.
docs:
	@$(rt_python) -m rooftop_suite.results.papers
	@$(rt_python) -m rooftop_suite.pages.papers
	@$(rt_python) -m rooftop_suite.pages.quoted
	-@$(rt_python) $(srcdir)/tools/rooftop report $(srcdir)/docs/reference/h200/ladder-nekbone.json \
	    --output $(srcdir)/docs/ladder-nekbone.svg
	-@$(rt_python) $(srcdir)/tools/rooftop report $(srcdir)/docs/reference/h200-counters/counters-*.json \
	    --output $(srcdir)/docs/times-h200.svg

manifest:
	@$(rt_python) -m rooftop_suite.measure.source manifest '$(srcdir)'

.PHONY: check-types docs manifest rt_dist_version
