import sqlite3
c = sqlite3.connect('data.db'); c.execute('pragma journal_mode=wal'); c.execute('pragma wal_autocheckpoint=50')
