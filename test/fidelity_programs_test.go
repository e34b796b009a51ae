//go:build linux

package e2e

// programFidelity are programs that share files with each other or with the
// kernel: databases, locks, mappings, watches, sockets, package managers.
var programFidelity = []fidelity{
	{name: "sqlite in WAL mode", needs: []string{"python3"}, ignore: `\.db`, script: "\ncat > s.py <<'E'\n" + program("fidelity_programs/sqlite_in_wal_mode.py") + "E\npython3 s.py"},
	{name: "locks", needs: []string{"python3", "flock"}, script: "\ncat > l.py <<'E'\n" + program("fidelity_programs/locks.py") + "E\npython3 l.py; flock lock true; flock -n lock flock -n lock true || echo busy; (flock 9; echo held) 9> lock2"},
	{name: "held below what cannot be searched", needs: []string{"python3"}, script: "\ncat > h.py <<'E'\n" + program("fidelity_programs/held_below_what_cannot_be_searched.py") + "E\npython3 h.py"},
	{name: "mappings", needs: []string{"python3"}, script: "\ncat > m.py <<'E'\n" + program("fidelity_programs/mappings.py") + "E\npython3 m.py"},
	{name: "watches", needs: []string{"python3"}, script: "\ncat > i.py <<'E'\n" + program("fidelity_programs/watches.py") + "E\npython3 i.py"},
	{name: "pipes and sockets", needs: []string{"python3"}, script: "\nmkfifo p; (cat p > got) & for i in 1 2 3; do echo $i; done > p; wait; cat got; (exec 3<>p; echo rw >&3; read -r l <&3; echo \"$l\")\ncat > s.py <<'E'\n" + program("fidelity_programs/pipes_and_sockets.py") + "E\npython3 s.py; ls"},
	{name: "background writer", script: `
(for i in $(seq 50); do echo $i >> log; done; mv log done) & (cd /; true); mkdir d; for i in $(seq 30); do echo $i > d/$i; done; wait; wc -l < done; ls d | wc -l
nohup sh -c 'sleep 0.2; echo late > late' > out 2>&1 & wait; cat late; printf '#!/bin/sh\necho ran $1\n' > x; chmod +x x; for i in $(seq 20); do cp x y$i; ./y$i $i; done | md5sum; exec 3> kept; rm kept; echo gone >&3; cat /proc/self/fd/3 2>/dev/null || true; ls kept 2>/dev/null || echo no`},
	{name: "npm", needs: []string{"npm"}, ignore: `/(cache|home)[/"]`, script: `
export HOME=$PWD/home npm_config_cache=$PWD/cache npm_config_audit=false npm_config_fund=false npm_config_offline=true npm_config_update_notifier=false; mkdir home lib app
cd lib; printf '{"name":"lib","version":"1.0.0","bin":{"hail":"b.js"}}' > package.json; printf '#!/usr/bin/env node\nconsole.log(require("./i")())\n' > b.js; printf 'module.exports=()=>"hail"\n' > i.js; npm pack --silent
cd ../app; printf '{"name":"app","version":"1.0.0","scripts":{"go":"hail"}}' > package.json; npm install --silent ../lib/lib-1.0.0.tgz; npm run --silent go; ls -A node_modules node_modules/.bin; stat -c %F node_modules/.bin/hail; npm uninstall --silent lib; ls -A; cat package.json`},
	{name: "pnpm", needs: []string{"npm", "pnpm"}, prepare: (*world).installAgents, ignore: `/(cache|home|store)[/"]|\.modules\.yaml|pnpm-workspace-state`, script: `
export HOME=$PWD/home XDG_CACHE_HOME=$PWD/cache XDG_DATA_HOME=$PWD/home/data npm_config_cache=$PWD/cache npm_config_store_dir=$PWD/store npm_config_package_import_method=hardlink npm_config_offline=true npm_config_update_notifier=false CI=true; mkdir home lib app
cd lib; printf '{"name":"lib","version":"1.0.0","bin":{"hail":"b.js"}}' > package.json; printf '#!/usr/bin/env node\nconsole.log(require("./i")())\n' > b.js; printf 'module.exports=()=>"hail"\n' > i.js; npm pack --silent
cd ../app; printf '{"name":"app","version":"1.0.0","scripts":{"go":"hail"}}' > package.json; pnpm add --silent ../lib/lib-1.0.0.tgz; pnpm --silent go; ls -A node_modules node_modules/.pnpm; stat -c '%F' node_modules/lib; readlink node_modules/lib
rm -rf node_modules; pnpm install --silent --frozen-lockfile; pnpm --silent go; pnpm remove --silent lib; ls -A; cat package.json`},
	{name: "cargo", needs: []string{"cargo"}, ignore: `/(cargo|target)[/"]`, script: `
export CARGO_HOME=$PWD/cargo CARGO_NET_OFFLINE=true CARGO_TERM_QUIET=true HOME=$PWD RUSTUP_TOOLCHAIN=; unset RUSTUP_TOOLCHAIN; mkdir -p part/src src
printf '[package]\nname = "part"\nversion = "0.1.0"\nedition = "2021"\n' > part/Cargo.toml; printf 'pub fn seven() -> u32 { 7 }\n\n#[test]\nfn is() { assert_eq!(seven(), 7) }\n' > part/src/lib.rs
printf '[package]\nname = "whole"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\npart = { path = "part" }\n[workspace]\nmembers = ["part"]\n' > Cargo.toml; printf 'fn main() { println!("{}", part::seven()) }\n' > src/main.rs
cargo build; cargo run; sed -i s/7/8/ part/src/lib.rs; cargo run & cargo check; wait; cargo test --workspace 2>&1 | grep '^test ' | sed 's/finished.*//' | sort; target/debug/whole; cat Cargo.lock; cargo clean; ls -A`},
	{name: "C build", needs: []string{"gcc", "make"}, script: `
printf 'int f(void);int main(void){return f();}\n' > m.c; printf 'int f(void){return 0;}\n' > f.c; printf 'CC=gcc\nm: m.o f.o\n\t$(CC) -o $@ $^\nlibf.a: f.o\n\tar rcsD $@ $^\nclean:\n\trm -f *.o m\n' > Makefile
make -s -j2 m libf.a; ./m && echo ran; strip m; objcopy --only-keep-debug m m.dbg; touch f.c; make -s -j2; ar t libf.a; make -s clean; ls`, ignore: `m\.dbg`},
	{name: "go build", needs: []string{"go"}, ignore: `/cache[/"]|/x[/"]`, script: `
export GOCACHE=$PWD/cache GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOTELEMETRY=off GOTMPDIR=$PWD CGO_ENABLED=0; go mod init x 2>/dev/null; mkdir p
printf 'package p\n\nfunc F() int { return 7 }\n' > p/p.go; printf 'package main\n\nimport "x/p"\n\nfunc main() { println(p.F()) }\n' > main.go
go build -o x . ; ./x; go vet ./p; sed -i s/7/8/ p/p.go; go build -o x . ; ./x; go clean; gofmt -w .; cat go.mod`},
}
