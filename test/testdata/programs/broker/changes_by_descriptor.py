fd = os.open('.vscode/tasks.json', os.O_RDONLY); print(t(os.fchmod, fd, 0o777), t(os.setxattr, fd, 'user.x', b'y'), t(os.utime, fd, (1, 1)), t(os.ftruncate, fd, 0), t(os.fchown, fd, -1, os.getgid()))
d = os.open('.vscode', os.O_RDONLY); print(t(os.fchmod, d, 0o777), t(os.unlink, 'tasks.json', dir_fd=d), t(os.rename, 'tasks.json', 'x', src_dir_fd=d, dst_dir_fd=d))
print(t(fcntl.ioctl, fd, 0x40086602, struct.pack('l', 0x40)))
n = os.open('new', os.O_CREAT|os.O_RDWR, 0o600); s = os.open('.vscode/tasks.json', os.O_RDONLY); print(t(fcntl.ioctl, s, 0x40049409, n))
