# make demo | test | check: each sets up what it needs, once; a second run installs nothing.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# What is not part of the checkout (environments with other versions) is kept here, keyed by what it was made from.
CACHE  ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/srd-gym
KEY    := $(shell cat constraints.txt pyproject.toml | cksum | cut -d' ' -f1)
FRESH   := $(CACHE)/wheel-$(KEY)
MINIMAL  = $(CACHE)/minimal-$(1)-$(KEY)
# The Pythons that pyproject.toml promises, and where this machine has one: on the path, or pyenv's.
PROMISED := $(shell sed -n 's/.*Python :: \(3\.[0-9]*\)".*/\1/p' pyproject.toml)
python_of = $(shell for each in python$(1) $(PYTHON) $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$(1).*/bin/python; do \
	"$$each" -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != "$(1)")' 2>/dev/null && { echo "$$each"; break; }; done)
# The libraries that learn on our environments, and those of retrieval pipelines: sets that exclude one another.
THIRD_PARTY := main ray benchmarl integrations trl openenv verifiers
LIBRARIES   := PYTHONPATH=$(CURDIR):$(CURDIR)/agents:$(CURDIR)/train
third_party  = $(CACHE)/third-party-$(1)-$(shell { $(PYTHON) --version; cat tests/third_party/$(1).txt; } | cksum | cut -d' ' -f1)

# One thread a process: pytest runs one process a core, and results must not depend on the number of cores.
export OMP_NUM_THREADS ?= 1
# Nor on the kind of processor: matrix products of this one, where the machine has its instructions.
ifneq ($(shell grep -om1 avx2 /proc/cpuinfo 2>/dev/null),)
export OPENBLAS_CORETYPE ?= HASWELL
endif
export PYTHONHASHSEED ?= 0
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help demo test check format lint types imports spelling habits release wheel test-wheel test-minimal test-third-party fuzz kills docs results pretrain speed named without-scores curves language-models small-model models clean

help:
	@echo "make demo    install, then train and compare rankers on the embedded topics"
	@echo "make test    install, then run the tests"
	@echo "make check   everything that must hold before a change lands"
	@echo "make docs    build the documentation into docs/_build/html"
	@echo "make results  its tables, sentences and pictures from the stored scores; its options: ARGS=--help"
	@echo "make format  let ruff rewrite what it can"
	@echo "make fuzz    damaged files and odd arguments, 100,000 cases each; its options: ARGS=--help"
	@echo "make kills   kill commands at random moments, run them again, compare; its options: ARGS=--help"
	@echo "make pretrain  the weights of relational-pretrained, made again; its options: ARGS=--help"
	@echo "make speed   the speed table; its options: ARGS=--help"
	@echo "make named           the table of what named subtopics bring, of judges and of a language model"
	@echo "make without-scores  the tables of the default without scores, and of what it was chosen from"
	@echo "make models  train what the README's table shows, a folder each in models/"
	@echo "make curves  train with the other libraries, and draw how soon they become good"
	@echo "make language-models  train a tiny language model to cover; its options: ARGS=--help"
	@echo "make small-model     train a real one, supervised and by GRPO; its options: ARGS=--help"
	@echo "make test-third-party  install the other libraries beside .venv, and learn and rank with each of them"

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt torch
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $(READY)

demo: $(READY)
	$(BIN)/srd benchmark smoke
	$(BIN)/srd benchmark words
	$(BIN)/srd report results/words
	@echo
	@echo "Look:  results/words/report.html, the rankings of 40 result pages side by side"
	@echo "Train: $(BIN)/srd train reinforce --topics synthetic:serp:200 --fold 1/5 --epochs 3 --out my-model"
	@echo "Read:  docs/tutorials, notebooks: re-rank results, train an agent, compare runs, your own data, a language model"

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal

# The tests take both cores; what is before and after them waits for disks and for single processes.
check: $(READY)
	$(MAKE) --jobs=2 --output-sync --no-print-directory lint types imports spelling habits docs
	$(MAKE) --no-print-directory test
	$(MAKE) --jobs=2 --output-sync --no-print-directory test-wheel test-minimal

# Without ruff's cache: how imports are sorted depends on which other files exist, and the cache looks at one at a time.
lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check --no-cache .

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

