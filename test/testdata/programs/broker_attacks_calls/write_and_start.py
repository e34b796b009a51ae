ok = True
for i in range(100):
    with open('prog', 'w') as f: f.write('#!/bin/sh\nexit 7\n'); os.fchmod(f.fileno(), 0o755)
    ok = ok and subprocess.call(['./prog']) == 7; os.unlink('prog')
say('fine' if ok else 'OTHER')
