import os, socket, struct, sys, time
auth, number = open(os.environ['XAUTHORITY'], 'rb').read(), os.environ['DISPLAY'].split(':')[1].split('.')[0]
s = socket.socket(socket.AF_UNIX)
s.connect('/tmp/.X11-unix/X' + number)
s.sendall(struct.pack('<BxHHHHxx', 0x6c, 11, 0, 18, 16) + b'MIT-MAGIC-COOKIE-1\0\0' + auth[-16:])
def take(n):
    b = b''
    while len(b) < n: b += s.recv(n - len(b))
    return b
setup = take(4 * struct.unpack('<6xH', take(8))[0])
base, vendor = struct.unpack_from('<4xI', setup)[0], struct.unpack_from('<16xH', setup)[0]
root = struct.unpack_from('<I', setup, 32 + (vendor + 3) // 4 * 4 + 8 * setup[21])[0]
s.sendall(struct.pack('<BBHIIhhHHHHII', 1, 0, 8, base + 1, root, 10, 10, 90, 90, 0, 1, 0, 0))
s.sendall(struct.pack('<BBHIIIBxxxI', 18, 0, 8, base + 1, 39, 31, 8, 6) + b'handed\0\0')
s.sendall(struct.pack('<BxHI', 8, 2, base + 1))
if os.fork() == 0: time.sleep(1000)
