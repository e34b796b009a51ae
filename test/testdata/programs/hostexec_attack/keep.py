signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)
l = socket.socket(socket.AF_UNIX); l.bind("keep.sock"); l.listen()
give = 'import array,socket; s=socket.socket(socket.AF_UNIX); s.connect("keep.sock"); s.sendmsg([b"x"],[(socket.SOL_SOCKET,socket.SCM_RIGHTS,array.array("i",[1,2]))])'
s = connect(); f = s.makefile("rb"); ask(s, command="hx", args=["-c", "python3 -c '" + give + "'"])
c, _ = l.accept(); kept = c.recvmsg(1, 64)
for line in f:
    if json.loads(line)["type"] == "Exit": print("told", len(kept[1]), flush=True); break
if len(sys.argv) > 1: time.sleep(1000)
