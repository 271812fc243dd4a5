# The suite: tools/rooftop and its package, with the documents that it reads, and what the source of this build was.
dist_bin_SCRIPTS += tools/rooftop
rt_python = PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(srcdir)/tools $${PYTHON:-python3}

suitedir = $(pkgdatadir)/rooftop_suite
dist_suite_DATA = $(wildcard $(srcdir)/tools/rooftop_suite/*.py)
suitedocsdir = $(pkgdatadir)/docs
dist_suitedocs_DATA = docs/result-schema.json
lessonsdir = $(pkgdatadir)/docs/lessons
dist_lessons_DATA = $(wildcard $(srcdir)/docs/lessons/*.md)
referencedir = $(pkgdatadir)/docs/reference
dist_reference_DATA = $(wildcard $(srcdir)/docs/reference/*.json)

EXTRA_DIST += tools/gpu-record tools/nek-study $(filter-out %/__pycache__,$(wildcard $(srcdir)/tools/train-gfnn/*))

# Without Python the programs install all the same; the tier of their results is then unknown.
install-data-hook:
	echo '$(PACKAGE_VERSION)' >'$(DESTDIR)$(pkgdatadir)/VERSION'
	$(rt_python) -m rooftop_suite.source judge >'$(DESTDIR)$(pkgdatadir)/source.json' || \
		rm -f '$(DESTDIR)$(pkgdatadir)/source.json'

uninstall-hook:
	rm -rf '$(DESTDIR)$(pkgdatadir)/VERSION' '$(DESTDIR)$(pkgdatadir)/source.json' \
		'$(DESTDIR)$(suitedir)/__pycache__'

# A release says what its files were: docs/run-rules.md, "Source and tier".
dist-hook:
	$(rt_python) -m rooftop_suite.source manifest '$(distdir)' >'$(distdir)/source.sha256'

manifest:
	@$(rt_python) -m rooftop_suite.source manifest '$(srcdir)'

.PHONY: manifest
