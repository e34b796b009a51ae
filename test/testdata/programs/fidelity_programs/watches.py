import ctypes, os, struct, subprocess
c = ctypes.CDLL(None, use_errno=True); fd = c.inotify_init1(os.O_NONBLOCK); os.mkdir('d'); open('d/old', 'w').close()
c.inotify_add_watch(fd, b'd', 0xfff & ~(0x1 | 0x10 | 0x20)); w = c.inotify_add_watch(fd, b'd/old', 0xfff & ~(0x1 | 0x10 | 0x20))
subprocess.run('echo 1 > d/a; echo 2 >> d/a; mv d/a d/b; chmod 600 d/b; mkdir d/s; rmdir d/s; touch -d 2001-01-01 d/b; truncate -s 0 d/old; ln d/b d/c; ln -s b d/l; rm d/b; sed -i s/2/3/ d/c', shell=True)
data = os.read(fd, 65536); at = 0; out = []
while at < len(data):
    wd, mask, cookie, n = struct.unpack_from('iIII', data, at); name = data[at+16:at+16+n].split(b'\0')[0].decode(); at += 16 + n
    out.append((wd, hex(mask), cookie != 0, 'sed' if name.startswith('sed') else name))
for e in out: print(e)
