//go:build linux

package e2e

// programFidelity are programs that share files with each other or with the
// kernel: databases, locks, mappings, watches, sockets, package managers.
var programFidelity = []fidelity{
	{name: "sqlite in WAL mode", needs: []string{"python3"}, ignore: `\.db`, script: `
cat > s.py <<'E'
import sqlite3, sys, subprocess, os
def open_():
    c = sqlite3.connect('x.db', timeout=30); c.execute('pragma synchronous=normal'); return c
if len(sys.argv) > 1:
    c = open_()
    for i in range(40):
        with c: c.execute('insert into t values(?)', (i,))
    sys.exit()
c = open_(); print(c.execute('pragma journal_mode=wal').fetchone()); c.execute('create table t(a)'); c.commit()
ps = [subprocess.Popen([sys.executable, 's.py', 'w']) for _ in range(4)]
print([p.wait() for p in ps], c.execute('select count(*), sum(a) from t').fetchone())
print(sorted(os.listdir('.'))); print(c.execute('pragma integrity_check').fetchone(), c.execute('pragma wal_checkpoint(truncate)').fetchone()); c.execute('vacuum'); c.close(); print(sorted(os.listdir('.')))
d = sqlite3.connect('y.db'); d.execute('create table u(a)'); d.commit(); d.execute('insert into u values(1)'); print(os.path.exists('y.db-journal')); d.rollback(); d.close()
E
python3 s.py`},
	{name: "locks", needs: []string{"python3", "flock"}, script: `
cat > l.py <<'E'
import fcntl, os, subprocess, sys, errno
def try_(f, *a):
    try: f(*a); return 'got'
    except OSError as e: return errno.errorcode[e.errno]
if len(sys.argv) > 1:
    f = open('lock', 'r+'); print(try_(fcntl.flock, f, fcntl.LOCK_EX | fcntl.LOCK_NB), try_(fcntl.lockf, f, fcntl.LOCK_EX | fcntl.LOCK_NB), flush=True); sys.exit()
f = open('lock', 'w+')
ask = lambda: print(subprocess.run([sys.executable, 'l.py', 'x'], capture_output=True, text=True).stdout.strip())
ask(); fcntl.flock(f, fcntl.LOCK_EX); ask(); fcntl.flock(f, fcntl.LOCK_UN); fcntl.lockf(f, fcntl.LOCK_SH); ask(); open('lock').close(); ask()
E
python3 l.py; flock lock true; flock -n lock flock -n lock true || echo busy; (flock 9; echo held) 9> lock2`},
	{name: "held below what cannot be searched", needs: []string{"python3"}, script: `
cat > h.py <<'E'
import os
way = ['a', 'a/b', 'a/b/c', 'a/b/c/d']
os.makedirs(way[-1]); open('a/b/c/d/f', 'w').write('kept')
dirs = [os.open(d, os.O_RDONLY) for d in way]; f = os.open('a/b/c/d/f', os.O_RDONLY); os.chdir(way[-1])
def attempt(name, flags):
    try: os.close(os.open(name, os.O_WRONLY | flags)); print(name, flags, 'opened')
    except OSError as e: print(name, flags, e.strerror)
for n, d in enumerate(dirs):
    os.fchmod(d, 0)
    for name, flags in ('f', 0), ('f', os.O_TRUNC), ('new%d' % n, os.O_CREAT), ('.', os.O_TMPFILE): attempt(name, flags)
    try: os.close(os.open('/proc/self/fd/%d' % f, os.O_WRONLY)); print('again')
    except OSError as e: print('again', e.strerror)
for d in dirs: os.fchmod(d, 0o755)
os.mkdir('away'); os.chdir('away'); os.mkdir('x'); os.rmdir('x'); os.rmdir('../away'); os.fchmod(dirs[-1], 0)
for flags in os.O_CREAT, 0: attempt('x', flags)
os.fchmod(dirs[-1], 0o755)
E
python3 h.py`},
	{name: "mappings", needs: []string{"python3"}, script: `
cat > m.py <<'E'
import mmap, os
f = open('m', 'w+b'); f.truncate(8192); m = mmap.mmap(f.fileno(), 8192); m[0:5] = b'hello'; m[4096:4101] = b'world'
os.rename('m', 'n'); m[5:6] = b'!'; m.flush(); print(open('n', 'rb').read(6), os.stat('n').st_size)
if os.fork() == 0: m[10:11] = b'c'; os._exit(0)
os.wait(); print(m[10:11]); os.unlink('n'); m[0:1] = b'H'; print(m[0:5], os.fstat(f.fileno()).st_nlink)
r = open('r', 'w+b'); r.write(b'x' * 100); r.flush(); q = mmap.mmap(os.open('r', os.O_RDONLY), 100, prot=mmap.PROT_READ); print(q[0:1])
try: mmap.mmap(os.open('r', os.O_RDONLY), 100, prot=mmap.PROT_WRITE)
except OSError as e: print(e.errno)
E
python3 m.py`},
	{name: "watches", needs: []string{"python3"}, script: `
cat > i.py <<'E'
import ctypes, os, struct, subprocess
c = ctypes.CDLL(None, use_errno=True); fd = c.inotify_init1(os.O_NONBLOCK); os.mkdir('d'); open('d/old', 'w').close()
c.inotify_add_watch(fd, b'd', 0xfff & ~(0x1 | 0x10 | 0x20)); w = c.inotify_add_watch(fd, b'd/old', 0xfff & ~(0x1 | 0x10 | 0x20))
subprocess.run('echo 1 > d/a; echo 2 >> d/a; mv d/a d/b; chmod 600 d/b; mkdir d/s; rmdir d/s; touch -d 2001-01-01 d/b; truncate -s 0 d/old; ln d/b d/c; ln -s b d/l; rm d/b; sed -i s/2/3/ d/c', shell=True)
data = os.read(fd, 65536); at = 0; out = []
while at < len(data):
    wd, mask, cookie, n = struct.unpack_from('iIII', data, at); name = data[at+16:at+16+n].split(b'\0')[0].decode(); at += 16 + n
    out.append((wd, hex(mask), cookie != 0, 'sed' if name.startswith('sed') else name))
for e in out: print(e)
E
python3 i.py`},
	{name: "pipes and sockets", needs: []string{"python3"}, script: `
mkfifo p; (cat p > got) & for i in 1 2 3; do echo $i; done > p; wait; cat got; (exec 3<>p; echo rw >&3; read -r l <&3; echo "$l")
cat > s.py <<'E'
import os, socket, threading
os.mkdir('d')
for name in ('rel.sock', './d/../dot.sock', os.getcwd() + '/abs.sock', 'd/deep.sock'):
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(); print(os.path.relpath(s.getsockname()) , s.getsockname() == name, oct(os.stat(name).st_mode))
    c = socket.socket(socket.AF_UNIX); c.connect(name); a = s.accept()[0]; c.send(b'hi'); print(a.recv(2), c.getpeername() == name)
    try: socket.socket(socket.AF_UNIX).bind(name)
    except OSError as e: print(e.errno)
    os.unlink(name)
g = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); g.bind('g.sock'); h = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); h.sendto(b'x', 'g.sock'); print(g.recv(1))
os.umask(0o077); socket.socket(socket.AF_UNIX).bind('private.sock')
a, b = socket.socketpair(); f = open('sent', 'w'); socket.send_fds(a, [b'f'], [f.fileno()]); _, fds, _, _ = socket.recv_fds(b, 1, 1); os.write(fds[0], b'through'); print(open('sent').read())
E
python3 s.py; ls`},
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
