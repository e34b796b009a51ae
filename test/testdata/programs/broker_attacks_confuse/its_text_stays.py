os.mkdir('d'); names = []
for n in ('d/sock', './d/other'): s = socket.socket(socket.AF_UNIX); s.bind(n); names.append(s.getsockname()); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect(n)
s = socket.socket(socket.AF_UNIX); s.bind('\0here'); say(*names, 'abstract' if s.getsockname() == b'\0here' and not os.path.exists('here') else '')
