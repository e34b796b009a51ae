"""Gives a pretended machine users, a system, directories and a loopback of its own and keeps its namespaces.

Of the host it has the programs and settings, the devices and what limactl mounts. It has root and the
user for commands: mount(8) and unshare(1) refuse another user, whatever may be done with capabilities.
"""
import ctypes
import fcntl
import os
import shutil
import socket
import struct
import sys
import time

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x40000000
MS_BIND, MS_REC, MNT_DETACH = 4096, 16384, 2
AGENT = 61184
libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), what)


def mount(source, at, kind=None, flags=0, options=None):
    os.makedirs(at, exist_ok=True)
    text = lambda s: s and s.encode()
    check(libc.mount(text(source), text(at), text(kind), flags, text(options)), at)


# A start that was broken off goes on, and there is one machine all the same.
alone = os.open(sys.argv[1] + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
try:
    fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit(0)

programs = {}
for name in os.listdir(sys.argv[2]):
    with open(f"{sys.argv[2]}/{name}") as f:
        programs[name] = f.read()
began, unshared = os.pipe()
mapped, go = os.pipe()
stands, done = os.pipe()
pid = os.fork()
if pid:
    os.read(began, 1)
    for name in "uid_map", "gid_map":
        with open(f"/proc/{pid}/{name}", "w") as f:
            f.write("".join(f"{n} {n} 1\n" for n in sorted({0, AGENT, os.getuid()})))
    os.write(go, b"x")
    os.close(done)
    if os.read(stands, 1):
        with open(sys.argv[1], "w") as f:
            f.write(str(pid))
    os._exit(os.waitpid(pid, 0)[1])
check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS), "unshare")
os.write(unshared, b"x")
os.read(mapped, 1)
os.setgid(0)
os.setuid(0)
os.umask(0o022)
project, machine = sys.argv[3:]
root = f"{machine}/root"
mount("none", root, "tmpfs")
for name in os.listdir("/"):
    if name in ("usr", "etc", "dev", "proc", "sys") or name.startswith(("bin", "lib", "sbin")):
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), f"{root}/{name}")
        else:
            mount(f"/{name}", f"{root}/{name}", flags=MS_BIND | MS_REC)
for name in "run", "usr/local", "dev/shm":
    mount("none", f"{root}/{name}", "tmpfs")
for name, mode in ("home", 0o755), ("mnt", 0o755), ("root", 0o700), ("var/lib", 0o755), ("tmp", 0o1777), ("var/tmp", 0o1777), ("dev/shm", 0o1777):
    os.makedirs(f"{root}/{name}", exist_ok=True)
    os.chmod(f"{root}/{name}", mode)
os.mkdir(f"{root}/home/carrel-agent", 0o700)
os.chown(f"{root}/home/carrel-agent", AGENT, AGENT)
os.mkdir(f"{root}/run/bin")
for name, text in programs.items():
    with open(f"{root}/run/bin/{name}", "w") as f:
        f.write(text)
    os.chmod(f"{root}/run/bin/{name}", 0o755)
if os.path.isdir(f"{machine}/../_programs"):  # of the image
    shutil.copytree(f"{machine}/../_programs", f"{root}/usr/local/bin")
    os.chmod(f"{root}/usr/local/bin", 0o755)
if project:  # that limactl mounts, and the files of its user
    for at in project, f"{machine}/home", f"{machine}/own":
        mount(at, root + at, flags=MS_BIND)
    for name in "upper", "work":
        os.makedirs(f"{root}/run/etc/{name}")
    mount("none", f"{root}/etc", "overlay", 0, f"lowerdir=/etc,upperdir={root}/run/etc/upper,workdir={root}/run/etc/work")
    shutil.copyfile("/usr/bin/setpriv", f"{root}/run/setpriv")
    os.chmod(f"{root}/run/setpriv", 0o4755)
SYS_pivot_root = {"x86_64": 155, "aarch64": 41}[os.uname().machine]
os.chdir(root)
check(libc.syscall(SYS_pivot_root, b".", b"."), "pivot_root")
check(libc.umount2(b".", MNT_DETACH), "umount")
os.chdir("/")
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))
open("/run/carrel-ready", "w").close()
os.write(done, b"x")
time.sleep(900)
