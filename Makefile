# Each target sets up what it needs first (.venv, log in build/setup.log) and does nothing twice.
# PYTHON names the interpreter, ARGS goes to the program, COUNTERMARK_NO_APT=1 keeps apt-get out.
# The tests start some hundred interpreters: PYTHONDONTWRITEBYTECODE would have each compile the project again.
export PYTHON
ARGS ?=
BIN := .venv/bin

.PHONY: demo demo-scene editor test lint bench mutants fresh lock clean

demo:            ## set up, then the main job on a real logo
	@sh scripts/setup.sh run
	@$(BIN)/countermark demo $(ARGS)

demo-scene:      ## set up with the page, then an agent and a person on one diagram, and the page's address
	@sh scripts/setup.sh editor
	@$(BIN)/python editor/build.py --install
	@$(BIN)/countermark demo scene $(ARGS)

editor:          ## the page of the scenes: Node from a wheel where there is none, packages by lock, built once
	@sh scripts/setup.sh editor
	@$(BIN)/python editor/build.py --install

test:            ## set up, then all tests
	@sh scripts/setup.sh test
	@$(BIN)/python editor/build.py --install
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist loadgroup $(ARGS)

lint:            ## style, format, types, import contracts, dependencies
	@sh scripts/setup.sh lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --cache-dir build/cache/import-linter
	$(BIN)/deptry --no-ansi src

bench:           ## every claim beside its peer, in the same run
	@sh scripts/setup.sh bench
	@$(BIN)/python editor/build.py --install
	@sh scripts/bench.sh $(ARGS)

mutants:         ## break each law once, in a copy, and name the test that notices
	@sh scripts/setup.sh test
	@$(BIN)/python scripts/mutants.py $(ARGS)

fresh:           ## the proof: demo and test in a bare Debian, from a clean clone (root, debootstrap)
	@sh scripts/fresh.sh $(ARGS)

lock:            ## compile requirements/*.in again (needs uv)
	@sh scripts/lock.sh

clean:           ## remove what the targets made
	rm -rf .venv build dist editor/node_modules editor/countermark_editor/dist editor/countermark_editor/render
