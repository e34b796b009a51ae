import os, sys, ctypes, fcntl, time, threading, subprocess, signal, stat, errno, struct, socket, mmap, resource, array
if os.environ.get('CARREL') != '1' and os.environ.get('HARMLESS') != '1': sys.exit('NO WALLS: the attack was not made')
L = ctypes.CDLL(None, use_errno=True)
def t(f, *a, **k):
    try: return f(*a, **k)
    except OSError as e: return errno.errorcode.get(e.errno, str(e.errno))
def sys_(n, *a):
    r = L.syscall(n, *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r if r >= 0 else errno.errorcode.get(ctypes.get_errno(), '?')
def say(*a): print(*a, flush=True)
if os.environ.get('CARREL') == '1':
    os.mkdir('honest')
    if t(os.mkdir, '.devcontainer') != 'EACCES': say('NO WALL')
