fd = os.open('sub/.git/config', os.O_RDONLY); say(t(os.fchmod, fd, 0o666), t(os.utime, fd, (1, 1)), t(os.setxattr, fd, 'user.x', b'y'))
for how in ('/proc/self/fd/%d' % fd, '/dev/fd/%d' % fd): t(os.chmod, how, 0o666); t(os.utime, how, (1, 1))
