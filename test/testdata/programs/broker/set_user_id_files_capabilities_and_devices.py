print(t(os.setxattr, 'a', 'security.capability', struct.pack('<IIIII', 0x02000001, 0xffffffff, 0, 0, 0)))
fd = os.open('c', os.O_CREAT|os.O_RDWR, 0o4777); print(t(os.fchmod, fd, 0o4777)); t(os.open, 'e', os.O_CREAT|os.O_WRONLY, 0o6755)
print(L.fchmodat(-100, b'c', 0o2755, 0), t(os.mknod, 'm', stat.S_IFREG|0o4755))
