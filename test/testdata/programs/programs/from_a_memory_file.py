print(t(os.memfd_create, 'x'), t(os.memfd_create, 'x', 0x10))
fd = os.memfd_create('x', 8); os.write(fd, open('/usr/bin/id', 'rb').read()); t(os.fchmod, fd, 0o755)
print(t(os.execve, fd, ['id'], {}))
