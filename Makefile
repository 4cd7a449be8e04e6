# `make demo` and `make test` set up what they need.
SHELL := /bin/bash
CARGO ?= cargo
OUT ?= out
TARGET = $(abspath $(or $(CARGO_TARGET_DIR),target))
SKIPS = $(TARGET)/skipped.tsv
# Features that can be built on this machine: the programs of `paceline kernel`.
FEATURES = $$(.ci/features)
PROGRAM = $(or $(CARGO_TARGET_DIR),target)/release/paceline

.PHONY: demo test site npm book page-frames python wheel wheel-test wheels python-image tunnel-long transfer-long tunnel-office tunnel-soak slurm kernel-long linux-guest page-load loads home default-scheme bench pgo dist archive lint style rustdoc digests docs docs-check api setup setup-tests build clean

# With the page of `paceline serve`, if `make site` has built it. With the features of the whole workspace: the Python package
# and the site then share all packages with the program (`-p paceline-cli` selects fewer features, and so other builds).
build: export PACELINE_PAGE = $(TARGET)/site/paceline.html
build: setup
	$(CARGO) build --release --locked --workspace --bin paceline $(FEATURES)

## Builds the program, compares ABC with Cubic and Cubic+CoDel on built-in cellular traces, and
## leaves plots and a page in out/demo.
demo: build
	$(PROGRAM) compare --trace lte-driving --trace lte-walking --trace umts-driving \
	  --schemes 'abc,cubic,cubic+codel[target=50ms,interval=100ms]' -o $(OUT)/demo

## Checks everything that must hold before a change lands. Ends with a list of skipped tests;
## PACELINE_REQUIRE=net,traces turns skips for these requirements into failures. Installs the
## programs that tests need, as root or with a sudo that asks for no password; otherwise prints the
## command that installs them.
test: setup-tests style
	tests/all.sh $(SKIPS)
	@tests/skipped.sh $(SKIPS)

## The tests of the Python package (bindings/python), with a build of the tests' profile.
python: setup
	tests/python.sh test

## The Python package for users, one file in target/wheels: pip install target/wheels/*.whl.
wheel: setup
	tests/python.sh wheel

## Installs that wheel into a fresh virtual environment and runs the quick-start notebook.
wheel-test: wheel
	tests/python.sh wheel-test

## Wheels for all Linux distributions since 2014 (manylinux2014), for x86-64 and ARM, in target/wheels.
## zig, which pip installs, links them; MACHINES=aarch64 makes one of them.
wheels: setup
	tests/python.sh wheels

## rustfmt, clippy and the documentation, warnings denied.
lint: style rustdoc

rustdoc: setup
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --workspace $(FEATURES) --no-deps --document-private-items --quiet

style: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets $(FEATURES) -- -D warnings

## Measures speed: packets per CPU second, memory, and instructions per packet if valgrind is
## installed.
bench: build
	$(PROGRAM) bench --instructions

## Builds a Debian package and an OCI image in target/dist, with their checksums: docs/installing.md. The program in them is
## that of `make pgo` if it is faster.
DIST = $(abspath $(or $(CARGO_TARGET_DIR),target))/dist
dist: export PACELINE_PAGE = $(TARGET)/site/paceline.html
dist: build
	@mkdir -p $(DIST)
	program=$$(packaging/pgo.sh $(PROGRAM) $(PGO)) && \
	package=$$(packaging/deb.sh $$program $(DIST)) && echo $$package && \
	  { packaging/oci.sh $$package $(DIST) || echo 'no image was made; the package is whole' >&2; }
	@packaging/checksums.sh $(DIST)

## Builds the program for all Linux distributions since 2014 into an archive in target/dist, without the programs of `paceline
## kernel`. zig, which pip installs, links it. MACHINE=aarch64 builds for another machine.
archive: export PACELINE_PAGE = $(TARGET)/site/paceline.html
archive: setup
	packaging/archive.sh $(DIST)
	@packaging/checksums.sh $(DIST)