spelling: $(READY)
	$(BIN)/codespell

# Workflows, forms and settings of the repository, by the schemas of who reads them.
FORMS := .github/ISSUE_TEMPLATE
habits: $(READY)
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.readthedocs .readthedocs.yaml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-issue-config $(FORMS)/config.yml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard $(FORMS)/*.yml))

docs: $(READY)
	$(BIN)/sphinx-build -q -W --keep-going -j auto docs docs/_build/html

# What users install: the wheel, outside the checkout. Environments are kept, the wheel is built and put in each time.
wheel:
	rm -rf dist
	$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir dist .

$(FRESH)/.ready:
	rm -rf $(FRESH)
	@mkdir -p $(FRESH)
	$(PYTHON) -m venv $(FRESH)
	$(FRESH)/bin/pip install --quiet -c constraints.txt torch
	$(FRESH)/bin/pip install --quiet -c constraints.txt '.[train,text]' pytest
	@touch $@

test-wheel: $(FRESH)/.ready wheel
	$(FRESH)/bin/pip install --quiet --no-deps --force-reinstall dist/*.whl
	cd $(FRESH) && bin/pytest -q -p no:cacheprovider -c $(CURDIR)/pyproject.toml $(CURDIR)/tests/install/test_wheel.py

# What a release uploads: wheel and sdist, the page of the index, and both tried in clean environments.
RELEASE := $(CACHE)/release
release: $(READY)
	rm -rf dist $(RELEASE)
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/pip install --quiet build twine
	$(RELEASE)/bin/python -m build --outdir dist .
	$(RELEASE)/bin/twine check --strict dist/*
	$(MAKE) --no-print-directory tested-release

# The README's blocks run in an environment that has the wheel alone; the sdist's own tests with the sdist's files.
tested-release: $(FRESH)/.ready
	$(FRESH)/bin/pip install --quiet --no-deps --force-reinstall dist/*.whl
	cd $(FRESH) && bin/pytest -q -p no:cacheprovider -c $(CURDIR)/pyproject.toml $(CURDIR)/tests/install/test_wheel.py
	tar -xzf dist/*.tar.gz -C $(RELEASE)
	cd $(RELEASE)/srd_gym-*/ && PYTHONPATH=$$PWD:$$PWD/agents:$$PWD/train \
		$(CURDIR)/$(BIN)/python -m pytest -q -n auto --dist worksteal tests/env tests/agents/heuristic

# The same with necessary dependencies only (extra cli: no torch), and on the oldest gymnasium that we promise (Ray 2.60
# pins it): the environments, the rankers and the commands that need no torch. On every Python that is promised and here.
# The oldest and the newest run all of it; one between them runs what leans on Python most: readers, environments, commands.
TORCH_FREE := tests/env tests/agents/heuristic tests/agents/integrations tests/agents/pipeline/test_safe.py \
	tests/agents/supervised/test_linear.py tests/agents/supervised/test_linear_features.py \
	tests/install/test_without_torch.py
BETWEEN    := tests/env/data tests/env/envs tests/install/test_without_torch.py
ENDS       := $(firstword $(PROMISED)) $(lastword $(PROMISED))

$(call MINIMAL,%)/.ready:
	rm -rf $(@D)
	@mkdir -p $(@D)
	$(call python_of,$*) -m venv $(@D)
	grep -v '^gymnasium==' constraints.txt > $(@D)/constraints.txt
	$(@D)/bin/pip install --quiet -c $(@D)/constraints.txt gymnasium==1.2.2 '.[cli]' pytest pytest-xdist hypothesis
	@touch $@

test-minimal: $(PROMISED:%=test-minimal-%)

.PHONY: $(PROMISED:%=test-minimal-%) $(PROMISED:%=tested-minimal-%)
$(PROMISED:%=test-minimal-%): test-minimal-%: wheel
	@$(if $(call python_of,$*),$(MAKE) --no-print-directory tested-minimal-$*,echo "no Python $* on this machine: not tested on it")

