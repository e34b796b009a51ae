import socket, json
for i in range(2000):
    s = socket.socket(socket.AF_UNIX); s.connect("/run/carrel/api.sock")
    s.sendall(json.dumps({"operation": "open", "url": "ftp://x/" + "y"*5000}).encode() + b"\n"); s.recv(1); s.close()
print("done")
