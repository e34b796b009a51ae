# SPACES are the namespaces that it makes, enter is what it does in them.
d = os.open('.', os.O_RDONLY); os.mkdir('jail'); os.mkdir('jail/in'); say(L.unshare(SPACES))
enter()
fs = [lambda: os.mkdir('EVIL', dir_fd=d), lambda: os.open('EVIL', os.O_CREAT|os.O_WRONLY, dir_fd=d), lambda: os.unlink('file', dir_fd=d), lambda: os.rename('file', 'EVIL', src_dir_fd=d, dst_dir_fd=d)]
if os.environ.get('CARREL') == '1': fs += [lambda: os.mkdir('/proc/1/cwd/EVIL'), lambda: os.symlink('x', '/EVIL')]
for f in fs: say(t(f))