$(PROMISED:%=tested-minimal-%): tested-minimal-%: $(call MINIMAL,%)/.ready
	$(<D)/bin/pip install --quiet --no-deps --force-reinstall dist/*.whl
	$(<D)/bin/pytest -q -p no:cacheprovider -n auto --dist worksteal $(if $(filter $*,$(ENDS)),$(TORCH_FREE),$(BETWEEN))

# Every loader with damaged files, every call with odd arguments; ARGS are its options (ARGS=--help).
fuzz: $(READY)
	PYTHONPATH=.:agents:train:tests $(BIN)/python -m fuzz $(ARGS)

# What is killed is run again and comes to the same; ARGS are its options (ARGS=--help).
kills: $(READY)
	PYTHONPATH=.:agents:train:tests $(BIN)/python tests/fuzz/kills.py $(ARGS)

# Tables, sentences and pictures of the documentation from the scores in docs/results; no data set is read.
results: $(READY)
	PYTHONPATH=.:agents:train $(BIN)/python -m studies results $(ARGS)

# The experiments behind pages of the documentation; ARGS are their options (ARGS=--help).
pretrain: $(READY)
	PYTHONPATH=.:agents:train $(BIN)/python -m studies $@ $(ARGS)

# With the matrix products of the machine's own kind.
speed: $(READY)
	env -u OPENBLAS_CORETYPE PYTHONPATH=.:agents:train $(BIN)/python -m studies $@ $(ARGS)

# It reads the real files, below $SRD_DATA_DIR, and writes the page of its name in docs/results.
named: $(READY)
	PYTHONPATH=.:agents:train $(BIN)/python -m studies.$@

# Likewise; it writes the tables of docs/without_scores.md.
without-scores: $(READY)
	PYTHONPATH=.:agents:train $(BIN)/python -m studies.without_scores

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist docs/_build

# Every other library really learns on our environments or ranks with our rankers; the code is that of docs/third_party.
test-third-party: $(THIRD_PARTY:%=test-third-party-%)

.PHONY: $(THIRD_PARTY:%=test-third-party-%)
.SECONDEXPANSION:
$(THIRD_PARTY:%=test-third-party-%): test-third-party-%: $$(call third_party,$$*)/.ready wheel
	$(<D)/bin/pip install --quiet --no-deps --force-reinstall dist/*.whl
	$(LIBRARIES) $(<D)/bin/python -m pytest -q --durations=10 tests/third_party/$*

# The stem is the set's name and the checksum of its pins, which are all that is installed. This project's code is read from the
# checkout, its entry points from the wheel. What is imported is compiled then.
$(CACHE)/third-party-%/.ready:
	rm -rf $(@D)
	@mkdir -p $(@D)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --no-deps --no-compile -r tests/third_party/$(firstword $(subst -, ,$*)).txt
	@touch $@

# Tuned settings of other libraries: they train, and write the page of their curves.
CURVES := docs/third_party
curves: $$(call third_party,main)/.ready $$(call third_party,ray)/.ready $$(call third_party,benchmarl)/.ready
	for name in tianshou torchrl; do $(LIBRARIES) $(<D)/bin/python $(CURVES)/tuned_$$name.py --out $(CACHE)/curves || exit; done
	$(LIBRARIES) $(word 2,$(^D))/bin/python $(CURVES)/tuned_rllib.py --out $(CACHE)/curves
	$(LIBRARIES) $(word 3,$(^D))/bin/python $(CURVES)/tuned_benchmarl.py --out $(CACHE)/curves
	$(LIBRARIES) $(<D)/bin/python $(CURVES)/tuned.py --out $(CACHE)/curves --page $(CURVES)/curves.md

# A tiny language model learns to cover with TRL.
language-models: $$(call third_party,trl)/.ready
	$(LIBRARIES) $(<D)/bin/python -m studies language_models $(ARGS)

# A real one on real texts; ARGS="--model FILE".
small-model: $$(call third_party,trl)/.ready
	$(LIBRARIES) $(<D)/bin/python -m studies small_model $(ARGS)

# A folder for `srd rank` of every row of the README's table that is trained or chosen, with the options of the recipe.
MODELS := models
TRAIN   = $(BIN)/srd train $(1) --topics synthetic:serp:600:0 --fold 1/5 --out $(MODELS)/$(1)
models: $(READY)
	$(call TRAIN,mmr) --relevance cosine
	$(call TRAIN,mdp-div-batched) --epochs 30
	$(call TRAIN,reinforce) --epochs 15 --lr-decay-epochs 15
