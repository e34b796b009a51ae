# Writes to a file by a shared mapping, and to a database with a write-ahead log, which maps
# its index; then says what other descriptors see.
import mmap
import os
import sqlite3
import sys

os.chdir(sys.argv[1])
with open("mapped", "wb") as f:
    f.write(b"a" * 10000)
with open("mapped", "r+b") as f:
    m = mmap.mmap(f.fileno(), 0)
    m[5000:5005] = b"hello"
    m.flush()
    m[9000:9005] = b"world"
    m.close()
with open("mapped", "rb") as f:
    data = f.read()
print(data[4999:5006].decode(), data[8999:9006].decode())

db = sqlite3.connect("data.db")
print(db.execute("pragma journal_mode=wal").fetchone()[0])
db.execute("create table t(x)")
for i in range(50):
    with db:
        db.execute("insert into t values(?)", (i,))
other = sqlite3.connect("data.db")
print(other.execute("select sum(x) from t").fetchone()[0])
other.close()
db.close()
