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
