import os, fcntl
for n in ('e/f0', 'e/f1', 'e/f2', '.vscode/f3'):
    b = bytearray(28); fcntl.ioctl(os.open(n, os.O_RDONLY), 0x801c581f, b); print(n, os.listxattr(n), b[0] & 0x80)
