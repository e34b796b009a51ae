os.mkdir('d'); os.symlink(os.getcwd() + '/d', 'abs'); here = os.open('.', os.O_RDONLY)
def mnt(fd): return [l.split()[1] for l in open('/proc/self/fdinfo/%d' % fd) if l.startswith('mnt_id')][0]
a = os.open('d/a', os.O_CREAT|os.O_RDWR, 0o600)
for res in (0x01, 0x02, 0x20, 0x03):
    how = ctypes.create_string_buffer(struct.pack('=QQQ', os.O_CREAT|os.O_RDWR, 0o600, res))
    fd = sys_(437, here, b'abs/n%d' % res, how, 24)
    if isinstance(fd, int) and mnt(fd) != mnt(a): say('HOST mount', hex(res), mnt(fd), mnt(a))
    else: say(hex(res), fd)
say('fine')
