s = socket.socket(socket.AF_UNIX)
say('REACHED' if t(s.connect, 'host.sock') is None else 'fine'); say(t(os.link, 'host.sock', 'y'), t(os.rename, 'host.sock', 'x'), t(os.unlink, 'host.sock'))
for n in ('host.sock', 'x', 'y'):
    s = socket.socket(socket.AF_UNIX)
    if t(s.connect, n) is None: say('REACHED')
