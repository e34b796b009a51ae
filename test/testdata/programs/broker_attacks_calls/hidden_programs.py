open('/tmp/f', 'x').close(); open('/dev/null', 'w').close(); os.mkdir('/tmp/d'); s = socket.socket(); s.bind(('127.0.0.1', 0))
try: open(sys.executable, 'rb'); say('OTHER: it can be read')
except PermissionError: pass
say(t(os.mkdir, 'made'), t(lambda: open('file', 'a')), t(os.unlink, 'file'), t(os.rename, 'file', 'made'), t(os.chmod, 'file', 0o777), t(os.chmod, '/tmp/f', 0o777), t(socket.socket(socket.AF_UNIX).bind, 'made'))
