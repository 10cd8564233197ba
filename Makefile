# Each target is one line over a command that works alone. Set-up (.venv, node_modules) happens by itself, from the locks
# in requirements/, and only when a lock has changed.
#   make site PROMPT="the dog ran" MODEL=/path/to/model NAME=dog     another prompt, model, name: built into build/<name>/
.DEFAULT_GOAL := help
.PHONY: help site pages data measure test serve lighthouse

PYTHON ?= python3
RUN := .venv/bin/python
# Only what was given on the command line counts: NAME is a common environment variable.
given = $(if $(filter command,$(origin $1)),--$2 "$$$1")
WHICH = $(call given,MODEL,model) $(call given,PROMPT,prompt) $(call given,NAME,name)
# Published numbers are compared with; another model or prompt is recorded.
RECOMPUTE = $(if $(strip $(WHICH)),,--check)

help: ## list what there is
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 20

site: ## recompute every number, compare with the published ones, build into site/ (PROMPT="…" MODEL=… NAME=…: into build/)
	@$(PYTHON) requirements/install.py all
	@$(RUN) -m gen run $(RECOMPUTE) $(WHICH)
	@$(RUN) -m gen.site build $(WHICH)

pages: ## build the same site from the published numbers alone, without torch
	@$(PYTHON) requirements/install.py pages
	@$(RUN) -m gen.site build

data: ## recompute every number and write it: for those who change an experiment
	@$(PYTHON) requirements/install.py all
	@$(RUN) -m gen run --write $(WHICH)

measure: ## time this machine, ten minutes that should be quiet (DEVICE=cuda: its GPU); `make site` shows it beside ours
	@$(PYTHON) requirements/install.py all
	@$(RUN) -m gen measure$(if $(filter command,$(origin DEVICE)), --device "$$DEVICE")

serve: ## look at the built site; pages follow what you edit
	@$(PYTHON) requirements/install.py pages
	@$(RUN) -m gen.site serve $(WHICH)

test: ## everything that has to hold: code, numbers, pages in a real browser
	@$(PYTHON) requirements/install.py tests
	@$(RUN) tests/run.py

lighthouse: ## audit the built pages with Lighthouse (installs 170 MB more)
	@$(PYTHON) requirements/install.py lighthouse
	@$(RUN) tests/lighthouse/run.py