## Builds an image of Dask workers, with the program, Python and the wheel, in target/dist: docs/python.md.
python-image: build wheel
	@mkdir -p $(DIST)
	package=$$(packaging/deb.sh $(PROGRAM) $(DIST)) && packaging/oci.sh $$package $(DIST) $(TARGET)/wheels/*.whl
	@packaging/checksums.sh $(DIST)

## Runs the tests in real time twenty times beside 0, 4 and 12 busy processes: hours. As root.
loads: setup-tests
	tests/loads.sh 20 0 4 12

## The long form of a test in `make test`: a download in the tunnel survives half a minute without
## network. As root.
tunnel-long: setup
	$(CARGO) test --locked -p paceline-cli --test tunnel -- --ignored

## An office of 20 clients at one tunnel server, for the figures of docs/tunnel.md: three runs each
## with one and two event loops, minutes. As root.
tunnel-office: setup
	$(CARGO) test --release --locked -p paceline-cli --test tunnel_clients -- --ignored --nocapture

## A tunnel at full rate for an hour, with the memory of both ends: docs/tunnel.md. As root. MINUTES
## and SCHEME change it.
tunnel-soak: build
	tests/tunnel-soak.sh $(PROGRAM) $(or $(MINUTES),60) $(or $(SCHEME),cubic)

## Makes 10,000 runs as an array of four tasks of a private Slurm, one of which is killed and requeued,
## and compares the joined table with that of one machine: minutes. As root, with Debian's
## slurmctld, slurmd, slurm-client and munge.
slurm: build
	tests/slurm.sh $(PROGRAM)

## Sends a folder of 10,000 files and 2 GB over an emulated LTE link, with outages, kills of both
## ends and a new address: an hour. As root. FILES and BYTES make it smaller.
transfer-long: build
	tests/transfer-long.sh $(PROGRAM) $(or $(FILES),10000) $(or $(BYTES),2000000000)

## Builds the program again with a profile of its own runs, and prints the path of the faster of the two.
## docs/performance.md has the gain. Needs the toolchain's llvm-tools.
PGO = $(abspath $(or $(CARGO_TARGET_DIR),target))/pgo
pgo: export PACELINE_PAGE = $(TARGET)/site/paceline.html
pgo: build
	packaging/pgo.sh $(PROGRAM) $(PGO)

## Compares the event digests of an unoptimised and an optimised build, on one and two threads.
digests: setup
	tests/digests.sh

## Writes the documents that the tree does not keep to $(OUT)/docs: reproduction.md, validation.md
## and a page for each scheme, from sources, measured figures and a short run of each scheme. Also
## updates their summaries in docs.
docs: setup
	.ci/xtask release documents $(OUT)/docs --summaries

## Compares the measured figures, the summaries in docs, the README's counts and the schemes' pages
## with the program.
docs-check: setup
	$(CARGO) test --locked -p paceline-reproduce --test all -- document:: scheme_pages::
	$(CARGO) test --locked -p paceline-lab --lib validate

## Lists the public items of cc, schemes, flow, path, wifi, scenario and sim: $(OUT)/docs/api.md. Needs a
## nightly toolchain.
api: setup
	@mkdir -p $(OUT)/docs
	for crate in cc schemes flow path wifi scenario sim; do \
	  $(CARGO) +nightly rustdoc --locked --quiet -p paceline-$$crate --lib -- \
	    -Z unstable-options --output-format json || exit 1; \
	done
	$(CARGO) run --locked --quiet -p paceline-xtask --no-default-features -- api \
	  $(or $(CARGO_TARGET_DIR),target)/doc $(OUT)/docs/api.md

## The long form of a test in `make test`: programs loaded and unloaded a hundred times under
## traffic, loaders that are killed, a thousand connections. As root.
kernel-long: setup
	PACELINE_KERNEL_LOADS=100 $(CARGO) test --locked -p paceline-kernel --features bpf --test load
	PACELINE_KERNEL_LOADS=100 $(CARGO) test --locked -p paceline-cli --features bpf --test kernel killed

## Builds a Linux guest for the simulator in ~/.cache/paceline/linux (docs/linux-guest.md): minutes
## the first time.
linux-guest: build
	@.ci/setup linux-guest
	$(PROGRAM) linux build
	$(PROGRAM) linux test

## Updates docs/home.md: the effect of other schemes and queues in a home network.
home: setup
	$(CARGO) run --release --locked -p paceline-lab --example home -- docs/home.md

## Updates docs/default-scheme.md: the default scheme of `paceline send`, and the reasons for it.
default-scheme: setup
	$(CARGO) run --release --locked -p paceline-lab --example default_scheme -- docs/default-scheme.md

## Loads a web page beside a bulk download over an LTE trace, with Cubic and with ABC. As root, with
## Chromium.
page-load: build
	PACELINE=$(PROGRAM) examples/page-load/run.sh

## Builds the site as static files, target/site: the page with the simulator in WebAssembly, the book, evaluations, and the
## interfaces of the Rust crates and the Python package. Needs Node.js 20.19 and Rust's target wasm32-unknown-unknown; without
## mdbook there is no book. `paceline serve` serves it.
site: setup
	site/build.sh web $(TARGET)/site
	site/evaluations.sh $(TARGET)/site
	site/book.sh $(TARGET)/site/book || [ $$? = 3 ]
	site/api.sh $(TARGET)/site/api
	site/links.sh $(TARGET)/site
	node site/compress.mjs $(TARGET)/site

## Builds the npm package `paceline` (site/npm/README.md): target/npm/paceline-VERSION.tgz.
npm: setup
	site/build.sh web $(TARGET)/site
	site/npm.sh $(TARGET)/npm

## Builds the book from docs: target/book/index.html. Needs mdbook, and prints how to get it. `make
## site` builds it, too, into target/site/book, if mdbook is installed.
book:
	site/book.sh $(TARGET)/book

## Measures how evenly the page draws eight flows at 20 Mbit/s, in Chromium.
page-frames: build site
	cd site && PACELINE=$(TARGET)/release/paceline PACELINE_SITE_BUILT=$(TARGET)/site node test/frames.mjs

setup:
	@.ci/setup

setup-tests:
	@.ci/setup tests

clean:
	$(CARGO) clean
	rm -rf $(OUT)
