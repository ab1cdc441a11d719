# `make app` and `make test` need Python >= 3.11 and make; they set up everything else.
PYTHON ?= python3
PORT ?= 8501
WORKERS ?= 2
APP := .venv-app
DEV := .venv
PIP := -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help app test test-long lint types check-docs docs screenshots bench-app bench-calc clean

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

app: $(APP)/.ready  ## serve the app on localhost:8501
	$(APP)/bin/streamlit run streamlit_app.py --server.port=$(PORT)

test: $(APP)/.ready $(DEV)/.ready lint types check-docs  ## all checks, Chromium included
	$(DEV)/bin/python -m tools.browser
	$(DEV)/bin/python -m pytest -n $(WORKERS) --dist loadfile -m "not long"

test-long: $(APP)/.ready $(DEV)/.ready lint types check-docs  ## the same with full fuzz counts, kills and load
	$(DEV)/bin/python -m tools.browser
	CLIPFIT_LONG=1 $(DEV)/bin/python -m pytest -n $(WORKERS) --dist loadfile

lint: $(DEV)/.ready
	$(DEV)/bin/ruff check --quiet .

types: $(DEV)/.ready
	$(DEV)/bin/mypy

check-docs: $(DEV)/.ready  ## are the generated tables in the docs current?
	$(DEV)/bin/python -m tools.generate_docs --check

docs: $(DEV)/.ready  ## rewrite the generated tables in the docs
	$(DEV)/bin/python -m tools.generate_docs

screenshots: $(DEV)/.ready  ## docs/img/ from the running app
	$(DEV)/bin/python -m tools.browser
	$(DEV)/bin/python -m tools.screenshots

bench-app: $(DEV)/.ready  ## speed of the app's reruns beside a bare page
	$(DEV)/bin/python -m benchmarks.app_speed

bench-calc: $(DEV)/.ready  ## speed of the arithmetic
	$(DEV)/bin/python -m benchmarks.calc_speed

clean:  ## remove the virtual environments and caches
	rm -rf $(APP) $(DEV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(APP)/.ready: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "ClipFit needs Python 3.11 or later, but $(PYTHON) is $$($(PYTHON) -V 2>&1); try make app PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(APP)
	$(APP)/bin/python $(PIP) -r requirements.txt
	@touch $@

$(DEV)/.ready: requirements.txt bench/requirements.txt tests/requirements.txt tools/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "ClipFit needs Python 3.11 or later, but $(PYTHON) is $$($(PYTHON) -V 2>&1); try make test PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(DEV)
	$(DEV)/bin/python $(PIP) -r bench/requirements.txt
	$(DEV)/bin/python $(PIP) -r tests/requirements.txt
	$(DEV)/bin/python $(PIP) --upgrade --target $(DEV)/gpuhunt -r tools/requirements.txt
	@touch $@
