fds = [os.open('d/f%d' % i, os.O_CREAT|os.O_RDWR, 0o644) for i in range(4)]
os.setxattr(fds[1], 'user.kept', b'1')
os.rename('d', 'e') # the record knows these files by other names than they have now
say('allowed', setx(fds[0], b'', EMPTY, b'user.new', args(b'v')), remx(fds[1], b'', EMPTY, b'user.kept'), seta(fds[2], NULL, attr(0x80), EMPTY))
open('ready', 'w').close() # somebody outside moves e/f3 to a protected place
while not os.path.exists('.vscode/f3'): time.sleep(0.01)
say('refused', setx(fds[3], b'', EMPTY, b'user.evil', args(b'v')), remx(fds[3], b'', EMPTY, b'user.kept'), seta(fds[3], b'', attr(0x80), EMPTY))
say('labels', setx(fds[0], b'', EMPTY, b'security.evil', args(b'v')), setx(fds[0], b'', EMPTY, b'trusted.evil', args(b'v')), remx(fds[0], b'', EMPTY, b'security.evil'))
if FOREIGN: say('foreign', L.unshare(0x10000000), t(os.chroot, 'jail'), setx(fds[3], b'', EMPTY, b'user.evil', args(b'v')), remx(fds[3], b'', EMPTY, b'user.kept'), seta(fds[3], b'', attr(0x80), EMPTY))
