os.mkfifo("/tmp/full"); f = os.open("/tmp/full", os.O_RDWR | os.O_NONBLOCK)
try:
    while True: os.write(f, b"x" * 65536)
except BlockingIOError: pass
os.set_blocking(f, True)
s = connect(); ask(s, (f, f, f), command="xdg-open", stdio="passed")
