ro = [os.open('.git/config', os.O_RDONLY), os.open('file', os.O_RDONLY|os.O_CREAT), os.open('seen', os.O_RDONLY|os.O_CREAT, 0o600)]
log = os.open('log', os.O_CREAT|os.O_WRONLY|os.O_APPEND, 0o600); say(L.unshare(0x10020000))
say(*[t(os.open, '/proc/self/fd/%d' % n, os.O_RDWR) for n in ro])
for n in ro:
    for how in ('/proc/self/fd/%d' % n, '/proc/%d/fd/%d' % (os.getpid(), n)):
        g = t(os.open, how, os.O_WRONLY); isinstance(g, int) and say('GOT', how, os.write(g, b'EVIL'))
        say(t(os.truncate, how, 0), t(os.chmod, how, 0o777), t(os.setxattr, how, 'user.x', b'y'), t(os.link, how, 'l', follow_symlinks=True))
g = t(os.open, '/proc/self/fd/%d' % log, os.O_RDWR|os.O_TRUNC); say('its own', g); isinstance(g, int) and os.write(g, b'x')
say(L.mount(b'/proc/self/fd/%d' % log, b'/tmp', None, 4096, None), sys_(428, log, b'', 0x1001), sys_(429, log, b'', -100, b'/tmp', 4))
