os.mkdir('gone'); gone = os.open('gone', os.O_RDONLY); os.chdir('gone'); os.rmdir('../gone'); here = os.open('..', os.O_PATH)
ro = lambda what, *a: t(os.statvfs, *a).f_flag & os.ST_RDONLY and what
up = os.path.dirname(os.readlink('/proc/self/fd/%d' % here) + '/x')
say('in the project', [x for x in (ro('path', up), ro('file', up + '/file'), ro('link', '/proc/self/fd/%d' % here), ro('directory', os.open(up, os.O_RDONLY)), ro('path only', here),
    ro('for reading', os.open(up + '/file', os.O_RDONLY)), ro('for writing', os.open(up + '/file', os.O_RDWR)), ro('new', os.open(up + '/new', os.O_CREAT|os.O_RDONLY)), ro('removed', gone), ro('removed, here', '.')) if x])
say('elsewhere', [p for p in ('/usr', os.path.dirname(sys.argv[0]), up + '/.vscode') if not ro(p, p) or not ro(p, os.open(p, os.O_RDONLY))])
