import socket, sys, concurrent.futures
def one(n):
    s = socket.create_connection(("198.18.0.1", 3128), 30)
    s.sendall(b"GET http://127.0.0.1:%s/ HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n\r\n" % (sys.argv[1].encode(), sys.argv[1].encode()))
    got = b""
    while True:
        b = s.recv(4096)
        if not b: return got.endswith(b"here")
        got += b
with concurrent.futures.ThreadPoolExecutor(100) as pool:
    print(sum(pool.map(one, range(200))))
