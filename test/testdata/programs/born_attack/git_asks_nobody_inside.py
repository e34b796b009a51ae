import os, socket
os.mkdir("sub")
def made(at):
    s = socket.socket(socket.AF_UNIX)
    try: s.bind(at)
    except OSError as e: print(at, e.strerror)
    else: print(at, "made")
made("own")
for at in ".git/fsmonitor--daemon.ipc", ".git/x", "sub/.git": made(at)
for do in os.rename, os.link:
    try: do("own", ".git/fsmonitor--daemon.ipc"); print("brought")
    except OSError as e: print(e.strerror)
os.system("git status --porcelain -uno && echo STATUS")
