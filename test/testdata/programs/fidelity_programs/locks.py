import fcntl, os, subprocess, sys, errno
def try_(f, *a):
    try: f(*a); return 'got'
    except OSError as e: return errno.errorcode[e.errno]
if len(sys.argv) > 1:
    f = open('lock', 'r+'); print(try_(fcntl.flock, f, fcntl.LOCK_EX | fcntl.LOCK_NB), try_(fcntl.lockf, f, fcntl.LOCK_EX | fcntl.LOCK_NB), flush=True); sys.exit()
f = open('lock', 'w+')
ask = lambda: print(subprocess.run([sys.executable, 'l.py', 'x'], capture_output=True, text=True).stdout.strip())
ask(); fcntl.flock(f, fcntl.LOCK_EX); ask(); fcntl.flock(f, fcntl.LOCK_UN); fcntl.lockf(f, fcntl.LOCK_SH); ask(); open('lock').close(); ask()
