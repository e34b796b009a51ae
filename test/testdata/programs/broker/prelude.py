import os, sys, ctypes, fcntl, time, threading, subprocess, signal, stat, errno, struct
L = ctypes.CDLL(None, use_errno=True)
def t(f, *a, **k):
    try: return f(*a, **k)
    except OSError as e: return errno.errorcode[e.errno]
