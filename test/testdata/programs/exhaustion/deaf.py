import socket, subprocess, sys, time
s = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=200)
subprocess.run(["xdg-open", "http://x/?redirect_uri=http://localhost:" + sys.argv[1] + "/cb"], stderr=subprocess.DEVNULL)
print("ready", flush=True)
time.sleep(30)
