# Says sixty times that a step begins, as fast as it can, and how often it was refused for that.
import json, socket
refused = 0
for _ in range(60):
    s = socket.socket(socket.AF_UNIX)
    s.connect("/run/carrel/api.sock")
    s.sendall(json.dumps({"operation": "step-begin", "step": {"label": ""}}).encode() + b"\n")
    refused += "more than 20 marks in a second" in s.makefile().read()
print(refused)
