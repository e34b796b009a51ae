fd = os.open('file', os.O_RDWR); m = mmap.mmap(fd, 4); os.close(fd); a, b = socket.socketpair(); w = os.open('other', os.O_CREAT|os.O_WRONLY, 0o600)
if os.fork() == 0:
    time.sleep(0.3); m[0:3] = b'NEW'; os.write(w, b'late'); b.send(b'x'); os._exit(0)
a.recv(1); say('fine')
