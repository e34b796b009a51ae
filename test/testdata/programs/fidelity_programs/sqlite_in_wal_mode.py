import sqlite3, sys, subprocess, os
def open_():
    c = sqlite3.connect('x.db', timeout=30); c.execute('pragma synchronous=normal'); return c
if len(sys.argv) > 1:
    c = open_()
    for i in range(40):
        with c: c.execute('insert into t values(?)', (i,))
    sys.exit()
c = open_(); print(c.execute('pragma journal_mode=wal').fetchone()); c.execute('create table t(a)'); c.commit()
ps = [subprocess.Popen([sys.executable, 's.py', 'w']) for _ in range(4)]
print([p.wait() for p in ps], c.execute('select count(*), sum(a) from t').fetchone())
print(sorted(os.listdir('.'))); print(c.execute('pragma integrity_check').fetchone(), c.execute('pragma wal_checkpoint(truncate)').fetchone()); c.execute('vacuum'); c.close(); print(sorted(os.listdir('.')))
d = sqlite3.connect('y.db'); d.execute('create table u(a)'); d.commit(); d.execute('insert into u values(1)'); print(os.path.exists('y.db-journal')); d.rollback(); d.close()
